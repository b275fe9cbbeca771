"""A cascade: the dear judge is asked where the cheap one leaves open what to do, and who judged is said."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from auscult.act.policy import decide, load_policy, possible_actions
from auscult.errors import InputError
from auscult.judge.masks.cascade import SPENT, CascadeJudge
from auscult.record.schema import verdict_from_json, verdict_to_json
from auscult.types import DECISIONS, DEFECTS, Case, Evidence, Metadata, Prediction, Query, Verdict
from auscult.work.chat.spending import BudgetSpent

META = Metadata(summary="scripted", goal="tests", modality="mask", source="ours")
PAPER = load_policy("paper")
CASE = Case(id="a", frame=np.zeros((8, 8, 3), np.uint8))
MASK = Prediction(np.ones((8, 8), bool))


def verdict_with(defect="erode", iou=0.5, low=0.4, high=0.6, **options):
    probs = {name: float(name == defect) for name in DEFECTS}
    values = {"id": "a", "iou": iou, "iou_low": low, "iou_high": high, "defect": defect, "defect_probs": probs,
              "evidence": Evidence(shape=True), "rationale": "Words.", "judge": "x"}  # fmt: skip
    return Verdict(**(values | options))


class Scripted:
    """A judge that says one thing, or raises it, and counts how often."""

    meta = META

    def __init__(self, name, reply):
        self.name, self.reply, self.n_requests = name, reply, 0

    def __call__(self, *_):
        self.n_requests += 1
        if isinstance(self.reply, Exception):
            raise self.reply
        return replace(self.reply, judge=self.name)


def cascade(cheap, expensive, **options):
    def possible(verdict, case):
        return possible_actions(verdict, PAPER, named=bool(case.query.text))

    return CascadeJudge((cheap, expensive), name="cascade.two", possible=possible, **options)


@pytest.mark.parametrize(
    ("verdict", "is_named", "actions"),
    [
        (verdict_with(low=0.4, high=0.6), False, {"reject"}),
        (verdict_with(low=0.4, high=0.6), True, {"reject"}),  # rejected whatever it is on
        (verdict_with(low=0.83, high=0.89), False, {"minor_revision"}),
        (verdict_with(low=0.83, high=0.89), True, {"minor_revision", "reject"}),
        (verdict_with(low=0.83, high=0.89, evidence=Evidence(identity=True)), True, {"minor_revision"}),
        (verdict_with(low=0.74, high=0.83), False, {"reject", "major_revision", "minor_revision"}),
        (
            verdict_with(low=0.1, high=0.99),
            False,
            {"reject", "major_revision", "minor_revision"},
        ),  # a window between the ends
        (verdict_with("perfect", low=0.97, high=1.0), False, {"accept"}),
        (verdict_with("merge", low=0.86, high=0.95), False, {"major_revision", "minor_revision"}),
        (verdict_with("full_neg", low=0.0, high=1.0), True, {"reject"}),
        (verdict_with("full_neg", low=None, high=None), True, {"reject"}),
        (verdict_with("erode", low=None, high=None), False, {"reject", "major_revision", "minor_revision"}),
        (verdict_with("empty", None, None, None, target_exists="no"), True, {"accept"}),
        (verdict_with(None, None, None, None), False, set(DECISIONS)),
        (verdict_with("erode", low=0.9, high=1.0, target_exists="no"), False, {"reject"}),
    ],
)
def test_what_a_verdict_leaves_open(verdict, is_named, actions):
    assert possible_actions(verdict, PAPER, named=is_named) == actions


def test_the_decision_itself_is_always_among_the_possible_ones():
    rng = np.random.default_rng(3)
    for policy in map(load_policy, ("default", "paper", "release", "identity")):
        for _ in range(100):
            low, iou, high = np.sort(rng.uniform(0, 1, 3))
            verdict = verdict_with(str(rng.choice(DEFECTS)), iou, low, high)
            assert decide(verdict, policy).action in possible_actions(verdict, policy)


def test_the_chance_of_a_good_mask_is_open_where_the_interval_holds_that_iou():
    default = load_policy("default")
    for low, high, actions in (
        (0.85, 0.9, {"accept"}),
        (0.7, 0.9, {"accept", "major_revision", "reject"}),
        (0.76, 0.79, {"major_revision"}),
    ):
        assert possible_actions(verdict_with(iou=low, low=low, high=high, prob_iou_80=0.7), default) == actions


def test_the_dear_judge_is_asked_only_where_the_cheap_one_leaves_it_open():
    expensive = Scripted("dear", verdict_with("dilate", 0.95, 0.9, 1.0))
    settled = cascade(Scripted("cheap", verdict_with()), expensive)(CASE, MASK)
    assert (settled.judge, settled.judged_by, settled.defect, expensive.n_requests) == (
        "cascade.two",
        "cheap",
        "erode",
        0,
    )
    asked_verdict = cascade(Scripted("cheap", verdict_with(low=0.7, high=0.9)), expensive)(CASE, MASK)
    assert (asked_verdict.judge, asked_verdict.judged_by, asked_verdict.defect, asked_verdict.iou) == (
        "cascade.two",
        "dear",
        "dilate",
        0.95,
    )
    assert (
        "cheap said erode, IoU 0.50, and left open: minor revision, major revision, reject." in asked_verdict.rationale
    )
    reread = verdict_from_json(verdict_to_json(asked_verdict))
    assert reread.judged_by == "dear"
    assert "judged_by" not in verdict_to_json(verdict_with())


def test_an_expression_that_nobody_checked_is_a_reason_to_ask():
    expensive = Scripted("dear", verdict_with("full_neg", 0.0, 0.0, 0.1))
    named_case = replace(CASE, query=Query("the dog"))
    judge = cascade(Scripted("cheap", verdict_with("perfect", 0.99, 0.97, 1.0)), expensive)
    assert judge(CASE, MASK).judged_by == "cheap"
    assert judge(named_case, MASK).judged_by == "dear"


@pytest.mark.parametrize("expensive", [Scripted("dear", BudgetSpent("none is left")), Scripted("dear", verdict_with())])
def test_without_budget_the_cheap_verdict_stands_and_says_so(expensive):
    seconds = None if isinstance(expensive.reply, Exception) else 0.0
    verdict = cascade(Scripted("cheap", verdict_with(low=0.7, high=0.9)), expensive, seconds=seconds)(CASE, MASK)
    assert (verdict.judged_by, verdict.defect, verdict.iou) == ("cheap", "erode", 0.5)
    assert verdict.rationale.endswith(SPENT)


def test_seconds_are_counted_and_end(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("auscult.judge.masks.cascade.time.perf_counter", partial(next, clock))
    judge = cascade(
        Scripted("cheap", verdict_with(low=0.7, high=0.9)), expensive := Scripted("dear", verdict_with()), seconds=2.5
    )
    assert [judge(CASE, MASK).judged_by for _ in range(5)] == ["dear"] * 3 + ["cheap"] * 2
    assert expensive.n_requests == 3


def test_a_dear_judge_that_fails_costs_its_item():
    with pytest.raises(InputError, match="no IoU"):
        cascade(Scripted("cheap", verdict_with(low=0.7, high=0.9)), Scripted("dear", InputError("no IoU")))(CASE, MASK)


def test_three_judges_are_asked_in_turn():
    middle, last = (
        Scripted("middle", verdict_with(low=0.74, high=0.76)),
        Scripted("last", verdict_with("cutout", 0.3, 0.2, 0.4)),
    )
    judge = CascadeJudge(
        (Scripted("cheap", verdict_with(low=0.7, high=0.9)), middle, last), name="three",
        possible=lambda verdict, _: possible_actions(verdict, PAPER),
    )  # fmt: skip
    assert judge(CASE, MASK).judged_by == "last"
    middle.reply = verdict_with(low=0.2, high=0.3)
    assert judge(CASE, MASK).judged_by == "middle"
    assert last.n_requests == 1
