"""Frames to learn from, drawn from scenes: what is where, and every thing cut out. Packed into shards on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.judge.identity.scenes import crop_window, cut
from auscult.judge.identity.scenes_text import Vocabulary
from auscult.rng import generator
from auscult.scenes.draw import Shot, Stage
from auscult.scenes.facts import SHOWS
from auscult.scenes.plan import SceneOptions, ScenePlan, choose
from auscult.train.matcher.assets import Source
from auscult.types import Mask

CROP: Final = 80
"""Side of a kept crop; training takes a part of it, turned and shifted."""

SIZES: Final = ((288, 512), (288, 512), (320, 448), (384, 384), (448, 320))
"""(height, width) that scenes are drawn at; the network sees half of it, about as many pixels for each."""

SHOTS: Final = 2
MARGIN: Final = 1.5
"""Side of a kept crop against the longer side of the thing's box."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shard:
    """Frames of one size.

    Attributes:
        frames: uint8 (n, h, w, 3).
        things: int32 (m, 4): frame, category, colour, texture; -1 where there is no word.
        places: float32 (m, 3): x and y of the visible centre and share of the picture, each of the whole.
        crops: uint8 (m, CROP, CROP, 4): RGB, and a mask: bit 0 the thing, bit 1 other things.
    """

    frames: NDArray[np.uint8]
    things: NDArray[np.int32]
    places: NDArray[np.float32]
    crops: NDArray[np.uint8]


def draw_shard(source: Source, number: int, *, seed: int, scenes: int, words: Vocabulary) -> Shard:
    """Draw one shard: ``SHOTS`` frames of each scene at chance times.

    Args:
        source: What scenes are made of.
        number: Which shard; each has its own scenes and one size.
        seed: The recipe's seed.
        scenes: How many scenes.
        words: What categories, colours and textures are called.
    """
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
                places.append(_place(mask))
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


def _place(mask: Mask) -> tuple[float, float, float]:
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    return (float(columns.mean()) + 0.5) / width, (float(rows.mean()) + 0.5) / height, len(rows) / mask.size


def _cropped(shot: Shot, index: int) -> NDArray[np.uint8]:
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
    np.savez(unfinished, frames=shard.frames, things=shard.things, places=shard.places, crops=shard.crops)
    unfinished.replace(path)


def load(path: Path) -> Shard:
    """Read a shard that ``save`` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        values: Mapping[str, NDArray[np.uint8]] = {name: arrays[name] for name in arrays.files}
    return Shard(
        frames=values["frames"],
        things=values["things"].astype(np.int32),
        places=values["places"].astype(np.float32),
        crops=values["crops"],
    )
