"""Taggers of sound: what their labels say of real clips, CLAP of random weights, and which track words are given."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import InputError, UsageError
from auscult.jobs.options import ScoreOptions
from auscult.jobs.score_sound import listener_of, score_sounds
from auscult.judge.sound.compact.network import hear_mixture, load_network
from auscult.media.sound import read_sound
from auscult.media.wav import encode_wav
from auscult.models.dnsmos import Dnsmos
from auscult.models.separators import separator_spec
from auscult.models.separators.base import assign
from auscult.models.sound_taggers import SHIPPED, TAGGERS, heard_prompts, load_tagger, text_similarity
from auscult.nets.hf_sounds import Clap
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.types import Floats, Samples, SoundQuery, Span

RATE_HZ = 16_000


def noise(count: int, *, seed: int = 0) -> Samples:
    return (0.1 * generator(seed, "taggers").standard_normal(count)).astype(np.float32)


class Constant:
    """Says the probabilities that a sound's mean encodes."""

    labels: tuple[str, ...] = (
        "Speech",
        "Female speech, woman speaking",
        "Bark",
        "Dog",
        "Music",
        "Vehicle horn, car horn, honking",
    )

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        assert rate_hz == RATE_HZ
        return np.asarray([0.1, 0.2, float(samples.max()), 0.4, 0.5, 0.6], np.float32)

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        return np.asarray([samples.size / rate_hz], np.float32)


@pytest.mark.parametrize(
    ("text", "similarity"),
    [
        ("dog barking", 0.9),  # Bark and Dog fit, each by one word
        ("dog", 0.4),
        ("speech", 0.1),
        ("female speech", 0.2),  # two words fit better than one
        ("a woman speaking", 0.2),
        ("a person talking", 0.1),
        ("music playing", 0.5),
        ("car horn honking", 0.6),
        ("thunderstorm", None),
        ("the sound of", None),
    ],
)
def test_words_mean_the_labels_of_which_they_hold_most(text: str, similarity: float | None) -> None:
    similarity_found = text_similarity(Constant(), text, np.full(9, 0.9, np.float32), rate_hz=RATE_HZ)
    assert similarity_found == (None if similarity is None else pytest.approx(similarity))


def test_a_track_is_assigned_by_words_before_spans_before_order() -> None:
    tracks = {"one": np.full(RATE_HZ, 0.2, np.float32), "two": np.full(RATE_HZ, 0.7, np.float32)}
    spans = (Span("-", 0.5, 1.0),)
    tracks["one"][8000:] = 0
    by_text = assign(tracks, SoundQuery(text="bark"), rate_hz=RATE_HZ, spans=spans, tagger=Constant())
    assert (by_text.track, by_text.by) == ("two", "text")
    assert by_text.margin == pytest.approx(0.5, abs=1e-6)
    assert dict(by_text.scores) == pytest.approx({"one": 0.2, "two": 0.7})
    unknown = assign(tracks, SoundQuery(text="rain"), rate_hz=RATE_HZ, spans=spans, tagger=Constant())
    assert (unknown.track, unknown.by) == ("one", "spans")
    assert unknown.margin == pytest.approx(0.5)
    assignment = assign(tracks, SoundQuery(text="rain"), rate_hz=RATE_HZ, tagger=Constant())
    assert (assignment.track, assignment.by, assignment.margin) == ("one", "order", 0.0)


def test_what_is_heard_becomes_prompts() -> None:
    prompts = heard_prompts(Constant(), np.full(9, 0.9, np.float32), rate_hz=RATE_HZ, least=0.4)
    assert list(prompts) == ["bark", "vehicle horn", "music", "dog"]
    assert prompts["bark"] == pytest.approx(0.9)


@pytest.mark.parametrize("tagger_given", ["", "mn04", "mn04@", "other@x", "mn04@/nowhere", "yamnet@/nowhere"])
def test_a_tagger_that_is_not_there_is_named(tagger_given: str) -> None:
    with pytest.raises(UsageError):
        load_tagger(tagger_given)
    with pytest.raises(UsageError):
        Dnsmos(Path("/nowhere"))


def test_another_network_of_the_same_name_and_a_table_without_names_are_refused(data: Path, tmp_path: Path) -> None:
    nets = data / "sound" / "nets"
    for name in ("mn04_as", "dnsmos_sig_bak_ovr", "dnsmos_p808"):
        (tmp_path / f"{name}.onnx").write_bytes((nets / "gtcrn_stream.onnx").read_bytes())
    for load in (lambda: load_tagger(f"mn04@{tmp_path}"), lambda: Dnsmos(tmp_path)):
        with pytest.raises(UsageError, match="another network"):
            load()
    (tmp_path / "mn04_as.onnx").write_bytes((nets / "mn04_as.onnx").read_bytes())
    (tmp_path / "the_527_labels.csv").write_text("index,mid\n" + "0,/m/x\n" * 527, "utf-8")
    with pytest.raises(UsageError, match="has 0 labels"):
        load_tagger(f"mn04@{tmp_path}")


