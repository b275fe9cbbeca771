"""Reads a record of a suite of models, and computes its numbers from its lines, without asking a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Meta

from auscult.errors import REMARKS, RecordError, UnknownName, UsageError
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.jobs.predict import STAGE
from auscult.media.paths import safe_name
from auscult.record.codec import Count
from auscult.record.folder import read_manifest
from auscult.record.lines import numbered_lines, typed_lines
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
    """A case without its files, sufficient for a comparison: a line of ``cases.jsonl``."""

    id: str
    clip: str
    split: str = ""
    digest: str
    truth: str | None = None
    about: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def frames(self) -> tuple[Path, ...]:
        """None: its files are elsewhere, or gone."""
        return ()


def _cases(path: Path, task: Task) -> Iterator[StoredCase]:
    seen: set[str] = set()
    for number, _, case in typed_lines(StoredCase, path, what="the line is no case", hint=_AGAIN):
        wrong = partial(RecordError, path=path, line=number, hint=_AGAIN)
        if case.id in seen:
            raise wrong(f"the line is no case: {case.id:.60} stands twice", expected="a new id")
        if lacking := [name for name, kind in task.about.items() if type(case.about.get(name)) is not kind]:
            raise wrong(f"{case.id:.60} has no {lacking[0]}", expected=f"{', '.join(task.about)} under `about`")
        seen.add(case.id)
        yield case


_Sums: TypeAlias = Annotated[list[Annotated[float, Meta(ge=0.0)]], Meta(min_length=2)]
"""Sums over frames, then the count of frames."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScoreLine:
    """What every line of ``scores.jsonl`` must have; see ``core.results``."""

    key: str
    outcome: Literal["scored", "undefined", "failed"]
    metric: str | None = None
    value: float | None = None
    signature: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    both_px: Count | None = None
    either_px: Count | None = None
    classes: Annotated[Mapping[str, _Sums], Meta(max_length=256)] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an outcome without what it needs, and one count of pixels without the other."""
        for name in _NEEDED[self.outcome]:
            if getattr(self, name) is None:
                raise ValueError(f"{name!r} is missing")
        if (self.both_px is None) != (self.either_px is None):
            raise ValueError("one of both_px and either_px is missing")


_NEEDED: Final = {"scored": ("metric", "value", "signature"), "undefined": ("metric",), "failed": ("error",)}


def _scores(path: Path, task: Task) -> Iterator[Mapping[str, Any]]:
    for number, row, line in typed_lines(_ScoreLine, path, what="the line is no score", hint=_AGAIN):
        low, high = task.ranges.get(str(line.metric), (0.0, 1.0))
        if line.outcome == "scored" and line.value is not None and not low <= line.value <= high:
            message, expected = f"the line is no score: 'value' is {line.value}", f"a number from {low:g} to {high:g}"
            raise RecordError(message, path=path, line=number, expected=expected, hint=_AGAIN)
        yield row


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


_Amount: TypeAlias = Annotated[float, Meta(ge=0.0, lt=1 << 53)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerLine:
    """What the table of requests takes from a line of ``predictions.jsonl``; masks are not decoded."""

    key: str
    counts: list[Any] | None = None
    reply: str | None = None
    seconds: _Amount
    preparing_s: _Amount
    overhead_s: _Amount
    peak_mb: _Amount | None = None
    threshold: _Amount | None = None

    def __post_init__(self) -> None:
        """Refuse a line without an answer."""
        if self.counts is None and self.reply is None:
            raise ValueError("it has neither counts nor a reply")


def _predictions(path: Path) -> Iterator[Mapping[str, Any]]:
    return (row for _, row, _ in typed_lines(_AnswerLine, path, what="the line is no answer", hint=_AGAIN))


def _unlisted(row: Mapping[str, Any]) -> int:
    """The count of cases that an error prevented; 0 for errors of requests or models, and for remarks."""
    if row.get("stage") in (*REMARKS, STAGE, "score") or "questions" in row:
        return 0
    cases = row.get("cases")
    return len(cases) if isinstance(cases, list) else 1
