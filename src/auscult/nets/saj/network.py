"""SAJ: one encoder for mixture and output, prompts beside them, and a head for each score (Sec. III-B, Fig. 3).

Encoders of sounds, texts and pictures are those of ``transformers``, with random weights, or a small one of our own.
"""

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
from auscult.nets.mq_auditor.network import SoundEncoder, log_mel
from auscult.nets.saj.inputs import SajBatch
from auscult.nets.saj.settings import DIFFICULTY, SajDesign

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

    With ``begun`` a class token and a residual block of convolutions stand before them and a line behind, as in PE-AV.
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
        self.layers = nn.ModuleList(pe_audio.PeAudioEncoderLayer(config, index) for index in range(layers))
        self.norm = pe_audio.PeAudioEncoderRMSNorm(width, eps=config.rms_norm_eps)
        self.rotary = pe_audio.PeAudioEncoderRotaryEmbedding(config)
        self.output: Any = nn.Linear(width, width, bias=False) if begun else nn.Identity()

    def forward(self, inputs: Tensor, known: Tensor, places: Tensor | None = None) -> Tensor:
        """Transform (n, t, width), of which ``known``, bool (n, t), are attended to; ``places`` (1, t) or 0, 1, ..."""
        if self.begin is not None:
            inputs, known = self.begin(inputs, padding_mask=known)
        positions = torch.arange(inputs.shape[1], device=inputs.device)[None] if places is None else places
        rotary = self.rotary(inputs, positions)
        mask = known[:, None, None].expand(-1, 1, inputs.shape[1], -1)
        for layer in self.layers:
            inputs = layer(inputs, attention_mask=mask, position_embeddings=rotary)
        output: Tensor = self.output(self.norm(inputs))
        return output if self.begin is None else output[:, 1:]


