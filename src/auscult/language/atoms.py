"""The simple predicates that suit a scene: of what is seen in it, and of what is heard in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from auscult.language.facts import Facts, Voice
from auscult.language.forms import PLACES, TIME_RELATIONS, Form

ANYTHING: Final[Form] = {"op": "anything"}
SOUNDS: Final[Form] = {"op": "sounds"}
STILL: Final[Form] = {"op": "motion", "word": "still"}

_GENERIC_SOUNDS: Final = frozenset({"sound", "sounds", "noise", ""})
_MOST_COUNTED: Final = 6


def both(*parts: Form) -> Form:
    """Forms joined; one alone stays as it is, and ``anything`` adds nothing."""
    kept = [part for part in parts if part["op"] != "anything"]
    return {"op": "and", "of": kept} if len(kept) > 1 else kept[0] if kept else ANYTHING


def no(form: Form) -> Form:
    """A form denied."""
    return {"op": "not", "of": form}


def most(quality: str, form: Form) -> Form:
    """The one that has most of a quality among those."""
    return {"op": "most", "by": quality, "of": form}


def relation(how: str, form: Form) -> Form:
    """What stands so to the one thing that the form names."""
    return {"op": "relation", "how": how, "to": form}


def categories(facts: Facts) -> list[Form]:
    """The categories that occur."""
    return _words("category", (thing.category for thing in facts.things))


def colours(facts: Facts) -> list[Form]:
    """The colour words that occur."""
    return _words("colour", (thing.colour for thing in facts.things))


def textures(facts: Facts) -> list[Form]:
    """The textures that occur; plain is not said where all are."""
    return _words("texture", (thing.texture for thing in facts.things))


def motions(facts: Facts) -> list[Form]:
    """The ways of moving that occur, and whether a thing moves at all; none for a photograph."""
    if facts.duration_s <= 0:
        return []
    return [*_words("motion", (thing.motion for thing in facts.things)), no(STILL)]


def places() -> list[Form]:
    """The parts of the picture."""
    return [{"op": "place", "word": word} for word in PLACES]


def covers() -> list[Form]:
    """What hides and is hidden."""
    return [{"op": "hidden"}, {"op": "hiding"}, no({"op": "hidden"})]


def seen(facts: Facts) -> list[Form]:
    """Everything simple that is seen, and the denial of what is a thing's own."""
    own = [*categories(facts), *colours(facts)]
    return [*own, *map(no, own), *textures(facts), *motions(facts), *places(), *covers()]


def heard(facts: Facts) -> list[Form]:
    """Everything simple that is heard."""
    if facts.silent:
        return []
    return [SOUNDS, no(SOUNDS), *voices(facts), *counts(), {"op": "throughout"}, *to_voices(facts)]


def voices(facts: Facts) -> list[Form]:
    """The kinds of sound that occur in the picture or outside it."""
    return [{"op": "voice", "noun": noun, "verb": verb} for noun, verb in _kinds(facts)]


def counts() -> list[Form]:
    """How often a thing may sound."""
    return [{"op": "times", "count": count} for count in range(1, _MOST_COUNTED + 1)]


def to_voices(facts: Facts) -> list[Form]:
    """Order and overlap with each voice that is alone of its kind, and what is not heard at the same time."""
    found: list[Form] = []
    for noun, verb in _kinds(facts):
        for how in TIME_RELATIONS:
            form: dict[str, Any] = {"op": "heard", "how": how, "noun": noun, "verb": verb}
            found += [form, no(form)]
    return found


def _kinds(facts: Facts) -> list[tuple[str, str]]:
    found = {(voice.noun, voice.verb) for voice in _all_voices(facts)}
    return sorted(kind for kind in found if not _GENERIC_SOUNDS.intersection(kind))


def _all_voices(facts: Facts) -> Iterator[Voice]:
    yield from (thing.voice for thing in facts.things if thing.voice is not None)
    yield from facts.elsewhere


def _words(name: str, values: Iterable[str | None]) -> list[Form]:
    return [{"op": name, "word": value} for value in sorted({value for value in values if value is not None})]
