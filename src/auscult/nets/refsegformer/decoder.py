"""From V_1 and F_2, F_3, F_4 to masks, coarse to fine (Eq. 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from auscult.nets.refsegformer.settings import LAST, Design
from auscult.nets.refsegformer.vltf import Attention, Fused, added_norm, flat, unflat, up

_HEADS: Final = 8
_POINTS: Final = 4
_LAYERS: Final = 6
_FED: Final = 4


class Fpn(nn.Module):
    """Each level is enlarged, put beside the next finer one and convolved twice; widths are the encoder's.

    Where a VLTF was, positions attend to its tokens once more, added behind a norm.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        widths = design.widths
        self.width = widths[0]
        self.joins = nn.ModuleList(_twice(coarse + fine, fine) for fine, coarse in pairwise(widths))
        self.masks = nn.ModuleList(nn.Conv2d(width, 2, 1) for width in widths)
        read = design.fused if design.decoder_tokens else ()
        self.reads = nn.ModuleDict({str(at): TokenRead(widths[at - 1], design) for at in read})

    def forward(self, maps: Sequence[Tensor], fused: Mapping[int, Fused]) -> tuple[Tensor, list[Tensor]]:
        """Decode V_1, F_2, F_3, F_4: S_1 (n, c, side / 4, side / 4), and masks M_1..M_4 as logits (n, 2, h, w)."""
        found = maps[-1]
        masks: list[Tensor] = []
        for stage in range(LAST, 0, -1):
            if stage < LAST:
                found = self.joins[stage - 1](torch.cat([up(found), maps[stage - 1]], dim=1))
            if str(stage) in self.reads:
                found = self.reads[str(stage)](found, fused[stage])
            masks.insert(0, self.masks[stage - 1](found))
        return found, masks


