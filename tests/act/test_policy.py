from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.act.policy import DEFAULT, Policy, decide, load_policy, shipped_policies
from auscult.types import ACTIONS, DEFECTS, Evidence, Verdict


def verdict(defect: Any, iou: float | None, **changes: Any) -> Verdict:
    values: dict[str, Any] = {
        "id": "a", "iou": iou, "iou_low": iou, "iou_high": iou, "defect": defect, "defect_probs": {},
        "evidence": Evidence(shape=True), "rationale": "A bite is missing at the left.", "judge": "masks.any.v1",
    }  # fmt: skip
    return Verdict(**{**values, **changes})


def action(defect: Any, iou: float | None, policy: Policy = DEFAULT, **changes: Any) -> str | None:
    return decide(verdict(defect, iou, **changes), policy).action


ACCEPT, MINOR, MAJOR, REJECT = ACTIONS
BELOW = 1e-5

DEFAULT_TABLE = [
    ("perfect", 1.0, ACCEPT), ("perfect", 0.95, ACCEPT), ("perfect", 0.95 - BELOW, MINOR), ("perfect", 0.0, MINOR),
    *((shape, iou, expected_action) for shape in ("cutout", "dilate", "erode") for iou, expected_action in (
        (1.0, MINOR), (0.825, MINOR), (0.825 - BELOW, MAJOR), (0.75, MAJOR), (0.75 - BELOW, REJECT), (0.0, REJECT))),
    ("merge", 1.0, MINOR), ("merge", 0.9, MINOR), ("merge", 0.9 - BELOW, MAJOR), ("merge", 0.75, MAJOR),
    ("merge", 0.75 - BELOW, REJECT), ("merge", 0.0, REJECT),
    ("full_neg", 1.0, REJECT), ("full_neg", 0.0, REJECT),
]  # fmt: skip

RELEASE_TABLE = [
    (0.0, REJECT),
    (BELOW, MAJOR),
    (0.6, MAJOR),
    (0.6 + BELOW, MINOR),
    (0.9, MINOR),
    (0.9 + BELOW, ACCEPT),
    (1.0, ACCEPT),
]


PAPER = load_policy("paper")
STRICT = load_policy("identity")
SHAPES = ("cutout", "dilate", "erode")


@pytest.mark.parametrize(("defect", "iou", "expected_action"), DEFAULT_TABLE)
def test_the_default_at_each_edge_where_the_judge_gives_no_probability(
    defect: str, iou: float, expected_action: str
) -> None:
    assert action(defect, iou) == expected_action


@pytest.mark.parametrize("probability", [None, 0.0, 0.99])
@pytest.mark.parametrize(("defect", "iou", "expected_action"), DEFAULT_TABLE)
def test_the_windows_of_the_paper_ask_for_no_probability(
    defect: str, iou: float, expected_action: str, probability: float | None
) -> None:
    assert action(defect, iou, PAPER, prob_iou_80=probability) == expected_action


@pytest.mark.parametrize("defect", ["perfect", *SHAPES])
@pytest.mark.parametrize("iou", [0.0, 0.8, 1.0, None])
def test_what_is_probably_good_is_accepted_whatever_its_defect(defect: str, iou: float | None) -> None:
    assert DEFAULT.good is not None
    edge = DEFAULT.good.prob_iou_80
    decision = decide(verdict(defect, iou, prob_iou_80=edge))
    assert (decision.action, decision.rationale) == (ACCEPT, "A bite is missing at the left.")
    assert action(defect, iou, prob_iou_80=edge - BELOW) != ACCEPT


@pytest.mark.parametrize(("defect", "iou", "expected_action"), DEFAULT_TABLE)
def test_below_the_threshold_the_groups_decide_and_none_accepts_a_perfect_mask(
    defect: str, iou: float, expected_action: str
) -> None:
    decided_action = action(defect, iou, prob_iou_80=0.3)
    assert decided_action == (MINOR if (defect, expected_action) == ("perfect", ACCEPT) else expected_action)


