"""The benchmark in MQ-RAVSBench's own files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from auscult import registry
from auscult.cases.listing import ListOptions, list_items
from auscult.suites.mqa.build import build_benchmark, object_number
from auscult.suites.mqa.options import BuildOptions
from auscult.types import Instance, Item, MaskRef, Moment, Query
from small_ref_avs import standard, write_root

META = "train_test_meta_files"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_root(tmp_path_factory.mktemp("root"), standard())
    out = tmp_path_factory.mktemp("made") / "bench"
    build_benchmark(BuildOptions(source=root, out=out, workers=0))
    return out


def document(benchmark: Path, name: str) -> Any:
    return json.loads((benchmark / META / name).read_text(encoding="utf-8"))


def test_there_is_a_document_for_each_split_and_protocol(bench: Path) -> None:
    names = {path.name for path in (bench / META).iterdir()}
    assert names == {
        "metadata.csv",
        "train_audit_only_filtered.json",
        *(f"test_{split}_{protocol}_filtered.json" for split in "su" for protocol in ("image", "video")),
    }


def test_every_path_of_a_document_is_there(bench: Path) -> None:
    paths = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            paths.extend(value[key] for key in ("mask_path", "image_path") if key in value)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    for path in (bench / META).glob("*.json"):
        walk(json.loads(path.read_text(encoding="utf-8")))
    assert len(paths) > 300
    assert all((bench / name).is_file() for name in paths)


def test_what_reads_the_release_reads_the_same_masks_and_truths(bench: Path) -> None:
    def truth_by_mask(items: tuple[Item, ...]) -> dict[Path, tuple[Any, ...]]:
        truths = [(item.mask.path, item.truth, item.frame.name, item.query.text) for item in items]
        return {
            path.resolve(): (truth.defect, truth.iou, truth.action, frame, text)
            for path, truth, frame, text in truths
            if path is not None and truth is not None
        }

    of_the_release = registry.load("dataset", "mqravs").list(bench, ListOptions())
    assert not of_the_release.errors
    assert truth_by_mask(of_the_release.items) == truth_by_mask(list_items(bench).items)


def test_a_training_entry_has_all_six_types_with_the_answer_to_learn(bench: Path) -> None:
    entries = document(bench, "train_audit_only_filtered.json")
    assert len(entries) == 2
    for entry in entries.values():
        assert {kind: len(masks) for kind, masks in entry["part_neg_masks"].items()} == {
            "cutout": 2,
            "dilate": 2,
            "erode": 2,
            "merge": 2,
        }
        assert len(entry["full_neg_masks"]) == 2
        assert "<mask_type> perfect </mask_type>" in entry["gt_mask_path"]["response"]
        assert [mask["rank"] for mask in entry["part_neg_masks"]["cutout"]] == [1, 2]


def test_the_other_object_has_its_name(bench: Path) -> None:
    rows = [json.loads(line) for line in (bench / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        negative = row["mqa"].get("negative")
        if row["truth"]["defect"] in {"merge", "full_neg"}:
            assert negative in {"dog", "drum", "bell", "yak", "harp"} - {row["mqa"]["category"]}
        else:
            assert negative is None


def test_a_video_entry_has_ten_frames_of_the_same_types(bench: Path) -> None:
    for entry in document(bench, "test_s_video_filtered.json"):
        assert [frame["frame"] for frame in entry["frames"]] == list(range(10))
        assert len({tuple(sorted(frame["part_neg_masks"])) for frame in entry["frames"]}) == 1


def test_the_table_names_key_frames_and_objects(bench: Path) -> None:
    with (bench / META / "metadata.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    survey = {
        row["id"]: row["frame"]
        for row in map(json.loads, (bench / "survey.jsonl").read_text(encoding="utf-8").splitlines())
    }
    assert len(rows) == 8
    for row in rows:
        assert int(row["kfid"]) == survey[row["uid"]]
        assert int(row["fid"]) + 1 == int(row["uid"].rsplit("_", 1)[1])


def test_objects_of_other_layouts_have_their_index_or_none() -> None:
    def index_of(ref: MaskRef) -> int:
        moment = Moment(frame=Path("0.jpg"), target=ref)
        return object_number(Instance(id="a", clip="v", query=Query(), moments=(moment,)))

    assert index_of(MaskRef(path=Path("Annotations/dog/00000.png"), index=3)) == 3
    assert index_of(MaskRef(path=Path("gt_mask/v/fid_12/00000.png"))) == 12
    assert index_of(MaskRef(path=Path("masks/0.png"))) == 0
    assert index_of(MaskRef(segmentation={"size": [1, 1], "counts": [0, 1]})) == 0
