"""Models behind endpoints in a run: what asking would take, and replies in another wording where none could be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from auscult.errors import InputError
from auscult.jobs.predict import READ, QueuedRequest, Reader
from auscult.jobs.runner import Progress
from auscult.models.adapters.omni import Answering
from auscult.models.chat.formatter import ChatFormatter
from auscult.models.chat.model import NOTHING, Estimate
from auscult.models.omni import OmniPredictor
from auscult.models.omni_spec import OmniSpec
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.report.tables import Table
from auscult.score.replies import read_reply
from auscult.score.tasks import AnswerForm
from auscult.work.chat import Tokens
from auscult.work.pool import Task
from auscult.work.threads import run_threads

WORDINGS: Final = "wordings.jsonl"
"""Replies in which no answer was found, in another wording: a line of key and reply, or of key and error, each."""
DRY_RUN: Final = "dry_run"
_STAGE: Final = "format"


# --- a dry run ---


def estimate_all(
    requests: Iterable[QueuedRequest], model: OmniSpec, *, progress: Progress
) -> tuple[Estimate, Mapping[str, int]]:
    """What requests would take at most, and why some of them cannot be sent, each reason with how often.

    All media are read as they would be to be sent. A model that is not behind an endpoint costs nothing.
    """
    found, problems, reader = NOTHING, Counter[str](), Reader()
    with nullcontext() if model.how is None else closing(model.open()) as opened:
        tasks = (Task(request.key, request) for request in requests)
        for result in run_threads(lambda: partial(_estimated, opened, reader), tasks, threads=1, stage=READ):
            if isinstance(result.outcome, Failed):
                problems[result.outcome.error.error] += 1
            else:
                found += result.outcome
            progress.step()
    return found, problems


def _estimated(opened: OmniPredictor | None, reader: Reader, request: QueuedRequest) -> Estimate:
    asked = request.prepared.ask(reader)
    return (opened.estimate(asked) if isinstance(opened, Answering) else None) or _ONE


_ONE: Final = Estimate(requests=1, tokens=Tokens(sent=0, received=0), cost=0.0)


def estimate_table(found: Mapping[str, tuple[Estimate, Mapping[str, int]]]) -> Table:
    """What asking would take, a model a row."""
    rows, notes = [], []
    for model, (estimate, problems) in found.items():
        cost = "not known" if estimate.cost is None else f"{estimate.cost:.2f}"
        tokens = (f"{estimate.tokens.sent:,}", f"{estimate.tokens.received:,}")
        rows.append((model, f"{estimate.requests:,}", *tokens, cost, f"{sum(problems.values()):,}"))
        notes += [f"{model}: {count:,} cannot be sent, {why}" for why, count in Counter(problems).most_common(3)]
    return Table(
        title="Dry run: what asking for what has no reply yet would take at most",
        header=("model", "requests", "tokens sent", "tokens received", "USD", "cannot be sent"),
        rows=tuple(rows),
        note=". ".join([*notes, "Nothing was sent. Tokens of media are estimates of the profile; tries count once"])
        + ".",
    )


# --- another wording ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRead:
    """A stored reply, and how it is read."""

    key: str
    reply: str
    form: AnswerForm
    words: Sequence[str]
    frames: int
    variant: str


def write_wordings(
    run: RunFolder, replies: Iterable[ToRead], formatter: ChatFormatter, *, progress: Progress
) -> Mapping[str, int]:
    """Have every reply in which no answer is found written again, into ``wordings.jsonl``.

    What was written again by an earlier command is not asked for again. Gives the reasons of those that failed.
    """
    waiting = [reply for reply in replies if _needs(reply)]
    progress.stage(f"format by {formatter.name}", len(waiting))
    failed: Counter[str] = Counter()
    run.write_lines(WORDINGS, ())
    tasks = (Task(reply.key, reply) for reply in waiting)
    make = partial(_wording_by, formatter)
    for result in run_threads(make, tasks, threads=formatter.connections, stage=_STAGE):
        if isinstance(result.outcome, Failed):
            failed[result.outcome.error.error] += 1
            run.append_many(WORDINGS, [{"key": result.key, "error": result.outcome.error.error}])
        else:
            run.append_many(WORDINGS, [{"key": result.key, "reply": result.outcome}])
        progress.step()
    return failed


def wordings(path: Any) -> Callable[[str], Callable[[str], str]]:
    """What ``write_wordings`` wrote: from the key of a reply to its formatter for ``read_reply``."""
    known = {str(row.get("key")): row for row in read_lines(path)}

    def of(key: str) -> Callable[[str], str]:
        def formatter(_: str) -> str:
            row = known.get(key, {"error": "it was not asked"})
            if "reply" not in row:
                raise InputError(
                    f"the reply could not be read, and the formatter failed: {row.get('error')}",
                    expected="an answer in another wording",
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


def _wording_by(formatter: ChatFormatter) -> Callable[[ToRead], str]:
    return lambda one: formatter.wording(one.form, words=one.words, frames=one.frames)(one.reply)


def _read(reply: ToRead, formatter: Callable[[str], str]) -> None:
    how: dict[str, Any] = {"words": reply.words, "frames": reply.frames, "variant": reply.variant}
    read_reply(reply.reply, reply.form, formatter=formatter, **how)
