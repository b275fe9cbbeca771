"""Wrong characters: typos, lost characters, look-alikes of other scripts, stray marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from auscult.errors import UsageError
from auscult.language.lexicon import lexicon
from auscult.language.tokens import TextSpan, graphemes, words
from auscult.rng import pick
from auscult.shipped import read_shipped
from auscult.stress.perturbation import Constant, Declared
from auscult.stress.sentences.base import Edit, Guard, Kept, SentenceStressor
from auscult.types import Metadata

_REACH: Final = 1.3
"""In widths of a key, between the middles of two: the next key of a row, and those that touch in the rows beside it."""


def neighbours(rows: Sequence[str], offsets: Sequence[float]) -> Mapping[str, str]:
    """The keys beside each key, the nearest first, from the letters of each row and its offset to the right in keys.

    Example:
        >>> neighbours(("qwe", "asd"), (0.0, 0.25))["a"]
        'sqw'
    """
    keys = {
        letter: (column + offset, float(row))
        for row, (letters, offset) in enumerate(zip(rows, offsets, strict=True))
        for column, letter in enumerate(letters)
    }
    by_key = {}
    for letter, (x, y) in keys.items():
        distances = {other: ((x - u) ** 2 + (y - v) ** 2) ** 0.5 for other, (u, v) in keys.items() if other != letter}
        within_reach = [other for other in distances if distances[other] <= _REACH]
        by_key[letter] = "".join(sorted(within_reach, key=lambda other: (round(distances[other], 6), other)))
    return by_key


KINDS: Final = ("keyboard", "swap", "double", "drop", "phonetic", "common", "confusion")
DRAWS: Final = len(KINDS) + 1
"""How many numbers in [0, 1) the misspelling of one word takes."""

Letters: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Typos:
    """The rules and lists."""

    weights: Mapping[str, float]  # how often each kind is tried first, of those that apply
    beside: Mapping[str, str]  # the keys beside each key
    # (letters, what they are taken for, `any` or `start` or `end` of the word)
    phonetic: tuple[tuple[str, str, str], ...]
    common: Mapping[str, str]  # words with a misspelling that many make
    confusions: Mapping[str, tuple[str, ...]]  # words with others that they are taken for
    words: frozenset[str]  # words that no misspelling should be, confusions aside


@cache
def typos(layout: str) -> Typos:
    """Read the rules, with the keys of one keyboard and those of Cyrillic; a UsageError where the layout is unknown."""
    raw = read_shipped("stress/sentences/data/typos.json")
    if layout not in raw["keyboards"]:
        raise UsageError(f"no keyboard {layout!r}", expected=f"one of {', '.join(raw['keyboards'])}")
    beside = dict(neighbours(raw["keyboards"]["jcuken"], raw["offsets"]))
    beside.update(neighbours(raw["keyboards"][layout], raw["offsets"]))
    return Typos(
        weights=MappingProxyType(raw["weights"]),
        beside=MappingProxyType(beside),
        phonetic=tuple((old, new, place) for old, new, place in raw["phonetic"]),
        common=MappingProxyType(raw["common"]),
        confusions=MappingProxyType({word: tuple(others.split()) for word, others in raw["confusions"].items()}),
        words=lexicon().known | set(raw["common"]) | set(raw["confusions"]),
    )


def misspelt(word: str, draws: Sequence[float], rules: Typos) -> str:
    """A misspelling by ``DRAWS`` numbers in [0, 1), never the word itself; another word only as a common confusion."""
    low = word.lower()
    letters = tuple(low[start:end] for start, end in graphemes(low))
    weighted = zip(KINDS, draws, strict=False)
    keys = {kind: -math.log(1.0 - draw) / rules.weights[kind] for kind, draw in weighted}
    for kind in sorted(keys, key=lambda kind: keys[kind]):
        forms = [form for form in _WAYS[kind](letters, rules) if form != low and _no_word(form, kind, rules)]
        if forms:
            return as_written(word, forms[int(draws[-1] * len(forms))])
    return word + letters[-1]


def _no_word(form: str, kind: str, rules: Typos) -> bool:
    return kind == "confusion" or form not in rules.words


def as_written(word: str, form: str) -> str:
    """The new word in capitals, with a capital, or in small letters, as the old one was."""
    if word.isupper() and len(word) > 1:
        return form.upper()
    return form[:1].upper() + form[1:] if word[:1].isupper() else form


def _keyboard(letters: Letters, rules: Typos) -> Iterator[str]:
    for index, letter in enumerate(letters):
        for other in rules.beside.get(letter, ""):
            yield "".join((*letters[:index], other, *letters[index + 1 :]))


def _swap(letters: Letters, rules: Typos) -> Iterator[str]:
    del rules
    for index in range(len(letters) - 1):
        yield "".join((*letters[:index], letters[index + 1], letters[index], *letters[index + 2 :]))


def _double(letters: Letters, rules: Typos) -> Iterator[str]:
    del rules
    for index, letter in enumerate(letters):
        if letter[0].isalpha():
            yield "".join((*letters[:index], letter, *letters[index:]))


def _drop(letters: Letters, rules: Typos) -> Iterator[str]:
    """Leave one out; of two letters or one there would be too little left to read."""
    del rules
    if len(letters) > 2:
        for index in range(len(letters)):
            yield "".join((*letters[:index], *letters[index + 1 :]))


def _phonetic(letters: Letters, rules: Typos) -> Iterator[str]:
    word = "".join(letters)
    if len(word) < 3 or not word.isascii():
        return
    for old, new, place in rules.phonetic:
        start = word.find(old)
        while start >= 0:
            if place == "any" or (start == 0 if place == "start" else start + len(old) == len(word)):
                yield word[:start] + new + word[start + len(old) :]
            start = word.find(old, start + 1)


def _common(letters: Letters, rules: Typos) -> Iterator[str]:
    misspelling = rules.common.get("".join(letters))
    if misspelling:
        yield misspelling


def _confusion(letters: Letters, rules: Typos) -> Iterator[str]:
    yield from rules.confusions.get("".join(letters).replace("’", "'"), ())


_WAYS: Final[Mapping[str, Callable[[Letters, Typos], Iterator[str]]]] = MappingProxyType(
    dict(zip(KINDS, (_keyboard, _swap, _double, _drop, _phonetic, _common, _confusion), strict=True))
)


class Misspelling(Declared):
    """Misspelling: words written as hasty fingers or a hazy memory would write them.

    Source: R2-Bench, Table 1, source noise of text. Its toolbox picks round(c x tokens) words, c = .2 to .6, and has a
    chat model misspell them; here the same number is misspelt by rules, from a seed. Words are counted by themselves,
    without the punctuation marks that its tokenizer counts too. ``rewritten`` takes a chat model instead.

    What is misspelt at one strength is so at every greater one too, and in the same way. Neighbouring keys are those of
    the keyboard ``layout``: ``qwerty``, ``qwertz`` or ``azerty``.
    """

    name = "sentences.misspelling.v1"
    share = Constant("share of the words", (0.0, 0.2, 0.3, 0.4, 0.5, 0.6))
    meta = Metadata(
        summary="misspells words: neighbouring keys, swaps, doublings, omissions, spelling by ear, confusions",
        goal="hasty or unsure writing: known words become unknown ones",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="the meaning stays; the changed words are listed",
        origin="source",
    )

    def __init__(self, layout: str = "qwerty") -> None:
        self._layout = layout

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw the order in which words are misspelt and how, and take the first of them; digits are left alone."""
        share = self.share.at(strength)
        guard, rules, tokens = Guard.over(kept), typos(self._layout), words(sentence)
        spelt = [word for word in tokens if word.spelt and guard.free(word.start, word.end)]
        order, draws = rng.permutation(len(spelt)), rng.random((len(spelt), DRAWS))
        return [
            Edit(spelt[index].start, spelt[index].end, misspelt(spelt[index].text, draws[index].tolist(), rules))
            for index in sorted(order[: round(share * len(tokens))].tolist())
        ]


