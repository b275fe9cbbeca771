"""Separators under test: what is given a mixture and a query, and gives the wanted source; from a name to one loaded.

======================== ==========================================================================
``mixture``, ``nmf``     one of ``SEPARATORS``
``demucs@FOLDER``        a released model with its weights (``released``)
``FILE.py:FUNCTION``     a function of a file, or ``package.module:FUNCTION``
``cmd:PROGRAM``          a program that reads and writes lines of JSON (``Program``)
``FOLDER``               sounds that were separated elsewhere (``FolderOfSounds``)
``SEPARATOR+clap@DIR``   any of them, its tracks assigned to words by a tagger (``sound_taggers``)
======================== ==========================================================================
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.paths import inside, safe_name, write_bytes
from auscult.media.sound import SOUND_SUFFIXES, read_sound
from auscult.media.wav import Depth, Sound, wav_bytes
from auscult.models.adapters import COMMAND, PREDICTIONS, ModelSpec
from auscult.models.adapters.calling import function_of
from auscult.models.separators import spectral
from auscult.models.separators.base import Ask, Separation, SeparationRequest, Separator, check_count
from auscult.models.separators.released import RELEASED
from auscult.models.sound_taggers import SHIPPED, TAGGER_FORMS, load_tagger, tagger_folder
from auscult.models.spec import model_spec
from auscult.record.digest import digest_json
from auscult.types import Samples
from auscult.version import VERSION
from auscult.work.line_program import LineProgram, shown

ORACLE: Final = "oracle."
"""The name of a separator that is shown the stems begins so: it is a bound and no competitor."""
_MOST_BYTES: Final = 1 << 20
_ANSWERS: Final = (
    'for each request one line: {"id": ..., "separated": PATH}, {"id": ..., "tracks": {NAME: PATH}} or '
    '{"id": ..., "error": "why"}'
)


def calling(function: Callable[..., Any]) -> Ask:
    """Ask ``separate(mixture, query, *, rate_hz, spans, frames)`` with those keywords that it takes.

    The mixture is a copy, float32 (samples,) or (channels, samples). It gives the wanted source, or a dict of tracks.
    """
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # written in C, without a signature
        parameters = {}
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    takes = [name for name in ("rate_hz", "spans", "frames") if takes_all or name in parameters]

    def ask(request: SeparationRequest) -> Any:
        values: dict[str, Any] = {"rate_hz": request.rate_hz, "spans": request.spans}
        if "frames" in takes:
            values["frames"] = request.frames()
        return function(request.mixture.copy(), request.query, **{name: values[name] for name in takes})

    return ask


class Program(LineProgram):
    """Asks a program, which runs as long as this object, with lines of JSON (``work/line_program``).

    A request names the mixture, a WAV file of 16 bits, what is wanted, and a folder to write into. The answer has the
    same id and names a sound file of the same rate and length, by its whole path or in the folder; or all tracks, of a
    program that takes no query; or says why there is none::

        {"id": "m1#1", "mixture": "/tmp/.../mixture.wav", "rate_hz": 16000, "text": "dog barking",
         "spans_s": [["+", 0.5, 1.25]], "video": null, "folder": "/tmp/..."}
        {"id": "m1#1", "separated": "out.wav"}    {"id": "m1#1", "tracks": {"vocals": "v.wav", "drums": "d.wav"}}
    """

    def __call__(self, request: SeparationRequest) -> Samples | dict[str, Samples]:
        """Write the mixture, ask, and read the sounds that the answer names."""
        picture = request.query.picture
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as home:
            mixture, channels = Path(home, "mixture.wav"), np.atleast_2d(request.mixture)
            depth: Depth = "int16" if np.abs(channels).max() <= 1.0 else "float32"
            write_bytes(mixture, wav_bytes(Sound(samples=channels, rate_hz=request.rate_hz), depth))
            line = {
                "id": self.key("mixture" if request.item is None else request.item.id),
                "mixture": str(mixture),
                "rate_hz": request.rate_hz,
                "text": request.query.text,
                "spans_s": [[span.sign, span.start_s, span.end_s] for span in request.spans],
                "video": None if picture is None else str(picture.resolve()),
                "folder": home,
            }
            reply = self.ask(line, most_bytes=_MOST_BYTES)
            tracks = reply.get("tracks")
            if isinstance(tracks, dict):
                check_count(tracks)  # before so many files are read
                return {str(name): _read_named(path, home, request) for name, path in tracks.items()}
            return _read_named(reply.get("separated"), home, request)


def _read_named(name: object, folder: str, request: SeparationRequest) -> Samples:
    if not isinstance(name, str) or not name:
        raise InputError(f"the program named the file {shown(name)}", expected=_ANSWERS)
    return _read(Path(name) if name.startswith("/") else inside(Path(folder), name), request)


def _read(path: Path, request: SeparationRequest) -> Samples:
    """A separated sound, float32 (channels, samples), at the rate of its mixture."""
    sound = read_sound(path, cut=False)
    if sound.rate_hz != request.rate_hz:
        raise InputError(
            f"the separated sound is at {sound.rate_hz} Hz, its mixture at {request.rate_hz} Hz",
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
        item = request.item
        if item is None:
            raise UsageError(f"{self._folder.name} is a folder of outputs, which are found by the id of an item")
        if item.separated is not None and item.separated.resolve().is_relative_to(self._folder):
            return _read(item.separated, request)
        paths = [
            inside(self._folder, f"{prefix}{name}{suffix}")
            for prefix in ("", "separated/")
            for name in dict.fromkeys((item.id, safe_name(item.id)))
            for suffix in sorted(SOUND_SUFFIXES)
        ]
        existing = [path for path in paths if path.is_file()]
        if len(existing) != 1:
            raise InputError(
                f"{len(existing) or 'no'} outputs are named after the item {shown(item.id)}",
                expected="<folder>/<id>.wav, or .flac; exactly one",
                hint="name each file by the id of its item, or run on the INPUT that lies in this folder",
                path=(existing or paths)[0],
            )
        return _read(existing[0], request)


_ORACLES: Final = frozenset({"irm", "ibm"})
_METHODS: Final[Mapping[str, spectral.Method]] = {
    "random_bands": spectral.random_bands,
    "irm": spectral.ideal_ratio,
    "ibm": spectral.ideal_binary,
    "nmf": spectral.nmf,
    "hpss": spectral.hpss,
    "repet": spectral.repet,
    "wiener": spectral.wiener,
    "gate": spectral.gate,
}
SEPARATORS: Final[Mapping[str, Ask]] = {
    "mixture": lambda request: request.mono,
    "silence": lambda request: np.zeros_like(request.mono),
    **{name: partial(spectral.separated, method) for name, method in _METHODS.items()},
}
"""Those without weights, by name."""
_EXPECTED: Final = (
    f"one of {', '.join(SEPARATORS)}; {', '.join(f'{name}@FOLDER' for name in RELEASED)}, FILE.py:FUNCTION, "
    "module:FUNCTION, cmd:PROGRAM or a FOLDER of sounds; each may end in "
    f"{', '.join(f'+{form}' for form in TAGGER_FORMS)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorSpec(ModelSpec):
    """A separator that was asked for, before anything of it is loaded; goes to worker processes."""

    oracle: bool = False  # whether it is shown the stems
    tagger: str = ""  # what assigns its tracks to words, such as ``clap@FOLDER``

    def open(self) -> Separator:
        """Load it into this process."""
        ask = self._ask()
        return Separator(
            name=self.name,
            ask=ask,
            oracle=self.oracle,
            tagger=load_tagger(self.tagger) if self.tagger else None,
            end=ask.close if isinstance(ask, Program) else lambda: None,
        )

    def _ask(self) -> Ask:
        if self.kind == "callable":
            return calling(function_of(self.target, self.function, method="separate"))
        if self.kind == "command":
            return Program.of(self.target, answers=_ANSWERS)
        if self.kind == "predictions":
            return FolderOfSounds(Path(self.target))
        return SEPARATORS[self.target] if self.weights is None else RELEASED[self.target](self.weights)


def load_separator(given: str) -> Separator:
    """Load what a person named; see the module for the forms. A ``UsageError`` says what is wrong."""
    return separator_spec(given).open()


def named_separators(names: Iterable[str]) -> tuple[SeparatorSpec, ...]:
    """What ``--model`` names, without duplicates of other spelling; nothing is loaded."""
    specs = {replace(spec, given=""): spec for spec in map(separator_spec, names)}
    if not specs:
        raise UsageError(
            "no model was named", expected="at least one --model", hint="such as nmf, FILE.py:FUNCTION or cmd:PROGRAM"
        )
    return tuple(specs.values())


def separator_spec(given: str) -> SeparatorSpec:
    """Read a separator's name; nothing of it is loaded."""
    text, _, tagger = given.strip().rpartition("+")
    choice = tagger_folder(tagger)
    if not text or choice is None:
        return _spec(given.strip())
    spec, (name, folder) = _spec(text), choice
    revision = digest_json([spec.revision, name, VERSION if tagger == SHIPPED else _listed(str(folder))])[:12]
    home = SHIPPED if tagger == SHIPPED else f"{name}@{folder.resolve()}"
    return replace(spec, given=given, name=f"{spec.name}+{name}", revision=revision, tagger=home)