class FrameEncoder(nn.Module):
    """Sounds to features of frames: PE-audio, AST or CLAP of ``transformers``, or a small encoder of our own.

    AST and CLAP hear windows as long as they were made for, one after another, and their features are means over
    frequencies. Settings are ``kind``, one of ``SOUND``, and that encoder's; those of ``mel``, which is ours, are
    ``width``, ``halvings`` of 100 frames a second, ``layers`` and ``heads``.
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
        count = int(self.frames(sounds.shape[1]))
        size = self.window or self.steps
        sounds = functional.pad(sounds, (0, -sounds.shape[1] % size))
        if self.kind == "mel":
            return self.net(sounds, self.frames(samples))
        if self.kind == "pe_audio":
            known = torch.arange(sounds.shape[1], device=sounds.device) < samples[:, None]
            padding = {} if bool(known[:, :: self.steps].all()) else {"padding_mask": known}
            return self.net.net(input_values=sounds[:, None], **padding).last_hidden_state
        features = self.net(sounds.reshape(-1, self.window))
        features = features[:, 2:] if self.kind == "ast" else features  # without its two tokens of the whole
        features = features.unflatten(1, (self._rows, -1)).mean(dim=1)[:, : self._columns]
        return features.reshape(len(sounds), -1, self.width)[:, :count]


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
            features = (log_mel(functional.pad(sounds, (0, 240))) - 10.0) / 5.0
        features = features.to(self.convolutions[0].weight.dtype)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            features = functional.gelu(norm(convolution(features.transpose(1, 2)).transpose(1, 2)))
        known = torch.arange(features.shape[1], device=features.device) < frames[:, None]
        return self.transformer(features, known)


ALIGNMENT: Final = "alignment"
_SPAN_STATES: Final = 3
_RELEASED_INNER: Final = 256


class Saj(nn.Module):
    """The network, with random weights.

    Scores are 1..5 for what it was trained on, not clipped; ``alignment`` is a logit of whether the output follows the
    prompts. Scores of difficulty are told with the output left out, so that it cannot change them; the paper does not
    say so, and our verdicts promise it.
    """

    def __init__(self, design: SajDesign) -> None:
        super().__init__()
        self.design = design
        self.audio = FrameEncoder(design.audio)
        self.text: Any = None if design.text is None else library_model(design.text, TEXT)
        self.vision: Any = None if design.vision is None else library_model(design.vision, VISION)
        words = 0 if self.text is None else int(self.text.config.hidden_size)
        seen = 0 if self.vision is None else int(self.vision.config.hidden_size)
        self.fusion: Any = (
            ReleasedFusion(design, audio=self.audio.width, words=words)
            if design.form == "sam_audio"
            else Fusion(design, audio=self.audio.width, words=words, seen=seen)
        )
        if design.form == "sam_audio":
            self.head: Any = nn.Linear(design.width, len(design.axes), bias=False)
        else:
            names = [*design.axes, *[ALIGNMENT] * design.alignment]
            self.head = nn.ModuleDict({name: nn.Linear(design.width, 1) for name in names})
        self.mean = nn.Buffer(torch.zeros(len(design.axes)))
        self.std = nn.Buffer(torch.ones(len(design.axes)))

    def forward(self, batch: SajBatch) -> dict[str, Tensor]:
        """Scores by axis, and ``alignment`` where there is that head, (n,) each."""
        mixture, output = self._heard(batch)
        frames = torch.arange(mixture.shape[1], device=mixture.device)
        known = frames < self.audio.frames(batch.samples)[:, None]
        prompts = {"text": self._read(batch), "seen": self._seen(batch)}
        fused = self.fusion(mixture, output, batch, known=known, **prompts)
        if self.design.form == "sam_audio":
            raw = (self.head(fused) * known[..., None]).sum(dim=1) / known.sum(dim=1)[:, None]
            return dict(zip(self.design.axes, (raw * self.std + self.mean).T, strict=True))
        difficulties = set(DIFFICULTY) & set(self.design.axes)
        alone = self.fusion(mixture, None, batch, known=known, **prompts) if difficulties else fused
        scores = {name: head(alone if name in difficulties else fused)[:, 0] for name, head in self.head.items()}
        for index, axis in enumerate(self.design.axes):
            scores[axis] = scores[axis] * self.std[index] + self.mean[index]
        return scores

    def _heard(self, batch: SajBatch) -> tuple[Tensor, Tensor]:
        """Features of mixture and output, (n, frames, width) each; a mixture of several rows is encoded once."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns(self.audio)):
            sounds = torch.cat([batch.mixtures, batch.outputs])
            both = self.audio(sounds, torch.cat([batch.mixture_samples, batch.samples]))
        mixtures, outputs = both.split([len(batch.mixtures), len(batch.outputs)])
        return mixtures[batch.mixture_of], outputs

    def _read(self, batch: SajBatch) -> Tensor | None:
        """Hidden states of the words, (n, t, width); None where no row has a text."""
        if self.text is None or not bool(batch.words_known.any()):
            return None
        known = batch.words_known.clone()
        known[:, 0] = True  # rows without a text are left out later, and no row may be all padding
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns(self.text)):
            out = self.text(input_ids=batch.words, attention_mask=known.long(), output_hidden_states=True)
        return out.hidden_states[min(self.design.text_layer, len(out.hidden_states) - 1)]

    def _seen(self, batch: SajBatch) -> Tensor | None:
        """Features of the pictures, (n, k, width); None where no row has one."""
        if self.vision is None or not batch.pictures.shape[1]:
            return None
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns(self.vision)):
            features = self.vision(pixel_values=batch.pictures.flatten(0, 1)).last_hidden_state[:, 0]
        return features.unflatten(0, batch.pictures.shape[:2])


def learns(part: nn.Module) -> bool:
    """Whether any of its weights do."""
    return any(parameter.requires_grad for parameter in part.parameters())