def test_weights_that_give_no_number_are_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def run(self, *_: Any) -> list[Any]:
            return [np.full((1, 527), np.nan, np.float32)]

    listeners = Dnsmos(data / "sound" / "nets")
    monkeypatch.setattr(listeners, "_p808", Broken())
    with pytest.raises(InputError, match="no number"):
        listeners.scores(noise(RATE_HZ), RATE_HZ)
    tagger = load_tagger(f"mn04@{data / 'sound' / 'nets'}")
    monkeypatch.setattr(tagger, "_session", Broken())
    with pytest.raises(InputError, match="no number"):
        text_similarity(tagger, "dog", noise(RATE_HZ), rate_hz=RATE_HZ)


# What the networks' own README measured, of the first clip of each class: the network, its top label, its probability.
MEASURED = [
    ("mn04", "dog_bark", "Bark", 0.71),
    ("mn04", "rain", "Rain", 0.83),
    ("mn04", "rooster", "Crowing, cock-a-doodle-doo", 0.68),
    ("mn04", "chainsaw", "Chainsaw", 0.38),
    ("mn04", "person_sneeze", "Sneeze", 0.38),
    ("mn04", "baby_cry", "Speech", 0.55),
    ("yamnet", "rain", "Water", 0.59),
    ("yamnet", "person_sneeze", "Silence", 0.76),
    ("yamnet", "sea_waves", "Water", 0.49),
]


@pytest.mark.extra_sound
@pytest.mark.extra_train
@pytest.mark.parametrize(("name", "kind", "label", "probability"), MEASURED)
def test_networks_say_what_was_measured_of_them(
    data: Path, name: str, kind: str, label: str, probability: float
) -> None:
    if find_spec("soundfile") is None:
        pytest.skip("the extra `sound` is not installed")
    if name == "yamnet" and find_spec("ai_edge_litert") is None:
        pytest.skip("the extra `train` is not installed")
    tagger = load_tagger(f"{name}@{data / 'sound' / 'nets'}")
    sound = read_sound(sorted((data / "audio" / "esc10" / kind).iterdir())[0])
    probabilities = tagger.probabilities(sound.samples, sound.rate_hz)
    assert tagger.labels[int(probabilities.argmax())] == label
    # windows of YAMNet may lie otherwise than they did there
    assert float(probabilities.max()) == pytest.approx(probability, abs=0.006 if name == "mn04" else 0.15)
    embedding = tagger.embedding(sound.samples, sound.rate_hz)
    assert embedding.shape == ({"mn04": 384, "yamnet": 1024}[name],)
    short = tagger.probabilities(np.zeros(1, np.float32), 8000)
    assert np.isfinite(short).all()


@pytest.mark.slow
@pytest.mark.extra_sound
def test_dnsmos_gives_what_its_release_gives(data: Path) -> None:
    if find_spec("soundfile") is None:
        pytest.skip("the extra `sound` is not installed")
    listeners = Dnsmos(data / "sound" / "nets")
    folder = data / "sound" / "separated" / "audio" / "enh-arabic-airport"
    expected_scores = {  # by speechmos 0.0.1.1, which has the same networks: speech, background, overall, P.808
        "mixture": (1.17991646, 1.12532393, 1.08382215, 2.1758802),
        "stem_speech": (3.14400820, 3.19108910, 2.43412941, 3.1861446),
    }
    for name, expected in expected_scores.items():
        sound = read_sound(folder / f"{name}.flac")
        scores = listeners.scores(sound.samples, sound.rate_hz)
        assert tuple(scores.values()) == pytest.approx(expected, abs=1e-4)
    with pytest.raises(InputError, match="silent"):
        listeners.scores(np.zeros(RATE_HZ, np.float32), RATE_HZ)
    stem = folder / "stem_speech.flac"
    listener = listener_of("speech_quality", str(data / "sound" / "nets"))
    sound = read_sound(stem)
    outcomes, _ = listener(sound.samples, sound.samples, stem)
    values = [outcome.value for outcome in outcomes.values() if isinstance(outcome, Scored)]
    assert values == pytest.approx(expected_scores["stem_speech"], abs=1e-4)
    silent, _ = listener(0 * sound.samples, sound.samples, stem)
    assert all(isinstance(outcome, Undefined) for outcome in silent.values())


