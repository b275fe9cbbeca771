"""``plan.yaml``: what a study runs, why each part was chosen, and what was left out.

A plan is read by PyYAML's parser alone: no tags, anchors or aliases, each key once, and text stays text (``id: 007``
stays ``007``). Every error names the line. Paths are relative to the current folder, as on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta

from auscult.agent.debate import MIDDLE, ChoiceSet
from auscult.errors import InputError, RecordError, UsageError
from auscult.jobs.options import specs_of
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.record.codec import from_json, load, to_json
from auscult.record.digest import digest_json
from auscult.score.tasks import TASKS
from auscult.stress.presets import apart, barred, tags_of
from auscult.stress.recipe_parts import base_of, no_such

FILE: Final = "plan.yaml"
SUITES: Final = ("r2", "rris", "avi")
_LIMITS: Final = Limits(max_bytes=16_000_000)
_DEEPEST: Final = 8
_MOST_NODES: Final = 1_000_000
_NUMBERS: Final = frozenset(
    {"format", "scenes", "seed", "rounds", "usd", "requests", "seconds", "disk_mb", "force", "changed"}
)
"""Keys of values that are not text."""
_OF_PLAN: Final = frozenset(
    {"data", "out", "count", "seed", "splits", "models", "task", "kinds", "levels", "mixes", "tasks", "only", "budget"}
)
"""Options of suites for which a plan has its own keys."""
_OF_TEXT: Final = (str, Path, Path | None)

MOST_TEXT: Final = 4000
Text: TypeAlias = Annotated[str, Meta(max_length=MOST_TEXT)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=400)]
Amount: TypeAlias = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanData:
    """Where the samples come from.

    Attributes:
        path: Of the data; empty where scenes are made.
        scenes: How many scenes the suite makes itself, of the plan's seed, where there is no path.
        splits: Splits of the data; all where there are none.
        options: Further options of the suite by their names on the command line: texts, masks, images, assets.
    """

    path: Text = ""
    scenes: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    splits: tuple[Name, ...] = ()
    options: Mapping[str, Text] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse data with both or neither of path and scenes."""
        if bool(self.path) == (self.scenes is not None):
            raise ValueError("data are given twice or not at all, not either by path or by scenes")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSample:
    """A selected sample: a case, clip or photograph by its id."""

    id: Name
    reason: Text = ""

    @property
    def name(self) -> str:
        """Its id."""
        return self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPerturbation:
    """A perturbation, applied alone to every sample.

    Attributes:
        name: Of the registry: fog, vision.fog or vision.fog.v1.
        severities: low, medium, high, or numbers from 0 to 5; none where the schedule is dynamic.
        schedule: The same strength in all frames, or one drawn for each frame.
        reason: Why it is tried.
        force: Whether it is tried though it cannot occur in the places of the plan, or together with another.
    """

    name: Name
    severities: tuple[Name, ...] = ()
    schedule: Literal["static", "dynamic"] = "static"
    reason: Text = ""
    force: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        """Its levels as the suite takes them."""
        return ("dynamic",) if self.schedule == "dynamic" else self.severities


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChoice:
    """A metric, a kind of negative sentence or a task of an omni model, and why it is taken or left out."""

    name: Name
    reason: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Most that a study may take, earlier commands included; none where it is null.

    Attributes:
        usd: For the planner's language model, and as much for models of suite avi.
        requests: To the planner's language model, and as many to the models under test, baselines apart.
        seconds: Of running, of each command anew.
        disk_mb: That the record holds.
    """

    usd: Amount | None = None
    requests: Annotated[int, Meta(ge=0)] | None = None
    seconds: Amount | None = None
    disk_mb: Amount | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLeftOut:
    """The entries of the offer that were not selected, with reasons."""

    samples: tuple[PlanChoice, ...] = ()
    perturbations: tuple[PlanChoice, ...] = ()
    metrics: tuple[PlanChoice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A study: what is run, on what, and why.

    Attributes:
        format: Of the file.
        instruction: The sentence that the plan answers.
        suite: r2, rris or avi.
        task: Of suite r2.
        places: Where it is set, in words of ``stress.presets.places()``, with which perturbations have to agree; each
            may join some, ``street+night``, and several are alternatives.
        data: Where samples come from.
        samples: Those that are taken; all where there are none.
        perturbations: Of suite r2.
        negatives: Kinds of negative sentences, of suite rris; all where there are none.
        tasks: Of suite avi; all where there are none.
        metrics: Those that the report is about; the suite computes all it has.
        models: As after --model.
        seed: The same seed draws the same.
        limits: Most that it may take.
        planner: Who proposed it: ``built-in``, the name of a language model, or ``person``.
        rounds: Of verification.
        remarks: What a reader must know: wishes that were obeyed against the rules, disputes, replies that failed.
        left_out: What was offered and not taken.
        changed: Whether a person changed it since it was proposed.
        proposed: The hash of what was proposed; in a file of a study always, else where it was changed.
    """

    format: Literal[1] = 1
    instruction: Text = ""
    suite: Literal["r2", "rris", "avi"] = "r2"
    task: Text = ""
    places: tuple[Name, ...] = ()
    data: PlanData
    samples: tuple[PlanSample, ...] = ()
    perturbations: tuple[PlanPerturbation, ...] = ()
    negatives: tuple[PlanChoice, ...] = ()
    tasks: tuple[PlanChoice, ...] = ()
    metrics: tuple[PlanChoice, ...] = ()
    models: tuple[Name, ...] = ()
    seed: int = 0
    limits: PlanLimits = field(default_factory=PlanLimits)
    planner: Text = "person"
    rounds: Annotated[int, Meta(ge=0, le=3)] = 0
    remarks: tuple[Text, ...] = ()
    left_out: PlanLeftOut = field(default_factory=PlanLeftOut)
    changed: bool = False
    proposed: Text = ""

    @property
    def hash(self) -> str:
        """Hash of what is run and why; limits, which change no result, and earlier versions do not count."""
        return digest_json(to_json(replace(self, changed=False, proposed="", limits=PlanLimits())))

    @property
    def middle(self) -> Literal["perturbations", "negatives", "tasks"]:
        """The key of the set between samples and metrics."""
        return MIDDLE.get(self.suite, "perturbations")

    def taken(self, choice_set: ChoiceSet) -> tuple[PlanSample | PlanPerturbation | PlanChoice, ...]:
        """The selected entries of one of the three sets; the second is negatives or tasks for the other suites."""
        return tuple(getattr(self, self.middle if choice_set == "perturbations" else choice_set))


