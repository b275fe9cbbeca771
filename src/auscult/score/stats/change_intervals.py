"""How sure a change under stress is, and the difference of two models' changes.

Conventions: as in ``change``. Whole clusters (videos, photographs) are drawn with replacement, for the clean and the
perturbed scores and for both models of a difference at once, so that what makes a video hard for all cancels.

References: R2-Bench Sec. 5; intervals as in ``intervals``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from auscult.outcome import Signature, Undefined
from auscult.score.stats.change import (
    Change,
    Scores,
    Variant,
    change_fields,
    change_sums,
    changes_of,
    same_levels,
    whole_change,
)
from auscult.score.stats.drawn import drawn, drawn_fields
from auscult.score.stats.intervals import Interval
from auscult.score.stats.resample import Floats, percentile_interval, sums_by_cluster
from auscult.score.stats.samples import Clusters, Common, Counts, common, memberships


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInterval(Interval):
    """A change with its interval and the samples behind it."""

    counts: Counts


def change_interval(
    scores: Scores,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    variant: Variant = "difference",
    level: float = 0.95,
    replicates: int = 1000,
) -> ChangeInterval | Change | Undefined:
    """The change over all samples, with an interval by drawing whole clusters.

    Args:
        scores: Clean and at every level.
        clusters: The cluster of each sample.
        rng: The generator of this draw, from ``auscult.rng.generator``.
        variant: ``difference`` or ``relative``.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        The change; without interval where there is one cluster only. Undefined as in ``mean_change``, and when more
        than half the draws give no number.

    Raises:
        InputError: A score is not finite, a sample has no cluster, or ``level`` or ``replicates`` is out of range.
        UsageError: There is no such variant.
    """
    told = change_intervals(
        {"": scores}, clusters=clusters, rng=rng, variant=variant, level=level, replicates=replicates
    )
    return told[""]


def change_intervals(
    many: Mapping[str, Scores],
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    variant: Variant = "difference",
    level: float = 0.95,
    replicates: int = 1000,
) -> dict[str, ChangeInterval | Change | Undefined]:
    """``change_interval`` of many models or kinds of stress, on the same draws, which are made once.

    Each is computed on its own samples; compare two by ``change_difference``, not by whether intervals overlap.

    Args:
        many: The scores of each.
        clusters: The cluster of each sample.
        rng: The generator of this draw.
        variant: ``difference`` or ``relative``.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        The result of each, as in ``change_interval``.

    Raises:
        InputError: As in ``change_interval``.
        UsageError: There is no such variant.
    """
    kept = {name: common(scores.columns) for name, scores in many.items()}
    fields = {name: change_fields(scores, variant) for name, scores in many.items()}
    samples = tuple(dict.fromkeys(sample for one in kept.values() for sample in one.samples))
    number = dict(zip(samples, memberships(samples, clusters).tolist(), strict=True))
    total = max(number.values(), default=-1) + 1
    members = {name: np.array([number[sample] for sample in one.samples], np.int64) for name, one in kept.items()}
    draws: dict[str, Floats] = {}
    if total >= 2:
        sums = np.hstack([sums_by_cluster(change_sums(one.values), members[name], total) for name, one in kept.items()])
        values = drawn(sums, lambda rows: changes_of(rows, variant), rng=rng, replicates=replicates)
        draws = dict(zip(many, values.T, strict=True))
    told: dict[str, ChangeInterval | Change | Undefined] = {}
    for name, one in kept.items():
        value = whole_change(one, variant)
        if isinstance(value, Undefined):
            told[name] = value
            continue
        held = len(np.unique(members[name]))
        told[name] = _closed(value, one.counts, fields=fields[name], values=draws.get(name), clusters=held, level=level)
    return told


def change_difference(
    first: Scores,
    second: Scores,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    variant: Variant = "difference",
    level: float = 0.95,
    replicates: int = 1000,
) -> ChangeInterval | Change | Undefined:
    """The change of the first minus that of the second, on the samples that both have.

    Args:
        first: The first model's scores.
        second: The second's, at levels of the same names.
        clusters: The cluster of each sample.
        rng: The generator of this draw, from ``auscult.rng.generator``.
        variant: ``difference``: above 0 the first loses less. ``relative``: below 0 the first loses less.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        The difference, with its interval where there are two clusters or more. Undefined as in ``change_interval``.

    Raises:
        InputError: The levels differ, or as in ``change_interval``.
        UsageError: There is no such variant.
    """
    same_levels([first, second])
    fields = change_fields(first, variant) | {
        "metric": "apc difference",
        "sign": f"{'above' if variant == 'difference' else 'below'} 0: the first loses less",
    }
    kept = common([*first.columns, *second.columns])
    halves = np.split(kept.values, 2)
    values = [whole_change(Common(samples=kept.samples, values=half, counts=kept.counts), variant) for half in halves]
    one, other = values
    if isinstance(one, Undefined):
        return one
    if isinstance(other, Undefined):
        return other
    members = memberships(kept.samples, clusters)
    total = int(members.max()) + 1
    draws = None
    if total >= 2:
        sums = np.hstack([sums_by_cluster(change_sums(half), members, total) for half in halves])
        sides = drawn(sums, lambda rows: changes_of(rows, variant), rng=rng, replicates=replicates)
        draws = sides[:, 0] - sides[:, 1]
    return _closed(one - other, kept.counts, fields=fields, values=draws, clusters=total, level=level)


def _closed(
    value: float, counts: Counts, *, fields: dict[str, object], values: Floats | None, clusters: int, level: float
) -> ChangeInterval | Change | Undefined:
    if values is None or clusters < 2:
        return Change(value=value, signature=Signature.of(**fields), counts=counts)
    ends = percentile_interval(values, level=level)
    if ends is None:
        return counts.none("the change is undefined in most draws")
    missing = int(np.count_nonzero(np.isnan(values)))
    return ChangeInterval(
        value=value,
        signature=Signature.of(**fields, **drawn_fields(level, len(values))),
        low=ends[0],
        high=ends[1],
        clusters=clusters,
        replicates=len(values) - missing,
        undefined=missing,
        counts=counts,
    )
