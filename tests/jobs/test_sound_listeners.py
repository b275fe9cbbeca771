"""Scores that a network gives of outputs: what it hears in them beside what it hears in the stems."""

import math
import shutil
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pytest

from auscult.jobs import score_sound
from auscult.jobs.options import ScoreOptions
from auscult.jobs.score_sound import score_sounds
from auscult.media.wav import encode_wav
from auscult.outcome import Undefined
from auscult.score.sound.embeddings import accuracy, word_error

RATE_HZ = 16_000


@dataclass
class PitchTagger:
    """Labels by the strongest frequency, and a spectrum in ten bands as embedding."""

    name = "pitch"
    labels = ("Low hum", "High whistle")

    def probabilities(self, samples, rate_hz):
        high = float(np.argmax(np.abs(np.fft.rfft(samples[0]))) * rate_hz / samples.shape[-1] > 1000)
        return np.array([1 - high, high], np.float32)

    def embedding(self, samples, _rate_hz):
        return np.array([np.abs(part).mean() for part in np.array_split(np.fft.rfft(samples[0]), 4)], np.float32)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr("auscult.models.sound_taggers.load_tagger", lambda _options: PitchTagger())
    times = np.arange(8000) / RATE_HZ
    for number in range(6):
        tones = {
            f"low_hum_{number}": np.sin(2 * math.pi * 200 * times),
            f"whistle high{number}": np.sin(2 * math.pi * 3000 * times),
        }
        for name, tone in tones.items():
            other = next(tone_ for key, tone_ in tones.items() if key != name)
            wrong = number == 0 and name.startswith("low")
            for folder, samples in (("stems", tone), ("outputs", (other if wrong else tone) + 0.1 * number * other)):
                path = tmp_path / folder / f"mix{number}" / f"{name}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(encode_wav((0.3 * samples[None]).astype(np.float32), RATE_HZ))
        mixture = (0.3 * sum(tones.values()))[None].astype(np.float32)
        (tmp_path / "stems" / f"mix{number}" / "mixture.wav").write_bytes(encode_wav(mixture, RATE_HZ))
    return tmp_path


def scores_of(folders, protocol, model="pitch@folder"):
    options = ScoreOptions(
        prediction=folders / "outputs", truth=folders / "stems", protocol=protocol, model=model, workers=0
    )  # fmt: skip
    return score_sounds(options)


def test_accuracy_on_outputs_stands_beside_that_on_stems(folders):
    summary, tables, _ = scores_of(folders, "accuracy")
    assert tables[1].rows == (("accuracy of stems", "1.000", "12", ""),)
    assert summary.metrics["accuracy"]["value"] == pytest.approx(11 / 12, abs=1e-6)
    assert summary.metrics["accuracy of stems"]["value"] == 1
    assert "network:pitch" in summary.metrics["accuracy"]["signature"]


def test_an_output_whose_words_name_no_label_is_not_counted_as_scored(folders):
    for kind in ("outputs", "stems"):
        (folders / kind / "mix0" / "low_hum_0.wav").rename(folders / kind / "mix0" / "gravel.wav")
    summary, tables, _ = scores_of(folders, "accuracy")
    assert (summary.ok, summary.undefined) == (11, 1)
    assert tables[0].title == "accuracy, 11 scored, 1 undefined, 0 failed"


def test_the_frechet_distance_of_all_outputs_shows_its_bias(folders):
    summary, tables, _ = scores_of(folders, "frechet")
    assert summary.metrics["frechet"]["value"] > 0
    (row,) = tables[1].rows
    assert row[:3] == ("frechet", f"{summary.metrics['frechet']['value']:.3f}", "12")
    assert "of endless sounds" in row[3]
    assert (summary.ok, summary.undefined) == (12, 0)
    assert {"bias", "extrapolated"} <= summary.metrics["frechet"].keys()
    for number in range(1, 6):
        shutil.rmtree(folders / "stems" / f"mix{number}")
    few, tables, _ = scores_of(folders, "frechet")
    assert tables[1].rows == (("frechet", "", "2", "fewer than four sounds"),)
    assert (few.ok, few.undefined) == (0, 2)


def test_words_come_from_file_names_and_the_residual_from_the_mixture(folders):
    summary, _, _ = scores_of(folders, "text_similarity")
    assert summary.metrics["text_similarity"]["value"] == pytest.approx(11 / 12, abs=1e-6)
    assert "sign:output-mixture" in summary.metrics["residual"]["signature"]


def test_word_errors_are_edits_over_words():
    recognised, true = ["The cat sat", "so, what?"], ["the cat sat down", "What?"]
    assert word_error(recognised, true).value == pytest.approx(2 / 5)
    assert word_error(["it's"], ["it's"]).value == 0
    assert isinstance(word_error(["word"], ["..."]), Undefined)
    assert isinstance(accuracy([]), Undefined)


@pytest.mark.slow
@pytest.mark.extra_clip
def test_a_whisper_of_a_folder_is_asked_for_words(folders, tmp_path):
    if any(find_spec(name) is None for name in ("torch", "transformers")):
        pytest.skip("the extra `clip` is not installed")
    folder = write_whisper(tmp_path / "whisper")
    for text, stem in (("one two", "mix0/low_hum_0"), ("one", "mix1/low_hum_1")):
        (tmp_path / "stems" / f"{stem}.txt").write_text(text, encoding="utf-8")
    for path in sorted((tmp_path / "stems").iterdir())[2:]:
        for file in path.iterdir():
            file.unlink()
    summary, _, errors = scores_of(tmp_path, "word_error", str(folder))
    assert errors == []
    assert summary.n == 4
    listener = score_sound.listener_of("word_error", str(folder))
    stem = tmp_path / "stems" / "mix0" / "low_hum_0.wav"
    tone = np.ones((1, RATE_HZ), np.float32)
    (outcome,), parts = listener(tone, tone, stem)[0].values(), listener(tone, tone, stem)[1]
    assert parts[2] == "one two"
    assert outcome == word_error([parts[0]], ["one two"], network="whisper")


def write_whisper(folder):
    """A tiny Whisper of random weights with a vocabulary of bytes."""
    import torch
    import transformers

    folder.mkdir()
    letters = [chr(code) for code in range(33, 127)]
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>"]
    vocabulary = {token: number for number, token in enumerate([*letters, *special])}
    tokens = transformers.WhisperTokenizer(vocab=vocabulary, merges=[])
    tokens.save_pretrained(folder)
    end, start = vocabulary["<|endoftext|>"], vocabulary["<|startoftranscript|>"]
    config = transformers.WhisperConfig(
        vocab_size=len(vocabulary), num_mel_bins=16, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
        max_source_positions=100, max_target_positions=24, bos_token_id=end, eos_token_id=end, pad_token_id=end,
        decoder_start_token_id=start, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.WhisperForConditionalGeneration(config)
    model.generation_config.update(
        eos_token_id=end, pad_token_id=end, decoder_start_token_id=start, is_multilingual=False
    )
    model.save_pretrained(folder)
    return folder
