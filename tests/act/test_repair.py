"""Repair of masks: what each attempt does, and which one is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from auscult.act.repair import ATTEMPTS, Attempt, Tools, as_in_paper, geometric, repair
from auscult.arrays.boxes import box_of
from auscult.arrays.error_map import error_map_of
from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.models.classical.grabcut import graph_cut
from auscult.types import Box, Evidence, Frame, Mask, Verdict
from small_inputs import ellipse
from small_records import verdict

SIZE = (120, 160)
TRUTH = ellipse((60, 80), (36, 44), SIZE)
OTHER = ellipse((100, 22), (18, 20), SIZE)


def scene() -> np.ndarray:
    rng = np.random.default_rng(0)
    frame = rng.normal(70, 4, (*SIZE, 3))
    frame[TRUTH] = rng.normal((200, 90, 60), 4, (int(TRUTH.sum()), 3))
    frame[OTHER] = (60, 160, 210)
    return np.clip(frame, 0, 255).astype(np.uint8)


FRAME = scene()


def verdict_of_mask(mask: Mask) -> Verdict:
    """A judge that knows the truth: what a repair could reach at best."""
    true_iou = iou(mask, TRUTH)
    action = "accept" if true_iou >= 0.95 else "reject"
    return verdict("x", iou=true_iou, iou_low=true_iou, iou_high=true_iou, action=action)


def tools(**options: object) -> Tools:
    return Tools(
        judge=lambda masks: [verdict_of_mask(mask) for mask in masks], cut=partial(graph_cut, rounds=2), **options
    )


def mapped(mask: Mask, verdict_: Verdict) -> Verdict:
    """The verdict with the true errors as its error map."""
    signed_map = (TRUTH.astype(np.float32) - mask)[:, 20:140]
    return replace(verdict_, error_map=error_map_of(signed_map, (20, 0, 140, 120)))


def cut_out() -> Mask:
    return TRUTH & ~ellipse((60, 80), (14, 16), SIZE)


CASES = {
    "cutout": (cut_out(), "fill"),
    "erode": (ellipse((60, 80), (31, 39), SIZE), "grow"),
    "dilate": (ellipse((60, 80), (40, 48), SIZE), "shrink"),
    "merge": (TRUTH | OTHER, "drop_parts"),
}


@pytest.mark.parametrize("defect", CASES)
def test_a_mask_is_repaired_by_what_suits_its_defect(defect: str) -> None:
    mask, attempt_name = CASES[defect]
    verdict_ = mapped(mask, replace(verdict_of_mask(mask), defect=defect))
    result = repair(FRAME, mask, verdict_, tools=tools())
    assert attempt_name in {attempt_.attempt for attempt_ in result.tried}
    assert all(
        defect in attempt.suits
        for attempt in ATTEMPTS
        if attempt.name in {attempt_.attempt for attempt_ in result.tried}
    )
    assert result.kept is not None
    assert result.kept.mask is not None
    assert iou(result.kept.mask, TRUTH) > max(0.93, iou(mask, TRUTH) + 0.05)


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
@pytest.mark.parametrize("with_map", [True, False])
def test_attempts_give_masks_or_nothing_and_change_no_argument(attempt: Attempt, with_map: bool) -> None:
    any_attempt = replace(attempt, suits=("erode",))
    for mask in (cut_out(), TRUTH | OTHER, np.ones(SIZE, bool), ellipse((2, 2), (2, 2), SIZE)):
        verdict_ = mapped(mask, verdict_of_mask(mask)) if with_map else verdict_of_mask(mask)
        before, frame = mask.copy(), FRAME.copy()
        attempts_ = list(geometric(FRAME, mask, verdict_, tools=tools(attempts=(any_attempt,)), others=(OTHER,)))
        assert np.array_equal(mask, before)
        assert np.array_equal(FRAME, frame)
        for attempt_ in attempts_:
            assert attempt_.mask is not None
            assert attempt_.mask.shape == SIZE
            assert attempt_.mask.dtype == np.bool_
            second_attempt = next(
                iter(geometric(FRAME, mask, verdict_, tools=tools(attempts=(any_attempt,)), others=(OTHER,)))
            )
            assert np.array_equal(attempt_.mask, second_attempt.mask)


def test_what_another_mask_of_the_frame_holds_is_left_out() -> None:
    mask = TRUTH | ellipse((90, 110), (14, 20), SIZE)
    other = ellipse((90, 110), (14, 20), SIZE) & ~TRUTH
    verdict_ = replace(verdict_of_mask(mask), defect="merge")
    attempts_ = list(geometric(FRAME, mask, verdict_, tools=tools(), others=(other,)))
    (mask_without,) = [attempt_.mask for attempt_ in attempts_ if attempt_.attempt == "without_others"]
    assert mask_without is not None
    assert not (mask_without & other).any()


@pytest.mark.parametrize("with_map", [True, False])
def test_a_segmenter_is_prompted_by_mask_and_error_map(with_map: bool) -> None:
    mask = (TRUTH | ellipse((70, 120), (20, 16), SIZE)) & ~ellipse((60, 60), (16, 14), SIZE)  # too much, and a hole
    verdict_ = replace(verdict_of_mask(mask), defect="dilate")
    prompts = []

    def prompted(frame: Frame, box: Box, points: Sequence[tuple[tuple[int, int], bool]]) -> Mask:
        red = np.abs(frame.astype(int) - (200, 90, 60)).max(axis=2) < 60
        prompts.append((box, red, [(bool(red[y, x]), inside) for (x, y), inside in points]))
        return red

    prompted_only = [attempt for attempt in ATTEMPTS if attempt.name == "prompted"]
    verdict_ = mapped(mask, verdict_) if with_map else verdict_
    kept_attempt = repair(FRAME, mask, verdict_, tools=tools(prompted=prompted, attempts=prompted_only)).kept
    assert kept_attempt is not None
    assert kept_attempt.mask is not None
    assert iou(kept_attempt.mask, TRUTH) > 0.98
    ((box, red, points),) = prompts
    if with_map:  # one point each in what it holds, misses and has too much
        assert points == [(True, True), (True, True), (False, False)]
        assert np.abs(np.subtract(box, box_of(red))).max() <= 4
    else:
        assert points == [(True, True)]


@pytest.mark.parametrize("action", ["accept", "unjudged", None])
def test_what_is_accepted_or_was_not_judged_is_left_alone(action: str | None) -> None:
    mask = cut_out()
    result = repair(FRAME, mask, verdict("x", defect="cutout", action=action), tools=tools(segment=lambda _: TRUTH))
    assert (result.tried, result.kept) == ((), None)


def test_a_lower_bound_that_does_not_rise_by_the_margin_keeps_the_mask() -> None:
    mask = cut_out()
    verdict_ = verdict("x", defect="cutout", iou_low=0.6)

    def same_verdicts(masks: Sequence[Mask]) -> list[Verdict]:
        return [verdict("x", iou=0.9, iou_low=0.62) for _ in masks]

    result = repair(FRAME, mask, verdict_, tools=Tools(judge=same_verdicts))
    assert result.tried
    assert result.kept is None


def test_a_rejected_mask_is_segmented_anew_from_what_was_meant_first() -> None:
    phrases = []

    def segment(phrase: str) -> Mask:
        phrases.append(phrase)
        return TRUTH if phrase == "the red ellipse" else OTHER

    verdict_ = verdict("x", defect="full_neg", iou=0.02, iou_low=0.0, target="the red ellipse")
    result = repair(FRAME, OTHER, verdict_, tools=tools(segment=segment), text="the large one")
    assert phrases == ["the red ellipse", "the large one"]
    assert result.kept is not None
    assert result.kept.attempt == "anew_target"
    assert np.array_equal(result.kept.mask, TRUTH)
    lenient = replace(verdict_, action="major_revision")
    assert not repair(FRAME, OTHER, lenient, tools=tools(segment=segment), text="it").tried


@pytest.mark.parametrize("text", [None, "", "  "])
def test_without_words_nothing_is_segmented_anew(text: str | None) -> None:
    verdict_ = verdict("x", defect="full_neg", iou=0.02, iou_low=0.0)
    assert not repair(FRAME, OTHER, verdict_, tools=tools(segment=lambda _: TRUTH), text=text).tried


def test_a_segmenter_that_fails_or_finds_nothing_costs_its_attempt() -> None:
    def broken(phrase: str) -> Mask:
        raise InputError("it cannot read this", expected="words")

    verdict_ = verdict("x", defect="full_neg", iou=0.02, iou_low=0.0)
    failed = repair(FRAME, OTHER, verdict_, tools=tools(segment=broken), text="it")
    empty = repair(FRAME, OTHER, verdict_, tools=tools(segment=lambda _: np.zeros(SIZE, bool)), text="it")
    assert [attempt_.note for attempt_ in failed.tried] == ["it cannot read this"]
    assert [attempt_.note for attempt_ in empty.tried] == ["nothing was segmented"]
    assert failed.kept is None
    assert empty.kept is None


def test_an_empty_mask_can_only_be_segmented_anew() -> None:
    verdict_ = verdict("x", defect="empty", iou=None, iou_low=None, iou_high=None, defect_probs={})
    empty_mask = np.zeros(SIZE, bool)
    assert not repair(FRAME, empty_mask, verdict_, tools=tools()).tried
    result = repair(FRAME, empty_mask, verdict_, tools=tools(segment=lambda _: TRUTH), text="the ellipse")
    assert result.kept is not None


def test_a_judge_that_fails_on_an_attempt_costs_that_attempt() -> None:
    def picky(masks: Sequence[Mask]) -> list[Verdict | InputError]:
        return [
            verdict_of_mask(mask) if iou(mask, TRUTH) > 0.97 else InputError("no", expected="yes") for mask in masks
        ]

    mask = cut_out()
    result = repair(FRAME, mask, replace(verdict_of_mask(mask), defect="cutout"), tools=Tools(judge=picky))
    assert result.kept is not None
    assert result.kept.attempt == "fill"
    assert all((attempt_.verdict is None) == attempt_.note.startswith("not judged") for attempt_ in result.tried)


def test_further_rounds_go_on_from_what_was_kept() -> None:
    mask = ellipse((60, 80), (22, 27), SIZE)

    def eroded(masks: Sequence[Mask]) -> list[Verdict]:
        return [replace(verdict_of_mask(mask_), defect="erode") for mask_ in masks]

    verdict_ = replace(verdict_of_mask(mask), defect="erode")
    once, twice = (repair(FRAME, mask, verdict_, tools=Tools(judge=eroded, rounds=rounds)) for rounds in (1, 3))
    assert once.kept is not None
    assert twice.kept is not None
    assert {attempt_.round for attempt_ in once.tried} == {1}
    assert max(attempt_.round for attempt_ in twice.tried) > 1
    assert iou(twice.kept.mask, TRUTH) > iou(once.kept.mask, TRUTH)


def test_as_in_the_paper_only_what_is_called_full_neg_is_segmented_anew_and_kept_unseen() -> None:
    worse = tools(segment=lambda _: OTHER)
    wrong = verdict("x", defect="full_neg", iou=0.5, iou_low=0.4, target="it")
    result = as_in_paper(wrong, tools=worse)
    assert result.kept is not None
    assert np.array_equal(result.kept.mask, OTHER)
    assert not as_in_paper(replace(wrong, defect="merge"), tools=worse).tried


@pytest.mark.parametrize(
    ("defect", "identity", "is_kept"), [("cutout", False, False), ("cutout", True, True), ("full_neg", False, True)]
)
def test_what_may_be_another_object_replaces_only_what_is_lost_or_where_identity_was_checked(
    defect: str, identity: bool, is_kept: bool
) -> None:
    def certain_judge(masks: Sequence[Mask]) -> list[Verdict]:
        verdict_ = verdict("x", iou=0.95, iou_low=0.9, evidence=Evidence(shape=True, identity=identity))
        return [verdict_ if np.array_equal(mask, OTHER) else replace(verdict_, iou_low=0.1) for mask in masks]

    verdict_ = verdict("x", defect=defect, iou=0.4, iou_low=0.3)
    result = repair(FRAME, cut_out(), verdict_, tools=Tools(judge=certain_judge, segment=lambda _: OTHER), text="it")
    assert (result.kept is not None) == is_kept


def test_where_identity_stays_in_doubt_the_estimate_decides_about_what_is_lost() -> None:
    def doubt(masks: Sequence[Mask]) -> list[Verdict]:
        return [verdict("x", iou=0.4, iou_low=0.0, defect="perfect") for _ in masks]

    lost_verdict = verdict("x", defect="full_neg", iou=0.02, iou_low=0.0)
    better = repair(FRAME, OTHER, lost_verdict, tools=Tools(judge=doubt, segment=lambda _: TRUTH), text="it")
    unchanged = repair(
        FRAME, OTHER, replace(lost_verdict, iou=0.39), tools=Tools(judge=doubt, segment=lambda _: TRUTH), text="it"
    )
    assert better.kept is not None
    assert unchanged.kept is None
