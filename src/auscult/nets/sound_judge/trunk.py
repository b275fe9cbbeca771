"""EfficientAT's smallest tagger, ``mn04_as`` (Schmid et al., ICASSP 2023): MobileNetV3 at .4 of its width."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH: Final = 384
CLASSES: Final = 527
FRAMES: Final = 32
"""So many frames of 10 ms are one step of what the trunk gives."""
EARLY: Final = 6
"""Blocks that may rest in training: they hold 1 % of the weights and take two thirds of its time."""
_HIDDEN: Final = 512
# kernel, expanded width (0: none), width, width of the squeeze (0: none), hard swish, stride
_BLOCKS: Final = (
    (3, 0, 8, 0, False, 1),
    (3, 24, 16, 0, False, 2),
    (3, 32, 16, 0, False, 1),
    (5, 32, 16, 8, False, 2),
    (5, 48, 16, 16, False, 1),
    (5, 48, 16, 16, False, 1),
    (3, 96, 32, 0, True, 2),
    (3, 80, 32, 0, True, 1),
    (3, 72, 32, 0, True, 1),
    (3, 72, 32, 0, True, 1),
    (3, 192, 48, 48, True, 1),
    (3, 272, 48, 72, True, 1),
    (5, 272, 64, 72, True, 2),
    (5, 384, 64, 96, True, 1),
    (5, 384, 64, 96, True, 1),
)


class _Block(nn.Module):
    """An inverted residual block, with its batch normalisation folded into the convolutions."""

    def __init__(self, narrow: int, settings: tuple[int, int, int, int, bool, int]) -> None:
        super().__init__()
        kernel, expanded, width, squeeze, hard, stride = settings
        wide = expanded or narrow
        self.act = nn.Hardswish() if hard else nn.ReLU()
        self.expand = nn.Conv2d(narrow, wide, 1) if expanded else None
        self.depth = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide)
        self.squeeze = nn.Sequential(nn.Linear(wide, squeeze), nn.ReLU(), nn.Linear(squeeze, wide)) if squeeze else None
        self.project = nn.Conv2d(wide, width, 1)
        self.residual = stride == 1 and width == narrow

    def forward(self, given: Tensor) -> Tensor:
        made = given if self.expand is None else self.act(self.expand(given))
        made = self.act(self.depth(made))
        if self.squeeze is not None:
            made = made * torch.sigmoid(self.squeeze(made.mean((2, 3))))[:, :, None, None]
        made = self.project(made)
        return given + made if self.residual else made


class Trunk(nn.Module):
    """From log-mel spectrograms (n, 1, 128, T) to steps (n, 384, T / 32), and on to classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, 2, 1)
        narrow, blocks = 8, []
        for settings in _BLOCKS:
            blocks.append(_Block(narrow, settings))
            narrow = settings[2]
        self.blocks = nn.Sequential(*blocks)
        self.last = nn.Conv2d(narrow, WIDTH, 1)
        self.hidden, self.classes = nn.Linear(WIDTH, _HIDDEN), nn.Linear(_HIDDEN, CLASSES)

    def forward(self, log_mel: Tensor) -> Tensor:
        """Steps of .32 s, the mean over frequency."""
        return self.late(self.early(log_mel))

    def early(self, log_mel: Tensor) -> Tensor:
        """What the first ``EARLY`` blocks make: (n, 16, 16, T / 8)."""
        made: Tensor = self.blocks[:EARLY](F.hardswish(self.stem(log_mel)))
        return made

    def late(self, early: Tensor) -> Tensor:
        """What the other blocks make of that: (n, 384, T / 32)."""
        return F.hardswish(self.last(self.blocks[EARLY:](early))).mean(2)

    def logits(self, steps: Tensor) -> Tensor:
        """Logits of the classes, (..., 527), of steps or of their mean, (..., 384)."""
        found: Tensor = self.classes(F.hardswish(self.hidden(steps)))
        return found
