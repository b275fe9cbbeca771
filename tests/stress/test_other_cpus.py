"""Law 3 on another processor: without the instructions that NumPy and OpenCV choose at run time, nearly the same.

The other processor is this one, in a process whose environment takes its newer instructions away. What may differ is
the last bit of a float; a value that stood at the edge between two grey levels then falls on the other side.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import renderings
from numpy.typing import NDArray

SHARE = 0.999
WIDE = re.compile("AVX512|X86_V4")
LSB = 1.0 / 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What a processor without the newer instructions makes."""

    offered: dict[str, list[str]]
    made: dict[str, NDArray[Any]]


@pytest.fixture(scope="module")
def local_renderings() -> dict[str, NDArray[Any]]:
    return renderings.rendered()


def test_an_old_processor_makes_nearly_the_same(local_renderings: dict[str, NDArray[Any]], tmp_path: Path) -> None:
    """Without any instruction that is chosen at run time."""
    features = renderings.offered()
    old = run(
        tmp_path / "made.npz",
        switched_off=features,
        # Intel's part of OpenCV, matrix products and the C library choose for themselves.
        others={
            "OPENCV_IPP": "sse42",
            "OPENBLAS_CORETYPE": "Nehalem",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-FMA4",
        },
    )
    assert old.offered == {"numpy": [], "opencv": []}, "the instructions are still there"
    assert difference_shares(local_renderings, old.made) == {}


def test_an_ordinary_processor_makes_nearly_the_same(local_renderings: dict[str, NDArray[Any]], tmp_path: Path) -> None:
    """Without the instructions on 512 bits, which many processors do not have."""
    features = renderings.offered()
    ordinary = run(
        tmp_path / "made.npz",
        switched_off={part: [name for name in names if WIDE.match(name)] for part, names in features.items()},
        others={
            "OPENCV_IPP": "avx2",
            "OPENBLAS_CORETYPE": "Haswell",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F",
        },
    )
    features_left = {part: [name for name in names if not WIDE.match(name)] for part, names in features.items()}
    assert ordinary.offered == features_left, "other instructions than these"
    assert difference_shares(local_renderings, ordinary.made) == {}


def run(path: Path, *, switched_off: Mapping[str, Sequence[str]], others: Mapping[str, str]) -> Elsewhere:
    """Render everything in a process that does without some instructions.

    Args:
        path: Where the process writes.
        switched_off: The names of those that NumPy and OpenCV do without.
        others: Settings of other libraries on this kind of processor.
    """
    environment = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(
            [os.environ.get("NPY_DISABLE_CPU_FEATURES", ""), *switched_off["numpy"]]
        ).strip(),
        "OPENCV_CPU_DISABLE": ",".join(filter(None, [os.environ.get("OPENCV_CPU_DISABLE"), *switched_off["opencv"]])),
        **(others if platform.machine() == "x86_64" else {}),
    }
    program = [sys.executable, renderings.__file__, str(path)]
    completed = subprocess.run(
        program, env={**os.environ, **environment}, capture_output=True, text=True, timeout=110, check=False
    )
    assert completed.returncode == 0, completed.stderr[-2000:]
    with np.load(path, allow_pickle=False) as archive:
        renderings_ = {name: archive[name] for name in archive.files}
    return Elsewhere(offered=json.loads(str(renderings_.pop("offered"))), made=renderings_)


def difference_shares(
    own_renderings: Mapping[str, NDArray[Any]], their_renderings: Mapping[str, NDArray[Any]]
) -> dict[str, float]:
    """What is not nearly the same, by the share of its values that are."""
    assert sorted(their_renderings) == sorted(own_renderings)
    shares = {name: within(rendering, their_renderings[name]) for name, rendering in own_renderings.items()}
    return {name: share for name, share in shares.items() if share < SHARE}


def within(first: NDArray[Any], second: NDArray[Any]) -> float:
    """The share of values at most one grey level, or one step of 16 bits, apart."""
    assert first.shape == second.shape
    assert first.dtype == second.dtype
    step = 1.0 if first.dtype == np.uint8 else LSB
    return float(np.mean(np.abs(first.astype(np.float64) - second) <= step))


def test_a_difference_would_be_seen() -> None:
    clean = renderings.picture()
    other = clean.copy()
    other[:5, :12] ^= 2  # 180 values of 129,600
    assert within(clean, clean) == 1.0
    assert within(clean, other) < SHARE
    assert set(difference_shares({"clean": clean}, {"clean": other})) == {"clean"}


def test_everything_registered_takes_part(local_renderings: dict[str, NDArray[Any]]) -> None:
    """All but the MP3, where nobody can code one; what is drawn for it is tested with its coder."""
    names = {name.split("@")[0] for name in local_renderings}
    expected = {*renderings.names("vision"), *renderings.names("sound")}
    assert names == expected - (set() if renderings.CODER else {renderings.MP3})
