"""The judge beside the model's own score: agreement, disagreements with pictures, both together where truth allows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.listing import ListOptions
from auscult.errors import Mismatch
from auscult.jobs.audit import audit_folder
from auscult.jobs.finish import report_folder
from auscult.jobs.options import AuditOptions
from auscult.record.folder import read_manifest
from auscult.record.schema import Summary
from small_inputs import auscult, folder_input, rows, write_lines
from small_records import DOT, record, verdict

AUCS = ("auc_judge", "auc_model_score", "auc_combined")


def scored_record(out: Path, *, n: int = 120, true: int = 120, shared_share: float = 0.0) -> Summary:
    """Masks whose estimate and score each know half of the truth; ``alike`` makes the score follow the estimate."""
    rng = np.random.default_rng(8)
    first, second = rng.random(n), rng.random(n)
    scores = shared_share * first + (1 - shared_share) * second
    ious = np.clip(0.3 + 0.5 * (first + second), 0, 1)
    lines = [
        (
            verdict(f"m{place:03}", iou=round(float(first[place]), 6), iou_low=0.0, iou_high=1.0),
            {"frame": f"f{place // 3}.png", "model_score": float(scores[place])},
        )
        for place in range(n)
    ]
    truths = [
        {"id": f"m{place:03}", "iou": float(ious[place]), "defect": None, "action": None, "cluster": f"f{place // 3}"}
        for place in range(true)
    ]
    return record(out, lines, truths)


@pytest.fixture(scope="module")
def record_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("scores")
    scored_record(place / "out")
    return place / "out"


def metrics(folder: Path) -> dict[str, Any]:
    stored_metrics: dict[str, Any] = json.loads((folder / "summary.json").read_text())["metrics"]
    return stored_metrics


def test_agreement_is_told_with_its_interval(record_folder: Path, tmp_path: Path) -> None:
    agreement = metrics(record_folder)["agreement_with_model_score"]
    assert agreement["n"] == 120
    assert -1 <= agreement["low"] < agreement["value"] < agreement["high"] < 0.5
    assert "metric:spearman" in agreement["signature"]
    high_agreement = scored_record(tmp_path / "alike", shared_share=0.9).metrics["agreement_with_model_score"]
    assert high_agreement["low"] > 0.9
    assert "agreement with the model's own score" in auscult("report", record_folder).out


def test_both_together_are_worth_more_out_of_fold_where_each_knows_half(record_folder: Path) -> None:
    metrics_ = metrics(record_folder)
    judge, score, combined = (metrics_[name] for name in AUCS)
    assert combined["low"] > max(judge["value"], score["value"])
    assert combined["n"] == 120
    order = rows(record_folder / "combined.jsonl")
    assert sorted(row["id"] for row in order) == [f"m{place:03}" for place in range(120)]
    assert [row["combined"] for row in order] == sorted(row["combined"] for row in order)
    truths = {row["id"]: row["iou"] for row in rows(record_folder / "truth.jsonl")}
    assert (
        np.mean([truths[row["id"]] for row in order[:40]]) < np.mean([truths[row["id"]] for row in order[-40:]]) - 0.2
    )


def test_the_report_again_says_the_same(record_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(record_folder, tmp_path / "copy")
    write_lines(copy / "verdicts.jsonl", *reversed(rows(copy / "verdicts.jsonl")))
    before = {name: (record_folder / name).read_bytes() for name in ("summary.json", "combined.jsonl")}
    report_folder(copy)
    assert {name: (copy / name).read_bytes() for name in before} == before


def test_the_page_shows_the_strongest_disagreements_with_their_ranks(record_folder: Path) -> None:
    page = (record_folder / "report.html").read_text()
    table = json.loads((record_folder / "tables" / "model_score_2_disagreements.json").read_text())
    assert len(table["rows"]) == 12
    rank_gaps = [abs(int(row[2]) - int(row[4])) for row in table["rows"]]
    assert rank_gaps == sorted(rank_gaps, reverse=True)
    assert rank_gaps[0] > 90
    assert 'data-view="score"' in page
    section = page[page.index('<section id="score"') :]
    section = section[: section.index("</section>")]
    assert section.count('class="card"') == 12
    assert section.count(f"data:image/jpeg;base64,{DOT}") == 12
    first = table["rows"][0]
    assert f"rank {first[2]} by the estimate, rank {first[4]} by the model&#39;s score {first[3]}" in section
    assert "the model&#39;s score alone" in section
    assert len({part.split('"')[0] for part in page.split('<li class="card" id="')[1:]}) == 132, "ids are unique"


def test_without_enough_truth_one_sentence_says_what_is_missing(tmp_path: Path) -> None:
    few = scored_record(tmp_path / "few", true=59)
    assert "agreement_with_model_score" in few.metrics
    assert not set(AUCS) & set(few.metrics)
    assert not (tmp_path / "few" / "combined.jsonl").exists()
    page = (tmp_path / "few" / "report.html").read_text()
    assert "Where the true IoU of 60 of these masks is known, both are combined; it is of 59." in page
    scored_record(tmp_path / "none", true=0)
    assert "both are combined" not in (tmp_path / "none" / "report.html").read_text()


def test_truth_on_one_side_of_the_threshold_cannot_be_fitted_and_is_no_error(tmp_path: Path) -> None:
    lines = [
        (verdict(f"m{place:02}", iou=0.5), {"frame": f"{place}.png", "model_score": place / 70}) for place in range(70)
    ]
    truths = [{"id": f"m{place:02}", "iou": 0.9, "defect": None, "action": None} for place in range(70)]
    summary = record(tmp_path / "out", lines, truths)
    assert not {*AUCS, "agreement_with_model_score"} & set(summary.metrics), "all estimates are equal too"
    assert "do not allow to combine both" in (tmp_path / "out" / "report.html").read_text()


def test_a_combined_order_that_no_longer_holds_is_removed(record_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(record_folder, tmp_path / "copy")
    write_lines(copy / "truth.jsonl", *rows(copy / "truth.jsonl")[:10])
    assert (copy / "combined.jsonl").exists()
    report_folder(copy)
    assert not (copy / "combined.jsonl").exists()


def test_a_score_that_is_none_and_one_mask_alone_say_nothing(tmp_path: Path) -> None:
    none = dict.fromkeys(("iou", "iou_low", "iou_high"))
    lines = [
        (verdict("a"), {"model_score": 0.5}),
        (verdict("b"), {"model_score": "high"}),
        (verdict("c", **none), {"model_score": 0.1}),
        (verdict("d", defect="empty", **none), {"model_score": 0.1}),
        (verdict("e"), {}),
    ]
    assert set(record(tmp_path / "out", lines).metrics) == {"estimated_iou"}
    assert 'data-view="score"' not in (tmp_path / "out" / "report.html").read_text()


# --- from the command to the record ---


def _audit_with_scores(source: Path, out: Path, scores: Path, **options: Any) -> Summary:
    return audit_folder(
        AuditOptions(source=source, out=out, judge="cues", listing=ListOptions(scores=scores), workers=0, **options)
    )


def test_scores_beside_the_input_stand_in_the_verdicts_and_are_never_judged_by(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b", "c"))
    (tmp_path / "s.csv").write_text("id,score\na,0.9\nb,0.1\nzz,3\n")
    plain = tmp_path / "plain"
    audit_folder(AuditOptions(source=source, out=plain, judge="cues", workers=0))
    result = auscult(
        "audit", source, "--scores", tmp_path / "s.csv", "--judge", "cues", "--out", tmp_path / "out", "--workers", 1,
        "--quiet",
    )  # fmt: skip
    assert result.code == 0, result
    assert "note: 1 score is of an id that is none of the input's: 'zz'" in result.err
    assert "note: 1 mask without a score of the model's own" in result.err
    verdict_of = {row["id"]: row for row in rows(tmp_path / "out" / "verdicts.jsonl")}
    assert {name: row.get("model_score") for name, row in verdict_of.items()} == {"a": 0.9, "b": 0.1, "c": None}
    for row in rows(plain / "verdicts.jsonl"):
        without_score = {
            key: value for key, value in verdict_of[row["id"]].items() if key not in {"model_score", "seconds"}
        }
        assert without_score == {key: value for key, value in row.items() if key != "seconds"}
    assert read_manifest(tmp_path / "out")["arguments"]["given"]["scores"] == str(tmp_path / "s.csv")
    bad = tmp_path / "bad.csv"
    bad.write_text("id,score\na,0.9\nb,good\n")
    result = auscult("audit", source, "--scores", bad, "--out", tmp_path / "none", "--quiet")
    assert (result.code, result.out) == (2, "")
    assert f"{bad}:3" in result.err
    assert not (tmp_path / "none").exists()


def test_scores_that_changed_are_not_mixed_with_those_on_record(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    scores = tmp_path / "s.csv"
    scores.write_text("id,score\na,0.9\nb,0.1\n")
    first = _audit_with_scores(source, tmp_path / "out", scores)
    assert _audit_with_scores(source, tmp_path / "out", scores) == first
    for content in ("id,score\na,0.9\nb,0.2\n", "id,score\na,0.9\n"):
        scores.write_text(content)
        with pytest.raises(Mismatch, match=r"the model's own score of it was 0\.1"):
            _audit_with_scores(source, tmp_path / "out", scores)
    assert _audit_with_scores(source, tmp_path / "out", scores, overwrite=True).ok == 2
