"""Other sources in the output: one at a stated level, or all of them up to the mixture itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from auscult.stress.perturbation import Constant, Fixed
from auscult.stress.sound.separation.base import Parts, SeparationStressor, SourceParams, Stems, about, at_level


class Leakage(SeparationStressor[SourceParams]):
    """Leaves one other source in, at a stated level."""

    name = "separation.leakage.v1"
    params = SourceParams
    degree = "interference_db"
    needs_others = True
    level = Constant(
        "level of the other source, relative to the target", (-60.0, -24.0, -18.0, -12.0, -6.0, 0.0), unit="dB"
    )
    meta = about("one other source is left in", "precision, by which source and how much of it")

    def render(self, stems: Stems, params: SourceParams) -> Parts:
        """The target and the other source."""
        place = stems.other(params.source_share)
        leak = at_level(stems.others[place], self.level.at(params.strength), of=stems.target)
        return Parts(kept=stems.target, interference=leak, sources=(place,))


class Mixture(Fixed, SeparationStressor[Any]):
    """Leaves all other sources in, in part; at the strongest the mixture is returned unchanged."""

    name = "separation.mixture.v1"
    degree = "interference_db"
    needs_others = True
    share = Constant("share of the other sources' amplitude", (0.0, 0.1, 0.25, 0.45, 0.7, 1.0))
    meta = about("the mixture is returned, in part or unchanged", "a separator that does nothing")

    def render(self, stems: Stems, params: Any) -> Parts:
        """The target and the others."""
        rest = stems.rest() * np.float32(self.share.at(params.strength))
        return Parts(kept=stems.target, interference=rest, sources=tuple(stems.others))


LEAKAGE, MIXTURE = Leakage(), Mixture()
