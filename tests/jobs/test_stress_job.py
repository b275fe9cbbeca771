"""`stress masks` as a job: the same seed makes the same bytes, whoever works and whatever interrupts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from auscult.cases.listing import list_items
from auscult.errors import Mismatch, NothingToDo, RecordError, UsageError
from auscult.jobs.options import StressOptions
from auscult.jobs.stress import stress_masks
from auscult.media.masks import read_mask
from small_inputs import ellipse, item, rows, save_frame, save_mask, save_palette, tree, write_lines

SIZE = (96, 128)
ONE = ellipse((48, 38), (34, 26), SIZE)
TWO = ellipse((44, 95), (24, 22), SIZE)
DOT = ellipse((20, 100), (1.5, 1.5), SIZE)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five frames of two objects."""
    folder = tmp_path_factory.mktemp("stress") / "in"
    for number in range(5):
        save_frame(folder / "frames" / f"f{number}.jpg", seed=number, size=SIZE)
        save_palette(folder / "masks" / f"f{number}.png", {1: np.roll(ONE, number, 1), 2: np.roll(TWO, -number, 0)})
    return folder


@pytest.fixture(scope="module")
def stressed(source: Path) -> Path:
    out = source.parent / "made"
    stress_masks(StressOptions(source=source, out=out, seed=7, workers=0))
    return out


def _material(out: Path) -> dict[str, object]:
    """Everything an audit would read: frames, masks, truth and the lines, whatever their order."""
    files = {name: data for name, data in tree(out).items() if name.startswith(("frames/", "masks/", "truth/"))}
    lines = {row["id"]: row for row in rows(out / "items.jsonl")}
    assert len(lines) == len(rows(out / "items.jsonl")), "an item stands twice"
    return {"files": files, "lines": lines}


def _targets(out: Path) -> dict[str, dict[str, object]]:
    row_of = {row["id"]: row for row in rows(out / "targets.jsonl")}
    assert len(row_of) == len(rows(out / "targets.jsonl"))
    return row_of


def test_the_same_seed_makes_the_same_bytes_with_any_number_of_workers(source: Path, stressed: Path) -> None:
    for workers in (0, 2):
        out = source.parent / f"workers{workers}"
        stress_masks(StressOptions(source=source, out=out, seed=7, workers=workers))
        assert _material(out) == _material(stressed)
        assert _targets(out) == _targets(stressed)
        assert json.loads((out / "summary.json").read_text()) == json.loads((stressed / "summary.json").read_text())


def test_lines_stand_in_the_order_of_the_input_whoever_is_done_first(source: Path, tmp_path: Path) -> None:
    out, files = tmp_path / "out", ("items.jsonl", "targets.jsonl")
    options = StressOptions(source=source, out=out, seed=7, workers=0, kinds=("erode",))
    stress_masks(options)
    before = {name: (out / name).read_bytes() for name in files}
    for name, data in before.items():
        (out / name).write_bytes(b"".join(reversed(data.splitlines(keepends=True))))
    stress_masks(options)
    assert {name: sorted(rows(out / name), key=str) for name in files} == {
        name: sorted(map(json.loads, data.splitlines()), key=str) for name, data in before.items()
    }
    assert [row["id"] for row in rows(out / "targets.jsonl")] == [item.id for item in list_items(source).items]
    assert list(dict.fromkeys(row["stress"]["target"] for row in rows(out / "items.jsonl"))) == [
        row["id"] for row in rows(out / "targets.jsonl")
    ]


def test_another_seed_makes_other_masks(source: Path, stressed: Path) -> None:
    out = source.parent / "other"
    stress_masks(StressOptions(source=source, out=out, seed=8, workers=0))
    first, second = tree(stressed), tree(out)
    graded = [name for name in first if name.endswith(("_hard.png", "_medium.png")) and name in second]
    assert len(graded) >= 20
    assert sum(first[name] == second[name] for name in graded) <= len(graded) // 10
    assert all(first[name] == second[name] for name in first if name.startswith("truth/") and name in second)


