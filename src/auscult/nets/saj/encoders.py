"""Encoders of sounds, frame by frame, of words and of pictures; all but one of ``transformers``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional
from transformers import PeAudioEncoderConfig
from transformers.models.pe_audio import modeling_pe_audio as pe_audio

from auscult.errors import UsageError
from auscult.nets.hf_folder import build_settings
from auscult.nets.mq_auditor.beats import log_mel
from auscult.nets.mq_auditor.network import SoundEncoder

TEXT: Final = {"modernbert": ("ModernBertConfig", "ModernBertModel"), "bert": ("BertConfig", "BertModel")}
VISION: Final = {
    "vit": ("ViTConfig", "ViTModel"),
    "clip_vision_model": ("CLIPVisionConfig", "CLIPVisionModel"),
    "dinov2": ("Dinov2Config", "Dinov2Model"),
}
SOUND: Final = ("pe_audio", "ast", "clap", "mel")
_HOP: Final = 160  # of log_mel, at 16 kHz
_BANDS: Final = 128


def library_model(settings: Mapping[str, Any], known: Mapping[str, tuple[str, str]]) -> Any:
    """A model of ``transformers`` with random weights, by ``model_type``; only settings that it declares are read."""
    kind = str(settings.get("model_type"))
    if kind not in known:
        raise UsageError(f"there is no encoder {kind[:40]!r}", expected=f"model_type: {', '.join(known)}")
    config, model = (getattr(transformers, name) for name in known[kind])
    return model(build_settings(settings, config, {}))


class Transformer(nn.Module):
    """Layers of PE-AV (rotary places, norms of queries and keys, SwiGLU); the inner width is 8/3, in steps of 64.

    Args:
        width: Of what it takes and gives.
        layers: How many.
        heads: Of attention.
        begun: Whether a class token and a residual block of convolutions stand before them and a line behind, as in
            PE-AV.
    """

    def __init__(self, width: int, layers: int, heads: int, *, begun: bool = False) -> None:
        super().__init__()
        config = PeAudioEncoderConfig(
            hidden_size=width,
            intermediate_size=64 * math.ceil(width / 24),
            num_hidden_layers=layers,
            num_attention_heads=heads,
            head_dim=width // heads,
        )
        config._attn_implementation = "sdpa"  # noqa: SLF001 - the library's own way to say it
        self.begin: Any = pe_audio.PeAudioEncoderPatchEmbedder(config) if begun else None
        self.layers = nn.ModuleList(pe_audio.PeAudioEncoderLayer(config, at) for at in range(layers))
        self.norm = pe_audio.PeAudioEncoderRMSNorm(width, eps=config.rms_norm_eps)
        self.rotary = pe_audio.PeAudioEncoderRotaryEmbedding(config)
        self.output: Any = nn.Linear(width, width, bias=False) if begun else nn.Identity()

    def forward(self, given: Tensor, known: Tensor, places: Tensor | None = None) -> Tensor:
        """Transform (n, t, width), of which ``known``, bool (n, t), are attended to; ``places`` (1, t) or 0, 1, ..."""
        if self.begin is not None:
            given, known = self.begin(given, padding_mask=known)
        at = torch.arange(given.shape[1], device=given.device)[None] if places is None else places
        rotary = self.rotary(given, at)
        mask = known[:, None, None].expand(-1, 1, given.shape[1], -1)
        for layer in self.layers:
            given = layer(given, attention_mask=mask, position_embeddings=rotary)
        found: Tensor = self.output(self.norm(given))
        return found if self.begin is None else found[:, 1:]


class FrameEncoder(nn.Module):
    """Sounds to features of frames: PE-audio, AST or CLAP of ``transformers``, or a small encoder of our own.

    AST and CLAP hear windows as long as they were made for, one after another, and their features are means over
    frequencies.

    Args:
        settings: ``kind``, one of ``SOUND``, and the settings of that encoder. Of ``mel``, which is ours: ``width``,
            ``halvings`` of 100 frames a second, ``layers`` and ``heads``.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.kind = str(settings.get("kind"))
        if self.kind not in SOUND:
            raise UsageError(f"there is no encoder of sounds {self.kind[:40]!r}", expected=f"kind: {', '.join(SOUND)}")
        self.rate_hz = 16_000 if self.kind in {"ast", "mel"} else 48_000
        self.net: Any = MelFrames(settings) if self.kind == "mel" else SoundEncoder(settings)
        self.width: int = self.net.width
        self.window = self._rows = self._columns = 0
        if self.kind == "mel":
            self.steps = _HOP << self.net.halvings
            return
        config = self.net.net.config
        if self.kind == "pe_audio":
            self.steps = int(config.dac_config.hop_length)
            return
        if self.kind == "ast":
            seconds = max(1, config.max_length // 100)
            self._rows = (_BANDS - config.patch_size) // config.frequency_stride + 1
            columns = (config.max_length - config.patch_size) // config.time_stride + 1
            self._columns = min(columns, seconds * 100 // config.time_stride)
        else:
            seconds = 10
            side = config.spec_size // config.patch_stride[0] // 2 ** (len(config.depths) - 1)
            self._rows = side * config.num_mel_bins // config.spec_size
            self._columns = side * config.spec_size // config.num_mel_bins
        self.window = seconds * self.rate_hz
        self.steps = -(-self.window // self._columns)

    def frames(self, samples: Tensor | int) -> Any:
        """How many frames a sound of so many samples has."""
        return -(-samples // self.steps)

    def forward(self, sounds: Tensor, samples: Tensor) -> Tensor:
        """Encode (n, samples), silent behind ``samples`` of each, (n,), as (n, frames, width)."""
        wanted = int(self.frames(sounds.shape[1]))
        size = self.window or self.steps
        sounds = functional.pad(sounds, (0, -sounds.shape[1] % size))
        if self.kind == "mel":
            return self.net(sounds, self.frames(samples))
        if self.kind == "pe_audio":
            known = torch.arange(sounds.shape[1], device=sounds.device) < samples[:, None]
            whole = {} if bool(known[:, :: self.steps].all()) else {"padding_mask": known}
            return self.net.net(input_values=sounds[:, None], **whole).last_hidden_state
        found = self.net(sounds.reshape(-1, self.window))
        found = found[:, 2:] if self.kind == "ast" else found  # without its two tokens of the whole
        found = found.unflatten(1, (self._rows, -1)).mean(dim=1)[:, : self._columns]
        return found.reshape(len(sounds), -1, self.width)[:, :wanted]


class MelFrames(nn.Module):
    """Log mel energies behind strided convolutions and a Transformer: small enough to learn from nothing."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.width, self.halvings = int(settings["width"]), int(settings["halvings"])
        widths = [_BANDS, *[self.width] * self.halvings]
        self.convolutions = nn.ModuleList(
            nn.Conv1d(before, self.width, 3, stride=2, padding=1) for before in widths[:-1]
        )
        self.norms = nn.ModuleList(nn.LayerNorm(self.width) for _ in widths[:-1])
        self.transformer = Transformer(self.width, int(settings["layers"]), int(settings["heads"]))

    def forward(self, sounds: Tensor, frames: Tensor) -> Tensor:
        """Encode (n, samples), of which each has so many ``frames``."""
        with torch.no_grad():
            found = (log_mel(functional.pad(sounds, (0, 240))) - 10.0) / 5.0
        found = found.to(self.convolutions[0].weight.dtype)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            found = functional.gelu(norm(convolution(found.transpose(1, 2)).transpose(1, 2)))
        known = torch.arange(found.shape[1], device=found.device) < frames[:, None]
        return self.transformer(found, known)
