"""The demonstration: outlines that fit, candidates on disk, a finished record, and clear refusals."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from auscult.arrays.boxes import box_of
from auscult.errors import Mismatch, RecordError, UsageError
from auscult.jobs import demo
from auscult.jobs.options import DemoOptions
from auscult.record.folder import INPUT, open_run, require_own_folder
from auscult.record.manifest import build

installed = pytest.mark.skipif(importlib.util.find_spec("skimage") is None, reason="the extra `demo` is not installed")


def test_outlines_lie_within_their_frame_and_are_larger_than_32_pixels() -> None:
    n_objects = 0
    for photo in demo.load_photos():
        height, width = photo["size"]
        masks = demo.true_masks(photo)
        assert len(masks) == len(photo["objects"]), "two objects of one photograph have one name"
        for photo_object in photo["objects"]:
            for outline in photo_object["outline"]:
                corners = np.asarray(outline, float).reshape(-1, 2)
                assert corners.min() >= 0
                assert (corners <= (width, height)).all()
            box = box_of(masks[photo_object["name"]])
            assert box is not None
            assert min(box[2] - box[0], box[3] - box[1]) > 32, photo_object["name"]
            x0, y0, x1, y1 = photo_object["box"]
            assert x0 <= box[0] < box[2] <= x1, photo_object["name"]
            assert y0 <= box[1] < box[3] <= y1, photo_object["name"]
            assert photo_object["text"]
            n_objects += 1
    assert n_objects >= 15


def test_objects_of_a_photograph_are_disjoint() -> None:
    for photo in demo.load_photos():
        n_covering = np.sum([mask.astype(int) for mask in demo.true_masks(photo).values()], axis=0)
        assert n_covering.max() == 1, photo["file"]


def test_an_object_in_front_is_cut_out_of_the_one_behind() -> None:
    square = [[2, 2, 12, 2, 12, 12, 2, 12]]
    photo = {"size": [20, 20], "objects": [{"name": "front", "outline": square}, {"name": "behind", "outline": square}]}
    masks = demo.true_masks(photo)
    assert masks["front"].sum() == 100
    assert not masks["behind"].any()


def test_without_scikit_image_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(UsageError) as error:
        demo.run_demo(DemoOptions(out=tmp_path / "out", seed=0, workers=0, overwrite=False))
    assert "pip install '.[demo]'" in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.extra_demo
@installed
def test_a_photograph_of_another_size_is_refused() -> None:
    photos = demo.load_photos()
    photos[0]["size"] = [10, 10]
    with pytest.raises(UsageError, match="10 x 10"):
        demo.photo_folder(photos)
    photos[0]["file"] = "no_such_photograph.png"
    with pytest.raises(UsageError, match="lacks a photograph"):
        demo.photo_folder(photos)


@pytest.mark.extra_demo
@installed
def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear diary")
    for overwrite in (False, True):
        with pytest.raises(RecordError):
            demo.run_demo(DemoOptions(out=tmp_path, seed=0, workers=0, overwrite=overwrite))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_an_input_is_a_runs_own_only_when_it_is_a_run(tmp_path: Path) -> None:
    (tmp_path / INPUT).mkdir()
    with pytest.raises(RecordError, match="input"):
        require_own_folder(tmp_path)
    with open_run(tmp_path / INPUT, build("demo", given={}, defaulted={}, seeds={}, inputs={}), overwrite=False):
        pass
    require_own_folder(tmp_path)
    (tmp_path / "letter.txt").write_text("dear diary")
    with pytest.raises(RecordError, match="letter"):
        require_own_folder(tmp_path)


@pytest.mark.extra_demo
@installed
def test_a_run_of_another_command_is_not_mixed_with(tmp_path: Path) -> None:
    with open_run(tmp_path, build("audit", given={}, defaulted={}, seeds={}, inputs={}), overwrite=False):
        pass
    with pytest.raises(Mismatch, match="no demonstration"):
        demo.run_demo(DemoOptions(out=tmp_path, seed=0, workers=0, overwrite=False))
    assert not (tmp_path / INPUT).exists()


@pytest.fixture
def finished(demo_run: tuple[Path, str]) -> Path:
    return demo_run[0]


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.extra_demo
@installed
def test_every_candidate_of_every_photograph_is_judged(finished: Path) -> None:
    items = _rows(finished / "input" / "items.jsonl")
    summary = json.loads((finished / "summary.json").read_text(encoding="utf-8"))
    verdicts = _rows(finished / "verdicts.jsonl")
    assert 100 <= len(items) <= 240
    assert (summary["n"], summary["ok"], summary["failed"]) == (len(items), len(items), 0)
    assert {row["id"] for row in verdicts} == {row["id"] for row in items}
    assert {Path(str(row["frame"])).name for row in items} == {photo["file"] for photo in demo.load_photos()}
    assert "<html" in (finished / "report.html").read_text(encoding="utf-8")


@pytest.mark.extra_demo
@installed
def test_the_worst_drawn_masks_are_bad_ones(finished: Path) -> None:
    table = demo.worst_drawn(finished)
    assert len(table.rows) == 10
    true = [float(row[-1]) for row in table.rows]
    assert max(true) < 0.8
    assert sum(iou < 0.5 for iou in true) >= 8
    assert not any(row[1] == "accept" for row in table.rows)
    assert {row[0].rpartition("/")[2] for row in table.rows} <= set(demo.DRAWN)


@pytest.mark.extra_demo
@installed
def test_every_object_has_a_segmented_and_stressed_candidates(finished: Path) -> None:
    items = _rows(finished / "input" / "items.jsonl")
    kinds = Counter(str(row["id"]).rpartition("/")[2] for row in items)
    objects = sum(len(photo["objects"]) for photo in demo.load_photos())
    assert kinds[demo.GRABCUT] == objects
    assert kinds["perfect"] == objects
    assert sum(kinds[name] for name in demo.DEEPLAB) >= 30
    assert set(kinds) == {*demo.DRAWN, *demo.STRESSED}
    for row in items:
        truth = row["truth"]
        assert isinstance(truth, dict)
        assert (finished / "input" / str(row["mask"])).is_file()
        assert (finished / "input" / truth["mask"]).is_file()
        hand_drawn = str(row["id"]).rpartition("/")[2] in demo.DRAWN
        assert set(truth) == ({"mask"} if hand_drawn else {"mask", "iou", "defect", "difficulty", "action"})


@pytest.mark.extra_demo
@installed
def test_again_goes_on_and_judges_nothing_twice(finished: Path) -> None:
    before = (finished / "verdicts.jsonl").read_bytes()
    summary = demo.run_demo(DemoOptions(out=finished, seed=0, workers=0, overwrite=False))
    assert (finished / "verdicts.jsonl").read_bytes() == before
    assert summary.n == len(before.splitlines())
    with pytest.raises(Mismatch, match="seed"):
        demo.run_demo(DemoOptions(out=finished, seed=1, workers=0, overwrite=False))


@pytest.mark.extra_demo
@installed
def test_anew_with_another_seed_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, out = demo.load_photos()[2:3], tmp_path / "out"
    monkeypatch.setattr(demo, "load_photos", lambda: few)
    demo.run_demo(DemoOptions(out=out, seed=0, workers=0, overwrite=False))
    rows, masks = _by_id(out / "input"), _masks(out / "input")
    summary = demo.run_demo(DemoOptions(out=out, seed=1, workers=0, overwrite=True))
    assert len(_rows(out / "verdicts.jsonl")) == summary.n == len(rows)
    assert _by_id(out / "input") != rows

    monkeypatch.setattr(demo, "audit_folder", lambda *_: None)
    demo.run_demo(DemoOptions(out=out, seed=0, workers=0, overwrite=True))
    assert _by_id(out / "input") == rows
    assert _masks(out / "input") == masks


def _masks(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.png")}


def _by_id(folder: Path) -> dict[str, dict[str, object]]:
    return {str(row["id"]): row for row in _rows(folder / "items.jsonl")}
