"""The few forms of English words that the sentences need: plural, -ing, base form, a or an, number words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_VOWELS: Final = "aeiou"
_PLURALS: Final[Mapping[str, str]] = {
    "child": "children",
    "calf": "calves",
    "deer": "deer",
    "fish": "fish",
    "foot": "feet",
    "goose": "geese",
    "half": "halves",
    "knife": "knives",
    "leaf": "leaves",
    "loaf": "loaves",
    "louse": "lice",
    "man": "men",
    "mouse": "mice",
    "ox": "oxen",
    "person": "people",
    "scarf": "scarves",
    "sheep": "sheep",
    "shelf": "shelves",
    "thief": "thieves",
    "tooth": "teeth",
    "wife": "wives",
    "wolf": "wolves",
    "woman": "women",
}
_COMPOUNDS: Final = (
    "man",
    "woman",
    "child",
    "foot",
    "tooth",
    "goose",
    "mouse",
    "knife",
    "leaf",
    "shelf",
    "fish",
    "wolf",
)
_NOT_MEN: Final = ("human", "german", "roman", "ottoman", "talisman", "caiman", "shaman")
_O_WITH_ES: Final = ("potato", "tomato", "echo", "hero", "torpedo", "volcano", "mango", "buffalo", "domino")
_ALWAYS_PLURAL: Final = ("scissors", "glasses", "trousers", "jeans", "shorts", "binoculars", "headphones", "pliers")
_SPOKEN_H: Final = re.compile(r"^(hour|honest|honour|honor|heir)", re.IGNORECASE)
_SPOKEN_Y_OR_W: Final = re.compile(r"^(uni([^mn]|$)|us[aeu]|eu|ew|one\b|once\b|uk|ut[ei]|ukulele)", re.IGNORECASE)
_IRREGULAR_BASES: Final[Mapping[str, str]] = {"is": "be", "has": "have", "does": "do", "goes": "go"}
_DOUBLED: Final = (
    *("drip", "drum", "flap", "hum", "plop", "pop", "purr", "rap", "run", "snap", "sob", "spin", "stop", "strum"),
    *("swim", "tap", "thud", "trot", "wag", "zap", "zip"),
)
_NUMBERS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def article(noun: str) -> str:
    """The noun after ``a`` or ``an``."""
    spoken_vowel = noun[:1].lower() in _VOWELS
    if _SPOKEN_H.match(noun):
        spoken_vowel = True
    elif _SPOKEN_Y_OR_W.match(noun):
        spoken_vowel = False
    return f"{'an' if spoken_vowel else 'a'} {noun}"


def plural(noun: str) -> str:
    """More than one of it; of several words the last one changes, or the one before ``of``."""
    first, of, rest = noun.partition(" of ")
    if of:
        return plural(first) + of + rest
    before, space, last = noun.rpartition(" ")
    return before + space + _plural_word(last)


def _plural_word(word: str) -> str:
    if word in _PLURALS:
        return _PLURALS[word]
    if word in _ALWAYS_PLURAL:
        return word
    for part in _COMPOUNDS:
        if word.endswith(part) and not word.endswith(_NOT_MEN):
            return word.removesuffix(part) + _PLURALS[part]
    if word.endswith(("s", "x", "z", "ch", "sh", *_O_WITH_ES)):
        return word + ("zes" if word.endswith("iz") else "es")
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def base(verb: str) -> str:
    """The first word of a verb phrase in the third person, in its base form: ``wails`` gives ``wail``."""
    word, space, rest = verb.partition(" ")
    return _base_word(word) + space + rest


def _base_word(word: str) -> str:
    if word in _IRREGULAR_BASES:
        return _IRREGULAR_BASES[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("zzes"):
        return word[:-2]
    if word.endswith(("sses", "shes", "ches", "xes", "oes")) and not word.endswith(("aches", "shoes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def of_many(verb: str) -> str:
    """A verb phrase in the third person, said of several: ``is heard`` gives ``are heard``."""
    word, space, rest = verb.partition(" ")
    rest = of_their_own(rest)
    if word in {"is", "can", "cannot"}:
        return {"is": "are"}.get(word, word) + space + rest
    return base(word) + space + rest


def of_their_own(words: str) -> str:
    """The words with ``it`` and ``its`` put for several things."""
    return re.sub(r"\bits\b", "their", re.sub(r"\bit\b", "them", words))


def negated(verb: str) -> str:
    """A verb phrase in the third person, denied: ``is red`` gives ``is not red``, ``rings`` ``does not ring``."""
    word, space, rest = verb.partition(" ")
    if word == "can":
        return "cannot" + space + rest
    return f"is not {rest}" if word == "is" else f"does not {base(verb)}"


def ing(verb: str) -> str:
    """A verb phrase in the third person as a participle: ``wails`` gives ``wailing``."""
    word, space, rest = verb.partition(" ")
    if word == "is" and rest.split(" ")[0].endswith("ing"):
        return rest
    return _ing_word(_base_word(word)) + space + rest


def _ing_word(word: str) -> str:
    if word.endswith("ie"):
        return word[:-2] + "ying"
    if word.endswith("e") and not word.endswith(("ee", "oe", "ye")) and word != "be":
        return word[:-1] + "ing"
    return f"{word}{word[-1]}ing" if word in _DOUBLED and not word.endswith("rr") else f"{word}ing"


def often(count: int) -> str:
    """How often, in words: ``once``, ``twice``, ``three times``."""
    if count in {1, 2}:
        return "once" if count == 1 else "twice"
    return f"{_NUMBERS[count] if count < len(_NUMBERS) else count} times"
