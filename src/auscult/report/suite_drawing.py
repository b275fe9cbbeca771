"""A chart as JSON: its drawing's parts as values, so that a record can be laid out again and brings no markup along.

``{"size": [width, height], "title", "words", "parts": [{"part": "line", "start": [x, y], ...}]}``; what a part has as
usual is left out. What is read is checked: a drawing holds names of colours, finite numbers and plain text only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final, get_args

from auscult.errors import InputError
from auscult.media.drawing import Anchor, Circle, Drawing, Line, Part, Point, Polygon, Polyline, Rect, Text

_PARTS: Final[Mapping[str, type[Part]]] = {
    "line": Line,
    "polyline": Polyline,
    "polygon": Polygon,
    "rect": Rect,
    "circle": Circle,
    "text": Text,
}
_NAMES: Final = {kind: name for name, kind in _PARTS.items()}
_AGAIN: Final = "repeat the command that made the record: it draws its charts anew"


def drawing_json(drawing: Drawing) -> dict[str, Any]:
    """The drawing as JSON has it."""
    return {
        "size": list(drawing.size),
        "title": drawing.title,
        "words": drawing.words,
        "parts": [_part_json(part) for part in drawing.parts],
    }


def read_drawing(name: str, content: object) -> Drawing:
    """A drawing from the JSON of ``figures/<name>.json``.

    Args:
        name: The file's name, for the message.
        content: The parsed JSON; nothing of it is trusted.

    Raises:
        InputError: It is no such drawing, or one that is too large.
    """
    try:
        told = _object(content)
        width, height = _list(told["size"])
        return Drawing(
            size=(_whole(width), _whole(height)),
            parts=tuple(_part(_object(one)) for one in _list(told["parts"])),
            title=_words(told["title"]),
            words=_words(told["words"]),
        )
    except InputError as error:
        raise InputError(error.message, expected=error.expected, hint=_AGAIN, path=name) from error
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        why = f"without {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"the chart is damaged: {why[:200]}", expected="a drawing as auscult writes it", hint=_AGAIN, path=name
        ) from error


def _part_json(part: Part) -> dict[str, Any]:
    row: dict[str, Any] = {"part": _NAMES[type(part)]}
    for one in fields(part):
        value = getattr(part, one.name)
        if one.default is MISSING or value != one.default:
            row[one.name] = value
    return row


def _part(told: Mapping[str, Any]) -> Part:
    kind = _PARTS[_words(told["part"])]
    return kind(**{name: _READERS[name](value) for name, value in told.items() if name != "part"})


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.40} instead of an object")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.40} instead of a number")
    return float(value)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.40} instead of a whole number")
    return value


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} instead of text")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.40} instead of true or false")
    return value


def _list(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} instead of a list")
    return value


def _point(value: object) -> Point:
    x, y = _list(value)
    return _number(x), _number(y)


def _points(value: object) -> tuple[Point, ...]:
    return tuple(_point(one) for one in _list(value))


def _numbers(value: object) -> tuple[float, ...]:
    return tuple(_number(one) for one in _list(value))


def _anchor(value: object) -> str:
    if value not in get_args(Anchor):
        raise ValueError(f"{value!r:.40} is no anchor of text")
    return str(value)


_READERS: Final[Mapping[str, Callable[[object], Any]]] = {
    **dict.fromkeys(("start", "end", "at", "centre"), _point),
    **dict.fromkeys(("x", "y", "width_px", "height_px", "width", "radius", "opacity", "size", "rotation"), _number),
    **dict.fromkeys(("colour", "fill", "stroke", "title", "words"), _words),
    "points": _points,
    "dash": _numbers,
    "anchor": _anchor,
    "bold": _flag,
}
"""Field of a part to what reads it; a name means the same in every part."""
