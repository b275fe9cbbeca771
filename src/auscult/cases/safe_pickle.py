"""Pickle files of plain values, read without executing anything of them, in a process of their own.

A pickle is a program for a small stack machine. The unpickler of the standard library's Python code carries it out, of
whose opcodes those are kept that make ``dict list tuple set frozenset str bytes int float bool None``, and whose
``find_class`` never looks a name up. Four names are known by their spelling alone, because protocols 0 to 2 have no
opcode for a set or for bytes: ``set``, ``frozenset``, ``bytes`` and ``_codecs.encode``; what they stand for is made
here. A worker process does all of it, within limits of time and memory, so that a file that brings the reader down
costs the reader.

Protocols 0 to 5 are read, also as Python 2 wrote them: its 8-bit strings become text, as UTF-8, else Latin-1.

Keys and members of sets are scalars or flat tuples of scalars. A value that holds itself, nests deeper than
``max_depth``, or has more than ``max_values`` parts when written out (shared parts counted each time) is refused. So is
a file whose containers would take far more memory than its size, before they do: one byte can ask for an empty set.
"""

from __future__ import annotations

import gc
import io
import pickletools
import struct
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pickle import UnpicklingError, _Unpickler
from typing import Any, ClassVar, NoReturn

from auscult.errors import InputError, TooLarge
from auscult.media.limits import Limits
from auscult.media.paths import check_file, read_bytes
from auscult.outcome import Failed
from auscult.work.pool import Task, run_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class PickleLimits:
    """Upper bounds on a pickle; RefCOCO takes about 27 MB and 6 million opcodes.

    Attributes:
        max_bytes: Size of the file.
        max_growth: How many times the size of the file its containers may take while it is read; RefCOCO takes 7.
        max_depth: How deep the value may nest.
        max_values: Parts of the value, shared ones counted as often as they stand in it.
        max_s: Seconds that reading the file may take.
        max_memory_mb: Memory of the process that reads it, in mebibytes; of small files less, see ``memory_mb``.
    """

    max_bytes: int = 256 * 1024 * 1024
    max_growth: int = 10
    max_depth: int = 64
    max_values: int = 20_000_000
    max_s: float = 120.0
    max_memory_mb: int = 8192

    def memory_mb(self, size: int) -> int:
        """Memory of the process that reads a file of so many bytes, in mebibytes."""
        return min(self.max_memory_mb, _LEAST_MB + 2 * self.max_growth * (size >> 20))


_LEAST_MB = 300
DEFAULT_LIMITS = PickleLimits()

_EXPECTED = "a pickle of plain values: dict, list, tuple, set, text, bytes, numbers, true, false, none"
_HINT = "nothing of it was executed; write it again with plain values, or as JSON"
_BROKEN = (
    UnpicklingError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    EOFError,
    OverflowError,
    MemoryError,
    AssertionError,
    struct.error,
    Warning,
)


def load_pickle(path: Path, *, limits: PickleLimits = DEFAULT_LIMITS) -> Any:
    """Read a pickle file of plain values in a process of its own; an error names the opcode that asks for more."""
    check_file(path, limits=Limits(max_bytes=limits.max_bytes))
    (result,) = run_tasks(
        partial(_reader, limits),
        [Task(path.name, path)],
        workers=1,
        timeout_s=limits.max_s,
        memory_mb=limits.memory_mb(path.stat().st_size),
        stage="read",
    )
    if not isinstance(result.outcome, Failed):
        return result.outcome
    record = result.outcome.error
    refused = bool(record.expected)  # else the process failed, and its hint is about options that are not there
    raise InputError(
        record.error, expected=record.expected or _EXPECTED, hint=record.hint if refused else _HINT, path=path
    )


def _reader(limits: PickleLimits) -> Callable[[Path], Any]:
    gc.disable()  # millions of containers that hold no cycle would be walked again and again
    return lambda path: parse_pickle(
        read_bytes(path, limits=Limits(max_bytes=limits.max_bytes)), path=path, limits=limits
    )


