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
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auscult.cases.pickle_steps import TABLE, Machine, Name
from auscult.errors import InputError, TooLarge
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes


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
