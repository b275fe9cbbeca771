"""Things of the household."""

from __future__ import annotations

import itertools

import numpy as np

from auscult.cases.scenes.appearance.drawing import Part
from auscult.cases.scenes.appearance.outlines import bar, box, ellipse, lathe, polygon, ring_arc, smooth, turned


def cup(rng: np.random.Generator) -> list[Part]:
    """A cup with its handle to one side."""
    top, foot, tall = rng.uniform(0.62, 0.75), rng.uniform(0.4, 0.62), rng.uniform(0.95, 1.35)
    handle = ring_arc(top * 0.85, tall * 0.45, tall * 0.28, 0.15, start=-110, stop=110)
    return [
        Part((handle,), "body", 0.5),
        Part((lathe([(top, 0.0), (top, 0.3), (foot, tall * 0.95), (foot * 0.9, tall), (0, tall)]),), "body", 0.6),
        Part((ellipse(0, 0.02, top, 0.15),), "shade", 0.0),
        Part((ellipse(0, 0.05, top * 0.88, 0.1),), "wood", 0.2),
    ]


def bottle(rng: np.random.Generator) -> list[Part]:
    """A bottle with a label and a stopper."""
    wide, neck, tall = rng.uniform(0.4, 0.52), rng.uniform(0.13, 0.18), rng.uniform(1.7, 2.1)
    shoulder = rng.uniform(0.55, 0.8)
    label = rng.uniform(0.35, 0.5)
    return [
        Part((box(-neck * 0.9, -0.2, neck * 0.9, 0.05, rounding=0.04),), "wood", 0.3),
        Part(
            (
                lathe(
                    [
                        (neck, 0.0),
                        (neck, shoulder * 0.8),
                        (wide, shoulder * 1.2),
                        (wide, tall),
                        (wide * 0.85, tall),
                        (0, tall),
                    ]
                ),
            ),
            "body",
            0.8,
        ),
        Part((box(-neck * 1.15, 0.0, neck * 1.15, 0.12, rounding=0.04),), "shade", 0.2),
        Part((box(-wide * 0.99, tall - 0.25 - label, wide * 0.99, tall - 0.25),), "second", 0.3),
        Part((box(-wide * 0.7, shoulder * 1.3, -wide * 0.55, tall - 0.8, rounding=0.05),), "shine", 0.0),
    ]


def vase(rng: np.random.Generator) -> list[Part]:
    """A vase with two handles, or none."""
    belly, neck, mouth = rng.uniform(0.6, 0.8), rng.uniform(0.22, 0.34), rng.uniform(0.38, 0.5)
    parts = []
    if rng.random() < 0.5:
        for start, x in ((-100, 0.42), (80, -0.42)):
            parts.append(Part((ring_arc(x, 0.42, 0.3, 0.1, start=start, stop=start + 200),), "body", 0.5))
    profile = [(mouth, 0.0), (neck, 0.25), (neck, 0.45), (belly, 0.8), (belly, 1.15), (0.35, 1.7), (0.4, 1.8), (0, 1.8)]
    parts.append(Part((lathe(profile),), "body", 0.8))
    parts.append(Part((ellipse(0, 0.0, mouth, 0.08),), "dark", 0.0))
    parts.append(Part((ellipse(-belly * 0.5, 0.95, 0.06, 0.2, turn=8),), "shine", 0.0))
    return parts


def teapot(rng: np.random.Generator) -> list[Part]:
    """A teapot, spout to the right."""
    wide, tall = rng.uniform(0.72, 0.85), rng.uniform(0.55, 0.68)
    spout = smooth(
        [
            (wide * 0.6, 0.35),
            (wide + 0.35, -0.1),
            (wide + 0.5, -0.5),
            (wide + 0.66, -0.42),
            (wide + 0.5, 0.1),
            (wide * 0.6, 0.6),
        ]
    )
    return [
        Part((spout,), "body", 0.6),
        Part((ring_arc(-wide * 0.92, 0.1, 0.36, 0.13, start=90, stop=275),), "body", 0.5),
        Part((ellipse(0, 0.1, wide, tall),), "body", 0.8),
        Part((box(-wide * 0.5, tall * 0.98, wide * 0.5, tall + 0.16, rounding=0.05),), "shade", 0.3),
        Part((ellipse(0, -tall * 0.72, wide * 0.52, 0.16),), "second", 0.5),
        Part((ellipse(0, -tall - 0.02, 0.12),), "second", 0.8),
        Part((ellipse(-wide * 0.45, -0.12, 0.1, 0.2, turn=25),), "shine", 0.0),
    ]


