"""The package's own small English lexicon: classes of words, and the forms of verbs and nouns in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from auscult.language import data
from auscult.language.morphology import ing, is_plural, plural

_VOWELS = "aeiou"


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
    raw, said = data.read("lexicon"), data.read("attributes")
    classes = {name: frozenset(text.split()) for name, text in raw.items() if isinstance(text, str)}
    of_things = " ".join(said[kind] for kind in ("colour", "position_absolute", "position", "size", "material"))
    classes["adjectives"] |= set(of_things.split()) - classes["nouns"]
    forms = _verb_forms(classes["verbs"], raw["irregular_verbs"])
    nouns = classes["nouns"] | classes["groups"] | set(raw["irregular_plurals"])
    pasts, participles = forms["pasts"], forms["participles"]
    listed = frozenset().union(*(members for name, members in classes.items() if name != "source"))
    plurals = {plural(noun) for noun in nouns}
    known = listed.union(nouns, plurals, forms["thirds"], forms["ings"], pasts, participles)
    grammar = ("determiners", "pronouns", "relatives", "prepositions", "conjunctions", "auxiliaries", "adverbs")
    function_words = frozenset().union(*(classes[name] for name in (*grammar, "negations", "numbers")))
    named = ("determiners", "numbers", "many", "pronouns", "relatives", "prepositions", "conjunctions")
    more = ("auxiliaries", "negations", "adverbs", "adjectives", "groups", "verbs")
    return Lexicon(
        **{name: classes[name] for name in (*named, *more)},
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
