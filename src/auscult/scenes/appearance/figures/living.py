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
    paint,
    polygon,
    ring_arc,
    smooth,
)


def fish(rng: np.random.Generator) -> list[PaintedOutline]:
    """A fish, head to the left."""
    long, tall = rng.uniform(1.1, 1.4), rng.uniform(0.55, 0.8)
    tail = rng.uniform(0.45, 0.7)
    x = long * 0.85
    back = [(-long, 0), (-0.5 * long, -tall), (0.4 * long, -tall * 0.85), (long, -0.1)]
    belly = [(x, -y) for x, y in back[:0:-1]]
    return [
        paint("shade", 0.4, smooth([(x, 0), (x + tail, -tail), (x + tail * 0.7, 0), (x + tail, tail)], rounds=1)),
        paint("shade", 0.3, smooth([(-0.4, -tall * 0.8), (0.2, -tall * 1.45), (0.7, -tall * 0.6)], rounds=2)),
        paint("shade", 0.3, smooth([(-0.1, tall * 0.8), (0.35, tall * 1.35), (0.55, tall * 0.6)], rounds=2)),
        paint("body", 0.8, smooth(back + belly)),
        paint("shade", 0.3, smooth([(-0.15, 0.05), (0.3, -0.1), (0.35, 0.3)], rounds=2)),
        paint("dark", 0.0, ring_arc(-long * 0.9, 0, long * 0.5, 0.04, start=-48, stop=48)),
        paint("light", 0.0, ellipse(-long * 0.68, -tall * 0.22, 0.13)),
        paint("dark", 0.0, ellipse(-long * 0.7, -tall * 0.22, 0.065)),
    ]


def bird(rng: np.random.Generator) -> list[PaintedOutline]:
    """A bird that stands, beak to the right."""
    plump, head = rng.uniform(0.5, 0.65), rng.uniform(0.32, 0.4)
    tail = rng.uniform(0.5, 0.8)
    neck = (0.62, -0.55)
    parts = []
    for x in (-0.08, 0.16):
        parts.append(paint("dark", 0.0, bar((x, 0.4), (x + 0.02, 0.95), 0.06)))
        parts.append(paint("dark", 0.0, bar((x - 0.1, 0.96), (x + 0.18, 0.96), 0.06)))
    tip, root = neck[0] + head + rng.uniform(0.25, 0.42), neck[0] + head * 0.7
    beak = polygon((root, neck[1] - 0.12), (tip, neck[1] + 0.04), (root, neck[1] + 0.14))
    body = [(-0.85, 0.1), (-0.5, -0.35), (0.2, -0.6), (0.75, -0.5), (0.85, 0.0), (0.4, plump), (-0.3, plump)]
    parts += [
        paint("shade", 0.3, polygon((-0.6, -0.15), (-0.9 - tail, 0.05), (-0.85 - tail, 0.3), (-0.5, 0.25))),
        paint("gold", 0.3, beak),
        paint("body", 0.8, smooth(body)),
        paint("body", 0.6, ellipse(*neck, head)),
        paint("shade", 0.5, smooth([(0.3, -0.15), (-0.2, -0.25), (-0.95, 0.15), (-0.3, 0.35), (0.25, 0.2)])),
        paint("light", 0.0, ellipse(neck[0] + head * 0.35, neck[1] - 0.08, 0.075)),
        paint("dark", 0.0, ellipse(neck[0] + head * 0.38, neck[1] - 0.08, 0.045)),
    ]
    return parts


