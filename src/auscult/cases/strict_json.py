"""JSON from strangers: standard JSON only, finite numbers only, valid Unicode only, and never a library's error."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from auscult.errors import InputError, NothingToDo, TooLarge
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

BOM = b"\xef\xbb\xbf"


def parse(data: bytes, *, path: Path, line: int | None = None) -> Any:
    """Read one JSON value.

    Args:
        data: UTF-8, without a byte order mark.
        path: The file, for messages.
        line: The line of a file of JSON lines; None when ``data`` is a whole file.

    Raises:
        InputError: It is not JSON, nests too deeply, or holds NaN, an infinity or half a surrogate pair.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
        if b"\\ud" in data.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        here = error.lineno if line is None else line
        raise _broken(f"broken JSON at column {error.colno}: {error.msg}", path=path, line=here) from error
    except UnicodeDecodeError as error:
        raise _broken(f"byte {error.start + 1} is not UTF-8", path=path, line=line) from error
    except UnicodeEncodeError as error:
        raise _broken("text holds half a surrogate pair", path=path, line=line) from error
    except RecursionError as error:
        raise _broken("JSON nests too deeply", path=path, line=line) from error
    except ValueError as error:
        raise _broken(f"a number cannot be used: {str(error)[:80]}", path=path, line=line) from error
    return value


def load(path: Path, *, max_bytes: int) -> Any:
    """Read a whole JSON file; a byte order mark is accepted.

    Raises:
        NothingToDo: It cannot be read or is not JSON, so the INPUT holds no case.
    """
    try:
        return parse(read_bytes(path, limits=Limits(max_bytes=max_bytes)).removeprefix(BOM), path=path)
    except TooLarge as error:
        raise NothingToDo(
            error.message, expected=error.expected, hint="split it, or use an items.jsonl", path=path
        ) from error
    except InputError as error:
        raise NothingToDo(
            error.message, expected=error.expected, hint=error.hint, path=path, line=error.line
        ) from error


def _broken(message: str, *, path: Path, line: int | None) -> InputError:
    return InputError(message, expected="one JSON value in UTF-8", hint="repair or drop it", path=path, line=line)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large")
    return value