def _spec(text: str) -> SeparatorSpec:
    model, at, weights = text.partition("@")
    if text in SEPARATORS:
        oracle = text in _ORACLES
        name = f"{ORACLE}{text}" if oracle else text
        return SeparatorSpec(given=text, kind="registered", name=name, target=text, revision=VERSION, oracle=oracle)
    if at and model in RELEASED:
        revision, home = digest_json([model, _listed(weights)])[:12], Path(weights).resolve()
        name = f"{model}@{safe_name(home.name)}"
        return SeparatorSpec(given=text, kind="registered", name=name, target=model, weights=home, revision=revision)
    if text.startswith("cmd:"):
        text = COMMAND + text.removeprefix("cmd:")
    elif text and Path(text).is_dir():
        text = PREDICTIONS + text
    spec = model_spec(text) if ":" in text and not text.startswith("tgs:") else None
    if spec is None or spec.kind not in {"callable", "command", "predictions"}:
        raise UsageError(f"there is no separator {text[:80]!r}", expected=_EXPECTED)
    values = {field.name: getattr(spec, field.name) for field in fields(ModelSpec)}
    return SeparatorSpec(**values | {"name": spec.name.removesuffix(".separate")})


def _listed(folder: str) -> list[list[str | int]]:
    """The files of a folder of weights: gigabytes, so that name, size and time of change stand in for a hash."""
    if not Path(folder).is_dir():
        raise UsageError("there is no such folder of weights", expected="NAME@FOLDER", path=folder)
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]


__all__ = (
    "ORACLE",
    "SEPARATORS",
    "Separation",
    "SeparationRequest",
    "Separator",
    "SeparatorSpec",
    "load_separator",
    "named_separators",
    "separator_spec",
)
