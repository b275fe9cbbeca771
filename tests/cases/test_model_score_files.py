"""A model's own scores beside the INPUT: read from CSV or JSON lines, matched by id, refused by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.cases.listing import with_scores
from auscult.errors import UsageError
from auscult.types import Item, MaskRef


def items(*names: str) -> list[Item]:
    return [Item(id=name, frame=Path("a.png"), mask=MaskRef(path=Path("m.png"))) for name in names]


def scores_in(path: Path, *names: str) -> dict[str, float | None]:
    return {item.id: item.model_score for item in with_scores(items(*names), path)[0]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.csv", "id,score\na,0.5\nb/1,-3\n"),
        ("s.csv", "\ufeffScore, id ,more\r\n0.5,a,x\r\n\r\n-3e0,b/1,y\r\n"),
        ("s.txt", 'id,score\na,0.5\n"b/1",-3\n'),
        ("s.jsonl", '{"id": "a", "score": 0.5}\n\n{"id": "b/1", "score": -3, "box": [1]}'),
        ("s.ndjson", '{"id": "a", "score": "0.5"}\n{"id": "b/1", "score": -3.0}\n'),
    ],
)
def test_both_forms_say_the_same(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert scores_in(tmp_path / name, "a", "b/1") == {"a": 0.5, "b/1": -3.0}


def test_a_table_comes_before_what_the_input_says_and_what_matches_nothing_is_counted(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,score\na,0.5\nx,1\ny,2\n")
    known_items = [*items("a"), *(Item(id="b", frame=Path("a.png"), mask=MaskRef(), model_score=0.25),), *items("c")]
    scored_items, notes = with_scores(known_items, tmp_path / "s.csv")
    assert [item.model_score for item in scored_items] == [0.5, 0.25, None]
    assert notes == (
        "2 scores are of ids that are none of the input's: 'x', 'y'",
        "1 mask without a score of the model's own",
    )
    assert with_scores(known_items, None) == (tuple(known_items), ())


BAD = {
    "no number": ("s.csv", "id,score\na,0.5\nb,high\n", 3, "'score' is 'high'"),
    "no finite number": ("s.csv", "id,score\na,nan\n", 2, "'score' is 'nan'"),
    "infinity": ("s.csv", "id,score\na,1e999\n", 2, "'score' is '1e999'"),
    "no score": ("s.csv", "id,score\na,\n", 2, "'score' is ''"),
    "no id": ("s.csv", "id,score\n,0.5\n", 2, "'id' is ''"),
    "twice": ("s.csv", "id,score\na,1\nb,1\na,2\n", 4, "already, in line 2"),
    "too few cells": ("s.csv", "id,score\na\n", 2, "1 cells"),
    "no header": ("s.csv", "a,0.5\n", 1, "no column id and no score: 'a,0.5'"),
    "semicolons": ("s.csv", "id;score\na;1\n", 1, "the first row"),
    "broken CSV": ("s.csv", 'id,score\n"a,1\n', 2, "broken CSV"),
    "broken JSON": ("s.jsonl", '{"id": "a", "score": 1}\n{"id": "b",\n', 2, "broken JSON"),
    "a list": ("s.jsonl", "[1]\n", 1, "holds no object"),
    "a number as id": ("s.jsonl", '{"id": "a", "score": 1}\n\n{"id": 3, "score": 1}\n', 3, "'id' is '3'"),
    "truth as score": ("s.jsonl", '{"id": "a", "score": true}\n', 1, "'score' is 'True'"),
    "none as score": ("s.jsonl", '{"id": "a", "score": null}\n', 1, "'score' is 'None'"),
    "NaN": ("s.jsonl", '{"id": "a", "score": NaN}\n', 1, "NaN"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, case: str) -> None:
    name, content, line, words = BAD[case]
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UsageError) as error:
        scores_in(path, "a", "b")
    assert words in error.value.message
    assert error.value.message.startswith("--scores: ")
    assert (error.value.path, error.value.line) == (str(path), line)
    assert error.value.expected


def test_a_file_that_is_none_or_of_another_input_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("id,score\nx,1\n")
    with pytest.raises(UsageError, match="none of its ids") as error:
        scores_in(tmp_path / "other.csv", "a")
    assert "'a'" in error.value.expected
    assert "'x'" in error.value.hint
    (tmp_path / "empty.csv").write_text("id,score\n")
    with pytest.raises(UsageError, match="no row has a score"):
        scores_in(tmp_path / "empty.csv", "a")
    (tmp_path / "bytes.csv").write_bytes(b"id,score\n\xff,1\n")
    for name in ("bytes.csv", "nowhere.csv", "."):
        with pytest.raises(UsageError, match="--scores"):
            scores_in(tmp_path / name, "a")
