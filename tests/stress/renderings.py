"""Every registered perturbation of one picture and one sound; run as a program, it writes them for another process.

    python renderings.py OUT.npz

What the processor offers is told beside them, so that a test knows whether it was taken away.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import registry
from auscult.rng import generator
from auscult.stress import sound, vision

SEVERITIES = (2.5, 5.0)
RATE_HZ = 22_050
MP3 = "sound.mp3_compression.v1"
CODER = importlib.util.find_spec("av") is not None


def picture() -> NDArray[np.uint8]:
    """Patches, slopes and grain, (180, 240, 3), from whole numbers alone: the same on every processor."""
    rng = generator(0, "renderings", "picture")
    patches = rng.integers(0, 256, (9, 12, 3)).repeat(20, axis=0).repeat(20, axis=1)
    rows, columns = np.mgrid[:180, :240]
    slope = (rows + columns)[..., None] * 255 // 418
    grain = rng.integers(-20, 21, (180, 240, 3))
    return np.clip((patches + slope) // 2 + grain, 0, 255).astype(np.uint8)


def clip() -> NDArray[np.float32]:
    """Two channels of a triangular wave of falling pitch under noise, (2, 33075), from whole numbers alone."""
    rng = generator(0, "renderings", "sound")
    sample_index = np.arange(33_075)
    wave = np.abs((sample_index * 400 // (60 + sample_index // 300)) % 400 - 200) - 100
    hiss = rng.integers(-40, 41, (2, sample_index.size))
    return np.float32(1 / 256) * (wave + hiss).astype(np.float32)


def names(room: str) -> list[str]:
    """All registered perturbations of a room."""
    return [entry.name for entry in registry.entries("stressor") if entry.name.startswith(f"{room}.")]


def rendered() -> dict[str, NDArray[Any]]:
    """Each perturbation at two strengths, by ``name@strength``; no MP3 where the package that codes it is missing."""
    return dict(_rendered())


def _rendered() -> Iterator[tuple[str, NDArray[Any]]]:
    for severity in SEVERITIES:
        for name in names("vision"):
            yield f"{name}@{severity:g}", vision.apply(name, picture(), severity=severity, seed=3)
        for name in names("sound"):
            if name == MP3 and not CODER:
                continue
            yield f"{name}@{severity:g}", sound.apply(name, clip(), rate_hz=RATE_HZ, severity=severity, seed=3)


def offered() -> dict[str, list[str]]:
    """What NumPy and OpenCV choose their code by at run time, and the processor has, and nobody has taken away."""
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:  # NumPy 2.0 and older keep it elsewhere
        from numpy.core import _multiarray_umath as core
    has_feature: Mapping[str, bool] = core.__cpu_features__
    return {
        "numpy": [name for name in core.__cpu_dispatch__ if has_feature[name]],
        "opencv": [
            name[1:] for name in cv2.getCPUFeaturesLine().split() if name.startswith("*") and not name.endswith("?")
        ],
    }


if __name__ == "__main__":
    np.savez(sys.argv[1], offered=json.dumps(offered()), **rendered())
