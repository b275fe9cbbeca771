"""Files of outputs: every input has its own, whatever the inputs are called, and the folders stand apart."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perturb_inputs import run

from auscult.errors import UsageError
from auscult.jobs.perturb.inputs import PerturbedPart, named_apart
from auscult.media.frames import read_frame
from small_inputs import rows, save_frame, save_mask, write_lines

STEMS = st.sampled_from(["x", "X", "y", "x.jpg", "X.png", "x.jpg.png", "y.PNG"])


def _as_recorded(out: Path) -> set[str]:
    """The files of outputs in lower case, each checked against its hash."""
    names_ = set()
    for row in rows(out / "outputs.jsonl"):
        assert hashlib.sha256(read_frame(out / row["output"]).tobytes()).hexdigest() == row["sha256"], row["id"]
        names_.add(row["output"].casefold())
    return names_


@given(st.lists(st.tuples(STEMS, STEMS), max_size=8))
def test_no_two_parts_share_a_file_and_a_name_of_ones_own_stays(names: list[tuple[str, str]]) -> None:
    parts = [
        PerturbedPart(id=str(index), medium="picture", key="", name=f"f/{a}", carried=f"f/{b}")
        for index, (a, b) in enumerate(names)
    ]
    files = [{part.name.casefold(), part.carried.casefold()} for part in named_apart(parts)]
    assert sum(map(len, files)) == len(set().union(*files))
    alone = PerturbedPart(id="a", medium="picture", key="", name="f/alone.png", carried="f/alone.jpg")
    assert alone in named_apart([*parts, alone])


def test_pictures_whose_names_would_meet(tmp_path: Path) -> None:
    names = ("x.jpg", "x.jpeg", "X.jpg", "x.jpg.jpeg")
    for number, name in enumerate(names):
        save_frame(tmp_path / "in" / "a" / name, seed=number)
    assert run(tmp_path / "in", tmp_path / "out", "vision", "gaussian_noise", severities="1").ok == 4
    assert len(_as_recorded(tmp_path / "out")) == len(list((tmp_path / "out").glob("*/a/*"))) == 4


def test_frames_of_items_whose_names_would_meet(tmp_path: Path) -> None:
    names = ("x.jpg", "x.png", "x.jpg.png")
    for number, name in enumerate(names):
        save_frame(tmp_path / "in" / "frames" / name, seed=number)
    save_mask(tmp_path / "in" / "masks" / "m.png")
    lines = [{"id": name, "frame": f"frames/{name}", "mask": "masks/m.png"} for name in names]
    write_lines(tmp_path / "in" / "items.jsonl", *lines)
    assert run(tmp_path / "in", tmp_path / "out", "vision", "gaussian_noise", severities="1").ok == 3
    (items_file,) = (tmp_path / "out").glob("*/items.jsonl")
    assert len(_as_recorded(tmp_path / "out")) == len({line["frame"] for line in rows(items_file)}) == 3


@pytest.mark.parametrize("out", [".", "in"])
def test_an_output_folder_that_is_or_holds_the_input_is_refused(tmp_path: Path, out: str) -> None:
    save_frame(tmp_path / "in" / "a.png")
    with pytest.raises(UsageError, match="the output folder holds the input"):
        run(tmp_path / "in", tmp_path / out, "vision", "contrast")
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "a.png"]


def test_masks_of_items_whose_ids_differ_in_case_alone_stay_apart(tmp_path: Path) -> None:
    """Where upper and lower case are one, one of them would stand in the other's file."""
    lines = []
    for number, name in enumerate(("a", "A", "b")):
        save_frame(tmp_path / "in" / "frames" / f"{number}.png", seed=number)
        save_mask(tmp_path / "in" / "masks" / f"{number}.png")
        fields = {
            "frame": f"frames/{number}.png",
            "mask": f"masks/{number}.png",
            "truth": {"mask": f"masks/{number}.png"},
        }
        lines.append({"id": name, **fields})
    write_lines(tmp_path / "in" / "items.jsonl", *lines)
    for kind in ("contrast", "elastic_transform"):
        assert run(tmp_path / "in", tmp_path / kind, "vision", kind).ok == 3
        (items_file,) = (tmp_path / kind).glob("*/items.jsonl")
        line_of = {line["id"]: line for line in rows(items_file)}
        for files in (
            [line["mask"] for line in line_of.values()],
            [line["truth"]["mask"] for line in line_of.values()],
        ):
            assert len({name.casefold() for name in files}) == 3
            assert all((items_file.parent / name).is_file() for name in files)
        assert line_of["b"]["mask"] == "masks/b.png"
