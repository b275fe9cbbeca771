"""Referring expressions for a scene, each proven to name one thing, and null expressions, each proven to name none.

What is named is drawn before how it is named, so that no word tells more than it says. A family that needs both senses
is used only in a scene where it can name every thing: there each of them is named equally often, whatever it looks
like, and neither the words nor the picture alone tell which.

A family lists forms; whether a form names one thing, and what is needed to know which, is proven afterwards. Forms that
join predicates do so in a fixed order, so that a form occurs once.

Two rules keep a sentence from being read in another way than its form: what ends in a phrase of its own ("to the left
of the drum") stands last, so that nothing after it can be taken to belong to the drum; and a superlative ranges over
the whole phrase that follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType
from typing import Final, overload

import numpy as np

from auscult.language.forms import (
    ANYTHING,
    SIGHT_QUALITIES,
    SOUND_QUALITIES,
    SOUNDS,
    STILL,
    Expression,
    Facts,
    Form,
    Sense,
    both,
    categories,
    colours,
    counts,
    covers,
    heard,
    motions,
    no,
    places,
    relation,
    seen,
    textures,
    to_voices,
    voices,
)
from auscult.language.forms import most as most_of
from auscult.language.lexicon import is_plural, negated, of_many
from auscult.language.proof import Proof, TruthValues, needed
from auscult.language.words import Way, sound_name, ways
from auscult.rng import pick

_PHRASE_TRIES: Final = 40
_GENERIC: Final = (("thing", "things"), ("object", "objects"), ("item", "items"), ("one", "ones"))
# Before a noun; what one does who is the first or last to do it; a clause.
_SUPERLATIVES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]] = {
    "large": (("largest", "biggest"), (), ("is the largest", "is bigger than all the others")),
    "small": (("smallest",), (), ("is the smallest", "is smaller than all the others")),
    "left": (("leftmost",), (), ("is farthest to the left", "lies farthest left")),
    "right": (("rightmost",), (), ("is farthest to the right", "lies farthest right")),
    "high": (("highest", "topmost"), (), ("is the highest up", "is nearest to the top")),
    "low": (("lowest", "bottommost"), (), ("is the lowest down", "is nearest to the bottom")),
    "loud": (("loudest",), (), ("is the loudest", "sounds loudest")),
    "quiet": (("quietest",), (), ("is the quietest to be heard", "sounds softest")),
    "early": (
        (),
        ("first * to start sounding", "first * to be heard"),
        ("is heard first", "starts sounding first", "is the first to start sounding"),
    ),
    "late": (
        (),
        ("last * to start sounding", "last * to begin to sound"),
        ("starts sounding last", "is the last to start sounding"),
    ),
    "short_lived": (
        (),
        ("first * to fall silent for good", "first * to stop sounding for good"),
        ("goes quiet for good first", "is the first to stop sounding for good"),
    ),
    "lasting": (
        (),
        ("last * to fall silent", "last * to stop sounding"),
        ("falls silent last", "is the last to stop sounding"),
    ),
    "frequent": ((), (), ("sounds most often", "is heard the most times", "sounds more often than all the others")),
    "long": ((), (), ("sounds for the longest time", "is heard the longest", "sounds longer than all the others")),
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words, and the name of the wording that was taken."""

    text: str
    wording: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """One predicate in words: its way, with the phrase it refers to filled in, and whether it refers to one."""

    way: Way
    key: str
    leads: bool


def phrase(rng: np.random.Generator, form: Form) -> Phrase:
    """Say a form as a phrase that begins with ``the``, ``of`` or ``among``; every wording can come out.

    It is a ValueError to join two predicates that both lead to a phrase of their own: that has no wording.
    """
    return _superlative(rng, form) if form["op"] == "most" else _singular(rng, form)


def _singular(rng: np.random.Generator, form: Form) -> Phrase:
    noun = _noun_phrase(rng, form, many=False)
    return Phrase(f"the {noun.text}", noun.wording)


