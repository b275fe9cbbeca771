"""What can be in a place and together, and recipes that are drawn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import pytest

from auscult import registry
from auscult.errors import NothingToDo, UnknownName, UsageError
from auscult.stress.presets import Preset, allowed, compatible, places, why_not
from auscult.stress.recipe import PAPER, ROOMS, SCHEDULES, drawn, preset
from auscult.suites.r2.conditions import FIRST_MASKS

NAMES = [entry.name for entry in registry.entries("stressor") if entry.name.split(".")[0] in ROOMS]
DATA = json.loads(files("auscult.stress").joinpath("data/occurrence.json").read_text(encoding="utf-8"))
ITEMS = [f"v{number}" for number in range(600)]


@pytest.fixture(autouse=True, scope="module")
def one_look() -> Iterator[None]:
    """Look into the registry once: it reads the metadata of every package each time."""
    entries_of = {"stressor": registry.entries("stressor")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "entries", entries_of.__getitem__)
        yield


class TestRules:
    def test_every_built_in_has_its_rules_and_no_rule_is_of_nothing(self) -> None:
        own_names = {name.rpartition(".v")[0].removesuffix("_r2bench") for name in (*NAMES, *FIRST_MASKS)}
        assert set(DATA["never"]) == own_names
        assert {name for first, second, _ in DATA["apart"] for name in (first, second)} <= own_names

    def test_every_place_and_reason_is_told(self) -> None:
        known_places = set(places())
        assert {wider for widers in DATA["places"].values() for wider in widers} <= known_places
        for reasons in DATA["never"].values():
            assert set(reasons) <= known_places
            assert all(reasons.values())
        assert all(reason for _, _, reason in DATA["apart"])

    @pytest.mark.parametrize("name", NAMES)
    def test_the_rules_say_what_the_perturbation_says_of_itself(self, name: str) -> None:
        occurs = registry.load("stressor", name).meta.occurs
        for side, other in (("indoors", "outdoors"), ("outdoors", "indoors")):
            if occurs == (side,):
                assert not allowed(name, other)
                assert allowed(name, side)

    @pytest.mark.parametrize(
        ("name", "place", "is_allowed"),
        [
            ("snow", "office", False),
            ("snow", "street", True),
            ("snow", "street+summer", False),
            ("snow", "street+night", True),
            ("vision.snow_r2bench.v1", "kitchen", False),
            ("frost", "home", False),
            ("spatter", "gym", False),
            ("fog", "vehicle", False),
            ("room_reverberation", "field", False),
            ("room_reverberation", "office", True),
            ("room_reverberation", "studio", False),
            ("air_absorption", "meeting", False),
            ("air_absorption", "stadium", True),
            ("vision.gaussian_noise", "office", True),
            ("misspelling", "office", True),
            ("offset", "night", True),
            ("brightness", "street+night", False),
        ],
    )
    def test_what_can_be_where(self, name: str, place: str, is_allowed: bool) -> None:
        assert allowed(name, place) is is_allowed
        assert (why_not(name, place) == "") is is_allowed

    @pytest.mark.parametrize(
        ("first", "second", "is_compatible"),
        [
            ("fog", "snow", True),
            ("frost", "spatter", False),
            ("snow", "room_reverberation", False),
            ("air_absorption", "impulse_response", False),
            ("snow", "snow_r2bench", False),
            ("fog", "fog", False),
            ("fog", "jpeg_compression", True),
            ("vision.gaussian_noise", "sound.gaussian_noise", True),
            ("dropped_frames", "repeated_frames", True),
        ],
    )
    def test_what_can_be_together(self, first: str, second: str, is_compatible: bool) -> None:
        assert compatible(first, second) is is_compatible
        assert compatible(second, first) is is_compatible

    def test_unknown_names_and_places_name_the_nearest(self) -> None:
        with pytest.raises(UnknownName, match="did you mean office"):
            allowed("snow", "ofice")
        with pytest.raises(UnknownName, match="did you mean snow"):
            allowed("snwo", "office")
        with pytest.raises(UnknownName):
            compatible("snow", "rain")

    def test_a_plug_in_occurs_where_it_says(self, tmp_path: Path) -> None:
        package = tmp_path / "plugged_rain"
        package.mkdir()
        (package / "__init__.py").write_text(
            "from auscult.types import Metadata\n"
            "class Rain:\n"
            "    name = 'vision.rain.v1'\n"
            "    meta = Metadata(summary='rain', goal='rain', modality='image', source='a test',\n"
            "                    origin='environment', occurs=('outdoors',))\n"
            "STRESSOR = Rain()\n"
        )
        info = tmp_path / "plugged_rain-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-rain\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[auscult.stressors]\nvision.rain.v1 = plugged_rain:STRESSOR\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(tmp_path)
            patch.setattr(registry, "entries", look_again)
            assert why_not("rain", "office") == "it occurs outdoors only"
            assert allowed("rain", "street")
            assert allowed("rain", "night")
            assert compatible("rain", "snow")


look_again = registry.entries  # before any test puts another in its place


class TestPresets:
    @pytest.mark.parametrize(
        ("name", "guidance"),
        [("release", "sentences"), ("release", "sound"), ("r2bench", "sentences"), ("paper", "sentences")],
    )
    def test_the_shares_are_the_releases(self, name: str, guidance: str) -> None:
        rooms_drawn = [preset(name).recipe(seed=3, key=key, guidance=guidance).rooms for key in ITEMS]
        counts = Counter(rooms_drawn)
        assert set(counts) == {("vision", guidance), ("vision",), (guidance,)}
        for rooms, share in ((("vision", guidance), 0.2), (("vision",), 0.4), ((guidance,), 0.4)):
            assert counts[rooms] / len(ITEMS) == pytest.approx(share, abs=0.065)

    def test_types_and_severities_are_drawn_alike(self) -> None:
        recipes = [preset("release").recipe(seed=1, key=key) for key in ITEMS]
        steps = [step for recipe in recipes for step in recipe.steps]
        kinds = Counter(step.name for step in steps if step.room == "vision")
        assert len(kinds) == 19
        assert min(kinds.values()) > 5  # 360 / 19 = 19 expected
        assert len({step.name for step in steps if step.room == "sentences"}) == 4
        levels = Counter(step.strength for step in steps)
        assert set(levels) == {1.0, 3.0, 5.0}
        assert min(levels.values()) > 0.28 * len(steps)
        assert all(len({step.strength for step in recipe.steps}) == 1 for recipe in recipes)

    def test_a_severity_that_is_given_is_taken(self) -> None:
        recipes = [preset("release").recipe(seed=1, key=key, severity="high") for key in ITEMS[:50]]
        assert {step.strength for recipe in recipes for step in recipe.steps} == {5.0}
        drawn_kinds = [[step.name for step in recipe.steps] for recipe in recipes]
        others = [preset("release").recipe(seed=1, key=key, severity=1) for key in ITEMS[:50]]
        assert drawn_kinds == [[step.name for step in recipe.steps] for recipe in others]

    def test_without_guidance_the_picture_is_perturbed_always(self) -> None:
        assert {preset("release").recipe(seed=1, key=key, guidance=None).rooms for key in ITEMS[:100]} == {("vision",)}

    def test_paper_has_all_sixteen_types_in_a_clip(self) -> None:
        recipe_ = next(
            recipe
            for recipe in (preset("paper").recipe(seed=1, key=key) for key in ITEMS)
            if recipe.rooms == ("vision",)
        )
        assert {step.name.split(".")[1] for step in recipe_.steps} == set(PAPER["vision"])
        assert recipe_.schedule is SCHEDULES["paper"]

    def test_in_a_place_only_what_occurs_there(self) -> None:
        recipes = [
            preset("release").recipe(seed=1, key=key, guidance="sound", place="office+night") for key in ITEMS[:100]
        ]
        assert all(allowed(step.name, "office+night") for recipe in recipes for step in recipe.steps)

    def test_bad_input_is_told(self) -> None:
        with pytest.raises(UnknownName, match="did you mean release"):
            preset("relaese")
        with pytest.raises(UsageError, match="guidance"):
            preset("release").recipe(seed=1, key="a", guidance="smell")
        with pytest.raises(UnknownName):
            preset("release").recipe(seed=1, key="a", place="moon")
        with pytest.raises(UsageError, match="severity"):
            preset("release").recipe(seed=1, key="a", severity=9)

    def test_nothing_to_do_is_told(self) -> None:
        weather = Preset(name="weather", summary="weather", schedule=SCHEDULES["static"], pictures=("snow", "fog"))
        with pytest.raises(NothingToDo):
            weather.recipe(seed=1, key="a", guidance=None, place="office")


class TestDrawn:
    @pytest.mark.parametrize("place", [None, "office", "forest+winter", "vehicle+night", "studio"])
    @pytest.mark.parametrize("most", [1, 2, 4])
    def test_what_is_drawn_can_be_there_and_together(self, place: str | None, most: int) -> None:
        recipes = [drawn(ROOMS, seed=5, key=key, most=most, place=place) for key in ITEMS[:80]]
        assert {len(recipe.steps) for recipe in recipes} == set(range(1, most + 1))
        for recipe in recipes:
            names = [step.name for step in recipe.steps]
            assert place is None or all(allowed(name, place) for name in names)
            assert all(compatible(first, second) for first, second in combinations(names, 2))

    def test_two_at_most_unless_told(self) -> None:
        assert max(len(drawn(seed=1, key=key).steps) for key in ITEMS[:100]) == 2

    def test_seed_and_key_decide(self) -> None:
        recipes = [drawn(("vision", "sound"), seed=2, key=key) for key in ITEMS[:40]]
        assert recipes == [drawn(("vision", "sound"), seed=2, key=key) for key in ITEMS[:40]]
        assert len({recipe.name for recipe in recipes}) > 30

    def test_bad_input_is_told(self) -> None:
        for change in ({"rooms": ()}, {"rooms": ("masks",)}, {"most": 0}, {"schedule": SCHEDULES["paper"]}):
            with pytest.raises(UsageError):
                drawn(**{"rooms": ("vision",), "seed": 1, "key": "a", **change})  # type: ignore[arg-type]
        with pytest.raises(UnknownName):
            drawn(seed=1, key="a", place=f"{places()[0]}+nowhere")
