"""The score of each of AVI-Bench's tasks by its metric, and the rules of the release that each knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol

import numpy as np

from auscult.errors import RecordError, UsageError
from auscult.outcome import Signature, Undefined
from auscult.record import codec
from auscult.score.answers import AnswerScore, Unparsed, chosen, equal_lists, full_match, score_of_rows
from auscult.score.boxes import PROMPTED, BoxConvention, FourNumbers, FrameBoxes, SoundingBoxes, avl, avlg
from auscult.score.counts import amic, vmic
from auscult.score.retrieval import retrieval
from auscult.score.tasks import AnswerForm, TaskMetric
from auscult.score.text.fense import never_below_0

_PAPER: Final = "paper"
_RELEASE: Final = "AVI-Bench"
_RULES: Final[Mapping[TaskMetric | str, frozenset[str]]] = {
    "f1 and count": frozenset({"cap", "true_count"}),
    "recall and count": frozenset({"cap", "true_count", "lenient"}),
    "boxes": frozenset({"divisor", "free_unparsed", "guessed_scale"}),
    "video iou": frozenset({"null_list"}),
    "retrieval": frozenset({"sorted"}),
    "fense": frozenset({"mean", "flag"}),
    "sbert": frozenset({"mean"}),
    "match": frozenset(),
    "reply": frozenset({"first", "short"}),
}
"""What each score, and the reading of replies, knows of the release's rules."""
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
    known = frozenset[str]().union(*_RULES.values())
    unknown = set() if variant in (_PAPER, _RELEASE) else set(variant.split("+")) - known
    if unknown:
        raise UsageError(
            f"--variant names {min(unknown)[:40]!r}",
            expected=f"{_PAPER}, {_RELEASE}, or some of {', '.join(sorted(known))} joined by +",
        )


def variant_of(metric: str, variant: str) -> str:
    """The part of a variant that a score knows."""
    if variant in (_PAPER, _RELEASE):
        return variant if _RULES[metric] else _PAPER
    return "+".join(sorted(_RULES[metric] & set(variant.split("+")))) or _PAPER


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
    how: dict[str, Any] = {"variant": variant_of(metric, variant)}
    located = how | {"convention": convention_of(boxes)}
    scores: dict[TaskMetric, TaskScore] = {
        "match": equal_lists if lists else full_match,
        "fense": partial(caption_score, signature=Signature.of(metric=caption, **how)),
        "boxes": partial(avl, **located),
        "video iou": partial(avlg, **located),
        "retrieval": partial(retrieval, **how),
        "f1 and count": partial(amic, **how),
        "recall and count": partial(vmic, **how),
    }
    return scores[metric]


def narrowed(score: AnswerScore, positions: Sequence[int]) -> AnswerScore:
    """The score with the samples at these positions alone; its value and parts stay those of all."""
    places = {position: place for place, position in enumerate(score.kept)}
    return replace(score, kept=tuple(positions), samples=score.samples[[places[one] for one in positions]])


def caption_score(
    predictions: Sequence[Any], truths: Sequence[Any], *, unparsed: Unparsed, signature: Signature
) -> AnswerScore | Undefined:
    """AVC from the scores of its samples: a number each, None where it has none, an Undefined or a Failed."""
    if any(one is None for one in predictions):
        return Undefined(NO_SENTENCES)
    entered = chosen(predictions, truths, unparsed=unparsed)
    rows = np.array([[0.0 if given is None else given] for _, given, _ in entered.samples], np.float64)
    return score_of_rows(entered, rows.reshape(-1, 1), combine=never_below_0, signature=signature)
