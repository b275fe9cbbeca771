"""From a sentence to what it wishes of a thing: known words in their order, denials, and what other things are named.

Nothing is parsed beyond that: what stands after a relation ("left of ...") is said of the thing it leads to, a denial
holds for the next known words, and all else is said of what is meant.

Phrases of place, motion, texture and relation are those that `language` says them with, in the singular and the plural;
beside them stand the words people use for the same. Words are matched exactly, so that a misspelt word is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from auscult.language.forms import (
    MOTIONS,
    PLACES,
    SIGHT_RELATIONS,
    SOUND_RELATIONS,
    SOUNDS,
    STILL,
    TIME_RELATIONS,
    Form,
    no,
)
from auscult.language.lexicon import of_many
from auscult.language.words import ways

WordKind: TypeAlias = Literal[
    "colour",
    "light",
    "place",
    "size",
    "shape",
    "texture",
    "motion",
    "most",
    "from",
    "relation",
    "not",
    "order",
    "end",
    "nothing",
]
Tokens: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What some words say."""

    # ``relation`` leads to another thing, ``not`` denies what comes next, ``order`` counts (``word`` is the number),
    # ``from`` is the side one counts from, ``end`` ends a denial, and ``nothing`` is known to say nothing of what is
    # seen
    kind: WordKind
    word: str = ""  # which one of its kind


_COLOURS: Final[Mapping[str, str]] = {
    "red": "red crimson scarlet maroon reddish ruby",
    "orange": "orange",
    "yellow": "yellow golden gold yellowish",
    "green": "green greenish olive",
    "blue": "blue navy turquoise bluish azure cyan teal",
    "purple": "purple violet lilac mauve lavender",
    "pink": "pink pinkish magenta rose",
    "brown": "brown beige tan brownish chestnut wooden khaki",
    "white": "white whitish cream ivory",
    "grey": "grey gray silver greyish grayish metallic",
    "black": "black blackish",
}
_LIGHTS: Final[Mapping[str, str]] = {
    "dark": "dark darker darkest shadowy",
    "light": "light pale bright lighter brighter palest lightest brightest",
    "vivid": "colourful colorful vivid",
}
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "left": ("left", "left hand", "lefthand", "far left", "at the left", "to the left", "left side"),
    "right": ("right", "right hand", "righthand", "far right", "at the right", "to the right", "right side"),
    "top": ("top", "upper", "up", "above", "on top", "high up", "in the sky"),
    "bottom": ("bottom", "lower", "low down", "down", "below", "on the ground", "on the floor"),
    "centre": ("middle", "center", "centre", "central", "centred", "centered", "in between"),
    "edge": ("edge", "side", "border"),
    "corner": ("corner",),
    "near": ("near", "close", "closer", "foreground", "front", "in front", "nearer", "up close"),
    "far": ("far", "distant", "background", "back", "behind", "distance", "far away", "farther", "further"),
}
_SIZES: Final[Mapping[str, str]] = {
    "large": "big large huge giant enormous great bigger larger main",
    "small": "small little tiny smaller minor",
    "tall": "tall taller high",
    "short": "short shorter low",
    "wide": "wide broad wider",
}
_SHAPES: Final[Mapping[str, str]] = {
    "round": "round circular spherical ball disc disk",
    "thin": "thin narrow slim long elongated slender thinner longer skinny",
    "square": "square rectangular boxy box",
}
_TEXTURES: Final[Mapping[str, str]] = {
    "plain": "plain smooth uniform solid",
    "patterned": "patterned striped spotted checked speckled dotted checkered stripes spots chequered stripy textured",
}
_MOTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "still": ("still", "standing", "sitting", "parked", "lying", "resting", "static", "unmoving"),
    "moving": (
        *("running", "walking", "driving", "riding", "jumping", "flying", "gliding", "swimming", "climbing"),
        *("rolling", "dancing", "spinning", "vaulting", "racing", "sliding", "passing", "turning", "falling"),
    ),
    "fast": ("fast", "quick", "quickly", "rapidly", "speeding", "faster"),
    "slow": ("slow", "slowly", "slower"),
    "left": ("moving left", "leftwards", "leftward", "heading left", "moves left", "towards the left"),
    "right": ("moving right", "rightwards", "rightward", "heading right", "moves right", "towards the right"),
    "up": ("upwards", "upward", "moves up", "ascending"),
    "down": ("downwards", "downward", "moves down", "descending"),
}
_MOST: Final[Mapping[str, tuple[str, ...]]] = {
    "large": ("largest", "biggest", "is bigger than all the others", "are bigger than all the others"),
    "small": ("smallest", "littlest", "tiniest", "is smaller than all the others", "are smaller than all the others"),
    "left": (
        *("leftmost", "left most", "farthest to the left", "farthest left", "furthest to the left", "furthest left"),
    ),
    "right": (
        *("rightmost", "right most", "farthest to the right", "farthest right", "furthest to the right"),
        "furthest right",
    ),
    "high": ("highest", "topmost", "uppermost", "highest up", "nearest to the top"),
    "low": ("lowest", "bottommost", "lowermost", "lowest down", "nearest to the bottom"),
    "tall": ("tallest",),
    "short": ("shortest",),
    "wide": ("widest", "broadest"),
    "thin": ("thinnest", "narrowest", "slimmest"),
    "near": ("nearest", "closest", "frontmost", "nearest to the viewer", "closest to the camera"),
    "far": ("farthest", "furthest", "farthest away", "furthest away", "most distant"),
    "central": ("nearest to the middle", "nearest to the centre", "most central"),
    "fast": ("fastest", "quickest"),
    "slow": ("slowest",),
}
_SIDES: Final[Mapping[str, tuple[str, ...]]] = {
    "left": ("from the left", "from left", "counting from the left"),
    "right": ("from the right", "from right", "counting from the right"),
    "high": ("from the top", "from top", "from above"),
    "low": ("from the bottom", "from bottom", "from below"),
    "near": ("from the front", "from front"),
    "far": ("from the back", "from back"),
}
_ORDER: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_RELATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "left_of": ("on the left of", "left from"),
    "right_of": ("on the right of", "right from"),
    "above": ("above the", "over the", "on top of", "over a", "above a"),
    "below": ("below the", "under the", "beneath the", "underneath the", "under a", "below a"),
    "nearest": ("next to", "beside", "near the", "close to", "near a", "by the"),
    "larger": ("larger than", "taller than"),
    "smaller": ("smaller than", "shorter than"),
    "in_front_of": ("in front of",),
    "behind": ("behind the", "behind a"),
    "same_colour": ("the same colour as", "the same color as"),
}
_NOT: Final = (
    *("not", "no", "never", "neither", "nor", "without", "except", "cannot", "isn't", "aren't", "doesn't", "non"),
    *("other than", "anything but", "not in", "but not"),
)
_ENDS: Final = ("but", "that", "which", "who", "whose", "and")
# Said of what is heard or hidden, and of the viewer, in words that would be read as a place or a motion.
_NOTHING: Final = (
    *("heard first", "heard last", "at rest from", "stay silent", "all along", "front of it"),
    *("with something in front of it", "with nothing in front of it", "towards the viewer", "right after"),
    *("first to start sounding", "last to start sounding", "first to be heard", "last to be heard"),
    *("exactly", "in part behind something else", "for the longest time", "heard the longest", "the longest time"),
    *("sounds longer than all the others", "sound longer than all the others", "in the picture", "a sound of its own"),
)

