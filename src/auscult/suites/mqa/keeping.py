"""Writes what was made of one instance: its clip's files, its masks, its items, then the line that says it is done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from auscult.errors import ErrorRecord, InputError
from auscult.jobs.errors import ErrorLog
from auscult.media.paths import read_bytes
from auscult.record.folder import RunFolder
from auscult.record.schema import error_to_json
from auscult.suites.mqa.building import Built
from auscult.suites.mqa.moments import failed_row
from auscult.suites.mqa.orders import Media
from auscult.types import Instance

SOUND_REMARK = "frames"
"""Stage of a clip's missing sound: it is named in ``errors.jsonl`` and costs no mask."""


class Keeper:
    """Keeps what workers made; what was kept before a stop is not kept twice.

    Args:
        run: The record.
        errors: Its errors.
        media: Where the clips' files go.
    """

    def __init__(self, run: RunFolder, errors: ErrorLog, media: Mapping[str, Media]) -> None:
        self._run = run
        self._errors = errors
        self._media = media
        self._clips: set[str] = set()

    def __call__(self, instance: Instance, built: Built) -> None:
        """Keep one instance of one protocol."""
        if built.error is not None:
            self._errors.keep([built.error])
            return
        try:
            self._copy_clip(instance.clip)
        except InputError as error:
            self._errors.keep([failed_row(instance, error, "read")])
            return
        for name, data in built.files.items():
            self._run.write_bytes(name, data, durable=False)
        self._run.append_many("items.jsonl", [dict(row) for row in built.items])  # of equal ids the last one holds
        self._run.append("targets.jsonl", built.target)

    def _copy_clip(self, clip: str) -> None:
        """Copy a clip's frames and sound, once a run.

        Raises:
            InputError: A frame can no longer be read.
            OutputError: The disk is full.
        """
        if clip in self._clips:
            return
        media = self._media[clip]
        for source, (_, name) in media.frames.items():
            self._copy(source, name)
        if media.sound is not None:
            source, name = media.sound
            try:
                self._copy(source, name)
            except InputError as error:
                self._errors.keep([error_to_json(None, ErrorRecord.of(error, SOUND_REMARK))])
        self._clips.add(clip)

    def _copy(self, source: Path, name: str) -> None:
        if not (self._run.path / name).is_file():
            self._run.write_bytes(name, read_bytes(source), durable=False)
