"""Models that are called: Python functions and programs.

A function is loaded from a file or module and called with arrays, and its answer is checked. A program reads requests
as lines of JSON and writes answers as lines of JSON.

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

import importlib
import importlib.util
import inspect
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from copy import copy
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.media.frames import stored_png
from auscult.media.masks import check_size
from auscult.media.paths import safe_name, write_bytes
from auscult.media.rle import decode, encode, rle_size
from auscult.media.wav import encode_wav
from auscult.models.base import Answer, Request, class_maps_of, masks_of
from auscult.record.digest import digest_bytes
from auscult.types import Mask, Query
from auscult.work.line_program import LineProgram, shown

_KEYWORDS: Final = ("sound", "rate_hz", "first_mask")
_FRAMES: Final = "frames"
_QUERY: Final = "query"
_POSITIONAL: Final = frozenset({inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD})
_BY_NAME: Final = frozenset({inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD})
_EXPECTED: Final = "predict(frames, query, *, sound, rate_hz, first_mask) -> masks; all but frames may be left out"


def function_of(target: str, name: str, *, method: str = "predict") -> Callable[..., Any]:
    """Load what answers from ``FILE.py`` or an installed module: a function, or a method of an object or class.

    A file is run as a module of a name of its own; a class is made without arguments.
    """
    file = Path(target) if target.endswith(".py") else None
    try:
        module = importlib.import_module(target) if file is None else _module_of(file)
    except (ImportError, SyntaxError) as error:
        raise UsageError(
            f"the model cannot be imported: {type(error).__name__}: {error}",
            hint="import it in Python to see where it fails; is what it needs installed in this environment?",
            path=file,
        ) from error
    if not hasattr(module, name):
        public = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UsageError(
            f"{target if file is None else 'it'} holds no {name!r}",
            expected=f"one of: {', '.join(sorted(public)[:20])}" if public else _EXPECTED,
            path=file,
        )
    return _callable(getattr(module, name), f"{target}:{name}", method)


def _module_of(file: Path) -> ModuleType:
    """Run a file as a module. Modules that lie beside it can be imported, as if it had been started as a script."""
    path = file.resolve()
    if not path.is_file():
        raise UsageError("there is no such file", expected="FILE.py:NAME", path=file)
    name = f"_auscult_model_{digest_bytes(os.fsencode(path))[:16]}"  # two files of one name do not meet
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError("it is no Python file", expected="FILE.py:NAME", path=file)
    folder = str(path.parent)
    neighbours = (other for other in path.parent.iterdir() if other != path and other.name != "__pycache__")
    has_neighbours = any(other.suffix == ".py" or (other.is_dir() and any(other.glob("*.py"))) for other in neighbours)
    if has_neighbours and folder not in sys.path:
        sys.path.insert(0, folder)  # it stays: a function may import a neighbour when it is called
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look a class's module up here
    spec.loader.exec_module(module)
    return module


def _callable(target: Any, full_name: str, method: str) -> Callable[..., Any]:
    if isinstance(target, type):
        try:
            inspect.signature(target).bind()
        except TypeError as error:
            raise UsageError(
                f"the class {full_name} cannot be made: {error}",
                expected="a class without arguments, an object or a function",
                hint="make the object in the file and name it",
            ) from error
        except ValueError:  # a class written in C, without a signature
            pass
        target = target()
    bound = getattr(target, method, None)
    chosen = bound if callable(bound) else target
    if not callable(chosen):
        raise UsageError(f"{full_name} is of type {type(target).__name__}", expected=_EXPECTED)
    return chosen  # type: ignore[no-any-return]


class Calling:
    """Asks a function, ``function(frames, query, sound=..., rate_hz=..., first_mask=...)``, with what it takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._second, self._takes, self._takes_all = _taken_by(function)

    def __call__(self, request: Request) -> Answer:
        """Call the function, and check what it gives.

        The function gets copies, which it may spoil. A process that it forked and that comes back ends here: one
        process was asked, one answers.
        """
        frames = request.frames()
        query = Query(request.query.text)
        values = {"query": query, "sound": request.sound, "rate_hz": request.rate_hz, "first_mask": request.first_mask}
        keywords = {key: copy(values[key]) for key in self._takes}
        placed = (frames, query) if self._second else (frames,)
        pid, start = os.getpid(), time.perf_counter()
        try:
            result = self._function(*placed, **keywords)
        except TypeError as error:
            # A decorator without functools.wraps seems to take any name, and what it stands for does not.
            if self._takes_all and any(f"unexpected keyword argument '{key}'" in str(error) for key in self._takes):
                raise InputError(
                    f"the model does not take what it seems to take: {error}",
                    expected=_EXPECTED,
                    hint="is there a decorator? write @functools.wraps(function) in it, or let the function take **_",
                ) from error
            raise
        finally:
            if os.getpid() != pid:
                os._exit(1)
        seconds = time.perf_counter() - start
        if request.classes:
            return Answer(masks=class_maps_of(result, shape=request.shape, classes=request.classes), seconds=seconds)
        masks, threshold = masks_of(result, shape=request.shape)
        return Answer(masks=masks, seconds=seconds, threshold=threshold)

    def close(self) -> None:
        """Do nothing: a function needs no end."""


