"""A program as a model: it reads requests as lines of JSON and writes answers as lines of JSON.

A request, one line on its standard input::

    {"id": "v1/f3#1", "frames": ["/tmp/.../00000.png", ...], "text": "the red car", "audio": "/tmp/.../sound.wav",
     "rate_hz": 16000, "first_mask": {"size": [H, W], "counts": "..."}}

``text``, ``audio``, ``rate_hz`` and ``first_mask`` are null where the reference is another. The answer, one line on its
standard output, with the request's id, which is never the same twice, and one COCO RLE for each frame; where classes
are asked for (``"classes": 71`` in the request), for each frame an object of class to RLE, ``{"41": {...}}``::

    {"id": "v1/f3#1", "masks": [{"size": [H, W], "counts": "..."}, ...]}      or    {"id": "v1/f3#1", "error": "why"}

Frames are written without loss, the sound with 16 bits; the files are there until it has answered. Its standard output
is for answers alone: any other line, such as a library's banner, fails the case at once, and so does a line longer than
an answer may be, 4 bytes a pixel and 1 MB. It has the processors of one worker, goes on from case to case, and ends
when its standard input does. Linux and macOS.
"""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.frames import stored_png
from auscult.media.masks import check_size
from auscult.media.paths import safe_name, write_bytes
from auscult.media.rle import decode, encode, rle_size
from auscult.media.wav import encode_wav
from auscult.models.base import Answer, Request
from auscult.models.spec import SCRIPTS
from auscult.types import Mask
from auscult.work.line_program import LineProgram, shown, words_of

_ANSWERS: Final = 'for each request one line: {"id": ..., "masks": [...]} or {"id": ..., "error": "why"}'


class Program:
    """Asks a program, which runs as long as this object."""

    def __init__(self, line: str) -> None:
        words = words_of(line)
        name = next((word for word in words[1:] if Path(word).suffix in SCRIPTS), words[0])
        self._program = LineProgram(words, name=name, answers=_ANSWERS)

    def __call__(self, request: Request) -> Answer:
        """Write the files, ask, and read the answer."""
        key = self._program.key(request.id)
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as folder:
            line = _line(request, key, Path(folder))
            begun = time.perf_counter()
            reply = self._program.ask(line, most_bytes=4 * math.prod(request.shape) + (1 << 20))
            seconds = time.perf_counter() - begun
        frames = _replied(reply, request.shape)
        if request.classes:
            return Answer(masks=np.stack([_class_map(frame, request) for frame in frames]), seconds=seconds)
        return Answer(masks=np.stack([_mask(frame, request.size) for frame in frames]), seconds=seconds)

    def close(self) -> None:
        """End the program; a second call does nothing."""
        self._program.close()


def _line(request: Request, key: str, folder: Path) -> dict[str, Any]:
    """Write what the request names, and make its line."""
    paths = [folder / f"{number:05d}-{safe_name(name)[:80]}.png" for number, name in enumerate(request.names)]
    for path, frame in zip(paths, request.frames(), strict=True):
        write_bytes(path, stored_png(frame))
    sound: dict[str, Any] = {"audio": None, "rate_hz": None}
    if request.sound is not None and request.rate_hz is not None:
        sound = {"audio": str(folder / "sound.wav"), "rate_hz": request.rate_hz}
        write_bytes(folder / "sound.wav", encode_wav(request.sound, request.rate_hz))
    return {
        "id": key,
        "frames": [str(path) for path in paths],
        "text": request.query.text,
        **sound,
        "first_mask": None if request.first_mask is None else encode(request.first_mask),
        **({"classes": request.classes} if request.classes else {}),
    }


def _replied(reply: dict[str, Any], shape: tuple[int, int, int]) -> list[Any]:
    """What an answer says of each frame."""
    masks = reply.get("masks")
    if not isinstance(masks, list) or len(masks) != shape[0]:
        given = f"{len(masks)} masks" if isinstance(masks, list) else f"masks of type {type(masks).__name__}"
        raise InputError(f"the program gave {given}", expected=f"a list of {shape[0]}, one COCO RLE for each frame")
    return masks


def _mask(rle: Any, size: tuple[int, int]) -> Mask:
    check_size(rle_size(rle), size)
    return decode(rle)


def _class_map(frame: Any, request: Request) -> NDArray[np.uint8]:
    """The classes of a frame from an RLE each; what none of them holds is background."""
    expected = f"of each frame an object of class, 1 to {request.classes - 1}, to its COCO RLE"
    if not isinstance(frame, dict):
        raise InputError(f"the program gave {shown(frame)} of a frame", expected=expected)
    found = np.zeros(request.size, np.uint8)
    for name, rle in frame.items():
        number = int(name) if name.isascii() and name.isdigit() and len(name) <= 3 else 0
        if not 0 < number < request.classes:
            raise InputError(f"the program gave the class {shown(name)}", expected=expected)
        mask = _mask(rle, request.size)
        if found[mask].any():
            raise InputError(f"class {number} lies on another one", expected="one class for each pixel")
        found[mask] = number
    return found
