"""One perturbation in pictures: severities below one another, frames of a clip side by side, scores under them.

Each cell shows the perturbed frame, the predicted mask as a tint and the true outline as a white line. A photograph has
one frame, so its severities stand side by side instead. Arrays in, an array out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from auscult.errors import TooLarge
from auscult.report.charts.marks import NONE, printed
from auscult.report.drawing import Drawing, DrawnShape, Rect, Text, fitted, text_width, to_picture
from auscult.report.overlay import DARK, LIGHT, compared, overlay
from auscult.types import Frame, Mask

MOST_FRAMES = 6
MAX_ROWS = 24
WIDTHS_PX = (160, 4000)

_GAP, _UNDER, _OVER, _KEY = 6, 18, 18, 24
_KEYS = ("predicted mask", "true outline")
_NOTE, _NOTE_LINES, _NOTE_SIZE = 15, 3, 11.5
_KEY_STEP, _WIDEST = 136, 480
_TALLEST = 3.0
_EMPTY = 228


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StripCell:
    """One frame of one severity."""

    frame: Frame | None  # the perturbed frame, uint8 RGB (H, W, 3); None where there is none
    prediction: Mask | None  # the predicted mask, bool (H, W); None where there is none
    truth: Mask | None = None  # the true mask, bool (H, W); None where the data set has none
    score: float | None = None  # of this frame, 0..1; None where it is Undefined
    why: str = ""  # what is printed instead of the score where the prediction is missing, for example `failed`
    over: str = ""  # printed over its column, for example the model's name; of the first row's cells


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StripRow:
    """One severity."""

    name: str  # `clean`, `low`, `medium`, `high`, `dynamic`
    cells: tuple[StripCell, ...]  # its frames, as many as every other row's
    detail: str = ""  # printed under the name, for example the clip's score
    note: str = ""  # printed under the cells, for example the sentence; what three lines do not hold is cut off


def evenly(count: int, most: int = MOST_FRAMES) -> tuple[int, ...]:
    """Which of ``count`` frames to show: first, last and others evenly between, at most ``most``."""
    if most < 1:
        raise ValueError(f"at most {most} frames: expected 1 or more")
    if count <= most:
        return tuple(range(max(0, count)))
    if most == 1:
        return ((count - 1) // 2,)
    return tuple(round(index * (count - 1) / (most - 1)) for index in range(most))


def strip(rows: Sequence[StripRow], *, width_px: int = 960) -> Frame:
    """Lay out the pictures of one perturbation: uint8 RGB (height, width_px, 3), dark text on white.

    Of longer clips ``evenly`` chosen frames are shown, the same in every row; ``width_px`` is within ``WIDTHS_PX``.
    """
    chosen = _chosen(rows, width_px)
    plan = _photographs(chosen, width_px) if len(chosen[0].cells) == 1 else _clip(chosen, width_px)
    picture = np.array(to_picture(_written(plan)))
    for tile in plan.tiles:
        if tile.cell.frame is not None:
            _paste(picture, _cell_picture(tile.cell, tile.cell.frame, plan.cell_px), (tile.x, tile.y))
    for number, swatch in enumerate(_swatches()):
        _paste(picture, swatch, (8 + number * _KEY_STEP, plan.size[1] - _KEY + 4))
    return picture


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tile:
    """A cell with its top left corner and the words over it."""

    cell: StripCell
    x: int
    y: int
    over: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plan:
    """Where everything is, in pixels: sizes of the picture and of a cell, cells, and names at the left with their y."""

    size: tuple[int, int]
    cell_px: tuple[int, int]
    tiles: tuple[_Tile, ...]
    names: tuple[tuple[StripRow, int], ...]
    notes: tuple[Text, ...] = ()


def _clip(rows: Sequence[StripRow], width_px: int) -> _Plan:
    count = len(rows[0].cells)
    widest = max(text_width(words, size) for row in rows for words, size in ((row.name, 13.0), (row.detail, 11.0)))
    left = 8 + round(min(widest + 2, width_px / 4)) + 8
    cell = _cell_px(rows, (width_px - left - 8 - (count - 1) * _GAP) // count)
    notes = [_lines(row.note, width_px - left - 8) for row in rows]
    step = cell[1] + _UNDER + _NOTE * max(map(len, notes)) + _GAP
    top = 8 + (_OVER if any(content.over for content in rows[0].cells) else 0)
    tiles = [
        _Tile(
            cell=content,
            x=left + column * (cell[0] + _GAP),
            y=top + number * step,
            over="" if number else content.over,
        )
        for number, row in enumerate(rows)
        for column, content in enumerate(row.cells)
    ]
    names = tuple((row, top + number * step + cell[1] // 2) for number, row in enumerate(rows))
    positions = [(left, top + number * step + cell[1] + _UNDER) for number in range(len(rows))]
    return _Plan(
        size=(width_px, top + len(rows) * step + _KEY),
        cell_px=cell,
        tiles=tuple(tiles),
        names=names,
        notes=_note_texts(notes, positions),
    )


def _photographs(rows: Sequence[StripRow], width_px: int) -> _Plan:
    """Severities side by side, in several lines where there are many."""
    count = min(MOST_FRAMES, len(rows))
    cell = _cell_px(rows, (width_px - 16 - (count - 1) * _GAP) // count)
    notes = [_lines(row.note, cell[0]) for row in rows]
    step = _OVER + cell[1] + _UNDER + _NOTE * max(map(len, notes)) + _GAP
    tiles = tuple(
        _Tile(
            cell=row.cells[0],
            x=8 + (number % count) * (cell[0] + _GAP),
            y=4 + _OVER + (number // count) * step,
            over=f"{row.name}  {row.detail}" if row.detail else row.name,
        )
        for number, row in enumerate(rows)
    )
    lines = -(-len(rows) // count)
    under = [(tile.x, tile.y + cell[1] + _UNDER) for tile in tiles]
    return _Plan(
        size=(width_px, 4 + lines * step + _KEY), cell_px=cell, tiles=tiles, names=(), notes=_note_texts(notes, under)
    )


def _lines(words: str, width: float) -> list[str]:
    """Words as lines of a width, at most ``_NOTE_LINES``; the last ends in an ellipsis where there are more."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and (text_width(longer, _NOTE_SIZE) <= width or len(lines) == _NOTE_LINES):
            lines[-1] = longer
        else:
            lines.append(word)
    return [fitted(line, _NOTE_SIZE, width) for line in lines]