def lantern(rng: np.random.Generator) -> list[Part]:
    """A lantern with a flame behind glass."""
    wide, tall = rng.uniform(0.55, 0.68), rng.uniform(1.0, 1.3)
    parts = [
        Part((ring_arc(0, -0.42, 0.2, 0.07, start=150, stop=390),), "dark", 0.2),
        Part((polygon((-wide * 1.15, 0.08), (-0.22, -0.36), (0.22, -0.36), (wide * 1.15, 0.08)),), "body", 0.5),
        Part((box(-wide, 0.05, wide, tall, rounding=0.05),), "body", 0.3),
        Part((box(-wide * 0.62, 0.24, wide * 0.62, tall - 0.12, rounding=0.05),), "glass", 0.4),
        Part((lathe([(0, tall * 0.38), (0.13, tall * 0.62), (0.1, tall - 0.2), (0, tall - 0.15)]),), "flame", 0.3),
        Part((box(-wide * 1.15, tall, wide * 1.15, tall + 0.2, rounding=0.05),), "body", 0.4),
    ]
    if rng.random() < 0.5:
        parts.append(Part((box(-0.035, 0.2, 0.035, tall - 0.1),), "shade", 0.0))
    return parts


def umbrella(rng: np.random.Generator) -> list[Part]:
    """An open umbrella."""
    ribs, tall = int(rng.choice((4, 5, 6))), rng.uniform(0.75, 0.95)
    lower = []
    edges = np.linspace(1.1, -1.1, ribs + 1)
    for right, left in itertools.pairwise(edges):
        lower += [(right, 0.0), ((left + right) / 2, -0.14)]
    lower.append((-1.1, 0.0))
    top = [(1.1 * np.cos(angle), -tall * np.sin(angle)) for angle in np.linspace(np.pi, 0, 25)]
    side = float(rng.choice((-1, 1)))
    hook = ring_arc(0.18 * side, 1.1, 0.18, 0.09, start=0, stop=180)
    parts = [
        Part((bar((0, -tall - 0.14), (0, 1.1), 0.07),), "wood", 0.0),
        Part((hook,), "wood", 0.3),
        Part((polygon(*top, *lower),), "body", 0.5),
    ]
    parts.extend(Part((bar((float(x), 0), (0, -tall), 0.025),), "shade", 0.0) for x in edges[1:-1])
    return parts


def clock(rng: np.random.Generator) -> list[Part]:
    """An alarm clock or a wall clock."""
    parts = []
    if rng.random() < 0.6:
        for sign in (-1, 1):
            parts.append(Part((bar((sign * 0.45, 0.7), (sign * 0.72, 1.15), 0.16),), "dark", 0.4))
            parts.append(Part((ellipse(sign * 0.6, -0.88, 0.34, 0.22, turn=sign * 36),), "body", 0.7))
        parts.append(Part((bar((0, -0.9), (0, -1.2), 0.08),), "metal", 0.2))
    parts.append(Part((ellipse(0, 0, 1.0),), "body", 0.4))
    parts.append(Part((ellipse(0, 0, rng.uniform(0.6, 0.68)),), "light", 0.15))
    for hour in range(12):
        x, y = np.sin(hour * np.pi / 6), -np.cos(hour * np.pi / 6)
        parts.append(Part((bar((0.47 * x, 0.47 * y), (0.55 * x, 0.55 * y), 0.05),), "dark", 0.0))
    for long, width in ((0.3, 0.08), (0.45, 0.055)):
        angle = rng.uniform(0, 2 * np.pi)
        parts.append(Part((bar((0, 0), (long * np.sin(angle), -long * np.cos(angle)), width),), "dark", 0.0))
    return parts


