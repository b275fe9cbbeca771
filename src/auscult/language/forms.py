"""Logical forms: what an expression says of a thing, as JSON values, and the strict reading of them.

A form is true, false or unclear of each thing of a scene::

    {"op": "anything"}
    {"op": "category" | "colour" | "texture" | "motion" | "place", "word": WORD}
    {"op": "hidden"} | {"op": "hiding"}                 other things hide a part of it; it hides a part of another
    {"op": "sounds"} | {"op": "throughout"}             ever; all the time
    {"op": "voice", "noun": NOUN, "verb": VERB}         sounds in this way
    {"op": "times", "count": N}                         sounds in N separate events
    {"op": "and", "of": [FORM, FORM, ...]} | {"op": "not", "of": FORM}
    {"op": "most", "by": QUALITY, "of": FORM}           the one that has most of it among those
    {"op": "relation", "how": RELATION, "to": FORM}     stands so to the one thing that the form names
    {"op": "heard", "how": after | before | with, "noun": NOUN, "verb": VERB}    to the one voice that is heard so

Forms may come from files, and files come from strangers: nesting, lengths and words are bounded.

The facts that referring expressions use: things, where they are, how they move, when they sound.

Facts hold no pixel and no sample. They come with the scene or its annotation; the grammar only reads them. Places
are shares of the picture (x 0 left to 1 right, y 0 top to 1 bottom), times are seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from msgspec import Meta

from auscult.errors import InputError

Motion: TypeAlias = Literal["still", "left", "right", "up", "down", "nearer", "away", "to_and_fro"]

MOTIONS: Final[tuple[Motion, ...]] = get_args(Motion)

TimeSpan: TypeAlias = tuple[Annotated[float, Meta(ge=0.0)], Annotated[float, Meta(ge=0.0)]]
"""Start and end in seconds, start < end."""

_Extent: TypeAlias = tuple[Annotated[float, Meta(ge=-1.0, le=2.0)], Annotated[float, Meta(ge=-1.0, le=2.0)]]
_Word: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00]+$", max_length=100_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """How a thing sounds."""

    noun: _Word  # what is heard, as a noun: `siren`, `bark`
    verb: _Word  # what the thing does, third person: `wails`, `barks`
    spans: tuple[TimeSpan, ...]  # when it sounds; ordered, apart from one another, not empty
    level_db: Annotated[float, Meta(ge=-300.0, le=0.0)]  # how loud it arrives, relative to full scale
    countable: bool = True  # each span is heard as one sound, so that "three times" can be said of three spans


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneObject:
    """One object of a scene."""

    id: _Word  # unique within the scene
    # a countable noun, singular: `bell`, `fire engine`; or what one thing is called in the plural: `scissors`
    category: _Word
    colour: str | None = None  # a basic colour word where one fits, else None
    texture: str | None = None  # `plain`, `striped`, `spotted`, `checked`, ... where one fits, else None
    x: _Extent  # lowest and highest x of its centre over the frames that show it
    y: _Extent  # lowest and highest y
    area: _Extent  # lowest and highest share of the picture that it covers
    motion: Motion | None = None  # how it moves through the clip; None where that cannot be said plainly
    depth: Annotated[int, Meta(ge=0, le=64)] | None = None  # from the viewer, 0 in front; None where not known
    covered_by: tuple[str, ...] = ()  # ids of the things that hide a visible part of it at some time
    hidden: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0  # the largest share that others hide at one time
    voice: Voice | None = None  # how it sounds; None for a silent thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A whole scene as the grammar sees it."""

    things: Annotated[tuple[SceneObject, ...], Meta(max_length=64)]  # the objects in the picture
    duration_s: Annotated[float, Meta(ge=0.0, le=86_400.0)]  # length of the clip; 0 for a photograph
    elsewhere: Annotated[tuple[Voice, ...], Meta(max_length=64)] = ()  # from outside the picture, of no thing
    silent: bool = False  # there is no sound track at all, so nothing may be said of sound or silence
    # the picture may show more than `things`, as where they were put into a photograph. What is unlisted makes no
    # sound, does not move, lies behind, and is of none of the categories that are listed
    unlisted: bool = False


Form: TypeAlias = Mapping[str, Any]

PLACES: Final = ("left", "right", "top", "bottom", "centre")
SIGHT_QUALITIES: Final = ("large", "small", "left", "right", "high", "low")
SOUND_QUALITIES: Final = ("early", "late", "short_lived", "lasting", "loud", "quiet", "frequent", "long")
SIGHT_RELATIONS: Final = (
    *("left_of", "right_of", "above", "below", "larger", "smaller", "in_front_of", "behind"),
    *("same_colour", "same_category", "same_motion", "nearest", "farthest"),
)
TIME_RELATIONS: Final = ("after", "before", "with")
SOUND_RELATIONS: Final = (*TIME_RELATIONS, "louder", "quieter")

MOST_NESTING: Final = 8
MOST_PARTS: Final = 6
MOST_CHARS: Final = 255
MOST_TIMES: Final = 1000

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("anything", "hidden", "hiding", "sounds", "throughout"), ()),
    **dict.fromkeys(("category", "colour", "texture", "motion", "place"), ("word",)),
    "voice": ("noun", "verb"),
    "heard": ("how", "noun", "verb"),
    "times": ("count",),
    "and": ("of",),
    "not": ("of",),
    "most": ("by", "of"),
    "relation": ("how", "to"),
}
_WORDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("motion", "word"): MOTIONS,
    ("place", "word"): PLACES,
    ("heard", "how"): TIME_RELATIONS,
    ("most", "by"): (*SIGHT_QUALITIES, *SOUND_QUALITIES),
    ("relation", "how"): (*SIGHT_RELATIONS, *SOUND_RELATIONS),
}


