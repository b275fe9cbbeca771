"""A video without sound under a recipe that needs one: it fails by itself, whole, and the error says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from perturb_inputs import film, run, tone

from small_inputs import rows

pytestmark = pytest.mark.extra_video


@pytest.mark.parametrize(
    ("room", "kinds", "needs", "hint"),
    [
        ("recipe", "fog+gain", "gain", "--kind vision.fog"),
        ("recipe", "gain+low_pass+fog+contrast", "gain and low_pass", "--kind vision.fog+vision.contrast"),
        ("recipe", "offset+fog", "offset", "--kind vision.fog"),
        ("timing", "dropped_frames+offset", "offset", "--kind timing.dropped_frames"),
        ("timing", "drift", "drift", "without drift"),
    ],
    ids=["fog+gain", "two of sound", "offset+fog", "dropped_frames+offset", "drift"],
)
def test_no_step_is_left_out_of_a_recipe_and_the_other_files_go_on(
    tmp_path: Path, room: str, kinds: str, needs: str, hint: str
) -> None:
    film(tmp_path / "in" / "mute.mkv", 8)
    film(tmp_path / "in" / "heard.mkv", 8, sound=tone(1, 6400))
    summary = run(tmp_path / "in", tmp_path / "out", room, kinds, severities="5")
    assert (summary.ok, summary.failed) == (1, 1)
    (row,) = rows(tmp_path / "out" / "errors.jsonl")
    assert row["path"].endswith("mute.mkv")
    assert f"the video has no sound, and {needs} needs one" in row["error"]
    assert f"without {needs}" in row["hint"]
    assert row["hint"].endswith(hint)
    assert not list((tmp_path / "out").glob("*/mute*"))
    assert [row_["part"] for row_ in rows(tmp_path / "out" / "outputs.jsonl")] == ["heard.mkv"]


def test_what_needs_no_sound_is_done_without_it(tmp_path: Path) -> None:
    source = film(tmp_path / "mute.mkv", 8)
    for number, (kinds, severity) in enumerate((("dropped_frames", "5"), ("offset", "0"), ("fog", "1"))):
        assert run(source, tmp_path / f"out{number}", "recipe", kinds, severities=severity).failed == 0
    few = film(tmp_path / "few.mkv", 1)
    assert run(few, tmp_path / "few", "timing", "dropped_frames").failed == 0  # there is none that could be dropped
