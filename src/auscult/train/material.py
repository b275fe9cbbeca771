"""Candidate masks with known truth: defects made on photographs, video frames and drawn pictures, and real masks.

Only what may enter shipped coefficients is read: ``images/coco`` and ``video/davis2016``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.media.frames import read_frame
from auscult.media.masks import object_indices, read_mask
from auscult.media.rle import decode
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.stress.masks import variants
from auscult.train.arbitrary import arbitrary
from auscult.train.drawn import drawn
from auscult.types import DEFECTS, Difficulty, Frame, Mask, MaskRef, MaskTarget

LEAST_PX: Final = 32 * 32
MODELS: Final[tuple[str, ...]] = ("osvos", "rvos")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """One candidate mask with its truth.

    Attributes:
        source: ``coco``, ``davis``, ``real``, ``drawn`` or ``scenes``.
        cluster: The photograph, sequence, drawn picture or scene.
        frame: uint8 RGB (H, W, 3).
        mask: The candidate, bool (H, W).
        others: What the judge is shown of the frame's other objects.
        defect: What was made; ``arbitrary`` for a mask on no object, which counts as full_neg; ``osvos`` or ``rvos``
            for a real mask, whose defect nobody named.
        difficulty: How visible, where the defect has that.
        iou: Exact IoU with the true mask.
        truth: The true mask, bool (H, W), where it is kept.
        name: Which object of which picture, for lists.
    """

    source: Literal["coco", "davis", "real", "drawn", "scenes"]
    cluster: str
    frame: Frame
    mask: Mask
    others: tuple[Mask, ...]
    defect: str
    difficulty: Difficulty | None
    iou: float
    truth: Mask | None = None
    name: str = ""


def coco(
    data: Path, names: Sequence[str], *, seed: int, alone: bool, key: str = "", kinds: Sequence[str] = DEFECTS
) -> Iterator[Sample]:
    """Defects of every object of at least 32 x 32 pixels, crowds left out.

    Args:
        data: The folder of real material.
        names: Photographs, by file name.
        seed: Seed of the defects.
        alone: Show the judge no other object of the frame; else all annotated ones.
        key: Another key makes other defects.
        kinds: The stressors that make them.

    Raises:
        InputError: A file is missing or broken.
    """
    objects = instances(data / "images/coco/instances.json")
    for name in names:
        frame = read_frame(data / "images/coco/images" / name)
        masks = [decode(rle) for rle in objects.get(name, ())]
        for index, mask in enumerate(masks):
            if np.count_nonzero(mask) < LEAST_PX:
                continue
            others = tuple(other for at, other in enumerate(masks) if at != index)
            target = MaskTarget(mask=mask, others=others)
            shown = () if alone else others
            named = ("coco", name, f"{name}/{index}{key}")
            yield from made(target, frame, shown, name=named, seed=seed, kinds=kinds)


def pictures(numbers: Iterable[int], *, seed: int, alone: bool) -> Iterator[Sample]:
    """Defects of every object of drawn pictures.

    Args:
        numbers: Which pictures.
        seed: Seed of the pictures and of the defects.
        alone: Show the judge no other object of the frame; else all.
    """
    for number in numbers:
        frame, masks = drawn(number, seed=seed)
        for index, mask in enumerate(masks):
            others = tuple(other for at, other in enumerate(masks) if at != index)
            target = MaskTarget(mask=mask, others=others)
            name = ("drawn", f"drawn-{number}", f"drawn/{number}/{index}")
            yield from made(target, frame, () if alone else others, name=name, seed=seed)


def davis(
    data: Path, names: Sequence[str], *, seed: int, every: int = 1, kinds: Sequence[str] = DEFECTS
) -> Iterator[Sample]:
    """Defects of the one object of each frame.

    Args:
        data: The folder of real material.
        names: Sequences.
        seed: Seed of the defects.
        every: Take each n-th frame.
        kinds: The stressors that make them.

    Raises:
        InputError: A file is missing or broken.
    """
    for name, stem, frame, truth in _davis_frames(data, names, every):
        if np.count_nonzero(truth) >= LEAST_PX:
            target = MaskTarget(mask=truth)
            yield from made(target, frame, (), name=("davis", name, f"{name}/{stem}"), seed=seed, kinds=kinds)


def coco_nonsense(data: Path, names: Sequence[str], *, seed: int, key: str = "") -> Iterator[Sample]:
    """Masks on no object, up to five for each object of at least 32 x 32 pixels; the judge sees the candidate alone.

    Args:
        data: The folder of real material.
        names: Photographs, by file name.
        seed: Seed of the masks.
        key: Another key makes other masks.

    Raises:
        InputError: A file is missing or broken.
    """
    objects = instances(data / "images/coco/instances.json")
    for name in names:
        frame = read_frame(data / "images/coco/images" / name)
        masks = [decode(rle) for rle in objects.get(name, ())]
        for index, mask in enumerate(masks):
            if np.count_nonzero(mask) >= LEAST_PX:
                others = tuple(other for at, other in enumerate(masks) if at != index)
                target = MaskTarget(mask=mask, others=others)
                yield from _nonsense(target, frame, name=("coco", name, f"{name}/{index}{key}"), seed=seed)


def coco_small(data: Path, names: Sequence[str]) -> Iterator[Sample]:
    """The true masks of objects under 32 x 32 pixels, crowds left out.

    Args:
        data: The folder of real material.
        names: Photographs, by file name.

    Raises:
        InputError: A file is missing or broken.
    """
    objects = instances(data / "images/coco/instances.json")
    for name in names:
        frame = read_frame(data / "images/coco/images" / name)
        for mask in (decode(rle) for rle in objects.get(name, ())):
            if 0 < np.count_nonzero(mask) < LEAST_PX:
                yield Sample(
                    source="coco",
                    cluster=name,
                    frame=frame,
                    mask=mask,
                    others=(),
                    defect="perfect",
                    difficulty=None,
                    iou=1.0,
                    truth=mask,
                    name=name,
                )


def davis_nonsense(data: Path, names: Sequence[str], *, seed: int, every: int = 1) -> Iterator[Sample]:
    """Masks on no object, up to five for each frame.

    Args:
        data: The folder of real material.
        names: Sequences.
        seed: Seed of the masks.
        every: Take each n-th frame.

    Raises:
        InputError: A file is missing or broken.
    """
    for name, stem, frame, truth in _davis_frames(data, names, every):
        if np.count_nonzero(truth) >= LEAST_PX:
            yield from _nonsense(MaskTarget(mask=truth), frame, name=("davis", name, f"{name}/{stem}"), seed=seed)


def real(data: Path, names: Sequence[str], *, every: int = 1) -> Iterator[Sample]:
    """Two models' masks: OSVOS, the union of its objects; RVOS, of its proposals the one nearest the truth.

    Args:
        data: The folder of real material.
        names: Sequences.
        every: Take each n-th frame.

    Raises:
        InputError: A file is missing or broken.
    """
    folder = data / "video/davis2016"
    for name, stem, frame, truth in _davis_frames(data, names, every):
        for model in MODELS:
            mask = _predicted(folder / name / f"pred_{model}" / f"{stem}.png", truth, best=model == "rvos")
            if mask.any() and truth.any():
                yield Sample(
                    source="real",
                    cluster=name,
                    frame=frame,
                    mask=mask,
                    others=(),
                    defect=model,
                    difficulty=None,
                    iou=iou(mask, truth),
                    truth=truth,
                    name=f"{name}/{stem}",
                )


def _nonsense(target: MaskTarget, frame: Frame, *, name: tuple[Any, str, str], seed: int) -> Iterator[Sample]:
    source, cluster, key = name
    for mask in arbitrary(target.mask, target.others, rng=generator(seed, "arbitrary", key)):
        yield Sample(
            source=source,
            cluster=cluster,
            frame=frame,
            mask=mask,
            others=(),
            defect="arbitrary",
            difficulty=None,
            iou=0.0,
            truth=target.mask,
            name=key,
        )


def made(
    target: MaskTarget,
    frame: Frame,
    shown: tuple[Mask, ...],
    *,
    name: tuple[Any, str, str],
    seed: int,
    kinds: Sequence[str] = DEFECTS,
) -> Iterator[Sample]:
    """The defects of one object.

    Args:
        target: The object, and the other objects of the frame.
        frame: uint8 RGB (H, W, 3).
        shown: What the judge is shown of the other objects.
        name: Source, cluster, and the object's own name.
        seed: Seed of the defects.
        kinds: The stressors that make them.
    """
    source, cluster, key = name
    for defect, difficulty, _, outcome in variants(target, seed=seed, key=key, kinds=kinds):
        if isinstance(outcome, Scored) and outcome.value.truth.iou is not None:
            yield Sample(
                source=source,
                cluster=cluster,
                frame=frame,
                mask=outcome.value.output,
                others=shown,
                defect=outcome.value.truth.defect or defect,
                difficulty=difficulty,
                iou=outcome.value.truth.iou,
                truth=target.mask,
                name=key,
            )


def instances(path: Path) -> dict[str, list[Mapping[str, Any]]]:
    """RLE masks of each photograph's objects, without crowds."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        names = {image["id"]: str(image["file_name"]) for image in value["images"]}
        found: dict[str, list[Mapping[str, Any]]] = {}
        for annotation in value["annotations"]:
            if not annotation["iscrowd"]:
                found.setdefault(names[annotation["image_id"]], []).append(annotation["rle"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"the instances cannot be read: {reason}",
            expected="COCO instances with compressed RLE",
            hint="--data is the folder that holds images/coco and video/davis2016",
            path=path,
        ) from error
    return found


def _davis_frames(data: Path, names: Sequence[str], every: int) -> Iterator[tuple[str, str, Frame, Mask]]:
    for name in names:
        folder = data / "video/davis2016" / name
        paths = sorted((folder / "frames").glob("*.jpg"))
        if not paths:
            raise InputError("the sequence has no frames", expected="frames/*.jpg", path=folder)
        for path in paths[::every]:
            truth = read_mask(MaskRef(path=folder / "masks" / f"{path.stem}.png")).mask
            yield name, path.stem, read_frame(path), truth


def _predicted(path: Path, truth: Mask, *, best: bool) -> Mask:
    indices = object_indices(path) or ()
    objects = [read_mask(MaskRef(path=path, index=index)).mask for index in indices]
    if not objects:
        return np.zeros(truth.shape, dtype=np.bool_)
    return max(objects, key=lambda mask: iou(mask, truth)) if best else np.logical_or.reduce(objects)
