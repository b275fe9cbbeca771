"""Verdicts on separated sounds against ground truth, which is opened only after the last verdict was written.

Truth is what INPUT says (``recall precision faithfulness overall``), else it follows from the stems by
``score.sound.perceptual``. Beside the judge stand a constant and SI-SDR of the output against its mixture.

``auscult compare`` of sounds: judges on the same outputs, axis by axis, and each against the same truth. An output is
the same where its id, the hash of its input and its truth are. What one judge could not judge is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
from msgspec import Meta

from auscult.errors import AuscultError
from auscult.jobs.against_truth import REPLICATES, AgainstTruth, Metrics, bootstrapped, cell, keep
from auscult.jobs.runner import Indivisible, Result, ResultWriter, Workers, failed_row
from auscult.outcome import Scored, Signature
from auscult.record.codec import from_json, to_json
from auscult.record.reader import DAMAGED, Run, SoundVerdicts
from auscult.record.schema import DECIMALS, SOUND_TRUTH
from auscult.report.sounds import TRUTH_TABLE
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.judges import (
    ClusterDraws,
    JudgeColumns,
    Measured,
    TruthColumns,
    measures,
    reals,
    texts,
    with_interval,
)
from auscult.score.judges import sounds as quantities
from auscult.score.judges.measures import mean_of
from auscult.score.stats.few_clusters import CORRELATION
from auscult.types import PERFORMANCE, SoundItem, SoundVerdict

LEAST: Final = 20
"""Items that a part needs to have rows of its own."""
LONGEST_S: Final = 600.0
"""Longer sounds are not compared with their stems, which are held whole for that."""
_MOST_DB: Final = 60.0
_HEADER: Final = (
    *("of", "axis", "n", "Pearson", "Spearman", "pairs in order", "RMSE", "coverage", "width"),
    *("constant: RMSE", "SI-SDR to the mixture: Pearson", "its pairs in order"),
)
_Score: TypeAlias = Annotated[float, Meta(ge=1.0, le=5.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueScores:
    """A line of ``sound_truth.jsonl``: what an output deserves, as far as it is known."""

    id: str
    recall: _Score | None = None
    precision: _Score | None = None
    faithfulness: _Score | None = None
    overall: _Score | None = None
    source: str = ""  # ``input`` or ``stems``
    si_sdr_mixture_db: Annotated[float, Meta(ge=-_MOST_DB, le=_MOST_DB)] = 0.0  # of the output to its mixture
    seen: bool | None = None


SoundPair: TypeAlias = tuple[SoundVerdict, Mapping[str, Any], TrueScores]
"""A verdict with scores, its row, and what is true."""


class _Truth(Indivisible):
    def __init__(self, item: SoundItem) -> None:
        self.key, self.item = item.id, item


def collect_sound_truth(
    writer: ResultWriter, items: Sequence[SoundItem], *, sounds: SoundVerdicts, workers: int
) -> None:
    """Write a row of truth for each judged output that has one; earlier rows are replaced."""
    writer.run.remove(SOUND_TRUTH)
    durations = {verdict.id: row.get("duration_s") or 0.0 for verdict, row in sounds if verdict.overall is not None}
    tasks = [_Truth(item) for item in items if item.truth is not None and durations.get(item.id, np.inf) <= LONGEST_S]
    if tasks:
        writer.progress.stage("comparing with truth", len(tasks))
        writer.keep_all(Workers(make=partial(partial, _compared), count=workers, stage="truth", timeout_s=120.0), tasks)


def _compared(task: _Truth) -> list[Result]:
    from auscult.jobs.sound_input import mixture_and_output, true_scores  # scores of sound, which few audits need
    from auscult.score.sound.ratios import si_sdr

    item, truth = task.item, task.item.truth
    try:
        scores = true_scores(item)
        mixture, output = mixture_and_output(item)
    except AuscultError as error:
        return [Result(id=item.id, errors=[failed_row(item, error, "truth")])]
    ratio = si_sdr(output.samples, mixture.samples)
    equal = _MOST_DB if output.samples.any() else -_MOST_DB  # without a number: no difference, or no output
    row = {"id": item.id, **scores, "source": "input" if truth is not None and truth.scores else "stems"}
    row["si_sdr_mixture_db"] = float(np.clip(ratio.value, -_MOST_DB, _MOST_DB)) if isinstance(ratio, Scored) else equal
    return (
        [Result(id=item.id, rows={SOUND_TRUTH: [to_json(row | {"seen": item.seen}, decimals=DECIMALS)]})]
        if scores
        else []
    )


def sound_pairs(run: Run) -> list[SoundPair]:
    """The verdicts with scores of a record, by id, with what is true of them; a truth that is not known is empty."""
    lines = run.lines(SOUND_TRUTH) if run.sounds else ()
    parsed = (from_json(TrueScores, row, path=run.path / SOUND_TRUTH, hint=DAMAGED) for row in lines)
    truths = {truth.id: truth for truth in parsed}
    scored = sorted((pair for pair in run.sounds if pair[0].overall is not None), key=lambda pair: pair[0].id)
    return [(verdict, row, truths.get(verdict.id, TrueScores(id=verdict.id))) for verdict, row in scored]


def sound_columns(pairs: Sequence[SoundPair], axis: str) -> tuple[JudgeColumns, TruthColumns]:
    """Scores and truth of one axis as columns; a cluster is that of INPUT, by default the mixture."""
    score, low, high = (reals(getattr(pair[0], f"{axis}{end}") for pair in pairs) for end in ("", "_low", "_high"))
    clusters = texts([str(row.get("cluster") or row.get("mixture")) for _, row, _ in pairs])
    true = reals(getattr(truth, axis) for _, _, truth in pairs)
    return JudgeColumns(iou=score, low=low, high=high), TruthColumns(iou=true, cluster=clusters)


def against_sound_truth(pairs: Sequence[SoundPair]) -> AgainstTruth:
    """Compare verdicts on sounds with the truth, axis by axis, of all and of parts; intervals draw whole clusters."""
    with_truth = [pair for pair in pairs if pair[2].source]
    groups: dict[str, list[SoundPair]] = {}
    for pair in with_truth:
        for part in _parts(pair):
            groups.setdefault(part, []).append(pair)
    metrics: Metrics = {}
    rows = _rows("all", with_truth, metrics)
    counts = ", ".join(f"{axis} {metrics.get(f'sound_pairs_{axis}', {}).get('n', 0)}" for axis in PERFORMANCE)
    parts = [part for part in sorted(groups) if LEAST <= len(groups[part]) < len(with_truth)]
    rows += [row for part in parts for row in _rows(part, groups[part], {})]
    from_input = sum(truth.source == "input" for _, _, truth in with_truth)
    note = (
        f"Truth: of {from_input} as the input says, of {len(with_truth) - from_input} by formula from the stems, which "
        "is nobody's opinion. "
        f"Pairs: two outputs of one mixture whose truths are {quantities.APART:g} apart ({counts}). RMSE and "
        "width are in points of 1 to 5; coverage and width are of the judge's own 90 % interval. The constant knows "
        "the mean of this very truth. In brackets: 95 % intervals over clusters, by default mixtures. Left out: parts "
        f"of fewer than {LEAST}, sounds of more than {LONGEST_S:g} s"
    )
    title = f"{', '.join(sorted({verdict.judge for verdict, _, _ in with_truth}))} against truth"
    table = Table(title=title, header=_HEADER, rows=tuple(rows), note=note)
    return AgainstTruth(tables={TRUTH_TABLE: table} if rows else {}, metrics=metrics)


def in_domain(pair: SoundPair) -> str:
    """The domain that INPUT gives, else the judge's; may be empty."""
    return str(pair[1].get("domain_given") or pair[0].domain)