def read(form: object) -> Form:
    """Check a form from outside and return it; an InputError where it is malformed, too long or too deep."""
    return _read(form, MOST_NESTING)


def _read(form: object, depth: int) -> Form:
    if depth == 0:
        raise _wrong("a logical form nests too deeply", f"at most {MOST_NESTING} levels")
    if not isinstance(form, Mapping):
        raise _wrong("a logical form is no object", 'an object such as {"op": "sounds"}')
    name = form.get("op")
    if not isinstance(name, str):
        raise _wrong("a logical form has no 'op'", "a text such as 'category'")
    if name not in _KEYS:
        raise _wrong(f"there is no logical form {name[:40]!r}", "one of those in auscult.language.forms")
    if set(form) != {"op", *_KEYS[name]}:
        keys = ", ".join(sorted(str(key)[:20] for key in form)[:10])
        raise _wrong(f"the logical form {name!r} has the keys {keys}", ", ".join(sorted({"op", *_KEYS[name]})))
    for key in _KEYS[name]:
        _check_part(form, key, depth)
    return form


def _check_part(form: Form, key: str, depth: int) -> None:
    """Check the value of a key: forms, a count, or a word."""
    name, value = form["op"], form[key]
    if name == "and":
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_PARTS:
            raise _wrong("'of' of an 'and' is no list of forms", f"1 to {MOST_PARTS} forms")
        for part in value:
            _read(part, depth - 1)
    elif key in {"of", "to"}:
        _read(value, depth - 1)
    elif key == "count":
        if type(value) is not int or not 1 <= value <= MOST_TIMES:
            raise _wrong("'count' of a logical form is out of bounds", f"a whole number from 1 to {MOST_TIMES}")
    else:
        allowed = _WORDS.get((name, key))
        if not isinstance(value, str) or not 0 < len(value) <= MOST_CHARS or (allowed and value not in allowed):
            expected = f"one of: {', '.join(allowed)}" if allowed else f"a word of at most {MOST_CHARS} letters"
            raise _wrong(f"{key!r} of a logical form is {str(value)[:40]!r}", expected)


def _wrong(message: str, expected: str) -> InputError:
    return InputError(message, expected=expected, hint="make the scene's expressions anew")


ANYTHING: Final[Form] = {"op": "anything"}
SOUNDS: Final[Form] = {"op": "sounds"}
STILL: Final[Form] = {"op": "motion", "word": "still"}

_GENERIC_SOUNDS: Final = frozenset({"sound", "sounds", "noise", ""})
_MOST_COUNTED: Final = 6


def both(*parts: Form) -> Form:
    """The conjunction of forms; a single form is returned as it is, and ``anything`` is dropped."""
    remaining = [part for part in parts if part["op"] != "anything"]
    return {"op": "and", "of": remaining} if len(remaining) > 1 else remaining[0] if remaining else ANYTHING


def no(form: Form) -> Form:
    """The negation of a form."""
    return {"op": "not", "of": form}


def most(quality: str, form: Form) -> Form:
    """The one that has most of a quality among those."""
    return {"op": "most", "by": quality, "of": form}


def relation(how: str, form: Form) -> Form:
    """What is in this relation to the one thing that the form names."""
    return {"op": "relation", "how": how, "to": form}


def categories(facts: Facts) -> list[Form]:
    """The categories that occur."""
    return _words("category", (thing.category for thing in facts.things))


def colours(facts: Facts) -> list[Form]:
    """The colour words that occur."""
    return _words("colour", (thing.colour for thing in facts.things))


def textures(facts: Facts) -> list[Form]:
    """The textures that occur."""
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
    """Predicates of occlusion: hidden, hiding, not hidden."""
    return [{"op": "hidden"}, {"op": "hiding"}, no({"op": "hidden"})]


def seen(facts: Facts) -> list[Form]:
    """All simple visual predicates, and the negations of category and colour."""
    deniable = [*categories(facts), *colours(facts)]
    return [*deniable, *map(no, deniable), *textures(facts), *motions(facts), *places(), *covers()]


def heard(facts: Facts) -> list[Form]:
    """All simple predicates of sound."""
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
    forms: list[Form] = []
    for noun, verb in _kinds(facts):
        for how in TIME_RELATIONS:
            form: dict[str, Any] = {"op": "heard", "how": how, "noun": noun, "verb": verb}
            forms += [form, no(form)]
    return forms


def _kinds(facts: Facts) -> list[tuple[str, str]]:
    voices = [*(thing.voice for thing in facts.things if thing.voice is not None), *facts.elsewhere]
    kinds = {(voice.noun, voice.verb) for voice in voices}
    return sorted(kind for kind in kinds if not _GENERIC_SOUNDS.intersection(kind))


def _words(name: str, values: Iterable[str | None]) -> list[Form]:
    return [{"op": name, "word": value} for value in sorted({value for value in values if value is not None})]


Sense: TypeAlias = Literal["sight", "sound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A referring expression."""

    text: str  # the sentence, lower case, without a final stop
    family: str  # what kind of reason singles the target out: `colour`, `position`, `order_of_sounds`, ...
    wording: str  # which way of saying it was taken, unique within the family
    target: str | None  # id of the one thing it names; None for a null expression, which names nothing
    needs: frozenset[Sense]  # the senses without which it cannot be resolved among the scene's things
    form: Mapping[str, Any]  # the logical form as JSON values, from which the proof can be repeated