LONGEST: Final = 9
"""Tokens of the longest phrase that is matched."""

_TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def tokens_of(text: str) -> list[str]:
    """The words of a sentence, lower case, without punctuation; hyphens part words."""
    return _TOKEN.findall(text.replace("\u2019", "'").casefold())


@lru_cache(maxsize=1)
def phrases() -> Mapping[Tokens, Meaning]:
    """Every phrase that is known; what our own tables say goes before what `language` says in other words."""
    by_tokens: dict[Tokens, Meaning] = {}
    for text, meaning in (*_own_phrases(), *_word_meanings()):
        tokens = tuple(tokens_of(text))
        if 0 < len(tokens) <= LONGEST:
            by_tokens.setdefault(tokens, meaning)
    return MappingProxyType(by_tokens)


def _own_phrases() -> Iterator[tuple[str, Meaning]]:
    word_tables: tuple[tuple[WordKind, Mapping[str, str]], ...] = (
        *(("colour", _COLOURS), ("light", _LIGHTS), ("size", _SIZES), ("shape", _SHAPES), ("texture", _TEXTURES)),
    )
    for kind, table in word_tables:
        for word, texts in table.items():
            yield from ((text, Meaning(kind, word)) for text in texts.split())
    phrase_tables: tuple[tuple[WordKind, Mapping[str, tuple[str, ...]]], ...] = (
        *(("place", _PLACES), ("motion", _MOTIONS), ("most", _MOST), ("from", _SIDES), ("relation", _RELATIONS)),
    )
    for kind, phrases_of in phrase_tables:
        for word, several in phrases_of.items():
            yield from ((text, Meaning(kind, word)) for text in several)
            if kind == "most":  # else "is nearest to" would be read first, as a relation
                yield from ((f"{verb} {text}", Meaning(kind, word)) for text in several for verb in ("is", "are"))
    for number, text in enumerate(_ORDER, start=1):
        yield text, Meaning("order", str(number))
    yield from ((text, Meaning("not")) for text in _NOT)
    yield from ((text, Meaning("end")) for text in _ENDS)
    yield from ((text, Meaning("nothing")) for text in _NOTHING)


