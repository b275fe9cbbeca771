"""Pictures of the report: invented masks, worst first, and where a model looks.

For an invented mask: the sentence, the mask of each model, and the truth. For a model with attention maps: the shares
of attention to blank and to memory tokens, as in Fig. 6 of the paper.
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
from auscult.models.adapters import ModelSpec
from auscult.models.base import AttentiveModel, masks_of
from auscult.outcome import Failed
from auscult.report.overlay import heated
from auscult.report.page import Example, Section
from auscult.report.strip import MOST_FRAMES, StripCell, StripRow, strip
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.grid import Grid
from auscult.suites.core.requests import highest_of_each
from auscult.suites.core.runner import Finished, SuiteRunner, stored_rows
from auscult.suites.rris.cases import RrisCase, RrisPrepared
from auscult.suites.rris.scoring import IOU, PAINTED
from auscult.types import Query
from auscult.work.pool import Task, run_tasks

P = TypeVar("P")
R = TypeVar("R")

MOST: Final = 12
"""Most pictures of invented masks, and of missed objects."""
_QUALITY: Final = 85
_MISSED: Final = 0.5
_WIDE: Final = frozenset({"young animal", "living thing", "mammal", "indoor", "outdoor"})
"""Groups too wide for similarity: a person and a dog, a clock and a teddy bear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """One picture: a case, and the answer of each model."""

    case: RrisCase
    models: tuple[str, ...]
    rows: tuple[Mapping[str, Any] | None, ...]
    values: tuple[float | None, ...]  # the IoU of each; for a negative sentence the painted share of the picture

    @property
    def file(self) -> str:
        return f"figures/worst/{self.case.digest[:16]}.jpg"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A section: its cases, with notes on some of them."""

    name: str
    title: str
    lead: str
    cases: Sequence[RrisCase]
    notes: Mapping[str, str] = field(default_factory=dict)  # by case
    label: str = ""


def worst_sections(
    runner: SuiteRunner[RrisCase, RrisPrepared], done: Finished, specs: Mapping[str, ModelSpec]
) -> list[Section]:
    """Draw the largest masks that the first model invented, and the objects that it missed.

    ``specs`` are the models of this command; for one that knows its unknown words, sentences with such are drawn.
    """
    grid = done.grid
    known = (model for model in grid.models if grid.has_results(model, CLEAN))
    models = sorted(known, key=grid.task.is_baseline)[:MOST_FRAMES]
    if not models or grid.task.is_baseline(models[0]):
        return []
    parts = _parts(runner, grid, model=models[0], spec=specs.get(models[0]))
    drawings = _drawn(runner, _orders(runner, done, models, cases=[case for part in parts for case in part.cases]))
    sections = []
    for part in parts:
        examples = [drawings[case.id] for case in part.cases if case.id in drawings]
        examples = [
            replace(example, facts=((part.label, part.notes[example.id]), *example.facts))
            if example.id in part.notes
            else example
            for example in examples
        ]
        if examples:
            lead = f"{part.lead} {_KEY}"
            sections.append(Section(name=part.name, title=part.title, lead=lead, examples=tuple(examples)))
    return sections


def _parts(
    runner: SuiteRunner[RrisCase, RrisPrepared], grid: Grid, *, model: str, spec: ModelSpec | None
) -> tuple[_Part, ...]:
    """The sections; similar categories and unknown words are the failures of the paper's Fig. 11."""
    painted = grid.cell(model, CLEAN, PAINTED).values
    wrong = {case: 1 - iou for case, iou in grid.cell(model, CLEAN, IOU).values.items()}
    similar = near_categories(runner.cases)
    missed = [case for case in runner.cases if case.target is not None and wrong.get(case.id, 0.0) > _MISSED]
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
            cases=_ranked([case for case in runner.cases if case.id in similar], painted, exists=False),
            notes=similar,
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
            cases=_ranked([case for case in missed if case.id in unknown], wrong, exists=True),
            notes=unknown,
            label="never learned",
        ),
    )


