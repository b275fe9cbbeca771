"""The one way between our values and JSON: ``to_json`` and ``from_json``, and ``dump`` and ``load`` for its text.

A format is a frozen dataclass, and its annotations are its rules: no converter and no checker is written by hand::

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Threshold:
        iou: Share                                  # a number from 0 to 1
        action: Literal["accept", "reject"]
        note: str | None = None                     # may be absent or null
        seen: tuple[int, int] = (0, 0)              # a list of two whole numbers

    row = to_json(Threshold(iou=0.8, action="accept"))
    from_json(Threshold, row, path=file, line=3)

- A field without default must be there. Keys that are not fields are ignored, or refused with ``exact=True``.
- Numbers are finite and at most 1e300; ``true`` is no number; a whole number will do for a float, never the reverse.
- ``Share`` and ``Count``, and any ``Annotated[float, Meta(ge=..., le=...)]``, are bounds.
- Arrays (``NDArray[np.float64]``) are nested lists. Rules that tie fields together stand in ``__post_init__`` and
  raise ValueError.
- What is wrong becomes one of our errors: key and value, what was expected, hint, path and line.

msgspec does the checking. Text is written by the standard library, whose bytes are what records hold. It is read by
msgspec, and by the standard library where that refuses it: lone surrogates, as in file names that are not UTF-8, and
numbers beyond a float.

``record`` and every room above it may import this; ``work`` and ``nets`` beside it, and the rooms below, may not.
"""

from __future__ import annotations

import difflib
import json
import re
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta

from auscult.errors import AuscultError, OutputError, RecordError, UsageError
from auscult.media.paths import open_regular

T = TypeVar("T")

Share: TypeAlias = Annotated[float, Meta(ge=0.0, le=1.0)]
"""A number from 0 to 1."""
Count: TypeAlias = Annotated[int, Meta(ge=0)]
"""A whole number from 0 up."""
Word: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00]+$", max_length=100_000)]
"""Text that is not empty and holds no NUL."""

LARGEST = 1e300
"""No number is larger: JSON knows whole numbers that no float can hold."""

_SHOWN = 80
_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
_MANY = {str: "texts", int: "whole numbers", float: "numbers", bool: "true or false"}
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|(\[\.\.\.\])")
_FROM_MSGSPEC = re.compile(r"Expected `|Object missing|Invalid |Number out of range|Can't parse|Unable to")


def to_json(value: object, *, decimals: int | None = None, digits: int | None = None) -> Any:
    """Dataclasses, mappings, sequences, numpy numbers and arrays as JSON values.

    Floats are rounded to ``decimals``, or to so many significant ``digits``.
    """
    try:
        return _lists(msgspec.to_builtins(value, enc_hook=_builtin), decimals, digits)
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(error) from error


def from_json(
    kind: type[T],
    value: object,
    *,
    path: Path | str | None = None,
    line: int | None = None,
    error: type[AuscultError] = RecordError,
    hint: str = "",
    exact: bool = False,
) -> T:
    """Read JSON values as a type; what is wrong raises ``error``, and ``exact`` refuses keys that are not fields."""
    try:
        trimmed = _fields_only(kind, value)
        if not _sound(trimmed):
            raise error(_unsound(trimmed, ""), expected="finite numbers up to 1e300", hint=hint, path=path, line=line)
        if exact:
            _refuse_unknown(kind, value, "")
        return msgspec.convert(value, kind, dec_hook=_array)
    except msgspec.ValidationError as invalid:
        message, expected = _explained(kind, value, str(invalid))
        raise error(message, expected=expected, hint=hint, path=path, line=line) from invalid
    except RecursionError as deep:
        raise error("it nests too deeply", expected=described(kind), hint=hint, path=path, line=line) from deep
    except UnicodeEncodeError as half:
        message = "a text in it holds half a surrogate pair"
        raise error(message, expected=described(kind), hint=hint, path=path, line=line) from half
    except AuscultError as cause:  # of a __post_init__, or an unknown key
        raise error(
            cause.message, expected=cause.expected, hint=cause.hint or hint, path=path or cause.path, line=line
        ) from cause


