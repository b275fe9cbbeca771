"""The inputs of models, as files.

::

    inputs/<condition>/<case>/<frame>.png    as perturbed
    inputs/<condition>/<case>/query.json     {"text", "rate_hz", "frames", "digest"}; written last
    inputs/<condition>/<case>/first_mask.png the reference of `vos`
    inputs/<condition>/<case>/sound.wav      the reference of `avs`

Masks for ``predictions:DIR`` have the same names: ``DIR/<condition>/<case>/<frame>.png``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from auscult.errors import AuscultError, ErrorRecord, OutputError
from auscult.jobs.predict import MediaReader
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.media.paths import read_bytes, write_bytes
from auscult.media.wav import Sound, wav_bytes
from auscult.models.base import Request
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.schema import error_to_json
from auscult.suites.core.conditions import Condition
from auscult.suites.core.runner import SuiteRunner
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.perturbing import PerturbedCase
from auscult.types import Frames
from auscult.work.pool import Task, run_tasks

R2Runner: TypeAlias = SuiteRunner[R2Case, PerturbedCase]
"""A run of R2-Bench in progress."""

FOLDER = "inputs"
QUERY = "query.json"
FIRST_MASK = "first_mask.png"
SOUND = "sound.wav"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTask:
    """A case under a condition, and the paths of its files."""

    prepared: PerturbedCase
    files: Mapping[str, Path]  # by name; ``query.json`` is written last


def input_task(run: RunFolder, prepared: PerturbedCase) -> InputTask | None:
    """Paths of the files of a case under a condition; None if they are written already."""
    case = prepared.case
    base = f"{FOLDER}/{prepared.condition.name}/{case.id}"
    if _is_of(run.claim(f"{base}/{QUERY}"), case.digest):
        return None
    names = [QUERY, *(f"{name}.png" for name in case.names)]
    names += [FIRST_MASK] if case.first else []
    names += [SOUND] if case.sound is not None else []
    return InputTask(prepared=prepared, files={name: run.claim(f"{base}/{name}") for name in names})


def _is_of(query: Path, digest: str) -> bool:
    """Whether the files beside a query are of the current case."""
    try:
        content = json.loads(read_bytes(query))
    except (AuscultError, ValueError):
        return False
    return isinstance(content, dict) and content.get("digest") == digest


class InputWriter:
    """Writes inputs of models, in one process."""

    def __init__(self) -> None:
        self._reader = MediaReader()

    def __call__(self, task: InputTask) -> bool:
        """Write one case under one condition."""
        request, files = task.prepared.ask(self._reader), task.files
        for name, frame in zip(request.names, request.frames(), strict=True):
            write_frame(files[f"{name}.png"], frame)
        if request.first_mask is not None:
            write_mask(files[FIRST_MASK], request.first_mask)
        if request.sound is not None and request.rate_hz is not None:
            samples = request.sound if request.sound.ndim == 2 else request.sound[None]
            # Floating point: models get exactly these samples.
            write_bytes(files[SOUND], wav_bytes(Sound(samples=samples, rate_hz=request.rate_hz), "float32"))
        content = {
            "text": request.query.text, "rate_hz": request.rate_hz, "frames": list(request.names),
            "digest": task.prepared.case.digest,
        }  # fmt: skip
        write_bytes(files[QUERY], json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        return True


def write_inputs(runner: R2Runner, conditions: Sequence[Condition]) -> None:
    """Write missing inputs of models; an error here fails no case."""
    missing: list[InputTask] = []
    for case in runner.cases:
        try:
            tasks = [input_task(runner.run, runner.prepare(case, condition)) for condition in conditions]
        except OutputError as error:  # its id is not a valid folder name
            runner.errors.append(error_to_json(case.id, ErrorRecord.of(error, "frames")))
            continue
        missing += [task for task in tasks if task is not None]
    runner.progress.stage("inputs", len(missing))
    queued = (Task(f"{task.prepared.condition.name}/{task.prepared.case.id}", task) for task in missing)
    for result in run_tasks(InputWriter, queued, workers=runner.how.workers, stage="frames"):
        if isinstance(result.outcome, Failed):
            runner.errors.append(error_to_json(None, result.outcome.error))
        runner.progress.step()


def looked_up(case: R2Case, condition: Condition) -> Request:
    """The request to a folder of predictions, which reads no frame."""
    return Request(
        id=case.id, condition=condition.name, names=case.names, size=case.size, query=case.query, frames=_no_frames
    )


def _no_frames() -> Frames:
    raise AssertionError("a folder of predictions looks at no frame")
