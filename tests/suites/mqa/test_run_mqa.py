"""The benchmark as a whole: judged, resumed, extended by a judge, with failures that cost themselves only."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import auscult.suites.registered as suites
from auscult.errors import Mismatch, NothingToDo, UnknownName, UsageError
from auscult.record.folder import read_manifest
from auscult.record.manifest import argument
from auscult.suites.mqa import SUITE
from plugged import plug_in
from small_inputs import LEFT, RIGHT, folder_input, rows, save_frame, save_mask, save_palette, tree, write_lines

CUES = "masks.cues.v1"
ACTIONS = {"perfect": "accept", "full_neg": "reject"}


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The plug-in judge, on the path of this process."""
    name = plug_in(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield name
    sys.modules.pop("plugged_judge", None)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are tested elsewhere: draw a few times only."""
    monkeypatch.setattr("auscult.jobs.against_truth.REPLICATES", 10)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 30)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.RANK_DRAWS", 10)


def _shifted(mask, pixels):
    return np.roll(mask, pixels, axis=1)


def benchmark_in(folder: Path, *, texts: dict[str, str] | None = None, splits=("test_s", "test_u")) -> Path:
    """A benchmark of two clips a split, written by hand: image protocol, and two frames of video."""
    save_mask(folder / "truth.png", LEFT)
    masks = {"perfect": LEFT, "erode": LEFT & _shifted(LEFT, 3), "merge": LEFT | RIGHT, "full_neg": RIGHT}
    lines = []
    for kind, mask in masks.items():
        save_mask(folder / f"{kind}.png", mask)
    for number, split in enumerate(split for split in splits for _ in range(2)):
        for frame in range(2):
            save_frame(folder / f"c{number}_{frame}.png", seed=number * 2 + frame)
        for kind, mask in masks.items():
            iou = float((mask & LEFT).sum() / (mask | LEFT).sum())
            for protocol, frame in (("image", 0), ("video", 0), ("video", 1)):
                name = f"{protocol}/c{number}/{kind}/{frame}"
                lines.append(
                    {
                        "id": name, "frame": f"c{number}_{frame}.png", "mask": f"{kind}.png",
                        "text": (texts or {}).get(name, "the <b>red</b> blob"), "clip": f"c{number}",
                        "truth": {"mask": "truth.png", "iou": iou, "defect": kind,
                                  "difficulty": "hard" if kind == "erode" else None,
                                  "action": ACTIONS.get(kind, "minor_revision")},
                        "mqa": {"uid": f"c{number}_1", "vid": f"c{number}", "split": split, "protocol": protocol,
                                "frame": frame, "rank": 1, "track": kind, "category": "blob", "template": "a",
                                "area": 0.15},
                    }
                )  # fmt: skip
    write_lines(folder / "items.jsonl", *lines)
    return folder


def run(data: Path | str, out: Path, *judges: str, **options):
    """Run in this process."""
    return suites.run("mqa", data=data, out=out, judges=judges or (CUES,), workers=0, **options)


def verdicts(out: Path, judge: str) -> dict[str, dict]:
    return {row["id"]: row for row in rows(out / "judges" / judge / "verdicts.jsonl")}


def test_a_run_leaves_a_record_with_tables_charts_and_a_page(tmp_path: Path) -> None:
    suite_run = run(benchmark_in(tmp_path / "in"), tmp_path / "out")
    assert suite_run.out == tmp_path / "out"
    assert (suite_run.summary.n, suite_run.summary.ok, suite_run.summary.failed) == (48, 48, 0)
    assert (
        json.loads((suite_run.out / "summary.json").read_text())["metrics"].keys() == suite_run.summary.metrics.keys()
    )
    for part in ("image_seen", "image_unseen", "video_seen", "video_unseen"):
        for ending in ("json", "csv", "tex"):
            assert (suite_run.out / "tables" / f"{part}_rmse.{ending}").stat().st_size > 100
        assert [row[0] for row in suite_run.tables[f"{part}_rmse"].rows][:4] == [
            CUES, "always perfect", "constant IoU", "random",
        ]  # fmt: skip
    assert "image_ablation_f2_m" in suite_run.tables
    assert len(suite_run.shown) == 17
    cells = json.loads((suite_run.out / "cells.json").read_text())
    perfect = [row for row in cells if row["judge"] == "always perfect" and row["column"] == "perfect"]
    assert {row["value"] for row in perfect if row["metric"] == "rmse"} == {0.0}
    assert all(row["reason"] for row in cells if row["value"] is None)
    assert (suite_run.out / "judges" / CUES / "report.html").is_file()
    assert len(list((suite_run.out / "pictures").glob("*.jpg"))) == 9  # best and worst of four types, and a failure


def test_the_page_stands_alone_and_shows_hostile_text_as_text(tmp_path: Path, plugged: str) -> None:
    suite_run = run(benchmark_in(tmp_path / "in"), tmp_path / "out", plugged)
    page = (suite_run.out / "report.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;red&lt;/b&gt;" in page
    assert "<b>red" not in page
    assert "<script" not in page
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r"""(?:src|href)=["'](?!data:image/jpeg;base64,|#|judges/)""", page)
    assert f'href="judges/{plugged}/report.html"' in page
    assert page.count("data:image/jpeg;base64,") == 8
    assert str(tmp_path) not in page


def test_the_same_run_again_judges_nothing_and_tells_the_same(tmp_path: Path, plugged: str) -> None:
    data, out = benchmark_in(tmp_path / "in", splits=("test_s",)), tmp_path / "out"
    first = run(data, out, plugged)
    before = tree(out)
    second = run(data, out, plugged)
    after = tree(out)
    assert second.summary == first.summary
    changing = {"manifest.json", f"judges/{plugged}/manifest.json", f"judges/{plugged}/report.html"}
    for name in before.keys() - changing - {"report.html"}:
        assert before[name] == after[name], name
    assert before.keys() == after.keys()


@pytest.mark.slow
def test_another_judge_is_added_and_the_first_is_left_alone(
    tmp_path: Path, plugged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = benchmark_in(tmp_path / "in", splits=("test_s",)), tmp_path / "out"
    run(data, out, plugged)
    before = (out / "judges" / plugged / "verdicts.jsonl").read_bytes()
    monkeypatch.setenv("PLUGGED_LOG", str(tmp_path / "log"))
    suite_run = run(data, out, CUES)
    assert not (tmp_path / "log").exists()  # the first judge was not asked again
    assert (out / "judges" / plugged / "verdicts.jsonl").read_bytes() == before
    assert [row[0] for row in suite_run.tables["image_seen_rmse"].rows][:2] == [CUES, plugged]
    assert suite_run.summary.n == 48


def test_replies_of_a_model_are_a_judge_beside_the_others(tmp_path: Path) -> None:
    source = benchmark_in(tmp_path / "in")
    items = rows(source / "items.jsonl")
    (tmp_path / "mine").mkdir()
    for item in items[1:]:
        file = tmp_path / "mine" / f"{item['id']}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<iou> {item['truth']['iou']:.4f} </iou> <mask> {item['truth']['defect']} </mask>")
    write_lines(tmp_path / "same" / "mine.jsonl", {"id": "x", "iou": 0.5, "mask_type": "erode"})
    judges = (CUES, f"replies:{tmp_path / 'mine'}")
    run = suites.run("mqa", data=source, judges=judges, out=tmp_path / "out", workers=0)
    verdict_of = {row["id"]: row for row in rows(tmp_path / "out" / "judges" / "replies.mine" / "verdicts.jsonl")}
    true = {item["id"]: item["truth"] for item in items[1:]}
    assert {name: row["defect"] for name, row in verdict_of.items()} == {
        name: true[name]["defect"] for name in verdict_of
    }  # a whole sample is not asked for: training is judged by nobody
    assert run.summary.failed <= 1
    assert any("replies.mine" in row for table in run.tables.values() for row in table.rows)
    with pytest.raises(UsageError, match=r"two judges are called replies\.mine"):
        suites.run("mqa", data=source, judges=(judges[1], f"replies:{tmp_path / 'same' / 'mine.jsonl'}"),
                   out=tmp_path / "no")  # fmt: skip


def test_no_judge_sees_the_other_candidates(tmp_path: Path, plugged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUGGED_LOG", str(tmp_path / "log"))
    run(benchmark_in(tmp_path / "in", splits=("test_s",)), tmp_path / "out", plugged)
    log_rows = rows(tmp_path / "log")
    assert len(log_rows) == 24
    assert {row["others"] for row in log_rows} == {0}


@pytest.mark.slow
def test_a_judge_of_other_masks_is_not_shown_beside(tmp_path: Path, plugged: str) -> None:
    data, out = benchmark_in(tmp_path / "in", splits=("test_s",)), tmp_path / "out"
    run(data, out, plugged)
    save_mask(data / "erode.png", LEFT & _shifted(LEFT, 5))  # the benchmark changed after the first judge
    suite_run = run(data, out, CUES)
    assert [row[0] for row in suite_run.tables["image_seen_rmse"].rows][:2] == [CUES, "always perfect"]
    with pytest.raises(Mismatch, match="changed"):
        run(data, out, plugged)


def test_a_judge_that_crashes_costs_its_own_cells(tmp_path: Path, plugged: str) -> None:
    failed_id = "image/c0/merge/0"
    data = benchmark_in(tmp_path / "in", texts={failed_id: "raise", "video/c1/erode/1": "refuse"}, splits=("test_s",))
    suite_run = run(data, tmp_path / "out", plugged, CUES)
    assert suite_run.summary.failed == 2
    assert verdicts(suite_run.out, plugged).keys() == verdicts(suite_run.out, CUES).keys() - {
        failed_id,
        "video/c1/erode/1",
    }
    cells = json.loads((suite_run.out / "cells.json").read_text())
    merge = {
        row["judge"]: row
        for row in cells
        if (row["protocol"], row["part"], row["metric"], row["column"]) == ("image", "seen", "rmse", "merge")
    }
    assert (merge[plugged]["n"], merge[plugged]["failed"]) == (1, 1)
    assert (merge[CUES]["n"], merge[CUES]["failed"]) == (2, 0)
    assert f"1 of {plugged}" in suite_run.tables["image_seen_rmse"].note


def test_a_judge_without_a_card_fails_as_a_whole_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = plug_in(tmp_path / "site", card=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    try:
        suite_run = run(benchmark_in(tmp_path / "in", splits=("test_s",)), tmp_path / "out", name, CUES)
    finally:
        sys.modules.pop("plugged_judge", None)
    assert (suite_run.summary.ok, suite_run.summary.failed) == (24, 24)
    assert suite_run.tables["image_seen_rmse"].rows[0][1:11] == ("–",) * 10
    assert [row[0] for row in suite_run.tables["image_seen_rmse"].rows][1] == CUES


def test_the_training_part_is_not_judged_and_gives_the_constant(tmp_path: Path, plugged: str) -> None:
    data = benchmark_in(tmp_path / "in", splits=("train", "test_s"))
    suite_run = run(data, tmp_path / "out", plugged, protocols=("image",))
    assert verdicts(suite_run.out, plugged).keys() == {
        row["id"] for row in rows(data / "items.jsonl") if row["mqa"]["split"] == "test_s" and "image" in row["id"]
    }
    trained = [
        row["truth"]["iou"] for row in rows(data / "items.jsonl") if row["id"].startswith(("image/c0", "image/c1"))
    ]
    assert f"IoU {np.mean(trained):.3f}, perfect (from 8 training masks)" in suite_run.tables["image_seen_overall"].note
    assert suite_run.remarks[0].startswith("note: judged: 2 of 4 clips or photographs; the others are of the training")


def test_one_clip_has_no_intervals_and_none_are_promised(tmp_path: Path) -> None:
    data = benchmark_in(tmp_path / "in")
    write_lines(data / "items.jsonl", *(row for row in rows(data / "items.jsonl") if row["clip"] == "c0"))
    suite_run = run(data, tmp_path / "out", protocols=("image",))
    lead = json.loads((suite_run.out / "page.json").read_text())["lead"]
    assert "too few clips or photographs for intervals" in lead
    assert "95 %" not in lead
    assert suite_run.remarks == ()


def test_splits_and_protocols_can_be_chosen(tmp_path: Path, plugged: str) -> None:
    data = benchmark_in(tmp_path / "in")
    suite_run = run(data, tmp_path / "out", plugged, protocols=("video",), splits=("test_u",))
    assert suite_run.summary.n == 16
    assert not any(name.startswith(("image", "video_seen")) for name in suite_run.tables)
    with pytest.raises(NothingToDo):
        run(data, tmp_path / "none", plugged, splits=("val",))


def test_a_broken_line_costs_itself(tmp_path: Path, plugged: str) -> None:
    data = benchmark_in(tmp_path / "in", splits=("test_s",))
    lines = rows(data / "items.jsonl")
    lines[0]["mqa"] = "here"
    lines[1]["mask"] = "missing.png"
    write_lines(data / "items.jsonl", *lines, b"{broken")
    suite_run = run(data, tmp_path / "out", plugged)
    assert (suite_run.summary.ok, suite_run.summary.failed) == (22, 3)
    errors = (suite_run.out / "errors.jsonl").read_text()
    assert "the key mqa is str" in errors


@pytest.mark.slow
def test_masks_of_auscult_stress_are_a_benchmark_without_splits(tmp_path: Path, plugged: str) -> None:
    from auscult.jobs.options import StressOptions
    from auscult.jobs.stress import stress_masks

    for number, name in enumerate("ab"):
        save_frame(tmp_path / "in" / "frames" / f"{name}.png", seed=number)
        save_palette(tmp_path / "in" / "masks" / f"{name}.png", {1: LEFT, 2: RIGHT})
    stress_masks(StressOptions(source=tmp_path / "in", out=tmp_path / "stressed", workers=0))
    suite_run = run(tmp_path / "stressed", tmp_path / "out", plugged)
    assert set(suite_run.tables) >= {"image_all_rmse", "image_ablation_rmse"}
    counts = suite_run.tables["image_all_rmse"].rows[-1]
    assert counts[1] == "4"
    sizes = suite_run.tables["image_all_size"].rows[-1]  # measured on the true masks: 11 % and 16 % of the frame
    assert sizes == ("n", "0", "0", "18", "18", "0")


def test_a_folder_of_true_masks_becomes_a_benchmark_first(tmp_path: Path, plugged: str) -> None:
    for number, name in enumerate("ab"):
        save_frame(tmp_path / "in" / "frames" / f"{name}.png", seed=number)
        save_palette(tmp_path / "in" / "masks" / f"{name}.png", {1: LEFT, 2: RIGHT})
    save_frame(tmp_path / "in" / "frames" / "c.png", seed=9)
    (tmp_path / "in" / "masks" / "c.png").write_bytes(b"no picture")
    suite_run = run(tmp_path / "in", tmp_path / "out", plugged, protocols=("image",))
    assert argument(read_manifest(tmp_path / "out"), "policy")["name"] == "paper", "the truth is made by its windows"
    assert suite_run.summary.failed == 1
    assert "although they should be: 1;" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert suite_run.summary.ok == len(rows(tmp_path / "out" / "input" / "items.jsonl")) == 18


@pytest.mark.slow
def test_other_arguments_need_another_folder(tmp_path: Path, plugged: str) -> None:
    data, out = benchmark_in(tmp_path / "in", splits=("test_s",)), tmp_path / "out"
    run(data, out, plugged)
    with pytest.raises(Mismatch, match="policy"):
        run(data, out, plugged, policy="release")
    assert run(data, out, plugged, policy="release", overwrite=True).summary.ok == 24


def test_wrong_names_say_what_there_is(tmp_path: Path) -> None:
    data = benchmark_in(tmp_path / "in")
    with pytest.raises(UnknownName, match=r"mqa\.v1"):
        suites.run("mqo", data=data, out=tmp_path / "out")
    with pytest.raises(UnknownName, match=r"masks\.cues\.v1"):
        run(data, tmp_path / "out", "masks.cuse")
    with pytest.raises(UsageError, match="protocol"):
        run(data, tmp_path / "out", protocols=("sound",))
    with pytest.raises(UsageError, match="no such file"):
        run(tmp_path / "nowhere", tmp_path / "out2")
    with pytest.raises(UsageError, match="no judge"):
        suites.run("mqa", data=data, out=tmp_path / "out", judges=())


def test_a_source_without_truth_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    (folder / "frames").mkdir(parents=True)
    (folder / "masks").mkdir()
    with pytest.raises(NothingToDo):
        run(folder, tmp_path / "out")
    assert folder_input(tmp_path / "one").is_dir()


def test_the_suite_says_what_it_is() -> None:
    assert isinstance(SUITE, suites.Suite)
    assert SUITE.name == "mqa.v1"
    assert suites.load_suite("mqa") is SUITE
    assert SUITE.meta.source


@pytest.mark.slow
def test_scenes_from_nothing_to_tables(tmp_path: Path) -> None:
    suite_run = run("scenes", tmp_path / "out", count=3, seed=3)
    assert (tmp_path / "out" / "scenes" / "items.jsonl").is_file()
    assert suite_run.summary.failed == 0
    assert any(name.startswith("video") for name in suite_run.tables)
    assert any((tmp_path / "out" / "input" / "masks").iterdir())
    released = tmp_path / "out" / "input" / "train_test_meta_files"
    second_run = run(released, tmp_path / "again")
    for name in ("image_seen_rmse", "video_seen_f2_m", "image_ablation_f2_a"):
        assert second_run.tables[name].rows[0] == suite_run.tables[name].rows[0], (
            name
        )  # the same benchmark, read as released


@pytest.mark.slow
def test_what_an_earlier_command_wrote_and_this_one_does_not_goes(tmp_path: Path) -> None:
    data, out = benchmark_in(tmp_path / "in"), tmp_path / "out"
    run(data, out)
    stale = [out / name for name in ("tables/image_old.csv", "figures/old.svg", "pictures/old.jpg")]
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text("of an earlier command")
    with (out / ".written").open("a") as notes:
        notes.writelines(json.dumps({"name": path.relative_to(out).as_posix()}) + "\n" for path in stale)
    before = tree(out).keys() - {path.relative_to(out).as_posix() for path in stale}
    run(data, out)
    assert tree(out).keys() == before
