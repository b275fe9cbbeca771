"""CLAP and Whisper from a folder of the user's: sounds and words to vectors, and sound to words. Nothing is downloaded.

Wu et al., ICASSP 2023, and Radford et al., ICML 2023, as ``transformers`` has them. A folder is what
``save_pretrained`` of a model, of its tokenizer and, for CLAP, of its feature extractor writes, such as a snapshot of
``laion/clap-htsat-unfused`` or of ``openai/whisper-tiny.en``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import UsageError
from auscult.nets.hf_folder import PREPARED, Family, Loaded, check_folder, finite, load, quiet, read_table
from auscult.types import Floats, Samples

CLAP: Final = Family(title="CLAP", extra="clip", model="ClapModel", types=("clap",), reader="RobertaTokenizer")
_PREPARING: Final = {  # what of the feature extractor's settings is read: usual, least, most
    "feature_size": (64, 1, 512), "sampling_rate": (48_000, 4000, 192_000), "hop_length": (480, 16, 65_536),
    "fft_window_size": (1024, 16, 65_536), "frequency_min": (0, 0, 96_000), "frequency_max": (14_000, 1, 96_000),
    "max_length_s": (10, 1, 60),
}  # fmt: skip
_MOST_WORDS: Final = 77


class Clap:
    """A model of a folder, for any words, or with labels to choose from; a ``UsageError`` says what is wrong."""

    def __init__(self, folder: Path, *, labels: Sequence[str] = ()) -> None:
        self.labels = tuple(labels)
        self._net = load(check_folder(folder, CLAP))
        from transformers import ClapFeatureExtractor

        settings = _settings(folder / PREPARED)
        fused = bool(self._net.model.config.audio_config.enable_fusion)
        self._prepare = ClapFeatureExtractor(**settings, truncation="fusion" if fused else "rand_trunc")
        self._rate_hz, self._window_s = int(settings["sampling_rate"]), int(settings["max_length_s"])
        self._scale = float(finite(self._net.model.logit_scale_a.detach().exp(), self._net.folder))

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label (zero-shot), float32 (labels,), which sum to 1: a softmax of its cosines, scaled as trained."""
        if not self.labels:
            return np.zeros(0, np.float32)
        logits = self._scale * self._words(self.labels) @ self.embedding(samples, rate_hz)
        odds = np.exp(logits - logits.max())
        return np.asarray(odds / odds.sum(), np.float32)

    def similarity(self, text: str, samples: Samples, rate_hz: int) -> float:
        """Cosine of words and sound."""
        return float(self._words([text.lower()])[0] @ self.embedding(samples, rate_hz))

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """The vector of a sound (samples,) or (channels, samples): float32 (d,), of length 1.

        Of a sound that is longer than the model's window it is the mean over windows.
        """
        mono, vectors = mono_at(samples, rate_hz=rate_hz, wanted_hz=self._rate_hz), []
        size = self._rate_hz * self._window_s
        for start in range(0, max(1, mono.size - size // 2), size):  # no scrap behind whole windows
            part = mono[start : start + size]
            inputs = self._prepare(part, sampling_rate=self._rate_hz, return_tensors="pt")
            vectors.append(self._vectors("get_audio_features", inputs))
        mean = np.concatenate(vectors).mean(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)

    def _words(self, texts: Sequence[str]) -> Floats:
        """The vectors of sentences, float32 (n, d), each of length 1."""
        cut = {"padding": True, "truncation": True, "max_length": _MOST_WORDS}
        return self._vectors("get_text_features", self._net.tokens(list(texts), return_tensors="pt", **cut))

    def _vectors(self, method: str, inputs: Any) -> Floats:
        import torch

        with torch.inference_mode():
            output = getattr(self._net.model, method)(**inputs.to(self._net.device))
        vectors = finite(getattr(output, "pooler_output", output), self._net.folder)
        return np.asarray(vectors.cpu().numpy(), np.float32)


def _settings(path: Path) -> dict[str, Any]:
    """How sounds are prepared, as a file says, or as usual where there is none."""
    table = read_table(path) if path.is_file() else {}
    settings = {name: table.get(name, usual) for name, (usual, _, _) in _PREPARING.items()}
    for name, (_, least, most) in _PREPARING.items():
        if not isinstance(settings[name], int | float) or not least <= settings[name] <= most:
            wrong = f"{name!r} is {str(settings[name])[:40]}, not from {least} to {most}"
            raise UsageError(wrong, path=path, expected=CLAP.expected)
    return settings


WHISPER: Final = Family(
    title="Whisper",
    extra="clip",
    model="WhisperForConditionalGeneration",
    types=("whisper",),
    reader="WhisperTokenizer",
)
RATE_HZ: Final = 16_000
_MOST_TOKENS: Final = 224


class Whisper:
    """A model of a folder, decoded greedily, with the language it finds itself."""

    def __init__(self, net: Loaded) -> None:
        from transformers import WhisperFeatureExtractor

        config = net.model.config
        hop = 160
        self._net = net
        self._seconds = 2 * int(config.max_source_positions) * hop // RATE_HZ
        self._prepare: Any = WhisperFeatureExtractor(
            feature_size=int(config.num_mel_bins), sampling_rate=RATE_HZ, hop_length=hop, chunk_length=self._seconds
        )
        self._most = min(_MOST_TOKENS, int(config.max_target_positions) // 2)

    def transcript(self, samples: Samples, rate_hz: int) -> str:
        """What is said in a sound, (samples,) or (channels, samples); long sounds are cut into the model's windows."""
        import torch

        mono, texts = mono_at(samples, rate_hz=rate_hz, wanted_hz=RATE_HZ), []
        size = self._seconds * RATE_HZ
        for start in range(0, max(1, mono.size), size):
            inputs = self._prepare(mono[start : start + size], sampling_rate=RATE_HZ, return_tensors="pt")
            features = inputs["input_features"].to(self._net.device)
            with torch.inference_mode(), quiet():
                tokens = self._net.model.generate(features, max_new_tokens=self._most, do_sample=False, num_beams=1)
            texts.append(self._net.tokens.decode(tokens[0], skip_special_tokens=True).strip())
        return " ".join(filter(None, texts))


def load_whisper(path: Path) -> Whisper:
    """Load the model of a folder; a ``UsageError`` says what is wrong with it."""
    net = load(check_folder(path, WHISPER))
    if int(net.model.config.max_source_positions) < 50:
        raise UsageError("Whisper's window is shorter than a second", path=path, expected=WHISPER.expected)
    return Whisper(net)
