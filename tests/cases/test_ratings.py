"""Ratings from CSV, JSON lines, Label Studio and released listening tests; bad ones are named, the rest kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from auscult.cases.ratings import RatingSet, label_studio_config, read_ratings
from auscult.errors import NothingToDo


def read_text(folder: Path, text: str, name: str = "ratings.csv", **options: frozenset[str]) -> RatingSet:
    (folder / name).write_text(text)
    return read_ratings(folder / name, known_raters=options.get("known"))


def rating_rows(rating_set: RatingSet) -> list[tuple[str, str, str, float]]:
    return [(rating.item, rating.rater, rating.axis, rating.value) for rating in rating_set.ratings]


ROWS = [
    ("a,x,0", "overall is '0'"),
    ("a,x,6", "overall is '6'"),
    ("a,x,2.5", "overall is '2.5'"),
    ("a,x,nan", "overall is 'nan'"),
    ("a,x,four", "overall is 'four'"),
    ("a,x,1e400", "overall is '1e400'"),
    ("a,z,3", "the rater 'z' is not known"),
    ("b,y,3", "'y' rated overall of 'b' twice; the first, in line 2, is kept"),
    (",x,3", "the id '' is empty"),
    ("../up,x,3", "leads out"),
    ("a,/x,3", "absolute"),
    ("a,x,3,4", "more cells than the first row"),
]


@pytest.mark.parametrize(("row", "problem"), ROWS)
def test_a_bad_row_is_named_with_its_line_and_the_rest_kept(tmp_path: Path, row: str, problem: str) -> None:
    text = f"item,rater,overall\nb,y,4\n{row}\nc,x,2\n"
    rating_set = read_text(tmp_path, text, known=frozenset({"x", "y"}))
    assert rating_rows(rating_set) == [("b", "y", "overall", 4.0), ("c", "x", "overall", 2.0)]
    [(_, record)] = rating_set.problems
    assert problem in record.error
    assert record.line == 3
    assert record.expected


def test_both_forms_of_a_table_and_json_lines_say_the_same(tmp_path: Path) -> None:
    want = [("a", "x", "recall", 5.0), ("a", "x", "difficulty", 1.0)]
    wide = read_text(tmp_path, "Item,RATER,recall,overall_difficulty,overall,domain,more\na,x,5,1,,speech,?\n")
    long = read_text(tmp_path, "id,annotator,axis,score\na,x,recall,5\na,x,overall_difficulty,1\na,x,overall,\n")
    lines = read_text(tmp_path, '{"item": "a", "rater": "x", "recall": 5, "difficulty": 1}\n', "ratings.jsonl")
    assert rating_rows(wide) == rating_rows(long) == rating_rows(lines) == want
    assert wide.items["a"].domain == "speech"
    assert wide.axes == ("recall", "difficulty")
    indexed = read_text(tmp_path, ",item,rater,recall,difficulty\n0,a,x,5,1\n")  # as pandas writes it
    assert rating_rows(indexed) == want
    unknown = read_text(tmp_path, "item,rater,axis,rating\na,x,recall,5\na,x,beauty,5\n")
    assert unknown.problems[0][1].error == "the axis is 'beauty'"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("none.csv", "item,rater,overall\n"),
        ("names.csv", "thing,who,overall\na,x,3\n"),
        ("twice.csv", "item,rater,overall,overall\na,x,3,3\n"),
        ("broken.json", "[{]"),
        ("object.json", "{}"),
        ("broken.jsonl", '{"item": \n'),
        ("binary.csv", "\x00\x01"),
        ("tasks.json", '[3, {"data": 5, "annotations": []}, {"annotations": [7, {"result": "x"}]}]'),
    ],
)
def test_a_file_without_ratings_says_so(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(NothingToDo) as error:
        read_text(tmp_path, text, name)
    assert error.value.expected


def test_annotations_of_label_studio_are_read_but_not_cancelled_ones(tmp_path: Path) -> None:
    def annotation(rater: object, rating: object, *, cancelled: bool = False) -> dict[str, object]:
        result = [{"from_name": "recall", "to_name": "audio", "type": "rating", "value": {"rating": rating}}]
        return {"completed_by": rater, "was_cancelled": cancelled, "result": result}

    annotations = [annotation({"id": 3, "email": "x@y.z"}, 4), annotation(7, 2), annotation(8, 1, cancelled=True)]
    tasks = [{"data": {"item": "a", "domain": "music"}, "annotations": [*annotations, annotation(9, 11)]}]
    rating_set = read_text(tmp_path, json.dumps(tasks), "tasks.json")
    assert rating_rows(rating_set) == [("a", "x@y.z", "recall", 4.0), ("a", "7", "recall", 2.0)]
    assert rating_set.items["a"].domain == "music"
    assert rating_set.problems[0][1].error == "task 1: recall is '11'"


def test_several_files_are_read_as_one_and_repeats_name_the_first_file(tmp_path: Path) -> None:
    (tmp_path / "ann.csv").write_text("item,rater,overall\na,ann,4\n")
    (tmp_path / "ben.csv").write_text("item,rater,overall\na,ben,3\na,ann,5\n")
    rating_set = read_ratings(tmp_path / "ann.csv", tmp_path / "ben.csv")
    assert rating_rows(rating_set) == [("a", "ann", "overall", 4.0), ("a", "ben", "overall", 3.0)]
    error = rating_set.problems[0][1]
    assert error.error == "'ann' rated overall of 'a' twice; the first, in line 2 of 'ann.csv', is kept"
    assert (error.path, error.line) == (str(tmp_path / "ben.csv"), 3)


@pytest.mark.peer
def test_label_studios_own_converter_reads_annotated_tasks_and_we_its_files(tmp_path: Path) -> None:
    reason = "the package to compare ratings with is not installed"
    converter = pytest.importorskip("label_studio_sdk.converter.converter", reason=reason)
    source = read_text(tmp_path, "item,rater,domain,recall,overall\na/1,x,speech,5,4\na/1,y,speech,2,\nb,x,music,,3\n")
    tasks = []
    for item in source.items.values():
        made = []
        for rater in dict.fromkeys(rating.rater for rating in source.ratings if rating.item == item.id):
            own_ratings = [rating for rating in source.ratings if (rating.item, rating.rater) == (item.id, rater)]
            results = [
                {
                    "from_name": rating.axis,
                    "to_name": "separated",
                    "type": "rating",
                    "value": {"rating": int(rating.value)},
                }
                for rating in own_ratings
            ]
            made.append({"id": len(made) + 1, "completed_by": {"email": rater}, "result": results})
        tasks.append({"id": len(tasks) + 1, "data": {"item": item.id, "domain": item.domain}, "annotations": made})
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(tasks))
    peer_converter = converter.Converter(label_studio_config(), project_dir=None, download_resources=False)
    peer_converter.convert_to_json(str(file), str(tmp_path / "json"), is_dir=False)
    peer_converter.convert_to_json_min(str(file), str(tmp_path / "min"), is_dir=False)
    peer_converter.convert_to_csv(str(file), str(tmp_path / "csv"), is_dir=False, sep=",", header=True)
    for name in ("json/result.json", "min/result.json", "csv/result.csv"):
        assert sorted(rating_rows(read_ratings(tmp_path / name))) == sorted(rating_rows(source))


def test_the_released_listening_tests_give_the_means_that_their_own_table_has(data: Path) -> None:
    folder = data / "sound" / "ratings"
    rating_set = read_ratings(folder)
    assert not rating_set.problems
    names, raters = list(rating_set.items), list({rating.rater for rating in rating_set.ratings})
    rated_on = {
        axis: rating_set.matrix(axis, raters=raters, items=names)
        for axis in ("sound_quality", "freedom_from_interference", "basic_audio_quality")
    }
    n_compared = 0
    with (folder / "clips.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            item = f"{row['set']}/{row['page']}/{row['sound']}"
            for axis, values in rated_on.items():
                if row[f"{axis}_mean"]:
                    mean = np.nanmean(values[:, names.index(item)])
                    assert mean == pytest.approx(float(row[f"{axis}_mean"]), abs=0.006)
                    n_compared += 1
            assert rating_set.items[item].separated == folder / row["audio"]
    assert n_compared >= 170
    separator_items = [item for item in rating_set.items.values() if item.kind == "separator"]
    assert all(item.reference is not None for item in separator_items)
    assert {item.id.partition("/")[0] for item in separator_items if item.mixture is None} == {"sisec2018_choice"}
