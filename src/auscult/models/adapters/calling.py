"""A Python function as a model: loaded from a file or module, called with arrays, its answer checked."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.models.answers import masks_of
from auscult.models.base import Answer, Request
from auscult.record.digest import digest_bytes
from auscult.types import Query

_KEYWORDS: Final = ("sound", "rate_hz", "first_mask")
_FRAMES: Final = "frames"
_QUERY: Final = "query"
_BY_PLACE: Final = frozenset({inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD})
_BY_NAME: Final = frozenset({inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD})
_EXPECTED: Final = "predict(frames, query, *, sound, rate_hz, first_mask) -> masks; all but frames may be left out"


def function_of(target: str, name: str) -> Callable[..., Any]:
    """Load what answers: a function, an object with ``predict``, or a class that is made without arguments.

    Args:
        target: ``FILE.py``, which is run as a module of a name of its own, or the name of an installed module.
        name: Of the function, object or class in it.

    Returns:
        The function, or the ``predict`` of the object.

    Raises:
        UsageError: It cannot be imported, does not hold the name, or that is nothing to call.
        Exception: Whatever else the module raises while it runs.
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
    return _callable(getattr(module, name), f"{target}:{name}")


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
    if _has_neighbours(path) and folder not in sys.path:
        sys.path.insert(0, folder)  # it stays: a function may import a neighbour when it is called
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look a class's module up here
    spec.loader.exec_module(module)
    return module


def _has_neighbours(path: Path) -> bool:
    """Whether a module or package lies beside the file."""
    return any(
        (other.suffix == ".py" and other != path) or (other.is_dir() and any(other.glob("*.py")))
        for other in path.parent.iterdir()
        if other.name != "__pycache__"
    )


def _callable(found: Any, where: str) -> Callable[..., Any]:
    if isinstance(found, type):
        try:
            inspect.signature(found).bind()
        except TypeError as error:
            raise UsageError(
                f"the class {where} cannot be made: {error}",
                expected="a class without arguments, an object or a function",
                hint="make the object in the file and name it",
            ) from error
        except ValueError:  # a class written in C that tells no signature
            pass
        found = found()
    predict = getattr(found, "predict", None)
    chosen = predict if callable(predict) else found
    if not callable(chosen):
        raise UsageError(f"{where} is of type {type(found).__name__}", expected=_EXPECTED)
    return chosen  # type: ignore[no-any-return]


class Calling:
    """Asks a function.

    Args:
        function: Called as ``function(frames, query, sound=..., rate_hz=..., first_mask=...)``; what it does not take
            is not passed, but for the frames.

    Raises:
        UsageError: It cannot be called so.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._second, self._takes = _taken_by(function)
        self._takes_all = _takes_all(function)

    def __call__(self, ask: Request) -> Answer:
        """Call the function, and check what it gives.

        The function gets copies, which it may spoil. A process that it forked and that comes back ends here: one
        process was asked, one answers.

        Raises:
            InputError: What it gave is no answer.
            Exception: Whatever the function raises.
        """
        frames = ask.frames()
        query = Query(ask.query.text)
        given = {
            "query": query,
            "sound": _copied(ask.sound),
            "rate_hz": ask.rate_hz,
            "first_mask": _copied(ask.first_mask),
        }
        taken = {key: given[key] for key in self._takes}
        placed = (frames, query) if self._second else (frames,)
        asked, begun = os.getpid(), time.perf_counter()
        try:
            found = self._function(*placed, **taken)
        except TypeError as error:
            self._check_decorator(error)
            raise
        finally:
            if os.getpid() != asked:
                os._exit(1)
        seconds = time.perf_counter() - begun
        masks, threshold = masks_of(found, shape=ask.shape)
        return Answer(masks=masks, seconds=seconds, threshold=threshold)

    def close(self) -> None:
        """Do nothing: a function needs no end."""

    def _check_decorator(self, error: TypeError) -> None:
        """Say what is wrong where the function took a name that what it stands for does not take."""
        if self._takes_all and any(f"unexpected keyword argument '{key}'" in str(error) for key in self._takes):
            raise InputError(
                f"the model does not take what it seems to take: {error}",
                expected=_EXPECTED,
                hint="is there a decorator? write @functools.wraps(function) in it, or let the function take **_",
            ) from error


def _copied(array: Any) -> Any:
    return None if array is None else np.array(array)


def _taken_by(function: Callable[..., Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether a function takes the query in the second place, and what it takes by name."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C, which tells no signature
        return True, _KEYWORDS
    _check_first(signature, function)
    every = _takes_all(function)
    named = {one.name for one in signature.parameters.values() if one.kind in _BY_NAME}
    second = _second_is_query(signature)
    wanted = _KEYWORDS if second else (_QUERY, *_KEYWORDS)
    takes = tuple(key for key in wanted if every or key in named)
    try:
        signature.bind(*(None, None)[: 1 + second], **dict.fromkeys(takes))
    except TypeError as error:
        raise UsageError(
            f"{_name(function)}{signature} cannot be called as a model: {error}", expected=_EXPECTED
        ) from error
    return second, takes


def _takes_all(function: Callable[..., Any]) -> bool:
    """Whether a function takes values of any name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)


def _check_first(signature: inspect.Signature, function: Callable[..., Any]) -> None:
    """Refuse a function that needs the frames in a place but the first."""
    places = [one for one in signature.parameters.values() if one.kind in _BY_PLACE]
    if any(one.name == _FRAMES and one.default is one.empty for one in places[1:]):
        raise UsageError(
            f"{_name(function)}{signature} does not take the frames first",
            expected=_EXPECTED,
            hint="change the order of its arguments",
        )


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _second_is_query(signature: inspect.Signature) -> bool:
    """Whether the second value without a name is the query: whatever it is called, but for one of the keywords."""
    kinds = inspect.Parameter
    names = list(signature.parameters)
    places = [one.name for one in signature.parameters.values() if one.kind in _BY_PLACE]
    if _QUERY in names and places[1:2] != [_QUERY]:
        return False  # it has a place of its own
    if len(places) > 1:
        return places[1] not in _KEYWORDS
    return any(one.kind is kinds.VAR_POSITIONAL for one in signature.parameters.values())
