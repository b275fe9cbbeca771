"""The categories of generated things: what parts they have and how one differs from the next.

Each category is a function from a random generator, which stands for the instance, to parts; bodies cover most of a
thing, so that its colour word is what one sees.

Animals and plants come first, then instruments, toys, vehicles and everyday things.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from auscult.scenes.appearance.drawing import (
    PaintedOutline,
    Points,
    bar,
    box,
    ellipse,
    lathe,
    mirrored,
    paint,
    polygon,
    ring_arc,
    smooth,
    star,
    turned,
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


_LIVING = {figure.__name__: figure for figure in (bird, butterfly, cactus, cat, fish, flower, mushroom, snail, tree)}


def bell(rng: np.random.Generator) -> list[PaintedOutline]:
    """A hand-bell or church bell with its clapper."""
    waist, lip, shoulder = rng.uniform(0.42, 0.55), rng.uniform(0.8, 1.0), rng.uniform(0.3, 0.45)
    tall = rng.uniform(1.3, 1.6)
    upper = [(0.0, 0.0), (shoulder, 0.02), (waist, 0.35 * tall)]
    body = lathe([*upper, (waist + 0.06, 0.65 * tall), (lip, 0.93 * tall), (lip, tall)])
    parts = [paint("dark", 0.8, ellipse(0, tall + 0.05, rng.uniform(0.14, 0.2)))]
    if rng.random() < 0.5:
        parts.append(paint("wood", 0.8, bar((0, -rng.uniform(0.6, 0.9)), (0, 0.1), 0.2, taper=0.8)))
    else:
        parts.append(paint("metal", 0.3, ellipse(0, -0.12, 0.2, 0.2), ellipse(0, -0.12, 0.1, 0.1)))
    return [
        *parts,
        paint("body", 0.8, body),
        paint("shade", 0.3, box(-lip, tall - 0.12, lip, tall, rounding=0.06)),
        paint("shine", 0.0, ellipse(-waist * 0.5, tall * 0.42, 0.06, 0.26, turn=8)),
    ]


def drum(rng: np.random.Generator) -> list[PaintedOutline]:
    """A drum with a skin, cords and two sticks."""
    wide, tall, flat = 1.0, rng.uniform(0.75, 1.25), rng.uniform(0.2, 0.32)
    side = np.concatenate([ellipse(0, 0, wide, flat)[24:], ellipse(0, tall, wide, flat)[:25]])
    parts = [paint("body", 0.6, side)]
    for y in (0.0, tall - 0.13):
        hoop = np.concatenate([ellipse(0, y, wide, flat)[:25], ellipse(0, y + 0.13, wide, flat)[:25][::-1]])
        parts.append(paint("second", 0.2, hoop))
    corners = rng.integers(5, 8)
    for index in range(int(corners)):
        left, right = (np.cos(np.pi * (1 - (index + step) / corners)) for step in (0.0, 0.5))
        low, high = (flat * np.sqrt(max(0.0, 1 - x * x)) for x in (left, right))
        parts.append(paint("light", 0.0, bar((left, 0.13 + low), (right, tall - 0.1 + high), 0.035)))
    parts.append(paint("light", 0.25, ellipse(0, 0, wide, flat)))
    for sign in (-1, 1):
        tip = (sign * rng.uniform(0.05, 0.25), -0.05)
        end = (tip[0] + sign * rng.uniform(0.5, 0.8), tip[1] - rng.uniform(0.45, 0.7))
        parts.append(paint("wood", 0.6, bar(end, tip, 0.08, taper=0.7)))
        parts.append(paint("wood", 0.6, ellipse(*tip, 0.08)))
    return parts


def guitar(rng: np.random.Generator) -> list[PaintedOutline]:
    """A guitar, neck up."""
    upper, waist, lower = rng.uniform(0.55, 0.68), rng.uniform(0.38, 0.48), rng.uniform(0.75, 0.9)
    body = lathe([(0.0, 0.0), (upper, 0.0), (upper, 0.45), (waist, 0.62), (lower, 0.9), (lower, 1.6), (0.0, 1.62)])
    neck = rng.uniform(1.3, 1.6)
    parts = [
        paint("wood", 0.3, box(-0.1, -neck, 0.1, 0.6)),
        paint("dark", 0.3, lathe([(0.1, -neck), (0.17, -neck - 0.1), (0.14, -neck - 0.45)], soft=False)),
    ]
    for row in range(3):
        y = -neck - 0.12 - 0.12 * row
        parts.append(paint("metal", 0.0, box(-0.26, y - 0.025, 0.26, y + 0.025, rounding=0.025)))
    return [
        *parts,
        paint("body", 0.45, body),
        paint("dark", 0.0, ellipse(0, 0.68, rng.uniform(0.2, 0.27))),
        paint("dark", 0.0, box(-0.3, 1.18, 0.3, 1.28, rounding=0.03)),
        *(paint("light", 0.0, bar((x, -neck), (x, 1.2), 0.014)) for x in (-0.05, 0.0, 0.05)),
    ]


def trumpet(rng: np.random.Generator) -> list[PaintedOutline]:
    """A trumpet, bell to the right."""
    flare, long = rng.uniform(0.42, 0.55), rng.uniform(1.7, 2.1)
    upper = [(-long, -0.04), (0.5, -0.06), (0.85, -0.16), (1.1, -flare), (1.16, -flare)]
    tube = smooth([*upper, *((x, -y) for x, y in upper[::-1])], rounds=2)
    drop = rng.uniform(0.4, 0.55)
    loop = box(-long * 0.62, -0.06, 0.5, drop + 0.06, rounding=0.3)
    inner = box(-long * 0.62 + 0.12, 0.06, 0.38, drop - 0.06, rounding=0.2)
    parts = [paint("body", 0.6, loop, inner)]
    for index in range(3):
        x = -0.42 + index * 0.27
        parts.append(paint("body", 0.8, box(x, -0.2, x + 0.17, drop + 0.16, rounding=0.05)))
        parts.append(paint("light", 0.3, box(x + 0.03, -0.34, x + 0.14, -0.18, rounding=0.03)))
    return [
        *parts,
        paint("body", 0.7, tube),
        paint("shade", 0.2, ellipse(1.13, 0, 0.07, flare * 0.96)),
        paint("metal", 0.3, ellipse(-long, 0, 0.06, 0.14)),
    ]


def maraca(rng: np.random.Generator) -> list[PaintedOutline]:
    """A maraca: a rattle on a stick."""
    wide, long = rng.uniform(0.5, 0.62), rng.uniform(1.0, 1.3)
    parts = [
        paint("wood", 0.8, bar((0, 0.5), (0, 0.7 + long), 0.2, taper=1.15)),
        paint("body", 0.9, lathe([(0.0, -0.75), (wide, -0.7), (wide * 1.1, 0.1), (0.22, 0.62), (0.12, 0.8)])),
    ]
    if rng.random() < 0.6:
        y = rng.uniform(-0.2, 0.0)
        parts.append(paint("second", 0.5, box(-wide * 1.02, y - 0.07, wide * 1.02, y + 0.07, rounding=0.05)))
    parts.append(paint("shine", 0.0, ring_arc(-0.02, -0.1, wide * 0.62, 0.08, start=190, stop=240)))
    return parts


def ball(rng: np.random.Generator) -> list[PaintedOutline]:
    """A ball, mostly with seams."""
    parts = [paint("body", 1.0, ellipse(0, 0, 1))]
    tilt = float(rng.uniform(-40, 40))
    if rng.random() < 0.75:
        for side in (-1, 1):
            seam = ellipse(side * rng.uniform(0.9, 1.3), 0, rng.uniform(0.75, 0.95))
            inner = ellipse(float(seam[:, 0].mean()), 0, float(np.ptp(seam[:, 0])) / 2 - 0.06)
            parts.append(paint("dark", 0.0, turned(_on_ball(seam), tilt), turned(_on_ball(inner), tilt)))
    shine = rng.uniform(0.12, 0.2)
    parts.append(paint("shine", 0.0, ellipse(-0.38, -0.45, shine * 1.4, shine, turn=-40)))
    return parts


def _on_ball(points: Points) -> Points:
    radius = np.maximum(np.hypot(points[:, 0], points[:, 1]), 1e-9)
    return np.asarray(points * np.minimum(1, 0.995 / radius)[:, None])


def balloon(rng: np.random.Generator) -> list[PaintedOutline]:
    """A balloon on a string."""
    tall = rng.uniform(1.15, 1.4)
    body = lathe([(0.0, -tall), (0.75, -tall), (1.08, -0.2), (0.75, 0.6), (0.1, 1.08), (0.08, 1.12)])
    sway = rng.uniform(-0.3, 0.3)
    line = [(0.0, 1.1), (sway, 1.5), (-sway, 1.9), (0.5 * sway, rng.uniform(2.1, 2.5))]
    parts = [paint("dark", 0.0, bar(first, last, 0.035)) for first, last in itertools.pairwise(line)]
    return [
        *parts,
        paint("body", 0.2, polygon((0, 1.05), (0.15, 1.25), (-0.15, 1.25))),
        paint("body", 0.9, body),
        paint("shine", 0.0, ellipse(-0.4, -0.5, 0.13, 0.3, turn=18)),
    ]


def kite(rng: np.random.Generator) -> list[PaintedOutline]:
    """A kite with a tail of bows."""
    wide, high, low = rng.uniform(0.75, 0.95), rng.uniform(0.7, 0.9), rng.uniform(1.2, 1.5)
    parts = []
    x, y = 0.0, low
    sway = rng.choice((-1, 1)) * rng.uniform(0.15, 0.3)
    for index in range(int(rng.integers(2, 5))):
        end = (x + sway * (-1) ** index, y + 0.35)
        parts.append(paint("dark", 0.0, bar((x, y), end, 0.04)))
        bow = polygon((-0.17, -0.1), (0.17, 0.1), (0.17, -0.1), (-0.17, 0.1))
        parts.append(paint("body", 0.0, bow + end))
        x, y = end
    return [
        *parts,
        paint("body", 0.15, polygon((0, -high), (wide, 0), (0, low), (-wide, 0))),
        paint("shade", 0.0, polygon((0, 0), (wide, 0), (0, low))),
        paint("wood", 0.0, bar((0, -high), (0, low), 0.04)),
        paint("wood", 0.0, bar((-wide, 0), (wide, 0), 0.04)),
    ]


def star_shape(rng: np.random.Generator) -> list[PaintedOutline]:
    """A star of five or six points with soft tips."""
    points = int(rng.choice((5, 5, 6)))
    outline = smooth(star(0, 0, 1, points=points, depth=rng.uniform(0.42, 0.55)), rounds=int(rng.integers(1, 3)))
    parts = [paint("body", 0.5, outline)]
    if rng.random() < 0.4:
        parts.append(paint("second", 0.3, smooth(star(0, 0, 0.5, points=points, depth=0.5), rounds=1)))
    return parts


def robot(rng: np.random.Generator) -> list[PaintedOutline]:
    """A toy robot."""
    wide, head, tall = rng.uniform(0.62, 0.8), rng.uniform(0.42, 0.58), rng.uniform(1.1, 1.4)
    top = -0.75
    parts = []
    for sign in (-1, 1):
        hip = sign * wide * 0.5
        parts.append(paint("second", 0.5, box(hip - 0.16, tall - 0.1, hip + 0.16, tall + 0.6, rounding=0.05)))
        parts.append(paint("dark", 0.4, box(hip - 0.25, tall + 0.5, hip + 0.25, tall + 0.72, rounding=0.08)))
        hand = (sign * (wide + rng.uniform(0.2, 0.45)), rng.uniform(0.15, 0.95))
        parts.append(paint("second", 0.6, bar((sign * wide * 0.9, 0.2), hand, 0.2)))
        parts.append(paint("body", 0.6, ellipse(*hand, 0.17)))
    parts += [
        paint("dark", 0.3, box(-0.14, -0.25, 0.14, 0.1)),
        paint("metal", 0.0, bar((0, top), (0, top - 0.3), 0.05)),
        paint("body", 0.8, ellipse(0, top - 0.34, 0.1)),
        paint("body", 0.4, box(-head, top, head, -0.15, rounding=rng.uniform(0.05, 0.2))),
        paint("body", 0.4, box(-wide, 0, wide, tall, rounding=rng.uniform(0.05, 0.2))),
    ]
    for sign in (-1, 1):
        parts.append(paint("light", 0.2, ellipse(sign * head * 0.45, top + 0.22, 0.12)))
        parts.append(paint("dark", 0.0, ellipse(sign * head * 0.45, top + 0.22, 0.05)))
    return [
        *parts,
        paint("dark", 0.0, box(-head * 0.5, -0.33, head * 0.5, -0.26)),
        paint("second", 0.2, box(-wide * 0.6, 0.25, wide * 0.6, 0.6, rounding=0.05)),
    ]


def crown(rng: np.random.Generator) -> list[PaintedOutline]:
    """A crown with balls on its points."""
    count, tall = int(rng.choice((3, 5))), rng.uniform(0.75, 1.0)
    tips = np.linspace(-1, 1, count)
    outline = [(-0.85, 1.0)]
    for index, x in enumerate(tips):
        outline.append((x * 1.05, 1.0 - tall * (1.0 if index % 2 == 0 else 1.2)))
        if index < count - 1:
            outline.append(((x + tips[index + 1]) / 2, 0.62))
    outline.append((0.85, 1.0))
    parts = [paint("body", 0.35, polygon(*outline))]
    for index, x in enumerate(tips):
        parts.append(paint("second", 0.8, ellipse(x * 1.05, 1.0 - tall * (1.0 if index % 2 == 0 else 1.2), 0.1)))
    return [
        *parts,
        paint("shade", 0.4, box(-0.88, 0.86, 0.88, 1.06, rounding=0.05)),
        *(paint("light", 0.6, ellipse(x, 0.96, 0.075)) for x in (-0.5, 0.0, 0.5)),
    ]


def teddy(rng: np.random.Generator) -> list[PaintedOutline]:
    """A sitting teddy bear."""
    fat, ear = rng.uniform(0.6, 0.75), rng.uniform(0.17, 0.24)
    parts = []
    for sign in (-1, 1):
        parts.append(paint("body", 0.7, ellipse(sign * 0.4, -0.72, ear)))
        parts.append(paint("shade", 0.0, ellipse(sign * 0.4, -0.72, ear * 0.55)))
        hand = (sign * rng.uniform(0.85, 1.0), rng.uniform(0.2, 0.75))
        parts.append(paint("body", 0.8, bar((sign * 0.45, 0.3), hand, 0.34)))
    parts.append(paint("body", 0.8, ellipse(0, 0.65, fat, 0.72)))
    for sign in (-1, 1):
        parts.append(paint("body", 0.8, ellipse(sign * 0.5, 1.2, 0.33, 0.27, turn=sign * 20)))
        parts.append(paint("shade", 0.0, ellipse(sign * 0.53, 1.2, 0.17, 0.14)))
    return [
        *parts,
        paint("body", 0.7, ellipse(0, -0.3, 0.58, 0.52)),
        paint("light", 0.3, ellipse(0, -0.13, 0.26, 0.2)),
        paint("dark", 0.3, ellipse(0, -0.2, 0.09, 0.07)),
        *(paint("dark", 0.2, ellipse(sign * 0.22, -0.42, 0.07)) for sign in (-1, 1)),
        paint("dark", 0.0, ring_arc(0, -0.16, 0.12, 0.035, start=20, stop=160)),
    ]


def _wheel(x: float, y: float, radius: float) -> list[PaintedOutline]:
    return [
        paint("dark", 0.4, ellipse(x, y, radius)),
        paint("metal", 0.4, ellipse(x, y, radius * 0.5)),
    ]


def boat(rng: np.random.Generator) -> list[PaintedOutline]:
    """A sailing boat."""
    mast, wide = rng.uniform(1.7, 2.1), rng.uniform(0.75, 0.95)
    parts = [
        paint("wood", 0.0, bar((0, 0.1), (0, -mast), 0.06)),
        paint("body", 0.4, smooth([(0.06, -mast + 0.1), (wide, -0.1), (0.06, -0.1)], rounds=1)),
        paint("body", 0.4, smooth([(-0.06, -mast * 0.85), (-wide * 0.75, -0.1), (-0.06, -0.1)], rounds=1)),
        paint("second", 0.6, smooth([(-1.15, 0.05), (1.25, 0.05), (0.8, 0.55), (-0.8, 0.55)], rounds=1)),
        paint("wood", 0.2, box(-1.1, 0.06, 1.18, 0.16, rounding=0.04)),
    ]
    if rng.random() < 0.6:
        parts.append(paint("body", 0.0, polygon((0, -mast), (0.4, -mast + 0.12), (0, -mast + 0.24))))
    return parts


def car(rng: np.random.Generator) -> list[PaintedOutline]:
    """A car, front to the right."""
    roof, back, front = rng.uniform(0.5, 0.65), rng.uniform(-0.95, -0.6), rng.uniform(0.35, 0.6)
    cabin = smooth([(back - 0.2, 0), (back, -roof), (front - 0.3, -roof), (front + 0.15, 0)], rounds=1)
    pane = 0.72 * roof
    body = [(-1.4, 0.05), (-1.3, -0.08), (1.1, -0.08), (1.45, 0.15), (1.45, 0.5), (-1.4, 0.5)]
    parts = [
        paint("body", 0.3, cabin),
        paint("glass", 0.2, polygon((back + 0.02, -0.04), (back + 0.12, -pane), (-0.2, -pane), (-0.2, -0.04))),
        paint("glass", 0.2, polygon((-0.1, -0.04), (-0.1, -pane), (front - 0.32, -pane), (front, -0.04))),
        paint("body", 0.5, smooth(body, rounds=1)),
        paint("dark", 0.2, box(-1.42, 0.4, 1.46, 0.52, rounding=0.05)),
        paint("light", 0.0, ellipse(1.34, 0.16, 0.1, 0.08)),
        paint("flame", 0.0, box(-1.4, 0.08, -1.28, 0.22)),
        paint("shade", 0.0, bar((-0.15, 0.0), (-0.15, 0.38), 0.025)),
    ]
    size = rng.uniform(0.26, 0.32)
    return [*parts, *_wheel(-0.82, 0.52, size), *_wheel(0.85, 0.52, size)]


def bus(rng: np.random.Generator) -> list[PaintedOutline]:
    """A bus, front to the right."""
    tall, panes = rng.uniform(1.0, 1.25), int(rng.integers(3, 5))
    parts = [paint("body", 0.35, box(-1.6, -tall, 1.6, 0.3, rounding=0.15))]
    step = 2.5 / panes
    for index in range(panes):
        x = -1.45 + index * step
        parts.append(paint("glass", 0.2, box(x, -tall + 0.18, x + step - 0.12, -tall * 0.42, rounding=0.04)))
    parts += [
        paint("glass", 0.2, box(1.12, -tall + 0.18, 1.5, 0.2, rounding=0.04)),
        paint("second", 0.0, box(-1.6, -tall * 0.3, 1.05, -tall * 0.2)),
        paint("light", 0.0, ellipse(1.5, 0.14, 0.07)),
    ]
    return [*parts, *_wheel(-0.95, 0.32, 0.27), *_wheel(0.75, 0.32, 0.27)]


def rocket(rng: np.random.Generator) -> list[PaintedOutline]:
    """A rocket that points up, with a flame."""
    wide, tall = rng.uniform(0.38, 0.5), rng.uniform(1.2, 1.5)
    fin = polygon((wide * 0.85, 0.35), (wide + rng.uniform(0.35, 0.5), 1.0), (wide * 0.7, 0.8))
    parts = [
        paint("second", 0.4, fin),
        paint("second", 0.4, mirrored(fin)),
        paint("flame", 0.3, lathe([(wide * 0.5, 0.8), (wide * 0.6, 1.0), (0, rng.uniform(1.3, 1.6))])),
        paint("body", 0.8, lathe([(0, -tall), (wide * 0.75, -0.6 * tall), (wide, 0.0), (wide * 0.8, 0.85)])),
    ]
    cone = lathe([(0, -tall), (wide * 0.36, -tall * 0.84), (wide * 0.62, -tall * 0.62)])
    return [
        *parts,
        paint("second", 0.6, cone),
        paint("metal", 0.4, ellipse(0, -0.25, 0.22)),
        paint("glass", 0.4, ellipse(0, -0.25, 0.15)),
    ]


def plane(rng: np.random.Generator) -> list[PaintedOutline]:
    """An aeroplane seen from the side, nose to the right."""
    long, tail = rng.uniform(1.5, 1.8), rng.uniform(0.55, 0.75)
    fin = polygon((-long + 0.1, -0.1), (-long - 0.1, -tail), (-long + 0.3, -tail), (-long + 0.65, -0.15))
    upper = [(-long - 0.05, -0.2), (-long * 0.6, -0.32), (long * 0.7, -0.32)]
    rudder = polygon((-long + 0.1, -0.05), (-long - 0.25, 0.12), (-long + 0.05, 0.14), (-long + 0.6, 0.02))
    cockpit = [(long * 0.66, -0.24), (long * 0.84, -0.16), (long * 0.9, -0.05), (long * 0.66, -0.05)]
    portholes = [ellipse(-long * 0.55 + index * 0.3, -0.1, 0.065) for index in range(int(rng.integers(4, 7)))]
    return [
        paint("second", 0.3, fin),
        paint("shade", 0.3, polygon((0.1, -0.1), (-0.35, -0.6), (-0.1, -0.6), (0.55, -0.1))),
        paint("body", 0.7, smooth([*upper, (long + 0.1, 0.02), (long * 0.7, 0.3), (-long * 0.4, 0.28)])),
        paint("second", 0.2, rudder),
        paint("second", 0.4, polygon((0.25, 0.08), (-0.75, 0.75), (-0.45, 0.75), (0.7, 0.14))),
        paint("glass", 0.2, smooth(cockpit, rounds=1)),
        *(paint("dark", 0.0, porthole) for porthole in portholes),
    ]


def house(rng: np.random.Generator) -> list[PaintedOutline]:
    """A house with a roof, a door and windows."""
    wide, tall, peak = rng.uniform(0.9, 1.1), rng.uniform(0.9, 1.2), rng.uniform(0.6, 0.9)
    chimney = float(rng.choice((-1, 1))) * 0.5
    door = float(rng.choice((-0.45, 0.0, 0.45)))
    parts = [
        paint("dark", 0.2, box(chimney - 0.13, -peak * 0.95, chimney + 0.13, 0.0)),
        paint("body", 0.2, box(-wide, -0.05, wide, tall)),
        paint("second", 0.2, polygon((-wide - 0.2, 0.0), (0, -peak), (wide + 0.2, 0.0))),
        paint("wood", 0.2, box(door - 0.17, tall - 0.6, door + 0.17, tall)),
    ]
    for x in (-0.5, 0.5):
        if abs(x - door) < 0.3:
            continue
        parts += [
            paint("light", 0.0, box(x - 0.2, 0.2, x + 0.2, 0.55)),
            paint("glass", 0.1, box(x - 0.16, 0.24, x + 0.16, 0.51)),
            paint("light", 0.0, bar((x, 0.22), (x, 0.53), 0.03)),
        ]
    return parts


def windmill(rng: np.random.Generator) -> list[PaintedOutline]:
    """A windmill with four sails."""
    tall, turn = rng.uniform(1.5, 1.8), rng.uniform(10, 80)
    parts = [
        paint("body", 0.6, lathe([(0.42, 0.0), (0.65, tall)], soft=False)),
        paint("second", 0.5, lathe([(0.0, -0.42), (0.35, -0.3), (0.5, 0.06)])),
        paint("wood", 0.2, box(-0.14, tall - 0.42, 0.14, tall, rounding=0.1)),
    ]
    for index in range(4):
        angle = np.radians(turn + 90 * index)
        along, across = np.array((np.cos(angle), np.sin(angle))), np.array((-np.sin(angle), np.cos(angle)))
        sail = np.array([along * 0.25, along * 1.15, along * 1.15 + across * 0.26, along * 0.25 + across * 0.26])
        parts.append(paint("light", 0.0, sail))
        parts.append(paint("wood", 0.0, bar((0, 0), (float(along[0]) * 1.18, float(along[1]) * 1.18), 0.06)))
    parts.append(paint("dark", 0.4, ellipse(0, 0, 0.1)))
    return parts


def cup(rng: np.random.Generator) -> list[PaintedOutline]:
    """A cup with its handle to one side."""
    top, foot, tall = rng.uniform(0.62, 0.75), rng.uniform(0.4, 0.62), rng.uniform(0.95, 1.35)
    handle = ring_arc(top * 0.85, tall * 0.45, tall * 0.28, 0.15, start=-110, stop=110)
    return [
        paint("body", 0.5, handle),
        paint("body", 0.6, lathe([(top, 0.0), (top, 0.3), (foot, tall * 0.95), (foot * 0.9, tall), (0, tall)])),
        paint("shade", 0.0, ellipse(0, 0.02, top, 0.15)),
        paint("wood", 0.2, ellipse(0, 0.05, top * 0.88, 0.1)),
    ]


def bottle(rng: np.random.Generator) -> list[PaintedOutline]:
    """A bottle with a label and a stopper."""
    wide, neck, tall = rng.uniform(0.4, 0.52), rng.uniform(0.13, 0.18), rng.uniform(1.7, 2.1)
    shoulder = rng.uniform(0.55, 0.8)
    label = rng.uniform(0.35, 0.5)
    upper = [(neck, 0.0), (neck, shoulder * 0.8), (wide, shoulder * 1.2)]
    return [
        paint("wood", 0.3, box(-neck * 0.9, -0.2, neck * 0.9, 0.05, rounding=0.04)),
        paint("body", 0.8, lathe([*upper, (wide, tall), (wide * 0.85, tall), (0, tall)])),
        paint("shade", 0.2, box(-neck * 1.15, 0.0, neck * 1.15, 0.12, rounding=0.04)),
        paint("second", 0.3, box(-wide * 0.99, tall - 0.25 - label, wide * 0.99, tall - 0.25)),
        paint("shine", 0.0, box(-wide * 0.7, shoulder * 1.3, -wide * 0.55, tall - 0.8, rounding=0.05)),
    ]


def vase(rng: np.random.Generator) -> list[PaintedOutline]:
    """A vase with two handles, or none."""
    belly, neck, mouth = rng.uniform(0.6, 0.8), rng.uniform(0.22, 0.34), rng.uniform(0.38, 0.5)
    parts = []
    if rng.random() < 0.5:
        for start, x in ((-100, 0.42), (80, -0.42)):
            parts.append(paint("body", 0.5, ring_arc(x, 0.42, 0.3, 0.1, start=start, stop=start + 200)))
    profile = [(mouth, 0.0), (neck, 0.25), (neck, 0.45), (belly, 0.8), (belly, 1.15), (0.35, 1.7), (0.4, 1.8), (0, 1.8)]
    return [
        *parts,
        paint("body", 0.8, lathe(profile)),
        paint("dark", 0.0, ellipse(0, 0.0, mouth, 0.08)),
        paint("shine", 0.0, ellipse(-belly * 0.5, 0.95, 0.06, 0.2, turn=8)),
    ]


def teapot(rng: np.random.Generator) -> list[PaintedOutline]:
    """A teapot, spout to the right."""
    wide, tall = rng.uniform(0.72, 0.85), rng.uniform(0.55, 0.68)
    first, last = (wide * 0.6, 0.35), (wide * 0.6, 0.6)
    spout = [first, (wide + 0.35, -0.1), (wide + 0.5, -0.5), (wide + 0.66, -0.42), (wide + 0.5, 0.1), last]
    return [
        paint("body", 0.6, smooth(spout)),
        paint("body", 0.5, ring_arc(-wide * 0.92, 0.1, 0.36, 0.13, start=90, stop=275)),
        paint("body", 0.8, ellipse(0, 0.1, wide, tall)),
        paint("shade", 0.3, box(-wide * 0.5, tall * 0.98, wide * 0.5, tall + 0.16, rounding=0.05)),
        paint("second", 0.5, ellipse(0, -tall * 0.72, wide * 0.52, 0.16)),
        paint("second", 0.8, ellipse(0, -tall - 0.02, 0.12)),
        paint("shine", 0.0, ellipse(-wide * 0.45, -0.12, 0.1, 0.2, turn=25)),
    ]


def lantern(rng: np.random.Generator) -> list[PaintedOutline]:
    """A lantern with a flame behind glass."""
    wide, tall = rng.uniform(0.55, 0.68), rng.uniform(1.0, 1.3)
    parts = [
        paint("dark", 0.2, ring_arc(0, -0.42, 0.2, 0.07, start=150, stop=390)),
        paint("body", 0.5, polygon((-wide * 1.15, 0.08), (-0.22, -0.36), (0.22, -0.36), (wide * 1.15, 0.08))),
        paint("body", 0.3, box(-wide, 0.05, wide, tall, rounding=0.05)),
        paint("glass", 0.4, box(-wide * 0.62, 0.24, wide * 0.62, tall - 0.12, rounding=0.05)),
        paint("flame", 0.3, lathe([(0, tall * 0.38), (0.13, tall * 0.62), (0.1, tall - 0.2), (0, tall - 0.15)])),
        paint("body", 0.4, box(-wide * 1.15, tall, wide * 1.15, tall + 0.2, rounding=0.05)),
    ]
    if rng.random() < 0.5:
        parts.append(paint("shade", 0.0, box(-0.035, 0.2, 0.035, tall - 0.1)))
    return parts


def umbrella(rng: np.random.Generator) -> list[PaintedOutline]:
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
    return [
        paint("wood", 0.0, bar((0, -tall - 0.14), (0, 1.1), 0.07)),
        paint("wood", 0.3, hook),
        paint("body", 0.5, polygon(*top, *lower)),
        *(paint("shade", 0.0, bar((float(x), 0), (0, -tall), 0.025)) for x in edges[1:-1]),
    ]


def clock(rng: np.random.Generator) -> list[PaintedOutline]:
    """An alarm clock or a wall clock."""
    parts = []
    if rng.random() < 0.6:
        for sign in (-1, 1):
            parts.append(paint("dark", 0.4, bar((sign * 0.45, 0.7), (sign * 0.72, 1.15), 0.16)))
            parts.append(paint("body", 0.7, ellipse(sign * 0.6, -0.88, 0.34, 0.22, turn=sign * 36)))
        parts.append(paint("metal", 0.2, bar((0, -0.9), (0, -1.2), 0.08)))
    parts.append(paint("body", 0.4, ellipse(0, 0, 1.0)))
    parts.append(paint("light", 0.15, ellipse(0, 0, rng.uniform(0.6, 0.68))))
    for hour in range(12):
        x, y = np.sin(hour * np.pi / 6), -np.cos(hour * np.pi / 6)
        parts.append(paint("dark", 0.0, bar((0.47 * x, 0.47 * y), (0.55 * x, 0.55 * y), 0.05)))
    for long, width in ((0.3, 0.08), (0.45, 0.055)):
        angle = rng.uniform(0, 2 * np.pi)
        parts.append(paint("dark", 0.0, bar((0, 0), (long * np.sin(angle), -long * np.cos(angle)), width)))
    return parts


def hat(rng: np.random.Generator) -> list[PaintedOutline]:
    """A hat with a brim and a band."""
    wide, tall, brim = rng.uniform(0.5, 0.62), rng.uniform(0.55, 1.1), rng.uniform(1.0, 1.2)
    top = wide * rng.uniform(0.75, 1.1)
    crown = [(0, -tall), (top * 0.8, -tall * 1.02), (top, -tall * 0.8), (wide, 0.05), (wide * 0.6, 0.12), (0, 0.13)]
    band = [(-wide * 1.01, -0.22), (0, -0.15), (wide * 1.01, -0.22), (wide, 0.0), (0, 0.1), (-wide, 0.0)]
    return [
        paint("body", 0.5, ellipse(0, 0.0, brim, 0.22)),
        paint("body", 0.6, lathe(crown)),
        paint("second", 0.2, smooth(band, rounds=2)),
    ]


def chair(rng: np.random.Generator) -> list[PaintedOutline]:
    """A chair, seen a little from the side."""
    back, seat = rng.uniform(1.1, 1.4), rng.uniform(0.14, 0.2)
    parts = [paint("shade", 0.3, bar((x, 0.1), (x, 0.95), 0.12)) for x in (-0.42, 0.68)]
    parts += [paint("body", 0.4, bar((x, 0.1), (x, 1.15), 0.13)) for x in (-0.68, 0.42)]
    if rng.random() < 0.5:
        parts.append(paint("body", 0.4, box(-0.66, -back, 0.62, 0.0, rounding=0.15)))
    else:
        parts += [paint("body", 0.4, bar((x, 0.0), (x, -back + 0.1), 0.12)) for x in (-0.58, -0.02, 0.54)]
        parts.append(paint("body", 0.4, box(-0.68, -back, 0.64, -back + 0.32, rounding=0.1)))
    return [
        *parts,
        paint("second", 0.3, polygon((-0.6, -0.1), (0.7, -0.1), (0.52, 0.12), (-0.78, 0.12))),
        paint("body", 0.2, box(-0.78, 0.12, 0.52, 0.12 + seat, rounding=0.04)),
    ]


def key(rng: np.random.Generator) -> list[PaintedOutline]:
    """An old key."""
    bow, hole = rng.uniform(0.42, 0.52), rng.uniform(0.2, 0.27)
    long = rng.uniform(1.5, 1.9)
    parts = [paint("body", 0.6, box(-0.11, 0.3, 0.11, long, rounding=0.05))]
    parts.extend(
        paint("body", 0.3, box(0.05, y - 0.1, rng.uniform(0.38, 0.52), y + 0.1))
        for y in (long - 0.16, long - 0.46, long - 0.72)[: int(rng.integers(2, 4))]
    )
    if rng.random() < 0.5:
        parts.append(paint("body", 0.6, ellipse(0, 0, bow), ellipse(0, 0, hole)))
    else:
        for angle in (0, 120, 240):
            x, y = map(float, turned(np.array([[0.0, -0.3]]), angle)[0])
            parts.append(paint("body", 0.6, ellipse(x, y, bow * 0.66), ellipse(x, y, hole * 0.7)))
    parts.append(paint("shade", 0.3, box(-0.17, 0.4, 0.17, 0.52, rounding=0.04)))
    return parts


def candle(rng: np.random.Generator) -> list[PaintedOutline]:
    """A burning candle on a dish."""
    wide, tall = rng.uniform(0.28, 0.38), rng.uniform(1.1, 1.6)
    return [
        paint("flame", 0.3, lathe([(0, -0.62), (0.14, -0.26), (0.1, -0.1), (0, -0.06)])),
        paint("dark", 0.0, bar((0, -0.12), (0, 0.05), 0.04)),
        paint("body", 0.8, box(-wide, 0.0, wide, tall, rounding=0.06)),
        paint("shade", 0.0, ellipse(0, 0.04, wide, 0.08)),
        paint("second", 0.5, lathe([(0.75, tall - 0.05), (0.55, tall + 0.2), (0, tall + 0.22)])),
    ]


_FIGURES = (
    *(ball, balloon, bell, boat, bottle, bus, candle, car, chair, clock, crown, cup, drum, guitar, hat, house, key),
    *(kite, lantern, maraca, plane, robot, rocket, teapot, teddy, trumpet, umbrella, vase, windmill),
)
_THINGS = {"star": star_shape, **{figure.__name__: figure for figure in _FIGURES}}


Figure = Callable[[np.random.Generator], Sequence[PaintedOutline]]

FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(dict(sorted((_LIVING | _THINGS).items())))