def near_categories(cases: Sequence[RrisCase]) -> dict[str, str]:
    """By case, the absent categories of a negative sentence, each with one of its group that is in the picture."""
    coco = coco_categories()
    groups = [group.members for name, group in coco.table.groups.items() if name not in _WIDE]
    present: dict[Path, set[str]] = {}
    for case in cases:
        present.setdefault(case.frame, set()).update(coco.meant(case.category))
    similar = {}
    for case in (case for case in cases if case.target is None):
        mentioned = [name for mention in coco.mentions(case.text) if mention.closed for name in mention.categories]
        absent = [name for name in mentioned if name not in coco.related(present[case.frame])]
        pairs = [f"{name} and {other}" for name in absent for other in sorted(present[case.frame])
                 if any(name in group and other in group for group in groups)]  # fmt: skip
        if pairs:
            similar[case.id] = ", ".join(dict.fromkeys(pairs))
    return similar


def asked_again(
    make: Callable[[], Callable[[P], R]], tasks: Sequence[Task[P]], how: PredictOptions
) -> Iterator[tuple[str, R]]:
    """Results of a model for the page, from a process of its own, without those that fail."""
    try:
        for result in run_tasks(
            make, tasks, workers=min(how.workers, 1), timeout_s=how.timeout_s, memory_mb=how.memory_mb, stage="figure"
        ):
            if not isinstance(result.outcome, Failed):
                yield result.key, result.outcome
    except AuscultError:  # the model cannot be loaded any more
        return


def _words_of(spec: ModelSpec) -> Callable[[Sequence[str]], list[str]]:
    """Makes a function from sentences to the words that a model never learned, joined."""
    model = spec.registered()
    return lambda texts: (
        [", ".join(model.unknown_words(text)) for text in texts] if isinstance(model, AttentiveModel) else []
    )


def _unknown_words(cases: Sequence[RrisCase], spec: ModelSpec | None, options: PredictOptions) -> dict[str, str]:
    """The words of each case that a model never learned."""
    if spec is None or not spec.attends or not cases:
        return {}
    tasks = [Task("words", [case.text for case in cases])]
    words = [text for _, row in asked_again(partial(_words_of, spec), tasks, options) for text in row]
    return {case.id: unknown for case, unknown in zip(cases, words, strict=False) if unknown}


_KEY: Final = "Tinted is a model's mask, the white line is the true outline, where there is one."


def _ranked(cases: Sequence[RrisCase], badness: Mapping[str, float], *, exists: bool) -> list[RrisCase]:
    """The worst case of each picture."""
    selected = [case for case in cases if (case.target is not None) == exists and badness.get(case.id, 0.0) > 0]
    return highest_of_each(selected, badness)[:MOST]


def _orders(
    runner: SuiteRunner[RrisCase, RrisPrepared], finished: Finished, models: Sequence[str], *, cases: Sequence[RrisCase]
) -> Iterator[_Order]:
    keys = {(model, CLEAN, case.id) for model in models for case in cases}
    stored = stored_rows(runner.run.path, finished.requests, keys)
    for case in cases:
        metric = PAINTED if case.kind else IOU
        yield _Order(
            case=case,
            models=tuple(models),
            rows=tuple(stored.get((model, CLEAN, case.id)) for model in models),
            values=tuple(finished.grid.cell(model, CLEAN, metric).values.get(case.id) for model in models),
        )


def _drawn(runner: SuiteRunner[RrisCase, RrisPrepared], orders: Iterator[_Order]) -> dict[str, Example]:
    """The pictures that do not fail."""
    by_id = {order.case.id: order for order in orders}
    examples: dict[str, Example] = {}
    for name, jpeg in runner.draw_pictures(_WorstDrawer, by_id).items():
        order = by_id[name]
        case = order.case
        scores = ", ".join(
            f"{model} {_percent(value)}" for model, value in zip(order.models, order.values, strict=True)
        )
        facts = (("kind", case.kind), ("painted", scores), ("should be", "nothing"))
        examples[case.id] = Example(
            title=case.kind or "it is there",
            jpeg=jpeg,
            text=case.text,
            id=case.id,
            facts=facts if case.kind else (("IoU", scores),),
            broad=True,
            file=order.file,
        )
    return examples


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
                why="failed" if row is None else f"{_percent(value)} of the picture" if truth is None else "",
                over=model,
            )
            for model, row, value in zip(order.models, order.rows, order.values, strict=True)
        ]
        rows = [StripRow(name=order.case.kind or "there", cells=tuple(cells), note=f"“{order.case.text}”")]
        return encode_jpeg(strip(rows, width_px=min(1200, 120 + 280 * len(cells))), quality=_QUALITY)


