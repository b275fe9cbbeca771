"""What every command shows: reasons of failure, progress in a log, tables of a bounded width, whole sentences."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from auscult.cli import show
from auscult.cli.show import PlainProgress
from auscult.record.reader import failure_reasons
from auscult.report.tables import Table
from small_inputs import auscult, folder_input, save_mask

ACTION = "accept,minor_revision,major_revision,reject,unjudged"


def test_reasons_are_counted_whatever_names_and_numbers_they_hold() -> None:
    rows = [
        *({"id": f"m{n}", "stage": "read", "error": f"masks/{n}.png is {n} x 4, not 5 x 6"} for n in range(7)),
        *({"id": f"s{index}", "stage": "judge", "error": f"there is no key 'k{index}'"} for index in range(2)),
        {"id": None, "stage": "predict", "error": "x", "cause": "no answer",
         "questions": [{"model": "m", "conditions": ["a", "b"], "cases": ["1", "2"]}]},
        {"id": "t", "stage": "truth", "error": "a remark costs nothing"},
        {"id": "u", "stage": "read", "error": "rare"},
    ]  # fmt: skip
    reasons = failure_reasons(rows)
    assert [(reason.count, reason.example["id"]) for reason in reasons] == [(7, "m0"), (4, None), (2, "s0")]


def test_a_command_ends_with_the_reasons_of_failure_and_their_examples(tmp_path: Path) -> None:
    folder_input(tmp_path / "in", ("a", "b", "c", "d"))
    for name in "ab":
        save_mask(tmp_path / "in" / "masks" / f"{name}.png", save_mask.__defaults__[0][:40, :40])  # type: ignore[index]
    (tmp_path / "in" / "masks" / "c.png").write_bytes(b"nothing")
    command = ("audit", tmp_path / "in", "--out", tmp_path / "out", "--workers", 1, "--quiet", "--judge", "cues")
    result = auscult(*command)
    lines = result.err.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("why, most frequent first"))
    assert lines[start + 1].startswith("  2 x the mask is 40 x 40")
    assert f"for example: a, {tmp_path / 'in' / 'masks' / 'a.png'}" in lines[start + 2]
    assert any(line.startswith("  1 x ") for line in lines[start + 3 :])
    assert lines[-1] == "3 failed, more than --max-failed 0"
    second = auscult("report", tmp_path / "out")
    assert "  2 x the mask is 40 x 40" in second.err
    assert "why, most" in auscult(*command, "--max-failed", 3).err, "also where the command succeeds"
    calibration_file = tmp_path / "known.csv"
    calibration_file.write_text("id,iou,true_iou\n" + "".join(f"k{index},0.9,0.9\n" for index in range(60)))
    for verb in (
        ("filter",),
        ("export", "--to", "cvat", "--action", ACTION),
        ("gate", "--calibration", calibration_file),
    ):
        acted = auscult("act", verb[0], tmp_path / "out", *verb[1:], "--out", tmp_path / verb[0])
        assert acted.code == 0, acted
        assert "  2 x the mask is 40 x 40" in acted.err, verb
        assert ("writing frames: " in acted.err) == (verb[0] == "export")


def test_a_record_of_failures_alone_says_where_the_reasons_are(tmp_path: Path) -> None:
    folder_input(tmp_path / "in", ("a",))
    (tmp_path / "in" / "masks" / "a.png").write_bytes(b"nothing")
    assert auscult("audit", tmp_path / "in", "--out", tmp_path / "out", "--workers", 1, "--judge", "cues").code == 1
    assert "1 failed; errors.jsonl in it says why" in auscult("act", "filter", tmp_path / "out").err


def test_folders_that_are_scored_without_a_record_end_with_the_reasons_too(tmp_path: Path) -> None:
    for clip in ("a", "b", "c"):
        save_mask(tmp_path / "truth" / clip / "0.png")
    save_mask(tmp_path / "pred" / "c" / "0.png")
    result = auscult("score", tmp_path / "pred", tmp_path / "truth", "--workers", 1, "--quiet")
    assert result.code == 1
    assert "why, most frequent first; --out DIR keeps all:\n  2 x " in result.err
    assert f"for example: a, {tmp_path / 'pred' / 'a' / '0.png'}" in result.err


def test_a_log_has_a_line_a_minute_with_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    progress = PlainProgress()
    progress.tell()
    progress.stage("judging", 1000)
    progress.step(400)  # done by an earlier command
    clock += 60.0
    progress.step(100)
    progress.tell()
    progress.stage("tables and report", 0)
    clock += 120.0
    progress.tell()
    assert capsys.readouterr().err.splitlines() == [
        "judging: 1,000",
        "judging: 500 of 1,000, 60 s so far, about 5 min left",
        "tables and report: 2 min so far",
    ]


def test_a_silent_stage_is_told_in_between(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(PlainProgress, "EVERY_S", 0.02)
    with show.progress_bar(quiet=False) as progress:
        progress.stage("asking", 3)
        time.sleep(0.2)
    assert capsys.readouterr().err.count("asking: 0 of 3, 0 s so far") >= 2


def test_no_table_is_wider_than_100_columns(capsys: pytest.CaptureFixture[str]) -> None:
    header = tuple(f"column number {index}" for index in range(15))
    show.tables([Table(title="t", header=header, rows=(tuple("0.123 [0.100, 0.200]" for _ in header),))])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


@pytest.mark.parametrize("group", ["", "stress", "make", "act"])
def test_help_cuts_no_sentence(group: str) -> None:
    result = auscult(*([group] if group else []), "--help")
    commands_text = result.out.partition("Commands:")[2]
    assert commands_text.count(".\n") > 0
    assert "..." not in commands_text
