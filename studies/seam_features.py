"""What a small classifier sees of a 32 px patch."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]

_KERNELS = (
    np.array([[0, 0, 0], [0, -1, 1], [0, 0, 0]], np.float32),
    np.array([[0, 0, 0], [0, -1, 0], [0, 1, 0]], np.float32),
    np.array([[0, 0, 0], [1, -2, 1], [0, 0, 0]], np.float32),
    np.array([[0, 1, 0], [0, -2, 0], [0, 1, 0]], np.float32),
    np.array([[-1, 2, -1], [2, -4, 2], [-1, 2, -1]], np.float32) / 2,
)


def features(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Features of patches.

    Args:
        pixels: uint8 RGB (n, 32, 32, 3).

    Returns:
        float32 (n, features): small Lab picture, oriented gradients, statistics of high-pass residuals in the whole and
        in 16 cells, sorted so that it does not matter where they are, co-occurrences of residuals, edge profile.
    """
    return np.stack([_of(patch) for patch in pixels])


def _of(patch: NDArray[np.uint8]) -> NDArray[np.float32]:
    lab: NDArray[Any] = cv2.cvtColor(patch.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    grey = patch.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    small = cv2.resize(lab, (8, 8), interpolation=cv2.INTER_AREA)
    parts = [small.ravel(), lab.reshape(-1, 3).std(axis=0), lab.reshape(-1, 3).mean(axis=0), _oriented(grey)]
    parts += [_residual(cv2.filter2D(grey, -1, kernel)[2:-2, 2:-2]) for kernel in _KERNELS]
    parts += [_residual(cv2.filter2D(lab[..., channel], -1, _KERNELS[4])[2:-2, 2:-2] * 4) for channel in (1, 2)]
    parts.append(_edge(patch.astype(np.float32), grey))
    return np.concatenate(parts).astype(np.float32)


def _oriented(grey: Field) -> Field:
    dx, dy = cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1)
    strength, angle = cv2.cartToPolar(dx, dy)
    bins = np.minimum((angle / (2 * np.pi) * 9).astype(int), 8)
    found = np.zeros((4, 4, 9), np.float32)
    for row in range(4):
        for column in range(4):
            cell = (slice(row * 8, row * 8 + 8), slice(column * 8, column * 8 + 8))
            found[row, column] = np.bincount(bins[cell].ravel(), strength[cell].ravel(), minlength=9)
    flat = found.ravel()
    return np.concatenate([flat / (np.linalg.norm(flat) + 20), np.percentile(strength, (5, 25, 50, 75, 90, 97, 100))])


def _residual(residual: NDArray[Any]) -> Field:
    size = np.abs(residual)
    mean, spread = float(residual.mean()), float(residual.std()) + 1e-3
    whole = [float(size.mean()), spread, float((((residual - mean) / spread) ** 4).mean())]
    whole += list(np.percentile(size, (10, 25, 50, 75, 90, 98)))
    cells = size[:28, :28].reshape(4, 7, 4, 7).mean(axis=(1, 3)).ravel()
    steps = np.clip(np.rint(residual / 2), -2, 2).astype(int) + 2
    pairs = np.bincount((steps[:, :-1] * 5 + steps[:, 1:]).ravel(), minlength=25) / steps.size
    return np.concatenate([whole, np.sort(cells), cells.reshape(4, 4)[1:3, 1:3].ravel(), pairs]).astype(np.float32)


def _edge(rgb: Field, grey: Field) -> Field:
    """Colours along the strongest edge's normal, from one side to the other."""
    dx, dy = (
        cv2.Sobel(cv2.GaussianBlur(grey, (0, 0), 2), cv2.CV_32F, 1, 0),
        cv2.Sobel(cv2.GaussianBlur(grey, (0, 0), 2), cv2.CV_32F, 0, 1),
    )
    strength = np.hypot(dx, dy)[8:24, 8:24]
    y, x = (int(place) + 8 for place in np.unravel_index(int(strength.argmax()), strength.shape))
    normal = np.array((dx[y, x], dy[y, x])) / (np.hypot(dx[y, x], dy[y, x]) + 1e-6)
    steps = np.arange(-7, 8)[:, None] * normal + (x, y)
    profile = cv2.remap(
        rgb,
        steps[:, :1].astype(np.float32),
        steps[:, 1:].astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REFLECT_101,
    )[:, 0]
    light = profile.mean(axis=1)
    jumps = np.abs(np.diff(light))
    step = abs(float(light[-4:].mean() - light[:4].mean())) + 4
    return np.concatenate([light, jumps / step, np.abs(np.diff(profile, axis=0)).max(axis=0), profile.std(axis=0)])
