"""Facts are read off masks: hand-drawn ones, whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_scene_splits import bound

from auscult.errors import InputError
from auscult.language.forms import Facts
from auscult.record.codec import to_json
from auscult.rng import generator
from auscult.scenes.appearance.colours import choose_light
from auscult.scenes.appearance.drawing import Look
from auscult.scenes.draw import RenderedScene, Stage
from auscult.scenes.facts import facts_from_json, facts_of, targets_of
from auscult.scenes.geometry import Motion, Path, Pose, SceneLayout
from auscult.scenes.plan import ObjectPlan, ScenePlan
from auscult.scenes.sound.mix import SoundSource, SoundTrack

SIZE = (100, 200)
ASSETS = bound({"cup": 2}, {})


def motion_path(
    motion: Motion, start: tuple[float, float], end: tuple[float, float], *, heights: tuple[float, float]
) -> Path:
    return Path(
        motion=motion,
        start=Pose(*start, heights[0]),
        end=Pose(*end, heights[1]),
        duration_s=10.0,
        full_height=max(heights),
    )


def still(x: float, y: float, height: float = 0.2) -> Path:
    return motion_path("still", (x, y), (x, y), heights=(height, height))


def scene(*paths: Path, voice: int | None = None) -> ScenePlan:
    """Squares of plain paint; the first is in front. ``voice`` is the number of the one that sounds."""
    track = SoundTrack(
        source=SoundSource(label="hum", instance="hum/0", noun="hum", verb="hums"),
        spans=((1.0, 2.0),),
        gain_db=(-6.0,),
        pan=(0.0,),
        times_s=(0.0,),
    )
    look = Look(category="cup", instance="cup/0", aspect=1.0, colour="red", texture="plain")
    return ScenePlan(
        vid="v",
        split="train",
        size=SIZE,
        seconds=10.0,
        rate_hz=8000,
        background="wall-0",
        light=choose_light(generator(0, "light")),
        objects=tuple(
            ObjectPlan(id=str(n + 1), look=look, track=track if n == voice else None) for n in range(len(paths))
        ),
        layout=SceneLayout(paths=paths, depth=tuple(range(len(paths)))),
    )


def facts(plan: ScenePlan, **options: Any) -> Facts:
    return facts_of(plan, shots(plan), **options)


def shots(plan: ScenePlan) -> tuple[RenderedScene, ...]:
    return Stage(plan, ASSETS.looks).key_shots()


def test_place_size_and_what_hides_it_are_those_of_the_pixels() -> None:
    # a square of 20 x 20 px in front of the right half of another
    scene_facts = facts(scene(still(0.55, 0.5), still(0.50, 0.5)))
    front, behind = scene_facts.things
    assert front.x == pytest.approx((0.55, 0.55), abs=0.006)
    assert front.area == pytest.approx((0.02, 0.02), rel=0.15)
    assert behind.x[0] == pytest.approx(0.475, abs=0.01), "the centre of what is seen"
    assert behind.hidden == pytest.approx(0.5, abs=0.05)
    assert behind.covered_by == ("1",)
    assert (front.covered_by, front.hidden) == ((), 0.0)
    assert (front.depth, behind.depth) == (0, 1)
    assert [thing.motion for thing in scene_facts.things] == ["still", "still"]
    assert scene_facts.duration_s == 10.0
    assert not scene_facts.silent


def test_a_thing_that_is_never_seen_is_no_thing_and_its_sound_comes_from_elsewhere() -> None:
    plan = scene(still(0.5, 0.5, 0.4), still(0.5, 0.5, 0.2), still(1.9, 0.5), voice=1)
    scene_facts = facts(plan, gain_db=-1.0)
    assert [thing.id for thing in scene_facts.things] == ["1"]
    (voice,) = scene_facts.elsewhere
    assert (voice.noun, voice.verb, voice.spans) == ("hum", "hums", ((1.0, 2.0),))
    louder = facts(plan).elsewhere[0].level_db
    assert voice.level_db == pytest.approx(louder - 1.0, abs=0.01)
    assert targets_of(plan, shots(plan)) == {"1"}


def test_who_is_seen_too_briefly_is_there_and_no_target() -> None:
    leaving = motion_path("left", (0.12, 0.5), (-2.0, 0.5), heights=(0.2, 0.2))
    plan = scene(leaving, still(0.5, 0.5))
    scene_facts = facts(plan)
    assert [thing.id for thing in scene_facts.things] == ["1", "2"]
    assert targets_of(plan, shots(plan)) == {"2"}
    assert scene_facts.things[0].motion is None, "a frame or two show no motion"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (motion_path("left", (0.8, 0.5), (0.3, 0.5), heights=(0.2, 0.2)), "left"),
        (motion_path("right", (0.3, 0.5), (0.8, 0.5), heights=(0.2, 0.2)), "right"),
        (motion_path("right", (0.5, 0.5), (0.55, 0.5), heights=(0.2, 0.2)), None),
        (motion_path("up", (0.5, 0.8), (0.5, 0.3), heights=(0.2, 0.2)), "up"),
        (motion_path("down", (0.5, 0.3), (0.5, 0.8), heights=(0.2, 0.2)), "down"),
        (motion_path("nearer", (0.5, 0.5), (0.5, 0.5), heights=(0.2, 0.6)), "nearer"),
        (motion_path("away", (0.5, 0.5), (0.5, 0.5), heights=(0.6, 0.2)), "away"),
        (motion_path("away", (0.5, 0.5), (0.5, 0.5), heights=(0.22, 0.2)), None),
        (replace(motion_path("to_and_fro", (0.3, 0.5), (0.7, 0.5), heights=(0.2, 0.2)), swings=1.5), "to_and_fro"),
        (replace(motion_path("to_and_fro", (0.5, 0.5), (0.52, 0.5), heights=(0.2, 0.2)), swings=1.5), None),
    ],
)
def test_motion_is_said_where_the_masks_show_it(path: Path, expected: str | None) -> None:
    assert facts(scene(path)).things[0].motion == expected


def test_depth_is_not_said_where_distances_cross() -> None:
    nearer = motion_path("nearer", (0.2, 0.5), (0.2, 0.5), heights=(0.1, 0.4))
    far = replace(still(0.8, 0.5), full_height=0.4)
    scene_facts = facts(scene(nearer, far))
    assert [thing.depth for thing in scene_facts.things] == [None, None]


def test_facts_survive_json() -> None:
    scene_facts = facts(scene(still(0.55, 0.5), still(0.5, 0.5), voice=0))
    assert facts_from_json(json.loads(json.dumps(to_json(scene_facts)))) == scene_facts


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("things",), None),
        (("duration_s",), -1),
        (("elsewhere",), [3]),
        (("things", 0, "id"), ""),
        (("things", 0, "x"), [0.5]),
        (("things", 0, "x"), [0.6, 0.5]),
        (("things", 0, "motion"), "fast"),
        (("things", 0, "depth"), 0.5),
        (("things", 0, "covered_by"), [1]),
        (("things", 0, "hidden"), 2),
        (("things", 0, "voice", "spans"), [[5, 4]]),
        (("things", 0, "voice", "spans"), []),
        (("elsewhere",), [{"noun": "hum", "verb": "hums", "spans": [], "level_db": -3.0}]),
        (("things", 1, "id"), "1"),
        (("things", 0, "voice", "countable"), "no"),
        (("silent",), 1),
        (("unlisted",), None),
        (("things", 0, "voice", "level_db"), "loud"),
    ],
)
def test_facts_from_strangers_are_read_strictly(keys: tuple[Any, ...], value: Any) -> None:
    row: Any = json.loads(json.dumps(to_json(facts(scene(still(0.3, 0.5), still(0.7, 0.5), voice=0)))))
    assert facts_from_json(json.loads(json.dumps(row))).things[1].id == "2"
    place = row
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(InputError):
        facts_from_json(row)


def test_counting_pixels_agrees_with_numpy() -> None:
    plan = scene(still(0.31, 0.42), motion_path("right", (0.1, 0.5), (0.9, 0.5), heights=(0.3, 0.3)))
    rendered_shots = shots(plan)
    for number, thing in enumerate(facts_of(plan, rendered_shots).things):
        centres, areas = [], []
        for shot in rendered_shots:
            rows, columns = np.nonzero(shot.visible[number])
            areas.append(len(rows) / (SIZE[0] * SIZE[1]))
            centres.append(((columns.mean() + 0.5) / SIZE[1], (rows.mean() + 0.5) / SIZE[0]))
        x, y = np.array(centres).T
        assert thing.x == pytest.approx((x.min(), x.max()), abs=1e-4)
        assert thing.y == pytest.approx((y.min(), y.max()), abs=1e-4)
        assert thing.area == pytest.approx((min(areas), max(areas)), abs=1e-6)