@pytest.mark.slow
def test_killed_and_repeated_it_comes_to_the_same_bytes(source: Path, stressed: Path) -> None:
    out = source.parent / "killed"
    command = [sys.executable, "-m", "auscult", "stress", "masks", str(source), "--out", str(out)]
    n_killed = 0
    for lines in (0, 1, 4):
        process = subprocess.Popen([*command, "--seed", "7", "--workers", "2", "--quiet"], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not (out / "manifest.json").exists() or (_lines(out) < lines and process.poll() is None):
            assert time.monotonic() < end
            time.sleep(0.001)
        process.kill()
        n_killed += process.wait() == -signal.SIGKILL
    assert n_killed >= 1
    summary, _ = stress_masks(StressOptions(source=source, out=out, seed=7, workers=0))
    assert _material(out) == _material(stressed)
    assert _targets(out) == _targets(stressed)
    assert summary.as_json() == json.loads((stressed / "summary.json").read_text())


def _lines(out: Path) -> int:
    path = out / "targets.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_again_makes_nothing_twice_and_other_arguments_are_refused(source: Path, stressed: Path) -> None:
    before = {name: data for name, data in tree(stressed).items() if name != "manifest.json"}
    stress_masks(StressOptions(source=source, out=stressed, seed=7, workers=0))
    assert {name: data for name, data in tree(stressed).items() if name != "manifest.json"} == before
    others = (({"seed": 8}, "seed"), ({"kinds": ("erode",)}, "--kind"), ({"difficulties": ("hard",)}, "--difficulty"))
    for other, message in others:
        with pytest.raises(Mismatch, match=message):
            stress_masks(StressOptions(**{"source": source, "out": stressed, "seed": 7, "workers": 0, **other}))
    assert {name: data for name, data in tree(stressed).items() if name != "manifest.json"} == before


def test_a_changed_mask_is_refused_by_name(tmp_path: Path) -> None:
    save_frame(tmp_path / "in" / "frames" / "a.jpg", size=SIZE)
    save_mask(tmp_path / "in" / "masks" / "a.png", ONE)
    options = StressOptions(source=tmp_path / "in", out=tmp_path / "out", workers=0)
    stress_masks(options)
    save_mask(tmp_path / "in" / "masks" / "a.png", TWO)
    with pytest.raises(Mismatch, match="a has a result"):
        stress_masks(options)


def test_every_line_is_an_item_of_a_valid_input_with_its_exact_truth(stressed: Path, source: Path) -> None:
    listing = list_items(stressed)
    assert not listing.errors
    lines = rows(stressed / "items.jsonl")
    assert {listed_item.id for listed_item in listing.items} == {row["id"] for row in lines}
    for row in lines:
        mask, truth = (np.asarray(Image.open(stressed / name)) > 0 for name in (row["mask"], row["truth"]["mask"]))
        exact = np.count_nonzero(mask & truth) / np.count_nonzero(mask | truth)
        assert row["truth"]["iou"] == pytest.approx(exact, abs=1e-9)
        assert row["id"].startswith(row["stress"]["target"] + "/")
        low, high = {"hard": (0.85, 0.90), "medium": (0.75, 0.80)}.get(row["truth"]["difficulty"], (0.0, 1.0))
        if row["truth"]["defect"] in {"cutout", "dilate", "erode"}:
            assert low <= exact <= high
    assert len(list((stressed / "frames").iterdir())) == 5, "objects of one frame share its copy"
    copies = {path.read_bytes() for path in (stressed / "frames").iterdir()}
    assert copies == {path.read_bytes() for path in (source / "frames").iterdir()}


def test_what_cannot_be_made_is_counted_with_its_reason(tmp_path: Path) -> None:
    save_frame(tmp_path / "in" / "frames" / "a.jpg", size=SIZE)
    save_mask(tmp_path / "in" / "masks" / "a.png", DOT)
    summary, tables = stress_masks(StressOptions(source=tmp_path / "in", out=tmp_path / "out", workers=0))
    (target,) = rows(tmp_path / "out" / "targets.jsonl")
    reasons = [(entry["kind"], entry["difficulty"], entry["reason"]) for entry in target["undefined"]]
    assert summary.undefined == len(reasons) > 0
    assert summary.n == summary.ok + summary.undefined
    assert all(reason for _, _, reason in reasons)
    kinds = {row["truth"]["defect"] for row in rows(tmp_path / "out" / "items.jsonl")}
    assert kinds | {kind for kind, _, _ in reasons} == {"perfect", "cutout", "dilate", "erode", "merge", "full_neg"}
    assert "perfect" in kinds
    n_made = {row[0]: int(row[3]) for row in tables[0].rows}
    assert sum(int(row[3]) for row in tables[0].rows) == summary.undefined
    assert n_made["merge"] >= 1, "there is no other object to merge with"
    assert sum(int(row[2]) for row in tables[1].rows) == summary.undefined


def test_bad_targets_cost_themselves_and_are_tried_again(tmp_path: Path) -> None:
    source = tmp_path / "in"
    for name in ("a", "b", "c"):
        save_frame(source / "frames" / f"{name}.jpg", size=SIZE)
        save_mask(source / "masks" / f"{name}.png", ONE)
    save_mask(source / "masks" / "b.png", ONE & False)
    save_frame(source / "frames" / "c.jpg", size=(96, 127))
    options = StressOptions(source=source, out=tmp_path / "out", kinds=("perfect",), workers=0)
    summary, _ = stress_masks(options)
    assert (summary.n, summary.ok, summary.failed) == (3, 1, 2)
    errors = {row["id"]: row for row in rows(tmp_path / "out" / "errors.jsonl")}
    assert "empty" in errors["b"]["error"]
    assert "its frame 96 x 127" in errors["c"]["error"]
    assert all(row["hint"] and row["expected"] for row in errors.values())
    save_mask(source / "masks" / "b.png", TWO)
    save_frame(source / "frames" / "c.jpg", size=SIZE)
    summary, _ = stress_masks(options)
    assert (summary.n, summary.ok, summary.failed) == (3, 3, 0)


def test_words_clips_and_times_go_with_the_masks(tmp_path: Path) -> None:
    save_frame(tmp_path / "in" / "frames" / "a.png", size=SIZE)
    save_mask(tmp_path / "in" / "masks" / "a.png", ONE)
    line = item("v1/f#3", text="the dog on the left", clip="v1", time_s=3.0)
    write_lines(tmp_path / "in" / "items.jsonl", line)
    stress_masks(StressOptions(source=tmp_path / "in", out=tmp_path / "out", kinds=("erode",), workers=0))
    made_rows = rows(tmp_path / "out" / "items.jsonl")
    assert len(made_rows) == 2
    for row in made_rows:
        assert (row["text"], row["clip"], row["time_s"]) == ("the dog on the left", "v1", 3.0)
        assert row["stress"]["target"] == "v1/f#3"
    assert not list_items(tmp_path / "out").errors


def test_frames_of_one_name_in_several_folders_stay_apart(tmp_path: Path) -> None:
    for number, clip in enumerate(("cat", "dog")):
        save_frame(tmp_path / "in" / "frames" / clip / "0.png", seed=number, size=SIZE)
        save_mask(tmp_path / "in" / "masks" / clip / "0.png", (ONE, TWO)[number])
    stress_masks(StressOptions(source=tmp_path / "in", out=tmp_path / "out", kinds=("perfect",), workers=0))
    frames = {row["stress"]["target"]: row["frame"] for row in rows(tmp_path / "out" / "items.jsonl")}
    assert len(set(frames.values())) == 2
    for target, frame in frames.items():
        assert (tmp_path / "out" / frame).read_bytes() == (tmp_path / "in" / "frames" / f"{target}.png").read_bytes()


def test_frames_that_differ_in_their_folder_alone_stay_apart(tmp_path: Path) -> None:
    frames = ("frames/a.png", "a.png", "images/a.png", "images/a.PNG", "b/c.png", "b__c.png")
    for number, name in enumerate(frames):
        save_frame(tmp_path / "in" / name, seed=number, size=SIZE)
    save_mask(tmp_path / "in" / "masks" / "a.png", ONE)
    lines = (item(str(number), frame=name) for number, name in enumerate(frames))
    write_lines(tmp_path / "in" / "items.jsonl", *lines)
    stress_masks(StressOptions(source=tmp_path / "in", out=tmp_path / "out", workers=0))
    for row in rows(tmp_path / "out" / "items.jsonl"):
        original = tmp_path / "in" / frames[int(row["id"][0])]
        assert (tmp_path / "out" / row["frame"]).read_bytes() == original.read_bytes()


def test_a_stressed_input_can_be_stressed_again(stressed: Path, tmp_path: Path) -> None:
    options = StressOptions(source=stressed, out=tmp_path / "out", kinds=("perfect",), workers=0)
    summary, _ = stress_masks(options)
    assert summary.ok == len(rows(stressed / "items.jsonl"))
    assert summary.failed == 0


def test_each_difficulty_of_a_freehand_kind_is_a_mask_of_its_own(source: Path, tmp_path: Path) -> None:
    kinds = ("freehand_cutout", "erode")
    stress_masks(StressOptions(source=source, out=tmp_path / "out", kinds=kinds, workers=0))
    names = {row["id"].rsplit("/", 1)[1] for row in rows(tmp_path / "out" / "items.jsonl")}
    assert names == {f"{kind}_{difficulty}" for kind in kinds for difficulty in ("hard", "medium")}
    for made in list_items(tmp_path / "out").items:
        mask, truth = read_mask(made.mask).mask, made.truth
        assert truth is not None
        assert truth.mask is not None
        true = read_mask(truth.mask).mask
        assert truth.iou == (mask & true).sum() / (mask | true).sum()
    some = StressOptions(source=source, out=tmp_path / "hard", kinds=kinds, difficulties=("hard",), workers=0)
    stress_masks(some)
    assert {row["truth"]["difficulty"] for row in rows(tmp_path / "hard" / "items.jsonl")} == {"hard"}


@pytest.mark.parametrize(
    "change", [{"kinds": ("melt",)}, {"kinds": ()}, {"difficulties": ("easy",)}, {"difficulties": ()}]
)
def test_wrong_wishes_are_refused_before_anything_is_written(
    source: Path, tmp_path: Path, change: dict[str, tuple[str, ...]]
) -> None:
    with pytest.raises(UsageError):
        stress_masks(StressOptions(source=source, out=tmp_path / "out", workers=0, **change))
    assert not (tmp_path / "out").exists()


def test_nothing_to_stress_and_a_strangers_folder_are_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "empty" / "frames").mkdir(parents=True)
    (tmp_path / "empty" / "masks").mkdir()
    with pytest.raises(NothingToDo):
        stress_masks(StressOptions(source=tmp_path / "empty", out=tmp_path / "out", workers=0))
    before = tree(source)
    for overwrite in (False, True):
        with pytest.raises(RecordError, match="other files"):
            stress_masks(StressOptions(source=source, out=source, workers=0, overwrite=overwrite))
    assert tree(source) == before
