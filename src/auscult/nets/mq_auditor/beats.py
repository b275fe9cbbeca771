"""The encoder of BEATs: patches of a spectrogram through a transformer with gated relative positions.

Chen et al. 2022, "BEATs: Audio Pre-Training with Acoustic Tokenizers", Sec. 3.2 and App. A: patches of 16 x 16 of 128
mel bands, a convolution as position, post-norm layers scaled as DeepNorm, and WavLM's gated relative position bias,
here gated by the query. Shapes and parameter names are those of the released checkpoints, whose state loads.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

RATE_HZ: Final = 16_000
BANDS: Final = 128
MEAN: Final = 15.41663
SCALE: Final = 2 * 6.55582
_WINDOW, _STEP, _TURNS = 400, 160, 512
_GATES: Final = 8


@lru_cache(maxsize=1)
def _mel() -> Tensor:
    """Kaldi's triangles, (257, 128)."""
    from transformers.audio_utils import mel_filter_bank

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the lowest of Kaldi's 128 bands lie between two frequencies
        bands = mel_filter_bank(
            num_frequency_bins=_TURNS // 2 + 1,
            num_mel_filters=BANDS,
            min_frequency=20.0,
            max_frequency=RATE_HZ / 2,
            sampling_rate=RATE_HZ,
            mel_scale="kaldi",
            triangularize_in_mel_space=True,
        )
    return torch.from_numpy(bands).float()


def log_mel(samples: Tensor, *, bend: float = 0.85) -> Tensor:
    """Kaldi's log mel energies (n, samples) in [-1, 1] at 16 kHz to (n, 1 + (samples - 400) // 160, 128).

    ``bend`` is the power of the Hann window; AST's is 1.
    """
    frames = (samples.float() * 2**15).unfold(1, _WINDOW, _STEP)
    frames = frames - frames.mean(dim=2, keepdim=True)
    frames = frames - 0.97 * torch.cat([frames[..., :1], frames[..., :-1]], dim=2)
    window = torch.hann_window(_WINDOW, periodic=False, device=samples.device) ** bend
    power = torch.fft.rfft(frames * window, _TURNS).abs() ** 2
    return (power @ _mel().to(samples.device)).clamp(min=torch.finfo(torch.float32).eps).log()


def buckets(length: int, count: int, farthest: int) -> Tensor:
    """Which of ``count`` buckets the way from each place to each is in, (length, length): half for each direction."""
    way = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    half = count // 2
    exact = half // 2
    steps = way.abs()
    grown = torch.log(steps.clamp(min=1).float() / exact) / math.log(farthest / exact) * (half - exact)
    far = (exact + grown.long()).clamp(max=half - 1)
    return (way > 0).long() * half + torch.where(steps < exact, steps, far)


