"""What mixtures are made of: clips and pictures by class, each recording in one part of the split.

Sounds are generated, or of a folder. A file that the committed split knows, by a hash of its bytes, has its class,
recording and part from there, wherever it lies. Any other is read from a plain layout, ``sounds/<label>/<file>`` and
``pictures/<label>/<file>``, where files that differ in a number at the end of their name are of one recording. The part
of a recording then follows from a hash of its name; a quarter of the classes is unseen, and for tests alone.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

import numpy as np

from auscult.cases.ids import shown
from auscult.cases.named_files import plain
from auscult.cases.walk import walk
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.paths import read_bytes
from auscult.media.sound import SOUND_SUFFIXES
from auscult.media.wav import Sound
from auscult.record.codec import from_json, load
from auscult.record.digest import digest_file, digest_json
from auscult.rng import generator
from auscult.scenes.mixtures.classes import committed_classes
from auscult.scenes.sound import generated
from auscult.scenes.sound.folder import fitted, read_clip, resampled
from auscult.types import Samples

Part: TypeAlias = Literal["train", "calibration", "test"]
PARTS: Final[tuple[Part, ...]] = ("train", "calibration", "test")
UNSEEN_SHARE: Final = 0.25
SPLIT: Final = Path(__file__).with_name("split.json")
PLACES: Final = ("sounds", "pictures", "audio", "sound/recordings", "av/image_sound_pairs", "images/stamps_gpl2")
"""Where in a folder files are looked for; of a folder without any of them, everywhere in it."""

_PART_ENDS: Final[Mapping[Part, float]] = {"train": 0.5, "calibration": 0.7, "test": 1.0}
_NUMBER = re.compile(r"[ _-]*\d+[a-z]?$")
_GAP_S = 0.08
_KEPT_BYTES = 268_435_456


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A file of sound, or a generated sound."""

    id: str  # unique in its catalogue
    label: str  # its class
    recording: str  # clips of one recording or series have it in common
    voice: str  # clips that one source may play one after another: of a speaker, an instrument, a recording
    part: Part
    seen: bool = True  # whether its class is one that training may use


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of what makes a sound."""

    id: str  # unique in its catalogue, clips included
    label: str
    part: Part


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


def share_of(name: str) -> float:
    """A number from 0 to 1 that depends on a name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()) / 2**64


def part_of(recording: str, *, seen: bool) -> Part:
    """The part of a recording that the committed split does not have."""
    share = share_of(recording) if seen else 1.0
    return next(part for part in PARTS if share <= _PART_ENDS[part])


