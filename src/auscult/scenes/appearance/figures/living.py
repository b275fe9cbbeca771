"""Animals and plants."""

from __future__ import annotations

import numpy as np

from auscult.scenes.appearance.drawing import (
    PaintedOutline,
    bar,
    box,
    ellipse,
    lathe,
    mirrored,
    polygon,
    ring_arc,
    smooth,
)


def fish(rng: np.random.Generator) -> list[PaintedOutline]:
    """A fish, head to the left."""
    long, tall = rng.uniform(1.1, 1.4), rng.uniform(0.55, 0.8)
    tail = rng.uniform(0.45, 0.7)
    x = long * 0.85
    return [
        PaintedOutline(
            (smooth([(x, 0), (x + tail, -tail), (x + tail * 0.7, 0), (x + tail, tail)], rounds=1),), "shade", 0.4
        ),
        PaintedOutline(
            (smooth([(-0.4, -tall * 0.8), (0.2, -tall * 1.45), (0.7, -tall * 0.6)], rounds=2),), "shade", 0.3
        ),
        PaintedOutline(
            (smooth([(-0.1, tall * 0.8), (0.35, tall * 1.35), (0.55, tall * 0.6)], rounds=2),), "shade", 0.3
        ),
        PaintedOutline(
            (
                smooth(
                    [
                        (-long, 0),
                        (-0.5 * long, -tall),
                        (0.4 * long, -tall * 0.85),
                        (long, -0.1),
                        (long, 0.1),
                        (0.4 * long, tall * 0.85),
                        (-0.5 * long, tall),
                    ]
                ),
            ),
            "body",
            0.8,
        ),
        PaintedOutline((smooth([(-0.15, 0.05), (0.3, -0.1), (0.35, 0.3)], rounds=2),), "shade", 0.3),
        PaintedOutline((ring_arc(-long * 0.9, 0, long * 0.5, 0.04, start=-48, stop=48),), "dark", 0.0),
        PaintedOutline((ellipse(-long * 0.68, -tall * 0.22, 0.13),), "light", 0.0),
        PaintedOutline((ellipse(-long * 0.7, -tall * 0.22, 0.065),), "dark", 0.0),
    ]


def bird(rng: np.random.Generator) -> list[PaintedOutline]:
    """A bird that stands, beak to the right."""
    plump, head = rng.uniform(0.5, 0.65), rng.uniform(0.32, 0.4)
    tail = rng.uniform(0.5, 0.8)
    neck = (0.62, -0.55)
    parts = []
    for x in (-0.08, 0.16):
        parts.append(PaintedOutline((bar((x, 0.4), (x + 0.02, 0.95), 0.06),), "dark", 0.0))
        parts.append(PaintedOutline((bar((x - 0.1, 0.96), (x + 0.18, 0.96), 0.06),), "dark", 0.0))
    parts += [
        PaintedOutline((polygon((-0.6, -0.15), (-0.9 - tail, 0.05), (-0.85 - tail, 0.3), (-0.5, 0.25)),), "shade", 0.3),
        PaintedOutline(
            (
                polygon(
                    (neck[0] + head * 0.7, neck[1] - 0.12),
                    (neck[0] + head + rng.uniform(0.25, 0.42), neck[1] + 0.04),
                    (neck[0] + head * 0.7, neck[1] + 0.14),
                ),
            ),
            "gold",
            0.3,
        ),
        PaintedOutline(
            (
                smooth(
                    [(-0.85, 0.1), (-0.5, -0.35), (0.2, -0.6), (0.75, -0.5), (0.85, 0.0), (0.4, plump), (-0.3, plump)]
                ),
            ),
            "body",
            0.8,
        ),
        PaintedOutline((ellipse(*neck, head),), "body", 0.6),
        PaintedOutline(
            (smooth([(0.3, -0.15), (-0.2, -0.25), (-0.95, 0.15), (-0.3, 0.35), (0.25, 0.2)]),), "shade", 0.5
        ),
        PaintedOutline((ellipse(neck[0] + head * 0.35, neck[1] - 0.08, 0.075),), "light", 0.0),
        PaintedOutline((ellipse(neck[0] + head * 0.38, neck[1] - 0.08, 0.045),), "dark", 0.0),
    ]
    return parts


