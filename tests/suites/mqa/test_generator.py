"""The benchmark made by another maker of defects, of every object and frame, and of one part of a source."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mqa_material import answers, benchmark

from auscult.cases.listing import list_items
from auscult.errors import Mismatch, NothingToDo, UsageError
from auscult.outcome import Scored
from auscult.stress.masks.base import WINDOWED, WINDOWS
from auscult.suites.mqa.build import build_benchmark, read_splits
from auscult.suites.mqa.options import BuildOptions, MqaOptions
from auscult.suites.mqa.rows import MAKING, candidates_of
from auscult.suites.mqa.run import run_mqa
from auscult.suites.mqa.tables import results_of
from small_ref_avs import FRAMES, standard, write_root

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_root(tmp_path_factory.mktemp("root"), standard())


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same clips without splits."""
    return write_root(tmp_path_factory.mktemp("bare"), [replace(clip, split="") for clip in standard()])


def build(source: Path, out: Path, **changes: Any) -> Rows:
    """Build the image protocol in this process; returns the lines of its items."""
    build_benchmark(BuildOptions(source=source, out=out, **{"workers": 0, "protocols": ("image",), **changes}))
    return [json.loads(line) for line in (out / "items.jsonl").read_text(encoding="utf-8").splitlines()]


def written_json(folder: Path, value: object) -> Path:
    path = folder / "splits.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_freehand_has_the_same_kinds_and_windows_by_other_stressors(source: Path, tmp_path: Path) -> None:
    standard = build(source, tmp_path / "standard", splits=("test_s",))
    freehand = build(source, tmp_path / "freehand", splits=("test_s",), generator="freehand")
    assert [row["id"] for row in freehand] == [row["id"] for row in standard]
    for row in freehand:
        truth = row["truth"]
        assert row["mqa"]["generator"] == "freehand"
        is_windowed = truth["defect"] in WINDOWED
        assert row["stress"]["kind"] == (f"freehand_{truth['defect']}" if is_windowed else truth["defect"])
        if is_windowed:
            low, high = WINDOWS[truth["difficulty"]]
            assert low <= truth["iou"] <= high
    shared = {row["mask"] for row in standard if row["truth"]["defect"] not in WINDOWED}
    same_masks = {
        row["mask"]
        for row in standard
        if (tmp_path / "standard" / row["mask"]).read_bytes() == (tmp_path / "freehand" / row["mask"]).read_bytes()
    }
    assert same_masks == shared


def test_a_resumed_build_insists_on_the_same_making(bare: Path, tmp_path: Path) -> None:
    source = bare
    splits = written_json(tmp_path, {"one": ["c"], "two": ["d"]})
    build(source, tmp_path / "out", count=1, splits=("one",), splits_file=splits)
    arguments: dict[str, Any] = {"count": 1, "splits": ("one",), "splits_file": splits}
    for name, value in (("generator", "freehand"), ("take", "all"), ("objects", "all"), ("least_px", 9)):
        with pytest.raises(Mismatch, match=name.replace("_", ".")):
            build(source, tmp_path / "out", **{**arguments, name: value})
    written_json(tmp_path, {"one": ["c", "e"], "two": ["d"]})
    with pytest.raises(Mismatch, match="--splits-file"):
        build(source, tmp_path / "out", **arguments)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"generator": "other"}, "standard, freehand"),
        ({"generator": "freehand", "protocols": ("image", "video")}, "image protocol alone"),
        ({"take": "every:0"}, "every:N"),
        ({"take": f"every:{'9' * 5000}"}, "every:N"),
        ({"take": "every:²"}, "every:N"),
        ({"take": "some"}, "every:N"),
        ({"objects": "some"}, "sample or all"),
        ({"least_px": -1}, "0 or more"),
        ({"least_px": 9, "protocols": ("image", "video")}, "image protocol alone"),
    ],
)
def test_what_cannot_be_made_is_refused(source: Path, tmp_path: Path, changes: Any, expected: str) -> None:
    with pytest.raises(UsageError) as error:
        build(source, tmp_path / "out", **changes)
    assert expected in (error.value.expected or "")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("take", "frames"), [("all", FRAMES), ("every:4", 3)])
def test_several_frames_of_an_instance_each_have_masks_of_their_own(
    source: Path, tmp_path: Path, take: str, frames: int
) -> None:
    rows = build(source, tmp_path / "out", take=take, splits=("test_u",), count=1)
    perfect = [row for row in rows if row["truth"]["defect"] == "perfect"]
    assert len(perfect) == frames
    assert len({row["id"] for row in rows}) == len({row["mask"] for row in rows}) == len(rows)
    candidates, broken = candidates_of([])
    assert not candidates
    assert not broken
    assert {row["clip"] for row in rows} == {"e"}
    params = {json.dumps(row["stress"]["params"]) for row in rows if row["id"].endswith("/erode_hard")}
    assert len(params) == frames
    assert not (tmp_path / "out" / "train_test_meta_files").exists()
    assert build(source, tmp_path / "out", take=take, splits=("test_u",), count=1) == rows


