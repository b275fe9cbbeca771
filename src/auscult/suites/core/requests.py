"""The requests of a folder so far, and the key of every answer.

``requests.jsonl`` has a line for each model of each command, written before anything is asked::

    {"command": 1, "model": "mine.colour", "revision": "...", "source": "...", "conditions": [{"name", "group", ...}]}

A request in it without a row in ``scores.jsonl`` was never made: the command was stopped, or the data have changed. A
model that could not be loaded is withdrawn by a line ``{"command", "model", "unloaded": why}``: otherwise a misspelled
name would stay in the folder, with failures that no command can remove.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from auscult.cases.ids import counted
from auscult.cases.problems import ListError
from auscult.errors import AuscultError, ErrorRecord, RecordError
from auscult.models.adapters import ModelSpec
from auscult.models.adapters.folder import FolderOfPredictions
from auscult.models.base import Request
from auscult.record.digest import digest_json
from auscult.record.lines import typed_lines
from auscult.record.schema import error_to_json
from auscult.suites.core.conditions import CLEAN, NOTHING, Condition, unique_conditions
from auscult.suites.core.results import ResultKey

FILE: Final = "requests.jsonl"
STAGE: Final = "case"
"""Stage of an error that prevents a case."""
_AGAIN: Final = "the file is missing, edited or damaged; run the command of this record again with --overwrite"


class SuiteCase(Protocol):
    """A case of the engine."""

    @property
    def id(self) -> str:
        """Unique in the run."""
        ...

    @property
    def clip(self) -> str:
        """The cluster of intervals: a clip or photograph."""
        ...

    @property
    def split(self) -> str:
        """The source's name for its part of the data; may be empty."""
        ...

    @property
    def frames(self) -> tuple[Path, ...]:
        """Picture files in order of time."""
        ...

    @property
    def digest(self) -> str:
        """Hash of all that a model can see of it."""
        ...

    @property
    def truth(self) -> str | None:
        """Hash of its truth, so that a change scores answers again; None if unknown, as in some records."""
        ...


CaseKind = TypeVar("CaseKind", bound=SuiteCase)


@dataclass(slots=True)
class CaseList(Generic[CaseKind]):
    """The cases of a listing."""

    cases: list[CaseKind] = field(default_factory=list)
    errors: list[ListError] = field(default_factory=list)
    absent: int = 0  # count of null expressions, which the task leaves out

    def add(self, name: str, make: Callable[[], CaseKind]) -> None:
        """Make a case; what prevents it is kept under this name."""
        try:
            self.cases.append(make())
        except AuscultError as error:
            self.errors.append((name, ErrorRecord.of(error, STAGE)))


def highest_of_each(
    cases: Iterable[CaseKind], values: Mapping[str, float], *, of: Callable[[CaseKind], str] = attrgetter("clip")
) -> list[CaseKind]:
    """Of each clip, or other group, the case with the highest value; the highest first, equal ones by id."""
    chosen: dict[str, CaseKind] = {}
    for case in sorted(cases, key=lambda case: (-values.get(case.id, 0.0), case.id)):
        if case.id in values:
            chosen.setdefault(of(case), case)
    return list(chosen.values())


def changes_case(case: SuiteCase, condition: Condition) -> bool:
    """Whether a condition changes a case: ``unmet`` in its ``about`` names those that do not, separated by commas."""
    about: Mapping[str, object] = getattr(case, "about", {})
    return condition.name not in str(about.get("unmet", "")).split(",")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLog:
    """Models and conditions of a folder."""

    models: Mapping[str, str] = field(default_factory=dict)  # model to revision, those of the last command first
    conditions: tuple[Condition, ...] = ()  # ``clean`` first, then in the order of their first request
    # model to where it was found, so that another model of the same name gets another name
    sources: Mapping[str, str] = field(default_factory=dict)
    # model to the names of the conditions that were requested of its latest revision
    conditions_by_model: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: tuple[Mapping[str, Any], ...] = ()  # the lines of the file

    def requests(self, cases: Sequence[SuiteCase], *, seed: int) -> dict[str, ResultKey]:
        """From the key of every valid answer to its (model, condition, case)."""
        return {
            key_of(case, condition, model=model, revision=revision, seed=seed): (model, condition.name, case.id)
            for model, revision in self.models.items()
            for case in cases
            for condition in self.conditions
            if changes_case(case, condition)
        }

    def was_requested(self, request: ResultKey) -> bool:
        """Whether a command included a request, made or not."""
        return request[1] in self.conditions_by_model.get(request[0], ())

    def waiting(self, requests: Mapping[str, ResultKey], done: Collection[str]) -> Iterator[ResultKey]:
        """The requests without a result row."""
        return (request for key, request in requests.items() if key not in done and self.was_requested(request))


def unasked_remarks(model: ModelSpec, requests: Iterable[Request]) -> Iterator[dict[str, Any]]:
    """A remark on files of a folder of predictions that no request reads, since they may be misnamed."""
    if model.kind != "predictions":
        return
    extra = FolderOfPredictions(Path(model.target)).unasked(requests)
    if extra:
        names = ", ".join(extra[:3]) + (", ..." if len(extra) > 3 else "")
        remark = ErrorRecord(
            stage="frames",
            error=f"{model.name}: {counted(len(extra), 'file')} that no request asks for: {names}",
            expected="<condition>/<case>/<frame>.png, as in cases.jsonl and requests.jsonl",
            path=model.target,
        )
        yield error_to_json(None, remark)


