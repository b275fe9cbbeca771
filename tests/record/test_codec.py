"""JSON to our types and back: what is accepted, what is refused, and what the refusal says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

from auscult.errors import InputError, OutputError, RecordError
from auscult.record.codec import Count, Share, dump, from_json, load, read_file, to_json
from auscult.types import Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    start: int
    end: float | None = None

    def __post_init__(self) -> None:
        if self.end is not None and self.end < self.start:
            raise ValueError("it ends before it starts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: str
    iou: Share | None = None
    action: Literal["accept", "reject"] = "accept"
    probs: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    box: tuple[int, int, int, int] | None = None
    counts: Mapping[str, tuple[Count, Count]] = field(default_factory=dict)
    checked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    centre: Doubles


def test_a_value_comes_back_as_it_was() -> None:
    row = Row(id="a", iou=0.25, probs={"erode": 1.0}, spans=(Span(start=1, end=2.5),), box=(1, 2, 3, 4), checked=True)
    plain = to_json(row)
    assert list(plain) == ["id", "iou", "action", "probs", "spans", "box", "counts", "checked"], "in the fields' order"
    assert plain["box"] == [1, 2, 3, 4]
    assert plain["spans"] == [{"start": 1, "end": 2.5}]
    assert from_json(Row, load(dump(plain))) == row
    assert from_json(dict[str, float], {"a": 1}) == {"a": 1.0}


def test_numpy_and_read_only_mappings_become_plain_and_floats_are_rounded() -> None:
    row = to_json({"a": np.float32(0.5), "b": MappingProxyType({"c": np.arange(2)}), "d": (1 / 3,)}, decimals=6)
    assert row == {"a": 0.5, "b": {"c": [0, 1]}, "d": [0.333333]}
    assert json.dumps(row)
    assert np.array_equal(from_json(Weights, to_json(Weights(centre=np.eye(2)))).centre, np.eye(2))
    with pytest.raises(OutputError, match="complex"):
        to_json({"a": 1j})


@pytest.mark.parametrize(
    ("changes", "message", "expected"),
    [
        ({"id": 3}, "'id' is 3", "text at 'id'"),
        ({"id": None}, "'id' is null", "text at 'id'"),
        ({"iou": True}, "'iou' is true", "a number from 0 to 1 or null at 'iou'"),
        ({"iou": 1.5}, "'iou' is 1.5", "a number from 0 to 1 or null at 'iou'"),
        ({"iou": float("nan")}, "'iou' is no number", "finite numbers up to 1e300"),
        ({"iou": float("inf")}, "'iou' is too large", "finite numbers up to 1e300"),
        ({"iou": 10**400}, "'iou' is too large", "finite numbers up to 1e300"),
        ({"spans": [{"start": 0}, {"start": -1e301}]}, "'spans.1.start' is too large", "finite numbers up to 1e300"),
        ({"action": "keep"}, "'action' is 'keep'", "one of accept, reject at 'action'"),
        ({"action": ["accept"]}, "'action' is [\"accept\"]", "one of accept, reject at 'action'"),
        ({"probs": []}, "'probs' is []", "an object of numbers at 'probs'"),
        ({"probs": {"erode": 0.5, "merge": "b"}}, "'probs.merge' is 'b'", "a number at 'probs.merge'"),
        ({"spans": "ab"}, "'spans' is 'ab'", "a list at 'spans'"),
        ({"spans": [{"start": 1.0}]}, "'spans[0].start' is 1.0", "a whole number at 'spans[0].start'"),
        ({"spans": [{"start": 1}, {}]}, "'spans[1].start' is missing", "a whole number at 'spans[1].start'"),
        ({"spans": [{"start": 2, "end": 1}]}, "'spans[0]': it ends before", "an object with the keys start, end at"),
        ({"box": [1, 2, 3]}, "'box' is [1, 2, 3]", "a list of 4 whole numbers or null at 'box'"),
        ({"box": [1, 2, 3, 4.5]}, "'box[3]' is 4.5", "a whole number at 'box[3]'"),
        ({"counts": {"a": [1, -1]}}, "'counts.a[1]' is -1", "a whole number from 0 up at 'counts.a[1]'"),
        ({"checked": 1}, "'checked' is 1", "true or false at 'checked'"),
        ({"id": "a" * 999, "box": "b" * 999}, "'box' is 'bbb", "a list of 4 whole numbers or null at 'box'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_what_was_expected(changes: dict[str, Any], message: str, expected: str) -> None:
    with pytest.raises(InputError) as error:
        from_json(Row, {"id": "a", **changes}, path="f.jsonl", line=7, error=InputError, hint="correct the line")
    assert error.value.message.startswith(message)
    assert len(error.value.message) < 120
    assert error.value.expected.startswith(expected)
    assert (error.value.path, error.value.line, error.value.hint) == ("f.jsonl", 7, "correct the line")


@pytest.mark.parametrize("value", [None, [], "a", 3, {}])
def test_another_kind_of_value_is_refused(value: object) -> None:
    with pytest.raises(RecordError):
        from_json(Row, value)


@pytest.mark.parametrize("value", ["ab", 3, [[1, 2], [3]], ["a"], [True], [None], {"a": 1}])
def test_an_array_is_lists_of_numbers_of_one_length(value: object) -> None:
    with pytest.raises(RecordError, match="'centre' is "):
        from_json(Weights, {"centre": value})


def test_unknown_keys_are_passed_over_or_refused_with_the_nearest() -> None:
    row = {"id": "a", "spans": [{"start": 1, "ends": 2}]}
    assert from_json(Row, row).spans == (Span(start=1),)
    with pytest.raises(RecordError, match="unknown key 'ends'") as error:
        from_json(Row, row, exact=True)
    assert error.value.hint == "did you mean end?"
    assert from_json(Row, to_json(Row(id="a", spans=(Span(start=1),))), exact=True).spans == (Span(start=1),)


def test_deep_nesting_is_an_error_of_ours() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecordError, match="deep"):
        from_json(Row, {"id": deep})
    with pytest.raises(RecordError):
        from_json(Weights, {"centre": deep})
    with pytest.raises(OutputError):
        to_json(deep)
    with pytest.raises(ValueError, match="deep"):
        load(b"[" * 100_000)


class Step(NamedTuple):
    start: Count
    end: Count
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    edits: tuple[Step, ...]


def test_a_named_tuple_is_told_as_the_list_that_it_is() -> None:
    assert from_json(Edited, {"edits": [[0, 1, "a"]]}) == Edited(edits=(Step(0, 1, "a"),))
    for edits, expected in (
        ([{"start": 0}], "a list of 3 items at 'edits[0]'"),
        ([[-1, 1, "a"]], "a whole number from 0 up at 'edits[0][0]'"),
        ([[0, 1, 2]], "text at 'edits[0][2]'"),
    ):
        with pytest.raises(RecordError) as error:
            from_json(Edited, {"edits": edits})
        assert error.value.expected == expected


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b"{", b"\xff", b"", b"1 2", b"\xef\xbb\xbf{}"])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError, ValueError)):
        load(text)


def test_text_is_written_as_it_is_and_half_a_surrogate_pair_as_an_escape() -> None:
    assert dump({"b": "é", "a": 1e-05}) == '{"b": "é", "a": 1e-05}'.encode()
    assert load(dump("\udcff")) == "\udcff"
    with pytest.raises(OutputError):
        dump(float("nan"))


def test_a_file_that_cannot_be_read_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as error:
        read_file(Row, tmp_path / "none.json", what="the row", expected="a row", most_bytes=9, error=RecordError)
    assert (error.value.message, error.value.path) == (
        "the row cannot be read: No such file or directory",
        str(tmp_path / "none.json"),
    )


def test_half_a_surrogate_pair_where_a_text_is_looked_at() -> None:
    @dataclass(frozen=True)
    class Named:
        kind: Literal["a", "b"]

    with pytest.raises(RecordError, match="half a surrogate pair"):
        from_json(Named, {"kind": "\ud800"})
