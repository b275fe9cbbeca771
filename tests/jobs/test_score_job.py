"""`score` as a job: two folders by J and F; what cannot be scored is failed or undefined, never a number."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import NothingToDo, RecordError, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.finish import score_record
from auscult.jobs.options import AuditOptions, ScoreOptions, StressOptions
from auscult.jobs.score import score_folders
from auscult.jobs.stress import stress_masks
from small_inputs import LEFT, RIGHT, folder_input, item, rows, save_mask, save_palette, tree, write_lines


def _clips(folder: Path, shift: int = 0, clips: tuple[str, ...] = ("cat", "dog", "fox"), frames: int = 4) -> Path:
    for number, clip in enumerate(clips):
        for frame in range(frames):
            save_palette(folder / clip / f"{frame}.png", {1: np.roll(LEFT, number * shift, 1), 2: RIGHT})
    return folder


def _iou(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.count_nonzero(first & second) / np.count_nonzero(first | second))


def _score(place: Path, **change: object) -> tuple[object, dict[str, tuple[str, ...]]]:
    options = {"prediction": place / "pred", "truth": place / "truth", "workers": 0, **change}
    summary, (table,), _ = score_folders(ScoreOptions(**options))
    return summary, {row[0]: row[1:] for row in table.rows}


def test_j_of_each_protocol_is_what_a_hand_computes(tmp_path: Path) -> None:
    _clips(tmp_path / "truth")
    _clips(tmp_path / "pred", shift=3)
    summary, cells = _score(tmp_path)
    union = [_iou(np.roll(LEFT, 3 * n, 1) | RIGHT, LEFT | RIGHT) for n in range(3)]
    assert summary.metrics["J"]["value"] == pytest.approx(np.mean(union), abs=1e-6)
    assert [float(cells[clip][1]) for clip in ("cat", "dog", "fox")] == pytest.approx(
        [100 * value for value in union], abs=0.006
    )
    each_object, cells = _score(tmp_path, protocol="davis2017")
    # where the shifted object runs into the other one, the palette gives the pixel to the later index
    objects = [_iou(np.roll(LEFT, 3 * n, 1) & ~RIGHT, LEFT) for n in range(3)] + [1.0] * 3
    assert each_object.metrics["J"]["value"] == pytest.approx(np.mean(objects), abs=1e-6)
    assert cells["all"][0] == "6"
    for metrics in (summary.metrics, each_object.metrics):
        assert metrics["J&F"]["value"] == pytest.approx((metrics["J"]["value"] + metrics["F"]["value"]) / 2, abs=1e-6)
    assert "davis2016" in summary.metrics["J"]["signature"]
    assert "davis2017" in each_object.metrics["J"]["signature"]


@pytest.mark.parametrize("workers", [0, 2])
def test_what_cannot_be_scored_is_failed_and_in_no_mean(tmp_path: Path, workers: int) -> None:
    clips = ("whole", "missing", "mismatched", "broken", "bad_truth", "gone")
    _clips(tmp_path / "truth", clips=clips)
    _clips(tmp_path / "pred", clips=clips)
    (tmp_path / "pred" / "missing" / "2.png").unlink()
    save_mask(tmp_path / "pred" / "mismatched" / "1.png", LEFT[:-1])
    (tmp_path / "pred" / "broken" / "0.png").write_bytes(b"\x89PNG")
    (tmp_path / "truth" / "bad_truth" / "3.png").write_bytes(b"")
    for path in (tmp_path / "pred" / "gone").iterdir():
        path.unlink()
    summary, cells = _score(tmp_path, workers=workers, out=tmp_path / "out")
    assert (summary.n, summary.ok, summary.failed, summary.undefined) == (6, 1, 5, 0)
    assert summary.metrics["J"]["value"] == 1.0
    assert summary.metrics["J"]["n"] == 1
    assert "2.png: the file does not exist" in cells["missing"][-1]
    assert "failed" in cells["mismatched"][-1]
    assert cells["broken"][1:4] == ("", "", "")
    errors = {row["id"]: row for row in rows(tmp_path / "out" / "errors.jsonl")}
    assert set(errors) == set(clips) - {"whole"}
    assert {row["stage"] for row in errors.values()} == {"score"}
    assert all("Error" not in row["error"] for row in errors.values()), errors
    values = {
        (row["id"], row["metric"]): (row["value"], row["outcome"]) for row in rows(tmp_path / "out" / "scores.jsonl")
    }
    assert values["whole", "J"] == (1.0, "scored")
    assert values["missing", "J&F"] == (None, "failed")


def test_a_whole_clip_of_another_size_is_failed(tmp_path: Path) -> None:
    save_mask(tmp_path / "truth" / "0.png", LEFT)
    save_mask(tmp_path / "pred" / "0.png", LEFT.T)
    summary, cells = _score(tmp_path)
    assert (summary.ok, summary.failed) == (0, 1)
    assert "48" in cells["truth"][-1]
    assert "64" in cells["truth"][-1]
    assert summary.metrics == {}


def test_a_clip_without_a_scored_frame_is_undefined(tmp_path: Path) -> None:
    _clips(tmp_path / "truth", clips=("short",), frames=2)
    _clips(tmp_path / "truth", clips=("long",), frames=3)
    _clips(tmp_path / "pred", clips=("short", "long"), frames=3)
    summary, cells = _score(tmp_path, protocol="davis2017")
    assert (summary.n, summary.ok, summary.undefined, summary.failed) == (2, 1, 1, 0)
    assert "undefined: no frame is left" in cells["short"][-1]
    assert summary.metrics["J"]["n"] == 1


def test_missing_predictions_are_counted_and_those_of_frames_left_out_are_not_asked_for(tmp_path: Path) -> None:
    _clips(tmp_path / "truth", clips=("cat", "dog"))
    _clips(tmp_path / "pred", clips=("cat", "dog"))
    all_scored, _ = _score(tmp_path, protocol="davis2017")
    for name in ("cat/0.png", "cat/3.png", "dog/1.png", "dog/2.png"):
        (tmp_path / "pred" / name).unlink()
    summary, cells = _score(tmp_path, protocol="davis2017")
    assert (summary.ok, summary.failed) == (1, 1)
    assert summary.metrics["J&F"]["value"] == all_scored.metrics["J&F"]["value"]
    assert "1.png: the file does not exist; missing are 2 of the clip's 4 predictions" in cells["dog"][-1]
    assert _score(tmp_path)[0].failed == 2  # davis2016 scores every frame


def test_predictions_without_a_true_mask_are_told(tmp_path: Path) -> None:
    _clips(tmp_path / "truth", clips=("cat",), frames=3)
    _clips(tmp_path / "pred", clips=("cat", "dog"), frames=4)
    (tmp_path / "pred" / "notes.txt").write_text("no mask")
    options = ScoreOptions(prediction=tmp_path / "pred", truth=tmp_path / "truth", workers=0)
    _, (table,), _ = score_folders(options)
    assert "5 predictions without a true mask, such as 'cat/3.png', not scored" in table.note


def test_a_record_of_scores_follows_the_files(tmp_path: Path) -> None:
    _clips(tmp_path / "truth", clips=("cat", "dog"))
    _clips(tmp_path / "pred", clips=("cat", "dog"))
    kept_mask = (tmp_path / "pred" / "dog" / "1.png").rename(tmp_path / "kept.png")
    summary, _ = _score(tmp_path, out=tmp_path / "out")
    assert summary.failed == 1
    kept_mask.rename(tmp_path / "pred" / "dog" / "1.png")
    summary, _ = _score(tmp_path, out=tmp_path / "out")
    assert (summary.ok, summary.failed) == (2, 0)
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summary.as_json()
    assert {row["outcome"] for row in rows(tmp_path / "out" / "scores.jsonl")} == {"scored"}
    assert len(rows(tmp_path / "out" / "scores.jsonl")) == 6
    assert not rows(tmp_path / "out" / "errors.jsonl")
    with pytest.raises(RecordError, match="--protocol"):
        _score(tmp_path, out=tmp_path / "out", protocol="davis2017")


def test_masks_straight_in_the_folders_are_one_clip_and_endings_may_differ(tmp_path: Path) -> None:
    for frame in range(3):
        save_mask(tmp_path / "truth" / f"{frame}.png", LEFT)
        (tmp_path / "pred").mkdir(exist_ok=True)
        np.save(tmp_path / "pred" / f"{frame}.npy", LEFT)
    (tmp_path / "truth" / "notes.txt").write_text("not a mask")
    before = tree(tmp_path)
    summary, cells = _score(tmp_path)
    assert (summary.n, summary.ok) == (1, 1)
    assert cells["truth"][3] == "100.00"
    assert tree(tmp_path) == before


def test_wrong_folders_and_protocols_are_refused(tmp_path: Path) -> None:
    _clips(tmp_path / "truth", clips=("cat",))
    (tmp_path / "pred").mkdir()
    with pytest.raises(UsageError, match="davis2015"):
        _score(tmp_path, protocol="davis2015")
    with pytest.raises(UsageError, match="no such file or folder"):
        _score(tmp_path, prediction=tmp_path / "nowhere")
    with pytest.raises(NothingToDo):
        _score(tmp_path, truth=tmp_path / "pred")


def test_a_record_is_scored_from_itself_when_its_input_is_gone(tmp_path: Path) -> None:
    stress_masks(StressOptions(source=folder_input(tmp_path / "in"), out=tmp_path / "made", workers=0))
    summary = audit_folder(AuditOptions(source=tmp_path / "made", out=tmp_path / "out", workers=0))
    (tmp_path / "made").rename(tmp_path / "elsewhere")
    before = tree(tmp_path / "out")
    rescored, tables = score_record(tmp_path / "out")
    assert rescored.command == "score"
    for name in ("rmse", "spearman", "f2_tables_defect", "f2_confusion_action"):
        assert rescored.metrics[name] == summary.metrics[name]
    assert any("estimated against true IoU" in table.title for table in tables)
    assert tree(tmp_path / "out") == before


def test_a_record_without_truth_is_refused(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    audit_folder(AuditOptions(source=source, out=tmp_path / "out", workers=0))
    with pytest.raises(RecordError, match="no truth"):
        score_record(tmp_path / "out")


def test_a_record_of_scores_is_no_record_of_verdicts(tmp_path: Path) -> None:
    _clips(tmp_path / "truth")
    _clips(tmp_path / "pred")
    score_folders(ScoreOptions(prediction=tmp_path / "pred", truth=tmp_path / "truth", out=tmp_path / "out", workers=0))
    with pytest.raises(RecordError, match="was made by `auscult score`"):
        score_record(tmp_path / "out")


def test_a_truth_without_masks_gives_what_it_can(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    write_lines(source / "items.jsonl", item("one", truth={"action": "accept"}), item("two"))
    audit_folder(AuditOptions(source=source / "items.jsonl", out=tmp_path / "out", workers=0))
    rescored, _ = score_record(tmp_path / "out")
    assert "rmse" not in rescored.metrics
    assert rescored.metrics["f2_confusion_action"]["n"] == 1


def test_grey_label_maps_are_not_taken_for_empty_masks(tmp_path: Path) -> None:
    """Two disjoint objects in grey label maps: refused without `labels`, and wrong, not perfect, with it."""
    from PIL import Image

    for name, columns in (("pred", slice(0, 8)), ("truth", slice(20, 28))):
        labels = np.zeros((24, 32), np.uint8)
        labels[4:12, columns], labels[14:20, columns] = 1, 2
        (tmp_path / name).mkdir()
        Image.fromarray(labels).save(tmp_path / name / "0.png")
    options = ScoreOptions(prediction=tmp_path / "pred", truth=tmp_path / "truth", workers=0)
    summary, _, _ = score_folders(options)
    assert (summary.ok, summary.failed) == (0, 1)
    summary, _, _ = score_folders(replace(options, labels=True))
    assert summary.metrics["J"]["value"] == 0.0
    assert "prediction:index|truth:index" in summary.metrics["J"]["signature"]
