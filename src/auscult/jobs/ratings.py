"""``auscult ratings``: qualify raters, import ratings, deal tasks, draw batches."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from auscult.cases import fields
from auscult.cases.ids import counted, safe_id, shown
from auscult.cases.problems import ListError, Problems, required_file
from auscult.cases.ratings import (
    RATED_AXES,
    RatedItem,
    Rating,
    RatingSet,
    label_studio_config,
    read_ratings,
    rows_of,
    wanted_of,
)
from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import Flag, RecordOptions, input_path, names
from auscult.jobs.runner import ERRORS, ErrorLog, finish_tables, run_manifest
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.outcome import Scored, Undefined
from auscult.record.codec import dump
from auscult.record.digest import digest_file
from auscult.record.folder import open_run
from auscult.record.schema import Summary, error_to_json
from auscult.report.charts.basic import Stack, histogram
from auscult.report.drawing import Drawing
from auscult.report.suite import write_charts
from auscult.report.tables import Table, table_csv
from auscult.rng import generator, pick
from auscult.scenes.mixtures.sound import integrated_lufs
from auscult.score.raters import (
    AGREE_WITHIN,
    SCALE,
    RaterPosterior,
    Ratings,
    balanced_draw,
    entropy_bits,
    fit_raters,
    mean_rating,
    plain_mad,
    settled,
)
from auscult.score.sound.spectral import spectral_complexity
from auscult.score.stats.few_clusters import Range
from auscult.score.stats.intervals import bootstrap_interval
from auscult.stress.sound.separation import perturb
from auscult.types import PERFORMANCE, Doubles, SoundItem

Done: TypeAlias = tuple[Summary, list[Table]]
File: TypeAlias = bytes | list[dict[str, Any]] | Callable[[], bytes]
"""Content of a file: bytes, rows of JSON lines, or a function that makes the bytes."""
T = TypeVar("T")

ALL_AXES: Final = "all axes"
SURE: Final = 0.9
"""A rater is trusted if good enough with at least this probability, and not if the opposite has it; else unsure."""

_RATERS_CSV: Final = ("rater", "trust", "n", "mad", "low", "high", "chance", "plain_mad", "bias")
_ENDS: Final = 20
"""Raters printed at each end of a long list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsOptions(RecordOptions):
    """What ratings to read.

    Attributes:
        sources: Ratings: CSV, JSON lines or Label Studio's JSON, such as an export for each rater.
    """

    sources: Annotated[tuple[Path, ...], Flag(metavar="FILE...", positional=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundsOptions(RecordOptions):
    """How far an INPUT of sounds may lead.

    Attributes:
        root: Paths of INPUT may lead anywhere in this folder.
    """

    root: Path | None = None


# --- qualification of raters ---


@dataclass(frozen=True, slots=True, kw_only=True)
class QualifyOptions(RatingsOptions):
    """Whose ratings of golden items to judge, and by what.

    Attributes:
        experts: Comma-separated names of the experts in the column rater.
        key: The key.csv of `auscult ratings tasks`: of what was heard, its golden items count.
        axis: The axis that decides.
        most_mad: Trust whose expected mean absolute deviation is at most this.
        keep: Instead: trust this many raters, those with the lowest deviation.
        draws: Draws from the posterior in each of two chains.
        seed: The same seed draws the same numbers.
    """

    experts: Annotated[tuple[str, ...], Flag(read=names)] = ("expert",)
    key: Path | None = None
    axis: str = "overall"
    most_mad: Annotated[float, Flag(least=0.0, most=4.0)] = 0.75
    keep: Annotated[int | None, Flag(least=1, shown="none")] = None
    draws: Annotated[int, Flag(least=100, most=100_000)] = 1000
    seed: int = 0


def qualify(options: QualifyOptions) -> Done:
    """Decide which raters of golden items to trust, with intervals."""
    rating_set = read_ratings(*options.sources)
    if options.key is not None:
        rating_set = _unblinded(rating_set, options.key, golden=True)
    if options.axis not in rating_set.axes:
        raise UsageError(f"nobody rated {options.axis}", expected=f"one of: {', '.join(rating_set.axes)}")
    people = dict.fromkeys(rating.rater for rating in rating_set.ratings)
    if "experts" in options.given and (missing := [name for name in options.experts if name not in people]):
        message = f"the file has no rater {', '.join(missing)}"
        raise UsageError(message, expected="names in the column rater", path=options.sources[0])
    rated = dict.fromkeys(rating.rater for rating in rating_set.ratings if rating.axis == options.axis)
    experts = [name for name in options.experts if name in rated]
    raters = [name for name in rated if name not in options.experts]
    if not raters:
        raise UsageError(f"only experts rated {options.axis}", expected="raters too", path=options.sources[0])
    items = list(dict.fromkeys(rating.item for rating in rating_set.ratings if rating.axis == options.axis))
    matrices = (rating_set.matrix(options.axis, raters=who, items=items) for who in (experts, raters))
    by_experts, by_raters = (np.nan_to_num(matrix).astype(np.int64) for matrix in matrices)
    rng = generator(options.seed, "ratings", "qualify")
    fitted = fit_raters(by_raters, by_experts if experts else None, rng=rng, draws=options.draws)
    rows = _rater_rows(raters, fitted, options, plain=plain_mad(by_raters, by_experts))
    unjudged = [name for name in people if name not in rated and name not in options.experts]
    rows += [{**dict.fromkeys(rows[0]), "rater": name, "trust": "unjudged", "n": 0} for name in unjudged]
    tables = {"raters": _raters_table(rows, options, experts=len(experts), r_hat=fitted.r_hat)}
    if experts:
        tables["agreement"] = _agreement_table(by_experts, by_raters, options)
    counts = Counter(row["trust"] for row in rows)
    values = {"trusted": counts["yes"], "not_trusted": counts["no"], "unsure": counts["unsure"], "r_hat": fitted.r_hat}
    signed = {"n": len(rows), "signature": str(fitted.signature)}
    metrics = {name: {"value": value, **signed} for name, value in values.items()}
    files: dict[str, File] = {"raters.csv": _csv_bytes(_RATERS_CSV, rows), "raters.jsonl": rows}
    n, problems = len(rating_set.ratings), rating_set.problems
    return write_record("ratings qualify", options, tables, n=n, problems=problems, metrics=metrics, files=files)


def _trusted(posterior: RaterPosterior, options: QualifyOptions) -> tuple[NDArray[np.bool_], Doubles]:
    """(raters,) whether to trust each, and the probability that each is good enough."""
    if options.keep is None:
        chance = (posterior.draws <= options.most_mad).mean(axis=0)
        return chance >= SURE, chance
    order = posterior.mad.argsort(kind="stable")
    last = posterior.mad[order[: options.keep][-1]]
    return order.argsort() < options.keep, (posterior.draws <= last).mean(axis=0)


def _rater_rows(
    raters: Sequence[str], posterior: RaterPosterior, options: QualifyOptions, *, plain: Doubles
) -> list[dict[str, Any]]:
    """A row for each rater, best first."""
    low, high = posterior.interval()
    trusted, chance = _trusted(posterior, options)
    bias = posterior.confusion.mean(axis=1) @ np.arange(1, 6) - 3
    numbers = {"mad": posterior.mad, "low": low, "high": high, "chance": chance, "plain_mad": plain, "bias": bias}
    rows: list[dict[str, Any]] = []
    for index in posterior.mad.argsort(kind="stable").tolist():
        unsure = options.keep is None and chance[index] > 1 - SURE
        trust = "yes" if trusted[index] else "unsure" if unsure else "no"
        values = {key: None if np.isnan(all_[index]) else round(float(all_[index]), 4) for key, all_ in numbers.items()}
        matrix = posterior.confusion[index].round(4).tolist()
        rows.append(
            {"rater": raters[index], "trust": trust, "n": int(posterior.n[index]), **values, "confusion": matrix}
        )
    return rows


def _raters_table(rows: Sequence[Mapping[str, Any]], options: QualifyOptions, *, experts: int, r_hat: float) -> Table:
    rule = f"at most {options.most_mad:g}, {SURE:.0%} sure" if options.keep is None else f"the {options.keep} lowest"
    by = counted(experts, "expert") if experts else "no expert, so against what the raters agree on"
    cells = []
    for row in rows if len(rows) <= 2 * _ENDS else (*rows[:_ENDS], *rows[-_ENDS:]):
        numbers = ["–"] * 4
        if row["mad"] is not None:
            plain = "–" if row["plain_mad"] is None else f"{row['plain_mad']:.2f}"
            mad = "{mad:.2f} [{low:.2f}, {high:.2f}]".format(**row)
            numbers = [mad, plain, f"{row['bias']:+.2f}", f"{row['chance']:.2f}"]
        cells.append((row["rater"], row["trust"], str(row["n"]), *numbers))
    return Table(
        title=f"Raters by expected mean absolute deviation on {options.axis}",
        header=("rater", "trust", "ratings", "expected MAD", "plain MAD", "bias", "chance of that"),
        rows=tuple(cells),
        note=f"Trusted: {rule}. Scores 1 to 5, intervals 90 %; truth: {by}. Always answering 3 has 1.20, answering at "
        f"random 1.60. Two chains agree to a ratio of {r_hat:.3f}; distrust it above 1.1. All raters: raters.csv.",
    )


_DEVIATION: Final = Range(low=0.0, high=4.0)


def _agreement_table(experts: Ratings, given: Ratings, options: QualifyOptions) -> Table:
    """The deviation of groups' mean ratings from the experts': the spot check of Sec. III-A."""
    rng = generator(options.seed, "ratings", "agreement")
    rated = (experts > 0).any(axis=0)
    ratings, experts, chosen = given[:, rated], experts[:, rated], np.zeros((len(given), rated.sum()), bool)
    for half in (0, 1):  # chosen on the other half of the items
        hidden = np.where(np.arange(chosen.shape[1]) % 2 == half, 0, ratings)
        if hidden.any():
            fitted = fit_raters(hidden, experts, rng=rng, draws=min(200, options.draws), warm_up=100)
            chosen[:, half::2] = _trusted(fitted, options)[0][:, None]
    groups = {
        "raters trusted by the other half of the items": mean_rating(np.where(chosen, ratings, 0)),
        "all raters": mean_rating(ratings),
        "always 3": np.full(chosen.shape[1], 3.0),
    }
    rows = []
    for name, means in groups.items():
        errors = np.abs(means - mean_rating(experts))
        errors = errors[~np.isnan(errors)]
        mean = bootstrap_interval(np.mean, [[error] for error in errors], rng=rng, within=_DEVIATION)
        number = "–" if isinstance(mean, Undefined) else f"{mean.value:.2f} [{mean.low:.2f}, {mean.high:.2f}]"
        rows.append((name, str(errors.size), number, f"{(errors <= AGREE_WITHIN).mean():.0%}" if errors.size else "–"))
    return Table(
        title=f"Mean rating against the experts' on {options.axis}",
        header=("who", "items", "mean absolute deviation", "within 1"),
        rows=tuple(rows),
        note="Intervals of 95 % draw items. Raters are chosen on one half of the items and compared on the other.",
    )


# --- import of ratings ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(RatingsOptions):
    """What ratings to take.

    Attributes:
        raters: Only raters that `auscult ratings qualify` trusts: its folder or raters.csv.
        key: The key.csv of `auscult ratings tasks`, which says what was heard under each name.
        fewest: Ratings that an item needs on an axis.
    """

    raters: Path | None = None
    key: Path | None = None
    fewest: Annotated[int, Flag(least=1)] = 3


def import_ratings(options: ImportOptions) -> Done:
    """Import ratings, averaged where raters agree."""
    trust = None if options.raters is None else _trust_in(options.raters)
    rating_set = read_ratings(*options.sources, known_raters=trust)
    if not set(rating_set.axes) <= set(RATED_AXES):
        raise UsageError("ratings of a listening test have other scales", expected=f"1 to 5 of {', '.join(RATED_AXES)}")
    if trust is not None:
        rating_set = replace(rating_set, ratings=tuple(rating for rating in rating_set.ratings if trust[rating.rater]))
        if not rating_set.ratings:
            hint = "see why in that list; without --raters all are taken"
            raise NothingToDo("nobody who rated is trusted", path=options.raters, expected="trust yes", hint=hint)
    if options.key is not None:
        rating_set = _unblinded(rating_set, options.key, golden=False)
    rows, counts = _settled_rows(rating_set, least=options.fewest)
    axes = (*rating_set.axes, ALL_AXES)
    totals = Counter(axis for _, axis, became in counts.elements() if became == "settled")
    metrics = {axis: {"value": totals[axis], "n": len(rows)} for axis in axes}
    files = {"scores.jsonl": rows, **_ratings_files(rating_set)}
    tables, n, problems = {"settled": _settled_table(counts, axes)}, len(rating_set.ratings), rating_set.problems
    return write_record("ratings import", options, tables, n=n, problems=problems, metrics=metrics, files=files)


def _trust_in(path: Path) -> dict[str, bool]:
    """The raters in a folder or CSV of ``auscult ratings qualify``, and whether each is trusted."""
    file = path / "raters.csv" if path.is_dir() else path
    with required_file(file, option="--raters"):
        rows = rows_of(file, needed=("rater", "trust"), expected="the raters.csv of auscult ratings qualify")
        return {str(row["rater"]): row["trust"] == "yes" for _, row in rows}


def _unblinded(found: RatingSet, key: Path, *, golden: bool) -> RatingSet:
    """Ratings under the original names of items, either of golden items or of all others.

    Experts may have rated golden items by their original names.
    """
    with required_file(key, option="--key"):
        columns = ("item", "id", "golden", "domain")
        rows = rows_of(key, needed=columns, expected="the key.csv of auscult ratings tasks")
        by_name = {row["item"]: row for _, row in rows}
    wanted = {name: row["id"] for name, row in by_name.items() if row["golden"] == ("yes" if golden else "no")}
    own = {id_: id_ for id_ in wanted.values() if golden}
    ratings, problems = dict[tuple[str, str, str], Rating](), Problems(found=[*found.problems])
    for rating in found.ratings:
        item = wanted.get(rating.item) or own.get(rating.item)
        if item is not None:
            ratings.setdefault((item, rating.rater, rating.axis), replace(rating, item=item))
        elif rating.item not in by_name:
            message, expected = f"the item {shown(rating.item)} is not in the key", f"an item of {key.name}"
            problems.add(InputError(message, expected=expected), rating.path, line=rating.line, item=rating.item)
    items = {row["id"]: RatedItem(id=row["id"], domain=row["domain"]) for row in by_name.values()}
    return RatingSet(ratings=tuple(ratings.values()), items=items, problems=tuple(problems.found))


def _settled_rows(ratings: RatingSet, *, least: int) -> tuple[list[dict[str, Any]], Counter[tuple[str, str, str]]]:
    """A row for each item with its mean ratings where raters agree; counts of (domain, axis, outcome)."""
    by_item: dict[str, dict[str, list[float]]] = {}
    for rating in ratings.ratings:
        by_item.setdefault(rating.item, {}).setdefault(rating.axis, []).append(rating.value)
    rows, counts = [], Counter[tuple[str, str, str]]()
    for item, by_axis in by_item.items():
        domain = ratings.items[item].domain
        outcomes = {axis: settled(values, fewest=least) for axis, values in by_axis.items()}
        scores = {axis: round(outcome.value, 6) for axis, outcome in outcomes.items() if isinstance(outcome, Scored)}
        dropped = {axis: outcome.reason for axis, outcome in outcomes.items() if isinstance(outcome, Undefined)}
        counts.update((domain, axis, dropped.get(axis, "settled")) for axis in outcomes)
        counts[domain, ALL_AXES, "not on every axis" if dropped else "settled"] += 1
        rows.append({"id": item, "domain": domain, "settled": not dropped, **scores, "dropped": dropped})
    return rows, counts


def _settled_table(counts: Counter[tuple[str, str, str]], axes: Sequence[str]) -> Table:
    reasons = ("settled", "raters disagree", "too few ratings", "not on every axis")
    rows = []
    for domain in sorted({domain for domain, _, _ in counts}):
        for axis in axes:
            numbers = [counts[domain, axis, reason] for reason in reasons]
            rows.append((domain or "unknown", axis, str(sum(numbers)), *map(str, numbers)))
    header = ("domain", "axis", "items", *reasons)
    note = "Settled: the ratings differ by 1 at most; the score is their mean. With --key, golden items are left out."
    return Table(title="Items by domain and axis", header=header, rows=tuple(rows), note=note)


def _ratings_files(ratings: RatingSet) -> dict[str, File]:
    """A row for each rater and item, as CSV and as JSON lines."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for rating in ratings.ratings:
        base = {"item": rating.item, "rater": rating.rater, "domain": ratings.items[rating.item].domain}
        whole = rating.value.is_integer()
        rows.setdefault((rating.item, rating.rater), base)[rating.axis] = int(rating.value) if whole else rating.value
    lines = [*rows.values()]
    return {"ratings.csv": _csv_bytes(("item", "rater", "domain", *ratings.axes), lines), "ratings.jsonl": lines}


def export_ratings(options: RatingsOptions) -> Done:
    """Write ratings as CSV and JSON lines."""
    rating_set = read_ratings(*options.sources)
    counts = Counter(rating.axis for rating in rating_set.ratings)
    cells = tuple((axis, str(counts[axis])) for axis in rating_set.axes)
    tables = {"ratings": Table(title="Ratings", header=("axis", "ratings"), rows=cells)}
    files, problems = _ratings_files(rating_set), rating_set.problems
    return write_record("ratings export", options, tables, n=counts.total(), problems=problems, files=files)


# --- tasks of raters ---

_SOUNDS: Final = "/data/local-files/?d=sounds/"  # Label Studio's URL of local files
PEAK: Final = 0.99
"""Full scale is 1; what is brought to a loudness stays below this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksOptions(SoundsOptions):
    """What is rated, by whom, and how it is heard.

    Attributes:
        source: An INPUT of sounds whose items have a separated sound.
        golden: An INPUT of sounds that experts rated, hidden among the others.
        batch: Deal only what `auscult ratings batch` drew of them: its folder or batch.csv.
        raters: Raters that `auscult ratings qualify` trusts: its folder or raters.csv.
        people: Instead: comma-separated names of raters.
        per_item: Raters of each item.
        golden_each: Golden items that each rater gets.
        loudness_lufs: Loudness of all that is heard (ITU-R BS.1770).
        root: Paths of INPUT and of --golden may lead anywhere in this folder.
        seed: The same seed deals the same tasks.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    golden: Path | None = None
    batch: Path | None = None
    raters: Path | None = None
    people: Annotated[tuple[str, ...], Flag(read=names)] = ()
    per_item: Annotated[int, Flag(least=1)] = 3
    golden_each: Annotated[int, Flag(least=0)] = 10
    loudness_lufs: Annotated[float, Flag(name="loudness", least=-60.0, most=-10.0)] = -23.0
    seed: int = 0


def deal_tasks(options: TasksOptions) -> Done:
    """Deal items to raters as Label Studio's tasks, with golden ones hidden among them."""
    people = _people(options)
    problems, files = Problems(), dict[str, File]()
    key, tasks, rows = list[dict[str, Any]](), dict[str, Any](), []
    named: dict[str, list[str]] = {"no": [], "yes": []}
    for golden, source in (("no", options.source), ("yes", options.golden)):
        level = partial(_levelled, options=options, golden=golden)
        ids = None if options.batch is None or golden == "yes" else _drawn_in(options.batch)
        sounds_in = [] if source is None else _of_each(source, problems, level, root=options.root, ids=ids)
        for item, (name, wanted, sounds, gains) in sounds_in:
            files |= sounds
            named[golden].append(name)
            key.append({"item": name, "id": item.id, "golden": golden, "domain": item.domain, **gains})
            paths = {"separated": f"{_SOUNDS}{name}.wav", "mixture": f"{_SOUNDS}{name}-mixture.wav"}
            tasks[name] = {"data": {"item": name, "text": wanted, **paths}}
    if not named["no"]:
        message = "no item has both a separated sound that can be read and words or spans for what is wanted"
        expected = "'separated' beside each 'mixture', and 'text' or 'spans_s'"
        raise NothingToDo(message, path=options.source, expected=expected)
    for person, own in deal(named["no"], people, each=options.per_item, seed=options.seed).items():
        rng = generator(options.seed, "ratings", "golden", person)
        hidden = rng.permutation(named["yes"])[: options.golden_each].tolist()
        order = rng.permutation([*own, *hidden]).tolist()
        files[_file_of(person)] = dump([tasks[name] for name in order], indent=2)
        rows.append((person, str(len(order)), str(len(hidden))))
    files["config.xml"] = label_studio_config().encode()
    files["key.csv"] = _csv_bytes(("item", "id", "golden", "domain", "gain_db", "mixture_gain_db"), key)
    note = "key.csv says what is behind a name; raters must not see it. Serve sounds/ as local files of Label Studio."
    table = Table(title="Tasks", header=("rater", "items", "golden among them"), rows=tuple(rows), note=note)
    return write_record("ratings tasks", options, {"tasks": table}, n=len(key), problems=problems.found, files=files)


def _people(options: TasksOptions) -> list[str]:
    """The raters, each of whose names can be that of a file."""
    trust = _trust_in(options.raters) if options.raters else {}
    people = list(dict.fromkeys(options.people or (name for name, good in trust.items() if good)))
    hint = "--people a,b,c, or --raters FOLDER of ratings qualify"
    for name in people:
        if safe_id(name) is None or len(_file_of(name)) > _LONGEST_FILE:
            expected = "a short name without control characters, as in the ratings"
            raise UsageError(f"the rater {shown(name)} cannot be written as a file", expected=expected, hint=hint)
    if len(people) < options.per_item:
        message = f"{len(people)} raters for {options.per_item} of each item"
        raise UsageError(message, expected="as many raters", hint=hint)
    return people


def _file_of(person: str) -> str:
    return f"tasks/{quote(person, safe='')}.json"


_LONGEST_FILE: Final = 240


def _drawn_in(path: Path) -> set[str]:
    """The ids of what a batch drew."""
    file = path / "batch.csv" if path.is_dir() else path
    with required_file(file, option="--batch"):
        rows = rows_of(file, needed=("id",), expected="the batch.csv of auscult ratings batch")
        return {str(row["id"]) for _, row in rows}


_JUDGED: Final = "the INPUT that was judged"


def _of_each(
    source: Path,
    problems: Problems,
    use: Callable[[SoundItem, Path], T],
    *,
    root: Path | None,
    ids: set[str] | None = None,
) -> Iterator[tuple[SoundItem, T]]:
    """The result of a function for each item (of some ids) of an INPUT and its separated sound; errors are problems."""
    listing = read_sounds(source, root=root)
    problems.found += listing.problems
    items = [item for item in listing.items if ids is None or item.id in ids]
    for name in sorted((ids or set()) - {item.id for item in items}):
        error = InputError(f"INPUT has no {shown(name)}, which the batch drew", expected=_JUDGED)
        problems.add(error, source, item=name)
    if ids and listing.items and not items:
        raise NothingToDo("INPUT has nothing that the batch drew", path=source, expected=_JUDGED)
    for item in items:
        try:
            result = use(item, _separated(item))
        except InputError as unread:
            problems.add(unread, None if unread.path else item.source, line=item.line, item=item.id)
        else:
            yield item, result


def _separated(item: SoundItem) -> Path:
    if item.separated is None:
        raise InputError("the item has no separated sound", expected="'separated'")
    return item.separated


def deal(items: Sequence[str], people: Sequence[str], *, each: int, seed: int) -> dict[str, list[str]]:
    """Give each item to ``each`` different people, with loads that differ by at most one."""
    rng = generator(seed, "ratings", "deal")
    lists: dict[str, list[str]] = {person: [] for person in people}
    load = np.zeros(len(people), np.int64)
    for item in rng.permutation(list(items)).tolist():
        for index in np.lexsort((rng.random(len(people)), load))[:each]:
            lists[people[index]].append(item)
            load[index] += 1
    return lists


def _levelled(
    item: SoundItem, separated: Path, *, options: TasksOptions, golden: str
) -> tuple[str, str, dict[str, File], dict[str, float]]:
    """A neutral name, what is wanted, the item's two sounds at the same loudness, and the gains in dB."""
    wanted = wanted_of(item.query)
    if not wanted:
        picture = "a picture alone, which raters are not shown" if item.query.picture else "no prompt"
        raise InputError(f"the item has {picture}", expected="'text' or 'spans_s', so that raters know what is wanted")
    name = generator(options.seed, "ratings", "name", int(golden == "yes"), item.id).bytes(6).hex()
    files, gains = dict[str, File](), dict[str, float]()
    for path, ending, column in ((separated, "", "gain_db"), (item.mixture, "-mixture", "mixture_gain_db")):
        sound = read_sound(path, cut=False)
        loudness = integrated_lufs(sound.samples, rate_hz=sound.rate_hz)
        gain_db = options.loudness_lufs - loudness if math.isfinite(loudness) else 0.0  # silence stays silence
        peak = float(np.abs(sound.samples).max())
        gain_db = min(gain_db, 20 * math.log10(PEAK / peak)) if peak > 0 else 0.0
        files[f"sounds/{name}{ending}.wav"] = partial(_wav_of, path, gain_db)
        gains[column] = round(gain_db, 3)
    return name, wanted, files, gains


def _wav_of(path: Path, gain_db: float = 0.0) -> bytes:
    """A sound file as 16-bit WAV, louder by some dB."""
    sound = read_sound(path, cut=False)
    return wav_bytes(Sound(samples=sound.samples * np.float32(10 ** (gain_db / 20)), rate_hz=sound.rate_hz), "int16")


# --- batches ---

SIGNS: Final[Mapping[str, int]] = {"clap": 1, "clap_residual": 1, "complexity": -1, "complexity_residual": -1}
"""Columns of the composite of batch 1, and whether more of each is better; a residual is the output's minus the
mixture's."""
PARTS: Final = ("poor", "medium", "good")
_FORM: Final = "rows with id and " + ", ".join(SIGNS) + " (batch 1), " + ", ".join(PERFORMANCE) + " (2) or overall (3)"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(SoundsOptions):
    """Which batch to draw, and from what.

    Attributes:
        number: 1: by a composite of clap, clap_residual, complexity and complexity_residual. 2: by a judge's recall,
            precision, faithfulness and overall. 3: by its overall, where those rated leave gaps.
        source: Candidates: for 2 and 3 a record of `auscult audit` with separated sounds; for 1 an INPUT of sounds, of
            which the complexities are measured; for all a CSV, or JSON lines, with id and these columns.
        count: How many to draw.
        enrich: Draw nothing yet: of an INPUT of sounds, write outputs with parts masked and equalised, for the judge.
        rated: Scores of earlier batches, the scores.jsonl of `auscult ratings import`; what they hold is not drawn.
        seed: The same seed draws the same.
    """

    number: Annotated[int, Flag(metavar="1|2|3", positional=True, least=1, most=3)]
    source: Annotated[Path, Flag(read=input_path, metavar="FILE", positional=True)]
    count: Annotated[int, Flag(least=1)] = 1000
    enrich: bool = False
    rated: Path | None = None
    seed: int = 0


def draw_batch(options: BatchOptions) -> Done:
    """Draw a balanced batch to rate next."""
    if options.enrich:
        return _enriched(options)
    problems, columns = Problems(), (tuple(SIGNS), PERFORMANCE, ("overall",))[options.number - 1]
    rated = [] if options.rated is None else scored_rows(options.rated, PERFORMANCE, problems)
    candidates = _candidates(options, columns, problems)
    rated_ids = {row["id"] for row in rated}
    if candidates and rated_ids.issuperset(row["id"] for row in candidates):
        expected = "candidates that --rated does not hold"
        raise NothingToDo(f"all {len(candidates)} candidates are rated", path=options.source, expected=expected)
    candidates = [*{row["id"]: row for row in candidates if row["id"] not in rated_ids}.values()]
    axes, names = (("composite",), PARTS) if options.number == 1 else (columns, tuple("12345"))
    complete = [row for row in candidates if len(row) > 1 and (options.number == 1 or set(axes) <= set(row))]
    if not complete:
        raise NothingToDo("there is no candidate with all scores", path=options.source, expected=_FORM)
    bins = thirds(composite(complete))[:, None] if options.number == 1 else _bins(complete, axes)
    rated_counts = _counts(_bins([row for row in rated if set(axes) <= set(row)], axes), len(names))
    # batches 1 and 2 are balanced without earlier ratings
    filled = rated_counts if options.number == 3 else np.zeros_like(rated_counts)
    chosen = balanced_draw(bins, options.count, before=filled, rng=generator(options.seed, "ratings", "batch"))
    batch = _counts(bins[chosen], len(names))
    steps = {"candidates": _counts(bins, len(names)), "batch": batch, "rated and batch": rated_counts + batch}
    header = ("id", *columns, *(("part",) if options.number == 1 else ()))
    rows = [{**complete[index], "part": names[bins[index, 0]]} for index in chosen]
    tables = {"batch": _table(steps, axes, names, number=options.number)}
    files = {"batch.csv": _csv_bytes(header, rows)}
    per_axis = zip(axes, rated_counts, batch, strict=True)
    charts = {axis: _chart(before, drawn, axis=axis, names=names) for axis, before, drawn in per_axis}
    skipped = problems.found
    return write_record("ratings batch", options, tables, n=len(rows), problems=skipped, files=files, charts=charts)


def _candidates(options: BatchOptions, columns: Sequence[str], problems: Problems) -> list[dict[str, Any]]:
    """The id and the numbers of each candidate: of a table or record, or measured for batch 1."""
    source = options.source
    if options.number == 1 and source.suffix.lower() != ".csv":
        return [row for _, row in _of_each(source, problems, _complexities, root=options.root)]
    if not source.is_dir():
        return scored_rows(source, columns, problems)
    verdicts = source / "verdicts.jsonl"
    if not verdicts.is_file():
        record = shlex.quote(f"{source.name}-audit")
        audit = f"auscult audit {shlex.quote(str(source))} --out {record}"
        hint = f"audit it first: `{audit}`, then `auscult ratings batch {options.number} {record}`"
        raise NothingToDo("the folder holds no verdicts", path=source, expected=_FORM, hint=hint)
    return scored_rows(verdicts, columns, problems)  # rows of masks lack the columns


_ENRICHED: Final = ("temporal_mask", "frequency_mask", "equalisation")


def _enriched(options: BatchOptions) -> Done:
    """Write an INPUT of separated sounds with masking or equalisation, one kind and severity drawn for each."""
    problems, files, lines = Problems(), dict[str, File](), list[dict[str, Any]]()
    for item, source in _of_each(options.source, problems, _heard, root=options.root):
        rng = generator(options.seed, "ratings", "enrich", item.id)
        kind, severity = pick(rng, _ENRICHED), round(float(rng.uniform(1, 5)), 3)
        separated, mixture = (Path(f"sounds/{len(lines)}{end}.wav") for end in ("", "-mixture"))
        choice = {"severity": severity, "seed": options.seed, "key": item.id}
        files[separated.as_posix()] = partial(_changed, source, kind, **choice)
        files[mixture.as_posix()] = partial(_wav_of, item.mixture)
        changed = replace(item, id=f"{item.id}#{kind}", query=replace(item.query, picture=None), truth=None)
        extra = {"enriched": kind, "severity": severity}
        changed = replace(changed, mixture=mixture, separated=separated, extra=extra)
        lines.append(sound_line(changed, home=Path()))
    files["items.jsonl"] = lines
    counts = Counter(str(line["enriched"]) for line in lines)
    rows = tuple((kind, str(counts[kind])) for kind in _ENRICHED)
    table = Table(title="Enriched outputs", header=("kind", "items"), rows=rows, note="Judge them, then draw batch 2.")
    return write_record(
        "ratings batch", options, {"enriched": table}, n=len(lines), problems=problems.found, files=files
    )


def _heard(_: SoundItem, separated: Path) -> Path:
    if not read_sound(separated).samples.any():
        raise InputError("the separated sound is silent", expected="something to change", path=separated)
    return separated


def _changed(path: Path, kind: str, **drawn: Any) -> bytes:
    sound = read_sound(path)
    outcome = perturb(kind, [sound.samples], rate_hz=sound.rate_hz, **drawn)
    samples = sound.samples if isinstance(outcome, Undefined) else np.clip(outcome.output, -1, 1)
    return wav_bytes(Sound(samples=samples, rate_hz=sound.rate_hz), "int16")


def scored_rows(path: Path, columns: Sequence[str], problems: Problems) -> list[dict[str, Any]]:
    """The id of each row of a table or of JSON lines, with its numbers in the columns."""
    rows = []
    with required_file(path):
        for line, row in rows_of(path, needed=("id",), expected=_FORM):
            with problems.skipping(path, line=line):
                cells = {name: fields.number_of(row.get(name)) for name in columns}
                numbers = {name: number for name, number in cells.items() if number is not None}
                if not np.isfinite([*numbers.values()]).all():
                    raise InputError("a score is no number", expected=_FORM)
                rows.append({"id": fields.required(row, "id"), **numbers})
    return rows


def composite(rows: Sequence[Mapping[str, Any]]) -> Doubles:
    """(n,) the mean of the standardised columns of ``SIGNS`` that all rows have; higher is better separation."""
    names = [name for name in SIGNS if all(name in row for row in rows)]
    if not names:
        raise UsageError("no column is in all rows", expected=f"some of {', '.join(SIGNS)}")
    table = np.array([[SIGNS[name] * row[name] for name in names] for row in rows])
    return np.asarray(((table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-12)).mean(axis=1))


def thirds(values: Doubles) -> NDArray[np.int64]:
    """(n,) 0, 1 or 2: the third of the range (without 2 % of the values at each end) in which a value is."""
    low, high = np.quantile(values, (0.02, 0.98))
    return np.asarray(np.digitize(values, (low + (high - low) / 3, high - (high - low) / 3)))


def _complexities(item: SoundItem, separated: Path) -> dict[str, Any]:
    sounds = [read_sound(path) for path in (separated, item.mixture)]
    complexity, all_ = (spectral_complexity(sound.samples, rate_hz=sound.rate_hz) for sound in sounds)
    values = {name: fields.number(item.extra, name) for name in SIGNS}
    numbers = {name: value for name, value in values.items() if value is not None}
    return {"id": item.id, "complexity": complexity, "complexity_residual": complexity - all_, **numbers}


def _bins(rows: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> NDArray[np.int64]:
    """(rows, axes) the bins of scores 1..5, from 0."""
    scores = np.reshape([row[axis] for row in rows for axis in axes], (-1, len(axes)))
    return np.asarray(np.clip(np.floor(scores + 0.5), 1, SCALE).astype(np.int64) - 1)


def _counts(bins: NDArray[np.int64], count: int) -> Doubles:
    """(axes, ``count``) how many rows of ``bins``, (n, axes), are in each bin."""
    return np.array([np.bincount(column, minlength=count) for column in bins.T], dtype=np.float64)


def _table(steps: Mapping[str, Doubles], axes: Sequence[str], names: Sequence[str], *, number: int) -> Table:
    rows = [
        (step, axis, *(f"{count:.0f}" for count in row), f"{entropy_bits(row):.3f}")
        for step, counts in steps.items()
        for axis, row in zip(axes, counts, strict=True)
    ]
    header, note = ("what", "axis", *names, "entropy, bits"), f"Even bins have {np.log2(len(names)):.3f} bits."
    return Table(title=f"Batch {number}: how even it is", header=header, rows=tuple(rows), note=note)


def _chart(before: Doubles, batch: Doubles, *, axis: str, names: Sequence[str]) -> Drawing:
    stacks = [
        Stack(name, (("quiet", "rated before", int(before[index])), ("accent", "in the batch", int(batch[index]))))
        for index, name in enumerate(names)
    ]
    words = ", ".join(f"{name}: {before[index] + batch[index]:.0f}" for index, name in enumerate(names))
    return histogram(stacks, title=f"Distribution of {axis} after the batch", ticks=dict(enumerate(names)), words=words)


# --- records of all verbs ---


def write_record(
    command: str,
    options: RecordOptions,
    tables: Mapping[str, Table],
    *,
    n: int,
    problems: Sequence[ListError] = (),
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
    files: Mapping[str, File],
    charts: Mapping[str, Drawing] | None = None,
) -> Done:
    """Write the record of a verb: ``n`` is the count of usable rows, ``problems`` the errors of others."""
    paths = {name: getattr(options, name, None) for name in ("source", "golden", "batch", "raters", "key", "rated")}
    paths |= {str(path): path for path in getattr(options, "sources", ())}
    inputs = {name: digest_file(path) for name, path in paths.items() if path is not None and path.is_file()}
    with open_run(options.out, run_manifest(command, options, inputs=inputs), overwrite=options.overwrite) as run:
        run.remove(ERRORS)
        ErrorLog(run).keep(error_to_json(name, error) for name, error in problems)
        for name, content in files.items():
            if isinstance(content, list):
                run.write_lines(name, content)
            else:
                run.write_bytes(name, content() if callable(content) else content)
        write_charts(run, (charts or {}).items())
        failed = len(problems)
        summary = Summary(command=command, n=n + failed, ok=n, failed=failed, metrics=metrics or {})
        return finish_tables(run, summary, tables)


def _csv_bytes(header: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """A CSV file in UTF-8; formulas are disarmed, None is an empty cell."""
    cells = (("" if row.get(name) is None else str(row[name]) for name in header) for row in rows)
    table = Table(title="", header=tuple(header), rows=tuple(map(tuple, cells)))
    return table_csv(table).encode("utf-8", "backslashreplace")