def tree(rng: np.random.Generator) -> list[PaintedOutline]:
    """A leafy tree or a fir."""
    trunk = rng.uniform(0.12, 0.18)
    parts = [paint("wood", 0.7, lathe([(trunk, 0.5), (trunk, 1.4), (trunk * 1.6, 1.75)], soft=False))]
    if rng.random() < 0.45:
        for level in range(3):
            wide, y = 0.5 + 0.22 * level, -1.25 + 0.62 * level
            parts.insert(1, paint("body", 0.6, polygon((0, y), (wide, y + 0.95), (-wide, y + 0.95))))
        return parts
    for _ in range(int(rng.integers(6, 9))):
        angle, reach = rng.uniform(0, 2 * np.pi), rng.uniform(0.25, 0.55)
        centre = (reach * np.cos(angle), -0.2 + 0.8 * reach * np.sin(angle))
        parts.append(paint("body", 0.7, ellipse(*centre, rng.uniform(0.38, 0.52))))
    parts.append(paint("body", 0.4, ellipse(0, -0.2, 0.55)))
    return parts


def flower(rng: np.random.Generator) -> list[PaintedOutline]:
    """A flower on a stalk."""
    petals, long = int(rng.integers(5, 10)), rng.uniform(0.5, 0.62)
    stalk, bend = rng.uniform(1.5, 1.9), rng.uniform(-0.15, 0.15)
    line = [(-0.05, 0.2), (bend - 0.05, 1.0), (-0.05, stalk), (0.05, stalk), (bend + 0.05, 1.0), (0.05, 0.2)]
    parts = [paint("leaf", 0.3, smooth(line, rounds=2))]
    for sign in (-1, 1):
        leaf = smooth([(0, 0), (0.25, -0.25), (0.65, -0.25), (0.35, 0.05)])
        leaf = (leaf if sign > 0 else mirrored(leaf)) + (0, rng.uniform(1.1, 1.5))
        parts.append(paint("leaf", 0.5, leaf))
    for index in range(petals):
        angle = 360 * index / petals
        x, y = long * np.sin(np.radians(angle)), -long * np.cos(np.radians(angle))
        parts.append(paint("body", 0.6, ellipse(x, y, 2.1 / petals, long * 0.72, turn=angle)))
    middle = ellipse(0, 0, rng.uniform(0.24, 0.34))
    parts.append(paint("gold" if rng.random() < 0.7 else "dark", 0.6, middle))
    return parts


def mushroom(rng: np.random.Generator) -> list[PaintedOutline]:
    """A mushroom with a broad cap."""
    wide, tall = rng.uniform(0.9, 1.15), rng.uniform(0.7, 1.0)
    stem = rng.uniform(0.24, 0.34)
    left = [(-wide, 0.1), (-wide * 0.95, -0.4), (-0.45, -tall)]
    cap = [*left, *((-x, y) for x, y in left[::-1]), (0.4, 0.0), (-0.4, 0.0)]
    return [
        paint("light", 0.8, lathe([(stem, 0.0), (stem * 0.85, 0.5), (stem * 1.3, 1.1), (stem, 1.2), (0, 1.2)])),
        paint("second", 0.3, ellipse(0, 0.02, wide * 0.9, 0.16)),
        paint("body", 0.8, smooth(cap)),
    ]


def butterfly(rng: np.random.Generator) -> list[PaintedOutline]:
    """A butterfly, wings spread."""
    upper = smooth([(0, -0.1), (0.4, -0.95), (1.1, -rng.uniform(0.8, 1.0)), (1.15, -0.2), (0.4, 0.15)])
    lower = smooth([(0, 0.0), (0.75, 0.05), (0.9, 0.5), (0.55, rng.uniform(0.8, 1.0)), (0.15, 0.5)])
    parts = [paint("body", 0.5, wing) for shape in (lower, upper) for wing in (shape, mirrored(shape))]
    spot = rng.uniform(0.1, 0.17)
    for sign in (-1, 1):
        parts += [
            paint("second", 0.2, ellipse(sign * 0.78, -0.52, spot)),
            paint("second", 0.2, ellipse(sign * 0.5, 0.45, spot * 0.8)),
            paint("dark", 0.0, bar((0, -0.5), (sign * 0.3, -1.05), 0.04)),
        ]
    parts.append(paint("dark", 0.6, ellipse(0, 0, 0.1, 0.6)))
    return parts


