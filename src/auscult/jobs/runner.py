"""Runs every verb that maps items to rows: ``audit``, ``stress``, ``make``, and requests to models.

A verb defines what it lists, what its workers do, its rows, and what is computed from them. This module does the rest
for all verbs: it opens and resumes the output folder, queues tasks, retries and records failures, writes results and
reports progress.

Resuming a run: results are kept while their files are unchanged, and new items of INPUT are added. If a file of a
result has changed or is gone, the run is refused and the error names the file.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import MISSING, asdict, dataclass, field, replace
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeAlias, TypeVar

from auscult.cases.ids import group_by_frame
from auscult.cases.listing import Listing, list_items
from auscult.errors import AuscultError, ErrorRecord, Mismatch, NothingToDo
from auscult.jobs.options import InputOptions, RecordOptions, RunOptions, arguments_of, specs_of
from auscult.media.paths import read_bytes
from auscult.outcome import Failed
from auscult.record.digest import digest_file, digest_json, is_settled, stamp_file
from auscult.record.folder import MANIFEST, RunFolder, open_run, read_manifest
from auscult.record.lines import read_lines
from auscult.record.manifest import build, section
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary, error_to_json, is_sound
from auscult.report.tables import Table
from auscult.types import Instance, Item, MaskRef, SoundItem
from auscult.work.failures import MODEL_STAGE
from auscult.work.pool import EarlyWorkers, KeptWorkers, Task, TaskResult, run_tasks
from auscult.work.threads import run_threads

# --- progress ---


class Progress(Protocol):
    """Callbacks for the progress of a job."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of ``total`` steps; 0 if unknown."""
        ...

    def step(self, count: int = 1) -> None:
        """Count finished steps of the stage."""
        ...


class Silent:
    """A ``Progress`` that does nothing."""

    def stage(self, name: str, total: int) -> None:
        """Ignore the stage."""

    def step(self, count: int = 1) -> None:
        """Ignore the steps."""


# --- manifest ---

# What may differ in a resumed run: arguments that change no result, and the list of items, since items may be added and
# each finished one is checked by its own hash.
SAME_RESULT: Final = frozenset(
    {"workers", "timeout", "memory_mb", "max_failed", "overwrite", "out", "items", "sounds", "films", "listed", "notes"}
) | {"frames_root"}
HINT: Final = "use --overwrite to begin anew, or another --out"