def _taken_by(function: Callable[..., Any]) -> tuple[bool, tuple[str, ...], bool]:
    """Whether a function takes the query in the second place; what it takes by name; and whether that is any name."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, without a signature
        return True, _KEYWORDS, False
    parameters = signature.parameters.values()
    positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    called = f"{getattr(function, '__name__', type(function).__name__)}{signature}"
    if any(parameter.name == _FRAMES and parameter.default is parameter.empty for parameter in positional[1:]):
        raise UsageError(
            f"{called} does not take the frames first", expected=_EXPECTED, hint="change the order of its arguments"
        )
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    second = _second_is_query(signature, [parameter.name for parameter in positional])
    names = {parameter.name for parameter in parameters if parameter.kind in _BY_NAME}
    takes = tuple(key for key in (() if second else (_QUERY,)) + _KEYWORDS if takes_all or key in names)
    try:
        signature.bind(*(None, None)[: 1 + second], **dict.fromkeys(takes))
    except TypeError as error:
        raise UsageError(f"{called} cannot be called as a model: {error}", expected=_EXPECTED) from error
    return second, takes, takes_all


def _second_is_query(signature: inspect.Signature, positional: list[str]) -> bool:
    """Whether the second value without a name is the query: whatever it is called, but for one of the keywords."""
    if _QUERY in signature.parameters and positional[1:2] != [_QUERY]:
        return False  # it has a place of its own
    if len(positional) > 1:
        return positional[1] not in _KEYWORDS
    return any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in signature.parameters.values())


_ANSWERS: Final = 'for each request one line: {"id": ..., "masks": [...]} or {"id": ..., "error": "why"}'


class Program:
    """Asks a program, which runs as long as this object."""

    def __init__(self, line: str) -> None:
        self._program = LineProgram.of(line, answers=_ANSWERS)

    def __call__(self, request: Request) -> Answer:
        """Write the files, ask, and read the answer."""
        key = self._program.key(request.id)
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as folder:
            line = _line(request, key, Path(folder))
            start = time.perf_counter()
            reply = self._program.ask(line, most_bytes=4 * math.prod(request.shape) + (1 << 20))
            seconds = time.perf_counter() - start
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
        count = f"{len(masks)} masks" if isinstance(masks, list) else f"masks of type {type(masks).__name__}"
        raise InputError(f"the program gave {count}", expected=f"a list of {shape[0]}, one COCO RLE for each frame")
    return masks


def _mask(rle: Any, size: tuple[int, int]) -> Mask:
    check_size(rle_size(rle), size)
    return decode(rle)


def _class_map(frame: Any, request: Request) -> NDArray[np.uint8]:
    """The classes of a frame from an RLE each; what none of them holds is background."""
    expected = f"of each frame an object of class, 1 to {request.classes - 1}, to its COCO RLE"
    if not isinstance(frame, dict):
        raise InputError(f"the program gave {shown(frame)} of a frame", expected=expected)
    class_map = np.zeros(request.size, np.uint8)
    for name, rle in frame.items():
        number = int(name) if name.isascii() and name.isdigit() and len(name) <= 3 else 0
        if not 0 < number < request.classes:
            raise InputError(f"the program gave the class {shown(name)}", expected=expected)
        mask = _mask(rle, request.size)
        if class_map[mask].any():
            raise InputError(f"class {number} lies on another one", expected="one class for each pixel")
        class_map[mask] = number
    return class_map
