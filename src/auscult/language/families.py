"""The families of expressions: for each, the logical forms that it can give of a scene.

A family lists forms; whether a form names one thing, and what is needed to know which, is proven afterwards. Forms that
join predicates do so in a fixed order, so that a form occurs once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Final

from auscult.language.atoms import (
    ANYTHING,
    SOUNDS,
    STILL,
    both,
    categories,
    colours,
    counts,
    covers,
    heard,
    most,
    motions,
    no,
    places,
    relation,
    seen,
    textures,
    to_voices,
    voices,
)
from auscult.language.expression import Sense
from auscult.language.facts import Facts
from auscult.language.forms import SIGHT_QUALITIES, SOUND_QUALITIES, Form
from auscult.language.proof import Proof

Lister = Callable[[Proof], Iterator[Form]]

_LEFT_AND_RIGHT: Final = ("left_of", "right_of", "above", "below", "nearest", "farthest")
_LIKE: Final = ("same_colour", "same_category", "same_motion")
_ORDER: Final = ("early", "late", "short_lived", "lasting")


def _category(proof: Proof) -> Iterator[Form]:
    yield from categories(proof.facts)
    yield from map(no, categories(proof.facts))


def _colour(proof: Proof) -> Iterator[Form]:
    yield from _with_category(proof.facts, [*colours(proof.facts), *map(no, colours(proof.facts))])


def _texture(proof: Proof) -> Iterator[Form]:
    yield from _with_category(proof.facts, textures(proof.facts))


def _motion(proof: Proof) -> Iterator[Form]:
    yield from _with_category(proof.facts, motions(proof.facts))


def _position(proof: Proof) -> Iterator[Form]:
    yield from _with_category(proof.facts, places())
    for quality, group in product(("left", "right", "high", "low"), _groups(proof.facts)):
        yield most(quality, group)


def _size(proof: Proof) -> Iterator[Form]:
    for quality, group in product(("large", "small"), _groups(proof.facts)):
        yield most(quality, group)
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


def _sounding(proof: Proof) -> Iterator[Form]:
    yield from (SOUNDS, *voices(proof.facts))


def _silence(proof: Proof) -> Iterator[Form]:
    del proof
    yield no(SOUNDS)


def _order_of_sounds(proof: Proof) -> Iterator[Form]:
    for quality in _ORDER:
        yield most(quality, SOUNDS)
    yield from (form for form in to_voices(proof.facts) if form.get("how") in {"after", "before"})


def _overlap_of_sounds(proof: Proof) -> Iterator[Form]:
    with_voice = [form for form in to_voices(proof.facts) if form.get("how") == "with"]
    yield from with_voice
    for form in with_voice:
        yield both(SOUNDS, no(form))


def _counting(proof: Proof) -> Iterator[Form]:
    del proof
    yield from counts()
    yield most("frequent", SOUNDS)


def _duration(proof: Proof) -> Iterator[Form]:
    del proof
    yield {"op": "throughout"}
    yield most("long", SOUNDS)


def _loudness(proof: Proof) -> Iterator[Form]:
    for quality in ("loud", "quiet"):
        yield most(quality, SOUNDS)
    for how, form in product(("louder", "quieter"), _single(proof, voices(proof.facts))):
        yield relation(how, form)


def _attribute_and_sound(proof: Proof) -> Iterator[Form]:
    facts = proof.facts
    sounds = heard(facts)
    for look, sound in product(_some(proof, seen(facts)), _some(proof, sounds)):
        yield both(look, sound)
    looks = [*colours(facts), *textures(facts), *motions(facts)]
    for category, look, sound in product(categories(facts), looks, (SOUNDS, no(SOUNDS), *voices(facts))):
        yield both(category, look, sound)


def _extreme_and_sound(proof: Proof) -> Iterator[Form]:
    """The largest of those that ring, and the loudest of the red ones."""
    facts = proof.facts
    pairs = [both(category, sound) for category, sound in product(categories(facts), (SOUNDS, no(SOUNDS)))]
    for quality, group in product(SIGHT_QUALITIES, [*_some(proof, heard(facts)), *pairs]):
        yield most(quality, group)
    for quality, group in product(SOUND_QUALITIES, _some(proof, seen(facts))):
        yield most(quality, group)


def _relation_to_sounding(proof: Proof) -> Iterator[Form]:
    facts = proof.facts
    deniable = ("above", "below", "larger", "smaller")
    ways = (*_LEFT_AND_RIGHT, *_LIKE, "larger", "smaller", "in_front_of", "behind")
    groups = [ANYTHING, SOUNDS, no(SOUNDS), *categories(facts), *colours(facts), *textures(facts), *motions(facts)]
    for how, form in product(ways, _single(proof, _heard_alone(facts))):
        if _sensible(proof, how, form):
            stands = relation(how, form)
            yield from (both(group, stands) for group in groups)
            yield from (both(group, no(stands)) for group in groups if how in deniable)


def _sound_relation(proof: Proof) -> Iterator[Form]:
    facts = proof.facts
    ways = ("after", "before", "with", "louder", "quieter")
    groups = [ANYTHING, *categories(facts), *colours(facts), *textures(facts), *motions(facts)]
    for how, form in product(ways, _single(proof, _looks(facts))):
        for group in groups:
            yield both(group, relation(how, form))
            yield both(group, no(relation(how, form)))


def _groups(facts: Facts) -> list[Form]:
    return [ANYTHING, *categories(facts), *colours(facts)]


def _looks(facts: Facts) -> list[Form]:
    pairs = [both(category, look) for category, look in product(categories(facts), [*colours(facts), *textures(facts)])]
    return [*categories(facts), *pairs]


def _heard_alone(facts: Facts) -> list[Form]:
    extremes = [most(quality, SOUNDS) for quality in ("early", "loud", "quiet")]
    return [*voices(facts), SOUNDS, *counts(), {"op": "throughout"}, *extremes]


def _with_category(facts: Facts, forms: list[Form]) -> Iterator[Form]:
    yield from forms
    for category, form in product(categories(facts), forms):
        yield both(category, form)


def _single(proof: Proof, forms: list[Form]) -> list[Form]:
    """Those that name one thing, as a relation presupposes."""
    return [form for form in forms if len(proof.named(form) or ()) == 1]


def _some(proof: Proof, forms: list[Form]) -> list[Form]:
    """Those that are true of something."""
    return [form for form in forms if True in proof.values(form)]


def _sensible(proof: Proof, how: str, form: Form) -> bool:
    """Nothing moves in the same way as a thing that does not move."""
    moves = proof.facts.duration_s > 0 and proof.named(both(form, STILL)) == frozenset()
    return how != "same_motion" or moves


FAMILIES: Final[Mapping[str, tuple[frozenset[Sense], Lister]]] = MappingProxyType(
    {
        "category": (frozenset({"sight"}), _category),
        "colour": (frozenset({"sight"}), _colour),
        "texture": (frozenset({"sight"}), _texture),
        "size": (frozenset({"sight"}), _size),
        "position": (frozenset({"sight"}), _position),
        "motion": (frozenset({"sight"}), _motion),
        "depth": (frozenset({"sight"}), _depth),
        "relation": (frozenset({"sight"}), _relation),
        "sounding": (frozenset({"sound"}), _sounding),
        "silence": (frozenset({"sound"}), _silence),
        "order_of_sounds": (frozenset({"sound"}), _order_of_sounds),
        "overlap_of_sounds": (frozenset({"sound"}), _overlap_of_sounds),
        "counting": (frozenset({"sound"}), _counting),
        "duration": (frozenset({"sound"}), _duration),
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
