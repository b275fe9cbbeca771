"""A verdict joined with an identity check: the laws hold for any judge and any finding, and known cases come out."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.act.policy import decide, load_policy
from auscult.judge.identity.combine import combined, off_object, unchecked
from auscult.record.schema import verdict_from_json, verdict_to_json
from auscult.types import DEFECTS, Evidence, Identity, Verdict

CHECK = "identity.test.v1"
SHARES = st.floats(0, 1, allow_subnormal=False)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    weights = [draw(st.floats(0, 1, allow_subnormal=False)) for _ in DEFECTS]
    if sum(weights) <= 1e-6:
        weights = [1.0, *([0.0] * 5)]
    probs = {name: weight / sum(weights) for name, weight in zip(DEFECTS, weights, strict=True)}
    low, iou, high = sorted(draw(SHARES) for _ in range(3))
    return _verdict(iou, low=low, high=high, probs=probs)


def _verdict(iou: float, *, low: float, high: float, probs: dict[str, float]) -> Verdict:
    full = dict.fromkeys(DEFECTS, 0.0) | probs
    return Verdict(
        id="a",
        iou=iou,
        iou_low=low,
        iou_high=high,
        defect=max(DEFECTS, key=lambda name: full[name]),
        defect_probs=full,
        evidence=Evidence(shape=True, boundary=True),
        rationale="About 14 % is missing inside, upper left; whether it is the right object was not checked.",
        judge="masks.test.v1",
    )


def _good() -> Verdict:
    return _verdict(0.96, low=0.9, high=0.99, probs={"perfect": 0.9, "dilate": 0.05, "merge": 0.05})


@settings(max_examples=60, deadline=None)
@given(verdicts(), SHARES, st.none() | SHARES, st.sampled_from(["yes", "no", "unchecked"]))
def test_probabilities_sum_to_one_and_the_interval_holds_the_estimate(
    verdict: Verdict, match: float, kept: float | None, exists: str
) -> None:
    joined = combined(verdict, Identity(match=match, kept=kept, exists=exists), check=CHECK)  # type: ignore[arg-type]
    assert math.isclose(sum(joined.defect_probs.values()), 1.0, abs_tol=1e-9)
    assert min(joined.defect_probs.values()) >= 0
    assert joined.iou_low is not None
    assert joined.iou is not None
    assert joined.iou_high is not None
    assert 0 <= joined.iou_low <= joined.iou <= joined.iou_high <= 1
    assert joined.defect_probs[joined.defect] == max(joined.defect_probs.values())
    assert joined.evidence.identity
    assert joined.evidence.shape


@settings(max_examples=60, deadline=None)
@given(verdicts(), st.lists(SHARES, min_size=2, max_size=5), st.none() | SHARES)
def test_more_match_never_lowers_the_iou_nor_raises_full_neg(
    verdict: Verdict, matches: list[float], kept: float | None
) -> None:
    joined = [combined(verdict, Identity(match=match, kept=kept), check=CHECK) for match in sorted(matches)]
    for less, higher in pairwise(joined):
        assert higher.defect_probs["full_neg"] <= less.defect_probs["full_neg"] + 1e-12
        for name in ("iou", "iou_low", "iou_high"):
            assert getattr(higher, name) >= getattr(less, name) - 1e-12


@settings(max_examples=50, deadline=None)
@given(verdicts(), SHARES, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_less_kept_never_lowers_the_probability_of_merge(
    verdict: Verdict, match: float, first: float, second: float
) -> None:
    less, larger = sorted((first, second))
    merges = [
        combined(verdict, Identity(match=match, kept=kept_share), check=CHECK).defect_probs
        for kept_share in (less, larger)
    ]
    assert merges[0]["merge"] >= merges[1]["merge"] - 1e-12
    assert merges[0]["full_neg"] == merges[1]["full_neg"]


@settings(max_examples=60, deadline=None)
@given(SHARES, SHARES, SHARES)
def test_off_object_is_bayes_rule_and_rises_with_the_judges_doubt(doubt: float, more: float, match: float) -> None:
    prior = np.array([(1 - doubt) / 2, (1 - doubt) / 2, doubt])
    weighed = prior * np.array([match, 1 - match, 1 - match])
    if weighed.sum() > 1e-9 and doubt < 1:
        assert off_object(doubt, match) == pytest.approx(1 - weighed[0] / weighed.sum(), abs=1e-9)
    low, high = sorted((doubt, more))
    assert off_object(low, match) <= off_object(high, match) + 1e-12


def test_a_sure_match_leaves_a_judge_without_doubt_as_it_was() -> None:
    joined = combined(_good(), Identity(match=1.0), check=CHECK)
    assert (joined.iou, joined.iou_low, joined.iou_high) == (0.96, 0.9, 0.99)
    assert joined.defect_probs == pytest.approx(_good().defect_probs)


def test_a_sure_mismatch_is_full_neg_with_iou_zero() -> None:
    identity = Identity(match=0.0, target="red car", distractor="bus", note="the words fit a bus better")
    joined = combined(_good(), identity, check=CHECK)
    assert (joined.defect, joined.iou, joined.iou_low, joined.iou_high) == ("full_neg", 0.0, 0.0, 0.0)
    assert (joined.target, joined.distractor) == ("red car", "bus")
    assert decide(joined).action == "reject"
    assert joined.rationale.endswith("Identity, by identity.test.v1: the words fit a bus better.")
    assert "not checked" not in joined.rationale


@pytest.mark.parametrize("match", [0.3, 0.6, 0.8, 0.93, 0.97, 0.99])
def test_the_interval_is_the_quantiles_of_the_mixture(match: float) -> None:
    verdict = replace(_good(), iou=0.7, iou_low=0.4, iou_high=0.8)
    joined = combined(verdict, Identity(match=match), check=CHECK)
    rng = np.random.Generator(np.random.PCG64(5))
    share = rng.random(400_000)
    draws = np.interp(share, [0, 0.05, 0.95, 1.0], [0, 0.4, 0.8, 1.0]) * (rng.random(share.size) < match)
    low, high = np.quantile(draws, [0.05, 0.95])
    assert joined.iou == pytest.approx(0.7 * match, abs=1e-9)
    assert joined.iou_low == pytest.approx(min(low, 0.7 * match), abs=0.01)
    assert joined.iou_high == pytest.approx(max(high, 0.7 * match), abs=0.01)


def test_a_part_elsewhere_makes_a_merge_with_the_iou_of_what_is_kept() -> None:
    verdict = _verdict(0.93, low=0.85, high=0.97, probs={"perfect": 0.5, "merge": 0.5})
    joined = combined(verdict, Identity(match=0.99, kept=0.5, distractor="drum"), check=CHECK)
    assert joined.defect == "merge"
    assert joined.distractor == "drum"
    assert joined.iou_low is not None
    assert joined.iou_low <= 0.5
    assert joined.iou == pytest.approx(0.99 * (0.15 * 0.93 + 0.85 * 0.5), abs=0.01)
    all_kept = combined(verdict, Identity(match=0.99, kept=1.0), check=CHECK)
    assert all_kept.defect == "perfect"
    assert all_kept.defect_probs["merge"] < 0.06


def test_a_distractor_is_told_only_where_something_else_was_segmented() -> None:
    assert combined(_good(), Identity(match=0.99, distractor="bus"), check=CHECK).distractor is None


def test_an_object_that_is_not_there_cannot_be_matched() -> None:
    joined = combined(_good(), Identity(match=0.9, exists="no"), check=CHECK)
    assert joined.defect == "full_neg"
    assert joined.target_exists == "no"
    assert decide(joined).action == "reject"


def test_an_empty_mask_is_right_where_the_object_is_not_there() -> None:
    rationale = "Nothing is segmented; whether the target is in the frame was not checked."
    empty = replace(
        _good(), defect="empty", defect_probs={}, iou=None, iou_low=None, iou_high=None, rationale=rationale
    )
    assert decide(combined(empty, Identity(match=0.0, exists="no"), check=CHECK)).action == "accept"
    present = combined(empty, Identity(match=0.0, exists="yes"), check=CHECK)
    assert decide(present).action == "reject"
    assert present.iou is None
    assert present.rationale.startswith("Nothing is segmented. Identity, by")
    unsure = combined(empty, Identity(match=0.0), check=CHECK)
    assert "whether the target is in the frame was not checked." in unsure.rationale
    assert decide(unsure).action == "reject"


def test_sound_counts_as_evidence_where_it_was_listened_to() -> None:
    assert combined(_good(), Identity(match=0.9, sound=True), check=CHECK).evidence.sound
    assert not combined(_good(), Identity(match=0.9), check=CHECK).evidence.sound


def test_without_a_check_the_verdict_says_so_once() -> None:
    once = unchecked(_good(), "there is no expression")
    assert once.rationale == "About 14 % is missing inside, upper left. Identity not checked: there is no expression."
    assert unchecked(once, "there is no expression") == once
    assert unchecked(_good()).rationale.endswith(". Identity not checked.")
    assert not once.evidence.identity
    assert (once.iou, once.defect_probs) == (_good().iou, _good().defect_probs)
    checked = combined(once, Identity(match=1.0, note="it is the car"), check=CHECK)
    assert "not checked" not in checked.rationale


def test_the_policy_that_asks_for_identity_accepts_only_what_was_checked() -> None:
    policy = load_policy("identity")
    assert decide(unchecked(_good()), policy).action == "minor_revision"
    assert decide(combined(_good(), Identity(match=1.0), check=CHECK), policy).action == "accept"


def test_a_joined_verdict_survives_the_record() -> None:
    joined = combined(_good(), Identity(match=0.5, target="car", distractor="bus", exists="yes"), check=CHECK)
    reread = verdict_from_json(verdict_to_json(joined))
    assert (reread.target, reread.distractor, reread.target_exists) == ("car", joined.distractor, "yes")
    assert reread.evidence == joined.evidence
    assert reread.iou == pytest.approx(joined.iou, abs=1e-6)


def test_a_match_below_every_probability_is_never_a_yes() -> None:
    assert combined(_good(), Identity(match=-3.0), check=CHECK).defect == "full_neg"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")], ids=str)
@pytest.mark.parametrize("field", ["match", "kept"])
def test_what_is_no_number_is_no_check_and_no_score_of_zero(field: str, number: float) -> None:
    joined = combined(_good(), replace(Identity(match=0.9, exists="no"), **{field: number}), check=CHECK)
    assert joined == unchecked(_good(), "identity.test.v1 gave no number")
    assert joined.rationale.endswith("Identity not checked: identity.test.v1 gave no number.")
    assert not joined.evidence.identity
    assert (joined.iou, joined.defect) == (_good().iou, "perfect")