# --- where a model looks ---

PICTURES: Final = 4
"""Pictures of each model, each with a positive and a negative sentence."""
_LEAD: Final = (
    "Where {} looks: the share of attention that each place gives to blank tokens, which know no word, and to memory "
    "tokens, which read the sentence; the two add up to 1. Colours run from each map's lowest value, dark, to its "
    "highest, as printed below it. The pictures are taken blindly, in the order of their hashes."
)


def attention_sections(runner: SuiteRunner[RrisCase, RrisPrepared], specs: Mapping[str, ModelSpec]) -> list[Section]:
    """Draw the attention of each model of this command that has attention maps, without pictures that fail."""
    sections: list[Section] = []
    cases = _chosen(runner.cases)
    for spec in (spec for spec in specs.values() if spec.attends):
        by_id: dict[str, Example] = {}
        tasks = [Task(case.id, case) for case in cases]
        for key, jpeg in asked_again(partial(_AttentionDrawer, spec), tasks, runner.how):
            if jpeg:
                case = next(case for case in cases if case.id == key)
                file = f"figures/attention/{case.digest[:16]}-{len(sections)}.jpg"
                by_id[case.id] = Example(
                    title=case.kind or "it is there", jpeg=jpeg, text=case.text, id=case.id, facts=(),
                    shows=f"the mask of {spec.name} and maps of its attention", broad=True, file=file,
                )  # fmt: skip
        if by_id:
            examples = tuple(by_id[case.id] for case in cases if case.id in by_id)
            name = f"attention-{len(sections) + 1}"
            sections.append(Section(name=name, title="Attention", lead=_LEAD.format(spec.name), examples=examples))
    return sections


def _chosen(cases: Sequence[RrisCase]) -> list[RrisCase]:
    """A positive and a negative sentence of one reference, for some pictures."""
    pairs: dict[object, dict[bool, RrisCase]] = {}
    for case in sorted(cases, key=lambda entry: entry.digest):
        pairs.setdefault((case.frame, case.reference), {}).setdefault(case.target is not None, case)
    both = [pair for pair in pairs.values() if len(pair) == 2]
    by_frame = {pair[True].frame: pair for pair in reversed(both)}
    first = sorted(by_frame.values(), key=lambda pair: pair[True].digest)[:PICTURES]
    return [pair[exists] for pair in first for exists in (True, False)]


class _AttentionDrawer:
    """Draws sentences in one process."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model, self._reader = spec.registered(), MediaReader()

    def __call__(self, case: RrisCase) -> bytes:
        """The mask and a row of maps for each kind of token, as JPEG; empty if the model has none."""
        if not isinstance(self._model, AttentiveModel):
            return b""
        frame, truth = self._reader.frames(case.frames, case.size)[0], case.mask()
        maps = self._model.attention(frame, case.text)
        mask = masks_of(self._model.predict(frame[None], Query(case.text)), shape=(1, *case.size))[0][0]
        score = None if truth is None else iou(mask, truth)
        caption = f"{100 * mask.mean():.1f} % of the picture" if truth is None else ""
        first = StripCell(frame=frame, prediction=mask, truth=truth, score=score, why=caption, over="answer")
        rows = []
        for name, layers in maps.items():
            cells = [
                StripCell(
                    frame=heated(frame, heatmap),
                    prediction=None,
                    over=layer,
                    why=f"{heatmap.min():.2f} to {heatmap.max():.2f}",
                )
                for layer, heatmap in layers.items()
            ]
            rows.append(StripRow(name=name, cells=(first, *cells)))
            first = StripCell(frame=frame, prediction=None, why="picture")
        return encode_jpeg(strip(rows, width_px=1200), quality=85) if rows else b""
