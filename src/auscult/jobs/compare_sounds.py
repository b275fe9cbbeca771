"""``auscult compare`` of separated sounds: judges on the same outputs, axis by axis, and each against the same truth.

An output is the same where its id, the hash of its input and its truth are. What one judge could not judge is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Final

from auscult.jobs.against_sound_truth import SoundPair, in_domain, sound_columns, sound_pairs
from auscult.jobs.against_truth import REPLICATES, Metrics, bootstrapped, cell, keep
from auscult.outcome import Scored, Signature
from auscult.record.reader import Run
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, with_interval
from auscult.score.judges import sounds as quantities
from auscult.score.judges.measures import mean_of
from auscult.score.stats.few import CORRELATION
from auscult.types import PERFORMANCE

_HEADER: Final = (
    *("first / second", "domain", "axis", "n", "means", "difference"),
    *("n with truth", "Pearson first", "Pearson second", "difference of Pearson"),
)
_NOTE: Final = (
    "difference: first minus second; in brackets 95 % intervals over clusters, drawn for both at once. Pearson is with "
    "the truth that the input holds: people's scores where it has such, else the formula's"
)


def compare_sounds(runs: Sequence[Run]) -> tuple[tuple[Table, ...], Metrics]:
    """Table and metrics of every two records that hold sounds; none where no two share an output."""
    judges = [", ".join(sorted({verdict.judge for verdict, _ in run.sounds})) for run in runs]
    names = [f"{judge} ({run.path.resolve().name})" for judge, run in zip(judges, runs, strict=True)]
    names = judges if len(set(judges)) == len(judges) else names
    sides = [(name, {pair[0].id: pair for pair in sound_pairs(run)}) for name, run in zip(names, runs, strict=True)]
    rows, metrics = list[tuple[str, ...]](), Metrics()
    for (name, first), (other, second) in combinations(sides, 2):
        shared = [(first[key], second[key]) for key in sorted(first.keys() & second.keys())]
        same = [(a, b) for a, b in shared if a[1].get("input") == b[1].get("input") and a[2] == b[2]]
        rows += [(f"{name} / {other}", *row) for row in _rows(same, f"{name}/{other}", metrics)]
    table = Table(title="judges on the same sounds", header=_HEADER, rows=tuple(rows), note=_NOTE)
    return ((table,) if rows else ()), metrics


def _rows(pairs: Sequence[tuple[SoundPair, SoundPair]], key: str, metrics: Metrics) -> Iterator[tuple[str, ...]]:
    """A row for each domain and axis."""
    for domain in ("all", *sorted({in_domain(first) for first, _ in pairs} - {""})):
        group = [pair for pair in pairs if domain in ("all", in_domain(pair[0]))]
        for axis in PERFORMANCE if group else ():
            (first, true), (second, _) = (sound_columns(side, axis) for side in zip(*group, strict=True))
            draws = ClusterDraws.of(true.cluster, rng=partial(generator, 0, "compare sounds"), replicates=REPLICATES)
            apart = mean_of(first.iou - second.iou, true.cluster, metric="mean difference")
            each = [quantities.pearson(columns, true) for columns in (first, second)]
            ends = [one.outcome.value for one in each if isinstance(one.outcome, Scored)]
            outcomes = [bootstrapped(one, draws) for one in (apart, *each)]
            if len(ends) == len(each):
                plain = Scored(ends[0] - ends[1], Signature.of(metric="difference of pearson"))
                values, clusters = draws.values(each[0]) - draws.values(each[1]), each[0].drawn_from
                outcomes.append(with_interval(plain, values, clusters=clusters, within=CORRELATION))
            named = ("difference", "pearson_first", "pearson_second", "pearson_difference")
            for name, outcome in zip(named, outcomes, strict=False):
                n = apart.n if outcome is outcomes[0] else each[0].n
                keep(metrics, f"sound_{name}/{axis}/{domain}/{key}", outcome, n=n)
            cells = [*map(cell, outcomes), ""][:4]
            means = f"{first.iou.mean():.2f} / {second.iou.mean():.2f}"
            yield domain, axis, str(apart.n), means, cells[0], str(each[0].n), *cells[1:]
