"""``auscult ratings qualify|import|export``: whom to trust, what ratings come to, and their files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import numpy as np

from auscult.cases.ids import shown
from auscult.cases.problems import ListError, required_file
from auscult.cases.ratings import RatedItem, RatingSet, read_ratings, rows_of
from auscult.errors import ErrorRecord, UsageError
from auscult.jobs.options import Flag, RecordOptions, input_path, names
from auscult.jobs.runner import ERRORS, ErrorLog, finish_tables, run_manifest
from auscult.outcome import Scored, Undefined
from auscult.record.codec import dump
from auscult.record.digest import digest_file
from auscult.record.folder import open_run
from auscult.record.schema import Summary, error_to_json
from auscult.report.drawing import Drawing
from auscult.report.suite import write_charts
from auscult.report.tables import Table, table_csv
from auscult.rng import generator
from auscult.score.raters import AGREE_WITHIN, RaterPosterior, Ratings, fit_raters, mean_rating, plain_mad, settled
from auscult.score.stats.intervals import bootstrap_interval
from auscult.types import Doubles

Done: TypeAlias = tuple[Summary, list[Table]]

ALL_AXES: Final = "all axes"
SURE: Final = 0.9
"""A rater is trusted from this probability of being good enough on, and is not where the opposite has it."""

_RATERS_CSV: Final = ("rater", "trust", "n", "mad", "low", "high", "chance", "plain_mad", "bias")


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifyOptions(RecordOptions):
    """Whose ratings of golden items to judge, and by what.

    Attributes:
        source: Ratings: CSV, JSON lines or Label Studio's JSON; experts are raters among them.
        experts: Comma-separated names of the experts in the column rater.
        axis: The axis that decides.
        most_mad: Trust whose expected mean absolute deviation is at most this.
        keep: Instead: trust this many raters, those with the lowest deviation.
        draws: Draws from the posterior in each of two chains.
        seed: The same seed draws the same numbers.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="FILE", positional=True)]
    experts: Annotated[tuple[str, ...], Flag(read=names)] = ("expert",)
    axis: str = "overall"
    most_mad: Annotated[float, Flag(least=0.0, most=4.0)] = 0.75
    keep: Annotated[int | None, Flag(least=1, shown="none")] = None
    draws: Annotated[int, Flag(least=100, most=100_000)] = 1000
    seed: int = 0


def qualify(options: QualifyOptions) -> Done:
    """Fit the raters of golden items, and say which to trust, with intervals."""
    found = read_ratings(options.source)
    if options.axis not in found.axes:
        raise UsageError(f"nobody rated {options.axis}", expected=f"one of: {', '.join(found.axes)}")
    people = tuple(dict.fromkeys(one.rater for one in found.ratings))
    experts = tuple(name for name in options.experts if name in people)
    if len(experts) < len(options.experts) and "experts" in options.given:
        missing = ", ".join(name for name in options.experts if name not in people)
        raise UsageError(f"the file has no rater {missing}", expected="names in the column rater", path=options.source)
    rated = {one.rater for one in found.ratings if one.axis == options.axis}
    raters = tuple(name for name in people if name not in experts and name in rated)
    if not raters:
        raise UsageError(f"only experts rated {options.axis}", expected="raters too", path=options.source)
    items = tuple(dict.fromkeys(one.item for one in found.ratings if one.axis == options.axis))
    told, given = (_whole(found, names, items, axis=options.axis) for names in (experts, raters))
    rng = generator(options.seed, "ratings", "qualify")
    fitted = fit_raters(given, told if experts else None, rng=rng, draws=options.draws)
    rows = _rater_rows(raters, fitted, options, plain=plain_mad(given, told))
    none = {**dict.fromkeys((*_RATERS_CSV, "confusion")), "trust": "unjudged", "n": 0}
    rows += [{**none, "rater": name} for name in people if name not in rated and name not in experts]
    tables = {"raters": _raters_table(rows, options, experts=len(experts), r_hat=fitted.r_hat)}
    if experts:
        tables["agreement"] = _agreement_table(told, given, options)
    table = csv_bytes(_RATERS_CSV, ([row[key] for key in _RATERS_CSV] for row in rows))
    files, metrics = {"raters.csv": table, "raters.jsonl": jsonl_bytes(rows)}, _counted(rows, fitted)
    n = len(found.ratings)
    return written("ratings qualify", options, tables, n=n, problems=found.problems, metrics=metrics, files=files)


