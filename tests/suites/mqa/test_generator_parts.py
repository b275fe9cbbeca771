"""The commands that measure a judge on a part of the committed split are commands, and the data has the part."""

from __future__ import annotations

import shlex
from pathlib import Path

import judge_parts
import pytest
import typer
from typer.testing import CliRunner

from auscult.cli.main import app as auscult
from auscult.cli.run import run
from auscult.suites.mqa.build import read_splits
from auscult.train.material import FILE, PARTS, committed


def parsed_options(line: str) -> dict[str, object]:
    """The options of an ``auscult run`` command line."""
    app = typer.Typer()
    app.command()(run)
    command = typer.main.get_command(app)
    return dict(command.make_context("run", shlex.split(line)[2:]).params)


def test_the_commands_ask_for_one_part_and_every_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert judge_parts.main(["--data", str(tmp_path), "--part", "calibration", "--judge", "masks.compact.v1"]) == 0
    coco, davis = (parsed_options(line) for line in capsys.readouterr().out.splitlines())
    for options in (coco, davis):
        assert options["splits_file"] == FILE
        assert options["split"] == "calibration"
        assert options["protocol"] == "image"
        assert options["objects"] == "all"
        assert options["least_px"] == 32 * 32
        assert options["generator"] == "freehand"
        assert options["judge"] == ["masks.compact.v1"]
    assert (coco["take"], davis["take"]) == ("key", "all")


def test_the_committed_split_is_read_as_it_stands() -> None:
    parts = read_splits(FILE)
    assert parts == {name: part for source in committed().values() for part in PARTS for name in source[part]}


def test_the_data_has_every_name_of_the_test_part(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge_parts.main(["--data", str(data), "--check"]) == 0
    assert "crowd regions left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("stress masks . --out out --generator freehand", "--generator needs --suite"),
        ("stress masks . --out out --suite mqa --generator freehand", "makes no tracks"),
        ("stress masks . --out out --suite mqa --take some", "says nothing about frames"),
        ("stress masks . --out out --suite mqa --splits-file missing.json", "missing.json"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "frames").mkdir()
    result = CliRunner().invoke(auscult, shlex.split(words))
    output = f"{result.output} {result.exception}"
    assert message in output
    assert result.exit_code != 0
    assert not (tmp_path / "out").exists()
