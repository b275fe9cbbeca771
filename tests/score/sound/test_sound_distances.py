"""Spectra, embeddings, spans and the scores of other packages."""

import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.sound import (
    dnsmos,
    frechet_distance,
    log_spectral_distance,
    multi_resolution_stft,
    pesq,
    score_sound,
    sounding,
    span_agreement,
    stoi,
    visqol,
    words_fit,
)


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("channels", [1, 2])
def test_spectra_of_a_louder_sound_are_as_far_as_its_level(channels):
    stem = noise(channels, 20_000)
    assert log_spectral_distance(2 * stem, stem, rate_hz=16_000).value == pytest.approx(20 * np.log10(2), abs=1e-3)
    assert multi_resolution_stft(2 * stem, stem).value == pytest.approx(1 + np.log(2), abs=1e-9)
    assert multi_resolution_stft(-stem, stem).value == 0
    assert log_spectral_distance(stem[:, :40], stem[:, :40], rate_hz=16_000).value == 0


def test_a_lost_band_is_further_than_a_turned_phase():
    stem = noise(16_000)
    spectrum = np.fft.rfft(stem)
    phase_turned = np.fft.irfft(spectrum * np.exp(0.3j))
    band_lost = np.fft.irfft(np.where(np.arange(spectrum.size) > 4000, 0, spectrum))
    for score in (
        lambda output: log_spectral_distance(output, stem, rate_hz=16_000),
        lambda output: multi_resolution_stft(output, stem),
    ):
        assert score(phase_turned).value < score(band_lost).value
        assert "silent" in score(0 * stem).reason


def test_the_frechet_distance_is_that_of_two_normal_distributions():
    means, spreads = np.array([1.0, 0.0, 2.0]), np.array([1.0, 2.0, 0.5])
    expected = (means**2).sum() + ((spreads - 1) ** 2).sum()
    result = frechet_distance(noise(20_000, 3) * spreads + means, noise(20_000, 3, seed=1))
    assert result.value == pytest.approx(expected, rel=0.02)
    assert abs(result.bias) < 0.01 * expected


def test_few_sounds_are_far_apart_for_being_few_and_it_says_so():
    few = frechet_distance(noise(60, 40), noise(60, 40, seed=1))
    of_many = frechet_distance(noise(900, 40), noise(900, 40, seed=1))
    assert few.value > 8 * of_many.value > 0
    assert few.bias > 0.5 * few.value
    assert abs(few.extrapolated) < 0.5 * few.value
    assert "n:60+60" in str(few.signature)
    assert isinstance(frechet_distance(noise(3, 4), noise(9, 4)), Undefined)
    with pytest.raises(InputError, match=r"\(9, 4\) and \(9, 5\)"):
        frechet_distance(noise(9, 4), noise(9, 5))


def test_words_fit_an_output_better_than_the_mixture_and_the_sign_says_so():
    result = words_fit(0.5, 0.2, network="clap")
    assert result["residual"].value == pytest.approx(0.3)
    assert "sign:output-mixture" in str(result["residual"].signature)
    assert "none of the words" in words_fit(None, 0.2)["residual"].reason


def test_spans_are_heard_and_compared():
    rate_hz = 8_000
    sound = np.zeros(4 * rate_hz, np.float32)
    sound[rate_hz : 2 * rate_hz] = noise(rate_hz)
    ((start, end),) = sounding(sound + 1e-4 * noise(sound.size).astype(np.float32), rate_hz=rate_hz)
    assert start == pytest.approx(1.0, abs=0.3)
    assert end == pytest.approx(2.0, abs=0.3)
    right = span_agreement(sound, [(1.0, 2.0)], rate_hz=rate_hz).value
    assert right > 0.65
    assert span_agreement(sound, [(3.0, 4.0)], rate_hz=rate_hz).value == 0
    assert right > span_agreement(sound, [(0.0, 4.0)], rate_hz=rate_hz).value
    assert "silent" in span_agreement(0 * sound, [(1.0, 2.0)], rate_hz=rate_hz).reason
    noisy = sound + 0.5 * np.roll(sound, 2 * rate_hz)
    assert score_sound("span_agreement", sound, [sound], rate_hz=rate_hz)["span_agreement"].value == 1
    assert 0.3 < score_sound("span_agreement", noisy, [sound], rate_hz=rate_hz)["span_agreement"].value < 0.7
    assert "no span" in span_agreement(sound, [], rate_hz=rate_hz).reason
    for wrong in ((2.0, 1.0), (3.0, 9.0)):
        with pytest.raises(InputError, match="a span runs from"):
            span_agreement(sound, [wrong], rate_hz=rate_hz)


def test_without_its_package_a_score_is_undefined_with_the_line_that_installs_it(monkeypatch):
    for name in ("pystoi", "pesq", "speechmos.dnsmos", "speechmos", "visqol.visqol_lib_py", "visqol"):
        monkeypatch.setitem(sys.modules, name, None)
    for score in (stoi, pesq, dnsmos, visqol):
        assert "pip install" in score(noise(16_000), noise(16_000, seed=1), rate_hz=16_000).reason


@pytest.mark.peer
def test_stoi_is_that_of_its_package():
    if find_spec("pystoi") is None:
        pytest.skip("the package of this score is not installed")
    from pystoi import stoi as theirs

    speech = noise(16_000) * (1 + np.sin(np.arange(16_000) / 600))
    output = speech + noise(16_000, seed=1)
    for extended in (False, True):
        expected = theirs(speech, output, 16_000, extended=extended)
        assert stoi(output, speech, rate_hz=16_000, extended=extended).value == pytest.approx(expected, abs=1e-12)
    assert "Not enough" in stoi(output[:900], speech[:900], rate_hz=16_000).reason


def test_the_other_packages_are_called_by_their_interface(monkeypatch):
    class Visqol:
        __file__ = "/somewhere/visqol_lib_py.so"

        class VisqolApi:
            def Create(self, config):  # noqa: N802
                self.config = config

            def Measure(self, true, output):  # noqa: N802
                assert self.config.options.use_speech_scoring
                return SimpleNamespace(moslqo=1 + 4 * float(np.corrcoef(true, output)[0, 1]))

    def config():
        return SimpleNamespace(VisqolConfig=lambda: SimpleNamespace(audio=SimpleNamespace(), options=SimpleNamespace()))

    modules = {
        "visqol": SimpleNamespace(), "visqol.visqol_lib_py": Visqol, "visqol.pb2.visqol_config_pb2": config(),
        "pesq": SimpleNamespace(pesq=lambda *arguments: {"wb": 3.0, "nb": 2.0}[arguments[3]]),
        "speechmos": SimpleNamespace(), "speechmos.dnsmos": SimpleNamespace(run=lambda *_: {"ovrl_mos": 2.5}),
    }  # fmt: skip
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    sound = noise(16_000)
    assert visqol(sound, sound, rate_hz=16_000).value == pytest.approx(5)
    assert [pesq(sound, sound, rate_hz=rate_hz).value for rate_hz in (8_000, 16_000)] == [2, 3]
    assert dnsmos(sound, sound, rate_hz=16_000).value == 2.5
    for score in (visqol, pesq, dnsmos):
        assert "44100" in score(sound, sound, rate_hz=44_100).reason
    modules["pesq"].pesq = lambda *_: (_ for _ in ()).throw(RuntimeError("No utterances detected"))
    assert "No utterances" in pesq(sound, sound, rate_hz=16_000).reason
