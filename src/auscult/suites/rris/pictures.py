"""Pictures of the report: invented masks, worst first, and where a model looks.

Of an invented mask: the sentence, what each model painted, and what should have been. Of a model that tells its
attention: what goes to blank and to memory tokens, in pictures as in Fig. 6 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError
from auscult.jobs.predict import MediaReader, PredictOptions, stored_answer
from auscult.language.categories import coco_categories
from auscult.media.frames import encode_jpeg
from auscult.models.base import AttentiveModel, masks_of
from auscult.models.spec import ModelSpec
from auscult.outcome import Failed
from auscult.report.overlay import heated
from auscult.report.page import Example, Section
from auscult.report.strip import MOST_FRAMES, StripCell, StripRow, strip
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.grid import Grid
from auscult.suites.core.runner import Finished, SuiteRunner, stored_rows
from auscult.suites.rris.cases import RrisCase, RrisPrepared
from auscult.suites.rris.scoring import IOU, PAINTED
from auscult.types import Query
from auscult.work.pool import Task, run_tasks

P = TypeVar("P")
R = TypeVar("R")

MOST: Final = 12
"""Pictures of invented masks, and of missed objects, at most."""
_QUALITY: Final = 85
_MISSED: Final = 0.5
_WIDE: Final = frozenset({"young animal", "living thing", "mammal", "indoor", "outdoor"})
"""Groups of what is not alike: a person and a dog, a clock and a teddy bear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """One picture: a case, and what each model answered."""

    case: RrisCase
    models: tuple[str, ...]
    rows: tuple[Mapping[str, Any] | None, ...]
    values: tuple[float | None, ...]  # the IoU of each; of what is not there the share of the picture that it painted

    @property
    def file(self) -> str:
        return f"figures/worst/{self.case.digest[:16]}.jpg"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A section: its cases, and of some of them what is told besides."""

    name: str
    title: str
    lead: str
    cases: Sequence[RrisCase]
    told: Mapping[str, str] = field(default_factory=dict)  # by case
    label: str = ""


def worst_sections(
    runner: SuiteRunner[RrisCase, RrisPrepared], done: Finished, specs: Mapping[str, ModelSpec]
) -> list[Section]:
    """Draw the largest masks that the first model invented, and the objects that it missed; none without a model.

    ``specs`` are the models of this command: of one that says which words it never learned, the sentences with such.
    """
    grid = done.grid
    models = sorted((one for one in grid.models if grid.known(one, CLEAN)), key=grid.task.is_baseline)[:MOST_FRAMES]
    if not models or grid.task.is_baseline(models[0]):
        return []
    parts = _parts(runner, grid, model=models[0], spec=specs.get(models[0]))
    drawn = _drawn(runner, _orders(runner, done, models, cases=[case for part in parts for case in part.cases]))
    sections = []
    for part in parts:
        shown = [drawn[one.id] for one in part.cases if one.id in drawn]
        shown = [
            replace(one, facts=((part.label, part.told[one.id]), *one.facts)) if one.id in part.told else one
            for one in shown
        ]
        if shown:
            lead = f"{part.lead} {_KEY}"
            sections.append(Section(name=part.name, title=part.title, lead=lead, examples=tuple(shown)))
    return sections


def _parts(
    runner: SuiteRunner[RrisCase, RrisPrepared], grid: Grid, *, model: str, spec: ModelSpec | None
) -> tuple[_Part, ...]:
    """What is drawn; what is near and what was never learned are the failures of the paper's Fig. 11."""
    painted = grid.cell(model, CLEAN, PAINTED).values
    wrong = {case: 1 - iou for case, iou in grid.cell(model, CLEAN, IOU).values.items()}
    near = near_categories(runner.cases)
    missed = [one for one in runner.cases if one.target is not None and wrong.get(one.id, 0.0) > _MISSED]
    unknown = _unknown_words(missed, spec, runner.how)
    return (
        _Part(
            name="invented",
            title="Invented masks",
            lead=f"The largest masks of {model} for what is not there; there should be none.",
            cases=_ranked(runner.cases, painted, exists=False),
        ),
        _Part(
            name="near",
            title="Invented masks for what is like something there",
            lead=f"The largest masks of {model} for a category that is not there beside one of the same group that is.",
            cases=_ranked([one for one in runner.cases if one.id in near], painted, exists=False),
            told=near,
            label="near",
        ),
        _Part(
            name="missed",
            title="Missed objects",
            lead=f"The sentences that {model} answered worst, though what they name is there.",
            cases=_ranked(runner.cases, wrong, exists=True),
        ),
        _Part(
            name="rare",
            title="Missed objects of rare words",
            lead=f"The sentences that {model} answered with an IoU below .5 and that hold words that it never learned.",
            cases=_ranked([one for one in missed if one.id in unknown], wrong, exists=True),
            told=unknown,
            label="never learned",
        ),
    )


