"""Sound set two: a user's recordings, ``sounds/`` of an asset folder.

A sound's label is the name of the sub-folder it lies in; directly in ``sounds/`` it is the ``name`` of its row in
``sounds/names.csv`` (columns ``file,name``). Noun and verb come from ``sounds/verbs.csv`` (columns
``label,noun,verb``), else from a short list of common sounds. Every file that cannot be used, or that repeats an
earlier one, is an ``ErrorRecord``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from auscult.cases.named_files import Contents
from auscult.cases.scenes.sound import listing
from auscult.cases.scenes.sound.clips import LIMITS, fitted, read_clip
from auscult.cases.scenes.sound.generated import sample_count
from auscult.cases.scenes.sound.loudness import finished
from auscult.cases.scenes.sound.source import SoundSet, Source
from auscult.cases.scenes.sound.words import default_words
from auscult.cases.walk import walk
from auscult.errors import ErrorRecord, InputError
from auscult.media.limits import Limits
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSounds:
    """A user's recordings.

    A recording is brought to one channel and to the reference loudness; silence around it and long pauses inside are
    left out. A span longer than the recording repeats it.

    Attributes:
        name: The folder's name.
        files: Label to instances to files, in natural order.
        words: Label to noun and verb.
        limits: On each file.
    """

    name: str
    files: Mapping[str, Mapping[str, Path]]
    words: Mapping[str, tuple[str, str]]
    limits: Limits = LIMITS
    meta: Metadata = Metadata(
        summary="recordings from a folder",
        goal="scenes that sound like the world",
        modality="sound",
        source="the user's files; loudness after ITU-R BS.1770-4",
        truth="label by sub-folder or names.csv",
    )

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Label to the names of its files, relative to ``sounds/``; both in natural order."""
        return {label: tuple(files) for label, files in self.files.items()}

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> Source:  # noqa: ARG002 - a recording is as it is
        """What a recording is called; nothing is free about it.

        Raises:
            InputError: There is no such recording.
        """
        self._path(label, instance)
        noun, verb = self.words.get(label) or default_words(label)
        return Source(label=label, instance=instance, noun=noun, verb=verb)

    def samples(self, source: Source, *, seconds: float, rate_hz: int) -> Samples:
        """The recording alone, for one span, faded at both ends.

        Args:
            source: As ``source`` gave it.
            seconds: Length, up to 600.
            rate_hz: 8,000 to 192,000.

        Returns:
            (round(seconds * rate_hz),) float32 at ``REFERENCE_DB``, below 1 in size.

        Raises:
            InputError: The source is none of this folder, or its file has changed.
            ValueError: Length or rate is out of range.
        """
        count = sample_count(seconds, rate_hz)
        clip = read_clip(self._path(source.label, source.instance), limits=self.limits)
        if count == 0:
            return np.zeros(0, dtype=np.float32)
        return finished(fitted(clip, count=count, rate_hz=rate_hz), rate_hz=rate_hz)

    def _path(self, label: str, instance: str) -> Path:
        path = self.files.get(label, {}).get(instance)
        if path is None:
            raise InputError(
                f"there is no sound {instance[:80]!r} of label {label[:60]!r}",
                hint="was the asset folder changed since the scenes were planned?",
            )
        return path


def open_sounds(root: Path, *, limits: Limits = LIMITS) -> tuple[SoundSet, tuple[ErrorRecord, ...]]:
    """Open ``sounds/`` of an asset folder; every file is read once to see whether it can be used.

    Args:
        root: The asset folder; links may lead anywhere inside it.
        limits: On each file.

    Returns:
        The set, which may be empty, and an error for each file that was left out (broken, silent, too short, without a
        name, too large, or the same as an earlier one) and for each row of a list that is of no use.

    Raises:
        UsageError: There is no folder ``sounds/``, or it holds files that need the extra `video`, which is not
            installed.
    """
    tree = walk(Path(root) / "sounds", root=Path(root))
    named, name_errors = listing.labels(tree)
    words, word_errors = listing.words(tree)
    errors = [*tree.errors, *name_errors, *word_errors]
    files: dict[str, dict[str, Path]] = {}
    contents = Contents()
    for one in named:
        try:
            clip = read_clip(one.path, limits=limits)
            contents.add(clip.samples, one, rate_hz=clip.rate_hz)
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
            continue
        files.setdefault(one.name, {})[one.file] = one.path
    name = Path(root).resolve().name
    return FolderSounds(name=name, files=files, words=words, limits=limits), tuple(errors)
