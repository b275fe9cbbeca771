"""The benchmark, built from a small data root: what is in it, and how it goes on after a stop."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from auscult.arrays.overlap import iou
from auscult.cases.listing import list_items
from auscult.errors import Mismatch, NothingToDo, RecordError, UnknownName, UsageError
from auscult.media.masks import read_mask
from auscult.stress.masks import tracks
from auscult.suites.mqa.build import build_benchmark
from auscult.suites.mqa.options import BuildOptions
from auscult.types import DEFECTS, MaskRef
from small_ref_avs import FRAMES, Clip, standard, write_root, write_table

Rows = list[dict[str, Any]]

IMAGE = ("image",)


def build(source: Path, out: Path, **changes: Any) -> dict[str, Any]:
    """Build in this process; returns the summary."""
    progress = changes.pop("progress", None)
    summary, _ = build_benchmark(BuildOptions(source=source, out=out, **{"workers": 0, **changes}), progress)
    return summary.as_json()


def rows(out: Path, name: str = "items.jsonl") -> Rows:
    return [json.loads(line) for line in (out / name).read_text(encoding="utf-8").splitlines()]


def tree(out: Path) -> dict[str, bytes]:
    """All files but those that name the time."""
    files = (path for path in sorted(out.rglob("*")) if path.is_file())
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in files
        if path.name[0] != "." and path.name != "manifest.json"
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_root(tmp_path_factory.mktemp("root"), standard())


@pytest.fixture(scope="module")
def bench(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "bench"
    build(source, out)
    return out


@pytest.fixture(scope="module")
def images(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image protocol alone."""
    out = tmp_path_factory.mktemp("made") / "images"
    build(source, out, protocols=IMAGE)
    return out


def test_every_instance_has_the_masks_of_table_8(bench: Path) -> None:
    image = [row for row in rows(bench) if row["mqa"]["protocol"] == "image"]
    instances = {row["mqa"]["uid"] for row in image}
    assert Counter(uid.partition("_")[0] for uid in instances) == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}
    undefined = Counter(entry["kind"] for row in rows(bench, "targets.jsonl") for entry in row["undefined"])
    assert not undefined
    counts = Counter(row["truth"]["defect"] for row in image)
    others = sum(1 if uid.startswith("d") else 2 for uid in instances)
    assert counts == {
        "perfect": len(instances),
        **dict.fromkeys(("cutout", "dilate", "erode"), 2 * len(instances)),
        **dict.fromkeys(("merge", "full_neg"), others),
    }


def test_the_video_protocol_has_whole_tracks_of_one_expression_a_clip(bench: Path) -> None:
    video = [row for row in rows(bench) if row["mqa"]["protocol"] == "video"]
    perfect = [row["mqa"]["vid"] for row in video if row["mqa"]["track"] == "perfect"]
    assert Counter(perfect) == dict.fromkeys("cde", FRAMES)
    lengths = Counter((row["mqa"]["uid"], row["mqa"]["track"]) for row in video)
    assert set(lengths.values()) == {FRAMES}
    kinds = {(row["mqa"]["track"], row["truth"]["defect"]) for row in video}
    assert {kind for _, kind in kinds} == set(DEFECTS)
    assert len(kinds) == len({track for track, _ in kinds})


def test_an_audit_can_list_it_and_every_truth_is_exact(bench: Path) -> None:
    listing = list_items(bench)
    assert not listing.errors
    assert len(listing.items) == len(rows(bench))
    for item in listing.items[::7]:
        assert item.truth is not None
        assert item.truth.mask is not None
        assert item.truth.iou == iou(read_mask(item.mask).mask, read_mask(item.truth.mask).mask)
        assert item.frame.is_file()
        assert item.clip == item.extra["mqa"]["vid"]