def test_all_objects_are_taken_but_those_that_are_too_small(source: Path, tmp_path: Path) -> None:
    sample = build(source, tmp_path / "sample", splits=("test_u",))
    all_rows = build(source, tmp_path / "all", splits=("test_u",), objects="all")
    assert len({row["mqa"]["uid"] for row in sample}) == 2
    assert len({row["mqa"]["uid"] for row in all_rows}) == 3
    areas = sorted({round(row["mqa"]["area"] * 96 * 128) for row in all_rows})
    large = build(source, tmp_path / "large", splits=("test_u",), objects="all", least_px=areas[1])
    assert {round(row["mqa"]["area"] * 96 * 128) for row in large} <= set(areas[1:])
    assert Counter(row["mqa"]["uid"] for row in large).keys() < Counter(row["mqa"]["uid"] for row in all_rows).keys()
    table = json.loads((tmp_path / "large" / "tables" / "sample.json").read_text(encoding="utf-8"))
    assert ["test (unseen)", "left out: the target has too few pixels in every frame", "", "1"] in table["rows"]


def test_a_file_of_splits_says_what_is_measured(bare: Path, tmp_path: Path) -> None:
    source = bare
    splits = written_json(tmp_path, {"rule": "drawn", "clips": {"calibration": ["a"], "test": ["d", "not there"]}})
    rows = build(source, tmp_path / "test", splits_file=splits, splits=("test",))
    assert {(row["clip"], row["mqa"]["split"]) for row in rows} == {("d", "test")}
    rows = build(source, tmp_path / "all", splits_file=splits)
    assert {row["clip"] for row in rows} == {"a", "d"}
    with pytest.raises(UsageError, match="no split 'train'"):
        build(source, tmp_path / "train", splits_file=splits, splits=("train",))


def test_a_file_of_splits_does_not_replace_those_of_the_source(source: Path, tmp_path: Path) -> None:
    splits = written_json(tmp_path, {"test": ["a"]})
    with pytest.raises(UsageError, match="splits of its own: test_s, test_u, train"):
        build(source, tmp_path / "out", splits_file=splits, splits=("test",))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "value", [[], {}, {"rule": "none"}, {"a": ["x"], "b": ["x"]}, {"a": [1]}, {"in no split": ["x"]}]
)
def test_a_file_that_is_no_division_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(UsageError):
        read_splits(written_json(tmp_path, value))


def test_a_file_of_splits_that_is_not_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "splits.json").write_text("{", encoding="utf-8")
    with pytest.raises(NothingToDo):
        read_splits(tmp_path / "splits.json")


def test_every_number_is_signed_with_who_made_the_masks() -> None:
    candidates = benchmark(2, protocols=("image",))
    results = results_of(
        [replace(candidate, generator="freehand") for candidate in candidates], {"j": answers(candidates)}
    )
    plain = results_of(candidates, {"j": answers(candidates)})
    assert [cell.outcome.value for cell in results.cells if isinstance(cell.outcome, Scored)] == [
        cell.outcome.value for cell in plain.cells if isinstance(cell.outcome, Scored)
    ]
    generators = [
        cell.outcome.signature.as_dict().get("generator") for cell in results.cells if isinstance(cell.outcome, Scored)
    ]
    assert set(generators) == {"freehand"}
    assert not any("generator" in str(cell.outcome) for cell in plain.cells)


def test_every_number_is_signed_with_how_its_masks_were_chosen(bare: Path, tmp_path: Path) -> None:
    splits = written_json(tmp_path, {"test": ["e"]})
    plain = build(bare, tmp_path / "plain", count=1)
    assert not any(set(MAKING) & row["mqa"].keys() for row in plain)
    rows = build(
        bare, tmp_path / "out", splits_file=splits, splits=("test",), take="every:4", objects="all", least_px=9
    )
    making = {"take": "every:4", "objects": "all", "least_px": "9"}
    division = {row["mqa"]["splits_file"] for row in rows}
    assert {tuple(row["mqa"][name] for name in making) for row in rows} == {tuple(making.values())}
    assert [len(digest) for digest in division] == [12]
    candidates, broken = candidates_of(list_items(tmp_path / "out").items)
    assert not broken
    cells = results_of(candidates, {"j": answers(candidates)}).cells
    signatures = [cell.outcome.signature.as_dict() for cell in cells if isinstance(cell.outcome, Scored)]
    assert signatures
    for signature in signatures:
        assert {name: signature.get(name) for name in MAKING} == {**making, "splits_file": division.copy().pop()}


def test_a_run_on_a_benchmark_that_is_made_already_takes_no_say_in_its_making(source: Path, tmp_path: Path) -> None:
    build(source, tmp_path / "bench", count=1, splits=("test_u",))
    with pytest.raises(UsageError, match="--least-px"):
        run_mqa(MqaOptions(data=tmp_path / "bench", out=tmp_path / "run", least_px=9, workers=0))
