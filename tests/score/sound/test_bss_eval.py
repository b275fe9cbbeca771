"""BSS Eval against least squares written out, and where it has no number."""

import sys

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.sound import SCORES, bss3, bss_eval, bss_images, bss_sources, score_sound, sdr

LAGS = 8
NAMES = ("sdr", "isr", "sir", "sar")


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def delayed(stems):
    """All delayed channels as columns, (samples + LAGS - 1, channels * LAGS)."""
    rows = [np.pad(channel, (shift, LAGS - 1 - shift)) for stem in stems for channel in stem for shift in range(LAGS)]
    return np.array(rows).T


def projected(stems, estimate):
    basis = delayed(stems)
    padded = np.pad(estimate, ((0, 0), (0, LAGS - 1))).T
    return (basis @ np.linalg.lstsq(basis, padded, rcond=None)[0]).T


def decibels(first, second):
    return 10 * np.log10((first**2).sum() / (second**2).sum())


def written_out(estimate, stems, target):
    """SDR, ISR, SIR, SAR of images, and SDR, SIR, SAR of sources."""
    target_part, all_stems_part = projected([stems[target]], estimate), projected(stems, estimate)
    true, padded_estimate = (np.pad(sound, ((0, 0), (0, LAGS - 1))) for sound in (stems[target], estimate))
    sir, sar = (
        decibels(target_part, all_stems_part - target_part),
        decibels(all_stems_part, padded_estimate - all_stems_part),
    )
    images = decibels(true, padded_estimate - true), decibels(true, target_part - true), sir, sar
    return images, (decibels(target_part, padded_estimate - target_part), sir, sar)


def values(ratios, names=NAMES):
    return [ratios[name].value for name in names]


@pytest.fixture(params=[1, 2], ids=["mono", "stereo"])
def sounds(request):
    stems = draw(3, request.param, 3000)
    mixing = np.array([[1.0, 0.3, 0.1], [0.2, 0.9, 0.1], [0.1, 0.2, 0.8]])
    estimates = np.einsum("es,scx->ecx", mixing, stems) + 0.2 * draw(*stems.shape, seed=1)
    estimates[..., 1:] += 0.4 * estimates[..., :-1]
    return list(estimates), list(stems)


def test_images_are_those_of_least_squares_written_out(sounds):
    estimates, stems = sounds
    result = bss_images(estimates, stems, filter_length=LAGS)
    for number in range(3):
        expected, _ = written_out(estimates[number], stems, number)
        assert values(result.ratios[number]) == pytest.approx(expected, abs=1e-8)


def test_sources_are_those_of_least_squares_written_out_and_the_best_order_is_found():
    stems = draw(3, 1, 3000)
    estimates = stems[[1, 2, 0]] + 0.3 * draw(3, 1, 3000, seed=1) + 0.1 * stems
    result = bss_sources(list(estimates), list(stems), order="best", filter_length=LAGS)
    assert result.order == (2, 0, 1)
    for number, estimate_index in enumerate(result.order):
        _, expected = written_out(estimates[estimate_index], stems, number)
        assert values(result.ratios[number], ("sdr", "sir", "sar")) == pytest.approx(expected, abs=1e-8)
    in_given_order = bss_sources(list(estimates), list(stems), filter_length=LAGS)
    assert in_given_order.order == (0, 1, 2)
    assert in_given_order.ratios[0]["sir"].value < 0


def test_without_scipy_the_numbers_are_the_same(sounds, monkeypatch):
    estimates, stems = sounds
    expected = values(bss_images(estimates, stems, filter_length=LAGS).ratios[0])
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    assert values(bss_images(estimates, stems, filter_length=LAGS).ratios[0]) == pytest.approx(expected, abs=1e-9)


def test_a_silent_channel_and_a_stem_given_twice_have_numbers(sounds):
    estimates, stems = sounds
    silent = [stems[0], np.zeros_like(stems[0])]
    result = bss_images(estimates[:1], silent, filter_length=LAGS)
    assert values(result.ratios[0], ("sdr", "isr", "sar")) == pytest.approx(
        values(bss_images(estimates[:1], stems[:1], filter_length=LAGS).ratios[0], ("sdr", "isr", "sar")), abs=1e-9
    )
    twice = bss_images(estimates[:1], [stems[0], stems[0].copy()], filter_length=LAGS).ratios[0]
    assert twice["sar"].value == pytest.approx(result.ratios[0]["sar"].value, abs=1e-3)


def test_a_window_is_scored_by_filters_of_the_whole(sounds):
    estimates, stems = sounds
    result = bss_images(estimates, stems, filter_length=LAGS, window=700, hop=500)
    basis = delayed(stems)
    padded = np.pad(estimates[0], ((0, 0), (0, LAGS - 1))).T
    weights = np.linalg.lstsq(basis, padded, rcond=None)[0]
    sar = []
    for start in range(0, 2301, 500):
        window_stems = [stem[:, start : start + 700] for stem in stems]
        all_stems_part = (delayed(window_stems) @ weights).T
        padded_estimate = np.pad(estimates[0][:, start : start + 700], ((0, 0), (0, LAGS - 1)))
        sar.append(decibels(all_stems_part, padded_estimate - all_stems_part))
    assert result.ratios[0]["sar"].values == pytest.approx(sar, abs=1e-8)
    assert result.ratios[0]["sar"].value == pytest.approx(np.median(sar), abs=1e-8)