def _note_texts(notes: Sequence[Sequence[str]], under: Sequence[tuple[int, int]]) -> tuple[Text, ...]:
    return tuple(
        Text(at=(x, y + 10 + number * _NOTE), words=line, size=_NOTE_SIZE)
        for lines, (x, y) in zip(notes, under, strict=True)
        for number, line in enumerate(lines)
    )


def _cell_px(rows: Sequence[StripRow], width: int) -> tuple[int, int]:
    """Size of a cell: as wide as there is room, in the shape of the first frame."""
    width = max(8, min(width, _WIDEST))
    shapes = [cell.frame.shape for row in rows for cell in row.cells if cell.frame is not None]
    frame_height, frame_width = (shapes[0][0], shapes[0][1]) if shapes else (3, 4)
    return width, max(8, round(width * min(frame_height / frame_width, _TALLEST)))


def _written(plan: _Plan) -> Drawing:
    """All words of the strip, and a ground where a frame is missing."""
    width, height = plan.cell_px
    parts: list[DrawnShape] = []
    for tile in plan.tiles:
        parts.append(Rect(x=tile.x, y=tile.y, width_px=width, height_px=height, fill="faint"))
        parts.append(_centred(_words(tile.cell), (tile.x, tile.y + height + 13), width))
        if tile.over:
            parts.append(_centred(tile.over, (tile.x, tile.y - 5), width))
    left = plan.tiles[0].x
    for row, y in plan.names:
        parts.append(Text(at=(8, y + 2), words=fitted(row.name, 13, left - 14, ends=True), size=13, title=row.name))
        parts.append(Text(at=(8, y + 17), words=fitted(row.detail, 11, left - 14), size=11, colour="quiet"))
    parts += plan.notes
    foot = plan.size[1] - 9
    for number, words in enumerate(_KEYS):
        room = plan.size[0] - 8 - (28 + number * _KEY_STEP)
        if room > 40:
            position = (28 + number * _KEY_STEP, foot)
            parts.append(Text(at=position, words=fitted(words, 11, min(room, _KEY_STEP - 24)), size=11, colour="quiet"))
    return Drawing(size=plan.size, parts=tuple(parts), title="strip")