def run_manifest(
    command: str, options: RecordOptions, *, inputs: Mapping[str, Any], arguments: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The manifest of a run; ``arguments`` are the resolved arguments, by default those of the options."""
    chosen = arguments_of(options) if arguments is None else arguments
    values: dict[str, Any] = {"out": str(options.out), "workers": options.n_workers, **chosen}
    if isinstance(options, RunOptions):
        values |= {"timeout": options.timeout_s, "memory_mb": options.memory_mb}
    if isinstance(options, InputOptions):
        values = {"source": str(options.source.resolve()), **asdict(options.listing), **values}
    spelled = options.given | {spec.name for spec in specs_of(type(options)) if spec.default is MISSING}
    return build(
        command,
        given={key: value for key, value in values.items() if key in spelled},
        defaulted={key: value for key, value in values.items() if key not in spelled},
        seeds={"seed": chosen["seed"]} if "seed" in chosen else {},
        inputs=inputs,
    )


# --- errors ---

ERRORS: Final = "errors.jsonl"
_HINT: Final = "correct the item and give the same command again, or leave the item out; the others are not affected"
_MODEL_HINT: Final = "look at what the model did there, and give the same command again; the other cases went on"


class ErrorLog:
    """Appends error rows to a record, each once, also in resumed runs."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._known = {_key(row) for row in run.lines(ERRORS)}

    def keep(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append the rows that are not in the record yet."""
        fresh = []
        for row in rows:
            if _key(row) not in self._known:
                self._known.add(_key(row))
                usual = _MODEL_HINT if row.get("stage") == MODEL_STAGE else _HINT
                fresh.append({**row, "hint": row.get("hint") or usual})
        if fresh:
            self._run.append_many(ERRORS, fresh)


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("id"), row.get("path"), row.get("line"), row.get("stage"), row.get("error")


def failed_row(item: Item | Instance | SoundItem, error: AuscultError, stage: str) -> dict[str, Any]:
    """The error row of an item or instance, with the line of INPUT if the error names no file."""
    record = ErrorRecord.of(error, stage)
    if record.path is None and item.source is not None:
        record = replace(record, path=str(item.source), line=item.line)
    return error_to_json(item.id, record)


# --- tasks and workers ---


class VerbTask(Protocol):
    """A unit of work for one worker."""

    @property
    def key(self) -> str:
        """Unique among the tasks."""
        ...

    @property
    def size(self) -> int:
        """Its count of progress steps."""
        ...

    def split(self) -> Sequence[Self]:
        """Smaller tasks to try if it failed as a whole; empty if it cannot be split."""
        ...

    def failed(self, error: ErrorRecord) -> Sequence[Mapping[str, Any]]:
        """The rows of ``errors.jsonl`` if it failed, or its worker crashed or timed out."""
        ...


class Indivisible:
    """A task of one step that has no parts."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """One step."""
        return 1

    def split(self) -> Sequence[Self]:
        """No parts."""
        return ()

    def failed(self: VerbTask, error: ErrorRecord) -> Sequence[Mapping[str, Any]]:
        """One row of ``errors.jsonl``, under its key."""
        return [error_to_json(self.key, error)]


V = TypeVar("V", bound=VerbTask)
K = TypeVar("K")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers(Generic[V, R]):
    """Worker processes, with their function and limits; or threads of this process, for functions that wait.

    Threads have no limits: their function must have its own.
    """

    make: Callable[[], Callable[[V], R]]  # called once in each worker process; makes the function of one task
    count: int  # worker processes; 0 for this process
    stage: str
    timeout_s: float | None = None  # limit for one task; None for none
    setup_s: float | None = None  # limit for starting a worker; None for the pool's default
    memory_mb: int | None = None  # limit of a worker's memory; None for none
    threads: int = 0  # instead of processes; each does the parts of a task one at a time
    kept: KeptWorkers | None = None  # source and destination of idle worker processes
    early: EarlyWorkers | None = None  # worker processes already started

    def results(
        self, tasks: Iterable[V], *, before: Callable[[V], None] | None = None
    ) -> Iterator[tuple[V, R | Failed]]:
        """Yield tasks with their results, in any order.

        If a task fails as a whole, because a judge raised or a process died, its parts are tried one by one, so that
        one bad item does not fail the others.
        """
        retries: list[V] = []
        if self.threads:
            tasks = (part for task in tasks for part in task.split() or (task,))
        for attempt in (tasks, retries):
            remaining = iter(attempt)
            first = next(remaining, None)
            if first is None:
                return
            begun: dict[str, V] = {}  # of the tasks only those under way are held
            for result in self._run(self._queued(chain((first,), remaining), begun, before)):
                task, outcome = begun.pop(result.key), result.outcome
                smaller = task.split() if isinstance(outcome, Failed) else ()
                if smaller:
                    retries.extend(smaller)
                else:
                    yield task, outcome

    def _run(self, queued: Iterator[Task[V]]) -> Iterator[TaskResult[R]]:
        if not self.threads:
            yield from run_tasks(
                self.make,
                queued,
                workers=self.count,
                timeout_s=self.timeout_s,
                setup_s=self.setup_s,
                memory_mb=self.memory_mb,
                stage=self.stage,
                kept=self.kept,
                early=self.early,
            )
            return
        workers: list[Callable[[V], R]] = []

        def make() -> Callable[[V], R]:
            workers.append(self.make())
            return workers[0]

        try:
            with closing(run_threads(make, queued, threads=self.threads, stage=self.stage)) as results:
                yield from results
        finally:
            for worker in workers:
                if callable(close := getattr(worker, "close", None)):
                    close()

    @staticmethod
    def _queued(tasks: Iterable[V], begun: dict[str, V], before: Callable[[V], None] | None) -> Iterator[Task[V]]:
        for task in tasks:
            begun[task.key] = task
            if before is not None:
                before(task)
            yield Task(task.key, task)


class LastCached(Generic[K, R]):
    """A function with a cache of its last result or AuscultError, since tasks that share a file come in sequence."""

    def __init__(self, function: Callable[[K], R]) -> None:
        self._function = function
        self._key: K | None = None
        self._outcome: R | AuscultError | None = None

    def __call__(self, key: K) -> R:
        """The function's result for the key."""
        if self._outcome is None or key != self._key:
            self._key, self._outcome = key, None  # free the last one first
            try:
                self._outcome = self._function(key)
            except AuscultError as error:
                self._outcome = error
        if isinstance(self._outcome, AuscultError):
            raise self._outcome
        return self._outcome


CHUNK: Final = 32


@dataclass(frozen=True, slots=True)
class FrameGroup:
    """The items of a frame, or of a few, and the remaining ids among them."""

    items: tuple[Item, ...]
    wanted: frozenset[str]

    @property
    def key(self) -> str:
        """The first of the ids."""
        return min(self.wanted)

    @property
    def size(self) -> int:
        """The count of items."""
        return len(self.wanted)

    def split(self) -> list[Self]:
        """One item at a time."""
        if len(self.wanted) < 2:
            return []
        return [replace(self, wanted=frozenset((name,))) for name in self.wanted]

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The rows of ``errors.jsonl`` if a worker crashed or timed out."""
        return [error_to_json(name, error) for name in sorted(self.wanted)]


def frame_groups(items: Sequence[Item], *, done: Collection[str] = (), joined: int = 1) -> Iterator[FrameGroup]:
    """The remaining items, at most ``CHUNK`` together; frames are joined up to ``joined`` items."""
    pending, wanted = list[Item](), list[str]()
    for group in group_by_frame(items):
        left = [item.id for item in group if item.id not in done]
        for start in range(0, len(left), CHUNK):
            chunk = left[start : start + CHUNK]
            if wanted and (start or len(wanted) + len(chunk) > joined):  # parts of one frame are not joined
                yield FrameGroup(tuple(pending), frozenset(wanted))
                pending, wanted = [], []
            pending += group
            wanted += chunk
    if wanted:
        yield FrameGroup(tuple(pending), frozenset(wanted))


def frames_root(items: Sequence[Item]) -> Path:
    """The deepest folder of all frames, to which recorded names are relative."""
    folders = {os.path.dirname(item.frame) for item in items}  # noqa: PTH120 - Path's parent takes ten times as long
    return Path(os.path.commonpath(folders)) if folders else Path()


def recorded_root(folder: Path) -> Path | None:
    """The folder to which recorded names of frames are relative; None if not recorded."""
    if not (folder / MANIFEST).is_file():
        return None
    root = section(read_manifest(folder), "inputs").get("frames_root")
    return Path(root) if isinstance(root, str) else None


def first_alone(groups: Iterable[FrameGroup]) -> Iterator[FrameGroup]:
    """The same groups, with the first item alone, so that the first result comes early."""
    remaining = iter(groups)
    for group in islice(remaining, 1):
        first = next(item.id for item in group.items if item.id in group.wanted)
        yield replace(group, wanted=frozenset((first,)))
        if rest := group.wanted - {first}:
            yield replace(group, wanted=rest)
    yield from remaining


def item_row(item: Item) -> dict[str, Any]:
    """Expression, clip and time of an item, if it has them, under the keys of ``items.jsonl``."""
    keys = {"text": item.query.text, "clip": item.clip, "time_s": item.time_s}
    return {key: value for key, value in keys.items() if value is not None}


# --- results ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A worker's result for one item."""

    id: str
    files: Mapping[str, bytes] = field(default_factory=dict)  # name in the output folder to bytes
    # name in the output folder to the file that is copied there
    copies: Mapping[str, Path] = field(default_factory=dict)
    # name of a JSON-lines file to its new rows, in the order of writing: the last file marks the item as done, so that
    # it is never there without the others
    rows: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    errors: Sequence[Mapping[str, Any]] = ()


class ResultWriter:
    """Writes the results of workers as they come.

    Files are written before the lines that name them, so that no line names a missing file. ``once`` names JSON-lines
    files in which an id occurs once: rows of an item from a killed run are not written again.
    """

    def __init__(self, run: RunFolder, progress: Progress, *, once: Iterable[str] = ()) -> None:
        self.run = run
        self.progress = progress
        self.errors = ErrorLog(run)
        self._known = {name: {row.get("id") for row in read_lines(run.locate(name))} for name in once}
        self._copied: set[str] = set()

    def keep(self, results: Sequence[Result]) -> None:
        """Write the results of one task."""
        fresh: dict[str, list[Mapping[str, Any]]] = {}
        for result in results:
            for name, data in result.files.items():
                self.run.write_bytes(name, data, durable=False)
            for name, source in result.copies.items():
                if name not in self._copied:
                    self.run.write_bytes(name, read_bytes(source), durable=False)
                    self._copied.add(name)
            for name, rows in result.rows.items():
                stored = self._known.get(name, ())
                fresh.setdefault(name, []).extend(row for row in rows if row["id"] not in stored)
        for name, lines in fresh.items():
            self.run.append_many(name, lines)
            if name in self._known:
                self._known[name].update(row["id"] for row in lines)
        for result in results:
            self.errors.keep(result.errors)

    def keep_all(
        self,
        workers: Workers[V, Sequence[Result]],
        tasks: Iterable[V],
        *,
        before: Callable[[V], None] | None = None,
        after: Callable[[Sequence[Result]], None] | None = None,
    ) -> None:
        """Write the results of tasks; ``before`` gets each task when it is queued, ``after`` its results."""
        for task, outcome in workers.results(tasks, before=before):
            if isinstance(outcome, Failed):
                self.errors.keep(task.failed(outcome.error))
            else:
                self.keep(outcome)
                if after is not None:
                    after(outcome)
            self.progress.step(task.size)


# --- verbs ---


class Verb(ABC, Generic[V, S]):
    """The parts that differ between verbs; ``run`` does the rest."""

    doing: ClassVar[str]  # name of its stage in the progress display
    stage: ClassVar[str]  # stage of its failures
    may_change: ClassVar[frozenset[str]] = frozenset()  # arguments, in a resumed run, besides ``SAME_RESULT``
    once: ClassVar[tuple[str, ...]] = ()  # see ``ResultWriter``

    threads: int = 0  # instead of worker processes, for a function that waits
    early: EarlyWorkers | None = None  # the worker processes that were started before anything was listed

    def __init__(self, options: RunOptions) -> None:
        self.options = options

    @staticmethod
    def warm_up(options: Any) -> Callable[[], None] | None:  # noqa: ARG004 - of most verbs nothing takes long
        """A function that worker processes run while the verb lists its tasks, picklable; None to start none early."""
        return None

    @abstractmethod
    def manifest(self) -> dict[str, Any]:
        """The manifest of the run."""

    @abstractmethod
    def worker(self) -> Callable[[], Callable[[V], Sequence[Result]]]:
        """Makes the function of one task in a worker process; must be picklable."""

    @abstractmethod
    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[V], float | None]]:
        """The remaining tasks, each batch with its time limit per task; reports total and finished steps."""

    @abstractmethod
    def finish(self, writer: ResultWriter) -> S:
        """Write the files computed from the rows."""

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """Errors of INPUT lines that cannot be read, with the id where there is one."""
        return ()

    def begin(self, task: V, run: RunFolder) -> None:
        """Prepare the output folder before a task is queued."""

    def after_write(self, results: Sequence[Result]) -> None:
        """Go on with results that were written."""

    def run(self, progress: Progress | None = None) -> S:
        """Do all tasks without a result, and finish."""
        options, ignore = self.options, SAME_RESULT | self.may_change
        with open_run(options.out, self.manifest(), overwrite=options.overwrite, ignore=ignore) as run:
            run.remove(ERRORS)  # failed tasks are tried again
            writer = ResultWriter(run, progress or Silent(), once=self.once)
            writer.errors.keep(error_to_json(name, error) for name, error in self.unlisted())
            for tasks, timeout_s in self.batches(writer):
                workers = Workers(
                    make=self.worker(),
                    count=options.n_workers,
                    stage=self.stage,
                    timeout_s=timeout_s,
                    memory_mb=options.memory_mb,
                    threads=self.threads,
                    early=self.early,
                )
                writer.keep_all(workers, tasks, before=partial(self.begin, run=run), after=self.after_write)
            return self.finish(writer)

    @classmethod
    def of(cls, options: Any, progress: Progress | None = None) -> S:
        """Run the verb with these options; the same options again continue in their output folder."""
        # one fewer, since this process lists the tasks meanwhile
        with EarlyWorkers(cls.warm_up(options), count=options.n_workers - 1) as early:
            verb = cls(options)
            verb.early = early
            return verb.run(progress)