class TokenRead(nn.Module):
    """Positions attend to a fusion's tokens; the outcome is added."""

    def __init__(self, width: int, design: Design) -> None:
        super().__init__()
        self.attention = Attention(width, heads=width // design.head_width)
        self.norm = added_norm(width, design)

    def forward(self, given: Tensor, fused: Fused) -> Tensor:
        """Read into (n, c, h, w)."""
        found, _ = self.attention(flat(given), fused.tokens, fused.known)
        return given + self.norm(unflat(found, given))


class Deformable(nn.Module):
    """A deformable pixel decoder: six layers over strides 8, 16 and 32, 8 heads, 4 points; one mask.

    Zhu et al. 2021 ("Deformable DETR", Eq. 3) and Cheng et al. 2022 ("Mask2Former"), sampled with ``grid_sample``.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.width = width = design.decoder_width
        self.inputs = nn.ModuleList(_projected(entering, width) for entering in design.widths[1:])
        self.levels = nn.Parameter(torch.empty(LAST - 1, width).normal_())
        self.layers = nn.ModuleList(DeformableLayer(width) for _ in range(_LAYERS))
        self.lateral = _projected(design.widths[0], width)
        self.output = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.GroupNorm(32, width), nn.ReLU()
        )
        self.mask = nn.Conv2d(width, 2, 1)

    def forward(self, maps: Sequence[Tensor], fused: Mapping[int, Fused]) -> tuple[Tensor, list[Tensor]]:  # noqa: ARG002 - as the FPN
        """Decode as ``Fpn`` does; there is M_1 alone."""
        levels = [project(given) for project, given in zip(self.inputs, maps[1:], strict=True)]
        sizes = [(level.shape[2], level.shape[3]) for level in levels]
        found = torch.cat([flat(level) for level in levels], dim=1)
        places = torch.cat([_places(size, found) for size in sizes])
        marks = torch.cat([_sines(size, found) + mark for size, mark in zip(sizes, self.levels, strict=True)])
        for layer in self.layers:
            found = layer(found, marks, places=places, sizes=sizes)
        eighth = unflat(found[:, : sizes[0][0] * sizes[0][1]], levels[0])
        mask_features = self.output(self.lateral(maps[0]) + up(eighth))
        return mask_features, [self.mask(mask_features)]


class DeformableLayer(nn.Module):
    """Each position reads four places a head and level, about itself, and is then transformed alone."""

    def __init__(self, width: int) -> None:
        super().__init__()
        levels = LAST - 1
        self.value = nn.Linear(width, width)
        self.offsets = nn.Linear(width, _HEADS * levels * _POINTS * 2)
        self.weights = nn.Linear(width, _HEADS * levels * _POINTS)
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, _FED * width), nn.ReLU(), nn.Linear(_FED * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        nn.init.zeros_(self.offsets.weight)
        turns = torch.arange(_HEADS) * (2 * math.pi / _HEADS)  # each head looks its own way, each point one step more
        ways = torch.stack([turns.cos(), turns.sin()], dim=1)
        ways = ways / ways.abs().amax(dim=1, keepdim=True)
        steps = torch.arange(1, _POINTS + 1).float()
        start = ways[:, None, None] * steps[:, None]
        self.offsets.bias.data = start.expand(_HEADS, levels, _POINTS, 2).reshape(-1).clone()
        nn.init.zeros_(self.weights.weight)
        nn.init.zeros_(self.weights.bias)

    def forward(self, given: Tensor, marks: Tensor, *, places: Tensor, sizes: Sequence[tuple[int, int]]) -> Tensor:
        """Transform positions (n, p, c) with marks (p, c), at ``places`` (p, 2) in 0..1 as (x, y)."""
        n, count, _ = given.shape
        marked = given + marks
        shape = (n, count, _HEADS, len(sizes), _POINTS)
        weights = torch.softmax(self.weights(marked).reshape(n, count, _HEADS, -1), dim=3).reshape(shape)
        offsets = self.offsets(marked).reshape(*shape, 2)
        values = self.value(given).split([high * wide for high, wide in sizes], dim=1)
        found = given.new_zeros(())
        for at, (size, value) in enumerate(zip(sizes, values, strict=True)):
            scale = torch.tensor([size[1], size[0]], dtype=given.dtype, device=given.device)
            grid = 2 * (places[:, None, None] + offsets[:, :, :, at] / scale) - 1
            found = found + _sampled(value, size, grid=grid, weights=weights[:, :, :, at])
        given = self.norms[0](given + self.out(found))
        return self.norms[1](given + self.feed(given))


def _sampled(value: Tensor, size: tuple[int, int], *, grid: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of a level (n, h * w, c) at points (n, p, heads, points, 2): (n, p, c)."""
    n, count = grid.shape[:2]
    width = value.shape[2]
    each = width // _HEADS
    pictures = value.transpose(1, 2).reshape(n * _HEADS, each, *size)
    points = grid.transpose(1, 2).reshape(n * _HEADS, count, _POINTS, 2).to(pictures.dtype)
    found = functional.grid_sample(pictures, points, align_corners=False)
    held = weights.transpose(1, 2).reshape(n * _HEADS, 1, count, _POINTS)
    return (found * held).sum(dim=3).reshape(n, width, count).transpose(1, 2)


def _places(size: tuple[int, int], like: Tensor) -> Tensor:
    """Centres of a grid's cells as (x, y) in 0..1, (h * w, 2)."""
    rows, columns = ((torch.arange(length, dtype=like.dtype, device=like.device) + 0.5) / length for length in size)
    grid = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack([grid[1], grid[0]], dim=2).reshape(-1, 2)


def _sines(size: tuple[int, int], like: Tensor) -> Tensor:
    """Sines and cosines of rows and columns, (h * w, c), as in Carion et al. 2020."""
    quarter = like.shape[2] // 4
    rates = 10_000 ** (-torch.arange(quarter, dtype=torch.float32, device=like.device) / quarter)
    angles = 2 * math.pi * _places(size, like).float()[:, :, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=2).flatten(1).to(like.dtype)


def _projected(entering: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(entering, width, 1), nn.GroupNorm(32, width))


def _twice(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
    )  # fmt: skip
