"""The network of `masks.compact.v1`: from a crop, a context and a strip to defect, IoU and the true mask.

Its designs differ in what they look at, so that they can be compared on the same samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

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
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a network looks at and how wide it is.

    Attributes:
        picture: It sees the pixels; without, the masks alone.
        distance: The crop has a signed distance to the outline beside the mask.
        dense: It estimates the true mask in the crop, and its measures enter the answer.
        strip: It reads the strip along the outline.
        context: It sees the surroundings.
        derived: The answer follows from the estimated masks' measures alone.
        width: Channels of the first stage.
    """

    picture: bool = True
    distance: bool = True
    dense: bool = True
    strip: bool = True
    context: bool = True
    derived: bool = False
    width: int = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing:
    """How the histograms of the kinds are mixed.

    Attributes:
        mixed: Added to the logit of ``mixed``.
        kept: How much of its own histogram each kind keeps, (6,), 0..1; the rest is the usual one of that kind.
        usual: The usual histogram of each kind, (6, 40), each summing to 1.
    """

    mixed: float
    kept: tuple[float, ...]
    usual: tuple[tuple[float, ...], ...]


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
        self.context = _Context(w) if design.context else None
        joined = widths[3] + (3 * w if design.context else 0)
        self.join = nn.Sequential(_Conv(joined, widths[3], 1), _Residual(widths[3]))
        self.width = widths[3] + (3 * w if design.context else 0)
        if design.dense:
            self.side = nn.ModuleList([nn.Conv2d(width, w, 1) for width in widths])
            self.smooth = nn.ModuleList([_Conv(w, w) for _ in range(3)])
            self.truth = nn.Conv2d(w, 1, 1)
        self.dense = design.dense

    def forward(self, crop: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Give pooled features and, if dense, logits of the true mask, (n, 1, 64, 64)."""
        levels: list[Tensor] = []
        x = crop
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        x = self.deepest(x)
        around: Tensor | None = None
        if self.context is not None and context is not None:
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
    def __init__(self, w: int) -> None:
        super().__init__(_stage(4, w, 0), _stage(w, 2 * w, 1), _stage(2 * w, 3 * w, 1))


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


class CompactNet(nn.Module):
    """Judges a mask.

    Inputs are float32, batch first: ``crop`` (n, 5, 128, 128), ``context`` (n, 4, 64, 64), ``strip`` (n, 5, 24, 256).
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.design = design
        colours = 3 if design.picture else 0
        self.crop = CropBranch(colours + 1 + int(design.distance), design)
        width = self.crop.width
        self.strip = StripBranch(colours + 2, design.width) if design.strip else None
        if self.strip is not None:
            width += self.strip.width
        if design.derived:
            width = 0
        measured = _MEASURES * int(design.dense) + (DEPTH + 6) * int(design.strip)
        self.head = nn.Sequential(nn.Linear(width + measured, 192), nn.ReLU(inplace=True), nn.Dropout(0.1))
        self.features = nn.Linear(192, FEATURES)
        self.kinds = nn.Linear(FEATURES, len(KINDS))
        self.arbitrary = nn.Linear(FEATURES, 1)
        self.experts = nn.Linear(FEATURES, len(KINDS) * BINS)
        self.register_buffer("mixing", torch.tensor(0.0), persistent=False)
        self.register_buffer("kept", torch.ones(len(KINDS)), persistent=False)
        self.register_buffer("usual", torch.full((len(KINDS), BINS), 1 / BINS), persistent=False)

    def forward(self, crop: Tensor, context: Tensor, strip: Tensor) -> dict[str, Tensor]:
        """Give ``types`` (n, 6), ``ious`` (n, 40) log-probabilities, ``truth`` (n, 1, 64, 64), ``features`` (n, 64).

        The IoU is that of a mask on an object. For training also ``kinds`` (n, 6) and ``arbitrary`` (n, 1), logits;
        ``experts`` (n, 6, 40), the IoU's histogram if it is of that kind; and ``profile`` (n, 24, 64).
        """
        inside = (crop[:, 3:4] + 2) / 4
        if not self.design.picture:
            context = torch.cat([torch.zeros_like(context[:, :3]), context[:, 3:]], 1)
        pooled, truth = self.crop(self._seen(crop), context if self.design.context else None)
        found: dict[str, Tensor] = {}
        known = [] if self.design.derived else [pooled]
        if truth is not None:
            found["truth"] = truth
            known.append(_measures(truth, inside))
        if self.strip is not None:
            along, profile = self.strip(strip if self.design.picture else strip[:, 3:])
            found["profile"] = profile
            if not self.design.derived:
                known.append(along)
            known.append(_shape(profile))
        return {**found, **self._answer(torch.cat(known, 1))}

    def _answer(self, known: Tensor) -> dict[str, Tensor]:
        features = self.features(self.head(known.float()))
        bent = f.relu(features)
        kinds = self.kinds(bent)
        experts = self.experts(bent).view(-1, len(KINDS), BINS).log_softmax(2)
        shares = self._shares(kinds).log_softmax(1)
        blended = experts
        if not self.training:
            kept = self.kept[None, :, None]
            blended = (kept * experts.exp() + (1 - kept) * self.usual[None] + _TINY).log()
        mixed = torch.logsumexp(shares[:, :, None] + blended, dim=1)
        arbitrary = self.arbitrary(bent)
        five = kinds[:, : len(TYPES) - 1]
        return {
            "features": features,
            "types": torch.cat([five, torch.logsumexp(five, 1, keepdim=True) + arbitrary], 1),
            "arbitrary": arbitrary,
            "ious": mixed,
            "kinds": kinds,
            "experts": experts,
        }

    def mix(self, mixing: Mixing) -> None:
        """Set how the kinds' histograms are mixed when it judges; training leaves them as they are."""
        self.mixing.copy_(torch.tensor(mixing.mixed))
        self.kept.copy_(torch.tensor(mixing.kept))
        self.usual.copy_(torch.tensor(mixing.usual))

    def _shares(self, kinds: Tensor) -> Tensor:
        return torch.cat([kinds[:, : len(KINDS) - 1], kinds[:, len(KINDS) - 1 :] + self.mixing], 1)

    def _seen(self, crop: Tensor) -> Tensor:
        last = 5 if self.design.distance else 4
        return crop[:, (0 if self.design.picture else 3) : last]


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