def _superlative(rng: np.random.Generator, form: Form, *, inner: bool = False) -> Phrase:
    """Say a superlative; ``inner``, in a way that fits after a relation."""
    before, first, clauses = _SUPERLATIVES[form["by"]]
    slots = {"before": before, "first": first, "among": not inner, "of": before}
    kind = pick(rng, [kind for kind, ways_of in slots.items() if ways_of])
    if kind == "before":
        word, noun = pick(rng, before), _noun_phrase(rng, form["of"], many=False)
        return Phrase(f"the {word} {noun.text}", f"{word} {noun.wording}")
    if kind == "first":
        word, group = pick(rng, first), {"op": "anything"} if form["of"]["op"] == "sounds" else form["of"]
        short = _noun_phrase(rng, group, many=False, short=True)
        if short is not None:
            return Phrase(f"the {word.replace('*', short.text)}", f"{word} {short.wording}")
    noun = _noun_phrase(rng, form["of"], many=True)
    if kind == "of":
        word = pick(rng, before)
        among = pick(rng, ("of", "among", "of all"))
        return Phrase(f"the {word} {among} the {noun.text}", f"{word} {among} {noun.wording}")
    start, clause = pick(rng, ("among", "of", "out of")), pick(rng, clauses)
    ending = f"the ones that {of_many(clause)}" if _several(form) else f"the one that {clause}"
    return Phrase(f"{start} the {noun.text}, {ending}", f"{start}, {clause} {noun.wording}")


@overload
def _noun_phrase(rng: np.random.Generator, form: Form, *, many: bool) -> Phrase: ...
@overload
def _noun_phrase(rng: np.random.Generator, form: Form, *, many: bool, short: bool) -> Phrase | None: ...
def _noun_phrase(rng: np.random.Generator, form: Form, *, many: bool, short: bool = False) -> Phrase | None:
    """Words from those before the noun to the last clause, without an article; ``short`` ends with the noun."""
    parts = _parts(form)
    many = many or _several(form)
    for _ in range(_PHRASE_TRIES):
        pieces = [_piece(rng, part, many=many) for part in parts]
        if _fit(pieces, short=short):
            return _joined(rng, pieces, many=many)
    if short:
        return None
    raise ValueError(f"there is no way to say {form}")


def _parts(form: Form) -> list[Form]:
    """The predicates of a form; "sounds" and "not with" become one, else they read "audible" and "not heard"."""
    parts = [part for part in (form["of"] if form["op"] == "and" else (form,)) if part["op"] != "anything"]
    denied = [part for part in parts if part["op"] == "not" and part["of"].get("how") == "with"]
    if denied and SOUNDS in parts:
        others = [part for part in parts if part != SOUNDS and part not in denied]
        return others + [{**part["of"], "op": f"sounds_not_{part['of']['op']}"} for part in denied]
    return parts


def _several(form: Form) -> bool:
    """Whether a thing is called by a noun of the plural form: "the scissors that do not move"."""
    if form["op"] == "most":
        return _several(form["of"])
    parts = form["of"] if form["op"] == "and" else (form,)
    return any(part["op"] == "category" and is_plural(part["word"]) for part in parts)


def _piece(rng: np.random.Generator, part: Form, *, many: bool) -> _Piece:
    choice = ways(part)
    way = pick(rng, _by_slot(rng, choice))
    key = f"{part['op']}.{way.slot}{choice.index(way)}"
    inner = part["of"] if part["op"] == "not" else part
    leads = "how" in inner
    denied = way.text.startswith("not:")
    text = way.text.removeprefix("not:")
    if denied:
        text = negated(text)
    words = (way.many or (of_many(text) if way.slot == "that" else text)) if many else text
    if leads:
        start, _, end = words.partition("{to} ")
        if end and "to" in inner and _several(inner["to"]):
            words = start + "{to} " + of_many(end)
        words = words.replace("{to}", _referent(rng, inner))
    return _Piece(replace(way, text=words), key, leads)


def _by_slot(rng: np.random.Generator, choice: Sequence[Way]) -> list[Way]:
    """The ways of one slot, so that a slot of many ways is not taken more often."""
    slot = pick(rng, sorted({way.slot for way in choice}))
    return [way for way in choice if way.slot == slot]


def _referent(rng: np.random.Generator, form: Form) -> str:
    if "noun" in form:
        return f"the {sound_name(form['noun'])}"
    to = form["to"]
    return (_superlative(rng, to, inner=True) if to["op"] == "most" else _singular(rng, to)).text


