"""Recordings and pictures of a folder as a catalogue.

A file that the committed split knows, by a hash of its bytes, has its class, recording and part from there, wherever it
lies. Any other is read from a plain layout: ``sounds/<label>/<file>`` and ``pictures/<label>/<file>``, where files that
differ in a number at the end of their name are of one recording. Files that cannot be used are left out and reported.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np

from auscult.cases.ids import shown
from auscult.cases.named_files import plain
from auscult.cases.walk import Tree, walk
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.paths import read_bytes
from auscult.media.sound import SOUND_SUFFIXES
from auscult.media.wav import Sound
from auscult.record.codec import from_json, load
from auscult.record.digest import digest_file, digest_json
from auscult.scenes.mixtures.catalogue import UNSEEN_SHARE, Clip, Part, Picture, part_of, share_of
from auscult.scenes.mixtures.classes import Classes, committed_classes
from auscult.scenes.sound.folder import fitted, read_clip, resampled
from auscult.types import Samples

SPLIT: Final = Path(__file__).with_name("split.json")
PLACES: Final = ("sounds", "pictures", "audio", "sound/recordings", "av/image_sound_pairs", "images/stamps_gpl2")
"""Where in a folder files are looked for; of a folder without any of them, everywhere in it."""

_NUMBER = re.compile(r"[ _-]*\d+[a-z]?$")
_GAP_S = 0.08
_KEPT_BYTES = 268_435_456


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedSplit:
    """Which recordings are for what."""

    rule: str
    unseen: tuple[str, ...]  # classes that training never uses
    recordings: Mapping[str, Part]
    files: Mapping[str, tuple[str, str, str]]  # hash of the bytes to class, recording and voice
    pictures: Mapping[str, tuple[str, Part]] = field(default_factory=dict)  # hash of the bytes to class and part


@cache
def committed_split() -> CommittedSplit:
    """The split that the package has."""
    return from_json(CommittedSplit, load(SPLIT.read_bytes()), exact=True)


def content_key(path: Path) -> str:
    """By what the committed split knows a file: 16 hexadecimal digits of a hash of its bytes."""
    return digest_file(path)[:16]


class RecordedCatalogue:
    """A folder's recordings, read when they are needed and kept for a while."""

    classes: Classes = committed_classes()

    def __init__(
        self, name: str, clips: Mapping[Clip, Path], pictures: Mapping[Picture, Path], *, digest: str = ""
    ) -> None:
        self.name, self.digest = name, digest
        self.clips, self.pictures = tuple(clips), tuple(pictures)
        self._paths = {entry.id: path for found in (clips, pictures) for entry, path in found.items()}
        self._kept: OrderedDict[tuple[str, int], Samples] = OrderedDict()

    def samples(self, ids: Sequence[str], *, seconds: float, offset: float, rate_hz: int) -> Samples:
        """Clips one after another with short pauses, a single one repeated without a seam."""
        wanted = round(seconds * rate_hz)
        pieces: list[Samples] = []
        for name in ids:
            pieces += [self._clip(name, rate_hz), np.zeros(round(_GAP_S * rate_hz), dtype=np.float32)]
            if sum(piece.size for piece in pieces) > wanted:
                break
        sound = pieces[0] if len(pieces) == 2 else np.concatenate(pieces)
        start = int(offset * max(0, sound.size - wanted))
        return fitted(Sound(samples=sound[None, start:], rate_hz=rate_hz), count=wanted, rate_hz=rate_hz)

    def picture(self, name: str) -> bytes:
        """A picture's file."""
        return read_bytes(self._path(name))

    def _path(self, name: str) -> Path:
        if name not in self._paths:
            raise InputError(
                f"there is no file {shown(name)} in {self.name}",
                expected="a name that `make mixtures` wrote from this folder",
                hint="was the folder changed since the mixtures were planned?",
            )
        return self._paths[name]

    def _clip(self, name: str, rate_hz: int) -> Samples:
        key = name, rate_hz
        if key not in self._kept:
            clip = read_clip(self._path(name))
            peak = max(float(np.max(np.abs(clip.samples))), 1e-9)
            self._kept[key] = resampled(clip.samples[0] / peak, from_hz=clip.rate_hz, to_hz=rate_hz)
            while sum(kept.nbytes for kept in self._kept.values()) > _KEPT_BYTES and len(self._kept) > 1:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def open_recorded(root: Path) -> tuple[RecordedCatalogue, tuple[ErrorRecord, ...]]:
    """List a folder's recordings and pictures, with the errors of what cannot be used.

    Raises:
        UsageError: There is no such folder, or no recording in it can be used.
    """
    if not root.is_dir():
        raise UsageError("there is no such folder", path=root, expected="a folder with sounds/<label>/ and recordings")
    errors: list[ErrorRecord] = []
    clips: dict[Clip, Path] = {}
    pictures: dict[Picture, Path] = {}
    first: dict[str, str] = {}
    for name, path in _files(root, errors):
        try:
            key = content_key(path)
            if first.setdefault(key, name) != name:
                raise _repeated(name, first[key], path)
            if path.suffix.lower() in SOUND_SUFFIXES:
                clips |= dict.fromkeys(_clip(name, path, key=key), path)
            else:
                pictures |= dict.fromkeys(_picture(name, path, key=key), path)
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    if not clips:
        raise UsageError(
            "the folder holds no recording that can be used",
            path=root,
            expected="sounds/<label>/ with recordings (WAV; FLAC, Ogg and MP3 with the extra `sound`)",
            hint=errors[0].error if errors else "name sub-folders of sounds/ after what is heard",
        )
    digest = digest_json(sorted(first))
    return RecordedCatalogue(root.resolve().name, clips, pictures, digest=digest), tuple(errors)


