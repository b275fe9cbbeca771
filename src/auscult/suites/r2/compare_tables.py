"""Tables and metrics of a comparison that a single run has not: its records, its data sets, and means over models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from auscult.outcome import Undefined
from auscult.report.tables import Table
from auscult.score.stats.correlation import Correlation
from auscult.suites.r2.cells import cells_json, summary_metrics
from auscult.suites.r2.compare_joined import ALL
from auscult.suites.r2.compare_models import Overall
from auscult.suites.r2.compare_sets import DataSet
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.grid import questions
from auscult.suites.r2.measures import Number
from auscult.suites.r2.relations import Ranks, correlation_table
from auscult.suites.r2.results import Results
from auscult.suites.r2.tables import (
    PERCENT,
    Index,
    averaged,
    group_name,
    levels_only,
    metric_name,
    number_text,
)

OVER_ALL: Final = "all models and data sets"


def records_table(sets: Sequence[DataSet]) -> Table:
    """What was compared: every record, and how much of it."""
    rows = []
    for one in sets:
        for record in one.records:
            asked, failed, undefined = questions(record.grid)
            rows.append(
                (
                    record.label,
                    one.name,
                    ", ".join(record.grid.models),
                    f"{len(record.grid.cases):,}",
                    f"{len(one.grid.cases):,}",
                    f"{asked:,}",
                    f"{failed:,}",
                    f"{undefined:,}",
                    str(record.seed),
                    "yes" if record.finished else "no",
                )
            )
    return Table(
        title="What was compared",
        header=("record", "data", "models", "cases", "compared", "asked", "failed", "undefined", "seed", "finished"),
        rows=tuple(rows),
        note="Asked: questions of the record, a case under a condition. A failed one is in no mean. Compared: cases "
        "that all records of the data have.",
    )


def sets_table(found: Mapping[str, Results], overall: Overall) -> Table:
    """The change of every model on every data set and over all; where no mix was asked about, the clean scores."""
    places = dict.fromkeys(place for one in found.values() for place in one.view.grid.groups() if place[0] in MIXES)
    rows = []
    for name, numbers in (*((name, one.numbers) for name, one in found.items()), (ALL, overall.numbers)):
        index = Index(numbers)
        for model in index.models():
            for metric in index.metrics():
                clean = index.get("level", model, metric, group="clean", level="clean")
                changes = [index.get("apc", model, metric, group=group, part=part) for group, part in places]
                if places and not any(changes):
                    continue  # asked about clean input only, as baselines are
                rows.append(
                    (
                        name,
                        model,
                        metric_name(metric),
                        number_text(clean, interval=True),
                        *(number_text(one, points=True, interval=True) for one in changes),
                        _of_each([clean, *changes]),
                    )
                )
    return Table(
        title="Average change by data set and model",
        header=("data", "model", "metric", "clean", *(f"APC, {group_name(*place)}" for place in places), "cases"),
        rows=tuple(rows),
        note="Models that met no perturbation are left out. Clean: of the cases with a clean score. APC: mean over the "
        "strengths of perturbed minus clean, of the cases that have all. Cases: of every column in turn, of all; once "
        f"where all are of as many. {ALL.capitalize()}: the mean over them, each alike. {PERCENT}",
    )


def _counts(number: Number | None) -> str:
    counts = None if number is None else number.counts
    if counts is None:
        return "–"
    return f"{counts.n} of {counts.n + counts.failed + counts.undefined + counts.missing}"


def _of_each(numbers: Sequence[Number | None]) -> str:
    told = [_counts(one) for one in numbers if one is not None]
    return ", ".join(told) if len(set(told)) > 1 else next(iter(told), "–")


def means_table(numbers: Sequence[Number]) -> Table | None:
    """Fig. 7 as a table: the change by each kind alone, as a mean over models and data sets."""
    index = Index(numbers)
    kinds = [(group, part) for group, part in index.groups() if group not in MIXES]
    if not kinds:
        return None
    series, (metric,) = index.models(), index.metrics()
    levels = {(name, place): index.levels(name, *place) for name in series for place in kinds}
    over = averaged(level for found in levels.values() for level in found)
    rows = []
    for group, part in kinds:
        cells = [index.get("apc", name, metric, group=group, part=part) for name in series]
        rows.append(
            (
                group_name(group, part),
                *(
                    number_text(one, points=True, interval=True)
                    + (levels_only(levels[name, (group, part)], over) if one is not None else "")
                    for name, one in zip(series, cells, strict=True)
                ),
                _counts(cells[-1]),
            )
        )
    return Table(
        title=f"Average change by kind, {metric_name(metric)}, mean over models",
        header=("kind", *series, "answers"),
        rows=tuple(rows),
        note=f"Mean over {', '.join(over) or 'no level'}. Every model on every data set counts alike, baselines do "
        f"not. Answers: scored clean and at every strength, of all. {PERCENT} Drawn within each data set; none where "
        "one has a single clip.",
    )


def joined_table(room: str, found: Correlation, over: str) -> Table:
    """The Pearson matrix of a room over all data sets; ``over`` says which strengths a change is of."""
    table = correlation_table(room, found, over)
    return replace(table, title=f"{table.title}, all data sets", note=table.note.replace("all models", OVER_ALL, 1))


def metrics_of(found: Mapping[str, Results], means: Sequence[Number], overall: Overall) -> dict[str, Mapping[str, Any]]:
    """The numbers of ``--json``: of every data set and over all, with their name before theirs; and means."""
    told: dict[str, Mapping[str, Any]] = {}
    every = [(f"{name}/" if len(found) > 1 else "", one.numbers, one.ranks) for name, one in found.items()]
    for before, numbers, ranks in (*every, (f"{ALL}/", overall.numbers, overall.ranks)):
        mine = dict(summary_metrics(numbers)) | dict(_differences(numbers)) | dict(_places(ranks))
        told |= {f"{before}{key}": value for key, value in mine.items()}
    wanted = [one for one in means if one.measure == "apc" and (len(found) == 1 or one.model == ALL)]
    for mean in wanted:
        told[_joined("mean", mean.group, "apc", mean.metric, "" if mean.part == "all" else mean.part)] = _metric(mean)
    return told


def pearson_metrics(correlations: Mapping[str, Correlation]) -> dict[str, Mapping[str, Any]]:
    """Every coefficient above the diagonal."""
    found: dict[str, Mapping[str, Any]] = {}
    for room, one in correlations.items():
        for place, first in enumerate(one.kinds):
            for second in one.kinds[place + 1 :]:
                told = one.at(first, second)
                shared = int(one.pairs[one.kinds.index(first), one.kinds.index(second)])
                found[f"pearson/{room}/{first}/{second}"] = {
                    "value": None if isinstance(told, Undefined) else round(told.value, 6),
                    "low": None,
                    "high": None,
                    "n": shared,
                    "signature": str(one.signature),
                    **({"reason": told.reason} if isinstance(told, Undefined) else {}),
                }
    return found


def _differences(numbers: Sequence[Number]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Of every two models: clean, the levels and the change by each mix."""
    for one in numbers:
        if one.measure in {"difference", "apc_difference"} and one.group in {"clean", *MIXES} and not one.split:
            part = "" if one.part == "all" else one.part
            level = one.level or "apc"
            yield _joined("difference", one.model, one.group, level, one.metric, part), _metric(one)


def _places(ranks: Sequence[Ranks]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in ranks:
        if isinstance(one.ranking, Undefined):
            continue
        for row in one.ranking.rows:
            yield (
                f"place/{one.name}/{row.model}",
                {
                    "value": row.place,
                    "low": row.place_low,
                    "high": row.place_high,
                    "n": one.ranking.counts.n,
                    "signature": str(row.signature),
                },
            )


def _metric(number: Number) -> dict[str, Any]:
    (row,) = cells_json([number])
    told = {key: None if row[key] is None else round(row[key], 6) for key in ("value", "low", "high")}
    counted = {key: row[key] for key in ("n", "failed", "undefined", "missing") if row[key] is not None}
    return {**told, "n": None, **counted, "signature": row["signature"]} | (
        {"reason": row["reason"]} if row["reason"] else {}
    )


def _joined(*parts: str) -> str:
    return "/".join(part for part in parts if part)
