"""Requests to separators; an output is a sound file of the record.

An output is ``outputs/<model>/<item>-<key>.wav``, one channel at the rate of its mixture: 16 bits if that is lossless,
else 32 bits of floating point. It is the reply of its row in ``predictions.jsonl``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import AuscultError, ErrorRecord
from auscult.jobs import predict as job
from auscult.jobs.runner import Progress
from auscult.media.paths import safe_name, write_bytes
from auscult.media.wav import Sound, as_stored, wav_bytes
from auscult.models.separators import SeparatorSpec
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.suites.separation.cases import CaseSounds, SeparationCase
from auscult.types import Samples
from auscult.work.process import peak_mb

OUTPUTS: Final = "outputs"
_LONGEST_NAME: Final = 80


class _SeparatorProcess:
    """A separator in one process."""

    def __init__(self, model: SeparatorSpec, folder: Path) -> None:
        self._model, self._folder = model, folder
        self._separator, self._reader = model.open(), job.MediaReader()

    def __call__(self, queued: job.QueuedRequest) -> dict[str, Any] | Failed:
        """Separate and write the output; returns the row to store, or ``Failed`` if the case cannot be read."""
        start = time.perf_counter()
        case: SeparationCase = queued.prepared.case  # type: ignore[attr-defined]
        try:
            sounds: CaseSounds = queued.prepared.ask(self._reader)
        except AuscultError as error:
            return Failed(ErrorRecord.of(error, job.READ))
        preparing_s = time.perf_counter() - start
        separation = self._separator.separation(
            sounds.mixture, case.item.query, rate_hz=sounds.rate_hz, stems=sounds.stems, item=case.item
        )
        name = _file_name(queued, self._model)
        write_bytes(self._folder / name, _stored(separation.samples, sounds.rate_hz))
        chosen = separation.assignment
        assignment = {} if chosen is None else {"track": chosen.track, "by": chosen.by, "margin": chosen.margin}
        return {
            **job.named_row(queued, self._model),
            "reply": name,
            **assignment,
            "seconds": round(separation.seconds, 6),
            "preparing_s": round(preparing_s, 6),
            "overhead_s": round(max(0.0, time.perf_counter() - start - preparing_s - separation.seconds), 6),
            "peak_mb": peak_mb(),
        }

    def close(self) -> None:
        """Release the separator."""
        self._separator.close()


def _stored(samples: Samples, rate_hz: int) -> bytes:
    exact = np.array_equal(as_stored(samples, "int16")[0], samples)
    return wav_bytes(Sound(samples=samples[None], rate_hz=rate_hz), "int16" if exact else "float32")


def separate(
    run: RunFolder,
    requests: Iterable[job.QueuedRequest],
    model: SeparatorSpec,
    *,
    options: job.PredictOptions,
    keep: Callable[[Mapping[str, Any]], None],
    fail: Callable[[job.QueuedRequest, ErrorRecord], None],
    progress: Progress,
) -> None:
    """Send ``requests`` to one separator, as ``jobs.predict.predict`` does; equal requests are sent once."""
    by_input: dict[str, list[job.QueuedRequest]] = {}
    for request in requests:
        key = request.prepared.case.digest if model.kind != "predictions" else request.key  # type: ignore[attr-defined]
        by_input.setdefault(key, []).append(request)
    sent = {group[0].key: group for group in by_input.values()}
    firsts = [group[0] for group in sent.values()]
    for first in firsts:
        run.claim(_file_name(first, model))
    for queued, outcome in job.by_workers(partial(_SeparatorProcess, model, run.path), firsts, options):
        for request in sent[queued.key]:
            if isinstance(outcome, Failed):
                fail(request, outcome.error)
            else:
                keep(outcome | job.named_row(request, model))
            progress.step()


def _file_name(queued: job.QueuedRequest, model: SeparatorSpec) -> str:
    """The name of an output in the record."""
    return f"{OUTPUTS}/{safe_name(model.name)}/{safe_name(queued.id)[:_LONGEST_NAME]}-{queued.key[:8]}.wav"
