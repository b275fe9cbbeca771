"""Ways through a clip: true to their word, in the picture, now and then one behind another, and safe to read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.record import codec
from auscult.rng import generator
from auscult.scenes.geometry import MOTIONS, Path, Pose, SceneLayout, choose

ASPECTS = st.lists(st.floats(0.2, 5.0), min_size=1, max_size=8)
TIMES = [second / 2 for second in range(21)]


def layout(seed: int, aspects: list[float], duration_s: float = 10.0) -> SceneLayout:
    return choose(generator(seed, "test"), aspects, duration_s=duration_s)


@given(seed=st.integers(0, 10**6), aspects=ASPECTS)
@settings(max_examples=20, deadline=None)
def test_a_layout_survives_json_and_depends_on_its_draw_alone(seed: int, aspects: list[float]) -> None:
    scene_layout = layout(seed, aspects)
    assert scene_layout == layout(seed, aspects)
    reread = codec.from_json(SceneLayout, json.loads(json.dumps(codec.to_json(scene_layout))))
    assert reread == scene_layout
    for read_path, path in zip(reread.paths, scene_layout.paths, strict=True):
        assert [read_path.pose(time) for time in TIMES] == [path.pose(time) for time in TIMES]
    assert sorted(scene_layout.depth) == list(range(len(aspects)))
    assert [scene_layout.depth[thing] for thing in scene_layout.far_to_near] == sorted(scene_layout.depth, reverse=True)


@given(seed=st.integers(0, 10**6), aspects=ASPECTS)
@settings(max_examples=20, deadline=None)
def test_every_way_is_what_its_word_says(seed: int, aspects: list[float]) -> None:
    for path in layout(seed, aspects).paths:
        poses = [path.pose(time) for time in TIMES]
        x, y, height = (np.array([getattr(pose, name) for pose in poses]) for name in ("x", "y", "height"))
        steps = {"left": -np.diff(x), "right": np.diff(x), "up": -np.diff(y), "down": np.diff(y)}
        if path.motion in steps:
            assert (steps[path.motion] > 0).all()
        elif path.motion == "still":
            assert len(set(poses)) == 1
        elif path.motion == "to_and_fro":
            assert np.ptp(x) > 0.1
            assert (np.diff(np.sign(np.diff(x))) != 0).any(), "it turns back"
        else:
            grown = np.diff(height) * (1 if path.motion == "nearer" else -1)
            assert (grown >= 0).all()
        if path.motion not in {"left", "right", "to_and_fro"}:
            assert np.ptp(x) == 0
        distances = [path.distance(time) for time in TIMES]
        assert distances == pytest.approx(path.full_height / height)


def test_things_stay_in_the_picture_long_enough_and_all_motions_occur() -> None:
    motions_seen: set[str] = set()
    for seed in range(40):
        for path in layout(seed, [1.0, 0.6, 2.0, 1.3]).paths:
            motions_seen.add(path.motion)
            poses = [path.pose(time) for time in TIMES]
            inside = sum(0 < pose.x < 1 and 0 < pose.y < 1 for pose in poses)
            assert inside >= len(TIMES) // 2
    assert motions_seen == set(MOTIONS)


def test_many_scenes_have_one_thing_half_behind_another_and_few_have_one_that_is_gone() -> None:
    hidden = [_most_hidden(layout(seed, [1.0, 0.8, 1.4])) for seed in range(60)]
    assert np.mean(np.array(hidden) > 0.2) > 0.5
    assert np.mean(np.array(hidden) > 0.95) < 0.15


def _most_hidden(scene_layout: SceneLayout) -> float:
    """The largest share of a box that a nearer box hides; for aspects near 1 on a wide picture."""
    most = 0.0
    for time in TIMES:
        boxes = []
        for path, aspect in zip(scene_layout.paths, (1.0, 0.8, 1.4), strict=True):
            pose = path.pose(time)
            wide = pose.height * aspect * 9 / 16
            boxes.append((pose.x - wide / 2, pose.y - pose.height / 2, pose.x + wide / 2, pose.y + pose.height / 2))
        for far in range(3):
            for near in range(3):
                if scene_layout.depth[near] < scene_layout.depth[far]:
                    a, b = boxes[far], boxes[near]
                    shared = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
                    most = max(most, shared / ((a[2] - a[0]) * (a[3] - a[1])))
    return most


def test_speed_is_the_change_of_place() -> None:
    path = Path(motion="right", start=Pose(0.1, 0.2, 0.3), end=Pose(0.6, 0.7, 0.3), duration_s=10.0, full_height=0.3)
    assert path.speed(5.0) == pytest.approx((0.05, 0.05))
    assert path.pose(-1.0) == path.start
    assert path.pose(11.0) == path.end


GOOD = codec.to_json(layout(3, [1.0, 2.0]))


def broken(*keys: Any, value: Any) -> dict[str, Any]:
    row: Any = json.loads(json.dumps(GOOD))
    place = row
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return dict(row)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (broken("depth", value=[0, 0]), "depth"),
        (broken("depth", value=[0, True]), "depth"),
        (broken("depth", value="01"), "depth"),
        (broken("depth", value=[0]), "depth"),
        (broken("paths", value={}), "paths"),
        (broken("paths", value=[1, 2]), "paths"),
        (broken("paths", 0, "motion", value="sideways"), "motion"),
        (broken("paths", 0, "motion", value=None), "motion"),
        (broken("paths", 0, "start", value=[0.1]), "start"),
        (broken("paths", 0, "start", "x", value="left"), "x"),
        (broken("paths", 0, "start", "x", value=99.0), "x"),
        (broken("paths", 0, "start", "height", value=0), "height"),
        (broken("paths", 0, "start", "height", value=True), "height"),
        (broken("paths", 0, "duration_s", value=0), "duration_s"),
        (broken("paths", 0, "duration_s", value=float("nan")), "duration_s"),
        (broken("paths", 1, "swings", value=-1), "swings"),
    ],
)
def test_a_layout_from_strangers_is_read_strictly(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        codec.from_json(SceneLayout, row, error=InputError)
