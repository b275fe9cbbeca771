"""Candidate masks with known truth: defects made on photographs, video frames and drawn pictures, and real masks.

Only what may enter shipped coefficients is read: ``images/coco`` and ``video/davis2016``.

Drawn pictures: photographs of a few dozen scenes hold few objects with a clean outline and strong contrast all round.
Without some, a fit concludes that a clean outline excuses a second object. These pictures teach that it does not.

Masks on no object: the paper's full_neg (MQ-RAVSBench, Eq. 3) holds regions of the background as well as other objects.
Unlike those, background regions can be told by their outline, which follows no object's edge.

Which photographs and sequences are for fitting, calibrating and measuring.

Names were ordered by a hash and cut at fixed shares: half for fitting, a fifth for calibration, the rest to measure.
``split.json`` keeps the outcome: a later change of the data cannot move a photograph to another part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.media.frames import read_frame
from auscult.media.masks import read_labels, read_mask
from auscult.media.readings import VOID
from auscult.media.rle import decode
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.stress.masks import variants
from auscult.types import DEFECTS, Difficulty, Doubles, Frame, Mask, MaskRef, MaskTarget

SplitName: TypeAlias = Literal["train", "calibration", "test"]
PARTS: Final[tuple[SplitName, ...]] = ("train", "calibration", "test")
FILE: Final = Path(__file__).with_name("split.json")


@cache
def committed() -> Mapping[str, Mapping[SplitName, tuple[str, ...]]]:
    """The division that coefficients and card were made with: ``coco`` and ``davis``."""
    value = json.loads(FILE.read_text(encoding="utf-8"))
    return {source: {part: tuple(value[source][part]) for part in PARTS} for source in ("coco", "davis")}


LEAST_PX: Final = 32 * 32
"""The fewest pixels of an object or mask that is used."""
_Name: TypeAlias = tuple[Any, str, str]  # source, cluster, and the object's own


def drawn(number: int, *, seed: int) -> tuple[Frame, tuple[Mask, ...]]:
    """Draw one picture by its number; each has its own draws.

    The frame is uint8 RGB (H, W, 3); with it come the visible masks of the objects of at least 32 x 32 pixels.
    """
    rng = generator(seed, "drawn", number)
    height, width = (int(side) for side in rng.integers(180, 420, 2))
    canvas = _textured(rng, (height, width))
    masks: list[Mask] = []
    for _ in range(int(rng.integers(1, 5))):
        mask = _drawn_shape(rng, (height, width))
        canvas = np.where(mask[..., None], _textured(rng, (height, width)), canvas)
        masks = [earlier & ~mask for earlier in masks] + [mask]
    blurred = cv2.GaussianBlur(canvas.astype(np.float32), (0, 0), float(rng.uniform(0.4, 1.8)))
    noisy = blurred + rng.normal(0, float(rng.uniform(0, 8)), blurred.shape)
    frame = np.clip(noisy, 0, 255).astype(np.uint8)
    return frame, tuple(mask for mask in masks if np.count_nonzero(mask) >= LEAST_PX)


def _textured(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """A colour with grain: from flat to strongly mottled."""
    grain = cv2.GaussianBlur(rng.normal(0, 1, (*size, 3)).astype(np.float32), (0, 0), float(rng.uniform(0.8, 8)))
    contrast = float(rng.choice([0.0, 6.0, 18.0, 35.0])) / max(float(np.std(grain)), 1e-6)
    slope = np.linspace(-1, 1, size[1])[None, :, None] * rng.uniform(-25, 25, 3)
    return np.asarray(rng.uniform(30, 225, 3) + contrast * grain + slope, dtype=np.float64)


def _drawn_shape(rng: np.random.Generator, size: tuple[int, int]) -> Mask:
    """An ellipse, a box, or a blob whose radius wanders, turned at random."""
    reach = float(rng.uniform(0.1, 0.33)) * min(size)
    stretch = float(np.exp(rng.uniform(-0.7, 0.7)))
    turn = float(rng.uniform(0, np.pi))
    centre = rng.uniform(0.15, 0.85) * size[0], rng.uniform(0.15, 0.85) * size[1]
    along, across = _turned(size, centre, (reach * stretch, reach / stretch), turn=turn)
    if rng.random() < 0.3:
        return np.asarray((np.abs(along) <= 1) & (np.abs(across) <= 1))
    return _blob(along, across, rng, waves=(2, 8), swing=0.5)


def _turned(
    size: tuple[int, ...], centre: tuple[float, float], reach: tuple[float, float], *, turn: float
) -> tuple[Doubles, Doubles]:
    """Coordinates along and across a direction from a centre (row, column), each in units of its ``reach``."""
    rows, columns = np.ogrid[: size[0], : size[1]]
    y, x = rows - centre[0], columns - centre[1]
    return (np.cos(turn) * x + np.sin(turn) * y) / reach[0], (np.cos(turn) * y - np.sin(turn) * x) / reach[1]


def _blob(along: Doubles, across: Doubles, rng: np.random.Generator, *, waves: tuple[int, int], swing: float) -> Mask:
    """A shape whose radius wanders about 1 in a number of waves drawn from a range."""
    radius = np.ones(along.shape)
    angle = np.arctan2(across, along)
    for count in range(2, int(rng.integers(*waves))):
        radius += rng.uniform(0, swing / count) * np.cos(count * angle + rng.uniform(0, 2 * np.pi))
    return np.asarray(along**2 + across**2 <= radius**2)


_TRIES = 20
_MOST_LIKE_ANOTHER = 0.2
_SHAPES = ("box", "ellipse", "blob")


def arbitrary(truth: Mask, others: tuple[Mask, ...], *, rng: np.random.Generator) -> Iterator[Mask]:
    """Up to five masks without a pixel of the truth: one of each shape, the moved truth, and its complement.

    They have at least 32 x 32 pixels, bool (H, W); none is like one of the ``others`` (IoU .2 at most). A kind that
    finds no place is left out.
    """
    for kind in _SHAPES:
        yield from _placed(partial(_shape, kind, truth.shape, rng), truth, others)
    yield from _placed(partial(_moved, truth, rng), truth, others)
    complement = np.asarray(~truth)
    if np.count_nonzero(complement) >= LEAST_PX:
        yield complement


def _placed(draw: Callable[[], Mask], truth: Mask, others: tuple[Mask, ...]) -> Iterator[Mask]:
    for _ in range(_TRIES):
        mask = draw()
        if np.count_nonzero(mask) < LEAST_PX or (mask & truth).any():
            continue
        if all(iou(mask, other) <= _MOST_LIKE_ANOTHER for other in others):
            yield mask
            return


def _shape(kind: str, size: tuple[int, ...], rng: np.random.Generator) -> Mask:
    reach = float(np.exp(rng.uniform(np.log(17), np.log(max(18.0, 0.3 * min(size))))))
    stretch = 1.0 if rng.random() < 0.3 else float(np.exp(rng.uniform(-0.6, 0.6)))
    turn = 0.0 if kind == "box" and rng.random() < 0.7 else float(rng.uniform(0, np.pi))
    centre = rng.uniform(0, size[0]), rng.uniform(0, size[1])
    along, across = _turned(size, centre, (reach * stretch, reach / stretch), turn=turn)
    if kind == "box":
        return np.asarray((np.abs(along) <= 1) & (np.abs(across) <= 1))
    if kind == "blob":
        return _blob(along, across, rng, waves=(4, 9), swing=0.9)
    return np.asarray(along**2 + across**2 <= 1)


def _moved(truth: Mask, rng: np.random.Generator) -> Mask:
    """The truth, mirrored at random and moved at random, cut at the frame; empty where less than half is left."""
    height, width = truth.shape
    turned = truth[:, ::-1] if rng.random() < 0.5 else truth
    turned = turned[::-1] if rng.random() < 0.3 else turned
    rows, columns = np.nonzero(turned)
    rows = rows + int(rng.integers(-height, height + 1))
    columns = columns + int(rng.integers(-width, width + 1))
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    mask = np.zeros(truth.shape, dtype=np.bool_)
    if inside.mean() >= 0.5:
        mask[rows[inside], columns[inside]] = True
    return mask


MODELS: Final[tuple[str, ...]] = ("osvos", "rvos")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidateSample:
    """One candidate mask with its truth."""

    # ``coco``, ``davis``, ``real``, ``drawn`` or ``scenes``
    source: Literal["coco", "davis", "real", "drawn", "scenes"]
    cluster: str  # the photograph, sequence, drawn picture or scene
    frame: Frame  # uint8 RGB (H, W, 3)
    mask: Mask  # the candidate, bool (H, W)
    others: tuple[Mask, ...] = ()  # what the judge is shown of the frame's other objects
    # what was made; ``arbitrary`` for a mask on no object, which counts as full_neg; ``osvos`` or ``rvos`` for a real
    # mask, whose defect nobody named
    defect: str
    difficulty: Difficulty | None = None  # how visible, where the defect has that
    iou: float  # exact IoU with the true mask
    truth: Mask | None = None  # the true mask, bool (H, W), where it is kept
    name: str = ""  # which object of which picture, for lists


def coco(
    data: Path, names: Sequence[str], *, seed: int, alone: bool, key: str = "", kinds: Sequence[str] = DEFECTS
) -> Iterator[CandidateSample]:
    """Defects of every object of at least 32 x 32 pixels of photographs, crowds left out, made by some stressors.

    The judge is shown no other object of the frame where the candidate is ``alone``; another ``key`` makes other
    defects.
    """
    for target, frame, name in _photographed(data, names, key):
        yield from made(target, frame, () if alone else tuple(target.others), name=name, seed=seed, kinds=kinds)


def _photographed(data: Path, names: Sequence[str], key: str) -> Iterator[tuple[MaskTarget, Frame, _Name]]:
    for name, frame, masks in _photographs(data, names):
        for index, target in _targets(masks):
            yield target, frame, ("coco", name, f"{name}/{index}{key}")


def _photographs(data: Path, names: Sequence[str]) -> Iterator[tuple[str, Frame, list[Mask]]]:
    objects = instances(data / "images/coco/instances.json")
    for name in names:
        frame = read_frame(data / "images/coco/images" / name)
        yield name, frame, [decode(rle) for rle in objects.get(name, ())]


def _targets(masks: Sequence[Mask]) -> Iterator[tuple[int, MaskTarget]]:
    """The objects of a picture that are large enough, each with the others."""
    for index, mask in enumerate(masks):
        if np.count_nonzero(mask) >= LEAST_PX:
            yield index, MaskTarget(mask=mask, others=tuple(other for i, other in enumerate(masks) if i != index))


def pictures(numbers: Iterable[int], *, seed: int, alone: bool) -> Iterator[CandidateSample]:
    """Defects of every object of drawn pictures; ``alone`` as in ``coco``."""
    for number in numbers:
        frame, masks = drawn(number, seed=seed)
        for index, target in _targets(masks):
            name = ("drawn", f"drawn-{number}", f"drawn/{number}/{index}")
            yield from made(target, frame, () if alone else tuple(target.others), name=name, seed=seed)


def davis(
    data: Path, names: Sequence[str], *, seed: int, every: int = 1, kinds: Sequence[str] = DEFECTS
) -> Iterator[CandidateSample]:
    """Defects of the one object of each frame."""
    for target, frame, name in _filmed(data, names, every):
        yield from made(target, frame, (), name=name, seed=seed, kinds=kinds)


def _filmed(data: Path, names: Sequence[str], every: int) -> Iterator[tuple[MaskTarget, Frame, _Name]]:
    for name, stem, frame, truth in _davis_frames(data, names, every):
        if np.count_nonzero(truth) >= LEAST_PX:
            yield MaskTarget(mask=truth), frame, ("davis", name, f"{name}/{stem}")


def coco_nonsense(data: Path, names: Sequence[str], *, seed: int, key: str = "") -> Iterator[CandidateSample]:
    """Masks on no object, up to five for each object of at least 32 x 32 pixels; the judge sees the candidate alone."""
    for target, frame, name in _photographed(data, names, key):
        yield from _nonsense(target, frame, name=name, seed=seed)


def coco_small(data: Path, names: Sequence[str]) -> Iterator[CandidateSample]:
    """The true masks of objects under 32 x 32 pixels, crowds left out."""
    for name, frame, masks in _photographs(data, names):
        for mask in masks:
            if 0 < np.count_nonzero(mask) < LEAST_PX:
                yield CandidateSample(
                    source="coco",
                    cluster=name,
                    frame=frame,
                    mask=mask,
                    defect="perfect",
                    iou=1.0,
                    truth=mask,
                    name=name,
                )


def davis_nonsense(data: Path, names: Sequence[str], *, seed: int, every: int = 1) -> Iterator[CandidateSample]:
    """Masks on no object, up to five for each frame."""
    for target, frame, name in _filmed(data, names, every):
        yield from _nonsense(target, frame, name=name, seed=seed)


def real(data: Path, names: Sequence[str], *, every: int = 1) -> Iterator[CandidateSample]:
    """Two models' masks: OSVOS, the union of its objects; RVOS, of its proposals the one nearest the truth."""
    folder = data / "video/davis2016"
    for name, stem, frame, truth in _davis_frames(data, names, every):
        for model in MODELS:
            mask = predicted(folder / name / f"pred_{model}" / f"{stem}.png", truth, best=model == "rvos")
            if mask.any() and truth.any():
                yield CandidateSample(
                    source="real",
                    cluster=name,
                    frame=frame,
                    mask=mask,
                    defect=model,
                    iou=iou(mask, truth),
                    truth=truth,
                    name=f"{name}/{stem}",
                )