def tree(rng: np.random.Generator) -> list[PaintedOutline]:
    """A leafy tree or a fir."""
    trunk = rng.uniform(0.12, 0.18)
    parts = [PaintedOutline((lathe([(trunk, 0.5), (trunk, 1.4), (trunk * 1.6, 1.75)], soft=False),), "wood", 0.7)]
    if rng.random() < 0.45:
        for level in range(3):
            wide, y = 0.5 + 0.22 * level, -1.25 + 0.62 * level
            parts.insert(1, PaintedOutline((polygon((0, y), (wide, y + 0.95), (-wide, y + 0.95)),), "body", 0.6))
        return parts
    for _ in range(int(rng.integers(6, 9))):
        angle, reach = rng.uniform(0, 2 * np.pi), rng.uniform(0.25, 0.55)
        place = (reach * np.cos(angle), -0.2 + 0.8 * reach * np.sin(angle))
        parts.append(PaintedOutline((ellipse(*place, rng.uniform(0.38, 0.52)),), "body", 0.7))
    parts.append(PaintedOutline((ellipse(0, -0.2, 0.55),), "body", 0.4))
    return parts


def flower(rng: np.random.Generator) -> list[PaintedOutline]:
    """A flower on a stalk."""
    petals, long = int(rng.integers(5, 10)), rng.uniform(0.5, 0.62)
    stalk, bend = rng.uniform(1.5, 1.9), rng.uniform(-0.15, 0.15)
    line = smooth(
        [(-0.05, 0.2), (bend - 0.05, 1.0), (-0.05, stalk), (0.05, stalk), (bend + 0.05, 1.0), (0.05, 0.2)], rounds=2
    )
    parts = [PaintedOutline((line,), "leaf", 0.3)]
    for sign in (-1, 1):
        leaf = smooth([(0, 0), (0.25, -0.25), (0.65, -0.25), (0.35, 0.05)])
        leaf = (leaf if sign > 0 else mirrored(leaf)) + (0, rng.uniform(1.1, 1.5))
        parts.append(PaintedOutline((leaf,), "leaf", 0.5))
    for index in range(petals):
        angle = 360 * index / petals
        x, y = long * np.sin(np.radians(angle)), -long * np.cos(np.radians(angle))
        parts.append(PaintedOutline((ellipse(x, y, 2.1 / petals, long * 0.72, turn=angle),), "body", 0.6))
    parts.append(
        PaintedOutline((ellipse(0, 0, rng.uniform(0.24, 0.34)),), "gold" if rng.random() < 0.7 else "dark", 0.6)
    )
    return parts


def mushroom(rng: np.random.Generator) -> list[PaintedOutline]:
    """A mushroom with a broad cap."""
    wide, tall = rng.uniform(0.9, 1.15), rng.uniform(0.7, 1.0)
    stem = rng.uniform(0.24, 0.34)
    return [
        PaintedOutline(
            (lathe([(stem, 0.0), (stem * 0.85, 0.5), (stem * 1.3, 1.1), (stem, 1.2), (0, 1.2)]),), "light", 0.8
        ),
        PaintedOutline((ellipse(0, 0.02, wide * 0.9, 0.16),), "second", 0.3),
        PaintedOutline(
            (
                smooth(
                    [
                        (-wide, 0.1),
                        (-wide * 0.95, -0.4),
                        (-0.45, -tall),
                        (0.45, -tall),
                        (wide * 0.95, -0.4),
                        (wide, 0.1),
                        (0.4, 0.0),
                        (-0.4, 0.0),
                    ]
                ),
            ),
            "body",
            0.8,
        ),
    ]


def butterfly(rng: np.random.Generator) -> list[PaintedOutline]:
    """A butterfly, wings spread."""
    upper = smooth([(0, -0.1), (0.4, -0.95), (1.1, -rng.uniform(0.8, 1.0)), (1.15, -0.2), (0.4, 0.15)])
    lower = smooth([(0, 0.0), (0.75, 0.05), (0.9, 0.5), (0.55, rng.uniform(0.8, 1.0)), (0.15, 0.5)])
    parts = [PaintedOutline((wing,), "body", 0.5) for one in (lower, upper) for wing in (one, mirrored(one))]
    spot = rng.uniform(0.1, 0.17)
    for sign in (-1, 1):
        parts.append(PaintedOutline((ellipse(sign * 0.78, -0.52, spot),), "second", 0.2))
        parts.append(PaintedOutline((ellipse(sign * 0.5, 0.45, spot * 0.8),), "second", 0.2))
        parts.append(PaintedOutline((bar((0, -0.5), (sign * 0.3, -1.05), 0.04),), "dark", 0.0))
    parts.append(PaintedOutline((ellipse(0, 0, 0.1, 0.6),), "dark", 0.6))
    return parts


