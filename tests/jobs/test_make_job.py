"""`make scenes` as a job: the same seed makes the same bytes, whoever works and whatever interrupts."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from auscult.cases.listing import list_items
from auscult.errors import InputError, Mismatch, RecordError, UsageError
from auscult.jobs.make import make_scenes
from auscult.jobs.options import MakeOptions
from auscult.language.proof import named
from auscult.scenes.dataset import files_of
from auscult.scenes.draw import Stage, hear
from auscult.scenes.facts import facts_from_json
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan
from auscult.scenes.splits import GENERATED, SPLITS, divide
from small_inputs import rows, tree

SCENE = SceneOptions(size=(96, 170), seconds=4.0, rate_hz=8000, objects=(2, 4))
COUNT = 4
FRAMES = 4


def options(out: Path, **fields: Any) -> MakeOptions:
    return MakeOptions(**{"out": out, "count": COUNT, "seed": 7, "scene": SCENE, "workers": 0, **fields})


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("make") / "made"
    summary, _ = make_scenes(options(out))
    assert (summary.n, summary.ok, summary.failed) == (COUNT, COUNT, 0)
    return out


def material(out: Path) -> dict[str, bytes | str]:
    """Everything but the manifest and the notes of what was written."""
    return {name: data for name, data in tree(out).items() if name not in {"manifest.json", ".written"}}


def test_workers_change_nothing(dataset: Path) -> None:
    out = dataset.parent / "two"
    make_scenes(options(out, workers=2))
    assert material(out) == material(dataset)


def test_killed_and_repeated_it_comes_to_the_same_bytes(dataset: Path) -> None:
    out = dataset.parent / "killed"
    program = (
        "import sys; from pathlib import Path; from auscult.scenes.plan import SceneOptions;"
        "from auscult.jobs.make import MakeOptions, make_scenes;"
        f"make_scenes(MakeOptions(out=Path({str(out)!r}), count={COUNT}, seed=7, workers=1,"
        "scene=SceneOptions(size=(96, 170), seconds=4.0, rate_hz=8000, objects=(2, 4))))"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    end = time.monotonic() + 60
    while (
        len(rows(out / "scenes.jsonl") if _has_whole_lines(out / "scenes.jsonl") else []) < 2 and process.poll() is None
    ):
        assert time.monotonic() < end
        time.sleep(0.002)
    process.kill()
    exit_code = process.wait()
    assert exit_code == -signal.SIGKILL
    make_scenes(options(out))
    assert material(out) == material(dataset)


def _has_whole_lines(path: Path) -> bool:
    return path.exists() and path.read_bytes().endswith(b"\n")


def test_a_scene_that_failed_at_first_takes_its_place_later(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from auscult.jobs import make

    out = dataset.parent / "late"
    real = make.choose

    def failing(seed: int, index: int, **fields: Any) -> ScenePlan:
        if index == 2:
            raise InputError("not now")
        return real(seed, index, **fields)

    with monkeypatch.context() as patch:
        patch.setattr(make, "choose", failing)
        summary, _ = make_scenes(options(out))
    assert (summary.ok, summary.failed) == (COUNT - 1, 1)
    (error,) = rows(out / "errors.jsonl")
    assert error["id"] == "scene 2"
    assert [row["index"] for row in rows(out / "scenes.jsonl")] == [0, 1, 3]
    summary, _ = make_scenes(options(out))
    assert (summary.ok, summary.failed) == (COUNT, 0)
    assert material(out) == material(dataset)


def test_a_larger_count_adds_and_other_arguments_are_refused(dataset: Path) -> None:
    out = dataset.parent / "grown"
    make_scenes(options(out, count=2))
    make_scenes(options(out))
    assert material(out) == material(dataset)
    for other, message in (({"seed": 8}, "seed"), ({"split": "train"}, "split"), ({"expressions": 3}, "expressions")):
        with pytest.raises(Mismatch, match=message):
            make_scenes(options(out, **other))
    with pytest.raises(Mismatch, match=f"holds {COUNT} scenes, and not all of them are asked for"):
        make_scenes(options(out, count=3))
    assert material(out) == material(dataset)
    summary, _ = make_scenes(options(out, count=1, overwrite=True))
    assert summary.ok == 1
    assert len(list((out / "media").iterdir())) == 1, "what was written before is gone"


def test_every_line_replays_its_files(dataset: Path) -> None:
    for row in rows(dataset / "scenes.jsonl")[:2]:
        plan = ScenePlan.from_json(row["plan"])
        shots = Stage(plan, GENERATED.looks).key_shots()
        nulls = any(expression["target"] is None for expression in row["expressions"])
        for name, data in files_of(plan, shots, hear(plan, GENERATED.sounds).samples, nulls=nulls).items():
            assert (dataset / name).read_bytes() == data


def test_every_expression_is_proven_by_the_facts_on_record(dataset: Path) -> None:
    n_named = 0
    for row in rows(dataset / "scenes.jsonl"):
        facts = facts_from_json(row["facts"])
        for expression in row["expressions"]:
            expected = frozenset() if expression["target"] is None else {expression["target"]}
            assert named(expression["form"], facts) == expected
            n_named += 1
    assert n_named >= 12


def test_the_table_and_the_masks_agree(dataset: Path) -> None:
    table = list(csv.DictReader(io.StringIO((dataset / "metadata.csv").read_text(encoding="utf-8"))))
    scenes = {row["id"]: row for row in rows(dataset / "scenes.jsonl")}
    assert len({row["uid"] for row in table}) == len(table) == sum(len(row["expressions"]) for row in scenes.values())
    for row in table:
        folder = row["uid"].rsplit("_", 2)[0]
        assert folder == row["vid"]
        assert len(list((dataset / "media" / folder / "frames").iterdir())) == FRAMES
        masks = sorted((dataset / "gt_mask" / folder / f"fid_{row['fid']}").iterdir())
        assert [path.name for path in masks] == [f"{n:05d}.png" for n in range(FRAMES)]
        any_shown = [np.asarray(Image.open(path)).any() for path in masks]
        if row["split"] == "test_n":
            assert not any(any_shown)
        else:
            assert sum(any_shown) >= 3
            assert row["split"] == scenes[row["vid"]]["split"]
    for vid, scene in scenes.items():
        folders = {path.name for path in (dataset / "gt_mask" / vid).iterdir()} - {"fid_0"}
        assert len(folders) == len(scene["plan"]["objects"]), "every thing has masks, referred to or not"


def test_it_is_an_input_whose_items_are_true(dataset: Path) -> None:
    listing = list_items(dataset / "items.jsonl")
    assert not listing.errors
    assert len(listing.items) >= 2 * COUNT * FRAMES * 0.8
    assert all(item.truth is not None and item.truth.iou == 1.0 for item in listing.items)
    assert any(item.query.text for item in listing.items)
    assert not any("video" in row for row in rows(dataset / "items.jsonl")), "none was written"


def test_every_split_can_be_had_alone_and_null_expressions_are_for_tests(tmp_path: Path) -> None:
    for split in SPLITS:
        make_scenes(options(tmp_path / split, count=1, split=split))
        table = list(csv.DictReader(io.StringIO((tmp_path / split / "metadata.csv").read_text(encoding="utf-8"))))
        splits = {row["split"] for row in table}
        assert splits == {split} if split == "train" else splits == {split, "test_n"}
        (scene,) = rows(tmp_path / split / "scenes.jsonl")
        categories = {scene_object["id"]: scene_object["look"]["category"] for scene_object in scene["plan"]["objects"]}
        referred = {categories[expression["target"]] for expression in scene["expressions"] if expression["target"]}
        assert referred <= set(divide(GENERATED)[split].targets)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"count": 0}, "--count 0"),
        ({"scene": SceneOptions(objects=(1, 4))}, "--objects 1-4"),
        ({"seed": 2**64}, "--seed"),
        ({"split": "val"}, "--split val"),
        ({"expressions": -1}, "--expressions -1"),
        ({"fps": 0.0}, "--video 0"),
        ({"workers": -1}, "--workers -1"),
        ({"scene": SceneOptions(size=(8, 100))}, "--size 8x100"),
        ({"scene": SceneOptions(seconds=float("nan"))}, "--seconds nan"),
        ({"scene": SceneOptions(rate_hz=1)}, "--rate 1"),
        ({"scene": SceneOptions(objects=(3, 2))}, "--objects 3-2"),
        ({"scene": SceneOptions(objects=(2, 99))}, "--objects 2-99"),
        ({"assets": Path("/nowhere/at/all")}, "no such asset folder"),
    ],
)
def test_what_is_out_of_range_is_refused_before_anything_is_written(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_scenes(options(tmp_path / "out", **fields))
    assert not (tmp_path / "out").exists()


def own_folder(root: Path) -> Path:
    """Cut-outs of four categories, two backgrounds each way, and files that cannot be used."""
    rng = np.random.default_rng(0)
    for number, category in enumerate(("cup", "car", "cat", "bell")):
        for index in range(3):
            picture = np.zeros((60 + 5 * index, 50, 4), np.uint8)
            picture[5:-5, 5:-5] = (60 * number, 200 - 40 * index, 90, 255)
            picture[..., :3] += rng.integers(0, 20, (*picture.shape[:2], 3), dtype=np.uint8)
            path = root / "cutouts" / category / f"{index}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(path)
    (root / "backgrounds").mkdir()
    for number in range(4):
        wall = rng.integers(60 + 20 * number, 120 + 20 * number, (150, 260, 3), dtype=np.uint8)
        Image.fromarray(wall).save(root / "backgrounds" / f"wall{number}.png")
    (root / "cutouts" / "cup" / "broken.png").write_bytes(b"no picture")
    return root


def test_a_users_folder_is_used_and_what_is_broken_is_left_out(tmp_path: Path) -> None:
    root = own_folder(tmp_path / "assets")
    out = tmp_path / "out"
    summary, tables = make_scenes(options(out, assets=root, count=3))
    assert (summary.ok, summary.failed) == (3, 0)
    left_out = next(table for table in tables if table.title == "assets left out")
    assert [Path(row[0]).name for row in left_out.rows] == ["broken.png"]
    assert any(row["path"].endswith("broken.png") for row in rows(out / "errors.jsonl"))
    categories = {
        scene_object["look"]["category"]
        for row in rows(out / "scenes.jsonl")
        for scene_object in row["plan"]["objects"]
    }
    assert categories <= {"cup", "car", "cat", "bell"}
    (root / "cutouts" / "cup" / "broken.png").unlink()
    with pytest.raises(Mismatch, match="asset_files"):
        make_scenes(options(out, assets=root, count=5))


def test_only_files_that_can_be_used_are_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link out of the folder may lead to anything: it is refused, and not read either."""
    from auscult.jobs import make

    root = own_folder(tmp_path / "assets")
    outside = tmp_path / "secret.png"
    outside.write_bytes(b"6 GB")
    (root / "cutouts" / "cup" / "link.png").symlink_to(outside)
    (root / "cutouts" / "cup" / "gone.png").symlink_to("nowhere.png")
    (root / "cutouts" / "cup" / "notes.psd").write_bytes(b"layers")
    (root / "backgrounds" / "names.csv").write_text("file,name\nwall0.png,tree\n")
    read_paths: list[str] = []
    real = make.digest_file

    def listening(path: Path) -> str:
        read_paths.append(path.relative_to(root).as_posix())
        return real(path)

    monkeypatch.setattr(make, "digest_file", listening)
    out = tmp_path / "out"
    make_scenes(options(out, assets=root, count=1))
    assert set(read_paths) == {
        *(f"cutouts/{category}/{number}.png" for category in ("cup", "car", "cat", "bell") for number in range(3)),
        *(f"backgrounds/wall{number}.png" for number in range(4)),
        "cutouts/cup/broken.png",
        "backgrounds/names.csv",
    }
    outside.write_bytes(b"other")
    (root / "cutouts" / "cup" / "notes.psd").unlink()
    assert make_scenes(options(out, assets=root, count=2))[0].ok == 2, "no scene could use what changed"
    (root / "backgrounds" / "names.csv").write_text("file,name\nwall0.png,house\n")
    with pytest.raises(Mismatch, match="asset_files"):
        make_scenes(options(out, assets=root, count=2))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("scenes.jsonl", {"index": 0}),
        ("scenes.jsonl", {"index": "0"}),
        ("scenes.jsonl", {"id": "a", "index": 0, "split": "train", "expressions": []}),
        ("items.jsonl", {"id": "a"}),
        ("items.jsonl", {"clip": "a"}),
    ],
)
def test_a_damaged_line_is_named_with_the_next_step(
    dataset: Path, tmp_path: Path, name: str, line: dict[str, Any]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(dataset, out)
    lines = (out / name).read_bytes().splitlines(keepends=True)
    lines[1] = json.dumps(line).encode() + b"\n"
    (out / name).write_bytes(b"".join(lines))
    with pytest.raises(RecordError) as error:
        make_scenes(options(out))
    assert (error.value.path, error.value.line) == (str(out / name), 2)
    assert error.value.expected
    assert "--overwrite" in error.value.hint


def test_a_removed_line_is_made_again_and_a_doubled_one_refused(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(dataset, out)
    lines = (out / "scenes.jsonl").read_bytes().splitlines(keepends=True)
    (out / "scenes.jsonl").write_bytes(b"".join([*lines, lines[0]]))
    with pytest.raises(RecordError, match="line 1 holds scene 0 already"):
        make_scenes(options(out))
    (out / "scenes.jsonl").write_bytes(b"".join(lines[1:]))
    make_scenes(options(out))
    assert material(out) == material(dataset)


@pytest.mark.extra_video
def test_a_video_goes_with_the_scene(tmp_path: Path) -> None:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    from auscult.media.video import read_frames

    make_scenes(options(tmp_path / "out", count=1, fps=5.0))
    (path,) = (tmp_path / "out" / "media").glob("*/video.mp4")
    items = rows(tmp_path / "out" / "items.jsonl")
    assert {row["video"] for row in items} == {path.relative_to(tmp_path / "out").as_posix()}
    assert not list_items(tmp_path / "out" / "items.jsonl").errors
    frames = list(read_frames(path))
    assert len(frames) == 20
    (still,) = (tmp_path / "out" / "media").glob("*/frames/2.jpg")
    key = np.asarray(Image.open(still)).astype(float)
    assert np.abs(frames[10].frame.astype(float) - key).mean() < 6, "frame 10 of 5 a second is key frame 2"
    assert frames[10].time_s == pytest.approx(2.0)


def test_summary_and_tables_are_on_record(dataset: Path) -> None:
    summary = json.loads((dataset / "summary.json").read_text())
    assert (summary["command"], summary["n"], summary["ok"]) == ("make scenes", COUNT, COUNT)
    table = json.loads((dataset / "tables" / "scenes.json").read_text())
    assert table["rows"][-1][:2] == ["all", str(COUNT)]
    assert json.loads((dataset / "manifest.json").read_text())["finished"]