class Catalogue:
    """Clips and pictures; files are read when they are needed, and sounds kept for a while.

    Args:
        name: For the record.
        clips: Each clip's file; None for a generated sound.
        pictures: Each picture's file.
        digest: Hash of the files.
    """

    def __init__(
        self,
        name: str,
        clips: Mapping[Clip, Path | None],
        *,
        pictures: Mapping[Picture, Path] | None = None,
        digest: str = "",
    ) -> None:
        self.name, self.digest, self.classes = name, digest, committed_classes()
        self.clips, self.pictures = tuple(clips), tuple(pictures or ())
        self._clips = {clip.id: clip for clip in clips}
        self._paths = {clip.id: path for clip, path in clips.items()}
        self._paths |= {picture.id: path for picture, path in (pictures or {}).items()}
        self._kept: OrderedDict[tuple[str, int], Samples] = OrderedDict()

    def samples(self, ids: Sequence[str], *, seconds: float, offset: float, rate_hz: int) -> Samples:
        """Clips one after another, (samples,) float32 of any level, repeated where they are too short; pure.

        Of longer ones ``offset``, 0 to 1, says how late they begin. A generated sound is as long as asked for.
        """
        wanted, pieces = round(seconds * rate_hz), list[Samples]()
        if self._path(ids[0]) is None:
            label = self._clips[ids[0]].label
            source = generated.GENERATED.source(generator(0, "mixture", ids[0]), label, instance=ids[0])
            return generated.GENERATED.samples(source, seconds=seconds, rate_hz=rate_hz)
        for name in ids:
            pieces += [self._clip(name, rate_hz), np.zeros(round(_GAP_S * rate_hz), dtype=np.float32)]
            if sum(piece.size for piece in pieces) > wanted:
                break
        sound = pieces[0] if len(pieces) == 2 else np.concatenate(pieces)
        start = int(offset * max(0, sound.size - wanted))
        return fitted(Sound(samples=sound[None, start:], rate_hz=rate_hz), count=wanted, rate_hz=rate_hz)

    def picture(self, name: str) -> bytes:
        """A picture's file."""
        return read_bytes(self._path(name) or Path())

    def _path(self, name: str) -> Path | None:
        if name not in self._paths:
            raise InputError(
                f"there is no {shown(name)} in {self.name}",
                expected="a name that `make mixtures` wrote, of the same --assets",
                hint="was the folder changed since the mixtures were planned?",
            )
        return self._paths[name]

    def _clip(self, name: str, rate_hz: int) -> Samples:
        key = name, rate_hz
        if key not in self._kept:
            clip = read_clip(self._path(name) or Path())
            loud = clip.samples[0] / max(float(np.max(np.abs(clip.samples))), 1e-9)
            self._kept[key] = resampled(loud, from_hz=clip.rate_hz, to_hz=rate_hz)
            while sum(kept.nbytes for kept in self._kept.values()) > _KEPT_BYTES and len(self._kept) > 1:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _generated() -> Iterator[Clip]:
    for label, names in generated.GENERATED.instances().items():
        seen = share_of(label) >= UNSEEN_SHARE
        for name in names:
            yield Clip(id=name, label=label, recording=name, voice=name, part=part_of(name, seen=seen), seen=seen)


GENERATED: Final = Catalogue("generated", dict.fromkeys(_generated()))


def open_recorded(root: Path) -> tuple[Catalogue, tuple[ErrorRecord, ...]]:
    """List a folder's recordings and pictures, with the errors of what cannot be used.

    Raises:
        UsageError: There is no such folder, or no recording in it can be used.
    """
    if not root.is_dir():
        raise UsageError("there is no such folder", path=root, expected="a folder with sounds/<label>/ and recordings")
    errors: list[ErrorRecord] = []
    clips: dict[Clip, Path | None] = {}
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
    return Catalogue(root.resolve().name, clips, pictures=pictures, digest=digest_json(sorted(first))), tuple(errors)


def _repeated(name: str, first: str, path: Path) -> InputError:
    problem = f"{shown(name)} has the same content as {shown(first)}"
    expected = "files that differ, so that none is in two parts under two names"
    return InputError(problem, expected=expected, hint="remove one of the two; the first is used", path=path)


def _files(root: Path, errors: list[ErrorRecord]) -> Iterator[tuple[str, Path]]:
    """Sounds and pictures by their names relative to the folder."""
    for place in [place for place in PLACES if (root / place).is_dir()] or [""]:
        tree = walk(root / place, root=root)
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
        read_clip(path)  # a file that cannot be used is told now
        recording = _NUMBER.sub("", str(PurePosixPath(name).with_suffix("")))
        seen = label not in split.unseen and (label in committed_classes().classes or share_of(label) >= UNSEEN_SHARE)
        part = part_of(recording, seen=seen)
        yield Clip(id=name, label=label, recording=recording, voice=recording, part=part, seen=seen)


def _picture(name: str, path: Path, *, key: str) -> Iterator[Picture]:
    if key in committed_split().pictures:
        label, part = committed_split().pictures[key]
        yield Picture(id=name, label=label, part=part)
    elif name.startswith("pictures/"):
        yield Picture(id=name, label=_label(name, path), part=part_of(name, seen=True))


def _label(name: str, path: Path) -> str:
    parts = PurePosixPath(name).parts
    if len(parts) < 3:
        raise InputError("the file has no label", expected="a sub-folder named after what is heard", path=path)
    return plain(parts[-2].casefold(), "the label", path=path)