def finish_tables(run: RunFolder, summary: Summary, tables: Mapping[str, Table]) -> tuple[Summary, list[Table]]:
    """Write summary and tables, and mark the run as finished."""
    for name, table in tables.items():
        run.write_json(f"tables/{name}.json", asdict(table))
    run.write_json("summary.json", summary.as_json())
    run.finish()
    return summary, list(tables.values())


class NumberedVerb(Verb[V, S]):
    """A verb whose tasks depend on the options alone, each with one row under its key; a larger count adds tasks."""

    rows: ClassVar[str]  # the JSON-lines file with a row for each finished task
    unit: ClassVar[str]  # plural of what a task makes
    may_change = frozenset({"count"})

    @abstractmethod
    def wanted(self) -> Iterator[V]:
        """All tasks, in their order."""

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[V], float | None]]:
        """The tasks without a row."""
        tasks = {task.key: task for task in self.wanted()}
        done = {row["id"] for row in writer.run.lines(self.rows)}
        if not done <= tasks.keys():
            raise Mismatch(
                f"the folder holds {len(done)} {self.unit}, and not all of them are asked for",
                path=writer.run.path,
                expected=f"the --count of before or a larger one, which adds {self.unit}",
                hint="use --overwrite to begin anew, or another --out",
            )
        writer.progress.stage(self.doing, len(tasks))
        writer.progress.step(len(done))
        yield (task for key, task in tasks.items() if key not in done), self.options.timeout_s

    def ordered(self, run: RunFolder) -> list[dict[str, Any]]:
        """Sort the file of rows by task; returns the rows."""
        rows = {row["id"]: row for row in run.lines(self.rows)}
        result = [rows[task.key] for task in self.wanted() if task.key in rows]
        run.write_lines(self.rows, result)
        return result

    def counted(self, command: str, run: RunFolder, made: Sequence[Mapping[str, Any]]) -> Summary:
        """Counts of requested, made and failed tasks."""
        failed = failed_rows((row for row in run.lines(ERRORS) if row.get("id")), ())
        return Summary(command=command, n=sum(1 for _ in self.wanted()), ok=len(made), failed=len(failed))


