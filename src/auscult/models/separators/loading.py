"""From a separator's name on the command line to a loaded separator.

======================= ===========================================================================
``mixture``, ``nmf``    one of ``SEPARATORS``
``demucs@FOLDER``       a released model with its weights: ``released.RELEASED``
``FILE.py:FUNCTION``    a function of a file, or ``package.module:FUNCTION``
``cmd:PROGRAM``         a program that reads and writes lines of JSON (``Program``)
``FOLDER``              sounds that were separated elsewhere (``FolderOfSounds``)
======================= ===========================================================================
"""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.paths import inside, safe_name, write_bytes
from auscult.media.sound import SOUND_SUFFIXES, read_sound
from auscult.media.wav import encode_wav
from auscult.models.adapters.calling import function_of
from auscult.models.separators import classical, masking
from auscult.models.separators.base import SeparationRequest, Separator
from auscult.models.sound_taggers import SoundTagger
from auscult.models.spec import COMMAND, PREDICTIONS, SCRIPTS, model_spec
from auscult.record.digest import digest_json
from auscult.types import Samples
from auscult.version import VERSION
from auscult.work.line_program import LineProgram, shown, words_of

_CMD: Final = "cmd:"
_RELEASED: Final = ("demucs", "sam_audio")  # importing them waits until they are asked for
_NAMED: Final = ("rate_hz", "spans", "frames")
_MOST_BYTES: Final = 1 << 20
_ANSWERS: Final = (
    'for each request one line: {"id": ..., "separated": PATH}, {"id": ..., "tracks": {NAME: PATH}} or '
    '{"id": ..., "error": "why"}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A separator without weights; ``oracle`` where it is shown the stems."""

    summary: str
    ask: Callable[[SeparationRequest], Any]
    oracle: bool = False


SEPARATORS: Final[Mapping[str, BuiltIn]] = {
    "mixture": BuiltIn(summary="the mixture as it is", ask=masking.mixture),
    "silence": BuiltIn(summary="nothing", ask=masking.silence),
    "random_bands": BuiltIn(summary="the mixture in a random half of 16 bands", ask=masking.random_bands),
    "irm": BuiltIn(summary="oracle: the ideal ratio mask", ask=masking.ideal_ratio, oracle=True),
    "ibm": BuiltIn(summary="oracle: the ideal binary mask", ask=masking.ideal_binary, oracle=True),
    "nmf": BuiltIn(summary="non-negative matrix factorisation, 8 components in two tracks", ask=classical.nmf),
    "hpss": BuiltIn(summary="harmonic and percussive part, by median filters", ask=classical.hpss),
    "repet": BuiltIn(summary="what repeats and what does not, by similar frames", ask=classical.repet),
    "wiener": BuiltIn(summary="decision-directed Wiener filter against a steady background", ask=classical.wiener),
    "gate": BuiltIn(summary="spectral gate at 6 dB above the quiet level of each band", ask=classical.gate),
}
_EXPECTED: Final = (
    f"one of {', '.join(SEPARATORS)}; demucs@FOLDER, sam_audio@FOLDER, FILE.py:FUNCTION, module:FUNCTION, cmd:PROGRAM "
    "or a FOLDER of sounds"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorSpec:
    """A separator that was asked for, before anything of it is loaded; goes to worker processes.

    Attributes:
        given: What a person wrote.
        name: What tables call it.
        kind: ``built_in``, ``released``, ``callable``, ``command`` or ``predictions``: how it is asked.
        target: Its name, file or module, command line, or folder.
        function: The function's name, for a callable; the model's, for a released one.
        revision: What its code or files are: a hash, or the version of this package.
        oracle: Whether it is shown the stems.
    """

    given: str
    name: str
    kind: str
    target: str
    function: str = ""
    revision: str = VERSION
    oracle: bool = False

    def load(self, *, tagger: SoundTagger | None = None) -> Separator:
        """Load it into this process; ``tagger`` chooses among the tracks of one that takes no query."""
        end: Callable[[], None] = lambda: None  # noqa: E731
        ask: Callable[[SeparationRequest], Any]
        if self.kind == "built_in":
            ask = partial(classical.in_blocks, SEPARATORS[self.target].ask)
        elif self.kind == "callable":
            ask = Function(function_of(self.target, self.function, method="separate"))
        elif self.kind == "command":
            ask = program = Program(self.target)
            end = program.close
        elif self.kind == "released":
            from auscult.models.separators.released import RELEASED

            ask = RELEASED[self.function](Path(self.target))
        else:
            ask = FolderOfSounds(Path(self.target))
        return Separator(
            name=self.name,
            ask=ask,
            revision=self.revision,
            oracle=self.oracle,
            needs_stems=self.oracle,
            tagger=tagger,
            end=end,
        )


def load_separator(given: str, *, tagger: SoundTagger | None = None) -> Separator:
    """Load what a person named; see the module for the forms. A ``UsageError`` says what is wrong."""
    return separator_spec(given).load(tagger=tagger)


def separator_spec(given: str) -> SeparatorSpec:
    """Read a separator's name; nothing of it is loaded."""
    text = given.strip()
    if text in SEPARATORS:
        return SeparatorSpec(given=text, name=text, kind="built_in", target=text, oracle=SEPARATORS[text].oracle)
    model, at, weights = text.partition("@")
    if at and model in _RELEASED:
        return _released(text, model, Path(weights))
    if text.startswith(_CMD):
        text = COMMAND + text.removeprefix(_CMD)
    elif text and Path(text).is_dir():
        text = PREDICTIONS + text
    elif ":" not in text:
        raise UsageError(f"there is no separator {text[:80]!r}", expected=_EXPECTED)
    found = model_spec(text)
    if found.kind not in {"callable", "command", "predictions"}:
        raise UsageError(f"{text[:80]!r} is no separator", expected=_EXPECTED)
    return SeparatorSpec(
        given=given,
        name=found.name.removesuffix(".separate"),
        kind=found.kind,
        target=found.target,
        function=found.function,
        revision=found.revision,
    )


def _released(given: str, model: str, folder: Path) -> SeparatorSpec:
    """Its files are not hashed: there are gigabytes of them; name, size and time of change stand in."""
    if not folder.is_dir():
        raise UsageError("there is no such folder of weights", expected=f"{model}@FOLDER", path=folder)
    files = sorted(path for path in folder.iterdir() if path.is_file())
    listed = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]
    return SeparatorSpec(
        given=given,
        name=f"{model}@{safe_name(folder.resolve().name)}",
        kind="released",
        target=str(folder.resolve()),
        function=model,
        revision=digest_json([model, listed])[:12],
    )


class Function:
    """Asks ``separate(mixture, query, *, rate_hz, spans, frames)`` with those keywords that it takes.

    The mixture is a copy, float32 (samples,) or (channels, samples). It gives the wanted source, or a dict of all
    tracks.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # written in C, without a signature
            self._takes: tuple[str, ...] = ("rate_hz",)
            return
        takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
        named = {parameter.name for parameter in parameters}
        self._takes = tuple(name for name in _NAMED if takes_all or name in named)

    def __call__(self, request: SeparationRequest) -> Any:
        """Call the function."""
        given: dict[str, Any] = {"rate_hz": request.rate_hz, "spans": request.spans}
        if "frames" in self._takes:
            given["frames"] = request.frames()
        taken = {name: given[name] for name in self._takes}
        return self._function(request.mixture.copy(), request.query, **taken)


class Program:
    """Asks a program, which runs as long as this object, with lines of JSON (``work/line_program``).

    A request names the mixture as a WAV file of 16 bits, what is wanted, and a folder to write into::

        {"id": "m1#1", "mixture": "/tmp/.../mixture.wav", "rate_hz": 16000, "text": "dog barking",
         "spans_s": [["+", 0.5, 1.25]], "video": null, "folder": "/tmp/..."}

    The answer has the same id and names a sound file of the same rate and length, by its whole path or in the folder;
    or all tracks, of a program that takes no query; or says why there is none::

        {"id": "m1#1", "separated": "out.wav"}    {"id": "m1#1", "tracks": {"vocals": "v.wav", "drums": "d.wav"}}
        {"id": "m1#1", "error": "why"}
    """

    def __init__(self, line: str) -> None:
        words = words_of(line)
        name = next((word for word in words[1:] if Path(word).suffix in SCRIPTS), words[0])
        self._program = LineProgram(words, name=name, answers=_ANSWERS)

    def __call__(self, request: SeparationRequest) -> Samples | dict[str, Samples]:
        """Write the mixture, ask, and read the sounds that the answer names."""
        key = self._program.key("mixture" if request.item is None else request.item.id)
        picture = request.query.picture
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as home:
            folder = Path(home)
            write_bytes(folder / "mixture.wav", encode_wav(np.clip(request.mixture, -1, 1), request.rate_hz))
            line = {
                "id": key,
                "mixture": str(folder / "mixture.wav"),
                "rate_hz": request.rate_hz,
                "text": request.query.text,
                "spans_s": [[span.sign, span.start_s, span.end_s] for span in request.spans],
                "video": None if picture is None else str(picture.resolve()),
                "folder": home,
            }
            reply = self._program.ask(line, most_bytes=_MOST_BYTES)
            tracks = reply.get("tracks")
            if isinstance(tracks, dict):
                return {str(name): _read(folder, path, request) for name, path in tracks.items()}
            return _read(folder, reply.get("separated"), request)

    def close(self) -> None:
        """End the program; a second call does nothing."""
        self._program.close()


def _read(folder: Path, named: object, request: SeparationRequest) -> Samples:
    if not isinstance(named, str) or not named:
        raise InputError(f"the program named the file {shown(named)}", expected=_ANSWERS)
    return read_separated(Path(named) if named.startswith("/") else inside(folder, named), rate_hz=request.rate_hz)


def read_separated(path: Path, *, rate_hz: int) -> Samples:
    """Read a separated sound, float32 (channels, samples); an ``InputError`` says both rates where they differ."""
    sound = read_sound(path)
    if sound.rate_hz != rate_hz:
        raise InputError(
            f"the separated sound is at {sound.rate_hz} Hz, its mixture at {rate_hz} Hz",
            expected="the rate of the mixture",
            hint="resample it where it is made",
            path=path,
        )
    return sound.samples


class FolderOfSounds:
    """Looks up what was separated elsewhere.

    It is the item's own ``separated`` where that lies in the folder; else ``<folder>/<id>.wav``, ``.flac`` or another
    sound file, or the same in ``<folder>/separated``. A ``/`` in an id is a folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def __call__(self, request: SeparationRequest) -> Samples:
        """Read the sound of an item."""
        if request.item is None:
            raise UsageError(f"{self._folder.name} is a folder of outputs, which are found by the id of an item")
        return read_separated(self._path(request), rate_hz=request.rate_hz)

    def _path(self, request: SeparationRequest) -> Path:
        item = request.item
        assert item is not None  # noqa: S101 - checked by the caller
        if item.separated is not None and item.separated.resolve().is_relative_to(self._folder):
            return item.separated
        tried = [
            inside(self._folder, f"{prefix}{name}{suffix}")
            for prefix in ("", "separated/")
            for name in dict.fromkeys((item.id, safe_name(item.id)))
            for suffix in sorted(SOUND_SUFFIXES)
        ]
        there = [path for path in tried if path.is_file()]
        if len(there) != 1:
            raise InputError(
                f"there are {len(there)} outputs for the item {shown(item.id)}"
                if there
                else "there is no output for the item",
                expected=f"<folder>/{json.dumps(item.id)[1:-1]}.wav, or .flac; exactly one",
                hint="name each file by the id of its item, or run on the INPUT that lies in this folder",
                path=there[0] if there else self._folder / f"{item.id}.wav",
            )
        return there[0]
