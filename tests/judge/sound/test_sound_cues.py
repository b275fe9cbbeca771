"""`sound.cues.v1` knows better from worse by ear and spans, says what moved it, and where something is lost."""

from __future__ import annotations

import numpy as np
import pytest

from auscult.judge.sound.cues import FEATURES, JUDGE, SPAN_FEATURES, OpenedMixture, open_frames
from auscult.rng import generator
from auscult.types import PERFORMANCE, Samples, SoundCase, SoundVerdict, Span

RATE_HZ = 16_000
SPANS = (Span("-", 0.0, 1.0), Span("+", 1.0, 3.0), Span("-", 3.0, 4.0))


def _sources() -> tuple[Samples, Samples]:
    """A hum from second 1 to 3, and noise all along."""
    times = np.arange(4 * RATE_HZ) / RATE_HZ
    hum = sum(np.sin(2 * np.pi * 190 * harmonic * times) / harmonic for harmonic in range(1, 14)) * (
        (times > 1) & (times < 3)
    )
    noise = generator(0, "cues of sound").normal(size=times.size)
    return (0.1 * hum).astype(np.float32), (0.05 * noise).astype(np.float32)


HUM, NOISE = _sources()
MIXTURE = HUM + NOISE


def _verdict_of(output: Samples, spans: tuple[Span, ...] = SPANS) -> SoundVerdict:
    return JUDGE(SoundCase(id="a", mixture=MIXTURE[None], rate_hz=RATE_HZ, spans=spans), output[None])


def test_with_spans_the_target_is_above_the_mixture_and_that_above_the_other_source() -> None:
    overall = [_verdict_of(output).overall or 0.0 for output in (HUM, MIXTURE, NOISE)]
    assert overall == sorted(overall, reverse=True)
    assert overall[0] > overall[2] + 1


def test_without_spans_it_says_that_no_source_was_checked() -> None:
    verdict = _verdict_of(NOISE, spans=())
    assert not verdict.evidence.spans
    assert "not checked" in verdict.rationale
    assert "told from spans alone" in _verdict_of(NOISE).rationale


def test_the_sentence_names_the_feature_that_moved_the_score_most() -> None:
    assert any(meaning in _verdict_of(HUM).rationale for meaning in {**FEATURES, **SPAN_FEATURES}.values())


def test_what_the_mixture_has_not_counts_as_damage() -> None:
    strange = generator(1, "strange").normal(size=HUM.size).astype(np.float32) * np.float32(0.1)
    clean, damaged = _verdict_of(HUM), _verdict_of(HUM + strange)
    assert (damaged.faithfulness or 5) < (clean.faithfulness or 1) - 0.5
    unexplained = list(FEATURES).index("unexplained")
    opened_mixture = OpenedMixture(MIXTURE, rate_hz=RATE_HZ)
    values = [
        opened_mixture.features(output, rate_hz=RATE_HZ, spans=())[0][unexplained] for output in (HUM, HUM + strange)
    ]
    assert values[1] > values[0] + 0.1


def test_curves_tell_where_something_is_lost_or_left_over() -> None:
    first_half = np.where(np.arange(HUM.size) < 2 * RATE_HZ, HUM, 0).astype(np.float32)
    curves = _verdict_of(first_half + NOISE * (np.arange(HUM.size) > 3 * RATE_HZ).astype(np.float32)).curves
    assert curves is not None
    missing, left_over_curve = np.array(curves.missing), np.array(curves.left_over)
    assert missing[11:14].mean() > missing[6:9].mean() + 0.2  # the second half of the hum is lost
    assert left_over_curve[16:19].min() == 1.0  # no target should be heard there
    assert missing[:5].max() == 0.0


def test_spans_that_cover_everything_tell_nothing() -> None:
    assert open_frames((Span("+", 0.0, 4.0),), 20, hop_s=0.2) is None
    assert open_frames((), 20) is None
    open_mask = open_frames((Span("+", 1.0, 3.0), Span("-", 2.0, 3.0)), 20, hop_s=0.2)
    assert open_mask is not None
    assert np.flatnonzero(open_mask).tolist() == [5, 6, 7, 8, 9]


def test_unlike_anything_it_heard_is_novel_and_widens_the_interval() -> None:
    clicks = np.zeros_like(HUM)
    clicks[::4000] = 1.0
    usual, odd = _verdict_of(HUM), _verdict_of(clicks)
    assert odd.novelty > usual.novelty
    for axis in PERFORMANCE:
        assert getattr(odd, f"{axis}_low") <= getattr(odd, axis) <= getattr(odd, f"{axis}_high")


@pytest.mark.parametrize("gain", [0.01, 30.0])
def test_the_level_of_the_whole_clip_does_not_matter(gain: float) -> None:
    case = SoundCase(id="a", mixture=MIXTURE[None] * np.float32(gain), rate_hz=RATE_HZ, spans=SPANS)
    assert JUDGE(case, HUM[None]).overall == pytest.approx(_verdict_of(HUM).overall, abs=0.01)
