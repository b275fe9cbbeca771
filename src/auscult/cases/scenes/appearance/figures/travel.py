"""Vehicles and buildings."""

from __future__ import annotations

import numpy as np

from auscult.cases.scenes.appearance.drawing import Part
from auscult.cases.scenes.appearance.outlines import bar, box, ellipse, lathe, mirrored, polygon, smooth


def _wheel(x: float, y: float, radius: float) -> list[Part]:
    return [Part((ellipse(x, y, radius),), "dark", 0.4), Part((ellipse(x, y, radius * 0.5),), "metal", 0.4)]


def boat(rng: np.random.Generator) -> list[Part]:
    """A sailing boat."""
    mast, wide = rng.uniform(1.7, 2.1), rng.uniform(0.75, 0.95)
    parts = [
        Part((bar((0, 0.1), (0, -mast), 0.06),), "wood", 0.0),
        Part((smooth([(0.06, -mast + 0.1), (wide, -0.1), (0.06, -0.1)], rounds=1),), "body", 0.4),
        Part((smooth([(-0.06, -mast * 0.85), (-wide * 0.75, -0.1), (-0.06, -0.1)], rounds=1),), "body", 0.4),
        Part((smooth([(-1.15, 0.05), (1.25, 0.05), (0.8, 0.55), (-0.8, 0.55)], rounds=1),), "second", 0.6),
        Part((box(-1.1, 0.06, 1.18, 0.16, rounding=0.04),), "wood", 0.2),
    ]
    if rng.random() < 0.6:
        parts.append(Part((polygon((0, -mast), (0.4, -mast + 0.12), (0, -mast + 0.24)),), "body", 0.0))
    return parts


def car(rng: np.random.Generator) -> list[Part]:
    """A car, front to the right."""
    roof, back, front = rng.uniform(0.5, 0.65), rng.uniform(-0.95, -0.6), rng.uniform(0.35, 0.6)
    cabin = smooth([(back - 0.2, 0), (back, -roof), (front - 0.3, -roof), (front + 0.15, 0)], rounds=1)
    pane = 0.72 * roof
    parts = [
        Part((cabin,), "body", 0.3),
        Part((polygon((back + 0.02, -0.04), (back + 0.12, -pane), (-0.2, -pane), (-0.2, -0.04)),), "glass", 0.2),
        Part((polygon((-0.1, -0.04), (-0.1, -pane), (front - 0.32, -pane), (front, -0.04)),), "glass", 0.2),
        Part(
            (smooth([(-1.4, 0.05), (-1.3, -0.08), (1.1, -0.08), (1.45, 0.15), (1.45, 0.5), (-1.4, 0.5)], rounds=1),),
            "body",
            0.5,
        ),
        Part((box(-1.42, 0.4, 1.46, 0.52, rounding=0.05),), "dark", 0.2),
        Part((ellipse(1.34, 0.16, 0.1, 0.08),), "light", 0.0),
        Part((box(-1.4, 0.08, -1.28, 0.22),), "flame", 0.0),
        Part((bar((-0.15, 0.0), (-0.15, 0.38), 0.025),), "shade", 0.0),
    ]
    size = rng.uniform(0.26, 0.32)
    return [*parts, *_wheel(-0.82, 0.52, size), *_wheel(0.85, 0.52, size)]


def bus(rng: np.random.Generator) -> list[Part]:
    """A bus, front to the right."""
    tall, panes = rng.uniform(1.0, 1.25), int(rng.integers(3, 5))
    parts = [Part((box(-1.6, -tall, 1.6, 0.3, rounding=0.15),), "body", 0.35)]
    step = 2.5 / panes
    for index in range(panes):
        x = -1.45 + index * step
        parts.append(Part((box(x, -tall + 0.18, x + step - 0.12, -tall * 0.42, rounding=0.04),), "glass", 0.2))
    parts.append(Part((box(1.12, -tall + 0.18, 1.5, 0.2, rounding=0.04),), "glass", 0.2))
    parts.append(Part((box(-1.6, -tall * 0.3, 1.05, -tall * 0.2),), "second", 0.0))
    parts.append(Part((ellipse(1.5, 0.14, 0.07),), "light", 0.0))
    return [*parts, *_wheel(-0.95, 0.32, 0.27), *_wheel(0.75, 0.32, 0.27)]


def rocket(rng: np.random.Generator) -> list[Part]:
    """A rocket that points up, with a flame."""
    wide, tall = rng.uniform(0.38, 0.5), rng.uniform(1.2, 1.5)
    fin = polygon((wide * 0.85, 0.35), (wide + rng.uniform(0.35, 0.5), 1.0), (wide * 0.7, 0.8))
    parts = [Part((fin,), "second", 0.4), Part((mirrored(fin),), "second", 0.4)]
    parts.append(Part((lathe([(wide * 0.5, 0.8), (wide * 0.6, 1.0), (0, rng.uniform(1.3, 1.6))]),), "flame", 0.3))
    parts.append(Part((lathe([(0, -tall), (wide * 0.75, -0.6 * tall), (wide, 0.0), (wide * 0.8, 0.85)]),), "body", 0.8))
    cone = lathe([(0, -tall), (wide * 0.36, -tall * 0.84), (wide * 0.62, -tall * 0.62)])
    parts.append(Part((cone,), "second", 0.6))
    parts.append(Part((ellipse(0, -0.25, 0.22),), "metal", 0.4))
    parts.append(Part((ellipse(0, -0.25, 0.15),), "glass", 0.4))
    return parts


