"""Parses an expression into a logical form: our own grammar backwards, and common paraphrases.

What one frame cannot show (sounds, motion) becomes a form that vision alone cannot decide, and so do unknown words:
they are reported, and a run of them where a noun must stand is the name of an unknown category.

The patterns come from the tables that our own expressions are generated from (`language.words`), in the singular, the
plural and negated, together with some paraphrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError
from auscult.language.forms import (
    ANYTHING,
    MOST_NESTING,
    MOTIONS,
    SIGHT_QUALITIES,
    SIGHT_RELATIONS,
    SOUND_RELATIONS,
    SOUNDS,
    Form,
    Sense,
    both,
    most,
    no,
    places,
    relation,
)
from auscult.language.lexicon import ing, negated, of_many, plural
from auscult.language.words import Way, sound_name, ways
from auscult.media.paths import write_bytes
from auscult.record import codec

SentenceTokens = tuple[str, ...]

UNHEARD: Final[Form] = SOUNDS
"""Stands for everything that one frame cannot show: vision alone cannot decide it."""

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

ORDER_WORDS: Final[Mapping[str, tuple[str, str]]] = {"first": ("early", "short_lived"), "last": ("late", "lasting")}
"""Of what starts to sound, and of what stops."""
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
_MOST_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What the networks and the parser know."""

    categories: tuple[str, ...]  # in the order of the networks' outputs
    colours: tuple[str, ...]  # the same
    textures: tuple[str, ...]  # the same
    # noun, verb and category of sounds whose maker is known; the category is empty where anything may sound so
    voices: tuple[tuple[str, str, str], ...] = ()
    # what the networks' logits are multiplied by, so that probabilities are as often right as they say
    sharpness: float = 1.0
    slope: float = 1.0  # of the logistic curve from what is proven to the probability of a match
    offset: float = 0.0  # the same

    @property
    def parts(self) -> tuple[int, int]:
        """Where colours and textures begin among the outputs."""
        return len(self.categories), len(self.categories) + len(self.colours)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read what training wrote beside the weights."""
    made_by = "what `auscult train scenes-identity` writes"
    return codec.read_file(
        Vocabulary, path, what="the vocabulary", expected=made_by, most_bytes=_MOST_BYTES, error=InputError
    )


def write_vocabulary(words: Vocabulary, path: Path) -> Path:
    """Write what ``read_vocabulary`` reads."""
    write_bytes(path, codec.dump(codec.to_json(words), indent=1) + b"\n")
    return path


def tokens(text: str) -> SentenceTokens:
    """A sentence as lower-case words, with commas kept as words of their own."""
    plain = "".join(letter if letter.isalnum() or letter in ",'" else " " for letter in text.lower())
    return tuple(plain.replace(",", " , ").split())


def nouns(words: Vocabulary) -> dict[SentenceTokens, str]:
    """Every category in singular and plural."""
    categories = {}
    for name in words.categories:
        categories[tokens(name)] = name
        categories[tokens(plural(name))] = name
    return categories


def plain_patterns(words: Vocabulary, *, heard: bool = False) -> dict[SentenceTokens, Form]:
    """Patterns of everything but categories, relations and superlatives; what is ``heard`` is kept as it is said."""
    patterns: dict[SentenceTokens, Form] = {}
    for text in _MORE_UNHEARD:
        patterns[tokens(text)] = patterns[tokens(of_many(text))] = ANYTHING if heard else UNHEARD
    for form, spoken, surface_forms in _audible(words):
        patterns.update(dict.fromkeys(surface_forms, spoken if heard else form))
    visible: list[Form] = [*places(), {"op": "hidden"}, no({"op": "hidden"})]
    visible += [{"op": "texture", "word": word} for word in words.textures]
    visible += [{"op": "motion", "word": word} for word in MOTIONS] + [no({"op": "motion", "word": "still"})]
    for colour in words.colours:
        visible += [no({"op": "colour", "word": colour}), {"op": "colour", "word": colour}]
    for form in visible:
        patterns.update(dict.fromkeys(_surface_forms(form), form))
    for word, texts in _MORE_PLACES.items():
        patterns.update({tokens(text): {"op": "place", "word": word} for text in texts})
    return patterns


def _audible(words: Vocabulary) -> Iterator[tuple[Form, Form, set[SentenceTokens]]]:
    """Audible properties: the form a frame can check (a known maker at most), the form that is said, its wordings."""
    audible: list[Form] = [SOUNDS, no(SOUNDS), {"op": "throughout"}, no({"op": "throughout"})]
    audible += [{"op": "times", "count": count} for count in _COUNTS]
    for form in audible:
        yield UNHEARD, form, _surface_forms(form)
    anyone = {noun for noun, _, maker in words.voices if not maker}
    makers = {(name, f"makes {name} sounds", name) for name in words.categories if name not in anyone}
    for noun, verb, maker_name in sorted(makers | set(words.voices)):
        maker: Form = {"op": "category", "word": maker_name} if maker_name in words.categories else UNHEARD
        voice: Form = {"op": "voice", "noun": noun, "verb": verb}
        texts = (ing(verb), f"{noun} sound", f"the {sound_name(noun)}")
        yield maker, voice, _surface_forms(voice)
        yield maker, voice, {tokens(text) for text in texts}


def relation_patterns() -> dict[tuple[SentenceTokens, SentenceTokens], Form | None]:
    """The words before and after the object of a relation, and the relation's form; None for an audible one.

    The form has no ``to`` yet; a negated one is inside a ``not``.
    """
    patterns: dict[tuple[SentenceTokens, SentenceTokens], Form | None] = {}
    for kind in (*SIGHT_RELATIONS, *SOUND_RELATIONS):
        visible = kind in SIGHT_RELATIONS
        plain: dict[str, Any] = {"op": "relation", "how": kind}
        for form in (plain, {"op": "not", "of": plain}):
            for text in _texts_of(form):
                patterns[_around(text)] = form if visible else None
        for text in _MORE_RELATIONS.get(kind, ()):
            patterns[_around(text)] = plain
        if not visible and kind not in {"louder", "quieter"}:
            voice = {"op": "heard", "how": kind, "noun": "", "verb": ""}
            for form in (voice, {"op": "not", "of": voice}):
                patterns.update({_around(text): None for text in _texts_of(form)})
    for name in ("sounds_not_relation", "sounds_not_heard"):
        patterns.update({_around(text): None for text in _texts_of({"op": name})})
    return patterns


def _around(text: str) -> tuple[SentenceTokens, SentenceTokens]:
    before, _, after = text.partition("{to}")
    return tokens(before), tokens(after)


def _surface_forms(form: Form) -> set[SentenceTokens]:
    return {tokens(text) for text in _texts_of(form)}


def _texts_of(form: Form) -> set[str]:
    texts = set()
    for wording in ways(form):
        texts |= set(_both_numbers(wording))
    return texts


def _both_numbers(wording: Way) -> Iterator[str]:
    text = wording.text
    if text.startswith("not:"):
        text = negated(text.removeprefix("not:"))
    yield text
    yield wording.many or (of_many(text) if wording.slot == "that" else text)
    if wording.slot == "that" and text.startswith("is ") and not text.startswith("is not "):
        yield text.removeprefix("is ")


MOST_TOKENS: Final = 60
_SHOWN: Final = frozenset(SIGHT_RELATIONS) - {"same_motion", "in_front_of", "behind"}
_AMONG: Final = ({"of"}, {"among"}, {"out"})
_OTHER_THAN: Final = (("something", "other", "than"), ("anything", "but"), ("not", "a"), ("not", "an"), ("not",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedExpression:
    """An expression as it was parsed."""

    form: Form  # its logical form
    unknown: tuple[str, ...] = ()  # unknown words, in order
    # names of unknown categories; the form leaves them open, since any object may have that name
    strange: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Notes:
    """Unknown words and names, and how much deeper phrases may nest; nested phrases share them."""

    unknown: list[str] = field(default_factory=list)
    strange: set[str] = field(default_factory=set)
    depth: int = MOST_NESTING

    def deeper(self) -> _Notes:
        return replace(self, depth=self.depth - 1)


class SentenceReader:
    """Reads sentences in the words of a vocabulary; made once.

    With ``heard``, what is said of sound is kept, and what cannot be read is left out instead of undecided.
    """

    def __init__(self, words: Vocabulary, *, heard: bool = False) -> None:
        self._heard = heard
        self._open: Form = ANYTHING if heard else UNHEARD
        self._nouns = nouns(words)
        self._plain = _by_first(plain_patterns(words, heard=heard))
        self._colours = frozenset(words.colours)
        self._relations = sorted(
            relation_patterns().items(), key=lambda pair: (-len(pair[0][0]), -len(pair[0][1]), pair[0])
        )
        self._superlatives = _superlatives()
        self._ends = frozenset(tokens(text) for text in ORDER_ENDS)

    def read(self, text: str) -> ParsedExpression | None:
        """Read a sentence; None for one that is empty or too long."""
        span = tokens(text)
        if not span or len(span) > MOST_TOKENS:
            return None
        notes = _Notes()
        form = self._phrase(span, notes)
        return ParsedExpression(form=form, unknown=tuple(notes.unknown), strange=frozenset(notes.strange))

    def _phrase(self, span: SentenceTokens, notes: _Notes) -> Form:
        """A noun phrase with everything that hangs on it."""
        span = _without_article(span)
        if notes.depth <= 1 or not span:
            return self._open
        among = self._among(span, notes)
        if among is not None:
            return among
        quality, length = self._leading(span)
        if quality:
            return self._most(quality, span[length:], notes)
        split = self._relation(span)
        if split is not None:
            return self._related(span, split, notes)
        return self._described(span, notes)

    def _among(self, span: SentenceTokens, notes: _Notes) -> Form | None:
        """A choice within a group that comes first: "among the bells, the one that is the largest"."""
        if {span[0]} not in _AMONG or "," not in span:
            return None
        comma = span.index(",")
        group = span[1:comma] if span[0] != "out" else span[2:comma]
        qualities = (self._superlatives.get(span[index:]) for index in range(comma, len(span)))
        return self._of(next(filter(None, qualities), "loud"), self._phrase(group, notes.deeper()))

    def _leading(self, span: SentenceTokens) -> tuple[str, int]:
        """A superlative that a phrase begins with, and how many words it takes; else nothing."""
        for length in (2, 1):
            quality = self._superlatives.get(span[:length])
            if quality is not None:
                return quality, length
        if span[0] in TWO and len(span) > 1 and (self._noun(span, 1) or span[1] in GENERIC | {"of", "among"}):
            return TWO[span[0]], 1
        for end in self._ends if span[0] in ORDER_WORDS else ():
            if span[-len(end) :] == end:
                return ORDER_WORDS[span[0]]["stop" in end or "silent" in end], 1
        return "", 0

    def _most(self, quality: str, rest: SentenceTokens, notes: _Notes) -> Form:
        if rest and rest[0] in {"of", "among"}:
            rest = rest[1:]
            rest = rest[1:] if rest and rest[0] == "all" else rest
        for end in self._ends:
            if rest[-len(end) :] == end:
                rest = rest[: -len(end)]
        return self._of(quality, self._phrase(rest, notes.deeper()) if rest else {"op": "anything"})

    def _of(self, quality: str, group: Form) -> Form:
        """The object with most of a quality; where it is audible and sound is not read, one of the group, undecided."""
        return most(quality, group) if self._heard or quality in SIGHT_QUALITIES else both(group, self._open)

    def _relation(self, span: SentenceTokens) -> tuple[int, SentenceTokens, SentenceTokens, Form | None] | None:
        """The first relation: its index, the words before and after its object (the longest that fit), its form."""
        ahead = 0  # where a longer pattern ends that is complete in itself: "with something in front of it"
        for index in range(len(span)):
            plain = self._pattern(span, index)
            for (before, after), form in self._relations:
                end = index + len(before)
                fits = before and span[index:end] == before and ahead < end < len(span)
                if fits and (plain is None or plain[0] <= len(before)) and span[len(span) - len(after) :] == after:
                    return index, before, after, form
            ahead = max(ahead, index + plain[0]) if plain is not None else ahead
        return None

    def _related(
        self, span: SentenceTokens, split: tuple[int, SentenceTokens, SentenceTokens, Form | None], notes: _Notes
    ) -> Form:
        index, before, after, form = split
        base = self._described(span[:index], notes) if span[:index] else {"op": "anything"}
        goal = span[index + len(before) : len(span) - len(after)]
        if form is None:
            return both(base, self._open)
        unknown_before = len(notes.unknown)
        goes_to = self._phrase(goal, notes.deeper())
        if len(notes.unknown) > unknown_before:
            return both(base, self._open)  # an unknown object may be none of those found
        inner = form["of"] if form["op"] == "not" else form
        stands = relation(inner["how"], goes_to)
        return both(base, no(stands) if form["op"] == "not" else stands)

    def _described(self, span: SentenceTokens, notes: _Notes) -> Form:
        """A noun with its attributes, in any order."""
        forms: list[Form] = []
        run: list[str] = []
        strays: list[tuple[str, ...]] = []
        quality, index = "", 0
        while index < len(span):
            length, form, word = self._next(span, index)
            if length == 0:
                run.append(span[index])
                index += 1
                continue
            if run:
                strays.append(tuple(run))
                run = []
            quality = word or quality
            forms += [form] if form is not None and form not in forms else []
            index += length
        strays += [tuple(run)] if run else []
        forms += self._stray(strays, forms, notes)
        joined = both(*forms[: MOST_NESTING - 2])
        return self._of(quality, joined) if quality and notes.depth > 2 else joined

    def _next(self, span: SentenceTokens, index: int) -> tuple[int, Form | None, str]:
        """The pattern that begins at a word: its length in words (0 if none is known), its form or superlative."""
        for other in _OTHER_THAN:
            end = index + len(other)
            article = int(span[end : end + 1] in {("a",), ("an",)})
            noun = self._noun(span, end + article) if span[index:end] == other else None
            if noun:
                return len(other) + article + noun[0], no({"op": "category", "word": noun[1]}), ""
        for length in range(min(8, len(span) - index), 1, -1):
            quality = self._superlatives.get(span[index : index + length])
            if quality is not None:
                return length, None, quality
        noun = self._head(span, index)
        pattern = self._pattern(span, index)
        longest = 0 if pattern is None else pattern[0]
        if noun and (noun[0] > longest or (noun[0] == longest and not self._is_colour(span, index))):
            return noun[0], {"op": "category", "word": noun[1]}, ""
        if pattern is not None:
            return pattern[0], pattern[1], ""
        return (1, None, "") if span[index] in FILLERS or span[index] == "," else (0, None, "")

    def _head(self, span: SentenceTokens, index: int) -> tuple[int, str] | None:
        """A noun, unless an unknown word follows at once: a dog house is no dog."""
        noun = self._noun(span, index)
        follows = len(span) if noun is None else index + noun[0]
        return noun if follows >= len(span) or self._next(span, follows)[0] else None

    def _is_colour(self, span: SentenceTokens, index: int) -> bool:
        """Whether "orange" is a colour here, that is, whether a noun is named besides."""
        if span[index] not in self._colours:
            return False
        before = index > 0 and span[index - 1] in {"is", "are", "not"}
        after = span[index + 1 :]
        return before or (bool(after) and (self._noun(after, 0) is not None or after[0] in GENERIC))

    def _noun(self, span: SentenceTokens, index: int) -> tuple[int, str] | None:
        for length in (3, 2, 1):
            name = self._nouns.get(span[index : index + length]) if index + length <= len(span) else None
            if name is not None:
                return length, name
        return None

    def _pattern(self, span: SentenceTokens, index: int) -> tuple[int, Form] | None:
        for length, pattern, form in self._plain.get(span[index], ()):
            if span[index : index + length] == pattern:
                return length, form
        return None

    def _stray(self, strays: Sequence[tuple[str, ...]], forms: Sequence[Form], notes: _Notes) -> list[Form]:
        """The form of unknown words, undecided; without a known category, the first run is noted as an unknown noun."""
        notes.unknown.extend(word for run in strays for word in run)
        if not strays:
            return []
        if all(form["op"] != "category" for form in forms):
            notes.strange.add(" ".join(strays[0])[:60])
        return [self._open]  # a puppy may well be what is known as a dog


def _without_article(span: SentenceTokens) -> SentenceTokens:
    while span and span[0] in {"the", "a", "an", "find", "segment", ","}:
        span = span[1:]
    return span


def _by_first(patterns: Mapping[SentenceTokens, Form]) -> dict[str, list[tuple[int, SentenceTokens, Form]]]:
    """Patterns by their first word, the longest first."""
    by_word: dict[str, list[tuple[int, SentenceTokens, Form]]] = {}
    for pattern, form in sorted(patterns.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        if pattern:
            by_word.setdefault(pattern[0], []).append((len(pattern), pattern, form))
    return by_word


def _superlatives() -> dict[SentenceTokens, str]:
    qualities: dict[SentenceTokens, str] = {}
    for quality, texts in SUPERLATIVES.items():
        for text in texts:
            qualities[tokens(text)] = quality
            if text.startswith(("is ", "lies ", "sounds ", "starts ", "goes ", "falls ")):
                qualities[tokens(of_many(text))] = quality
    return qualities


def form_words(form: Form) -> frozenset[str]:
    """The categories that a form speaks of."""
    categories: set[str] = {str(form["word"])} if form["op"] == "category" else set()
    return frozenset(categories).union(*map(form_words, inside(form)))


def part_for(sense: Sense, form: Form) -> Form | None:
    """What a form says of one frame, or of a sound and the rest of its mixture; None where it says nothing of that.

    What is said of the other sense is dropped from conjunctions and groups; a denial or relation is kept whole or not.
    """
    words, qualities = _SAID[sense]
    name = form["op"]
    if name in words:
        return form
    if name == "and":
        parts = [part for part in (part_for(sense, member) for member in form["of"]) if part is not None]
        return both(*parts) if parts else None
    if name == "not":
        return form if part_for(sense, form["of"]) == form["of"] else None
    if name == "most":
        group = part_for(sense, form["of"])
        complete = group == form["of"] or form["of"]["op"] in {"anything", "sounds"}
        return form if form["by"] in qualities and complete else group
    if name == "relation" and sense == "sight" and form["how"] in _SHOWN:
        return form if part_for(sense, form["to"]) == form["to"] else None
    return None


_SAID: Final[Mapping[Sense, tuple[frozenset[str], frozenset[str]]]] = {
    "sight": (frozenset({"category", "colour", "texture", "place"}), frozenset(SIGHT_QUALITIES)),
    # all that is heard sounds; of the rest of a mixture only beginning, end and loudness are those of one thing
    "sound": (frozenset({"voice", "times", "throughout"}), frozenset({"early", "lasting", "loud", "quiet"})),
}
"""Predicates and qualities of each sense."""


def is_seen(form: Form) -> bool:
    """Whether one frame can show any part of a form."""
    visible = form["op"] in {"category", "colour", "texture", "place", "relation", "most"}
    return visible or any(map(is_seen, inside(form)))


def is_whole(form: Form) -> bool:
    """Whether one frame shows everything that a form says: no sound, no motion, and nothing that hides a thing."""
    name = form["op"]
    if name in {"and", "not"}:
        complete = True
    elif name == "most":
        complete = form["by"] in SIGHT_QUALITIES
    elif name == "relation":
        complete = form["how"] in _SHOWN
    else:
        complete = name in {"anything", "category", "colour", "texture", "place"}
    return complete and all(map(is_whole, inside(form)))


def inside(form: Form) -> Sequence[Form]:
    """The forms that a form is made of."""
    inner: Any = form.get("of", form.get("to", ()))
    return inner if isinstance(inner, list | tuple) else (inner,)