MISSPELLING: SentenceStressor = Misspelling()


class CharacterMissing(Declared):
    """Missing characters: a keyboard, a recogniser or a link that loses some.

    Source: R2-Bench, Table 1, sensor noise of text; the amounts of its toolbox: round(length x 0.05 x level) deletions,
    spaces among them. Here a character is what a reader sees: a letter with its accents goes as one.
    """

    name = "sentences.character_missing.v1"
    share = Constant("share of the characters", (0.0, 0.05, 0.10, 0.15, 0.20, 0.25))
    meta = Metadata(
        summary="takes characters out of the sentence",
        goal="a lossy keyboard or recogniser: words lose letters and run together",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="the meaning stays; the lost characters are listed",
        origin="sensor",
    )

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw the order in which characters go, and take the first of it; a kept word does not run into others."""
        share = self.share.at(strength)
        spans = graphemes(sentence)
        guard = Guard.over([_with_spaces(sentence, span) for span in kept])
        removable = [span for span in spans if guard.free(*span)]
        count = min(round(share * len(spans)), len(removable))
        gone = sorted(rng.permutation(len(removable))[:count].tolist())
        return [Edit(removable[index][0], removable[index][1], "") for index in gone]


def _with_spaces(sentence: str, span: TextSpan) -> TextSpan:
    low, high = span
    before, after = sentence[max(low - 1, 0) : low].isspace(), sentence[high : high + 1].isspace()
    return low - before, high + after


CHARACTER_MISSING: SentenceStressor = CharacterMissing()


class Homoglyphs(Declared):
    """Homoglyphs: letters replaced by look-alikes of other scripts; a reader sees no difference, a tokenizer does.

    R2-Bench's prompt for misspellings asks for them too; the shares here are ours, those of missing characters, so that
    the two compare at equal numbers of touched characters. The look-alikes survive NFKC normalisation.
    """

    name = "sentences.homoglyphs.v1"
    share = Constant("share of the characters", (0.0, 0.05, 0.10, 0.15, 0.20, 0.25))
    meta = Metadata(
        summary="replaces letters by look-alikes of other scripts",
        goal="text that reads the same and is spelt with other characters: words fall apart for a tokenizer",
        modality="text",
        source="R2-Bench, Sec. 3.1 (part of its misspellings); shares are ours",
        truth="the meaning stays; the replaced letters are listed",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw the order in which letters are replaced and a look-alike for each, and take the first of them."""
        share = self.share.at(strength)
        guard, replacements = Guard.over(kept), look_alikes()
        spans = graphemes(sentence)
        free = [span for span in spans if sentence[slice(*span)] in replacements and guard.free(*span)]
        order, draws = rng.permutation(len(free)), rng.random(len(free))
        edits = []
        for index in sorted(order[: round(share * len(spans))].tolist()):
            start, end = free[index]
            choice = replacements[sentence[start:end]]
            edits.append(Edit(start, end, choice[int(draws[index] * len(choice))]))
        return edits