class _Attention(nn.Module):
    def __init__(self, settings: Mapping[str, Any], bias: nn.Embedding | None) -> None:
        super().__init__()
        width = int(settings["width"])
        self.heads = int(settings["heads"])
        self.k_proj, self.v_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.q_proj, self.out_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.grep_linear = nn.Linear(width // self.heads, _GATES)
        self.grep_a = nn.Parameter(torch.ones(1, self.heads, 1, 1))
        self.relative_attention_bias = bias  # the first layer's is that of all

    def forward(self, given: Tensor, places: Tensor) -> Tensor:
        """Attend within (n, k, c), with the bias ``places`` of (1, heads, k, k)."""
        shape = (given.shape[0], given.shape[1], self.heads, -1)
        q, k, v = (proj(given).view(shape).transpose(1, 2) for proj in (self.q_proj, self.k_proj, self.v_proj))
        gates = self.grep_linear(q).unflatten(3, (2, _GATES // 2)).sum(dim=4).sigmoid()
        gate = gates[..., :1] * (gates[..., 1:] * self.grep_a - 1.0) + 2.0
        found = functional.scaled_dot_product_attention(q, k, v, attn_mask=gate * places)
        return self.out_proj(found.transpose(1, 2).flatten(2))


class _Layer(nn.Module):
    def __init__(self, settings: Mapping[str, Any], bias: nn.Embedding | None) -> None:
        super().__init__()
        width, inner = int(settings["width"]), int(settings["inner"])
        self.self_attn = _Attention(settings, bias)
        self.self_attn_layer_norm = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.final_layer_norm = nn.LayerNorm(width)
        self.kept = (2.0 * int(settings["layers"])) ** 0.25  # DeepNorm's alpha

    def forward(self, given: Tensor, places: Tensor) -> Tensor:
        found = self.self_attn_layer_norm(self.kept * given + self.self_attn(given, places))
        return self.final_layer_norm(self.kept * found + self.fc2(functional.gelu(self.fc1(found))))


class _Encoder(nn.Module):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width, wide = int(settings["width"]), int(settings["conv"])
        self.count, self.farthest = int(settings["buckets"]), int(settings["max_distance"])
        conv = nn.Conv1d(width, width, wide, padding=wide // 2, groups=int(settings["conv_groups"]))
        self.pos_conv = nn.Sequential(nn.utils.parametrizations.weight_norm(conv, dim=2), nn.GELU())
        bias = nn.Embedding(self.count, int(settings["heads"]))
        self.layers = nn.ModuleList([_Layer(settings, None if at else bias) for at in range(int(settings["layers"]))])
        self.layer_norm = nn.LayerNorm(width)

    def forward(self, given: Tensor) -> Tensor:
        near = self.pos_conv[1](self.pos_conv[0](given.transpose(1, 2))[..., : given.shape[1]])
        found = self.layer_norm(given + near.transpose(1, 2))
        among = buckets(given.shape[1], self.count, self.farthest).to(given.device)
        places = self.layers[0].self_attn.relative_attention_bias(among).permute(2, 0, 1)[None]
        for layer in self.layers:
            found = layer(found, places)
        return found


class Beats(nn.Module):
    """From seconds of sound, (n, samples) at 16 kHz, to (n, patches, width)."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        side, narrow, self.width = int(settings["patch"]), int(settings["patch_width"]), int(settings["width"])
        self.patch_embedding = nn.Conv2d(1, narrow, side, stride=side, bias=False)
        self.layer_norm = nn.LayerNorm(narrow)
        self.post_extract_proj = nn.Linear(narrow, self.width) if narrow != self.width else nn.Identity()
        self.encoder = _Encoder(settings)

    def forward(self, samples: Tensor) -> Tensor:
        """Encode sounds of one length."""
        seen = ((log_mel(samples) - MEAN) / SCALE).to(self.patch_embedding.weight.dtype)
        patches = self.patch_embedding(seen[:, None]).flatten(2).transpose(1, 2)
        return self.encoder(self.post_extract_proj(self.layer_norm(patches)))


def released_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of a released checkpoint by the names of ``Beats``, without heads and repetitions."""
    names = {"weight_g": "parametrizations.weight.original0", "weight_v": "parametrizations.weight.original1"}
    kept = {}
    for name, value in state.items():
        stem, _, last = name.rpartition(".")
        repeated = last == "weight" and stem.endswith("relative_attention_bias") and ".layers.0." not in stem
        if not name.startswith("predictor") and not repeated:
            kept[f"{stem}.{names.get(last, last)}" if stem.endswith("pos_conv.0") else name] = value
    return kept


def released_settings(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """The ``cfg`` of a released checkpoint as settings of ``Beats``."""
    names = {
        "layers": "encoder_layers",
        "width": "encoder_embed_dim",
        "inner": "encoder_ffn_embed_dim",
        "heads": "encoder_attention_heads",
        "patch": "input_patch_size",
        "patch_width": "embed_dim",
        "buckets": "num_buckets",
        "max_distance": "max_distance",
        "conv": "conv_pos",
        "conv_groups": "conv_pos_groups",
    }
    return {"kind": "beats", **{own: int(cfg[name]) for own, name in names.items()}}