def _fit(pieces: Sequence[_Piece], *, short: bool) -> bool:
    count = {slot: sum(piece.way.slot == slot for piece in pieces) for slot in ("noun", "before", "after", "that")}
    if any(count[slot] > limit for slot, limit in (("noun", 1), ("before", 2), ("after", 1), ("that", 2))):
        return False
    if short:
        return not count["after"] and not count["that"]
    leading = [piece for piece in pieces if piece.leads]
    if not count["that"]:
        return len(leading) <= 1
    # Nothing may come after what ends in a phrase of its own, or in a clause.
    clauses = any(piece.way.text.startswith(("whose", "from which")) for piece in pieces)
    return all(piece.way.slot != "after" for piece in leading) and len(leading) <= 1 and not clauses


def _joined(rng: np.random.Generator, pieces: Sequence[_Piece], *, many: bool) -> Phrase:
    before = sorted((piece for piece in pieces if piece.way.slot == "before"), key=lambda piece: piece.way.rank)
    nouns = [piece.way.text for piece in pieces if piece.way.slot == "noun"]
    after = [piece for piece in pieces if piece.way.slot == "after"]
    that = sorted((piece for piece in pieces if piece.way.slot == "that"), key=lambda piece: piece.leads)
    generic = pick(rng, _GENERIC if pieces else _GENERIC[:3])
    head = nouns[0] if nouns else generic[many]
    words = [*(piece.way.text for piece in before), head, *(piece.way.text for piece in after)]
    if that:
        words += ["that", " and ".join(piece.way.text for piece in that)]
    keys = [piece.key for piece in (*before, *after, *that) if piece.way.slot != "noun"]
    return Phrase(" ".join(words), " | ".join([*keys, "noun" if nouns else generic[0]]))


Lister = Callable[[Proof], Iterator[Form]]

_LEFT_AND_RIGHT: Final = ("left_of", "right_of", "above", "below", "nearest", "farthest")
_LIKE: Final = ("same_colour", "same_category", "same_motion")
_ORDER: Final = ("early", "late", "short_lived", "lasting")


def _position(proof: Proof) -> Iterator[Form]:
    yield from _with_category(proof.facts, places())
    for quality, group in product(("left", "right", "high", "low"), _groups(proof.facts)):
        yield most_of(quality, group)


def _size(proof: Proof) -> Iterator[Form]:
    for quality, group in product(("large", "small"), _groups(proof.facts)):
        yield most_of(quality, group)
    for how, form in product(("larger", "smaller"), _single(proof, categories(proof.facts))):
        yield from _with_category(proof.facts, [relation(how, form)])


def _depth(proof: Proof) -> Iterator[Form]:
    yield from _with_category(proof.facts, covers())
    for how, form in product(("in_front_of", "behind"), _single(proof, _looks(proof.facts))):
        yield relation(how, form)


def _relation(proof: Proof) -> Iterator[Form]:
    for how, form in product((*_LEFT_AND_RIGHT, *_LIKE), _single(proof, _looks(proof.facts))):
        if _sensible(proof, how, form):
            yield from _with_category(proof.facts, [relation(how, form)])


def _order_of_sounds(proof: Proof) -> Iterator[Form]:
    for quality in _ORDER:
        yield most_of(quality, SOUNDS)
    yield from (form for form in to_voices(proof.facts) if form.get("how") in {"after", "before"})


def _overlap_of_sounds(proof: Proof) -> Iterator[Form]:
    with_voice = [form for form in to_voices(proof.facts) if form.get("how") == "with"]
    yield from with_voice
    for form in with_voice:
        yield both(SOUNDS, no(form))


def _loudness(proof: Proof) -> Iterator[Form]:
    for quality in ("loud", "quiet"):
        yield most_of(quality, SOUNDS)
    for how, form in product(("louder", "quieter"), _single(proof, voices(proof.facts))):
        yield relation(how, form)


def _attribute_and_sound(proof: Proof) -> Iterator[Form]:
    facts = proof.facts
    sounds = heard(facts)
    for look, sound in product(_true_of_any(proof, seen(facts)), _true_of_any(proof, sounds)):
        yield both(look, sound)
    looks = [*colours(facts), *textures(facts), *motions(facts)]
    for category, look, sound in product(categories(facts), looks, (SOUNDS, no(SOUNDS), *voices(facts))):
        yield both(category, look, sound)


