"""Importing the package and asking for help stay light: numpy at the most, well under half a second."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocker())
"""
HEAVY = ("torch", "onnxruntime", "cv2", "PIL", "scipy", "sklearn", "skimage", "jinja2", "rich", "typer", "transformers")


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_import_needs_numpy_only() -> None:
    result = _python(BLOCKED.format(names=HEAVY) + "import auscult; print(auscult.Verdict.__name__)")
    assert result.stdout.strip() == "Verdict", result.stderr


def test_import_loads_nothing_heavy() -> None:
    result = _python(f"import sys, auscult; print([name for name in {HEAVY!r} if name in sys.modules])")
    assert result.stdout.strip() == "[]", result.stderr


def test_the_help_of_the_command_loads_no_numpy() -> None:
    code = "import sys; from auscult.cli.main import app\ntry: app(['--help'])\nexcept SystemExit: pass\n"
    result = _python(code + "print('numpy' in sys.modules)")
    assert result.stdout.splitlines()[-1] == "False", result.stderr


@pytest.mark.parametrize(
    ("judge", "flags"),
    [("masks.prompted.v1", ()), ("masks.compact.v1", ()), ("masks.cues.v1", ("onnxruntime",))],
    ids=["default", "older", "explainable"],
)
def test_core_works_without_torch(judge: str, flags: tuple[str, ...]) -> None:
    code = (
        BLOCKED.format(names=("torch", "scipy", "sklearn", "skimage", *flags))
        + "import numpy as np, auscult\n"
        + "frame = np.zeros((60, 80, 3), np.uint8); frame[20:40, 20:60] = 255\n"
        + f"print(auscult.audit_mask(frame, frame[..., 0] > 0, judge={judge!r}).action)"
    )
    result = _python(code)
    assert result.stdout.strip() in {"accept", "minor_revision", "major_revision", "reject"}, result.stderr


def test_the_iou_of_arrays_works_without_cv2() -> None:
    code = (
        BLOCKED.format(names=("torch", "onnxruntime", "cv2"))
        + "import numpy as np; from auscult.arrays.overlap import iou\n"
        + "one = np.eye(3, dtype=bool); print(iou(one, one))"
    )
    result = _python(code)
    assert result.stdout.strip() == "1.0", result.stderr


@pytest.mark.parametrize(
    ("arguments", "limit_s"),
    [(["-c", "import auscult"], 0.3), (["-m", "auscult", "--help"], 0.5)],
    ids=["import auscult", "auscult --help"],
)
def test_starts_fast(arguments: list[str], limit_s: float) -> None:
    """Median of five whole processes, less the bare interpreter's; twice the bar, since CI machines share cores."""
    own_seconds, bare = [], []
    for _ in range(5):
        bare.append(_seconds([sys.executable, "-c", "pass"]))
        own_seconds.append(_seconds([sys.executable, *arguments]))
    assert statistics.median(own_seconds) - statistics.median(bare) < 2 * limit_s


def _seconds(command: list[str]) -> float:
    start_s = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return time.perf_counter() - start_s


def test_the_core_has_at_most_twelve_direct_dependencies() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(project["dependencies"]) <= 12


def test_the_public_names_are_exactly_the_listed_ones() -> None:
    import auscult

    assert dir(auscult) == sorted(auscult.__all__)
    for name in auscult.__all__:
        assert getattr(auscult, name) is not None