def snail(rng: np.random.Generator) -> list[PaintedOutline]:
    """A snail with its shell, head to the right."""
    shell = rng.uniform(0.62, 0.75)
    foot = smooth(
        [(-1.1, 0.72), (-0.6, 0.45), (0.6, 0.45), (0.8, -0.05), (1.15, -0.1), (1.25, 0.3), (1.0, 0.75)], rounds=3
    )
    parts = [PaintedOutline((bar((x, 0.1), (x + 0.12, -0.4), 0.06),), "second", 0.0) for x in (0.95, 1.1)]
    parts += [PaintedOutline((ellipse(x + 0.12, -0.42, 0.07),), "dark", 0.2) for x in (0.95, 1.1)]
    parts += [PaintedOutline((foot,), "second", 0.6), PaintedOutline((ellipse(-0.1, -0.02, shell),), "body", 0.8)]
    for radius, start in ((0.72, 150), (0.42, 330)):
        parts.append(
            PaintedOutline((ring_arc(-0.1, 0.02, shell * radius, 0.055, start=start, stop=start + 250),), "shade", 0.0)
        )
    return parts


def cactus(rng: np.random.Generator) -> list[PaintedOutline]:
    """A cactus with arms in a pot."""
    wide = rng.uniform(0.26, 0.34)
    parts = []
    for sign in (-1, 1):
        reach, rise, low = sign * rng.uniform(0.55, 0.7), rng.uniform(-0.75, -0.35), rng.uniform(-0.1, 0.25)
        parts.append(PaintedOutline((bar((0, low), (reach, low), 0.26),), "body", 0.7))
        parts.append(PaintedOutline((bar((reach, low), (reach, rise), 0.26),), "body", 0.7))
    parts.append(PaintedOutline((box(-wide, -1.2, wide, 0.8, rounding=wide),), "body", 0.8))
    parts.append(PaintedOutline((lathe([(0.55, 0.7), (0.42, 1.35)], soft=False),), "second", 0.5))
    parts.append(PaintedOutline((box(-0.62, 0.62, 0.62, 0.82, rounding=0.04),), "second", 0.3))
    return parts


def cat(rng: np.random.Generator) -> list[PaintedOutline]:
    """A sitting cat, seen from the front."""
    fat, head = rng.uniform(0.55, 0.68), rng.uniform(0.46, 0.54)
    side = float(rng.choice((-1, 1)))
    tail = smooth(
        [
            (0.3 * side, 1.15),
            (1.0 * side, 1.1),
            (1.15 * side, 0.5),
            (1.0 * side, 0.45),
            (0.9 * side, 0.9),
            (0.3 * side, 0.95),
        ]
    )
    parts = [PaintedOutline((tail,), "body", 0.6)]
    parts.append(
        PaintedOutline(
            (smooth([(-0.3, -0.1), (0.3, -0.1), (fat, 0.7), (fat, 1.2), (-fat, 1.2), (-fat, 0.7)]),), "body", 0.7
        )
    )
    for sign in (-1, 1):
        ear = polygon((sign * head * 0.95, -0.6), (sign * head * 0.8, -1.2), (sign * head * 0.15, -0.85))
        parts.append(PaintedOutline((ear,), "body", 0.3))
        parts.append(PaintedOutline((ear * (0.62, 0.62) + (sign * 0.11, -0.3),), "shade", 0.0))
        parts.append(PaintedOutline((ellipse(sign * 0.22, 1.12, 0.18, 0.12),), "shade", 0.5))
    parts.append(PaintedOutline((ellipse(0, -0.5, head, head * 0.85),), "body", 0.6))
    for sign in (-1, 1):
        parts.append(PaintedOutline((ellipse(sign * 0.2, -0.56, 0.1, 0.085),), "light", 0.0))
        parts.append(PaintedOutline((ellipse(sign * 0.2, -0.56, 0.045, 0.075),), "dark", 0.0))
        parts.extend(
            PaintedOutline((bar((sign * 0.12, -0.33), (sign * 0.66, -0.36 + rise), 0.016),), "light", 0.0)
            for rise in (-0.06, 0.04)
        )
    parts.append(PaintedOutline((polygon((-0.07, -0.41), (0.07, -0.41), (0, -0.33)),), "dark", 0.0))
    return parts


FIGURES = {
    "bird": bird,
    "butterfly": butterfly,
    "cactus": cactus,
    "cat": cat,
    "fish": fish,
    "flower": flower,
    "mushroom": mushroom,
    "snail": snail,
    "tree": tree,
}
