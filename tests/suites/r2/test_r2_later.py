"""A second command for the same folder: what failed in the first one stays failed, and is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from r2_material import calls, clips, model_file, models_of, rows, run_r2

from auscult.errors import RecordError, UsageError
from auscult.suites.core.records import read_record
from auscult.suites.r2 import SUITE
from small_inputs import auscult

pytestmark = pytest.mark.slow  # runs of the whole suite, beside those of test_r2_runs


def failures(out: Path) -> dict[str, str]:
    """Model to what the table says failed."""
    table = json.loads((out / "tables/answers.json").read_text())
    failed_column = table["header"].index("failed")
    return {row[0]: row[failed_column] for row in table["rows"] if row[failed_column] != "0"}


class TestFailures:
    @pytest.fixture
    def first(self, tmp_path: Path) -> tuple[Path, Path, Path]:
        """Two clips of five and six frames; the model fails on the first, clean and at low."""
        data, file, out = clips(tmp_path / "data"), model_file(tmp_path), tmp_path / "out"
        suite_run = run_r2(data, out, "vos", f"{file}:picky")
        assert suite_run.summary.failed == 2
        return data, file, out

    def test_another_model_does_not_erase_them(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        before = rows(out, "errors.jsonl")
        suite_run = run_r2(data, out, "vos", f"{file}:colour")
        assert suite_run.summary.failed == 2
        assert failures(out) == {"mine.picky": "2"}
        assert rows(out, "errors.jsonl") == before
        assert (suite_run.summary.n, suite_run.summary.ok) == (16, 14)  # two models, and four baselines on clean input

    def test_another_severity_does_not_erase_them(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        suite_run = run_r2(data, out, "vos", f"{file}:picky", levels=("high",))
        assert suite_run.summary.failed == 3
        (row,) = rows(out, "errors.jsonl")
        assert row["error"].startswith("mine.picky, all 3 conditions: ")
        assert row["questions"][0]["conditions"] == ["clean", "mix_low", "mix_high"]

    def test_answers_that_come_after_all_end_them(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        file.write_text(file.read_text().replace("== 5", "== 50"))
        suite_run = run_r2(data, out, "vos", f"{file}:picky")
        assert suite_run.summary.failed == 0
        assert rows(out, "errors.jsonl") == []

    def test_a_changed_model_is_not_held_to_what_its_old_code_was_asked(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        file.write_text(file.read_text().replace("are too many", "are far too many"))
        suite_run = run_r2(data, out, "vos", f"{file}:picky", mixes=())
        assert suite_run.summary.failed == 1

    def test_a_list_that_lacks_what_each_model_was_asked_is_refused(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        log_rows = rows(out, "requests.jsonl")
        assert [condition_["name"] for condition_ in log_rows[0].pop("conditions")] == ["clean", "mix_low"]
        (out / "requests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in log_rows))
        with pytest.raises(RecordError, match="list of what was asked is damaged"):
            run_r2(data, out, "vos", f"{file}:colour")

    def test_a_comparison_knows_them_without_their_texts(self, first: tuple[Path, Path, Path]) -> None:
        data, file, out = first
        run_r2(data, out, "vos", f"{file}:unsizely")
        (out / "errors.jsonl").unlink()
        grid = read_record(out, SUITE).grid
        assert grid.is_complete("mine.unsizely", "mix_low")
        assert not grid.is_complete("baseline.empty.v1", "mix_low")


def test_a_model_of_two_spellings_is_asked_once(tmp_path: Path) -> None:
    data = clips(tmp_path / "data", one=4)
    names = ("baseline.centre_box", "baseline.centre_box.v1")
    run_r2(data, tmp_path / "out", "vos", *names, mixes=())
    assert [name for name in models_of(tmp_path / "out") if "centre_box" in name] == ["baseline.centre_box.v1"]


class TestLoading:
    def test_nothing_loads(self, tmp_path: Path) -> None:
        """The command ends with the reason; the folder forgets the misspelled name."""
        data, file, out = clips(tmp_path / "data", one=4), model_file(tmp_path), tmp_path / "out"
        with pytest.raises(UsageError, match="nofn"):
            run_r2(data, out, "vos", f"{file}:nofn")
        assert not (out / "predictions.jsonl").exists()  # no baseline was asked
        assert run_r2(data, out, "vos", f"{file}:colour").summary.failed == 0
        assert not [name for name in models_of(out) if "nofn" in name]
        with pytest.raises(UsageError, match="nofn"):
            run_r2(data, out, "vos", f"{file}:nofn")
        assert run_r2(data, out, "vos", f"{file}:colour").summary.failed == 0
        assert len(calls(file)) == 2

    def test_one_does_not_load(self, tmp_path: Path) -> None:
        data, file, out = clips(tmp_path / "data", one=4), model_file(tmp_path), tmp_path / "out"
        suite_run = run_r2(data, out, "vos", f"{file}:nofn", f"{file}:colour")
        assert suite_run.summary.failed == 2
        (remark,) = suite_run.remarks
        assert remark.startswith("mine.nofn: ")
        assert "colour" in remark
        second_run = run_r2(data, out, "vos", f"{file}:colour")
        assert (second_run.summary.failed, second_run.remarks) == (0, ())

    @pytest.mark.slow
    def test_the_command_says_so(self, tmp_path: Path) -> None:
        data, file = clips(tmp_path / "data", one=4), model_file(tmp_path)
        words = ["run", "r2", "--task", "vos", "--data", data, "--workers", "1", "--quiet", "--perturb", "none"]
        result = auscult(*words, "--out", tmp_path / "a", "--model", f"{file}:nofn", "--model", f"{file}:colour")
        assert result.code == 1
        assert "mine.nofn" in result.err
        assert "colour" in result.err
        alone = auscult(*words, "--out", tmp_path / "b", "--model", f"{file}:nofn")
        assert alone.code == 2
        assert "nofn" in alone.err
