"""Recipes: from what a person writes to a plan that renders the same anywhere."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from auscult import registry
from auscult.errors import InputError, TooLarge, UnknownName, UsageError
from auscult.stress import sentences, sound, timing, vision
from auscult.stress.perturbation import WordChange, loaded
from auscult.stress.recipe import ORIGINS, PAPER, SCHEDULES, Plan, Recipe, RecipeStep, planned, sweep
from auscult.stress.sound import AudioInfo
from auscult.stress.timing import TimingInfo
from auscult.stress.vision import ClipInfo

RATE_HZ = 8_000
SHOT = ClipInfo(height=24, width=32, frames=30)
TAKE = AudioInfo(samples=30 * RATE_HZ // 25, channels=2, rate_hz=RATE_HZ)
TEXT = "the small dog that barks after the car horn"

FRAMES = np.random.Generator(np.random.PCG64(1)).integers(0, 256, size=(30, 24, 32, 3), dtype=np.uint8)
SOUND = np.random.Generator(np.random.PCG64(2)).standard_normal((2, TAKE.samples)).astype(np.float32) * 0.1
FRAMES.setflags(write=False)
SOUND.setflags(write=False)

ALL_ROOMS = "vision.gaussian_noise+brightness+gain+time_mask+mispunctuation+character_missing+offset+dropped_frames"


@pytest.fixture(autouse=True, scope="module")
def one_look() -> Iterator[None]:
    """Look into the registry once: it reads the metadata of every package each time."""
    entries_of = {"stressor": registry.entries("stressor")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "entries", entries_of.__getitem__)
        yield


def one_recipe(room: str, kinds: str, severity: str = "3", schedule: str = "static") -> Recipe:
    (recipe,) = sweep(room, kinds, severity, schedule=schedule)
    return recipe


def plan_of(recipe: Recipe, *, seed: int = 7, key: str = "a", **changes: Any) -> Plan:
    return planned(recipe, seed=seed, key=key, **{"shot": SHOT, "take": TAKE, "sentence": TEXT, **changes})


def rendered(plan: Plan, order: Any = range(30)) -> list[bytes]:
    frame_bytes = {index: plan.frame(FRAMES[plan.frame_number(index)], index).tobytes() for index in order}
    return [frame_bytes[index] for index in sorted(frame_bytes)]


class TestSweep:
    def test_a_comma_is_a_sweep_and_a_plus_composes(self) -> None:
        recipes = sweep("vision", "fog, snow+jpeg_compression", "1,high")
        assert [recipe.name for recipe in recipes] == [
            "fog_1",
            "fog_5",
            "snow+jpeg_compression_1",
            "snow+jpeg_compression_5",
        ]
        assert recipes[3].steps == (
            RecipeStep(name="vision.snow.v1", strength=5.0),
            RecipeStep(name="vision.jpeg_compression.v1", strength=5.0),
        )
        assert all(recipe.schedule.name == "static" for recipe in recipes)

    def test_severities_that_hardly_differ_have_folders_of_their_own(self) -> None:
        recipes = sweep("vision", "fog", "2,2.0000001,1.2345678,1.2345679,0,-0,1e-7,2.50")
        assert [recipe.name for recipe in recipes] == [
            "fog_2",
            "fog_2.0000001",
            "fog_1.2345678",
            "fog_1.2345679",
            "fog_0",
            "fog_1e-07",
            "fog_2.5",
        ]

    @pytest.mark.parametrize(
        "arguments", [{"kinds": ["fog", "snow"]}, {"severities": 3}, {"kinds": None}, {"severities": [1]}]
    )
    def test_what_is_no_text_is_refused(self, arguments: Any) -> None:
        with pytest.raises(UsageError, match="are "):
            sweep(**{"room": "vision", "kinds": "fog", "severities": "3", **arguments})

    def test_long_mixes_have_folders_of_their_own(self) -> None:
        long = "+".join(PAPER["vision"][:12])
        mixes = [f"{long}+{last}" for last in PAPER["vision"][12:]]
        recipes = sweep("vision", ",".join(mixes), "1,3")
        assert len({recipe.name for recipe in recipes}) == 2 * len(mixes)
        assert all(recipe.name.startswith("13_kinds-") for recipe in recipes)
        reversed_kinds = "+".join(reversed(mixes[0].split("+")))
        assert sweep("vision", reversed_kinds, "1")[0].name == recipes[0].name

    @pytest.mark.parametrize(("room", "count"), [("vision", 16), ("sound", 12), ("sentences", 4), ("timing", 4)])
    def test_all_are_the_papers(self, room: str, count: int) -> None:
        recipes = sweep(room, "all", "low,medium,high")
        assert len({recipe.name for recipe in recipes}) == 3 * count
        assert {recipe.steps[0].room for recipe in recipes} == {room}

    def test_recipes_take_all_rooms(self) -> None:
        assert len(sweep("recipe", "all", "3")) == 36
        recipe = one_recipe("recipe", "fog+gain+misspelling+offset", "2.5")
        assert recipe.name == "fog+gain+misspelling+offset_2.5"
        assert recipe.rooms == ("vision", "sound", "sentences", "timing")

    def test_what_several_rooms_have_is_named_with_its_room(self) -> None:
        recipes = sweep("recipe", "vision.gaussian_noise,sound.gaussian_noise+fog", "3")
        assert [recipe.name for recipe in recipes] == ["vision.gaussian_noise_3", "sound.gaussian_noise+fog_3"]
        with pytest.raises(UnknownName, match=r"several rooms(?s:.*)write sound.gaussian_noise or vision"):
            sweep("recipe", "gaussian_noise", "3")

    def test_nothing_comes_twice(self) -> None:
        assert [recipe.name for recipe in sweep("vision", "fog,vision.fog.v1,fog.v1", "3,medium,3.0")] == ["fog_3"]
        mixes = sweep("vision", "snow,fog+snow,contrast,snow+fog,fog+fog,fog", "3")
        assert [recipe.name for recipe in mixes] == ["snow_3", "fog+snow_3", "contrast_3", "fog+fog_3", "fog_3"]

    def test_schedules_that_draw_severities_make_one_recipe_of_a_kind(self) -> None:
        recipes = sweep("vision", "fog,snow", "1,3,5", schedule="r2bench")
        assert [recipe.name for recipe in recipes] == ["fog_dyn_r2bench", "snow_dyn_r2bench"]

    def test_schedules_that_draw_types_make_one_recipe(self) -> None:
        recipe_ = one_recipe("vision", "fog,snow", "3", "paper")
        assert recipe_.name == "fog-snow_dyn_paper"
        assert [step.name for step in recipe_.steps] == ["vision.fog.v1", "vision.snow.v1"]
        assert one_recipe("vision", "all", "3", "paper").name == "all_dyn_paper"

    def test_schedules_that_go_up_and_down_have_a_severity(self) -> None:
        assert [recipe.name for recipe in sweep("vision", "fog", "1,5", schedule="walk")] == [
            "fog_1_dyn_walk",
            "fog_5_dyn_walk",
        ]

    @pytest.mark.parametrize(
        ("arguments", "schedule", "message"),
        [
            (("vision", "fgo", "3"), "static", "did you mean fog"),
            (("vision", "misspelling", "3"), "static", "no perturbation 'misspelling' of vision"),
            (("vision", "sound.gain", "3"), "static", "of vision"),
            (("sight", "fog", "3"), "static", "no room"),
            (("vision", "", "3"), "static", "kinds are"),
            (("vision", "fog,", "3"), "static", "kinds are"),
            (("vision", "fog++snow", "3"), "static", "there is no perturbation ''"),
            (("vision", "fog", ""), "static", "severities are"),
            (("vision", "fog", "6"), "static", "severity"),
            (("vision", "fog", "weak"), "static", "severity"),
            (("vision", "fog", "3"), "sometimes", "no schedule"),
            (("vision", "fog+snow", "3"), "paper", "composes"),
            (("sound", "gain", "3"), "ramp", "has no frames"),
            (("vision", "+".join(["fog"] * 17), "3"), "static", "17 perturbations at once"),
            (("vision", "all", ",".join(f"{step / 200:.3f}" for step in range(1000))), "static", "16000 recipes"),
        ],
    )
    def test_bad_input_is_told(self, arguments: tuple[str, str, str], schedule: str, message: str) -> None:
        with pytest.raises(UsageError, match=message.replace("(", r"\(")):
            sweep(*arguments, schedule=schedule)


class TestPlan:
    def test_one_step_is_what_its_room_makes(self) -> None:
        picture = plan_of(one_recipe("vision", "gaussian_noise", "4"))
        assert picture.frame(FRAMES[0], 0).tobytes() == vision.apply(
            "gaussian_noise", FRAMES[0], severity=4, seed=7, key="a"
        ).tobytes()  # fmt: skip
        output = plan_of(one_recipe("sound", "gain", "4")).sound(SOUND, RATE_HZ)
        assert output.tobytes() == sound.apply("gain", SOUND, rate_hz=RATE_HZ, severity=4, seed=7, key="a").tobytes()
        text = plan_of(one_recipe("sentences", "mispunctuation", "4")).sentence(TEXT)
        assert text == sentences.apply("mispunctuation", TEXT, severity=4, seed=7, key="a") != TEXT
        plan_ = plan_of(one_recipe("timing", "dropped_frames", "4"))
        perturbed = timing.perturb(
            "dropped_frames", FRAMES, SOUND, rate_fps=25.0, rate_hz=RATE_HZ, severity=4, seed=7, key="a"
        )
        assert plan_.frames == perturbed.truth.frames
        assert plan_.offset_s == perturbed.truth.offset_s

    def test_nothing_touched_is_nothing_changed(self) -> None:
        plan = plan_of(Recipe(name="clean", steps=()))
        assert plan.frame(FRAMES[3], 3).tobytes() == FRAMES[3].tobytes()
        assert not np.shares_memory(plan.frame(FRAMES[3], 3), FRAMES)
        assert plan.sound(SOUND, RATE_HZ).tobytes() == SOUND.tobytes()
        assert plan.sentence("any text") == "any text"
        assert (plan.frame_number(3), plan.frames, plan.words, plan.silent_s, plan.offset_s) == (3, None, (), (), ())
        assert not plan.moves
        assert not plan.retimes

    def test_steps_stand_in_the_order_in_which_they_arise(self) -> None:
        recipe = one_recipe("recipe", "jpeg_compression+vision.gaussian_noise+fog+mp3_compression+gain+contrast+snow")
        orders = set()
        for key in map(str, range(60)):
            names = [name for name, _ in plan_of(recipe, key=key).steps]
            places = [ORIGINS.index(registry.load("stressor", name).meta.origin) for name in names]
            assert places == sorted(places)
            orders.add(tuple(names))
        assert len(orders) == 2 * 2 * 2  # two of the environment, two of the sensor, two of transmission

    def test_the_order_and_the_draws_are_the_same_at_every_strength(self) -> None:
        plans = [plan_of(one_recipe("vision", "gaussian_noise+contrast+brightness+fog", level)) for level in "135"]
        assert len({tuple(name for name, _ in plan.steps) for plan in plans}) == 1
        params_drawn = [[{**params.as_json(), "strength": 0} for _, params in plan.steps] for plan in plans]
        assert params_drawn[0] == params_drawn[1] == params_drawn[2]

    @pytest.mark.parametrize("schedule", sorted(SCHEDULES))
    def test_replays_from_json_in_any_order(self, schedule: str) -> None:
        recipe = Recipe(name="all", steps=one_recipe("recipe", ALL_ROOMS).steps, schedule=SCHEDULES[schedule])
        plan = plan_of(recipe)
        text = json.dumps(plan.as_json(), allow_nan=False)
        reread = Plan.from_json(json.loads(text))
        assert reread == plan
        assert json.dumps(reread.as_json()) == text
        for other in (reread, pickle.loads(pickle.dumps(plan))):  # noqa: S301
            assert rendered(other, range(29, -1, -1)) == rendered(plan)
            assert other.sound(SOUND, RATE_HZ).tobytes() == plan.sound(SOUND, RATE_HZ).tobytes()
            assert other.sentence(TEXT) == plan.sentence(TEXT)
            assert (other.words, other.silent_s, other.offset_s) == (plan.words, plan.silent_s, plan.offset_s)

    def test_another_seed_or_key_draws_anew(self) -> None:
        recipe = one_recipe("vision", "gaussian_noise")
        frames_drawn = {
            plan_of(recipe, seed=seed, key=key).frame(FRAMES[0], 0).tobytes() for seed in (1, 2) for key in "ab"
        }
        assert len(frames_drawn) == 4

    def test_the_same_perturbation_twice_draws_twice(self) -> None:
        plan = plan_of(one_recipe("vision", "gaussian_noise+gaussian_noise"))
        (_, first), (_, second) = plan.steps
        assert first != second

    def test_masks_go_where_pixels_go(self) -> None:
        mask = np.zeros((24, 32), dtype=np.bool_)
        mask[6:18, 8:24] = True
        plan = plan_of(one_recipe("vision", "elastic_transform+gaussian_noise", "1"))
        assert plan.moves
        perturbed = vision.perturb("elastic_transform", FRAMES[0], severity=1, seed=7, key="a", masks=[mask])
        assert np.array_equal(plan.mask(mask, 0), perturbed.truth.masks[0])
        still = plan_of(one_recipe("vision", "gaussian_noise"))
        assert not still.moves
        assert np.array_equal(still.mask(mask, 0), mask)
        assert not np.shares_memory(still.mask(mask, 0), mask)


class TestSchedules:
    def test_r2bench_draws_the_severity_of_every_frame_and_keeps_the_rest(self) -> None:
        plan = plan_of(one_recipe("vision", "fog", schedule="r2bench"))
        ((name, params),) = plan.steps
        levels_seen = []
        for index in range(30):
            frame = plan.frame(FRAMES[index], index).tobytes()
            levels = [
                level
                for level in (1.0, 3.0, 5.0)
                if loaded("vision", name).render(FRAMES[index], replace(params, strength=level), index=index).tobytes()
                == frame
            ]
            assert len(levels) == 1
            levels_seen += levels
        assert set(levels_seen) == {1.0, 3.0, 5.0}

    def test_paper_draws_the_type_of_every_frame_too(self) -> None:
        plan = plan_of(one_recipe("vision", "gaussian_noise,brightness,contrast", schedule="paper"))
        n_by_step: Counter[tuple[str, float]] = Counter()
        for index in range(30):
            frame = plan.frame(FRAMES[index], index).tobytes()
            for name, params in plan.steps:
                for level in (1.0, 3.0, 5.0):
                    frame_made = loaded("vision", name).render(
                        FRAMES[index], replace(params, strength=level), index=index
                    )
                    n_by_step[name, level] += frame_made.tobytes() == frame
        assert n_by_step.total() == 30
        assert len({name for name, _ in n_by_step if any(n_by_step[name, level] for level in (1.0, 3.0, 5.0))}) == 3

    def test_a_ramp_starts_with_nothing_and_ends_with_all(self) -> None:
        plan, full = (plan_of(one_recipe("vision", "brightness", "4", name)) for name in ("ramp", "static"))
        assert plan.frame(FRAMES[0], 0).tobytes() == FRAMES[0].tobytes()
        assert plan.frame(FRAMES[29], 29).tobytes() == full.frame(FRAMES[29], 29).tobytes()
        damage = [np.abs(plan.frame(FRAMES[0], index).astype(int) - FRAMES[0]).mean() for index in range(30)]
        assert (np.diff(damage) >= 0).all()

    def test_steps_go_up_and_down_by_themselves(self) -> None:
        plan = plan_of(
            one_recipe("vision", "brightness+contrast", "4", "burst"), shot=ClipInfo(height=24, width=32, frames=300)
        )
        clean = FRAMES[0]
        (first, _), (second, _) = plan.steps
        frames_seen = {plan.frame(clean, index).tobytes() for index in range(300)}
        assert len(frames_seen) == 4, (first, second)  # neither, one, the other, both

    def test_a_sound_and_a_sentence_draw_one_severity(self) -> None:
        recipe = one_recipe("recipe", "gain+mispunctuation", schedule="r2bench")
        n_by_strength = Counter(
            params.strength for key in map(str, range(60)) for _, params in plan_of(recipe, key=key).steps
        )
        assert set(n_by_strength) == {1.0, 3.0, 5.0}
        assert min(n_by_strength.values()) > 20

    def test_where_types_are_drawn_a_sound_takes_one(self) -> None:
        recipe = one_recipe("sound", "gain,time_mask,tanh_distortion", schedule="paper")
        names = {name for key in map(str, range(30)) for name, _ in plan_of(recipe, key=key).steps}
        assert len(names) == 3
        assert all(len(plan_of(recipe, key=key).steps) == 1 for key in map(str, range(30)))


class TestTiming:
    def test_a_frame_shown_again_has_the_noise_it_was_taken_with(self) -> None:
        plan = plan_of(one_recipe("recipe", "vision.gaussian_noise+repeated_frames", "5"))
        assert [name for name, _ in plan.steps] == ["vision.gaussian_noise.v1", "timing.repeated_frames.v1"]
        assert plan.retimes
        assert plan.frames is not None
        frames_made = rendered(plan)
        for index in range(1, 30):
            assert (frames_made[index] == frames_made[index - 1]) == (plan.frames[index] == plan.frames[index - 1])

    def test_two_in_a_row_are_one_after_the_other(self) -> None:
        plan = plan_of(one_recipe("timing", "dropped_frames+repeated_frames", "5"))
        reel = TimingInfo(frames=30, rate_fps=25.0)
        first, second = (registry.load("stressor", name).frames(params, reel) for name, params in plan.steps)
        assert plan.frames == tuple(first[second].tolist())
        assert [plan.frame_number(index) for index in range(30)] == list(plan.frames)

    @pytest.mark.parametrize("key", ["a", "b", "c", "d"])
    def test_the_lag_that_is_told_is_heard(self, key: str) -> None:
        clicks = np.zeros((1, 16_000), np.float32)
        clicks[0, 3200::3200] = 1.0  # one in ten frames of 40 ms at 8 kHz
        take, shot = AudioInfo(samples=16_000, channels=1, rate_hz=RATE_HZ), ClipInfo(height=24, width=32, frames=50)
        plan = plan_of(one_recipe("timing", "offset+drift", "4"), key=key, take=take, shot=shot)
        click_samples = np.flatnonzero(plan.sound(clicks, RATE_HZ)[0] > 0.5)
        lag = np.interp(click_samples / RATE_HZ, np.arange(50) / 25.0, plan.offset_s)
        came = (click_samples / RATE_HZ - lag) * RATE_HZ / 3200  # which click of the input it is
        assert click_samples.size >= 3
        assert np.allclose(came, np.rint(came), atol=2 / 3200)

    def test_the_lag_of_a_video_of_variable_rate_follows_its_own_times(self) -> None:
        plan = plan_of(one_recipe("timing", "dropped_frames+offset", "5"))
        even = np.arange(30) / 25.0
        assert plan.lag(even) == plan.lag(even.tolist()) == plan.offset_s
        times = np.cumsum(np.linspace(0.01, 0.09, 30))
        ((_, params),) = [step for step in plan.steps if step[0] == "timing.offset.v1"]
        lag_s = 0.64 if params.late else -0.64
        expected = times[list(plan.frames)] - (times - lag_s)
        assert plan.lag(times) == pytest.approx(expected.tolist())
        assert max(np.abs(np.subtract(plan.lag(times), plan.offset_s))) > 0.02

    @pytest.mark.parametrize("times", [[], [0.0] * 29, [[0.0] * 30], [float("nan")] * 30, list(range(30, 0, -1))])
    def test_a_lag_needs_a_time_for_each_frame(self, times: Any) -> None:
        with pytest.raises(UsageError, match="one for each frame"):
            plan_of(one_recipe("timing", "offset")).lag(times)
        assert plan_of(one_recipe("vision", "brightness")).lag(times) == ()

    @pytest.mark.parametrize("key", ["a", "b", "c"])
    @pytest.mark.parametrize("kind", sorted({*PAPER["sound"], "impulse_noise"} - {"mp3_compression"}))
    def test_what_a_later_step_fills_is_not_told_as_silent(self, kind: str, key: str) -> None:
        plan = plan_of(one_recipe("sound", f"time_mask+{kind}", "5"), key=key)
        output = plan.sound(SOUND, RATE_HZ)
        assert [name for name, _ in plan.steps].count("sound.time_mask.v1") >= 1
        for start, end in plan.silent_s:
            within = output[:, int(start * RATE_HZ) + 1 + RATE_HZ // 50 : int(end * RATE_HZ) - RATE_HZ // 50]
            assert np.abs(within).max(initial=0.0) < 1e-3 * np.abs(output).max()
        quiet = kind in {"gain", "time_mask", "tanh_distortion", "peaking_filter", "low_pass", "high_pass"}
        last = plan.steps[-1][0] == "sound.time_mask.v1"
        assert bool(plan.silent_s) == (quiet or last or kind == "air_absorption")

    def test_noise_after_lost_sound_is_not_silent(self) -> None:
        steps = one_recipe("timing", "offset", "5").steps
        plan = plan_of(Recipe(name="x", steps=steps))
        noisy = Plan(**{
            **{name: getattr(plan, name) for name in ("recipe", "schedule", "seed", "shot", "take", "reel", "text")},
            "steps": (*plan.steps, *plan_of(one_recipe("sound", "gaussian_noise", "5")).steps),
        })  # fmt: skip
        assert plan.silent_s
        assert noisy.silent_s == ()

    @pytest.mark.parametrize("key", ["a", "b", "c"])
    def test_silence_is_where_it_is_told(self, key: str) -> None:
        loud = np.full((2, TAKE.samples), 0.5, np.float32)
        plan = plan_of(one_recipe("recipe", "time_mask+offset+drift", "5"), key=key)
        output = plan.sound(loud, RATE_HZ)
        times = np.arange(TAKE.samples) / RATE_HZ
        is_silent = np.zeros(TAKE.samples, np.bool_)
        for start, end in plan.silent_s:
            is_silent |= (times > start + 0.003) & (times < end - 0.003)
        assert is_silent.sum() > RATE_HZ // 4
        assert np.abs(output[:, is_silent]).max() < 0.25  # a mask may fade at its ends


@given(some.text(some.characters(exclude_categories=["Cs"]), max_size=60), some.integers(0, 1000))
def test_the_changes_that_are_told_make_the_sentence(text: str, seed: int) -> None:
    steps = one_recipe("sentences", "mispunctuation+character_missing", "4").steps
    plan = planned(Recipe(name="both", steps=steps), seed=seed, key="", sentence=text)
    sentence_made, position = "", 0
    for change in plan.words:
        assert text[change.start :].startswith(change.before)
        assert change.before != change.after
        sentence_made += text[position : change.start] + change.after
        position = change.start + len(change.before)
    assert sentence_made + text[position:] == plan.sentence(text)


def test_changes_of_two_rounds_are_told_in_the_places_of_the_first_sentence() -> None:
    from auscult.stress.recipe import changes_of
    from auscult.stress.sentences import Edit

    rounds = [[Edit(0, 1, ""), Edit(3, 3, "xy")], [Edit(2, 3, ""), Edit(4, 5, "Q")]]  # abcde -> bcxyde -> bcyQe
    assert changes_of("abcde", rounds) == (
        WordChange(start=0, before="a", after=""),
        WordChange(start=3, before="d", after="yQ"),
    )


def test_what_one_step_takes_out_and_another_puts_in_again_is_no_change() -> None:
    plan = plan_of(one_recipe("sentences", "mispunctuation+character_missing", "5"), sentence="0!00", seed=52, key="")
    assert all(change.before != change.after for change in plan.words)


def test_what_must_stay_stays_through_all_steps() -> None:
    recipe = one_recipe("sentences", "mispunctuation+character_missing", "5")
    for seed in range(20):
        assert "dog" in plan_of(recipe, seed=seed, keep=["dog"]).sentence(TEXT)


def test_the_head_noun_stays_through_all_steps() -> None:
    """Of the sentence that was given, whatever noun stands first once other words are misspelled."""
    recipe = one_recipe("sentences", "misspelling+character_missing+misspelling+grammar_error", "5")
    start = TEXT.index("dog")
    for seed in range(30):
        words = plan_of(recipe, seed=seed, keep_head=True).words
        assert words
        assert all(word.start + len(word.before) <= start or word.start >= start + 3 for word in words)
    touched = [word.start for seed in range(30) for word in plan_of(recipe, seed=seed).words]
    assert any(start <= place < start + 3 for place in touched)


@pytest.mark.parametrize("keep", ["dog", None, [5]], ids=repr)
def test_what_must_stay_is_a_list_of_phrases(keep: Any) -> None:
    with pytest.raises(UsageError, match="keep is"):
        plan_of(one_recipe("sentences", "misspelling"), keep=keep)


class TestBadInput:
    @pytest.mark.parametrize(
        ("room", "kind", "missing"),
        [
            ("vision", "fog", {"shot": None}),
            ("sound", "gain", {"take": None}),
            ("sentences", "mispunctuation", {"sentence": None}),
            ("timing", "offset", {"shot": None}),
        ],
    )
    def test_a_recipe_needs_what_it_perturbs(self, room: str, kind: str, missing: Any) -> None:
        with pytest.raises(UsageError, match="and there is no"):
            plan_of(one_recipe(room, kind), **missing)

    def test_short_names_will_do_where_they_are_clear(self) -> None:
        short = Recipe(name="x", steps=(RecipeStep(name="brightness", strength=3.0),))
        assert plan_of(short).steps == plan_of(one_recipe("vision", "brightness")).steps
        with pytest.raises(UnknownName, match="several rooms"):
            plan_of(Recipe(name="x", steps=(RecipeStep(name="gaussian_noise", strength=3.0),)))

    def test_unknown_and_too_strong_steps(self) -> None:
        with pytest.raises(UnknownName):
            plan_of(Recipe(name="x", steps=(RecipeStep(name="vision.smog.v1", strength=3.0),)))
        with pytest.raises(UsageError, match="severity"):
            plan_of(Recipe(name="x", steps=(RecipeStep(name="vision.gaussian_noise.v1", strength=7.0),)))

    def test_other_material_than_was_planned_for(self) -> None:
        plan = plan_of(one_recipe("recipe", ALL_ROOMS))
        with pytest.raises(UsageError, match="24 x 32"):
            plan.frame(FRAMES[0][:, :-1], 0)
        with pytest.raises(UsageError, match="24 x 32"):
            plan.mask(np.zeros((32, 24), np.bool_), 0)
        with pytest.raises(UsageError, match="2 x 9600 samples at 8000 Hz"):
            plan.sound(SOUND, 16_000)
        with pytest.raises(UsageError, match="2 x 9600 samples at 8000 Hz"):
            plan.sound(SOUND[:1], RATE_HZ)
        with pytest.raises(UsageError, match="as was planned for"):
            plan.sentence("another")
        for index in (-1, 30):
            with pytest.raises(UsageError, match="0 to 29"):
                plan.frame_number(index)
            with pytest.raises(UsageError, match="0 to 29"):
                plan.frame(FRAMES[0], index)

    @pytest.mark.parametrize(
        "frame",
        [
            FRAMES[0] / 255.0,
            FRAMES[0].astype(np.float32),
            FRAMES[0].astype(np.int16),
            FRAMES[0][..., 0],
            np.dstack([FRAMES[0], FRAMES[0][..., 0]]),
            FRAMES[:1],
            FRAMES[0].tolist(),
            None,
        ],
        ids=["0 to 1", "float", "int16", "grey", "RGBA", "clip", "list", "None"],
    )
    @pytest.mark.parametrize("kind", ["gaussian_blur", "contrast", "elastic_transform", "gaussian_noise"])
    def test_what_is_no_frame_is_refused(self, kind: str, frame: Any) -> None:
        with pytest.raises(UsageError, match="the frame is"):
            plan_of(one_recipe("vision", kind)).frame(frame, 0)

    @pytest.mark.parametrize("mask", [np.zeros((24, 32), np.uint8), np.zeros((24, 32, 1), np.bool_), [[True]], 5, None])
    @pytest.mark.parametrize("kind", ["fog", "elastic_transform"])
    def test_what_is_no_mask_is_refused(self, kind: str, mask: Any) -> None:
        with pytest.raises(UsageError, match="the mask is"):
            plan_of(one_recipe("vision", kind)).mask(mask, 0)

    @pytest.mark.parametrize("kind", [*PAPER["vision"], "zoom_blur", "elastic_transform", "vision.gaussian_noise"])
    def test_a_frame_may_lie_in_memory_in_any_way(self, kind: str) -> None:
        plan, fortran_frame = plan_of(one_recipe("vision", kind)), np.asfortranarray(FRAMES[0])
        for view in (fortran_frame, FRAMES[0][::-1], FRAMES[0][..., ::-1]):
            assert np.array_equal(plan.frame(view, 0), plan.frame(np.ascontiguousarray(view), 0))
        mask = np.asfortranarray(FRAMES[0][..., 0] > 100)
        assert np.array_equal(plan.mask(mask, 0), plan.mask(np.ascontiguousarray(mask), 0))

    def test_a_clip_without_end(self) -> None:
        with pytest.raises(TooLarge):
            plan_of(one_recipe("vision", "gaussian_noise"), shot=ClipInfo(height=2, width=2, frames=10**9))

    @pytest.mark.parametrize(
        "change",
        [
            {"recipe": 3},
            {"schedule": "never"},
            {"schedule": None},
            {"seed": -1},
            {"seed": 1.0},
            {"seed": True},
            {"shot": {"height": 24}},
            {"shot": {"height": 0, "width": 32, "frames": 30, "rate_fps": 25.0}},
            {"shot": {"height": 24, "width": 32, "frames": 10**15, "rate_fps": 25.0}},
            {"shot": {"height": 24, "width": 32, "frames": 30, "rate_fps": float("nan")}},
            {"shot": {"height": 24, "width": 32, "frames": 29, "rate_fps": 25.0}},
            {"shot": {"height": 24, "width": 32, "frames": 30, "rate_fps": 10**400}},
            {"shot": {"height": 24, "width": 32, "frames": 30, "rate_fps": float("inf")}},
            {"shot": {"height": 24, "width": 32, "frames": 30, "rate_fps": True}},
            {"reel": {"frames": 30, "rate_fps": 10**400}},
            {"shot": None},
            {"take": [1, 2]},
            {"take": None},
            {"take": {"samples": 10, "channels": 0, "rate_hz": 8000}},
            {"reel": {"frames": 30, "rate_fps": "25"}},
            {"reel": None},
            {"text": 5},
            {"text": "short"},
            {"text": None},
            {"text": "x" * 300_000},
            {"steps": "fog"},
            {"steps": [None]},
            {"steps": [{"name": "vision.gaussian_noise.v1"}]},
            {"steps": [{"name": "gaussian_noise", "params": {}}]},
            {"steps": [{"name": "vision.gaussian_noise", "params": {"strength": 3.0, "seed": 1}}]},
            {"steps": [{"name": "masks.erode.v1", "params": {}}]},
            {"steps": [{"name": "vision.nothing.v1", "params": {}}]},
            {"steps": [{"name": "os.system.v1", "params": {}}]},
            {"steps": [{"name": "vision.gaussian_noise.v1", "params": {"strength": 30.0, "seed": 1}}]},
            {"steps": [{"name": "vision.gaussian_noise.v1", "params": {"strength": 3.0, "seed": "1"}}]},
            {"steps": [{"name": "sentences.misspelling.v1", "params": {"strength": 3.0, "edits": [[5, 2, ""]]}}]},
            {"steps": [{"name": "vision.gaussian_noise.v1", "params": {"strength": 3.0, "seed": 1}}] * 33},
            {"extra": 1},
        ],
        ids=lambda change: json.dumps(change)[:60],
    )
    def test_a_damaged_plan_is_refused(self, change: dict[str, Any]) -> None:
        plan_json = plan_of(one_recipe("recipe", ALL_ROOMS)).as_json()
        assert Plan.from_json(plan_json).steps
        with pytest.raises(InputError):
            Plan.from_json({**plan_json, **change})

    @pytest.mark.parametrize("value", [None, [], "plan", 3, {}])
    def test_what_is_no_plan_is_refused(self, value: Any) -> None:
        with pytest.raises(InputError):
            Plan.from_json(value)


def test_the_papers_names_are_all_registered() -> None:
    registered = {entry.name for entry in registry.entries("stressor")}
    assert {f"{room}.{kind}.v1" for room, kinds in PAPER.items() for kind in kinds} <= registered
    assert {room: len(kinds) for room, kinds in PAPER.items()} == {
        "vision": 16,
        "sound": 12,
        "sentences": 4,
        "timing": 4,
    }
