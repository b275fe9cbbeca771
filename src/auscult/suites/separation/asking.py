"""Separators as the models of a run, and what they are sent: an output is a sound file of the record.

An output is kept as ``outputs/<model>/<item>-<key>.wav``, one channel at the rate of its mixture: 16 bits where that
loses nothing, else 32 bits of floating point. Its row in ``predictions.jsonl`` names it as the reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import AuscultError, ErrorRecord, UsageError
from auscult.jobs import predict as job
from auscult.jobs.runner import Indivisible, Progress, Workers
from auscult.media.paths import safe_name, write_bytes
from auscult.media.wav import Sound, as_stored, wav_bytes
from auscult.models.separators import Separator, separator_spec
from auscult.models.spec import ModelSpec
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.suites.separation.cases import CaseSounds, SeparationCase
from auscult.types import Samples
from auscult.work.process import peak_mb

ORACLE: Final = "oracle."
"""The name of a model that is shown the stems begins so: it is a bound and no competitor."""
OUTPUTS: Final = "outputs"
_LONGEST_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorModel(ModelSpec):
    """A separator that was asked for, as the engine knows models; goes to worker processes."""

    def open(self) -> Separator:
        """Load it into this process."""
        return separator_spec(self.given).load()


def separator_models(names: Iterable[str]) -> tuple[SeparatorModel, ...]:
    """What ``--model`` names, without duplicates; nothing is loaded."""
    found: dict[tuple[str, ...], SeparatorModel] = {}
    for given in dict.fromkeys(names):
        spec = separator_spec(given)
        model = SeparatorModel(
            given=given,
            kind="registered" if spec.kind == "built_in" else spec.kind,  # type: ignore[arg-type]
            name=f"{ORACLE}{spec.name}" if spec.oracle else spec.name,
            target=spec.target,
            function=spec.function,
            revision=spec.revision,
        )
        found.setdefault((model.kind, model.target, model.function, model.name), model)
    if not found:
        raise UsageError(
            "no model was named", expected="at least one --model", hint="such as nmf, FILE.py:FUNCTION or cmd:PROGRAM"
        )
    return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order(Indivisible):
    """A request, where its output goes, and the requests that ask for the very same."""

    request: job.QueuedRequest
    file: Path
    name: str  # of the file in the record
    alike: tuple[job.QueuedRequest, ...]

    @property
    def key(self) -> str:
        return self.request.key


class _Separating:
    """A separator in one process."""

    def __init__(self, model: SeparatorModel) -> None:
        self._model, self._separator, self._reader = model, model.open(), job.Reader()

    def __call__(self, order: _Order) -> dict[str, Any] | Failed:
        """Ask, write the output, and give the row to store; ``Failed`` where no separator can read the case."""
        begun, queued = time.perf_counter(), order.request
        case: SeparationCase = queued.prepared.case  # type: ignore[attr-defined]
        try:
            sounds: CaseSounds = queued.prepared.ask(self._reader)
        except AuscultError as error:
            return Failed(ErrorRecord.of(error, job.READ))
        preparing_s = time.perf_counter() - begun
        found = self._separator.separation(
            sounds.mixture, case.item.query, rate_hz=sounds.rate_hz, stems=sounds.stems, item=case.item
        )
        write_bytes(order.file, _stored(found.samples, sounds.rate_hz))
        chosen = found.assignment
        said = {} if chosen is None else {"track": chosen.track, "by": chosen.by, "margin": chosen.margin}
        return {
            **job.named_row(queued, self._model),
            "reply": order.name,
            **said,
            "seconds": round(found.seconds, 6),
            "preparing_s": round(preparing_s, 6),
            "overhead_s": round(max(0.0, time.perf_counter() - begun - preparing_s - found.seconds), 6),
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
    model: SeparatorModel,
    *,
    options: job.PredictOptions,
    keep: Callable[[Mapping[str, Any]], None],
    fail: Callable[[job.QueuedRequest, ErrorRecord], None],
    progress: Progress,
) -> None:
    """Send ``requests`` to one separator, as ``jobs.predict.predict`` does; equal requests are sent once."""
    alike: dict[str, list[job.QueuedRequest]] = {}
    for request in requests:
        one = request.prepared.case.digest if model.kind != "predictions" else request.key  # type: ignore[attr-defined]
        alike.setdefault(one, []).append(request)
    workers = Workers(
        make=partial(_Separating, model),
        count=options.workers,
        stage=job.STAGE,
        timeout_s=options.timeout_s,
        setup_s=options.setup_s,
        memory_mb=options.memory_mb,
    )
    for order, outcome in workers.results(_order(run, model, found) for found in alike.values()):
        for request in (order.request, *order.alike):
            if isinstance(outcome, Failed):
                fail(request, outcome.error)
            else:
                keep(outcome | job.named_row(request, model))
            progress.step()


def _order(run: RunFolder, model: SeparatorModel, alike: list[job.QueuedRequest]) -> _Order:
    first, *others = alike
    name = f"{OUTPUTS}/{safe_name(model.name)}/{safe_name(first.id)[:_LONGEST_NAME]}-{first.key[:8]}.wav"
    return _Order(request=first, file=run.claim(name), name=name, alike=tuple(others))
