"""``auscult run`` from the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

import auscult as package
from auscult.cli.run import RunCommand, _suite_options
from auscult.suites.options import SuiteOptions
from auscult.suites.registered import Suite
from small_inputs import LEFT, RIGHT, auscult, save_frame, save_mask, write_lines


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four candidates on two photographs."""
    monkeypatch.setattr("auscult.jobs.against_truth.REPLICATES", 10)
    folder = tmp_path / "in"
    save_mask(folder / "left.png", LEFT)
    save_mask(folder / "right.png", RIGHT)
    lines = []
    for number in range(2):
        save_frame(folder / f"{number}.png", seed=number)
        for kind, mask, action, iou in (("perfect", "left", "accept", 1.0), ("full_neg", "right", "reject", 0.0)):
            place = {"uid": f"u{number}", "vid": f"v{number}", "split": "test", "protocol": "image", "frame": 0,
                     "rank": 1, "track": kind, "category": "blob", "area": 0.1}  # fmt: skip
            truth = {"mask": "left.png", "iou": iou, "defect": kind, "action": action}
            lines.append({"id": f"{number}/{kind}", "frame": f"{number}.png", "mask": f"{mask}.png", "truth": truth,
                          "mqa": place})  # fmt: skip
    write_lines(folder / "items.jsonl", *lines)
    return folder


@pytest.mark.slow
def test_tables_for_people_and_json_for_programs(benchmark: Path, tmp_path: Path) -> None:
    command = ("run", "mqa", "--data", benchmark, "--judge", "cues", "--out", tmp_path / "out", "--workers", "1")
    table = auscult(*command)
    assert table.code == 0
    assert "Image protocol: all masks" in table.out
    assert "always perfect" in table.out
    assert "report:" in table.err
    json_result = auscult(*command, "--json", "--quiet")
    assert (json_result.code, json_result.err) == (0, "")
    assert json.loads(json_result.out) == json.loads((tmp_path / "out" / "summary.json").read_text())
    comparison = auscult("compare", tmp_path / "out", tmp_path / "out" / "judges" / "masks.cues.v1")
    assert comparison.code == 0


@pytest.mark.slow
def test_failures_beyond_the_allowed_are_exit_1(benchmark: Path, tmp_path: Path) -> None:
    (benchmark / "1.png").unlink()
    command = ("run", "mqa", "--data", benchmark, "--out", tmp_path / "out", "--workers", "1", "--quiet")
    result = auscult(*command)
    assert result.code == 1
    assert "2 failed" in result.err
    assert auscult(*command, "--max-failed", "2").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mqq",), "mqa.v1"),
        (("mqa", "--judge", "cuess"), "masks.cues.v1"),
        (("mqa", "--protocol", "sound"), "image, video"),
        (("mqa", "--policy", "kind"), "default"),
        (("mqa", "--data", "/nowhere/at/all"), "no such file"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_there_is(
    benchmark: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    data = () if "--data" in arguments else ("--data", benchmark)
    result = auscult("run", *arguments, *data, "--out", tmp_path / "out", "--quiet")
    assert (result.code, result.out) == (2, "")
    assert message in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mqa", "--count", "3"), "--count changes nothing here"),
        (("mqa", "--assets", "."), "--assets changes nothing here"),
        (("r2", "--task", "ris", "--count", "3"), "generated scenes"),
        (("r2", "--task", "vos", "--texts", "t.csv"), "asked by sentences"),
        (("r2", "--task", "avs", "--texts", "t.csv"), "asked by sentences"),
        (("r2", "--task", "vos", "--perturb", "none", "--severity", "low"), "--severity changes nothing here"),
        (("r2", "--task", "vos", "--perturb", "none", "--part", "first"), "--part changes nothing here"),
        (("r2", "--task", "ris", "--split", "nosuch"), "no split 'nosuch'"),
        (("r2", "--task", "ris", "--data", "/nowhere/at/all"), "no such file"),
    ],
)
def test_what_would_change_nothing_is_said_before_anything_is_written(
    benchmark: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    data = () if "--data" in arguments else ("--data", benchmark)
    model = ("--model", "baseline.centre_box") if arguments[0] == "r2" else ()
    result = auscult("run", *arguments, *data, *model, "--out", tmp_path / "out", "--quiet")
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("suite", ["mqa", "r2"])
def test_a_folder_that_is_taken_for_the_word_scenes_is_said(
    tmp_path: Path, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scenes").mkdir()
    monkeypatch.chdir(tmp_path)
    options = ("--task", "ris", "--model", "baseline.centre_box") if suite == "r2" else ()
    result = auscult("run", suite, "--data", "scenes", "--count", "2", *options, "--out", tmp_path / "out", "--quiet")
    assert result.code == 2
    assert "./scenes" in result.err
    assert "rename it" in result.err
    assert not (tmp_path / "out").exists()


def test_the_public_function_is_the_command(benchmark: Path, tmp_path: Path) -> None:
    run = package.run("mqa", data=benchmark, judges="cues", out=str(tmp_path / "out"), workers=0)
    assert run.summary.ok == 4
    assert run.tables["image_all_rmse"].rows[0][0] == "masks.cues.v1"


@dataclass(frozen=True, kw_only=True)
class OwnOptions(SuiteOptions):
    """Of a suite of somebody's own, which makes fewer scenes."""

    count: int = 7


class OwnSuite:
    name = "own.v1"

    def options(self) -> type[OwnOptions]:
        return OwnOptions


@pytest.mark.parametrize(("given_names", "count"), [((), 7), (("count",), 50)])
def test_what_was_not_spelled_out_is_left_to_the_suite(
    tmp_path: Path, given_names: tuple[str, ...], count: int
) -> None:
    options = RunCommand(suite="own", data=tmp_path, out=tmp_path / "out", given=frozenset(given_names))
    suite_options = _suite_options(options, cast("Suite", OwnSuite()))
    assert isinstance(suite_options, OwnOptions)
    assert (suite_options.count, suite_options.data, suite_options.out, suite_options.given) == (
        count,
        tmp_path,
        tmp_path / "out",
        frozenset(given_names),
    )
