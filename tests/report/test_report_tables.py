"""Tables for the console: counts, order, shortened sentences; and tables read back from a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from auscult.errors import InputError
from auscult.report.facts import interval, number, shortened, worst_first
from auscult.report.tables import console_tables, read_table

Make = Callable[..., Any]


def test_worst_first_goes_by_action_then_by_iou_with_the_undefined_before(verdict: Make) -> None:
    verdicts = [
        verdict("a", action="accept", iou=0.1),
        verdict("b", action="reject", iou=0.9),
        verdict("c", action="reject", iou=0.2),
        verdict("d", action="major_revision", iou=0.8),
        verdict("e", action="minor_revision", iou=0.8),
        verdict("f", action="reject", iou=None),
        verdict("g", action=None, iou=0.0),
        verdict("ba", action="reject", iou=0.2),
    ]
    assert [verdict_.id for verdict_ in worst_first(verdicts)] == ["f", "ba", "c", "b", "d", "e", "g", "a"]


def test_the_cross_table_adds_up_and_says_percent(verdict: Make, a_run: Make) -> None:
    verdicts = [
        verdict("a"),
        verdict("b", action="accept", defect="perfect"),
        verdict("c", action="minor_revision"),
        verdict("d"),
    ]
    summary = {"n": 5, "ok": 4, "failed": 1, "undefined": 0}
    cross, worst = console_tables(a_run(verdicts, summary=summary)).values()
    assert cross.header == ("defect", "accept", "minor revision", "major revision", "reject", "all")
    assert cross.rows == (
        ("perfect", "1", "0", "0", "0", "1"),
        ("erode", "0", "1", "0", "2", "3"),
        ("all", "1", "1", "0", "2", "4"),
        ("% of all", "25.0 %", "25.0 %", "0.0 %", "50.0 %", "100.0 %"),
    )
    assert cross.note.startswith("5 items, 4 judged, 1 failed, 0 undefined.")
    with_sounds = {"n": 9, "ok": 6, "failed": 3, "undefined": 0, "sound": {"n": 4, "ok": 2, "failed": 2}}
    assert console_tables(a_run(verdicts, summary=with_sounds))["printed_actions"].note == cross.note
    assert [row[0] for row in worst.rows] == ["a", "d", "c", "b"]
    assert worst.rows[0][3] == "0.50 [0.40, 0.60]"


def test_only_the_worst_ten_are_listed_with_short_sentences(verdict: Make, a_run: Make) -> None:
    verdicts = [verdict(f"{index:02}", rationale="word " * 60) for index in range(12)]
    worst = console_tables(a_run(verdicts))["printed_worst"]
    assert len(worst.rows) == 10
    assert worst.title == "The worst 10 of 12"
    assert all(len(row[4]) <= 90 and row[4].endswith("…") for row in worst.rows)


def test_what_is_not_judged_is_among_no_worst(verdict: Make, a_run: Make) -> None:
    unjudged = {"action": "unjudged", "defect": None, "iou": None, "iou_low": None, "iou_high": None}
    verdicts = [verdict("a"), *(verdict(name, **unjudged) for name in "bc"), verdict("d", defect="empty")]
    cross, worst = console_tables(a_run(verdicts)).values()
    assert (worst.title, [row[0] for row in worst.rows]) == ("The worst 1 of 1", ["a"])
    assert worst.note.endswith("Not listed: 1 empty, 2 not judged.")
    assert cross.note.startswith("4 items, 2 judged, 2 not judged, 0 failed, 0 undefined.")
    assert cross.note.endswith("percent of all verdicts.")
    assert "printed_worst" not in console_tables(a_run(verdicts[1:]))


@pytest.mark.parametrize(
    ("judge", "ends", "words"),
    [
        ("masks.cues.v1", (0.4, 0.6), "with its 90 % interval."),
        ("chat.tiny", (None, None), "without an interval."),
        ("chat.tiny", (0.4, 0.6), "does not say how wrong they are."),
    ],
)
def test_what_stands_beside_an_estimate_is_called_what_it_is(
    verdict: Make, a_run: Make, judge: str, ends: tuple[float | None, float | None], words: str
) -> None:
    worst = console_tables(a_run([verdict("a", judge=judge, iou_low=ends[0], iou_high=ends[1])]))["printed_worst"]
    assert words in worst.note


def test_a_record_of_failures_only_still_has_its_counts(a_run: Make) -> None:
    errors = [{"id": "a", "stage": "read", "error": "truncated"}]
    (table,) = console_tables(a_run(errors=errors)).values()
    assert "1 items, 0 judged, 1 failed" in table.note
    assert table.rows[-1][1] == "–"


def test_a_table_of_a_record_is_read_as_it_stands() -> None:
    table = read_table("x", {"title": "t", "header": ["a", "b"], "rows": [["r", 0.25], [None, True]], "note": None})
    assert table.rows == (("r", "0.25"), ("", "yes"))
    assert table.note == ""


@pytest.mark.parametrize(
    "content",
    [None, [], {"header": "ab", "rows": []}, {"header": ["a"], "rows": [["b", "c"]]}, {"header": ["a"], "rows": ["b"]}],
)
def test_what_is_no_table_is_refused_with_what_was_expected(content: object) -> None:
    with pytest.raises(InputError) as error:
        read_table("odd", content)
    assert "odd" in error.value.message
    assert "header" in error.value.expected


def test_numbers_that_do_not_exist_are_dashes() -> None:
    assert number(None) == number(float("nan")) == "–"
    assert interval(0.1, 0.25) == "[0.10, 0.25]"
    assert interval(None, 0.2) == ""
    assert shortened("a  b\nc", 10) == "a b c"
    assert shortened("x" * 50, 10) == "x" * 9 + "…"