def test_a_probability_accepts_no_wrong_object_and_nothing_on_an_absent_target() -> None:
    assert action("full_neg", 0.9, prob_iou_80=1.0) == REJECT
    assert action("merge", 0.5, prob_iou_80=1.0) == REJECT
    assert action("erode", 0.9, prob_iou_80=1.0, target_exists="no") == REJECT
    assert action("empty", None, prob_iou_80=1.0, target_exists="yes") == REJECT
    assert action("erode", 0.3, prob_iou_80=math.nan) == REJECT


def test_what_is_probably_good_still_needs_identity_where_the_policy_asks_for_it() -> None:
    decision = decide(verdict("erode", 0.5, prob_iou_80=0.99), STRICT)
    assert decision.action == MINOR
    assert "was not checked" in decision.rationale
    assert action("erode", 0.5, STRICT, prob_iou_80=0.99, evidence=Evidence(identity=True)) == ACCEPT


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize(("iou", "expected_action"), RELEASE_TABLE)
def test_the_release_looks_at_the_iou_alone(defect: str, iou: float, expected_action: str) -> None:
    assert action(defect, iou, load_policy("release")) == expected_action


EVERY = [load_policy(name) for name in shipped_policies()]


@pytest.mark.parametrize("policy", EVERY, ids=lambda policy: policy.name)
def test_an_empty_mask_is_right_only_on_an_absent_target(policy: Policy) -> None:
    absent, present, open_ = (
        decide(verdict("empty", None, target_exists=exists), policy) for exists in ("no", "yes", "unchecked")
    )
    assert [decision.action for decision in (absent, present, open_)] == [ACCEPT, REJECT, REJECT]
    assert absent.rationale == present.rationale == "A bite is missing at the left."
    assert "was not checked" in open_.rationale


def test_a_mask_on_an_absent_target_is_full_neg() -> None:
    assert action("perfect", 0.99, target_exists="no") == REJECT
    assert action("perfect", 0.99, target_exists="yes") == ACCEPT


@pytest.mark.parametrize("iou", [None, math.nan])
def test_without_an_estimate_nothing_is_kept(iou: float | None) -> None:
    decision = decide(verdict("perfect", iou))
    assert decision.action == REJECT
    assert "no estimate" in decision.rationale


def test_a_policy_can_ask_for_identity() -> None:
    strict = load_policy("identity")
    decision = decide(verdict("perfect", 0.99), strict)
    assert decision.action == MINOR
    assert "was not checked" in decision.rationale
    assert action("perfect", 0.99, strict, evidence=Evidence(identity=True)) == ACCEPT
    assert action("erode", 0.8, strict) == MAJOR


def test_deciding_again_takes_back_the_note() -> None:
    strict = load_policy("identity")
    once = decide(verdict("perfect", 0.99), strict)
    assert decide(once, strict) == once
    assert decide(once, DEFAULT) == decide(verdict("perfect", 0.99), DEFAULT)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(DEFECTS), st.floats(0, 1), st.floats(0, 1), st.none() | st.floats(0, 1))
def test_a_better_mask_is_never_treated_worse(defect: Any, first: float, second: float, likely: float | None) -> None:
    low, high = sorted((first, second))
    for policy in EVERY:
        worse, better = (action(defect, iou, policy, prob_iou_80=likely) for iou in (low, high))
        assert ACTIONS.index(better) <= ACTIONS.index(worse)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(DEFECTS), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_likelier_mask_is_never_treated_worse(defect: Any, iou: float, first: float, second: float) -> None:
    low, high = sorted((first, second))
    for policy in EVERY:
        worse, better = (action(defect, iou, policy, prob_iou_80=likely) for likely in (low, high))
        assert ACTIONS.index(better) <= ACTIONS.index(worse)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(DEFECTS), st.sampled_from([0.95, 0.9, 0.825, 0.75, 0.6]), st.floats(-1e-6, 1e-6))
def test_the_decision_is_that_of_the_six_decimals_on_record(defect: Any, edge: float, offset: float) -> None:
    for policy in (DEFAULT, load_policy("release")):
        assert action(defect, edge + offset, policy) == action(defect, round(edge + offset, 6), policy)
    assert DEFAULT.good is not None
    probability = DEFAULT.good.prob_iou_80 + offset
    assert action(defect, 0.8, prob_iou_80=probability) == action(defect, 0.8, prob_iou_80=round(probability, 6))
