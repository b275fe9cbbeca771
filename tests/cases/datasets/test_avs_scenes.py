"""Scenes for audio-visual segmentation: the union of what sounds, frame by frame, and what cannot be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import NothingToDo
from auscult.media.masks import read_mask
from auscult.media.sound import read_sound
from auscult.scenes.dataset import files_of, sounding_instances
from auscult.scenes.draw import Stage, hear
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan, choose
from auscult.scenes.splits import GENERATED, divide

OPTIONS = SceneOptions(size=(60, 108), rate_hz=8000, objects=(3, 3), seconds=5.0)
SHELVES = divide(GENERATED, wanted=["test_s"])
PLANS = tuple(choose(5, index, assets=GENERATED, shelves=SHELVES, options=OPTIONS) for index in (0, 1))
SHOTS = {plan.vid: Stage(plan, GENERATED.looks).key_shots() for plan in PLANS}


@pytest.fixture(scope="module")
def shared_scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    for plan in PLANS:
        files = files_of(plan, SHOTS[plan.vid], hear(plan, GENERATED.sounds).samples, nulls=False)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    (folder / "scenes.jsonl").write_text(lines(*PLANS))
    return folder


@pytest.fixture
def scenes(shared_scenes: Path, tmp_path: Path) -> Path:
    """A folder that a test may spoil."""
    return Path(shutil.copytree(shared_scenes, tmp_path / "scenes"))


def lines(*plans: ScenePlan) -> str:
    return "".join(json.dumps({"id": plan.vid, "plan": plan.as_json()}) + "\n" for plan in plans)


def test_targets_are_everything_that_sounds_at_the_time(shared_scenes: Path) -> None:
    listing = sounding_instances(shared_scenes)
    assert not listing.errors
    assert [instance_.id for instance_ in listing.instances] == [plan.vid for plan in PLANS]
    n_seen = 0
    for instance, plan in zip(listing.instances, PLANS, strict=True):
        assert instance.query.text is None
        assert instance.clip == plan.vid
        assert instance.sound is not None
        assert read_sound(instance.sound).samples.shape == (2, 40_000)
        assert [moment.time_s for moment in instance.moments] == [0.0, 1.0, 2.0, 3.0, 4.0]
        for number, moment in enumerate(instance.moments):
            true = np.zeros(plan.size, bool)
            for thing, visible in zip(plan.objects, SHOTS[plan.vid][number].visible, strict=True):
                spans = thing.track.spans if thing.track is not None else ()
                if any(start <= number < end for start, end in spans):
                    true |= visible
            assert moment.target is not None
            assert np.array_equal(read_mask(moment.target, size=plan.size).mask, true)
            n_seen += int(true.any())
    assert 0 < n_seen < 10  # some frames show what sounds, some are silent


def test_a_clip_where_nothing_seen_sounds_is_absent(scenes: Path) -> None:
    row = PLANS[0].as_json()
    for thing in row["objects"]:
        thing["track"] = None
    (scenes / "scenes.jsonl").write_text(json.dumps({"plan": row}) + "\n")
    listing = sounding_instances(scenes)
    assert [instance.absent for instance in listing.instances] == [True]
    assert any("nothing that is seen sounds" in note for note in listing.notes)


def test_one_bad_scene_never_costs_another(scenes: Path) -> None:
    with (scenes / "scenes.jsonl").open("a") as file:
        file.write('not json\n{"plan": 3}\n{"id": "x"}\n[]\n\n' + lines(PLANS[0]))
    listing = sounding_instances(scenes)
    assert [instance.id for instance in listing.instances] == [plan.vid for plan in PLANS]
    assert [error.line for _, error in listing.errors] == [3, 4, 5, 6, 8]
    assert all(error.path == str(scenes / "scenes.jsonl") for _, error in listing.errors)


@pytest.mark.parametrize("lost_name", ["audio.wav", "frames"])
def test_a_clip_without_frames_or_sound_is_told(scenes: Path, lost_name: str) -> None:
    path = scenes / "media" / PLANS[0].vid / lost_name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    listing = sounding_instances(scenes)
    assert [instance.id for instance in listing.instances] == [PLANS[1].vid]
    assert [name for name, _ in listing.errors] == [PLANS[0].vid]


def test_a_missing_mask_of_what_sounds_is_told(scenes: Path) -> None:
    shutil.rmtree(scenes / "gt_mask" / PLANS[0].vid)
    listing = sounding_instances(scenes)
    assert [instance.id for instance in listing.instances] == [PLANS[1].vid]
    assert "no true mask" in listing.errors[0][1].error


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_broken_mask_costs_its_frame(scenes: Path, is_removed: bool) -> None:
    before = sounding_instances(scenes).instances
    lost_moments = []
    for plan in PLANS:
        moment, path = next(
            (number, scenes / f"gt_mask/{plan.vid}/fid_{thing.id}/{number:05d}.png")
            for number in range(5)
            for thing in plan.objects
            if thing.track is not None and any(start <= number < end for start, end in thing.track.spans)
        )
        path.unlink() if is_removed else path.write_bytes(b"no picture")
        lost_moments.append(moment)
    listing = sounding_instances(scenes)
    assert [instance.id for instance in listing.instances] == [plan.vid for plan in PLANS]
    for instance, old, moment_index in zip(listing.instances, before, lost_moments, strict=True):
        assert instance.moments[moment_index].target is None
        assert (
            instance.moments[:moment_index] + instance.moments[moment_index + 1 :]
            == old.moments[:moment_index] + old.moments[moment_index + 1 :]
        )
        assert not instance.absent
    assert [error.stage for _, error in listing.errors] == ["truth", "truth"]


def test_a_plan_that_leads_out_of_the_folder_is_refused(scenes: Path) -> None:
    row = PLANS[0].as_json() | {"vid": "../../etc"}
    (scenes / "scenes.jsonl").write_text(json.dumps({"plan": row}) + "\n")
    listing = sounding_instances(scenes)
    assert not listing.instances
    assert len(listing.errors) == 1


def test_a_folder_without_scenes_is_nothing_to_do(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo):
        sounding_instances(tmp_path)
    (tmp_path / "scenes.jsonl").write_text("\n\n")
    with pytest.raises(NothingToDo):
        sounding_instances(tmp_path)
