"""Paired comparison of records: what is matched, what is counted, and what the tests say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from auscult.errors import RecordError, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.compare import compare_folders, write_comparison
from auscult.jobs.options import AuditOptions
from auscult.record.reader import read_run
from auscult.score.stats import rmse, rmse_video
from small_inputs import LEFT, RIGHT, folder_input, item, rows, save_frame, save_mask, write_lines

JUDGE = "masks.prompted.v1"
TYPES = ("erode", "dilate", "merge", "perfect")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One record of twelve items on three frames, with truth."""
    folder = tmp_path_factory.mktemp("compare")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("auscult.jobs.against_truth.REPLICATES", 10)
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


def changed_record(record: Path, to: Path, change, *, judge: str = "masks.second.v1") -> Path:
    """A copy of the record in which another judge said something else; ``change`` gives a row or None."""
    shutil.copytree(record, to)
    changes = [change({**row, "judge": judge}) for row in rows(to / "verdicts.jsonl")]
    kept_rows = [row for row in changes if row is not None]
    write_lines(to / "verdicts.jsonl", *kept_rows)
    summary = json.loads((to / "summary.json").read_bytes())
    (to / "summary.json").write_text(json.dumps({**summary, "ok": len(kept_rows)}))
    return to


def knowing(record: Path):
    """A change after which every answer is right."""
    truths = {row["id"]: row for row in rows(record / "truth.jsonl")}

    def change(row):
        true = truths[row["id"]]
        iou = {"iou": true["iou"], "iou_low": true["iou"], "iou_high": true["iou"]}
        return {**row, **iou, "defect": true["defect"], "action": true["action"]}

    return change


def test_a_judge_that_knows_beats_one_that_does_not(audited: Path, tmp_path: Path) -> None:
    oracle = changed_record(audited, tmp_path / "oracle", knowing(audited))
    comparison = compare_folders([audited, oracle])
    metrics = comparison.summary.metrics
    difference = metrics[f"rmse_difference/{JUDGE}/masks.second.v1"]
    own_run = read_run(audited)
    true = {row["id"]: row["iou"] for row in rows(audited / "truth.jsonl")}
    alone = rmse(
        [verdict.iou for verdict, _ in own_run.verdicts], [true[verdict.id] for verdict, _ in own_run.verdicts]
    )
    assert difference["value"] == pytest.approx(alone.value, abs=1e-6)
    assert difference["n"] == 12
    assert 0 < difference["low"] <= difference["value"] <= difference["high"]
    test = metrics[f"paired_defect/{JUDGE}/masks.second.v1"]
    wrong = sum(verdict.defect != TYPES[int(verdict.id[-1])] for verdict, _ in own_run.verdicts)
    assert (test["only_first_right"], test["only_second_right"]) == (0, wrong)
    photographs = {verdict.id[0] for verdict, _ in own_run.verdicts if verdict.defect != TYPES[int(verdict.id[-1])]}
    assert test["value"] == pytest.approx(min(1.0, 2 * 0.5 ** len(photographs)))
    assert "sign flips over clusters" in test["signature"]
    assert test["holm"] == test["value"]
    assert comparison.tables[0].rows[0][-1] == "neither", "three photographs show nothing"
    json.dumps(comparison.summary.as_json(), allow_nan=False)


def test_the_same_judge_twice_does_not_differ(audited: Path, tmp_path: Path) -> None:
    shutil.copytree(audited, tmp_path / "again")
    comparison = compare_folders([audited, tmp_path / "again"])
    names = f"{JUDGE} ({audited.name})/{JUDGE} (again)"
    assert comparison.summary.metrics[f"rmse_difference/{names}"]["value"] == 0
    assert comparison.summary.metrics[f"paired_action/{names}"]["value"] == 1
    assert comparison.tables[0].rows[0][-1] == "neither"


