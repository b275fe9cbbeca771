"""The numbered examples run as they are, without a data folder, and say what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("[0-9]*.py"))


def test_the_examples_are_numbered_without_a_gap() -> None:
    assert [path.name[:2] for path in EXAMPLES] == [f"{number:02d}" for number in range(1, len(EXAMPLES) + 1)]
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize(
    "path",
    [EXAMPLES[0], *(pytest.param(path, marks=pytest.mark.slow) for path in EXAMPLES[1:])],
    ids=lambda path: path.stem,
)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    assert not any(tmp_path.iterdir()), "an example leaves nothing behind"
