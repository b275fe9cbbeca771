"""Ask an omni model, from worker processes or threads; a reply is stored once and never requested again.

The counterpart of ``predict`` for models that answer in text: the same requests, keys, options and rows, with the reply
in place of masks. A model that waits for others (``connections``) is asked from threads, one of Python code in one
worker process, one in a cascade likewise. Where nothing can be reached any more the model is left, with what is still
to be asked unasked.

Also here: what asking would take, without asking (``estimate_all``), and replies in which no answer is found,
reformatted by a model behind an endpoint before they are scored (``write_reformatted``).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

from auscult.errors import AuscultError, ErrorRecord, InputError, UsageError
from auscult.jobs.predict import READ, STAGE, MediaReader, PredictOptions, QueuedRequest, Stopped, by_workers, named_row
from auscult.jobs.runner import Progress
from auscult.models.adapters.omni import Answering
from auscult.models.chat.model import NOTHING, ChatFormatter, Estimate
from auscult.models.omni import OmniPredictor, OmniReply, OmniRequest, Unreachable
from auscult.models.omni_spec import OmniSpec, OpenApart
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.report.tables import Table
from auscult.score.replies import read_reply
from auscult.score.tasks import AnswerForm
from auscult.work.chat import Tokens
from auscult.work.pool import Task, TaskResult, run_tasks
from auscult.work.process import peak_mb
from auscult.work.threads import FailedTogether, SharedWorker, run_threads

_Outcome: TypeAlias = dict[str, Any] | Failed
_Store: TypeAlias = Callable[[QueuedRequest, _Outcome], None]
PATIENCE: Final = 3
"""So many times as it has connections, a model may be unreachable in a row before it is left."""


class ReplyWorker:
    """An omni model in this process; of a cascade, the foreign models by ``apart`` where that is given."""

    def __init__(self, spec: OmniSpec, *, apart: OpenApart | None = None) -> None:
        self._spec = spec
        self._model: OmniPredictor = spec.open(apart=apart)
        if spec.kind == "callable" and isinstance(self._model, Answering) and self._model.boxes != spec.boxes:
            self._model.close()
            raise UsageError(
                f"the model gives boxes as {self._model.boxes!r}, the run takes them as {spec.boxes!r}",
                expected="a model that says what it said when it was first loaded",
                hint="repeat the command; if it could not be loaded at first, see why",
            )
        self._reader = MediaReader()

    def __call__(self, queued: QueuedRequest) -> dict[str, Any] | Failed:
        """Ask, and give the row to store; of an unreachable model why it is, under ``unreachable``."""
        started = time.perf_counter()
        try:
            request = queued.prepared.ask(self._reader)
        except AuscultError as error:
            return Failed(ErrorRecord.of(error, READ))
        preparing_s = time.perf_counter() - started
        try:
            reply = self._model(request)
        except Unreachable as error:
            return {"unreachable": ErrorRecord.of(error, STAGE)}
        total_s = time.perf_counter() - started
        return {
            **named_row(queued, self._spec),
            "reply": reply.text,
            **({"served": reply.served} if reply.served else {}),
            **({"usage": dict(reply.usage)} if reply.usage else {}),
            "seconds": round(reply.seconds, 6),
            "preparing_s": round(preparing_s, 6),
            "overhead_s": round(max(0.0, total_s - preparing_s - reply.seconds), 6),
            "peak_mb": peak_mb(),
        }

    def close(self) -> None:
        """Release the model."""
        self._model.close()


def ask(
    requests: Iterable[QueuedRequest],
    model: OmniSpec,
    *,
    options: PredictOptions,
    keep: Callable[[Mapping[str, Any]], None],
    fail: Callable[[QueuedRequest, ErrorRecord], None],
    progress: Progress,
) -> None:
    """Send ``requests`` to one model; arguments as of ``predict``.

    Raises:
        Stopped: Nothing could be reached several times in a row; what was not asked yet has neither row nor failure.
    """
    waiting = list(requests)
    if not waiting:
        return

    def store(request: QueuedRequest, outcome: _Outcome) -> None:
        error = _error_of(outcome)
        if error is not None:
            fail(request, error)
        elif not isinstance(outcome, Failed):
            keep(outcome)

    in_a_row, patience = 0, PATIENCE * max(1, model.connections)
    with closing((_by_threads if model.connections else _by_workers)(waiting, model, options, store=store)) as outcomes:
        for outcome in outcomes:
            progress.step()
            reached = isinstance(outcome, Failed) or "unreachable" not in outcome
            in_a_row = 0 if reached else in_a_row + 1
            error = _error_of(outcome)
            if error is not None and in_a_row >= patience:
                raise Stopped(
                    f"left after {in_a_row} requests in a row reached nothing: {error.error}",
                    expected=error.expected,
                    hint="repeat the command once it answers: what has a reply is not asked again",
                )


def _error_of(outcome: _Outcome) -> ErrorRecord | None:
    """Why there is no reply; None where there is one."""
    if isinstance(outcome, Failed):
        return outcome.error
    error: ErrorRecord | None = outcome.get("unreachable")
    return error


def declared(model: OmniSpec, options: PredictOptions) -> OmniSpec:
    """The model; one of Python code with what it declares once it is loaded, which a worker process does.

    One that cannot be loaded stays as it is: asking it tries again and reports why.
    """
    if model.kind != "callable":
        return model
    try:
        (result,) = run_tasks(
            partial(_Told, model),
            [Task("told", None)],
            workers=min(1, options.workers),
            setup_s=options.setup_s,
            memory_mb=options.memory_mb,
            stage=STAGE,
        )
    except AuscultError:
        return model
    return model if isinstance(result.outcome, Failed) else replace(model, **result.outcome)


class _Told:
    """Loads a model to see how it is to be asked, and how it gives boxes."""

    def __init__(self, model: OmniSpec) -> None:
        loaded = model.open()
        self._told = {"connections": loaded.connections, "boxes": loaded.boxes} if isinstance(loaded, Answering) else {}
        loaded.close()

    def __call__(self, _: None) -> dict[str, Any]:
        return self._told


def _by_workers(
    requests: list[QueuedRequest], model: OmniSpec, options: PredictOptions, *, store: _Store
) -> Generator[_Outcome, None, None]:
    for request, outcome in by_workers(partial(ReplyWorker, model), requests, options):
        store(request, outcome)
        yield outcome


def _by_threads(
    requests: list[QueuedRequest], model: OmniSpec, options: PredictOptions, *, store: _Store
) -> Generator[_Outcome, None, None]:
    """Results from threads; a model behind an endpoint limits its own time, tries and waits included.

    Requests under way when a model's process died are asked again, one by one, so that only the cause fails.
    """
    by_key = {request.key: request for request in requests}
    retried: dict[str, None] = {}

    def keep(result: TaskResult[_Outcome]) -> None:
        if isinstance(result.outcome, FailedTogether) and result.key not in retried:
            retried[result.key] = None
        else:
            store(by_key[result.key], result.outcome)

    with closing(_threaded(requests, model, options, threads=model.connections, store=keep)) as results:
        for result in results:
            if result.key not in retried:
                yield result.outcome
    if retried:
        alone = [by_key[key] for key in retried]
        with closing(_threaded(alone, model, options, threads=1, store=keep)) as results:
            yield from (result.outcome for result in results)


def _threaded(
    requests: Iterable[QueuedRequest],
    model: OmniSpec,
    options: PredictOptions,
    *,
    threads: int,
    store: Callable[[TaskResult[_Outcome]], None],
) -> Generator[TaskResult[_Outcome], None, None]:
    with ExitStack() as stack:
        results = run_threads(
            lambda: stack.enter_context(closing(_asked(model, options))),
            (Task(request.key, request) for request in requests),
            threads=threads,
            stage=STAGE,
            store=store,
            timeout_s=options.timeout_s if model.foreign else None,
        )
        with closing(results):
            yield from results


def _asked(model: OmniSpec, options: PredictOptions) -> ReplyWorker | SharedWorker[QueuedRequest, _Outcome]:
    """A model in this process, or one of foreign code in a process of its own, whose memory is limited."""
    if not options.workers:
        return ReplyWorker(model)
    if not model.foreign:
        return ReplyWorker(model, apart=partial(_Apart, options=options))
    make: Callable[[], ReplyWorker] = partial(ReplyWorker, model)
    return SharedWorker(make, stage=STAGE, memory_mb=options.memory_mb, setup_s=options.setup_s)


class _Apart:
    """A foreign model of a cascade, in a process of its own with the limits of the run."""

    def __init__(self, spec: OmniSpec, *, options: PredictOptions) -> None:
        self._worker: SharedWorker[OmniRequest, OmniReply | ErrorRecord] = SharedWorker(
            partial(_Reached, spec),
            stage=STAGE,
            memory_mb=options.memory_mb,
            setup_s=options.setup_s,
            timeout_s=options.timeout_s,
        )

    def __call__(self, request: OmniRequest) -> OmniReply:
        outcome = self._worker(request)
        if isinstance(outcome, OmniReply):
            return outcome
        error = outcome.error if isinstance(outcome, Failed) else outcome
        kind = InputError if isinstance(outcome, Failed) else Unreachable
        raise kind(error.error, expected=error.expected, hint=error.hint)

    def close(self) -> None:
        """End the process."""
        self._worker.close()


class _Reached:
    """Loads a model and asks it; where the model cannot be reached, gives the error."""

    def __init__(self, spec: OmniSpec) -> None:
        self._model = spec.open()

    def __call__(self, request: OmniRequest) -> OmniReply | ErrorRecord:
        try:
            return self._model(request)
        except Unreachable as error:
            return ErrorRecord.of(error, STAGE)

    def close(self) -> None:
        """Release the model."""
        self._model.close()


DRY_RUN: Final = "dry_run"


def estimate_all(
    requests: Iterable[QueuedRequest], model: OmniSpec, *, progress: Progress
) -> tuple[Estimate, Mapping[str, int]]:
    """What requests would take at most, and why some of them cannot be sent, each reason with how often.

    All media are read as they would be to be sent. A model that is not behind an endpoint costs nothing.
    """
    total, problems, reader = NOTHING, Counter[str](), MediaReader()
    with nullcontext() if model.how is None else closing(model.open()) as opened:
        tasks = (Task(request.key, request) for request in requests)
        for result in run_threads(lambda: partial(_estimated, opened, reader), tasks, threads=1, stage=READ):
            if isinstance(result.outcome, Failed):
                problems[result.outcome.error.error] += 1
            else:
                total += result.outcome
            progress.step()
    return total, problems


def _estimated(opened: OmniPredictor | None, reader: MediaReader, request: QueuedRequest) -> Estimate:
    prepared = request.prepared.ask(reader)
    return (opened.estimate(prepared) if isinstance(opened, Answering) else None) or _ONE


_ONE: Final = Estimate(requests=1, tokens=Tokens(sent=0, received=0), cost=0.0)


def estimate_table(estimates: Mapping[str, tuple[Estimate, Mapping[str, int]]]) -> Table:
    """What asking would take, a model a row."""
    rows, notes = [], []
    for model, (estimate, problems) in estimates.items():
        cost = "not known" if estimate.cost is None else f"{estimate.cost:.2f}"
        tokens = (f"{estimate.tokens.sent:,}", f"{estimate.tokens.received:,}")
        rows.append((model, f"{estimate.requests:,}", *tokens, cost, f"{sum(problems.values()):,}"))
        notes += [f"{model}: {count:,} cannot be sent, {reason}" for reason, count in Counter(problems).most_common(3)]
    return Table(
        title="Dry run: what asking for what has no reply yet would take at most",
        header=("model", "requests", "tokens sent", "tokens received", "USD", "cannot be sent"),
        rows=tuple(rows),
        note=". ".join([*notes, "Nothing was sent. Tokens of media are estimates of the profile; tries count once"])
        + ".",
    )


REFORMATTED: Final = "reformatted.jsonl"
"""Reformatted replies: a line of key and reply, or of key and error, each."""
_STAGE: Final = "format"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRead:
    """A stored reply, and how it is read."""

    key: str
    reply: str
    form: AnswerForm
    words: Sequence[str]
    frames: int
    variant: str


def write_reformatted(
    run: RunFolder, replies: Iterable[ToRead], formatter: ChatFormatter, *, progress: Progress
) -> Mapping[str, int]:
    """Have every reply in which no answer is found reformatted, into ``reformatted.jsonl``.

    What an earlier command reformatted is not asked for again. Gives the reasons of those that failed.
    """
    waiting = [reply for reply in replies if _needs(reply)]
    progress.stage(f"format by {formatter.name}", len(waiting))
    failed: Counter[str] = Counter()
    run.write_lines(REFORMATTED, ())
    tasks = (Task(reply.key, reply) for reply in waiting)
    make = partial(_reformatted_by, formatter)
    for result in run_threads(make, tasks, threads=formatter.connections, stage=_STAGE):
        if isinstance(result.outcome, Failed):
            failed[result.outcome.error.error] += 1
            run.append_many(REFORMATTED, [{"key": result.key, "error": result.outcome.error.error}])
        else:
            run.append_many(REFORMATTED, [{"key": result.key, "reply": result.outcome}])
        progress.step()
    return failed


def reformatted(path: Any) -> Callable[[str], Callable[[str], str]]:
    """What ``write_reformatted`` wrote: from the key of a reply to its formatter for ``read_reply``."""
    by_key = {str(row.get("key")): row for row in read_lines(path)}

    def of(key: str) -> Callable[[str], str]:
        def formatter(_: str) -> str:
            row = by_key.get(key, {"error": "it was not asked"})
            if "reply" not in row:
                raise InputError(
                    f"the reply could not be read, and the formatter failed: {row.get('error')}",
                    expected="a reformatted reply with an answer",
                    hint="the same command asks the formatter again",
                )
            return str(row["reply"])

        return formatter

    return of


class _Needed(Exception):
    """The reply has no answer that can be read."""


def _needs(reply: ToRead) -> bool:
    def needed(_: str) -> str:
        raise _Needed

    try:
        _read(reply, needed)
    except _Needed:
        return True
    return False


def _reformatted_by(formatter: ChatFormatter) -> Callable[[ToRead], str]:
    return lambda reply: formatter.formatted(reply.form, words=reply.words, frames=reply.frames)(reply.reply)


def _read(reply: ToRead, formatter: Callable[[str], str]) -> None:
    options: dict[str, Any] = {"words": reply.words, "frames": reply.frames, "variant": reply.variant}
    read_reply(reply.reply, reply.form, formatter=formatter, **options)
