"""Pictures and sounds of the worst outputs of an audit, kept in its record, and the summary's numbers of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.jobs.runner import ResultWriter
from auscult.media.paths import safe_name
from auscult.media.sound import SoundReader
from auscult.outcome import Failed, Scored, Signature
from auscult.record.reader import SoundVerdicts, kept_file, sound_curves
from auscult.record.schema import metric_row
from auscult.report.facts import UNLIKE
from auscult.report.page import ExampleSound
from auscult.report.sounds import SOUND_UNLIKE_SHARE, SOUNDS_SHOWN, ShownSound, worst_sounds
from auscult.report.spectrogram import HeardSounds, bytes_a_sound, page_media, sound_file
from auscult.types import PERFORMANCE, Doubles, Samples, SoundCurves, SoundItem
from auscult.work.pool import Task, run_tasks

PLAYED: Final = ("mixture", "output")
_SECONDS: Final = 10.0
_Sources: TypeAlias = tuple[Path, Path, SoundCurves | None]
"""Mixture, output and the curves drawn over them."""


def _picture(item_id: str) -> str:
    return f"pictures/{safe_name(item_id)}.jpg"


def _sound(item_id: str, name: str) -> str:
    return f"sounds/{safe_name(item_id)}-{name}"


def draw_worst_sounds(writer: ResultWriter, items: Sequence[SoundItem], *, sounds: SoundVerdicts, workers: int) -> None:
    """Draw the worst outputs without a picture; one that cannot be drawn is left out."""
    run, worst = writer.run, {verdict.id for verdict, _ in worst_sounds(sounds)[:SOUNDS_SHOWN]}
    missing = {item.id: item for item in items if item.id in worst and not (run.path / _picture(item.id)).exists()}
    curves = sound_curves(run.path, missing) if missing else {}
    tasks = [
        Task(name, (item.mixture, item.separated, curves.get(name))) for name, item in missing.items() if item.separated
    ]
    writer.progress.stage("drawing the worst", len(tasks))
    make = partial(partial, _drawn)
    for result in run_tasks(make, tasks, workers=min(workers, len(tasks)), timeout_s=60.0, stage="draw"):
        writer.progress.step()
        if isinstance(result.outcome, Failed):
            continue
        for name, data in result.outcome[1].items():
            run.write_bytes(sound_file(_sound(result.key, name), data), data, durable=False)
        run.write_bytes(_picture(result.key), result.outcome[0], durable=False)  # last: it marks the output as drawn


def _drawn(sources: _Sources) -> tuple[bytes, dict[str, bytes]]:
    """A picture and sounds of the loudest part of the output, or of the mixture if the output is silent."""
    with ExitStack() as opened:
        readers = [opened.enter_context(SoundReader(path)) for path in sources[:2]]
        rate_hz = readers[0].rate_hz
        start_s = next((loudest_s for reader in reversed(readers) if (loudest_s := _loudest(reader)) is not None), 0.0)
        mixture, output = (_part(reader, start_s, rate_hz=rate_hz) for reader in readers)
    output = np.pad(output, (0, max(0, len(mixture) - len(output))))[: len(mixture)]
    faults = {} if sources[2] is None else _faults(sources[2], start_s, len(mixture) / rate_hz)
    sounds = HeardSounds(
        output=output, mixture=mixture, target=None, rate_hz=rate_hz, faults=faults, start_s=start_s
    )  # fmt: skip
    return page_media(sounds, most_bytes=bytes_a_sound(len(PLAYED) * SOUNDS_SHOWN))


def _loudest(reader: SoundReader) -> float | None:
    """The start of the loudest part, found block by block; None if all is silent."""
    step = round(_SECONDS * reader.rate_hz)
    last = max(0, reader.shape[1] - step)
    starts = [*range(0, last, step), last]
    energies = [float(np.square(reader[..., start : start + step], dtype=np.float64).sum()) for start in starts]
    return starts[int(np.argmax(energies))] / reader.rate_hz if max(energies) else None


def _part(reader: SoundReader, start_s: float, *, rate_hz: int) -> Samples:
    start, stop = (round(time_s * reader.rate_hz) for time_s in (start_s, start_s + _SECONDS))
    return mono_at(reader[..., start:stop], rate_hz=reader.rate_hz, wanted_hz=rate_hz)


def _faults(curves: SoundCurves, start_s: float, length_s: float) -> dict[str, Doubles]:
    """The curves over a part; 0 after their end."""
    first, count = int(start_s / curves.hop_s), max(1, round(length_s / curves.hop_s))
    parts = {"missing": curves.missing, "left over": curves.left_over}
    stretch = {name: np.asarray(values[first : first + count], np.float64) for name, values in parts.items()}
    return {name: np.pad(values, (0, count - len(values))) for name, values in stretch.items()}


def shown_sounds(folder: Path, sounds: SoundVerdicts) -> dict[str, ShownSound]:
    """The pictures and sounds that a record holds of its worst outputs, by item id."""
    by_id: dict[str, ShownSound] = {}
    for verdict, _ in worst_sounds(sounds)[:SOUNDS_SHOWN]:
        jpeg, names = kept_file(folder / _picture(verdict.id)), product(PLAYED, ("flac", "wav"))
        files = ((name, f"{_sound(verdict.id, name)}.{end}") for name, end in names)
        played = [(name, file, data) for name, file in files if (data := kept_file(folder / file))]
        if jpeg:
            by_id[verdict.id] = (
                jpeg,
                tuple(ExampleSound(data=data, file=file, label=name) for name, file, data in played),
            )
    return by_id


def sound_metrics(sounds: SoundVerdicts) -> dict[str, Mapping[str, Any]]:
    """Means of the estimated scores and the share that is out of distribution, of what could be judged.

    If every novelty is 0, the judge does not measure it, and there is no share.
    """
    judged = [verdict for verdict, _ in sounds if verdict.overall is not None]
    values = {f"sound_{axis}": [getattr(verdict, axis) for verdict in judged] for axis in PERFORMANCE if judged}
    if any(verdict.novelty > 0 for verdict in judged):
        values[SOUND_UNLIKE_SHARE] = [verdict.novelty >= UNLIKE for verdict in judged]
    signed = {"metric": "mean over judged sounds", "judge": ",".join(sorted({verdict.judge for verdict in judged}))}
    return {
        name: metric_row(Scored(fmean(numbers), Signature.of(of=name, **signed)), n=len(numbers))
        for name, numbers in values.items()
    }
