"""The benchmark's statistics: Tables 1 and 8, Fig. 4, and what could not be made."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.suites.mqa.statistics import by_cell, histogram, iou_figure, statistics
from auscult.types import DEFECTS

Rows = list[dict[str, Any]]

# Table 8 of the paper: instances, merges, full_negs; frames per mask
PAPER = {
    ("image", "train"): (1306, 3809, 3810, 1),
    ("image", "test_s"): (437, 1274, 1276, 1),
    ("image", "test_u"): (303, 785, 785, 1),
    ("video", "test_s"): (60, 1738, 1736, 10),
    ("video", "test_u"): (40, 1081, 1085, 10),
}
CLIPS = {"train": 1306, "test_s": 269, "test_u": 265}


def row(place: tuple[str, str], kind: str, *, uid: str, vid: str, iou: float = 0.5) -> dict[str, Any]:
    return {
        "truth": {"defect": kind, "iou": iou},
        "mqa": {"protocol": place[0], "split": place[1], "uid": uid, "vid": vid},
    }


@pytest.fixture(scope="module")
def paper() -> Rows:
    """Rows as the paper's own benchmark would have."""
    paper_rows: Rows = []
    for place, (instances, merges, negatives, frames) in PAPER.items():
        counts = dict.fromkeys(("cutout", "dilate", "erode"), 2 * instances * frames)
        counts |= {"perfect": instances * frames, "merge": merges, "full_neg": negatives}
        clips = CLIPS[place[1]] if place[0] == "image" else instances
        for kind, count in counts.items():
            for index in range(count):
                number = index % instances
                paper_rows.append(row(place, kind, uid=f"{place[1]}{number}", vid=f"{place[1]}{number % clips}"))
    return paper_rows


def test_table_1_of_the_paper_comes_out_of_its_counts(paper: Rows) -> None:
    assert statistics(paper, [])["masks"].rows == (
        ("image", "train", "1,306", "1,306", "16,761"),
        ("image", "test (seen)", "269", "437", "5,609"),
        ("image", "test (unseen)", "265", "303", "3,691"),
        ("image", "test, all", "534", "740", "9,300"),
        ("video", "test (seen)", "60", "60", "7,674"),
        ("video", "test (unseen)", "40", "40", "4,966"),
        ("video", "test, all", "100", "100", "12,640"),
    )


def test_table_8_of_the_paper_comes_out_of_its_counts(paper: Rows) -> None:
    table = statistics(paper, [])["types"]
    assert table.header == ("protocol", "split", "total", *DEFECTS)
    assert table.rows[0] == ("image", "train", "16,761", "1,306", "2,612", "2,612", "2,612", "3,809", "3,810")
    assert table.rows[3] == ("video", "test (seen)", "7,674", "600", "1,200", "1,200", "1,200", "1,738", "1,736")


def test_the_iou_table_counts_each_type_apart() -> None:
    place = ("image", "test")
    rows = [row(place, "merge", uid="a", vid="v", iou=iou) for iou in (0.05, 0.3, 0.31, 0.9)]
    rows += [row(place, "perfect", uid="a", vid="v", iou=1.0), row(("video", "test"), "erode", uid="a", vid="v")]
    table = statistics(rows, [])["iou"]
    assert table.rows == (
        ("test", "perfect", "1", "1.000 1.000 1.000", *[""] * 9, "1"),
        ("test", "merge", "4", "0.050 0.305 0.900", "1", "", "", "2", *[""] * 5, "1"),
    )


def test_undefined_masks_are_counted_by_type_and_reason() -> None:
    entry = {"kind": "erode", "difficulty": "hard", "reason": "too_thin"}
    ten_merges = {"kind": "merge", "difficulty": None, "reason": "no_other_object", "count": 10}
    targets = [
        {"protocol": "image", "split": "test_s", "undefined": [entry]},
        {"protocol": "image", "split": "test_s", "undefined": [entry]},
        {"protocol": "video", "split": "test_s", "undefined": [ten_merges]},
    ]
    assert statistics([], targets)["undefined"].rows == (
        ("image", "test (seen)", "erode", "hard", "too_thin", "2"),
        ("video", "test (seen)", "merge", "", "no_other_object", "10"),
    )


def test_places_are_in_the_papers_order() -> None:
    rows = [
        row((protocol, split), "perfect", uid="a", vid="v")
        for protocol in ("video", "image")
        for split in ("z", "test_u", "test_s", "train")
    ]
    assert [split for protocol, split in by_cell(rows) if protocol == "image"] == ["train", "test_s", "test_u", "z"]
    assert next(iter(by_cell(rows)))[0] == "image"


@given(st.lists(st.floats(0, 1)))
def test_every_value_is_in_one_bin(values: list[float]) -> None:
    counts = histogram(values)
    assert len(counts) == 10
    assert sum(counts) == len(values)
    assert counts[9] >= sum(value == 1 for value in values)


@pytest.mark.parametrize(("value", "place"), [(0.0, 0), (0.1, 1), (0.3, 3), (0.7, 7), (0.7999, 7), (1.0, 9)])
def test_a_value_on_an_edge_is_in_the_upper_bin(value: float, place: int) -> None:
    assert histogram([value])[place] == 1


def test_the_picture_is_one_well_formed_file_that_names_its_numbers(paper: Rows) -> None:
    text = iou_figure(paper)
    root = ET.fromstring(text)  # noqa: S314 - our own text
    titles = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
    assert "test (seen), image protocol: 5,609 masks" in titles
    assert "train, image protocol: 16,761 masks" in titles
    assert not any("video" in title for title in titles)
    assert "<script" not in text


def test_a_picture_of_nothing_is_still_a_picture() -> None:
    ET.fromstring(iou_figure([]))  # noqa: S314 - our own text
