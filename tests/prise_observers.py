"""Ideal observers of `make prise`: the answer to each type of question, from decoded pixels and samples alone.

They prove that the stimuli are well posed. ``python tests/prise_observers.py FOLDER`` prints how often each is right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.cases.layouts.avibench import AviEntry, read_data, task_folder
from auscult.media.sound import read_sound
from auscult.scenes.primitives.base import NOT_SURE, RATE_HZ

FOLDERS = ("ASQA", "VSQA_I", "VSQA_V", "AVSQA")
STEP = RATE_HZ // 50
SILENT = 1e-4
Array = NDArray[Any]


# --- sounds ---


def spans(sound: Array, *, pause_s: float) -> list[tuple[int, int]]:
    """First and last sample of everything that is heard between pauses of a length at least."""
    frames = sound[: len(sound) // STEP * STEP].reshape(-1, STEP)
    loud = np.flatnonzero(np.sqrt((frames**2).mean(axis=1)) > SILENT)
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > pause_s * RATE_HZ / STEP)
    starts, ends = [loud[0], *loud[breaks + 1]], [*loud[breaks], loud[-1]]
    return [(int(start) * STEP, (int(end) + 1) * STEP) for start, end in zip(starts, ends, strict=True)]


def parts(sound: Array) -> list[Array]:
    return [sound[start:end] for start, end in spans(sound, pause_s=0.25)]


def floor_db(part: Array) -> float:
    """How much of the power lies between the partials of a tone."""
    power = np.abs(np.fft.rfft(part * np.hanning(len(part)))) ** 2
    return float(10 * np.log10(np.median(power[: len(power) // 2]) / power.sum()))


def compared(difference: float, least: float) -> str:
    return "the same" if abs(difference) < least else "first" if difference > 0 else "second"


def clarity(sound: Array) -> str:
    both = parts(sound)
    return compared(floor_db(both[1]) - floor_db(both[0]), 10) if both else NOT_SURE


def volume(sound: Array) -> str:
    both = [20 * np.log10(np.sqrt((part**2).mean())) for part in parts(sound)]
    return compared(float(both[0] - both[1]), 4) if both else NOT_SURE


def order(sound: Array) -> str:
    both = [floor_db(part) for part in parts(sound)]
    return NOT_SURE if not both else "tone" if both[0] < both[1] else "noise"


def presence(sound: Array) -> str:
    if not parts(sound):
        return NOT_SURE
    frames = sound[: len(sound) // 4096 * 4096].reshape(-1, 4096) * np.hanning(4096)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    return "yes" if float((power.max(axis=1) / power.sum(axis=1)).max()) > 0.12 else "no"


def beats(sound: Array) -> str:
    return str(len(spans(sound, pause_s=0.06)))


SOUNDS: dict[str, Callable[[Array], str]] = {
    "clarity": clarity, "volume": volume, "order": order, "presence": presence, "beats": beats,
}  # fmt: skip


def answered(folder: Path, entry: AviEntry) -> str:
    """The observer's answer to a question of a folder that `make prise` wrote."""
    home = folder / task_folder("sensation", entry.folder)
    return SOUNDS[entry.subtask](read_sound(home / entry.sounds[0]).samples[0])


def answers(folder: Path) -> Iterator[tuple[AviEntry, str]]:
    """Every question, confirmations left out, with the observer's answer."""
    for name in FOLDERS:
        for entry in read_data(folder / task_folder("sensation", name) / "data.json"):
            if not entry.id.startswith("pre_"):
                yield entry, answered(folder, entry)


def main(folder: Path) -> None:
    right: dict[str, list[bool]] = {}
    for entry, answer in answers(folder):
        right.setdefault(entry.subtask, []).append(answer == entry.answer)
        if answer != entry.answer:
            print(f"{entry.id}: {answer!r}, truth {entry.answer!r}")
    for kind, found in right.items():
        print(f"{kind:16} {sum(found):5} of {len(found):5}  {100 * np.mean(found):.1f} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
