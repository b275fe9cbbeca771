"""The options of every suite, read by the command line, the manifest and the Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from auscult.errors import InputError, UsageError
from auscult.jobs.options import Flag, RecordOptions, arguments_of, input_path, names, specs_of
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.record.digest import digest_json
from auscult.types import Metadata

if TYPE_CHECKING:
    from auscult.jobs.predict import PredictOptions
    from auscult.jobs.runner import Progress

SCENES: Final = "scenes"
UNSAID: Final = frozenset({"overwrite", "given"})
"""Options that are not in a manifest."""
CHOSEN: Final = frozenset({"only", "plan"})
"""Inputs of a manifest on the choice of cases; they may change between commands."""
_MOST_IDS: Final = Limits(max_bytes=16_000_000)

CaseKind = TypeVar("CaseKind")


def data_of(data: Path | str) -> Path | str:
    """The word ``scenes``, or a path; an existing folder has precedence over the word."""
    return SCENES if str(data) == SCENES and not Path(SCENES).exists() else Path(data)


def data_argument(text: str) -> Path | str:
    """``--data`` as given; an empty one is not the current folder."""
    return data_of(input_path(text))


@dataclass(frozen=True, kw_only=True)
class SuiteOptions(RecordOptions):
    """The data of a suite and how it is run; the options of each suite are a subclass, which adds its own.

    Attributes:
        data: A source of true masks, a benchmark made before, or the word scenes for new ones (a folder of that name
            goes first).
        count: How many scenes, with --data scenes.
        seed: The same seed makes the same material.
        assets: Folder of cutouts/, sounds/ and backgrounds/ for the scenes.
        splits: Comma-separated splits of the source.
        images: Folder of the pictures of a COCO json.
        timeout_s: Seconds for the masks of one frame together, or for one case under one condition.
    """

    data: Annotated[Path | str, Flag(read=data_argument)]
    count: Annotated[int, Flag(least=1)] = 50
    seed: int = 0
    assets: Path | None = None
    splits: Annotated[tuple[str, ...], Flag(name="split", read=names, shown="the suite's")] = ()
    images: Path | None = None
    timeout_s: Annotated[float | None, Flag(name="timeout", least=0.1, shown="120, or 600 for models")] = None

    def limit_s(self, usual: float) -> float:
        """The given time limit, else the suite's default."""
        return usual if self.timeout_s is None else self.timeout_s

    def manifest(
        self,
        command: str,
        *,
        spelled: frozenset[str] = frozenset(),
        without: frozenset[str] = frozenset(),
        **decided: Any,
    ) -> dict[str, Any]:
        """The manifest of a run; ``decided`` has options whose recorded value differs from the given one."""
        from auscult.jobs.runner import run_manifest  # heavy: the command line starts without it

        values = {name: value for name, value in arguments_of(self).items() if name not in without | CHOSEN}
        options = replace(self, given=self.given | spelled)
        return run_manifest(
            command, options, inputs=self.selection(), arguments={"timeout": self.timeout_s, **values, **decided}
        )

    def selection(self) -> Mapping[str, Any]:
        """The inputs for the manifest."""
        return {}

    def making(self, folder: str) -> dict[str, Any]:
        """The options for making the material of the run, in ``folder`` of its output folder."""
        return {"out": self.out / folder, "seed": self.seed, "workers": self.workers, "overwrite": self.overwrite}


