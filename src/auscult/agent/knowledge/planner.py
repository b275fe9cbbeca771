"""The planner without a language model: operator and guardian by different thresholds (R2-Bench, Eqs. 3 and 4).

Everything offered gets a support of 0..1 from what the sentence says and what is known of its situations. The operator
is conservative and first takes only what is sure; the guardian is radical and asks for all that is plausible with a
reason of its own; of that the operator accepts what has several. What it refuses the guardian lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from auscult.agent.debate import CHOICE_SETS, Choice, ChoiceSet, Offer, Offered, Proposal
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
        self._argued: set[tuple[ChoiceSet, str]] = set()  # what it has asked for before: its memory

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal:
        """A first proposal, or the other's as this one would have it, with a reason for each choice."""
        reading, theirs = read_sentence(instruction), set[tuple[ChoiceSet, str]]()
        self.remarks = () if other is not None else (*reading.remarks, *_remarks(reading, offer))
        if other is not None:
            theirs = {(of, choice.type) for of in CHOICE_SETS for choice in other.of(of) if choice.selected}

        def taken(key: tuple[ChoiceSet, str], support: float) -> bool:
            if self.role == "operator":
                return support >= (ACCEPTED if key in theirs else SURE)
            if other is None:
                return support >= PLAUSIBLE
            new = support >= PLAUSIBLE and key not in self._argued
            self._argued |= {key} if new else set()
            return new or (key in theirs and support > 0)

        return self._chosen(instruction, offer, taken)

    def _chosen(self, text: str, offer: Offer, taken: Callable[[tuple[ChoiceSet, str], float], bool]) -> Proposal:
        if self._known[:2] != (text, id(offer)):
            reading = read_sentence(text)
            self._argued.clear()
            self._known = (text, id(offer), {of: list(_SUPPORTS[of](reading, offer)) for of in CHOICE_SETS}, offer)
        chosen = {
            of: tuple(
                Choice(type=offered.name, reason=support.reason, selected=taken((of, offered.name), support.value))
                for offered, support in zip(offer.of(of), self._known[2][of], strict=True)
            )
            for of in CHOICE_SETS
        }
        return Proposal(**chosen)


def _remarks(reading: Reading, offer: Offer) -> Iterator[str]:
    if reading.unmatched:
        yield f"Words that matched nothing: {', '.join(reading.unmatched)}."
    if offer.suite != "r2":
        return
    if not (reading.situations or reading.wished):
        yield "No situation was recognised: what is plausible anywhere is taken."
    offered = {kind_of(perturbation.name) for perturbation in offer.perturbations}
    lacking = [kind for kind in reading.wished if kind not in offered]
    lacking += [f"a score of {wish}" for wish in reading.metrics if not _scores(wish, offer)]
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
        return (_stressor(reading, kind_of(perturbation.name)) for perturbation in offer.perturbations)
    return _by_traits(reading, [perturbation.name for perturbation in offer.perturbations])


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
        general = anywhere(kind)
        return _Support(SURE if general.grade == "plausible" else 0.0, _said([general]))
    return max(_together([cell(name, kind) for name in part]) for part in alternatives(names))


