"""Things that make music."""

from __future__ import annotations

import numpy as np

from auscult.cases.scenes.appearance.drawing import Part
from auscult.cases.scenes.appearance.outlines import bar, box, ellipse, lathe, ring_arc, smooth


def bell(rng: np.random.Generator) -> list[Part]:
    """A hand-bell or church bell with its clapper."""
    waist, lip, shoulder = rng.uniform(0.42, 0.55), rng.uniform(0.8, 1.0), rng.uniform(0.3, 0.45)
    tall = rng.uniform(1.3, 1.6)
    body = lathe(
        [
            (0.0, 0.0),
            (shoulder, 0.02),
            (waist, 0.35 * tall),
            (waist + 0.06, 0.65 * tall),
            (lip, 0.93 * tall),
            (lip, tall),
        ]
    )
    parts = [Part((ellipse(0, tall + 0.05, rng.uniform(0.14, 0.2)),), "dark", 0.8)]
    if rng.random() < 0.5:
        parts.append(Part((bar((0, -rng.uniform(0.6, 0.9)), (0, 0.1), 0.2, taper=0.8),), "wood", 0.8))
    else:
        parts.append(Part((ellipse(0, -0.12, 0.2, 0.2), ellipse(0, -0.12, 0.1, 0.1)), "metal", 0.3))
    parts.append(Part((body,), "body", 0.8))
    parts.append(Part((box(-lip, tall - 0.12, lip, tall, rounding=0.06),), "shade", 0.3))
    parts.append(Part((ellipse(-waist * 0.5, tall * 0.42, 0.06, 0.26, turn=8),), "shine", 0.0))
    return parts


def drum(rng: np.random.Generator) -> list[Part]:
    """A drum with a skin, cords and two sticks."""
    wide, tall, flat = 1.0, rng.uniform(0.75, 1.25), rng.uniform(0.2, 0.32)
    side = np.concatenate([ellipse(0, 0, wide, flat)[24:], ellipse(0, tall, wide, flat)[:25]])
    parts = [Part((side,), "body", 0.6)]
    for y in (0.0, tall - 0.13):
        hoop = np.concatenate([ellipse(0, y, wide, flat)[:25], ellipse(0, y + 0.13, wide, flat)[:25][::-1]])
        parts.append(Part((hoop,), "second", 0.2))
    corners = rng.integers(5, 8)
    for index in range(int(corners)):
        left, right = (np.cos(np.pi * (1 - (index + step) / corners)) for step in (0.0, 0.5))
        low, high = (flat * np.sqrt(max(0.0, 1 - x * x)) for x in (left, right))
        parts.append(Part((bar((left, 0.13 + low), (right, tall - 0.1 + high), 0.035),), "light", 0.0))
    parts.append(Part((ellipse(0, 0, wide, flat),), "light", 0.25))
    for sign in (-1, 1):
        tip = (sign * rng.uniform(0.05, 0.25), -0.05)
        end = (tip[0] + sign * rng.uniform(0.5, 0.8), tip[1] - rng.uniform(0.45, 0.7))
        parts.append(Part((bar(end, tip, 0.08, taper=0.7),), "wood", 0.6))
        parts.append(Part((ellipse(*tip, 0.08),), "wood", 0.6))
    return parts


def guitar(rng: np.random.Generator) -> list[Part]:
    """A guitar, neck up."""
    upper, waist, lower = rng.uniform(0.55, 0.68), rng.uniform(0.38, 0.48), rng.uniform(0.75, 0.9)
    body = lathe([(0.0, 0.0), (upper, 0.0), (upper, 0.45), (waist, 0.62), (lower, 0.9), (lower, 1.6), (0.0, 1.62)])
    neck = rng.uniform(1.3, 1.6)
    parts = [
        Part((box(-0.1, -neck, 0.1, 0.6),), "wood", 0.3),
        Part((lathe([(0.1, -neck), (0.17, -neck - 0.1), (0.14, -neck - 0.45)], soft=False),), "dark", 0.3),
    ]
    for row in range(3):
        y = -neck - 0.12 - 0.12 * row
        parts.append(Part((box(-0.26, y - 0.025, 0.26, y + 0.025, rounding=0.025),), "metal", 0.0))
    parts.append(Part((body,), "body", 0.45))
    parts.append(Part((ellipse(0, 0.68, rng.uniform(0.2, 0.27)),), "dark", 0.0))
    parts.append(Part((box(-0.3, 1.18, 0.3, 1.28, rounding=0.03),), "dark", 0.0))
    parts.extend(Part((bar((x, -neck), (x, 1.2), 0.014),), "light", 0.0) for x in (-0.05, 0.0, 0.05))
    return parts


def trumpet(rng: np.random.Generator) -> list[Part]:
    """A trumpet, bell to the right."""
    flare, long = rng.uniform(0.42, 0.55), rng.uniform(1.7, 2.1)
    tube = smooth(
        [
            (-long, -0.04),
            (0.5, -0.06),
            (0.85, -0.16),
            (1.1, -flare),
            (1.16, -flare),
            (1.16, flare),
            (1.1, flare),
            (0.85, 0.16),
            (0.5, 0.06),
            (-long, 0.04),
        ],
        rounds=2,
    )
    drop = rng.uniform(0.4, 0.55)
    loop = box(-long * 0.62, -0.06, 0.5, drop + 0.06, rounding=0.3)
    inner = box(-long * 0.62 + 0.12, 0.06, 0.38, drop - 0.06, rounding=0.2)
    parts = [Part((loop, inner), "body", 0.6)]
    for index in range(3):
        x = -0.42 + index * 0.27
        parts.append(Part((box(x, -0.2, x + 0.17, drop + 0.16, rounding=0.05),), "body", 0.8))
        parts.append(Part((box(x + 0.03, -0.34, x + 0.14, -0.18, rounding=0.03),), "light", 0.3))
    parts.append(Part((tube,), "body", 0.7))
    parts.append(Part((ellipse(1.13, 0, 0.07, flare * 0.96),), "shade", 0.2))
    parts.append(Part((ellipse(-long, 0, 0.06, 0.14),), "metal", 0.3))
    return parts


def maraca(rng: np.random.Generator) -> list[Part]:
    """A maraca: a rattle on a stick."""
    wide, long = rng.uniform(0.5, 0.62), rng.uniform(1.0, 1.3)
    parts = [
        Part((bar((0, 0.5), (0, 0.7 + long), 0.2, taper=1.15),), "wood", 0.8),
        Part((lathe([(0.0, -0.75), (wide, -0.7), (wide * 1.1, 0.1), (0.22, 0.62), (0.12, 0.8)]),), "body", 0.9),
    ]
    if rng.random() < 0.6:
        y = rng.uniform(-0.2, 0.0)
        parts.append(Part((box(-wide * 1.02, y - 0.07, wide * 1.02, y + 0.07, rounding=0.05),), "second", 0.5))
    parts.append(Part((ring_arc(-0.02, -0.1, wide * 0.62, 0.08, start=190, stop=240),), "shine", 0.0))
    return parts


FIGURES = {"bell": bell, "drum": drum, "guitar": guitar, "trumpet": trumpet, "maraca": maraca}
