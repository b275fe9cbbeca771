"""``--only FILE``: the cases of some clips, with the numbers that they have among all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from r2_material import clips, model_file, rows, run_r2

from auscult.errors import UsageError
from auscult.suites.r2 import R2Options


def ids(folder: Path, *names: str) -> Path:
    """A file of ids."""
    file = folder / "only.txt"
    file.write_text("".join(f"{name}\n" for name in names))
    return file


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three clips."""
    return clips(tmp_path / "data", one=5, two=6, three=5)


class TestOnly:
    def test_clips_that_are_not_named_are_left_out_and_can_be_added(self, tmp_path: Path, data: Path) -> None:
        out, model = tmp_path / "out", f"{model_file(tmp_path)}:colour"
        run_r2(data, out, "vos", model, only=ids(tmp_path, "two", "", "one"), plan_hash="00ff")
        assert {row["clip"] for row in rows(out, "cases.jsonl")} == {"one", "two"}
        inputs = json.loads((out / "manifest.json").read_text())["inputs"]
        assert inputs["plan"] == "00ff"
        assert inputs["only"]["name"] == "2 ids"
        before = rows(out, "predictions.jsonl")
        run_r2(data, out, "vos", model)
        assert {row["clip"] for row in rows(out, "cases.jsonl")} == {"one", "two", "three"}
        after = rows(out, "predictions.jsonl")
        assert after[: len(before)] == before
        assert {row["id"].split("#")[0].split("/")[0] for row in after[len(before) :]} == {"three"}
        assert json.loads((out / "manifest.json").read_text())["inputs"] == {}

    def test_unknown_ids_are_named_with_line_and_nearest(self, tmp_path: Path, data: Path) -> None:
        with pytest.raises(UsageError, match="no case or clip 'thre'") as error:
            run_r2(data, tmp_path / "out", "vos", f"{model_file(tmp_path)}:colour", only=ids(tmp_path, "two", "thre"))
        assert error.value.line == 2
        assert "three" in error.value.hint

    def test_a_file_that_is_not_there_is_a_usage_error(self, tmp_path: Path, data: Path) -> None:
        with pytest.raises(UsageError, match="--only"):
            run_r2(data, tmp_path / "out", "vos", f"{model_file(tmp_path)}:colour", only=tmp_path / "nothing")


def test_an_empty_line_names_nothing(tmp_path: Path) -> None:
    """A case may have no clip, or no confirmation: its empty name is no id."""
    options = R2Options(data="scenes", out=tmp_path, only=ids(tmp_path, "two", ""))
    assert options.chosen(["one", "two"], lambda name: (name, "")) == ["two"]
