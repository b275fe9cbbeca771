"""Mean scores and ratios of sums with their intervals, and how they change under stress.

Samples: a comparison is fair on those that every column of scores has. A sample that failed somewhere enters none of
the sums and is counted as failed, wherever else it was scored; likewise one that is undefined or missing somewhere.

A mean score is a ratio with a denominator of 1 for every sample; an overall IoU (oIoU) is the pixels of all
intersections over those of all unions, so that large objects weigh more. Higher is better where the score's own is.

The average performance change (APC) is how much of its score a model loses under stress: perturbed minus clean of the
same samples, in the unit of the scores (0..1 or percent), of which higher is better. **Below 0 is a loss**, nearer to 0
is more robust. Only samples that are scored clean and at every level enter. Variants:

- ``difference`` (default): the mean over the levels of perturbed minus clean, as the paper's tables print it. Over
  samples it is the mean of theirs, which equals the change of the means.
- ``relative``: the share of the clean score that is lost, 0..1 for a loss, below 0 for a gain, so **lower is better**.
  Over samples it is the share of their clean mean: a mean of each sample's share would be ruled by samples whose clean
  score is near 0. Undefined where the clean score is not above 0.

Intervals: whole clusters (videos, photographs) are drawn with replacement, for the clean and the perturbed scores and
for both models of a difference at once, so that what makes a video hard for all cancels.

References: R2-Bench Sec. 5.1 (APC) and Tables 3 to 6; oIoU and mIoU as in Kazemzadeh et al. 2014 and the RefCOCO
literature; intervals as in ``intervals``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.outcome import Failed, Outcome, Scored, Signature, Undefined
from auscult.score.stats.few_clusters import Range, ends_of, mostly_undefined, widened
from auscult.score.stats.inputs import members_of
from auscult.score.stats.intervals import FromSums, Interval, cluster_totals, drawn, resampled, sums_by_cluster
from auscult.types import Doubles

Value: TypeAlias = float | Scored[float] | Undefined | Failed
SampleKey: TypeAlias = Any  # any name that can be a key; a mapping is strict about the type of its keys
SampleValues: TypeAlias = Mapping[SampleKey, Value]
Clusters: TypeAlias = Mapping[SampleKey, Hashable]

_FLOATS: Final = frozenset({float, np.float64})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What became of the samples.

    Attributes:
        n: Scored in every column; these alone enter a number.
        failed: Failed in some column.
        undefined: Failed in none, undefined in some.
        missing: Neither, but not there in some.
    """

    n: int
    failed: int
    undefined: int
    missing: int

    def none(self, reason: str) -> Undefined:
        """An undefined number, and what became of its samples."""
        return Undefined(reason, asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The samples that every column scored.

    Attributes:
        samples: Their names, in the order of the first column that names them.
        values: (columns, n) float64, finite.
        counts: How many, and how many were left out.
    """

    samples: tuple[Hashable, ...]
    values: NDArray[np.float64]
    counts: Counts


def common(columns: Sequence[SampleValues]) -> Common:
    """Keep the samples that every column scored.

    Args:
        columns: For each column the value of each sample.

    Returns:
        Names, values and counts; no sample is no error.

    Raises:
        InputError: A value is NaN, infinite or no number.

    Example:
        >>> result = common([{"a": 0.5, "b": 0.25}, {"a": 1.0, "b": Undefined("empty truth"), "c": 0.5}])
        >>> result.samples, result.counts.undefined, result.counts.missing
        (('a',), 1, 1)
    """
    plain = _plain(columns)
    if plain is not None:
        return plain
    samples: list[Hashable] = []
    rows: list[list[float]] = []
    left = {Failed: 0, Undefined: 0, type(None): 0}
    for sample in dict.fromkeys(name for column in columns for name in column):
        row = [column.get(sample) for column in columns]
        worst = _worst(row)
        if worst is not None:
            left[worst] += 1
            continue
        samples.append(sample)
        rows.append([_number(value, sample) for value in row])
    counts = Counts(n=len(samples), failed=left[Failed], undefined=left[Undefined], missing=left[type(None)])
    values = np.array(rows, dtype=np.float64).reshape(len(samples), len(columns)).T
    return Common(samples=tuple(samples), values=values, counts=counts)


def _plain(columns: Sequence[SampleValues]) -> Common | None:
    """The usual case at once: every column has the same samples, all of them finite floating-point numbers."""
    names = tuple(columns[0]) if columns else ()
    complete = (column.keys() == columns[0].keys() and set(map(type, column.values())) <= _FLOATS for column in columns)
    if not names or not all(complete):
        return None
    values = np.array([[column[name] for name in names] for column in columns], dtype=np.float64)
    if not np.isfinite(values).all():
        return None
    return Common(samples=names, values=values, counts=Counts(n=len(names), failed=0, undefined=0, missing=0))


def memberships(samples: Sequence[Hashable], clusters: Clusters) -> NDArray[np.int64]:
    """The number of each sample's cluster, such as its video, (n,), from 0 in the order of first appearance."""
    for sample in samples:
        if sample not in clusters:
            raise InputError(
                f"sample {sample!r} has no cluster",
                expected="a cluster, such as its video or photograph, for every scored sample",
            )
    return members_of(clusters[sample] for sample in samples)


def _worst(row: Sequence[Value | None]) -> type | None:
    """Why a sample is left out; None where it is not."""
    kinds = {type(value) for value in row}
    return next((kind for kind in (Failed, Undefined, type(None)) if kind in kinds), None)


def _number(value: Value | None, sample: Hashable) -> float:
    plain = value.value if isinstance(value, Scored) else value
    try:
        number = float(plain)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError(f"sample {sample!r} holds {plain!r}", expected="a number or an outcome") from error
    if not math.isfinite(number):
        raise InputError(
            f"sample {sample!r} holds {number}",
            expected="a finite number",
            hint="what failed is Failed, what does not exist is Undefined: neither is a number",
        )
    return number


Variant: TypeAlias = Literal["difference", "relative"]
Level: TypeAlias = str | float

_NONE: Final = "no sample is scored clean and at every level"
_NOT_ABOVE_0: Final = "the clean score is not above 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What one model scored, sample by sample.

    Attributes:
        clean: On the input as it is.
        levels: For each level of stress, such as ``low``, ``medium``, ``high`` or a strength.
    """

    clean: SampleValues
    levels: Mapping[Any, SampleValues]

    def __post_init__(self) -> None:
        """Refuse scores without any level."""
        if not self.levels:
            raise InputError("there are clean scores and no level", expected="one level of stress or more")

    @property
    def columns(self) -> tuple[SampleValues, ...]:
        """Clean, then the levels in their order."""
        return (self.clean, *self.levels.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Scored[float]):
    """A change (``value``) and the samples behind it."""

    counts: Counts
    totals: Doubles | None = field(default=None, compare=False, repr=False)  # of each cluster, for ``sign_flips``


def apc(clean: Value, levels: Sequence[Value], *, variant: Variant = "difference") -> Outcome[float]:
    """The change from one clean score to one score for each level: a row of the paper's tables.

    Args:
        clean: The clean score.
        levels: The score at each level, one or more.
        variant: ``difference`` or ``relative``.

    Returns:
        The mean of perturbed minus clean, or the share lost. What failed where a score failed; Undefined where one is,
        and for ``relative`` where the clean score is not above 0.

    Raises:
        InputError: There is no level, or a score is not finite.
        UsageError: There is no such variant.

    Example:
        >>> round(apc(76.0, [71.7, 69.7, 65.3]).value, 4)
        -7.1

    Source: R2-Bench Sec. 5.1 and Tables 3 to 6.
    """
    scores = Scores(clean={0: clean}, levels={str(number): {0: value} for number, value in enumerate(levels)})
    outcome = sample_changes(scores, variant=variant)[0]
    if not isinstance(outcome, Scored):
        return outcome
    signature = Signature.of(metric="apc", variant=variant, levels=len(levels), samples="not looked at")
    return Scored(outcome.value, signature)


def sample_changes(scores: Scores, *, variant: Variant = "difference") -> dict[SampleKey, Outcome[float]]:
    """Each sample's own change, for each sample that has any score; arguments and errors as in ``change_interval``.

    The first failure where one of its scores failed; Undefined where one is or is missing, and for ``relative`` where
    its clean score is not above 0.

    Example:
        >>> scores = Scores(clean={"a": 0.75, "b": 0.5}, levels={"low": {"a": 0.5}})
        >>> {name: getattr(outcome, "value", outcome) for name, outcome in sample_changes(scores).items()}
        {'a': -0.25, 'b': Undefined(reason='not scored at low', detail={})}
    """
    signature = Signature.of(**change_fields(scores, variant), over="one sample")
    shared = common(scores.columns)
    outcomes: dict[SampleKey, Outcome[float]] = {
        sample: left_out for sample in _names(scores) if (left_out := _left_out(scores, sample)) is not None
    }
    values = changes_of(change_sums(shared.values), variant)[:, 0]
    for sample, value in zip(shared.samples, values.tolist(), strict=True):
        outcomes[sample] = Undefined(_NOT_ABOVE_0) if math.isnan(value) else Scored(value, signature)
    return {sample: outcomes[sample] for sample in _names(scores)}


def mean_change(scores: Scores, *, variant: Variant = "difference") -> Change | Undefined:
    """The change over all samples that are scored clean and at every level, and their counts; as ``sample_changes``.

    Undefined when no sample is scored everywhere, and for ``relative`` where the clean mean is not above 0.
    """
    shared = common(scores.columns)
    value = whole_change(shared, variant)
    if isinstance(value, Undefined):
        return value
    return Change(value=value, signature=Signature.of(**change_fields(scores, variant)), counts=shared.counts)


def same_levels(many: Sequence[Scores]) -> None:
    """Refuse scores at different levels."""
    for other in many[1:]:
        if tuple(other.levels) != tuple(many[0].levels):
            raise InputError(
                f"the levels are {_listed(many[0])} and {_listed(other)}",
                expected="the same levels in one order for all that are compared",
            )


def change_sums(values: Doubles) -> Doubles:
    """What adds up for a change: each sample's change, its clean score, and 1, (n, 3).

    ``values`` are clean, then the levels, (1 + levels, n).
    """
    # the mean of the differences, not the difference of the means: no change is exactly 0
    change = (values[1:] - values[:1]).mean(axis=0)
    return np.stack([change, values[0], np.ones_like(change)], axis=1)


def changes_of(sums: Doubles, variant: Variant) -> Doubles:
    """Changes (draws, m) from added ``change_sums`` of m models side by side, (draws, 3 m).

    NaN where there is no sample or, for ``relative``, the clean score is not above 0.
    """
    change, clean, count = np.moveaxis(sums.reshape(len(sums), sums.shape[1] // 3, 3), 2, 0)
    over = count if variant == "difference" else clean
    share = np.divide(change, over, out=np.full_like(change, np.nan), where=(over > 0) & (count > 0))
    return share if variant == "difference" else 0.0 - share


def whole_change(kept: Common, variant: Variant) -> float | Undefined:
    """The change of all samples that have clean and levels; the sums are exact, so that their order does not matter.

    Undefined when there is no sample, and for ``relative`` where the clean mean is not above 0.
    """
    if not kept.samples:
        return kept.counts.none(_NONE)
    sums = np.array([[math.fsum(column) for column in change_sums(kept.values).T]])
    value = float(changes_of(sums, variant)[0, 0])
    return kept.counts.none(_NOT_ABOVE_0) if math.isnan(value) else value


def _left_out(scores: Scores, sample: SampleKey) -> Undefined | Failed | None:
    values = [("clean", scores.clean.get(sample))]
    values += [(str(level), column.get(sample)) for level, column in scores.levels.items()]
    for kind in (Failed, Undefined):
        for _, value in values:
            if isinstance(value, kind):
                return value
    missing = [level for level, value in values if value is None]
    return Undefined(f"not scored at {', '.join(missing)}") if missing else None


def _names(scores: Scores) -> tuple[SampleKey, ...]:
    return tuple(dict.fromkeys(sample for column in scores.columns for sample in column))


def change_fields(scores: Scores, variant: Variant) -> dict[str, object]:
    """How a change is computed, for its signature; a UsageError where there is no such variant."""
    if variant not in ("difference", "relative"):
        raise UsageError(f"there is no variant {variant!r} of the change", expected="difference or relative")
    return {"metric": "apc", "variant": variant, "levels": _listed(scores), "samples": "scored at all levels"}


def _listed(scores: Scores) -> str:
    return ",".join(str(level) for level in scores.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInterval(Interval):
    """A change with its interval and the samples behind it."""

    counts: Counts
    totals: Doubles | None = field(default=None, compare=False, repr=False)  # of each cluster, for ``sign_flips``


def change_interval(
    scores: Scores,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    variant: Variant = "difference",
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> ChangeInterval | Change | Undefined:
    """The change over all samples, with an interval by drawing whole clusters.

    Args:
        scores: Clean and at every level.
        clusters: The cluster of each sample.
        rng: The generator of this draw, from ``auscult.rng.generator``.
        variant: ``difference`` or ``relative``.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.
        within: What the change can be, such as ``few_clusters.CORRELATION`` of shares; its interval does not leave it.

    Returns:
        The change; without interval where there is one cluster only, or the change is the same in all.
        Undefined as in ``mean_change``, and when more than half the draws give no number.

    Raises:
        InputError: A score is not finite, a sample has no cluster, or ``level`` or ``replicates`` is out of range.
        UsageError: There is no such variant.
    """
    options: dict[str, Any] = {"variant": variant, "level": level, "replicates": replicates, "within": within}
    return change_intervals({"": scores}, clusters=clusters, rng=rng, **options)[""]


def change_intervals(
    many: Mapping[str, Scores],
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    variant: Variant = "difference",
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> dict[str, ChangeInterval | Change | Undefined]:
    """``change_interval`` of many models or kinds of stress, on the same draws, which are made once.

    Each is computed on its own samples; compare two by ``change_difference``, not by whether intervals overlap.
    """
    shared = {name: common(scores.columns) for name, scores in many.items()}
    fields = {name: change_fields(scores, variant) for name, scores in many.items()}
    samples = tuple(dict.fromkeys(sample for part in shared.values() for sample in part.samples))
    number = dict(zip(samples, memberships(samples, clusters).tolist(), strict=True))
    total = max(number.values(), default=-1) + 1
    members = {name: np.array([number[sample] for sample in part.samples], np.int64) for name, part in shared.items()}
    draws: dict[str, Doubles] = {}
    sums = {name: sums_by_cluster(change_sums(part.values), members[name], total) for name, part in shared.items()}
    if total >= 2:
        values = drawn(
            np.hstack(list(sums.values())), lambda rows: changes_of(rows, variant), rng=rng, replicates=replicates
        )
        draws = dict(zip(many, values.T, strict=True))
    intervals: dict[str, ChangeInterval | Change | Undefined] = {}
    for name, part in shared.items():
        value = whole_change(part, variant)
        if isinstance(value, Undefined):
            intervals[name] = value
            continue
        count = len(np.unique(members[name]))
        own_draws = widened(draws[name], value, sizes=np.bincount(members[name]), level=level) if count > 1 else None
        intervals[name] = with_draws(
            value,
            part.counts,
            fields=fields[name],
            values=own_draws,
            clusters=count,
            level=level,
            within=within,
            totals=sums[name][:, 0] if variant == "difference" else None,
        )
    return intervals


def change_difference(
    first: Scores,
    second: Scores,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    variant: Variant = "difference",
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> ChangeInterval | Change | Undefined:
    """The change of the first minus that of the second, on the samples that both have; as ``change_interval``.

    Both have levels of the same names. Of ``difference`` above 0 the first loses less, of ``relative`` below 0.
    """
    same_levels([first, second])
    fields = change_fields(first, variant) | {
        "metric": "apc difference",
        "sign": f"{'above' if variant == 'difference' else 'below'} 0: the first loses less",
    }
    both = common([*first.columns, *second.columns])
    halves = np.split(both.values, 2)
    values = [whole_change(Common(samples=both.samples, values=half, counts=both.counts), variant) for half in halves]
    left, right = values
    if isinstance(left, Undefined):
        return left
    if isinstance(right, Undefined):
        return right
    sums = np.hstack([change_sums(half) for half in halves])
    members = memberships(both.samples, clusters)
    total, sides = resampled(
        sums,
        members,
        lambda rows: changes_of(rows, variant),
        rng=rng,
        replicates=replicates,
        level=level,
    )
    draws = None if sides is None else sides[:, 0] - sides[:, 1]
    totals = None
    if variant == "difference":
        totals = cluster_totals(sums[:, 0] - sums[:, 3], members)
    options: dict[str, Any] = {"values": draws, "clusters": total, "level": level, "totals": totals, "within": within}
    return with_draws(left - right, both.counts, fields=fields, **options)


def with_draws(
    value: float,
    counts: Counts,
    *,
    fields: Mapping[str, object],
    values: Doubles | None,
    clusters: int,
    level: float,
    fewest: int | None = None,
    within: Range | None = None,
    totals: Doubles | None = None,
    drawn_from: Mapping[str, object] = MappingProxyType({}),
) -> ChangeInterval | Change | Undefined:
    """A change with the interval of its draws, None for none.

    Of several data sets ``fewest`` are the clusters of the smallest; ``within`` is the range of the number, ``totals``
    are the sums of its clusters, and ``drawn_from`` says what was drawn, if not clusters.
    """
    if values is not None and clusters > 1 and mostly_undefined(values):
        return counts.none("the change is undefined in most draws")
    ends = None
    if values is not None and clusters > 1:
        ends = ends_of(values, value=value, clusters=fewest or clusters, level=level, within=within)
    if values is None or ends is None:
        return Change(value=value, signature=Signature.of(**fields), counts=counts, totals=totals)
    missing = int(np.count_nonzero(np.isnan(values)))
    return ChangeInterval(
        value=value,
        signature=Signature.of(**{**fields, **ends.fields, **drawn_from}),
        low=ends.low,
        high=ends.high,
        clusters=clusters,
        replicates=len(values) - missing,
        undefined=missing,
        counts=counts,
        totals=totals,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(Scored[float]):
    """A ratio (``value``), its interval and the samples behind it."""

    low: float | None  # lower end; None where there is one cluster only, or the same in all of them
    high: float | None  # upper end; None likewise
    clusters: int  # clusters drawn from
    counts: Counts  # the samples
    # of a mean the sum of the values of each cluster, for ``sign_flips``
    totals: Doubles | None = field(default=None, compare=False, repr=False)


RatioColumns: TypeAlias = Sequence[tuple[SampleValues, Mapping[Hashable, Value]]]
"""For each ratio the value of every sample, and what it is over: one, or one for each class."""


def mean_ratio(
    values: SampleValues,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> Ratio | Undefined:
    """The mean of values, each over 1, with its interval; undefined when no sample has a value.

    ``within`` is what the number can be, as ``few_clusters.SHARE``: its interval does not leave it.
    """
    column = (values, dict.fromkeys(values, 1.0))
    return _mean([column], "mean", clusters=clusters, rng=rng, level=level, replicates=replicates, within=within)


def mean_of_ratios(
    parts: RatioColumns,
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> Ratio | Undefined:
    """The mean of ratios of sums, with its interval: overall IoU of one ratio, class-wise mIoU of one for each class.

    A ratio whose samples are all over 0, as of a class that does not occur, is left out, in each draw by itself.
    ``within`` as in ``mean_ratio``. Undefined when no sample has a value, or all of all ratios are over 0.
    """
    metric = "ratio of sums" if len(parts) == 1 else "mean of ratios of sums"
    return _mean(parts, metric, clusters=clusters, rng=rng, level=level, replicates=replicates, within=within)


def _mean(parts: RatioColumns, metric: str, **how: Any) -> Ratio | Undefined:
    shared = common([column for part in parts for column in part])
    mean = _ratio(shared, _means, without="no sample is scored", fields={"metric": metric}, **how)
    if metric != "mean" or isinstance(mean, Undefined):
        return mean
    return replace(mean, totals=cluster_totals(shared.values[0], memberships(shared.samples, how["clusters"])))


def ratio_change(
    parts: Sequence[RatioColumns],
    *,
    clusters: Clusters,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> Ratio | Undefined:
    """The mean over levels minus clean: the average performance change of an overall IoU or a class-wise mIoU.

    ``parts`` are what ``mean_of_ratios`` takes, clean first, then one for each level; it is over the samples that all
    have. ``within`` is what the change can be. Undefined as there.
    """
    if len(parts) < 2:
        raise InputError(f"{len(parts)} ratios give no change", expected="the clean one and at least one level")
    shared = common([column for part in parts for ratio in part for column in ratio])
    ends = np.cumsum([2 * len(part) for part in parts])[:-1]

    def changes(sums: Doubles) -> Doubles:
        clean, *levels = (_means(part) for part in np.split(sums, ends, axis=1))
        return np.asarray(np.mean(levels, axis=0) - clean)

    of = "a ratio of sums" if all(len(part) == 1 for part in parts) else "a mean of ratios of sums"
    return _ratio(
        shared,
        changes,
        without="no sample is scored clean and at every level",
        fields={"metric": f"apc of {of}", "levels": len(parts) - 1},
        clusters=clusters,
        rng=rng,
        level=level,
        replicates=replicates,
        within=within,
    )


def _ratio(
    shared: Common,
    statistic: FromSums,
    *,
    without: str,
    fields: Mapping[str, object],
    clusters: Clusters,
    rng: np.random.Generator,
    level: float,
    replicates: int,
    within: Range | None,
) -> Ratio | Undefined:
    """A statistic of added columns with its interval; ``without`` says why there is none of no sample."""
    if not shared.samples:
        return shared.counts.none(without)
    value = float(statistic(np.array([[math.fsum(column) for column in shared.values]]))[0])
    if math.isnan(value):
        return shared.counts.none("all samples are over 0")
    members = memberships(shared.samples, clusters)
    total, draws = resampled(shared.values.T, members, statistic, rng=rng, replicates=replicates, level=level)
    ends = None if draws is None else ends_of(draws, value=value, clusters=total, level=level, within=within)
    return Ratio(
        value=value,
        signature=Signature.of(**fields, **({} if ends is None else ends.fields)),
        low=None if ends is None else ends.low,
        high=None if ends is None else ends.high,
        clusters=total,
        counts=shared.counts,
    )


def _means(sums: Doubles) -> Doubles:
    """The mean of the ratios that there are, (draws,), from values and what they are over, (draws, 2 ratios)."""
    over = sums[:, 1::2]
    defined = over > 0
    ratios = np.divide(sums[:, 0::2], over, out=np.zeros(over.shape), where=defined)
    count = defined.sum(axis=1)
    means: Doubles = np.divide(ratios.sum(axis=1), count, out=np.full(len(sums), np.nan), where=count > 0)
    return means
