"""Do the perturbations of pictures agree with imagecorruptions? On real photographs, level by level.

    AUSCULT_DATA=DIR PYTHONPATH=. python tests/parity/vision_parity.py

What is deterministic is compared pixel by pixel. What is random is compared in distribution: PSNR against the clean
photograph, the histogram of grey values, and the power spectrum in rings of equal frequency.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Final

import cv2
import numpy as np
from bench.peers import Peers
from bench.table import Table, text
from numpy.typing import NDArray

from auscult.stress import vision

Picture = NDArray[np.uint8]

FIXED: Final = (
    "defocus_blur", "gaussian_blur", "zoom_blur", "brightness", "contrast", "saturate", "jpeg_compression", "pixelate",
)  # fmt: skip
RANDOM: Final = (
    "gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "motion_blur", "glass_blur", "snow",
    "fog", "spatter",
)  # fmt: skip
OTHERWISE: Final[Mapping[str, str]] = MappingProxyType({
    "frost": "textures of our own: theirs are photographs of others",
    "elastic_transform": "the formula of ImageNet-C and the release, which shears and bends; theirs only bends",
})  # fmt: skip
"""What is not meant to agree, with the reason."""

LEVELS: Final = (1, 2, 3, 4, 5)
WITHIN: Final = 2
PHOTOGRAPHS: Final = 6
DRAWS: Final[Mapping[str, int]] = MappingProxyType({
    "gaussian_noise": 2, "shot_noise": 2, "speckle_noise": 2, "impulse_noise": 4, "glass_blur": 3, "motion_blur": 8,
    "snow": 8, "fog": 24, "spatter": 32, "frost": 8, "elastic_transform": 4,
})  # fmt: skip
"""Of each photograph: the more one draw differs from another, the more."""
PIECE: Final[Mapping[str, tuple[int, int]]] = MappingProxyType({
    "glass_blur": (64, 80), "fog": (120, 128), "spatter": (120, 128),
})  # fmt: skip
"""Height and width of the piece that is compared, where theirs takes long or many draws are needed."""
WHOLE: Final = (224, 288)
RINGS: Final = 24
BINS: Final = 32
TITLE: Final = "perturbations of pictures and imagecorruptions on real photographs"


def run() -> Table:
    """Compare every type at every level."""
    data = os.environ.get("AUSCULT_DATA")
    if not data:
        return Table(
            "perturbations of pictures and imagecorruptions on real photographs", [], [], "AUSCULT_DATA is not set"
        )
    pictures = photographs(Path(data), PHOTOGRAPHS)
    rows = []
    with Peers() as peers:
        for name in (*FIXED, *RANDOM, *OTHERWISE):
            cells = [measure(peers, name, level=level, shown=pictures) for level in LEVELS]
            rows.append([name, *(cell_text(name, cell) for cell in cells)])
    reasons = "; ".join(f"{name}: {reason}" for name, reason in OTHERWISE.items())
    return Table(
        title=TITLE,
        header=["type", *(f"level {level}" for level in LEVELS)],
        rows=rows,
        note=f"{PHOTOGRAPHS} photographs, pieces of {WHOLE[0]} x {WHOLE[1]} (less for {', '.join(PIECE)}); fixed "
        f"types: share of pixels within {WITHIN} grey levels in every channel, of the worst photograph; random types, "
        f"over {min(DRAWS.values())} to {max(DRAWS.values())} draws of each: difference of PSNR in dB, of the "
        f"histogram (half the sum of absolute differences), and of the spectrum (dB, mean over rings). Not meant to "
        f"agree: {reasons}",
    )


def measure(peers: Peers, name: str, *, level: int, shown: Sequence[Picture]) -> Mapping[str, float]:
    """How far ours and theirs are apart at one level, over photographs."""
    if name in FIXED:
        return {"within": min(_within(peers, name, level=level, image=image) for image in shown)}
    height, width = PIECE.get(name, WHOLE)
    rows_of_pictures = [
        _differences(peers, name, level=level, image=np.ascontiguousarray(image[:height, :width]), first=1000 * index)
        for index, image in enumerate(shown)
    ]
    return {key: fmean(row[key] for row in rows_of_pictures) for key in rows_of_pictures[0]}


def cell_text(name: str, cell: Mapping[str, float]) -> str:
    """A cell of the table."""
    if name in FIXED:
        return f"{100 * cell['within']:.2f} %"
    return f"{cell['psnr']:+.2f} dB, {cell['histogram']:.3f}, {cell['spectrum']:.2f} dB"


def photographs(data: Path, count: int) -> list[Picture]:
    """Pieces out of photographs of COCO, evenly chosen by name."""
    paths = sorted((data / "images" / "coco").rglob("*.jpg"))
    chosen_paths = paths[:: max(1, len(paths) // count)][:count]
    pictures = [np.asarray(cv2.imread(str(path), cv2.IMREAD_COLOR_RGB), dtype=np.uint8) for path in chosen_paths]
    return [np.ascontiguousarray(image[60 : 60 + WHOLE[0], 60 : 60 + WHOLE[1]]) for image in pictures]


def _within(peers: Peers, name: str, *, level: int, image: Picture) -> float:
    """The share of pixels all of whose values are near."""
    peer_output = peers.made("vision", name, severity=level, given=peers.put("photograph", image)).astype(np.uint8)
    own_output = vision.apply(name, image, severity=level, seed=0)
    return float((np.abs(own_output.astype(np.int16) - peer_output.astype(np.int16)) <= WITHIN).all(axis=-1).mean())


def _differences(peers: Peers, name: str, *, level: int, image: Picture, first: int) -> dict[str, float]:
    """Differences of what is drawn from seed ``first`` on: the PSNR is that of the mean square error of all draws."""
    path = peers.put("photograph", image)
    seeds = range(first, first + DRAWS[name])
    peer_outputs = [
        peers.made("vision", name, severity=level, given=path, seed=seed).astype(np.uint8) for seed in seeds
    ]
    own_outputs = [vision.apply(name, image, severity=level, seed=seed) for seed in seeds]
    return {
        "psnr": psnr(image, own_outputs) - psnr(image, peer_outputs),
        "histogram": float(np.abs(_histogram(own_outputs) - _histogram(peer_outputs)).sum() / 2),
        "spectrum": float(np.abs(_spectrum(own_outputs) - _spectrum(peer_outputs)).mean()),
    }


def psnr(clean: Picture, others: Sequence[Picture]) -> float:
    """Peak signal to noise ratio of several pictures in dB; few draws of spatter then do not weigh too much."""
    error = fmean(float(((clean.astype(np.float64) - other) ** 2).mean()) for other in others)
    return 10 * float(np.log10(255.0**2 / max(error, 1e-9)))


def _histogram(pictures: Sequence[Picture]) -> NDArray[np.float64]:
    grey = np.concatenate([cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).reshape(-1) for picture in pictures])
    counts = np.bincount(grey // (256 // BINS), minlength=BINS)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


@cache
def _rings(height: int, width: int) -> NDArray[np.int64]:
    """The ring of each frequency of a picture."""
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :]
    return np.minimum((np.hypot(rows, columns) * 2 * RINGS).astype(int), RINGS - 1).reshape(-1)


def _spectrum(pictures: Sequence[Picture]) -> NDArray[np.float64]:
    """Power in rings of equal frequency, dB, mean over pictures."""
    means = []
    for picture in pictures:
        grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float64)
        power = np.abs(np.fft.fft2(grey - grey.mean())) ** 2
        ring = _rings(*grey.shape)
        means.append(np.bincount(ring, power.reshape(-1), RINGS) / np.bincount(ring, minlength=RINGS))
    return np.asarray(10 * np.log10(np.mean(means, axis=0) + 1.0))


if __name__ == "__main__":
    print(text(run()))
