"""What mixtures are made of: clips and pictures by class, each recording in one part of the split.

Sounds are generated, or of a folder. A file that the committed split knows, by a hash of its bytes, has its class,
recording and part from there, wherever it lies. Any other is read from a plain layout, ``sounds/<label>/<file>`` and
``pictures/<label>/<file>``, where files that differ in a number at the end of their name are of one recording, unless
the name is a number alone. The part of a recording then follows from a hash of its name; a quarter of the classes is
unseen, and for tests alone.

A prompt names a class if it is one of the class's own, specific (``dog barking``) or general (``dog``), or one of a
group's or of a whole domain's. It so names a set of classes, and in a mixture every source of one of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

import numpy as np

from auscult.cases.ids import shown
from auscult.cases.named_files import Contents, NamedFile, plain
from auscult.cases.walk import walk
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.language.lexicon import ing
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.sound import SOUND_SUFFIXES
from auscult.media.wav import Sound
from auscult.record.codec import from_json, load
from auscult.record.digest import digest_file, digest_json
from auscult.rng import generator
from auscult.scenes.sound import generated
from auscult.scenes.sound.folder import default_words, fitted, read_clip, resampled
from auscult.types import PROMPT_SETTINGS, PromptSetting, Samples, SoundDomain

WHOLE: Final[Mapping[PromptSetting, tuple[str, ...]]] = {
    "speech": ("speech", "people speaking"),
    "music": ("music", "music playing"),
}
"""Prompts of the two settings that ask for all sources of a domain."""

_DOMAINS: Final[tuple[SoundDomain, ...]] = ("speech", "speech", "music", "music", "sound")
DOMAIN_OF: Final[Mapping[PromptSetting, SoundDomain]] = dict(zip(PROMPT_SETTINGS, _DOMAINS, strict=True))
ALONE: Final[Mapping[SoundDomain, PromptSetting]] = {
    "speech": "speaker",
    "music": "instrument",
    "sound": "general_sound",
}
"""The setting that asks for a source of a domain alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundClass:
    """What is known of a class of sounds."""

    domain: SoundDomain = "sound"
    groups: tuple[str, ...] = ()
    specific: tuple[str, ...] = ()  # what sounds and how, in small letters
    general: tuple[str, ...] = ()  # what sounds
    also: tuple[str, ...] = ()  # prompts of other classes that may be meant to name it


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundClasses:
    """The table that the package has."""

    classes: Mapping[str, SoundClass]
    groups: Mapping[str, tuple[str, ...]]  # group to its prompts


@cache
def committed_classes() -> SoundClasses:
    """The classes and groups of ``classes.json``."""
    return from_json(SoundClasses, load(Path(__file__).with_name("classes.json").read_bytes()), exact=True)


def class_of(label: str) -> SoundClass:
    """A class; one that is not listed has its name as a prompt, and what its maker does where that is known."""
    sound_class = committed_classes().classes.get(label)
    if sound_class is None:
        verb = default_words(label)[1]
        sound_class = SoundClass(specific=() if "sounds" in verb else (f"{label} {ing(verb)}",), general=(label,))
    return sound_class


def prompts_of(label: str) -> Iterator[tuple[str, bool]]:
    """The prompts that name a class, and whether each is specific."""
    entry, groups = class_of(label), committed_classes().groups
    yield from ((text, True) for text in entry.specific)
    yield from ((text, False) for text in entry.general)
    yield from ((text, False) for group in entry.groups for text in groups.get(group, ()))


def named(text: str, labels: Iterable[str]) -> frozenset[str]:
    """The classes among some that a prompt names; upper and lower case are one."""
    folded = text.casefold().strip()
    domains = {DOMAIN_OF[setting] for setting, texts in WHOLE.items() if folded in texts}
    return frozenset(
        label
        for label in labels
        if class_of(label).domain in domains or any(folded == prompt for prompt, _ in prompts_of(label))
    )


def unclear(text: str, labels: Iterable[str]) -> frozenset[str]:
    """Those of some classes that a prompt may or may not name, as ``horse`` may name the sound of hooves."""
    folded, classes = text.casefold().strip(), tuple(labels)
    return frozenset(label for label in classes if folded in class_of(label).also) - named(text, classes)


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
    """A file of sound, a generated sound, or a picture of what makes one."""

    id: str  # unique in its catalogue
    label: str  # its class
    recording: str  # clips of one recording or series have it in common
    voice: str  # clips that one source may play one after another: of a speaker, an instrument, a recording
    part: Part
    seen: bool  # whether its class is one that training may use
    path: Path | None = None  # None of a generated sound


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedSplit:
    """Which recordings are for what."""

    rule: str
    unseen: tuple[str, ...]  # classes that training never uses
    recordings: Mapping[str, Part]
    files: Mapping[str, tuple[str, str, str]]  # hash of the bytes to class, recording and voice; pictures too


@cache
def committed_split() -> CommittedSplit:
    """The split that the package has."""
    return from_json(CommittedSplit, load(SPLIT.read_bytes()), exact=True)


def content_key(path: Path) -> str:
    """The key of a file in the committed split: 16 hexadecimal digits of a hash of its bytes."""
    return digest_file(path)[:16]


