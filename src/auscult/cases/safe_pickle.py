"""Pickle files of plain values, read without executing anything of them, in a process of their own.

A pickle is a program for a small stack machine. Its opcodes are walked first, by ``pickletools`` and building nothing:
those pass that make ``dict list tuple set frozenset str bytes int float bool None``, and bounds hold for how many there
are and what they keep. Then a ``pickle.Unpickler`` builds the value, whose ``find_class`` never looks a name up. Four
names are known by their spelling alone, because protocols 0 to 2 have no opcode for a set or for bytes: ``set``,
``frozenset``, ``bytes`` and ``_codecs.encode``; what they stand for is made here. A worker process does all of it,
within limits of time and memory, so that a file that brings the reader down costs the reader.

Protocols 0 to 5 are read, also as Python 2 wrote them: its 8-bit strings become text, as UTF-8, else Latin-1.

Keys and members of sets are scalars or flat tuples of scalars. A value that holds itself, nests deeper than
``max_depth``, or has more than ``max_values`` parts when written out (shared parts counted each time) is refused.
"""

from __future__ import annotations

import codecs
import io
import pickle
import pickletools
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

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
        max_opcodes: Steps of the program.
        max_memo: Values it may keep for later use, and the highest number it may keep one under.
        max_depth: How deep the value may nest.
        max_values: Parts of the value, shared ones counted as often as they stand in it.
        max_s: Seconds that reading the file may take.
        max_memory_mb: Memory of the process that reads it, in mebibytes.
    """

    max_bytes: int = 256 * 1024 * 1024
    max_opcodes: int = 20_000_000
    max_memo: int = 10_000_000
    max_depth: int = 64
    max_values: int = 20_000_000
    max_s: float = 600.0
    max_memory_mb: int = 8192


DEFAULT_LIMITS = PickleLimits()

_EXPECTED = "a pickle of plain values: dict, list, tuple, set, text, bytes, numbers, true, false, none"
_HINT = "nothing of it was executed; write it again with plain values, or as JSON"
_BROKEN = (
    pickle.UnpicklingError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    EOFError,
    OverflowError,
    MemoryError,
    Warning,
)


def load_pickle(path: Path, *, limits: PickleLimits = DEFAULT_LIMITS) -> Any:
    """Read a pickle file of plain values, in a process of its own.

    An error names the file, and the opcode where it is one that asks for anything but plain values.
    """
    check_file(path, limits=Limits(max_bytes=limits.max_bytes))
    (result,) = run_tasks(
        partial(_reader, limits),
        [Task(path.name, path)],
        workers=1,
        timeout_s=limits.max_s,
        memory_mb=limits.max_memory_mb,
        stage="read",
    )
    if not isinstance(result.outcome, Failed):
        return result.outcome
    record = result.outcome.error
    known = bool(record.expected)  # else the process failed, and its hint is about options that are not there
    raise InputError(
        record.error, expected=record.expected or _EXPECTED, hint=record.hint if known else _HINT, path=path
    )


def _reader(limits: PickleLimits) -> Callable[[Path], Any]:
    return partial(_read, limits=limits)


def _read(path: Path, *, limits: PickleLimits) -> Any:
    return parse_pickle(read_bytes(path, limits=Limits(max_bytes=limits.max_bytes)), path=path, limits=limits)


def parse_pickle(data: bytes, *, path: Path, limits: PickleLimits = DEFAULT_LIMITS) -> Any:
    """Read a pickle of plain values from memory, in this process: for bytes that cannot bring it down."""
    if len(data) > limits.max_bytes:
        raise TooLarge(f"the pickle has {len(data):,} bytes", expected=f"at most {limits.max_bytes:,}", path=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an escape that is not known gives a warning only
        _Program(data, limits).check(path)
        try:
            value = _PlainUnpickler(io.BytesIO(data), fix_imports=False, encoding=_PYTHON_2).load()
            _check_shape(value, path, limits)
        except _BROKEN as error:
            raise InputError(str(error) or "out of memory", expected=_EXPECTED, hint=_HINT, path=path) from error
    return value


_KEEPS = frozenset({"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"})
# fmt: off
_OPCODES = _KEEPS | {
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "GET", "BINGET", "LONG_BINGET",
    "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "EMPTY_LIST", "LIST", "APPEND", "APPENDS",
    "EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "TUPLE", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS",
    "EMPTY_SET", "ADDITEMS", "FROZENSET", "GLOBAL", "REDUCE",
}
# fmt: on
_LOOKED_AT = _KEEPS | {"MARK", "POP", "STOP", "GLOBAL"}


@dataclass(frozen=True, slots=True)
class _Step:
    """An opcode: its name, what reads its argument, and how many values more the stack has after it.

    ``marked``: it takes all that lies over the last mark, which ``gain`` does not count. ``looked_at``: more than the
    size of the stack is followed.
    """

    name: str
    reader: Callable[[BinaryIO], Any] | None
    gain: int
    marked: bool
    looked_at: bool


def _line(file: BinaryIO) -> bytes:
    line = file.readline()
    if not line.endswith(b"\n"):
        raise ValueError("a line without its end")
    return line[:-1]


def _name(file: BinaryIO) -> str:
    return f"{_line(file).decode('ascii')} {_line(file).decode('ascii')}"


# The readers of pickletools for these two undo escapes, and take the 8-bit strings of Python 2 for ASCII.
_READERS: Mapping[str, Callable[[BinaryIO], Any]] = {"STRING": _line, "GLOBAL": _name}


def _step(opcode: pickletools.OpcodeInfo) -> _Step:
    taken = opcode.stack_before
    marked = pickletools.markobject in taken
    return _Step(
        name=opcode.name,
        reader=_READERS.get(opcode.name) or (None if opcode.arg is None else opcode.arg.reader),
        gain=len(opcode.stack_after) - (taken.index(pickletools.markobject) if marked else len(taken)),
        marked=marked,
        looked_at=marked or opcode.name in _LOOKED_AT,
    )


_STEPS = {opcode.code.encode("latin-1"): _step(opcode) for opcode in pickletools.opcodes if opcode.name in _OPCODES}
_REFUSED = {opcode.code.encode("latin-1"): opcode.name for opcode in pickletools.opcodes}


class _Program:
    """The opcodes of a pickle, walked without carrying any out: each makes plain values, and one value is left."""

    def __init__(self, data: bytes, limits: PickleLimits) -> None:
        self._file = io.BytesIO(data)
        self._limits = limits
        self._size = 0  # of the stack; that it has too few values is found when the value is built
        self._marks: list[int] = []
        self._kept = 0

    def check(self, path: Path) -> None:
        """Walk it: no other opcode or name, no more opcodes than the limits allow, one value left."""
        code = b""
        try:
            for _ in range(self._limits.max_opcodes):
                code = self._file.read(1)
                step = _STEPS.get(code)
                if step is None:
                    raise ValueError("this opcode makes no plain value" if code else "it ends before its STOP")
                argument = None if step.reader is None else step.reader(self._file)
                self._size += step.gain
                if step.looked_at:
                    self._look(step, argument)
                if step.name == "STOP":
                    return
        except _BROKEN as error:
            where = f"opcode {_REFUSED.get(code, ascii(code))} before byte {self._file.tell()}"
            raise InputError(f"{where}: {error}", expected=_EXPECTED, hint=_HINT, path=path) from error
        raise TooLarge(f"the pickle has more than {self._limits.max_opcodes:,} opcodes", expected=_EXPECTED, path=path)

    def _look(self, step: _Step, argument: Any) -> None:
        if step.name == "GLOBAL" and argument not in _NAMES:
            raise ValueError(f"it names {argument[:80]!r}, which is not looked up")
        if step.name == "STOP" and (self._size or self._marks):
            raise ValueError("not exactly one value is left")
        if step.name in _KEEPS:
            self._kept += 1
            if max(self._kept, 1 + (argument or 0)) > self._limits.max_memo:  # all lower numbers take memory, too
                raise ValueError(f"it keeps more than {self._limits.max_memo:,} values")
        elif step.name == "MARK":
            self._size -= step.gain
            self._marks.append(self._size)
        elif step.marked:
            if not self._marks:
                raise ValueError("there is no mark")
            self._size = self._marks.pop() + step.gain
        elif step.name == "POP" and self._marks and self._size < self._marks[-1]:
            self._size = self._marks.pop()


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


class _PlainUnpickler(pickle.Unpickler):  # noqa: S301 - restricted, and behind the walk over its opcodes
    """Builds plain values; a name gives a function of this module or nothing."""

    def find_class(self, module: str, name: str, /) -> Any:
        known = _NAMES.get(f"{module} {name}")
        if known is None:
            raise pickle.UnpicklingError(f"it names {f'{module} {name}'[:80]!r}, which is not looked up")
        return known

    def persistent_load(self, pid: object) -> Any:  # noqa: ARG002 - the name is pickle's
        raise pickle.UnpicklingError("it asks for an object that is kept elsewhere")


_PYTHON_2 = "auscult_python_2_text"


def _python_2_text(name: str) -> codecs.CodecInfo | None:
    """The encoding of 8-bit strings, which nobody wrote down: each is UTF-8 if it can be, else Latin-1."""
    if name != _PYTHON_2:
        return None

    def decode(data: Any, _errors: str = "strict") -> tuple[str, int]:
        content = bytes(data)
        try:
            return content.decode("utf-8"), len(content)
        except UnicodeDecodeError:
            return content.decode("latin-1"), len(content)

    return codecs.CodecInfo(codecs.utf_8_encode, decode, name=_PYTHON_2)


codecs.register(_python_2_text)

_SCALARS = frozenset({str, bytes, int, float, bool, type(None)})
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})


def _check_shape(value: Any, path: Path, limits: PickleLimits) -> None:
    """Refuse what is not plain, holds itself, nests too deeply or is too large written out; without recursion."""
    sizes: dict[int, tuple[int, int]] = {}  # id of a container: its depth, its parts
    open_now: set[int] = set()
    waiting: list[tuple[Any, list[Any] | None]] = [(part, None) for part in _containers([value])]
    while waiting:
        here, inner = waiting.pop()
        if inner is not None:  # all that is in it is measured
            open_now.discard(id(here))
            known = [sizes[id(part)] for part in inner]
            depth = 1 + max((size[0] for size in known), default=0)
            parts = len(here) + sum(size[1] for size in known)
            sizes[id(here)] = depth, parts
            if depth > limits.max_depth or parts > limits.max_values:
                raise TooLarge(
                    f"the value nests {depth} deep and has {parts:,} parts, shared parts counted each time",
                    expected=f"at most {limits.max_depth} deep, {limits.max_values:,} parts",
                    path=path,
                )
        elif id(here) not in sizes:
            open_now.add(id(here))
            inner = _containers(here)
            waiting.append((here, inner))
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
    found = [part for part in (value.values() if type(value) is dict else value) if type(part) not in _SCALARS]
    for part in found:
        if type(part) not in _CONTAINERS:
            raise ValueError(f"the value holds a {type(part).__name__}")
    return found
