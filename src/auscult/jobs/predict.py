"""Send requests to a model, in worker processes; a reply is stored once and never requested again.

A model that crashes, hangs or leaks memory fails the current case only. The key of a reply covers all it depends on:
the content of the case, its condition, the model and its revision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from auscult.errors import AuscultError, ErrorRecord, InputError
from auscult.jobs.runner import Indivisible, LastCached, Progress, Workers
from auscult.media.frames import read_frame
from auscult.media.rle import decode, encode
from auscult.media.sound import read_sound
from auscult.models.adapters import ModelSpec
from auscult.models.base import ClassMaps, Request
from auscult.outcome import Failed
from auscult.types import Frames, Mask
from auscult.work.pool import KeptWorkers
from auscult.work.process import peak_mb

_MOST_BYTES = 4 << 30

Asked_co = TypeVar("Asked_co", covariant=True)


class MediaReader:
    """Reads clips and sounds in one process; caches the last of each, or its error."""

    def __init__(self) -> None:
        self.sound = LastCached(read_sound)
        self.uncut_sound = LastCached(partial(read_sound, cut=False))
        self._clip = LastCached(_read)

    def frames(self, files: tuple[Path, ...], size: tuple[int, int]) -> Frames:
        """The frames of a clip in order, uint8 RGB (T, H, W, 3), all of one size; read-only."""
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
    for index, path in enumerate(files):
        frame = read_frame(path)
        if frame.shape[:2] != size:
            raise InputError(
                f"the frame is {frame.shape[0]} x {frame.shape[1]}",
                expected=f"{size[0]} x {size[1]}, as the clip's first",
                path=path,
            )
        clip[index] = frame
    return clip


READ: Final = "read"
"""Stage of errors of unreadable files, which are not the model's fault."""


class ModelWorker:
    """A model in this process."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._model = spec.load()
        self._reader = MediaReader()

    def __call__(self, queued: QueuedRequest) -> dict[str, Any] | Failed:
        """Run the model; returns the row to store, or ``Failed`` if the case cannot be read."""
        start = time.perf_counter()
        try:
            request = queued.prepared.ask(self._reader)
        except AuscultError as error:
            return Failed(ErrorRecord.of(error, READ))
        clock = _Clock(request, start=start)
        try:
            answer = self._model(clock.request)
        except AuscultError:
            if clock.unread is None:
                raise
            return Failed(ErrorRecord.of(clock.unread, READ))
        counts = [_stored(mask) for mask in answer.masks]
        total_s = time.perf_counter() - start
        return {
            **named_row(queued, self._spec),
            "size": list(request.size),
            "counts": counts,
            "threshold": answer.threshold,
            **({"said": answer.said} if answer.said else {}),
            "seconds": round(answer.seconds, 6),
            "preparing_s": round(clock.preparing_s, 6),
            "overhead_s": round(max(0.0, total_s - clock.preparing_s - answer.seconds), 6),
            "peak_mb": peak_mb(),
        }


def named_row(queued: QueuedRequest, model: ModelSpec) -> dict[str, Any]:
    """The first fields of the row of every reply."""
    return {
        "key": queued.key,
        "id": queued.id,
        "condition": queued.condition,
        "model": model.name,
        "revision": model.revision,
    }


def _stored(mask: NDArray[Any]) -> Any:
    """A frame's answer for its row: the counts of an RLE, or those of each class except background."""
    if mask.dtype == np.bool_:
        return encode(mask)["counts"]
    return {str(number): encode(mask == number)["counts"] for number in np.unique(mask).tolist() if number}


def stored_answer(row: Mapping[str, Any], index: int) -> Mask | ClassMaps:
    """A frame's answer from its row: bool (H, W), or the class of each pixel, uint8 (H, W)."""
    size, counts = row["size"], row["counts"][index]
    if not isinstance(counts, Mapping):
        return decode({"size": size, "counts": counts})
    classes: ClassMaps = np.zeros(size, np.uint8)
    for name, of_class in counts.items():
        if not name.isdecimal() or len(name) > 3 or not 0 < int(name) <= np.iinfo(np.uint8).max:
            raise InputError(f"the stored prediction has a class {name[:20]!r}", expected="a number from 1 to 255")
        classes[decode({"size": size, "counts": of_class})] = int(name)
    return classes


class _Clock:
    """Separates the time and the errors of preparing a request from those of the model's adapter."""

    def __init__(self, request: Request, *, start: float) -> None:
        self.unread: AuscultError | None = None
        self.preparing_s = time.perf_counter() - start
        self._frames = request.frames
        self.request = replace(request, frames=self.frames)

    def frames(self) -> Frames:
        """The frames, timed."""
        start = time.perf_counter()
        try:
            result = self._frames()
        except AuscultError as error:
            self.unread = error
            raise
        self.preparing_s += time.perf_counter() - start
        return result


FILE: Final = "predictions.jsonl"
STAGE: Final = "predict"
DEFAULT_TIMEOUT_S: Final = 600.0
DEFAULT_MEMORY_MB: Final = 8192
LEAST_SETUP_S: Final = 60.0


class Stopped(AuscultError):
    """Requests to a model were stopped; those with neither row nor failure remain."""


class Askable(Protocol[Asked_co]):
    """A case under a condition, which builds its request in the worker process."""

    def ask(self, reader: MediaReader) -> Asked_co:
        """The request."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRequest(Indivisible):
    """A request without a stored reply."""

    key: str  # unique key of the reply
    id: str
    condition: str
    source: Path  # a file of the case, for error messages
    prepared: Askable[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """The workers and limits of requests."""

    workers: int  # worker processes; 0 for this one, without isolation
    # limit for one case under one condition, and for loading the model where it is above a minute
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    memory_mb: int | None = DEFAULT_MEMORY_MB
    kept: KeptWorkers | None = None  # where the workers come from and go to, for models of ours alone

    @property
    def setup_s(self) -> float | None:
        """Limit for loading a model: that of a case, but at least a minute, since weights take long to load."""
        return None if self.timeout_s is None else max(self.timeout_s, LEAST_SETUP_S)


def by_workers(
    make: Callable[[], Callable[[QueuedRequest], dict[str, Any] | Failed]],
    requests: Iterable[QueuedRequest],
    options: PredictOptions,
) -> Iterator[tuple[QueuedRequest, dict[str, Any] | Failed]]:
    """Requests with their row or failure, from worker processes in any order."""
    yield from Workers(
        make=make,
        count=options.workers,
        stage=STAGE,
        timeout_s=options.timeout_s,
        setup_s=options.setup_s,
        memory_mb=options.memory_mb,
        kept=options.kept,
    ).results(requests)


def predict(
    requests: Iterable[QueuedRequest],
    model: ModelSpec,
    *,
    options: PredictOptions,
    keep: Callable[[Mapping[str, Any]], None],
    fail: Callable[[QueuedRequest, ErrorRecord], None],
    progress: Progress,
) -> None:
    """Send ``requests`` to one model; they should come clip by clip, since a worker caches the last one.

    ``keep`` gets the row of every reply, ``fail`` every failed request; the error's stage is ``READ`` where the files
    of the case cannot be read, by any model.
    """
    for request, outcome in by_workers(partial(ModelWorker, model), requests, options):
        if isinstance(outcome, Failed):
            fail(request, outcome.error)
        else:
            keep(outcome)
        progress.step()