_COMPARED: Final[tuple[str, ...]] = ("input", "model_score")


class FrameVerb(Verb[Any, S]):
    """A verb over the items of an INPUT, frame by frame; ``audit`` has tasks of sounds too."""

    command: ClassVar[str]
    results: ClassVar[str]  # the JSON-lines file with a row for each finished item, with the hash of its input
    options: InputOptions

    def __init__(self, options: InputOptions) -> None:
        super().__init__(options)
        self.listing = self.listed()
        if not (self.listing.items or self.listing.sounds or self.listing.errors):
            hint = f"see `auscult {self.command} --help`"
            raise NothingToDo("the input holds no mask", path=options.source, hint=hint)
        self.frames_root = Path(os.path.abspath(frames_root(self.listing.items)))  # noqa: PTH100 - links are kept
        self.before: Mapping[str, Any] = {}  # the manifest of the resumed record
        if not options.overwrite and (options.out / self.results).is_file():
            self.frames_root = recorded_root(options.out) or self.frames_root
            self.before = read_manifest(options.out) if (options.out / MANIFEST).is_file() else {}

    def listed(self) -> Listing:
        """The listing of INPUT."""
        return list_items(self.options.source, self.options.listing)

    def arguments(self) -> Mapping[str, Any]:
        """The resolved arguments, for the manifest."""
        return arguments_of(self.options)

    def manifest(self) -> dict[str, Any]:
        """The manifest of the run."""
        listing = self.listing
        inputs = {
            "layout": listing.layout,
            "items": len(listing.items),
            "listed": digest_json([[item.id, item.frame.name, item.query.text] for item in listing.items]),
            "notes": list(listing.notes),
            "frames_root": str(self.frames_root),
        }
        return run_manifest(self.command, self.options, inputs=inputs, arguments=self.arguments())

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """Errors of INPUT lines that cannot be read, with the id where there is one."""
        return self.listing.errors

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[FrameGroup], float | None]]:
        """The frames with remaining items."""
        items = self.items()
        done = self._done(writer.run)
        writer.progress.stage(self.doing, len(items))
        writer.progress.step(sum(item.id in done for item in items))
        yield first_alone(frame_groups(items, done=done, joined=self.items_per_task())), self.options.timeout_s

    def _done(self, run: RunFolder) -> frozenset[str]:
        """Ids of the items with a result, whose files must be unchanged.

        Of each row only the compared keys are held, since a record may be long.
        """
        rows = (row for row in read_lines(run.locate(self.results)) if not is_sound(row))
        compared = {row["id"]: {key: row[key] for key in _COMPARED if key in row} for row in rows}
        self.refuse_changed(compared)
        return frozenset(compared)

    def items_per_task(self) -> int:
        """Most items of several frames in one task; items of one frame always stay together."""
        return 1

    def items(self) -> Sequence[Item]:
        """The items for the workers."""
        return self.listing.items

    def refuse_changed(self, done: Mapping[str, Mapping[str, Any]]) -> None:
        """Refuse to resume with changed files of earlier results; ``done`` has ``_COMPARED`` of each row."""
        before = {name: row.get("input") for name, row in done.items()}
        refuse_changed(before, self.listing.items, stamps=stamps_of(self.options.out, before))


