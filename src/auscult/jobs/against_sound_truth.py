"""Verdicts on separated sounds against ground truth, which is opened only after the last verdict was written.

Truth is what INPUT says (``recall precision faithfulness overall``), else it follows from the stems by
``score.sound.perceptual``. Beside the judge stand a constant and SI-SDR of the output against its mixture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.errors import AuscultError
from auscult.jobs.against_truth import REPLICATES, AgainstTruth, Metrics, bootstrapped, cell, keep
from auscult.jobs.runner import Indivisible, Result, ResultWriter, Workers, failed_row
from auscult.outcome import Scored
from auscult.record.codec import from_json
from auscult.record.reader import DAMAGED, Run, SoundVerdicts
from auscult.report.sounds import SOUND_TRUTH
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, JudgeColumns, Measured, TruthColumns, measures, reals, texts
from auscult.score.judges import sounds as quantities
from auscult.types import PERFORMANCE, SoundItem, SoundVerdict

FILE: Final = "sound_truth.jsonl"
LEAST: Final = 20
"""Items that a part needs to have rows of its own."""
LONGEST_S: Final = 600.0
"""Longer sounds are not compared with their stems, which are held whole for that."""
_MOST_DB: Final = 60.0
_HEADER: Final = (
    *("axis", "n", "Pearson", "Spearman", "pairs in order", "RMSE", "coverage", "width"),
    *("constant: RMSE", "SI-SDR to the mixture: Pearson", "its pairs in order"),
)
SoundPair: TypeAlias = tuple[SoundVerdict, Mapping[str, Any], Mapping[str, Any]]
"""A verdict with scores, its row, and what is true."""


class _Truth(Indivisible):
    def __init__(self, item: SoundItem) -> None:
        self.key, self.item = item.id, item


def collect_sound_truth(
    writer: ResultWriter, items: Sequence[SoundItem], *, sounds: SoundVerdicts, workers: int
) -> None:
    """Write a row of truth for each judged output that has one; earlier rows are replaced."""
    writer.run.remove(FILE)
    judged = {verdict.id: row.get("duration_s") or 0.0 for verdict, row in sounds if verdict.overall is not None}
    known = [_Truth(item) for item in items if item.truth is not None and judged.get(item.id, np.inf) <= LONGEST_S]
    if known:
        writer.progress.stage("comparing with truth", len(known))
        writer.keep_all(Workers(make=partial(partial, _compared), count=workers, stage="truth", timeout_s=120.0), known)


def _compared(task: _Truth) -> list[Result]:
    from auscult.jobs.sound_input import mixture_and_output, true_scores  # scores of sound, which few audits need
    from auscult.score.sound.ratios import si_sdr

    item, truth = task.item, task.item.truth
    try:
        scores = true_scores(item)
        mixture, output = mixture_and_output(item)
    except AuscultError as error:
        return [Result(id=item.id, errors=[failed_row(item, error, "truth")])]
    near = si_sdr(output.samples, mixture.samples)
    equal = _MOST_DB if output.samples.any() else -_MOST_DB  # without a number: no difference, or no output
    row = {"id": item.id, **scores, "source": "input" if truth is not None and truth.scores else "stems"}
    row["si_sdr_mixture_db"] = float(np.clip(near.value, -_MOST_DB, _MOST_DB)) if isinstance(near, Scored) else equal
    return [Result(id=item.id, rows={FILE: [row | {"seen": item.seen}]})] if scores else []


def sound_pairs(run: Run, *, all_judged: bool = False) -> list[SoundPair]:
    """The verdicts of a record and their rows of ``sound_truth.jsonl``, by id; those without scores are left out.

    Those without truth are left out too, unless ``all_judged`` are wanted, whose truth is then empty.
    """
    rows = (from_json(dict[str, Any], row, path=run.path / FILE, hint=DAMAGED) for row in run.lines(FILE))
    truths = {row.get("id"): row for row in rows} if run.sounds else {}
    judged = sorted((pair for pair in run.sounds if pair[0].overall is not None), key=lambda pair: pair[0].id)
    return [(one, row, truths.get(one.id, {})) for one, row in judged if all_judged or one.id in truths]


def sound_columns(pairs: Sequence[SoundPair], axis: str) -> tuple[JudgeColumns, TruthColumns]:
    """Scores and truth of one axis as columns; a cluster is that of INPUT, by default the mixture."""
    score, low, high = (reals(getattr(one, f"{axis}{end}") for one, _, _ in pairs) for end in ("", "_low", "_high"))
    clusters = texts([str(row.get("cluster") or row.get("mixture")) for _, row, _ in pairs])
    true = reals(truth.get(axis) for _, _, truth in pairs)
    return JudgeColumns(iou=score, low=low, high=high), TruthColumns(iou=true, cluster=clusters)


def against_sound_truth(pairs: Sequence[SoundPair]) -> AgainstTruth:
    """Compare verdicts on sounds with the truth, axis by axis, of all and of parts; intervals draw whole clusters."""
    tables: dict[str, Table] = {}
    metrics: Metrics = {}
    rows, given = _rows(pairs, metrics), sum(truth.get("source") == "input" for _, _, truth in pairs)
    counts = ", ".join(f"{axis} {metrics.get(f'sound_pairs_{axis}', {}).get('n', 0)}" for axis in PERFORMANCE)
    note = (
        f"Truth: of {given} as the input says, of {len(pairs) - given} by formula from the stems, which is nobody's "
        f"opinion. Pairs: two outputs of one mixture whose truths are {quantities.APART:g} apart ({counts}). RMSE and "
        "width are in points of 1 to 5; coverage and width are of the judge's own 90 % interval. The constant knows "
        "the mean of this very truth. In brackets: 95 % intervals over clusters, by default mixtures"
    )
    title = f"{', '.join(sorted({one.judge for one, _, _ in pairs}))} against truth"
    if rows:
        tables[f"{SOUND_TRUTH}_1"] = Table(title=title, header=_HEADER, rows=tuple(rows), note=note)
    parts: dict[tuple[str, str], list[SoundPair]] = {}
    for pair in pairs:
        for part in _parts(pair).items():
            parts.setdefault(part, []).append(pair)
    rows = [
        (" ".join(part), *row)
        for part, group in sorted(parts.items())
        if len(group) >= LEAST
        for row in _rows(group, {})
    ]
    if rows:
        note = f"As above. Parts of fewer than {LEAST} are left out"
        tables[f"{SOUND_TRUTH}_2"] = Table(
            title=f"{title}, by part", header=("part", *_HEADER), rows=tuple(rows), note=note
        )
    return AgainstTruth(tables=tables, metrics=metrics)


def in_domain(pair: SoundPair) -> str:
    """The domain that INPUT gives, else the judge's; may be empty."""
    return str(pair[1].get("domain_given") or pair[0].domain)


