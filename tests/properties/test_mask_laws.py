"""The laws of the six defects on objects of any shape (Eqs. 2-7 of the MQ-RAVSBench paper)."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from auscult.outcome import Scored
from auscult.stress import masks
from auscult.stress.masks.base import WINDOWS
from auscult.types import Difficulty, Mask, MaskTarget, StressedMask

HEIGHT, WIDTH = 90, 110
common = settings(deadline=None, max_examples=60)
hard_or_medium = st.sampled_from(["hard", "medium"])
seeds = st.integers(0, 2**32)


def blank() -> Mask:
    return np.zeros((HEIGHT, WIDTH), bool)


@st.composite
def ellipses(draw: st.DrawFn, largest: int = 40) -> Mask:
    """Round objects, often cut by the frame."""
    canvas = blank().astype(np.uint8)
    centre = draw(st.integers(0, WIDTH - 1)), draw(st.integers(0, HEIGHT - 1))
    axes = draw(st.integers(0, largest)), draw(st.integers(0, largest))
    cv2.ellipse(canvas, centre, axes, draw(st.integers(0, 180)), 0, 360, 1, -1)
    return canvas.astype(bool)


@st.composite
def polygons(draw: st.DrawFn) -> Mask:
    """Angular objects, self-crossing ones with holes among them."""
    canvas = blank().astype(np.uint8)
    points = draw(
        st.lists(st.tuples(st.integers(-10, WIDTH + 10), st.integers(-10, HEIGHT + 10)), min_size=3, max_size=9)
    )
    cv2.fillPoly(canvas, [np.array(points, np.int32)], 1)
    return canvas.astype(bool)


@st.composite
def strokes(draw: st.DrawFn) -> Mask:
    """Thin objects: legs, wires, poles."""
    canvas = blank().astype(np.uint8)
    first, second = ((draw(st.integers(0, WIDTH - 1)), draw(st.integers(0, HEIGHT - 1))) for _ in range(2))
    cv2.line(canvas, first, second, 1, draw(st.integers(1, 6)))
    return canvas.astype(bool)


@st.composite
def specks(draw: st.DrawFn) -> Mask:
    """Objects of a few pixels."""
    mask = blank()
    row, column = draw(st.integers(0, HEIGHT - 1)), draw(st.integers(0, WIDTH - 1))
    mask[row : row + draw(st.integers(1, 6)), column : column + draw(st.integers(1, 6))] = True
    return mask


@st.composite
def joined(draw: st.DrawFn) -> Mask:
    """Objects of several parts."""
    mask = blank()
    for part in draw(st.lists(st.one_of(ellipses(15), strokes(), specks()), min_size=2, max_size=4)):
        mask |= part
    return mask


objects = st.one_of(ellipses(), polygons(), strokes(), specks(), joined(), st.just(~blank())).filter(
    lambda mask: bool(mask.any())
)
targets = st.builds(
    lambda mask, others: MaskTarget(mask=mask, others=tuple(others)), objects, st.lists(objects, max_size=5)
)


def attempt(kind: str, target: MaskTarget, **options: Any) -> StressedMask | None:
    outcome = masks.stress(kind, target, **options)
    if isinstance(outcome, Scored):
        event(f"{kind}: made")
        return outcome.value
    event(f"{kind}: {outcome.reason}")
    return None


def iou(first: Mask, second: Mask) -> float:
    return int((first & second).sum()) / int((first | second).sum())


@common
@given(objects, hard_or_medium, seeds)
@pytest.mark.parametrize("kind", ["cutout", "erode"])
def test_what_is_left_is_a_proper_subset(kind: str, mask: Mask, difficulty: Difficulty, seed: int) -> None:
    result = attempt(kind, MaskTarget(mask=mask), difficulty=difficulty, seed=seed)
    if result is not None:
        assert not (result.output & ~mask).any()
        assert 0 < result.output.sum() < mask.sum()
        assert WINDOWS[difficulty][0] <= iou(result.output, mask) <= WINDOWS[difficulty][1]


@common
@given(objects, hard_or_medium, seeds)
def test_dilate_is_a_proper_superset_near_the_object(mask: Mask, difficulty: Difficulty, seed: int) -> None:
    result = attempt("dilate", MaskTarget(mask=mask), difficulty=difficulty, seed=seed)
    if result is not None:
        assert not (mask & ~result.output).any()
        assert WINDOWS[difficulty][0] <= iou(result.output, mask) <= WINDOWS[difficulty][1]
        distance = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        assert distance[result.output].max() <= result.params["width_px"] <= 0.4 * np.sqrt(mask.sum()) + 2.0


@common
@given(objects, hard_or_medium, seeds)
def test_erode_takes_from_the_outline_inwards(mask: Mask, difficulty: Difficulty, seed: int) -> None:
    result = attempt("erode", MaskTarget(mask=mask), difficulty=difficulty, seed=seed)
    if result is not None:
        deep = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        assert deep[mask & ~result.output].max() <= result.params["width_px"]


@common
@given(targets, seeds)
def test_merge_adds_something_disjoint(target: MaskTarget, seed: int) -> None:
    result = attempt("merge", target, seed=seed)
    if result is not None:
        assert not (target.mask & ~result.output).any()
        difference = result.output & ~target.mask
        assert difference.sum() >= 16
        assert any(np.array_equal(difference, other & ~target.mask) for other in target.others)
        value = iou(result.output, target.mask)
        expected = (
            ("hard", "minor_revision")
            if value >= 0.9
            else ("medium", "major_revision")
            if value >= 0.75
            else ("easy", "reject")
        )
        assert (result.truth.iou, result.truth.difficulty, result.truth.action) == (value, *expected)


@common
@given(targets, seeds)
def test_full_neg_shares_nothing(target: MaskTarget, seed: int) -> None:
    result = attempt("full_neg", target, seed=seed)
    if result is not None:
        assert result.output.any()
        assert not (result.output & target.mask).any()
        assert (result.truth.iou, result.truth.action) == (0.0, "reject")


@common
@given(objects)
def test_perfect_is_the_mask(mask: Mask) -> None:
    result = attempt("perfect", MaskTarget(mask=mask))
    assert result is not None
    assert np.array_equal(result.output, mask)
    assert (result.truth.iou, result.truth.action) == (1.0, "accept")


@settings(deadline=None, max_examples=30)
@given(targets, seeds)
def test_the_set_does_not_depend_on_the_order_of_work(target: MaskTarget, seed: int) -> None:
    kinds = ["perfect", "cutout", "dilate", "erode", "merge", "full_neg"]
    forwards, backwards = (
        {
            item[:3]: item[3].value.output.tobytes() if isinstance(item[3], Scored) else item[3]
            for item in masks.variants(target, seed=seed, key="k", kinds=order)
        }
        for order in (kinds, kinds[::-1])
    )
    assert forwards == backwards
    for kind, difficulty, _, outcome in masks.variants(target, seed=seed, key="k", kinds=["erode", "cutout"]):
        alone = masks.stress(kind, target, difficulty=difficulty or "medium", seed=seed, key="k")
        assert type(alone) is type(outcome)
        if isinstance(outcome, Scored) and isinstance(alone, Scored):
            assert np.array_equal(alone.value.output, outcome.value.output)


@settings(deadline=None, max_examples=30)
@given(targets)
def test_others_that_the_frame_does_not_show_change_no_rank(target: MaskTarget) -> None:
    """Empty and tiny other objects are never taken, wherever they stand in the list."""
    padded = MaskTarget(mask=target.mask, others=(blank(), *target.others, blank()))
    ranks, shifted = (
        [
            item[3].value.params["other"]
            for item in masks.variants(given_target, kinds=["full_neg"])
            if isinstance(item[3], Scored)
        ]
        for given_target in (target, padded)
    )
    assert shifted == [index + 1 for index in ranks]


@settings(deadline=None, max_examples=40)
@given(ellipses(35).filter(lambda mask: int(mask.sum()) >= 400), hard_or_medium, seeds)
def test_cutouts_of_solid_objects_leave_the_outline_whole(mask: Mask, difficulty: Difficulty, seed: int) -> None:
    """A round object that is 16 pixels wide somewhere has room for holes, so no cut reaches its rim."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    assume(depth.max() >= 8)
    result = attempt("cutout", MaskTarget(mask=mask), difficulty=difficulty, seed=seed)
    assert result is not None
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=0)
    assert not (mask & ~result.output & (inner == 0)).any()
