"""The package's own small English lexicon: classes of words, and the forms of verbs and nouns in both directions.

Among them are the forms that made sentences need: plural, -ing, base form, a or an, number words. Spelling is British:
``yodelling``. Stems are words without their endings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final

from auscult.shipped import read_shipped


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word in small letters by the Snowball stemmer, ``bark`` of ``barking``; of other scripts the word itself."""
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


_VOWELS: Final = "aeiou"
_SAME: Final = ("deer", "fish", "sheep")  # one is called as many are
_F_TO_VES: Final = ("calf", "half", "knife", "leaf", "loaf", "scarf", "shelf", "thief", "wife", "wolf")
_PLURALS: Final[Mapping[str, str]] = {
    **{word: word for word in _SAME},
    **{word: word.removesuffix("e").removesuffix("f") + "ves" for word in _F_TO_VES},
    "child": "children",
    "foot": "feet",
    "goose": "geese",
    "louse": "lice",
    "man": "men",
    "mouse": "mice",
    "ox": "oxen",
    "person": "people",
    "tooth": "teeth",
    "woman": "women",
}
_COMPOUNDS: Final = (
    *("man", "woman", "child", "foot", "tooth", "goose", "mouse", "knife", "leaf", "shelf", "fish", "wolf"),
)
_NOT_MEN: Final = ("human", "german", "roman", "ottoman", "talisman", "caiman", "shaman")
_O_WITH_ES: Final = ("potato", "tomato", "echo", "hero", "torpedo", "volcano", "mango", "buffalo", "domino")
_ALWAYS_PLURAL: Final = ("scissors", "glasses", "trousers", "jeans", "shorts", "binoculars", "headphones", "pliers")
_SINGULAR_IN_S: Final = (
    *("asbestos", "atlas", "bias", "biceps", "canvas", "chaos", "christmas", "cosmos", "gallows", "gas", "lens"),
    *("mercedes", "news", "pancreas", "rhinoceros", "series", "species", "thermos"),
)
_MANY_IN_US_OR_IS: Final = ("emus", "gnus", "kiwis", "menus", "skis", "taxis")
_SPOKEN_VOWEL: Final = re.compile(r"[aeiou]|hour|honest|honour|honor|heir|8|(11|18)(?!\d)", re.IGNORECASE)
_SPOKEN_Y_OR_W: Final = re.compile(
    r"uni([^mn]|$)|us[aeu]|eu|ew|one\b|once\b|ouija|uk|ur[ai]n|ut[ei]|ukulele", re.IGNORECASE
)
_ABBREVIATIONS: Final = (
    *("atv", "fbi", "led", "mri", "nba", "rca", "rpg", "sos", "suv", "uav", "ufo", "uhf", "ups", "usb", "ussr"),
)
_NO_VOWEL: Final = re.compile(r"([a-z]|[b-df-hj-np-tv-xz]{2,})(?![a-z])", re.IGNORECASE)
_READ_AS_WORDS: Final = ("mr", "mrs", "dr", "st", "hm", "hmm", "shh", "psst")
_LETTERS_WITH_AN: Final = "aefhilmnorsx"
_IRREGULAR_BASES: Final[Mapping[str, str]] = {
    "is": "be",
    "has": "have",
    "does": "do",
    "goes": "go",
    "aches": "ache",
    "caches": "cache",
    "quizzes": "quiz",
    "shoes": "shoe",
    "tiptoes": "tiptoe",
}
_SHORT: Final = re.compile(r"([^aeiou]*|[^aeiou]*qu)[aeiou][^aeiouchwxy]")  # consonants, one vowel, one consonant
_YODEL: Final = re.compile(r".*[aeiouy].*[^aeiou][aeio]l")
_DOUBLED: Final = ("begin", "kidnap", "outrun", "unzip", "upset", "zigzag")  # of two syllables
_KEPT_E: Final = ("be", "singe", "swinge", "tinge", "whinge")
_NUMBERS: Final = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def article(noun: str) -> str:
    """The noun after ``a`` or ``an``, as its first sound asks: ``a ukulele``, ``an MP3 player``, ``an x-ray``."""
    letters = _spelt(noun)
    if letters:
        vowel = letters[0].lower() in _LETTERS_WITH_AN
    else:
        vowel = _SPOKEN_VOWEL.match(noun) is not None and _SPOKEN_Y_OR_W.match(noun) is None
    return f"{'an' if vowel else 'a'} {noun}"