def _extreme_and_sound(proof: Proof) -> Iterator[Form]:
    """The largest of those that ring, and the loudest of the red ones."""
    facts = proof.facts
    pairs = [both(category, sound) for category, sound in product(categories(facts), (SOUNDS, no(SOUNDS)))]
    for quality, group in product(SIGHT_QUALITIES, [*_true_of_any(proof, heard(facts)), *pairs]):
        yield most_of(quality, group)
    for quality, group in product(SOUND_QUALITIES, _true_of_any(proof, seen(facts))):
        yield most_of(quality, group)


def _relation_to_sounding(proof: Proof) -> Iterator[Form]:
    facts = proof.facts
    deniable = ("above", "below", "larger", "smaller")
    relations = (*_LEFT_AND_RIGHT, *_LIKE, "larger", "smaller", "in_front_of", "behind")
    groups = [ANYTHING, SOUNDS, no(SOUNDS), *categories(facts), *colours(facts), *textures(facts), *motions(facts)]
    for how, form in product(relations, _single(proof, _heard_alone(facts))):
        if _sensible(proof, how, form):
            stands = relation(how, form)
            yield from (both(group, stands) for group in groups)
            yield from (both(group, no(stands)) for group in groups if how in deniable)


def _sound_relation(proof: Proof) -> Iterator[Form]:
    facts = proof.facts
    relations = ("after", "before", "with", "louder", "quieter")
    groups = [ANYTHING, *categories(facts), *colours(facts), *textures(facts), *motions(facts)]
    for how, form in product(relations, _single(proof, _looks(facts))):
        for group in groups:
            yield both(group, relation(how, form))
            yield both(group, no(relation(how, form)))


def _groups(facts: Facts) -> list[Form]:
    return [ANYTHING, *categories(facts), *colours(facts)]


def _looks(facts: Facts) -> list[Form]:
    pairs = [both(category, look) for category, look in product(categories(facts), [*colours(facts), *textures(facts)])]
    return [*categories(facts), *pairs]


def _heard_alone(facts: Facts) -> list[Form]:
    extremes = [most_of(quality, SOUNDS) for quality in ("early", "loud", "quiet")]
    return [*voices(facts), SOUNDS, *counts(), {"op": "throughout"}, *extremes]


def _with_category(facts: Facts, forms: list[Form]) -> Iterator[Form]:
    yield from forms
    for category, form in product(categories(facts), forms):
        yield both(category, form)


def _or_not(forms: list[Form]) -> list[Form]:
    return [*forms, *map(no, forms)]


def _single(proof: Proof, forms: list[Form]) -> list[Form]:
    """The forms that name exactly one thing, as a relation presupposes."""
    return [form for form in forms if len(proof.named(form) or ()) == 1]


def _true_of_any(proof: Proof, forms: list[Form]) -> list[Form]:
    """The forms that are true of at least one thing."""
    return [form for form in forms if True in proof.values(form)]


def _sensible(proof: Proof, how: str, form: Form) -> bool:
    """Whether a relation makes sense: nothing moves in the same way as a thing that does not move."""
    moves = proof.facts.duration_s > 0 and proof.named(both(form, STILL)) == frozenset()
    return how != "same_motion" or moves