# --- resuming a run ---


INPUTS: Final = "inputs.jsonl"
"""File of stamps beside each result's ``input_digest``, which show without opening a file that it is unchanged."""

_OfFile: TypeAlias = Callable[[Path], str]


def stamps_of(folder: Path, done: Mapping[str, object]) -> dict[str, object]:
    """The stamps in a record of the results ``done``, id to ``input_digest``; other lines are passed over."""
    rows = ((str(row.get("id")), row) for row in read_lines(folder / INPUTS))
    return {name: row.get("stamp") for name, row in rows if row.get("input") == done.get(name)}


def mask_digest(ref: MaskRef, *, of_file: _OfFile = digest_file) -> list[object]:
    """Hash of a mask's file or inline values, with its object index and labels."""
    content = of_file(ref.path) if ref.path is not None else digest_json(ref.segmentation)
    return [content, None if ref.proposals else ref.index, ref.labels]


def input_digest(item: Item, frame_digest: str, *, sound: bool = False, of_file: _OfFile = digest_file) -> str:
    """Hash of the judged input: frame, mask (file or inline values) and expression.

    Also mixture, separated sound and time of an item that has them; with ``sound`` the clip's audio and the time.
    """
    parts = [frame_digest, *mask_digest(item.mask, of_file=of_file), item.query.text]
    if item.mixture is not None and item.separated is not None:
        parts += [of_file(item.mixture), of_file(item.separated), item.time_s]
    if not sound or item.audio is None:
        return digest_json(parts)
    try:
        audio = of_file(item.audio)
    except AuscultError:
        audio = ""
    return digest_json([*parts, audio, item.time_s])


