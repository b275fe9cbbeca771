"""Things to play with."""

from __future__ import annotations

import itertools

import numpy as np

from auscult.cases.scenes.appearance.drawing import Part
from auscult.cases.scenes.appearance.outlines import (
    Points,
    bar,
    box,
    ellipse,
    lathe,
    polygon,
    ring_arc,
    smooth,
    star,
    turned,
)


def ball(rng: np.random.Generator) -> list[Part]:
    """A ball, mostly with seams."""
    parts = [Part((ellipse(0, 0, 1),), "body", 1.0)]
    tilt = float(rng.uniform(-40, 40))
    if rng.random() < 0.75:
        for side in (-1, 1):
            seam = ellipse(side * rng.uniform(0.9, 1.3), 0, rng.uniform(0.75, 0.95))
            inner = ellipse(float(seam[:, 0].mean()), 0, float(np.ptp(seam[:, 0])) / 2 - 0.06)
            parts.append(Part((turned(_on_ball(seam), tilt), turned(_on_ball(inner), tilt)), "dark", 0.0))
    shine = rng.uniform(0.12, 0.2)
    parts.append(Part((ellipse(-0.38, -0.45, shine * 1.4, shine, turn=-40),), "shine", 0.0))
    return parts


def _on_ball(points: Points) -> Points:
    radius = np.maximum(np.hypot(points[:, 0], points[:, 1]), 1e-9)
    return np.asarray(points * np.minimum(1, 0.995 / radius)[:, None])


def balloon(rng: np.random.Generator) -> list[Part]:
    """A balloon on a string."""
    tall = rng.uniform(1.15, 1.4)
    body = lathe([(0.0, -tall), (0.75, -tall), (1.08, -0.2), (0.75, 0.6), (0.1, 1.08), (0.08, 1.12)])
    sway = rng.uniform(-0.3, 0.3)
    line = [(0.0, 1.1), (sway, 1.5), (-sway, 1.9), (0.5 * sway, rng.uniform(2.1, 2.5))]
    parts = [Part((bar(first, last, 0.035),), "dark", 0.0) for first, last in itertools.pairwise(line)]
    parts.append(Part((polygon((0, 1.05), (0.15, 1.25), (-0.15, 1.25)),), "body", 0.2))
    parts.append(Part((body,), "body", 0.9))
    parts.append(Part((ellipse(-0.4, -0.5, 0.13, 0.3, turn=18),), "shine", 0.0))
    return parts


def kite(rng: np.random.Generator) -> list[Part]:
    """A kite with a tail of bows."""
    wide, high, low = rng.uniform(0.75, 0.95), rng.uniform(0.7, 0.9), rng.uniform(1.2, 1.5)
    parts = []
    x, y = 0.0, low
    sway = rng.choice((-1, 1)) * rng.uniform(0.15, 0.3)
    for index in range(int(rng.integers(2, 5))):
        end = (x + sway * (-1) ** index, y + 0.35)
        parts.append(Part((bar((x, y), end, 0.04),), "dark", 0.0))
        bow = polygon((-0.17, -0.1), (0.17, 0.1), (0.17, -0.1), (-0.17, 0.1))
        parts.append(Part((bow + end,), "body", 0.0))
        x, y = end
    parts.append(Part((polygon((0, -high), (wide, 0), (0, low), (-wide, 0)),), "body", 0.15))
    parts.append(Part((polygon((0, 0), (wide, 0), (0, low)),), "shade", 0.0))
    parts.append(Part((bar((0, -high), (0, low), 0.04),), "wood", 0.0))
    parts.append(Part((bar((-wide, 0), (wide, 0), 0.04),), "wood", 0.0))
    return parts


def star_shape(rng: np.random.Generator) -> list[Part]:
    """A star of five or six points with soft tips."""
    points = int(rng.choice((5, 5, 6)))
    outline = smooth(star(0, 0, 1, points=points, depth=rng.uniform(0.42, 0.55)), rounds=int(rng.integers(1, 3)))
    parts = [Part((outline,), "body", 0.5)]
    if rng.random() < 0.4:
        parts.append(Part((smooth(star(0, 0, 0.5, points=points, depth=0.5), rounds=1),), "second", 0.3))
    return parts


