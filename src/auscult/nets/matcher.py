"""The networks of `identity.scenes.v1`: one detects the objects of a whole frame, one names what a mask holds.

Neither reads text. The looker is a small detector without boxes, after CenterNet (Zhou, Wang, Kraehenbuehl 2019,
"Objects as Points"): a heat map of centres, and at each centre the thing's size and what it is called. The namer sees a
crop with the mask as a fourth channel. Blocks are inverted bottlenecks with a depthwise kernel (Sandler et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

STRIDE: Final = 8
"""Pixels of the small frame for one cell of the looker's maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatcherSettings:
    """How many words each head tells apart."""

    categories: int
    colours: int
    textures: int

    @property
    def words(self) -> int:
        """Words in all."""
        return self.categories + self.colours + self.textures


class Matcher(nn.Module):
    """Looker and namer side by side; they share nothing but the words."""

    def __init__(self, settings: MatcherSettings) -> None:
        super().__init__()
        self.settings = settings
        self.looker = Looker(settings)
        self.namer = Namer(settings)

    def forward(self, frame: Tensor, crop: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look at frames (n, 3, h, w) of sides multiples of 16 and crops (m, 4, 48, 48), the mask last, in [0, 1].

        Gives ``centres`` (n, 2, h/8, w/8), the logit of a centre and the natural logarithm of the thing's share of the
        picture; ``seen`` (n, words, h/8, w/8), logits of categories, colours and textures; ``names`` (m, words) of the
        crops.
        """
        centres, seen = self.looker(frame)
        return centres, seen, self.namer(crop)


class Looker(nn.Module):
    """A frame to maps at an eighth of its side."""

    def __init__(self, settings: MatcherSettings) -> None:
        super().__init__()
        self.quarter = nn.Sequential(conv(3, 16, stride=2), conv(16, 32, stride=2))
        self.eighth = nn.Sequential(conv(32, 64, stride=2), Bottleneck(64), Bottleneck(64))
        self.sixteenth = nn.Sequential(conv(64, 128, stride=2), *(Bottleneck(128) for _ in range(3)))
        self.from_sixteenth = conv(128, 64, size=1)
        self.joined = Bottleneck(64)
        self.centre = nn.Conv2d(64, 2, 1)
        self.words = nn.Conv2d(64, settings.words, 1)
        self.centre.bias.data.fill_(-4.0)  # few cells are centres

    def forward(self, frame: Tensor) -> tuple[Tensor, Tensor]:
        """As ``Matcher.forward`` says."""
        maps = self.maps(frame)
        return self.centre(maps), self.words(maps)

    def at(self, frame: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """As ``forward``, but words (k, words) only of some cells, since few of them hold a thing.

        ``cells`` are int64 (k, 3): frame, row, column.
        """
        maps = self.maps(frame)
        number, row, column = cells.unbind(1)
        return self.centre(maps), self.words(maps[number, :, row, column][:, :, None, None])[:, :, 0, 0]

    def maps(self, frame: Tensor) -> Tensor:
        """Features (n, 64, h/8, w/8)."""
        eighth = self.eighth(self.quarter(2.0 * frame - 1.0))
        top = self.from_sixteenth(self.sixteenth(eighth))
        return self.joined(eighth + nn.functional.interpolate(top, scale_factor=2.0, mode="nearest"))


class Namer(nn.Module):
    """A crop with its mask to words."""

    def __init__(self, settings: MatcherSettings) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv(4, 24, stride=2),
            conv(24, 64, stride=2),
            *(Bottleneck(64) for _ in range(2)),
            conv(64, 128, stride=2),
            *(Bottleneck(128) for _ in range(2)),
        )
        self.drop = nn.Dropout(0.2)
        self.words = nn.Linear(256, settings.words)

    def forward(self, crop: Tensor) -> Tensor:
        """As ``Matcher.forward`` says; what is inside the mask and what is around it are pooled apart."""
        features = self.body(2.0 * crop - 1.0)
        inside = nn.functional.avg_pool2d(crop[:, 3:], 8) + 1e-3
        pooled = (features * inside).sum((2, 3)) / inside.sum((2, 3))
        return self.words(self.drop(torch.cat([pooled, features.mean((2, 3))], 1)))


class Bottleneck(nn.Module):
    """An inverted bottleneck that is added to what goes in."""

    def __init__(self, width: int) -> None:
        super().__init__()
        inner = 2 * width
        self.body = nn.Sequential(
            conv(width, inner, size=1),
            nn.Conv2d(inner, inner, 5, padding=2, groups=inner, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True),
            nn.Conv2d(inner, width, 1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, value: Tensor) -> Tensor:
        """Transform (n, width, h, w)."""
        return torch.relu(value + self.body(value))


def conv(inward: int, outward: int, *, size: int = 3, stride: int = 1) -> nn.Sequential:
    """Convolution, batch norm and ReLU."""
    return nn.Sequential(
        nn.Conv2d(inward, outward, size, stride=stride, padding=size // 2, bias=False),
        nn.BatchNorm2d(outward),
        nn.ReLU(inplace=True),
    )