def _whole(found: RatingSet, raters: Sequence[str], items: Sequence[str], *, axis: str) -> Ratings:
    return np.nan_to_num(found.matrix(axis, raters=raters, items=items)).astype(np.int64)


def _rater_rows(
    raters: Sequence[str], fitted: RaterPosterior, options: QualifyOptions, *, plain: Doubles
) -> list[dict[str, Any]]:
    """A row for each rater, best first."""
    low, high = fitted.interval()
    last = None if options.keep is None else np.sort(fitted.mad)[: options.keep][-1]
    chance = fitted.below(options.most_mad if last is None else float(last))
    bias = fitted.confusion.mean(axis=1) @ np.arange(1, 6) - 3
    order = [int(at) for at in np.argsort(fitted.mad, kind="stable")]
    rows: list[dict[str, Any]] = []
    for place, at in enumerate(order):
        trust = "yes" if chance[at] >= SURE else "no" if chance[at] <= 1 - SURE else "unsure"
        if options.keep is not None:
            trust = "yes" if place < options.keep else "no"
        numbers = {"mad": fitted.mad, "low": low, "high": high, "chance": chance, "plain_mad": plain, "bias": bias}
        known = {key: None if np.isnan(all_[at]) else round(float(all_[at]), 4) for key, all_ in numbers.items()}
        matrix = {"confusion": fitted.confusion[at].round(4).tolist()}
        rows.append({"rater": raters[at], "trust": trust, "n": int(fitted.n[at]), **known, **matrix})
    return rows


def _counted(rows: Sequence[Mapping[str, Any]], fitted: RaterPosterior) -> dict[str, dict[str, Any]]:
    counts = Counter(row["trust"] for row in rows)
    values = {"trusted": counts["yes"], "not_trusted": counts["no"], "unsure": counts["unsure"], "r_hat": fitted.r_hat}
    return {
        name: {"value": value, "n": len(rows), "signature": str(fitted.signature)} for name, value in values.items()
    }


_FIELD: Final = re.compile(r"{(\w+)")
_ENDS: Final = 20
"""Raters that are printed of each end of a long list."""


def _raters_table(rows: Sequence[Mapping[str, Any]], options: QualifyOptions, *, experts: int, r_hat: float) -> Table:
    rule = f"at most {options.most_mad:g}, {SURE:.0%} sure" if options.keep is None else f"the {options.keep} lowest"
    by = f"{experts} of experts" if experts else "no expert, so against what the raters agree on"
    forms = {
        "rater": "{rater}", "trust": "{trust}", "ratings": "{n}", "expected MAD": "{mad:.2f} [{low:.2f}, {high:.2f}]",
        "plain MAD": "{plain_mad:.2f}", "bias": "{bias:+.2f}", "chance of that": "{chance:.2f}",
    }  # fmt: skip
    shown_rows = rows if len(rows) <= 2 * _ENDS else (*rows[:_ENDS], *rows[-_ENDS:])
    known = [{key: value for key, value in row.items() if value is not None} for row in shown_rows]
    return Table(
        title=f"Raters by expected mean absolute deviation on {options.axis}",
        header=tuple(forms),
        rows=tuple(
            tuple(form.format(**row) if {*_FIELD.findall(form)} <= {*row} else "–" for form in forms.values())
            for row in known
        ),
        note=f"Trusted: {rule}. Scores 1 to 5, intervals 90 %; truth: {by}. Always answering 3 has 1.20, answering at "
        f"random 1.60. Two chains agree to a ratio of {r_hat:.3f}; distrust it above 1.1. All raters: raters.csv.",
    )


