"""Frames to learn from, drawn from scenes of stamps, photographs and generated things, packed into shards on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.errors import InputError
from auscult.judge.identity.scenes import centre_and_share, crop_window, cut
from auscult.judge.identity.scenes_text import Vocabulary
from auscult.rng import generator
from auscult.scenes.appearance.colours import COLOURS
from auscult.scenes.appearance.scenery import TEXTURES
from auscult.scenes.draw import RenderedScene, Stage
from auscult.scenes.facts import SHOWS
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan, choose
from auscult.scenes.sound.generated import KINDS
from auscult.scenes.splits import GENERATED, Assets, Shelf, divide, open_bundle
from auscult.train import stamps
from auscult.train.material import SplitName, committed

AssetPart: TypeAlias = Literal["train", "test_s", "test_u"]
AssetSource: TypeAlias = tuple[Assets, Shelf]

_DONE: Final = ".laid-out"


def lay_out(data: Path, out: Path, part: SplitName) -> Path:
    """Copy the stamps, and the photographs of one part, as a folder that `make scenes --assets` takes."""
    root = out / f"assets-{part}"
    if not (root / _DONE).is_file():
        try:
            stamps.lay_out(data, root, photographs=committed()["coco"][part])
            (root / _DONE).touch()
        except OSError as error:
            raise InputError(
                f"the stamps cannot be laid out: {error.strerror}",
                expected="the stamps, sounds and COCO photographs that DATA.md lists",
                path=error.filename or data,
            ) from error
    return root


def stamps_on(root: Path, kinds: Sequence[AssetPart]) -> tuple[AssetSource, ...]:
    """The stamps of some kinds, on every photograph of a folder that ``lay_out`` made; the folder is opened once.

    The photographs are already those of one part of the split, so the scenes' own division of them is not used; that of
    the cut-outs is.
    """
    assets, _ = open_bundle(root)
    shelves = divide(assets, wanted=kinds)
    return tuple((assets, replace(shelves[kind], backgrounds=assets.looks.backgrounds())) for kind in kinds)


def painted(kind: AssetPart) -> AssetSource:
    """The generated things and backgrounds of one kind."""
    return GENERATED, divide(GENERATED, wanted=(kind,))[kind]


def vocabulary(sources: Sequence[AssetSource]) -> Vocabulary:
    """The words of what is trained on.

    A voice has a maker only where it follows from the thing: the generated voices are handed out by chance.
    """
    seen = {name for _, shelf in sources for name in shelf.categories}
    return Vocabulary(
        categories=tuple(sorted(seen)),
        colours=tuple(COLOURS),
        textures=tuple(sorted(TEXTURES)),
        voices=(*((kind.noun, kind.verb, "") for kind in KINDS.values()), *_own_voices(sources, seen)),
    )


def _own_voices(sources: Sequence[AssetSource], seen: set[str]) -> list[tuple[str, str, str]]:
    """Voices that one seen category alone has, of those that sound with their own."""
    by_chance = {kind.noun for kind in KINDS.values()}
    makers: dict[tuple[str, str], set[str]] = {}
    for assets, _ in sources:
        words: Mapping[str, tuple[str, str]] = getattr(assets.sounds, "words", {}) if assets.own_voices else {}
        for label, voice in words.items():  # unseen things too: what bleats may be a lamb
            makers.setdefault(voice, set()).add(label)
    return [
        (noun, verb, next(iter(labels)) if len(labels) == 1 and labels <= seen else "")
        for (noun, verb), labels in sorted(makers.items())
        if noun not in by_chance
    ]


CROP: Final = 80
"""Side of a kept crop; training takes a part of it, turned and shifted."""

SIZES: Final = ((288, 512), (288, 512), (320, 448), (384, 384), (448, 320))
"""(height, width) that scenes are drawn at; the network sees half of it, about as many pixels for each."""

SHOTS: Final = 2
MARGIN: Final = 1.5
"""Side of a kept crop against the longer side of the thing's box."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shard:
    """Frames of one size."""

    frames: NDArray[np.uint8]  # uint8 (n, h, w, 3)
    things: NDArray[np.int32]  # int32 (m, 4): frame, category, colour, texture; -1 where there is no word
    # float32 (m, 3): x and y of the visible centre and share of the picture, each of the whole
    places: NDArray[np.float32]
    crops: NDArray[np.uint8]  # uint8 (m, CROP, CROP, 4): RGB, and a mask: bit 0 the thing, bit 1 other things


def draw_shard(source: AssetSource, number: int, *, seed: int, scenes: int, words: Vocabulary) -> Shard:
    """Draw one shard: ``SHOTS`` frames of each scene at chance times."""
    assets, shelf = source
    options = SceneOptions(size=SIZES[number % len(SIZES)])
    frames: list[NDArray[np.uint8]] = []
    things: list[tuple[int, int, int, int]] = []
    places: list[tuple[float, float, float]] = []
    crops: list[NDArray[np.uint8]] = []
    for scene in range(number * scenes, (number + 1) * scenes):
        plan = choose(seed, scene, assets=assets, shelves={"train": shelf}, options=options)
        stage = Stage(plan, assets.looks)
        times = generator(seed, "matcher", scene, "times").uniform(0, plan.seconds, SHOTS)
        for time_s in np.sort(times):
            shot = stage.at(float(time_s))
            for index, mask in enumerate(shot.visible):
                if np.count_nonzero(mask) < SHOWS * mask.size:
                    continue
                things.append((len(frames), *_named(plan, index, words)))
                places.append(centre_and_share(mask))
                crops.append(_cropped(shot, index))
            height, width = options.size
            half = cv2.resize(shot.frame, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
            frames.append(np.asarray(half, dtype=np.uint8))
    return Shard(
        frames=np.stack(frames),
        things=np.array(things, np.int32),
        places=np.array(places, np.float32),
        crops=np.stack(crops),
    )


def _named(plan: ScenePlan, index: int, words: Vocabulary) -> tuple[int, int, int]:
    look = plan.objects[index].look
    return _at(words.categories, look.category), _at(words.colours, look.colour), _at(words.textures, look.texture)


def _at(words: Sequence[str], word: str | None) -> int:
    return words.index(word) if word in words else -1


def _cropped(shot: RenderedScene, index: int) -> NDArray[np.uint8]:
    mask = shot.visible[index]
    others = np.any([other for at, other in enumerate(shot.visible) if at != index], axis=0)
    box = box_of(mask)
    if box is None:
        raise ValueError("a thing that is seen has a box")
    window = crop_window(box, margin=MARGIN)
    layers = mask.astype(np.uint8) | (2 * np.broadcast_to(others, mask.shape).astype(np.uint8))
    rgb = cut(shot.frame, window, CROP)
    part = [cut(np.where(layers & bit, 255, 0).astype(np.uint8), window, CROP) >= 128 for bit in (1, 2)]
    return np.dstack([rgb, part[0].astype(np.uint8) | 2 * part[1].astype(np.uint8)])


def save(shard: Shard, path: Path) -> None:
    """Write a shard, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, **{one.name: getattr(shard, one.name) for one in fields(Shard)})
    unfinished.replace(path)


def load(path: Path) -> Shard:
    """Read a shard that ``save`` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return Shard(**{one.name: arrays[one.name] for one in fields(Shard)})
