"""What stands beside our tables: the paper's printed rows, and F2-A of actions that a judge names itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mqa_material import answers, benchmark

from auscult.suites.mqa.tables import results_of

CANDIDATES = benchmark(2)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.RANK_DRAWS", 5)


def test_printed_rows_have_the_columns_of_ours_and_say_that_they_are_of_other_data():
    tables = results_of(CANDIDATES, {"judge": answers(CANDIDATES)}).tables
    for name, methods in (("image_seen", 15), ("image_unseen", 15), ("video_seen", 3)):
        printed_table, our_table = tables[f"{name}_printed"], tables[f"{name}_rmse"]
        assert printed_table.header[3:] == our_table.header[1:-1]
        assert len(printed_table.rows) == methods
        assert "not comparable" in printed_table.note
    row = tables["image_unseen_printed"].rows[0]
    assert row[:4] == ("unseen", "RMSE", "Video-LLaMA3-7B", "0.192")
    assert row[-1] == "0.371"
    ablations = tables["image_ablation_printed"]
    assert len(ablations.rows) == 45
    assert all(len(ablation_row) == len(ablations.header) == 16 for ablation_row in ablations.rows)


def test_the_judges_own_action_is_scored_beside_the_policys_and_both_are_signed():
    answer_map = answers(CANDIDATES)
    right = {candidate_.id: candidate_.action for candidate_ in CANDIDATES}
    own_answers = {
        name: replace(answer, action="reject", own_action=right[name]) for name, answer in answer_map.items()
    }
    results = results_of(CANDIDATES, {"own": own_answers, "none": answer_map}, policy="paper")
    average = {cell.metric: cell for cell in results.blocks[0].cells["own"] if cell.column == "avg"}
    assert average["f2_own_a"].value == 1.0
    assert average["f2_a"].value < 0.6
    assert [row[0] for row in results.tables["image_seen_f2_own_a"].rows] == ["own", "n masks"]
    signature_of = {cell.metric: str(cell.outcome.signature) for cell in results.cells if cell.column == "avg"}
    assert "action_by:the judge" in signature_of["f2_own_a"].replace("=", ":")
    assert "action_by:policy paper" in signature_of["f2_a"].replace("=", ":")
    assert "action_by" not in signature_of["f2_m"]


def test_a_reply_without_an_action_is_a_miss():
    answer_map = {name: replace(answer, own_action=None) for name, answer in answers(CANDIDATES).items()}
    first = CANDIDATES[0]
    answer_map[first.id] = replace(answer_map[first.id], own_action=first.action)
    cells = {
        c.column: c for c in results_of(CANDIDATES, {"j": answer_map}).blocks[0].cells["j"] if c.metric == "f2_own_a"
    }
    assert cells["perfect"].unparsed == cells["perfect"].n - 1
    assert 0 < cells["perfect"].value < 1


def test_the_interval_of_a_mean_of_shares_stays_within_0_and_1():
    made = benchmark(4, protocols=("image",))
    answer_map = answers(made)
    for candidate_ in made:
        seen = candidate_.clip.endswith("0")
        answer_map[candidate_.id] = replace(answer_map[candidate_.id], defect=candidate_.defect if seen else "perfect")
    cells = results_of(made, {"j": answer_map}).cells
    outcomes = [cell.outcome for cell in cells if cell.column == "avg" and hasattr(cell.outcome, "low")]
    assert outcomes
    assert all(0 <= outcome.low <= outcome.value <= outcome.high <= 1 for outcome in outcomes)
