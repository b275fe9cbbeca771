"""Ten thousand mutated files: no reader crashes, hangs or takes much memory; `make fuzz` tries a hundred thousand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz_readers import TARGETS

SCRIPT = Path(__file__).parents[1] / "fuzz_readers.py"
INPUTS = 10_000
LONG = {"gate": 200, "act": 200, "records": 200, "r2": 400}  # what takes ten times as long; each reads many files
EACH = -(-(INPUTS - sum(LONG.values())) // (len(TARGETS) - len(LONG)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("target", TARGETS)
def test_mutated_files_are_read_or_refused(target: str) -> None:
    command = [sys.executable, str(SCRIPT), "--here", "--target", target, "--inputs", str(LONG.get(target, EACH))]
    process = subprocess.run(command, capture_output=True, check=False, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
