"""Fusion of picture and sentence behind a stage: the paper's VLTF (Sec. 4.2, Fig. 4b), and LAVT's for comparison."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from auscult.nets.refsegformer.settings import Design


class Fused(NamedTuple):
    """What a fusion gives."""

    features: Tensor  # F_i, (n, c, h, w)
    onward: Tensor | None  # what is added to V_i before the next stage, (n, c, h, w); None where nothing follows
    tokens: Tensor  # (n, k, c): blank tokens first, then conditional ones; of LAVT's the words
    known: Tensor | None  # which of the tokens count, bool (n, k); None for all
    attention: Tensor  # of each position to each token, mean over heads, (n, h * w, k)


class Attention(nn.Module):
    """Multi-head cross-attention: queries of ``width``, keys and values of ``source`` numbers."""

    def __init__(self, width: int, *, heads: int, source: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(source or width, width)
        self.value = nn.Linear(source or width, width)
        self.out = nn.Linear(width, width)

    def forward(self, query: Tensor, source: Tensor, known: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend from (n, q, c) to (n, k, d), of which ``known``, bool (n, k), count: (n, q, c), weights (n, q, k)."""
        q, k, v = self._split(self.query(query)), self._split(self.key(source)), self._split(self.value(source))
        scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(2, 3))
        if known is not None:
            scores = scores.masked_fill(~known[:, None, None], torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=3)
        found = torch.matmul(weights, v).transpose(1, 2).flatten(2)
        return self.out(found), weights.mean(dim=1)

    def _split(self, given: Tensor) -> Tensor:
        return given.reshape(given.shape[0], given.shape[1], self.heads, -1).transpose(1, 2)


class Vltf(nn.Module):
    """Vision-Language Token Fusion: words look at the picture, memory tokens read them, the picture reads the tokens.

    Blank tokens stand beside the conditional ones and see no language, so that positions have where to look when the
    sentence names nothing. The paper names no norms between the attentions. What positions read has an instance norm,
    as in the release; words and tokens have layer norms, where the release's instance norms would mix in padding.
    """

    def __init__(self, width: int, design: Design, *, leads_on: bool) -> None:
        super().__init__()
        heads = width // design.head_width
        self.places = design.places
        self.vision = nn.Sequential(nn.Conv2d(width + 2 * self.places, width, 1), nn.BatchNorm2d(width))
        self.text = nn.Linear(design.text_width, width)
        self.memory = nn.Parameter(torch.empty(1, design.memory, width).normal_(std=0.5))
        self.blank = nn.Parameter(torch.empty(1, design.blank, width).normal_(std=0.5))
        self.look = Attention(width, heads=heads) if design.memory_reads == "vision_text" else None
        self.condition = Attention(width, heads=heads)
        self.read = Attention(width, heads=heads)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 if self.look is not None else 1))
        self.norm = nn.InstanceNorm2d(width, affine=True)
        self.out = nn.Conv2d(width, width, 1)
        self.sigma = added_norm(width, design) if leads_on else None

    def forward(self, vision: Tensor, text: Tensor, known: Tensor) -> Fused:
        """Fuse V_i (n, c, h, w) with words (n, t, d), of which ``known``, bool (n, t), are no padding."""
        seen = flat(self.vision(placed(vision) if self.places else vision))
        words = self.text(text)
        if self.look is not None:
            words = self.norms[1](self.look(words, seen)[0])
        conditional, _ = self.condition(self.memory, words, known)
        tokens = self.norms[0](torch.cat([self.blank.expand(words.shape[0], -1, -1), conditional], dim=1))
        found, attention = self.read(seen, tokens)
        features = self.out(self.norm(unflat(found, vision)))
        return Fused(features, self.sigma(features) if self.sigma is not None else None, tokens, None, attention)


class Pwan(nn.Module):
    """LAVT's fusion: each position attends to the words, and a gated pathway leads on to the next stage (Table 8).

    Yang et al. 2022, "LAVT", Eqs. 1-5: pixel-word attention and language pathway.
    """

    def __init__(self, width: int, design: Design, *, leads_on: bool) -> None:
        super().__init__()
        self.places = design.places
        entering = width + 2 * self.places
        self.vision = nn.Sequential(nn.Conv2d(entering, width, 1), nn.GELU())
        self.query = nn.Sequential(nn.Conv2d(entering, width, 1), nn.InstanceNorm2d(width))
        self.key = nn.Linear(design.text_width, width)
        self.value = nn.Linear(design.text_width, width)
        self.read = nn.Sequential(nn.Conv2d(width, width, 1), nn.InstanceNorm2d(width))
        self.joined = nn.Sequential(nn.Conv2d(width, width, 1), nn.GELU())
        gate = nn.Sequential(nn.Conv2d(width, width, 1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.Tanh())
        self.gate = gate if leads_on else None

    def forward(self, vision: Tensor, text: Tensor, known: Tensor) -> Fused:
        """Fuse as ``Vltf`` does; the tokens are the words."""
        vision = placed(vision) if self.places else vision
        query, key, value = flat(self.query(vision)), self.key(text), self.value(text)
        scores = torch.matmul(query * query.shape[2] ** -0.5, key.transpose(1, 2))
        scores = scores.masked_fill(~known[:, None], torch.finfo(scores.dtype).min)
        attention = torch.softmax(scores, dim=2)
        found = self.read(unflat(torch.matmul(attention, value), vision))
        features = self.joined(self.vision(vision) * found)
        return Fused(
            features, self.gate(features) * features if self.gate is not None else None, value, known, attention
        )


def added_norm(width: int, design: Design) -> nn.BatchNorm2d:
    """A batch norm of what is added; beside a pretrained encoder its gain begins at 0, which disturbs nothing."""
    norm = nn.BatchNorm2d(width)
    if design.vision == "swin":
        nn.init.zeros_(norm.weight)
    return norm


def placed(given: Tensor) -> Tensor:
    """Maps (n, c, h, w) with two channels more, x and y in -1..1."""
    n, _, high, wide = given.shape
    y, x = (torch.linspace(-1, 1, length, dtype=given.dtype, device=given.device) for length in (high, wide))
    return torch.cat([given, x[None, None, None].expand(n, 1, high, wide), y[:, None].expand(n, 1, high, wide)], dim=1)


def flat(given: Tensor) -> Tensor:
    """Maps (n, c, h, w) as sequences (n, h * w, c)."""
    return given.flatten(2).transpose(1, 2)


def unflat(given: Tensor, like: Tensor) -> Tensor:
    """Sequences (n, h * w, c) as maps of the size of ``like``."""
    return given.transpose(1, 2).reshape(given.shape[0], given.shape[2], *like.shape[2:])


def up(given: Tensor, scale: int = 2) -> Tensor:
    """Enlarge maps linearly."""
    return functional.interpolate(given, scale_factor=float(scale), mode="bilinear", align_corners=False)
