"""When voices sound: patterns, margins, the grid."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.rng import generator
from auscult.scenes.sound.mix import TimeSpan
from auscult.scenes.sound.spans import APART_S, GAP_S, GRID_S, MARGIN_S, choose_spans, clear

Voice = tuple[TimeSpan, ...]
NEAR = 1e-6


def random_voices(seed: int, count: int, duration_s: float = 10.0) -> tuple[Voice, ...]:
    return choose_spans(generator(seed, "spans"), count, duration_s=duration_s)


def overlap_s(first: Voice, second: Voice) -> float:
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in first for b in second)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.integers(0, 7), st.floats(8.0, 30.0))
def test_every_promise(seed: int, count: int, duration_s: float) -> None:
    voices = random_voices(seed, count, duration_s)
    assert len(voices) == count
    for voice in voices:
        edges = [edge for span in voice for edge in span]
        assert edges == sorted(set(edges))
        assert all(abs(edge / GRID_S - round(edge / GRID_S)) < NEAR for edge in edges)
        assert edges[0] >= 0.0
        assert edges[-1] <= duration_s + NEAR
        assert all(end - start >= 0.4 - NEAR for start, end in voice)
        assert all(later[0] - earlier[1] >= GAP_S - NEAR for earlier, later in itertools.pairwise(voice))
        assert len(voice) <= 5
        if voice[0][0] < MARGIN_S - NEAR:
            assert len(voice) == 1
            assert edges[1] >= duration_s - GRID_S
    for first, second in itertools.combinations(voices, 2):
        assert clear(first, second)
        for end_s in (first[0][0], first[-1][1]):
            assert all(abs(end_s - other) >= MARGIN_S - NEAR for other in (second[0][0], second[-1][1]))
        shared = overlap_s(first, second)
        gaps = [max(a[0], b[0]) - min(a[1], b[1]) for a in first for b in second]
        assert shared >= MARGIN_S - NEAR or (shared == 0.0 and min(gaps) >= APART_S - NEAR)


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_every_pattern_occurs(count: int) -> None:
    patterns = {"through": 0, "before": 0, "overlap": 0, "during": 0, **dict.fromkeys(range(1, 6), 0)}
    for seed in range(120):
        voices = random_voices(seed, count)
        for voice in voices:
            patterns[len(voice)] += 1
            patterns["through"] += voice == ((0.0, 10.0),)
        for first, second in itertools.permutations(voices, 2):
            low, high = (first[0][0], second[0][0]), (first[-1][1], second[-1][1])
            patterns["before"] += high[0] < low[1]
            patterns["overlap"] += low[0] < low[1] < high[0] < high[1] and overlap_s(first, second) > 0
            patterns["during"] += low[0] > low[1] and high[0] < high[1] and len(first) == len(second) == 1
    assert min(patterns.values()) >= 5, patterns


def test_no_voice_is_favoured() -> None:
    """Being first is no question of the place in the answer."""
    first = [0, 0, 0]
    for seed in range(300):
        voices = random_voices(seed, 3)
        first[min(range(3), key=lambda index: voices[index][0][0])] += 1
    assert min(first) > 70


def test_crowded_clips_fall_back_to_one_after_another() -> None:
    voices = random_voices(3, 10, 9.6)
    assert len(voices) == 10
    assert all(clear(first, second) for first, second in itertools.combinations(voices, 2))


def test_too_short_a_clip_is_refused() -> None:
    assert random_voices(0, 0, 0.5) == ()
    assert len(random_voices(0, 1, 1.4)) == 1
    for count, duration_s in ((1, 1.3), (6, 5.0), (-1, 10.0)):
        with pytest.raises(ValueError, match="voices need"):
            random_voices(0, count, duration_s)


def test_the_same_draw_gives_the_same_spans() -> None:
    assert [random_voices(seed, 5) for seed in range(20)] == [random_voices(seed, 5) for seed in range(20)]


def test_clear_refuses_doubt() -> None:
    assert clear(((1.0, 2.0),), ((3.0, 4.0),))
    assert not clear(((1.0, 2.0),), ((2.2, 4.0),))
    assert not clear(((1.0, 3.0),), ((1.2, 5.0),))
    assert not clear(((1.0, 5.0),), ((2.0, 4.9),))
    assert not clear(((1.0, 2.0), (4.0, 5.0)), ((1.9, 4.1),)), "they share 0.2 s"
