"""The fourteen tasks of AVI-Bench: what each shows, asks, takes as an answer, is scored by, and gives to chance.

Facts of the paper's Tables 2, 6 and 15, two of which the paper's text contradicts:

- In VAR a picture asks and sounds are the candidates, in AVR the reverse. The text of G.1.4 has them exchanged.
- AVH is audio-dominant and VAH visual-dominant (Table 2). Observation 3 counts AVH among the visual ones.

Source: "AVI-Bench: Toward Human-like Audio-Visual Intelligence of Omni-MLLMs", arXiv 2606.07643.

Each task is scored by its metric; a score names the rules of the release that it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

import numpy as np

from auscult.arrays.boxes import FourNumbers, FrameBoxes, SoundingBoxes
from auscult.errors import RecordError, UsageError
from auscult.outcome import Signature, Undefined
from auscult.record import codec
from auscult.score.answers import (
    RULES,
    AnswerScore,
    Unparsed,
    amic,
    chosen,
    equal_lists,
    full_match,
    retrieval,
    score_of_rows,
    vmic,
)
from auscult.score.boxes import PROMPTED, BoxConvention, avl, avlg
from auscult.score.captions import never_below_0
from auscult.shipped import read_shipped

TaskStage: TypeAlias = Literal["perception", "understanding", "reasoning", "sensation"]
Media: TypeAlias = Literal["sound", "picture", "video"]
Dominance: TypeAlias = Literal["sound", "vision", "both"]
PromptForm: TypeAlias = Literal["classes", "options", "candidates", "instruction", "expression"]
AnswerForm: TypeAlias = Literal["counts", "boxes", "frame boxes", "indices", "caption", "option", "option list"]
TaskMetric: TypeAlias = Literal["f1 and count", "recall and count", "boxes", "video iou", "retrieval", "fense", "match"]

STAGES: Final[tuple[TaskStage, ...]] = get_args(TaskStage)
FAMILIAR: Final[tuple[TaskStage, ...]] = STAGES[:3]
"""Stages of media as models are trained on; the last, sensation, is of stimuli nobody trained on (PriSe)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AviTask:
    """One task."""

    name: str  # short name, as in the paper and its release
    title: str  # the name in words (Table 6)
    stage: TaskStage  # its stage (Table 2)
    # media that a sample of it shows (Table 6); VMIC and AVL show a picture, VSQA a picture or a video
    modality: tuple[Media, ...]
    dominance: Dominance  # the sense it leans on (Table 2)
    capability: str  # what it tests (Table 6)
    # what the prompt offers: ``classes`` to take words from, ``options`` to choose among, ``candidates`` to choose by
    # index from 0, a mere ``instruction``, or an ``expression`` that names what is sought
    prompt: PromptForm
    # ``counts`` is class to count, ``boxes`` is class and number from 1 to a box, ``frame boxes`` a box or none for
    # each frame, ``indices`` a list in the order of confidence, ``option`` one word, ``option list`` words between #
    # marks
    answer: AnswerForm
    metric: TaskMetric  # how samples become the task's score, 0..100 (App. G.1).
    chance: float  # what guessing scores, 0..100, as printed in Table 15
    folders: Mapping[str, int]  # folders of the released tree to their samples, confirmations included (Table 2)

    @property
    def confirmed(self) -> bool:
        """Whether a second question, if anything is heard or seen, must be right too (D.2)."""
        return self.stage == "sensation"

    @property
    def samples(self) -> int:
        """Samples in the release."""
        return sum(self.folders.values())


_ALL: Final = codec.from_json(tuple[AviTask, ...], read_shipped("score/avi_tasks.json")["tasks"])

TASKS: Final[Mapping[str, AviTask]] = MappingProxyType({task.name: task for task in _ALL})
"""The tasks by name, in the paper's order."""


def of_stage(stage: TaskStage) -> tuple[AviTask, ...]:
    """The tasks of a stage, in the paper's order."""
    return tuple(task for task in _ALL if task.stage == stage)


def leaning(dominance: Dominance, stages: tuple[TaskStage, ...] = FAMILIAR) -> tuple[AviTask, ...]:
    """The tasks of some stages that lean on a sense: A and V of Eq. 2 where it is ``sound`` or ``vision``."""
    return tuple(task for task in _ALL if task.dominance == dominance and task.stage in stages)


