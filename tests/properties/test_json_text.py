"""Text of JSON is read as the standard library reads it, whichever of the two readers takes it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from auscult.record.codec import load

LARGEST_INT = 10**300 - 1
NUMBERS = st.one_of(
    st.integers(), st.integers(-(10**320), 10**320), st.floats(allow_nan=False), st.floats(width=32, allow_nan=False)
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(st.characters(exclude_categories=()))),
    lambda part: st.one_of(st.lists(part), st.dictionaries(st.text(st.characters(exclude_categories=())), part)),
    max_leaves=30,
)
PIECES = st.lists(st.sampled_from([*'{}[]",:.eE+-0123456789 \t\n\\u/', "true", "null", "NaN", "1e400", "9" * 301, "é"]))


@given(VALUES, st.booleans())
@example(-(10**300), True)
@example([{"a": 10**301}, "9" * 400], True)
@example("\ud800", True)
@example([1.7976931348623157e308, 5e-324, 0.1, 1e23, 9007199254740993.0], True)
def test_what_was_written_comes_back(value: Any, escaped: bool) -> None:
    text = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "replace").replace(b"Infinity", b"1e999")
    assert _typed(load(text)) == _typed(_bounded(json.loads(text)))


@given(PIECES)
@example(["9" * 301, "."])
@example(["-", "9" * 302])
@example([*"[1.]"])
def test_text_is_refused_or_read_as_the_standard_library_does(pieces: list[str]) -> None:
    text = "".join(pieces).encode()
    try:
        expected = _bounded(json.loads(text, parse_constant=_refuse))
    except ValueError:
        expected = ValueError
    try:
        loaded_value = load(text)
    except ValueError:
        loaded_value = ValueError
    assert _typed(loaded_value) == _typed(expected)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _bounded(value: Any) -> Any:
    """A value with floats for whole numbers of more than 300 digits, which may be infinite, as ``load`` promises."""
    if isinstance(value, int) and abs(value) > LARGEST_INT:
        return float(str(value))
    if isinstance(value, list):
        return [_bounded(part) for part in value]
    return {key: _bounded(part) for key, part in value.items()} if isinstance(value, dict) else value


def _typed(value: Any) -> str:
    """The value with its types: 1 is not 1.0, nor 0.0 -0.0."""
    return repr(value)
