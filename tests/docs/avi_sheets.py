"""Write the contact sheets of docs/avi-tasks.md: samples of each type, as `auscult make avi` draws them without --data.

`python tests/docs/avi_sheets.py` writes docs/images/avi/; sounds are spectrograms, videos some frames, true boxes
are drawn.
"""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from auscult.cases.avibench import STAGE_OF, AviBoxes
from auscult.media.frames import decode_frame
from auscult.scenes.familiar.base import Drawn, FamiliarKind, World
from auscult.scenes.familiar.kinds import KINDS, draw

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "images" / "avi"
SEED: Final = 0
SHOWN: Final = 3
HIGH: Final = 84
HEARD: Final = 40
NAMES: Final = 128
WIDE: Final = 250
LINE: Final = 14
LINES: Final = 3

Pixels = NDArray[np.uint8]


def sheet(stage: str) -> bytes:
    """A WebP picture with a row for each type of a stage."""
    rows = []
    for kind in (kind_ for kind_ in KINDS.values() if STAGE_OF[kind_.folder] == stage and kind_.source == "scenes"):
        row = np.full((HIGH + HEARD + LINES * LINE + 8, NAMES, 3), 255, np.uint8)
        write(row, kind.folder, (2, HIGH // 2))
        write(row, kind.name.replace("_", " "), (2, HIGH // 2 + LINE))
        cells = [_cell(kind, index) for index in range(SHOWN)]
        rows.append(np.concatenate([row, *cells], axis=1))
    buffer = io.BytesIO()
    Image.fromarray(np.concatenate(rows)).save(buffer, format="WEBP", quality=70, method=6)
    return buffer.getvalue()


def _cell(kind: FamiliarKind, index: int) -> Pixels:
    sample = draw(kind, index, seed=SEED, world=World())
    cell = np.full((HIGH + HEARD + LINES * LINE + 8, WIDE + 6, 3), 255, np.uint8)
    pictures = _pictures_of(sample)
    if pictures:
        across = max(1, WIDE // len(pictures))
        strip = np.concatenate([_fit_picture(frame, across) for frame in pictures], axis=1)
        cell[:HIGH, : strip.shape[1]] = strip
    if sample.sounds:
        across = WIDE // len(sample.sounds)
        spectrograms = [scaled(spectrogram(_mono(sound)), HEARD - 2, across - 1) for sound in sample.sounds]
        for at, picture in enumerate(spectrograms):
            cell[HIGH + 2 : HIGH + HEARD, at * across : at * across + across - 1] = picture
    for line, words in enumerate(textwrap.wrap(_answer_line(sample), 36)[:LINES]):
        write(cell, words, (1, HIGH + HEARD + (line + 1) * LINE))
    return cell


def _pictures_of(sample: Drawn) -> list[Pixels]:
    """Pictures, with true boxes drawn; of frames and of a video three."""
    boxes = sample.truth.boxes if isinstance(sample.truth, AviBoxes) else {}
    if sample.frames is not None:
        frames = list(sample.frames)
        return [frames[index] for index in (0, len(frames) // 2, len(frames) - 1)]
    frames_of_images = [decode_frame(data, path=Path(suffix)) for suffix, data in sample.images]
    if "frame_0" in boxes:
        return [_boxed(frames_of_images[index], {"": boxes[f"frame_{index}"]}) for index in (0, 5, 9)]
    return [_boxed(frame, boxes) for frame in frames_of_images]


def _boxed(frame: Pixels, boxes: Mapping[str, Any]) -> Pixels:
    boxed_frame = frame.copy()
    for box in boxes.values():
        if box is not None:
            cv2.rectangle(boxed_frame, box[:2], (box[0] + box[2], box[1] + box[3]), (255, 0, 0), 3)
    return boxed_frame


def _fit_picture(frame: Pixels, wide: int) -> Pixels:
    """A picture as large as fits, on white."""
    scale = min(HIGH / frame.shape[0], (wide - 2) / frame.shape[1])
    high, across = max(1, int(frame.shape[0] * scale)), max(1, int(frame.shape[1] * scale))
    canvas = np.full((HIGH, wide, 3), 255, np.uint8)
    canvas[:high, :across] = scaled(frame, high, across)
    return canvas


def _mono(sound: Any) -> Any:
    return sound if sound.ndim == 1 else sound.mean(axis=0)


def spectrogram(sound: NDArray[np.float32]) -> Pixels:
    """Loud is dark; 0 to 8 kHz upwards, 80 dB."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, 512)[::256] * np.hanning(512)
    decibels = 20 * np.log10(np.abs(np.fft.rfft(frames, axis=1)).T[::-1] + 1e-3)
    grey = 255 - np.clip((decibels + 45) / 80, 0, 1) * 255
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)


def scaled(frame: Pixels, high: int, wide: int) -> Pixels:
    return np.asarray(cv2.resize(frame, (wide, high), interpolation=cv2.INTER_AREA), np.uint8)


def write(canvas: Any, text: str, place: tuple[int, int]) -> None:
    cv2.putText(canvas, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.36, (40, 40, 40), 1, cv2.LINE_AA)


def _answer_line(sample: Drawn) -> str:
    truth = sample.truth
    question = sample.text.partition(" In this made world")[0].partition("?")[0]
    if isinstance(truth, str):
        return f"{question}? {truth}" if len(question) < 80 else truth
    if isinstance(truth, AviBoxes):
        return f"{question}?" if "frame_0" in truth.boxes else ", ".join(truth.boxes)
    if isinstance(truth, Mapping):
        return ", ".join(f"{name} {count}" for name, count in truth.items())
    return str(truth[0]) if isinstance(truth[0], str) else str(list(truth))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(STAGE_OF[kind.folder] for kind in KINDS.values()):
        (FOLDER / f"{name}.webp").write_bytes(sheet(name))
        print(FOLDER / f"{name}.webp", file=sys.stderr)
