"""Whisper from a folder of the user's: sound to words. Nothing is downloaded.

Radford et al., ICML 2023, as ``transformers`` has it. The folder is what ``save_pretrained`` of a model and of its
tokenizer writes, such as a snapshot of ``openai/whisper-tiny.en``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from auscult.arrays.resampling import mono_at
from auscult.errors import UsageError
from auscult.nets.hf_folder import Family, Loaded, check_folder, load, quiet
from auscult.types import Samples

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

        heard, said = mono_at(samples, rate_hz=rate_hz, wanted_hz=RATE_HZ), []
        size = self._seconds * RATE_HZ
        for start in range(0, max(1, heard.size), size):
            given = self._prepare(heard[start : start + size], sampling_rate=RATE_HZ, return_tensors="pt")
            features = given["input_features"].to(self._net.device)
            with torch.inference_mode(), quiet():
                tokens = self._net.model.generate(features, max_new_tokens=self._most, do_sample=False, num_beams=1)
            said.append(self._net.tokens.decode(tokens[0], skip_special_tokens=True).strip())
        return " ".join(filter(None, said))


def load_whisper(path: Path) -> Whisper:
    """Load the model of a folder; a ``UsageError`` says what is wrong with it."""
    net = load(check_folder(path, WHISPER))
    if int(net.model.config.max_source_positions) < 50:
        raise UsageError("Whisper's window is shorter than a second", path=path, expected=WHISPER.expected)
    return Whisper(net)
