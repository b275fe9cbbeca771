"""The worst outputs on the page: mixture, target and output to play, and their spectrograms.

All sounds of a page together have about 5 MB: with fewer outputs their quality is higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.jobs.predict import MediaReader
from auscult.media.paths import inside
from auscult.media.sound import read_sound
from auscult.report.facts import number, shortened
from auscult.report.page import Example, ExampleSound, Section
from auscult.report.spectrogram import HeardSounds, bytes_a_sound, loudest_part, page_media, sound_file
from auscult.score.sound.perceptual import Perceptual, perceptual
from auscult.suites.core.conditions import CLEAN, NOTHING
from auscult.suites.core.grid import Grid
from auscult.suites.core.requests import highest_of_each
from auscult.suites.core.runner import Finished, SuiteRunner, stored_rows
from auscult.suites.separation.cases import CaseSounds, Prepared, SeparationCase
from auscult.suites.separation.results import PUBLISHED, named, value_text
from auscult.suites.separation.scoring import IMPROVEMENT, SCALES, SI_SDR
from auscult.types import Samples

MOST: Final = 100
"""Most outputs on a page."""
_SECONDS: Final = 6.0
_FOLDER: Final = "figures/outputs"
_MOST_CHARACTERS: Final = 240
_CURVES: Final = {"target": "target", "recovered": "recovered", "left_over": "left over", "unexplained": "unexplained"}
_LEAD: Final = (
    "The lowest overall scores of {}, one of a mixture or recording. Blue: the target is there and missing from the "
    "output; yellow: what is left over. Below, loudness over time. Sounds are the {:g} s with most of the target, "
    "shortened and coarser where there are many."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    """An output to show."""

    case: SeparationCase
    model: str
    path: Path
    file: str  # its files in the record, without suffix
    most_bytes: int  # for each of its sounds


_Drawing: TypeAlias = tuple[bytes, Mapping[str, bytes]]
"""The picture and the sounds by name."""


def worst_sections(runner: SuiteRunner[SeparationCase, Prepared], done: Finished) -> list[Section]:
    """The worst outputs of every model except baselines, a section for each."""
    grid = done.grid
    models = [name for name in grid.task.tested(grid.models) if grid.has_results(name, CLEAN)][:MOST]
    chosen = {model: _worst(grid, model, runner.cases, count=MOST // len(models)) for model in models}
    outputs = list(_outputs(runner, done, chosen))
    drawings = runner.draw_pictures(_Drawer, {output.file: output for output in outputs})
    sections: list[Section] = []
    for place, model in enumerate(models, start=1):
        of_model = [output for output in outputs if output.model == model and output.file in drawings]
        if of_model:
            examples = tuple(_example(output, drawings[output.file], grid) for output in of_model)
            title, lead = f"Worst outputs of {named(model)}", _LEAD.format(named(model), _SECONDS)
            sections.append(Section(name=f"worst-{place}", title=title, lead=lead, examples=examples))
    return sections


def _worst(grid: Grid, model: str, cases: Sequence[SeparationCase], *, count: int) -> list[SeparationCase]:
    """One case of each cluster, the worst first, those without score last."""
    values = grid.cell(model, CLEAN, SCALES[0]).values
    return highest_of_each(cases, {case.id: -values.get(case.id, 6.0) for case in cases})[:count]


def _outputs(
    runner: SuiteRunner[SeparationCase, Prepared], finished: Finished, selection: Mapping[str, Sequence[SeparationCase]]
) -> Iterator[_Output]:
    requests = {(model, CLEAN, case.id): case for model, cases in selection.items() for case in cases}
    rows = stored_rows(runner.run.path, finished.requests, requests)
    most_bytes = bytes_a_sound(3 * len(rows))
    for request, case in requests.items():
        if (row := rows.get(request)) is not None:
            yield _Output(
                case=case, model=request[0], path=inside(runner.run.path, str(row["reply"])),
                file=f"{_FOLDER}/{str(row['key'])[:16]}", most_bytes=most_bytes,
            )  # fmt: skip


def _example(output: _Output, drawing: _Drawing, grid: Grid) -> Example:
    item = output.case.item
    scores = {
        name: grid.cell(output.model, CLEAN, name).values.get(output.case.id) for name in (*SCALES, SI_SDR, IMPROVEMENT)
    }
    texts = [f"{name} {value_text(name, value)}" for name, value in scores.items() if value is not None]
    system = " ".join(dict.fromkeys((item.family, item.system))) if output.model.startswith(PUBLISHED) else ""
    about = {"system": system.strip(), "domain": item.domain, "prompt": output.case.prompt}
    return Example(
        title=f"overall {number(scores[SCALES[0]])}",
        jpeg=drawing[0],
        text=shortened(item.query.text or "", _MOST_CHARACTERS),
        id=output.case.id,
        facts=(("scores", ", ".join(texts) or "none: no stem"), *((key, text) for key, text in about.items() if text)),
        shows="spectrograms of mixture, target and output, and loudness over time",
        broad=True,
        file=f"{output.file}.jpg",
        sounds=tuple(
            ExampleSound(data=data, file=sound_file(f"{output.file}-{name}", data), label=name)
            for name, data in drawing[1].items()
        ),
    )


class _Drawer:
    """Opens sounds in one process."""

    def __init__(self) -> None:
        self._reader = MediaReader()

    def __call__(self, output: _Output) -> _Drawing:
        """The picture and the sounds of an output."""
        sounds: CaseSounds = Prepared(output.case, NOTHING).ask(self._reader)
        samples = read_sound(output.path).samples[0]
        target = sounds.stems[0] if sounds.stems else None
        mixture = sounds.mixture if sounds.mixture.ndim == 1 else sounds.mixture.mean(axis=0)
        part = loudest_part(mixture if target is None else target, rate_hz=sounds.rate_hz, seconds=_SECONDS)
        heard = HeardSounds(
            output=samples[part],
            mixture=mixture[part],
            target=None if target is None else target[part],
            rate_hz=sounds.rate_hz,
            curves=_curves(samples, sounds, part),
        )
        return page_media(heard, most_bytes=output.most_bytes)


def _curves(output: Samples, sounds: CaseSounds, part: slice) -> dict[str, Any]:
    found = perceptual(output, sounds.stems, rate_hz=sounds.rate_hz) if sounds.stems else None
    if not isinstance(found, Perceptual):
        return {}
    first, last = (round(at / sounds.rate_hz / found.hop_s) for at in (part.start, part.stop))
    return {name: getattr(found, key)[first:last] for key, name in _CURVES.items()}