def test_each_line_says_where_in_the_benchmark_it_stands(bench: Path) -> None:
    row = next(row for row in rows(bench) if row["id"].startswith("image/c_") and row["id"].endswith("/cutout_medium"))
    place = row["mqa"]
    assert place == {
        "uid": place["uid"],
        "vid": "c",
        "split": "test_s",
        "protocol": "image",
        "frame": place["frame"],
        "rank": 2,
        "track": "cutout_medium",
        "category": place["uid"].split("_")[1],
        "template": "position",
        "area": place["area"],
    }
    assert row["frame"] == f"media/c/frames/{place['frame']}.jpg"
    assert row["audio"] == "media/c/audio.wav"
    truth = read_mask(MaskRef(path=bench / row["truth"]["mask"])).mask
    assert place["area"] == pytest.approx(truth.mean(), abs=1e-6)
    ranks = {(row["mqa"]["track"], row["mqa"]["rank"]) for row in rows(bench)}
    assert {("perfect", 1), ("erode_hard", 1), ("merge_1", 1), ("full_neg_2", 2)} <= ranks


def test_a_frame_of_a_track_replays_from_its_line(bench: Path) -> None:
    row = next(row for row in rows(bench) if row["mqa"]["track"] == "dilate_hard" and row["mqa"]["frame"] == 4)
    truth = read_mask(MaskRef(path=bench / row["truth"]["mask"])).mask
    rendered = tracks.render(row["stress"]["kind"], tracks.target_of(truth, []), row["stress"]["params"])
    assert (rendered == read_mask(MaskRef(path=bench / row["mask"])).mask).all()


def test_clips_are_copied_whole_with_their_sound(bench: Path, source: Path) -> None:
    for clip in "abcde":
        assert (bench / f"media/{clip}/audio.wav").read_bytes() == (source / f"media/{clip}/audio.wav").read_bytes()
        for frame in range(FRAMES):
            name = f"media/{clip}/frames/{frame}.jpg"
            assert (bench / name).read_bytes() == (source / name).read_bytes()


@pytest.mark.slow
def test_workers_make_the_same_bytes(images: Path, source: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "two", workers=2, protocols=IMAGE)
    assert tree(tmp_path / "two") == tree(images)


def test_summary_and_tables_agree_with_the_lines(bench: Path) -> None:
    summary = json.loads((bench / "summary.json").read_text(encoding="utf-8"))
    lines = rows(bench)
    assert summary["ok"] == len(lines) == sum(summary["by_defect"].values()) == sum(summary["by_action"].values())
    assert summary["failed"] == summary["undefined"] == 0
    table = json.loads((bench / "tables/masks.json").read_text(encoding="utf-8"))
    assert [row[:4] for row in table["rows"]] == [
        ["image", "train", "2", "2"],
        ["image", "test (seen)", "2", "4"],
        ["image", "test (unseen)", "1", "2"],
        ["image", "test, all", "3", "6"],
        ["video", "test (seen)", "2", "2"],
        ["video", "test (unseen)", "1", "1"],
        ["video", "test, all", "3", "3"],
    ]
    sample = json.loads((bench / "tables/sample.json").read_text(encoding="utf-8"))
    assert "categories of test_u that training instances have: dog" in sample["note"]
    assert (bench / "figures/iou.svg").read_text(encoding="utf-8").startswith("<svg xmlns=")


