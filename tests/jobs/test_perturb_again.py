"""A run that goes on: what is gone or was broken is made again, and costs nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from perturb_inputs import run

from auscult.errors import Mismatch
from small_inputs import LEFT, RIGHT, rows, save_frame, save_mask, tree, write_lines


def _two_items(folder: Path) -> Path:
    save_frame(folder / "frames" / "f.png")
    for name, mask in (("a", LEFT), ("b", RIGHT)):
        save_mask(folder / "masks" / f"{name}.png", mask)
    lines = [{"id": name, "frame": "frames/f.png", "mask": f"masks/{name}.png"} for name in "ab"]
    write_lines(folder / "items.jsonl", *lines)
    return folder


@pytest.mark.parametrize("kind", ["contrast", "elastic_transform"])
def test_a_missing_mask_costs_its_own_item_and_may_be_put_back(tmp_path: Path, kind: str) -> None:
    source, out = _two_items(tmp_path / "in"), tmp_path / "out"
    (source / "masks" / "b.png").unlink()
    summary = run(source, out, "vision", kind)
    assert (summary.n, summary.ok, summary.failed) == (2, 1, 1)
    (error,) = rows(out / "errors.jsonl")
    assert error["id"] == f"{kind}_3/b"
    assert error["path"].endswith("b.png")
    save_mask(source / "masks" / "b.png", RIGHT)
    assert run(source, out, "vision", kind).ok == 2
    assert [row["id"] for row in rows(out / f"{kind}_3" / "items.jsonl")] == ["a", "b"]
    save_mask(source / "masks" / "a.png", RIGHT)
    with pytest.raises(Mismatch, match="has changed since"):
        run(source, out, "vision", kind)


def test_a_frame_of_which_no_item_is_left_leaves_no_file(tmp_path: Path) -> None:
    source, out = _two_items(tmp_path / "in"), tmp_path / "out"
    for name in "ab":
        (source / "masks" / f"{name}.png").unlink()
    summary = run(source, out, "vision", "contrast")
    assert (summary.ok, summary.failed) == (0, 2)
    assert [path.name for path in (out / "contrast_3").rglob("*") if path.is_file()] == ["items.jsonl"]
    assert not rows(out / "outputs.jsonl")


def test_outputs_that_are_gone_or_cut_are_made_again(tmp_path: Path) -> None:
    source, out = _two_items(tmp_path / "in"), tmp_path / "out"
    for number in range(2):
        save_frame(source / "frames" / f"more{number}.png", seed=number)
    lines = rows(source / "items.jsonl")
    new_lines = [{"id": f"m{index}", "frame": f"frames/more{index}.png", "mask": "masks/a.png"} for index in range(2)]
    write_lines(source / "items.jsonl", *lines, *new_lines)
    run(source, out, "vision", "contrast", severities="1")
    before = {name: data for name, data in tree(out / "contrast_1").items() if name != "items.jsonl"}
    (out / "contrast_1" / "frames" / "f.png").unlink()
    (out / "contrast_1" / "masks" / "m0.png").unlink()
    cut_frame = out / "contrast_1" / "frames" / "more1.png"
    cut_frame.write_bytes(cut_frame.read_bytes()[:100])
    assert run(source, out, "vision", "contrast", severities="1").ok == 4
    assert {name: data for name, data in tree(out / "contrast_1").items() if name != "items.jsonl"} == before


def test_an_output_that_is_gone_and_cannot_be_made_is_not_told_as_made(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for number in range(2):
        save_frame(source / f"p{number}.png", seed=number)
    run(source, out, "vision", "contrast")
    (out / "contrast_3" / "p0.png").unlink()
    (source / "p0.png").write_bytes(b"no picture")
    summary = run(source, out, "vision", "contrast")
    assert (summary.n, summary.ok, summary.failed) == (2, 1, 1)
