"""A strip of frames: every cell shows its frame, the prediction's tint, the true outline, and words under it."""

from __future__ import annotations

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.report.strip import StripCell, StripRow, evenly, strip
from auscult.types import Frame, Mask

GREY = 120


def frame(shade: int = GREY, size: tuple[int, int] = (60, 90)) -> Frame:
    return np.full((*size, 3), shade, np.uint8)


def box(left: int, top: int, side: int = 24, size: tuple[int, int] = (60, 90)) -> Mask:
    mask = np.zeros(size, np.bool_)
    mask[top : top + side, left : left + side] = True
    return mask


def cell(**parts: object) -> StripCell:
    return StripCell(**{"frame": frame(), "prediction": None, "truth": None, **parts})


def reddish(picture: Frame) -> Mask:
    """Pixels of the tint on grey, apart from the key at the foot."""
    is_reddish = (picture[..., 0].astype(int) - picture[..., 1] > 40) & (picture[..., 2].astype(int) > picture[..., 1])
    is_reddish[-24:] = False
    return is_reddish


def row(name: str, *cells: StripCell) -> StripRow:
    return StripRow(name=name, cells=cells)


@pytest.mark.parametrize("width", [160, 640, 1201])
@pytest.mark.parametrize("count", [1, 2, 6, 40])
def test_the_picture_is_as_wide_as_asked_for(width: int, count: int) -> None:
    picture = strip([row(name, *[cell()] * count) for name in ("clean", "low")], width_px=width)
    assert picture.dtype == np.uint8
    assert picture.shape[1:] == (width, 3)
    assert (picture[:, :4] == 255).all()
    assert ((picture == GREY).all(axis=2)).mean() > 0.05


def test_more_rows_are_taller_and_frames_are_chosen_evenly() -> None:
    shades = [cell(frame=frame(20 + 10 * number)) for number in range(11)]
    single_row, three_rows = (strip([row("clean", *shades)] * count, width_px=900) for count in (1, 3))
    assert three_rows.shape[0] > 2 * single_row.shape[0]
    shades_shown = [shade for shade in range(20, 130, 10) if ((single_row == shade).all(axis=2)).sum() > 500]
    assert shades_shown == [20, 40, 60, 80, 100, 120]


def test_choosing_frames() -> None:
    assert evenly(0) == ()
    assert evenly(4) == (0, 1, 2, 3)
    assert evenly(101, 3) == (0, 50, 100)
    assert evenly(9, 1) == (4,)
    with pytest.raises(ValueError, match="at most 0"):
        evenly(9, 0)


def test_the_tint_is_the_prediction_and_the_line_is_round_the_truth() -> None:
    scored_strip = strip([row("clean", cell(prediction=box(10, 10), truth=box(50, 20), score=0.0))], width_px=496)
    tinted = reddish(scored_strip)
    assert tinted.sum() == pytest.approx((24 / 90 * 480) ** 2, rel=0.03)
    assert np.nonzero(tinted)[1].max() < 8 + 480 * 35 / 90
    plain = strip([row("clean", cell(prediction=box(10, 10), score=0.0))], width_px=496)
    is_changed = (scored_strip != plain).any(axis=2)
    rows, columns = np.nonzero(is_changed)
    assert {tuple(pixel) for pixel in scored_strip[is_changed]} >= {(255, 255, 255), (12, 12, 12)}
    assert columns.min() == pytest.approx(8 + 480 * 50 / 90, abs=3)
    assert columns.max() == pytest.approx(8 + 480 * 74 / 90, abs=3)
    assert not is_changed[
        rows.min() + 8 : rows.max() - 8, columns.min() + 8 : columns.max() - 8
    ].any()  # a line, no fill


def test_a_tiny_prediction_is_still_seen() -> None:
    mask = np.zeros((600, 900), np.bool_)
    mask[300, 450] = True
    picture = strip([row("clean", *[cell(frame=frame(size=(600, 900)), prediction=mask)] * 6)], width_px=700)
    assert 1 <= reddish(picture).sum() <= 60