def near_categories(cases: Sequence[RrisCase]) -> dict[str, str]:
    """Negative sentences that name a category of the same group as one that their picture holds: by case, which."""
    known = coco_categories()
    groups = [group.members for name, group in known.table.groups.items() if name not in _WIDE]
    there: dict[Path, set[str]] = {}
    for case in cases:
        there.setdefault(case.frame, set()).update(known.meant(case.category))
    found = {}
    for case in (one for one in cases if one.target is None):
        named = [name for one in known.mentions(case.text) if one.closed for name in one.categories]
        absent = [name for name in named if name not in known.related(there[case.frame])]
        pairs = [f"{name} and {other}" for name in absent for other in sorted(there[case.frame])
                 if any(name in group and other in group for group in groups)]  # fmt: skip
        if pairs:
            found[case.id] = ", ".join(dict.fromkeys(pairs))
    return found


def asked_again(
    make: Callable[[], Callable[[P], R]], tasks: Sequence[Task[P]], how: PredictOptions
) -> Iterator[tuple[str, R]]:
    """What a model tells for the page, in a process of its own; what fails is left out, it is no failure of the run."""
    try:
        for result in run_tasks(
            make, tasks, workers=min(how.workers, 1), timeout_s=how.timeout_s, memory_mb=how.memory_mb, stage="figure"
        ):
            if not isinstance(result.outcome, Failed):
                yield result.key, result.outcome
    except AuscultError:  # it cannot be loaded any more
        return


def _words_of(spec: ModelSpec) -> Callable[[Sequence[str]], list[str]]:
    """Of sentences, the words that a model never learned, joined."""
    model = spec.registered()
    return lambda texts: (
        [", ".join(model.unknown_words(one)) for one in texts] if isinstance(model, AttentiveModel) else []
    )


def _unknown_words(cases: Sequence[RrisCase], spec: ModelSpec | None, how: PredictOptions) -> dict[str, str]:
    """By case, what a model never learned of its sentence."""
    if spec is None or not spec.attends or not cases:
        return {}
    tasks = [Task("words", [one.text for one in cases])]
    words = [found for _, row in asked_again(partial(_words_of, spec), tasks, how) for found in row]
    return {one.id: found for one, found in zip(cases, words, strict=False) if found}


_KEY: Final = (
    "Tinted is a model's mask, the white line is the true outline, where there is one. Percent over what is not there "
    "are of the picture."
)


def _ranked(cases: Sequence[RrisCase], badness: Mapping[str, float], *, exists: bool) -> list[RrisCase]:
    """The worst, one a picture."""
    mine = [one for one in cases if (one.target is not None) == exists and badness.get(one.id, 0.0) > 0]
    worst: dict[str, RrisCase] = {}
    for one in sorted(mine, key=lambda one: (-badness[one.id], one.id)):
        worst.setdefault(one.clip, one)
    return list(worst.values())[:MOST]


def _orders(
    runner: SuiteRunner[RrisCase, RrisPrepared], done: Finished, models: Sequence[str], *, cases: Sequence[RrisCase]
) -> Iterator[_Order]:
    wanted = {(model, CLEAN, case.id) for model in models for case in cases}
    stored = stored_rows(runner.run.path, done.requests, wanted)
    for case in cases:
        metric = PAINTED if case.kind else IOU
        yield _Order(
            case=case,
            models=tuple(models),
            rows=tuple(stored.get((model, CLEAN, case.id)) for model in models),
            values=tuple(done.grid.cell(model, CLEAN, metric).values.get(case.id) for model in models),
        )


def _drawn(runner: SuiteRunner[RrisCase, RrisPrepared], orders: Iterator[_Order]) -> dict[str, Example]:
    """Draw into the record; a picture that cannot be drawn is left out."""
    known = {order.case.id: order for order in orders}
    found: dict[str, Example] = {}
    for name, jpeg in runner.drawn(_WorstDrawer, known).items():
        order = known[name]
        case = order.case
        runner.run.write_bytes(order.file, jpeg, durable=False)
        told = ", ".join(f"{model} {_percent(one)}" for model, one in zip(order.models, order.values, strict=True))
        facts = (("kind", case.kind), ("painted", told), ("should be", "nothing"))
        found[case.id] = Example(
            title=case.kind or "it is there",
            jpeg=jpeg,
            text=case.text,
            id=case.id,
            facts=facts if case.kind else (("IoU", told),),
            broad=True,
            file=order.file,
        )
    return found


