"""Speed of the perturbations of pictures, beside imagecorruptions: the same pictures, turn by turn, one core each.

Processor times of both processes. A picture comes once to each repeat, so that nothing can be kept from the last one.
"""

from __future__ import annotations

import os
from functools import partial
from statistics import geometric_mean, median

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import vision
from bench.peers import Peers
from bench.table import Table, timed_ms

TYPES = (
    "snow", "fog", "frost", "spatter", "brightness", "defocus_blur", "gaussian_blur", "motion_blur", "glass_blur",
    "impulse_noise", "shot_noise", "speckle_noise", "contrast", "saturate", "jpeg_compression", "pixelate",
)  # fmt: skip
MORE = ("gaussian_noise", "zoom_blur", "elastic_transform")
SIZES = ((480, 854), (1080, 1920))
REPEATS = 5
FEW = {"glass_blur": 1}  # theirs takes seconds a frame
WARM = {"frost": 24}  # its six textures are made once in a process
SEVERITY = 3


def run() -> Table:
    """Measure both at two sizes."""
    with Peers() as peers:
        found = {size: {name: _both(peers, name, size) for name in (*TYPES, *MORE)} for size in SIZES}
        copies = {size: timed_ms(picture(size).copy, 50)[0] for size in SIZES}
    rows = []
    for name in (*TYPES, *MORE):
        cells = [name]
        for size in SIZES:
            ours, theirs = found[size][name]
            cells += [f"{ours:.2f}", f"{theirs:.1f}", f"{theirs / ours:.1f}", f"{ours / copies[size]:.0f}"]
        rows.append(cells)
    means = ["geometric mean of the 16"]
    for size in SIZES:
        ratios = [found[size][name][1] / found[size][name][0] for name in TYPES]
        means += ["", "", f"{geometric_mean(ratios):.1f}", ""]
    rows.append(means)
    names, columns = [f"{high}x{wide}" for high, wide in SIZES], ("ms", "theirs ms", "times as fast", "plain copies")
    return Table(
        title=f"perturbations of pictures, severity {SEVERITY}, beside imagecorruptions",
        header=["type", *(f"{name} {what}" for name in names for what in columns)],
        rows=rows,
        note=f"medians of {REPEATS} (glass_blur of theirs: 1), processor time of one core each, turn by turn; "
        f"frost after its textures are made, .1 s each once in a process; "
        f"plain copies: ours over a copy of the picture in memory; NumPy {np.__version__}, OpenCV {cv2.__version__}; "
        f"load {os.getloadavg()[0]:.1f} at the end",
    )


def picture(size: tuple[int, int]) -> NDArray[np.uint8]:
    """A textured picture: smooth shapes, edges and grain."""
    rng = generator(0, "bench", "picture")
    coarse = rng.integers(0, 256, (size[0] // 40, size[1] // 40, 3), np.uint8)
    smooth = cv2.resize(coarse, size[::-1], interpolation=cv2.INTER_CUBIC).astype(np.int16)
    grain = rng.integers(-12, 13, (*size, 3), np.int16)
    return np.asarray(np.clip(smooth + grain, 0, 255), dtype=np.uint8)


def _both(peers: Peers, name: str, size: tuple[int, int]) -> tuple[float, float]:
    """Milliseconds of ours and theirs."""
    image = picture(size)
    given = peers.put("picture", image)
    for seed in range(100, 100 + WARM.get(name, 1)):
        vision.apply(name, image, severity=SEVERITY, seed=seed)
    if name not in FEW:
        peers.ask("vision", name, severity=SEVERITY, given=given)
    ours, theirs = [], []
    for repeat in range(REPEATS):
        ours.append(timed_ms(partial(vision.apply, name, image, severity=SEVERITY, seed=repeat), 1)[0])
        if repeat < FEW.get(name, REPEATS):
            theirs += peers.ask("vision", name, severity=SEVERITY, given=given, seed=repeat)["ms"]
    return median(ours), median(theirs)
