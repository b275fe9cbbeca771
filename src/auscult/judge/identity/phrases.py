"""What a referring expression asks for, in a few words: the noun phrase it begins with, its head, and words of place.

This reads English word by word, with short lists and no grammar: it serves names in a report and prompts for a matcher,
never a decision. What it cannot split it gives back whole, shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.judge.identity.nouns import NOUNS
from auscult.language.morphology import article, indefinite, is_plural, plural

MOST_LETTERS: Final = 60
_MOST_READ: Final = 2000

_WORD: Final = re.compile(r"[\w'-]+|,")
_OPENERS: Final = frozenset({"the", "a", "an", "this", "that", "these", "those", "all", "both", "every", "each", "his"})
_OPENERS_TOO: Final = frozenset({"her", "its", "their", "my", "your", "our", "please", "segment", "find", "show"})
_GROUPS: Final = frozenset({"of", "among", "amongst", "out"})
_ENDS: Final = frozenset(
    (
        *("that", "which", "who", "whom", "whose", "where", "when", "while", "because", "with", "without"),
        *("from", "to", "on", "in", "at", "by", "under", "above", "below", "behind", "beside", "near", "next"),
        *("between", "over", "inside", "outside", "across", "against", "along", "around", "before", "after"),
        *("during", "for", "than", "and", "or", "but", "not", "is", "are", "was", "were", "has", "have"),
        *("does", "do", "can", "higher", "lower", "larger", "bigger", "smaller", "louder", "quieter"),
        *("nearest", "closest", "farthest", "left", "heard", "partly", "sitting", "standing", "lying"),
        *("wearing", "holding", "riding", "playing", "making", "moving", "walking", "running", "facing"),
        *("looking", "going", "coming", "rising", "hiding", "hidden", "covered", "seen", "farther", "closer"),
        *("right", "amid", "towards", "into", "onto", "through", "as", "like", "being"),
    )
)
_FIRST_TOO: Final = frozenset({"left", "right", "nearest", "closest", "farthest", "hidden", "moving", "sitting"})
"""Words that end a phrase after its noun, and may stand before one: "the left car", "the car left of it"."""

_MEASURES: Final = frozenset(
    (
        *("largest", "biggest", "smallest", "leftmost", "rightmost", "highest", "topmost", "lowest", "bottommost"),
        *("loudest", "quietest", "nearest", "closest", "farthest", "first", "last", "second", "third", "other"),
        *("left", "right", "upper", "lower", "middle", "moving", "sounding", "audible", "silent", "hidden", "sitting"),
    )
)
_ANYTHING: Final = frozenset({"thing", "things", "object", "objects", "item", "items", "one", "ones", "something"})
_PLACES: Final[dict[str, str]] = {
    **dict.fromkeys(("left", "leftmost", "leftward"), "left"),
    **dict.fromkeys(("right", "rightmost", "rightward"), "right"),
    **dict.fromkeys(("top", "topmost", "upper", "uppermost", "highest"), "top"),
    **dict.fromkeys(("bottom", "bottommost", "lower", "lowermost", "lowest"), "bottom"),
    **dict.fromkeys(("middle", "centre", "center", "central"), "centre"),
}
_SOUNDS: Final = re.compile(
    r"\b(?:sound(?:s|ing|less)?|noises?|noiseless|heard|hear(?:s|able)?|audible|silent|silence|mute|loud(?:er|est|ly)?|"
    r"quiet(?:er|est|ly)?|volume|melody|voices?|rings?|ringing|barks?|barking|plays|playing|sings?|singing)\b",
    re.IGNORECASE,
)
_SINGULAR: Final = {plural(noun): noun for noun in NOUNS if plural(noun) != noun}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an expression asks for.

    Attributes:
        phrase: Its noun phrase without an article, at most ``MOST_LETTERS`` letters: ``red car``.
        noun: The head of the phrase, in the singular: ``car``; None where it names no kind ("the object that").
        places: Words of place anywhere in it, out of left, right, top, bottom, centre, each once, in order.
        heard: Whether it speaks of sound.
    """

    phrase: str
    noun: str | None
    places: tuple[str, ...]
    heard: bool = False


