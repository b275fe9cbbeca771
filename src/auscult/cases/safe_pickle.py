"""Pickle files of plain values, read without executing anything.

A pickle is a program for a small stack machine. This module walks its opcodes with the argument readers of
``pickletools`` and builds only ``dict list tuple set frozenset str bytes int float bool None``; there is no
``Unpickler``, no name is looked up and nothing is called. Protocols 0 to 5 are read, also as Python 2 wrote them: its
8-bit strings become text, as UTF-8, else Latin-1. Three names are known by their spelling alone, because protocols 0
to 2 have no opcode for a set or for bytes: ``set``, ``frozenset`` and ``_codecs.encode``; they are never resolved.

Keys and members of sets are scalars or flat tuples of scalars, so that no hash can be made to recurse. A value that
holds itself, nests deeper than ``max_depth``, or has more than ``max_values`` parts when written out (shared parts
counted each time) is refused.
"""

from __future__ import annotations

import io
import pickletools
import re
import struct
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from auscult.errors import InputError, TooLarge
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

_PROTOCOL = 5
_NAMES = frozenset({"__builtin__ set", "builtins set", "__builtin__ frozenset", "builtins frozenset", "_codecs encode"})
_EMPTY_BYTES = frozenset({"__builtin__ bytes", "builtins bytes"})
_SCALARS = (str, bytes, int, float, bool, type(None))
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.?)", re.DOTALL)
_ESCAPES = {b"\\": b"\\", b"'": b"'", b'"': b'"', b"n": b"\n", b"r": b"\r", b"t": b"\t"}

Opcode: TypeAlias = Callable[["Machine", Any], None]


@dataclass(frozen=True, slots=True)
class Name:
    """A name by its spelling; not the thing it names."""

    text: str


class Machine:
    """The stack, the stacks below the marks, and the memo.

    Args:
        max_memo: How many values it may keep.
    """

    __slots__ = ("below", "max_memo", "memo", "stack")

    def __init__(self, max_memo: int) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.max_memo = max_memo

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def top(self, kind: type) -> Any:
        """The value on top, which must be of exactly this type."""
        value = self.stack[-1]
        if type(value) is not kind:
            raise ValueError(f"a {kind.__name__} is needed, not {type(value).__name__}")
        return value

    def marked(self) -> list[Any]:
        """What was pushed since the last mark."""
        if not self.below:
            raise ValueError("there is no mark")
        values, self.stack = self.stack, self.below.pop()
        return values

    def tuple_of(self, count: int) -> None:
        """Make a tuple of the upper values."""
        if len(self.stack) < count:
            raise ValueError("the stack is too short")
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def keep(self, index: int) -> None:
        """Keep the value on top in the memo."""
        if len(self.memo) >= self.max_memo:
            raise ValueError(f"it keeps more than {self.max_memo:,} values")
        self.memo[index] = self.stack[-1]

    def result(self) -> Any:
        """The one value that is left."""
        if len(self.stack) != 1 or self.below:
            raise ValueError("not exactly one value is left")
        return self.stack[0]


def _mark(machine: Machine, _: Any) -> None:
    machine.below.append(machine.stack)
    machine.stack = []


def _pop(machine: Machine, _: Any) -> None:
    if machine.stack:
        machine.stack.pop()
    else:
        machine.marked()


def _pop_mark(machine: Machine, _: Any) -> None:
    machine.marked()


def _dup(machine: Machine, _: Any) -> None:
    machine.push(machine.stack[-1])


def _ignored(_machine: Machine, _: Any) -> None:
    """A step that changes nothing."""


def _proto(_machine: Machine, number: Any) -> None:
    if number > _PROTOCOL:
        raise ValueError(f"protocol {number} is not known")


def _push(machine: Machine, value: Any) -> None:
    machine.push(value)


def _push_text(machine: Machine, value: Any) -> None:
    """An 8-bit string of Python 2, which ``pickletools`` gives as Latin-1."""
    if not value.isascii():
        with suppress(UnicodeDecodeError):
            value = value.encode("latin-1").decode("utf-8")
    machine.push(value)


def _append(machine: Machine, _: Any) -> None:
    value = machine.stack.pop()
    machine.top(list).append(value)


def _appends(machine: Machine, _: Any) -> None:
    values = machine.marked()
    machine.top(list).extend(values)


def _list(machine: Machine, _: Any) -> None:
    values = machine.marked()
    machine.push(values)


def _tuple(machine: Machine, _: Any) -> None:
    values = machine.marked()
    machine.push(tuple(values))


def _set_item(machine: Machine, _: Any) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    machine.top(dict)[_key(key)] = value


def _set_items(machine: Machine, _: Any) -> None:
    values = machine.marked()
    _fill(machine.top(dict), values)


def _dict(machine: Machine, _: Any) -> None:
    values = machine.marked()
    made: dict[Hashable, Any] = {}
    _fill(made, values)
    machine.push(made)


