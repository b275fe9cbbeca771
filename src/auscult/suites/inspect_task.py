"""AVI-Bench as a task of Inspect: ``inspect eval auscult/avi -T data=TREE``; its models and logs, our scores.

Inspect finds this module by the entry point ``inspect_ai``; nothing else imports it. A sample has pictures, sounds,
video, then the whole text, as ``run avi`` sends it. Each reply is read and scored by ``suites.avi.scoring``, and tasks,
stages and levels are those of ``suites.avi.results``, over the samples with a score in Inspect: samples that ended with
an error are in no number.

Source: AVI-Bench, as ``suites.avi``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentAudio, ContentImage, ContentText, ContentVideo
from inspect_ai.scorer import SampleScore, Score, Target, metric, scorer
from inspect_ai.solver import TaskState, generate

from auscult.errors import InputError, UsageError
from auscult.outcome import Failed
from auscult.record.digest import digest_json
from auscult.score.tasks import TASKS
from auscult.suites.avi import AviOptions
from auscult.suites.avi.cases import AviCase, Prepared, cases_of
from auscult.suites.avi.data import is_released, listing_of
from auscult.suites.avi.results import AviResults
from auscult.suites.avi.scoring import ScoreHow, Scorer
from auscult.suites.avi.tables import task_of
from auscult.suites.core.conditions import NOTHING
from auscult.suites.core.grid import grid_of
from auscult.suites.core.numbers import GridView
from auscult.suites.core.runner import ToScore

MODEL: Final = "model"
"""The name of the evaluated model in our numbers."""
_ROW: Final = "row"


@task
def avi(
    data: str,
    *,
    tasks: str = "",
    unparsed: str = "wrong",
    variant: str = "paper",
    reading: str = "table",
    boxes: str = "xyxy share",
    seed: int = 0,
) -> Task:
    """AVI-Bench on a tree in the released layout; options as of ``auscult run avi``."""
    options = AviOptions(
        data=Path(data),
        out=Path(),
        tasks=tuple(name for name in tasks.split(",") if name),
        unparsed=unparsed,
        variant=variant,
        reading=reading,
        boxes=boxes,
        seed=seed,
    )
    how = ScoreHow(variant=variant, boxes={MODEL: boxes})
    cases = _cases(options, how)
    return Task(
        dataset=MemoryDataset([_sample(case) for case in cases.values()], name="avi"),
        solver=generate(),
        scorer=_scorer(options, how, cases=cases),
        name="avi",
    )


def _cases(options: AviOptions, settings: ScoreHow) -> dict[str, AviCase]:
    from auscult.jobs.runner import Silent

    if not Path(options.data).is_dir():
        raise UsageError("there is no such folder", path=options.data, expected="-T data=TREE")
    listing = listing_of(options, Silent())
    case_list = cases_of(
        listing.samples,
        tasks=options.tasks,
        scored={name: settings.identity(one.metric) for name, one in TASKS.items()},
        released=is_released(options, listing),
        step=lambda: None,
    )
    if not case_list.cases:
        raise UsageError(
            "there is no sample to ask about", path=options.data, expected="samples of the tasks asked for"
        )
    return {case.id: case for case in case_list.cases}


def _sample(case: AviCase) -> Sample:
    sample = case.sample
    content: list[Any] = [ContentImage(image=str(path)) for path in sample.images]
    content += [ContentAudio(audio=str(path), format=_format(path, ("wav", "mp3"))) for path in sample.sounds]
    if sample.video is not None:
        content.append(ContentVideo(video=str(sample.video), format=_format(sample.video, ("mp4", "mpeg", "mov"))))
    return Sample(id=case.id, input=[ChatMessageUser(content=[*content, ContentText(text=sample.question)])])


def _format(path: Path, formats: Sequence[str]) -> Any:
    """Inspect's name for the format of a medium."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in formats:
        raise InputError("Inspect sends no such file", path=path, expected=" or ".join(formats))
    return suffix


def _scorer(options: AviOptions, settings: ScoreHow, *, cases: dict[str, AviCase]) -> Any:
    """The scorer of replies, with our numbers as its metric, both without arguments in Inspect's log."""

    @metric
    def tasks_and_levels() -> Any:
        """Tasks, stages and levels with both ends of their intervals, as fractions; gaps in 0..100."""

        def numbers(scores: list[SampleScore]) -> dict[str, float]:
            rows = [sample.score.metadata[_ROW] for sample in scores if sample.score.metadata]
            return _numbers(rows, options, cases=cases)

        return numbers

    @scorer(metrics=[tasks_and_levels()])
    def replies() -> Any:
        """The reading and the score of one reply."""
        score_row = Scorer(settings)

        async def score(state: TaskState, target: Target) -> Score:
            del target
            case = cases[str(state.sample_id)]
            row = {"key": _key(case.id), "model": MODEL, "condition": NOTHING.name, "reply": state.output.completion}
            prepared = Prepared(case=case, condition=NOTHING, seed=options.seed)
            rows = score_row(ToScore(row=row, prepared=prepared))
            if isinstance(rows, Failed):
                raise InputError(rows.error.error)
            answer, value = rows[0]["answer"], rows[0]["value"]
            return Score(
                value=0.0 if value is None else value,
                answer=str(answer.get("value", "")),
                explanation=str(answer["path"]),
                metadata={_ROW: rows[0]},
            )

        return score

    return replies()


def _numbers(rows: list[dict[str, Any]], options: AviOptions, *, cases: dict[str, AviCase]) -> dict[str, float]:
    """Our numbers from the rows of our scorer."""
    avi_task = task_of(options.unparsed, options.variant, options.reading)
    scored = {str(row["id"]) for row in rows}
    grid = grid_of(
        rows,
        task=avi_task,
        valid={_key(name): (MODEL, NOTHING.name, name) for name in cases},
        cases={name: (case.clip, case.split) for name, case in cases.items()},
        models=(MODEL,),
        conditions=(NOTHING,),
        failed=[(MODEL, NOTHING.name, name) for name in cases if name not in scored],
        truths={name: case.truth for name, case in cases.items()},
        about={name: case.about for name, case in cases.items()},
    )
    return dict(_values(AviResults.of(GridView(grid=grid, seed=options.seed), avi_task.rules)))


def _values(results: AviResults) -> list[tuple[str, float]]:
    values: list[tuple[str, float]] = []
    for number in results.numbers:
        if number.model == MODEL and number.value is not None:
            name = f"{number.measure} {number.metric}" if number.measure != "level" else number.metric
            values.append((name, number.value))
            if number.low is not None and number.high is not None:
                values += [(f"{name} low", number.low), (f"{name} high", number.high)]
    return values


def _key(case: str) -> str:
    return digest_json([case])
