"""Records that somebody altered, and policies that nobody meant: an error of ours, at once, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest

import auscult.suites.registered as suites
from auscult.types import DECISIONS
from fuzz_readers import TARGETS
from small_inputs import LEFT, RIGHT, CommandResult, auscult, item, rows, save_frame, save_mask, write_lines
from small_records import record, verdict

NESTED: Any = []
for _ in range(150):
    NESTED = [NESTED]
HUGE = 10**400


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer, such as the opening of a pipe that nobody writes to."""

    def on_alarm(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def refusal(result: CommandResult) -> str:
    """The error of a command that ended with one of ours."""
    assert result.code == 2, result
    assert result.err.startswith("auscult: ")
    assert "Traceback" not in result.err
    return result.err


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of an audit, with INPUT beside it."""
    folder = tmp_path_factory.mktemp("altered")
    save_frame(folder / "in" / "frames" / "a.png")
    save_mask(folder / "in" / "masks" / "a.png")
    lines = [item(name, truth={"iou": 0.8, "defect": "erode", "action": "reject"}) for name in "xy"]
    write_lines(folder / "in" / "items.jsonl", *lines)
    result = auscult("audit", folder / "in", "--out", folder / "out", "--judge", "cues", "--workers", "1", "--quiet")
    assert result.code == 0, result
    return folder


@pytest.fixture
def out(audited: Path, tmp_path: Path) -> Path:
    return shutil.copytree(audited / "out", tmp_path / "out")


def verbs(source_record: Path, out: Path) -> dict[str, tuple[object, ...]]:
    """Every command that opens a record of an audit."""
    return {
        "audit": ("audit", source_record / "in", "--out", out, "--judge", "cues", "--workers", "1", "--quiet"),
        "score": ("score", out),
        "report": ("report", out),
        "compare": ("compare", out, source_record / "out"),
        "filter": ("act", "filter", out, "--out", out.parent / "filtered"),
        "gate": ("act", "gate", out, "--calibration", source_record / "out", "--out", out.parent / "gated"),
        "calibration": ("act", "gate", source_record / "out", "--calibration", out, "--out", out.parent / "gated"),
    }


def test_a_pipe_in_the_place_of_any_file_is_refused_at_once(audited: Path, tmp_path: Path) -> None:
    names = sorted(path.name for path in (audited / "out").iterdir() if path.is_file())
    assert {"manifest.json", "verdicts.jsonl", ".written", ".lock", "report.html", "summary.json"} <= {*names}
    for name in names:
        out = shutil.copytree(audited / "out", tmp_path / "out")
        (out / name).unlink()
        os.mkfifo(out / name)
        for arguments in verbs(audited, out).values():
            with within(20.0):  # on a busy machine; a pipe that is opened waits for ever
                assert name in refusal(auscult(*arguments)), arguments
        shutil.rmtree(out)


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of two suites, in folders of their names, with INPUT beside them."""
    folder = tmp_path_factory.mktemp("benchmarks")
    for name, mask in (("a", LEFT), ("b", RIGHT)):
        save_frame(folder / "in" / f"{name}.png")
        save_mask(folder / "in" / f"{name}_mask.png", mask)
    lines = ({"id": name, "frame": f"{name}.png", "mask": f"{name}_mask.png", "text": "the red one"} for name in "ab")
    write_lines(folder / "in" / "items.jsonl", *lines)
    options: dict[str, Any] = {"task": "ris", "models": ("baseline.empty",), "levels": ("low",), "kinds": ("fog",)}
    suites.run("r2", data=folder / "in", out=folder / "r2", workers=0, **options)
    with patch("auscult.suites.mqa.evaluate.REPLICATES", 30), patch("auscult.suites.mqa.evaluate.RANK_DRAWS", 10):
        suites.run("mqa", data=folder / "in", out=folder / "mqa", workers=0, judges=("cues",), protocols=("image",))
    return folder


@pytest.mark.parametrize("suite", ["r2", "mqa"])
def test_a_pipe_in_the_place_of_a_file_of_a_benchmark(suite: str, benchmarks: Path, tmp_path: Path) -> None:
    out, other = benchmarks / suite, shutil.copytree(benchmarks / suite, tmp_path / "other")
    run_again = ("run", suite, "--data", benchmarks / "in", "--out", out, "--quiet", "--workers", "1")
    run_again += ("--judge", "cues") if suite == "mqa" else ("--task", "ris", "--model", "baseline.empty")
    files = [path for path in out.iterdir() if path.is_file()]
    assert len(files) > 8
    for path in files:
        kept_path = path.rename(tmp_path / "kept")
        os.mkfifo(path)
        for command in (run_again, ("score", out), ("report", out), ("compare", other, out), ("act", "filter", out)):
            with within(20.0):
                assert path.name in refusal(auscult(*command)), command
        kept_path.rename(path)


def test_a_pipe_in_the_place_of_a_judges_manifest_is_no_judge_that_failed(benchmarks: Path, tmp_path: Path) -> None:
    out = shutil.copytree(benchmarks / "mqa", tmp_path / "mqa")
    (manifest,) = out.glob("judges/*/manifest.json")
    manifest.unlink()
    os.mkfifo(manifest)
    with within(20.0):
        assert "judges" in refusal(auscult("score", out))


@pytest.mark.parametrize("suite", ["r2", "mqa"])
def test_a_benchmark_has_no_verdicts_to_hand_over(suite: str, benchmarks: Path, tmp_path: Path) -> None:
    for verb in (("filter",), ("export", "--to", "yolo"), ("gate", "--calibration", tmp_path)):
        result = auscult("act", verb[0], benchmarks / suite, *verb[1:], "--out", tmp_path / "picked")
        assert f"made by `auscult run {suite}`" in refusal(result), verb


def test_a_pipe_below_the_record_holds_nobody_up(audited: Path, out: Path) -> None:
    (table,) = list((out / "tables").glob("truth_1*"))
    (crop, *_) = list((out / "pictures").iterdir())
    for path in (table, crop):
        path.unlink()
        os.mkfifo(path)
    for name, arguments in verbs(audited, out).items():
        with within(60.0):
            assert auscult(*arguments).code in {0, 2}, name


def test_a_pipe_for_the_policy_or_the_calibration_is_refused_at_once(audited: Path, out: Path, tmp_path: Path) -> None:
    for name in ("p.json", "p.toml", "c.csv", "c.jsonl"):
        os.mkfifo(tmp_path / name)
        option = "--policy" if name.startswith("p") else "--calibration"
        verb = "filter" if name.startswith("p") else "gate"
        with within(20.0):  # on a busy machine; a pipe that is opened waits for ever
            refusal(auscult("act", verb, out, option, tmp_path / name, "--out", tmp_path / "other"))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("thumbnails.jsonl", {"id": NESTED, "jpeg": ""}),
        ("thumbnails.jsonl", {"id": "x", "jpeg": 2**63}),
        ("masks.jsonl", {"id": NESTED, "segmentation": NESTED}),
        ("verdicts.jsonl", {"id": NESTED}),
        ("truth.jsonl", {"id": NESTED}),
        ("truth.jsonl", {"id": "x", "iou": HUGE}),
    ],
)
def test_a_row_of_other_types_is_named(name: str, row: dict[str, Any], out: Path) -> None:
    with (out / name).open("a") as file:
        file.write(json.dumps(row) + "\n")
    assert name in refusal(auscult("report", out))


