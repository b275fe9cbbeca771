"""Which assets which split may use, so that test scenes show and play nothing that training scenes did.

A quarter of the categories (at least one, where there are two) is *unseen*. Rules:

- ``train``: seen categories only, in their training instances, with training sounds and backgrounds.
- ``test_s``: targets are of seen categories, in their test instances, with test sounds and backgrounds. So are the
  other things, as long as ``COMPANY`` seen categories or more have test instances; with fewer, unseen ones join in.
- ``test_u``: targets are of unseen categories, which occur in no training scene, neither in the picture nor, where
  sounds are named after categories, in the sound. The other things of such a scene are unseen ones, or test instances
  of seen ones.
- Three tenths of a seen category's instances are for tests, at least one and never all. A category, label or background
  of one instance cannot be divided: its instance is for training. A sound label of an unseen category is for tests.

Which ones these are follows from the order of the hashes of their names; so it does not depend on a seed, and scenes of
different runs from the same assets may be put together. A file of a user's folder that repeats another one is left out
before; files that are merely alike, such as two takes of one recording, are divided like any others.

Assets are looks and backgrounds from one set and sounds from another, generated or a user's folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from auscult.errors import ErrorRecord, UsageError
from auscult.scenes.appearance import folder as look_folder
from auscult.scenes.appearance import generated as generated_looks
from auscult.scenes.appearance.drawing import AssetSet
from auscult.scenes.sound import folder as sound_folder
from auscult.scenes.sound import generated as generated_sounds
from auscult.scenes.sound.mix import SoundSet

_FOLDERS = ("cutouts", "backgrounds", "sounds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """A set of looks and a set of sounds."""

    looks: AssetSet  # things and backgrounds
    sounds: SoundSet
    # a thing sounds with a sound of its own category, or not at all. Otherwise sounds are assigned at random, so that
    # no picture reveals which thing makes which sound
    own_voices: bool

    @property
    def name(self) -> str:
        """Both sets' names, for the record."""
        return f"{self.looks.name}+{self.sounds.name}"


GENERATED = Assets(looks=generated_looks.GENERATED, sounds=generated_sounds.GENERATED, own_voices=False)


def open_bundle(root: Path | None) -> tuple[Assets, tuple[ErrorRecord, ...]]:
    """Open the generated sets, or a user's folder, with the errors of the files that were left out.

    A folder has ``cutouts/``, ``backgrounds/`` and, optionally, ``sounds/``, without which the generated sounds are
    assigned at random.
    """
    if root is None:
        return GENERATED, ()
    if not root.is_dir():
        raise UsageError(
            "there is no such asset folder" if not root.exists() else "this is a file",
            path=root,
            expected="a folder with cutouts/, backgrounds/ and sounds/",
            hint="without --assets the generated things and sounds are used",
        )
    looks, look_errors = look_folder.open_assets(root)
    if not (root / "sounds").is_dir():
        return Assets(looks=looks, sounds=generated_sounds.GENERATED, own_voices=False), look_errors
    sounds, sound_errors = sound_folder.open_sounds(root)
    return Assets(looks=looks, sounds=sounds, own_voices=True), (*look_errors, *sound_errors)


Split: TypeAlias = Literal["train", "test_s", "test_u"]
SPLITS: tuple[Split, ...] = get_args(Split)
MIXTURE: Mapping[Split, float] = {"train": 0.6, "test_s": 0.2, "test_u": 0.2}

COMPANY = 6
"""So many seen categories with test instances make ``test_s`` scenes of seen things alone."""

_UNSEEN_SHARE = 0.25
_TEST_SHARE = 0.3

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """What scenes of one split may use."""

    categories: Mapping[str, Names]  # category to instances
    targets: Names  # categories that expressions of this split refer to
    sounds: Mapping[str, Names]  # label to instances
    backgrounds: Names


def divide(assets: Assets, *, wanted: Iterable[Split] = SPLITS) -> dict[Split, Shelf]:
    """The assets that each wanted split may use; a UsageError where there are too few for one of them."""
    categories = assets.looks.instances()
    seen, unseen = _divided(categories, _UNSEEN_SHARE)
    for_train, for_test = _by_instance(categories, unseen=frozenset(unseen))
    train_sounds, test_sounds = _by_instance(assets.sounds.instances(), unseen=frozenset(unseen))
    train_grounds, test_grounds = _divided(assets.looks.backgrounds(), _TEST_SHARE)
    hidden = frozenset(unseen)
    known = _without(for_test, hidden)
    enough = len(known) >= COMPANY
    shelves: dict[Split, Shelf] = {
        "train": Shelf(
            categories=for_train,
            targets=tuple(name for name in for_train if name in seen),
            sounds=train_sounds,
            backgrounds=train_grounds,
        ),
        "test_s": Shelf(
            categories=known if enough else for_test,
            targets=tuple(known),
            sounds=_without(test_sounds, hidden) if enough else test_sounds,
            backgrounds=test_grounds,
        ),
        "test_u": Shelf(
            categories=for_test,
            targets=tuple(name for name in for_test if name in hidden),
            sounds=test_sounds,
            backgrounds=test_grounds,
        ),
    }
    chosen = tuple(wanted)
    for split in chosen:
        _require(split, shelves[split], assets)
    return {split: shelves[split] for split in chosen}


def _rank(names: Iterable[str]) -> list[str]:
    """Names in the order of their hashes."""
    return sorted(names, key=lambda name: hashlib.blake2b(name.encode("utf-8", "surrogatepass")).digest())


def _divided(names: Iterable[str], share: float) -> tuple[Names, Names]:
    """Names for training and a share of them for tests, each in the order given; one at least of either, if it can."""
    ordered = tuple(names)
    count = min(len(ordered) - 1, max(1, round(share * len(ordered)))) if len(ordered) > 1 else 0
    test = frozenset(_rank(ordered)[:count])
    return tuple(name for name in ordered if name not in test), tuple(name for name in ordered if name in test)


def _by_instance(groups: Mapping[str, Names], *, unseen: frozenset[str]) -> tuple[dict[str, Names], dict[str, Names]]:
    train: dict[str, Names] = {}
    test: dict[str, Names] = {}
    for name, instances in groups.items():
        first, second = ((), instances) if name in unseen else _divided(instances, _TEST_SHARE)
        if first:
            train[name] = first
        if second:
            test[name] = second
    return train, test


def _without(groups: Mapping[str, Names], names: frozenset[str]) -> dict[str, Names]:
    return {name: instances for name, instances in groups.items() if name not in names}


def _require(split: Split, shelf: Shelf, assets: Assets) -> None:
    if shelf.targets and shelf.backgrounds:
        return
    categories = assets.looks.instances()
    several = sum(len(instances) > 1 for instances in categories.values())
    needs = {
        "train": "one category and one background",
        "test_s": "a seen category of two instances or more, and two backgrounds",
        "test_u": "two categories and two backgrounds",
    }[split]
    raise UsageError(
        f"the assets are too few for the split {split}: {len(categories)} categories, {several} of them with two or "
        f"more instances, {len(assets.looks.backgrounds())} backgrounds",
        expected=needs,
        hint="add cut-outs or backgrounds, or make another split: --split train",
    )