def plane(rng: np.random.Generator) -> list[Part]:
    """An aeroplane seen from the side, nose to the right."""
    long, tail = rng.uniform(1.5, 1.8), rng.uniform(0.55, 0.75)
    parts = [
        Part(
            (polygon((-long + 0.1, -0.1), (-long - 0.1, -tail), (-long + 0.3, -tail), (-long + 0.65, -0.15)),),
            "second",
            0.3,
        ),
        Part((polygon((0.1, -0.1), (-0.35, -0.6), (-0.1, -0.6), (0.55, -0.1)),), "shade", 0.3),
        Part(
            (
                smooth(
                    [
                        (-long - 0.05, -0.2),
                        (-long * 0.6, -0.32),
                        (long * 0.7, -0.32),
                        (long + 0.1, 0.02),
                        (long * 0.7, 0.3),
                        (-long * 0.4, 0.28),
                    ]
                ),
            ),
            "body",
            0.7,
        ),
        Part(
            (polygon((-long + 0.1, -0.05), (-long - 0.25, 0.12), (-long + 0.05, 0.14), (-long + 0.6, 0.02)),),
            "second",
            0.2,
        ),
        Part((polygon((0.25, 0.08), (-0.75, 0.75), (-0.45, 0.75), (0.7, 0.14)),), "second", 0.4),
        Part(
            (
                smooth(
                    [(long * 0.66, -0.24), (long * 0.84, -0.16), (long * 0.9, -0.05), (long * 0.66, -0.05)], rounds=1
                ),
            ),
            "glass",
            0.2,
        ),
    ]
    parts.extend(
        Part((ellipse(-long * 0.55 + index * 0.3, -0.1, 0.065),), "dark", 0.0)
        for index in range(int(rng.integers(4, 7)))
    )
    return parts


def house(rng: np.random.Generator) -> list[Part]:
    """A house with a roof, a door and windows."""
    wide, tall, peak = rng.uniform(0.9, 1.1), rng.uniform(0.9, 1.2), rng.uniform(0.6, 0.9)
    chimney = float(rng.choice((-1, 1))) * 0.5
    door = float(rng.choice((-0.45, 0.0, 0.45)))
    parts = [
        Part((box(chimney - 0.13, -peak * 0.95, chimney + 0.13, 0.0),), "dark", 0.2),
        Part((box(-wide, -0.05, wide, tall),), "body", 0.2),
        Part((polygon((-wide - 0.2, 0.0), (0, -peak), (wide + 0.2, 0.0)),), "second", 0.2),
        Part((box(door - 0.17, tall - 0.6, door + 0.17, tall),), "wood", 0.2),
    ]
    for x in (-0.5, 0.5):
        if abs(x - door) < 0.3:
            continue
        parts.append(Part((box(x - 0.2, 0.2, x + 0.2, 0.55),), "light", 0.0))
        parts.append(Part((box(x - 0.16, 0.24, x + 0.16, 0.51),), "glass", 0.1))
        parts.append(Part((bar((x, 0.22), (x, 0.53), 0.03),), "light", 0.0))
    return parts


def windmill(rng: np.random.Generator) -> list[Part]:
    """A windmill with four sails."""
    tall, turn = rng.uniform(1.5, 1.8), rng.uniform(10, 80)
    parts = [
        Part((lathe([(0.42, 0.0), (0.65, tall)], soft=False),), "body", 0.6),
        Part((lathe([(0.0, -0.42), (0.35, -0.3), (0.5, 0.06)]),), "second", 0.5),
        Part((box(-0.14, tall - 0.42, 0.14, tall, rounding=0.1),), "wood", 0.2),
    ]
    for index in range(4):
        angle = np.radians(turn + 90 * index)
        along, across = np.array((np.cos(angle), np.sin(angle))), np.array((-np.sin(angle), np.cos(angle)))
        sail = np.array([along * 0.25, along * 1.15, along * 1.15 + across * 0.26, along * 0.25 + across * 0.26])
        parts.append(Part((sail,), "light", 0.0))
        parts.append(Part((bar((0, 0), (float(along[0]) * 1.18, float(along[1]) * 1.18), 0.06),), "wood", 0.0))
    parts.append(Part((ellipse(0, 0, 0.1),), "dark", 0.4))
    return parts


FIGURES = {"boat": boat, "bus": bus, "car": car, "house": house, "plane": plane, "rocket": rocket, "windmill": windmill}