def read_file(
    kind: type[T],
    path: Path,
    *,
    what: str,
    expected: str,
    most_bytes: int,
    error: type[AuscultError] = UsageError,
    hint: str = "",
    exact: bool = False,
) -> T:
    """Read a whole JSON file as a type; errors say that ``what`` cannot be read, and what was ``expected``."""
    try:
        with open_regular(path) as file:
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise error(f"more than {most_bytes} bytes", expected=expected, hint=hint, path=path)
        return from_json(kind, load(content), error=RecordError, exact=exact)
    except (OSError, ValueError, RecordError) as problem:
        message, expectation, step = str(problem), expected, hint
        if isinstance(problem, OSError):
            message = problem.strerror or message
        if isinstance(problem, RecordError):
            message, expectation, step = problem.message, f"{expected}: {problem.expected}", problem.hint or hint
        raise error(f"{what} cannot be read: {message}", expected=expectation, hint=step, path=path) from problem


def dump(value: object, *, indent: int | None = None) -> bytes:
    """Write JSON values as UTF-8, keys in their order."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
        try:
            return text.encode()
        except UnicodeEncodeError:  # half a surrogate pair, from a file name that is not UTF-8
            return json.dumps(value, allow_nan=False, indent=indent).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _unwritable(error) from error


def dump_parts(value: Mapping[str, Any]) -> Iterator[bytes]:
    """As ``dump`` of an object, in parts: a list of many entries, or an iterator, is not held as text as a whole."""
    yield b"{"
    for number, (key, part) in enumerate(value.items()):
        yield (b", " if number else b"") + dump(key) + b": "
        if not isinstance(part, list | Iterator):
            yield dump(part)
            continue
        entries = iter(part)
        yield b"[" + dump(list(islice(entries, _AT_ONCE)))[1:-1]
        while some := list(islice(entries, _AT_ONCE)):
            yield b", " + dump(some)[1:-1]
        yield b"]"
    yield b"}"


_AT_ONCE = 100


def load(text: bytes) -> Any:
    """Read a JSON value; ValueError where it is no JSON of UTF-8, holds NaN or infinity, or nests too deeply.

    A number that no float can hold, such as 1e400 or one of 400 digits, is infinite, so that no arithmetic raises;
    ``from_json`` refuses it.
    """
    # of more than 300 digits in sequence, every 50th byte is six digits in sequence: such a text is not for msgspec
    if not _LONG_NUMBER.search(text[::50]):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _QUICK.decode(text)
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def described(kind: Any) -> str:
    """What values of a type are, in plain words: ``a number from 0 to 1 or null``."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin is Annotated:
        unit = "characters" if parts[0] is str else "entries"
        bounds = [_bounded(meta, unit) for meta in parts[1:] if isinstance(meta, Meta)]
        return " ".join(part for part in (described(parts[0]), *bounds) if part)
    if origin in {Union, types.UnionType}:
        return " or ".join(described(part) for part in parts)
    if is_dataclass(kind):
        return f"an object with the keys {', '.join(field.name for field in fields(kind))}"
    return _PLAIN[kind] if kind in _PLAIN else _described_many(kind)


def _described_many(kind: Any) -> str:
    origin, parts = get_origin(kind) or kind, _parts(kind)
    if _is_array(kind):
        return "lists of numbers, all of one length"
    if _is_fixed(origin, parts):
        items = {_MANY.get(_bare(part), "items") for part in parts}
        return f"a list of {len(parts)} {items.pop() if len(items) == 1 else 'items'}"
    container = "an object" if _holds_keys(origin) else "a list"
    inner = _MANY.get(_bare(parts[-1] if _holds_keys(origin) else parts[0]), "") if parts else ""
    return f"{container} of {inner}" if inner else container


