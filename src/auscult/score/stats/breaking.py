"""At which strength is half of the clean score lost? One number for a curve, with its interval.

Conventions: strength 0 is clean, 1, 3 and 5 are ``low``, ``medium`` and ``high``; scores are above 0, higher is better.
Between two measured strengths the score lies on a straight line. The breaking point is the first strength at which the
line is at or below the share that may be left; a curve that recovers afterwards has broken all the same. A **higher**
breaking point is more robust.

A curve that never gets there has no breaking point: Undefined, not 5. The same holds within an interval: draws that
never get there lie beyond its upper end, they are not left out. What lies beyond is above the strongest strength that
was **measured** (``beyond_of``), of which nothing else is known.

References: R2-Bench Sec. 3 (severities); intervals as in ``intervals``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.change import Clusters, Counts, Level, Scores, common, memberships
from auscult.score.stats.few_clusters import drawn_fields
from auscult.score.stats.inputs import between
from auscult.score.stats.intervals import resampled
from auscult.types import Doubles

STRENGTHS: Final[Mapping[Level, float]] = {"low": 1.0, "medium": 3.0, "high": 5.0}
STRONGEST: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaking(Scored[float]):
    """The breaking point of the mean curve (``value``).

    Attributes:
        low: Lower end of its interval; None where there is one cluster only, or where it too lies beyond ``strongest``.
        high: Upper end; None where it lies beyond the strongest measured strength, or there is one cluster only.
        strongest: The strongest measured strength, above 0 and up to 5.
        reached: Share of the draws that break at all; 1 without draws.
        clusters: Clusters drawn from.
        replicates: Draws that have a clean score above 0.
        counts: The samples behind it.
    """

    low: float | None
    high: float | None
    strongest: float
    reached: float
    clusters: int
    replicates: int
    counts: Counts


def crossing(clean: float, levels: Mapping[Any, float], *, lost: float = 0.5) -> Scored[float] | Undefined:
    """The strength at which a share of the clean score is lost, from one score for each level.

    Args:
        clean: The clean score.
        levels: The score at each strength above 0 and up to 5, or at ``low``, ``medium``, ``high``; in any order.
        lost: The share that is lost, 0..1, both ends excluded.

    Returns:
        Above 0 and up to the strongest. Undefined where the clean score is not above 0 and where the curve never gets
        there.

    Raises:
        InputError: No level, a level that is no strength, two of one strength, a score that is not finite, or ``lost``
            out of range.

    Example:
        >>> crossing(0.8, {"low": 0.6, "medium": 0.2}).value
        2.0
    """
    between(lost=lost)
    strengths, order = _strengths(tuple(levels))
    values = np.array([clean, *(list(levels.values())[index] for index in order)], dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"the scores are {values.tolist()}", expected="finite numbers")
    strength = float(_crossings(values[None], strengths, lost)[0])
    undefined = _why_not(strength, strengths, {})
    return undefined or Scored(strength, Signature.of(**_fields(lost, strengths)))


def breaking_point(
    scores: Scores,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    lost: float = 0.5,
    level: float = 0.95,
    replicates: int = 1000,
) -> Breaking | Undefined:
    """The strength at which the mean over samples has lost a share of its clean value, with its interval.

    Arguments as in ``crossing`` and ``change_interval``. Undefined when no sample is scored everywhere, where the clean
    mean is not above 0, where the mean curve never gets there, and when more than half the draws have no clean score
    above 0. Where the curve never gets there the detail holds ``strongest``, the counts, and of draws
    ``reached_in_draws``, the share that does, and ``low``, the lower end of the interval where that is not beyond too,
    with the ``clusters`` that it is of. There is no interval where all draws give the same.
    """
    between(lost=lost, level=level)
    strengths, order = _strengths(tuple(scores.levels))
    shared = common(scores.columns)
    if not shared.samples:
        return shared.counts.none("no sample is scored clean and at every level")
    values = shared.values[[0, *(1 + index for index in order)]]
    means = np.array([[math.fsum(row) / row.size for row in values]])
    strength = float(_crossings(means, strengths, lost)[0])
    members = memberships(shared.samples, clusters)
    rows = np.vstack([values, np.ones((1, len(shared.samples)))]).T
    total, curves = resampled(rows, members, _curves, rng=rng, replicates=replicates, level=level)
    draws = None if curves is None else _crossings(curves, strengths, lost)
    fields = _fields(lost, strengths)
    fields |= {} if draws is None else drawn_fields(total, level=level, replicates=replicates)
    ends = (None, None) if draws is None else _ends(draws, level)
    if ends is not None and ends[0] is not None and ends[0] == ends[1]:
        draws, ends = None, (None, None)  # all draws are the same: nothing is known of the spread
        fields = _fields(lost, strengths)
    undefined = _why_not(strength, strengths, asdict(shared.counts) | _drawn_detail(draws, ends, total))
    if undefined is not None:
        return undefined
    if ends is None:
        return shared.counts.none("the clean score is not above 0 in most draws")
    return Breaking(
        value=strength,
        signature=Signature.of(**fields),
        low=ends[0],
        high=ends[1],
        strongest=float(strengths[-1]),
        reached=1.0 if draws is None else _reached(draws),
        clusters=total,
        replicates=0 if draws is None else int(np.count_nonzero(~np.isnan(draws))),
        counts=shared.counts,
    )


def _curves(sums: Doubles) -> Doubles:
    """Mean curves, (draws, 1 + levels), from their sums and the number of samples."""
    curves: Doubles = sums[:, :-1] / sums[:, -1:]
    return curves


def _crossings(curves: Doubles, strengths: Doubles, lost: float) -> Doubles:
    """The first crossing of each curve, (draws, 1 + levels); infinite where there is none, NaN without clean score."""
    clean = curves[:, 0]
    left = (1 - lost) * clean
    broken = curves[:, 1:] <= left[:, None]
    after = 1 + broken.argmax(axis=1)
    rows = np.arange(len(curves))
    above, below = curves[rows, after - 1], curves[rows, after]
    fall = above - below
    share = np.divide(above - left, fall, out=np.zeros_like(fall), where=fall > 0)
    reached = strengths[after - 1] + share * (strengths[after] - strengths[after - 1])
    crossings = np.minimum(reached, strengths[after])  # .3 + (.9 - .3) is above .9
    crossings[~broken.any(axis=1)] = np.inf
    crossings[~(clean > 0)] = np.nan
    return np.asarray(crossings, dtype=np.float64)


def beyond_of(outcome: object) -> float | None:
    """The strength above which a breaking point, or the upper end of its interval, lies; nothing else is known of it.

    None where both lie below the strongest measured strength, where it does not exist at all, and for other outcomes.
    """
    if isinstance(outcome, Breaking):
        return outcome.strongest if outcome.replicates and outcome.high is None else None
    strongest = outcome.detail.get("strongest") if isinstance(outcome, Undefined) else None
    return strongest if isinstance(strongest, float) else None


def _why_not(strength: float, strengths: Doubles, detail: Mapping[str, object]) -> Undefined | None:
    if math.isnan(strength):
        return Undefined("the clean score is not above 0", detail)
    if math.isinf(strength):
        last = float(strengths[-1])
        return Undefined(f"not reached up to strength {last:g}", {"strongest": last, **detail})
    return None


def _drawn_detail(
    draws: Doubles | None, ends: tuple[float | None, float | None] | None, clusters: int
) -> dict[str, object]:
    """The details from the draws for a curve that never crosses."""
    if draws is None:
        return {}
    low = None if ends is None else ends[0]
    detail: dict[str, object] = {"reached_in_draws": _reached(draws)}
    return detail if low is None else detail | {"low": low, "clusters": clusters}


def _ends(draws: Doubles, level: float) -> tuple[float | None, float | None] | None:
    """Quantiles rounded outwards: a draw that never breaks is infinite and cannot be interpolated."""
    defined = draws[~np.isnan(draws)]
    if 2 * defined.size < draws.size:
        return None
    tail = (1 - level) / 2
    low = float(np.quantile(defined, tail, method="lower"))
    high = float(np.quantile(defined, 1 - tail, method="higher"))
    return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)


def _reached(draws: Doubles) -> float:
    defined = draws[~np.isnan(draws)]
    return float(np.isfinite(defined).mean()) if defined.size else 0.0


def _strengths(levels: tuple[Level, ...]) -> tuple[Doubles, list[int]]:
    """Strengths in rising order, from 0, and the index of each level among those given."""
    values = [_strength(level) for level in levels]
    if not values or len(set(values)) != len(values):
        raise InputError(f"the levels are {list(levels)}", expected="one level or more, each of its own strength")
    order = sorted(range(len(values)), key=values.__getitem__)
    return np.array([0.0, *(values[index] for index in order)]), order


def _strength(level: Level) -> float:
    value = STRENGTHS.get(level, level)
    if isinstance(value, str) or not 0 < value <= STRONGEST:
        raise InputError(
            f"level {level!r} is no strength",
            expected=f"above 0 and up to {STRONGEST:g}, or {', '.join(map(str, STRENGTHS))}",
        )
    return float(value)


def _fields(lost: float, strengths: Doubles) -> dict[str, object]:
    measured = ",".join(f"{strength:g}" for strength in strengths)
    return {"metric": "breaking point", "lost": f"{lost:g}", "strengths": measured, "between": "straight lines"}