class Fusion(nn.Module):
    """Streams joined by self-attention, the text by cross-attention, then a Transformer and the mean over frames."""

    def __init__(self, design: SajDesign, *, audio: int, words: int, seen: int) -> None:
        super().__init__()
        width = design.width
        self.in_time = design.joined == "time"
        sources = {"mixture": audio, "output": audio, "spans": 0, "picture": seen}
        used = ("mixture", "output", *(name for name in design.prompts if name != "text"))
        self.project = nn.ModuleDict({name: nn.Linear(sources[name], width) for name in used if sources[name]})
        self.spans: Any = nn.Embedding(_SPAN_STATES, width) if design.spans else None
        self.streams = nn.ParameterDict({name: nn.Parameter(torch.randn(width) * 0.02) for name in used})
        if not self.in_time:
            self.joined = nn.Linear(width * len(used), width)
        self.first = Transformer(width, 1, design.heads)
        if words:
            self.words = nn.Linear(words, width)
            self.asks = nn.LayerNorm(width)
            self.cross: Any = nn.MultiheadAttention(width, design.heads, batch_first=True)
        self.last = Transformer(width, design.layers, design.heads)

    def forward(
        self, mixture: Tensor, output: Tensor | None, batch: SajBatch, *, known: Tensor, text: Tensor | None,
        seen: Tensor | None,
    ) -> Tensor:  # fmt: skip
        """What is known of rows, (n, width); without the output where that is None."""
        frames = mixture.shape[1]
        always = known.new_ones(len(mixture))
        streams = {"mixture": (self.project["mixture"](mixture), always)}
        if output is not None:
            streams["output"] = (self.project["output"](_resampled(output, frames)), always)
        if self.spans is not None:
            streams["spans"] = (self.spans(_resampled(batch.spans[..., None], frames)[..., 0]), batch.asked["spans"])
        if seen is not None:
            streams["picture"] = (self.project["picture"](_resampled(seen, frames)), batch.asked["picture"])
        stream, present = self._joined(streams, known)
        places = torch.arange(frames, device=known.device).repeat(stream.shape[1] // frames)[None]
        stream = self.first(stream, present, places)
        if text is not None:
            stream = stream + self._asked(stream, text, batch)
        stream = self.last(stream, present, places)
        return (stream * present[..., None]).sum(dim=1) / present.sum(dim=1)[:, None]

    def _joined(self, streams: Mapping[str, tuple[Tensor, Tensor]], known: Tensor) -> tuple[Tensor, Tensor]:
        """The streams one after another, or joined in each frame, and which places are there; absent ones are not."""
        if self.in_time:
            joined = torch.cat([values + self.streams[name] for name, (values, _) in streams.items()], dim=1)
            return joined, torch.cat([known & present[:, None] for _, present in streams.values()], dim=1)
        absent = known.new_zeros(len(known))
        parts = []
        for name, stand_in in self.streams.items():
            values, present = streams.get(name, (torch.zeros_like(streams["mixture"][0]), absent))
            parts.append(torch.where(present[:, None, None], values, stand_in.to(values.dtype)))
        return self.joined(torch.cat(parts, dim=2)), known

    def _asked(self, inputs: Tensor, text: Tensor, batch: SajBatch) -> Tensor:
        has = batch.asked["text"]
        padding = ~batch.words_known & has[:, None]
        words = self.words(text)
        attended: Tensor = self.cross(self.asks(inputs), words, words, key_padding_mask=padding, need_weights=False)[0]
        return attended * has[:, None, None]


class ReleasedFusion(nn.Module):
    """Channels of output and mixture, joined with the text's first token, through six layers of PE-AV's kind."""

    def __init__(self, design: SajDesign, *, audio: int, words: int) -> None:
        super().__init__()
        inner = _RELEASED_INNER
        self.sounds = nn.Linear(2 * audio, inner)
        self.words = nn.Sequential(nn.Linear(words, audio, bias=False), nn.Linear(audio, inner), nn.LayerNorm(inner))
        self.both = nn.Linear(2 * inner, inner)
        self.narrow = nn.Linear(inner, design.width)
        self.transformer = Transformer(design.width, design.layers, design.heads, begun=True)

    def forward(
        self, mixture: Tensor, output: Tensor, _: SajBatch, *, known: Tensor, text: Tensor | None, **__: Tensor | None
    ) -> Tensor:
        """Features of frames, (n, frames, width)."""
        sounds = self.sounds(torch.cat([output, mixture], dim=2))
        prompt = sounds.new_zeros(len(sounds), sounds.shape[2]) if text is None else self.words(text[:, 0])
        both = self.both(torch.cat([sounds, prompt[:, None].expand_as(sounds)], dim=2))
        return self.transformer(self.narrow(both), known)


def _resampled(stream: Tensor, frames: int) -> Tensor:
    """A stream (n, t, c) of ``frames`` frames: the nearest at each."""
    if stream.shape[1] == frames:
        return stream
    indices = (torch.arange(frames, device=stream.device) * stream.shape[1] // frames).clamp(max=stream.shape[1] - 1)
    return stream[:, indices]