def no_model_named() -> UsageError:
    """The error of a command that names no model."""
    return UsageError(
        "no model was named", expected="at least one --model", hint="`auscult list model` shows what is there"
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions(SuiteOptions):
    """The models of a suite that tests some.

    Attributes:
        models: For a suite of models: one of `auscult list model`, NAME@WEIGHTS, FILE.py:FUNCTION, predictions:DIR or
            'command:PROGRAM ...'; for separation nmf and its like, FILE.py:FUNCTION, 'cmd:PROGRAM ...' or a FOLDER of
            outputs; repeat it for several.
        memory_mb: Most memory of one worker with its model.
        only: File of ids, one a line: of cases, or of clips and photographs; the others are left out.
        plan_hash: Of the plan that asks for this, for the manifest.
    """

    models: Annotated[tuple[str, ...], Flag(name="model", shown="none")] = ()
    memory_mb: Annotated[int, Flag(least=256)] = 8192
    only: Annotated[Path | None, Flag(metavar="FILE")] = None
    plan_hash: Annotated[str, Flag(internal=True)] = ""

    def selection(self) -> Mapping[str, Any]:
        """The inputs for the manifest, with the choice of cases and the plan."""
        ids = list(filter(None, _ids(self.only))) if self.only is not None else []
        only = {"only": {"name": f"{len(ids)} ids", "ids": digest_json(ids)}} if self.only is not None else {}
        return only | ({"plan": self.plan_hash} if self.plan_hash else {})

    def chosen(self, things: Sequence[CaseKind], ids: Callable[[CaseKind], Iterable[str]]) -> list[CaseKind]:
        """The cases, or their sources, that ``only`` names by one of their ids; all without it.

        Raises:
            UsageError: The file cannot be read, or has an id that is not in the data, with its line.
        """
        if self.only is None:
            return list(things)
        requested = _ids(self.only)
        known = {name for thing in things for name in ids(thing)}
        for line, name in enumerate(requested, 1):
            if name and name not in known:
                similar = get_close_matches(name, known, n=3)
                raise UsageError(
                    f"the data have no case or clip {name[:80]!r}",
                    expected="ids as in cases.jsonl",
                    hint=f"did you mean {' or '.join(similar)}?" if similar else "",
                    path=self.only,
                    line=line,
                )
        selected = frozenset(filter(None, requested))
        return [thing for thing in things if not selected.isdisjoint(ids(thing))]

    def require_models(self) -> None:
        """Refuse a command that names no model."""
        if not self.models:
            raise no_model_named()

    @property
    def limits(self) -> PredictOptions:
        """The workers and limits of requests to the models."""
        from auscult.jobs.predict import DEFAULT_TIMEOUT_S, PredictOptions  # heavy: the command line starts without it

        timeout_s = self.limit_s(DEFAULT_TIMEOUT_S)
        return PredictOptions(workers=self.n_workers, timeout_s=timeout_s, memory_mb=self.memory_mb)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSuite:
    """A suite whose modules are loaded when it runs, so that other commands start without them."""

    name: str
    meta: Metadata
    kind: type[SuiteOptions]
    starts: str  # ``module:function``, called with options and progress

    def options(self) -> type[SuiteOptions]:
        """The options of the suite."""
        return self.kind

    def run(self, options: Any, progress: Progress | None = None) -> Any:
        """Make or list the cases, ask or judge, score, and write tables and report."""
        return resolve_name(self.starts)(options, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateModelSuite(LateSuite):
    """A late suite of models."""

    rules: str  # ``module:name`` of its task, or of a function from a record's manifest to the task

    def task(self, manifest: Mapping[str, Any]) -> Any:
        """The task of a record."""
        rules = resolve_name(self.rules)
        return rules(manifest) if callable(rules) else rules


def _ids(path: Path) -> list[str]:
    """The lines of a file of ids."""
    try:
        return [line.strip() for line in read_bytes(path, limits=_MOST_IDS).decode().split("\n")]
    except (InputError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--only: {getattr(error, 'message', 'the file is no UTF-8')}", path=path, expected="ids, one a line"
        ) from error


def refuse_unknown_splits(wanted: Iterable[str], known: Iterable[str]) -> None:
    """Refuse splits that the data do not have."""
    each = [split for split in known if split]
    for split in wanted:
        if split not in each:
            raise UsageError(
                f"the data have no split {split[:40]!r}",
                expected=f"one of: {', '.join(each)}" if each else "no --split: the data are not divided",
            )


def refuse_unknown(words: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse unknown words of an option."""
    each = list(known)
    for word in words:
        if word not in each:
            raise UsageError(f"there is no {what} {word!r:.40}", expected=f"one of: {', '.join(each)}")


def option_names(kind: type[SuiteOptions]) -> dict[str, str]:
    """Field to the name of its option on the command line."""
    return {spec.path[0]: spec.name for spec in specs_of(kind)}