def _parts(pair: SoundPair) -> list[str]:
    """The parts that an output belongs to, as the table names them; what is not known is left out."""
    _, row, truth = pair
    prompts = [name for name, key in (("text", "text"), ("spans", "spans_s"), ("picture", "video")) if row.get(key)]
    seen = {True: "seen", False: "unseen", None: ""}[truth.seen]
    labels = {"domain": in_domain(pair), "class": seen, "family": row.get("family")}
    return [f"prompt {'+'.join(prompts) or 'none'}", *(f"{name} {value}" for name, value in labels.items() if value)]


def _rows(part: str, pairs: Sequence[SoundPair], metrics: Metrics) -> list[tuple[str, ...]]:
    """A row of each axis that has a truth."""
    rows = []
    for axis in PERFORMANCE:
        present = [pair for pair in pairs if getattr(pair[2], axis) is not None]
        if not present:
            continue
        predicted, true = sound_columns(present, axis)
        baseline = JudgeColumns(iou=reals(truth.si_sdr_mixture_db for _, _, truth in present))
        in_order = partial(quantities.pairs_in_order, mixtures=[str(row.get("mixture")) for _, row, _ in present])
        measured: dict[str, Measured] = {
            "pearson": quantities.pearson(predicted, true),
            "spearman": measures.spearman(predicted, true),
            "pairs": in_order(predicted, true),
            "rmse": quantities.rmse(predicted, true),
            "coverage": measures.coverage(predicted, true),
            "width": quantities.width(predicted, true),
            "constant_rmse": quantities.rmse(JudgeColumns(iou=np.full(len(true), true.iou.mean())), true),
            "si_sdr_pearson": quantities.pearson(baseline, true),
            "si_sdr_pairs": in_order(baseline, true),
        }
        draws = ClusterDraws.of(true.cluster, rng=partial(generator, 0, "against sound truth"), replicates=REPLICATES)
        outcomes = {name: bootstrapped(measure, draws) for name, measure in measured.items()}
        for name, outcome in outcomes.items():
            keep(metrics, f"sound_{name}_{axis}", outcome, n=measured[name].n)
        rows.append((part, axis, str(len(present)), *map(cell, outcomes.values())))
    return rows