def test_what_cannot_be_matched_is_counted_by_reason(audited: Path, tmp_path: Path) -> None:
    def change(row):
        return None if row["id"] == "a/0" else {**row, "input": "0"} if row["id"] == "a/1" else row

    other = changed_record(audited, tmp_path / "other", change)
    truths = rows(other / "truth.jsonl")
    kept_truths = [row for row in truths if row["id"] != "a/2"]
    write_lines(other / "truth.jsonl", *({**row, "iou": 0.123} if row["id"] == "a/3" else row for row in kept_truths))
    comparison = compare_folders([audited, other])
    assert comparison.tables[-1].rows == tuple(
        (JUDGE, "masks.second.v1", reason, count)
        for reason, count in (
            ("matched", "8"), ("only the first judged", "1"), ("other frame, mask or text", "1"), ("other truth", "1"),
            ("no truth", "1"),
        )
    )  # fmt: skip
    assert (comparison.summary.n, comparison.summary.ok, comparison.summary.undefined) == (12, 8, 4)
    assert comparison.summary.metrics[f"paired_defect/{JUDGE}/masks.second.v1"]["n"] == 8
    assert "as a picture and as RLE" in comparison.tables[-1].note


def test_several_judges_are_compared_two_by_two_with_holm(audited: Path, tmp_path: Path) -> None:
    oracle = changed_record(audited, tmp_path / "oracle", knowing(audited), judge="masks.oracle.v1")
    same_record = changed_record(audited, tmp_path / "same", lambda row: row, judge="masks.same.v1")
    metrics = compare_folders([audited, oracle, same_record]).summary.metrics
    tests = [metric for name, metric in metrics.items() if name.startswith("paired_action/")]
    assert len(tests) == 3
    smallest = min(tests, key=lambda test: test["value"])
    assert smallest["holm"] == pytest.approx(min(1.0, 3 * smallest["value"]))
    assert all(test["holm"] >= test["value"] for test in tests)


def test_the_judges_of_a_run_folder_are_its_sides(audited: Path, tmp_path: Path) -> None:
    shutil.copytree(audited, tmp_path / "run" / "judges" / JUDGE)
    changed_record(audited, tmp_path / "run" / "judges" / "masks.second.v1", knowing(audited))
    manifest = json.loads((audited / "manifest.json").read_text()) | {"command": "run mqa"}
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    comparison = compare_folders([tmp_path / "run"])
    assert comparison.tables[0].rows[0][:2] == (JUDGE, "masks.second.v1")


