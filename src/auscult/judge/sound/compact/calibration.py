"""From what the network says to what a verdict says: corrected scores, 90 % intervals, novelty.

Fitted on the calibration part alone. A score is moved along a line; its interval is the network's own expected error
times a factor, which is the conformal quantile of its group (domain and prompts; Papadopoulos et al., 2002), and wider
where the sound is unlike what calibration heard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from auscult.errors import UsageError
from auscult.nets.onnx_session import HINT
from auscult.record.codec import read_file
from auscult.types import Doubles, Floats

FILE: Final = "calibration.json"
_MOST_BYTES: Final = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundCalibration:
    """The numbers.

    Attributes:
        network: Hash of the network that they were fitted to.
        lines: Slope and offset of each score, by ``PERFORMANCE``.
        errors: Power and offset of each score's expected error, since a network that has learned its samples is too
            sure of others.
        factors: By group, ``domain/prompts`` or ``all``, for each score what its expected error is multiplied by, for
            the lower and the upper end.
        centre: Of what calibration sounded like to the network, (width,).
        axes: Onto which a sound is projected, each scaled to a spread of 1, (axes, width).
        near: The distance that nine of ten calibration samples are within.
        far: The distance at which nothing is alike any more.
    """

    network: str
    lines: tuple[tuple[float, float], ...]
    errors: tuple[tuple[float, float], ...]
    factors: Mapping[str, tuple[tuple[float, float], ...]]
    centre: tuple[float, ...]
    axes: tuple[tuple[float, ...], ...]
    near: float
    far: float

    def novelty(self, pooled: Floats) -> Doubles:
        """How unlike calibration sounds (n, width) are, 0..1."""
        distance = self.distance(pooled)
        return np.asarray(np.clip((distance - self.near) / max(self.far - self.near, 1e-9), 0.0, 1.0))

    def distance(self, pooled: Floats) -> Doubles:
        """How far they are from the middle of what calibration heard."""
        places = (pooled.astype(np.float64) - np.asarray(self.centre)) @ np.asarray(self.axes).T
        return np.asarray(np.sqrt(np.square(places).mean(axis=1)))

    def intervals(self, scores: Floats, spread: Floats, *, group: str, novelty: Doubles) -> Doubles:
        """Scores with the ends of their intervals, (n, 4, 3), within 1..5; of samples of one group."""
        slope, offset = np.asarray(self.lines).T
        moved = np.clip(scores * slope + offset, 1.0, 5.0)
        error = error_of(spread, self.errors) * (1 + novelty[:, None])
        low, high = np.asarray(self.factors.get(group, self.factors["all"])).T
        ends = np.stack([moved, moved - low * error, moved + high * error], axis=-1)
        return np.asarray(np.clip(ends, 1.0, 5.0), dtype=np.float64)


def error_of(spread: Floats, errors: Sequence[tuple[float, float]]) -> Doubles:
    """The expected errors in points, of the logarithms (n, scores) that the network gives."""
    power, offset = np.asarray(errors).T
    return np.asarray(np.exp(np.clip(spread.astype(np.float64), -6.0, 2.0) * power) + offset)


@cache
def load_calibration(folder: Path, network: str) -> SoundCalibration:
    """The calibration of a network's folder; a UsageError where it is of another network."""
    path = folder / FILE
    found = read_file(
        SoundCalibration,
        path,
        what="calibration",
        expected="what `auscult train compact-sound` wrote",
        most_bytes=_MOST_BYTES,
        hint=HINT,
    )
    if found.network != network:
        raise UsageError("the calibration is of another network", expected=network, hint=HINT, path=path)
    return found