_PAIR_HEADER: Final = (
    *("first / second", "domain", "axis", "n", "means", "difference"),
    *("n with truth", "Pearson first", "Pearson second", "difference of Pearson"),
)
_PAIR_NOTE: Final = (
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
        rows += [(f"{name} / {other}", *row) for row in _pair_rows(same, f"{name}/{other}", metrics)]
    table = Table(title="judges on the same sounds", header=_PAIR_HEADER, rows=tuple(rows), note=_PAIR_NOTE)
    return ((table,) if rows else ()), metrics


def _pair_rows(pairs: Sequence[tuple[SoundPair, SoundPair]], key: str, metrics: Metrics) -> Iterator[tuple[str, ...]]:
    """A row for each domain and axis."""
    for domain in ("all", *sorted({in_domain(first) for first, _ in pairs} - {""})):
        group = [pair for pair in pairs if domain in ("all", in_domain(pair[0]))]
        for axis in PERFORMANCE if group else ():
            (first, true), (second, _) = (sound_columns(side, axis) for side in zip(*group, strict=True))
            draws = ClusterDraws.of(true.cluster, rng=partial(generator, 0, "compare sounds"), replicates=REPLICATES)
            difference = mean_of(first.iou - second.iou, true.cluster, metric="mean difference")
            pearsons = [quantities.pearson(columns, true) for columns in (first, second)]
            ends = [correlation.outcome.value for correlation in pearsons if isinstance(correlation.outcome, Scored)]
            outcomes = [bootstrapped(measure, draws) for measure in (difference, *pearsons)]
            if len(ends) == len(pearsons):
                plain = Scored(ends[0] - ends[1], Signature.of(metric="difference of pearson"))
                values, clusters = draws.values(pearsons[0]) - draws.values(pearsons[1]), pearsons[0].drawn_from
                outcomes.append(with_interval(plain, values, clusters=clusters, within=CORRELATION))
            names = ("difference", "pearson_first", "pearson_second", "pearson_difference")
            for name, outcome in zip(names, outcomes, strict=False):
                n = difference.n if outcome is outcomes[0] else pearsons[0].n
                keep(metrics, f"sound_{name}/{axis}/{domain}/{key}", outcome, n=n)
            cells = [*map(cell, outcomes), ""][:4]
            means = f"{first.iou.mean():.2f} / {second.iou.mean():.2f}"
            yield domain, axis, str(difference.n), means, cells[0], str(pearsons[0].n), *cells[1:]