def alternatives(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The situations without those that exclude one another: indoors or outdoors, by day or by night."""
    parts = [names]
    for pair in OPPOSITE:
        halves = [[tuple(name for name in part if side not in lineage(name)) for side in pair] for part in parts]
        parts = [
            option for part, half in zip(parts, halves, strict=True) for option in ([part] if part in half else half)
        ]
    return [part for part in parts if part] or [names]


def _together(cells: Sequence[Cell]) -> _Support:
    """The support of a perturbation from what several situations say of it."""
    specific = [entry for entry in cells if entry.of != ANYWHERE]
    impossible, needed, plausible = (
        [entry for entry in specific if entry.grade == grade] for grade in ("impossible", "needed", "plausible")
    )
    if impossible:
        return _Support(0.0, _said(impossible))
    if needed:
        near = len(needed) > 1 or needed[0].steps <= 1
        return _Support(0.9 if near else _INHERITED, _said(needed))
    if plausible:
        return _Support(ACCEPTED if len({entry.of for entry in plausible}) > _MANY else PLAUSIBLE, _said(plausible))
    return _Support(_WEAK if cells[0].grade == "plausible" else 0.0, _said(cells[:1]))


def _said(cells: Sequence[Cell]) -> str:
    """The reasons of the first two cells as a sentence."""
    reasons = dict.fromkeys(f"{entry.reason} ({entry.of}: {entry.grade})" for entry in cells)
    return _sentence("; ".join(list(reasons)[:2]))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _by_traits(reading: Reading, names: Sequence[str]) -> Iterator[_Support]:
    """Kinds of negative sentences, and tasks of suite avi: those with the senses and an ability that are named."""
    table = {name.removeprefix("negatives."): line for name, line in raw()["by trait"].items()}
    shorts = [name.partition(".v")[0].removeprefix("negatives.") for name in names]
    lines = [table.get(short, ": nothing is known of it").partition(": ") for short in shorts]
    traits = [set(line[0].split()) for line in lines]
    wished = set(reading.traits) & set().union(*traits)
    senses = wished & {"hear", "see"}
    for needed, (_, _, reason) in zip(traits, lines, strict=True):
        fits = senses <= needed and (wished == senses or bool(needed & (wished - senses)))
        cause = (
            ("the sentence asks for such" if fits else "the sentence asks for others")
            if wished
            else "none is asked for"
        )
        yield _Support(float(fits), _sentence(f"{reason}; {cause}"))


def _metrics(reading: Reading, offer: Offer) -> Iterator[_Support]:
    offered = [metric.name for metric in offer.metrics]
    main = _main_metrics(offer, offered)
    wished = set().union(*(_scores(wish, offer) for wish in reading.metrics))
    wished |= main if wished and "quality" in reading.metrics else set()
    for name in offered:
        if wished and reading.metrics != ("quality",):
            yield _Support(float(name in wished), f"The sentence asks for {'it' if name in wished else 'others'}.")
        else:
            yield _Support(float(name in main), f"It is {'a' if name in main else 'no'} main score of the task.")


def _scores(wish: str, offer: Offer) -> set[str]:
    """What is offered of a wish for metrics."""
    return {metric.name for metric in offer.metrics}.intersection(raw()["metrics"][wish]["names"].split("|"))


def _main_metrics(offer: Offer, offered: Sequence[str]) -> set[str]:
    """The scores that a study of the task reports; everything offered where none of them is."""
    rules = TASK_RULES.get(offer.task)
    names = _RRIS_METRICS if rules is None else (*rules.means, *rules.metrics, *rules.class_wise, *rules.beside)
    return set(names) & set(offered) or set(offered)


class _Seen(NamedTuple):
    """What a sentence or caption shows, what that is a case of, and whether it is indoors and at night."""

    reading: Reading
    around: set[str]
    indoors: bool | None
    night: bool | None


def _samples(reading: Reading, offer: Offer) -> Iterator[_Support]:
    wanted = _seen(reading, {})
    supports = [_fit(wanted, _seen(read_sentence(_words_of(sample)), sample.facts)) for sample in offer.samples]
    best = max((support.value for support in supports), default=0.0)
    for support in supports:
        last = 0 < support.value == best < SURE
        yield _Support(SURE, f"{support.reason} Nothing that is offered fits better.") if last else support


def _words_of(one: Offered) -> str:
    words = (word for key in ("place", "sources", "text") for word in one.facts.get(key, ())[:20])
    return ". ".join(map(str, (one.summary, *words)))[:2000]


def _seen(reading: Reading, facts: Mapping[str, Any]) -> _Seen:
    """By the facts, else by the words."""
    around = set().union(*map(lineage, reading.situations))
    indoors, night = bool(around & {"indoors", "car cabin"}), "night" in around
    side = None if indoors == ("outdoors" in around) else indoors
    time = None if night == ("day" in around) else night
    stated, day = facts.get("indoors"), facts.get("day")
    is_night = day == "night" if day in {"day", "night"} else time
    return _Seen(reading, around, stated if isinstance(stated, bool) else side, is_night)


def _fit(wanted: _Seen, seen: _Seen) -> _Support:
    """How well a sample fits: the least over what is asked for, 0 where something contradicts it."""
    against = next(_against(wanted, seen), "")
    if against:
        return _Support(0.0, _sentence(against))
    supports = list(_fits(wanted, seen)) or [_Support(1.0, "the sentence asks for no certain scenes")]
    return _Support(
        min(support.value for support in supports), _sentence(", ".join(support.reason for support in supports))
    )


def _against(wanted: _Seen, seen: _Seen) -> Iterator[str]:
    if None not in {wanted.indoors, seen.indoors} and wanted.indoors != seen.indoors:
        yield f"it is {'in' if seen.indoors else 'out'}doors, and the sentence {'in' if wanted.indoors else 'out'}doors"
    if None not in {wanted.night, seen.night} and wanted.night != seen.night:
        yield "it is night, and day in the sentence" if seen.night else "it is day, and night in the sentence"
    denied = [
        *(seen.around & set(wanted.reading.denied)),
        *(set(seen.reading.objects) & set(wanted.reading.unobjects)),
    ]
    if denied:
        yield f"it shows {min(denied)}, which the sentence leaves out"


def _fits(wanted: _Seen, seen: _Seen) -> Iterator[_Support]:
    scenes = [name for name in wanted.reading.situations if situations()[name].shows]
    if scenes:
        yield max(_like(name, seen) for name in scenes)
    elif wanted.indoors is not None:
        side = "indoors" if wanted.indoors else "outdoors"
        yield _Support(0.4, f"it may be {side}") if seen.indoors is None else _Support(0.9, f"it is {side}")
    if wanted.night is not None:
        time = "night" if wanted.night else "day"
        yield _Support(0.7, f"it may be {time}") if seen.night is None else _Support(0.9, f"it is {time}")
    objects = () if scenes else wanted.reading.objects
    shared = [name for name in objects if name in seen.reading.objects]
    if shared:
        yield _Support(1.0, f"it shows {' and '.join(shared[:3])}")
    elif objects:
        words = " and ".join(objects[:3])
        yield _Support(0.2 if seen.reading.objects else 0.4, f"it is not known to show {words}")


def _like(name: str, seen: _Seen) -> _Support:
    """How much what a sample shows is like a situation."""
    shared = sorted(situation for situation in seen.around & set(lineage(name)) if situations()[situation].shows)
    if shared:
        return _Support(1.0 if name in seen.around else 0.9, f"it shows {name if name in seen.around else shared[0]}")
    common = [word for word in situations()[name].shows if word in seen.reading.objects or word in seen.around]
    if common:
        return _Support(
            min(0.8, 0.3 + 0.15 * len(common)), f"it shows {' and '.join(common[:3])}, as may be with {name}"
        )
    is_known = bool(seen.reading.situations or seen.reading.objects)
    return _Support(0.2 if is_known else 0.4, f"it {'is not known to' if is_known else 'may'} show {name}")


_SUPPORTS: Final[Mapping[ChoiceSet, Callable[[Reading, Offer], Iterator[_Support]]]] = {
    "samples": _samples,
    "perturbations": _perturbations,
    "metrics": _metrics,
}