def test_numbers_that_no_float_holds_in_further_keys(out: Path) -> None:
    for name, keys in {"verdicts.jsonl": ("model_score", "missing_share"), "errors.jsonl": ("line",)}.items():
        (*before, last) = rows(out / name) or [{}]
        write_lines(out / name, *before, {**last, **dict.fromkeys(keys, HUGE)})
        auscult("report", out)


def test_numbers_that_no_float_holds_are_not_handed_over(out: Path, tmp_path: Path) -> None:
    lines = [{**row, "text": HUGE} for row in rows(out / "verdicts.jsonl")]
    write_lines(out / "verdicts.jsonl", *lines)
    picked = ("--action", ",".join(DECISIONS), "--out", tmp_path / "picked")
    assert "JSON" in refusal(auscult("act", "filter", out, *picked))


@pytest.mark.parametrize("calibration", ["known.csv", "two"])
def test_a_frame_that_is_no_text_is_not_handed_over(calibration: str, tmp_path: Path) -> None:
    TARGETS["gate"].make(tmp_path)
    (*before, last) = rows(tmp_path / "one" / "verdicts.jsonl")
    write_lines(tmp_path / "one" / "verdicts.jsonl", *before, {**last, "frame": ["f.png"], "input": ["f"]})
    options = ("--calibration", tmp_path / calibration, "--accept-error", "0.3", "--out", tmp_path / "gated")
    refusal(auscult("act", "gate", tmp_path / "one", *options))


