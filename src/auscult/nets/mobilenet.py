"""MobileNetV2 with batch norm folded into its convolutions, and as a backbone of stride 16.

The layers and their order are those of the public TensorFlow Lite files (``train/network_files`` reads them), so that
weights can be copied one convolution after the other. In the backbone the last stage keeps stride 16 and is dilated
instead, as DeepLab v3 does it; the context head is DeepLab's with image pooling and one 1x1 branch.

PyTorch's backward of a depthwise convolution with a dilation or a stride is many times slower on a CPU than that of a
plain one, so in training both are written as plain ones; the values are the same.

Source: Sandler et al. 2018, Table 2; Chen et al. 2018 for stride 16 and the head.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

BLOCKS: Final = (
    (1, 16, 1, 1, 1),
    (6, 24, 2, 2, 1),
    (6, 32, 3, 2, 1),
    (6, 64, 4, 2, 1),
    (6, 96, 3, 1, 1),
    (6, 160, 3, 1, 2),
    (6, 320, 1, 1, 2),
)
"""Expansion, channels, repeats, stride, dilation. The first block of the dilated stages is not dilated itself."""
CONTEXT: Final = 256
_HALVED: Final = 16
"""Channels at stride 2, the first stage's inside."""


class Conv(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding for even sizes: a stride of 2 pads right and below only."""

    def __init__(
        self, inputs: int, outputs: int, *, size: int = 1, stride: int = 1, groups: int = 1, dilation: int = 1
    ) -> None:
        even = dilation * (size - 1) // 2
        super().__init__(
            inputs,
            outputs,
            size,
            stride=stride,
            padding=0 if stride == 2 else even,
            groups=groups,
            dilation=dilation,
        )
        self.uneven = stride == 2 and size > 1

    def forward(self, inputs: Tensor) -> Tensor:
        """Convolve (n, c, h, w)."""
        if self.training and self.uneven and self.groups > 1:
            return _plain(self, inputs)[:, :, 1::2, 1::2].contiguous(memory_format=torch.channels_last)
        return super().forward(functional.pad(inputs, (0, 1, 0, 1)) if self.uneven else inputs)

    def undilated(self, inputs: Tensor) -> Tensor:
        """Convolve what ``space_to_batch`` made: a dilation of 2 is none within a phase."""
        return _plain(self, inputs) if self.dilation != (1, 1) else self(inputs)


def _plain(layer: Conv, inputs: Tensor) -> Tensor:
    return functional.conv2d(inputs, layer.weight, layer.bias, padding=1, groups=layer.groups)


def space_to_batch(maps: Tensor) -> Tensor:
    """Every second row and column as a picture of its own, (n, c, h, w) -> (4 n, c, h / 2, w / 2)."""
    n, channels, height, width = maps.shape
    parted = maps.reshape(n, channels, height // 2, 2, width // 2, 2).permute(3, 5, 0, 1, 2, 4)
    return parted.reshape(4 * n, channels, height // 2, width // 2).contiguous(memory_format=torch.channels_last)


def batch_to_space(maps: Tensor) -> Tensor:
    """Undo ``space_to_batch``, (4 n, c, h, w) -> (n, c, 2 h, 2 w)."""
    count, channels, height, width = maps.shape
    parted = maps.reshape(2, 2, count // 4, channels, height, width).permute(2, 3, 4, 0, 5, 1)
    joined = parted.reshape(count // 4, channels, 2 * height, 2 * width)
    return joined.contiguous(memory_format=torch.channels_last)


class Inverted(nn.Module):
    """An inverted residual: expand, convolve each channel by itself, project."""

    def __init__(self, inputs: int, outputs: int, *, expansion: int, stride: int, dilation: int = 1) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand = Conv(inputs, hidden) if expansion > 1 else None
        self.depthwise = Conv(hidden, hidden, size=3, stride=stride, groups=hidden, dilation=dilation)
        self.project = Conv(hidden, outputs)
        self.adds = stride == 1 and inputs == outputs
        self.dilated = dilation > 1

    def forward(self, inputs: Tensor, *, in_batch: bool = False) -> Tensor:
        """Transform (n, c, h, w), or what ``space_to_batch`` made of it."""
        features = inputs if self.expand is None else functional.relu6(self.expand(inputs))
        features = self.depthwise.undilated(features) if in_batch else self.depthwise(features)
        features = self.project(functional.relu6(features))
        return inputs + features if self.adds else features


class MobileNetV2(nn.Module):
    """The backbone, its last stages dilated: features at strides 2, 4, 8 and 16 with 16, 24, 32 and 320 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = Conv(3, 32, size=3, stride=2)
        blocks: list[nn.Module] = []
        self.ends: list[int] = []
        inputs = 32
        for expansion, outputs, repeats, step, dilation in BLOCKS:
            for repeat in range(repeats):
                moves = step if repeat == 0 else 1
                if moves == 2:
                    self.ends.append(len(blocks) - 1)
                spread = 1 if outputs == 160 and repeat == 0 else dilation
                blocks.append(Inverted(inputs, outputs, expansion=expansion, stride=moves, dilation=spread))
                inputs = outputs
        self.blocks = nn.ModuleList(blocks)

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Features of pictures (n, 3, side, side) in -1..1, the side a multiple of 32."""
        features = functional.relu6(self.stem(pictures))
        skips: list[Tensor] = []
        in_batch = False
        for index, block in enumerate(self.blocks):
            if self.training and block.dilated and not in_batch:
                features, in_batch = space_to_batch(features), True
            features = block(features, in_batch=in_batch)
            if index in self.ends:
                skips.append(features)
        return skips[0], skips[1], skips[2], batch_to_space(features) if in_batch else features

    def convolutions(self) -> list[Conv]:
        """All convolutions in the order in which they run."""
        return [module for module in self.modules() if isinstance(module, Conv)]


class MobileStages(nn.Module):
    """MobileNetV2 a stage at a time, at strides 4, 8, 16 and 32 with 24, 32, 96 and 160 channels.

    Its last block, of 320 channels, is left out: a fifth of all weights for a map of few positions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stem = Conv(3, 32, size=3, stride=2)
        inputs, stages = 32, [nn.Sequential()]
        for expansion, outputs, repeats, step, dilation in BLOCKS[:-1]:
            stride = step * dilation  # the backbone's dilation stands for a stride
            if stride == 2 and inputs > _HALVED:
                stages.append(nn.Sequential())
            for repeat in range(repeats):
                stages[-1].append(Inverted(inputs, outputs, expansion=expansion, stride=stride if repeat == 0 else 1))
                inputs = outputs
        self.stages = nn.ModuleList(stages)

    def forward(self, inputs: Tensor, stage: int) -> Tensor:
        """Run stage 1 on RGB pictures (n, 3, side, side) in 0..1, a later one on what the one before hands on."""
        if stage == 1:
            inputs = functional.relu6(self.stem((2 * inputs - 1).contiguous(memory_format=torch.channels_last)))
        output: Tensor = self.stages[stage - 1](inputs)
        return output

    def convolutions(self) -> list[Conv]:
        """All convolutions in the order in which they run."""
        return [module for module in self.modules() if isinstance(module, Conv)]


class Context(nn.Module):
    """DeepLab's head: each position and the mean of all, projected together. (n, 320, h, w) -> (n, 256, h, w)."""

    def __init__(self) -> None:
        super().__init__()
        self.local = Conv(320, CONTEXT)
        self.whole = Conv(320, CONTEXT)
        self.project = Conv(2 * CONTEXT, CONTEXT)

    def forward(self, inputs: Tensor) -> Tensor:
        """Transform features of stride 16."""
        local = functional.relu6(self.local(inputs))
        mean = functional.relu6(self.whole(inputs.mean(dim=(2, 3), keepdim=True)))
        weight = self.project.weight
        pooled = functional.conv2d(mean, weight[:, :CONTEXT])  # one for all positions: cheaper than a map of copies
        return functional.relu6(pooled + functional.conv2d(local, weight[:, CONTEXT:], self.project.bias))