def _centred(words: str, corner: tuple[float, float], width: float) -> Text:
    x, y = corner
    return Text(at=(x + width / 2, y), words=fitted(words, 11.5, width), size=11.5, anchor="middle")


def _words(cell: StripCell) -> str:
    """What stands under a cell: its score, else why there is none."""
    if cell.frame is None:
        return cell.why or "no frame"
    if cell.prediction is None:
        return cell.why or "no prediction"
    return cell.why or NONE if cell.score is None else printed(cell.score)


def _cell_picture(cell: StripCell, frame: Frame, cell_px: tuple[int, int]) -> Frame:
    """The frame with tint and outline, within a cell; a frame of another shape keeps its own."""
    scale = min(cell_px[0] / frame.shape[1], cell_px[1] / frame.shape[0])
    size = max(1, round(frame.shape[1] * scale)), max(1, round(frame.shape[0] * scale))
    canvas = compared(frame, cell.prediction, cell.truth, size=size)
    tile = np.full((cell_px[1], cell_px[0], 3), _EMPTY, np.uint8)
    _paste(tile, canvas, ((cell_px[0] - size[0]) // 2, (cell_px[1] - size[1]) // 2))
    return tile


def _swatches() -> tuple[Frame, Frame]:
    """The key: a piece of tint and a piece of outline on grey."""
    grey: Frame = np.full((12, 14, 3), 150, np.uint8)
    line = grey.copy()
    line[4:9], line[6] = DARK, LIGHT
    return overlay(grey, np.ones((12, 14), np.bool_), outline=False), line


def _paste(picture: Frame, part: Frame, corner: tuple[int, int]) -> None:
    """Paste a part; what reaches beyond the picture is left out."""
    x, y = corner
    room = part[: max(0, picture.shape[0] - y), : max(0, picture.shape[1] - x)]
    picture[y : y + room.shape[0], x : x + room.shape[1]] = room


def _chosen(rows: Sequence[StripRow], width_px: int) -> list[StripRow]:
    """The rows with the frames that are shown; photographs turned to one row."""
    if not rows or not rows[0].cells or len({len(row.cells) for row in rows}) != 1:
        raise ValueError("a strip has one row or more, each with the same number of frames, one or more")
    if len(rows) > MAX_ROWS:
        raise TooLarge(f"a strip of {len(rows)} rows", expected=f"at most {MAX_ROWS}", hint="show fewer severities")
    if not WIDTHS_PX[0] <= width_px <= WIDTHS_PX[1]:
        raise ValueError(f"width {width_px}: expected {WIDTHS_PX[0]} to {WIDTHS_PX[1]} pixels")
    for cell in (cell for row in rows for cell in row.cells):
        _check(cell)
    picked = evenly(len(rows[0].cells))
    return [replace(row, cells=tuple(row.cells[index] for index in picked)) for row in rows]


def _check(cell: StripCell) -> None:
    if cell.frame is None:
        return
    size = cell.frame.shape[:2]
    if cell.frame.ndim != 3 or cell.frame.shape[2] != 3 or 0 in size or cell.frame.dtype != np.uint8:
        raise ValueError(f"frame {cell.frame.shape} {cell.frame.dtype}: expected uint8 (H, W, 3)")
    for mask in (cell.prediction, cell.truth):
        if mask is not None and (mask.shape != size or mask.dtype != np.bool_):
            raise ValueError(f"mask {mask.shape} {mask.dtype}: expected bool {size}, as its frame")
