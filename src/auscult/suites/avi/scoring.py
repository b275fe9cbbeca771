"""Parses and scores stored replies in worker processes.

A reply is read once; its row in ``scores.jsonl`` has the score of the sample alone, and the answer with ``path``, the
way in which the parser found it. The scores of tasks, which are not means over samples, are computed from the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from auscult.jobs.ask import reformatted
from auscult.models.omni import BOXES
from auscult.outcome import Failed, Scored, Undefined
from auscult.record.codec import to_json
from auscult.record.schema import score_to_json
from auscult.score.answers import AnswerScore
from auscult.score.captions import FluencyModel, SentenceEncoder, fense, meteor, sbert
from auscult.score.replies import Read, read_reply
from auscult.score.tasks import NO_SENTENCES, TaskMetric, task_score, truth_of, variant_of
from auscult.suites.avi.cases import AviCase, Prepared, truth_text
from auscult.suites.core.runner import ToScore

SCORE: Final = "score"
UNREAD: Final = "unread"
"""The ``path`` of a reply in which no answer was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreHow:
    """How replies are scored; goes to worker processes."""

    variant: str = "paper"
    boxes: Mapping[str, str]  # model to its format of boxes
    sentence_model: Path | None = None
    fluency_model: Path | None = None
    formatter: str = ""  # name and revision of the formatter; empty for none
    reformatted: Path | None = None  # the file of its replies

    def identity(self, metric: TaskMetric) -> str:
        """What a task's scores depend on besides replies and truths."""
        words = [variant_of(metric, self.variant), variant_of("reply", self.variant)]
        words += [self.formatter] if self.formatter else []
        if metric == "fense":
            words += [str(self.sentence_model or ""), str(self.fluency_model or "")]
        return "|".join(words)


def frames_of(case: AviCase) -> int:
    """The count of frames in an answer; 0 for answers without frames."""
    return len(getattr(case.sample.truth, "boxes", ())) if case.task.answer == "frame boxes" else 0


class Scorer:
    """Reads and scores replies in one process."""

    def __init__(self, settings: ScoreHow) -> None:
        self._settings = settings
        self._networks = cache(partial(_networks, settings))
        self._score = cache(
            lambda metric, boxes, lists: task_score(metric, variant=settings.variant, boxes=boxes, lists=lists)
        )
        self._formatters = None if settings.reformatted is None else reformatted(settings.reformatted)

    def __call__(self, given: ToScore[Prepared]) -> list[dict[str, Any]] | Failed:
        """The row of one reply."""
        row, case = given.row, given.prepared.case
        read = self._read(row, case)
        boxes = self._settings.boxes.get(str(row["model"]), BOXES)
        answer: dict[str, Any] = {"path": read.path, "value": to_json(read.answer)} if isinstance(read, Read) else {
            "path": UNREAD, "reason": read.reason, **({"skip": True} if read.detail.get("skip") else {}),
        }  # fmt: skip
        if case.task.metric in ("boxes", "video iou"):
            answer["boxes"] = boxes
        outcome = self._outcome(read, case, boxes)
        if isinstance(outcome, AnswerScore) and case.task.metric == "fense":
            answer |= {"caption": float(outcome.samples[0, 0]), "metric": outcome.signature.as_dict()["metric"]}
        context = {name: row[name] for name in ("key", "model", "condition")} | {"clip": case.clip, "truth": case.truth}
        plain = Scored(outcome.value, outcome.signature) if isinstance(outcome, AnswerScore) else outcome
        return [{**score_to_json(case.id, SCORE, plain), **context, "answer": answer}]

    def _read(self, row: Mapping[str, Any], case: AviCase) -> Read | Undefined:
        formatter = None if self._formatters is None else self._formatters(str(row["key"]))
        return read_reply(
            str(row["reply"]),
            case.task.answer,
            words=case.sample.words,
            frames=frames_of(case),
            variant=variant_of("reply", self._settings.variant),
            formatter=formatter,
        )

    def _outcome(self, read: Read | Undefined, case: AviCase, boxes: str) -> AnswerScore | Undefined:
        """The score of the sample alone; a reply without an answer scores as an empty one."""
        task, answer = case.task, read.answer if isinstance(read, Read) else Undefined(read.reason)
        truth = truth_of(task.answer, truth_text(case.sample.truth))  # as in a record, so that both have the same score
        if task.metric == "fense":
            return self._caption(answer, case, truth)
        score = self._score(task.metric, boxes, task.answer == "option list")
        return score([answer], [truth], unparsed="wrong")

    def _caption(self, answer: Any, case: AviCase, truth: Sequence[str]) -> AnswerScore | Undefined:
        """FENSE, or without its networks: undefined on released data; on own data SBERT, or METEOR without any."""
        sentences, fluency = self._networks()
        score: Callable[..., AnswerScore | Undefined] = meteor
        if sentences is not None and fluency is not None:
            variant = variant_of("fense", self._settings.variant)
            score = partial(fense, sentences=sentences, fluency=fluency, variant=variant)
        elif case.released:
            return Undefined(NO_SENTENCES)
        elif sentences is not None:
            score = partial(sbert, sentences=sentences, variant=variant_of("sbert", self._settings.variant))
        return score([answer], [truth], unparsed="wrong")


def _networks(how: ScoreHow) -> tuple[SentenceEncoder | None, FluencyModel | None]:
    """The sentence encoder and the fluency model, None if not given."""
    if how.sentence_model is None:
        return None, None
    from auscult.nets.hf_sentences import load_fluency, load_sentences  # imports torch

    return load_sentences(how.sentence_model), None if how.fluency_model is None else load_fluency(how.fluency_model)