def write_clap(folder: Path) -> Path:
    """A CLAP of random weights with the tokenizer and settings that a release has."""
    import torch
    import transformers

    folder.mkdir()
    letters = [chr(code) for code in range(ord("!"), 127)]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "\u0120", *letters]
    (folder / "vocab.json").write_text(json.dumps({token: place for place, token in enumerate(tokens)}), "utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", "utf-8")
    config = transformers.ClapConfig(
        text_config={
            "vocab_size": len(tokens),
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "projection_dim": 12,
            "max_position_embeddings": 90,
        },
        audio_config={
            "hidden_size": 32,
            "patch_embeds_hidden_size": 8,
            "depths": [1, 1, 1],
            "num_attention_heads": [1, 2, 4],
            "num_hidden_layers": 3,
            "window_size": 4,
            "spec_size": 64,
            "num_mel_bins": 16,
            "projection_dim": 12,
        },
        projection_dim=12,
    )
    before = torch.random.get_rng_state()
    torch.manual_seed(0)
    model = transformers.ClapModel(config)
    torch.random.set_rng_state(before)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    extractor_config = {"feature_size": 16, "sampling_rate": 16_000, "hop_length": 160, "fft_window_size": 512}
    (folder / "preprocessor_config.json").write_text(
        json.dumps({**extractor_config, "frequency_max": 8000, "max_length_s": 2, "truncation": "rand_trunc"}), "utf-8"
    )
    return folder


@pytest.mark.slow
@pytest.mark.extra_clip
def test_clap_of_a_folder_compares_words_and_sounds(tmp_path: Path) -> None:
    if any(find_spec(name) is None for name in ("torch", "transformers")):
        pytest.skip("the extra `clip` is not installed")
    import torch
    import transformers

    folder = write_clap(tmp_path / "clap")
    clap = load_tagger(f"clap@{folder}")
    assert isinstance(clap, Clap)
    sound = noise(2 * RATE_HZ)
    extractor = transformers.ClapFeatureExtractor.from_pretrained(folder)
    model: Any = transformers.ClapModel.from_pretrained(folder)
    tokens = transformers.RobertaTokenizer.from_pretrained(str(folder))
    with torch.inference_mode():
        inputs = extractor(sound, sampling_rate=RATE_HZ, return_tensors="pt")
        outputs = model(**inputs, **tokens(["dog", "rain"], padding=True, return_tensors="pt"))
    np.testing.assert_allclose(clap.embedding(sound, RATE_HZ), outputs.audio_embeds[0].numpy(), atol=1e-5)
    cosine = float(outputs.audio_embeds[0] @ outputs.text_embeds[1])
    assert text_similarity(clap, "Rain", sound, rate_hz=RATE_HZ) == pytest.approx(cosine, abs=1e-5)
    told_shares = outputs.logits_per_audio.softmax(dim=1)[0].numpy()
    shares = Clap(folder, labels=("dog", "rain")).probabilities(sound, RATE_HZ)
    np.testing.assert_allclose(shares, told_shares, atol=1e-4)
    longer = clap.embedding(noise(7 * RATE_HZ), RATE_HZ)
    assert float(np.linalg.norm(longer)) == pytest.approx(1.0, abs=1e-5)
    (folder / "preprocessor_config.json").write_text('{"hop_length": 0}', "utf-8")
    with pytest.raises(UsageError, match="hop_length"):
        load_tagger(f"clap@{folder}")


def test_each_tagger_is_listed() -> None:
    assert set(TAGGERS) == {"sound.compact.v1", "mn04", "yamnet", "clap"}


def test_the_shipped_tagger_hears_as_the_judge_does() -> None:
    tagger, judge = load_tagger(SHIPPED), load_network()
    sound = noise(3 * RATE_HZ)
    mixture = hear_mixture(sound[None], RATE_HZ)
    steps = judge.steps([mixture.mel])
    rain_evidence = np.zeros((1, len(tagger.labels)), np.float32)
    rain_evidence[0, tagger.labels.index("Rain")] = 1.0
    mean = steps.mean(axis=2, keepdims=True)
    logit = 4 * float(judge.evidence(mean, rain_evidence)[0][0, 0, 2])
    similarity = text_similarity(tagger, "rain", 3 * sound, rate_hz=RATE_HZ)  # as loud as it may be
    assert similarity == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-3)
    assert tagger.embedding(sound, RATE_HZ) == pytest.approx(mean[0, :, 0], abs=0.01)
    assert np.isfinite(tagger.probabilities(np.zeros(1, np.float32), 8000)).all()


def test_two_folders_are_scored_by_the_shipped_tagger_without_a_model(tmp_path: Path) -> None:
    for number in range(4):
        sound = noise(RATE_HZ, seed=number)
        for folder, samples in (("stems", sound), ("outputs", sound + 0.5 * noise(RATE_HZ, seed=9))):
            path = tmp_path / folder / str(number) / "rain.wav"
            path.parent.mkdir(parents=True)
            path.write_bytes(encode_wav(samples[None], RATE_HZ))
    for protocol in ("frechet", "accuracy"):
        options = ScoreOptions(prediction=tmp_path / "outputs", truth=tmp_path / "stems", protocol=protocol, workers=0)
        summary, _, _ = score_sounds(options)
        assert summary.ok == 4
        assert "network:sound.compact.v1" in summary.metrics[protocol]["signature"]


def test_a_separator_may_name_the_shipped_tagger() -> None:
    spec = separator_spec("nmf+sound.compact.v1")
    assert (spec.name, spec.tagger) == ("nmf+sound.compact.v1", SHIPPED)
    assert spec.open().tagger is not None
