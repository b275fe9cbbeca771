"""Table 11's form, and what a cascade of two judges would give for how much."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from mqa_material import answers, benchmark, right

from auscult.act.policy import load_policy
from auscult.record.reader import Run
from auscult.suites.mqa.charts import failures
from auscult.suites.mqa.costs import (
    JudgeCost,
    Timing,
    asking_order,
    cost_of,
    costs_table,
    curve_figure,
    curve_table,
    pairs_of,
    printed_costs,
)
from auscult.suites.mqa.evaluate import blocks_of
from auscult.suites.mqa.tables import printed_rows
from auscult.types import DEFECTS, Evidence, Verdict
from small_inputs import write_lines

PAPER = load_policy("paper")
CANDIDATES = [candidate_ for candidate_ in benchmark(3, protocols=("image",)) if candidate_.split == "test_s"]


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)


def record(answer_map, *, seconds, name="j", width=0.2, peak=None, path=Path("none"), **fields):
    """A record of answers, as one that was read."""
    verdicts = []
    for number, (id_, answer) in enumerate(answer_map.items()):
        verdict = Verdict(
            id=id_, iou=answer.iou, iou_low=max(0.0, answer.iou - width / 2), iou_high=min(1.0, answer.iou + width / 2),
            defect=answer.defect, action=answer.action, defect_probs=dict.fromkeys(DEFECTS, 1 / 6),
            evidence=Evidence(shape=True), rationale="Words.", judge=name, seconds=seconds, **fields,
        )  # fmt: skip
        verdicts.append((verdict, {} if peak is None else {"peak_mb": peak + number, "peak_gpu_mb": None}))
    return Run(path=path, manifest={}, verdicts=tuple(verdicts), errors=(), scores=(), clips=(), summary=None)


CHEAP = record(answers(CANDIDATES), seconds=0.01)


@pytest.fixture
def dear_judge(tmp_path):
    """A judge that is right, at 3 USD for 1,000 masks."""
    replies = [{"key": candidate_.id, "usage": {"cost": 0.003}} for candidate_ in CANDIDATES] + [
        {"key": "x", "usage": {}}
    ]
    write_lines(tmp_path / "reply_cache.jsonl", *replies)
    return record({candidate_.id: right(candidate_) for candidate_ in CANDIDATES}, seconds=2.0, name="k", path=tmp_path)


def test_the_papers_comparison_follows_from_its_printed_cells():
    """1.65 times the throughput (the text says 1.6 times as fast), 39 % lower latency, 51 % less memory."""
    table = printed_costs()
    assert table.rows[-1] == ("MQ-Auditor", "4.3", "0.233", "15.1")
    assert table.note.endswith("MQ-Auditor against Video-LLaMA3-7B: 1.65x, latency -39 %, memory -51 %.")
    assert "not comparable" in table.note
    latency, rate, _ = (float(cell) for cell in printed_rows("11")[-1].cells)
    assert rate == pytest.approx(1 / latency, abs=0.001)


def test_costs_are_those_of_record_and_commands(dear_judge):
    run = record(answers(CANDIDATES), seconds=0.5, peak=900, path=dear_judge.path)
    cost = cost_of(run, [Timing(judge="j", masks=30, seconds=10.0), Timing(judge="j", masks=10, seconds=10.0)])
    assert cost == JudgeCost(
        latency_s=pytest.approx(0.5), throughput=2.0, peak_gb=(900 + len(CANDIDATES) - 1) / 1000,
        usd=pytest.approx(3.0),
    )  # fmt: skip
    unknown = cost_of(CHEAP, [])
    assert (unknown.throughput, unknown.peak_gb, unknown.usd) == (None, None, None)
    table = costs_table({"cheap": unknown, "dear": cost})
    assert table.rows[0] == ("cheap", "0.010", "–", "–", "–", "–")
    assert table.rows[1][-2:] == ("3.000", "latency +4900 %")


def test_a_dear_judge_is_first_asked_what_the_policy_leaves_open():
    answer_map = {candidate_.id: right(candidate_) for candidate_ in CANDIDATES}
    certain, wide, narrow, *_ = (candidate_.id for candidate_ in CANDIDATES if candidate_.defect == "erode")
    width = {wide: 0.4, narrow: 0.02}
    changed_answers = {name: replace(answer_map[name], iou=0.8) for name in (wide, narrow)} | {
        certain: replace(answer_map[certain], iou=0.2)
    }
    run = record(changed_answers, seconds=1.0)
    run = replace(run, verdicts=tuple(
        (replace(v, iou_low=v.iou - width.get(v.id, 0.1) / 2, iou_high=v.iou + width.get(v.id, 0.1) / 2), row)
        for v, row in run.verdicts
    ))  # fmt: skip
    assert asking_order(run, PAPER) == ((wide, certain, narrow), 1)  # an IoU of .79 to .81 is a major revision
    texts = replace(run, verdicts=tuple((v, {"text": "the dog"}) for v, _ in run.verdicts))
    assert asking_order(texts, PAPER) == (
        (wide, narrow, certain),
        2,
    )  # unchecked identity; surely rejected is not asked


def test_the_curve_goes_from_the_cheap_judge_to_the_dear_one(dear_judge):
    (pair,) = pairs_of({"dear": dear_judge, "cheap": CHEAP}, PAPER)
    assert pair.name == "cheap, dear"
    (block,) = blocks_of(CANDIDATES)
    points = pair.points(block)
    first, last = points[0], points[-1]
    assert (first.share, last.share) == (0.0, 1.0)
    assert first.cells[0].value == first.cells[2].value > 0.05
    assert last.cells[0].value == last.cells[2].value == 0.0
    assert (last.cells[1].value, last.cells[3].value) == (1.0, 1.0)
    assert (first.seconds, last.seconds) == (pytest.approx(0.01), pytest.approx(2.01))
    assert (first.usd, last.usd) == (0.0, pytest.approx(3.0))
    (rule,) = [point for point in points if point.rule]
    assert rule.share == pair.opened / len(CANDIDATES)
    assert [point.share for point in points] == sorted(point.share for point in points)
    table = curve_table(block, points)
    assert sum("what is open" in row[1] for row in table.rows) == 1
    assert len(table.rows) == len(points)
    figure = curve_figure(block, points)
    assert "dear: 0 % asked" in figure.drawing.words
    assert "random: dear: 0 % asked" in figure.drawing.words


def test_what_the_dear_judge_failed_on_is_failed_where_it_is_asked():
    failed_id = CANDIDATES[0].id
    dear_record = record({candidate_.id: right(candidate_) for candidate_ in CANDIDATES[1:]}, seconds=2.0)
    (pair,) = pairs_of({"cheap": CHEAP, "dear": dear_record}, PAPER)
    (block,) = blocks_of(CANDIDATES)
    points = pair.points(block)
    assert [points[0].cells[0].failed, points[-1].cells[0].failed] == [0, 1]
    assert failed_id in pair.order


def test_a_cascade_is_no_part_of_a_pair():
    joined = record(answers(CANDIDATES), seconds=0.5, judged_by="cheap")
    assert pairs_of({"cheap": CHEAP, "cascade": joined}, PAPER) == []
    assert pairs_of({}, PAPER) == []


def test_failures_are_wrong_masks_called_perfect_and_other_objects_spoken_of():
    categorised = [replace(candidate_, category="spotted_dog") for candidate_ in CANDIDATES]
    answer_map = {candidate_.id: replace(right(candidate_), target="the dog") for candidate_ in categorised}
    assert failures({"j": answer_map}, categorised, ()) == []
    lowest = min(
        (candidate_ for candidate_ in categorised if candidate_.defect == "erode"),
        key=lambda candidate_: candidate_.iou,
    )
    answer_map |= {
        candidate_.id: replace(answer_map[candidate_.id], defect="perfect")
        for candidate_ in categorised
        if candidate_.defect == "erode"
    }
    answer_map[categorised[5].id] = replace(answer_map[categorised[5].id], target="a violin")
    assert failures({"j": answer_map}, categorised, ()) == [
        ("j: erode taken for perfect", lowest),
        ("j: speaks of a violin, not of spotted_dog", categorised[5]),
    ]
    assert failures({"j": answer_map}, categorised, {categorised[5].id}) == [("j: erode taken for perfect", lowest)]
