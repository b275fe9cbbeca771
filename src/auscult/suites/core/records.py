"""Reads a record of a suite of models, and computes its numbers from its lines, without asking a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final, Protocol, runtime_checkable

from auscult.errors import REMARKS, RecordError, UnknownName, UsageError
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.jobs.predict import STAGE
from auscult.media.paths import safe_name
from auscult.record.codec import LARGEST
from auscult.record.folder import read_manifest
from auscult.record.lines import numbered_lines
from auscult.record.manifest import argument
from auscult.record.reader import require_record
from auscult.suites.core.grid import Grid, Task
from auscult.suites.core.numbers import GridView
from auscult.suites.core.page import answers_of, answers_table, results_of, shown_of, summary_of
from auscult.suites.core.requests import require_log
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.results import ResultKey
from auscult.suites.core.runner import CASES, ERRORS, collect_scores
from auscult.suites.registered import Suite, SuiteRun, load_suite

_VERB: Final = "run "
_MOST_CLASSES: Final = 256
_AGAIN: Final = "the file was edited or damaged; run the command of this record again with --overwrite"


@runtime_checkable
class ModelSuite(Suite, Protocol):
    """A suite of models, as needed to read its records."""

    def task(self, manifest: Mapping[str, Any]) -> Task:
        """The task of a record."""
        ...


def command_of(suite: ModelSuite) -> str:
    """The command that makes records of a suite."""
    return f"{_VERB}{suite.name.partition('.')[0]}"


def suite_of(command: str, folder: Path) -> ModelSuite | None:
    """The suite of models that made a record, by the command; None if none did."""
    if not command.startswith(_VERB):
        return None
    name = command.removeprefix(_VERB)
    try:
        suite = load_suite(name)
    except UnknownName as unknown:
        raise UsageError(
            f"the record is of the suite {name!r}, which is not installed",
            expected="a record of a suite that `auscult list suites` shows",
            hint="install the plug-in that it is from",
            path=folder,
        ) from unknown
    return suite if isinstance(suite, ModelSuite) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRecord:
    """The content of a record."""

    path: Path  # the folder
    label: str  # the folder's name, with its parent's if two are equal
    task: Task
    seed: int  # of the run
    data: str  # the name of its data: the end of the path, or ``scenes``
    digests: Mapping[str, str]  # case id to a hash of all that a model sees, and of the true masks
    revisions: Mapping[str, str]  # model to the hash of its code or weights
    requests: Mapping[str, ResultKey]  # key of every request to model, condition and case
    failed: frozenset[ResultKey]  # the requests that failed
    grid: Grid  # all its scores
    finished: bool  # whether the run came to its end
    version: str  # the version of auscult that made it


def labels_of(folders: Sequence[Path]) -> tuple[str, ...]:
    """A short name for every folder, all different."""
    homes = [folder.resolve() for folder in folders]
    short = [safe_name(home.name) for home in homes]
    longer = [
        name if short.count(name) == 1 else f"{safe_name(home.parent.name)}/{name}"
        for name, home in zip(short, homes, strict=True)
    ]
    return tuple(name if longer.count(name) == 1 else f"{name} {number}" for number, name in enumerate(longer, start=1))


def read_record(folder: Path, suite: ModelSuite, *, label: str = "") -> SuiteRecord:
    """Read one record of a suite; errors name file and line. Its label is the folder's name."""
    require_record(folder)
    label = label or labels_of([folder])[0]
    manifest, command = read_manifest(folder), command_of(suite)
    if manifest["command"] != command:
        raise RecordError(f"the record is of `auscult {manifest['command']}`", path=folder, expected=f"of {command}")
    task = suite.task(manifest)
    seed = manifest.get("seeds", {}).get("seed") if isinstance(manifest.get("seeds"), Mapping) else None
    if type(seed) is not int:
        raise RecordError("the manifest names no seed", path=folder, expected="a whole number", hint=_AGAIN)
    cases = tuple(_cases(folder / CASES, task))
    if not cases:
        raise RecordError(
            "the record holds no case", path=folder, expected=f"cases in {CASES}", hint="let the run go on first"
        )
    log = require_log(folder)
    done = collect_scores(lambda: _scores(folder / SCORES, task), log, cases, task=task, seed=seed)
    if not done.grid.cells:
        raise RecordError(
            "the record holds no score of its cases",
            path=folder,
            expected=f"scores in {SCORES}",
            hint="let the run go on first; errors.jsonl says what failed",
        )
    versions = manifest.get("versions")
    return SuiteRecord(
        path=folder,
        label=label,
        task=task,
        seed=seed,
        data=PurePath(str(argument(manifest, "data") or "")).name or label,
        digests={case.id: f"{case.digest} {case.truth or ''}" for case in cases},
        revisions=log.models,
        requests=done.requests,
        failed=frozenset(done.failed),
        grid=done.grid,
        finished="finished" in manifest,
        version=str(versions.get("auscult") or "") if isinstance(versions, Mapping) else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCase:
    """A case without its files, sufficient for a comparison."""

    id: str
    clip: str
    split: str
    digest: str
    truth: str | None = None
    frames: tuple[Path, ...] = ()
    about: Mapping[str, str | int] = field(default_factory=dict)


def _cases(path: Path, task: Task) -> Iterator[StoredCase]:
    seen: set[str] = set()
    for number, row in numbered_lines(path):
        fields: dict[str, Any] = {key: row.get(key) for key in ("id", "clip", "digest")}
        fields |= {"split": row.get("split", ""), **({"truth": row["truth"]} if "truth" in row else {})}
        about = row.get("about", {})
        plain = isinstance(about, dict) and all(type(value) in {str, int} for value in about.values())
        if not all(isinstance(text, str) for text in fields.values()) or row["id"] in seen or not plain:
            raise RecordError("the line is no case", path=path, line=number, expected="a new id, a clip", hint=_AGAIN)
        if lacking := [name for name, kind in task.about.items() if type(about.get(name)) is not kind]:
            message, expected = f"{row['id']:.60} has no {lacking[0]}", f"{', '.join(task.about)} under `about`"
            raise RecordError(message, path=path, line=number, expected=expected, hint=_AGAIN)
        seen.add(row["id"])
        yield StoredCase(**fields, about=about)


def _scores(path: Path, task: Task) -> Iterator[Mapping[str, Any]]:
    for number, row in numbered_lines(path):
        if not _is_score(row, task):
            raise RecordError(
                "the line is no score", path=path, line=number, expected="key, metric, outcome and value", hint=_AGAIN
            )
        yield row


def _is_score(row: Mapping[str, Any], task: Task) -> bool:
    if not isinstance(row.get("key"), str):
        return False
    if row.get("outcome") == "failed":
        return isinstance(row.get("error"), Mapping)
    if not isinstance(row.get("metric"), str):
        return False
    pixels = [row[name] for name in ("both_px", "either_px") if name in row]
    counted = len(pixels) != 1 and all(type(count) is int and count >= 0 for count in pixels)
    if not counted or not _are_sums(row.get("classes", {})) or not isinstance(row.get("answer", {}), Mapping):
        return False
    if row.get("outcome") != "scored":
        return row.get("outcome") == "undefined"
    value, (low, high) = row.get("value"), task.ranges.get(str(row["metric"]), (0.0, 1.0))
    sound = type(value) in {int, float} and low <= value <= high  # type: ignore[operator] # no NaN is
    return sound and isinstance(row.get("signature"), Mapping)


def _are_sums(classes: object) -> bool:
    """Whether a value is sums by class over frames, then the count of frames."""
    if not isinstance(classes, Mapping) or len(classes) > _MOST_CLASSES:
        return False
    return all(
        isinstance(sums, list)
        and len(sums) > 1
        and all(type(value) in {int, float} and 0 <= value <= LARGEST for value in sums)
        for sums in classes.values()
    )


def score_record(folder: Path, suite: ModelSuite) -> SuiteRun:
    """Compute the numbers of a record, finished or not, from its scores, as the run does; no file is written."""
    record = read_record(folder, suite)
    answers = answers_of(
        _predictions(folder / PREDICTIONS),
        valid=record.requests,
        models=record.grid.models,
        failed=tuple(record.failed),
    )
    results = results_of(GridView(grid=record.grid, seed=record.seed))
    tables = {**results.tables, "answers": answers_table(answers, record.grid.waiting)}
    unlisted = sum(_unlisted(row) for _, row in numbered_lines(folder / ERRORS))
    summary = summary_of("score", record.grid, answers, numbers=results.numbers, unlisted=unlisted)
    remarks = () if record.finished else ("the run has not come to its end: what has no score is only yet to come",)
    return SuiteRun(out=folder, summary=summary, tables=tables, shown=shown_of(tables), remarks=remarks)


def _predictions(path: Path) -> Iterator[Mapping[str, Any]]:
    """The fields of each prediction for the table of answers; masks are not decoded."""
    numbers = ("seconds", "preparing_s", "overhead_s")
    for number, row in numbered_lines(path):
        times = [row.get(name) for name in numbers]
        optional = [row.get(name) for name in ("peak_mb", "threshold")]
        sound = (
            isinstance(row.get("key"), str)
            and (isinstance(row.get("counts"), list) or isinstance(row.get("reply"), str))
            and all(_is_number(seconds) for seconds in times)
            and all(value is None or _is_number(value) for value in optional)
        )
        if not sound:
            raise RecordError(
                "the line is no answer", path=path, line=number, expected="key, counts or reply, and times", hint=_AGAIN
            )
        yield row


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _unlisted(row: Mapping[str, Any]) -> int:
    """The count of cases that an error prevented; 0 for errors of requests or models, and for remarks."""
    if row.get("stage") in (*REMARKS, STAGE, "score") or "questions" in row:
        return 0
    cases = row.get("cases")
    return len(cases) if isinstance(cases, list) else 1
