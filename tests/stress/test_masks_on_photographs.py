"""The six defects on the outlines of real objects: COCO instances."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from auscult.media import rle
from auscult.outcome import Scored
from auscult.stress import masks
from auscult.stress.masks.base import WINDOWED, WINDOWS
from auscult.types import Mask, MaskTarget

LARGE_PX = 32 * 32
MAX_UNDEFINED = 0.03


@pytest.fixture(scope="module")
def photographs(data: Path) -> list[list[Mask]]:
    """The objects of each photograph, crowds left out."""
    instances_file = json.loads((data / "images" / "coco" / "instances.json").read_text(encoding="utf-8"))
    masks_by_image: dict[int, list[Mask]] = defaultdict(list)
    for instance in instances_file["annotations"]:
        if not instance["iscrowd"]:
            masks_by_image[instance["image_id"]].append(rle.decode(instance["rle"]))
    return list(masks_by_image.values())


def targets(photographs: list[list[Mask]]) -> list[MaskTarget]:
    return [
        MaskTarget(mask=mask, others=(*objects[:index], *objects[index + 1 :]))
        for objects in photographs
        for index, mask in enumerate(objects)
        if mask.any()
    ]


@pytest.mark.slow
def test_few_large_objects_are_undefined(photographs: list[list[Mask]]) -> None:
    n_asked, undefined = Counter[str](), Counter[str]()
    for index, target in enumerate(targets(photographs)):
        if np.count_nonzero(target.mask) < LARGE_PX:
            continue
        for kind, _, _, outcome in masks.variants(target, seed=1, key=str(index), kinds=sorted(WINDOWED)):
            n_asked[kind] += 1
            undefined[kind] += not isinstance(outcome, Scored)
    assert min(n_asked.values()) > 400
    assert {
        kind: undefined[kind] / n_asked[kind] for kind in n_asked if undefined[kind] > MAX_UNDEFINED * n_asked[kind]
    } == {}


@pytest.mark.slow
def test_windows_and_sides_hold_on_every_object(photographs: list[list[Mask]]) -> None:
    for index, target in enumerate(targets(photographs)[::3]):
        for kind, difficulty, _, outcome in masks.variants(target, seed=2, key=str(index)):
            if not isinstance(outcome, Scored):
                continue
            output, truth = outcome.value.output, outcome.value.truth
            has_lost, has_added = (target.mask & ~output).any(), (output & ~target.mask).any()
            assert (has_lost, has_added) == {
                "perfect": (False, False),
                "cutout": (True, False),
                "erode": (True, False),
                "dilate": (False, True),
                "merge": (False, True),
                "full_neg": (True, True),
            }[kind]
            if difficulty is not None and kind in WINDOWED:
                assert truth.iou is not None
                assert WINDOWS[difficulty][0] <= truth.iou <= WINDOWS[difficulty][1]
