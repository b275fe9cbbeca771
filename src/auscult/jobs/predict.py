"""Ask a model about cases, in worker processes; an answer is stored once and never asked for again.

A model that crashes, hangs or leaks costs the case at hand. What is stored is keyed by everything an answer follows
from: the content of the case, what was done to it, the model and its revision.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from auscult.errors import AuscultError, ErrorRecord, InputError
from auscult.jobs.runner import Indivisible, Last, Progress, Workers
from auscult.media.frames import read_frame
from auscult.media.rle import encode
from auscult.media.sound import read_sound
from auscult.models.base import Request
from auscult.models.spec import ModelSpec
from auscult.outcome import Failed
from auscult.types import Frames

_MOST_BYTES = 4 << 30


class Reader:
    """Reads clips, in one process; what cannot be read is not read again until something else was asked for."""

    def __init__(self) -> None:
        self.sound = Last(read_sound)
        self._clip = Last(_read)

    def frames(self, files: tuple[Path, ...], size: tuple[int, int]) -> Frames:
        """The frames of a clip in order, uint8 RGB (T, H, W, 3), all of one size; never to be written to."""
        return self._clip((files, size))


def _read(key: tuple[tuple[Path, ...], tuple[int, int]]) -> Frames:
    files, size = key
    if len(files) * size[0] * size[1] * 3 > _MOST_BYTES:
        raise InputError(
            f"{len(files)} frames of {size[0]} x {size[1]} are too much at once",
            expected="a clip of at most 4 GiB",
            hint="thin out or shorten the clip",
            path=files[0],
        )
    clip = np.empty((len(files), *size, 3), np.uint8)
    for place, path in enumerate(files):
        frame = read_frame(path)
        if frame.shape[:2] != size:
            raise InputError(
                f"the frame is {frame.shape[0]} x {frame.shape[1]}",
                expected=f"{size[0]} x {size[1]}, as the clip's first",
                path=path,
            )
        clip[place] = frame
    return clip


READ: Final = "read"
"""Stage of a file that cannot be read: no fault of the model."""


class ModelWorker:
    """A model in this process."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._model = spec.load()
        self._reader = Reader()

    def __call__(self, request: QueuedRequest) -> dict[str, Any] | Failed:
        """Ask, and give the row that is stored; or why the case cannot be read, whichever model is asked."""
        begun = time.perf_counter()
        try:
            ask = request.asked.ask(self._reader)
        except AuscultError as error:
            return Failed(ErrorRecord.of(error, READ))
        clock = _Clock(ask, begun=begun)
        try:
            answer = self._model(clock.ask)
        except AuscultError:
            if clock.unread is None:
                raise
            return Failed(ErrorRecord.of(clock.unread, READ))
        counts = [encode(mask)["counts"] for mask in answer.masks]
        whole = time.perf_counter() - begun
        return {
            "key": request.key,
            "id": request.id,
            "condition": request.condition,
            "model": self._spec.name,
            "revision": self._spec.revision,
            "size": list(ask.size),
            "counts": counts,
            "threshold": answer.threshold,
            "seconds": round(answer.seconds, 6),
            "preparing_s": round(clock.preparing_s, 6),
            "overhead_s": round(max(0.0, whole - clock.preparing_s - answer.seconds), 6),
            "peak_mb": _peak_mb(),
        }


class _Clock:
    """Tells the time of making the question from that of the adapter around the model, and its failures."""

    def __init__(self, ask: Request, *, begun: float) -> None:
        self.unread: AuscultError | None = None
        self.preparing_s = time.perf_counter() - begun
        self._frames = ask.frames
        self.ask = replace(ask, frames=self.frames)

    def frames(self) -> Frames:
        """The frames, timed."""
        begun = time.perf_counter()
        try:
            made = self._frames()
        except AuscultError as error:
            self.unread = error
            raise
        self.preparing_s += time.perf_counter() - begun
        return made


def _peak_mb() -> int | None:
    """The most memory that this process has had so far, with the model; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)


FILE: Final = "predictions.jsonl"
STAGE: Final = "predict"
DEFAULT_TIMEOUT_S: Final = 600.0
DEFAULT_MEMORY_MB: Final = 8192
LEAST_SETUP_S: Final = 60.0


class Askable(Protocol):
    """A case under a condition: makes the question in the worker that asks it."""

    def ask(self, reader: Reader) -> Request:
        """The question."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRequest(Indivisible):
    """A question that is to be asked."""

    key: str  # under which the answer is stored; unique
    id: str
    condition: str
    source: Path  # a file of the case, for error messages
    asked: Askable


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """How models are asked."""

    workers: int  # worker processes; 0 for this one, without isolation
    # limit for one case under one condition, and for loading the model where it is above a minute
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    memory_mb: int | None = DEFAULT_MEMORY_MB

    @property
    def setup_s(self) -> float | None:
        """Limit for loading a model: that of a case, and a minute at least, since weights take their time."""
        return None if self.timeout_s is None else max(self.timeout_s, LEAST_SETUP_S)


def predict(
    requests: Iterable[QueuedRequest],
    model: ModelSpec,
    *,
    options: PredictOptions,
    keep: Callable[[Mapping[str, Any]], None],
    fail: Callable[[QueuedRequest, ErrorRecord], None],
    progress: Progress,
) -> None:
    """Ask one model ``requests``, which come by clip: a worker keeps the frames of the last one.

    ``keep`` gets the row of every answer, ``fail`` every request without one; the error's stage is ``READ`` where the
    case's files are at fault, which are so for every model.
    """
    workers = Workers(
        make=partial(ModelWorker, model),
        count=options.workers,
        stage=STAGE,
        timeout_s=options.timeout_s,
        setup_s=options.setup_s,
        memory_mb=options.memory_mb,
    )
    for request, outcome in workers.results(requests):
        if isinstance(outcome, Failed):
            fail(request, outcome.error)
        else:
            keep(outcome)
        progress.step()
