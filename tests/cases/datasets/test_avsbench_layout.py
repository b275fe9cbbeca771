"""AVSBench s4 and ms3 on small trees of the released structure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from auscult.cases.datasets import avsbench
from auscult.cases.datasets.avsbench import DATASET
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import AuscultError, NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import read_mask, write_mask

SIZE = (10, 24)
S4 = "name,start,category,split\n"
MS3 = "name,split\n"


def square(left_px: int) -> np.ndarray:
    mask = np.zeros(SIZE, dtype=bool)
    if left_px >= 0:
        mask[2:8, left_px : left_px + 4] = True
    return mask


class Tree:
    """Writes one subset as released."""

    def __init__(self, root: Path, kind: str) -> None:
        self.kind = kind
        self.home = root / {"s4": "Single-source", "ms3": "Multi-sources"}[kind]
        self.data = self.home / f"{kind}_data"
        self.home.mkdir(parents=True, exist_ok=True)

    def rows(self, *lines: str, head: str = "") -> Tree:
        head = head or (S4 if self.kind == "s4" else MS3)
        (self.home / f"{self.kind}_meta_data.csv").write_text(head + "".join(f"{line}\n" for line in lines))
        return self

    def clip(self, name: str, split: str, category: str = "", *, masks: int = 5, flat: bool = False) -> Tree:
        """Five frames, masks that move to the right, the last one empty, and a sound."""
        clip_folder = "" if flat else f"{split}/{category}".strip("/")
        frame_folder = clip_folder if self.kind == "s4" else ""
        ending = "" if self.kind == "s4" else ".mp4"
        for number in range(1, 6):
            frame = self.data / "visual_frames" / frame_folder / name / f"{name}{ending}_{number}.png"
            write_frame(frame, np.full((*SIZE, 3), 90, np.uint8))
            if number <= masks:
                mask = self.data / "gt_masks" / clip_folder / name / f"{name}_{number}.png"
                write_mask(mask, square(2 * number if number < 5 else -1))
        sound = self.data / "audio_wav" / clip_folder / f"{name}.wav"
        sound.parent.mkdir(parents=True, exist_ok=True)
        sound.write_bytes(b"RIFF")
        return self


def problems_of(listing: InstanceListing) -> list[tuple[str, str, int | None]]:
    return [(record.stage, record.error, record.line) for _, record in listing.errors]


@pytest.fixture
def s4(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "avsbench_data", "s4")


@pytest.fixture
def ms3(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "avsbench_data", "ms3")


def test_one_source(s4: Tree) -> None:
    s4.clip("--bS_1", "test", "lions_roaring").clip("aQ_2", "train", "cap_gun", masks=1)
    s4.rows("--bS_1,1,lions_roaring,test", "aQ_2,0,cap_gun,train")
    listing = list_instances(s4.home)
    assert listing.layout == "datasets.avsbench.v1"
    assert not listing.errors
    assert listing.notes == ("s4: 2 clips: test 1, train 1",)
    lions, gun = listing.instances
    assert (lions.id, lions.clip, lions.split, lions.category) == (
        "test/lions_roaring/--bS_1",
        "--bS_1",
        "test",
        "lions_roaring",
    )
    assert lions.query.text is None
    assert lions.sound == s4.data / "audio_wav/test/lions_roaring/--bS_1.wav"
    assert (lions.source, lions.line) == (s4.home / "s4_meta_data.csv", 2)
    assert [moment.frame.name for moment in lions.moments] == [f"--bS_1_{number}.png" for number in range(1, 6)]
    assert [moment.time_s for moment in lions.moments] == [0.9375, 1.9375, 2.9375, 3.9375, 4.9375]
    masks_drawn = [read_mask(moment.target, size=SIZE).mask for moment in lions.moments if moment.target is not None]
    for mask, left_px in zip(masks_drawn, (2, 4, 6, 8, -1), strict=True):
        assert np.array_equal(mask, square(left_px))
    assert [moment.target is None for moment in gun.moments] == [False, True, True, True, True]


@pytest.mark.parametrize("flat", [False, True], ids=["with splits", "without"])
def test_several_sources(ms3: Tree, flat: bool) -> None:
    listing = list_instances(ms3.clip("x_y", "val", flat=flat).rows("x_y,val").home.parent)
    assert not listing.errors
    (instance_,) = listing.instances
    assert (instance_.id, instance_.clip, instance_.split, instance_.category) == ("val/x_y", "x_y", "val", "")
    assert [moment.frame.name for moment in instance_.moments] == [f"x_y.mp4_{number}.png" for number in range(1, 6)]
    assert all(moment.target is not None for moment in instance_.moments)
    assert instance_.sound is not None
    assert instance_.sound.name == "x_y.wav"


def test_both_sets_of_one_folder(s4: Tree, ms3: Tree) -> None:
    s4.clip("a", "test", "dog").rows("a,0,dog,test")
    ms3.clip("b", "test").rows("b,test")
    listing = list_instances(s4.home.parent)
    assert [instance.id for instance in listing.instances] == ["test/dog/a", "test/b"]
    assert listing.notes == ("s4: 1 clip: test 1", "ms3: 1 clip: test 1")


def test_any_value_above_zero_is_the_mask(ms3: Tree) -> None:
    ms3.clip("x", "val").rows("x,val")
    colours = np.zeros((*SIZE, 3), np.uint8)
    colours[square(4)], colours[square(12)] = (0, 0, 9), (255, 200, 0)
    Image.fromarray(colours).save(ms3.data / "gt_masks/val/x/x_2.png")
    (instance_,) = list_instances(ms3.home).instances
    target = instance_.moments[1].target
    assert target is not None
    assert np.array_equal(read_mask(target).mask, square(4) | square(12))


def test_as_items_every_frame_with_a_mask(s4: Tree) -> None:
    s4.clip("a", "test", "dog").clip("b", "train", "cat", masks=1).rows("a,0,dog,test", "b,0,cat,train")
    listing = list_items(s4.home)
    assert listing.layout == "datasets.avsbench.v1"
    assert [item.id for item in listing.items] == [*(f"test/dog/a/{number}" for number in range(1, 6)), "train/cat/b/1"]
    first = listing.items[0]
    assert (first.clip, first.time_s, first.extra) == ("a", 0.9375, {"split": "test", "category": "dog"})
    assert first.audio == s4.data / "audio_wav/test/dog/a.wav"


def test_what_is_missing_is_told_once_a_clip(s4: Tree) -> None:
    for name in ("a", "b", "c"):
        s4.clip(name, "test", "dog")
    s4.rows("a,0,dog,test", "b,0,dog,test", "c,0,dog,test", "d,0,dog,test")
    for number in (2, 3):
        (s4.data / f"visual_frames/test/dog/a/a_{number}.png").unlink()
    (s4.data / "gt_masks/test/dog/a/a_5.png").unlink()
    for path in (s4.data / "gt_masks/test/dog/b").iterdir():
        path.unlink()
    (s4.data / "audio_wav/test/dog/c.wav").unlink()
    listing = list_instances(s4.home)
    assert [instance.id for instance in listing.instances] == ["test/dog/a", "test/dog/c"]
    assert [moment.time_s for moment in listing.instances[0].moments] == [0.9375, 3.9375, 4.9375]
    assert listing.instances[0].moments[-1].target is None
    assert listing.instances[1].sound is None
    assert problems_of(listing) == [
        ("frames", "2 of 5 frames are missing: 'a_2.png', 'a_3.png'", None),
        ("truth", "1 of 5 masks is missing: 'a_5.png'", None),
        ("read", "all of 5 masks are missing: 'b_1.png', 'b_2.png', 'b_3.png', ...", None),
        ("read", "all of 5 frames are missing: 'd_1.png', 'd_2.png', 'd_3.png', ...", None),
        ("read", "all of 5 masks are missing: 'd_1.png', 'd_2.png', 'd_3.png', ...", None),
    ]
    assert listing.notes == (
        "s4: 4 clips: test 4",
        "s4: 2 clips without a single frame and mask left out",
        "s4: 1 clip without a sound file",
    )


BAD_ROWS = {
    "too few cells": ("a,test", "the row has 2 cells"),
    "no name": (",0,dog,test", "the name '' is no name"),
    "a path": ("../a,0,dog,test", "the name '../a' is no name"),
    "a path as split": ("a,0,dog,../..", "the name '../..' is no name"),
    "a path as category": ("a,0,/etc,test", "the name '/etc' is no name"),
    "twice": ("good,1,dog,test", "the clip 'test/dog/good' is there twice; the first, in line 2, is kept"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_costs_itself(s4: Tree, name: str) -> None:
    line, message = BAD_ROWS[name]
    s4.clip("good", "test", "dog").clip("also", "test", "dog").rows("good,0,dog,test", line, "also,0,dog,test")
    listing = list_instances(s4.home)
    assert [instance.clip for instance in listing.instances] == ["good", "also"]
    ((stage, error, line_number),) = problems_of(listing)
    assert (stage, line_number) == ("read", 3)
    assert message in error
    assert listing.errors[0][1].path == str(s4.home / "s4_meta_data.csv")


@pytest.mark.parametrize(
    "head", ["name,category,split\n", "Category,Split,video_id\n", "\ufeffname,start,kind,split\n"], ids=str.split
)
def test_headings_of_other_orders(s4: Tree, head: str) -> None:
    cells = {"name": "a", "video_id": "a", "category": "dog", "kind": "dog", "start": "0", "split": "test"}
    names = head.strip().strip("\ufeff").lower().split(",")
    s4.clip("a", "test", "dog").rows(",".join(cells[name] for name in names), head=head)
    assert [instance.id for instance in list_instances(s4.home).instances] == ["test/dog/a"]


@pytest.mark.parametrize(
    "content",
    [b"", b"name,category\na,dog\n", b"name,split\na,test\n", b"\xff\xfe", b'name,x,category,split\n"a'],
    ids=["empty", "no split", "no category", "no UTF-8", "open quote"],
)
def test_a_table_that_cannot_be_used(s4: Tree, content: bytes) -> None:
    path = s4.home / "s4_meta_data.csv"
    path.write_bytes(content)
    with pytest.raises(NothingToDo) as error:
        list_instances(s4.home)
    assert error.value.path == str(path)


def test_a_huge_table_is_not_read(ms3: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    ms3.clip("x", "val").rows(*(f"clip{number},val" for number in range(20)))
    monkeypatch.setattr(avsbench, "MAX_TABLE_BYTES", 100)
    with pytest.raises(NothingToDo, match="bytes or more"):
        list_instances(ms3.home)


def test_links_that_lead_out(ms3: Tree, tmp_path: Path) -> None:
    ms3.clip("x", "val").clip("y", "val").rows("x,val", "y,val")
    (ms3.data / "gt_masks/val/x").rename(tmp_path / "outside")
    (ms3.data / "gt_masks/val/x").symlink_to(tmp_path / "outside")
    listing = list_instances(ms3.home)
    assert [instance.clip for instance in listing.instances] == ["y"]
    assert "leaves the folder through a symbolic link" in listing.errors[0][1].error
    assert len(list_instances(ms3.home, ListOptions(root=tmp_path)).instances) == 2
    (ms3.data / "visual_frames").rename(tmp_path / "away")
    (ms3.data / "visual_frames").symlink_to(tmp_path / "away")
    with pytest.raises(UsageError, match="leads out of the input"):
        list_instances(ms3.home)


def test_a_file_that_is_a_link_out(ms3: Tree, tmp_path: Path) -> None:
    source, file = ms3.clip("x", "val").rows("x,val").home, ms3.home / "ms3_meta_data.csv"
    file.rename(tmp_path / "private")
    file.symlink_to(tmp_path / "private")
    with pytest.raises(UsageError, match="leads out of the input") as error:
        list_instances(source)
    assert error.value.path == str(file)


def test_which_inputs_are_its_own(s4: Tree) -> None:
    s4.clip("a", "test", "dog").rows("a,0,dog,test")
    plain = ListOptions()
    assert DATASET.recognises(s4.home, plain)
    assert DATASET.recognises(s4.home.parent, plain)
    assert not DATASET.recognises(s4.data, plain)
    assert not DATASET.recognises(s4.home / "s4_meta_data.csv", plain)
    assert not DATASET.recognises(s4.home, ListOptions(masks=Path("pred")))
    with pytest.raises(UsageError, match="--images does not fit"):
        DATASET.instances(s4.home, ListOptions(images=s4.home))


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.text(max_size=8) | st.sampled_from(["a", "dog", "test"]), max_size=5), max_size=4))
def test_any_table_is_survived(s4: Tree, rows: list[list[str]]) -> None:
    if not s4.data.is_dir():
        s4.clip("a", "test", "dog")
    content = S4 + "".join(",".join(row) + "\n" for row in rows)
    (s4.home / "s4_meta_data.csv").write_bytes(content.encode("utf-8", "replace"))
    try:
        listing = list_instances(s4.home)
    except AuscultError as error:
        str(error).encode()
        return
    assert {instance.id for instance in listing.instances} <= {"test/dog/a"}
    for _, record in listing.errors:
        assert record.path
        f"{record.error}{record.expected}{record.hint}".encode()
