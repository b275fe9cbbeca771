"""A plan settles everything: it replays byte for byte from its JSON, and a damaged one is refused."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import cv2
import numpy as np
import pytest
from test_scene_splits import bound

from auscult.errors import InputError
from auscult.scenes.draw import RenderedScene, Stage, hear
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan, choose
from auscult.scenes.sound.spans import clear
from auscult.scenes.splits import GENERATED, SPLITS, divide
from auscult.types import Frame

SHELVES = divide(GENERATED)
SMALL = SceneOptions(size=(72, 128), rate_hz=8000)


def plan(index: int, options: SceneOptions = SMALL) -> ScenePlan:
    return choose(7, index, assets=GENERATED, shelves=SHELVES, options=options)


@pytest.fixture(scope="module")
def plans() -> list[ScenePlan]:
    return [plan(index) for index in range(80)]


def test_a_plan_is_drawn_and_played_again_from_its_json_in_any_order() -> None:
    for index in (4, 0):
        scene_plan = plan(index)
        reread = ScenePlan.from_json(json.loads(json.dumps(scene_plan.as_json())))
        assert reread == scene_plan == plan(index)
        first, second = Stage(scene_plan, GENERATED.looks), Stage(reread, GENERATED.looks)
        forwards = {time: first.at(time) for time in scene_plan.key_times_s}
        backwards = {time: second.at(time) for time in reversed(scene_plan.key_times_s)}
        for time, shot in forwards.items():
            assert _are_equal(shot, backwards[time])
        assert np.array_equal(hear(scene_plan, GENERATED.sounds).samples, hear(reread, GENERATED.sounds).samples)


def _are_equal(first: RenderedScene, second: RenderedScene) -> bool:
    masks = zip((*first.visible, *first.whole), (*second.visible, *second.whole), strict=True)
    return np.array_equal(first.frame, second.frame) and all(np.array_equal(a, b) for a, b in masks)


def test_threads_change_nothing() -> None:
    scene_plan = plan(1)
    threads = cv2.getNumThreads()
    try:
        cv2.setNumThreads(4)
        frame_of_many: Frame = Stage(scene_plan, GENERATED.looks).at(3.0).frame
        cv2.setNumThreads(1)
        single = Stage(scene_plan, GENERATED.looks).at(3.0).frame
    finally:
        cv2.setNumThreads(threads)
    assert np.array_equal(frame_of_many, single)


def test_masks_are_exact_about_who_is_in_front() -> None:
    for index in range(4):
        scene_plan = plan(index)
        stage = Stage(scene_plan, GENERATED.looks)
        for time in (0.0, 4.5, 9.0):
            shot = stage.at(time)
            assert shot.frame.shape == (*scene_plan.size, 3)
            assert np.sum(shot.visible, axis=0).max() <= 1, "no pixel has two"
            for near, rank in enumerate(scene_plan.layout.depth):
                assert not (shot.visible[near] & ~shot.whole[near]).any()
                for far, other in enumerate(scene_plan.layout.depth):
                    if other > rank:
                        assert not (shot.visible[far] & shot.whole[near]).any(), "the nearer one covers"
            union = np.logical_or.reduce(shot.whole)
            assert np.array_equal(np.logical_or.reduce(shot.visible), union)


def test_scenes_are_as_varied_as_they_should_be(plans: list[ScenePlan]) -> None:
    assert {len(plan_.objects) for plan_ in plans} == {2, 3, 4, 5, 6}
    shares = Counter(plan_.split for plan_ in plans)
    assert shares.keys() == set(SPLITS)
    assert 0.45 < shares["train"] / len(plans) < 0.75
    n_alike = sum(
        len({(thing.look.category, thing.look.colour) for thing in plan_.objects}) < len(plan_.objects)
        for plan_ in plans
    )
    assert n_alike / len(plans) > 0.4
    sounding = [sum(thing.track is not None for thing in plan_.objects) for plan_ in plans]
    silent = [len(plan_.objects) - count for plan_, count in zip(plans, sounding, strict=True)]
    assert sum(count >= 2 for count in sounding) > 32
    assert sum(count >= 1 for count in silent) > 32
    assert sum(bool(plan_.elsewhere) for plan_ in plans) > 16
    n_overlapping = sum(_overlap(plan_) for plan_ in plans)
    assert n_overlapping > 20


def _overlap(scene_plan: ScenePlan) -> bool:
    spans = [(span, number) for number, track in enumerate(scene_plan.tracks) for span in track.spans]
    return any(a[0] < b[1] and b[0] < a[1] and i != j for a, i in spans for b, j in spans)


def test_voices_do_not_follow_categories_and_can_be_told_apart_in_time(plans: list[ScenePlan]) -> None:
    labels: dict[str, list[str]] = defaultdict(list)
    for scene_plan in plans:
        for thing in scene_plan.objects:
            if thing.track is not None:
                labels[thing.look.category].append(thing.track.source.label)
        for first in scene_plan.tracks:
            for second in scene_plan.tracks:
                assert first is second or clear(first.spans, second.spans)
        inside = {thing.track.source.label for thing in scene_plan.objects if thing.track is not None}
        assert not inside & {track.source.label for track in scene_plan.elsewhere}
    frequent = [names for names in labels.values() if len(names) >= 4]
    assert len(frequent) >= 5
    assert all(len(set(names)) >= 3 for names in frequent)


def test_level_falls_with_distance_and_place_is_heard(plans: list[ScenePlan]) -> None:
    n_moved = 0
    for scene_plan in plans:
        for thing, path in zip(scene_plan.objects, scene_plan.layout.paths, strict=True):
            if thing.track is None:
                continue
            track = thing.track
            assert max(track.gain_db) <= 0
            if path.motion in {"nearer", "away"}:
                steps = np.diff(track.gain_db) * (1 if path.motion == "nearer" else -1)
                assert (steps >= -0.02).all()
                n_moved += 1
            for time, pan in zip(track.times_s, track.pan, strict=True):
                assert pan == pytest.approx(np.clip(2 * path.pose(time).x - 1, -1, 1), abs=1e-3)
    assert n_moved > 5


def test_a_folders_things_sound_as_themselves_or_not_at_all() -> None:
    assets = bound({"dog": 4, "cup": 4, "bell": 4, "car": 4}, {"dog": 4, "bell": 4, "rain": 4, "car": 1})
    shelves = divide(assets)
    sounding, n_elsewhere = 0, 0
    for index in range(60):
        scene_plan = choose(1, index, assets=assets, shelves=shelves, options=SMALL)
        for thing in scene_plan.objects:
            if thing.track is not None:
                assert thing.track.source.label == thing.look.category != "cup"
                sounding += 1
        categories = {thing.look.category for thing in scene_plan.objects}
        assert not categories & {track.source.label for track in scene_plan.elsewhere}
        n_elsewhere += len(scene_plan.elsewhere)
    assert sounding > 30
    assert n_elsewhere > 8


def test_short_clips_have_as_many_voices_as_fit() -> None:
    options = SceneOptions(size=(72, 128), seconds=3.0, rate_hz=8000, objects=(6, 6))
    for index in range(10):
        scene_plan = choose(7, index, assets=GENERATED, shelves=SHELVES, options=options)
        assert len(scene_plan.key_times_s) == 3
        assert len(scene_plan.tracks) <= 2
        assert hear(scene_plan, GENERATED.sounds).samples.shape == (2, 24_000)


NAN = float("nan")
GOOD = next(
    row for row in (plan(index).as_json() for index in range(50)) if row["objects"][0]["track"] and row["elsewhere"]
)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("vid",), "../up"),
        (("vid",), "a_b"),
        (("vid",), ""),
        (("split",), "val"),
        (("size",), [480]),
        (("size",), [480, 1e9]),
        (("size",), [0, 854]),
        (("size",), [480, 854.0]),
        (("seconds",), 1e9),
        (("seconds",), NAN),
        (("rate_hz",), 16_000.5),
        (("rate_hz",), 10**9),
        (("background",), None),
        (("light",), {}),
        (("light", "shade"), 7),
        (("objects",), []),
        (("objects",), [{}] * 65),
        (("objects", 0, "id"), "2"),
        (("objects", 0, "look"), "ball"),
        (("objects", 0, "look", "aspect"), -1),
        (("objects", 0, "look", "category"), ["ball"]),
        (("objects", 0, "look", "params"), None),
        (("objects", 0, "track", "spans"), []),
        (("objects", 0, "track", "spans"), [[2.0, 1.0]]),
        (("objects", 0, "track", "spans"), [[1.0, 3.0], [2.0, 4.0]]),
        (("objects", 0, "track", "spans"), [[1.0, 300.0]]),
        (("objects", 0, "track", "spans"), [[-1.0, 1.0]]),
        (("objects", 0, "track", "spans"), [[NAN, 1.0]]),
        (("objects", 0, "track", "spans"), [[0.0, NAN]]),
        (("objects", 0, "track", "gain_db"), [6.0]),
        (("objects", 0, "track", "gain_db"), []),
        (("objects", 0, "track", "times_s"), [0.0] * 500),
        (("objects", 0, "track", "source", "noun"), ""),
        (("layout", "depth"), [0]),
        (("layout", "paths", 0, "start"), {"x": 0.5, "y": 0.5, "height": 0.3, "turn_deg": float("inf")}),
        (("layout", "paths"), []),
        (("elsewhere", 0, "pan"), [3.0]),
        (("elsewhere", 0, "pan"), [NAN]),
        (("elsewhere", 0, "gain_db"), [NAN]),
        (("elsewhere", 0, "gain_db"), [float("-inf")]),
        (("elsewhere", 0, "gain_db"), [-1.0, -2.0]),
        (("elsewhere", 0, "times_s"), []),
        (("elsewhere", 0, "times_s"), [NAN]),
        (("elsewhere", 0, "times_s"), [float("inf")]),
        (("elsewhere",), None),
    ],
)
def test_a_plan_from_strangers_is_read_strictly(keys: tuple[Any, ...], value: Any) -> None:
    row: Any = json.loads(json.dumps(GOOD))
    place = row
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(InputError):
        ScenePlan.from_json(row)
