"""The planner without a language model: operator and guardian by different thresholds (R2-Bench, Eqs. 3 and 4).

Everything offered gets a support of 0..1 from what the sentence says and what is known of its situations. The operator
is conservative and first takes only what is sure; the guardian is radical and asks for all that is plausible with a
reason of its own; of that the operator accepts what has several. What it refuses the guardian lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from auscult.agent.choices import CHOICE_SETS, Choice, ChoiceSet, Offer, Offered, Proposal
from auscult.agent.knowledge.sentence import OPPOSITE, Reading, read_sentence
from auscult.agent.knowledge.situations import ANYWHERE, Cell, anywhere, cell, kind_of, kinds, lineage, raw, situations
from auscult.suites.r2.cases import TASK_RULES

SURE: Final = 0.8
"""Least support of what the operator proposes."""
ACCEPTED: Final = 0.65
"""Least support of what the operator accepts when the guardian asks for it."""
PLAUSIBLE: Final = 0.5
"""Least support of what the guardian asks for."""
_INHERITED: Final = 0.7  # needed by what the situation is a case of, further off than its parents
_MANY: Final = 2  # situations that find something plausible, of which more convince the operator
_WEAK: Final = 0.3  # plausible, as anywhere
_RRIS_METRICS: Final = ("mIoU", "mRR", "rIoU")  # the paper's


class _Support(NamedTuple):
    value: float
    reason: str


class BuiltInDebater:
    """Operator or guardian by the knowledge base alone; the same words give the same choices.

    Args:
        role: ``operator`` is conservative, ``guardian`` radical.

    Attributes:
        name: ``built-in operator`` or ``built-in guardian``.
        remarks: What a reader of the plan should know, such as contradictions in the sentence; with a first proposal.
    """

    def __init__(self, role: Literal["operator", "guardian"]) -> None:
        self.role = role
        self.name = f"built-in {role}"
        self.remarks: tuple[str, ...] = ()
        self._known: tuple[Any, ...] = ()  # the last instruction, offer and support of all that is offered
        self._argued: set[tuple[str, ChoiceSet, str]] = set()  # what it has asked for before: its memory

    def propose(self, instruction: str, offer: Offer) -> Proposal:
        """A first proposal, with a reason for each choice."""
        reading = read_sentence(instruction)
        self.remarks, least = (
            (*reading.remarks, *_remarks(reading, offer)),
            SURE if self.role == "operator" else PLAUSIBLE,
        )
        return self._chosen(instruction, offer, lambda _, support: support >= least)

    def verify(self, instruction: str, offer: Offer, *, proposal: Proposal) -> Proposal:
        """The other's last proposal as this one would have it."""
        self.remarks = ()
        theirs = {(of, choice.type) for of in CHOICE_SETS for choice in proposal.of(of) if choice.selected}

        def taken(key: tuple[ChoiceSet, str], support: float) -> bool:
            if self.role == "operator":
                return support >= (ACCEPTED if key in theirs else SURE)
            new = support >= PLAUSIBLE and (instruction, *key) not in self._argued
            self._argued |= {(instruction, *key)} if new else set()
            return new or (key in theirs and support > 0)

        return self._chosen(instruction, offer, taken)

    def _chosen(self, text: str, offer: Offer, taken: Callable[[tuple[ChoiceSet, str], float], bool]) -> Proposal:
        if self._known[:2] != (text, id(offer)):
            reading = read_sentence(text)
            self._known = (text, id(offer), {of: list(_SUPPORTS[of](reading, offer)) for of in CHOICE_SETS}, offer)
        chosen: dict[ChoiceSet, tuple[Choice, ...]] = {}
        for of in CHOICE_SETS:
            found = zip(offer.of(of), self._known[2][of], strict=True)
            chosen[of] = tuple(
                Choice(type=one.name, reason=support.reason, selected=taken((of, one.name), support.value))
                for one, support in found
            )
        return Proposal(**chosen)


def _remarks(reading: Reading, offer: Offer) -> Iterator[str]:
    if reading.unmatched:
        yield f"Words that matched nothing: {', '.join(reading.unmatched)}."
    if offer.suite != "r2":
        return
    if not (reading.situations or reading.wished):
        yield "No situation was recognised: what is plausible anywhere is taken."
    offered = {kind_of(one.name) for one in offer.perturbations}
    lacking = [kind for kind in reading.wished if kind not in offered]
    if lacking:
        yield f"Wished, but not offered for this task and data: {', '.join(lacking)}."
    for name in reading.situations:
        needed = [kind for kind in kinds() if cell(name, kind).grade == "needed" and kind not in reading.unwished]
        if needed and not offered.intersection(needed):
            yield f"Needed for {name}, but not offered for this task and data: {', '.join(needed)}."
    for kind in reading.wished:
        support = _expected(reading.situations, kind)
        if kind in offered and not support.value:
            yield f"{kind} is taken because the sentence asks for it, against this: {support.reason}"