def _parts(pair: SoundPair) -> dict[str, str]:
    """What an output is one of; what is not known is left out."""
    _, row, truth = pair
    prompts = [name for name, key in (("text", "text"), ("spans", "spans_s"), ("picture", "video")) if row.get(key)]
    seen = "" if truth.get("seen") is None else "seen" if truth["seen"] else "unseen"
    found = {"domain": in_domain(pair), "prompt": "+".join(prompts) or "none"}
    found |= {"class": seen, "family": str(row.get("family") or "")}
    return {name: value for name, value in found.items() if value}


def _rows(pairs: Sequence[SoundPair], metrics: Metrics) -> list[tuple[str, ...]]:
    """A row of each axis that has a truth."""
    rows = []
    for axis in PERFORMANCE:
        there = [pair for pair in pairs if isinstance(pair[2].get(axis), int | float)]
        if not there:
            continue
        predicted, true = sound_columns(there, axis)
        near = JudgeColumns(iou=reals(truth.get("si_sdr_mixture_db") for _, _, truth in there))
        in_order = partial(quantities.pairs_in_order, mixtures=[str(row.get("mixture")) for _, row, _ in there])
        found: dict[str, Measured] = {
            "pearson": quantities.pearson(predicted, true),
            "spearman": measures.spearman(predicted, true),
            "pairs": in_order(predicted, true),
            "rmse": quantities.rmse(predicted, true),
            "coverage": measures.coverage(predicted, true),
            "width": quantities.width(predicted, true),
            "constant_rmse": quantities.rmse(JudgeColumns(iou=np.full(len(true), true.iou.mean())), true),
            "si_sdr_pearson": quantities.pearson(near, true),
            "si_sdr_pairs": in_order(near, true),
        }
        draws = ClusterDraws.of(true.cluster, rng=partial(generator, 0, "against sound truth"), replicates=REPLICATES)
        outcomes = {name: bootstrapped(one, draws) for name, one in found.items()}
        for name, outcome in outcomes.items():
            keep(metrics, f"sound_{name}_{axis}", outcome, n=found[name].n)
        rows.append((axis, str(len(there)), *map(cell, outcomes.values())))
    return rows
