"""One member of the network of `masks.compact.v1`: from what it looks at to defect, IoU and the true mask.

Designs differ in what they look at, so that they can be compared on the same samples, and so that members of a network
err on different masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as f

TYPES: Final = ("perfect", "cutout", "dilate", "erode", "merge", "arbitrary")
KINDS: Final = (*TYPES[:5], "mixed")
"""What it tells apart of masks on an object: ``mixed`` is what no single type describes, such as errors on both sides.

Whether a mask is on an object at all is asked apart: with few objects to learn from, a network soon takes every
unknown thing for background, and what it says of outlines must not suffer from that.
"""
BINS: Final = 40
FEATURES: Final = 64
GRID: Final = 64
DEPTH: Final = 24
PROFILE: Final = 64
_MEASURES: Final = 10
_CUES: Final = 169
_SIGNS_OF_CUES: Final = 96
_DROPPED: Final = 0.1
_NOISE: Final = 0.5  # of each cue's standard deviation; without it F2 on objects left out was 5 points lower


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a network looks at and how wide it is.

    Attributes:
        crop: It looks at the crop.
        picture: It sees the pixels; without, the masks alone.
        distance: The crop has a signed distance to the outline beside the mask.
        likeness: It sees how much each pixel is like the inside.
        dense: It estimates the true mask in the crop, and its measures enter the answer.
        strip: It reads the strip along the outline.
        context: It sees the surroundings, beside the crop.
        cues: It reads the cues.
        derived: The answer follows from the estimated masks' measures alone.
        width: Channels of the first stage.
        share: How much its answer counts beside other members'.
    """

    crop: bool = True
    picture: bool = True
    distance: bool = True
    likeness: bool = False
    dense: bool = True
    strip: bool = True
    context: bool = True
    cues: bool = False
    derived: bool = False
    width: int = 16
    share: float = 1.0


class Seen(NamedTuple):
    """What there is to look at: float32, batch first.

    Attributes:
        crop: (n, 6, 128, 128): colours, share inside the mask, signed distance, likeness.
        context: (n, 5, 64, 64): colours, share inside the mask, likeness.
        strip: (n, 6, 24, 256): colours, share inside the mask, which outlines are outer ones, likeness.
        cues: (n, 169).
    """

    crop: Tensor
    context: Tensor
    strip: Tensor
    cues: Tensor


