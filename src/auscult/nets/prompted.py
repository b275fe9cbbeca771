"""The network of `masks.prompted.v1`: what would a segmenter draw here, and how good is the candidate beside it?

A backbone with pretrained knowledge of objects looks at a crop. A prompt (the candidate mask, a box, or points inside
and outside) tells the decoder which object is meant, and it answers with a mask. Two heads compare the candidate with
the answer, with features where the two agree and where they differ, with the strip along the candidate's outline and
with its shape: one gives a histogram of the IoU, the other the type of defect.

Related: Kirillov et al. 2023 (promptable segmentation); Huang et al. 2019, Mask Scoring R-CNN (a head for the IoU).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from auscult.nets.mobilenet import CONTEXT, Context, MobileNetV2

BINS: Final = 25
"""Bins of the histogram of the IoU, evenly over 0..1."""
TYPES: Final = ("perfect", "cutout", "dilate", "erode", "merge", "arbitrary")
PROMPTS: Final = 4
"""Channels of a prompt: mask, box, points inside, points outside."""
FEATURES: Final = 64
SHAPE: Final = 10
STRIP: Final = 6
MEMBERS: Final = 5
"""Perceptrons of a `DefectClassifier`."""

_WIDE, _MIDDLE, _FINE, _LAST = 96, 48, 32, 16
_HEADS, _EACH = 8, 12
_TINY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a network is made of."""

    side: int = 256  # side of the crop in pixels, a multiple of 32
    margin: float = 1.5  # the crop's side in longer sides of the candidate's box
    strip: bool = True  # whether it sees the strip along the outline
    # leading blocks of the backbone that keep their first weights; edges and colours need no learning, and they are the
    # most expensive to learn
    frozen: int = 3