def input_stamp(item: Item, stamp: _OfFile = stamp_file) -> str:
    """Hash of the stamps of an item's files, of its inline values and its expression."""
    return input_digest(item, stamp(item.frame), sound=True, of_file=stamp)


def settled_stamp(item: Item) -> str | None:
    """``input_stamp`` before an item is read; None if a file could change under the same stamp."""
    stamp = input_stamp(item)  # before the files
    files = (item.frame, item.mask.path, item.audio, item.mixture, item.separated)
    return stamp if all(is_settled(path) for path in files if path is not None) else None


def refuse_changed(
    done: Mapping[str, object], items: Sequence[Item], *, stamps: Mapping[str, object] | None = None
) -> None:
    """Refuse to resume with changed files of earlier results, id to ``input_digest``.

    Items whose ``input_stamp`` is that of ``stamps`` are not opened.

    Raises:
        Mismatch: An item is gone from INPUT, or its files have changed or cannot be read.
    """
    known, digest, stamp = stamps or {}, cache(digest_file), cache(stamp_file)

    def same(item: Item, before: object) -> bool:
        if item.id in known and known[item.id] == input_stamp(item, stamp):
            return True
        variants = (False, True) if item.audio is not None else (False,)
        return any(input_digest(item, digest(item.frame), sound=sound) == before for sound in variants)

    by_id = {item.id: item for item in items}
    require_all_unchanged(done, by_id, same, path=lambda item: item.mask.path or item.frame)