def _add_items(machine: Machine, _: Any) -> None:
    values = machine.marked()
    machine.top(set).update(map(_key, values))


def _frozenset(machine: Machine, _: Any) -> None:
    values = machine.marked()
    machine.push(frozenset(map(_key, values)))


def _put(machine: Machine, index: Any) -> None:
    machine.keep(index)


def _memoize(machine: Machine, _: Any) -> None:
    machine.keep(len(machine.memo))


def _get(machine: Machine, index: Any) -> None:
    if index not in machine.memo:
        raise ValueError(f"nothing was kept as {index}")
    machine.push(machine.memo[index])


def _global(machine: Machine, name: Any) -> None:
    if name not in _NAMES and name not in _EMPTY_BYTES:
        raise ValueError(f"it names {name[:80]!r}, which is not looked up")
    machine.push(Name(name))


def _reduce(machine: Machine, _: Any) -> None:
    given, name = machine.stack.pop(), machine.stack.pop()
    if not isinstance(name, Name) or type(given) is not tuple:
        raise ValueError("it asks for a call")
    word = name.text.partition(" ")[2]
    if word == "encode" and len(given) == 2 and type(given[0]) is str and given[1] == "latin1":
        machine.push(given[0].encode("latin-1"))
    elif word == "bytes" and not given:
        machine.push(b"")
    elif word in {"set", "frozenset"} and len(given) == 1 and type(given[0]) is list:
        members = map(_key, given[0])
        machine.push(set(members) if word == "set" else frozenset(members))
    else:
        raise ValueError(f"{word} with such arguments is no plain value")


def _fill(into: dict[Hashable, Any], values: list[Any]) -> None:
    if len(values) % 2:
        raise ValueError("a key without a value")
    for place in range(0, len(values), 2):
        into[_key(values[place])] = values[place + 1]


def _key(value: Any) -> Hashable:
    if type(value) in _SCALARS or (type(value) is tuple and all(type(part) in _SCALARS for part in value)):
        return cast("Hashable", value)
    raise ValueError(f"a {type(value).__name__} as a key or member of a set; plain are scalars and flat tuples of them")


def _read_string(file: BinaryIO) -> str:
    """The quoted 8-bit string of protocol 0, as Latin-1."""
    line = file.readline()
    body = line[:-1].strip()
    if not line.endswith(b"\n") or len(body) < 2 or body[:1] not in {b"'", b'"'} or body[-1:] != body[:1]:
        raise ValueError("a string without its quotes or its line end")
    return _ESCAPE.sub(_unescaped, body[1:-1]).decode("latin-1")


def _read_name(file: BinaryIO) -> str:
    """Module and name of protocol 0, a line each, as ``module name``."""
    lines = file.readline(), file.readline()
    if not all(line.endswith(b"\n") for line in lines):
        raise ValueError("a name without its line end")
    return " ".join(line[:-1].decode("ascii") for line in lines)


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if escape[:1] == b"x" and len(escape) == 3:
        return bytes([int(escape[1:], 16)])
    if escape not in _ESCAPES:
        raise ValueError(f"the escape {escape!r} is not known")
    return _ESCAPES[escape]


_STEPS: dict[str, Opcode] = {
    "PROTO": _proto,
    "MARK": _mark,
    "POP": _pop,
    "POP_MARK": _pop_mark,
    "DUP": _dup,
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_SET": lambda machine, _: machine.push(set()),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.stack.append(True),
    "NEWFALSE": lambda machine, _: machine.stack.append(False),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "LIST": _list,
    "TUPLE": _tuple,
    "DICT": _dict,
    "FROZENSET": _frozenset,
    "APPEND": _append,
    "APPENDS": _appends,
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "ADDITEMS": _add_items,
    "MEMOIZE": _memoize,
    "GLOBAL": _global,
    "REDUCE": _reduce,
}
_STEPS |= dict.fromkeys(("FRAME", "STOP"), _ignored)
_STEPS |= dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _get)
_STEPS |= dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _put)
_STEPS |= dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), _push_text)
_STEPS |= dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"), _push)
_STEPS |= dict.fromkeys(("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"), _push)
_STEPS |= dict.fromkeys(("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"), _push)

# The readers of pickletools for these two undo escapes, with a warning where one is broken.
_READERS: dict[str, Callable[[BinaryIO], Any]] = {"STRING": _read_string, "GLOBAL": _read_name}