def _bounded(meta: Meta, unit: str) -> str:
    """The bounds of a number, a text's length or a list's, in words."""
    if meta.ge is not None and meta.le is not None:
        return f"from {meta.ge:g} to {meta.le:g}"
    words = (("from {:g} up", meta.ge), ("above {:g}", meta.gt), ("up to {:g}", meta.le), ("below {:g}", meta.lt))
    lengths = (("of {:,} {} or more", meta.min_length), ("of at most {:,} {}", meta.max_length))
    parts = [word.format(bound) for word, bound in words if bound is not None]
    parts += [word.format(bound, unit) for word, bound in lengths if bound is not None]
    return ", ".join([*parts, *([f"matching {meta.pattern}"] if meta.pattern else [])])


def _explained(kind: Any, value: object, complaint: str) -> tuple[str, str]:
    """Message and expectation for a complaint of msgspec's, such as ``Expected `str`, got `int` - at `$.id```."""
    problem, _, location = complaint.rpartition(" - at `")
    if not problem:
        problem, location = complaint, ""
    label = ""
    for name, index, any_key in _STEP.findall(location.partition("` in `$")[2] or location):
        step: Any = name or (int(index) if index else None)
        kind = _holder(kind, value)
        if any_key:
            step = next((key for key, part in _items(value) if not _fits(_part(kind, key), part)), None)
        if step is None:
            break
        label += f"[{step}]" if isinstance(step, int) else f".{step}" if label else str(step)
        kind, value = _part(kind, step), _member(value, step)
    if missing := re.match(r"Object missing required field `(\w+)`", problem):
        name = missing[1]
        label = f"{label}.{name}" if label else name
        return f"{label!r} is missing", f"{described(_part(_holder(kind, value), name))} at {label!r}"
    place = f" at {label!r}" if label else ""
    if not _FROM_MSGSPEC.match(problem):  # what a __post_init__ says
        return (f"{label!r}: {problem}" if label else problem), f"{described(kind)}{place}"
    return f"{repr(label) if label else 'it'} is {_excerpt(value)}", f"{described(kind)}{place}"


def _refuse_unknown(kind: Any, value: object, label: str) -> None:
    """Insist that every key is a field, in nested values as well."""
    kind = _holder(kind, value)
    if is_dataclass(kind) and isinstance(value, Mapping):
        names = [field.name for field in fields(kind)]
        for key in value:
            if key not in names:
                matches = difflib.get_close_matches(str(key), names, n=1)
                raise RecordError(
                    f"{label or 'it'} has an unknown key {str(key)[:40]!r}",
                    expected=f"the keys {', '.join(names)}",
                    hint=f"did you mean {matches[0]}?" if matches else "",
                )
    for key, part in _items(value):
        if isinstance(part, (Mapping, list, tuple)):
            _refuse_unknown(_part(kind, key), part, f"{label}.{key}" if label else str(key))


def _holder(kind: Any, value: object) -> Any:
    """The member of a union that can hold a value like this one, without its bounds."""
    if get_origin(kind) is Annotated:
        return _holder(get_args(kind)[0], value)
    if get_origin(kind) in {Union, types.UnionType}:
        is_mapping = isinstance(value, Mapping)
        others = [part for part in get_args(kind) if part is not type(None)]
        fitting = [part for part in others if _holds_keys(get_origin(_bare(part)) or _bare(part)) == is_mapping]
        return _holder((fitting or others)[0], value)
    return kind


def _part(kind: Any, step: Any) -> Any:
    """The type of a field, key or index of a type; Any where it is not declared."""
    origin, parts = get_origin(kind) or kind, _parts(kind)
    if is_dataclass(kind):
        return _hints(kind).get(str(step), Any)  # type: ignore[arg-type]  # Any, which is_dataclass narrows
    if not parts or _is_array(kind):
        return Any
    if _is_fixed(origin, parts):
        return parts[step] if isinstance(step, int) and step < len(parts) else Any
    return parts[1] if _holds_keys(origin) and len(parts) == 2 else parts[0]


def _parts(kind: Any) -> tuple[Any, ...]:
    """The types that a type is made of; of a NamedTuple those of its fields, since JSON holds it as a list."""
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(_hints(kind).values())
    return get_args(kind)


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _is_fixed(origin: Any, parts: tuple[Any, ...]) -> bool:
    """Whether a tuple type has a fixed length, unlike ``tuple[int, ...]``."""
    return isinstance(origin, type) and issubclass(origin, tuple) and bool(parts) and parts[-1] is not ...


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _holds_keys(origin: Any) -> bool:
    return isinstance(origin, type) and (issubclass(origin, Mapping) or is_dataclass(origin))


