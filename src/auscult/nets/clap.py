"""CLAP from a folder of the user's: sounds and words to vectors that can be compared. Nothing is downloaded.

Wu et al., ICASSP 2023, as ``transformers`` has it. The folder is what ``save_pretrained`` of a CLAP model, of its
tokenizer and of its feature extractor writes, such as a snapshot of ``laion/clap-htsat-unfused``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import InputError, UsageError
from auscult.nets.hf_folder import Family, check_folder, finite, load, read_table
from auscult.nets.hf_pictures import PREPARED
from auscult.types import Floats, Samples

CLAP: Final = Family(title="CLAP", extra="clip", model="ClapModel", types=("clap",), reader="RobertaTokenizer")
_PREPARING: Final = {  # what of the feature extractor's settings is read, with its usual value and its most
    "feature_size": (64, 512), "sampling_rate": (48_000, 192_000), "hop_length": (480, 65_536),
    "fft_window_size": (1024, 65_536), "frequency_min": (0, 96_000), "frequency_max": (14_000, 96_000),
    "max_length_s": (10, 60),
}  # fmt: skip
_MOST_WORDS: Final = 77


@dataclass(frozen=True, slots=True, eq=False)
class ClapModel:
    """A loaded model; sounds longer than its window are cut into windows, whose vectors are averaged."""

    path: Path
    rate_hz: int
    window_s: int
    scale: float  # what cosines are multiplied by before a softmax, as it was trained
    _net: Any
    _prepare: Any

    def sound(self, samples: Samples, rate_hz: int) -> Floats:
        """The vector of a sound (samples,) or (channels, samples): float32 (d,), of length 1."""
        import torch

        heard = mono_at(samples, rate_hz=rate_hz, wanted_hz=self.rate_hz)
        size, found = self.rate_hz * self.window_s, []
        for start in range(0, heard.size, size):
            part = heard[start : start + size]
            if start and part.size < size // 10:  # a scrap behind whole windows
                break
            given = self._prepare(part, sampling_rate=self.rate_hz, return_tensors="pt")
            with torch.inference_mode():
                found.append(self._vectors(self._net.model.get_audio_features(**given)))
        mean = np.concatenate(found).mean(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)

    def words(self, texts: Sequence[str]) -> Floats:
        """The vectors of sentences, float32 (n, d), each of length 1."""
        import torch

        tokens = self._net.tokens(
            list(texts), padding=True, truncation=True, max_length=_MOST_WORDS, return_tensors="pt"
        )
        with torch.inference_mode():
            return self._vectors(self._net.model.get_text_features(**tokens))

    def _vectors(self, found: Any) -> Floats:
        return np.asarray(finite(getattr(found, "pooler_output", found), self._net.folder).numpy(), np.float32)


def load_clap(path: Path) -> ClapModel:
    """Check a folder and load its model onto the CPU, in float32; a ``UsageError`` says what is wrong."""
    net = load(check_folder(path, CLAP))
    import transformers

    settings = _settings(path / PREPARED)
    scale = float(finite(net.model.logit_scale_a.detach().exp(), net.folder))
    fused = bool(net.model.config.audio_config.enable_fusion)
    prepare = transformers.ClapFeatureExtractor(**settings, truncation="fusion" if fused else "rand_trunc")
    return ClapModel(path, int(settings["sampling_rate"]), int(settings["max_length_s"]), scale, net, prepare)


def _settings(path: Path) -> dict[str, Any]:
    """How sounds are prepared, as a file says, or as usual where there is none."""
    try:
        table = read_table(path) if path.is_file() else {}
    except InputError as error:
        raise UsageError(error.message, path=path, expected=CLAP.expected) from error
    settings = {name: table.get(name, usual) for name, (usual, _) in _PREPARING.items()}
    for name, (_, most) in _PREPARING.items():
        value, least = settings[name], 0 if name == "frequency_min" else 1
        if not isinstance(value, int | float) or not least <= value <= most:
            raise UsageError(
                f"{name!r} is {str(value)[:40]}, not from {least} to {most}", path=path, expected=CLAP.expected
            )
    return settings