def _repeated(name: str, first: str, path: Path) -> InputError:
    return InputError(
        f"{shown(name)} has the same content as {shown(first)}",
        expected="files that differ, so that none is in two parts under two names",
        hint="remove one of the two; the first is used",
        path=path,
    )


def _files(root: Path, errors: list[ErrorRecord]) -> Iterator[tuple[str, Path]]:
    """Sounds and pictures by their names relative to the folder."""
    places = [place for place in PLACES if (root / place).is_dir()] or [""]
    for place in places:
        tree: Tree = walk(root / place, root=root)
        errors += tree.errors
        for name, path in tree.with_suffix(SOUND_SUFFIXES | FRAME_SUFFIXES).items():
            yield f"{place}/{name}".lstrip("/"), path


def _clip(name: str, path: Path, *, key: str) -> Iterator[Clip]:
    """The clip of a file; none where neither the committed split nor its place says what it is."""
    split = committed_split()
    if key in split.files:
        label, recording, voice = split.files[key]
        part, seen = split.recordings[recording], label not in split.unseen
        yield Clip(id=name, label=label, recording=recording, voice=voice, part=part, seen=seen)
    elif name.startswith("sounds/"):
        label = _label(name, path)
        read_clip(path)
        recording = _NUMBER.sub("", str(PurePosixPath(name).with_suffix("")))
        seen = label not in split.unseen and (label in committed_classes().classes or share_of(label) >= UNSEEN_SHARE)
        part = part_of(recording, seen=seen)
        yield Clip(id=name, label=label, recording=recording, voice=recording, part=part, seen=seen)


def _picture(name: str, path: Path, *, key: str) -> Iterator[Picture]:
    split = committed_split()
    if key in split.pictures:
        label, part = split.pictures[key]
        yield Picture(id=name, label=label, part=part)
    elif name.startswith("pictures/"):
        yield Picture(id=name, label=_label(name, path), part=part_of(name, seen=True))


def _label(name: str, path: Path) -> str:
    folder = PurePosixPath(name).parent.name
    if len(PurePosixPath(name).parts) < 3:
        raise InputError("the file has no label", expected="a sub-folder named after what is heard", path=path)
    return plain(folder.casefold(), "the label", path=path)