def share_of(name: str) -> float:
    """A number from 0 to 1 that depends on a name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()) / 2**64


def part_of(recording: str, *, seen: bool) -> Part:
    """The part of a recording that the committed split does not have."""
    share = share_of(recording) if seen else 1.0
    return next(part for part in PARTS if share <= _PART_ENDS[part])


class Catalogue:
    """Clips and pictures; sounds that were read are kept for a while."""

    def __init__(self, name: str, clips: Iterable[Clip], *, digest: str = "") -> None:
        self.name, self.digest = name, digest
        self._by_id = {clip.id: clip for clip in clips}
        self.pictures, self.clips = list[Clip](), list[Clip]()
        for clip in self._by_id.values():
            is_picture = clip.path is not None and clip.path.suffix.lower() in FRAME_SUFFIXES
            (self.pictures if is_picture else self.clips).append(clip)
        self._kept: dict[tuple[str, int], Samples] = {}

    def clip(self, name: str) -> Clip:
        """The clip or picture of an id; an InputError where there is none."""
        if name not in self._by_id:
            raise InputError(
                f"there is no {shown(name)} in {self.name}",
                expected="a name that `make mixtures` wrote, of the same --assets",
                hint="was the folder changed since the mixtures were planned?",
            )
        return self._by_id[name]

    def samples(self, ids: Sequence[str], *, seconds: float, offset: float, rate_hz: int) -> Samples:
        """Clips one after another, (samples,) float32 of any level, repeated where they are too short; pure.

        Of longer ones ``offset``, 0 to 1, says how late they begin. A generated sound is as long as asked for.
        """
        first = self.clip(ids[0])
        if first.path is None:
            source = generated.GENERATED.source(generator(0, "mixture", first.id), first.label, instance=first.id)
            return generated.GENERATED.samples(source, seconds=seconds, rate_hz=rate_hz)
        count, pieces = round(seconds * rate_hz), list[Samples]()
        for name in ids:
            pieces += [self._recording(name, rate_hz), np.zeros(round(_GAP_S * rate_hz), dtype=np.float32)]
            if sum(piece.size for piece in pieces) > count:
                break
        sound = pieces[0] if len(pieces) == 2 else np.concatenate(pieces)
        start = int(offset * max(0, sound.size - count))
        return fitted(Sound(samples=sound[None, start:], rate_hz=rate_hz), count=count, rate_hz=rate_hz)

    def _recording(self, name: str, rate_hz: int) -> Samples:
        if (name, rate_hz) not in self._kept:
            clip = read_clip(self.clip(name).path or Path(name))
            loud = clip.samples[0] / max(float(np.max(np.abs(clip.samples))), 1e-9)
            if sum(sound.nbytes for sound in self._kept.values()) > _KEPT_BYTES:
                self._kept.clear()
            self._kept[name, rate_hz] = resampled(loud, from_hz=clip.rate_hz, to_hz=rate_hz)
        return self._kept[name, rate_hz]


def _generated() -> Iterator[Clip]:
    for label, names in generated.GENERATED.instances().items():
        seen = share_of(label) >= UNSEEN_SHARE
        for name in names:
            yield Clip(id=name, label=label, recording=name, voice=name, part=part_of(name, seen=seen), seen=seen)


GENERATED: Final = Catalogue("generated", _generated())


def open_recorded(root: Path) -> tuple[Catalogue, tuple[ErrorRecord, ...]]:
    """List a folder's recordings and pictures, with the errors of what cannot be used.

    ``UsageError`` where there is no such folder, or no recording in it can be used.
    """
    errors: list[ErrorRecord] = []
    clips, keys, contents = list[Clip](), list[str](), Contents()
    for place in [place for place in PLACES if (root / place).is_dir()] or [""]:
        tree = walk(root / place, root=root)
        errors += tree.errors
        for file, path in tree.with_suffix(SOUND_SUFFIXES | FRAME_SUFFIXES).items():
            name = f"{place}/{file}".lstrip("/")
            try:
                keys.append(content_key(path))
                contents.add(np.frombuffer(keys[-1].encode(), np.uint8), NamedFile(name, path, ""))
                clips += _clip(name, path, key=keys[-1])
            except InputError as error:
                errors.append(ErrorRecord.of(error, "read"))
    catalogue = Catalogue(root.resolve().name, clips, digest=digest_json(sorted(keys)))
    if not catalogue.clips:
        raise UsageError(
            "the folder holds no recording that can be used",
            path=root,
            expected="sounds/<label>/ with recordings (WAV; FLAC, Ogg and MP3 with the extra `sound`)",
            hint=errors[0].error if errors else "name sub-folders of sounds/ after what is heard",
        )
    return catalogue, tuple(errors)


def _clip(name: str, path: Path, *, key: str) -> Iterator[Clip]:
    """The clip or picture of a file; none where neither the committed split nor its place says what it is."""
    split, place = committed_split(), PurePosixPath(name)
    if key in split.files:
        label, recording, voice = split.files[key]
        part, seen = split.recordings[recording], label not in split.unseen
    elif place.parts[0] not in {"sounds", "pictures"}:
        return
    elif len(place.parts) < 3:
        raise InputError("the file has no label", expected="a sub-folder named after what is heard", path=path)
    else:
        label = plain(place.parts[-2].casefold(), "the label", path=path)
        if place.parts[0] == "sounds":
            read_clip(path)  # a file that cannot be used is told now
        base = str(place.with_suffix(""))
        recording = voice = _NUMBER.sub("", base)
        if recording.endswith("/"):  # the number is the whole name
            recording = voice = base
        seen = label not in split.unseen and (label in committed_classes().classes or share_of(label) >= UNSEEN_SHARE)
        part = part_of(recording, seen=seen)
    yield Clip(id=name, label=label, recording=recording, voice=voice, part=part, seen=seen, path=path)