def test_words_say_the_score_or_why_there_is_none() -> None:
    def under(**parts: object) -> Frame:
        return strip([row("clean", cell(**parts))], width_px=200)

    none = under()
    assert not np.array_equal(none, under(why="failed"))
    full = box(0, 0, 60)
    assert not np.array_equal(under(prediction=full, score=0.31), under(prediction=full, score=0.87))
    assert not np.array_equal(under(prediction=full, score=0.0), under(prediction=full, score=None))
    unscored, with_reason = under(prediction=full), under(prediction=full, why="empty truth")
    assert not np.array_equal(unscored, with_reason)
    assert not reddish(none).any()


def test_a_missing_frame_keeps_its_place() -> None:
    picture = strip([row("clean", cell(), cell(frame=None, why="lost")), row("low", cell(), cell())], width_px=400)
    assert ((picture == GREY).all(axis=2)).sum() > 2 * ((picture == (238, 238, 234)).all(axis=2)).sum() > 1000


def test_photographs_stand_side_by_side() -> None:
    clip = strip([row(name, cell(), cell()) for name in "abcde"], width_px=800)
    photographs = strip([row(name, cell()) for name in "abcde"], width_px=800)
    assert photographs.shape[0] < clip.shape[0] / 3
    eight_cells = strip([row(name, cell()) for name in "abcdefgh"], width_px=800)
    assert eight_cells.shape[0] > 1.5 * photographs.shape[0]


def test_frames_of_another_shape_keep_theirs() -> None:
    tall = cell(frame=frame(200, (90, 30)), prediction=box(0, 0, 30, (90, 30)))
    picture = strip([row("clean", cell(), tall)], width_px=400)
    cell_pixels = (picture == 200).all(axis=2) | reddish(picture)
    rows, columns = np.nonzero(cell_pixels)
    assert (rows.max() - rows.min() + 1) / (columns.max() - columns.min() + 1) == pytest.approx(3, rel=0.1)


def test_nothing_is_changed() -> None:
    full_cell = cell(prediction=box(1, 1), truth=box(2, 2))
    before = [array.copy() for array in (full_cell.frame, full_cell.prediction, full_cell.truth)]
    strip([row("<script>\x00" * 99, full_cell)], width_px=300)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(before, (full_cell.frame, full_cell.prediction, full_cell.truth), strict=True)
    )


@pytest.mark.parametrize(
    ("rows", "width", "words"),
    [
        ([], 300, "one row or more"),
        ([row("a")], 300, "one row or more"),
        ([row("a", cell()), row("b", cell(), cell())], 300, "same number"),
        ([row("a", cell(prediction=np.zeros((3, 3), np.bool_)))], 300, "as its frame"),
        ([row("a", cell(prediction=np.zeros((60, 90), np.uint8)))], 300, "expected bool"),
        ([row("a", cell(frame=np.zeros((60, 90), np.uint8)))], 300, "expected uint8"),
        ([row("a", cell(frame=np.zeros((0, 90, 3), np.uint8)))], 300, "expected uint8"),
        ([row("a", cell())], 20, "width 20"),
        ([row("a", cell())], 90_000, "width 90000"),
    ],
    ids=["no row", "no cell", "ragged", "small mask", "soft mask", "grey frame", "empty frame", "narrow", "wide"],
)
def test_what_cannot_be_shown_is_refused(rows: list[StripRow], width: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        strip(rows, width_px=width)


def test_rows_are_bounded() -> None:
    with pytest.raises(InputError, match="10000 rows"):
        strip([row("a", cell())] * 10_000)


@pytest.mark.parametrize("count", [1, 3])
def test_a_note_stands_under_the_cells_and_is_cut_where_it_is_long(count: int) -> None:
    def strip_of(note: str) -> Frame:
        rows = [StripRow(name="clean", cells=(cell(),) * count), StripRow(name="low", cells=(cell(),) * count)]
        rows[1] = StripRow(name="low", cells=rows[1].cells, note=note)
        return strip(rows, width_px=640)

    plain, short, long, longer = (strip_of(note) for note in ("", "fog", "the red block " * 60, "the red block " * 600))
    assert plain.shape[0] < short.shape[0] < long.shape[0] == longer.shape[0]
    assert (long != longer).sum() == 0, "both are cut at the same place"
    assert (short < 100).sum() > (plain < 100).sum()
    assert (long[:, -6:] == 255).all(), "it ends before the edge"