def snail(rng: np.random.Generator) -> list[PaintedOutline]:
    """A snail with its shell, head to the right."""
    shell = rng.uniform(0.62, 0.75)
    foot = smooth([(-1.1, 0.72), (-0.6, 0.45), (0.6, 0.45), (0.8, -0.05), (1.15, -0.1), (1.25, 0.3), (1.0, 0.75)])
    parts = [paint("second", 0.0, bar((x, 0.1), (x + 0.12, -0.4), 0.06)) for x in (0.95, 1.1)]
    parts += [paint("dark", 0.2, ellipse(x + 0.12, -0.42, 0.07)) for x in (0.95, 1.1)]
    parts += [paint("second", 0.6, foot), paint("body", 0.8, ellipse(-0.1, -0.02, shell))]
    for radius, start in ((0.72, 150), (0.42, 330)):
        parts.append(paint("shade", 0.0, ring_arc(-0.1, 0.02, shell * radius, 0.055, start=start, stop=start + 250)))
    return parts


def cactus(rng: np.random.Generator) -> list[PaintedOutline]:
    """A cactus with arms in a pot."""
    wide = rng.uniform(0.26, 0.34)
    parts = []
    for sign in (-1, 1):
        reach, rise, low = sign * rng.uniform(0.55, 0.7), rng.uniform(-0.75, -0.35), rng.uniform(-0.1, 0.25)
        parts.append(paint("body", 0.7, bar((0, low), (reach, low), 0.26)))
        parts.append(paint("body", 0.7, bar((reach, low), (reach, rise), 0.26)))
    return [
        *parts,
        paint("body", 0.8, box(-wide, -1.2, wide, 0.8, rounding=wide)),
        paint("second", 0.5, lathe([(0.55, 0.7), (0.42, 1.35)], soft=False)),
        paint("second", 0.3, box(-0.62, 0.62, 0.62, 0.82, rounding=0.04)),
    ]


def cat(rng: np.random.Generator) -> list[PaintedOutline]:
    """A sitting cat, seen from the front."""
    fat, head = rng.uniform(0.55, 0.68), rng.uniform(0.46, 0.54)
    side = float(rng.choice((-1, 1)))
    tail = polygon((0.3, 1.15), (1.0, 1.1), (1.15, 0.5), (1.0, 0.45), (0.9, 0.9), (0.3, 0.95)) * (side, 1.0)
    body = smooth([(-0.3, -0.1), (0.3, -0.1), (fat, 0.7), (fat, 1.2), (-fat, 1.2), (-fat, 0.7)])
    parts = [paint("body", 0.6, smooth(tail)), paint("body", 0.7, body)]
    for sign in (-1, 1):
        ear = polygon((sign * head * 0.95, -0.6), (sign * head * 0.8, -1.2), (sign * head * 0.15, -0.85))
        parts += [
            paint("body", 0.3, ear),
            paint("shade", 0.0, ear * (0.62, 0.62) + (sign * 0.11, -0.3)),
            paint("shade", 0.5, ellipse(sign * 0.22, 1.12, 0.18, 0.12)),
        ]
    parts.append(paint("body", 0.6, ellipse(0, -0.5, head, head * 0.85)))
    for sign in (-1, 1):
        parts += [
            paint("light", 0.0, ellipse(sign * 0.2, -0.56, 0.1, 0.085)),
            paint("dark", 0.0, ellipse(sign * 0.2, -0.56, 0.045, 0.075)),
            *(
                paint("light", 0.0, bar((sign * 0.12, -0.33), (sign * 0.66, -0.36 + rise), 0.016))
                for rise in (-0.06, 0.04)
            ),
        ]
    parts.append(paint("dark", 0.0, polygon((-0.07, -0.41), (0.07, -0.41), (0, -0.33))))
    return parts


FIGURES = {figure.__name__: figure for figure in (bird, butterfly, cactus, cat, fish, flower, mushroom, snail, tree)}
