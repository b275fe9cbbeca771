"""A record of separated sounds with its INPUT: items, truth, and a part of it as a new INPUT."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import copyfile
from typing import Any, Final, NamedTuple

from auscult.act.export.masks import JsonRow
from auscult.arrays.resampling import mono_at, moved
from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import AuscultError, InputError, OutputError, RecordError
from auscult.jobs.stress_separation import copied_item
from auscult.media.sound import read_sound
from auscult.media.wav import Sound
from auscult.outcome import Undefined
from auscult.record.codec import dump
from auscult.record.manifest import argument
from auscult.record.reader import Run, read_audit
from auscult.record.schema import SOUND_TRUTH
from auscult.report.tables import Table
from auscult.score.sound.perceptual import perceptual
from auscult.score.sound.times import Delay, find_delay
from auscult.types import PERFORMANCE, SoundItem

FOLDERS: Final = ("mixtures", "separated", "stems", "pictures")
"""The folders into which ``input_of`` puts files, beside an ``items.jsonl``."""


class Chosen(NamedTuple):
    """The choice of a verb of `act` in a record: as JSON, as tables, and its folder."""

    said: Mapping[str, Any]
    tables: Sequence[Table]
    out: Path


@dataclass(frozen=True, kw_only=True)
class SoundRecord:
    """A record that holds verdicts on separated sounds."""

    run: Run

    @classmethod
    def read(cls, folder: Path) -> SoundRecord:
        """Read a whole record; a RecordError if it has no separated sound."""
        run = read_audit(folder)
        if not run.sounds:
            hint = "`auscult audit` judges lines with 'mixture' and 'separated'"
            raise RecordError("the record holds no separated sound", path=folder, hint=hint)
        return cls(run=run)

    @property
    def rows(self) -> list[JsonRow]:
        """Rows of the verdicts on sounds."""
        return [row for _, row in self.run.sounds]

    @property
    def source(self) -> Path:
        """The INPUT."""
        return Path(str(argument(self.run.manifest, "source")))

    def truths(self, axis: str) -> dict[str, float]:
        """True scores on an axis, by id, from the audit; empty if INPUT had no truth."""
        scores = ((row.get("id"), row.get(axis)) for row in self.run.lines(SOUND_TRUTH))
        return {str(name): float(score) for name, score in scores if isinstance(score, int | float)}

    @cached_property
    def items(self) -> dict[str, SoundItem]:
        """The current items of the INPUT by id; a RecordError if judged ones are missing."""
        root, hint = argument(self.run.manifest, "root"), "put it back, or judge again into another --out"
        try:
            listed = read_sounds(self.source, root=Path(root) if root else None).items
        except AuscultError as error:
            message = f"the INPUT of the record cannot be read: {error.message}"
            raise RecordError(message, expected=error.expected, hint=hint, path=self.source) from error
        items = {item.id: item for item in listed}
        for verdict, _ in self.run.sounds:
            if verdict.id not in items or items[verdict.id].separated is None:
                raise RecordError(f"the INPUT no longer has {verdict.id!r}", hint=hint, path=self.source)
        return items


def mixture_and_output(item: SoundItem) -> tuple[Sound, Sound]:
    """A mixture and its output as (1, samples) each, at the mixture's rate and the shorter length."""
    if item.separated is None:
        raise InputError("nothing was separated", expected="'separated'", path=item.source, line=item.line)
    mixture, output = (read_sound(path, cut=False) for path in (item.mixture, item.separated))
    sounds = [mono_at(sound.samples, rate_hz=sound.rate_hz, wanted_hz=mixture.rate_hz) for sound in (mixture, output)]
    size = min(sound.size for sound in sounds)
    whole, own = (Sound(samples=sound[None, :size], rate_hz=mixture.rate_hz) for sound in sounds)
    return whole, own


def true_scores(item: SoundItem) -> Mapping[str, float]:
    """The true scores of an output by ``PERFORMANCE``: from INPUT, else from its stems; empty without either.

    If INPUT names no other stem, the rest of the mixture counts as one. A delayed output is aligned.
    """
    if item.truth is None or item.truth.scores or item.truth.stem is None:
        return item.truth.scores if item.truth else {}
    mixture, output = mixture_and_output(item)
    sources = [read_sound(path, cut=False) for path in (item.truth.stem, *item.truth.others.values())]
    stems = [mono_at(sound.samples, rate_hz=sound.rate_hz, wanted_hz=mixture.rate_hz)[None] for sound in sources]
    size = min(samples.shape[1] for samples in (mixture.samples, *stems))
    stems, estimate = [stem[:, :size] for stem in stems], output.samples[:, :size]
    delay = find_delay(estimate, stems[0], rate_hz=mixture.rate_hz)
    estimate = moved(estimate, delay.delay_samples) if isinstance(delay, Delay) and delay.named else estimate
    rest = [] if item.truth.others else [mixture.samples[:, :size] - stems[0]]
    scores = perceptual(estimate, [*stems, *rest], rate_hz=mixture.rate_hz)
    return {} if isinstance(scores, Undefined) else {axis: getattr(scores, axis) for axis in PERFORMANCE}


def input_of(out: Path, items: Iterable[SoundItem], *, source: Path) -> str:
    """Put the files of some items of ``source`` into ``out``; returns the text of its ``items.jsonl``."""
    lines = []
    for item in items:
        copied, copies = copied_item(item, source=source, out=out)
        for name, path in copies.items():
            place(path, out / name)
        lines.append(sound_line(copied, home=out))
    return json_lines(lines)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON, one a line."""
    return "".join(f"{dump(row).decode()}\n" for row in rows)


def place(path: Path, target: Path) -> None:
    """Make a hard link to a file, or a copy if that is not possible."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            os.link(path.resolve(), target)
        except OSError:  # another disk, or another user's file
            copyfile(path, target)
    except OSError as error:
        message = f"the file cannot be written: {error.strerror}"
        raise OutputError(message, path=target, hint="choose another --out") from error