def _spelt(noun: str) -> str:
    """The first word where it is spoken letter by letter, else nothing."""
    first = re.split(r"[^A-Za-z]", noun, maxsplit=1)[0]
    if first.lower() in _READ_AS_WORDS:
        return ""
    return first if _NO_VOWEL.match(noun) or first.lower() in _ABBREVIATIONS else ""


def indefinite(noun: str) -> str:
    """One of its kind: after an article, but a noun that is plural already stands alone (``scissors``)."""
    return noun if is_plural(noun) else article(noun)


def is_plural(noun: str) -> bool:
    """Whether a noun is of the plural form though it may name one object: ``scissors``, ``vegetables``.

    A noun in -s counts as plural, but for -ss, -us, -is and the listed ones (``lens``).
    """
    word = noun.partition(" of ")[0].rpartition(" ")[2].lower()
    if word in _SAME or word in _SINGULAR_IN_S:
        return False
    if word in _ALWAYS_PLURAL or word in _MANY_IN_US_OR_IS or word in _PLURALS.values():
        return True
    if any(word.endswith(_PLURALS[part]) for part in _COMPOUNDS if part not in _SAME):
        return True
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


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
    if is_plural(word):
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
    if word.endswith(("sses", "shes", "ches", "xes", "oes", "zzes", "tzes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def of_many(verb: str) -> str:
    """A verb phrase in the third person, said of several: ``is heard`` gives ``are heard``."""
    word = re.split(r"\W", verb, maxsplit=1)[0]
    rest = of_their_own(verb[len(word) :])
    if word == "never":
        return "never " + of_many(rest[1:])
    if word in {"is", "can", "cannot"}:
        return {"is": "are"}.get(word, word) + rest
    return _base_word(word) + rest


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
    if word.endswith("ic"):
        return word + "king"
    if word.endswith("e") and not word.endswith(("ee", "oe", "ye")) and word not in _KEPT_E:
        return word[:-1] + "ing"
    doubled = word in _DOUBLED or _SHORT.fullmatch(word) or _YODEL.fullmatch(word)
    return f"{word}{word[-1]}ing" if doubled else f"{word}ing"


def often(count: int) -> str:
    """How often, in words: ``once``, ``twice``, ``three times``."""
    if count in {1, 2}:
        return "once" if count == 1 else "twice"
    return f"{_NUMBERS[count] if count < len(_NUMBERS) else count} times"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Words by class, all in small letters."""

    determiners: frozenset[str]  # `the`, `two`-like words not among them
    numbers: frozenset[str]  # `two`, `third`
    many: frozenset[str]  # words after which a noun is plural
    pronouns: frozenset[str]  # `she`, `something`
    relatives: frozenset[str]  # words that begin a clause
    prepositions: frozenset[str]  # `behind`
    conjunctions: frozenset[str]  # `and`
    auxiliaries: frozenset[str]  # `is`, `can`
    negations: frozenset[str]  # `not`, `without`
    adverbs: frozenset[str]  # `slowly`
    adjectives: frozenset[str]  # `left`, `red`
    nouns: frozenset[str]  # one of each
    groups: frozenset[str]  # nouns that stand for the noun after `of`: `pair`
    verbs: frozenset[str]  # base forms
    thirds: Mapping[str, str]  # `barks` to `bark`
    ings: Mapping[str, str]  # `barking` to `bark`
    pasts: Mapping[str, str]  # `sang` to `sing`
    participles: Mapping[str, str]  # `sung` to `sing`
    past_of: Mapping[str, str]  # `sing` to `sang`
    irregular: frozenset[str]  # verbs whose past is not made by rule
    singulars: Mapping[str, str]  # `men` to `man`, of irregular nouns
    function_words: frozenset[str]  # words that are never a noun
    closing: frozenset[str]  # words that end a noun phrase wherever they stand
    known: frozenset[str]  # every word and form above, and some more common words

    def singular(self, noun: str) -> str:
        """One of several; the word itself where it is not known as a plural."""
        if noun in self.singulars:
            return self.singulars[noun]
        if noun in self.nouns or not is_plural(noun):
            return noun
        could = [form for form in (noun[:-3] + "y", noun[:-2], noun[:-1]) if plural(form) == noun]
        listed = [form for form in could if form in self.nouns]
        by_rule = [form for form in could if form.endswith(("s", "x", "z", "ch", "sh", "y")) or form + "s" == noun]
        return [*listed, *by_rule, noun][0]


@cache
def lexicon() -> Lexicon:
    """Read the lexicon and make the forms; about 1,000 words, a few milliseconds, once."""
    raw, attributes = read_shipped("language/data/lexicon.json"), read_shipped("language/data/attributes.json")
    classes = {name: frozenset(text.split()) for name, text in raw.items() if isinstance(text, str)}
    of_things = " ".join(attributes[kind] for kind in ("colour", "position_absolute", "position", "size", "material"))
    classes["adjectives"] |= set(of_things.split()) - classes["nouns"]
    forms = _verb_forms(classes["verbs"], raw["irregular_verbs"])
    nouns = classes["nouns"] | classes["groups"] | set(raw["irregular_plurals"])
    pasts, participles = forms["pasts"], forms["participles"]
    listed = frozenset().union(*(members for name, members in classes.items() if name != "source"))
    plurals = {plural(noun) for noun in nouns}
    known = listed.union(nouns, plurals, forms["thirds"], forms["ings"], pasts, participles)
    grammar = ("determiners", "pronouns", "relatives", "prepositions", "conjunctions", "auxiliaries", "adverbs")
    function_words = frozenset().union(*(classes[name] for name in (*grammar, "negations", "numbers")))
    names = ("determiners", "numbers", "many", "pronouns", "relatives", "prepositions", "conjunctions")
    more_names = ("auxiliaries", "negations", "adverbs", "adjectives", "groups", "verbs")
    return Lexicon(
        **{name: classes[name] for name in (*names, *more_names)},
        nouns=frozenset(nouns),
        thirds=MappingProxyType(forms["thirds"]),
        ings=MappingProxyType(forms["ings"]),
        pasts=MappingProxyType(pasts),
        participles=MappingProxyType(participles),
        past_of=MappingProxyType({verb: past for past, verb in pasts.items()}),
        irregular=frozenset(raw["irregular_verbs"]),
        singulars=MappingProxyType({many: one for one, many in raw["irregular_plurals"].items()}),
        function_words=function_words - {"one"},
        closing=classes["prepositions"] | classes["relatives"] | classes["auxiliaries"],
        known=known,
    )


def _verb_forms(verbs: frozenset[str], irregular: Mapping[str, str]) -> dict[str, dict[str, str]]:
    forms: dict[str, dict[str, Any]] = {"thirds": {}, "ings": {}, "pasts": {}, "participles": {}}
    for verb in sorted(verbs):
        third_form = third(verb)
        past, participle = irregular[verb].split() if verb in irregular else (regular_past(verb),) * 2
        for kind, form in zip(forms, (third_form, ing(third_form), past, participle), strict=True):
            forms[kind].setdefault(form, verb)
    return forms


def third(verb: str) -> str:
    """A verb in the third person: ``watch`` gives ``watches``."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2:-1] not in _VOWELS else verb + "s"


def regular_past(verb: str) -> str:
    """The past as by rule, right or wrong: ``bark`` gives ``barked``, ``hold`` ``holded``."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return ing(third(verb)).removesuffix("ing") + "ed"