def _is_array(kind: Any) -> bool:
    return (get_origin(kind) or kind) is np.ndarray


def _items(value: object) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, (list, tuple)) else []


def _member(value: object, step: Any) -> Any:
    return next((part for key, part in _items(value) if key == step), None)


def _fits(kind: Any, value: object) -> bool:
    try:
        msgspec.convert(value, kind, dec_hook=_array)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False
    return True


def _fields_only(kind: Any, value: object) -> object:
    """A value without the keys that are not fields, which other programs may keep there."""
    if not isinstance(kind, type) or not is_dataclass(kind) or not isinstance(value, Mapping):
        return value
    return {name: value[name] for name in _names(kind) if name in value}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _sound(value: object) -> bool:
    """Whether all numbers are finite and none too large; called for every line, so kept quick."""
    if isinstance(value, (int, float)):
        return abs(value) <= LARGEST
    if value is None or isinstance(value, str):
        return True
    # a dict before any other mapping, which takes ten times as long to tell
    parts = value.values() if isinstance(value, (dict, Mapping)) else value if isinstance(value, (list, tuple)) else ()
    for part in parts:
        if isinstance(part, float):
            if not abs(part) <= LARGEST:
                return False
        elif not (part is None or isinstance(part, str) or _sound(part)):
            return False
    return True


def _unsound(value: object, label: str) -> str:
    """The first number that is NaN or too large, and where it is; empty where there is none."""
    if isinstance(value, (int, float)) and not _sound(value):
        return f"{repr(label) if label else 'it'} is {_excerpt(value)}"
    problems = (_unsound(part, f"{label}.{key}" if label else str(key)) for key, part in _items(value))
    return next(filter(None, problems), "")


def _excerpt(value: object) -> str:
    """The beginning of a value as JSON, text in single quotes."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not abs(value) <= LARGEST:
        return "no number" if value != value else "too large"  # noqa: PLR0124 - NaN alone differs from itself
    try:
        text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _builtin(value: Any) -> Any:
    """Values that msgspec does not know as builtins: numpy's numbers and arrays, and mappings of any kind."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _lists(value: Any, decimals: int | None, digits: int | None) -> Any:
    """JSON values with lists for tuples, text for keys, and rounded floats."""
    if isinstance(value, float):
        short = value if digits is None else float(f"{value:.{digits}g}")
        return short if decimals is None else round(short, decimals)
    if isinstance(value, dict):
        return {str(key): _lists(part, decimals, digits) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_lists(part, decimals, digits) for part in value]
    return value


def _array(kind: Any, value: object) -> Any:
    """Nested lists as an array; any other type that msgspec does not know is a bug in the declaration."""
    if not _is_array(kind):
        raise TypeError(f"{kind} is no type that JSON is read as")
    (numbers,) = get_args(get_args(kind)[1]) or (np.float64,)
    nested: Any = float
    part = value
    while isinstance(part, (list, tuple)):
        nested = list[nested]
        part = part[0] if part else None
    try:
        return np.asarray(msgspec.convert(value, nested if nested is not float else list[float]), dtype=numbers)
    except msgspec.ValidationError as error:
        raise ValueError("Expected `array` of numbers") from error
    except ValueError as error:  # lists of several lengths
        raise ValueError("Expected `array` of one length") from error


def _unwritable(error: Exception) -> OutputError:
    return OutputError(
        f"a result cannot be written as JSON: {error}",
        expected="text, finite numbers, lists and objects",
        hint="a judge or plug-in gave another value; please report it",
    )


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _integer(text: str) -> int | float:
    return int(text) if len(text.removeprefix("-")) <= _MOST_DIGITS else float(text)


_MOST_DIGITS = 300
_LONG_NUMBER = re.compile(rb"[0-9]{6}")
_QUICK = msgspec.json.Decoder()
_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_refuse_constant)
