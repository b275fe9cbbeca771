"""What cannot be in a place, and what cannot be together: no snow indoors, no reverberation on a field.

The rules stand in ``data/occurrence.json``, each with its reason. Places compose: ``street+night`` is both. A
perturbation without rules can be wherever its metadata says that it occurs, and with everything. Nothing that a person
asks for is refused by these rules; what is drawn keeps to them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from auscult.errors import UnknownName
from auscult.stress.recipe_parts import base_of, crew_of, full_name, full_names, room_of

_VARIANTS: Final = ("_r2bench",)
_SIDES: Final = frozenset({"indoors", "outdoors", "cabin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    places: Mapping[str, tuple[str, ...]]
    never: Mapping[str, Mapping[str, str]]
    apart: Mapping[frozenset[str], str]


@cache
def _rules() -> _Rules:
    held = json.loads(files("auscult.stress").joinpath("data/occurrence.json").read_text(encoding="utf-8"))
    return _Rules(
        places=MappingProxyType({name: tuple(wider) for name, wider in held["places"].items()}),
        never=MappingProxyType({name: MappingProxyType(told) for name, told in held["never"].items()}),
        apart=MappingProxyType({frozenset((first, second)): why for first, second, why in held["apart"]}),
    )


def places() -> tuple[str, ...]:
    """The places that are known."""
    return tuple(_rules().places)


def allowed(name: str, place: str) -> bool:
    """Whether a perturbation can occur in a place.

    Args:
        name: ``vision.snow.v1``, or a short form such as ``snow``.
        place: One of ``places()``, or several with a plus.

    Raises:
        UnknownName: No such perturbation or place.

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
        return next((why for tag, why in never.items() if tag in tags), "")
    occurs = crew_of([full])[full].meta.occurs
    if occurs and tags & _SIDES and not tags & set(occurs):
        return f"it occurs {' or '.join(occurs)} only"
    return ""


def compatible(first: str, second: str) -> bool:
    """Whether two perturbations can occur together, in either order.

    A perturbation goes with every other but those it is told apart from, and but variants of itself.

    Raises:
        UnknownName: No such perturbation.
    """
    return not why_apart(first, second)


def why_apart(first: str, second: str) -> str:
    """Why two perturbations cannot occur together, in words; empty where they can."""
    return apart(*full_names([first, second]))


def apart(first: str, second: str) -> str:
    """Why two perturbations, by their full names, cannot occur together; empty where they can."""
    one, other = _kind(first), _kind(second)
    return "they are the same thing" if one == other else _rules().apart.get(frozenset((one, other)), "")


def _kind(full: str) -> str:
    base = base_of(full)
    for variant in _VARIANTS:
        base = base.removesuffix(variant)
    return f"{room_of(full)}.{base}"


def tags_of(place: str) -> frozenset[str]:
    """All that is said of a place: itself and what it is a case of.

    Raises:
        UnknownName: No such place.
    """
    known = _rules().places
    found: set[str] = set()
    for one in (part.strip() for part in place.split("+")):
        if one not in known:
            close = difflib.get_close_matches(one, list(known), n=2)
            raise UnknownName(
                f"there is no place {one!r:.60}",
                expected=f"one of: {', '.join(known)}",
                hint=f"did you mean {' or '.join(close)}?" if close else "",
            )
        found |= {one, *known[one]}
    return frozenset(found)
