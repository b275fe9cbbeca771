"""The network of `masks.compact.v1`: a few small members that look at different things, and answer together.

Each member learns alone. One that reads cues beside pixels soon rests on the cues and learns little more; members that
had to learn apart err on different masks, and their mean (of the log-probabilities of the kind, of the probabilities of
the IoU) is better than each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from auscult.nets.compact_member import BINS, FEATURES, GRID, KINDS, TYPES, Design, Member, Seen

__all__ = ["BINS", "FEATURES", "GRID", "KINDS", "MEMBERS", "TYPES", "CompactNet", "Design", "Member", "Mixing", "Seen"]

MEMBERS: Final[tuple[Design, ...]] = (
    Design(likeness=True, share=0.3),
    Design(crop=False, strip=False, cues=True, share=0.7),
)
"""What ships: one that looks at the picture and at likeness, and one that reads the cues.

Shares from photographs and sequences of training and calibration part left out in turn, by short runs.
"""

_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing:
    """How the histograms of the kinds are mixed.

    Attributes:
        offsets: Added to each kind's logit, (6,).
        kept: How much of its own histogram each kind keeps, (6,), 0..1; the rest is the usual one of that kind.
        usual: The usual histogram of each kind, (6, 40), each summing to 1.
    """

    offsets: tuple[float, ...]
    kept: tuple[float, ...]
    usual: tuple[tuple[float, ...], ...]


class CompactNet(nn.Module):
    """Members that judge a mask together. It only judges: each member is trained by itself.

    Args:
        designs: What each member looks at.
    """

    def __init__(self, designs: Sequence[Design] = MEMBERS) -> None:
        super().__init__()
        self.members = nn.ModuleList([Member(design) for design in designs])
        self.shares = [design.share / sum(one.share for one in designs) for design in designs]
        self.register_buffer("offsets", torch.zeros(len(KINDS)), persistent=False)
        self.register_buffer("kept", torch.ones(len(KINDS)), persistent=False)
        self.register_buffer("usual", torch.full((len(KINDS), BINS), 1 / BINS), persistent=False)

    def forward(self, seen: Seen) -> dict[str, Tensor]:
        """Give ``types`` (n, 6), ``ious`` (n, 40) log-probabilities, ``features`` (n, 64) of the first member.

        The IoU is that of a mask on an object. ``truth`` (n, 1, 64, 64) is the mean of the members that estimate it.
        Also ``kinds`` (n, 6) and ``experts`` (n, 6, 40), log-probabilities, as they are before mixing.
        """
        said = [member(seen) for member in self.members]
        kinds = self._mean([one["kinds"].log_softmax(1) for one in said]).log_softmax(1)
        experts = self._mean([one["experts"].exp() for one in said])
        arbitrary = self._mean([one["arbitrary"] for one in said])
        blended = self.kept[None, :, None] * experts + (1 - self.kept[None, :, None]) * self.usual[None]
        shares = (kinds + self.offsets[None]).log_softmax(1)
        five = kinds[:, : len(TYPES) - 1]
        found = {
            "features": said[0]["features"],
            "types": torch.cat([five, torch.logsumexp(five, 1, keepdim=True) + arbitrary], 1),
            "ious": torch.logsumexp(shares[:, :, None] + (blended + _TINY).log(), dim=1),
            "kinds": kinds,
            "experts": (experts + _TINY).log(),
        }
        truths = [one["truth"] for one in said if "truth" in one]
        return {**found, "truth": torch.stack(truths).mean(0)} if truths else found

    def _mean(self, values: Sequence[Tensor]) -> Tensor:
        """The members' answers, each with its share."""
        return torch.stack([share * value for share, value in zip(self.shares, values, strict=True)]).sum(0)

    def mix(self, mixing: Mixing) -> None:
        """Set how the kinds' histograms are mixed."""
        self.offsets.copy_(torch.tensor(mixing.offsets))
        self.kept.copy_(torch.tensor(mixing.kept))
        self.usual.copy_(torch.tensor(mixing.usual))
