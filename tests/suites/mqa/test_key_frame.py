"""The key frame: most objects, then the larger target, then the earlier frame; never one without the target."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.cases.instances import list_instances
from auscult.errors import UsageError
from auscult.models.classical.regions import MODEL
from auscult.models.named_objects import ObjectCounter
from auscult.suites.mqa.build import build_benchmark
from auscult.suites.mqa.building import Finder, key_frame, make_finder
from auscult.suites.mqa.options import BuildOptions
from auscult.types import Frame, Instance
from small_ref_avs import Clip, draw, write_root

frames = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=12)


@given(frames)
def test_no_frame_is_better_than_the_one_chosen(given_frames: list[tuple[int, int]]) -> None:
    objects, areas = [object_ for object_, _ in given_frames], [area for _, area in given_frames]
    key = key_frame(objects, areas)
    showing = [index for index, area in enumerate(areas) if area]
    if not showing:
        assert key is None
        return
    assert key in showing
    assert (objects[key], areas[key]) == max((objects[index], areas[index]) for index in showing)
    assert all((objects[i], areas[i]) < (objects[key], areas[key]) for i in showing if i < key)


@pytest.mark.parametrize(("objects", "areas"), [([1], [1, 2]), ([-1], [1]), ([1], [-1])])
def test_numbers_that_make_no_sense_are_refused(objects: list[int], areas: list[int]) -> None:
    with pytest.raises(UsageError):
        key_frame(objects, areas)


def instances(root: Path, clip: Clip) -> tuple[Instance, ...]:
    return list_instances(write_root(root, [clip])).instances


def test_objects_are_counted_where_they_have_a_pixel(tmp_path: Path) -> None:
    clip = Clip("v", "test_s", leaves_after=6)
    first, second, _ = instances(tmp_path, clip)
    found_key = Finder()(first)
    assert found_key.objects == (3,) * 6 + (2,) * 4
    assert found_key.areas == tuple(int(draw(clip, frame)[0].sum()) for frame in range(10))
    assert found_key.frame == int(np.argmax(found_key.areas))
    beside = Finder()(second)
    assert beside.frame is not None
    assert beside.frame < 6  # where three objects are to be seen
    assert beside.areas[beside.frame] == max(beside.areas[:6])


def brightest_last(frame: Frame) -> int:
    """A detector that sees one more object in every later frame: the disc's place tells the time."""
    red = (frame[..., 0] > 170) & (frame[..., 1] < 100)
    return int(np.nonzero(red)[1].mean()) if red.any() else 0


def test_a_detector_decides_instead_of_the_annotation(tmp_path: Path) -> None:
    first, *_ = instances(tmp_path, Clip("v", "test_s"))
    assert make_finder(brightest_last)(first).frame == 9
    out = tmp_path / "out"
    options = BuildOptions(source=tmp_path, out=out, workers=0, key_frame=brightest_last, protocols=("image",))
    build_benchmark(options)
    lines = (out / "items.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["mqa"]["frame"] for line in lines} == {9}
    assert "brightest_last" in (out / "manifest.json").read_text(encoding="utf-8")


def test_a_proposer_counts_its_regions(tmp_path: Path) -> None:
    first, *_ = instances(tmp_path, Clip("v", "test_s"))
    found_key = Finder(detector=ObjectCounter(MODEL))(first)
    assert found_key.frame is not None
    assert max(found_key.objects) >= 1
    assert found_key.objects[found_key.frame] == max(found_key.objects)
