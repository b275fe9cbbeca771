"""Seen and unseen: what a training scene showed or played, no test scene does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import UsageError
from auscult.scenes.appearance.drawing import Look, Sprite
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.sound.mix import SoundSource
from auscult.scenes.splits import COMPANY, GENERATED, Assets, Shelf, divide
from auscult.types import Frame, Metadata, Samples

META = Metadata(summary="", goal="", modality="", source="")


class Cards:
    """An asset set of plain rectangles, as many of each category as wanted."""

    name = "cards"
    meta = META

    def __init__(self, counts: Mapping[str, int], backgrounds: int = 4) -> None:
        self._counts = counts
        self._backgrounds = backgrounds

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(f"{name}/{n}" for n in range(count)) for name, count in self._counts.items()}

    def backgrounds(self) -> tuple[str, ...]:
        return tuple(f"wall-{n}" for n in range(self._backgrounds))

    def held(self, background: str) -> None:
        del background

    def look(self, rng: np.random.Generator, category: str, *, instance: str) -> Look:
        return Look(category=category, instance=instance, aspect=1.0, colour=str(rng.choice(["red", "blue"])))

    def sprite(self, look: Look, *, height_px: int, turn_deg: float = 0.0) -> Sprite:
        del turn_deg
        shape = (height_px, max(1, round(height_px * look.aspect)))
        return Sprite(np.full((*shape, 3), 200, np.uint8), np.full(shape, 255, np.uint8))

    def background(self, name: str, *, size: tuple[int, int]) -> Frame:
        del name
        return np.full((*size, 3), 40, np.uint8)


class Hums:
    """A sound set of constant tones."""

    name = "hums"
    meta = META

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(f"{name}/{n}.wav" for n in range(count)) for name, count in self._counts.items()}

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> SoundSource:
        del rng
        return SoundSource(label=label, instance=instance, noun=label, verb="hums")

    def samples(self, source: SoundSource, *, seconds: float, rate_hz: int) -> Samples:
        del source
        return np.full(round(seconds * rate_hz), 0.1, np.float32)


def bound(things: Mapping[str, int], sounds: Mapping[str, int], backgrounds: int = 4) -> Assets:
    return Assets(looks=Cards(things, backgrounds), sounds=Hums(sounds), own_voices=True)


COUNTS = st.dictionaries(st.sampled_from([f"thing{n}" for n in range(9)]), st.integers(1, 7), min_size=2)


def flat(groups: Mapping[str, tuple[str, ...]]) -> set[str]:
    return {name for names in groups.values() for name in names}


def check_apart(shelves: Mapping[str, Shelf]) -> None:
    train, seen_shelf, unseen = (shelves[name] for name in ("train", "test_s", "test_u"))
    for test in (seen_shelf, unseen):
        assert not flat(train.categories) & flat(test.categories)
        assert not flat(train.sounds) & flat(test.sounds)
        assert not set(train.backgrounds) & set(test.backgrounds)
    assert not set(unseen.targets) & set(train.categories)
    assert not set(unseen.targets) & set(train.sounds)
    assert set(seen_shelf.targets) <= set(train.categories)
    if len(seen_shelf.targets) >= COMPANY:
        assert set(seen_shelf.categories) == set(seen_shelf.targets)
        assert not set(unseen.targets) & set(seen_shelf.sounds)
    else:
        assert seen_shelf.categories == unseen.categories, "too few seen things to be among themselves"


def test_generated_assets_are_divided() -> None:
    shelves = divide(GENERATED)
    check_apart(shelves)
    all_instances = GENERATED.looks.instances()
    assert flat(shelves["train"].categories) | flat(shelves["test_u"].categories) == flat(all_instances), (
        "nothing lies idle"
    )
    assert 0.15 < len(shelves["test_u"].targets) / len(all_instances) < 0.35


@given(things=COUNTS, sounds=COUNTS, backgrounds=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_any_assets_are_divided_or_refused(things: dict[str, int], sounds: dict[str, int], backgrounds: int) -> None:
    assets = bound(things, sounds, backgrounds)
    assert flat(divide(assets, wanted=["train"])["train"].categories)
    several = sum(count > 1 for count in things.values())
    if backgrounds < 2 or not several:
        with pytest.raises(UsageError, match=f"{len(things)} categories, {several} of them") as error:
            divide(assets)
        assert "--split train" in error.value.hint
        return
    try:
        shelves = divide(assets)
    except UsageError:
        assert several <= round(len(things) / 4) + 1, "the categories of several instances may all be unseen"
        return
    check_apart(shelves)
    reordered = bound(dict(reversed(things.items())), sounds, backgrounds)
    assert set(divide(reordered)["test_u"].targets) == set(shelves["test_u"].targets), "order of files does not matter"


def test_one_instance_of_each_is_training_material_only() -> None:
    assets = bound({"cup": 1, "cat": 1, "car": 1, "cow": 1}, {})
    assert len(divide(assets, wanted=["train"])["train"].categories) == 3
    assert len(divide(assets, wanted=["test_u"])["test_u"].targets) == 1
    with pytest.raises(UsageError, match=r"test_s: 4 categories, 0 of them with two or more instances, 4 backgrounds"):
        divide(assets)
    with pytest.raises(UsageError, match="test_u: 1 categories"):
        divide(bound({"cup": 3}, {}), wanted=["test_u"])
    with pytest.raises(UsageError, match="1 backgrounds"):
        divide(bound({"cup": 3, "cat": 3}, {}, backgrounds=1))


def test_scenes_keep_to_their_shelf() -> None:
    assets = bound({f"thing{n}": 4 for n in range(10)}, {f"thing{n}": 3 for n in range(6)} | {"rain": 2})
    shelves = divide(assets)
    used_by_split: dict[str, set[str]] = {"train": set(), "test_s": set(), "test_u": set()}
    categories: dict[str, set[str]] = {"train": set(), "test_s": set(), "test_u": set()}
    for index in range(80):
        plan = choose(1, index, assets=assets, shelves=shelves, options=SceneOptions())
        used_by_split[plan.split] |= {thing.look.instance for thing in plan.objects} | {plan.background}
        used_by_split[plan.split] |= {track.source.instance for track in plan.tracks}
        categories[plan.split] |= {thing.look.category for thing in plan.objects}
        if plan.split == "test_u":
            assert any(thing.look.category in shelves["test_u"].targets for thing in plan.objects)
    assert not used_by_split["train"] & (used_by_split["test_s"] | used_by_split["test_u"])
    assert not set(shelves["test_u"].targets) & (categories["train"] | categories["test_s"])
    assert all(used_by_split.values())