def test_a_score_of_a_model_of_other_types_is_named(tmp_path: Path) -> None:
    TARGETS["r2"].make(tmp_path)
    assert auscult("score", tmp_path / "one").code == 0
    path = tmp_path / "one" / "scores.jsonl"
    (*before, last) = rows(path)
    other = {"path": "x", "index": 70_000}
    long = {"split": "x" * 10_000}
    changes = {"outcome": other, "value": other}
    for change in (changes, {**changes, **long}, {"outcome": [other]}, {"value": HUGE}, long):
        write_lines(path, *before, {**last, **change})
        for result in (auscult("score", tmp_path / "one"), auscult("compare", tmp_path / "one", tmp_path / "two")):
            assert change is long or "scores.jsonl" in refusal(result)


def test_notes_that_are_no_list_are_passed_over(out: Path) -> None:
    for inputs in ("%s%n", {"notes": 7}, {"notes": [NESTED]}):
        manifest = json.loads((out / "manifest.json").read_text())
        (out / "manifest.json").write_text(json.dumps({**manifest, "inputs": inputs}))
        result = auscult("report", out)
        assert (result.code, result.err.count("note:")) == (0, 1), "only that the masks are unlike what the judge knows"


POLICY = {
    "name": "mine",
    "perfect": {"accept": {"at_least": 0.9}},
    "shape": {"minor_revision": {"at_least": 0.5}},
    "merge": {},
    "full_neg": {},
}


@pytest.mark.parametrize("threshold", [HUGE, -HUGE, 10**4299, 1e308, True, "0.5", NESTED])
def test_a_threshold_of_any_size_in_json(threshold: Any, out: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({**POLICY, "shape": {"minor_revision": {"at_least": threshold}}}))
    assert "mine.json" in refusal(auscult("act", "filter", out, "--policy", file))


@pytest.mark.parametrize("threshold", ["0x" + "f" * 5000, "1" + "0" * 5000, "1e400", "nan", "1979-05-27", "[[[]]]"])
def test_a_threshold_of_any_kind_in_toml(threshold: str, out: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = 'name = "mine"\n[merge]\n[full_neg]\n[perfect]\naccept = {{ at_least = {} }}\n[shape]\n'
    file.write_text(text.format(threshold))
    assert "mine.toml" in refusal(auscult("act", "filter", out, "--policy", file))


def test_the_shift_of_probabilities_is_named(tmp_path: Path) -> None:
    record(tmp_path / "out", [(verdict(name, prob_iou_80=0.5), {"prob_shift": 0.1}) for name in "ab"])
    path = tmp_path / "out" / "verdicts.jsonl"
    write_lines(path, *({**row, "prob_shift": HUGE} for row in rows(path)))
    assert "prob_shift" in refusal(auscult("report", tmp_path / "out"))