@cache
def look_alikes() -> Mapping[str, str]:
    """Each letter that has look-alikes, with these."""
    groups: list[str] = read_shipped("stress/sentences/data/look_alikes.json")["groups"]
    return MappingProxyType({char: group.replace(char, "") for group in groups for char in group})


HOMOGLYPHS: SentenceStressor = Homoglyphs()


MARKS: Final = ",.;:!?"


class Mispunctuation(Declared):
    """Mispunctuation: stray punctuation marks inside the sentence.

    Source: R2-Bench, Table 1, source noise of text; the amounts of its toolbox: round(length x 0.04 x level) marks.
    Here a character is what a reader sees, so that no mark falls between a letter and its accent.
    """

    name = "sentences.mispunctuation.v1"
    share = Constant("marks per character", (0.0, 0.04, 0.08, 0.12, 0.16, 0.20))
    meta = Metadata(
        summary="puts stray punctuation marks inside the sentence",
        goal="hasty typing: words fall apart for a tokenizer",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="the meaning stays; the changed places are listed",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw distinct places and a mark for each."""
        share = self.share.at(strength)
        guard, spans = Guard.over(kept), graphemes(sentence)
        positions = [start for start, _ in spans[1:] if guard.free(start, start)]
        count = min(round(share * len(spans)), len(positions))
        chosen = sorted(rng.choice(len(positions), size=count, replace=False).tolist()) if count else []
        return [Edit(positions[index], positions[index], pick(rng, MARKS)) for index in chosen]


MISPUNCTUATION: SentenceStressor = Mispunctuation()
