"""Replies in which no answer is found, reformatted by a model behind an endpoint before they are scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from auscult.errors import InputError
from auscult.jobs.runner import Progress
from auscult.models.chat.formatter import ChatFormatter
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.score.replies import read_reply
from auscult.score.tasks import AnswerForm
from auscult.work.pool import Task
from auscult.work.threads import run_threads

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
    known = {str(row.get("key")): row for row in read_lines(path)}

    def of(key: str) -> Callable[[str], str]:
        def formatter(_: str) -> str:
            row = known.get(key, {"error": "it was not asked"})
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
    return lambda one: formatter.formatted(one.form, words=one.words, frames=one.frames)(one.reply)


def _read(reply: ToRead, formatter: Callable[[str], str]) -> None:
    how: dict[str, Any] = {"words": reply.words, "frames": reply.frames, "variant": reply.variant}
    read_reply(reply.reply, reply.form, formatter=formatter, **how)