_PAPER: Final = "paper"
_RELEASE: Final = "AVI-Bench"
_ORDERS: Final = ("xyxy", "yxyx", "xywh")
_UNITS: Final = ("share", "thousandths", "pixels")
NO_SENTENCES: Final = "captions are scored with --sentence-model DIR and --fluency-model DIR, folders of weights"
_KINDS: Final[Mapping[AnswerForm, Any]] = {
    "counts": dict[str, int],
    "boxes": tuple[tuple[str, FourNumbers], ...],
    "frame boxes": tuple[FourNumbers | None, ...],
    "indices": tuple[int, ...],
    "caption": str,
    "option": str,
    "option list": tuple[str, ...],
}
_TRUTHS: Final[Mapping[AnswerForm, Any]] = {
    **_KINDS, "boxes": SoundingBoxes, "frame boxes": FrameBoxes, "caption": tuple[str, ...],
}  # fmt: skip


def answer_of(form: AnswerForm, value: object) -> Any:
    """An answer from its JSON; a RecordError where it is none of that form."""
    return codec.from_json(_KINDS[form], value, error=RecordError)


def truth_of(form: AnswerForm, text: str) -> Any:
    """A truth from the text in a record, as scores take it."""
    return codec.from_json(_TRUTHS[form], codec.load(text.encode()), error=RecordError)


class TaskScore(Protocol):
    """The score of a task's samples."""

    def __call__(
        self, predictions: Sequence[Any], truths: Sequence[Any], *, unparsed: Unparsed
    ) -> AnswerScore | Undefined:
        """0..1, from an answer, an Undefined or a Failed a sample."""
        ...


def check_variant(variant: str) -> None:
    """Refuse rules that no score knows."""
    known = frozenset[str]().union(*RULES.values())
    unknown = set() if variant in (_PAPER, _RELEASE) else set(variant.split("+")) - known
    if unknown:
        raise UsageError(
            f"--variant names {min(unknown)[:40]!r}",
            expected=f"{_PAPER}, {_RELEASE}, or some of {', '.join(sorted(known))} joined by +",
        )


def variant_of(metric: str, variant: str) -> str:
    """The part of a variant that a score knows."""
    if variant in (_PAPER, _RELEASE):
        return variant if RULES[metric] else _PAPER
    return "+".join(sorted(RULES[metric] & set(variant.split("+")))) or _PAPER


def convention_of(text: str) -> BoxConvention:
    """How boxes are given, from ``ORDER UNIT``."""
    order, _, unit = text.strip().partition(" ")
    if order not in _ORDERS or unit not in _UNITS:
        raise UsageError(
            f"boxes are given as {text[:40]!r}",
            expected=f"one of {', '.join(_ORDERS)}, a space, and one of {', '.join(_UNITS)}",
        )
    return BoxConvention(order, unit)  # type: ignore[arg-type] # as checked


def task_score(
    metric: TaskMetric, *, variant: str, boxes: str = str(PROMPTED), lists: bool = False, caption: str = "fense"
) -> TaskScore:
    """The score of a task by its metric; captions are scored sample by sample, by ``caption``."""
    options: dict[str, Any] = {"variant": variant_of(metric, variant)}
    located = options | {"convention": convention_of(boxes)}
    scores: dict[TaskMetric, TaskScore] = {
        "match": equal_lists if lists else full_match,
        "fense": partial(caption_score, signature=Signature.of(metric=caption, **options)),
        "boxes": partial(avl, **located),
        "video iou": partial(avlg, **located),
        "retrieval": partial(retrieval, **options),
        "f1 and count": partial(amic, **options),
        "recall and count": partial(vmic, **options),
    }
    return scores[metric]


def narrowed(score: AnswerScore, positions: Sequence[int]) -> AnswerScore:
    """The score with the samples at these positions alone; its value and parts stay those of all."""
    places = {position: place for place, position in enumerate(score.kept)}
    return replace(score, kept=tuple(positions), samples=score.samples[[places[position] for position in positions]])


def caption_score(
    predictions: Sequence[Any], truths: Sequence[Any], *, unparsed: Unparsed, signature: Signature
) -> AnswerScore | Undefined:
    """AVC from the scores of its samples: a number each, None where it has none, an Undefined or a Failed."""
    if any(prediction is None for prediction in predictions):
        return Undefined(NO_SENTENCES)
    entered = chosen(predictions, truths, unparsed=unparsed)
    rows = np.array([[0.0 if value is None else value] for _, value, _ in entered.samples], np.float64)
    return score_of_rows(entered, rows.reshape(-1, 1), combine=never_below_0, signature=signature)
