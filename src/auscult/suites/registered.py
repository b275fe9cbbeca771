"""The protocol of a suite, loading a suite by name, and the public function that runs one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args, get_type_hints, runtime_checkable

from auscult import registry
from auscult.errors import UsageError
from auscult.jobs.runner import Progress
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.suites.options import SCENES, UNSAID, SuiteOptions, data_of, option_names
from auscult.types import Metadata

OptionsKind = TypeVar("OptionsKind")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """The results of a suite.

    Attributes:
        out: The record.
        summary: The content of its ``summary.json``.
        tables: Its finished tables by file name, the most important first.
        shown: Those of them that fit a console.
        remarks: What the user must know at once, such as a model that could not be loaded.
    """

    out: Path
    summary: Summary
    tables: Mapping[str, Table]
    shown: tuple[Table, ...]
    remarks: tuple[str, ...] = ()


@runtime_checkable
class Suite(Protocol):
    """A benchmark: which cases, stress, models, judges, scores and tables."""

    name: str
    meta: Metadata

    def options(self) -> type[SuiteOptions]:
        """Its options."""
        ...

    def run(self, options: Any, progress: Progress | None = None) -> SuiteRun:
        """Make the benchmark, have it judged, and write tables; the same options again resume."""
        ...


def refuse_foreign(suite: Suite, spelled: frozenset[str]) -> None:
    """Refuse options of the command line that a suite does not have."""
    foreign = sorted(spelled - set(option_names(suite.options()).values()))
    if foreign:
        raise UsageError(
            f"suite {suite.name.partition('.')[0]} takes no --{foreign[0].replace('_', '-')}",
            expected="options of this suite",
            hint="`auscult list suite` says what each suite is for",
        )


def options_of(suite: Suite, given: Mapping[str, Any]) -> SuiteOptions:
    """The options of a suite from keyword arguments, as ``from_keywords`` reads them."""
    kind = suite.options()
    known = {field.name for field in fields(kind)}
    foreign = [name for name in given if name not in known]
    if foreign:
        in_python = [field for field, spelled in option_names(kind).items() if spelled == foreign[0]]
        raise UsageError(
            f"suite {suite.name.partition('.')[0]} has no option {foreign[0][:40]}",
            expected=f"some of: {', '.join(sorted(known - UNSAID))}",
            hint=f"--{foreign[0].replace('_', '-')} of the command line is {in_python[0]} in Python"
            if in_python
            else "",
        )
    if "data" not in given and any(field.name == "data" and field.default is MISSING for field in fields(kind)):
        raise UsageError(
            f"suite {suite.name.partition('.')[0]} needs data", expected=f"--data with a source, or the word {SCENES}"
        )
    return from_keywords(kind, given)


def from_keywords(kind: type[OptionsKind], given: Mapping[str, Any]) -> OptionsKind:
    """Options from keyword arguments; a string or number may stand for a tuple of one, a string for a path."""
    hints = get_type_hints(kind)
    return kind(**{name: _converted(name, hints.get(name), value) for name, value in given.items()})


def _converted(name: str, kind: Any, value: Any) -> Any:
    parts = get_args(kind)
    if parts and parts[-1] is Ellipsis:
        values = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        for one in values:
            if not isinstance(one, str | int | float):
                raise UsageError(
                    f"{name} holds {_kind_of(one)}",
                    expected="a text as on the command line, or a list of such",
                    hint="write a function of a file as 'my_model.py:predict'" if callable(one) else "",
                )
        return values
    return Path(value) if isinstance(value, str) and (kind is Path or (Path in parts and str not in parts)) else value


def _kind_of(value: object) -> str:
    return "a function" if callable(value) else f"a value of the type {type(value).__name__}"


def refuse_idle(options: SuiteOptions, idle: Mapping[str, str]) -> None:
    """Refuse given options without effect (``idle``: name to what uses them), and a missing source."""
    scenes = {} if options.data == SCENES else dict.fromkeys(("count", "assets"), "generated scenes: --data scenes")
    for name, what in {**scenes, **idle}.items():
        if name in options.given:
            message, hint = f"--{name} changes nothing here", "leave it out"
            if name in scenes and str(options.data) == SCENES:  # data_of prefers the folder to the word
                message += f": --data {SCENES} is the folder ./{SCENES}"
                hint += " to use the folder; for generated scenes rename it, or work in another folder"
            raise UsageError(message, expected=f"it with {what}", hint=hint)
    if isinstance(options.data, Path) and not options.data.exists():
        raise UsageError(
            "there is no such file or folder",
            path=options.data,
            expected="a source with true masks, or the word scenes",
            hint="see `auscult run --help`",
        )


def load_suite(name: str) -> Suite:
    """Find a suite by its full or short name."""
    entry = registry.find("suite", name)
    suite = entry.load()
    if not isinstance(suite, Suite):
        raise UsageError(
            f"what {entry.package} registers as suite {entry.name} is not a suite",
            expected="name, meta, options and run",
        )
    return suite


def run(
    suite: str, *, out: Path | str, data: Path | str = "", progress: Progress | None = None, **options: Any
) -> SuiteRun:
    """Run a benchmark end to end; what ``auscult run`` does.

    Args:
        suite: Its name, for example ``mqa``.
        data: A source of cases with truth, a benchmark made before, or ``scenes``; suite agent needs none.
        out: The output folder; the same call again goes on where a stopped one left off.
        progress: Optional callback.
        options: Of every suite ``count``, ``seed``, ``assets``, ``splits``, ``images``, ``workers``, ``timeout_s`` and
            ``overwrite``, as ``SuiteOptions`` has them; and its own: of mqa, ``judges`` and what
            ``suites.mqa.options.MqaOptions`` has; of r2, ``task``, ``models`` and what ``suites.r2.R2Options`` has.
            A single name needs no list, and text will do for a path.

    Returns:
        Summary and tables; the whole record lies in ``out``.

    Raises:
        UnknownName: There is no such suite, judge, model or identity check.
        UsageError: An option is wrong, or ``data`` holds nothing to judge.
        RecordError: The folder is in use, or was made with other arguments.
    """
    chosen = load_suite(suite)
    source = {"data": data_of(data)} if data else {}
    return chosen.run(options_of(chosen, {**options, **source, "out": out}), progress)