Key: TypeAlias = tuple[str | int, ...]
"""The keys and numbers that lead to a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSource:
    """The file and lines of a plan; empty for a plan that was not read from a file."""

    path: Path | None = None
    lines: Mapping[Key, int] = field(default_factory=dict)  # of its values

    def placed(self, error: UsageError, at: Key) -> UsageError:
        """An error with the file and the line of a value, or of the nearest value around it."""
        while at and at not in self.lines:
            at = at[:-1]
        path, line = (error.path, None) if self.path is None else (self.path, self.lines.get(at, 1))
        return type(error)(error.message, expected=error.expected, hint=error.hint, path=path, line=line)

    @contextmanager
    def at(self, *key: str | int) -> Iterator[None]:
        """Give file and line of a value to errors raised inside."""
        try:
            yield
        except UsageError as error:
            raise self.placed(error, key) from error


def read_plan(path: Path) -> tuple[Plan, PlanSource]:
    """Read a plan and the lines of its values; ``check_plan`` checks the names in it."""
    try:
        content = read_bytes(path, limits=_LIMITS).decode("utf-8-sig")
    except (InputError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the plan cannot be read: {getattr(error, 'message', 'it is no UTF-8')}", expected="a plan.yaml", path=path
        ) from error
    file = _PlanFile(path)
    try:
        return from_json(Plan, file.parsed(content), exact=True), file.source
    except RecordError as error:
        problem = UsageError(error.message, expected=error.expected, hint=error.hint)
        raise file.source.placed(problem, _place_of(error.message)) from error


def _place_of(message: str) -> Key:
    """What leads to the value that a message of ``from_json`` begins with: ``'limits.usd' is -1``."""
    label = message.replace(" has an unknown key ", ".").partition(" is ")[0].partition(": ")[0]
    keys = re.findall(r"[\w-]+", label.removeprefix("it."))
    return tuple(int(key) if key.isdecimal() else key for key in keys)


def plan_text(plan: Plan) -> str:
    """The plan as YAML, without empty values."""
    yaml = yaml_module()
    content, dumper = _without_empty(to_json(plan)), getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(content, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110))


def yaml_module() -> Any:
    """PyYAML, of the extra ``agent``; a UsageError where it is not installed."""
    try:
        import yaml
    except ImportError as error:
        raise UsageError("PyYAML is not installed", hint="pip install 'auscult[agent]'") from error
    return yaml


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan."""
    import msgspec

    return msgspec.json.schema(Plan)


