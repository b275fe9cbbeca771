"""Sound set two: a user's recordings, ``sounds/`` of an asset folder.

A sound's label is the name of the sub-folder it lies in; directly in ``sounds/`` it is the ``name`` of its row in
``sounds/names.csv`` (columns ``file,name``). Noun and verb come from ``sounds/verbs.csv`` (columns
``label,noun,verb``), else from a short list of common sounds. Every file that cannot be used, or that repeats an
earlier one, is an ``ErrorRecord``.

For a label that is not listed the noun is the label, and the verb says that its maker makes such sounds: a verb that
fits every sound, such as ``sounds``, would not tell one thing from another. It needs no article, whose form would hang
on how the label is spoken (``MP3 player``). A user's ``verbs.csv`` goes before both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, gcd
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.cases.named_files import Contents, NameRow, first_rows, named_files, noun, plain, table
from auscult.cases.walk import Tree, walk
from auscult.errors import ErrorRecord, InputError
from auscult.media.limits import Limits
from auscult.media.sound import SOUND_SUFFIXES, read_sound
from auscult.media.wav import Sound
from auscult.scenes.sound.mix import SoundSet, SoundSource, edged, fast_length, finished
from auscult.types import Samples

VERBS: Final = "verbs.csv"


def read_words(tree: Tree) -> tuple[Mapping[str, tuple[str, str]], list[ErrorRecord]]:
    """Label to noun and verb, from ``verbs.csv`` (columns ``label,noun,verb``); nothing where there is no such file."""
    listed, errors = table(tree, VERBS, columns=("label", "noun", "verb"))
    path = tree.folder / VERBS
    rows: list[NameRow] = []
    for row in listed:
        try:
            rows.append(_cleaned(row, path))
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    unique, repeats = first_rows(rows, path=path)
    return {label: (row.cells[1], row.cells[2]) for label, row in unique.items()}, [*errors, *repeats]


def _cleaned(row: NameRow, path: Path) -> NameRow:
    label = noun(row.cells[0], "the label", path=path, line=row.line)
    name, verb = (
        plain(cell, f"the {column} of {label!r}", path=path, line=row.line)
        for column, cell in zip(("noun", "verb"), row.cells[1:], strict=True)
    )
    return NameRow((label, name, verb), row.line)


_CALLS: Final = (
    *("bear growl", "cat meow", "chicken cluck", "cow moo", "cricket chirp", "crow caw", "dog bark", "donkey bray"),
    *("door creak", "duck quack", "frog croak", "goat bleat", "goose honk", "horse neigh", "lion roar"),
    *("mouse squeak", "owl hoot", "pig grunt", "sheep bleat", "tiger roar", "turkey gobble", "wolf howl"),
)
"""A maker and its sound, which with an s is what the maker does."""

_MAKERS: Final[Mapping[str, tuple[str, str]]] = {
    **{maker: (call, f"{call}s") for maker, call in map(str.split, _CALLS)},
    **{name: (name, "plays") for name in ("bassoon", "cello", "flute", "guitar", "piano", "trumpet", "violin")},
    "alarm": ("alarm", "blares"),
    "baby": ("crying", "cries"),
    "bee": ("buzz", "buzzes"),
    "bell": ("bell", "rings"),
    "bird": ("birdsong", "sings"),
    "car": ("engine", "revs"),
    "chainsaw": ("chainsaw", "roars"),
    "clock": ("ticking", "ticks"),
    "cymbal": ("cymbal", "crashes"),
    "drill": ("drill", "whirs"),
    "drum": ("drum", "booms"),
    "elephant": ("trumpeting", "trumpets"),
    "fire": ("crackling", "crackles"),
    "gong": ("gong", "rings"),
    "helicopter": ("helicopter", "clatters"),
    "horn": ("horn", "honks"),
    "monkey": ("screech", "screeches"),
    "phone": ("ringing", "rings"),
    "rain": ("rain", "patters"),
    "rooster": ("crowing", "crows"),
    "saw": ("saw", "rasps"),
    "sea": ("surf", "surges"),
    "siren": ("siren", "wails"),
    "snake": ("hiss", "hisses"),
    "telephone": ("ringing", "rings"),
    "thunder": ("thunder", "rolls"),
    "train": ("train", "rumbles"),
    "vacuum": ("vacuum cleaner", "drones"),
    "water": ("water", "splashes"),
    "whistle": ("whistle", "whistles"),
    "wind": ("wind", "howls"),
}

# Labels that say maker and sound, as data sets write them.
_EVENTS: Final[Mapping[str, tuple[str, str]]] = {
    "baby cry": ("crying", "cries"),
    "church bells": ("bells", "rings"),
    "clapping": ("clapping", "claps"),
    "clock tick": ("ticking", "ticks"),
    "coughing": ("cough", "coughs"),
    "crying baby": ("crying", "cries"),
    "dog bark": ("bark", "barks"),
    "fire crackling": ("crackling", "crackles"),
    "laughing": ("laughter", "laughs"),
    "person sneeze": ("sneeze", "sneezes"),
    "sea waves": ("surf", "surges"),
    "snoring": ("snore", "snores"),
    "speech": ("voice", "speaks"),
    "walking": ("footsteps", "walks"),
}


def default_words(label: str) -> tuple[str, str]:
    """Noun and verb of a label: its own row, else that of its last word (``brown dog``), else words made of the label.

    Example:
        >>> default_words("brown dog"), default_words("kettle")
        (('bark', 'barks'), ('kettle', 'makes kettle sounds'))
    """
    plain = label.lower()
    for key in (plain, plain.split()[-1] if plain.split() else ""):
        words = _EVENTS.get(key) or _MAKERS.get(key)
        if words:
            return words
    return label, f"makes {label} sounds"


_EDGE = 0.92
_PAD_S = 0.02


def resampled(samples: Samples, *, from_hz: int, to_hz: int) -> Samples:
    """A sound (samples,) at another rate, by way of the spectrum: zero phase, nothing left above the lower half rate.

    Gives (ceil(samples * to_hz / from_hz),) float32, sample k at second k / to_hz. The pass band ends at 0.92 of the
    lower half rate and goes to nothing by a raised cosine, which is a sinc filter with a smooth window. The sound is
    padded, so that its end does not run into its beginning.
    """
    if from_hz == to_hz or len(samples) == 0:
        return np.asarray(samples, dtype=np.float32)
    common = gcd(from_hz, to_hz)
    # Both lengths are whole multiples, so that the ratio of the rates is exact.
    blocks = fast_length(ceil((len(samples) / from_hz + _PAD_S) * common))
    before, after = blocks * (from_hz // common), blocks * (to_hz // common)
    spectrum = np.fft.rfft(samples, before)
    bins = min(before, after) // 2 + 1
    share = np.arange(bins) / max(bins - 1, 1)
    slope = np.clip((1.0 - share) / (1.0 - _EDGE), 0.0, 1.0)
    output = np.zeros(after // 2 + 1, dtype=np.complex128)
    output[:bins] = spectrum[:bins] * (0.5 - 0.5 * np.cos(np.pi * slope))
    wave = np.fft.irfft(output, after) * (after / before)
    return wave[: ceil(len(samples) * to_hz / from_hz)].astype(np.float32)


SHORTEST_S = 0.05
"""A recording in which less is heard is too short to be recognised."""

LONGEST_PAUSE_S = 0.2
"""Longer pauses inside a recording are cut to this, so that one span is heard as one."""

LIMITS = Limits(max_bytes=134_217_728, max_seconds=900.0, max_samples=60_000_000)

_FRAME_S = 0.01
_TAIL_FRAMES = 3
_HEARD_DB = 25.0
_ONSET_DB = 18.0
_LEAD_FRAMES = 1
_SILENT = 1e-3
_JOIN_S = 0.03
_STRIKE_S = 0.6
_CANCELLED = 0.2


def read_clip(path: Path, *, limits: Limits = LIMITS) -> Sound:
    """Read a recording as (1, samples) float32 at its own rate and level, without silence around it and long pauses.

    Heard is what lies, over 10 ms, at most 25 dB below the loudest. The clip begins where it first comes within 18 dB,
    so that a span starts with its sound and not with the noise before it.
    """
    sound = read_sound(path, limits=limits)
    mono = _to_mono(sound.samples)
    if float(np.max(np.abs(mono))) < _SILENT:
        raise InputError("the sound is silent", expected="a sound louder than -60 dB", path=path)
    size = max(1, round(_FRAME_S * sound.rate_hz))
    frames = np.zeros((-(-len(mono) // size), size), dtype=np.float32)
    frames.reshape(-1)[: len(mono)] = mono
    heard = _heard(frames)
    if len(heard) * _FRAME_S < SHORTEST_S:
        raise InputError(
            f"only {len(heard) * _FRAME_S:.2f} s of the sound are heard",
            expected=f"at least {SHORTEST_S} s",
            path=path,
        )
    return Sound(samples=frames[_kept(heard, len(frames))].reshape(1, -1), rate_hz=sound.rate_hz)


def fitted(clip: Sound, *, count: int, rate_hz: int) -> Samples:
    """Cut a clip to ``count`` samples at a rate, or repeat it with joins that cannot be heard; from its beginning.

    A recording shorter than 0.6 s, such as a knock, is repeated with a pause of 0.2 s: end to end it would be a buzz.
    """
    length = int(np.ceil((count / rate_hz + _FRAME_S) * clip.rate_hz))
    sound = resampled(clip.samples[0, :length], from_hz=clip.rate_hz, to_hz=rate_hz)
    if len(sound) >= count:
        return sound[:count]
    if len(sound) < _STRIKE_S * rate_hz:
        sound = np.pad(edged(sound, rate_hz=rate_hz), (0, round(LONGEST_PAUSE_S * rate_hz)))
    join = min(round(_JOIN_S * rate_hz), len(sound) // 4)
    step = len(sound) - join
    rise = np.sin(np.linspace(0.0, np.pi / 2.0, join, dtype=np.float32))
    piece = sound.copy()
    piece[step:] *= rise[::-1]
    output = np.zeros(-(-count // step) * step + join, dtype=np.float32)
    for start in range(0, len(output) - join, step):
        output[start : start + len(piece)] += piece
        piece[:join] = sound[:join] * rise  # from the second on it rises out of the end of the one before
    return output[:count]


def _to_mono(samples: Samples) -> NDArray[np.float32]:
    """The mean of the channels; the first where they cancel one another out."""
    mono = np.asarray(samples.mean(axis=0), dtype=np.float32)
    if float(np.std(mono)) < _CANCELLED * float(np.std(samples[0])):
        return np.asarray(samples[0])
    return mono


def _heard(frames: NDArray[np.float32]) -> NDArray[np.intp]:
    """Which frames are heard, from where the sound sets in."""
    power = np.mean(frames**2, axis=1)
    loudest = float(power.max())
    onset = int(np.argmax(power > loudest * 10.0 ** (-_ONSET_DB / 10.0)))
    heard = np.flatnonzero(power > loudest * 10.0 ** (-_HEARD_DB / 10.0))
    return heard[heard >= onset - _LEAD_FRAMES]


def _kept(heard: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """The frames to keep: what is heard, short pauses whole, the beginning of long ones, and a tail."""
    longest = round(LONGEST_PAUSE_S / _FRAME_S)
    keep = np.zeros(count, dtype=np.bool_)
    pieces = np.split(heard, np.flatnonzero(np.diff(heard) > longest) + 1)
    for number, piece in enumerate(pieces):
        tail = _TAIL_FRAMES if number == len(pieces) - 1 else longest
        keep[piece[0] : piece[-1] + 1 + tail] = True
    return keep


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSounds:
    """A user's recordings.

    A recording is brought to one channel and to the reference loudness; silence around it and long pauses inside are
    left out. A span longer than the recording repeats it.
    """

    name: str  # the folder's name
    files: Mapping[str, Mapping[str, Path]]  # label to instances to files, in natural order
    words: Mapping[str, tuple[str, str]]  # label to noun and verb
    limits: Limits = LIMITS  # on each file

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Label to the names of its files, relative to ``sounds/``; both in natural order."""
        return {label: tuple(files) for label, files in self.files.items()}

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> SoundSource:  # noqa: ARG002 - a recording is as it is
        """What a recording is called; nothing is free about it."""
        self._path(label, instance)
        noun, verb = self.words.get(label) or default_words(label)
        return SoundSource(label=label, instance=instance, noun=noun, verb=verb)

    def samples(self, source: SoundSource, *, seconds: float, rate_hz: int) -> Samples:
        """The recording alone, for one span, faded at both ends."""
        clip = read_clip(self._path(source.label, source.instance), limits=self.limits)
        return finished(fitted(clip, count=round(seconds * rate_hz), rate_hz=rate_hz), rate_hz=rate_hz)

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

    The set may be empty; files and rows of lists that cannot be used are reported as errors.
    """
    tree = walk(Path(root) / "sounds", root=Path(root))
    entries, name_errors = named_files(tree, SOUND_SUFFIXES, what="sound")
    words, word_errors = read_words(tree)
    errors = [*tree.errors, *name_errors, *word_errors]
    files: dict[str, dict[str, Path]] = {}
    contents = Contents()
    for entry in entries:
        try:
            clip = read_clip(entry.path, limits=limits)
            contents.add(clip.samples, entry, rate_hz=clip.rate_hz)
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
            continue
        files.setdefault(entry.name, {})[entry.file] = entry.path
    name = Path(root).resolve().name
    return FolderSounds(name=name, files=files, words=words, limits=limits), tuple(errors)