def robot(rng: np.random.Generator) -> list[Part]:
    """A toy robot."""
    wide, head, tall = rng.uniform(0.62, 0.8), rng.uniform(0.42, 0.58), rng.uniform(1.1, 1.4)
    top = -0.75
    parts = []
    for sign in (-1, 1):
        hip = sign * wide * 0.5
        parts.append(Part((box(hip - 0.16, tall - 0.1, hip + 0.16, tall + 0.6, rounding=0.05),), "second", 0.5))
        parts.append(Part((box(hip - 0.25, tall + 0.5, hip + 0.25, tall + 0.72, rounding=0.08),), "dark", 0.4))
        hand = (sign * (wide + rng.uniform(0.2, 0.45)), rng.uniform(0.15, 0.95))
        parts.append(Part((bar((sign * wide * 0.9, 0.2), hand, 0.2),), "second", 0.6))
        parts.append(Part((ellipse(*hand, 0.17),), "body", 0.6))
    parts.append(Part((box(-0.14, -0.25, 0.14, 0.1),), "dark", 0.3))
    parts.append(Part((bar((0, top), (0, top - 0.3), 0.05),), "metal", 0.0))
    parts.append(Part((ellipse(0, top - 0.34, 0.1),), "body", 0.8))
    parts.append(Part((box(-head, top, head, -0.15, rounding=rng.uniform(0.05, 0.2)),), "body", 0.4))
    parts.append(Part((box(-wide, 0, wide, tall, rounding=rng.uniform(0.05, 0.2)),), "body", 0.4))
    for sign in (-1, 1):
        parts.append(Part((ellipse(sign * head * 0.45, top + 0.22, 0.12),), "light", 0.2))
        parts.append(Part((ellipse(sign * head * 0.45, top + 0.22, 0.05),), "dark", 0.0))
    parts.append(Part((box(-head * 0.5, -0.33, head * 0.5, -0.26),), "dark", 0.0))
    parts.append(Part((box(-wide * 0.6, 0.25, wide * 0.6, 0.6, rounding=0.05),), "second", 0.2))
    return parts


def crown(rng: np.random.Generator) -> list[Part]:
    """A crown with balls on its points."""
    count, tall = int(rng.choice((3, 5))), rng.uniform(0.75, 1.0)
    tips = np.linspace(-1, 1, count)
    outline = [(-0.85, 1.0)]
    for index, x in enumerate(tips):
        outline.append((x * 1.05, 1.0 - tall * (1.0 if index % 2 == 0 else 1.2)))
        if index < count - 1:
            outline.append(((x + tips[index + 1]) / 2, 0.62))
    outline.append((0.85, 1.0))
    parts = [Part((polygon(*outline),), "body", 0.35)]
    for index, x in enumerate(tips):
        parts.append(Part((ellipse(x * 1.05, 1.0 - tall * (1.0 if index % 2 == 0 else 1.2), 0.1),), "second", 0.8))
    parts.append(Part((box(-0.88, 0.86, 0.88, 1.06, rounding=0.05),), "shade", 0.4))
    parts.extend(Part((ellipse(x, 0.96, 0.075),), "light", 0.6) for x in (-0.5, 0.0, 0.5))
    return parts


def teddy(rng: np.random.Generator) -> list[Part]:
    """A sitting teddy bear."""
    fat, ear = rng.uniform(0.6, 0.75), rng.uniform(0.17, 0.24)
    parts = []
    for sign in (-1, 1):
        parts.append(Part((ellipse(sign * 0.4, -0.72, ear),), "body", 0.7))
        parts.append(Part((ellipse(sign * 0.4, -0.72, ear * 0.55),), "shade", 0.0))
        hand = (sign * rng.uniform(0.85, 1.0), rng.uniform(0.2, 0.75))
        parts.append(Part((bar((sign * 0.45, 0.3), hand, 0.34),), "body", 0.8))
    parts.append(Part((ellipse(0, 0.65, fat, 0.72),), "body", 0.8))
    for sign in (-1, 1):
        parts.append(Part((ellipse(sign * 0.5, 1.2, 0.33, 0.27, turn=sign * 20),), "body", 0.8))
        parts.append(Part((ellipse(sign * 0.53, 1.2, 0.17, 0.14),), "shade", 0.0))
    parts.append(Part((ellipse(0, -0.3, 0.58, 0.52),), "body", 0.7))
    parts.append(Part((ellipse(0, -0.13, 0.26, 0.2),), "light", 0.3))
    parts.append(Part((ellipse(0, -0.2, 0.09, 0.07),), "dark", 0.3))
    parts.extend(Part((ellipse(sign * 0.22, -0.42, 0.07),), "dark", 0.2) for sign in (-1, 1))
    parts.append(Part((ring_arc(0, -0.16, 0.12, 0.035, start=20, stop=160),), "dark", 0.0))
    return parts


FIGURES = {
    "ball": ball,
    "balloon": balloon,
    "crown": crown,
    "kite": kite,
    "robot": robot,
    "star": star_shape,
    "teddy": teddy,
}
