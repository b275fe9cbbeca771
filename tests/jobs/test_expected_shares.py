"""Shares of bad masks and looks that find them: in the summary, on the terminal, on the page, from the lines alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import RecordError
from auscult.jobs.estimates import expected
from auscult.jobs.finish import report_folder, score_record
from small_inputs import auscult, rows, write_lines
from small_records import record, verdict

NAMES = ("share_below_80", "share_below_50", "looks_for_90")
GOOD = [round(float(value), 6) for value in np.linspace(0.05, 0.95, 40)]


def verdict_rows(**fields: Any) -> list[tuple[Any, dict[str, Any]]]:
    return [
        (
            verdict(f"m{place:02}", iou=good, iou_low=0.0, iou_high=1.0, prob_iou_80=good, prob_iou_50=1.0),
            {"frame": f"f{place // 4}.png", **fields},
        )
        for place, good in enumerate(GOOD)
    ]


@pytest.fixture(scope="module")
def record_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shares")
    record(place / "out", verdict_rows())
    return place / "out"


def test_the_summary_holds_shares_with_intervals_and_looks(record_folder: Path) -> None:
    metrics = json.loads((record_folder / "summary.json").read_text())["metrics"]
    bad, worse, looks = (metrics[name] for name in NAMES)
    assert bad["value"] == pytest.approx(0.5)
    assert 0.25 < bad["low"] < 0.45
    assert 0.55 < bad["high"] < 0.75
    assert (worse["value"], worse["low"]) == (0, 0)
    assert bad["n"] == worse["n"] == looks["n"] == 40
    assert looks["value"] == 29  # the 29 least likely masks hold 90 % of the 20 that are expected
    assert isinstance(looks["value"], int)
    assert (looks["low"], looks["high"]) == (None, None)
    for part in ("from:prob_iou_80", "judge:masks.any.v1", "level:0.9", "shift:0.5"):
        assert part in bad["signature"]
    assert "from:prob_iou_50" in worse["signature"]


def test_the_same_numbers_come_from_the_lines_again_in_any_order(record_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(record_folder, tmp_path / "copy")
    write_lines(copy / "verdicts.jsonl", *reversed(rows(copy / "verdicts.jsonl")))
    (copy / "summary.json").unlink()
    assert report_folder(copy).as_json() == json.loads((record_folder / "summary.json").read_text())


def test_terminal_and_page_tell_them_and_say_how_to_look(record_folder: Path) -> None:
    result = auscult("report", record_folder)
    assert result.code == 0
    for words in ("What the estimates come to", "masks under IoU .8", "50\u00a0% [", "29 of 40", "90 % intervals"):
        assert words in result.out
    page = (record_folder / "report.html").read_text()
    assert "<dt>looks that find 90 % of those under .8</dt><dd>29 of 40</dd>" in page
    assert '<option value="likely">' in page
    assert 'data-good="0.050000"' in page
    assert "prob_iou_80" in (record_folder / "verdicts.csv").read_text()


def test_judges_without_probabilities_have_no_share_and_nothing_is_printed(tmp_path: Path) -> None:
    summary = record(tmp_path / "out", [(verdict("a"), {}), (verdict("b", iou=0.9), {})])
    assert not set(NAMES) & set(summary.metrics)
    assert "What the estimates come to" not in auscult("report", tmp_path / "out").out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "looks that find" not in page
    assert '<option value="likely">' not in page


def test_empty_masks_and_those_without_a_probability_are_left_out() -> None:
    none = dict.fromkeys(("iou", "iou_low", "iou_high"))
    others = [(verdict("e", defect="empty", **none, prob_iou_80=0.0), {}), (verdict("n"), {})]
    assert expected([*verdict_rows(), *others]) == expected(verdict_rows())
    assert expected(others) == {}
    only = [(verdict("a", prob_iou_50=0.4), {"frame": "a.png"})]
    assert set(expected(only)) == {"share_below_50"}


def test_clips_are_drawn_whole_where_rows_name_several() -> None:
    split = [{"frame": f"f{place}.png", "clip": f"c{place // 20}"} for place in range(40)]
    rows = [(verdict_, fields) for (verdict_, _), fields in zip(verdict_rows(), split, strict=True)]
    clips = expected(rows, films={"c0", "c1"})
    assert expected(rows) == expected(rows, films={"others"}), "folders of photographs are no films"
    frames = expected(
        [(verdict_, {"frame": fields["frame"]}) for (verdict_, _), fields in zip(verdict_rows(), split, strict=True)]
    )
    width = {name: share["share_below_80"]["high"] - share["share_below_80"]["low"] for name, share in
             (("clips", clips), ("frames", frames))}  # fmt: skip
    assert width["clips"] > 1.2 * width["frames"], "half of them are bad, clip by clip"


def test_the_judges_own_shift_counts_where_it_is_on_record() -> None:
    usual, narrow, wide = (
        expected(verdict_rows(**fields))["share_below_80"] for fields in ({}, {"prob_shift": 0.0}, {"prob_shift": 2})
    )
    assert narrow["high"] - narrow["low"] < usual["high"] - usual["low"] < wide["high"] - wide["low"]
    assert ["shift:0|" in narrow["signature"], "shift:2|" in wide["signature"]] == [True, True]
    each = expected(verdict_rows(prob_shift=[0, 2]))
    assert ["shift:0|" in each["share_below_80"]["signature"], "shift:2|" in each["share_below_50"]["signature"]] == [
        True
    ] * 2
    for broken in ("much", -1, True, [1], [0.1, "much"], [0.1, 0.2, 0.3]):
        with pytest.raises(RecordError, match="prob_shift"):
            expected(verdict_rows(prob_shift=broken))


def test_shares_are_adapted_to_the_set_where_the_judge_says_what_it_was_calibrated_on() -> None:
    """The set has a mean chance of .5, and the judge knew better masks, worse ones or just such ones."""
    better, alike, worse, mixed = (
        expected(list(changed))
        for changed in (
            verdict_rows(prob_prior=[0.8, 0.999]),
            verdict_rows(prob_prior=[0.5, 0.999]),
            verdict_rows(prob_prior=[0.2, 0.999]),
            [*verdict_rows(prob_prior=[0.8, 0.999])[:20], *verdict_rows()[20:]],
        )
    )
    assert "adapted:label shift" in better["share_below_80"]["signature"]
    shares = [metrics["share_below_80"]["value"] for metrics in (better, mixed, alike, worse)]
    assert shares[0] > shares[1] > shares[2] > shares[3]
    assert shares[2] == pytest.approx(0.5, abs=0.02)
    assert "adapted" not in expected(verdict_rows())["share_below_80"]["signature"]
    for broken in ("much", [0.5], [0.8, 0.5], [0, 1], [True, 0.9], [0.2, 0.3, 0.4], [5e-324, 0.5]):
        with pytest.raises(RecordError, match="prob_prior"):
            expected(verdict_rows(prob_prior=broken))


def test_what_is_no_probability_is_refused_by_name(record_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(record_folder, tmp_path / "copy")
    write_lines(copy / "verdicts.jsonl", *({**row, "prob_iou_80": 80} for row in rows(copy / "verdicts.jsonl")))
    with pytest.raises(RecordError, match="prob_iou_80 of 'm00' is 80"):
        report_folder(copy)


def test_scoring_a_record_tells_them_too(tmp_path: Path) -> None:
    truths = [{"id": f"m{place:02}", "iou": 0.5, "defect": None, "action": None} for place in range(40)]
    summary = record(tmp_path / "out", verdict_rows(), truths)
    summary_, _ = score_record(tmp_path / "out")
    assert summary_.metrics == summary.metrics