def asked_for(text: str) -> Asked | None:
    """Read an expression.

    Args:
        text: Any text; what lies beyond its first 2,000 characters is not read.

    Returns:
        What it asks for, or None where no word of it could name something.

    Example:
        >>> asked_for("The striped red cars that move to the left")
        Asked(phrase='striped red cars', noun='car', places=('left',), heard=False)
        >>> asked_for("among the drums, the one that is louder").noun
        'drum'
    """
    words = [word.lower() for word in _WORD.findall(text[:_MOST_READ])]
    kept = _noun_phrase(words)
    if not kept:
        return None
    named = None if kept[-1] in _ANYTHING else _named(kept)
    places = tuple(dict.fromkeys(_PLACES[word] for word in words if word in _PLACES))
    heard = _SOUNDS.search(text[:_MOST_READ]) is not None
    return Asked(phrase=_short(kept), noun=named, places=places, heard=heard)


def prompts(text: str) -> tuple[str, ...]:
    """Sentences that a matcher of pictures and words can compare with a picture, the expression itself first.

    Args:
        text: The referring expression.

    Returns:
        One to three different sentences; none where no word of the text could name something.
    """
    asked = asked_for(text)
    if asked is None:
        return ()
    whole = " ".join(text[:_MOST_READ].split())
    said = [whole]
    if asked.noun is not None:
        said.append(f"a photo of {asked.phrase if is_plural(asked.phrase) else article(asked.phrase)}")
        said.append(photo_of(asked.noun))
    return tuple(dict.fromkeys(said))


def photo_of(noun: str) -> str:
    """The sentence in which a noun is compared with a picture."""
    return f"a photo of {indefinite(noun)}"


def singular(noun: str) -> str:
    """One of it: ``car`` for ``cars``; a word that is not in the list loses an -s that makes it a plural."""
    if noun in _SINGULAR:
        return _SINGULAR[noun]
    if noun in NOUNS or not is_plural(noun):
        return noun
    for ending, one in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("s", "")):
        if noun.endswith(ending) and len(noun) > len(ending) + 2:
            return noun.removesuffix(ending) + one
    return noun


def _noun_phrase(words: Sequence[str]) -> list[str]:
    """The first phrase that names a kind, of a group ("the largest of the cats") the group, as one of it."""
    rest, grouped = list(words), bool(words) and words[0] in _GROUPS
    first: list[str] = []
    while rest:
        kept, rest = _next_phrase(rest)
        if not kept:
            continue
        if not (all(word in _MEASURES for word in kept) or kept[-1] in _ANYTHING):
            return [*kept[:-1], singular(kept[-1])] if grouped else kept
        first = first or kept
        if not (rest and rest[0] in _GROUPS):
            break
        grouped = True
    return first


def _next_phrase(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words up to where a phrase ends, without articles; and what follows, never as long as what was given."""
    start = 0
    while start < len(words) and words[start] in _OPENERS | _OPENERS_TOO | _GROUPS | {","}:
        start += 1
    end = start
    while end < len(words) and not _ends(words, end, start=start):
        end += 1
    return list(words[start:end]), list(words[end if end > 0 else 1 :]) if end > start else list(words[start + 1 :])


def _ends(words: Sequence[str], place: int, *, start: int) -> bool:
    word = words[place]
    if word == "," or word in _OPENERS | _GROUPS:
        return True
    if word not in _ENDS:
        return False
    before = words[start:place]
    follows = words[place + 1] if place + 1 < len(words) else ""
    open_still = all(one in _MEASURES for one in before) and word in _FIRST_TOO
    return not (open_still and follows not in _ENDS | _GROUPS | _OPENERS | {"", ","})


def _named(kept: Sequence[str]) -> str | None:
    """The head: a noun of the list that the phrase ends with, of two words where there is one, else its last word."""
    for tail in _tails(kept):
        if singular(tail) in NOUNS:
            return singular(tail)
    said = [word for word in kept if word not in _MEASURES]
    return singular(said[-1]) if said else None


def _tails(kept: Sequence[str]) -> Iterator[str]:
    yield " ".join(kept[-2:])
    yield kept[-1]


def _short(kept: Sequence[str]) -> str:
    """As many words as fit, from the end."""
    text = " ".join(kept)
    while len(text) > MOST_LETTERS and " " in text:
        text = text.partition(" ")[2]
    return text[:MOST_LETTERS]
