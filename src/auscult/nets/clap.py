"""CLAP from a folder of the user's: sounds and words to vectors that can be compared. Nothing is downloaded.

Wu et al., ICASSP 2023, as ``transformers`` has it. The folder is what ``save_pretrained`` of a CLAP model, of its
tokenizer and of its feature extractor writes, such as a snapshot of ``laion/clap-htsat-unfused``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import InputError, UsageError
from auscult.nets.hf_folder import Family, check_folder, finite, load, read_table
from auscult.nets.hf_pictures import PREPARED
from auscult.types import Floats, Samples

CLAP: Final = Family(title="CLAP", extra="clip", model="ClapModel", types=("clap",), reader="RobertaTokenizer")
_PREPARING: Final = {  # what of the feature extractor's settings is read: usual, least, most
    "feature_size": (64, 1, 512), "sampling_rate": (48_000, 4000, 192_000), "hop_length": (480, 16, 65_536),
    "fft_window_size": (1024, 16, 65_536), "frequency_min": (0, 0, 96_000), "frequency_max": (14_000, 1, 96_000),
    "max_length_s": (10, 1, 60),
}  # fmt: skip
_MOST_WORDS: Final = 77


class ClapModel:
    """A model of a folder, on the CPU; a ``UsageError`` says what is wrong with the folder."""

    def __init__(self, path: Path) -> None:
        self._net = load(check_folder(path, CLAP))
        from transformers import ClapFeatureExtractor

        settings = _settings(path / PREPARED)
        fused = bool(self._net.model.config.audio_config.enable_fusion)
        self._prepare = ClapFeatureExtractor(**settings, truncation="fusion" if fused else "rand_trunc")
        self._rate_hz, self._window_s = int(settings["sampling_rate"]), int(settings["max_length_s"])
        self.scale = float(finite(self._net.model.logit_scale_a.detach().exp(), self._net.folder))
        """What cosines are multiplied by before a softmax, as it was trained."""

    def sound(self, samples: Samples, rate_hz: int) -> Floats:
        """The vector of a sound (samples,) or (channels, samples): float32 (d,), of length 1.

        Of a sound that is longer than the model's window it is the mean over windows.
        """
        import torch

        heard, found = mono_at(samples, rate_hz=rate_hz, wanted_hz=self._rate_hz), []
        size = self._rate_hz * self._window_s
        for start in range(0, max(1, heard.size - size // 2), size):  # no scrap behind whole windows
            part = heard[start : start + size]
            given = self._prepare(part, sampling_rate=self._rate_hz, return_tensors="pt")
            with torch.inference_mode():
                found.append(self._vectors(self._net.model.get_audio_features(**given)))
        mean = np.concatenate(found).mean(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)

    def words(self, texts: Sequence[str]) -> Floats:
        """The vectors of sentences, float32 (n, d), each of length 1."""
        import torch

        cut = {"padding": True, "truncation": True, "max_length": _MOST_WORDS}
        tokens = self._net.tokens(list(texts), return_tensors="pt", **cut)
        with torch.inference_mode():
            return self._vectors(self._net.model.get_text_features(**tokens))

    def _vectors(self, found: Any) -> Floats:
        return np.asarray(finite(getattr(found, "pooler_output", found), self._net.folder).numpy(), np.float32)


def _settings(path: Path) -> dict[str, Any]:
    """How sounds are prepared, as a file says, or as usual where there is none."""
    try:
        table = read_table(path) if path.is_file() else {}
    except InputError as error:
        raise UsageError(error.message, path=path, expected=CLAP.expected) from error
    settings = {name: table.get(name, usual) for name, (usual, _, _) in _PREPARING.items()}
    for name, (_, least, most) in _PREPARING.items():
        if not isinstance(settings[name], int | float) or not least <= settings[name] <= most:
            wrong = f"{name!r} is {str(settings[name])[:40]}, not from {least} to {most}"
            raise UsageError(wrong, path=path, expected=CLAP.expected)
    return settings
