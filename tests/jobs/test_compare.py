"""Paired comparison of records: what is matched, what is counted, and what the tests say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from auscult.errors import RecordError, UsageError
from auscult.jobs.audit import AuditOptions, audit_folder
from auscult.jobs.compare import compare_folders
from auscult.record.reader import read_run
from auscult.score.stats import rmse
from small_inputs import LEFT, RIGHT, folder_input, item, rows, save_frame, save_mask, write_lines

JUDGE = "masks.cues.v1"
TYPES = ("erode", "dilate", "merge", "perfect")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One record of twelve items on three frames, with truth."""
    folder = tmp_path_factory.mktemp("compare")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("auscult.jobs.pairs.REPLICATES", 10)
        for number, name in enumerate("abc"):
            save_frame(folder / "in" / "frames" / f"{name}.png", seed=number)
        save_mask(folder / "in" / "masks" / "a.png", LEFT)
        save_mask(folder / "in" / "masks" / "r.png", RIGHT)
        lines = [
            item(
                f"{frame}/{number}",
                frame=f"frames/{frame}.png",
                truth={"mask": "masks/r.png" if number % 2 else "masks/a.png", "defect": TYPES[number],
                       "action": "reject" if number % 2 else "accept"},
            )
            for frame in "abc"
            for number in range(4)
        ]  # fmt: skip
        write_lines(folder / "in" / "items.jsonl", *lines)
        audit_folder(AuditOptions(source=folder / "in", out=folder / "out", workers=0))
    return folder / "out"


def changed(audited: Path, to: Path, change, *, judge: str = "masks.other.v1") -> Path:
    """A copy of the record in which another judge said something else; ``change`` gives a row or None."""
    shutil.copytree(audited, to)
    told = [change({**row, "judge": judge}) for row in rows(to / "verdicts.jsonl")]
    write_lines(to / "verdicts.jsonl", *(row for row in told if row is not None))
    return to


def knowing(audited: Path):
    """A change after which every answer is right."""
    truths = {row["id"]: row for row in rows(audited / "truth.jsonl")}

    def change(row):
        true = truths[row["id"]]
        iou = {"iou": true["iou"], "iou_low": true["iou"], "iou_high": true["iou"]}
        return {**row, **iou, "defect": true["defect"], "action": true["action"]}

    return change


def test_a_judge_that_knows_beats_one_that_does_not(audited: Path, tmp_path: Path) -> None:
    oracle = changed(audited, tmp_path / "oracle", knowing(audited))
    compared = compare_folders([audited, oracle])
    metrics = compared.summary.metrics
    difference = metrics[f"rmse_difference/{JUDGE}/masks.other.v1"]
    own = read_run(audited)
    true = {row["id"]: row["iou"] for row in rows(audited / "truth.jsonl")}
    alone = rmse([verdict.iou for verdict, _ in own.verdicts], [true[verdict.id] for verdict, _ in own.verdicts])
    assert difference["value"] == pytest.approx(alone.value, abs=1e-6)
    assert difference["n"] == 12
    assert 0 < difference["low"] <= difference["value"] <= difference["high"]
    test = metrics[f"mcnemar_defect/{JUDGE}/masks.other.v1"]
    wrong = sum(verdict.defect != TYPES[int(verdict.id[-1])] for verdict, _ in own.verdicts)
    assert (test["only_first_right"], test["only_second_right"]) == (0, wrong)
    assert test["value"] == pytest.approx(min(1.0, 2 * 0.5**wrong))
    assert test["holm"] == test["value"]
    assert compared.tables[0].rows[0][-1] == "masks.other.v1"
    json.dumps(compared.summary.as_json(), allow_nan=False)


def test_the_same_judge_twice_does_not_differ(audited: Path, tmp_path: Path) -> None:
    shutil.copytree(audited, tmp_path / "again")
    compared = compare_folders([audited, tmp_path / "again"])
    names = f"{JUDGE} ({audited.name})/{JUDGE} (again)"
    assert compared.summary.metrics[f"rmse_difference/{names}"]["value"] == 0
    assert compared.summary.metrics[f"mcnemar_action/{names}"]["value"] == 1
    assert compared.tables[0].rows[0][-1] == "neither"


def test_what_cannot_be_matched_is_counted_by_reason(audited: Path, tmp_path: Path) -> None:
    def change(row):
        return None if row["id"] == "a/0" else {**row, "input": "0"} if row["id"] == "a/1" else row

    other = changed(audited, tmp_path / "other", change)
    truths = rows(other / "truth.jsonl")
    kept = [row for row in truths if row["id"] != "a/2"]
    write_lines(other / "truth.jsonl", *({**row, "iou": 0.123} if row["id"] == "a/3" else row for row in kept))
    compared = compare_folders([audited, other])
    table = compared.tables[-1]
    assert dict(zip(table.header, table.rows[0], strict=True)) == {
        "first": JUDGE, "second": "masks.other.v1", "matched": "8", "only the first judged": "1",
        "only the second judged": "0", "other frame, mask or text": "1", "other truth": "1", "no truth": "1",
    }  # fmt: skip
    assert (compared.summary.n, compared.summary.ok, compared.summary.undefined) == (12, 8, 4)
    assert compared.summary.metrics[f"mcnemar_defect/{JUDGE}/masks.other.v1"]["n"] == 8


def test_several_judges_are_compared_two_by_two_with_holm(audited: Path, tmp_path: Path) -> None:
    oracle = changed(audited, tmp_path / "oracle", knowing(audited), judge="masks.oracle.v1")
    same = changed(audited, tmp_path / "same", lambda row: row, judge="masks.same.v1")
    metrics = compare_folders([audited, oracle, same]).summary.metrics
    tests = [metric for name, metric in metrics.items() if name.startswith("mcnemar_action/")]
    assert len(tests) == 3
    least = min(tests, key=lambda test: test["value"])
    assert least["holm"] == pytest.approx(min(1.0, 3 * least["value"]))
    assert all(test["holm"] >= test["value"] for test in tests)


def test_the_judges_of_a_run_folder_are_its_sides(audited: Path, tmp_path: Path) -> None:
    shutil.copytree(audited, tmp_path / "run" / "judges" / JUDGE)
    changed(audited, tmp_path / "run" / "judges" / "masks.other.v1", knowing(audited))
    manifest = json.loads((audited / "manifest.json").read_text()) | {"command": "run mqa"}
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    compared = compare_folders([tmp_path / "run"])
    assert compared.tables[0].rows[0][:2] == (JUDGE, "masks.other.v1")


def test_what_cannot_be_compared_says_why(audited: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1 judge is nothing"):
        compare_folders([audited])
    with pytest.raises(RecordError, match="no such folder"):
        compare_folders([audited, tmp_path / "nowhere"])
    renamed = changed(audited, tmp_path / "renamed", lambda row: {**row, "id": f"x{row['id']}"})
    with pytest.raises(UsageError, match="12 only the first judged, 12 only the second judged"):
        compare_folders([audited, renamed])
    folder_input(tmp_path / "plain")
    audit_folder(AuditOptions(source=tmp_path / "plain", out=tmp_path / "untrue", workers=0))
    with pytest.raises(RecordError, match="no truth"):
        compare_folders([audited, tmp_path / "untrue"])
