"""Encoders of pictures, stage by stage so that a fusion fits between, and of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from auscult.nets.matcher import Bottleneck, conv
from auscult.nets.refsegformer.settings import LAST, Design
from auscult.nets.refsegformer.view import PADDING
from auscult.nets.refsegformer.vltf import Attention


class VisionStages(Protocol):
    """A vision encoder that runs a stage at a time."""

    def __call__(self, given: Tensor, stage: int) -> Tensor:
        """Run stage 1 on RGB pictures (n, 3, side, side) in 0..1, a later one on what the one before hands on."""
        ...


class SwinStages(nn.Module):
    """``SwinModel`` of ``transformers``, cut between its stages: each but the first begins with patch merging.

    Pictures are normalised here, by ``mean`` and ``std`` of each channel.
    """

    def __init__(self, model: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.config = model.config
        self.embeddings, self.layers = model.embeddings, model.encoder.layers
        self.mean = nn.Buffer(torch.tensor(mean)[:, None, None])
        self.std = nn.Buffer(torch.tensor(std)[:, None, None])

    def forward(self, given: Tensor, stage: int) -> Tensor:
        """As ``VisionStages`` says."""
        if stage == 1:
            found, size = self.embeddings((given - self.mean) / self.std)
        else:
            size = (given.shape[2], given.shape[3])
            found = self.layers[stage - 2].downsample(given.flatten(2).transpose(1, 2), size)
            size = ((size[0] + 1) // 2, (size[1] + 1) // 2)
        for block in self.layers[stage - 1].blocks:
            found = block(found, size)[0]
        return found.transpose(1, 2).reshape(found.shape[0], -1, *size)


class BertText(nn.Module):
    """``BertModel`` of ``transformers`` without its pooler."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.model.pooler = None

    def forward(self, ids: Tensor, known: Tensor) -> Tensor:
        """Read tokens, int64 (n, t), of which ``known``, bool (n, t), are no padding: (n, t, width)."""
        # A mask of four axes is taken as it is; of two, the library looks whether it is all ones, which a graph cannot.
        kept = known[:, None, None].expand(-1, 1, ids.shape[1], -1)
        found: Tensor = self.model(input_ids=ids, attention_mask=kept, use_cache=False).last_hidden_state
        return found


class SmallVision(nn.Module):
    """Inverted bottlenecks behind strided convolutions."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        widths = design.widths
        first = nn.Sequential(conv(3, widths[0] // 2, stride=2), conv(widths[0] // 2, widths[0], stride=2))
        steps = [first, *(conv(widths[at - 1], widths[at], stride=2) for at in range(1, LAST))]
        self.stages = nn.ModuleList(
            nn.Sequential(step, *(Bottleneck(width) for _ in range(depth)))
            for step, width, depth in zip(steps, widths, design.depths, strict=True)
        )

    def forward(self, given: Tensor, stage: int) -> Tensor:
        """As ``VisionStages`` says."""
        return self.stages[stage - 1](2 * given - 1 if stage == 1 else given)


class SmallText(nn.Module):
    """Word vectors with places, and two layers of self-attention."""

    def __init__(self, design: Design, *, words: int) -> None:
        super().__init__()
        width = design.text_width
        self.words = nn.Embedding(words, width, padding_idx=PADDING)
        self.places = nn.Parameter(torch.empty(1, design.tokens, width).normal_(std=0.02))
        self.layers = nn.ModuleList(TextLayer(width, heads=width // design.head_width) for _ in range(2))
        nn.init.normal_(self.words.weight, std=0.2)

    def forward(self, ids: Tensor, known: Tensor) -> Tensor:
        """As ``BertText`` says."""
        found = self.words(ids) + self.places[:, : ids.shape[1]]
        for layer in self.layers:
            found = layer(found, known)
        return found


class TextLayer(nn.Module):
    """A transformer's layer, norms first."""

    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads=heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, given: Tensor, known: Tensor) -> Tensor:
        """Transform (n, t, width)."""
        normed = self.norms[0](given)
        given = given + self.attention(normed, normed, known)[0]
        return given + self.feed(self.norms[1](given))


class Reader(Protocol):
    """A tokenizer."""

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Token numbers int64 (n, t) and which of them are no padding, bool (n, t); t is the design's ``tokens``."""
        ...