TABLE: dict[bytes, tuple[str, Callable[[BinaryIO], Any] | None, Opcode | None]] = {
    opcode.code.encode("latin-1"): (
        opcode.name,
        _READERS.get(opcode.name) or (None if opcode.arg is None else opcode.arg.reader),
        _STEPS.get(opcode.name),
    )
    for opcode in pickletools.opcodes
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PickleLimits:
    """Upper bounds on a pickle; RefCOCO takes about 27 MB and 6 million opcodes.

    Attributes:
        max_bytes: Size of the file.
        max_opcodes: Steps of the program.
        max_memo: Values it may keep for later use.
        max_depth: How deep the value may nest.
        max_values: Parts of the value, shared ones counted as often as they stand in it.
    """

    max_bytes: int = 256 * 1024 * 1024
    max_opcodes: int = 20_000_000
    max_memo: int = 10_000_000
    max_depth: int = 64
    max_values: int = 20_000_000


DEFAULT_LIMITS = PickleLimits()

_EXPECTED = "a pickle of plain values: dict, list, tuple, set, text, bytes, numbers, true, false, none"
_HINT = "nothing of it was executed; write it again with plain values, or as JSON"
_BROKEN = (ValueError, TypeError, IndexError, KeyError, OverflowError, struct.error, MemoryError)


def load_pickle(path: Path, *, limits: PickleLimits = DEFAULT_LIMITS) -> Any:
    """Read a pickle file of plain values.

    Args:
        path: The file.
        limits: The bounds.

    Raises:
        InputError: It cannot be read, is no pickle, or asks for anything but plain values; names file and opcode.
        TooLarge: Over ``limits``.
    """
    return parse_pickle(read_bytes(path, limits=Limits(max_bytes=limits.max_bytes)), path=path, limits=limits)


def parse_pickle(data: bytes, *, path: Path, limits: PickleLimits = DEFAULT_LIMITS) -> Any:
    """Read a pickle of plain values from memory; as ``load_pickle``.

    Args:
        data: The pickle.
        path: The file it came from, for messages.
        limits: The bounds.
    """
    if len(data) > limits.max_bytes:
        raise TooLarge(f"the pickle has {len(data):,} bytes", expected=f"at most {limits.max_bytes:,}", path=path)
    value = _run(data, path, limits)
    _check_shape(value, path, limits)
    return value


def _run(data: bytes, path: Path, limits: PickleLimits) -> Any:
    file, machine = io.BytesIO(data), Machine(limits.max_memo)
    for _ in range(limits.max_opcodes):
        code = file.read(1)
        name, reader, step = TABLE.get(code, ("", None, None))
        try:
            if not code:
                raise ValueError("it ends before its STOP")
            if step is None:
                raise ValueError("this opcode makes no plain value" if name else f"{code!r} is no opcode")
            step(machine, None if reader is None else reader(file))
            if name == "STOP":
                return machine.result()
        except _BROKEN as error:
            where = f"opcode {name or ascii(code)} before byte {file.tell()}"
            raise InputError(f"{where}: {error}", expected=_EXPECTED, hint=_HINT, path=path) from error
    raise TooLarge(f"the pickle has more than {limits.max_opcodes:,} opcodes", expected=_EXPECTED, path=path)


_CONTAINERS = frozenset({dict, list, tuple, set, frozenset, Name})
_SHARED = "shared parts counted each time"


def _check_shape(value: Any, path: Path, limits: PickleLimits) -> None:
    """Refuse what holds itself, nests too deeply or is too large when written out; without recursion."""
    sizes: dict[int, tuple[int, int]] = {}  # id of a container: its depth, its parts
    open_now: set[int] = set()
    waiting = [(one, "enter") for one in _parts([value])]
    while waiting:
        here, what = waiting.pop()
        if what == "leave":
            open_now.discard(id(here))
            sizes[id(here)] = _size(here, sizes)
            _check_size(sizes[id(here)], path, limits)
        elif id(here) not in sizes:
            open_now.add(id(here))
            inner = [part for part in _parts(here) if id(part) not in sizes]
            if isinstance(here, Name) or any(id(part) in open_now for part in inner):
                told = "the value holds itself" if inner else f"the value holds the name {here.text!r}"
                raise InputError(told, expected=_EXPECTED, hint=_HINT, path=path)
            waiting.append((here, "leave"))
            waiting.extend((part, "enter") for part in inner)


def _parts(value: Any) -> list[Any]:
    """The containers in a container; keys, and members of sets, are scalars or flat."""
    if type(value) is dict:
        return [part for part in value.values() if type(part) in _CONTAINERS]
    return [part for part in value if type(part) in _CONTAINERS] if type(value) in {list, tuple} else []


def _size(value: Any, sizes: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
    inner = [sizes[id(part)] for part in _parts(value)]
    return 1 + max((one[0] for one in inner), default=0), len(value) + sum(one[1] for one in inner)


def _check_size(size: tuple[int, int], path: Path, limits: PickleLimits) -> None:
    if size[0] > limits.max_depth or size[1] > limits.max_values:
        raise TooLarge(
            f"the value nests {size[0]} deep and has {size[1]:,} parts, {_SHARED}",
            expected=f"at most {limits.max_depth} deep, {limits.max_values:,} parts",
            path=path,
        )