def parse_pickle(data: bytes, *, path: Path, limits: PickleLimits = DEFAULT_LIMITS) -> Any:
    """Read a pickle of plain values from memory, in this process: for bytes that cannot bring it down."""
    if len(data) > limits.max_bytes:
        raise TooLarge(f"the pickle has {len(data):,} bytes", expected=f"at most {limits.max_bytes:,}", path=path)
    file = io.BytesIO(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an escape that is not known gives a warning only
        try:
            value = _PlainUnpickler(file, most=max(_LEAST_BYTES, limits.max_growth * len(data))).load()
            _check_shape(value, path, limits)
        except _BROKEN as error:
            ended = file.tell() == len(data) and not data.endswith(b".")
            reason = "the file ends in the middle of a value" if ended else str(error) or "out of memory"
            message = f"before byte {file.tell()}: {reason}"
            raise InputError(message, expected=_EXPECTED, hint=_HINT, path=path) from error
    return value


def _set(members: object) -> set[Hashable]:
    if type(members) is not list:
        raise ValueError("a set of something else than a list")
    return set(members)


def _encoded(text: object, codec: object) -> bytes:
    """What protocols 0 to 2 write for bytes: their Latin-1 text, and the call that gives them back."""
    if type(text) is not str or codec != "latin1":
        raise ValueError("bytes by another codec than latin1")
    return text.encode("latin-1")


def _no_bytes() -> bytes:
    return b""


_NAMES: Mapping[str, Callable[..., Any]] = {
    "__builtin__ set": _set,
    "builtins set": _set,
    "__builtin__ frozenset": lambda members: frozenset(_set(members)),
    "builtins frozenset": lambda members: frozenset(_set(members)),
    "__builtin__ bytes": _no_bytes,
    "builtins bytes": _no_bytes,
    "_codecs encode": _encoded,
}
# fmt: off
_PLAIN = frozenset({
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "GET", "BINGET", "LONG_BINGET",
    "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE",
    "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "EMPTY_LIST", "LIST", "APPEND", "APPENDS",
    "EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "TUPLE", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS",
    "EMPTY_SET", "ADDITEMS", "FROZENSET", "GLOBAL", "REDUCE",
})
# fmt: on


class _Steps(dict[int, Callable[..., None]]):
    """What is done at an opcode, by its byte; opcodes that are not in it are refused."""

    def __missing__(self, code: int) -> NoReturn:
        name = next((opcode.name for opcode in pickletools.opcodes if opcode.code == chr(code)), hex(code))
        raise UnpicklingError(f"opcode {name} makes no plain value")


_LEAST_BYTES = 32 << 20
# About what CPython takes for each, with its place on the stack or in the memo.
_TAKES: Mapping[str, int] = {
    "MARK": 80, "EMPTY_LIST": 64, "LIST": 64, "EMPTY_DICT": 72, "DICT": 72, "EMPTY_SET": 224, "FROZENSET": 224,
    "REDUCE": 224, "EMPTY_TUPLE": 56, "TUPLE": 56, "TUPLE1": 56, "TUPLE2": 64, "TUPLE3": 72,
    "PUT": 100, "BINPUT": 100, "LONG_BINPUT": 100, "MEMOIZE": 100,
}  # fmt: skip


def _step(opcode: pickletools.OpcodeInfo) -> Callable[..., None]:
    """What is done at an opcode; those that make containers are counted."""
    done: Callable[..., None] = _Unpickler.dispatch[ord(opcode.code)]
    takes = _TAKES.get(opcode.name)
    if takes is None:
        return done

    def counted(unpickler: _PlainUnpickler) -> None:
        unpickler.left -= takes
        if unpickler.left < 0:
            raise UnpicklingError(f"its containers take more than {unpickler.most >> 20:,} MB")
        done(unpickler)

    return counted


class _PlainUnpickler(_Unpickler):
    """Builds plain values in ``most`` bytes of containers; a name gives a function of this module or nothing."""

    stack: list[Any]
    metastack: list[Any]
    dispatch: ClassVar[dict[int, Callable[..., None]]] = _Steps(
        (ord(opcode.code), _step(opcode)) for opcode in pickletools.opcodes if opcode.name in _PLAIN
    )

    def __init__(self, file: io.BytesIO, *, most: int) -> None:
        super().__init__(file, fix_imports=False)
        self.most = self.left = most

    def find_class(self, module: str, name: str) -> Any:
        function = _NAMES.get(f"{module} {name}")
        if function is None:
            full_name = f"{module} {name}"[:80]
            raise UnpicklingError(f"opcode GLOBAL names {full_name!r}, which is not looked up")
        return function

    def _decode_string(self, value: bytes) -> str:
        """The text of an 8-bit string, whose encoding Python 2 wrote nowhere."""
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value.decode("latin-1")

    def _stop(self) -> None:
        if len(self.stack) != 1 or self.metastack:
            raise ValueError("not exactly one value is left")
        _Unpickler.dispatch[ord(".")](self)  # type: ignore[arg-type]

    dispatch[ord(".")] = _stop


_SCALARS = frozenset({str, bytes, int, float, bool, type(None)})
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})


def _check_shape(value: Any, path: Path, limits: PickleLimits) -> None:
    """Refuse what is not plain, holds itself, nests too deeply or is too large written out; without recursion."""
    sizes: dict[int, tuple[int, int]] = {}  # id of a container: its depth, its parts
    open_now: set[int] = set()
    waiting: list[tuple[Any, list[Any] | None]] = [(part, None) for part in _containers([value])]
    while waiting:
        container, inner = waiting.pop()
        if inner is not None:  # all that is in it is measured
            open_now.discard(id(container))
            part_sizes = [sizes[id(part)] for part in inner]
            depth = 1 + max((size[0] for size in part_sizes), default=0)
            parts = len(container) + sum(size[1] for size in part_sizes)
            sizes[id(container)] = depth, parts
            if depth > limits.max_depth or parts > limits.max_values:
                raise TooLarge(
                    f"the value nests {depth} deep and has {parts:,} parts, shared parts counted each time",
                    expected=f"at most {limits.max_depth} deep, {limits.max_values:,} parts",
                    path=path,
                )
        elif id(container) not in sizes:
            open_now.add(id(container))
            inner = _containers(container)
            waiting.append((container, inner))
            unknown = [part for part in inner if id(part) not in sizes]
            if any(id(part) in open_now for part in unknown):
                raise ValueError("the value holds itself")
            waiting.extend((part, None) for part in unknown)


def _containers(value: Any) -> list[Any]:
    """The containers in a container, whose other parts, keys and members of sets must be plain."""
    if type(value) in {dict, set, frozenset}:
        for key in value:
            if type(key) not in _SCALARS and not (type(key) is tuple and _SCALARS.issuperset(map(type, key))):
                raise ValueError(
                    f"a {type(key).__name__} as a key or member of a set; plain are scalars and flat tuples"
                )
    if type(value) in {set, frozenset}:
        return []
    parts = [part for part in (value.values() if type(value) is dict else value) if type(part) not in _SCALARS]
    for part in parts:
        if type(part) not in _CONTAINERS:
            raise ValueError(f"the value holds a {type(part).__name__}")
    return parts
