"""Ask a model about cases, in worker processes; what it said is stored once and never asked again.

A model that crashes, hangs or leaks costs the case at hand. What is stored is keyed by everything an answer follows
from: the content of the case, what was done to it, the model and its revision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from auscult.errors import ErrorRecord
from auscult.jobs.predict_reading import Reader
from auscult.jobs.predict_work import READ, Asked
from auscult.jobs.progress import Progress
from auscult.models.base import Ask
from auscult.models.spec import ModelSpec
from auscult.outcome import Failed
from auscult.work.pool import Task, run_tasks

__all__ = ["FILE", "READ", "STAGE", "PredictOptions", "Reader", "Request", "predict"]

FILE: Final = "predictions.jsonl"
STAGE: Final = "predict"
DEFAULT_TIMEOUT_S: Final = 600.0
DEFAULT_MEMORY_MB: Final = 8192
LEAST_SETUP_S: Final = 60.0


class Askable(Protocol):
    """A case under a condition: makes the question in the worker that asks it."""

    def ask(self, reader: Reader) -> Ask:
        """The question."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question that is to be asked.

    Attributes:
        key: Under which the answer is stored; unique.
        id: The case.
        condition: What was done to it.
        source: A file of the case, for error messages.
        asked: Makes the question.
    """

    key: str
    id: str
    condition: str
    source: Path
    asked: Askable


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """How models are asked.

    Attributes:
        workers: Worker processes; 0 for this one, without isolation.
        timeout_s: Limit for one case under one condition, and for loading the model where it is above a minute.
        memory_mb: Limit of a worker's memory.
    """

    workers: int
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    memory_mb: int | None = DEFAULT_MEMORY_MB

    @property
    def setup_s(self) -> float | None:
        """Limit for loading a model: that of a case, and a minute at least, since weights take their time."""
        return None if self.timeout_s is None else max(self.timeout_s, LEAST_SETUP_S)


def predict(
    requests: Iterable[Request],
    model: ModelSpec,
    *,
    options: PredictOptions,
    keep: Callable[[Mapping[str, Any]], None],
    fail: Callable[[Request, ErrorRecord], None],
    progress: Progress,
) -> None:
    """Ask one model.

    Args:
        requests: What to ask, by clip: a worker keeps the frames of the last one.
        model: Whom.
        options: How.
        keep: Gets the row of every answer, as it comes.
        fail: Gets every request without one; the error's stage is ``READ`` where the case's files are at fault, which
            are so for every model.
        progress: Who listens.

    Raises:
        UsageError: The model cannot be loaded.
    """
    listed = {request.key: request for request in requests}
    tasks = (Task(key, request) for key, request in listed.items())
    for result in run_tasks(
        partial(Asked, model, timeout_s=options.timeout_s),
        tasks,
        workers=options.workers,
        timeout_s=options.timeout_s,
        setup_s=options.setup_s,
        memory_mb=options.memory_mb,
        stage=STAGE,
    ):
        if isinstance(result.outcome, Failed):
            fail(listed[result.key], result.outcome.error)
        else:
            keep(result.outcome)
        progress.step()
