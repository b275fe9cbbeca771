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
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from auscult.errors import InputError
from auscult.language.facts import MOTIONS

Form: TypeAlias = Mapping[str, Any]

PLACES: Final = ("left", "right", "top", "bottom", "centre")
SIGHT_QUALITIES: Final = ("large", "small", "left", "right", "high", "low")
SOUND_QUALITIES: Final = ("early", "late", "short_lived", "lasting", "loud", "quiet", "frequent", "long")
SIGHT_RELATIONS: Final = (
    "left_of",
    "right_of",
    "above",
    "below",
    "larger",
    "smaller",
    "in_front_of",
    "behind",
    "same_colour",
    "same_category",
    "same_motion",
    "nearest",
    "farthest",
)
TIME_RELATIONS: Final = ("after", "before", "with")
SOUND_RELATIONS: Final = (*TIME_RELATIONS, "louder", "quieter")

MOST_NESTING: Final = 8
MOST_PARTS: Final = 6
MOST_CHARS: Final = 255
MOST_TIMES: Final = 1000

_PLAIN: Final = frozenset({"anything", "hidden", "hiding", "sounds", "throughout"})
_WORDS: Final[Mapping[str, tuple[str, ...] | None]] = {
    "category": None,
    "colour": None,
    "texture": None,
    "motion": MOTIONS,
    "place": PLACES,
}


def read(form: object) -> Form:
    """Check a form that came from outside, and give it back.

    Raises:
        InputError: It is no form of this module, holds keys that do not belong, or is too long or too deep.
    """
    return _read(form, MOST_NESTING)


def _read(form: object, depth: int) -> Form:
    if depth == 0:
        raise _wrong("a logical form nests too deeply", f"at most {MOST_NESTING} levels")
    if not isinstance(form, Mapping):
        raise _wrong("a logical form is no object", 'an object such as {"op": "sounds"}')
    name = form.get("op")
    if not isinstance(name, str):
        raise _wrong("a logical form has no 'op'", "a text such as 'category'")
    if name in _PLAIN:
        return _with(form, set())
    if name in _WORDS:
        return _word(_with(form, {"word"}), "word", _WORDS[name])
    reader = {"and": _and, "not": _not, "most": _most, "relation": _relation}.get(name)
    if reader is not None:
        return reader(form, depth)
    return _sound(form, name)


def _sound(form: Form, name: str) -> Form:
    if name == "voice":
        return _word(_word(_with(form, {"noun", "verb"}), "noun"), "verb")
    if name == "heard":
        _word(_with(form, {"how", "noun", "verb"}), "how", TIME_RELATIONS)
        return _word(_word(form, "noun"), "verb")
    if name != "times":
        raise _wrong(f"there is no logical form {name[:40]!r}", "one of those in auscult.language.forms")
    count = _with(form, {"count"})["count"]
    if type(count) is not int or not 1 <= count <= MOST_TIMES:
        raise _wrong("'count' of a logical form is out of bounds", f"a whole number from 1 to {MOST_TIMES}")
    return form


def _and(form: Form, depth: int) -> Form:
    parts = _with(form, {"of"})["of"]
    if not isinstance(parts, list | tuple) or not 1 <= len(parts) <= MOST_PARTS:
        raise _wrong("'of' of an 'and' is no list of forms", f"1 to {MOST_PARTS} forms")
    for part in parts:
        _read(part, depth - 1)
    return form


def _not(form: Form, depth: int) -> Form:
    _read(_with(form, {"of"})["of"], depth - 1)
    return form


def _most(form: Form, depth: int) -> Form:
    _word(_with(form, {"by", "of"}), "by", (*SIGHT_QUALITIES, *SOUND_QUALITIES))
    _read(form["of"], depth - 1)
    return form


def _relation(form: Form, depth: int) -> Form:
    _word(_with(form, {"how", "to"}), "how", (*SIGHT_RELATIONS, *SOUND_RELATIONS))
    _read(form["to"], depth - 1)
    return form


def _with(form: Form, keys: set[str]) -> Form:
    if set(form) != {"op"} | keys:
        found = ", ".join(sorted(str(key)[:20] for key in form)[:10])
        raise _wrong(
            f"the logical form {str(form['op'])[:20]!r} has the keys {found}", ", ".join(sorted({"op"} | keys))
        )
    return form


def _word(form: Form, key: str, allowed: tuple[str, ...] | None = None) -> Form:
    value = form[key]
    if not isinstance(value, str) or not 0 < len(value) <= MOST_CHARS or (allowed is not None and value not in allowed):
        expected = f"a word of at most {MOST_CHARS} letters" if allowed is None else f"one of: {', '.join(allowed)}"
        raise _wrong(f"{key!r} of a logical form is {str(value)[:40]!r}", expected)
    return form


def _wrong(message: str, expected: str) -> InputError:
    return InputError(message, expected=expected, hint="make the scene's expressions anew")
