from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.act.export.coco import coco
from auscult.act.export.masks import ExportedMask
from auscult.act.export.verdicts import COLUMNS, OPTIONAL_COLUMNS, verdicts_csv
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import InputError
from auscult.media.frames import write_frame
from auscult.media.masks import read_mask
from auscult.record.cells import disarmed

# Format characters (Cf), bidirectional controls among them, and signs behind a semicolon do not come back as they were.
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cf"], exclude_characters=";\t\n\r\v\f\x85\u2028\u2029"), max_size=20
) | st.sampled_from(
    ["=1+1", "\uff1d1", "  @x", "+x", "-x", "@x", "'x", "''", "\tx", "\rx", "a,b", 'say "hi"', "two\nlines", "a\r\nb"]
)
NUMBER = st.none() | st.floats(0, 1)
ROW = st.fixed_dictionaries(
    {name: NUMBER if name in {"iou", "iou_low", "iou_high", "novelty"} else st.none() | TEXT for name in COLUMNS}
)


def read_back(text: str) -> list[dict[str, Any]]:
    """Texts as they were, numbers as float, empty cells as None."""
    numbers = {"iou", "iou_low", "iou_high", "novelty", *OPTIONAL_COLUMNS}
    return [
        {
            key: (float(cell) if key in numbers else cell.removeprefix("'")) if cell else None
            for key, cell in row.items()
        }
        for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)
    ]


@settings(deadline=None, max_examples=60)
@given(st.lists(ROW, max_size=5))
def test_csv_comes_back_as_it_was(rows: list[dict[str, Any]]) -> None:
    nulled_rows = [{key: None if value == "" else value for key, value in row.items()} for row in rows]
    assert read_back(verdicts_csv(rows)) == nulled_rows


@settings(deadline=None, max_examples=60)
@given(st.lists(ROW, max_size=5))
def test_no_cell_begins_like_a_formula(rows: list[dict[str, Any]]) -> None:
    for cells in csv.reader(io.StringIO(verdicts_csv(rows), newline="")):
        assert not any(cell.lstrip(" \t\r").startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20")) for cell in cells)


def test_what_another_spreadsheet_would_run_or_turn_around_is_harmless() -> None:
    texts = ["a;=cmd()", "a; \uff0b1", "a\n=1", "\u200b@x", "safe\u202egnp.exe"]
    cells = read_back(verdicts_csv({"id": text} for text in texts))
    assert [cell["id"] for cell in cells] == ["a;'=cmd()", "a;' \uff0b1", "a\n'=1", "\u200b@x", "safe\\u202egnp.exe"]
    assert disarmed("\u200b@x") == "'\u200b@x"
    assert disarmed("\n" * 200_000) == "'" + "\n" * 200_000, "in time that grows with the length alone"


def test_columns_and_plain_values() -> None:
    text = verdicts_csv([{"id": "v1/f3", "action": "accept", "iou": 0.5, "clip": "left out", "novelty": 1}])
    assert text == f"{','.join(COLUMNS)}\r\nv1/f3,accept,,0.5,,,1.0,,,,,,\r\n"


def test_amounts_follow_where_a_row_has_them_and_the_error_map_never_does() -> None:
    rows = [{"id": "a", "missing_share": 0.14, "error_map": {"levels": "x"}}, {"id": "b"}]
    text = verdicts_csv(rows)
    assert text.splitlines()[0] == ",".join((*COLUMNS, "missing_share"))
    assert "levels" not in text
    first, second = read_back(text)
    assert (first["missing_share"], second["missing_share"]) == (0.14, None)
    with_amounts = verdicts_csv([{"id": "a", "missing_share": 0.0, "extra_share": 0.5}])
    assert read_back(with_amounts)[0]["extra_share"] == 0.5


SIZE = (20, 30)


def mask(left_px: int, *, width: int = 6) -> np.ndarray:
    mask_ = np.zeros(SIZE, dtype=bool)
    mask_[3:12, left_px : left_px + width] = True
    mask_[5:7, left_px + 1 : left_px + 3] = False
    return mask_


def verdict(name: str, iou: float | None = 0.84) -> dict[str, Any]:
    return {
        "id": name, "iou": iou, "defect": "erode", "action": "minor_revision", "rationale": "Thin at the left.",
        "text": "the dog", "seconds": 0.1,
    }  # fmt: skip


@pytest.fixture
def masks_and_file(tmp_path: Path) -> tuple[list[np.ndarray], Path]:
    masks = [mask(2), mask(9), np.zeros(SIZE, dtype=bool), mask(20)]
    rows = [verdict("a#1"), verdict("a#2", 0.5), verdict("a#3", None), verdict("v/b", 1.0)]
    frames = ["a.jpg", "a.jpg", "a.jpg", "v/b.jpg"]
    for name in set(frames):
        write_frame(tmp_path / "images" / name, np.zeros((*SIZE, 3), np.uint8))
    content = coco(map(ExportedMask, rows, masks, frames))
    path = tmp_path / "accepted.json"
    path.write_text(json.dumps(content))
    return masks, path


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_pycocotools_reads_the_same_masks(masks_and_file: tuple[list[np.ndarray], Path]) -> None:
    from pycocotools.coco import COCO

    masks, path = masks_and_file
    with contextlib.redirect_stdout(io.StringIO()):
        loaded = COCO(str(path))
    assert len(loaded.getImgIds()) == 2
    annotations = loaded.loadAnns(loaded.getAnnIds())
    for given_, annotation in zip(masks, annotations, strict=True):
        assert np.array_equal(loaded.annToMask(annotation).astype(bool), given_)
        assert annotation["area"] == given_.sum()
    assert annotations[0]["bbox"] == [2, 3, 6, 9]
    assert annotations[2]["bbox"] == [0, 0, 0, 0]
    audit_notes = [annotation["auscult"] for annotation in annotations]
    assert [note.get("iou") for note in audit_notes] == [0.84, 0.5, None, 1.0]
    assert {note["defect"] for note in audit_notes} == {"erode"}
    assert not any("score" in annotation for annotation in annotations), "the estimate is no score of the model's"


def test_our_own_listing_reads_the_same_masks(masks_and_file: tuple[list[np.ndarray], Path]) -> None:
    masks, path = masks_and_file
    listing = list_items(path, ListOptions(images=path.parent / "images"))
    assert not listing.errors
    assert [item.id for item in listing.items] == ["a/1", "a/2", "a/3", "b/4"]
    for given_, item in zip(masks, listing.items, strict=True):
        assert np.array_equal(read_mask(item.mask, size=SIZE).mask, given_)
    first = listing.items[0]
    assert first.query.text == "the dog"
    audit_note = first.extra["coco"]["auscult"]
    assert (audit_note["item"], audit_note["iou"], audit_note["action"]) == ("a#1", 0.84, "minor_revision")
    assert audit_note["rationale"] == "Thin at the left."


def test_masks_of_two_sizes_on_one_frame_are_refused() -> None:
    wide = np.zeros((20, 31), dtype=bool)
    with pytest.raises(InputError, match="20 x 31"):
        coco([ExportedMask(verdict("a"), mask(2), "a.jpg"), ExportedMask(verdict("b"), wide, "a.jpg")])


def test_nothing_to_hand_over_is_still_coco() -> None:
    assert coco([])["annotations"] == []
