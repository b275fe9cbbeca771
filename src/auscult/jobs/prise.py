"""``auscult make prise``: low-semantic stimuli with questions, in AVI-Bench's layout; the same command goes on.

``questions.jsonl`` has a line for each question that is made; ``data.json`` of each task and ``review.csv`` follow
from it at the end.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, get_args

from auscult.cases.layouts.avi_prompts import YES_NO
from auscult.cases.layouts.avibench import DATA, data_json, task_folder
from auscult.jobs.options import PriseOptions
from auscult.jobs.runner import (
    Indivisible,
    NumberedVerb,
    Result,
    ResultWriter,
    finish_tables,
    run_manifest,
)
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.scenes.primitives.base import Folder, StimulusKind
from auscult.scenes.primitives.kinds import KINDS, question, question_id, question_row

QUESTIONS: Final = "questions.jsonl"
REVIEW: Final = "review.csv"
REVIEW_STAGES: Final = (0.10, 0.35, 0.60, 0.85, 1.0)
"""Shares of the questions after which reviewers stop: a tenth, then every further quarter (H.2)."""

_FOLDERS: Final[tuple[Folder, ...]] = get_args(Folder)


@dataclass(frozen=True, slots=True)
class QuestionTask(Indivisible):
    """A question that is to be made."""

    kind: str
    index: int

    @property
    def key(self) -> str:
        """Its id."""
        return question_id(KINDS[self.kind], self.index)


def _make(task: QuestionTask, seed: int) -> list[Result]:
    made = question(KINDS[task.kind], task.index, seed=seed)
    return [Result(id=task.key, files=made.files, rows={QUESTIONS: [question_row(made)]})]


def _maker(seed: int) -> partial[list[Result]]:
    return partial(_make, seed=seed)


class MakePrise(NumberedVerb[QuestionTask, tuple[Summary, list[Table]]]):
    """``auscult make prise``, as the runner sees it."""

    doing = "making stimuli"
    stage = "make"
    once = (QUESTIONS,)
    rows = QUESTIONS
    unit = "questions"
    options: PriseOptions

    def __init__(self, options: PriseOptions) -> None:
        super().__init__(options)
        from auscult.media.containers import load_av

        load_av()  # videos need it; without it nothing is begun

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        return run_manifest("make prise", self.options, inputs={"kinds": list(KINDS)})

    def worker(self) -> partial[partial[list[Result]]]:
        """Makes the function of one question in a worker process."""
        return partial(_maker, self.options.seed)

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write each task's questions with their confirmations after them, the order of review, and a table."""
        run = writer.run
        made = self.ordered(run)
        for folder in _FOLDERS:
            own = [row for row in made if row["formal"]["task"] == folder]
            entries = [row[part] for part in ("formal", "pre") for row in own]
            run.write_bytes(f"{task_folder('sensation', folder)}/{DATA}", data_json(entries))
        run.write_bytes(REVIEW, review_csv(made))
        summary = self.counted("make prise", run, made)
        return finish_tables(run, summary, {"types": types_table(made)})

    def wanted(self) -> Iterator[QuestionTask]:
        """Type by type; of each as many as asked for."""
        for kind in KINDS.values():
            for index in range(kind.count if self.options.count is None else self.options.count):
                yield QuestionTask(kind.name, index)


make_prise: Final = MakePrise.of


def review_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Questions in the order of review, all types mixed evenly, each with the stage that it belongs to (H.2).

    The last two columns are for the reviewer.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["formal"]["subtask"], []).append(row)
    placed = [((at + 0.5) / len(group), row) for group in groups.values() for at, row in enumerate(group)]
    held = io.StringIO()
    table = csv.writer(held, lineterminator="\n")
    table.writerow(("stage", "id", "task", "type", "media", "question", "options", "answer", "good", "remark"))
    for number, (_, row) in enumerate(sorted(placed, key=lambda pair: pair[0]), start=1):
        stage = next(at for at, share in enumerate(REVIEW_STAGES, start=1) if number <= share * len(rows) + 1e-9)
        formal = row["formal"]
        shown, asked = formal["input"], formal["input"]["question"]
        media = shown["video"] or (shown["image_list"] or shown["audio_list"])[0]
        path = f"{task_folder('sensation', formal['task'])}/{media.removeprefix('./')}"
        options = "; ".join(asked["options"] or ())
        answer = formal["output"]["question_answer"]
        table.writerow(
            (stage, row["id"], formal["task"], formal["subtask"], path, asked["text"], options, answer, "", "")
        )
    return held.getvalue().encode()


def types_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Questions of each type, what guessing scores with and without confirmations, and how often those are true."""
    made: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for row in rows:
        truth, there = (row[part]["output"]["question_answer"] for part in ("formal", "pre"))
        made[row["formal"]["subtask"]].append((truth, there))
    return Table(
        title="question types",
        header=(
            "task",
            "type",
            "questions",
            "answers",
            "chance",
            "random, both",
            "constant, both",
            "confirmation: yes",
        ),
        rows=tuple(_type_row(KINDS[name], truths) for name, truths in made.items()),
        note="every question has a confirmation, which counts as a sample too; every answer of a type is true as often "
        "as the others; chance: what any constant answer scores, in percent; both: where the confirmation must be "
        "right too, what an answerer at random scores, and the best constant pair of answers on these questions",
    )


def _type_row(kind: StimulusKind, truths: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    confirmed = [there for _, there in truths]
    share = f"{100 * confirmed.count('yes') / len(truths):.0f} %" if truths else "-"
    constant = f"{100 * Counter(truths).most_common(1)[0][1] / len(truths):.1f}" if truths else "-"
    answers = str(len(kind.answers)) if kind.options else f"0 to {kind.numbers - 1}"
    guessed = (f"{100 * kind.chance:.1f}", f"{100 * kind.chance / len(YES_NO):.1f}", constant)
    return kind.folder, kind.name, str(len(truths)), answers, *guessed, share