def _agreement_table(told: Ratings, given: Ratings, options: QualifyOptions) -> Table:
    """How far the mean rating of groups of raters is from the experts': the spot check of Sec. III-A."""
    rng = generator(options.seed, "ratings", "agreement")
    known = (told > 0).any(axis=0)
    ratings, told, chosen = given[:, known], told[:, known], np.zeros((len(given), known.sum()), bool)
    for half in (0, 1):  # raters are chosen on the other half of the items
        hidden = np.where(np.arange(chosen.shape[1]) % 2 == half, 0, ratings)
        if hidden.any():
            mad = fit_raters(hidden, told, rng=rng, draws=min(200, options.draws), warm_up=100).mad
            good = mad <= options.most_mad if options.keep is None else mad.argsort().argsort() < options.keep
            chosen[:, half::2] = good[:, None]
    groups = {
        "raters trusted by the other half of the items": mean_rating(np.where(chosen, ratings, 0)),
        "all raters": mean_rating(ratings),
        "always 3": np.full(chosen.shape[1], 3.0),
    }
    rows = []
    for name, said in groups.items():
        apart = np.abs(said - mean_rating(told))
        apart = apart[~np.isnan(apart)]
        found = bootstrap_interval(np.mean, [[one] for one in apart], rng=rng)
        number = "–" if isinstance(found, Undefined) else f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
        rows.append((name, str(apart.size), number, f"{(apart <= AGREE_WITHIN).mean():.0%}" if apart.size else "–"))
    return Table(
        title=f"Mean rating against the experts' on {options.axis}",
        header=("who", "items", "mean absolute deviation", "within 1"),
        rows=tuple(rows),
        note="Intervals of 95 % draw items. Raters are chosen on one half of the items and compared on the other.",
    )


# --- what people said ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(RecordOptions):
    """What ratings to take.

    Attributes:
        source: Ratings: CSV, JSON lines or Label Studio's JSON.
        raters: Only raters that `auscult ratings qualify` trusts: its folder or raters.csv.
        key: The key.csv of `auscult ratings tasks`, which says what was heard under each name.
        fewest: Ratings that an item needs on an axis.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="FILE", positional=True)]
    raters: Path | None = None
    key: Path | None = None
    fewest: Annotated[int, Flag(least=1)] = 3


def import_ratings(options: ImportOptions) -> Done:
    """Take ratings: items whose ratings differ by more than 1 on an axis are dropped there, the rest averaged."""
    trust = None if options.raters is None else trust_in(options.raters)
    found = read_ratings(options.source, known_raters=trust)
    if trust is not None:
        found = replace(found, ratings=tuple(one for one in found.ratings if trust[one.rater]))
    if options.key is not None:
        found = _unblinded(found, options.key)
    rows, counts = _settled_rows(found, fewest=options.fewest)
    axes, used = (*found.axes, ALL_AXES), len(found.ratings)
    domains = {domain for domain, _, _ in counts}
    whole = {axis: sum(counts[domain, axis, "settled"] for domain in domains) for axis in axes}
    metrics = {axis: {"value": count, "n": len(rows)} for axis, count in whole.items()}
    files = {"scores.jsonl": jsonl_bytes(rows), "ratings.csv": ratings_csv(found)}
    tables = {"settled": _settled_table(counts, axes)}
    return written("ratings import", options, tables, n=used, problems=found.problems, metrics=metrics, files=files)


def trust_in(path: Path) -> dict[str, bool]:
    """The raters in a folder or CSV of ``auscult ratings qualify``, and whether each is trusted."""
    file = path / "raters.csv" if path.is_dir() else path
    with required_file(file, option="--raters"):
        rows = rows_of(file, needed=("rater", "trust"), expected="the raters.csv of auscult ratings qualify")
        return {str(row["rater"]).removeprefix("'"): row["trust"] == "yes" for _, row in rows}


def _unblinded(found: RatingSet, key: Path) -> RatingSet:
    """Ratings under the names that items had before ``ratings tasks``, without those of golden items."""
    with required_file(key, option="--key"):
        columns = ("item", "id", "golden", "domain")
        rows = rows_of(key, needed=columns, expected="the key.csv of auscult ratings tasks")
        named = {row["item"]: {**row, "id": str(row["id"]).removeprefix("'")} for _, row in rows}
    ratings, problems = [], list(found.problems)
    for one in found.ratings:
        if one.item in named and named[one.item]["golden"] == "no":
            ratings.append(replace(one, item=named[one.item]["id"]))
        elif one.item not in named:
            error = f"the key does not name the item {shown(one.item)}"
            problems.append((one.item, ErrorRecord(stage="read", error=error, path=str(key), line=one.line)))
    items = {row["id"]: RatedItem(id=row["id"], domain=row["domain"]) for row in named.values()}
    return RatingSet(ratings=tuple(ratings), items=items, problems=tuple(problems))


def _settled_rows(found: RatingSet, *, fewest: int) -> tuple[list[dict[str, Any]], Counter[tuple[str, str, str]]]:
    """A row for each item with its mean ratings where they agree; counts of (domain, axis, what became of it)."""
    given: dict[str, dict[str, list[float]]] = {}
    for one in found.ratings:
        given.setdefault(one.item, {}).setdefault(one.axis, []).append(one.value)
    rows, counts = [], Counter[tuple[str, str, str]]()
    for item, by_axis in given.items():
        domain = found.items[item].domain
        outcomes = {axis: settled(values, fewest=fewest) for axis, values in by_axis.items()}
        scores = {axis: round(one.value, 6) for axis, one in outcomes.items() if isinstance(one, Scored)}
        dropped = {axis: one.reason for axis, one in outcomes.items() if isinstance(one, Undefined)}
        counts.update((domain, axis, dropped.get(axis, "settled")) for axis in outcomes)
        counts[domain, ALL_AXES, "not on every axis" if dropped else "settled"] += 1
        rows.append({"id": item, "domain": domain, "settled": not dropped, **scores, "dropped": dropped})
    return rows, counts


def _settled_table(counts: Counter[tuple[str, str, str]], axes: Sequence[str]) -> Table:
    reasons = ("settled", "raters disagree", "too few ratings", "not on every axis")
    rows = []
    for domain in sorted({domain for domain, _, _ in counts}):
        for axis in axes:
            found = [counts[domain, axis, reason] for reason in reasons]
            rows.append((domain or "unknown", axis, str(sum(found)), *map(str, found)))
    header = ("domain", "axis", "items", *reasons)
    note = "Settled: the ratings differ by 1 at most; the score is their mean. Golden items are left out."
    return Table(title="Items by domain and axis", header=header, rows=tuple(rows), note=note)


def ratings_csv(found: RatingSet) -> bytes:
    """A row for each rater and item, a column for each axis."""
    axes = found.axes
    by_pair: dict[tuple[str, str], dict[str, int]] = {}
    for one in found.ratings:
        by_pair.setdefault((one.item, one.rater), {})[one.axis] = int(one.value)
    rows = (
        (*pair, found.items[pair[0]].domain, *(given.get(axis) for axis in axes)) for pair, given in by_pair.items()
    )
    return csv_bytes(("item", "rater", "domain", *axes), rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRatingsOptions(RecordOptions):
    """What ratings to write.

    Attributes:
        source: Ratings: CSV, JSON lines or Label Studio's JSON.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="FILE", positional=True)]


