"""Recipes that are drawn, one for each item: the release's mix, and what can occur in a place.

The rules stand in ``data/occurrence.json``, each with its reason. Places compose: ``street+night`` is both. A
perturbation without rules can be wherever its metadata says that it occurs, and with everything. Nothing that a person
asks for is refused by these rules; what is drawn keeps to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from auscult.errors import NothingToDo, UsageError
from auscult.rng import generator, pick
from auscult.shipped import read_shipped
from auscult.stress.perturbation import strength_of
from auscult.stress.recipe_parts import (
    LEVELS,
    MORE,
    PAPER,
    ROOMS,
    SCHEDULES,
    STATIC,
    Recipe,
    Schedule,
    base_of,
    full_name,
    full_names,
    load_stressors,
    no_such,
    recipe_of,
    room_of,
)

_SIDES: Final = frozenset({"indoors", "outdoors", "cabin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    places: Mapping[str, tuple[str, ...]]
    never: Mapping[str, Mapping[str, str]]
    apart: Mapping[frozenset[str], str]


@cache
def _rules() -> _Rules:
    rules = read_shipped("stress/data/occurrence.json")
    return _Rules(
        places=MappingProxyType({name: tuple(wider) for name, wider in rules["places"].items()}),
        never=MappingProxyType({name: MappingProxyType(reasons) for name, reasons in rules["never"].items()}),
        apart=MappingProxyType({frozenset((first, second)): reason for first, second, reason in rules["apart"]}),
    )


def places() -> tuple[str, ...]:
    """The places that are known."""
    return tuple(_rules().places)


def allowed(name: str, place: str) -> bool:
    """Whether a perturbation, by its full or a short name, can occur in one of ``places()``, or several with a plus.

    Example:
        >>> allowed("vision.gaussian_noise", "office+night")
        True
    """
    return not why_not(name, place)


def why_not(name: str, place: str) -> str:
    """Why a perturbation cannot occur in a place, in words; empty where it can. As ``allowed``."""
    return barred(full_name(name), tags_of(place))


def barred(full: str, tags: frozenset[str]) -> str:
    """Why a perturbation, by its full name, cannot occur where these tags hold; empty where it can."""
    never = _rules().never.get(_kind(full))
    if never is not None:
        return next((reason for tag, reason in never.items() if tag in tags), "")
    occurs = load_stressors([full])[full].meta.occurs
    if occurs and tags & _SIDES and not tags & set(occurs):
        return f"it occurs {' or '.join(occurs)} only"
    return ""


def compatible(first: str, second: str) -> bool:
    """Whether two perturbations can occur together, in either order.

    All are, but the pairs that the rules keep apart, and variants of one perturbation.
    """
    return not apart(*full_names([first, second]))


def apart(first: str, second: str) -> str:
    """Why two perturbations, by their full names, cannot occur together; empty where they can."""
    kinds = frozenset((_kind(first), _kind(second)))
    return "they are variants of one perturbation" if len(kinds) == 1 else _rules().apart.get(kinds, "")


def _kind(full: str) -> str:
    """The room and the short name, without what tells a variant: ``vision.fog``."""
    return f"{room_of(full)}.{base_of(full).removesuffix('_r2bench')}"


def tags_of(place: str) -> frozenset[str]:
    """The tags of a place: itself and the wider places it belongs to; an UnknownName where it is not known."""
    wider = _rules().places
    tags: set[str] = set()
    for tag in (part.strip() for part in place.split("+")):
        if tag not in wider:
            raise no_such("place", tag, wider)
        tags |= {tag, *wider[tag]}
    return frozenset(tags)


MOST: Final = 2
"""How many perturbations are drawn for one item at most (R2-Bench, Sec. 3.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A way to draw a recipe for each item."""

    name: str  # `release`, `r2bench` or `paper`
    summary: str  # one line: what it draws
    schedule: Schedule  # how strength goes through a clip
    pictures: tuple[str, ...]  # what is drawn of pictures, short names
    both: float = 0.2  # the share of items with picture and guidance perturbed
    picture_only: float = 0.4  # the share with the picture perturbed only; the guidance only in the rest

    def recipe(
        self,
        *,
        seed: int,
        key: str,
        guidance: str | None = "sentences",
        severity: float | str | None = None,
        place: str | None = None,
    ) -> Recipe:
        """Draw the recipe of one item.

        Args:
            seed: The run's seed.
            key: The item's id.
            guidance: What names the target to the model: ``sentences`` or ``sound``; None where nothing does: then
                the picture is always perturbed.
            severity: 0..5, ``low``, ``medium`` or ``high``; drawn among 1, 3 and 5 where left out.
            place: Draw only what can occur there; the release asks for none.

        Raises:
            UnknownName: No such place.
            UsageError: No such guidance, or the severity is out of range.
            NothingToDo: Nothing can occur in that place.
        """
        if guidance not in {None, "sentences", "sound"}:
            raise UsageError(f"the guidance is {guidance!r:.40}", expected="sentences, sound or None")
        rng = generator(seed, "preset", self.name, key)
        share, level = rng.uniform(), pick(rng, LEVELS)
        strength = level if severity is None else strength_of(severity)
        names: list[str] = []
        if guidance is None or share < self.both + self.picture_only:
            pool = _pool("vision", self.pictures, place)
            names += pool if self.schedule.draws_types else [pick(rng, pool)]
        if guidance is not None and not self.both <= share < self.both + self.picture_only:
            pool = _pool(guidance, PAPER[guidance], place)
            fitting = [name for name in pool if place is None or not any(apart(name, other) for other in names)]
            names.append(pick(rng, fitting or pool))
        return recipe_of(names, strength, schedule=self.schedule)


def preset(name: str) -> Preset:
    """A preset by its name; an UnknownName where there is no such."""
    if name in PRESETS:
        return PRESETS[name]
    raise no_such("preset", name, PRESETS)


def drawn(
    rooms: Sequence[str] = ("vision",),
    *,
    seed: int,
    key: str,
    most: int = MOST,
    place: str | None = None,
    severity: float | str | None = None,
    schedule: Schedule = STATIC,
) -> Recipe:
    """Draw a recipe of one to ``most`` perturbations that can occur together, and in a place.

    Offered in Python only: a command sweeps listed kinds, or draws from a preset.

    Args:
        rooms: Where from: the paper's kinds of each, and the kinds of timing.
        seed: The run's seed.
        key: The item's id.
        most: At most so many.
        place: One of ``places()``, or several with a plus; None for anywhere.
        severity: 0..5, ``low``, ``medium`` or ``high``; drawn among 1, 3 and 5 where left out.
        schedule: How strength goes through a clip; not one that draws types.

    Raises:
        UnknownName: No such place.
        UsageError: No such room, ``most`` is below 1, or the schedule draws types.
        NothingToDo: Nothing can occur in that place.
    """
    if not rooms or not set(rooms) <= set(ROOMS):
        raise UsageError(f"rooms are {', '.join(rooms) or 'none'}", expected=f"some of: {', '.join(ROOMS)}")
    if most < 1:
        raise UsageError(f"at most {most} perturbations", expected="1 or more")
    if schedule.draws_types:
        raise UsageError(f"schedule {schedule.name} draws types itself", hint="take the preset `paper`")
    rng = generator(seed, "drawn", key)
    level = pick(rng, LEVELS)
    pool = [name for room in rooms for name in _pool(room, PAPER[room], place, refuse=False)]
    names: list[str] = []
    for _ in range(int(rng.integers(1, most + 1))):
        fitting = [name for name in pool if not any(apart(name, other) for other in names)]
        names += [pick(rng, fitting)] if fitting else []
    if not names:
        raise NothingToDo(f"nothing of {', '.join(rooms)} occurs in {place}")
    return recipe_of(names, level if severity is None else strength_of(severity), schedule=schedule)


def _pool(room: str, kinds: Sequence[str], place: str | None, *, refuse: bool = True) -> list[str]:
    names = full_names(kinds, [room])
    possible = [name for name in names if place is None or not barred(name, tags_of(place))]
    if refuse and not possible:
        raise NothingToDo(f"nothing of {room} occurs in {place}")
    return possible


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset(
                name="release",
                summary="20 % of items with picture and guidance perturbed, 40 % each alone; one type for a clip",
                schedule=STATIC,
                pictures=(*PAPER["vision"], *MORE),
            ),
            Preset(
                name="r2bench",
                summary="the release's mix; the type stays in a clip, the severity is drawn for every frame",
                schedule=SCHEDULES["r2bench"],
                pictures=(*PAPER["vision"], *MORE),
            ),
            Preset(
                name="paper",
                summary="the release's shares over the paper's 16 types; type and severity are drawn for every frame",
                schedule=SCHEDULES["paper"],
                pictures=PAPER["vision"],
            ),
        )
    }
)