class Stopper:
    """Stops the job after some steps of its second stage, as Ctrl-C does."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.making = False

    def stage(self, name: str, total: int) -> None:  # noqa: ARG002 - as Progress has it
        self.making = name == "making masks"

    def step(self, count: int = 1) -> None:
        self.steps -= count if self.making else 0
        if self.steps < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("steps", [0, 4])
def test_a_stopped_build_goes_on_with_nothing_lost_and_nothing_twice(
    source: Path, images: Path, tmp_path: Path, steps: int
) -> None:
    out = tmp_path / "bench"
    with pytest.raises(KeyboardInterrupt):
        build(source, out, protocols=IMAGE, progress=Stopper(steps))
    assert not (out / "summary.json").exists()
    n_targets = len(rows(out, "targets.jsonl"))
    assert n_targets == steps + 1
    build(source, out, protocols=IMAGE)
    assert tree(out) == tree(images)
    second_progress = CountingProgress()
    build(source, out, protocols=IMAGE, progress=second_progress)
    assert second_progress.stages == {"making masks": len(rows(images, "targets.jsonl"))}
    assert tree(out) == tree(images)


class CountingProgress:
    """Counts the steps of each stage."""

    def __init__(self) -> None:
        self.stages: Counter[str] = Counter()
        self.now = ""

    def stage(self, name: str, total: int) -> None:  # noqa: ARG002 - as Progress has it
        self.now = name

    def step(self, count: int = 1) -> None:
        self.stages[self.now] += count


def test_a_line_that_was_torn_off_is_made_again(source: Path, images: Path, tmp_path: Path) -> None:
    out = tmp_path / "bench"
    with pytest.raises(KeyboardInterrupt):
        build(source, out, protocols=IMAGE, progress=Stopper(3))
    lines = (out / "items.jsonl").read_bytes()
    (out / "items.jsonl").write_bytes(lines[:-40])
    (out / "targets.jsonl").write_bytes((out / "targets.jsonl").read_bytes()[:-25])
    build(source, out, protocols=IMAGE)
    assert tree(out) == tree(images)


def test_other_arguments_or_files_are_refused(tmp_path: Path) -> None:
    root = write_root(tmp_path / "root", [Clip("a", "test_s"), Clip("b", "test_s")])
    out = tmp_path / "bench"
    build(root, out, protocols=("image",))
    with pytest.raises(Mismatch, match="seed"):
        build(root, out, protocols=("image",), seed=2)
    with pytest.raises(Mismatch, match="keyframe"):
        build(root, out, protocols=("image",), key_frame=len)
    for mask in (root / "gt_mask/a").glob("*/*.png"):
        mask.write_bytes((root / "gt_mask/b/fid_1/00003.png").read_bytes())
    with pytest.raises(Mismatch, match="have changed since"):
        build(root, out, protocols=("image",))
    assert build(root, out, protocols=("image",), overwrite=True)["failed"] == 0


def test_another_seed_makes_other_masks_of_the_same_instances(source: Path, images: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "other", seed=5, protocols=("image",), splits=("test_u",))
    before, after = tree(images), tree(tmp_path / "other")
    shared = [name for name in after if name in before and name.startswith("masks/")]
    assert any(before[name] != after[name] for name in shared if "cutout" in name)
    assert all(before[name] == after[name] for name in shared if "perfect" in name)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"protocols": ("film",)}, UsageError),
        ({"protocols": ()}, UsageError),
        ({"count": 0}, UsageError),
        ({"negatives": "nonesuch"}, UnknownName),
        ({"key_frame": "nonesuch"}, UnknownName),
        ({"negatives": "grabcut"}, UsageError),
    ],
)
def test_what_cannot_be_built_is_refused(
    source: Path, tmp_path: Path, changes: Mapping[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        build(source, tmp_path / "out", **changes)
    assert not (tmp_path / "out").exists()


def test_a_split_that_the_source_lacks_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no split 'testA'") as error:
        build(source, tmp_path / "out", splits=("test_s", "testA"))
    assert error.value.expected == "one of: train, test_s, test_u"
    assert not (tmp_path / "out").exists()


def test_a_source_of_null_expressions_is_nothing_to_do_and_says_why(tmp_path: Path) -> None:
    root = write_root(tmp_path / "root", [Clip("v", "test_n", words=("dog",))])
    write_table(root, [("v", "v_null_1", "test_n", 0, "The zebra.")])
    with pytest.raises(NothingToDo, match=r"refers to nothing \(null expression\) \(1\)"):
        build(root, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_survey_is_refused(tmp_path: Path) -> None:
    root = write_root(tmp_path / "root", [Clip("v", "test_s", words=("dog",))])
    build(root, tmp_path / "out", protocols=IMAGE)
    row = rows(tmp_path / "out", "survey.jsonl")[0]
    (tmp_path / "out" / "survey.jsonl").write_text(json.dumps({**row, "areas": ["many"]}) + "\n")
    with pytest.raises(RecordError, match=r"survey\.jsonl"):
        build(root, tmp_path / "out", protocols=IMAGE)


def test_an_empty_source_is_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToDo):
        build(tmp_path / "empty", tmp_path / "out")