FAMILIES: Final[Mapping[str, tuple[frozenset[Sense], Lister]]] = MappingProxyType(
    {
        "category": (frozenset({"sight"}), lambda proof: iter(_or_not(categories(proof.facts)))),
        "colour": (frozenset({"sight"}), lambda proof: _with_category(proof.facts, _or_not(colours(proof.facts)))),
        "texture": (frozenset({"sight"}), lambda proof: _with_category(proof.facts, textures(proof.facts))),
        "size": (frozenset({"sight"}), _size),
        "position": (frozenset({"sight"}), _position),
        "motion": (frozenset({"sight"}), lambda proof: _with_category(proof.facts, motions(proof.facts))),
        "depth": (frozenset({"sight"}), _depth),
        "relation": (frozenset({"sight"}), _relation),
        "sounding": (frozenset({"sound"}), lambda proof: iter((SOUNDS, *voices(proof.facts)))),
        "silence": (frozenset({"sound"}), lambda _: iter((no(SOUNDS),))),
        "order_of_sounds": (frozenset({"sound"}), _order_of_sounds),
        "overlap_of_sounds": (frozenset({"sound"}), _overlap_of_sounds),
        "counting": (frozenset({"sound"}), lambda _: iter((*counts(), most_of("frequent", SOUNDS)))),
        "duration": (frozenset({"sound"}), lambda _: iter(({"op": "throughout"}, most_of("long", SOUNDS)))),
        "loudness": (frozenset({"sound"}), _loudness),
        "attribute_and_sound": (frozenset({"sight", "sound"}), _attribute_and_sound),
        "extreme_and_sound": (frozenset({"sight", "sound"}), _extreme_and_sound),
        "relation_to_sounding": (frozenset({"sight", "sound"}), _relation_to_sounding),
        "sound_relation": (frozenset({"sight", "sound"}), _sound_relation),
    }
)
"""Name: the senses that every expression of the family needs, and what lists its forms."""

EITHER: Final = tuple(name for name, (senses, _) in FAMILIES.items() if len(senses) == 1)
BOTH: Final = tuple(name for name, (senses, _) in FAMILIES.items() if len(senses) == 2)


_TRIES: Final = 6  # draws for each expression that is wanted
_BOTH_SENSES: Final = 0.5  # chance that an expression that needs both senses is wanted
_FROM_LEFT_SHARE: Final = 0.05  # weight of forms that reveal the position from the left, if both senses are needed
_FROM_LEFT: Final = frozenset({"left", "right", "left_of", "right_of", "nearest", "farthest"})


def describe(
    rng: np.random.Generator,
    facts: Facts,
    *,
    most: int,
    targets: Collection[str] | None = None,
) -> tuple[Expression, ...]:
    """Draw at most ``most`` referring expressions of different texts and forms, each of which names exactly one thing.

    ``targets`` are the ids of what may be named, None for all; other things still matter for what an expression means.
    There are fewer where the scene allows no more.
    """
    ids = [thing.id for thing in facts.things if targets is None or thing.id in targets]
    scene = _Scene(facts)
    return _different(lambda: scene.draw(rng, ids) if ids else None, most)


def nulls(rng: np.random.Generator, facts: Facts, *, most: int) -> tuple[Expression, ...]:
    """Draw at most ``most`` null expressions: near misses, which name nothing in the scene, beyond doubt.

    Where an expression joins parts, each of them alone is true of some thing. What a relation goes to is there, and a
    superlative has several things to choose from. An expression of one part ("the thing heard three times") is simply
    false of every thing; a sound that it speaks of may come from outside the picture.
    """
    scene = _Scene(facts)
    return _different(lambda: scene.draw_null(rng), most)


def _different(draw: Callable[[], Expression | None], most: int) -> tuple[Expression, ...]:
    """Draw until there are enough of different forms, or often enough; of one text the last form stays."""
    expressions: dict[str, Expression] = {}
    for _ in range(_TRIES * most):
        if len(expressions) == most:
            break
        expression = draw()
        if expression is not None:
            expressions.setdefault(repr(expression.form), expression)
    return tuple({expression.text: expression for expression in expressions.values()}.values())


