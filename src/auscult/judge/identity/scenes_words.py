"""The words that `identity.scenes.v1` knows, and the patterns by which they are found in a sentence.

The patterns are made from the very tables that our own sentences are written with (`language.words`), in the singular,
the plural and denied, together with some more ways in which people say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError, OutputError
from auscult.language.facts import MOTIONS
from auscult.language.forms import SIGHT_RELATIONS, SOUND_RELATIONS, SOUNDS, Form, no, places
from auscult.language.morphology import ing, negated, of_many, plural
from auscult.language.words import Way, sound_name, ways

Tokens = tuple[str, ...]
Patterns = Mapping[Tokens, Form]

UNHEARD: Final[Form] = SOUNDS
"""Stands for everything that one frame cannot show: its proof from sight alone is unclear."""

SUPERLATIVES: Final[Mapping[str, tuple[str, ...]]] = {
    "large": ("largest", "biggest", "is the largest", "is bigger than all the others", "tallest", "is the biggest"),
    "small": ("smallest", "is the smallest", "is smaller than all the others", "littlest", "tiniest"),
    "left": (
        *("leftmost", "left most", "is farthest to the left", "lies farthest left", "farthest to the left"),
        *("furthest to the left", "farthest left", "furthest left", "on the far left", "most to the left"),
    ),
    "right": (
        *("rightmost", "right most", "is farthest to the right", "lies farthest right", "farthest to the right"),
        *("furthest to the right", "farthest right", "furthest right", "on the far right", "most to the right"),
    ),
    "high": ("highest", "topmost", "uppermost", "is the highest up", "is nearest to the top", "highest up"),
    "low": ("lowest", "bottommost", "lowermost", "is the lowest down", "is nearest to the bottom", "lowest down"),
    "loud": ("loudest", "is the loudest", "sounds loudest"),
    "quiet": ("quietest", "is the quietest to be heard", "sounds softest"),
    "early": ("is heard first", "starts sounding first", "is the first to start sounding"),
    "late": ("starts sounding last", "is the last to start sounding"),
    "short_lived": ("goes quiet for good first", "is the first to stop sounding for good"),
    "lasting": ("falls silent last", "is the last to stop sounding"),
    "frequent": ("sounds most often", "is heard the most times", "sounds more often than all the others"),
    "long": ("sounds for the longest time", "is heard the longest", "sounds longer than all the others"),
}
TWO: Final[Mapping[str, str]] = {"left": "left", "right": "right", "upper": "high", "top": "high", "lower": "low"} | {
    "bottom": "low", "larger": "large", "bigger": "large", "smaller": "small", "big": "large", "large": "large",
    "small": "small", "little": "small",
}  # fmt: skip
"""Words before a noun that choose among two or more alike: "the left dog", "the smaller cat"."""

ORDER_STARTS: Final = ("first", "last")
ORDER_ENDS: Final = (
    *("to start sounding", "to be heard", "to begin to sound", "to fall silent for good"),
    *("to stop sounding for good", "to fall silent", "to stop sounding"),
)
GENERIC: Final = frozenset({"thing", "things", "object", "objects", "item", "items", "one", "ones"})
FILLERS: Final = GENERIC | frozenset(
    (
        *("the", "a", "an", "that", "which", "who", "is", "are", "and", "of", "in", "it", "its", "all", "this"),
        *("picture", "image", "frame", "photo", "scene", "with", "there", "be", "some", "any", "other", "others"),
    )
)
_MORE_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "left": ("at the left", "to the left", "on the left hand side", "left side"),
    "right": ("at the right", "to the right", "on the right hand side", "right side"),
    "top": ("on top", "on the top", "in the top", "near the top"),
    "bottom": ("on the bottom", "in the bottom", "near the bottom"),
    "centre": ("in the center", "at the center", "at the centre", "in the middle of the image", "central"),
}
_MORE_RELATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "above": ("over {to}", "on top of {to}"),
    "below": ("under {to}", "beneath {to}", "underneath {to}"),
    "nearest": ("next to {to}", "beside {to}", "near {to}"),
    "larger": ("taller than {to}",),
}
_MORE_UNHEARD: Final = (
    *("makes a sound", "making a sound", "sounding", "sounds", "making noise", "moves", "moving"),
    *("hiding a part of another thing", "partly covering another thing"),
    *("hides a part of another thing", "partly covers another thing", "covers a part of another thing"),
)
_COUNTS: Final = range(1, 13)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What the networks and the parser know.

    Attributes:
        categories: In the order of the networks' outputs.
        colours: The same.
        textures: The same.
        voices: Noun, verb and category of sounds whose maker is known; the category is empty where anything may sound
            so.
        sharpness: What the networks' logits are multiplied by, so that probabilities are as often right as they say.
        slope: Of the logistic curve from what is proven to the probability of a match.
        offset: The same.
    """

    categories: tuple[str, ...]
    colours: tuple[str, ...]
    textures: tuple[str, ...]
    voices: tuple[tuple[str, str, str], ...] = ()
    sharpness: float = 1.0
    slope: float = 1.0
    offset: float = 0.0

    @property
    def parts(self) -> tuple[int, int]:
        """Where colours and textures begin among the outputs."""
        return len(self.categories), len(self.categories) + len(self.colours)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read what training wrote beside the weights.

    Raises:
        InputError: It is broken, or lacks a part.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return Vocabulary(
            categories=_texts(value["categories"]),
            colours=_texts(value["colours"]),
            textures=_texts(value["textures"]),
            voices=tuple((str(noun), str(verb), str(maker)) for noun, verb, maker in value["voices"]),
            sharpness=float(value["sharpness"]),
            slope=float(value["slope"]),
            offset=float(value["offset"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            "the vocabulary cannot be read", expected="what `auscult train scenes-identity` writes", path=path
        ) from error


def write_vocabulary(words: Vocabulary, path: Path) -> Path:
    """Write what ``read_vocabulary`` reads.

    Raises:
        OutputError: The file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(words), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path


def _texts(value: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in value)


def tokens(text: str) -> Tokens:
    """A sentence as lower-case words, with commas kept as words of their own."""
    plain = "".join(letter if letter.isalnum() or letter in ",'" else " " for letter in text.lower())
    return tuple(plain.replace(",", " , ").split())


def nouns(words: Vocabulary) -> dict[Tokens, str]:
    """Every category in singular and plural."""
    found = {}
    for name in words.categories:
        found[tokens(name)] = name
        found[tokens(plural(name))] = name
    return found


def plain_patterns(words: Vocabulary) -> dict[Tokens, Form]:
    """Patterns of everything but categories, relations and superlatives."""
    found: dict[Tokens, Form] = {}
    for text in _MORE_UNHEARD:
        found[tokens(text)] = UNHEARD
        found[tokens(of_many(text))] = UNHEARD
    for form, said in _unheard(words):
        found.update(dict.fromkeys(said, form))
    seen: list[Form] = [*places(), {"op": "hidden"}, no({"op": "hidden"})]
    seen += [{"op": "texture", "word": word} for word in words.textures]
    seen += [{"op": "motion", "word": word} for word in MOTIONS] + [no({"op": "motion", "word": "still"})]
    for colour in words.colours:
        seen += [no({"op": "colour", "word": colour}), {"op": "colour", "word": colour}]
    for form in seen:
        found.update(dict.fromkeys(_said(form), form))
    for word, texts in _MORE_PLACES.items():
        found.update({tokens(text): {"op": "place", "word": word} for text in texts})
    return found


def _unheard(words: Vocabulary) -> Iterator[tuple[Form, set[Tokens]]]:
    """What is heard: unclear from one frame, except where the sound says what makes it."""
    heard: list[Form] = [SOUNDS, no(SOUNDS), {"op": "throughout"}, no({"op": "throughout"})]
    heard += [{"op": "times", "count": count} for count in _COUNTS]
    for form in heard:
        yield UNHEARD, _said(form)
    anyone = {noun for noun, _, maker in words.voices if not maker}
    makers = {(name, f"makes {name} sounds", name) for name in words.categories if name not in anyone}
    for noun, verb, named in sorted(makers | set(words.voices)):
        maker = named if named in words.categories else ""
        voice: Form = {"op": "voice", "noun": noun, "verb": verb}
        yield {"op": "category", "word": maker} if maker else UNHEARD, _said(voice)
        more = (ing(verb), f"{noun} sound", f"the {sound_name(noun)}")
        yield {"op": "category", "word": maker} if maker else UNHEARD, {tokens(text) for text in more}


def relation_patterns() -> dict[tuple[Tokens, Tokens], Form | None]:
    """What stands before and after the thing that a relation goes to, and the relation; None for one that is heard.

    The form has no ``to`` yet; a denied one is inside a ``not``.
    """
    found: dict[tuple[Tokens, Tokens], Form | None] = {}
    for how in (*SIGHT_RELATIONS, *SOUND_RELATIONS):
        seen = how in SIGHT_RELATIONS
        stands: dict[str, Any] = {"op": "relation", "how": how}
        for form in (stands, {"op": "not", "of": stands}):
            for text in _texts_of(form):
                found[_around(text)] = form if seen else None
        for text in _MORE_RELATIONS.get(how, ()):
            found[_around(text)] = stands
        if not seen and how not in {"louder", "quieter"}:
            voice = {"op": "heard", "how": how, "noun": "", "verb": ""}
            for form in (voice, {"op": "not", "of": voice}):
                found.update({_around(text): None for text in _texts_of(form)})
    for name in ("sounds_not_relation", "sounds_not_heard"):
        found.update({_around(text): None for text in _texts_of({"op": name})})
    return found


def _around(text: str) -> tuple[Tokens, Tokens]:
    before, _, after = text.partition("{to}")
    return tokens(before), tokens(after)


def _said(form: Form) -> set[Tokens]:
    return {tokens(text) for text in _texts_of(form)}


def _texts_of(form: Form) -> set[str]:
    found = set()
    for way in ways(form):
        found |= set(_both_numbers(way))
    return found


def _both_numbers(way: Way) -> Iterator[str]:
    text = way.text
    if text.startswith("not:"):
        text = negated(text.removeprefix("not:"))
    yield text
    yield way.many or (of_many(text) if way.slot == "that" else text)
    if way.slot == "that" and text.startswith("is ") and not text.startswith("is not "):
        yield text.removeprefix("is ")
