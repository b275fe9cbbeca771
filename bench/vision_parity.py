"""Do the perturbations of pictures agree with imagecorruptions? On real photographs, level by level.

    AUSCULT_DATA=DIR python -m bench vision_parity

What is deterministic is compared pixel by pixel. What is random is compared in distribution: PSNR against the clean
photograph, the histogram of grey values, and the power spectrum in rings of equal frequency.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress import vision
from bench.peers import Peers
from bench.table import Table

Picture = NDArray[np.uint8]

FIXED: Final = (
    "defocus_blur", "gaussian_blur", "zoom_blur", "brightness", "contrast", "saturate", "jpeg_compression", "pixelate",
)  # fmt: skip
RANDOM: Final = (
    "gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "motion_blur", "glass_blur", "snow",
    "fog", "frost", "spatter",
)  # fmt: skip
LEVELS: Final = (1, 2, 3, 4, 5)
WITHIN: Final = 2
PHOTOGRAPHS: Final = 8
DRAWS: Final = 3
RINGS: Final = 24
BINS: Final = 32


def run() -> Table:
    """Compare every type at every level."""
    data = os.environ.get("AUSCULT_DATA")
    if data is None:
        raise SystemExit("name the folder of real photographs: AUSCULT_DATA=DIR")
    shown = photographs(Path(data), PHOTOGRAPHS)
    rows = []
    with Peers() as peers:
        for name in (*FIXED, *RANDOM):
            cells = [measured(peers, name, level=level, shown=shown) for level in LEVELS]
            rows.append([name, *(told(name, cell) for cell in cells)])
    return Table(
        title="perturbations of pictures and imagecorruptions on real photographs",
        header=["type", *(f"level {level}" for level in LEVELS)],
        rows=rows,
        note=f"{PHOTOGRAPHS} photographs; fixed types: share of values within {WITHIN} grey levels; random types: mean "
        f"difference of PSNR in dB, of the histogram (half the sum of absolute differences), and of the spectrum "
        f"(dB, mean over rings), over {DRAWS} draws of each",
    )


def measured(peers: Peers, name: str, *, level: int, shown: list[Picture]) -> Mapping[str, float]:
    """How far ours and theirs are apart at one level, over photographs."""
    if name in FIXED:
        return {"within": fmean(_within(peers, name, level=level, image=image) for image in shown)}
    used = [image[:160, :200] for image in shown[:3]] if name == "glass_blur" else shown
    found = [_apart(peers, name, level=level, image=np.ascontiguousarray(image)) for image in used]
    return {key: fmean(one[key] for one in found) for key in found[0]}


def told(name: str, cell: Mapping[str, float]) -> str:
    """A cell of the table."""
    if name in FIXED:
        return f"{100 * cell['within']:.1f} %"
    return f"{cell['psnr']:+.2f} dB, {cell['histogram']:.3f}, {cell['spectrum']:.2f} dB"


def photographs(data: Path, count: int) -> list[Picture]:
    """Photographs of COCO, evenly chosen by name."""
    paths = sorted((data / "images" / "coco").rglob("*.jpg"))
    chosen = paths[:: max(1, len(paths) // count)][:count]
    return [np.asarray(cv2.imread(str(path), cv2.IMREAD_COLOR_RGB), dtype=np.uint8) for path in chosen]


def _within(peers: Peers, name: str, *, level: int, image: Picture) -> float:
    theirs = peers.made("vision", name, severity=level, given=peers.put("photograph", image)).astype(np.uint8)
    ours = vision.apply(name, image, severity=level, seed=0)
    return float((np.abs(ours.astype(np.int16) - theirs.astype(np.int16)) <= WITHIN).mean())


def _apart(peers: Peers, name: str, *, level: int, image: Picture) -> dict[str, float]:
    given = peers.put("photograph", image)
    theirs = [
        peers.made("vision", name, severity=level, given=given, seed=draw).astype(np.uint8) for draw in range(DRAWS)
    ]
    ours = [vision.apply(name, image, severity=level, seed=draw) for draw in range(DRAWS)]
    return {
        "psnr": fmean(psnr(image, one) for one in ours) - fmean(psnr(image, one) for one in theirs),
        "histogram": float(np.abs(_histogram(ours) - _histogram(theirs)).sum() / 2),
        "spectrum": float(np.abs(_spectrum(ours) - _spectrum(theirs)).mean()),
    }


def psnr(clean: Picture, other: Picture) -> float:
    """Peak signal to noise ratio in dB."""
    error = float(((clean.astype(np.float64) - other) ** 2).mean())
    return 10 * float(np.log10(255.0**2 / max(error, 1e-9)))


def _histogram(pictures: list[Picture]) -> NDArray[np.float64]:
    grey = np.concatenate([cv2.cvtColor(one, cv2.COLOR_RGB2GRAY).reshape(-1) for one in pictures])
    counts = np.histogram(grey, bins=BINS, range=(0, 256))[0]
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _spectrum(pictures: list[Picture]) -> NDArray[np.float64]:
    """Power in rings of equal frequency, dB, mean over pictures."""
    found = []
    for picture in pictures:
        grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float64)
        power = np.abs(np.fft.fft2(grey - grey.mean())) ** 2
        rows, columns = np.fft.fftfreq(grey.shape[0])[:, None], np.fft.fftfreq(grey.shape[1])[None, :]
        ring = np.minimum((np.hypot(rows, columns) * 2 * RINGS).astype(int), RINGS - 1)
        total = np.bincount(ring.reshape(-1), power.reshape(-1), RINGS)
        found.append(total / np.bincount(ring.reshape(-1), minlength=RINGS))
    return np.asarray(10 * np.log10(np.mean(found, axis=0) + 1.0))