def test_what_cannot_be_compared_says_why(audited: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1 judge is nothing"):
        compare_folders([audited])
    with pytest.raises(RecordError, match="no such folder"):
        compare_folders([audited, tmp_path / "nowhere"])
    repaired = changed_record(audited, tmp_path / "repaired", lambda row: row)
    manifest = json.loads((audited / "manifest.json").read_text()) | {"command": "act repair"}
    (repaired / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RecordError, match="a record of `auscult act repair` cannot be compared"):
        compare_folders([audited, repaired])
    renamed = changed_record(audited, tmp_path / "renamed", lambda row: {**row, "id": f"x{row['id']}"})
    with pytest.raises(UsageError, match="12 only the first judged, 12 only the second judged"):
        compare_folders([audited, renamed])
    drawn_anew = changed_record(audited, tmp_path / "anew", lambda row: {**row, "input": f"{row['id']} as RLE"})
    with pytest.raises(UsageError, match="12 other frame, mask or text") as refused:
        compare_folders([audited, drawn_anew])
    assert "as a picture and as RLE or polygons it is not the same" in str(refused.value)
    assert "where identity was checked, the sound of a clip counts too" in str(refused.value)
    folder_input(tmp_path / "plain")
    audit_folder(AuditOptions(source=tmp_path / "plain", out=tmp_path / "untrue", workers=0))
    with pytest.raises(UsageError, match="no mask has an estimate of all judges"):
        compare_folders([audited, tmp_path / "untrue"])


def test_without_truth_the_largest_disagreements_are_listed_with_pictures(audited: Path, tmp_path: Path) -> None:
    def change(row):
        low = {"iou": 0.05, "iou_low": 0.0, "iou_high": 1.0, "action": "reject"}
        return {**row, **(low if row["id"] == "b/2" else {"iou": row["iou"] + 0.01 * (row["iou"] < 0.9)})}

    first = shutil.copytree(audited, tmp_path / "first")
    second = changed_record(audited, tmp_path / "second", change)
    for folder in (first, second):
        (folder / "truth.jsonl").unlink()
    comparison = write_comparison([first, second], tmp_path / "page")
    agreement, disagreements = comparison.tables
    assert (agreement.rows[0][:3], disagreements.rows[0][0]) == ((JUDGE, "masks.second.v1", "12"), "b/2")
    assert "without its sign" in agreement.note
    assert disagreements.rows[0][-1].endswith("reject, 0.05")
    assert (comparison.summary.n, comparison.summary.ok, comparison.summary.undefined) == (12, 12, 0)
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    assert "reject, 0.05 [not known]" in page
    assert page.count("data:image/jpeg;base64,") == page.count("apart: the mask tinted, without truth") == 12
    assert "true outline" not in page
    assert page.index("b/2") < page.index("a/0")
    with pytest.raises(UsageError, match="are one, or one lies in the other"):
        write_comparison([first, second], first)


def test_a_record_that_was_cut_is_not_taken_for_a_shorter_one(audited: Path, tmp_path: Path) -> None:
    other = changed_record(audited, tmp_path / "other", lambda row: row)
    write_lines(other / "verdicts.jsonl", *rows(other / "verdicts.jsonl")[:9])
    with pytest.raises(RecordError, match="3 of 12 verdicts of the finished run are missing"):
        compare_folders([audited, other])


def test_what_a_judge_failed_on_is_failed_and_not_undefined(audited: Path, tmp_path: Path) -> None:
    other = changed_record(audited, tmp_path / "other", lambda row: None if row["id"] in {"a/0", "b/1"} else row)
    error = {"stage": "judge", "kind": "ValueError", "message": "no"}
    write_lines(other / "errors.jsonl", {"id": "a/0", **error}, {"id": "b/1", **error})
    comparison = compare_folders([audited, other])
    counts = comparison.summary.n, comparison.summary.ok, comparison.summary.failed, comparison.summary.undefined
    assert counts == (12, 10, 2, 0)
    assert (JUDGE, "masks.second.v1", "the second failed", "2") in comparison.tables[-1].rows


def test_a_reply_without_iou_counts_as_0_and_is_counted(audited: Path, tmp_path: Path) -> None:
    silent = {"iou": None, "iou_low": None, "iou_high": None}
    other = changed_record(audited, tmp_path / "other", lambda row: {**row, **silent} if row["id"] == "a/0" else row)
    comparison = compare_folders([audited, other])
    row = dict(zip(comparison.tables[0].header, comparison.tables[0].rows[0], strict=True))
    true = {row["id"]: row["iou"] for row in rows(audited / "truth.jsonl")}
    estimate_of = {row["id"]: row["iou"] or 0.0 for row in rows(other / "verdicts.jsonl")}
    assert (row["n"], row["no IoU"]) == ("12", "0 / 1")
    assert row["RMSE"].endswith(f"/ {rmse([estimate_of[name] for name in true], list(true.values())).value:.3f}")
    metric = comparison.summary.metrics[f"rmse_difference/{JUDGE}/masks.second.v1"]
    assert (metric["unparsed_first"], metric["unparsed_second"]) == (0, 1)


def placed_record(record: Path, to: Path, change=lambda row: row, *, judge: str) -> Path:
    """A record of a benchmark: items of frame ``a`` are image masks, those of ``b`` and ``c`` two tracks of a clip."""

    def with_place(row):
        frame, number = row["id"].split("/")
        place = {"uid": "u", "vid": "one" if frame != "a" else f"photo{number}", "rank": 1, "track": f"t{number}",
                 "protocol": "image" if frame == "a" else "video",
                 "split": "test_u" if number == "3" else "test_s"}  # fmt: skip
        return change({**row, "extra": {"mqa": place}})

    return changed_record(record, to, with_place, judge=judge)


def test_image_and_video_are_compared_apart_and_video_over_tracks(audited: Path, tmp_path: Path) -> None:
    drop = {"iou": None, "iou_low": None, "iou_high": None}
    first_record = placed_record(audited, tmp_path / "one", judge="x.v1")
    other = placed_record(
        audited, tmp_path / "other", lambda row: {**row, **drop} if row["id"] in {"b/0", "b/1", "c/1"} else row,
        judge="y.v1",
    )  # fmt: skip
    comparison = compare_folders([first_record, other])
    metrics = comparison.summary.metrics
    image, video = (metrics[f"rmse_difference/{protocol}/x.v1/y.v1"] for protocol in ("image", "video"))
    assert (image["n"], video["n"], video["unparsed_second"]) == (4, 4, 3)
    assert (image["value"], image["low"]) == (0.0, None)  # both said the same of every photograph
    assert video["low"] is None  # one clip: nothing to draw
    assert "over=tracks" in video["signature"].replace(":", "=")
    true = {row["id"]: row["iou"] for row in rows(audited / "truth.jsonl") if row["id"][0] != "a"}
    estimates = {row["id"]: row["iou"] for row in rows(first_record / "verdicts.jsonl")}
    completed = {**estimates, "b/1": 0.0, "c/1": 0.0}  # a track without any estimate counts as 0
    tracks = [name[2:] for name in true]
    first = rmse_video([estimates[name] for name in true], list(true.values()), videos=tracks).value
    kept_names = [name for name in true if name != "b/0"]
    second = rmse_video(
        [completed[name] for name in kept_names],
        [true[name] for name in kept_names],
        videos=[name[2:] for name in kept_names],
    ).value
    assert video["value"] == pytest.approx(first - second, abs=1e-6)
    table = next(table for table in comparison.tables if table.title.endswith("video protocol"))
    assert "Pooled over the splits test_s, test_u" in table.note
    assert metrics["paired_defect/image/x.v1/y.v1"]["n"] == 4
    assert metrics["paired_defect/video/x.v1/y.v1"]["n"] == 8


def test_intervals_draw_clips_and_not_items(audited: Path, tmp_path: Path) -> None:
    def one_clip(row):
        return {**row, "extra": {"mqa": {**row["extra"]["mqa"], "protocol": "image", "vid": row["id"][0]}}}

    first_record = placed_record(audited, tmp_path / "one", one_clip, judge="x.v1")
    other = placed_record(audited, tmp_path / "other", lambda row: knowing(audited)(one_clip(row)), judge="y.v1")
    row = dict(zip((table := compare_folders([first_record, other]).tables[0]).header, table.rows[0], strict=True))
    assert (row["n"], row["clips"]) == ("12", "3")


def test_a_judge_without_verdicts_is_left_out_and_named(audited: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(audited, run / "judges" / JUDGE)
    changed_record(audited, run / "judges" / "masks.second.v1", knowing(audited))
    dead = changed_record(audited, run / "judges" / "dead.v1", lambda _: None)
    write_lines(dead / "errors.jsonl", {"id": "a/0", "stage": "judge", "kind": "ValueError", "message": "no"})
    manifest = json.loads((audited / "manifest.json").read_text()) | {"command": "run mqa"}
    (run / "manifest.json").write_text(json.dumps(manifest))
    comparison = compare_folders([run])
    assert comparison.tables[0].rows[0][:2] == (JUDGE, "masks.second.v1")
    assert "dead.v1: the record holds no verdicts (1 failed)" in comparison.tables[-1].note
    assert comparison.summary.metrics["left_out/dead.v1"]["value"] is None
    with pytest.raises(RecordError, match="no verdicts"):
        compare_folders([audited, dead])


def test_one_judge_in_two_run_folders_is_told_apart_by_the_folders(audited: Path, tmp_path: Path) -> None:
    manifest = json.loads((audited / "manifest.json").read_text()) | {"command": "run mqa"}
    for name in ("monday", "tuesday"):
        shutil.copytree(audited, tmp_path / name / "judges" / JUDGE)
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    comparison = compare_folders([tmp_path / "monday", tmp_path / "tuesday"])
    assert comparison.tables[0].rows[0][:2] == (f"{JUDGE} (monday)", f"{JUDGE} (tuesday)")