def hat(rng: np.random.Generator) -> list[Part]:
    """A hat with a brim and a band."""
    wide, tall, brim = rng.uniform(0.5, 0.62), rng.uniform(0.55, 1.1), rng.uniform(1.0, 1.2)
    top = wide * rng.uniform(0.75, 1.1)
    return [
        Part((ellipse(0, 0.0, brim, 0.22),), "body", 0.5),
        Part(
            (
                lathe(
                    [
                        (0, -tall),
                        (top * 0.8, -tall * 1.02),
                        (top, -tall * 0.8),
                        (wide, 0.05),
                        (wide * 0.6, 0.12),
                        (0, 0.13),
                    ]
                ),
            ),
            "body",
            0.6,
        ),
        Part(
            (
                smooth(
                    [(-wide * 1.01, -0.22), (0, -0.15), (wide * 1.01, -0.22), (wide, 0.0), (0, 0.1), (-wide, 0.0)],
                    rounds=2,
                ),
            ),
            "second",
            0.2,
        ),
    ]


def chair(rng: np.random.Generator) -> list[Part]:
    """A chair, seen a little from the side."""
    back, seat = rng.uniform(1.1, 1.4), rng.uniform(0.14, 0.2)
    parts = [Part((bar((x, 0.1), (x, 0.95), 0.12),), "shade", 0.3) for x in (-0.42, 0.68)]
    parts += [Part((bar((x, 0.1), (x, 1.15), 0.13),), "body", 0.4) for x in (-0.68, 0.42)]
    if rng.random() < 0.5:
        parts.append(Part((box(-0.66, -back, 0.62, 0.0, rounding=0.15),), "body", 0.4))
    else:
        parts += [Part((bar((x, 0.0), (x, -back + 0.1), 0.12),), "body", 0.4) for x in (-0.58, -0.02, 0.54)]
        parts.append(Part((box(-0.68, -back, 0.64, -back + 0.32, rounding=0.1),), "body", 0.4))
    parts.append(Part((polygon((-0.6, -0.1), (0.7, -0.1), (0.52, 0.12), (-0.78, 0.12)),), "second", 0.3))
    parts.append(Part((box(-0.78, 0.12, 0.52, 0.12 + seat, rounding=0.04),), "body", 0.2))
    return parts


def key(rng: np.random.Generator) -> list[Part]:
    """An old key."""
    bow, hole = rng.uniform(0.42, 0.52), rng.uniform(0.2, 0.27)
    long = rng.uniform(1.5, 1.9)
    parts = [Part((box(-0.11, 0.3, 0.11, long, rounding=0.05),), "body", 0.6)]
    parts.extend(
        Part((box(0.05, y - 0.1, rng.uniform(0.38, 0.52), y + 0.1),), "body", 0.3)
        for y in (long - 0.16, long - 0.46, long - 0.72)[: int(rng.integers(2, 4))]
    )
    if rng.random() < 0.5:
        parts.append(Part((ellipse(0, 0, bow), ellipse(0, 0, hole)), "body", 0.6))
    else:
        for angle in (0, 120, 240):
            x, y = map(float, turned(np.array([[0.0, -0.3]]), angle)[0])
            parts.append(Part((ellipse(x, y, bow * 0.66), ellipse(x, y, hole * 0.7)), "body", 0.6))
    parts.append(Part((box(-0.17, 0.4, 0.17, 0.52, rounding=0.04),), "shade", 0.3))
    return parts


def candle(rng: np.random.Generator) -> list[Part]:
    """A burning candle on a dish."""
    wide, tall = rng.uniform(0.28, 0.38), rng.uniform(1.1, 1.6)
    return [
        Part((lathe([(0, -0.62), (0.14, -0.26), (0.1, -0.1), (0, -0.06)]),), "flame", 0.3),
        Part((bar((0, -0.12), (0, 0.05), 0.04),), "dark", 0.0),
        Part((box(-wide, 0.0, wide, tall, rounding=0.06),), "body", 0.8),
        Part((ellipse(0, 0.04, wide, 0.08),), "shade", 0.0),
        Part((lathe([(0.75, tall - 0.05), (0.55, tall + 0.2), (0, tall + 0.22)]),), "second", 0.5),
    ]


FIGURES = {
    "bottle": bottle,
    "candle": candle,
    "chair": chair,
    "clock": clock,
    "cup": cup,
    "hat": hat,
    "key": key,
    "lantern": lantern,
    "teapot": teapot,
    "umbrella": umbrella,
    "vase": vase,
}
