"""What is made of loose pictures is no video, and what is made of a video's frames still is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.cases.listing import list_items
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.options import StressOptions
from auscult.jobs.stress import stress_masks
from small_inputs import folder_input


@pytest.mark.parametrize("video", [False, True])
def test_only_frames_of_a_video_keep_their_clip(tmp_path: Path, video: bool) -> None:
    source = folder_input(tmp_path / "in", ("walk/a", "walk/b") if video else ("a", "b"))
    stress_masks(StressOptions(source=source, out=tmp_path / "out", seed=0, workers=0))
    listing = list_items(tmp_path / "out")
    assert listing.items
    assert bool(filmed(listing)) is video
