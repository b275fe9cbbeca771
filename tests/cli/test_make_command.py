"""`auscult make scenes` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from small_inputs import auscult, rows

SMALL = ("--size", "96x170", "--seconds", "4", "--rate", "8000", "--objects", "2-3", "--workers", "1", "--quiet")


def test_scenes_are_made_counted_and_continued(tmp_path: Path) -> None:
    out = tmp_path / "out 1"
    result = auscult("make", "scenes", "--out", out, "--count", 1, "--seed", 3, *SMALL, "--expressions", 4)
    assert result.code == 0
    assert "families" not in result.out
    assert "expressions" in result.out
    assert f"auscult run mqa --data '{out}' --out '{out}'-mqa" in result.err
    assert (out / "media" / "s3-00000" / "frames" / "3.jpg").is_file()
    result = auscult("make", "scenes", "--out", out, "--count", 2, "--seed", 3, *SMALL, "--expressions", 4, "--json")
    assert result.code == 0
    summary = json.loads(result.out)
    assert (summary["command"], summary["n"], summary["ok"]) == ("make scenes", 2, 2)
    assert all(len(row["expressions"]) <= 5 for row in rows(out / "scenes.jsonl"))
    result = auscult("make", "scenes", "--out", out, "--count", 2, "--seed", 4, *SMALL, "--expressions", 4)
    assert result.code == 2
    assert "seed was 3, now 4" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--size", "480"), "HEIGHTxWIDTH"),
        (("--size", "480:854"), "HEIGHTxWIDTH"),
        (("--objects", "some"), "FEWEST-MOST"),
        (("--objects", "5-2"), "FEWEST-MOST"),
        (("--split", "val"), "all, train, test_s, test_u"),
        (("--seconds", "1e9"), "3 to 120"),
        (("--assets", "/nowhere/at/all"), "no such asset folder"),
    ],
)
def test_wrong_usage_is_told(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = auscult("make", "scenes", "--out", tmp_path / "out", "--count", 1, "--quiet", *options)
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("option", "expected"), [("--seconds", "SHORTEST-LONGEST"), ("--sources", "FEWEST-MOST")])
def test_a_range_of_mixtures_that_cannot_be_read_names_its_option(tmp_path: Path, option: str, expected: str) -> None:
    result = auscult("make", "mixtures", "--out", tmp_path / "out", "--count", 1, "--quiet", option, "x")
    assert result.code == 2
    assert f"{option} 'x' cannot be read" in result.err
    assert expected in result.err
