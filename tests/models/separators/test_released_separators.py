"""Demucs and SAM Audio, against stand-ins of the same interface: what they are sent, and what comes of their tracks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from auscult.errors import InputError, UsageError
from auscult.models.separators import load_separator, separator_spec
from auscult.rng import generator
from auscult.types import SoundQuery, Span
from tiny_clip import needs_clip

pytestmark = pytest.mark.extra_clip
needs_clip()

RATE_HZ = 16_000
MIXTURE = (0.1 * generator(0, "released").standard_normal((2, 4000))).astype(np.float32)


class LoadedModule:
    """What a network of torch can do."""

    def eval(self) -> Any:
        return self

    def to(self, device: str) -> Any:
        assert device
        return self


def install(monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
    """Put modules of these names (a __ is a dot) and contents where they are imported from."""
    for name, contents in modules.items():
        module = ModuleType(name.replace("__", "."))
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture
def demucs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package whose networks give the mixture's share of each source; in the folder lies a bag of one network."""
    import torch

    class Network(LoadedModule):
        samplerate, audio_channels, sources = 44_100, 2, ("drums", "bass", "other", "vocals")

    def get_model(name: str, repo: Path | None = None) -> Network:
        assert repo is not None
        if name != "htdemucs" or (repo / "955717e8-8726e21a.th").read_bytes() != b"weights":
            raise RuntimeError(f"no weights\nof {name}")
        return Network()

    def apply_model(model: Network, mix: torch.Tensor, **options: Any) -> torch.Tensor:
        assert (options["shifts"], options["split"], mix.shape[:2]) == (0, True, (1, 2))
        assert abs(float(mix.mean(dim=1).std()) - 1) < 0.01  # as its own command prepares it
        return torch.stack([mix * share for share in (0.1, 0.2, 0.3, 0.4)], dim=1)

    classes = {name: type(name, (), {}) for name in ("HTDemucs", "HDemucs", "Demucs")}
    install(
        monkeypatch,
        demucs={},
        demucs__pretrained={"get_model": get_model},
        demucs__apply={"apply_model": apply_model},
        demucs__htdemucs=classes,
        demucs__hdemucs=classes,
        demucs__demucs=classes,
    )
    (tmp_path / "htdemucs.yaml").write_text("models: ['955717e8']\n", "utf-8")
    (tmp_path / "955717e8-8726e21a.th").write_bytes(b"weights")
    return tmp_path


def test_demucs_gives_its_tracks_at_the_rate_of_the_mixture(demucs: Path) -> None:
    separator = load_separator(f"demucs@{demucs}")
    query = SoundQuery(spans=(Span("+", 0.0, 0.2),))
    separation = separator.separation(MIXTURE, query, rate_hz=RATE_HZ)
    assert separation.assignment is not None
    assert list(separation.assignment.scores) == ["drums", "bass", "other", "vocals"]
    assert separation.samples.shape == (4000,)
    share = {"drums": 0.1, "bass": 0.2, "other": 0.3, "vocals": 0.4}[separation.assignment.track]
    middle = slice(200, -200)
    likeness = np.corrcoef(separation.samples[middle], MIXTURE.mean(axis=0)[middle])[0, 1]
    assert likeness > 0.95  # the upper end of the band fades in resampling
    assert float(separation.samples.std() / MIXTURE.mean(axis=0).std()) == pytest.approx(share, rel=0.1)
    assert not separator.separate(np.zeros((2, 500), np.float32), query, rate_hz=RATE_HZ).any()
    mono = separator.separate(MIXTURE[0], query, rate_hz=RATE_HZ)
    assert mono.shape == (4000,)


def test_weights_of_demucs_that_are_none_are_refused_and_a_change_of_them_is_seen(demucs: Path) -> None:
    before = separator_spec(f"demucs@{demucs}").revision
    (demucs / "955717e8-8726e21a.th").write_bytes(b"other weights")
    assert separator_spec(f"demucs@{demucs}").revision != before
    with pytest.raises(UsageError, match="cannot be loaded: no weights of htdemucs"):
        load_separator(f"demucs@{demucs}")
    (demucs / "other.yaml").write_text("models: []\n", "utf-8")
    with pytest.raises(UsageError, match="2 models"):
        load_separator(f"demucs@{demucs}")
    with pytest.raises(UsageError, match="no such folder"):
        load_separator("demucs@/nowhere")


def test_a_torch_that_would_run_code_of_the_weights_is_refused(demucs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch, "__version__", type(torch.__version__)("2.5.1+cpu"))
    with pytest.raises(UsageError, match=r"torch 2\.5\.1"):
        load_separator(f"demucs@{demucs}")


class Batch(SimpleNamespace, LoadedModule):
    """What the processor makes."""


@pytest.fixture
def sam_audio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, list[Batch]]:
    """A package whose network gives half the mixture and a little of its noise; and what it was sent."""
    import torch

    batches: list[Batch] = []

    class Network(LoadedModule):
        @classmethod
        def from_pretrained(cls, name: str) -> Network:
            if not (Path(name) / "config.json").is_file():
                raise OSError("no config.json")
            return cls()

        def separate(self, batch: Batch, *, predict_spans: bool, reranking_candidates: int) -> SimpleNamespace:
            assert (predict_spans, reranking_candidates) == (False, 1)
            batches.append(batch)
            longer = torch.nn.functional.pad(batch.audios[0][0] / 2, (0, 1920))
            return SimpleNamespace(target=[longer + 1e-4 * torch.randn_like(longer)])

    class Processor:
        audio_sampling_rate = 48_000

        @classmethod
        def from_pretrained(cls, name: str) -> Processor:
            assert Path(name).is_dir()
            return cls()

        def __call__(self, *, audios: Any, descriptions: Any, anchors: Any) -> Batch:
            return Batch(audios=audios, descriptions=descriptions, anchors=anchors)

    install(monkeypatch, sam_audio={"SAMAudio": Network, "SAMAudioProcessor": Processor})
    (tmp_path / "config.json").write_text("{}", "utf-8")
    return tmp_path, batches


def test_sam_audio_is_sent_words_and_spans_and_answers_the_same_twice(sam_audio: tuple[Path, list[Batch]]) -> None:
    folder, batches = sam_audio
    separator = load_separator(f"sam_audio@{folder}")
    query = SoundQuery(text="Dog barking", spans=(Span("+", 0.05, 0.1), Span("-", 0.2, 0.25)))
    first, second = (separator.separate(MIXTURE, query, rate_hz=RATE_HZ) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert batches[0].descriptions == ["dog barking"]
    assert batches[0].anchors == [[["+", 0.05, 0.1], ["-", 0.2, 0.25]]]
    assert tuple(batches[0].audios[0].shape) == (1, 12_000)
    assert float(first.std() / MIXTURE.mean(axis=0).std()) == pytest.approx(0.5, rel=0.1)
    separator.separate(MIXTURE, SoundQuery(text="rain"), rate_hz=RATE_HZ)
    assert batches[-1].anchors is None
    with pytest.raises(InputError, match="neither words nor spans"):
        separator.separate(MIXTURE, SoundQuery(picture=Path("dog.jpg")), rate_hz=RATE_HZ)
    (folder / "config.json").unlink()
    with pytest.raises(UsageError, match=r"cannot be loaded: no config\.json"):
        load_separator(f"sam_audio@{folder}")


@pytest.mark.parametrize("name", ["demucs", "sam_audio"])
def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=name):
        load_separator(f"{name}@{tmp_path}")
