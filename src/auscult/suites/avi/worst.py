"""Samples with their media: the worst answer to each task, and samples on which models differ most.

A picture shows the sample: the pictures, four frames of the video, or the spectrogram of the sound; the first
sound can be heard on the page. Both are bounded, so that a page stays small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.media.frames import encode_jpeg
from auscult.media.wav import encode_wav
from auscult.report.facts import shortened
from auscult.report.page import Example, ExampleSound, Section
from auscult.report.sheet import sheet, short_sound
from auscult.score.tasks import TASKS
from auscult.suites.avi.cases import AviCase, Prepared
from auscult.suites.avi.scoring import SCORE
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.grid import Grid
from auscult.suites.core.requests import highest_of_each
from auscult.suites.core.runner import Finished, SuiteRunner, stored_rows

MOST_TELLING: Final = 8
_MOST_CHARACTERS: Final = 240
_FAR: Final = 0.3  # a smaller difference of scores does not tell models apart
_FOLDER: Final = "figures/samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """The media of a sample on the page."""

    jpeg: bytes
    wav: bytes


def sample_sections(runner: SuiteRunner[AviCase, Prepared], done: Finished) -> list[Section]:
    """The worst sample of each task for the first model; with several, samples whose scores differ most."""
    grid = done.grid
    models = [name for name in grid.task.tested(grid.models) if grid.has_results(name, CLEAN)]
    if not models:
        return []
    cases = {case.id: case for case in runner.cases if not case.confirms}
    parts = [
        ("worst", "Worst answers", f"The lowest score of {models[0]} in each task.", _worst(grid, models[0], cases))
    ]
    if len(models) > 1:
        lead = "Where the scores of the models differ most, one sample a clip."
        parts.append(("telling", "Samples that tell models apart", lead, _telling(grid, models, cases)))
    by_id = {case.id: case for *_, chosen in parts for case in chosen}
    drawings = runner.draw_pictures(_Drawer, by_id, most_workers=1)
    replies = _replies(runner, done, cases=by_id, models=models)
    sections = []
    for name, title, lead, chosen in parts:
        available = [case for case in chosen if case.id in drawings]
        examples = [
            _example(case, drawings[case.id], grid=grid, replies=replies.get(case.id, {})) for case in available
        ]
        if examples:
            sections.append(Section(name=name, title=title, lead=lead, examples=tuple(examples)))
    return sections


def _worst(grid: Grid, model: str, cases: Mapping[str, AviCase]) -> list[AviCase]:
    wrong = {name: -value for name, value in grid.cell(model, CLEAN, SCORE).values.items() if value < 1}
    worst = highest_of_each(cases.values(), wrong, of=lambda case: case.task.name)
    return sorted(worst, key=lambda case: list(TASKS).index(case.task.name))


def _telling(grid: Grid, models: Sequence[str], cases: Mapping[str, AviCase]) -> list[AviCase]:
    columns = [grid.cell(model, CLEAN, SCORE).values for model in models]
    apart = {
        name: max(values) - min(values)
        for name in cases
        if len(values := [column[name] for column in columns if name in column]) > 1
    }
    far = {name: difference for name, difference in apart.items() if difference >= _FAR}
    return highest_of_each(cases.values(), far)[:MOST_TELLING]


def _replies(
    runner: SuiteRunner[AviCase, Prepared], finished: Finished, *, models: Sequence[str], cases: Mapping[str, AviCase]
) -> dict[str, dict[str, str]]:
    """The reply of each model, by sample."""
    keys = {(model, CLEAN, case) for model in models for case in cases}
    replies: dict[str, dict[str, str]] = {}
    for (model, _, case), row in stored_rows(runner.run.path, finished.requests, keys).items():
        replies.setdefault(case, {})[model] = shortened(str(row["reply"]), _MOST_CHARACTERS)
    return replies


def _example(case: AviCase, drawing: _Drawing, *, replies: Mapping[str, str], grid: Grid) -> Example:
    truth = shortened(str(case.about["truth"]), _MOST_CHARACTERS)
    facts = []
    for model, reply in replies.items():
        score = grid.cell(model, CLEAN, SCORE).values.get(case.id)
        facts.append((model, f"{reply or 'nothing'} ({'no score' if score is None else f'{100 * score:.0f} %'})"))
    file = f"{_FOLDER}/{case.digest[:16]}"
    return Example(
        title=f"{case.task.name} {case.sample.subtask}".strip(),
        jpeg=drawing.jpeg,
        text=shortened(case.sample.text, _MOST_CHARACTERS),
        id=case.id,
        facts=(("truth", truth), *facts),
        shows="what the sample shows or, of sounds alone, their spectrogram",
        broad=True,
        file=f"{file}.jpg",
        sounds=(ExampleSound(data=drawing.wav, file=f"{file}.wav"),) if drawing.wav else (),
    )


class _Drawer:
    """Opens media in one process."""

    def __call__(self, case: AviCase) -> _Drawing:
        """The picture and the first sound of a sample."""
        sample = case.sample
        sound = short_sound(sample.sounds[0]) if sample.sounds else None
        return _Drawing(
            jpeg=encode_jpeg(sheet(sample.images, sample.video, sound), quality=80),
            wav=b"" if sound is None else encode_wav(sound.samples, sound.rate_hz),
        )
