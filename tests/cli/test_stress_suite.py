"""``auscult stress masks --suite mqa``: the options, what is printed, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from auscult.cli.main import app
from auscult.errors import UsageError
from small_ref_avs import Clip, write_root


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["stress", "masks", *arguments])


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clips = [Clip("a", "train"), Clip("b", "test_s", words=("dog", "bell")), Clip("c", "test_u", words=("yak", "harp"))]
    return write_root(tmp_path_factory.mktemp("root"), clips)


def test_it_builds_prints_the_statistics_and_names_the_next_command(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "bench"
    result = run(str(source), "--suite", "mqa", "--out", str(out), "--workers", "1", "--quiet")
    assert result.exit_code == 0, result.output
    for words in ("videos, expressions, masks", "masks of each type", "exact IoU", "test (unseen)", "wanted"):
        assert words in result.output
    assert "auscult run mqa --data" in result.output
    assert (out / "items.jsonl").is_file()


def test_json_and_options(source: Path, tmp_path: Path) -> None:
    options = ("--protocol", "image", "--split", "test_s,test_u", "--count", "1", "--seed", "3")
    out = tmp_path / "bench"
    result = run(str(source), "--suite", "mqa", "--out", str(out), "--workers", "1", "--json", "--quiet", *options)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["by_defect"]["perfect"] == 2
    rows = [json.loads(line) for line in (out / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(row["mqa"]["protocol"], row["mqa"]["split"]) for row in rows} == {("image", "test_s"), ("image", "test_u")}
    arguments = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["arguments"]["given"]
    assert arguments["protocol"] == ["image"]
    assert arguments["count"] == 1
    assert arguments["suite"] == "mqa"


@pytest.mark.slow
def test_failures_decide_the_exit_code(tmp_path: Path) -> None:
    root = write_root(tmp_path / "root", [Clip("a", "test_s", words=("dog",)), Clip("b", "test_s", words=("dog",))])
    (root / "media/a/frames/3.jpg").write_bytes(b"broken")
    command = (
        str(root),
        "--suite",
        "mqa",
        "--protocol",
        "image",
        "--workers",
        "1",
        "--quiet",
        "--out",
        str(tmp_path / "out"),
    )
    result = run(*command)
    assert result.exit_code == 1
    assert "errors.jsonl" in result.output
    assert run(*command, "--max-failed", "3").exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--suite", "nonesuch"), "no benchmark of masks 'nonesuch'"),
        (("--suite", "mqa", "--kind", "erode"), "--kind does not go with --suite"),
        (("--suite", "mqa", "--difficulty", "hard"), "--difficulty does not go with --suite"),
        (("--protocol", "image"), "--protocol needs --suite"),
        (("--count", "3", "--negatives", "own"), "--count, --negatives needs --suite"),
        (("--suite", "mqa", "--protocol", "film"), "no protocol 'film'"),
        (("--suite", "mqa", "--negatives", "grabcut"), "proposes no regions"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    source: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    result = run(str(source), "--out", str(tmp_path / "out"), "--workers", "1", *options)
    assert isinstance(result.exception, UsageError)
    assert words in str(result.exception)
