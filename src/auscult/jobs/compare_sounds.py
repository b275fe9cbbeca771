"""``auscult compare`` of separated sounds: judges on the same outputs, axis by axis, and each against the same truth.

An output is the same where its id and the hash of its input are. What a judge could not judge is left out of its pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Final, TypeAlias

from auscult.jobs.against_sound_truth import SoundPair, in_domain, sound_columns, sound_pairs
from auscult.jobs.against_truth import REPLICATES, Metrics, bootstrapped, cell, keep
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.reader import Run
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, with_interval
from auscult.score.judges import sounds as quantities
from auscult.score.judges.measures import Measured, mean_of
from auscult.score.stats.few import CORRELATION
from auscult.types import PERFORMANCE

_Side: TypeAlias = tuple[str, Mapping[str, SoundPair]]
_HEADER: Final = (
    *("first", "second", "domain", "axis", "n", "means", "difference"),
    *("n with truth", "Pearson first", "Pearson second", "difference of Pearson"),
)
_NOTE: Final = (
    "difference: first minus second; in brackets 95 % intervals over clusters, drawn for both at once. Pearson is with "
    "the truth that the input holds: people's scores where it has such, else the formula's"
)


def compare_sounds(runs: Sequence[Run]) -> tuple[tuple[Table, ...], Metrics]:
    """Tables and metrics of every two records that hold sounds; none where they share no output."""
    heard = [run for run in runs if run.sounds]
    judges = [", ".join(sorted({verdict.judge for verdict, _ in run.sounds})) for run in heard]
    sides: list[_Side] = []
    for run, judge in zip(heard, judges, strict=True):
        name = f"{judge} ({run.path.resolve().name})" if judges.count(judge) > 1 else judge
        sides.append((name, {pair[0].id: pair for pair in sound_pairs(run, all_judged=True)}))
    rows, metrics = list[tuple[str, ...]](), Metrics()
    for first, second in combinations(sides, 2):
        rows += _rows(first, second, metrics)
    table = Table(title="judges on the same sounds", header=_HEADER, rows=tuple(rows), note=_NOTE)
    return ((table,) if rows else ()), metrics


def _rows(first: _Side, second: _Side, metrics: Metrics) -> list[tuple[str, ...]]:
    """A row for each domain and axis."""
    names = [name for name in first[1] if name in second[1] and _same(first[1][name], second[1][name])]
    pairs = [(first[1][name], second[1][name]) for name in sorted(names)]
    rows = []
    for domain in ("all", *sorted({in_domain(one) for one, _ in pairs} - {""})):
        group = [(one, other) for one, other in pairs if domain in ("all", in_domain(one))]
        for axis in PERFORMANCE if group else ():
            key = f"{axis}/{domain}/{first[0]}/{second[0]}"
            rows.append((first[0], second[0], domain, axis, *_cells(group, axis, key, metrics=metrics)))
    return rows


def _same(one: SoundPair, other: SoundPair) -> bool:
    return one[1].get("input") == other[1].get("input") and all(
        one[2].get(key) == other[2].get(key) for key in PERFORMANCE
    )


def _cells(group: Sequence[tuple[SoundPair, SoundPair]], axis: str, key: str, *, metrics: Metrics) -> tuple[str, ...]:
    (mine, true), (other, _) = (sound_columns(side, axis) for side in zip(*group, strict=True))
    draws = ClusterDraws.of(true.cluster, rng=partial(generator, 0, "compare sounds"), replicates=REPLICATES)
    far = mean_of(mine.iou - other.iou, true.cluster, metric="mean difference", of=axis)
    difference = bootstrapped(far, draws)
    keep(metrics, f"sound_difference/{key}", difference, n=far.n)
    means = f"{mine.iou.mean():.2f} / {other.iou.mean():.2f}"
    measured = [quantities.pearson(columns, true) for columns in (mine, other)]
    outcomes = [bootstrapped(one, draws) for one in measured]
    apart = _difference(measured, draws)
    for words, outcome in zip(("first", "second", "difference"), (*outcomes, apart), strict=True):
        keep(metrics, f"sound_pearson_{words}/{key}", outcome, n=measured[0].n)
    return str(far.n), means, cell(difference), str(measured[0].n), *map(cell, (*outcomes, apart))


def _difference(measured: Sequence[Measured], draws: ClusterDraws) -> Scored[float] | Undefined:
    one, other = (each.outcome for each in measured)
    if not isinstance(one, Scored) or not isinstance(other, Scored):
        return Undefined("no truth")
    plain = Scored(one.value - other.value, Signature.of(metric="difference of pearson"))
    values = draws.values(measured[0]) - draws.values(measured[1])
    return with_interval(plain, values, clusters=measured[0].drawn_from, within=CORRELATION)
