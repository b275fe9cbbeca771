"""Masks by classical methods: each family finds flat objects, the seed decides, and the truth stays apart."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import classical_families as tool
import numpy as np
import pytest

from auscult.arrays.overlap import iou
from auscult.cases.listing import ListOptions, list_items
from auscult.media.frames import write_frame
from auscult.media.rle import decode, encode
from auscult.rng import generator
from auscult.train.prompted.material import Picture
from auscult.types import Frame, Mask

pytestmark = [
    pytest.mark.extra_demo,
    pytest.mark.skipif(importlib.util.find_spec("skimage") is None, reason="the extra `demo` is not installed"),
]

KEYS = {"picture", "cluster", "source", "part", "target", "family", "rle", "iou", "precision", "recall"}


def scene(shift_px: int = 0) -> tuple[Frame, tuple[Mask, Mask]]:
    """A red disk and a blue bar on grey with a little noise."""
    rows, across = np.ogrid[:120, :160]
    disk = np.asarray(np.hypot(rows - 60, across - 45 - shift_px) <= 28)
    bar = np.zeros((120, 160), np.bool_)
    bar[30:100, 100 + shift_px : 135 + shift_px] = True
    frame = np.full((120, 160, 3), 120.0)
    frame[disk], frame[bar] = (200, 40, 40), (30, 60, 190)
    noise = generator(1, "noise").normal(0, 4, (120, 200, 3))[:, 20 - shift_px : 180 - shift_px]  # moves along
    return np.clip(frame + noise, 0, 255).astype(np.uint8), (disk, bar)


def picture(folder: Path, name: str, *, source: str = "more", shift_px: int = 0) -> Picture:
    frame, masks = scene(shift_px)
    write_frame(folder / name, frame)
    shown_masks = masks[:1] if source == "davis" else masks
    objects = tuple(encode(mask) for mask in shown_masks)
    return Picture(path=folder / name, cluster=name.partition("_")[0], source=source, part="test", objects=objects)


@pytest.mark.parametrize("family", tool.FAMILIES)
def test_a_family_finds_flat_objects(family: str) -> None:
    frame, masks = scene()
    made_masks = [
        (mask, tool.made(tool.View(frame=frame, truth=mask), family, generator(7, index, place)))
        for index in range(4)
        for place, mask in enumerate(masks)
    ]
    ious = [iou(mask, truth) for truth, mask in made_masks if mask is not None]
    assert len(ious) >= len(made_masks) // 2
    assert np.median(ious) > 0.6
    assert np.mean(np.array(ious) > 0.3) >= 0.75  # GrabCut sometimes loses a flat object altogether
    assert all(mask.shape == truth.shape and mask.dtype == np.bool_ for truth, mask in made_masks if mask is not None)


@pytest.mark.parametrize("family", tool.FAMILIES)
def test_a_mask_does_not_depend_on_what_was_made_before(family: str) -> None:
    frame, masks = scene()
    views = [tool.View(frame=frame, truth=mask) for mask in masks]
    first = tool.made(views[0], family, generator(7, "again"))
    for index in range(3):
        tool.made(views[1], family, generator(index, "between"))
    second = tool.made(views[0], family, generator(7, "again"))
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second)


def test_flow_carries_an_object_along() -> None:
    frames = [scene(shift)[0] for shift in (0, 3, 6, 9)]
    first, last = scene()[1][0], scene(9)[1][0]
    carried_mask = tool.carried(frames, first, generator(7, "flow"))
    assert iou(carried_mask, last) > 0.85 > iou(first, last)


def test_rows_follow_from_the_seed_alone_and_tell_the_truth(tmp_path: Path) -> None:
    pictures = [picture(tmp_path, "a.png"), picture(tmp_path, "b.png")]
    rows = tool.all_rows(pictures, tmp_path, seed=7)
    assert rows == tool.all_rows(pictures[::-1], tmp_path, seed=7)
    assert [row["rle"] for row in rows] != [row["rle"] for row in tool.all_rows(pictures, tmp_path, seed=8)]
    assert {row["picture"] for row in rows} == {"a.png", "b.png"}
    for row in rows:
        assert set(row) == KEYS
        assert 0.1 <= row["iou"] <= 0.995
        assert row["iou"] == pytest.approx(iou(decode(row["rle"]), scene()[1][row["target"]]), abs=1e-4)
        assert min(row["precision"], row["recall"]) >= row["iou"] - 1e-4


def test_of_a_sequence_every_third_frame_is_used_and_flow_starts_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "MOST_IOU", 1.0)  # a flat object that moves as a whole is carried without a fault
    film = [picture(tmp_path, f"ride_{index:05d}.png", source="davis", shift_px=index) for index in range(7)]
    rows = tool.all_rows(film, tmp_path, seed=7)
    assert {row["picture"] for row in rows} == {f"ride_{index:05d}.png" for index in (0, 3, 6)}
    assert {row["picture"] for row in rows if row["family"] == "flow"} == {f"ride_{index:05d}.png" for index in (3, 6)}
    assert all(row["target"] == 0 for row in rows)


def test_a_broken_picture_costs_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures = [picture(tmp_path, "good.png"), picture(tmp_path, "bad.png")]
    pictures[1].path.write_bytes(b"no picture")
    rows = tool.all_rows(pictures, tmp_path, seed=7)
    assert {row["picture"] for row in rows} == {"good.png"}
    assert "1 of 2 pictures are broken" in capsys.readouterr().err


def test_no_more_than_the_most_of_a_family_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "MOST", 1)
    monkeypatch.setattr(tool, "PER_PICTURE", 2)
    rows = tool.all_rows([picture(tmp_path, f"{name}.png") for name in "abc"], tmp_path, seed=7)
    families = [row["family"] for row in rows]
    assert len(families) == len(set(families))
    assert max(sum(row["picture"] == f"{name}.png" for row in rows) for name in "abc") <= 2


def test_an_input_for_the_audit_holds_no_truth(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = tool.all_rows([picture(tmp_path / "data", "a.png")], tmp_path / "data", seed=7)
    tool.write_items(rows, tmp_path / "items", data=tmp_path / "data", seed=7)
    listing = list_items(tmp_path / "items", ListOptions(root=tmp_path))
    assert not listing.errors
    truth = json.loads((tmp_path / "items/truth.json").read_text(encoding="utf-8"))
    assert {item.id for item in listing.items} == set(truth)
    assert all(item.truth is None and not item.extra and item.query.text is None for item in listing.items)
    assert sorted(truth_row["iou"] for truth_row in truth.values()) == sorted(row["iou"] for row in rows)
    assert {truth_row["family"] for truth_row in truth.values()} == {row["family"] for row in rows}
