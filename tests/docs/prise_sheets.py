"""Write the contact sheets and the table of docs/prise.md: questions of each type, as `auscult make prise` draws them.

`python tests/docs/prise_sheets.py` writes docs/images/prise/; sounds are spectrograms, of videos some frames are shown.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from auscult.scenes.primitives.base import NOT_SURE, Stimulus, StimulusKind
from auscult.scenes.primitives.kinds import KINDS, stimulus, true_answer

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
FOLDER: Final = DOCS / "images" / "prise"
PAGE: Final = DOCS / "prise.md"
BEGIN, END = "<!-- types -->", "<!-- /types -->"
SEED: Final = 0
SHOWN: Final = 6
CELL: Final = 96
LABEL: Final = 16
GAP: Final = 6
NAMES: Final = 110

Pixels = NDArray[np.uint8]


def table() -> str:
    """The types as Markdown, with the shares of the default run."""
    rows = ["| task | type | question | answers | questions | chance | yes |", "|---|---|---|---|---|---|---|"]
    for kind in KINDS.values():
        true = [true_answer(kind, index, seed=SEED) for index in range(kind.count)]
        present_share = sum(answer not in {NOT_SURE, "0"} for answer in true) / len(true)
        answers = ", ".join(kind.options) if kind.options else f"0 to {kind.numbers - 1}"
        numbers = f"{kind.count} | {100 * kind.chance:.1f} % | {100 * present_share:.0f} %"
        rows.append(f"| {kind.folder} | {kind.name} | {kind.text} | {answers} | {numbers} |")
    return "\n".join(rows)


def with_table(page: str) -> str:
    """The page with the table between its marks."""
    head, _, tail = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail.partition(END)[2]}"


def sheet(folder: str) -> bytes:
    """A WebP picture with a row for each type of a folder."""
    kinds = [kind for kind in KINDS.values() if kind.folder == folder]
    height, rows = CELL + LABEL + GAP, []
    for kind in kinds:
        row = np.full((height, NAMES, 3), 255, np.uint8)
        _write(row, kind.name, (2, CELL // 2))
        cells = [_labelled(kind, index) for index in range(SHOWN)]
        rows.append(np.concatenate([row, *cells], axis=1))
    buffer = io.BytesIO()
    Image.fromarray(np.concatenate(rows)).save(buffer, format="WEBP", quality=70, method=6)
    return buffer.getvalue()


def _labelled(kind: StimulusKind, index: int) -> Pixels:
    panel = _panel(stimulus(kind, index, seed=SEED))
    cell = np.full((CELL + LABEL + GAP, panel.shape[1] + GAP, 3), 255, np.uint8)
    cell[:CELL, : panel.shape[1]] = panel
    cv2.rectangle(cell, (0, 0), (panel.shape[1] - 1, CELL - 1), (200, 200, 200))
    _write(cell, true_answer(kind, index, seed=SEED), (1, CELL + LABEL - 4))
    return cell


def _panel(sample: Stimulus) -> Pixels:
    """What is seen, and below it what is heard."""
    panels = []
    if sample.picture is not None:
        panels.append(_scaled(sample.picture, CELL, CELL))
    if sample.video is not None:
        side, count = (CELL, 3) if sample.sound is None else (CELL * 2 // 3, 4)
        frames = [sample.video[index] for index in np.linspace(1, len(sample.video) - 2, count).astype(int)]
        panels.append(np.concatenate([_scaled(frame, side, side) for frame in frames], axis=1))
    if sample.sound is not None:
        width = panels[0].shape[1] if panels else CELL * 3 // 2
        panels.append(_scaled(_spectrogram(sample.sound), CELL - sum(len(panel) for panel in panels), width))
    return np.concatenate(panels)


def _spectrogram(sound: NDArray[np.float32]) -> Pixels:
    """Loud is dark; 0 to 8 kHz upwards, 80 dB."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, 512)[::256] * np.hanning(512)
    decibels = 20 * np.log10(np.abs(np.fft.rfft(frames, axis=1)).T[::-1] + 1e-3)
    grey = 255 - np.clip((decibels + 45) / 80, 0, 1) * 255
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)


def _scaled(frame: Pixels, height: int, width: int) -> Pixels:
    return np.asarray(cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def _write(canvas: Any, text: str, place: tuple[int, int]) -> None:
    cv2.putText(canvas, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.38, (40, 40, 40), 1, cv2.LINE_AA)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(kind.folder for kind in KINDS.values()):
        (FOLDER / f"{name}.webp").write_bytes(sheet(name))
        print(FOLDER / f"{name}.webp", file=sys.stderr)
