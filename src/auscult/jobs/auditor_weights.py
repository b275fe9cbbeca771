"""Pickled weights of releases made into safe ones, in a process of its own with limits of time and memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from auscult.errors import InputError, UsageError
from auscult.nets.mq_auditor.weights import convert
from auscult.outcome import Failed
from auscult.work.pool import Task, run_tasks

_READ_S: Final = 3600.0
_READ_MB: Final = 65_536


def convert_release(source: Path, target: Path) -> list[str]:
    """Write a release's ``finetune_weights.bin`` as ``learned.safetensors``, by our names, which are given back.

    Read in a process of its own, with limits, by torch's reader that makes tensors and plain values only.

    Raises:
        InputError: The file is damaged, holds more than tensors, or no weights of an auditor.
    """
    return _converted(source, target, beats=False)


def convert_beats(source: Path, target: Path) -> list[str]:
    """Write a released checkpoint of BEATs, ``.pt``, into the folder ``target`` as a part; as ``convert_release``."""
    return _converted(source, target, beats=True)


def _converted(source: Path, target: Path, *, beats: bool) -> list[str]:
    if not source.is_file():
        raise UsageError("there is no such file of weights", path=source, expected="the release's file, downloaded")
    (result,) = run_tasks(
        partial(partial, convert, target=target.resolve(), beats=beats),
        [Task(source.name, source.resolve())],
        workers=1,
        timeout_s=_READ_S,
        memory_mb=_READ_MB,
        stage="read",
    )
    if isinstance(result.outcome, Failed):
        record = result.outcome.error
        raise InputError(record.error, expected=record.expected or "tensors by name, saved by torch",
                         hint="nothing of it was executed", path=source)  # fmt: skip
    names: list[str] = result.outcome
    return names