def _nonsense(target: MaskTarget, frame: Frame, *, name: _Name, seed: int) -> Iterator[CandidateSample]:
    source, cluster, key = name
    for mask in arbitrary(target.mask, tuple(target.others), rng=generator(seed, "arbitrary", key)):
        yield CandidateSample(
            source=source,
            cluster=cluster,
            frame=frame,
            mask=mask,
            defect="arbitrary",
            iou=0.0,
            truth=target.mask,
            name=key,
        )


def made(
    target: MaskTarget,
    frame: Frame,
    shown: tuple[Mask, ...],
    *,
    name: _Name,
    seed: int,
    kinds: Sequence[str] = DEFECTS,
) -> Iterator[CandidateSample]:
    """The defects of one object; ``name`` is source, cluster, and the object's own name.

    ``shown`` is what the judge is shown of the frame's other objects, ``kinds`` are the stressors that make the
    defects.
    """
    source, cluster, key = name
    for defect, difficulty, _, outcome in variants(target, seed=seed, key=key, kinds=kinds):
        if isinstance(outcome, Scored) and outcome.value.truth.iou is not None:
            yield CandidateSample(
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
        masks: dict[str, list[Mapping[str, Any]]] = {}
        for annotation in value["annotations"]:
            if not annotation["iscrowd"]:
                masks.setdefault(names[annotation["image_id"]], []).append(annotation["rle"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"the instances cannot be read: {reason}",
            expected="COCO instances with compressed RLE",
            hint="--data is the folder that holds images/coco and video/davis2016",
            path=path,
        ) from error
    return masks


def _davis_frames(data: Path, names: Sequence[str], every: int) -> Iterator[tuple[str, str, Frame, Mask]]:
    for name in names:
        folder = data / "video/davis2016" / name
        paths = sorted((folder / "frames").glob("*.jpg"))
        if not paths:
            raise InputError("the sequence has no frames", expected="frames/*.jpg", path=folder)
        for path in paths[::every]:
            truth = read_mask(MaskRef(path=folder / "masks" / f"{path.stem}.png")).mask
            yield name, path.stem, read_frame(path), truth


def predicted(path: Path, truth: Mask, *, best: bool) -> Mask:
    """A model's mask of one frame: the union of its objects, or of its proposals the one nearest the truth."""
    labels = read_labels(path).labels
    objects: list[Mask] = [labels == index for index in np.unique(labels).tolist() if 0 < index < VOID]
    if not objects:
        return np.zeros(truth.shape, dtype=np.bool_)
    return max(objects, key=lambda mask: iou(mask, truth)) if best else np.logical_or.reduce(objects)
