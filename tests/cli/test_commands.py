"""Every command once, from end to end, as a user types it: what it prints, what it writes, and its exit status."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from auscult.cli.main import COMMANDS
from small_inputs import (
    LEFT,
    RIGHT,
    CommandResult,
    auscult,
    folder_input,
    item,
    rows,
    save_frame,
    save_mask,
    save_palette,
    tree,
    write_lines,
)

VERDICT_KEYS = {
    "id", "iou", "iou_low", "iou_high", "defect", "defect_probs", "action", "evidence", "novelty", "target_exists",
    "target", "distractor", "rationale", "judge", "seconds",
}  # fmt: skip
SUMMARY_KEYS = ["command", "n", "ok", "failed", "undefined", "by_action", "by_defect", "metrics"]
ONE = ("--workers", 1)


def _verdicts(out: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows(out / "verdicts.jsonl")}


def _good(result: CommandResult) -> CommandResult:
    assert result.code == 0, result
    return result


# --- audit ---


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CommandResult]:
    place = tmp_path_factory.mktemp("audited")
    folder_input(place / "in", ("a", "b", "c"))
    save_mask(place / "in" / "masks" / "c.png", LEFT & False)
    return place / "out", _good(auscult("audit", place / "in", "--out", place / "out", *ONE))


def test_audit_prints_tables_on_stdout_and_talks_on_stderr(audited: tuple[Path, CommandResult]) -> None:
    out, result = audited
    assert "Verdicts by defect and action" in result.out
    assert "The worst 2 of 2" in result.out, "the empty mask is not listed by itself"
    assert "3 judged, 0 failed" in result.out
    assert "judging" in result.err
    assert f"report: {out / 'report.html'}" in result.err
    assert "report:" not in result.out
    assert "judging" not in result.out


def test_audit_writes_the_output_folder_of_the_design(audited: tuple[Path, CommandResult]) -> None:
    out, _ = audited
    verdicts = _verdicts(out)
    assert set(verdicts) == {"a", "b", "c"}
    for row in verdicts.values():
        assert row.keys() >= VERDICT_KEYS
        assert row["judge"] == "masks.prompted.v1"
        assert row["evidence"]["identity"] is False
        assert row["rationale"]
    for name in ("a", "b"):
        row = verdicts[name]
        assert 0 <= row["iou_low"] <= row["iou"] <= row["iou_high"] <= 1
        assert sum(row["defect_probs"].values()) == pytest.approx(1, abs=1e-4)
    assert (verdicts["c"]["defect"], verdicts["c"]["iou"], verdicts["c"]["action"]) == ("empty", None, "reject")
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary) == SUMMARY_KEYS
    assert sum(summary["by_action"].values()) == sum(summary["by_defect"].values()) == summary["ok"] == 3
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["command"] == "audit"
    assert manifest["arguments"]["given"].keys() >= {"source", "out", "workers"}
    assert manifest["arguments"]["defaulted"]["judge"] == "masks.prompted.v1"
    assert manifest["finished"]
    page = (out / "report.html").read_text()
    assert all(name in page for name in ("data:image/jpeg;base64", "masks.prompted.v1"))
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page), "the page must need no network"
    with (out / "verdicts.csv").open(newline="") as file:
        assert {row["id"]: row["action"] for row in csv.DictReader(file)} == {
            name: row["action"] for name, row in verdicts.items()
        }


def test_audit_json_is_the_summary_and_nothing_else(tmp_path: Path) -> None:
    result = _good(auscult("audit", folder_input(tmp_path / "in", ("a",)), "--out", tmp_path / "out", "--json", *ONE))
    assert json.loads(result.out) == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert "judging" in result.err
    second = _good(auscult("audit", tmp_path / "in", "--out", tmp_path / "out", "--json", "--quiet", *ONE))
    assert (json.loads(second.out), second.err) == (json.loads(result.out), "")


def test_audit_reads_items_and_keeps_what_they_say(tmp_path: Path) -> None:
    folder = folder_input(tmp_path / "in", ("a", "b"))
    save_palette(folder / "masks" / "objects.png", {1: LEFT, 3: RIGHT})
    write_lines(
        folder / "items.jsonl",
        item("v1/f1", text="the red blob", clip="v1", time_s=1.5, annotator="kim"),
        item("v1/f2", mask={"path": "masks/objects.png", "index": 3}),
        item("soft", frame="frames/b.png", mask={"path": "masks/b.png"}, text=None),
    )
    _good(auscult("audit", folder / "items.jsonl", "--out", tmp_path / "out", "--text", "the general one", *ONE))
    verdicts = _verdicts(tmp_path / "out")
    assert {name: row["text"] for name, row in verdicts.items()} == {
        "v1/f1": "the red blob", "v1/f2": "the general one", "soft": "the general one",
    }  # fmt: skip
    first = verdicts["v1/f1"]
    assert (first["clip"], first["time_s"], first["extra"]) == ("v1", 1.5, {"annotator": "kim"})
    assert (first["reading"], verdicts["v1/f2"]["reading"]) == ("binary", "index")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "the red blob" in page


def test_audit_reads_named_folders_and_a_table_of_texts(tmp_path: Path) -> None:
    folder_input(tmp_path / "in", ("a", "b"))
    (tmp_path / "in" / "frames").rename(tmp_path / "pictures")
    (tmp_path / "in" / "masks").rename(tmp_path / "in" / "v2")
    (tmp_path / "texts.csv").write_text("frame,text\na.png,the left one\n")
    options = ("--frames", tmp_path / "pictures", "--masks", "v2", "--texts", tmp_path / "texts.csv")
    _good(auscult("audit", tmp_path / "in", "--out", tmp_path / "out", *options, *ONE))
    assert {name: row.get("text") for name, row in _verdicts(tmp_path / "out").items()} == {
        "a": "the left one", "b": None,
    }  # fmt: skip


def test_audit_reads_objects_of_a_palette_and_grey_labels(tmp_path: Path) -> None:
    source = tmp_path / "in"
    save_frame(source / "frames" / "a.png")
    save_palette(source / "masks" / "a.png", {1: LEFT, 2: RIGHT})
    save_frame(source / "frames" / "b.png")
    grey = (LEFT * 1 + RIGHT * 2).astype(np.uint8)
    Image.fromarray(grey).save(source / "masks" / "b.png")
    assert auscult("audit", source, "--out", tmp_path / "plain", *ONE).code == 1
    readings = {name: row["reading"] for name, row in _verdicts(tmp_path / "plain").items()}
    assert readings == {"a#1": "index", "a#2": "index"}
    (error,) = rows(tmp_path / "plain" / "errors.jsonl")
    assert (error["id"], "look like object indices" in error["error"]) == ("b", True)
    _good(auscult("audit", source, "--out", tmp_path / "labels", "--labels", *ONE))
    assert set(_verdicts(tmp_path / "labels")) == {"a#1", "a#2", "b#1", "b#2"}


@pytest.mark.slow
def test_audit_reads_a_davis_folder_and_its_predictions_against_the_annotations(tmp_path: Path) -> None:
    source = tmp_path / "davis"
    for number in range(2):
        save_frame(source / "JPEGImages" / "480p" / "cat" / f"{number:05d}.jpg", seed=number)
        save_palette(source / "Annotations" / "480p" / "cat" / f"{number:05d}.png", {1: LEFT, 2: RIGHT})
        save_palette(tmp_path / "predictions" / "cat" / f"{number:05d}.png", {1: LEFT, 2: np.roll(RIGHT, 4, 1)})
    _good(auscult("audit", source, "--out", tmp_path / "plain", *ONE))
    assert set(_verdicts(tmp_path / "plain")) == {f"cat/0000{n}#{index}" for n in (0, 1) for index in (1, 2)}
    _good(auscult("audit", source, "--masks", tmp_path / "predictions", "--out", tmp_path / "pred", *ONE))
    truth = {row["id"]: row["iou"] for row in rows(tmp_path / "pred" / "truth.jsonl")}
    assert truth["cat/00000#1"] == 1.0
    n_common = np.count_nonzero(RIGHT & np.roll(RIGHT, 4, 1))
    either = np.count_nonzero(RIGHT | np.roll(RIGHT, 4, 1))
    assert truth["cat/00001#2"] == pytest.approx(n_common / either, abs=1e-9)


# --- hand-over, report, act ---


def _coco_masks(content: dict[str, Any]) -> dict[str, np.ndarray]:
    from pycocotools import mask as coco_mask

    return {
        annotation["auscult"]["item"]: coco_mask.decode(
            {**annotation["segmentation"], "counts": annotation["segmentation"]["counts"].encode()}
        ).astype(bool)
        for annotation in content["annotations"]
    }


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.slow
def test_what_is_handed_over_can_be_audited_again(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b", "clip/c"))
    _good(auscult("audit", source, "--out", tmp_path / "out", *ONE))
    first = _verdicts(tmp_path / "out")
    actions = "accept,minor_revision,major_revision,reject"
    result = _good(auscult("act", "filter", tmp_path / "out", "--action", actions, "--out", tmp_path / "kept"))
    assert result.out.split() == list(first)
    assert "3 of 3 items" in result.err
    assert (tmp_path / "kept" / "ids.txt").read_text().split() == result.out.split()
    content = json.loads((tmp_path / "kept" / "coco.json").read_text())
    for annotation in content["annotations"]:
        item_note = annotation["auscult"]
        row = first[item_note["item"]]
        assert item_note["iou"] == pytest.approx(row["iou"])
        assert (item_note["defect"], item_note["action"]) == (row["defect"], row["action"])
    masks = _coco_masks(content)
    assert np.array_equal(masks["a"], LEFT)
    assert np.array_equal(masks["b"], RIGHT)
    _good(
        auscult(
            "audit", tmp_path / "kept" / "coco.json", "--images", source / "frames", "--out", tmp_path / "again", *ONE
        )
    )
    second = _verdicts(tmp_path / "again")
    items = {f"{Path(str(i)).name}" for i in first}
    assert {row["extra"]["coco"]["auscult"]["item"] for row in second.values()} == set(first)
    assert {name.partition("/")[0] for name in second} == items
    for row in second.values():
        for key in ("iou", "defect", "action"):
            assert row[key] == first[row["extra"]["coco"]["auscult"]["item"]][key]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_every_mask_is_in_one_of_the_two_handed_over_files_or_rejected(audited: tuple[Path, CommandResult]) -> None:
    out, _ = audited
    actions = {name: row["action"] for name, row in _verdicts(out).items()}
    accepted = _coco_masks(json.loads((out / "accepted.coco.json").read_text()))
    to_fix = _coco_masks(json.loads((out / "to_fix.coco.json").read_text()))
    assert set(accepted) == {name for name, action in actions.items() if action == "accept"}
    assert set(to_fix) == {name for name, action in actions.items() if action.endswith("revision")}


def test_act_filter_decides_again_without_judging(audited: tuple[Path, CommandResult], tmp_path: Path) -> None:
    out, _ = audited
    before = tree(out)
    lax, strict = tmp_path / "lax.toml", tmp_path / "strict.json"
    groups = ("perfect", "shape", "merge", "full_neg")
    lax.write_text('name = "lax"\n' + "".join(f"[{group}]\naccept = {{ at_least = 0.0 }}\n" for group in groups))
    strict.write_text(json.dumps({"name": "strict", **{group: {} for group in groups}}))
    filtered = _good(auscult("act", "filter", out, "--policy", lax, "--out", tmp_path / "lax"))
    assert filtered.out.split() == ["a", "b"], "an empty mask is rejected by every policy"
    none = json.loads(_good(auscult("act", "filter", out, "--policy", strict, "--out", tmp_path / "s", "--json")).out)
    assert (none["n"], none["kept"], none["policy"], none["by_action"]["reject"]) == (3, 0, "strict", 3)
    empty = _good(auscult("act", "filter", out, "--action", "reject", "--defect", "empty", "--out", tmp_path / "e"))
    assert empty.out.split() == ["c"]
    high = _good(auscult("act", "filter", out, "--min-iou", 1, "--policy", lax, "--out", tmp_path / "h"))
    assert high.out == ""
    assert tree(out) == before, "the record itself stays as it is"
    for wrong in (("--action", "keep"), ("--defect", "ugly"), ("--policy", "nowhere"), ("--min-iou", 2)):
        result = auscult("act", "filter", out, "--out", tmp_path / "w", *wrong)
        assert (result.code, result.out) == (2, "")


def test_act_filter_never_writes_into_a_record_or_a_strangers_folder(
    audited: tuple[Path, CommandResult], tmp_path: Path
) -> None:
    out, _ = audited
    (tmp_path / "letter.txt").write_text("dear diary")
    result = auscult("act", "filter", out, "--out", tmp_path / "letter.txt")
    assert result.code == 2
    assert "Traceback" not in result.err
    assert (tmp_path / "letter.txt").read_text() == "dear diary"


def test_report_lays_a_record_out_again_from_its_lines_alone(audited: tuple[Path, CommandResult]) -> None:
    out, _ = audited
    before = tree(out)
    derived = [name for name in before if name.endswith((".html", ".csv", ".coco.json", "summary.json"))]
    assert len(derived) == 5
    for name in derived:
        (out / name).unlink()
    result = _good(auscult("report", out))
    assert "Verdicts by defect and action" in result.out
    after = tree(out)
    assert after.keys() == before.keys()
    for name in set(derived) - {"report.html"}:
        assert after[name] == before[name], name
    assert after["verdicts.jsonl"] == before["verdicts.jsonl"]
    assert json.loads(_good(auscult("report", out, "--json")).out) == json.loads((out / "summary.json").read_text())


@pytest.mark.parametrize("command", [("report",), ("score",), ("act", "filter")])
def test_what_is_no_record_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear diary")
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "letter.txt"):
        result = auscult(*command, folder)
        assert (result.code, result.out) == (2, ""), result
        assert "hint:" in result.err
    assert list(tree(tmp_path)) == ["letter.txt"]


# --- stress, and judging against truth ---


@pytest.fixture(scope="module")
def stressed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CommandResult]:
    """Two objects on each of two larger frames, stressed; then audited against the truth that stress wrote."""
    place = tmp_path_factory.mktemp("stressed")
    size = (120, 160)
    rng = np.random.default_rng(5)
    for stem in ("a", "b"):
        frame = rng.normal(90, 8, (*size, 3))
        rows_, columns = np.ogrid[: size[0], : size[1]]
        left_ellipse = ((rows_ - 60) / 40) ** 2 + ((columns - 50) / 30) ** 2 <= 1
        right_ellipse = ((rows_ - 55) / 30) ** 2 + ((columns - 115) / 25) ** 2 <= 1
        frame[left_ellipse], frame[right_ellipse] = frame[left_ellipse] + 90, frame[right_ellipse] - 60
        (place / "in" / "frames").mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(frame, 0, 255).astype(np.uint8)).save(place / "in" / "frames" / f"{stem}.png")
        save_palette(place / "in" / "masks" / f"{stem}.png", {1: left_ellipse, 2: right_ellipse})
    _good(auscult("stress", "masks", place / "in", "--out", place / "made", "--seed", 3, "--quiet", *ONE))
    return place, _good(auscult("audit", place / "made", "--out", place / "judged", "--json", *ONE))


def test_stress_writes_an_input_with_exact_truth(stressed: tuple[Path, CommandResult]) -> None:
    place, _ = stressed
    items = rows(place / "made" / "items.jsonl")
    summary = json.loads((place / "made" / "summary.json").read_text())
    assert (summary["command"], summary["ok"], summary["failed"]) == ("stress masks", len(items), 0)
    assert summary["n"] == summary["ok"] + summary["undefined"]
    assert {row["truth"]["defect"] for row in items} == {"perfect", "cutout", "dilate", "erode", "merge", "full_neg"}
    for row in items:
        mask = np.asarray(Image.open(place / "made" / row["mask"])) > 0
        truth = np.asarray(Image.open(place / "made" / row["truth"]["mask"])) > 0
        exact = np.count_nonzero(mask & truth) / np.count_nonzero(mask | truth)
        assert row["truth"]["iou"] == pytest.approx(exact, abs=1e-9), row["id"]
        assert (place / "made" / row["frame"]).is_file()


def test_an_audit_of_stressed_masks_shows_the_judge_against_the_truth(stressed: tuple[Path, CommandResult]) -> None:
    place, result = stressed
    truth_of = {row["id"]: row["truth"] for row in rows(place / "made" / "items.jsonl")}
    out = place / "judged"
    estimated = {row["id"]: row["iou"] for row in rows(out / "verdicts.jsonl")}
    truth_rows = {row["id"]: row for row in rows(out / "truth.jsonl")}
    assert estimated.keys() == truth_rows.keys() == truth_of.keys()
    for name, row in truth_rows.items():
        assert row["iou"] == pytest.approx(truth_of[name]["iou"], abs=1e-9)
        assert (row["defect"], row["action"]) == (truth_of[name]["defect"], truth_of[name]["action"])
    metrics = json.loads(result.out)["metrics"]
    by_hand = np.sqrt(np.mean([(estimated[name] - truth_of[name]["iou"]) ** 2 for name in truth_of]))
    assert metrics["rmse"]["value"] == pytest.approx(by_hand, abs=1e-6)
    assert metrics["rmse"]["n"] == len(truth_of)
    assert "version" in metrics["rmse"]["signature"]
    page = (out / "report.html").read_text()
    assert "estimated against true IoU" in page
    assert "always perfect" in page
    assert (out / "tables" / "truth_1_iou.json").is_file()
    scores = rows(out / "scores.jsonl")
    assert {row["id"]: row["value"] for row in scores} == {name: row["iou"] for name, row in truth_rows.items()}
    second = _good(auscult("score", out, "--json"))
    assert json.loads(second.out)["metrics"]["rmse"] == metrics["rmse"]


def test_the_truth_is_opened_after_the_last_verdict(stressed: tuple[Path, CommandResult], tmp_path: Path) -> None:
    place, _ = stressed
    out = place / "judged"
    assert (out / "truth.jsonl").stat().st_mtime_ns >= (out / "verdicts.jsonl").stat().st_mtime_ns
    lines = rows(place / "made" / "items.jsonl")
    unknown = [{**row, "truth": {**row["truth"], "mask": "nowhere.png"}} for row in lines[:3]]
    write_lines(place / "made" / "unknown.jsonl", *unknown)
    result = _good(auscult("audit", place / "made" / "unknown.jsonl", "--out", tmp_path / "out", "--json", *ONE))
    assert json.loads(result.out)["ok"] == 3, "an unreadable truth costs no verdict"
    assert [row["stage"] for row in rows(tmp_path / "out" / "errors.jsonl")] == ["truth"] * 3
    assert not rows(tmp_path / "out" / "truth.jsonl")
    plain = [{key: value for key, value in row.items() if key != "truth"} for row in lines]
    write_lines(place / "made" / "plain.jsonl", *plain)
    _good(auscult("audit", place / "made" / "plain.jsonl", "--out", tmp_path / "plain", *ONE))
    with_truth, untold = _verdicts(place / "judged"), _verdicts(tmp_path / "plain")
    for row in untold.values():
        assert (row["iou"], row["defect"]) == (with_truth[row["id"]]["iou"], with_truth[row["id"]]["defect"])
    assert "against true" not in (tmp_path / "plain" / "report.html").read_text()


def test_stress_makes_only_what_is_asked_for(stressed: tuple[Path, CommandResult], tmp_path: Path) -> None:
    place, _ = stressed
    options = ("--kind", "erode,dilate", "--difficulty", "hard")
    result = _good(auscult("stress", "masks", place / "in", "--out", tmp_path / "made", *options, *ONE))
    items = rows(tmp_path / "made" / "items.jsonl")
    assert {(row["truth"]["defect"], row["truth"]["difficulty"]) for row in items} == {
        ("erode", "hard"), ("dilate", "hard"),
    }  # fmt: skip
    assert all(0.85 <= row["truth"]["iou"] <= 0.90 for row in items)
    assert "stressed masks" in result.out
    assert f"next: auscult audit {tmp_path / 'made'}" in result.err


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--kind", "melt"), "masks.merge.v1"),
        (("--kind", "fog"), "`auscult stress vision --kind fog`"),
        (("--kind", "erode,timing.drift.v1"), "`auscult stress timing --kind drift`"),
        (("--kind", "impulse_noise"), "there is no stressor 'impulse_noise'"),
        (("--kind", ","), "at least one of each"),
        (("--difficulty", "easy"), "hard, medium"),
        (("--seed", "x"), "--seed"),
    ],
)
def test_wrong_stress_is_told_once_and_offers_stressors_of_masks(
    stressed: tuple[Path, CommandResult], tmp_path: Path, wrong: tuple[str, str], message: str
) -> None:
    refusal = auscult("stress", "masks", stressed[0] / "in", "--out", tmp_path / "no", *wrong)
    assert refusal.code == 2
    assert " ".join(refusal.err.split()).count(message) == 1
    assert "vision." not in refusal.err
    assert not (tmp_path / "no").exists()


# --- score ---


@pytest.mark.slow
def test_score_compares_two_folders_of_masks(tmp_path: Path) -> None:
    for clip in ("cat", "dog"):
        for number in range(3):
            save_palette(tmp_path / "truth" / clip / f"{number}.png", {1: LEFT})
            save_palette(tmp_path / "pred" / clip / f"{number}.png", {1: np.roll(LEFT, 3 if clip == "dog" else 0, 1)})
    result = _good(auscult("score", tmp_path / "pred", tmp_path / "truth", "--json", "--quiet", *ONE))
    summary = json.loads(result.out)
    shifted = np.roll(LEFT, 3, 1)
    by_hand = (1 + np.count_nonzero(LEFT & shifted) / np.count_nonzero(LEFT | shifted)) / 2
    assert summary["metrics"]["J"]["value"] == pytest.approx(by_hand, abs=1e-6)
    assert "davis2016" in summary["metrics"]["J&F"]["signature"]
    assert (summary["n"], summary["ok"], summary["failed"]) == (2, 2, 0)
    davis_result = _good(auscult("score", tmp_path / "pred", tmp_path / "truth", "--protocol", "davis2017", *ONE))
    assert "J&F, 2 scored" in davis_result.out
    assert "davis2017" in davis_result.out
    (tmp_path / "pred" / "cat" / "1.png").unlink()
    partly = auscult("score", tmp_path / "pred", tmp_path / "truth", "--json", *ONE)
    assert partly.code == 1
    assert json.loads(partly.out)["failed"] == 1
    assert "failed" in partly.err
    for wrong in (
        (tmp_path / "pred", tmp_path / "truth", "--protocol", "davis2015"),
        (tmp_path / "pred", tmp_path / "nowhere"),
        (tmp_path / "nowhere", tmp_path / "truth"),
    ):
        assert auscult("score", *wrong, *ONE).code == 2


def test_score_of_single_files_asks_for_two_folders(tmp_path: Path) -> None:
    for name in ("a.wav", "b.wav", "a.png"):
        (tmp_path / name).touch()
    for given in (("a.wav", "b.wav"), ("a.wav",), (".", "b.wav"), ("a.png", ".")):
        result = auscult("score", *(tmp_path / name for name in given))
        assert result.code == 2
        assert "two folders of masks, or two folders of sounds with --protocol si_sdr" in result.err


def test_score_of_a_record_without_truth_says_what_is_missing(audited: tuple[Path, CommandResult]) -> None:
    result = auscult("score", audited[0])
    assert result.code == 2
    assert "no truth" in result.err
    assert "auscult score PRED TRUTH" in result.err


# --- list, doctor, new, help ---


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("stressor", ["masks.cutout.v1", "masks.dilate.v1", "masks.erode.v1", "masks.full_neg.v1", "masks.merge.v1"]),
        ("score", ["masks.boundary_f.v1", "masks.iou.v1", "masks.j_and_f.v1"]),
        ("judge", ["masks.compact.v1", "masks.cues.v1", "masks.prompted.v1"]),
        ("model", ["classical.grabcut.v1"]),
        ("dataset", ["datasets.coco.v1", "datasets.davis.v1", "datasets.folder.v1", "datasets.items.v1"]),
        ("suite", []),
    ],
)
def test_list_shows_what_is_registered(kind: str, names: list[str]) -> None:
    result = _good(auscult("list", kind, "--json"))
    row_of = {row["name"]: row for row in json.loads(result.out)}
    assert row_of.keys() >= set(names)
    for row in row_of.values():
        assert row["loads"]
        assert row["summary"]
        assert row["source"]
    table = _good(auscult("list", kind))
    assert all(name in table.out for name in names)
    assert table.err == ""


def test_list_of_an_unknown_kind_names_the_nearest() -> None:
    result = auscult("list", "stresor")
    assert (result.code, result.out) == (2, "")
    assert "stressor" in result.err


def test_doctor_finds_nothing_broken_here() -> None:
    checks = json.loads(_good(auscult("doctor", "--json")).out)
    assert {row["what"]: row["state"] for row in checks}.items() >= {
        "auscult": "ok", "python": "ok", "numpy": "ok", "judges": "ok", "stressors": "ok", "datasets": "ok",
    }.items()  # fmt: skip
    assert all(row["state"] in {"ok", "missing"} for row in checks)
    assert "processors" in _good(auscult("doctor")).out


def test_new_writes_a_skeleton_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = _good(auscult("new", "stressor", "shear_x"))
    paths = [Path(line) for line in result.out.splitlines()]
    assert Path("auscult-shear-x/pyproject.toml") in paths
    assert all(path.is_file() for path in paths)
    assert "pip install -e auscult-shear-x" in result.err
    assert auscult("new", "stressor", "shear_x").code == 2
    assert auscult("new", "suite", "mine").code == 2
    assert auscult("new", "judge", "../x").code == 2


def test_the_version_is_the_packages() -> None:
    from auscult import __version__

    assert _good(auscult("--version")).out == f"auscult {__version__}\n"


VERBS = [
    (), ("demo",), ("audit",), ("stress",), ("stress", "masks"), ("score",), ("report",), ("act",), ("act", "filter"),
    ("train",), ("list",), ("doctor",), ("new",),
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_explains_itself(verb: tuple[str, ...]) -> None:
    for asking in ("--help", "-h"):
        result = _good(auscult(*verb, asking))
        assert " ".join(("Usage: auscult", *verb)) in result.out
        assert result.err == ""
    assert auscult(*verb, "--no-such-option").code == 2


def test_the_help_of_the_command_names_every_verb_in_a_whole_sentence() -> None:
    listing = _good(auscult("--help")).out.split("Commands:")[1]
    assert re.findall(r"^  (\w+) +.+[^.]\.$", listing, re.MULTILINE) == list(COMMANDS)


def test_an_unknown_verb_is_wrong_usage() -> None:
    for words in (("adit",), ("stress", "maks"), ("act", "fliter"), ("audit",), ("list",), ()):
        result = auscult(*words)
        assert result.code == 2
        assert "Traceback" not in result.err
        assert "Usage" in result.err + result.out


@pytest.mark.parametrize(
    ("command", "named", "step"),
    [
        (("audit", "in", "--out", "a", "--workers", 1, "--workers", 2), "--workers is given 2 times", "leave one"),
        (("audit", "in", "--out", "a", "--out=b"), "--out is given 2 times", "leave one"),
        (("stress", "masks", "in", "--out", "a", "--kind", "cutout", "--kind", "erode"), "--kind is", "--kind A,B"),
    ],
)
def test_an_option_given_twice_is_wrong_usage(command: tuple[Any, ...], named: str, step: str) -> None:
    result = auscult(*command)
    assert result.code == 2
    assert named in result.err
    assert step in result.err


def test_an_option_that_takes_several_values_and_a_flag_may_be_given_twice(tmp_path: Path) -> None:
    folder = (tmp_path / "nowhere", "--out", tmp_path / "out")
    several = auscult("run", "mqa", "--data", *folder, "--judge", "cues", "--judge", "prompted", "--json", "--json")
    assert "given 2 times" not in several.err
    assert "nowhere" in several.err


def test_train_of_an_unknown_recipe_names_those_there_are(tmp_path: Path) -> None:
    result = auscult("train", "nothing", "--data", tmp_path, "--out", tmp_path / "out")
    assert result.code == 2
    assert "one of: cues" in result.err
    assert not (tmp_path / "out").exists()


def test_the_module_is_the_command_too() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "auscult", "list", "judge"], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0
    assert "masks.cues.v1" in result.stdout
    assert result.stderr == ""


def test_a_reader_that_goes_away_is_no_crash() -> None:
    result = subprocess.run(  # noqa: S602 - a pipe is what is tested
        f"{sys.executable} -m auscult list stressor | true",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr


@pytest.mark.parametrize("command", ["score", "levels", "ratings export"])
def test_a_text_in_the_place_of_a_file_is_wrong_usage(command: str, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out") if command.startswith("ratings") else ()
    result = auscult(*command.split(), "a,3\n" * 100, *out)
    assert result.code == 2
    assert result.err.startswith("auscult: the path is too long for the file system: 'a,3\\na,3")
    assert "(400 characters)" in result.err
    assert "hint: " in result.err