def test_windows_without_an_error_are_no_decibels_of_rounding(sounds):
    """They are the best there are, and their median has no number; the reference prints some 200 dB."""
    _, stems = sounds
    partly = stems[0].copy()
    partly[:, :2000] += 0.1 * draw(*partly[:, :2000].shape, seed=3)
    equal, other = (
        bss_images([estimate], stems, filter_length=LAGS, window=500).ratios[0]["sdr"]
        for estimate in (stems[0], partly)
    )
    assert isinstance(equal, Undefined)
    assert np.isnan(other.values[4:]).all()
    assert other.value == pytest.approx(np.median([*other.values[:4], np.inf, np.inf]))


def test_one_estimate_alone_has_the_numbers_it_has_among_others(sounds):
    estimates, stems = sounds
    all_ratios = bss_images(estimates, stems, filter_length=LAGS)
    alone = bss_images([estimates[0]], stems, filter_length=LAGS)
    assert values(alone.ratios[0]) == pytest.approx(values(all_ratios.ratios[0]), abs=1e-9)


def test_a_filtered_stem_has_no_distortion_and_a_delayed_one_neither():
    stem = draw(20_000)
    stem[-40:] = 0
    delayed_stem = np.concatenate([np.zeros(40), 0.5 * stem[:-40]]) + 0.001 * draw(20_000, seed=2)
    assert sdr(delayed_stem, stem).value > 50
    assert sdr(delayed_stem, stem, filter_length=20).value < -15


def test_what_is_not_there_is_undefined_with_the_reason():
    stems = [draw(4000, seed=seed) for seed in (0, 1)]
    silent = np.zeros(4000)
    mixture = bss3(stems[0] + stems[1], stems)
    assert "no artefacts" in mixture["sar"].reason
    assert mixture["sdr"].value == pytest.approx(0, abs=1.5)
    assert "the stem is silent" in bss3(stems[1], [silent, stems[1]])["sdr"].reason
    assert "the estimate is silent" in bss3(silent, stems)["sdr"].reason
    other_silent = bss3(stems[0] + 0.1 * draw(4000, seed=2), [stems[0], silent])
    assert other_silent["sdr"].value == pytest.approx(other_silent["sar"].value, abs=1e-6)
    assert isinstance(other_silent["sir"], Undefined)
    windows = score_sound("bss4", stems[0] + stems[1], [stems[0], silent], rate_hz=1000, filter_length=32)
    assert "no window" in windows["sdr"].reason
    half_silent = stems[1].copy()
    half_silent[:2000] = 0
    result = score_sound("bss4", stems[0] + half_silent, [stems[0], half_silent], rate_hz=1000, filter_length=32)
    assert np.isnan(result["sir"].values).tolist() == [True, True, False, False]


def test_what_cannot_be_scored_is_an_error_that_says_why():
    stems = [draw(2, 4000, seed=seed) for seed in (0, 1)]
    with pytest.raises(InputError, match="2 channels"):
        bss3(stems[0], stems)
    with pytest.raises(InputError, match="3 estimates and 2 stems"):
        bss_images([*stems, stems[0]], stems)
    with pytest.raises(InputError, match="stem 2 of 2"):
        bss3(stems[0], stems, target=2)
    with pytest.raises(InputError, match="3999 samples"):
        bss_images([stems[0][:, 1:]], stems)
    with pytest.raises(InputError, match="not finite"):
        bss_images([stems[0] * np.nan], stems)


def test_every_score_of_the_table_takes_a_very_short_sound_and_dc():
    for sound in (draw(2, 800), np.ones((2, 300)) + 1e-3 * draw(2, 300)):
        for name in SCORES:
            outcomes = score_sound(name, sound[0] + 0.5 * sound[1], list(sound), rate_hz=16_000, filter_length=32)
            assert all(isinstance(outcome, Undefined) or np.isfinite(outcome.value) for outcome in outcomes.values())


@pytest.mark.extra_sound
def test_panned_stems_have_the_scores_of_least_squares_without_its_time(monkeypatch):
    """A channel that is another, softer, makes the equations singular; the short way through them is SciPy's."""
    pytest.importorskip("scipy", reason="the extra `sound` is not installed")
    stems = [np.stack([sound, 0.5 * sound]) for sound in draw(2, 2000)]
    estimate = stems[0] + 0.2 * stems[1] + 0.05 * draw(2, 2000, seed=1)
    by_pivots, singular, found = bss_eval._solved_by_pivots, [], []

    def least_squares(matrix, right):
        singular.append(matrix)
        return np.linalg.lstsq(matrix, right)[0]

    for solve in (least_squares, by_pivots):
        monkeypatch.setattr(bss_eval, "_solved_by_pivots", solve)
        found.append(bss_images([estimate], stems, filter_length=16, window=500).ratios[0])
    assert singular
    assert values(found[1]) == pytest.approx(values(found[0]), abs=1e-9)