@dataclass(slots=True)
class _Scene:
    """The expressions that one scene allows, computed on demand."""

    facts: Facts
    proof: Proof = field(init=False)
    lacking: dict[Sense, Proof] = field(init=False)
    kept: dict[str, dict[str | None, list[Form]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.proof = Proof(self.facts)
        self.lacking = {
            "sight": Proof(self.facts, frozenset({"sound"})),
            "sound": Proof(self.facts, frozenset({"sight"})),
        }

    def draw(self, rng: np.random.Generator, ids: Sequence[str]) -> Expression | None:
        """One expression of one of some things; None where what was drawn cannot be named."""
        target, family = pick(rng, ids), None
        if rng.random() < _BOTH_SENSES:
            family = self._first(rng, BOTH, ids)
        family = family or self._first(rng, EITHER, [target])
        return self._express(rng, family, target) if family else None

    def draw_null(self, rng: np.random.Generator) -> Expression | None:
        """One null expression."""
        family = self._first(rng, tuple(FAMILIES), [None])
        return self._express(rng, family, None) if family else None

    def _first(self, rng: np.random.Generator, names: Sequence[str], targets: Sequence[str | None]) -> str | None:
        """One of the families that can name all of these, each as often; checked lazily."""
        order = (names[int(index)] for index in rng.permutation(len(names)))
        return next((name for name in order if self._names(name, targets)), None)

    def _names(self, family: str, targets: Sequence[str | None]) -> bool:
        """Whether a family can name all of these; with both senses, without revealing their position from the left."""
        forms = self.forms(family)
        if len(FAMILIES[family][0]) < 2 or None in targets:
            return set(targets) <= set(forms)
        return all(any(not _from_left(form) for form in forms.get(target, ())) for target in targets)

    def forms(self, family: str) -> dict[str | None, list[Form]]:
        """The forms of a family by what they name; under None those that name nothing and might be thought to."""
        if family not in self.kept:
            senses, lister = FAMILIES[family]
            by_target: dict[str | None, list[Form]] = {}
            for form in lister(self.proof):
                self._file(form, senses, by_target)
            self.kept[family] = by_target
        return self.kept[family]

    def _file(self, form: Form, senses: frozenset[Sense], by_target: dict[str | None, list[Form]]) -> None:
        ids = self.proof.named(form)
        if ids is None or len(ids) > 1 or not self._earns(form, senses):
            return
        target = next(iter(ids), None)
        if target is None:
            by_target.setdefault(None, []).append(form)
        elif needed(form, target, self.lacking) == senses:
            by_target.setdefault(target, []).append(form)

    def _earns(self, form: Form, senses: frozenset[Sense]) -> bool:
        """Whether each part of a conjunction changes what is named, and is true of something by itself."""
        if not self._chooses(form):
            return False
        values = self.proof.values(form)
        if form["op"] == "most":
            return self._differs(form, senses)
        if form["op"] != "and":
            return True
        for index, part in enumerate(form["of"]):
            others = [*form["of"][:index], *form["of"][index + 1 :]]
            without = self.proof.values({"op": "and", "of": others})
            if without == values or True not in self.proof.values(part) or self._to_itself(part, without):
                return False
        return True

    def _to_itself(self, part: Form, without: TruthValues) -> bool:
        """Whether only the thing that a relation goes to could stand in it: "the drum left of the drum"."""
        inner = part["of"] if part["op"] == "not" else part
        if inner["op"] != "relation":
            return False
        pairs = zip(without, self.proof.values(inner["to"]), strict=True)
        return all(value is False or goal is True for value, goal in pairs)

    def _chooses(self, form: Form) -> bool:
        """Whether every superlative in a form has several things to choose from."""
        if form["op"] == "most" and self.proof.values(form["of"]).count(True) < 2:
            return False
        inner = form.get("of", form.get("to", ()))
        return all(map(self._chooses, inner if isinstance(inner, list) else [inner] if inner else []))

    def _differs(self, form: Form, senses: frozenset[Sense]) -> bool:
        """Whether a superlative that needs both senses gives another thing than it would give among all."""
        group = ANYTHING if form["by"] in SIGHT_QUALITIES else SOUNDS
        return len(senses) < 2 or self.proof.values(most_of(form["by"], group)) != self.proof.values(form)

    def _express(self, rng: np.random.Generator, family: str, target: str | None) -> Expression:
        forms = self.forms(family)[target]
        rare = _FROM_LEFT_SHARE if family in BOTH else 1.0
        weights = np.array([rare if _from_left(form) else 1.0 for form in forms])
        form = forms[int(rng.choice(len(forms), p=weights / weights.sum()))]
        words = phrase(rng, form)
        needs = FAMILIES[family][0] if target is None else needed(form, target, self.lacking)
        return Expression(text=words.text, family=family, wording=words.wording, target=target, needs=needs, form=form)


def _from_left(form: Form) -> bool:
    """Whether the words of a form reveal roughly how many things lie left of what it names."""
    inner = form.get("of", form.get("to", ()))
    parts = inner if isinstance(inner, list) else [inner] if inner else []
    words = (form.get(key) for key in ("word", "by", "how"))
    return any(word in _FROM_LEFT for word in words) or any(map(_from_left, parts))
