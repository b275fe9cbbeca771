"""What goes into a pack: photographs, video frames with real models' masks, and drawn scenes.

Only what may enter shipped weights is read: ``images/coco``, ``video/davis2016``, ``video/dogs-jump`` and, through
scenes, ``images/stamps_gpl2``. Backgrounds of scenes are photographs of the training part.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.overlap import iou
from auscult.cases.scenes.assets import GENERATED, Assets, open_bundle
from auscult.cases.scenes.choose import SceneOptions, choose
from auscult.cases.scenes.draw import Stage
from auscult.cases.scenes.splits import divide
from auscult.jobs.progress import Progress
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.masks import object_indices, read_mask
from auscult.media.rle import decode, encode
from auscult.models.classical.regions import Regions
from auscult.train.compact.pack import PackedFrame
from auscult.train.material import instances
from auscult.train.split import Part, committed
from auscult.train.stamps import lay_out
from auscult.types import Frame, Mask, MaskRef

LEAST_PX: Final = 24 * 24
MODELS: Final[tuple[str, ...]] = ("osvos", "rvos")
_LEAST_REAL_IOU: Final = 0.2
_QUALITY: Final = 90
_DOGS_JUMP_OBJECTS: Final = 3
_MOST_REGIONS: Final = 16
_LEAST_SCORE: Final = 0.9
_REGIONS_EVERY: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """How much goes into a pack.

    Attributes:
        stamped: Scenes of cut-outs over photographs.
        generated: Scenes of generated things over painted and photographed ground.
        size: (height, width) of scenes in pixels.
    """

    stamped: int = 420
    generated: int = 100
    size: tuple[int, int] = (288, 512)


def photographs(data: Path, part: Part) -> Iterator[PackedFrame]:
    """COCO photographs with every object but crowds."""
    objects = instances(data / "images/coco/instances.json")
    for name in committed()["coco"][part]:
        path = data / "images/coco/images" / name
        rles = objects.get(name, [])
        areas = [int(np.count_nonzero(decode(rle))) for rle in rles]
        yield PackedFrame(
            source="coco",
            part=part,
            cluster=name,
            jpeg=path.read_bytes(),
            objects=tuple(rles),
            targets=tuple(at for at, area in enumerate(areas) if area >= LEAST_PX),
            regions=_regions(read_frame(path)) if part == "train" else (),
        )


def _regions(frame: Frame) -> tuple[dict[str, Any], ...]:
    found = Regions(most=_MOST_REGIONS, least_score=_LEAST_SCORE)(frame)
    return tuple(encode(mask) for mask in found if np.count_nonzero(mask) >= 4 * LEAST_PX)


def sequences(data: Path, part: Part, *, first: int) -> Iterator[PackedFrame]:
    """Frames of DAVIS sequences with two real models' masks.

    Args:
        data: The folder of real material.
        part: Which sequences.
        first: Number of the first frame in the pack.
    """
    number = first
    for name in committed()["davis"][part]:
        folder = data / "video/davis2016" / name
        for at, path in enumerate(sorted((folder / "frames").glob("*.jpg"))):
            truth = read_mask(MaskRef(path=folder / "masks" / f"{path.stem}.png")).mask
            real = [
                (model, 0, encode(mask))
                for model in MODELS
                for mask in _predicted(folder / f"pred_{model}" / f"{path.stem}.png", truth, each=model == "rvos")
            ]
            yield PackedFrame(
                source="davis",
                part=part,
                cluster=name,
                jpeg=path.read_bytes(),
                objects=(encode(truth),),
                targets=(0,) if np.count_nonzero(truth) >= LEAST_PX else (),
                real=tuple(real),
                regions=_regions(read_frame(path)) if part == "train" and at % _REGIONS_EVERY == 0 else (),
                before=number - 1 if at else None,
            )
            number += 1


def dogs(data: Path, *, first: int) -> Iterator[PackedFrame]:
    """The sequence dogs-jump: three objects, all for training.

    Args:
        data: The folder of real material.
        first: Number of the first frame in the pack.
    """
    folder = data / "video/dogs-jump"
    for at, path in enumerate(sorted((folder / "frames").glob("*.jpg"))):
        truth = folder / "masks" / f"{path.stem}.png"
        masks = [
            read_mask(MaskRef(path=truth, index=index, absent_ok=True)).mask
            for index in range(1, _DOGS_JUMP_OBJECTS + 1)
        ]
        yield PackedFrame(
            source="davis",
            part="train",
            cluster="dogs-jump",
            jpeg=path.read_bytes(),
            objects=tuple(encode(mask) for mask in masks),
            targets=tuple(at for at, mask in enumerate(masks) if np.count_nonzero(mask) >= LEAST_PX),
            before=first + at - 1 if at else None,
        )


def scenes(data: Path, amounts: Amounts, *, seed: int, progress: Progress) -> Iterator[PackedFrame]:
    """Drawn scenes: training cut-outs over training photographs, then generated things."""
    progress.stage("drawing scenes", amounts.stamped + amounts.generated)
    with tempfile.TemporaryDirectory() as place:
        lay_out(data, Path(place), photographs=frozenset(committed()["coco"]["train"]))
        stamped, _ = open_bundle(Path(place))
        for assets, count, name in ((stamped, amounts.stamped, "stamps"), (GENERATED, amounts.generated, "generated")):
            for index in range(count):
                yield _scene(assets, index, seed=seed, size=amounts.size, name=name)
                progress.step()


def _scene(assets: Assets, index: int, *, seed: int, size: tuple[int, int], name: str) -> PackedFrame:
    shelves = divide(assets, wanted=("train",))
    plan = choose(seed, index, assets=assets, shelves=shelves, options=SceneOptions(size=size))
    shot = Stage(plan, assets.looks).at(float(index % 10))
    seen = [mask for mask in shot.visible if np.count_nonzero(mask) >= LEAST_PX]
    return PackedFrame(
        source="scenes",
        part="train",
        cluster=f"{name}-{index}",
        jpeg=encode_jpeg(shot.frame, quality=_QUALITY),
        objects=tuple(encode(mask) for mask in seen),
        targets=tuple(range(len(seen))),
    )


def _predicted(path: Path, truth: Mask, *, each: bool) -> Sequence[Mask]:
    """A model's masks of one frame: the union of its objects, or each proposal that is meant for the truth."""
    objects = [read_mask(MaskRef(path=path, index=index)).mask for index in object_indices(path) or ()]
    if not objects or not truth.any():
        return ()
    if each:
        return [mask for mask in objects if iou(mask, truth) >= _LEAST_REAL_IOU]
    union: Mask = np.logical_or.reduce(objects)
    return [union] if union.any() else []


def everything(data: Path, amounts: Amounts, *, seed: int, progress: Progress) -> Iterator[PackedFrame]:
    """All that a pack holds: the training part with scenes, and the calibration part."""
    rows: list[Any] = [*sequences(data, "train", first=0)]
    yield from rows
    held = [*sequences(data, "calibration", first=len(rows))]
    yield from held
    yield from dogs(data, first=len(rows) + len(held))
    yield from photographs(data, "train")
    yield from photographs(data, "calibration")
    yield from scenes(data, amounts, seed=seed, progress=progress)
