"""A photograph as background may show anything: what it is known to show is kept out, and what is said still holds."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from auscult.errors import InputError
from auscult.media.frames import write_frame
from auscult.record.codec import to_json
from auscult.scenes.draw import Stage
from auscult.scenes.facts import facts_from_json, facts_of
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan, choose
from auscult.scenes.splits import GENERATED, divide, open_bundle

OPTIONS = SceneOptions(size=(96, 160), seconds=4.0, objects=(2, 2))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, category in enumerate(("cup", "cup", "drum", "kite")):
        rgba = np.zeros((60, 60, 4), np.uint8)
        rgba[10:50, 10:50] = (200, 30 * number, 20, 255)
        path = tmp_path / "cutouts" / category / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rgba).save(path)
    rng = np.random.default_rng(3)
    for name in ("a", "b", "c"):
        write_frame(tmp_path / "backgrounds" / f"{name}.jpg", rng.integers(0, 255, (96, 160, 3), np.uint8))
    return tmp_path


def write_held(folder: Path, *rows: tuple[str, str]) -> None:
    with (folder / "backgrounds" / "names.csv").open("w", newline="") as lines:
        csv.writer(lines).writerows([("file", "name"), *rows])


def plans(folder: Path, count: int = 12) -> list[ScenePlan]:
    assets, errors = open_bundle(folder)
    assert not errors
    shelves = divide(assets, wanted=("train",))
    return [choose(1, index, assets=assets, shelves=shelves, options=OPTIONS) for index in range(count)]


def test_no_scene_asks_for_what_its_background_shows(folder: Path) -> None:
    write_held(folder, ("a.jpg", "Cup"), ("a.jpg", "sky"), ("b.jpg", "kite"))
    shows = {"a.jpg": {"cup", "sky"}, "b.jpg": {"kite"}, "c.jpg": set()}
    plans_found = plans(folder)
    assert len({plan.background for plan in plans_found}) > 1
    for plan in plans_found:
        assert not shows[plan.background] & {thing.look.category for thing in plan.objects}


def test_where_every_background_shows_it_the_scene_says_so(folder: Path) -> None:
    write_held(folder, *((f"{name}.jpg", category) for name in "abc" for category in ("cup", "drum", "kite")))
    with pytest.raises(InputError, match=r"every background .* is known to show"):
        plans(folder)


def test_facts_say_that_there_is_more_in_a_photograph_and_read_back(folder: Path) -> None:
    assets, _ = open_bundle(folder)
    plan = ScenePlan.from_json(json.loads(json.dumps(plans(folder, 1)[0].as_json())))
    facts = facts_of(plan, Stage(plan, assets.looks).key_shots())
    assert facts.unlisted
    assert facts_from_json(json.loads(json.dumps(to_json(facts)))).unlisted
    generated_scene = choose(1, 0, assets=GENERATED, shelves=divide(GENERATED, wanted=("train",)), options=OPTIONS)
    assert not generated_scene.unlisted