def _perturbations(reading: Reading, offer: Offer) -> Iterator[_Support]:
    if offer.suite == "r2":
        return (_stressor(reading, kind_of(one.name)) for one in offer.perturbations)
    return _by_traits(reading, [one.name for one in offer.perturbations])


def _stressor(reading: Reading, kind: str) -> _Support:
    if kind in reading.wished:
        return _Support(1.0, "The sentence asks for it.")
    if kind in reading.unwished:
        return _Support(0.0, "The sentence leaves it out.")
    if reading.only and reading.wished:
        return _Support(0.0, f"The sentence asks only for {', '.join(reading.wished)}.")
    if kind not in kinds():
        return _Support(_WEAK, "No situation speaks of it.")
    if reading.wished and not reading.situations:
        return _Support(_WEAK, "The sentence asks for others, and no situation speaks of it.")
    return _expected(reading.situations, kind)


@cache
def _expected(names: tuple[str, ...], kind: str) -> _Support:
    """What is to be expected where these situations hold; where they exclude one another, in either."""
    if not names:
        found = anywhere(kind)
        return _Support(SURE if found.grade == "plausible" else 0.0, _said([found]))
    return max(_together([cell(name, kind) for name in part]) for part in alternatives(names))


def alternatives(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The situations without those that exclude one another: indoors or outdoors, by day or by night."""
    found = [names]
    for pair in OPPOSITE:
        halves = [[tuple(name for name in part if side not in lineage(name)) for side in pair] for part in found]
        found = [one for part, half in zip(found, halves, strict=True) for one in ([part] if part in half else half)]
    return [part for part in found if part] or [names]


def _together(cells: Sequence[Cell]) -> _Support:
    """The support of a perturbation from what several situations say of it."""
    own = [one for one in cells if one.of != ANYWHERE]
    impossible, needed, plausible = (
        [one for one in own if one.grade == grade] for grade in ("impossible", "needed", "plausible")
    )
    if impossible:
        return _Support(0.0, _said(impossible))
    if needed:
        near = len(needed) > 1 or needed[0].steps <= 1
        return _Support(0.9 if near else _INHERITED, _said(needed))
    if plausible:
        return _Support(ACCEPTED if len({one.of for one in plausible}) > _MANY else PLAUSIBLE, _said(plausible))
    return _Support(_WEAK if cells[0].grade == "plausible" else 0.0, _said(cells[:1]))


def _said(cells: Sequence[Cell]) -> str:
    """The reasons of the first two cells as a sentence."""
    told = dict.fromkeys(f"{one.reason} ({one.of}: {one.grade})" for one in cells)
    return _sentence("; ".join(list(told)[:2]))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _by_traits(reading: Reading, names: Sequence[str]) -> Iterator[_Support]:
    """Kinds of negative sentences, and tasks of suite avi: those with the senses and an ability that are named."""
    table = {name.removeprefix("negatives."): line for name, line in raw()["by trait"].items()}
    shorts = [name.partition(".v")[0].removeprefix("negatives.") for name in names]
    lines = [table.get(short, ": nothing is known of it").partition(": ") for short in shorts]
    traits = [set(line[0].split()) for line in lines]
    named = set(reading.traits) & set().union(*traits)
    senses = named & {"hear", "see"}
    for own, (_, _, reason) in zip(traits, lines, strict=True):
        fits = senses <= own and (named == senses or bool(own & (named - senses)))
        why = (
            ("the sentence asks for such" if fits else "the sentence asks for others") if named else "none is asked for"
        )
        yield _Support(float(fits), _sentence(f"{reason}; {why}"))


def _metrics(reading: Reading, offer: Offer) -> Iterator[_Support]:
    offered = [one.name for one in offer.metrics]
    main = _main_metrics(offer, offered)
    asked = {name for wish in reading.metrics for name in raw()["metrics"][wish]["names"].split("|") if name in offered}
    asked |= main if asked and "quality" in reading.metrics else set()
    for name in offered:
        if asked and reading.metrics != ("quality",):
            yield _Support(float(name in asked), f"The sentence asks for {'it' if name in asked else 'others'}.")
        else:
            yield _Support(float(name in main), f"It is {'a' if name in main else 'no'} main score of the task.")


def _main_metrics(offer: Offer, offered: Sequence[str]) -> set[str]:
    """The scores that a study of the task reports; everything offered where none of them is."""
    rules = next((rules for name, rules in TASK_RULES.items() if name == offer.task), None)
    names = _RRIS_METRICS if rules is None else (*rules.means, *rules.metrics, *rules.class_wise, *rules.beside)
    return set(names) & set(offered) or set(offered)


def _samples(reading: Reading, offer: Offer) -> Iterator[_Support]:
    demands = _demands(reading)
    found = [demands.support(one) for one in offer.samples]
    best = max((support.value for support in found), default=0.0)
    for support in found:
        last = 0 < support.value == best < SURE
        yield _Support(SURE, f"{support.reason} Nothing that is offered fits better.") if last else support


_Seen: TypeAlias = tuple[Reading, set[str], bool | None, bool | None]  # lineage, indoors, at night


class _Demands:
    """What a sample has to show."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._kept: dict[tuple[Any, ...], _Support] = {}
        _, _, self.indoors, self.night = _seen(reading, {})
        self.scenes = [name for name in reading.situations if situations()[name].shows]
        self.objects = set() if self.scenes else set(reading.objects)

    def support(self, one: Offered) -> _Support:
        """How well a sample fits: the least over what is asked for, 0 where something contradicts it."""
        words = [one.summary, *(word for key in ("place", "sources", "text") for word in one.facts.get(key, ())[:20])]
        key = (". ".join(map(str, words))[:2000], one.facts.get("indoors"), one.facts.get("day"))
        if key not in self._kept:
            self._kept[key] = self._support(_seen(read_sentence(key[0]), one.facts))
        return self._kept[key]

    def _support(self, seen: _Seen) -> _Support:
        against = next(self._against(seen), "")
        if against:
            return _Support(0.0, _sentence(against))
        found = list(self._fits(seen)) or [_Support(1.0, "the sentence asks for no certain scenes")]
        value = min(each.value for each in found)
        return _Support(value, _sentence(", ".join(each.reason for each in found)))

    def _against(self, seen: _Seen) -> Iterator[str]:
        shown, around, indoors, night = seen
        if None not in {self.indoors, indoors} and self.indoors != indoors:
            yield f"it is {'in' if indoors else 'out'}doors, and the sentence {'in' if self.indoors else 'out'}doors"
        if None not in {self.night, night} and self.night != night:
            yield "it is night, and day in the sentence" if night else "it is day, and night in the sentence"
        denied = [*(around & set(self.reading.denied)), *(set(shown.objects) & set(self.reading.unobjects))]
        if denied:
            yield f"it shows {min(denied)}, which the sentence leaves out"

    def _fits(self, seen: _Seen) -> Iterator[_Support]:
        shown, around, indoors, night = seen
        if self.scenes:
            yield max(_like(name, shown, around) for name in self.scenes)
        elif self.indoors is not None:
            side = "indoors" if self.indoors else "outdoors"
            yield _Support(0.4 if indoors is None else 0.9, f"it {'may be' if indoors is None else 'is'} {side}")
        if self.night is not None:
            time = "night" if self.night else "day"
            yield _Support(0.7 if night is None else 0.9, f"it {'may be' if night is None else 'is'} {time}")
        if self.objects:
            shared = sorted(self.objects & set(shown.objects))
            what = " and ".join((shared or sorted(self.objects))[:3])
            yield (
                _Support(1.0, f"it shows {what}")
                if shared
                else _Support(0.2 if shown.objects else 0.4, f"it is not known to show {what}")
            )


@lru_cache(maxsize=2)
def _demands(reading: Reading) -> _Demands:
    """Kept, since operator and guardian look at the same samples."""
    return _Demands(reading)


def _seen(shown: Reading, facts: Mapping[str, Any]) -> _Seen:
    """What is shown, what that is a case of, whether indoors and at night: by the facts, else by the words."""
    around = set().union(*map(lineage, shown.situations))
    indoors, night = bool(around & {"indoors", "car cabin"}), "night" in around
    side = None if indoors == ("outdoors" in around) else indoors
    time = None if night == ("day" in around) else night
    said, day = facts.get("indoors"), facts.get("day")
    return shown, around, said if isinstance(said, bool) else side, day == "night" if day in {"day", "night"} else time


def _like(name: str, seen: Reading, around: set[str]) -> _Support:
    """How much what a sample shows is like a situation."""
    shared = sorted(one for one in around & set(lineage(name)) if situations()[one].shows)
    if shared:
        return _Support(1.0 if name in around else 0.9, f"it shows {name if name in around else shared[0]}")
    shown = [one for one in situations()[name].shows if one in seen.objects or one in around]
    if shown:
        return _Support(min(0.8, 0.3 + 0.15 * len(shown)), f"it shows {' and '.join(shown[:3])}, as may be with {name}")
    known = bool(seen.situations or seen.objects)
    return _Support(0.2 if known else 0.4, f"it {'does not' if known else 'may'} show {name}")


_SUPPORTS: Final[Mapping[ChoiceSet, Callable[[Reading, Offer], Iterator[_Support]]]] = {
    "samples": _samples,
    "perturbations": _perturbations,
    "metrics": _metrics,
}
