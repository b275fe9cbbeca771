"""``auscult levels FILE``: forms of the file, the leaderboard it writes, and files and rows that cannot be used."""

import json
import time

import pytest
from PIL import Image
from typer.testing import CliRunner

from auscult.cli.main import app
from auscult.errors import AuscultError
from auscult.score.tasks import TASKS

GOOD = dict.fromkeys(TASKS, 50.0)
HEADER = ",".join(["model", *TASKS])


def levels(path, *options):
    return CliRunner().invoke(app, ["levels", str(path), *options])


def csv_of(path, rows, header=HEADER):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]), encoding="utf-8")
    return path


def test_csv_json_and_leaderboard_give_the_same(tmp_path):
    table = csv_of(tmp_path / "scores.csv", [("one", *GOOD.values()), ("two", *[40] * 14)])
    board = tmp_path / "board.json"
    first = levels(table, "--json", "--leaderboard", str(board))
    assert first.exit_code == 0, first.output
    entry = json.loads(board.read_text())[0]
    assert entry["scores"]["taxonomy"]["l1_task"] == 50.0
    assert entry["scores"]["overall"] == 50.0
    plain = tmp_path / "scores.json"
    plain.write_text(json.dumps({"one": GOOD, "two": dict.fromkeys(TASKS, 40.0)}))
    assert levels(board, "--json").stdout == levels(plain, "--json").stdout == first.stdout
    table_text = levels(table).stdout
    assert "L4" in table_text
    assert "Ranks of tasks" in table_text
    assert "Eq. 1" in levels(table, "--reading", "equation").stdout


def test_out_holds_the_leaderboard_and_the_figures(tmp_path):
    table = csv_of(tmp_path / "scores.csv", [("one", *GOOD.values()), ("two", *[40] * 13, 70)])
    result = levels(table, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert levels(tmp_path / "out" / "leaderboard.json", "--json").stdout == levels(table, "--json").stdout
    figures = tmp_path / "out" / "figures"
    names = {"stage_ranks", "task_scores", "task_ranks", "why_relative", "why_harmonic"}
    assert {path.name for path in figures.iterdir()} == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    for name in names:
        with Image.open(figures / f"{name}.png") as picture:
            assert picture.size[0] > 400
    assert "one, AVSQA: 2" in (figures / "task_ranks.svg").read_text()
    assert "two, AVSQA: 70.0" in (figures / "task_scores.svg").read_text()
    assert "E 0.20" in (figures / "why_relative.svg").read_text()
    assert "E 1.00" in (figures / "why_relative.svg").read_text()
    harmonic = (figures / "why_harmonic.svg").read_text()
    assert "B 0.45" in harmonic
    assert "E 0.15" in harmonic


ROWS = {
    "not a number": (["x", "fifty", *[50] * 13], "AMIC is 'fifty'"),
    "nan": (["x", "nan", *[50] * 13], "AMIC is nan"),
    "infinite": (["x", "inf", *[50] * 13], "AMIC is inf"),
    "above 100": (["x", *[50] * 13, 101], "AVSQA is 101.0"),
    "below 0": (["x", *[50] * 13, -1], "AVSQA is -1.0"),
    "empty": (["x", *[50] * 13, ""], "AVSQA is ''"),
    "short": (["x", 50], "the row has 2 cells"),
    "shares": (["x", *[0.5] * 14], "no score is above 1"),
    "twice": (["good", *[50] * 14], "it is there twice"),
    "nameless": (["", *[50] * 14], "it has no name"),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_cannot_be_used_costs_that_model_alone(tmp_path, name):
    row, message = ROWS[name]
    result = levels(csv_of(tmp_path / "scores.csv", [("good", *GOOD.values()), row]))
    assert result.exit_code == 1
    assert "good" in result.stdout
    for part in (message, "expected:", "next step:", "scores.csv:3"):
        assert part in result.stderr, result.stderr


FILES = {
    "unknown task": (f"{HEADER},AVX\n", "there is no task 'AVX'"),
    "missing task": (f"{HEADER.removesuffix(',AVSQA')}\n", "without a score of AVSQA"),
    "no model column": ("AMIC\n1\n", "there is no column model"),
    "same column": (f"{HEADER},AMIC\n", "two columns have the same name"),
    "no model": (f"{HEADER}\n", "holds no model"),
    "empty": ("", "empty"),
    "a number": ("1", "there is no column model"),
    "semicolons": (f"{HEADER.replace(',', ';')}\na;1\n", "separate columns by commas"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_table_that_cannot_be_used_says_why(tmp_path, name):
    text, message = FILES[name]
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    error = levels(path).exception
    assert isinstance(error, AuscultError)
    assert message in str(error)
    assert str(path) in str(error)
    assert error.expected


JSONS = {
    "a number": ("3", "a number"),
    "same model": ('{"a": {}, "a": {}}', "'a' is there twice"),
    "NaN": ('{"a": {"AMIC": NaN}}', "NaN"),
    "broken": ('{"a"', "broken JSON"),
    "no scores": ('{"a": 3}', "its scores are a number"),
    "not text": ('{"a": {"AMIC": null}}', "AMIC is null"),
    "unknown task": (json.dumps({"a": {**GOOD, "AVX": 1}}), "there is no task 'AVX'"),
    "missing task": (json.dumps({"a": {"AMIC": 1}}), "without a score of VMIC"),
    "entry without scores": ('[{"model_name": "a"}]', "its scores are null"),
    "entry of nothing": ("[null]", "it has no name"),
}


@pytest.mark.parametrize("name", JSONS)
def test_json_that_cannot_be_used_says_why(tmp_path, name):
    text, message = JSONS[name]
    path = tmp_path / "scores.json"
    path.write_text(text, encoding="utf-8")
    result = levels(path)
    assert result.exit_code == 1
    assert message in f"{result.stderr}{result.exception}"
    assert str(path) in f"{result.stderr}{result.exception}"


def test_the_file_that_is_not_there_and_a_reading_that_is_none(tmp_path):
    for path, options, message in (
        (tmp_path / "none.csv", (), "none.csv"),
        (tmp_path, (), "auscult score"),
        (csv_of(tmp_path / "a.csv", [("a", *GOOD.values())]), ("--reading", "mean"), "--reading is 'mean'"),
    ):
        error = levels(path, *options).exception
        assert isinstance(error, AuscultError)
        assert message in str(error)


def test_a_long_object_takes_no_time_that_grows_with_its_square(tmp_path):
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"one": {f"t{number}": 1 for number in range(50_000)}}))
    began = time.process_time()
    assert levels(path).exit_code == 1
    assert time.process_time() - began < 4  # .3 s; compared name by name 11 s
