"""The planner without a language model: operator and guardian by different thresholds (R2-Bench, Eqs. 3 and 4).

Each entry of the offer gets a support of 0..1 from the sentence and from its situations. The operator is conservative
and first selects only what is sure. The guardian is radical and requests all that is plausible for a specific reason;
of these the operator accepts entries with several reasons. The guardian does not request a refused entry again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from auscult.agent.debate import CHOICE_SETS, Choice, ChoiceSet, Offer, Offered, Proposal
from auscult.agent.knowledge.sentence import OPPOSITE, Reading, read_sentence
from auscult.agent.knowledge.situations import ANYWHERE, Cell, anywhere, cell, kind_of, kinds, lineage, raw, situations
from auscult.stress.recipe_parts import room_of
from auscult.suites.r2.cases import TASK_RULES

SURE: Final = 0.8
"""Least support of what the operator proposes first."""
ACCEPTED: Final = 0.65
"""Least support of what the operator accepts when the guardian requests it."""
PLAUSIBLE: Final = 0.5
"""Least support of what the guardian requests."""
_INHERITED: Final = 0.7  # needed by a broader situation, more than one step away
_MANY: Final = 2  # the operator accepts what more situations than this find plausible
_WEAK: Final = 0.3  # plausible in general
_SIDES: Final = frozenset({"indoors", "outdoors", "day", "night", "low light"})
_RRIS_METRICS: Final = ("mIoU", "mRR", "rIoU")  # the paper's


class _Support(NamedTuple):
    value: float
    reason: str


class BuiltInDebater:
    """Operator or guardian that uses the knowledge base alone, without randomness.

    Args:
        role: ``operator`` is conservative, ``guardian`` radical.

    Attributes:
        name: ``built-in operator`` or ``built-in guardian``.
        remarks: On a first proposal, such as contradictions in the sentence.
    """

    def __init__(self, role: Literal["operator", "guardian"]) -> None:
        self.role = role
        self.name = f"built-in {role}"
        self.remarks: tuple[str, ...] = ()
        self._cache: tuple[Any, ...] = ()  # the last instruction and offer, with the supports
        self._earlier_requests: set[tuple[ChoiceSet, str]] = set()  # the guardian's memory

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal:
        """A first proposal, or a revision of the other's, with a reason for each choice."""
        reading, theirs = read_sentence(instruction), set[tuple[ChoiceSet, str]]()
        self.remarks = () if other is not None else (*reading.remarks, *_remarks(reading, offer))
        if other is not None:
            theirs = {(of, choice.type) for of in CHOICE_SETS for choice in other.of(of) if choice.selected}

        def accepts(key: tuple[ChoiceSet, str], support: float) -> bool:
            if self.role == "operator":
                return support >= (ACCEPTED if key in theirs else SURE)
            if other is None:
                return support >= PLAUSIBLE
            new = support >= PLAUSIBLE and key not in self._earlier_requests
            self._earlier_requests |= {key} if new else set()
            return new or (key in theirs and support > 0)

        return self._proposal(instruction, offer, accepts)

    def _proposal(self, text: str, offer: Offer, accepts: Callable[[tuple[ChoiceSet, str], float], bool]) -> Proposal:
        if self._cache[:2] != (text, id(offer)):
            reading = read_sentence(text)
            self._earlier_requests.clear()
            self._cache = (text, id(offer), {of: list(_SUPPORTS[of](reading, offer)) for of in CHOICE_SETS}, offer)
        chosen = {
            of: tuple(
                Choice(type=offered.name, reason=support.reason, selected=accepts((of, offered.name), support.value))
                for offered, support in zip(offer.of(of), self._cache[2][of], strict=True)
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
    for kind in sorted(offered & {*kinds()} - {*reading.wished, *reading.unwished}):
        yield from _disagreements(reading.situations, kind)
    for kind in reading.wished:
        support = _expected(reading.situations, kind)
        if kind in offered and not support.value:
            yield f"{kind} is taken because the sentence asks for it, against this: {support.reason}"


def _disagreements(names: tuple[str, ...], kind: str) -> Iterator[str]:
    """That a perturbation is left out for one situation, and another needs it."""
    for part in alternatives(names) if names and not _expected(names, kind).value else ():
        cells = sorted((cell(name, kind) for name in part), key=lambda one: one.steps)
        needed, impossible = ([one.of for one in cells if one.grade == grade] for grade in ("needed", "impossible"))
        if needed and impossible:
            yield f"{kind} is needed for {needed[0]}, and left out for {impossible[0]}, where it cannot occur."


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
    """The support of a perturbation in these situations; the highest, where they exclude one another."""
    if not names:
        general = anywhere(kind)
        return _Support(SURE if general.grade == "plausible" else 0.0, _reasons([general]))
    return max(_joint([cell(name, kind) for name in part]) for part in alternatives(names))


def alternatives(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The situations split into sets without contradiction, such as indoors and outdoors, day and night."""
    parts = [names]
    for pair in OPPOSITE:
        halves = [[tuple(name for name in part if side not in lineage(name)) for side in pair] for part in parts]
        parts = [
            option for part, half in zip(parts, halves, strict=True) for option in ([part] if part in half else half)
        ]
    return [part for part in parts if part] or [names]


def _joint(cells: Sequence[Cell]) -> _Support:
    """The support of a perturbation from its cells in several situations.

    What one is known to need has precedence over what another inherits: a podcast at home is in no treated studio.
    """
    specific = [entry for entry in cells if entry.of != ANYWHERE]
    impossible, needed, plausible = (
        [entry for entry in specific if entry.grade == grade] for grade in ("impossible", "needed", "plausible")
    )
    if any(entry.steps == 0 and _is_weather(entry.of) for entry in needed):
        return _Support(0.9, _reasons(needed))
    if impossible and (any(entry.steps == 0 for entry in impossible) or all(entry.steps for entry in needed)):
        return _Support(0.0, _reasons(impossible))
    if needed:
        near = len(needed) > 1 or needed[0].steps <= 1
        return _Support(0.9 if near else _INHERITED, _reasons(needed))
    if plausible:
        return _Support(ACCEPTED if len({entry.of for entry in plausible}) > _MANY else PLAUSIBLE, _reasons(plausible))
    return _Support(_WEAK if cells[0].grade == "plausible" else 0.0, _reasons(cells[:1]))


def _is_weather(name: str) -> bool:
    """Whether a situation is one of the weather, which no place and no subject marks."""
    return not situations()[name].shows and "outdoors" in lineage(name) and name not in _SIDES


def _reasons(cells: Sequence[Cell]) -> str:
    """The reasons of the first two cells as a sentence."""
    reasons = dict.fromkeys(f"{entry.reason} ({entry.of}: {entry.grade})" for entry in cells)
    return _sentence("; ".join(list(reasons)[:2]))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _by_traits(reading: Reading, names: Sequence[str]) -> Iterator[_Support]:
    """Supports of kinds of negative sentences, or of tasks of suite avi, by the senses and abilities named."""
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


def _scores(topic: str, offer: Offer) -> set[str]:
    """The metrics of the offer that belong to a topic of the file."""
    return {metric.name for metric in offer.metrics}.intersection(raw()["metrics"][topic]["names"].split("|"))


def _main_metrics(offer: Offer, offered_metrics: Sequence[str]) -> set[str]:
    """The main scores of the task; all metrics of the offer where it has none of them."""
    rules = TASK_RULES.get(offer.task)
    names = _RRIS_METRICS if rules is None else (*rules.means, *rules.metrics, *rules.class_wise, *rules.beside)
    return set(names) & set(offered_metrics) or set(offered_metrics)


class _Scene(NamedTuple):
    """A sentence or caption as read, its situations with all broader ones, and whether it is indoors and at night."""

    reading: Reading
    broader: set[str]
    indoors: bool | None
    night: bool | None


class _Shown(NamedTuple):
    """What a sentence wants to be seen or heard in a sample: of each line any, and the more the better."""

    scenes: tuple[str, ...]  # places and subjects
    weather: tuple[str, ...]
    objects: tuple[str, ...]  # those that the scenes do not show anyway
    devices: tuple[str, ...]  # cameras, microphones and networks, if nothing else is said


def nearest_samples(text: str, offer: Offer) -> tuple[Choice, ...]:
    """The samples that come nearest to a sentence; none that contradicts it."""
    supports = list(_samples(read_sentence(text), offer))
    best = max((support.value for support in supports), default=0.0)
    return tuple(
        Choice(type=sample.name, reason=support.reason, selected=0 < support.value == best)
        for sample, support in zip(offer.samples, supports, strict=True)
    )


def _samples(reading: Reading, offer: Offer) -> Iterator[_Support]:
    request, shown = _scene(reading, {}), _shown(reading)
    rules = TASK_RULES.get(offer.task)
    hears = rules is not None and "sound" in rules.rooms
    scenes = [_scene(read_sentence(_words_of(sample)), sample.facts) for sample in offer.samples]
    supports = [
        _Support(0.0, "It has no sound, and the task hears.")
        if hears and sample.facts.get("sound") is False
        else _fit(request, shown, scene)
        for sample, scene in zip(offer.samples, scenes, strict=True)
    ]
    supports = _showing_most(supports, [_extent(shown, scene) for scene in scenes])
    best_first = sorted(range(len(supports)), key=lambda index: -supports[index].value)
    beyond = set() if reading.most_samples is None else set(best_first[reading.most_samples :])
    for index, support in enumerate(supports):
        if index in beyond and support.value:
            yield _Support(0.0, f"The sentence asks for {reading.most_samples} at most.")
        else:
            yield support


def _showing_most(supports: Sequence[_Support], extents: Sequence[tuple[float, ...]]) -> list[_Support]:
    """Supports of samples; of those that fit, the ones that show less of what is said than others are plausible."""
    most = max((extent for extent, one in zip(extents, supports, strict=True) if one.value >= SURE), default=())
    return [
        _Support(PLAUSIBLE, f"{one.reason} Others show more of what is said.")
        if one.value >= SURE and extent < most
        else one
        for extent, one in zip(extents, supports, strict=True)
    ]


def _words_of(sample: Offered) -> str:
    words = (word for key in ("place", "sources", "text") for word in sample.facts.get(key, ())[:20])
    return ". ".join(map(str, (sample.summary, *words)))[:2000]


def _scene(reading: Reading, facts: Mapping[str, Any]) -> _Scene:
    """Indoors and night are from the facts, else from the words."""
    broader = set().union(*map(lineage, reading.situations))
    indoors, night = bool(broader & {"indoors", "car cabin"}), "night" in broader
    side = None if indoors == ("outdoors" in broader) else indoors
    time = None if night == ("day" in broader) else night
    stated, day = facts.get("indoors"), facts.get("day")
    is_night = day == "night" if day in {"day", "night"} else time
    return _Scene(reading, broader, stated if isinstance(stated, bool) else side, is_night)


def _shown(reading: Reading) -> _Shown:
    scenes = tuple(name for name in reading.situations if situations()[name].shows)
    rest = [name for name in reading.situations if not situations()[name].shows and name not in _SIDES]
    weather = tuple(name for name in rest if "outdoors" in lineage(name) and not _only_heard(name))
    objects = tuple(name for name in reading.objects if name not in _usual(scenes))
    nothing_else = not (scenes or weather or objects or _SIDES.intersection(reading.situations))
    of_clips = [name for name in rest if any(room_of(kind) != "sentences" for kind in situations()[name].cells)]
    return _Shown(scenes, weather, objects, tuple(of_clips) if nothing_else else ())


def _only_heard(name: str) -> bool:
    """Whether all that a situation needs is of sound, as of wind: then no sample need show it."""
    needed = {room_of(kind) for kind, own in situations()[name].cells.items() if own.grade == "needed"}
    return needed == {"sound"}


def _extent(shown: _Shown, sample: _Scene) -> tuple[float, ...]:
    """How many of the scenes a sample shows, how much of the rest, and what else marks the other scenes."""
    seen = [name for name in shown.scenes if name in sample.broader]
    objects = sum(name in sample.reading.objects for name in shown.objects) / max(1, len(shown.objects))
    weather, usual, marks = sum(name in sample.broader for name in shown.weather), _usual(seen), 0.0
    for name in set(shown.scenes).difference(seen):
        others = set(situations()[name].shows) - usual
        marks += len(others & {*sample.reading.objects, *sample.broader}) / max(1, len(others))
    return len(seen), weather + objects, marks


def _usual(scenes: Iterable[str]) -> set[str]:
    """What these situations show, and the broader ones."""
    return {word for name in scenes for of in lineage(name) for word in situations()[of].shows}


def _fit(request: _Scene, shown: _Shown, sample: _Scene) -> _Support:
    """How well a sample fits: the least support over what is requested; 0 for a contradiction."""
    against = next(_conflicts(request, sample), "")
    if against:
        return _Support(0.0, _sentence(against))
    supports = list(_fits(request, shown, sample)) or [_Support(1.0, "the sentence asks for no certain scenes")]
    return _Support(
        min(support.value for support in supports), _sentence(", ".join(support.reason for support in supports))
    )


def _conflicts(request: _Scene, sample: _Scene) -> Iterator[str]:
    if None not in {request.indoors, sample.indoors} and request.indoors != sample.indoors:
        side, other = ("in" if scene.indoors else "out" for scene in (sample, request))
        yield f"it is {side}doors, and the sentence {other}doors"
    if None not in {request.night, sample.night} and request.night != sample.night:
        yield "it is night, and day in the sentence" if sample.night else "it is day, and night in the sentence"
    denied = [
        *(sample.broader & set(request.reading.denied)),
        *(set(sample.reading.objects) & set(request.reading.unobjects)),
    ]
    if denied:
        yield f"it shows {min(denied)}, which the sentence leaves out"


def _fits(request: _Scene, shown: _Shown, sample: _Scene) -> Iterator[_Support]:
    if shown.scenes:
        yield max(_similarity(name, sample) for name in shown.scenes)
    elif request.indoors is not None:
        side = "indoors" if request.indoors else "outdoors"
        yield _Support(0.4, f"it may be {side}") if sample.indoors is None else _Support(0.9, f"it is {side}")
    if request.night is not None:
        time = "night" if request.night else "day"
        yield _Support(0.7, f"it may be {time}") if sample.night is None else _Support(0.9, f"it is {time}")
    if not shown.scenes and (shown.weather or shown.objects):
        yield _of_weather_and_objects(shown, sample)
    if shown.devices:
        known = [name for name in shown.devices if name in sample.broader]
        says = f"it {'goes' if known else 'may go'} with {(known or shown.devices)[0]}"
        yield _Support(1.0 if known else PLAUSIBLE, says)


def _of_weather_and_objects(shown: _Shown, sample: _Scene) -> _Support:
    wanted = (*shown.weather, *shown.objects)
    seen = [name for name in wanted if name in sample.broader or name in sample.reading.objects]
    if seen:
        return _Support(1.0, f"it shows {' and '.join(seen[:3])}")
    known = bool(sample.reading.objects) if shown.objects else False
    return _Support(0.2 if known else 0.4, f"it is not known to show {' and '.join(wanted[:3])}")


def _similarity(name: str, sample: _Scene) -> _Support:
    """How similar a sample is to a situation; one of another situation shows at most a neighbour of it."""
    if name in sample.broader:
        return _Support(1.0, f"it shows {name}")
    marks = situations()[name].shows
    common = [word for word in marks if word in sample.reading.objects or word in sample.broader]
    as_may_be = f"it shows {' and '.join(common[:3])}, as may be with {name}"
    wider = sorted(of for of in sample.broader & set(lineage(name)) if situations()[of].shows)
    if wider:
        whole = len(common) == len(marks)  # music on a stage is a concert
        return _Support(SURE, as_may_be) if whole else _Support(PLAUSIBLE, f"it shows {wider[0]}, as {name} does")
    if common:
        of_another = any(situations()[of].shows for of in sample.reading.situations) and not sample.broader & {*common}
        return _Support(min(PLAUSIBLE if of_another else SURE, 0.3 + 0.15 * len(common)), as_may_be)
    is_known = bool(sample.reading.situations or sample.reading.objects)
    return _Support(0.2 if is_known else 0.4, f"it {'is not known to' if is_known else 'may'} show {name}")


_SUPPORTS: Final[Mapping[ChoiceSet, Callable[[Reading, Offer], Iterator[_Support]]]] = {
    "samples": _samples,
    "perturbations": _perturbations,
    "metrics": _metrics,
}