class Separable(nn.Module):
    """A depthwise convolution and a pointwise one, added to what came in."""

    def __init__(self, width: int, *, size: int = 3) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, size, padding=size // 2, groups=width)
        self.pointwise = nn.Conv2d(width, width, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Transform (n, c, h, w)."""
        return functional.relu(inputs + self.pointwise(functional.relu(self.depthwise(inputs))))


class PromptCode(nn.Module):
    """A prompt on the grids of stride 4, 8 and 16."""

    def __init__(self) -> None:
        super().__init__()
        self.fine = nn.Conv2d(PROMPTS, 16, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.wide = nn.Conv2d(32, 64, 3, stride=2, padding=1)

    def forward(self, prompt: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Code of a prompt (n, 4, grid, grid)."""
        fine = functional.relu(self.fine(prompt))
        middle = functional.relu(self.middle(fine))
        return fine, middle, functional.relu(self.wide(middle))


class Likeness(nn.Module):
    """How like the prompted region, and how like what is round it, each position is: 2 x 8 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(CONTEXT, _HEADS * _EACH, 1)

    def forward(self, features: Tensor, region: Tensor) -> Tensor:
        """Compare features (n, 256, h, w) with a region (n, 1, h, w), 0..1."""
        n, _, height, width = features.shape
        vectors = self.embed(features).reshape(n, _HEADS, _EACH, height * width)
        ones = torch.ones(1, _EACH, dtype=vectors.dtype, device=vectors.device)
        vectors = vectors / torch.matmul(ones, vectors * vectors).clamp(min=_TINY).sqrt()
        weights = torch.cat([region, 1 - region], dim=1).reshape(n, 1, 2, height * width) + 1e-4
        means = torch.matmul(vectors, weights.transpose(2, 3)) / weights.sum(dim=3).unsqueeze(2)
        likeness = torch.matmul(means.transpose(2, 3), vectors)
        return likeness.reshape(n, 2 * _HEADS, height, width)


class Decoder(nn.Module):
    """From features and a prompt to an answer mask, coarse to fine."""

    def __init__(self) -> None:
        super().__init__()
        self.code = PromptCode()
        self.likeness = Likeness()
        self.wide = nn.Conv2d(CONTEXT + 64 + 2 * _HEADS, _WIDE, 1)
        self.wide_blocks = nn.Sequential(Separable(_WIDE, size=5), Separable(_WIDE, size=5))
        self.middle = nn.Conv2d(_WIDE + 32 + 32, _MIDDLE, 1)
        self.middle_blocks = nn.Sequential(Separable(_MIDDLE, size=5), Separable(_MIDDLE))
        self.fine = nn.Conv2d(_MIDDLE + 24 + 16, _FINE, 1)
        self.fine_blocks = nn.Sequential(Separable(_FINE), Separable(_FINE))
        self.last = nn.Conv2d(_FINE + 16 + PROMPTS, _LAST, 1)
        self.last_block = Separable(_LAST)
        self.answer = nn.Conv2d(_LAST, 1, 1)

    def forward(
        self, skips: tuple[Tensor, Tensor, Tensor], context: Tensor, prompt: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """The answer to a prompt as logits, (n, 1, grid, grid), and the decoder's features at strides 4, 8 and 16."""
        coded = self.code(prompt)
        region = functional.avg_pool2d(prompt[:, :3].amax(dim=1, keepdim=True), 8)
        joined = torch.cat([context, coded[2], self.likeness(context, region)], dim=1)
        wide = self.wide_blocks(functional.relu(self.wide(joined)))
        middle = self.middle_blocks(_joined(self.middle, wide, skips[2], coded[1]))
        fine = self.fine_blocks(_joined(self.fine, middle, skips[1], coded[0]))
        last = self.last_block(_joined(self.last, fine, skips[0], prompt))
        return self.answer(last), (fine, middle, wide)


class StripLook(nn.Module):
    """Features of the strip along the outline, (n, 6, 24, 256) -> (n, 128): means and extremes along it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(STRIP, 24, (3, 5), stride=(1, 2), padding=(1, 2)),
            nn.ReLU(),
            nn.Conv2d(24, 40, 3, stride=2, padding=1),
            nn.ReLU(),
            Separable(40),
            nn.Conv2d(40, 64, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(64, 64, (6, 3), padding=(0, 1)),
            nn.ReLU(),
        )

    def forward(self, strip: Tensor) -> Tensor:
        """Look along (n, 6, 24, 256)."""
        features = self.layers(strip)
        return torch.cat([features.mean(dim=(2, 3)), features.amax(dim=(2, 3))], dim=1)


class Head(nn.Module):
    """Two layers from all that was compared to numbers; the first one's output is kept as features."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, 160)
        self.second = nn.Linear(160, FEATURES)
        self.last = nn.Linear(FEATURES, outputs)
        self.drop = nn.Dropout(0.2)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and features."""
        features = functional.relu(self.second(self.drop(functional.relu(self.first(self.drop(inputs))))))
        return self.last(features), features


class PromptedNet(nn.Module):
    """The whole network.

    Args:
        design: What it is made of.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.design = design
        self.backbone = MobileNetV2()
        self.context = Context()
        self.decoder = Decoder()
        self.strip = StripLook() if design.strip else None
        compared = 4 * _MIDDLE + 2 * _FINE + 2 * _WIDE + NUMBERS + SHAPE + (128 if design.strip else 0)
        self.norm = nn.LayerNorm(compared)
        self.iou_head = Head(compared, BINS)
        self.type_head = Head(compared, len(TYPES))

    def forward(
        self,
        crop: Tensor,
        candidate: Tensor,
        *,
        strip: Tensor,
        shape: Tensor,
        prompt: Tensor | None = None,
        given: tuple[Tensor, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Judge candidates.

        Logits ``answer`` (n, 1, grid, grid), ``ious`` (n, 25), ``types`` (n, 6) and ``features`` (n, 64) of ``crop``
        (n, 3, side, side), -1..1; ``candidate`` (n, 1, grid, grid), 0..1, the grid half the side; ``strip`` (n, 6, 24,
        256); ``shape`` (n, 10). ``prompt``, (n, 4, grid, grid), is mask, box, points inside and points outside; the
        candidate as a mask by default. ``given`` is another segmenter's answer as logits, (n, 1, grid, grid), and how
        much it counts beside the network's own, (n, 1, 1, 1) in 0..1; the heads then compare the candidate with the
        mean of the two.
        """
        first, second, third, last = self.backbone(crop)
        context = self.context(last)
        if prompt is None:
            prompt = torch.cat([candidate, torch.zeros_like(candidate.expand(-1, PROMPTS - 1, -1, -1))], dim=1)
        answer, levels = self.decoder((first, second, third), context, prompt)
        if given is not None:
            answer = answer * (1 - given[1]) + given[0] * given[1]
        parts = [self._regions(answer, candidate, levels), numbers(answer, candidate), shape]
        if self.strip is not None:
            parts.append(self.strip(strip))
        compared = self.norm(torch.cat(parts, dim=1))
        ious, features = self.iou_head(compared)
        types, _ = self.type_head(compared)
        return {"answer": answer, "ious": ious, "types": types, "features": features}

    def _regions(self, answer: Tensor, candidate: Tensor, levels: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Means of the decoder's features where candidate and answer agree, where they differ, and along the rim."""
        fine, middle, wide = levels
        c4, a4 = functional.avg_pool2d(candidate, 2), functional.avg_pool2d(torch.sigmoid(answer), 2)
        grown, shrunk = dilate_5x5(c4), 1 - dilate_5x5(1 - c4)
        rims = torch.cat([c4 * (1 - shrunk), (1 - c4) * grown], dim=1)
        c8, a8 = functional.avg_pool2d(c4, 2), functional.avg_pool2d(a4, 2)
        regions = torch.cat([c8 * a8, c8 * (1 - a8), (1 - c8) * a8, (1 - c8) * (1 - a8)], dim=1)
        c16 = functional.avg_pool2d(c8, 2)
        return torch.cat(
            [_means(middle, regions), _means(fine, rims), _means(wide, torch.cat([c16, torch.ones_like(c16)], dim=1))],
            dim=1,
        )


NUMBERS: Final = 21


def numbers(answer: Tensor, candidate: Tensor) -> Tensor:
    """What answer and candidate have in common, in numbers: (n, 21).

    For the answer as it is, cut at .3, .5 and .7: IoU, precision and recall of the candidate against it, and its share
    of the crop; then the candidate's share, how sure the answer is inside, outside and along the candidate's rim.
    """
    sure = torch.sigmoid(answer)
    columns = []
    for cut in (sure, *(torch.sigmoid((answer - level) * 6) for level in (-0.85, 0.0, 0.85))):
        both, all_cut, all_candidate = (value.mean(dim=(1, 2, 3)) for value in (cut * candidate, cut, candidate))
        columns += [
            both / (all_cut + all_candidate - both + 1e-3),
            both / (all_candidate + 1e-3),
            both / (all_cut + 1e-3),
            all_cut,
        ]
    grown, shrunk = dilate_5x5(candidate), 1 - dilate_5x5(1 - candidate)
    doubt = 4 * sure * (1 - sure)
    for region in (shrunk, 1 - grown, grown - shrunk):
        columns.append((doubt * region).mean(dim=(1, 2, 3)) / (region.mean(dim=(1, 2, 3)) + 1e-3))
    columns.append(candidate.mean(dim=(1, 2, 3)))
    columns.append((sure * (grown - shrunk)).mean(dim=(1, 2, 3)) / ((grown - shrunk).mean(dim=(1, 2, 3)) + 1e-3))
    return torch.stack(columns, dim=1)


def dilate_5x5(mask: Tensor) -> Tensor:
    """The maximum over 5 x 5 cells about each, (n, c, h, w); column by column, then row by row, which is cheaper."""
    columns = functional.max_pool2d(mask, (5, 1), stride=1, padding=(2, 0))
    return functional.max_pool2d(columns, (1, 5), stride=1, padding=(0, 2))


def _means(features: Tensor, regions: Tensor) -> Tensor:
    """Mean of features (n, c, h, w) over each region (n, k, h, w): (n, k * c)."""
    n, channels, height, width = features.shape
    count = regions.shape[1]
    flat = regions.reshape(n, count, height * width)
    sums = torch.matmul(flat, features.reshape(n, channels, height * width).transpose(1, 2))
    return (sums / (flat.sum(dim=2, keepdim=True) + 0.5)).reshape(n, count * channels)


def _joined(layer: nn.Conv2d, coarse: Tensor, *others: Tensor) -> Tensor:
    """A pointwise layer over a coarser map, enlarged, and maps beside it; enlarging after it costs a third."""
    width = coarse.shape[1]
    enlarged = _up(functional.conv2d(coarse, layer.weight[:, :width]))
    added = functional.conv2d(torch.cat(others, dim=1), layer.weight[:, width:], layer.bias)
    return functional.relu(enlarged + added)


def _up(inputs: Tensor) -> Tensor:
    return functional.interpolate(inputs, scale_factor=2.0, mode="bilinear", align_corners=False)


class DefectClassifier(nn.Module):
    """Classifies the type of a defect from so many ``cues`` along the outline and ``shape`` numbers of the mask.

    An ensemble of perceptrons, both layers of width ``hidden``; the output is the mean of their log shares.
    """

    def __init__(self, *, cues: int, shape: int = SHAPE, hidden: int = 64) -> None:
        super().__init__()
        self.cues, self.shape = cues, shape
        width = cues + shape
        self.centre = nn.Buffer(torch.zeros(width))
        self.spread = nn.Buffer(torch.ones(width))
        self.members = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, hidden), nn.GELU(), nn.Dropout(0.3),
                nn.Linear(hidden, hidden), nn.GELU(), nn.Dropout(0.3),
                nn.Linear(hidden, len(TYPES)),
            )
            for _ in range(MEMBERS)
        )  # fmt: skip

    @classmethod
    def standardised(cls, cues: Tensor, shape: Tensor) -> DefectClassifier:
        """A network that begins with the means and deviations of its samples, (n, cues) and (n, shape)."""
        net = cls(cues=cues.shape[1], shape=shape.shape[1])
        both = torch.cat([cues, shape], dim=1)
        net.centre.copy_(both.mean(dim=0))
        net.spread.copy_(both.std(dim=0).clamp_min(1e-6))
        return net

    def members_of(self, cues: Tensor, shape: Tensor, *, noise: float = 0.0) -> list[Tensor]:
        """Logits by each member, (n, 6); ``noise`` is added to what it sees, in deviations."""
        inputs = ((torch.cat([cues, shape], dim=1) - self.centre) / self.spread).clamp(-5, 5)
        return [member(inputs + noise * torch.randn_like(inputs) if noise else inputs) for member in self.members]

    def forward(self, cues: Tensor, shape: Tensor) -> Tensor:
        """Mean log shares of the six types, (n, 6)."""
        return torch.stack([logits.log_softmax(dim=1) for logits in self.members_of(cues, shape)]).mean(dim=0)