class _Conv(nn.Sequential):
    def __init__(self, before: int, after: int, kernel: int | tuple[int, int] = 3, *, stride: int = 1) -> None:
        size = (kernel, kernel) if isinstance(kernel, int) else kernel
        super().__init__(
            nn.Conv2d(before, after, size, stride, (size[0] // 2, size[1] // 2), bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        )


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = _Conv(width, width)
        self.second = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        return f.relu(x + self.second(self.first(x)))


def _stage(before: int, after: int, blocks: int) -> nn.Sequential:
    return nn.Sequential(_Conv(before, after, stride=2), *(_Residual(after) for _ in range(blocks)))


class CropBranch(nn.Module):
    """Encoder and decoder over the crop; the context's middle joins at the coarsest level."""

    def __init__(self, channels: int, design: Design) -> None:
        super().__init__()
        w = design.width
        widths = (w, 2 * w, 3 * w, 4 * w)
        self.stages = nn.ModuleList([_stage(channels, w, 0), _stage(w, widths[1], 1), _stage(widths[1], widths[2], 2)])
        self.deepest = _stage(widths[2], widths[3], 1)
        self.context = _Context(3 * int(design.picture) + 1 + int(design.likeness), w) if design.context else None
        joined = widths[3] + (3 * w if design.context else 0)
        self.join = nn.Sequential(_Conv(joined, widths[3], 1), _Residual(widths[3]))
        self.width = widths[3] + (3 * w if design.context else 0)
        if design.dense:
            self.side = nn.ModuleList([nn.Conv2d(width, w, 1) for width in widths])
            self.smooth = nn.ModuleList([_Conv(w, w) for _ in range(3)])
            self.truth = nn.Conv2d(w, 1, 1)
        self.dense = design.dense

    def forward(self, crop: Tensor, context: Tensor) -> tuple[Tensor, Tensor | None]:
        """Give pooled features and, if dense, logits of the true mask, (n, 1, 64, 64)."""
        levels: list[Tensor] = []
        x = crop
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        x = self.deepest(x)
        around: Tensor | None = None
        if self.context is not None:
            around = self.context(context)
            middle = f.interpolate(around[:, :, 2:6, 2:6], scale_factor=2.0, mode="nearest")
            x = torch.cat([x, middle], 1)
        x = self.join(x)
        pooled = [x.mean((2, 3))]
        if around is not None:
            pooled.append(around.mean((2, 3)))
        return torch.cat(pooled, 1), self._decoded([*levels, x]) if self.dense else None

    def _decoded(self, levels: list[Tensor]) -> Tensor:
        y = self.side[3](levels[3])
        for at in (2, 1, 0):
            y = self.smooth[at](f.interpolate(y, scale_factor=2.0, mode="nearest") + self.side[at](levels[at]))
        return cast("Tensor", self.truth(y))


class _Context(nn.Sequential):
    def __init__(self, channels: int, w: int) -> None:
        super().__init__(_stage(channels, w, 0), _stage(w, 2 * w, 1), _stage(2 * w, 3 * w, 1))


class StripBranch(nn.Module):
    """Convolutions over the strip; it also says what the true mask holds there, 24 steps across at 64 places."""

    def __init__(self, channels: int, w: int) -> None:
        super().__init__()
        self.stem = _Conv(channels, w)
        self.narrow = nn.Sequential(nn.Conv2d(w, w, 3, (1, 2), 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(inplace=True))
        self.first = nn.Sequential(_Residual(w), _stage(w, 2 * w, 1))
        self.column = nn.Sequential(
            nn.Conv2d(2 * w, 4 * w, (DEPTH // 2, 1), bias=False), nn.BatchNorm2d(4 * w), nn.ReLU(inplace=True)
        )
        self.along = nn.Sequential(_Wide(4 * w), _Wide(4 * w), _Wide(4 * w))
        self.profile = nn.Conv2d(4 * w, DEPTH, 1)
        self.width = 8 * w

    def forward(self, strip: Tensor) -> tuple[Tensor, Tensor]:
        """Give pooled features, and logits of what the true mask holds there, (n, 24, 64)."""
        x = self.along(self.column(self.first(self.narrow(self.stem(strip)))))
        pooled = torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)
        return pooled, cast("Tensor", self.profile(x)).squeeze(2)


class _Wide(nn.Module):
    """A residual step along the outline, which is closed: its ends meet."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.step = nn.Sequential(nn.Conv2d(width, width, (1, 5), bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        return f.relu(x + self.step(torch.cat([x[..., -2:], x, x[..., :2]], -1)))


class _Random(nn.Module):
    """Draws from a generator of its own: members learn in several threads, and all would draw from torch's one."""

    def __init__(self) -> None:
        super().__init__()
        self.generator: torch.Generator | None = None


class _Noisy(_Random):
    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        return x + _NOISE * torch.randn(x.shape, generator=self.generator, device=x.device, dtype=x.dtype)


class _Dropped(_Random):
    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        kept = torch.rand(x.shape, generator=self.generator, device=x.device) >= _DROPPED
        return x * kept / (1 - _DROPPED)


class Member(nn.Module):
    """Judges a mask by what its design looks at.

    Args:
        design: What it looks at; the crop, the strip or the cues at least.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.design = design
        colours, likeness = 3 if design.picture else 0, int(design.likeness)
        looked = measured = 0
        self.crop: CropBranch | None = None
        self.strip: StripBranch | None = None
        self.cues: nn.Sequential | None = None
        if design.crop:
            self.crop = CropBranch(colours + 1 + int(design.distance) + likeness, design)
            looked, measured = looked + self.crop.width, measured + _MEASURES * int(design.dense)
        if design.strip:
            self.strip = StripBranch(colours + 2 + likeness, design.width)
            looked, measured = looked + self.strip.width, measured + DEPTH + 6
        if design.cues:
            self.cues = nn.Sequential(
                nn.BatchNorm1d(_CUES, affine=False),
                _Noisy(),
                nn.Linear(_CUES, _SIGNS_OF_CUES),
                nn.ReLU(inplace=True),
                _Dropped(),
            )
            measured += _SIGNS_OF_CUES
        known = measured if design.derived else looked + measured
        self.head = nn.Sequential(nn.Linear(known, 192), nn.ReLU(inplace=True), _Dropped())
        self.features = nn.Linear(192, FEATURES)
        self.kinds = nn.Linear(FEATURES, len(KINDS))
        self.arbitrary = nn.Linear(FEATURES, 1)
        self.experts = nn.Linear(FEATURES, len(KINDS) * BINS)

    def forward(self, seen: Seen) -> dict[str, Tensor]:
        """Give ``kinds`` (n, 6), ``arbitrary`` (n, 1), both logits, ``experts`` (n, 6, 40) and ``features`` (n, 64).

        ``experts`` are log-probabilities of the IoU's histogram if the mask is of that kind, ``ious`` (n, 40) those of
        the kinds together. If the design has them, also ``truth`` (n, 1, 64, 64) and ``profile`` (n, 24, 64), logits.
        """
        found: dict[str, Tensor] = {}
        known: list[Tensor] = []
        looked: list[Tensor] = []
        if self.crop is not None:
            marks = (3, 4) if self.design.distance else (3,)
            pooled, truth = self.crop(self._seen(seen.crop, marks), self._seen(seen.context, (3,)))
            looked.append(pooled)
            if truth is not None:
                found["truth"] = truth
                known.append(_measures(truth, (seen.crop[:, 3:4] + 2) / 4))
        if self.strip is not None:
            along, found["profile"] = self.strip(self._seen(seen.strip, (3, 4)))
            looked.append(along)
            known.append(_shape(found["profile"]))
        if self.cues is not None:
            known.append(self.cues(seen.cues.float()))
        return {**found, **self._answer(torch.cat(known if self.design.derived else [*looked, *known], 1))}

    def _seen(self, view: Tensor, marks: tuple[int, ...]) -> Tensor:
        """The channels that the design looks at: colours first, then marks of the mask; the last is likeness."""
        colours = (0, 1, 2) if self.design.picture else ()
        likeness = (view.shape[1] - 1,) if self.design.likeness else ()
        kept = [*colours, *marks, *likeness]
        if kept == list(range(kept[0], kept[-1] + 1)):
            return view[:, kept[0] : kept[-1] + 1]
        return view[:, kept]

    def _answer(self, known: Tensor) -> dict[str, Tensor]:
        features = self.features(self.head(known.float()))
        bent = f.relu(features)
        kinds = self.kinds(bent)
        experts = self.experts(bent).view(-1, len(KINDS), BINS).log_softmax(2)
        return {
            "features": features,
            "kinds": kinds,
            "arbitrary": self.arbitrary(bent),
            "experts": experts,
            "ious": torch.logsumexp(kinds.log_softmax(1)[:, :, None] + experts, dim=1),
        }

    def seeded(self, seed: int) -> None:
        """Set what dropout and noise draw from in the next step."""
        source = torch.Generator(self.kinds.weight.device).manual_seed(seed)
        for module in self.modules():
            if isinstance(module, _Random):
                module.generator = source


def _measures(truth: Tensor, inside: Tensor) -> Tensor:
    """How an estimated mask and the candidate overlap, (n, 10)."""
    likely = truth.sigmoid()
    mask = f.avg_pool2d(inside, 2)
    area = mask.sum((1, 2, 3)) + 1.0
    both = (likely * mask).sum((1, 2, 3))
    missing, extra = likely * (1 - mask), (1 - likely) * mask
    lost, much = missing.sum((1, 2, 3)), extra.sum((1, 2, 3))
    near_lost = (f.avg_pool2d(missing, 9, 1, 4) * missing).sum((1, 2, 3)) / (lost + 1.0)
    near_much = (f.avg_pool2d(extra, 9, 1, 4) * extra).sum((1, 2, 3)) / (much + 1.0)
    sure = (2 * likely - 1).abs()
    unsure = ((1 - sure) * mask).sum((1, 2, 3)) / area
    union = both + lost + much
    return torch.stack(
        [
            both / union,
            (lost / area).clamp(max=4.0),
            much / area,
            near_lost,
            near_much,
            unsure,
            (both / area),
            missing.amax((1, 2, 3)),
            extra.amax((1, 2, 3)),
            area.log() - 6.0,
        ],
        1,
    )


def _shape(profile: Tensor) -> Tensor:
    """What the true mask holds across the outline on average, and how far its edge lies off: (n, 24 + 6)."""
    likely = profile.sigmoid()
    mean = likely.mean(2)
    reach = likely.sum(1) - DEPTH / 2  # steps that the true edge lies outside the outline, at each place
    spread = torch.stack(
        [
            reach.mean(1),
            reach.std(1),
            f.relu(reach).mean(1),
            f.relu(-reach).mean(1),
            (reach > 1).float().mean(1),
            (reach < -1).float().mean(1),
        ],
        1,
    )
    return torch.cat([mean, spread / 4], 1)
