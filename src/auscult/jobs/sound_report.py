"""Pictures and sounds of the worst outputs of an audit, kept in its record, and the summary's numbers of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.jobs.runner import ResultWriter
from auscult.media.frames import encode_jpeg
from auscult.media.paths import safe_name
from auscult.media.sound import SoundReader
from auscult.outcome import Failed, Scored, Signature
from auscult.record.reader import SoundVerdicts, sound_curves
from auscult.record.schema import metric_row
from auscult.report.facts import UNLIKE
from auscult.report.page import ExampleSound
from auscult.report.sounds import SOUND_UNLIKE_SHARE, SOUNDS_SHOWN, ShownSound, worst_sounds
from auscult.report.spectrogram import HeardSounds, bytes_a_sound, page_sound, sound_file, spectrograms
from auscult.types import PERFORMANCE, Doubles, Samples, SoundCurves, SoundItem
from auscult.work.pool import Task, run_tasks

PLAYED: Final = ("mixture", "output")
_SECONDS: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_Sources: TypeAlias = tuple[Path, Path, SoundCurves | None]
"""Mixture, output and the curves drawn over them."""


def _file(kind: str, item_id: str) -> str:
    return f"{kind}/{safe_name(item_id)}"


def draw_worst_sounds(writer: ResultWriter, items: Sequence[SoundItem], *, sounds: SoundVerdicts, workers: int) -> None:
    """Draw the worst outputs that have no picture yet; one that cannot be drawn is left out, its verdict stays."""
    run, worst = writer.run, {verdict.id for verdict, _ in worst_sounds(sounds)[:SOUNDS_SHOWN]}
    missing = [
        item for item in items if item.id in worst and not (run.path / f"{_file('pictures', item.id)}.jpg").exists()
    ]
    curves = sound_curves(run.path, {item.id for item in missing}) if missing else {}
    tasks = [
        Task(item.id, (item.mixture, item.separated, curves.get(item.id)))
        for item in missing
        if item.separated is not None
    ]
    writer.progress.stage("drawing the worst", len(tasks))
    for result in run_tasks(
        partial(partial, _drawn), tasks, workers=min(workers, len(tasks)), timeout_s=60.0, stage="draw"
    ):
        writer.progress.step()
        if isinstance(result.outcome, Failed):
            continue
        jpeg, heard = result.outcome
        for name, data in heard.items():
            run.write_bytes(sound_file(f"{_file('sounds', result.key)}-{name}", data), data, durable=False)
        run.write_bytes(
            f"{_file('pictures', result.key)}.jpg", jpeg, durable=False
        )  # last: it marks the output as drawn


def _drawn(sources: _Sources) -> tuple[bytes, dict[str, bytes]]:
    """A picture and sounds of the loudest part of the output, or of the mixture where the output is silent."""
    with ExitStack() as opened:
        readers = [opened.enter_context(SoundReader(path)) for path in sources[:2]]
        rate_hz = readers[0].rate_hz
        start_s = next((at for one in reversed(readers) if (at := _loudest(one)) is not None), 0.0)
        mixture, output = (_part(reader, start_s, rate_hz=rate_hz) for reader in readers)
    size, curves = len(mixture), sources[2]
    output = np.pad(output, (0, max(0, size - len(output))))[:size]
    faults = {} if curves is None else _faults(curves, start_s, size / rate_hz)
    sounds = HeardSounds(
        mixture=mixture, output=output, target=None, rate_hz=rate_hz, faults=faults, start_s=start_s
    )  # fmt: skip
    most_bytes, played = bytes_a_sound(len(PLAYED) * SOUNDS_SHOWN), zip(PLAYED, (mixture, output), strict=True)
    heard = {name: page_sound(one, rate_hz=rate_hz, most_bytes=most_bytes) for name, one in played}
    return encode_jpeg(spectrograms(sounds), quality=70), heard


def _loudest(reader: SoundReader) -> float | None:
    """Where the loudest stretch begins, found block by block; None where all is silent."""
    step = round(_SECONDS * reader.rate_hz)
    last = max(0, reader.shape[1] - step)
    starts = [*range(0, last, step), last]
    energies = [float(np.square(reader[..., start : start + step], dtype=np.float64).sum()) for start in starts]
    return starts[int(np.argmax(energies))] / reader.rate_hz if max(energies) else None


def _part(reader: SoundReader, start_s: float, *, rate_hz: int) -> Samples:
    start, stop = (round(at * reader.rate_hz) for at in (start_s, start_s + _SECONDS))
    return mono_at(reader[..., start:stop], rate_hz=reader.rate_hz, wanted_hz=rate_hz)


def _faults(curves: SoundCurves, start_s: float, length_s: float) -> dict[str, Doubles]:
    """The curves over a stretch; 0 where they have ended."""
    first, count = int(start_s / curves.hop_s), max(1, round(length_s / curves.hop_s))
    parts = {"missing": curves.missing, "left over": curves.left_over}
    there = {name: np.asarray(values[first : first + count], np.float64) for name, values in parts.items()}
    return {name: np.pad(values, (0, count - len(values))) for name, values in there.items()}


def shown_sounds(folder: Path, sounds: SoundVerdicts) -> dict[str, ShownSound]:
    """The pictures and sounds that a record holds of its worst outputs, by item id."""
    found: dict[str, ShownSound] = {}
    for verdict, _ in worst_sounds(sounds)[:SOUNDS_SHOWN]:
        if jpeg := kept_file(folder / f"{_file('pictures', verdict.id)}.jpg"):
            names = [
                (name, f"{_file('sounds', verdict.id)}-{name}{end}") for name in PLAYED for end in (".flac", ".wav")
            ]
            heard = ((name, file, kept_file(folder / file)) for name, file in names)
            found[verdict.id] = (
                jpeg,
                tuple(ExampleSound(data=data, file=file, label=name) for name, file, data in heard if data),
            )
    return found


def kept_file(path: Path, *, most_bytes: int = _MOST_BYTES) -> bytes | None:
    """A file that the record holds; None where it is gone, a link, or larger than the command writes it."""
    there = path.is_file() and not path.is_symlink() and path.stat().st_size <= most_bytes
    return path.read_bytes() if there else None


def sound_metrics(sounds: SoundVerdicts) -> dict[str, Mapping[str, Any]]:
    """Means of the estimated scores and the share that is out of distribution, of what could be judged.

    Where every novelty is 0 the judge does not measure it, and there is no share.
    """
    judged = [verdict for verdict, _ in sounds if verdict.overall is not None]
    values = {f"sound_{axis}": [getattr(one, axis) for one in judged] for axis in PERFORMANCE if judged}
    if any(one.novelty > 0 for one in judged):
        values[SOUND_UNLIKE_SHARE] = [one.novelty >= UNLIKE for one in judged]
    metric = {SOUND_UNLIKE_SHARE: f"share of novelty >={UNLIKE:g}"}
    judges = ",".join(sorted({one.judge for one in judged}))
    return {
        name: metric_row(
            Scored(fmean(found), Signature.of(metric=metric.get(name, "mean estimate"), judge=judges)), n=len(found)
        )
        for name, found in values.items()
    }