def export_ratings(options: ExportRatingsOptions) -> Done:
    """Write ratings as CSV and as JSON lines."""
    found = read_ratings(options.source)
    rows = ({"item": one.item, "rater": one.rater, one.axis: int(one.value)} for one in found.ratings)
    files = {"ratings.csv": ratings_csv(found), "ratings.jsonl": jsonl_bytes(rows)}
    counts = Counter(one.axis for one in found.ratings)
    cells = tuple((axis, str(counts[axis])) for axis in found.axes)
    table = Table(title="Ratings", header=("axis", "ratings"), rows=cells)
    return written(
        "ratings export", options, {"ratings": table}, n=counts.total(), problems=found.problems, files=files
    )


# --- what all verbs write ---


def written(
    command: str,
    options: RecordOptions,
    tables: Mapping[str, Table],
    *,
    n: int,
    problems: Sequence[ListError] = (),
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
    files: Mapping[str, bytes | Callable[[], bytes]] | None = None,
    charts: Mapping[str, Drawing] | None = None,
) -> Done:
    """Write a record: ``n`` is how many rows could be used, ``problems`` what could not; files may be made late."""
    sources = [getattr(options, name, None) for name in ("source", "golden", "raters", "key", "rated")]
    inputs = {path.name: digest_file(path) for path in sources if isinstance(path, Path) and path.is_file()}
    with open_run(options.out, run_manifest(command, options, inputs=inputs), overwrite=options.overwrite) as run:
        run.remove(ERRORS)
        ErrorLog(run).keep(error_to_json(name, error) for name, error in problems)
        for name, content in (files or {}).items():
            run.write_bytes(name, content() if callable(content) else content)
        write_charts(run, (charts or {}).items())
        failed = len(problems)
        summary = Summary(command=command, n=n + failed, ok=n, failed=failed, metrics=metrics or {})
        return finish_tables(run, summary, tables)


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file in UTF-8; texts that a spreadsheet would run are disarmed, None is an empty cell."""
    cells = tuple(tuple("" if one is None else str(one) for one in row) for row in rows)
    return table_csv(Table(title="", header=tuple(header), rows=cells)).encode("utf-8", "backslashreplace")


def jsonl_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """JSON lines."""
    return b"".join(dump(row) + b"\n" for row in rows)