def _without_empty(value: Any) -> Any:
    if isinstance(value, Mapping):
        parts = {key: _without_empty(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not False and part not in (None, "", [], {})}
    return [_without_empty(part) for part in value] if isinstance(value, list) else value


class _PlanFile:
    """Reads a file, with the line of each value."""

    def __init__(self, path: Path) -> None:
        yaml = yaml_module()
        self.path, self.lines = path, dict[Key, int]()
        self.source = PlanSource(path=path, lines=self.lines)
        self._yaml, self._loader = yaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def parsed(self, text: str) -> Any:
        """The mapping in the text, its scalars as text except those of ``_NUMBERS``."""
        try:
            self._refuse_unplain(text)
            loader = self._loader(text)
            root = loader.get_single_node()
            if not isinstance(root, self._yaml.MappingNode):
                expected = "keys and values, from `format: 1` on"
                raise UsageError("it holds no plan", expected=expected, path=self.path, line=1)
            return self._plain(root, ())
        except (self._yaml.YAMLError, ValueError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            problem = " ".join(str(getattr(error, "problem", None) or error).split())
            line = 1 if mark is None else mark.line + 1
            raise UsageError(
                f"it is no YAML: {problem[:160]}", path=self.path, line=line, expected="a plan.yaml"
            ) from error

    def _refuse_unplain(self, text: str) -> None:
        """Refuse anchors, aliases, tags, several documents, too deep nesting and too many values."""
        yaml, depth, documents = self._yaml, 0, 0
        for count, event in enumerate(yaml.parse(text, Loader=self._loader)):
            documents += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            markup = getattr(event, "anchor", None) or getattr(event, "tag", None)
            if markup or depth > _DEEPEST or count > _MOST_NODES or documents > 1:
                problem = "it holds several documents" if documents > 1 else "it is too long or too deep"
                problem = f"{str(markup)[:40]!r} is an anchor, alias or tag" if markup else problem
                raise UsageError(problem, expected="plain values", path=self.path, line=event.start_mark.line + 1)

    def _plain(self, node: Any, at: Key) -> Any:
        self.lines.setdefault(at, node.start_mark.line + 1)
        if isinstance(node, self._yaml.SequenceNode):
            return [self._plain(part, (*at, number)) for number, part in enumerate(node.value)]
        if isinstance(node, self._yaml.ScalarNode):
            return _scalar(node, is_number=at[-1] in _NUMBERS)
        values: dict[str, Any] = {}
        for key, part in node.value:
            name = key.value if isinstance(key, self._yaml.ScalarNode) else ""
            place = (*at, name)
            self.lines[place] = key.start_mark.line + 1
            if not name or name in values:
                message = f"key {name[:40]!r} stands twice, or is no text"
                raise self.source.placed(UsageError(message, expected="each key once"), place)
            values[name] = self._plain(part, place)
        # a key without a value has the default
        return {name: value for name, value in values.items() if value is not None}


def _scalar(node: Any, *, is_number: bool) -> Any:
    """The text of a scalar; a number or yes/no by the rules of JSON; None if it is empty."""
    text = node.value
    if node.style is None and text.lower() in {"", "~", "null"}:
        return None
    try:
        result = load(text.lower().encode()) if is_number else text
    except ValueError:
        return text
    return result if isinstance(result, int | float | str) else text


def check_plan(plan: Plan, source: PlanSource | None = None) -> None:
    """Refuse a plan with unknown names, or with perturbations that cannot occur; the suite checks samples when it runs.

    The UsageError is about the first problem, with file, line and the nearest names.
    """
    from auscult.agent.offers import metrics_of
    from auscult.models.spec import named_models
    from auscult.suites.r2.cases import task_rules

    source = source or PlanSource()

    def each(key: str, check: Callable[[Any], object]) -> None:
        for number, entry in enumerate(getattr(plan, key)):
            with source.at(key, number, "name"):
                check(entry)

    of_r2 = plan.suite == "r2"
    for key in ("task", "perturbations", "negatives", "tasks"):
        with source.at(key):
            if getattr(plan, key) and key not in {plan.middle, "task" if of_r2 else ""}:
                raise UsageError(f"suite {plan.suite} has no {key}", expected=plan.middle)
    if not plan.models:
        raise source.placed(UsageError("there is no model", expected="at least one"), ("models",))
    with source.at("task"):
        task: Any = task_rules(plan.task).name if of_r2 else "ris"
    if plan.suite != "avi":
        each("models", lambda name: named_models((name,), task=task, does=f"do {task}"))
    for name in plan.data.options:
        with source.at("data", "options", name):
            data_option(plan, name)
    each("places", tags_of)
    each("perturbations", partial(_group, plan))
    each("tasks", lambda entry: _among("task", entry.name, TASKS))
    each("metrics", lambda entry: _among("metric", entry.name, metrics_of(plan.suite, plan.task)))
    for number, reason in conflicts(plan):
        with source.at("perturbations", number):
            raise UsageError(
                f"{plan.perturbations[number].name} {reason}",
                expected="perturbations that can occur where the plan is set, and together",
                hint="leave it out, change `places`, or write `force: true` beside it",
            )


def data_option(plan: Plan, name: str) -> tuple[str, Any]:
    """The suite's field and value for an option of the data, read as on the command line."""
    from auscult.suites.registered import load_suite

    specs = {spec.name: spec for spec in specs_of(load_suite(plan.suite).options()) if spec.path[0] not in _OF_PLAN}
    options = {name for name, spec in specs.items() if spec.flag.read or spec.type in _OF_TEXT}
    _among("option of the data", name.replace("-", "_"), sorted(options))
    spec, text = specs[name.replace("-", "_")], plan.data.options[name]
    return spec.path[0], spec.flag.read(text) if spec.flag.read else text


def _among(kind: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise no_such(kind, name, names)


def _group(plan: Plan, entry: PlanPerturbation) -> str:
    """The full name of a perturbation, from the rooms that the task takes."""
    from auscult.suites.r2.cases import task_rules
    from auscult.suites.r2.conditions import conditions_of

    if entry.severities and entry.schedule == "dynamic":
        raise UsageError("a dynamic schedule draws severities", expected="none, or `schedule: static`")
    if entry.name == "all":
        raise UsageError("a perturbation is called all", expected="the name of one")
    try:
        conditions = conditions_of(task_rules(plan.task), mixes=(), kinds=(entry.name,), levels=entry.levels)
    except UsageError as error:
        raise type(error)(f"{entry.name}: {error.message}", expected=error.expected, hint=error.hint) from error
    return conditions[-1].group


def conflicts(plan: Plan) -> Iterator[tuple[int, str]]:
    """Numbers of perturbations that cannot occur in the places of a plan or together with an earlier one, and why.

    A forced perturbation may be anywhere; with alternative places, two perturbations may be of different places.
    """
    names = [_group(plan, entry) for entry in plan.perturbations]
    for number, (name, perturbation) in enumerate(zip(names, plan.perturbations, strict=True)):
        if perturbation.force:
            continue
        reasons = [barred(name, tags_of(place)) for place in plan.places]
        if reasons and all(reasons):
            yield number, f"cannot occur in {' or '.join(plan.places)}: {reasons[0]}"
            continue
        for other in () if len(plan.places) > 1 else names[:number]:
            if other != name and (reason := apart(other, name)):
                yield number, f"cannot occur together with {base_of(other)}: {reason}"
                break