def _word_meanings() -> Iterator[tuple[str, Meaning]]:
    """The wordings of `language`, each with what it says of what is seen."""
    for word in PLACES:
        yield from _worded({"op": "place", "word": word}, Meaning("place", word))
    for motion in MOTIONS:
        yield from _worded({"op": "motion", "word": motion}, Meaning("motion", motion))
    yield from _worded(no(STILL), Meaning("motion", "moving"))
    yield from _worded({"op": "texture", "word": "plain"}, Meaning("texture", "plain"))
    for how in SIGHT_RELATIONS:
        yield from _worded({"op": "relation", "how": how, "to": {}}, Meaning("relation", how))
    for how in SOUND_RELATIONS:  # the thing it is compared with is still another thing than the one that is meant
        yield from _worded({"op": "relation", "how": how, "to": {}}, Meaning("relation", "unseen"))
    for how in TIME_RELATIONS:
        yield from _worded({"op": "heard", "how": how}, Meaning("relation", "unseen"))
    for form in (SOUNDS, no(SOUNDS), {"op": "hidden"}, {"op": "hiding"}, no({"op": "hidden"}), {"op": "throughout"}):
        yield from _worded(form, Meaning("nothing"))


def _worded(form: Form, meaning: Meaning) -> Iterator[tuple[str, Meaning]]:
    for way in ways(form):
        if way.text.startswith("not:"):
            continue
        text = way.text.partition("{to}")[0]
        yield text, meaning
        yield (way.many.partition("{to}")[0] if way.many else of_many(text) if way.slot == "that" else text), meaning


MOST_THINGS: Final = 3
"""Objects that one sentence may relate in a chain; further ones are not read."""

_CUE_KINDS: Final[frozenset[WordKind]] = frozenset(
    {"colour", "light", "place", "size", "shape", "texture", "motion", "most"}
)


@dataclass(frozen=True, slots=True)
class Cue:
    """One cue of a referring expression."""

    kind: WordKind
    word: str
    denied: bool = False
    rank: int = 1  # of a ``most``: 1 for the one with most of it, 2 for the second, and so on


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a referring expression says of one object."""

    cues: tuple[Cue, ...] = ()  # each once, in the order of the sentence
    how: str = ""  # the relation to another object; empty for none
    denied: bool = False
    other: ParsedQuery | None = None  # the other object, or None

    @property
    def empty(self) -> bool:
        """Whether no known word was found."""
        return not self.cues and self.other is None

    @property
    def moving(self) -> bool:
        """Whether any cue is of motion."""
        has_motion = any(cue.kind == "motion" or cue.word in {"fast", "slow"} for cue in self.cues)
        return has_motion or self.how == "same_motion" or (self.other is not None and self.other.moving)


def parse_query(text: str | None) -> ParsedQuery:
    """Read a sentence of any text or None; an empty query where no word is known."""
    return _nested(_parts(list(_meanings(tokens_of(text or "")))))


def _meanings(tokens: Sequence[str]) -> Iterator[Meaning]:
    """The longest known phrase at each word; unknown words are left out."""
    by_tokens, position = phrases(), 0
    while position < len(tokens):
        for length in range(min(LONGEST, len(tokens) - position), 0, -1):
            meaning = by_tokens.get(tuple(tokens[position : position + length]))
            if meaning is not None:
                yield meaning
                break
        else:
            length = 1
        position += length


@dataclass(slots=True)
class _ReadThing:
    """The cues of one object while parsing; ``how`` and ``denied`` are its relation to the next object."""

    cues: dict[Cue, None]
    how: str = ""
    denied: bool = False


def _parts(meanings: Sequence[Meaning]) -> list[_ReadThing]:
    parts, denied, number = [_ReadThing({})], False, 0
    for meaning in meanings:
        if meaning.kind == "not":
            denied = True
        elif meaning.kind == "end":
            denied = denied and meaning.word == "and"
        elif meaning.kind == "order":
            number = int(meaning.word)
        elif meaning.kind == "relation":
            parts[-1].how, parts[-1].denied, denied = meaning.word, denied, False
            parts.append(_ReadThing({}))
            if len(parts) > MOST_THINGS:
                break
        else:
            cue = _cue(meaning, denied=denied, number=number)
            if cue is not None:
                parts[-1].cues.setdefault(cue)
                number = 0 if cue.kind == "most" else number
            denied = False
    return parts


def _cue(meaning: Meaning, *, denied: bool, number: int) -> Cue | None:
    if meaning.kind in {"most", "from"}:
        return Cue("most", meaning.word, denied, max(1, number))
    return Cue(meaning.kind, meaning.word, denied) if meaning.kind in _CUE_KINDS else None


def _nested(parts: Sequence[_ReadThing]) -> ParsedQuery:
    parsed: ParsedQuery | None = None
    for part in reversed(parts):
        how = part.how if parsed is not None else ""
        parsed = ParsedQuery(tuple(part.cues), how, part.denied and bool(how), parsed)
    return parsed or ParsedQuery()