def require_all_unchanged(
    done: Mapping[str, R],
    present: Mapping[str, K],
    same: Callable[[K, R], bool],
    *,
    path: Callable[[K], Path | None],
    made: str = "has a result",
    parts: str = "frame, mask, text or sound has",
) -> None:
    """Refuse (``Mismatch``) earlier results that INPUT lacks now, or whose files are not the ``same``, one by one.

    ``path`` is the file that a message names, ``made`` and ``parts`` word it.
    """
    for name, before in done.items():
        if name not in present:
            raise Mismatch(f"{name} {made} in the folder and is no longer in the input", hint=HINT)
        now = present[name]
        require_unchanged(name, partial(same, now, before), path=path(now), made=made, parts=parts)


def require_unchanged(
    name: str,
    same: Callable[[], bool],
    *,
    path: Path | None,
    made: str = "has a result",
    parts: str = "frame, mask, text or sound has",
) -> None:
    """Refuse (``Mismatch``) changed or unreadable files of the result of ``name``; ``made`` and ``parts`` word it."""
    try:
        unchanged = same()
    except AuscultError as error:
        raise Mismatch(
            f"{name} {made} in the folder, and its files can no longer be read: {error.message}",
            path=error.path,
            hint=f"restore the file, or {HINT}",
        ) from error
    if not unchanged:
        raise Mismatch(
            f"{name} {made} in the folder, and its {parts} changed since",
            path=path,
            expected="the same input as when the folder was begun",
            hint=HINT,
        )
