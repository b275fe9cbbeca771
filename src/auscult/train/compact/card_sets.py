"""The masks that a card is measured on: two makers' defects, real models' masks, masks on no object, scenes.

Photographs and sequences are those of one part of the committed split. Scenes are of things that no training scene
showed: other instances of its categories (``test_s``) or other categories (``test_u``), cut-outs over photographs of
the test part, and generated things over painted grounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from auscult.cases.scenes.assets import GENERATED, Assets, open_bundle
from auscult.cases.scenes.choose import SceneOptions, choose
from auscult.cases.scenes.draw import Stage
from auscult.cases.scenes.splits import Split, divide
from auscult.suites.mqa.options import FREEHAND, GENERATORS
from auscult.train import material
from auscult.train.material import Sample
from auscult.train.split import Part, committed
from auscult.train.stamps import backgrounds, cutouts
from auscult.types import MaskTarget

Sets: TypeAlias = Mapping[str, Callable[[], Iterator[Sample]]]

SEEN: Final[tuple[Split, ...]] = ("test_s", "test_u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """How much is measured.

    Attributes:
        davis_every: Of a sequence's frames, each n-th is given defects; real masks are taken of every frame.
        nonsense_every: Of the masks on no object, each n-th.
        scenes: Scenes of each kind and split; one frame of each.
        size: Their (height, width) in pixels.
        photographs: Of the photographs the first few only; None for all. For tests.
        sequences: Likewise.
    """

    davis_every: int = 2
    nonsense_every: int = 2
    scenes: int = 8
    size: tuple[int, int] = (288, 512)
    photographs: int | None = None
    sequences: int | None = None


def sets_of(data: Path, part: Part, *, seed: int, amounts: Amounts) -> Sets:
    """The sets of one part by name; each is made when its iterator is.

    Args:
        data: The folder of real material.
        part: Which part of the committed split; scenes are for ``test`` alone.
        seed: Seed of all masks and scenes.
        amounts: How much of each.
    """
    photographs = committed()["coco"][part][: amounts.photographs]
    sequences = committed()["davis"][part][: amounts.sequences]
    shapes = GENERATORS[FREEHAND]
    every, fewer = amounts.davis_every, amounts.nonsense_every
    found: dict[str, Callable[[], Iterator[Sample]]] = {
        f"coco_{part}": lambda: material.coco(data, photographs, seed=seed, alone=True),
        f"coco_{part}_freehand": lambda: material.coco(data, photographs, seed=seed, alone=True, kinds=shapes),
        f"davis_{part}": lambda: material.davis(data, sequences, seed=seed, every=every),
        f"davis_{part}_freehand": lambda: material.davis(data, sequences, seed=seed, every=every, kinds=shapes),
        f"davis_{part}_real": lambda: material.real(data, sequences),
        f"coco_{part}_arbitrary": lambda: islice(material.coco_nonsense(data, photographs, seed=seed), 0, None, fewer),
        f"davis_{part}_arbitrary": lambda: islice(
            material.davis_nonsense(data, sequences, seed=seed, every=2 * every), 0, None, fewer
        ),
        f"coco_{part}_small": lambda: material.coco_small(data, photographs),
    }
    if part == "test":
        for split in SEEN:
            found[f"stamps_{split}"] = _stamps(data, split, seed=seed, amounts=amounts)
            found[f"generated_{split}"] = _generated(split, seed=seed, amounts=amounts)
    return found


def _stamps(data: Path, split: Split, *, seed: int, amounts: Amounts) -> Callable[[], Iterator[Sample]]:
    def made() -> Iterator[Sample]:
        with tempfile.TemporaryDirectory() as place:
            cutouts(data, Path(place))
            backgrounds(data, Path(place), photographs=frozenset(committed()["coco"]["test"]))
            assets, _ = open_bundle(Path(place))
            yield from scenes(assets, split, name="stamps", seed=seed, amounts=amounts)

    return made


def _generated(split: Split, *, seed: int, amounts: Amounts) -> Callable[[], Iterator[Sample]]:
    return lambda: scenes(GENERATED, split, name="generated", seed=seed, amounts=amounts)


def scenes(assets: Assets, split: Split, *, name: str, seed: int, amounts: Amounts) -> Iterator[Sample]:
    """Defects of every thing of drawn scenes that shows at least 32 x 32 pixels.

    Args:
        assets: What scenes are made of.
        split: Whose things they show.
        name: What the assets are called; defects are drawn for it, so it must not be a folder's passing name.
        seed: Seed of scenes and defects.
        amounts: How many and how large.
    """
    shelves = divide(assets, wanted=(split,))
    for index in range(amounts.scenes):
        plan = choose(seed, index, assets=assets, shelves=shelves, options=SceneOptions(size=amounts.size))
        shot = Stage(plan, assets.looks).at(float(index % 10))
        seen = [mask for mask in shot.visible if np.count_nonzero(mask) >= material.LEAST_PX]
        cluster = f"{split}-{index}"
        for at, mask in enumerate(seen):
            target = MaskTarget(mask=mask, others=tuple(other for other in seen if other is not mask))
            named = ("scenes", cluster, f"{name}/{cluster}/{at}")
            yield from material.made(target, shot.frame, (), name=named, seed=seed)