def log_of(rows: Iterable[Mapping[str, Any]]) -> RequestLog:
    """The log from the lines of a folder."""
    all_rows = tuple(rows)
    withdrawn = {(row["command"], row["model"]) for row in all_rows if "unloaded" in row}
    models: dict[str, str] = {}
    sources: dict[str, str] = {}
    by_model: dict[str, dict[str, None]] = {}
    by_name: dict[str, Condition] = {}
    last: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(all_rows):
        model = row["model"]
        if (row["command"], model) in withdrawn:
            continue
        if models.get(model) != row["revision"]:
            by_model[model] = {}  # requests to old code do not count for changed code
        conditions = [Condition(**entry) for entry in row["conditions"]]
        by_model[model].update(dict.fromkeys(condition.name for condition in conditions))
        by_name |= {condition.name: condition for condition in conditions if condition.name not in by_name}
        models[model], sources[model] = row["revision"], row["source"]
        last[model] = (-row["command"], number)
    order = sorted(models, key=last.__getitem__)
    return RequestLog(
        models={name: models[name] for name in order},
        conditions=unique_conditions(by_name.values()),
        sources=sources,
        conditions_by_model={name: tuple(by_model[name]) for name in order},
        rows=all_rows,
    )


def load_log(folder: Path) -> RequestLog:
    """The requests of a folder so far; an empty log for a new one."""
    path = folder / FILE
    return log_of(_checked(path)) if path.is_file() else RequestLog()


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestLine:
    """A line of the file: a model of a command, or that it is withdrawn."""

    command: int
    model: str
    revision: str | None = None
    source: str | None = None
    conditions: tuple[Condition, ...] | None = None
    unloaded: str | None = None

    def __post_init__(self) -> None:
        """Refuse a model that is not withdrawn and lacks something."""
        for name in ("revision", "source", "conditions"):
            if self.unloaded is None and getattr(self, name) is None:
                raise ValueError(f"{name!r} is missing")


def _checked(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines, each checked: a record is untrusted."""
    for _, row, line in typed_lines(_RequestLine, path, what="the list of what was asked is damaged", hint=_AGAIN):
        yield {**row, "conditions": [condition.as_json() for condition in line.conditions or ()]}


def require_log(folder: Path) -> RequestLog:
    """The requests of a record; an error if it has no list."""
    log = load_log(folder)
    if CLEAN not in [condition.name for condition in log.conditions[:1]]:
        raise RecordError(
            f"the record does not say what was asked: {FILE} is missing or empty",
            path=folder / FILE,
            expected="models, and conditions from clean on",
            hint=_AGAIN,
        )
    return log


def command_rows(
    log: RequestLog,
    models: Sequence[ModelSpec],
    conditions: Sequence[Condition],
    *,
    baselines: Sequence[ModelSpec] = (),
) -> list[dict[str, Any]]:
    """The lines of a command: its models, and the baselines on clean input."""
    number = max((row["command"] for row in log.rows), default=0) + 1
    pairs = [(model, conditions_for(model, conditions, log)) for model in models] + [
        (spec, (NOTHING,)) for spec in baselines
    ]
    return [
        {
            "command": number,
            "model": model.name,
            "revision": model.revision,
            "source": _source(model),
            "conditions": [condition.as_json() for condition in own_conditions],
        }
        for model, own_conditions in pairs
    ]


def withdrawn_rows(log: RequestLog, names: Mapping[str, AuscultError]) -> list[dict[str, Any]]:
    """The lines that withdraw models of the last command, which could not be loaded."""
    number = max(row["command"] for row in log.rows)
    return [{"command": number, "model": name, "unloaded": error.message} for name, error in names.items()]


def key_of(case: SuiteCase, condition: Condition, *, model: str, revision: str, seed: int) -> str:
    """The key of an answer: a hash of everything that it depends on."""
    # With the id even without draws: one sentence may refer to two objects of a picture.
    identity = [case.id] if condition.level == "clean" else [seed, case.id, condition.as_json()]
    return digest_json([case.digest, identity, model, revision])


def assign_unique_names(log: RequestLog, models: Sequence[ModelSpec]) -> tuple[ModelSpec, ...]:
    """The models with unique names, the same as in earlier commands.

    A model with the path or the code of an earlier one of its name is the same model, changed or not; any other gets a
    number, ``name~2``.
    """
    specs: list[ModelSpec] = []
    for model in models:
        taken = {other.name for other in specs}
        same_name = [name for name in log.models if base_name(name) == model.name and name not in taken]
        same = [name for name in same_name if log.sources[name] == _source(model)]
        same += [name for name in same_name if log.models[name] == model.revision]
        numbered = (model.name if number == 1 else f"{model.name}~{number}" for number in count(1))
        free = (name for name in numbered if name not in taken and name not in log.models)
        specs.append(replace(model, name=same[0] if same else next(free)))
    return tuple(specs)


def _source(model: ModelSpec) -> str:
    return "|".join((model.kind, model.target, model.function, str(model.weights or "")))


def base_name(name: str) -> str:
    """A model's name without the number that makes it unique, as in ``name~2``."""
    base, mark, number = name.rpartition("~")
    return base if mark and number.isdigit() else name


def conditions_for(model: ModelSpec, conditions: Sequence[Condition], log: RequestLog) -> tuple[Condition, ...]:
    """The conditions of a command for a model.

    For a folder of predictions also all earlier ones: its revision is that of the whole folder, which changes with
    every added file, and to read it again costs little.
    """
    if model.kind != "predictions":
        return tuple(conditions)
    repeated = log.conditions_by_model.get(model.name, ())
    by_name = {
        one.name: one
        for one in (*conditions, *(condition for condition in log.conditions if condition.name in repeated))
    }
    return tuple(by_name.values())
