"""What a logical form names in a scene, in three values: true, false, or unclear, which is never taken for either.

Every predicate has a margin (``seen``, ``heard``); ``and``, ``not``, ``most`` and ``relation`` carry the unclear along
after Kleene's strong logic. What a form presupposes must hold: where "the bell" names no thing or several, nothing that
stands after it is true or false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from auscult.language import heard, seen, unlisted
from auscult.language.expression import Sense
from auscult.language.facts import Facts, Thing, Voice
from auscult.language.forms import SIGHT_QUALITIES, SIGHT_RELATIONS, Form, read

BOTH: Final[frozenset[Sense]] = frozenset({"sight", "sound"})

Values = tuple[bool | None, ...]


def named(form: object, facts: Facts) -> frozenset[str] | None:
    """The things a form names.

    Args:
        form: A logical form; read strictly.
        facts: The scene.

    Returns:
        Ids of the things it is true of; empty where it is false of all; None where it is unclear of any, or where an
        unlisted thing could be meant.

    Raises:
        InputError: It is no logical form.
    """
    return Proof(facts).named(read(form))


@dataclass(slots=True)
class Proof:
    """The values of forms in one scene, kept, since the grammar asks for the same ones again and again.

    Attributes:
        facts: The scene.
        senses: What may be used; what needs another sense is unclear.
    """

    facts: Facts
    senses: frozenset[Sense] = BOTH
    _kept: dict[int, tuple[Form, Values]] = field(default_factory=dict)
    _tables: dict[str, tuple[Values, ...]] = field(default_factory=dict)

    def named(self, form: Form) -> frozenset[str] | None:
        """As ``named`` of this module, for a form that is known to be one."""
        values = self.values(form)
        if None in values or (self.facts.unlisted and not unlisted.holds(form)):
            return None
        return frozenset(thing.id for thing, value in zip(self.facts.things, values, strict=True) if value)

    def possible(self, form: Form) -> frozenset[str]:
        """The things a form may name, as far as the senses tell."""
        values = self.values(form)
        return frozenset(thing.id for thing, value in zip(self.facts.things, values, strict=True) if value is not False)

    def values(self, form: Form) -> Values:
        """True, false or None for each thing, in the order of the facts."""
        kept = self._kept.get(id(form))
        if kept is None:
            kept = self._kept[id(form)] = (form, self._values(form))  # the form is held, so that its id stays its own
        return kept[1]

    def _values(self, form: Form) -> Values:
        name = form["op"]
        if name == "anything":
            return (True,) * len(self.facts.things)
        if name == "and":
            return tuple(_all(column) for column in zip(*map(self.values, form["of"]), strict=True))
        joint = {"not": self._not, "most": self._most, "relation": self._relation, "heard": self._heard}
        return joint.get(name, self._plain)(form)

    def _not(self, denial: Form) -> Values:
        """Denied; but of what a relation goes to, neither the relation nor its denial is true."""
        form = denial["of"]
        itself: tuple[bool, ...] = (False,) * len(self.facts.things)
        if form["op"] == "relation":
            itself = tuple(value is True for value in self.values(form["to"]))
        elif form["op"] == "heard" and self._hears():
            fits = (heard.is_voice(thing.voice, noun=form["noun"], verb=form["verb"]) for thing in self.facts.things)
            itself = tuple(value is True for value in fits)
        values = zip(self.values(form), itself, strict=True)
        return tuple(None if value is None else not value and not same for value, same in values)

    def _plain(self, form: Form) -> Values:
        name = form["op"]
        if name in _SEEN:
            if "sight" not in self.senses:
                return self._unclear()
            return tuple(_SEEN[name](thing, form, self.facts) for thing in self.facts.things)
        if not self._hears():
            return self._unclear()
        return tuple(_HEARD[name](thing.voice, form, self.facts) for thing in self.facts.things)

    def _most(self, form: Form) -> Values:
        """Best by a margin among all that may belong; out where one that surely belongs is better."""
        members, better = self.values(form["of"]), self._table(form["by"])
        rivals = [at for at, member in enumerate(members) if member is not False]
        known = form["by"] in SIGHT_QUALITIES or self._hears()  # even one alone must sound to be loudest
        found: list[bool | None] = []
        for index, thing in enumerate(self.facts.things):
            others = [at for at in rivals if at != index]
            beaten = any(members[at] and better[at][index] for at in others)
            if beaten or members[index] is False or self._out(thing, form["by"]):
                found.append(False)
            else:
                wins = known and all(better[index][at] for at in others)
                found.append(members[index] if wins else None)
        return tuple(found)

    def _out(self, thing: Thing, quality: str) -> bool:
        """Whether a thing has nothing of a quality: what never sounds is neither loud nor early; it may be quiet."""
        return quality not in {*SIGHT_QUALITIES, "quiet"} and self._hears() and thing.voice is None

    def _relation(self, form: Form) -> Values:
        referents = self.values(form["to"])
        count = referents.count(True)
        if count > 1 or all(value is False for value in referents):
            return self._unclear()
        sure = count == 1 and None not in referents
        goals = [at for at, value in enumerate(referents) if (value if count else value is not False)]
        stands = self._table(form["how"])
        found: list[bool | None] = []
        for index in range(len(referents)):
            values = [stands[index][at] for at in goals if at != index]
            if referents[index] is True:
                found.append(False if sure else None)
            elif values and all(value is False for value in values):
                found.append(False)
            else:
                found.append(values[0] if sure else None)
        return tuple(found)

    def _table(self, name: str) -> tuple[Values, ...]:
        """How each thing stands to each in a quality or relation; a row is the first thing."""
        if name not in self._tables:
            stands, things = self._stands(name), self.facts.things
            self._tables[name] = tuple(
                tuple(None if one is two else stands(one, two) for two in things) for one in things
            )
        return self._tables[name]

    def _stands(self, name: str) -> Callable[[Thing, Thing], bool | None]:
        if name in {*SIGHT_QUALITIES, *SIGHT_RELATIONS}:
            if "sight" not in self.senses:
                return _unknown
            if name in {"nearest", "farthest"}:
                return lambda one, two: seen.nearest(one, two, self.facts, far=name == "farthest")
            return seen.ORDERS[name] if name in seen.ORDERS else seen.RELATIONS[name]
        if not self._hears():
            return _unknown
        order = heard.ORDERS[name] if name in heard.ORDERS else heard.RELATIONS[name]
        return lambda one, two: order(one.voice, two.voice)

    def _heard(self, form: Form) -> Values:
        if not self._hears():
            return self._unclear()
        voices = [thing.voice for thing in self.facts.things if thing.voice] + list(self.facts.elsewhere)
        fits = [heard.is_voice(voice, noun=form["noun"], verb=form["verb"]) for voice in voices]
        if fits.count(True) != 1 or None in fits:
            return self._unclear()
        which = voices[fits.index(True)]
        relation = heard.RELATIONS[form["how"]]
        return tuple(False if thing.voice is which else relation(thing.voice, which) for thing in self.facts.things)

    def _hears(self) -> bool:
        return "sound" in self.senses and not self.facts.silent

    def _unclear(self) -> Values:
        return (None,) * len(self.facts.things)


def needs(form: Form, facts: Facts, *, target: str) -> frozenset[Sense]:
    """The senses without which a form does not single its target out among the things of a scene."""
    lacking: dict[Sense, Proof] = {
        "sight": Proof(facts, frozenset({"sound"})),
        "sound": Proof(facts, frozenset({"sight"})),
    }
    return needed(form, target, lacking)


def needed(form: Form, target: str, lacking: Mapping[Sense, Proof]) -> frozenset[Sense]:
    """As ``needs``, with proofs that lack one sense each."""
    return frozenset(sense for sense, proof in lacking.items() if proof.possible(form) != {target})


def _all(values: tuple[bool | None, ...]) -> bool | None:
    return False if False in values else None if None in values else True


def _unknown(one: Thing, two: Thing) -> None:
    del one, two


_SEEN: Final[Mapping[str, Callable[[Thing, Form, Facts], bool | None]]] = {
    "category": lambda thing, form, _: seen.same(thing.category, form["word"]),
    "colour": lambda thing, form, _: seen.same(thing.colour, form["word"]),
    "texture": lambda thing, form, _: seen.same(thing.texture, form["word"]),
    "motion": lambda thing, form, _: seen.moves(thing.motion, form["word"]),
    "place": lambda thing, form, _: seen.at(thing, form["word"]),
    "hidden": lambda thing, _, __: seen.hidden(thing),
    "hiding": lambda thing, _, facts: seen.hiding(thing, facts),
}

_HEARD: Final[Mapping[str, Callable[[Voice | None, Form, Facts], bool | None]]] = {
    "sounds": lambda voice, _, __: voice is not None,
    "voice": lambda voice, form, _: heard.is_voice(voice, noun=form["noun"], verb=form["verb"]),
    "times": lambda voice, form, facts: heard.times(voice, form["count"], facts),
    "throughout": lambda voice, _, facts: heard.throughout(voice, facts),
}