def _percent(share: float | None) -> str:
    return "failed" if share is None else f"{100 * share:.1f} %"


class _WorstDrawer:
    """Draws pictures in one process."""

    def __init__(self) -> None:
        self._reader = MediaReader()

    def __call__(self, order: _Order) -> bytes:
        """All models side by side, as JPEG."""
        frame, truth = self._reader.frames(order.case.frames, order.case.size)[0], order.case.mask()
        cells = [
            StripCell(
                frame=frame,
                prediction=None if row is None else stored_answer(row, 0) != 0,
                truth=truth,
                score=None if truth is None else value,
                why="failed" if row is None else "",
                over=model if truth is not None else f"{model}: {_percent(value)}",
            )
            for model, row, value in zip(order.models, order.rows, order.values, strict=True)
        ]
        rows = [StripRow(name=order.case.kind or "there", cells=tuple(cells), note=f"“{order.case.text}”")]
        return encode_jpeg(strip(rows, width_px=min(1200, 120 + 280 * len(cells))), quality=_QUALITY)


# --- where a model looks ---

PICTURES: Final = 4
"""Of each model, each with a sentence about what is there and one about what is not."""
_LEAD: Final = (
    "Where {} looks: the share of attention that each place gives to blank tokens, which know no word, and to memory "
    "tokens, which read the sentence; the two add up to 1. Colours run from each map's lowest value, dark, to its "
    "highest, as printed below it. The pictures are taken blindly, in the order of their hashes."
)


def attention_sections(runner: SuiteRunner[RrisCase, RrisPrepared], specs: Mapping[str, ModelSpec]) -> list[Section]:
    """Draw the attention of each model of this command that has some; what cannot be drawn is left out."""
    found: list[Section] = []
    cases = _chosen(runner.cases)
    for spec in (one for one in specs.values() if one.attends):
        drawn: dict[str, Example] = {}
        tasks = [Task(case.id, case) for case in cases]
        for key, jpeg in asked_again(partial(_AttentionDrawer, spec), tasks, runner.how):
            if jpeg:
                case = next(one for one in cases if one.id == key)
                file = f"figures/attention/{case.digest[:16]}-{len(found)}.jpg"
                runner.run.write_bytes(file, jpeg, durable=False)
                drawn[case.id] = Example(
                    title=case.kind or "it is there", jpeg=jpeg, text=case.text, id=case.id, facts=(),
                    shows=f"the mask of {spec.name} and maps of its attention", broad=True, file=file,
                )  # fmt: skip
        if drawn:
            examples = tuple(drawn[case.id] for case in cases if case.id in drawn)
            name = f"attention-{len(found) + 1}"
            found.append(Section(name=name, title="Attention", lead=_LEAD.format(spec.name), examples=examples))
    return found


def _chosen(cases: Sequence[RrisCase]) -> list[RrisCase]:
    """Of some pictures a positive sentence and a negative one, of one reference where there is such a pair."""
    pairs: dict[object, dict[bool, RrisCase]] = {}
    for case in sorted(cases, key=lambda one: one.digest):
        pairs.setdefault((case.frame, case.reference), {}).setdefault(case.target is not None, case)
    both = [pair for pair in pairs.values() if len(pair) == 2]
    by_frame = {pair[True].frame: pair for pair in reversed(both)}
    first = sorted(by_frame.values(), key=lambda pair: pair[True].digest)[:PICTURES]
    return [pair[there] for pair in first for there in (True, False)]


class _AttentionDrawer:
    """Draws sentences in one process."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model, self._reader = spec.registered(), MediaReader()

    def __call__(self, case: RrisCase) -> bytes:
        """The mask and a row of maps for each kind of token, as JPEG; empty where the model gives none."""
        if not isinstance(self._model, AttentiveModel):
            return b""
        frame, truth = self._reader.frames(case.frames, case.size)[0], case.mask()
        maps = self._model.attention(frame, case.text)
        mask = masks_of(self._model.predict(frame[None], Query(case.text)), shape=(1, *case.size))[0][0]
        score = None if truth is None else iou(mask, truth)
        why = f"{100 * mask.mean():.1f} % of the picture" if truth is None else ""
        first = StripCell(frame=frame, prediction=mask, truth=truth, score=score, why=why, over="answer")
        rows = []
        for name, layers in maps.items():
            cells = [
                StripCell(
                    frame=heated(frame, one), prediction=None, over=layer, why=f"{one.min():.2f} to {one.max():.2f}"
                )
                for layer, one in layers.items()
            ]
            rows.append(StripRow(name=name, cells=(first, *cells)))
            first = StripCell(frame=frame, prediction=None, why="picture")
        return encode_jpeg(strip(rows, width_px=1200), quality=85) if rows else b""
