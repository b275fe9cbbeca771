"""What a logical form names in a scene, in three values: true, false, or unclear, which is never taken for either.

Every predicate has a margin; ``and``, ``not``, ``most`` and ``relation`` carry the unclear along
after Kleene's strong logic. What a form presupposes must hold: where "the bell" names no thing or several, nothing that
stands after it is true or false.

Places are compared over the whole clip: a thing is left of another only if it is so at every time, by a margin.

Of an unlisted thing it is taken for granted that it makes no sound, does not move, lies behind all listed things and is
of a category that no listed thing has. An expression holds in such a picture when, beyond doubt, none of these could be
meant by it, by a landmark in it ("the bell left of the drum") or as a rival in it ("the largest bell").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from auscult.language.forms import (
    SIGHT_QUALITIES,
    SIGHT_RELATIONS,
    SOUND_QUALITIES,
    Facts,
    Form,
    SceneObject,
    Sense,
    Voice,
    read,
)

APART_S: Final = 0.25  # of an end and a start
TOGETHER_S: Final = 0.4
ENDS_S: Final = 0.4  # of two starts, or two ends
LOUDER_DB: Final = 4.0
LONGER: Final = 1.4
_GAP_S: Final = 0.3  # between two events that are counted as two
_THROUGHOUT: Final = (0.95, 0.8)
_ROUNDING: Final = 1e-9  # times are decimal numbers


def is_voice(voice: Voice | None, *, noun: str, verb: str) -> bool | None:
    """Whether a voice is of this kind; unclear where only one of the two words fits."""
    if voice is None:
        return False
    fits = (voice.noun == noun) + (voice.verb == verb)
    return None if fits == 1 else fits == 2


def times(voice: Voice | None, count: int, facts: Facts) -> bool | None:
    """Whether it sounds this often; unclear for once if it sounds all the time."""
    if voice is None:
        return False
    if count == 1 and throughout(voice, facts) is not False:
        return None
    return len(voice.spans) == count if _countable(voice) else None


def _countable(voice: Voice) -> bool:
    return voice.countable and all(
        late[0] - early[1] >= _GAP_S - _ROUNDING for early, late in zip(voice.spans, voice.spans[1:], strict=False)
    )


def throughout(voice: Voice | None, facts: Facts) -> bool | None:
    """Whether it sounds all the time."""
    if voice is None or facts.duration_s <= 0:
        return False
    share = _length(voice) / facts.duration_s
    return True if share >= _THROUGHOUT[0] else False if share <= _THROUGHOUT[1] else None


def after(first: Voice | None, second: Voice | None) -> bool | None:
    """Whether the first is heard only after the second has stopped; false where nothing of it is heard after that."""
    if second is None:
        return None
    if first is None:
        return False
    if _apart(second.spans[-1][1], first.spans[0][0]):
        return True
    return False if _apart(first.spans[-1][1], second.spans[-1][1]) else None


def before(first: Voice | None, second: Voice | None) -> bool | None:
    """Whether the first is heard only before the second begins; false where nothing of it is heard before that."""
    if second is None:
        return None
    if first is None:
        return False
    if _apart(first.spans[-1][1], second.spans[0][0]):
        return True
    return False if _apart(second.spans[0][0], first.spans[0][0]) else None


def together(first: Voice | None, second: Voice | None) -> bool | None:
    """Whether the two are heard at the same time for a while."""
    if second is None:
        return None
    if first is None:
        return False
    shares = [min(a[1], b[1]) - max(a[0], b[0]) for a in first.spans for b in second.spans]
    if sum(max(0.0, share) for share in shares) >= TOGETHER_S - _ROUNDING:
        return True
    return False if max(shares) <= -APART_S + _ROUNDING else None


def _apart(early: float, late: float) -> bool:
    return late - early >= APART_S - _ROUNDING


def _than(value: Callable[[Voice], float], margin: float) -> Callable[[Voice | None, Voice | None], bool | None]:
    """The order of two voices by a number; a thing that never sounds has least of everything."""

    def order(first: Voice | None, second: Voice | None) -> bool | None:
        if first is None or second is None:
            return None if first is second else second is None
        difference = value(first) - value(second)
        return None if abs(difference) < margin - _ROUNDING else difference > 0

    return order


def _length(voice: Voice) -> float:
    return sum(end - start for start, end in voice.spans)


def _longer(first: Voice | None, second: Voice | None) -> bool | None:
    if first is None or second is None:
        return None if first is second else second is None
    length, other_length = _length(first), _length(second)
    return True if length >= LONGER * other_length else False if other_length >= LONGER * length else None


def _quieter_of(first: Voice | None, second: Voice | None) -> bool | None:
    """Unclear beside a thing that never sounds, which may be called quiet as well."""
    return None if first is None or second is None else _than(lambda voice: -voice.level_db, LOUDER_DB)(first, second)


def _frequent(first: Voice | None, second: Voice | None) -> bool | None:
    if any(voice is not None and not _countable(voice) for voice in (first, second)):
        return None
    return _than(lambda voice: float(len(voice.spans)), 1.0)(first, second)


ORDERS_HEARD: Final[Mapping[str, Callable[[Voice | None, Voice | None], bool | None]]] = {
    "early": _than(lambda voice: -voice.spans[0][0], ENDS_S),
    "late": _than(lambda voice: voice.spans[0][0], ENDS_S),
    "short_lived": _than(lambda voice: -voice.spans[-1][1], ENDS_S),
    "lasting": _than(lambda voice: voice.spans[-1][1], ENDS_S),
    "loud": _than(lambda voice: voice.level_db, LOUDER_DB),
    "quiet": _quieter_of,
    "frequent": _frequent,
    "long": _longer,
}
"""Whether the first voice has more of a quality than the second."""


def _louder(first: Voice | None, second: Voice | None) -> bool | None:
    if second is None:
        return None
    return False if first is None else ORDERS_HEARD["loud"](first, second)


RELATIONS_HEARD: Final[Mapping[str, Callable[[Voice | None, Voice | None], bool | None]]] = {
    "after": after,
    "before": before,
    "with": together,
    "louder": _louder,
    "quieter": lambda first, second: None if second is None else ORDERS_HEARD["quiet"](first, second),
}
"""How the first voice stands to the second; unclear where there is no second."""


Extent = tuple[float, float]

APART: Final = 0.04  # of places, as a share of the picture
TIMES_AS_LARGE: Final = 1.3
_SIDE: Final = (0.45, 0.53)  # wholly within the first: on that side; wholly beyond the second: not
_CENTRE: Final = (0.36, 0.64)
_OFF_CENTRE: Final = (0.28, 0.72)
_PARTLY: Final = 0.12  # hidden at least so much: partly hidden; a fifth of it at most: not
_WIDTH: Final = 1.6  # width over height of a picture, for distances


def same(value: str | None, word: str | None) -> bool | None:
    """Whether a word fits; unclear where none is known."""
    return None if value is None or word is None else value == word


def moves(value: str | None, word: str | None) -> bool | None:
    """Whether a motion fits; what goes to and fro also goes left at times, so that is unclear."""
    if value is None or word is None:
        return None
    if {value, word} in ({"to_and_fro", "left"}, {"to_and_fro", "right"}):
        return None
    return value == word


def at(thing: SceneObject, part: str) -> bool | None:
    """Whether a thing is always in this part of the picture, or never."""
    if part == "centre":
        across, down = _central(thing.x), _central(thing.y)
        return False if across is False or down is False else None if across is None or down is None else True
    low, high = thing.x if part in {"left", "right"} else thing.y
    if part in {"right", "bottom"}:
        low, high = 1 - high, 1 - low
    return True if high <= _SIDE[0] else False if low >= _SIDE[1] else None


def _central(extent: Extent) -> bool | None:
    if extent[0] >= _CENTRE[0] and extent[1] <= _CENTRE[1]:
        return True
    return False if extent[1] < _OFF_CENTRE[0] or extent[0] > _OFF_CENTRE[1] else None


def hidden(thing: SceneObject) -> bool | None:
    """Whether other things hide a part of it that one notices."""
    if thing.covered_by and thing.hidden >= _PARTLY:
        return True
    return None if thing.covered_by and thing.hidden > _PARTLY / 5 else False


def hiding(thing: SceneObject, facts: Facts) -> bool | None:
    """Whether it hides such a part of another."""
    values = [in_front(thing, other) for other in facts.things if thing.id in other.covered_by]
    return True if True in values else None if values else False


def in_front(first: SceneObject, second: SceneObject) -> bool | None:
    """Whether the first hides a part of the second; unclear where it is nearer and hides next to nothing."""
    if first.id in second.covered_by:
        others = len(second.covered_by) > 1  # then it is not known how much each of them hides
        return True if second.hidden >= _PARTLY and not others else None
    if second.id in first.covered_by:
        return False
    if first.depth is None or second.depth is None:
        return None
    return None if first.depth < second.depth else False


def _beside(first: Extent, second: Extent) -> bool | None:
    """Whether the first range lies before the second; False where it is the other way round."""
    if first[1] + APART <= second[0]:
        return True
    return False if second[1] + APART <= first[0] else None


def _larger(first: SceneObject, second: SceneObject) -> bool | None:
    if first.area[0] >= TIMES_AS_LARGE * second.area[1]:
        return True
    return False if second.area[0] >= TIMES_AS_LARGE * first.area[1] else None


ORDERS_SEEN: Final[Mapping[str, Callable[[SceneObject, SceneObject], bool | None]]] = {
    "large": _larger,
    "small": lambda first, second: _larger(second, first),
    "left": lambda first, second: _beside(first.x, second.x),
    "right": lambda first, second: _beside(second.x, first.x),
    "high": lambda first, second: _beside(first.y, second.y),
    "low": lambda first, second: _beside(second.y, first.y),
}
"""Whether the first thing has more of a quality than the second."""

RELATIONS_SEEN: Final[Mapping[str, Callable[[SceneObject, SceneObject], bool | None]]] = {
    "left_of": ORDERS_SEEN["left"],
    "right_of": ORDERS_SEEN["right"],
    "above": ORDERS_SEEN["high"],
    "below": ORDERS_SEEN["low"],
    "larger": _larger,
    "smaller": ORDERS_SEEN["small"],
    "in_front_of": in_front,
    "behind": lambda first, second: in_front(second, first),
    "same_colour": lambda first, second: same(first.colour, second.colour),
    "same_category": lambda first, second: same(first.category, second.category),
    "same_motion": lambda first, second: moves(first.motion, second.motion),
}


def nearest(first: SceneObject, second: SceneObject, facts: Facts, *, far: bool = False) -> bool | None:
    """Whether no other thing is as near to the second as the first is; with ``far``, as far from it.

    Distances are between centres; each is a range, from the nearest that the two can have been to the farthest.
    """
    distance, closer = _distance(first, second), []
    for other in facts.things:
        if other.id not in {first.id, second.id}:
            other_distance = _distance(other, second)
            closer.append(_beside(other_distance, distance) if far else _beside(distance, other_distance))
    return False if False in closer else True if closer and None not in closer else None


def _distance(first: SceneObject, second: SceneObject) -> Extent:
    (near_x, far_x), (near_y, far_y) = _gap(first.x, second.x), _gap(first.y, second.y)
    return math.hypot(_WIDTH * near_x, near_y), math.hypot(_WIDTH * far_x, far_y)


def _gap(first: Extent, second: Extent) -> Extent:
    return max(0.0, first[0] - second[1], second[0] - first[1]), max(first[1] - second[0], second[1] - first[0])


_ALL_COUNT: Final = frozenset({"nearest", "farthest"})  # every thing of the picture is a rival
_SILENT: Final = frozenset({"after", "before", "with", "louder"})


def holds(form: Form) -> bool:
    """Whether no unlisted thing can be meant by any part of a form that must name something."""
    return _could(form) is False and _parts_hold(form)


def _parts_hold(form: Form) -> bool:
    name = form["op"]
    if name == "hiding":  # there is always something behind
        return False
    if name == "and":
        return all(map(_parts_hold, form["of"]))
    if name == "not":
        return _parts_hold(form["of"])
    if name == "most":
        return holds(form["of"])
    if name == "relation":
        return form["how"] not in _ALL_COUNT and holds(form["to"])
    return True


def _could(form: Form) -> bool | None:
    """The value of a form for an unlisted thing: true, false, or None for unknown."""
    value: bool | None = None
    match form["op"]:
        case "category" | "sounds" | "voice" | "times" | "throughout" | "heard":
            value = False
        case "and":
            value = _all(tuple(map(_could, form["of"])))
        case "not":
            inner = _could(form["of"])
            value = None if inner is None else not inner
        case "most":
            sounding = form["by"] in SOUND_QUALITIES and form["by"] != "quiet"
            value = False if sounding or _could(form["of"]) is False else None
        case "relation":
            value = False if form["how"] in {*_SILENT, "same_category"} else None
        case "motion":
            value = None if form["word"] == "still" else False
    return value


BOTH: Final[frozenset[Sense]] = frozenset({"sight", "sound"})

TruthValues = tuple[bool | None, ...]


def named(form: object, facts: Facts) -> frozenset[str] | None:
    """Ids of the things that a form, read strictly, is true of; empty where it is false of all.

    None where it is unclear of any, or where an unlisted thing could be meant.
    """
    return Proof(facts).named(read(form))


@dataclass(slots=True)
class Proof:
    """The values of forms in one scene, cached, since the grammar needs the same ones again and again."""

    facts: Facts
    senses: frozenset[Sense] = BOTH  # what may be used; what needs another sense is unclear
    _kept: dict[int, tuple[Form, TruthValues]] = field(default_factory=dict)
    _tables: dict[str, tuple[TruthValues, ...]] = field(default_factory=dict)

    def named(self, form: Form) -> frozenset[str] | None:
        """As ``named`` of this module, for a form that is known to be one."""
        values = self.values(form)
        if None in values or (self.facts.unlisted and not holds(form)):
            return None
        return frozenset(thing.id for thing, value in zip(self.facts.things, values, strict=True) if value)

    def possible(self, form: Form) -> frozenset[str]:
        """The things a form may name, as far as the senses tell."""
        values = self.values(form)
        return frozenset(thing.id for thing, value in zip(self.facts.things, values, strict=True) if value is not False)

    def values(self, form: Form) -> TruthValues:
        """True, false or None for each thing, in the order of the facts."""
        entry = self._kept.get(id(form))
        if entry is None:
            entry = self._kept[id(form)] = (form, self._values(form))  # the form is held, so that its id stays its own
        return entry[1]

    def _values(self, form: Form) -> TruthValues:
        name = form["op"]
        if name == "anything":
            return (True,) * len(self.facts.things)
        if name == "and":
            return tuple(_all(column) for column in zip(*map(self.values, form["of"]), strict=True))
        joint = {"not": self._not, "most": self._most, "relation": self._relation, "heard": self._heard}
        return joint.get(name, self._plain)(form)

    def _not(self, denial: Form) -> TruthValues:
        """Denied; but of what a relation goes to, neither the relation nor its denial is true."""
        form = denial["of"]
        itself: tuple[bool, ...] = (False,) * len(self.facts.things)
        if form["op"] == "relation":
            itself = tuple(value is True for value in self.values(form["to"]))
        elif form["op"] == "heard" and self._hears():
            fits = (is_voice(thing.voice, noun=form["noun"], verb=form["verb"]) for thing in self.facts.things)
            itself = tuple(value is True for value in fits)
        values = zip(self.values(form), itself, strict=True)
        return tuple(None if value is None else not value and not same for value, same in values)

    def _plain(self, form: Form) -> TruthValues:
        name = form["op"]
        if name in _SEEN:
            if "sight" not in self.senses:
                return self._unclear()
            return tuple(_SEEN[name](thing, form, self.facts) for thing in self.facts.things)
        if not self._hears():
            return self._unclear()
        return tuple(_HEARD[name](thing.voice, form, self.facts) for thing in self.facts.things)

    def _most(self, form: Form) -> TruthValues:
        """Best by a margin among all that may belong; out where one that surely belongs is better."""
        members, better = self.values(form["of"]), self._table(form["by"])
        rivals = [rival for rival, member in enumerate(members) if member is not False]
        sensed = form["by"] in SIGHT_QUALITIES or self._hears()  # even one alone must sound to be loudest
        values: list[bool | None] = []
        for index, thing in enumerate(self.facts.things):
            others = [rival for rival in rivals if rival != index]
            beaten = any(members[rival] and better[rival][index] for rival in others)
            if beaten or members[index] is False or self._out(thing, form["by"]):
                values.append(False)
            else:
                wins = sensed and all(better[index][rival] for rival in others)
                values.append(members[index] if wins else None)
        return tuple(values)

    def _out(self, thing: SceneObject, quality: str) -> bool:
        """Whether a thing has nothing of a quality: what never sounds is neither loud nor early; it may be quiet."""
        return quality not in {*SIGHT_QUALITIES, "quiet"} and self._hears() and thing.voice is None

    def _relation(self, form: Form) -> TruthValues:
        referents = self.values(form["to"])
        count = referents.count(True)
        if count > 1 or all(value is False for value in referents):
            return self._unclear()
        sure = count == 1 and None not in referents
        goals = [goal for goal, value in enumerate(referents) if (value if count else value is not False)]
        stands = self._table(form["how"])
        result: list[bool | None] = []
        for index in range(len(referents)):
            values = [stands[index][goal] for goal in goals if goal != index]
            if referents[index] is True:
                result.append(False if sure else None)
            elif values and all(value is False for value in values):
                result.append(False)
            else:
                result.append(values[0] if sure else None)
        return tuple(result)

    def _table(self, name: str) -> tuple[TruthValues, ...]:
        """How each thing stands to each in a quality or relation; a row is the first thing."""
        if name not in self._tables:
            stands, things = self._stands(name), self.facts.things
            self._tables[name] = tuple(
                tuple(None if first is second else stands(first, second) for second in things) for first in things
            )
        return self._tables[name]

    def _stands(self, name: str) -> Callable[[SceneObject, SceneObject], bool | None]:
        if name in {*SIGHT_QUALITIES, *SIGHT_RELATIONS}:
            if "sight" not in self.senses:
                return _unknown
            if name in {"nearest", "farthest"}:
                return lambda first, second: nearest(first, second, self.facts, far=name == "farthest")
            return ORDERS_SEEN[name] if name in ORDERS_SEEN else RELATIONS_SEEN[name]
        if not self._hears():
            return _unknown
        order = ORDERS_HEARD[name] if name in ORDERS_HEARD else RELATIONS_HEARD[name]
        return lambda first, second: order(first.voice, second.voice)

    def _heard(self, form: Form) -> TruthValues:
        if not self._hears():
            return self._unclear()
        voices = [thing.voice for thing in self.facts.things if thing.voice] + list(self.facts.elsewhere)
        fits = [is_voice(voice, noun=form["noun"], verb=form["verb"]) for voice in voices]
        if fits.count(True) != 1 or None in fits:
            return self._unclear()
        source = voices[fits.index(True)]
        relation = RELATIONS_HEARD[form["how"]]
        return tuple(False if thing.voice is source else relation(thing.voice, source) for thing in self.facts.things)

    def _hears(self) -> bool:
        return "sound" in self.senses and not self.facts.silent

    def _unclear(self) -> TruthValues:
        return (None,) * len(self.facts.things)


def needed(form: Form, target: str, lacking: Mapping[Sense, Proof]) -> frozenset[Sense]:
    """The senses without which a form does not single its target out, from proofs that lack one sense each."""
    return frozenset(sense for sense, proof in lacking.items() if proof.possible(form) != {target})


def _all(values: tuple[bool | None, ...]) -> bool | None:
    return False if False in values else None if None in values else True


def _unknown(first: SceneObject, second: SceneObject) -> None:
    del first, second


_SEEN: Final[Mapping[str, Callable[[SceneObject, Form, Facts], bool | None]]] = {
    "category": lambda thing, form, _: same(thing.category, form["word"]),
    "colour": lambda thing, form, _: same(thing.colour, form["word"]),
    "texture": lambda thing, form, _: same(thing.texture, form["word"]),
    "motion": lambda thing, form, _: moves(thing.motion, form["word"]),
    "place": lambda thing, form, _: at(thing, form["word"]),
    "hidden": lambda thing, _, __: hidden(thing),
    "hiding": lambda thing, _, facts: hiding(thing, facts),
}

_HEARD: Final[Mapping[str, Callable[[Voice | None, Form, Facts], bool | None]]] = {
    "sounds": lambda voice, _, __: voice is not None,
    "voice": lambda voice, form, _: is_voice(voice, noun=form["noun"], verb=form["verb"]),
    "times": lambda voice, form, facts: times(voice, form["count"], facts),
    "throughout": lambda voice, _, facts: throughout(voice, facts),
}
