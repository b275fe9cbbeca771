"""Perfect: the candidate is the target's mask itself.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from auscult.stress.masks import fields
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


@dataclass(frozen=True, slots=True)
class PerfectParams:
    """Nothing is drawn."""

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> PerfectParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: There are any keys.
        """
        fields.exactly(value, ())
        return cls()


class Perfect:
    """Gives the target's mask as it is."""

    name = "masks.perfect.v1"
    defect: Defect = "perfect"
    difficulties: tuple[Difficulty, ...] = ()
    params = PerfectParams
    meta = Metadata(
        summary="the target's own mask, unchanged",
        goal="the control: a judge must let good masks pass",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 2",
        truth="IoU 1, accept",
    )

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> PerfectParams:
        """Nothing to draw."""
        del rng, target, difficulty
        return PerfectParams()

    def render(self, target: MaskTarget, params: PerfectParams) -> Mask:
        """A copy of the target's mask."""
        del params
        return target.mask.copy()


STRESSOR = Perfect()
