"""``sound.compact.v1`` beyond the contract of all sound judges: prompts in any union, long sounds, plain sentences."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from auscult.judge.sound.compact import JUDGE
from auscult.types import Samples, SoundCase, Span

RATE_HZ = 16_000


def _tone(seconds: float, *, seed: int, step: float) -> Samples:
    """A tone of changing loudness, half of the time silent."""
    rng = np.random.default_rng(seed)
    times = np.arange(int(seconds * RATE_HZ))
    loud = np.repeat(rng.random(int(seconds * 20)), RATE_HZ // 20)
    sound = 0.2 * np.sin(times * step) * loud * (np.sin(times / RATE_HZ * 4 + seed) > 0)
    return sound.astype(np.float32)[None]


@pytest.fixture(scope="module")
def case() -> SoundCase:
    mixture = _tone(3, seed=1, step=0.2) + _tone(3, seed=2, step=1.1)
    frames = np.full((2, 48, 64, 3), 90, np.uint8)
    spans = (Span("+", 0.5, 1.5), Span("-", 1.5, 3.0))
    return SoundCase(id="a", mixture=mixture, rate_hz=RATE_HZ, text="dog barking", spans=spans, frames=frames)


@pytest.mark.parametrize(("text", "spans", "picture"), list(product((True, False), repeat=3)))
def test_prompts_may_come_in_any_union(case: SoundCase, *, text: bool, spans: bool, picture: bool) -> None:
    asked = replace(
        case,
        text=case.text if text else None,
        spans=case.spans if spans else (),
        frames=case.frames if picture else None,
    )
    verdict = JUDGE(asked, _tone(3, seed=1, step=0.2))
    assert (verdict.evidence.text, verdict.evidence.spans) == (text, spans)
    assert picture or not verdict.evidence.picture
    assert verdict.overall is not None
    assert 1 <= verdict.overall_low <= verdict.overall <= verdict.overall_high <= 5


def test_words_that_are_not_known_are_named(case: SoundCase) -> None:
    verdict = JUDGE(replace(case, text="the zorgleflux", frames=None), _tone(3, seed=1, step=0.2))
    assert verdict.evidence.unknown == ("zorgleflux",)
    assert not verdict.evidence.text
    assert "zorgleflux" in verdict.rationale


def test_the_curves_of_a_long_sound_cover_it(case: SoundCase) -> None:
    one, two = _tone(30, seed=1, step=0.2), _tone(30, seed=2, step=1.1)
    verdict = JUDGE(replace(case, mixture=one + two), one)
    curves = verdict.curves
    assert curves is not None
    assert len(curves.missing) == len(curves.left_over) == pytest.approx(30 / curves.hop_s, abs=4)


def test_what_is_left_over_lowers_precision(case: SoundCase) -> None:
    one, two = _tone(3, seed=1, step=0.2), _tone(3, seed=2, step=1.1)
    asked = replace(case, text=None, frames=None)
    found = [JUDGE(asked, output).precision for output in (one, one + 0.3 * two, two)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0] > found[1]
