"""How a separator of the user's is asked: a function, a program, or a folder of what it gave."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.paths import inside, safe_name, write_bytes
from auscult.media.sound import SOUND_SUFFIXES, read_sound
from auscult.media.wav import encode_wav
from auscult.models.separators.base import SeparationRequest
from auscult.models.spec import SCRIPTS
from auscult.types import Samples
from auscult.work.line_program import LineProgram, shown, words_of

_NAMED: Final = ("rate_hz", "spans", "frames")
_MOST_BYTES: Final = 1 << 20
_ANSWERS: Final = (
    'for each request one line: {"id": ..., "separated": PATH}, {"id": ..., "tracks": {NAME: PATH}} or '
    '{"id": ..., "error": "why"}'
)


class Function:
    """Asks ``separate(mixture, query, *, rate_hz, spans, frames)`` with those keywords that it takes.

    The mixture is a copy, float32 (samples,) or (channels, samples). It gives the wanted source, or a dict of tracks.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # written in C, without a signature
            parameters = {}.values()
        every = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
        self._takes = {one for one in _NAMED if every or one in {parameter.name for parameter in parameters}}

    def __call__(self, request: SeparationRequest) -> Any:
        """Call the function."""
        given = {"rate_hz": request.rate_hz, "spans": request.spans}
        taken: dict[str, Any] = {name: value for name, value in given.items() if name in self._takes}
        if "frames" in self._takes:
            taken["frames"] = request.frames()
        return self._function(request.mixture.copy(), request.query, **taken)


class Program:
    """Asks a program, which runs as long as this object, with lines of JSON (``work/line_program``).

    A request names the mixture, a WAV file of 16 bits, what is wanted, and a folder to write into::

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
        picture = request.query.picture
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as home:
            mixture = Path(home, "mixture.wav")
            write_bytes(mixture, encode_wav(np.clip(request.mixture, -1, 1), request.rate_hz))
            line = {
                "id": self._program.key("mixture" if request.item is None else request.item.id),
                "mixture": str(mixture),
                "rate_hz": request.rate_hz,
                "text": request.query.text,
                "spans_s": [[span.sign, span.start_s, span.end_s] for span in request.spans],
                "video": None if picture is None else str(picture.resolve()),
                "folder": home,
            }
            reply = self._program.ask(line, most_bytes=_MOST_BYTES)
            tracks = reply.get("tracks")
            if isinstance(tracks, dict):
                return {str(name): _named(path, home, request) for name, path in tracks.items()}
            return _named(reply.get("separated"), home, request)

    def close(self) -> None:
        """End the program; a second call does nothing."""
        self._program.close()


def _named(name: object, folder: str, request: SeparationRequest) -> Samples:
    if not isinstance(name, str) or not name:
        raise InputError(f"the program named the file {shown(name)}", expected=_ANSWERS)
    return _read(Path(name) if name.startswith("/") else inside(Path(folder), name), request)


def _read(path: Path, request: SeparationRequest) -> Samples:
    """A separated sound, float32 (channels, samples), at the rate of its mixture."""
    sound = read_sound(path)
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
        tried = [
            inside(self._folder, f"{prefix}{name}{suffix}")
            for prefix in ("", "separated/")
            for name in dict.fromkeys((item.id, safe_name(item.id)))
            for suffix in sorted(SOUND_SUFFIXES)
        ]
        there = [path for path in tried if path.is_file()]
        if len(there) != 1:
            raise InputError(
                f"{len(there) or 'no'} outputs are named after the item {shown(item.id)}",
                expected="<folder>/<id>.wav, or .flac; exactly one",
                hint="name each file by the id of its item, or run on the INPUT that lies in this folder",
                path=there[0] if there else tried[0],
            )
        return _read(there[0], request)
