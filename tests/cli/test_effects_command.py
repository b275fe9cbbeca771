"""``auscult effects``: Tables 9 and 12 from files, a grid of models from a record, and what cannot be used."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from auscult.cli.main import app
from auscult.errors import AuscultError
from auscult.suites.avi import SUITE
from auscult.suites.registered import options_of
from avi_release import make_release

GOLDEN = Path(__file__).parents[1] / "golden" / "avi_paper_tables.csv"
LEVELS = ("L1", "L2", "L3", "L4")
GRID = """
def made(always):
    def answer(question, *, images, sounds, video):
        return always

    return answer


q1_a1, q1_a2, q2_a1, q2_a2 = map(made, ("?", "no", "yes", "yes"))
"""


def effects(*sources, json_=True):
    return CliRunner().invoke(app, ["effects", *map(str, sources), *(["--json"] if json_ else [])])


def table(path, number, *, end=""):
    """A table of the paper as a CSV; of its rows those that end so, without the end."""
    rows = {}
    with GOLDEN.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["table"] == number and row["row"].endswith(end):
                rows.setdefault(row["row"].removesuffix(end), []).append(row["printed"])
    path.write_text("\n".join([",".join(["model", *LEVELS]), *(",".join([name, *row]) for name, row in rows.items())]))
    return path


def test_table_9(tmp_path):
    result = effects(table(tmp_path / "nine.csv", "9"))
    assert result.exit_code == 0, result.output
    metrics = json.loads(result.stdout)["metrics"]
    assert metrics["nine.csv L1"] == pytest.approx(
        {"q": 0.88, "a": 7.405, "v": -0.145, "q x a": -0.5, "q x v": 0.41, "a x v": -0.125, "q x a x v": 0.26}
    )
    printed_table = effects(tmp_path / "nine.csv", json_=False).stdout
    assert "+7.40" in printed_table
    assert "q2 less q1" in printed_table


def test_table_12(tmp_path):
    runs = [table(tmp_path / f"seed_{seed}.csv", "12", end=f" (s={seed})") for seed in (42, 1024)]
    result = effects(*runs)
    assert result.exit_code == 0, result.output
    metrics = json.loads(result.stdout)["metrics"]
    assert {name: (metrics[f"stability {name}"]["pairs"], metrics[f"stability {name}"]["kept"]) for name in LEVELS} == (
        dict.fromkeys(LEVELS, (1, 1))
    )
    assert metrics["stability L2"]["changed"] == pytest.approx(1.78)
    assert "Do other seeds" in effects(*runs, json_=False).stdout


@pytest.mark.slow
def test_a_record_whose_models_form_a_grid(tmp_path):
    make_release(tmp_path / "release")
    (tmp_path / "grid.py").write_text(GRID)
    models = [f"{tmp_path / 'grid.py'}:{name}" for name in ("q1_a1", "q1_a2", "q2_a1", "q2_a2")]
    words = {"data": tmp_path / "release", "models": models, "workers": 0, "tasks": ("AVM",)}
    for out in ("first", "second"):
        SUITE.run(options_of(SUITE, {**words, "out": tmp_path / out}))
    cells = json.loads((tmp_path / "first" / "cells.json").read_text())
    scores = {row["model"]: row["value"] for row in cells if row["measure"] == "level" and row["metric"] == "AVM"}
    result = effects(tmp_path / "first", tmp_path / "second")
    assert result.exit_code == 0, result.output
    metrics = json.loads(result.stdout)["metrics"]
    no, yes = scores["grid.q1_a2"], scores["grid.q2_a1"]
    assert yes > 0 < no
    assert metrics["first AVM"]["q"] == pytest.approx(100 * (yes - no / 2))
    assert metrics["first AVM"]["a"] == pytest.approx(100 * no / 2)
    assert metrics["stability AVM"]["changed"] == 0


BAD = {
    "no grid": ("model,L1\none,1\ntwo,2\n", "form no grid"),
    "no number": ("model,L1\na1_b1,x\na1_b2,2\n", "L1 is 'x'"),
    "infinite": ("model,L1\na1_b1,inf\na1_b2,2\n", "L1 is 'inf'"),
    "no column": ("L1\n1\n", "no column model"),
    "twice": ("model,L1\na,1\na,2\n", "there twice"),
    "short": ("model,L1\na\n", "the row has 1 cells"),
    "nothing": ("", "empty"),
    "one model": ("model,L1\na,1\n", "no number of two models"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_used_says_why(tmp_path, name):
    text, message = BAD[name]
    path = tmp_path / "numbers.csv"
    path.write_text(text, encoding="utf-8")
    error = effects(path).exception
    assert isinstance(error, AuscultError)
    assert message in str(error)
    assert str(path) in str(error)
    assert error.expected


def test_a_missing_number_costs_its_column_alone(tmp_path):
    rows = ["model,L1,L2", "q1_a1,1,1", "q1_a2,2,", "q2_a1,3,3", "q2_a2,4,4"]
    (tmp_path / "some.csv").write_text("\n".join(rows), encoding="utf-8")
    result = effects(tmp_path / "some.csv")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["metrics"] == {"some.csv L1": pytest.approx({"q": 2, "a": 1, "q x a": 0})}
    assert "L2 has no number of q1_a2." in " ".join(effects(tmp_path / "some.csv", json_=False).stdout.split())


def test_numbers_of_a_record_are_finite(tmp_path):
    record = tmp_path / "run"
    record.mkdir()
    (record / "manifest.json").write_text("{}", encoding="utf-8")
    cells = [{"measure": "level", "level": "clean", "model": f"m.q{q}_a{a}", "metric": metric, "value": 0.5}
             for q in (1, 2) for a in (1, 2) for metric in ("AVM", "AVH")]  # fmt: skip
    cells[1]["value"], cells[3]["value"] = None, True
    (record / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    assert list(json.loads(effects(record).stdout)["metrics"]) == ["run AVM"]


def test_runs_of_other_models_and_what_is_not_there(tmp_path):
    for name, models in (("a.csv", "one,1\ntwo,2"), ("b.csv", "three,1\nfour,2")):
        (tmp_path / name).write_text(f"model,L1\n{models}\n", encoding="utf-8")
    for sources in ((tmp_path / "a.csv", tmp_path / "b.csv"), (tmp_path / "none",), (tmp_path,)):
        assert isinstance(effects(*sources).exception, AuscultError)
