"""Cut one object with its surroundings out of a frame, at a random scale, flipped, turned and recoloured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.train.candidates import CandidateScene
from auscult.types import Frame, Mask

_ROUND: Final = 4.0  # the canvas's side, in sides of the object's box
_MOST_SIZE_PX: Final = 150.0
_MOST_SIDE_PX: Final = 420
_LEAST_SIZE_PX: Final = 26.0
_TURNED: Final = 0.3
_MOST_TURN_DEG: Final = 20.0

Matrix = NDArray[np.float64]


def cut(
    scene: CandidateScene, further: Sequence[Mask], rng: np.random.Generator
) -> tuple[CandidateScene, tuple[Mask, ...]] | None:
    """Cut and change one object of a frame, and go the same way with further masks of it, such as real models'.

    None where too little of the object is left.
    """
    matrix, size = _crop_matrix(scene.mask, rng)
    masks = [_moved(mask, matrix, size) for mask in (scene.mask, *scene.others, *further)]
    if np.count_nonzero(masks[0]) < _LEAST_SIZE_PX**2 / 2:
        return None
    change = _colours(rng)
    frame = change(_warped(scene.frame, matrix, size))
    before = None
    if scene.before is not None:
        earlier = _moved(scene.before[1], matrix, size)
        before = (change(_warped(scene.before[0], matrix, size)), earlier) if earlier.any() else None
    count = 1 + len(scene.others)
    others = tuple(mask for mask in masks[1:count] if mask.any())
    cropped = CandidateScene(frame=frame, mask=masks[0], others=others, before=before, complete=scene.complete)
    return cropped, tuple(masks[count:])


def _crop_matrix(mask: Mask, rng: np.random.Generator) -> tuple[Matrix, tuple[int, int]]:
    """The affine matrix from frame to canvas, and the canvas's (height, width)."""
    height, width = mask.shape
    x, y, w, h = cv2.boundingRect(mask.view(np.uint8))
    side = max(w, h)
    size = float(np.sqrt(np.count_nonzero(mask)))
    scale = float(np.exp(rng.uniform(np.log(0.6), np.log(1.35))))
    scale = min(scale, _MOST_SIZE_PX / size, _MOST_SIDE_PX / (side * 1.3))
    scale = max(scale, min(_LEAST_SIZE_PX / size, 1.5))
    reach = side * _ROUND / 2
    x0, x1 = max(0.0, x + w / 2 - reach), min(float(width), x + w / 2 + reach)
    y0, y1 = max(0.0, y + h / 2 - reach), min(float(height), y + h / 2 + reach)
    columns, rows = max(round((x1 - x0) * scale), 16), max(round((y1 - y0) * scale), 16)
    matrix = np.array([[scale, 0, -x0 * scale], [0, scale, -y0 * scale], [0, 0, 1.0]])
    if rng.random() < 0.5:
        matrix = np.array([[-1.0, 0, columns - 1], [0, 1, 0], [0, 0, 1]]) @ matrix
    if rng.random() < _TURNED:
        turn = cv2.getRotationMatrix2D((columns / 2, rows / 2), float(rng.uniform(-1, 1)) * _MOST_TURN_DEG, 1.0)
        matrix = np.vstack([turn, [0, 0, 1]]) @ matrix
    return matrix[:2], (rows, columns)


def _warped(frame: Frame, matrix: Matrix, size: tuple[int, int]) -> Frame:
    area = abs(np.linalg.det(matrix[:, :2]))
    if area < 0.7:  # warpAffine does not average, so what shrinks is smoothed first
        shrink = 1 / np.sqrt(area)
        frame = np.asarray(cv2.GaussianBlur(frame, (0, 0), 0.45 * float(shrink)), dtype=np.uint8)
    warped = cv2.warpAffine(frame, matrix, size[::-1], flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
    return np.asarray(warped, dtype=np.uint8)


def _moved(mask: Mask, matrix: Matrix, size: tuple[int, int]) -> Mask:
    grey = np.multiply(mask, np.uint8(255), dtype=np.uint8)
    warped = cv2.warpAffine(grey, matrix, size[::-1], flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
    return np.asarray(warped >= 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Colours:
    """Changes of brightness, contrast, colour, sharpness and noise, drawn once and used on each frame of a sample."""

    table: NDArray[np.uint8]
    mix: NDArray[np.float32]
    blur_px: float
    noise: float
    seed: int
    quality: int

    def __call__(self, frame: Frame) -> Frame:
        changed = cv2.LUT(frame, self.table)
        changed = cv2.transform(changed, self.mix)
        if self.blur_px > 0.25:
            changed = cv2.GaussianBlur(changed, (0, 0), self.blur_px)
        if self.noise > 0.5:
            grain = generator(self.seed, "grain").standard_normal(changed.shape, dtype=np.float32) * self.noise
            changed = np.clip(changed + grain, 0, 255).astype(np.uint8)
        if self.quality < 95:
            _, data = cv2.imencode(".jpg", np.asarray(changed), [cv2.IMWRITE_JPEG_QUALITY, self.quality])
            changed = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR))
        return np.asarray(changed, dtype=np.uint8)


def _colours(rng: np.random.Generator) -> _Colours:
    steps = np.arange(256) / 255
    gamma, gain, lift = np.exp(rng.uniform(-0.5, 0.5)), rng.uniform(0.55, 1.3), rng.uniform(-0.15, 0.15)
    table = np.clip(((steps**gamma) - 0.5) * gain + 0.5 + lift, 0, 1) * 255
    saturation = 0.0 if rng.random() < 0.1 else rng.uniform(0.5, 1.5)
    luma = np.array([0.299, 0.587, 0.114])
    mix = saturation * np.eye(3) + (1 - saturation) * np.tile(luma, (3, 1))
    mix = np.diag(rng.uniform(0.88, 1.12, 3)) @ mix
    if rng.random() < 0.15:
        mix = mix[rng.permutation(3)]
    return _Colours(
        table=table.astype(np.uint8),
        mix=mix.astype(np.float32),
        blur_px=float(rng.uniform(0.3, 2.0)) if rng.random() < 0.3 else 0.0,
        noise=float(rng.uniform(1, 9)) if rng.random() < 0.2 else 0.0,
        seed=int(rng.integers(1 << 31)),
        quality=int(rng.integers(40, 95)) if rng.random() < 0.3 else 100,
    )
