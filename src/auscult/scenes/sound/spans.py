"""When the voices of a clip sound: patterns whose order and overlap can be heard without doubt.

Times lie on a grid of 0.05 s. Between two voices: first starts and last ends (in any combination) are at least 0.5 s
apart, and they either sound together for 0.5 s or more, or never come nearer than 0.3 s. A voice that sounds all
through touches both ends of the clip; every other voice keeps 0.5 s from them. Events of a voice that sounds several
times are at least 0.4 s apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from auscult.rng import pick
from auscult.scenes.sound.mix import TimeSpan

GRID_S = 0.05
MARGIN_S = 0.5
APART_S = 0.3
GAP_S = 0.4

# In steps of the grid.
_MARGIN = 10
_APART = 6
_GAP = 8
_SHORTEST = 8
_LONGEST = 90
_EVENTS = (8, 18)
_GAPS = (8, 20)
_REPEATS = (2, 5)
_TRIES = 12
_RESTARTS = 30

Steps: TypeAlias = tuple[tuple[int, int], ...]
_Pattern: TypeAlias = Callable[[np.random.Generator, Steps, int], Steps | None]


def choose_spans(rng: np.random.Generator, count: int, *, duration_s: float) -> tuple[tuple[TimeSpan, ...], ...]:
    """Draw when each of some voices sounds."""
    length = int(duration_s / GRID_S + 1e-6)
    if count < 0 or length < (count + 1) * _MARGIN + count * _SHORTEST:
        raise ValueError(f"{count} voices need {count * (MARGIN_S + GAP_S) + MARGIN_S:g} s or more, not {duration_s}")
    for _ in range(_RESTARTS):
        voices = _try(rng, count, length)
        if voices is not None:
            break
    else:
        voices = _in_turn(rng, count, length)
    order = rng.permutation(count)
    return tuple(
        tuple((round(start * GRID_S, 2), round(end * GRID_S, 2)) for start, end in voices[index]) for index in order
    )


def clear(first: Sequence[TimeSpan], second: Sequence[TimeSpan]) -> bool:
    """Whether order and overlap of two voices keep the margins of this module."""
    return _clear(_steps(first), _steps(second))


def _steps(spans: Sequence[TimeSpan]) -> Steps:
    return tuple((round(start / GRID_S), round(end / GRID_S)) for start, end in spans)


def _clear(first: Steps, second: Steps) -> bool:
    ends = [(a, b) for a in (first[0][0], first[-1][1]) for b in (second[0][0], second[-1][1])]
    if any(abs(a - b) < _MARGIN for a, b in ends):
        return False
    together = sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in first for b in second)
    if together:
        return together >= _MARGIN
    return min(max(a[0], b[0]) - min(a[1], b[1]) for a in first for b in second) >= _APART


def _try(rng: np.random.Generator, count: int, length: int) -> list[Steps] | None:
    voices: list[Steps] = []
    for _ in range(count):
        voice = _add_voice(rng, voices, length)
        if voice is None:
            return None
        voices.append(voice)
    return voices


def _add_voice(rng: np.random.Generator, voices: Sequence[Steps], length: int) -> Steps | None:
    """One more voice, clear of all so far, by a pattern that refers to one of them; None when none fits."""
    through: Steps = ((0, length),)
    others = [voice for voice in voices if voice != through]
    for _ in range(_TRIES):
        name = str(rng.choice(_NAMES, p=_WEIGHTS))
        if name == "through":
            voice: Steps | None = None if through in voices else through
        else:
            anchor = pick(rng, others) if others else ()
            voice = _PATTERNS[name](rng, anchor, length)
        if voice and _fits(voice, voices, length):
            return voice
    return None


def _fits(voice: Steps, voices: Sequence[Steps], length: int) -> bool:
    through: Steps = ((0, length),)
    if voice != through and (voice[0][0] < _MARGIN or voice[-1][1] > length - _MARGIN):
        return False
    if any(end - start < _SHORTEST for start, end in voice):
        return False
    return all(_clear(voice, other) for other in voices)


def _between(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, max(low, high) + 1))


def _once(rng: np.random.Generator, _: Steps, length: int) -> Steps | None:
    size = _between(rng, 2 * _SHORTEST, min(_LONGEST, length // 2))
    start = _between(rng, _MARGIN, length - _MARGIN - size)
    return ((start, start + size),)


def _repeated(rng: np.random.Generator, _: Steps, length: int) -> Steps | None:
    times, size = _between(rng, *_REPEATS), _between(rng, *_EVENTS)
    gaps = [_between(rng, *_GAPS) for _ in range(times - 1)]
    total = times * size + sum(gaps)
    start = _between(rng, _MARGIN, length - _MARGIN - total)
    starts = np.cumsum([start, *(size + gap for gap in gaps)])
    return tuple((int(begin), int(begin) + size) for begin in starts)


def _before(rng: np.random.Generator, anchor: Steps, _: int) -> Steps | None:
    if not anchor:
        return None
    end = anchor[0][0] - _between(rng, _MARGIN, 3 * _MARGIN)
    return ((end - _between(rng, _SHORTEST, min(_LONGEST, end - _MARGIN)), end),)


def _after(rng: np.random.Generator, anchor: Steps, length: int) -> Steps | None:
    if not anchor:
        return None
    start = anchor[-1][1] + _between(rng, _MARGIN, 3 * _MARGIN)
    return ((start, start + _between(rng, _SHORTEST, min(_LONGEST, length - _MARGIN - start))),)


def _overlap(rng: np.random.Generator, anchor: Steps, length: int) -> Steps | None:
    if not anchor or anchor[-1][1] - anchor[0][0] < 2 * _MARGIN:
        return None
    start = _between(rng, anchor[0][0] + _MARGIN, anchor[-1][1] - _MARGIN)
    end = _between(rng, anchor[-1][1] + _MARGIN, min(length - _MARGIN, anchor[-1][1] + _LONGEST // 2))
    return ((start, end),)


def _during(rng: np.random.Generator, anchor: Steps, _: int) -> Steps | None:
    low, high = (anchor[0][0] + _MARGIN, anchor[-1][1] - _MARGIN) if anchor else (0, 0)
    if high - low < _MARGIN:
        return None
    start = _between(rng, low, high - _MARGIN)
    return ((start, _between(rng, start + _MARGIN, high)),)


_PATTERNS: dict[str, _Pattern] = {
    "once": _once,
    "repeated": _repeated,
    "before": _before,
    "after": _after,
    "overlap": _overlap,
    "during": _during,
}
_NAMES = ("once", "repeated", "before", "after", "overlap", "during", "through")
_WEIGHTS = (0.15, 0.28, 0.14, 0.14, 0.12, 0.12, 0.05)


def _in_turn(rng: np.random.Generator, count: int, length: int) -> list[Steps]:
    """One voice after another, the room shared evenly: always possible where the clip is long enough."""
    slot = (length - _MARGIN) // max(count, 1)
    longest = slot - _MARGIN
    starts = [_MARGIN + index * slot for index in range(count)]
    return [((start, start + _between(rng, _SHORTEST, longest)),) for start in starts]
