"""`act filter` as a job: picking and deciding again from the record alone, without the input, without judging."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.cases.listing import ListOptions, list_items
from auscult.errors import OutputError, RecordError, UsageError
from auscult.jobs.act import filter_record
from auscult.jobs.audit import audit_folder
from auscult.jobs.finish import report_folder
from auscult.jobs.options import AuditOptions, FilterOptions, StressOptions
from auscult.jobs.stress import stress_masks
from auscult.media.masks import read_mask
from small_inputs import LEFT, auscult, folder_input, item, rows, save_mask, tree, write_lines

EVERY = ("accept", "minor_revision", "major_revision", "reject")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit of stressed masks and an empty one, whose input is gone."""
    place = tmp_path_factory.mktemp("act")
    folder_input(place / "in", ("a", "b", "c"))
    stress_masks(StressOptions(source=place / "in", out=place / "made", workers=0))
    save_mask(place / "made" / "masks" / "empty.png", LEFT & False)
    frame = rows(place / "made" / "items.jsonl")[0]["frame"]
    with (place / "made" / "items.jsonl").open("a") as file:
        file.write(json.dumps({"id": "=empty", "frame": frame, "mask": "masks/empty.png", "text": "=cmd()"}) + "\n")
    audit_folder(AuditOptions(source=place / "made", out=place / "out", workers=0))
    shutil.rmtree(place / "made")
    shutil.rmtree(place / "in")
    return place / "out"


def _verdicts(record: Path) -> dict[str, dict[str, object]]:
    return {row["id"]: row for row in rows(record / "verdicts.jsonl")}


@pytest.mark.parametrize(
    "command", [("filter",), ("export", "--to", "yolo"), ("gate", "--calibration", "x"), ("repair",), ("rerank",),
                ("pseudo-label",), ("calibrate", "--labels", "x")], ids=lambda command: command[0]
)  # fmt: skip
def test_no_command_writes_into_the_record(record: Path, command: tuple[str, ...]) -> None:
    before = tree(record)
    name, *options = command
    result = auscult("act", name, record, *options, "--out", record / "new")
    assert result.code == 2
    assert "lies in the record" in result.err
    assert tree(record) == before


@pytest.mark.parametrize("action", EVERY)
def test_each_action_is_picked_in_natural_order(record: Path, tmp_path: Path, action: str) -> None:
    before = tree(record)
    picked = filter_record(FilterOptions(folder=record, actions=(action,), out=tmp_path / "out"))
    expected = sorted(name for name, row in _verdicts(record).items() if row["action"] == action)
    assert list(picked.ids) == expected
    assert picked.total == sum(picked.by_action.values()) == len(_verdicts(record))
    assert picked.policy == "default"
    listed_ids = (tmp_path / "out" / "ids.txt").read_text().splitlines()
    assert [name.removeprefix("'") for name in listed_ids] == expected
    assert not any(name.startswith("=") for name in listed_ids)
    table = csv.DictReader((tmp_path / "out" / "verdicts.csv").read_text().splitlines())
    assert [row["id"].removeprefix("'") for row in table] == expected
    coco = json.loads((tmp_path / "out" / "coco.json").read_text())
    assert [annotation["auscult"]["item"] for annotation in coco["annotations"]] == expected
    assert tree(record) == before


def test_defects_and_the_least_iou_narrow_the_choice(record: Path, tmp_path: Path) -> None:
    verdicts = _verdicts(record)
    for defect in ("perfect", "empty", "erode"):
        options = FilterOptions(folder=record, actions=EVERY, defects=(defect,), out=tmp_path / "out")
        assert set(filter_record(options).ids) == {n for n, row in verdicts.items() if row["defect"] == defect}
    ious = sorted(float(row["iou"]) for row in verdicts.values() if row["iou"] is not None)
    median_iou = ious[len(ious) // 2]
    options = FilterOptions(folder=record, actions=EVERY, min_iou=median_iou, out=tmp_path / "out")
    assert set(filter_record(options).ids) == {n for n, row in verdicts.items() if (row["iou"] or 0) >= median_iou}


def test_a_verdict_without_the_key_action_is_one_nobody_decided_on(record: Path, tmp_path: Path) -> None:
    shutil.copytree(record, tmp_path / "cut")
    lines = rows(record / "verdicts.jsonl")
    write_lines(
        tmp_path / "cut" / "verdicts.jsonl", *({k: v for k, v in row.items() if k != "action"} for row in lines)
    )
    options = FilterOptions(folder=tmp_path / "cut", actions=EVERY, out=tmp_path / "out")
    assert filter_record(options).ids == ()
    assert report_folder(tmp_path / "cut").by_action == dict.fromkeys((*EVERY, "unjudged"), 0)
    picked = filter_record(replace(options, policy="default", out=tmp_path / "again"))
    assert picked.by_action == filter_record(replace(options, folder=record, out=tmp_path / "whole")).by_action


def test_another_policy_decides_again_from_what_the_judge_said(record: Path, tmp_path: Path) -> None:
    groups = {group: {"accept": {"at_least": 0.9}} for group in ("perfect", "shape", "merge", "full_neg")}
    (tmp_path / "mine.json").write_text(json.dumps({"name": "mine", **groups}))
    options = FilterOptions(folder=record, policy=str(tmp_path / "mine.json"), out=tmp_path / "out")
    picked = filter_record(options)
    verdicts = _verdicts(record)
    assert set(picked.ids) == {name for name, row in verdicts.items() if (row["iou"] or 0) >= 0.9}
    assert picked.policy == "mine"
    assert picked.by_action == {
        "accept": len(picked.ids), "minor_revision": 0, "major_revision": 0, "reject": len(verdicts) - len(picked.ids),
        "unjudged": 0,
    }  # fmt: skip
    assert "=empty" not in picked.ids
    release = filter_record(FilterOptions(folder=record, actions=EVERY, policy="release", out=tmp_path / "r"))
    by_default = filter_record(FilterOptions(folder=record, actions=EVERY, policy="default", out=tmp_path / "d"))
    assert by_default.by_action != release.by_action
    assert {name: row["action"] for name, row in verdicts.items()} == {
        row["id"].removeprefix("'"): row["action"]
        for row in csv.DictReader((tmp_path / "d" / "verdicts.csv").read_text().splitlines())
    }


def test_the_masks_handed_over_are_the_masks_that_were_judged(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    audit_folder(AuditOptions(source=source, out=tmp_path / "out", workers=0))
    filter_record(FilterOptions(folder=tmp_path / "out", actions=EVERY, out=tmp_path / "kept"))
    second = list_items(tmp_path / "kept" / "coco.json", ListOptions(images=source / "frames"))
    assert not second.errors
    first = {listed_item.id: listed_item for listed_item in list_items(source).items}
    for listed_item in second.items:
        before = first[listed_item.extra["coco"]["auscult"]["item"]]
        assert np.array_equal(read_mask(listed_item.mask).mask, read_mask(before.mask).mask)
        assert listed_item.frame == before.frame


def test_a_text_that_looks_like_a_formula_is_harmless_in_the_table(record: Path, tmp_path: Path) -> None:
    filter_record(FilterOptions(folder=record, actions=("reject",), defects=("empty",), out=tmp_path / "out"))
    lines = (tmp_path / "out" / "verdicts.csv").read_text().splitlines()
    assert lines[1].startswith("'=empty,")
    assert ",'=cmd()," in lines[1]


def test_ids_are_printed_without_what_turns_text_on_a_terminal(record: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(record, tmp_path / "record")
    for file in ("verdicts.jsonl", "masks.jsonl"):
        turned = [row | {"id": f"{row['id']}\u202egnp"} for row in rows(copy / file)]
        write_lines(copy / file, *turned)
    result = auscult("act", "filter", copy, "--action", "accept,minor_revision,major_revision,reject")
    assert result.code == 0, result.err
    assert "\ufffdgnp" in result.out
    assert "\u202e" not in result.out


def test_without_a_place_it_goes_beside_the_record(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (record, Path(), Path("../out")):
        monkeypatch.chdir(record)
        picked = filter_record(FilterOptions(folder=folder, actions=("accept", "reject")))
        assert picked.out.resolve() == record.parent / "out-filter-accept-reject"
        assert (picked.out / "coco.json").is_file()
    shutil.rmtree(record.parent / "out-filter-accept-reject")


def test_a_record_and_a_strangers_folder_are_never_written_to(record: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter.txt").write_text("dear diary")
    for out in (record, tmp_path / "theirs"):
        before = tree(out)
        with pytest.raises(RecordError, match=r"other files|lies in the record"):
            filter_record(FilterOptions(folder=record, out=out))
        assert tree(out) == before
    with pytest.raises(OutputError):
        filter_record(FilterOptions(folder=record, out=tmp_path / "theirs" / "letter.txt" / "x"))


@pytest.mark.parametrize(
    "change", [{"actions": ("keep",)}, {"defects": ("ugly",)}, {"min_iou": 1.5}, {"policy": "no such"}]
)
def test_wrong_wishes_are_refused(record: Path, tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        filter_record(FilterOptions(**{"folder": record, "out": tmp_path / "out", **change}))
    assert not (tmp_path / "out").exists()


def test_a_record_without_verdicts_is_refused(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    write_lines(source / "items.jsonl", item("x", mask="none.png"))
    audit_folder(AuditOptions(source=source / "items.jsonl", out=tmp_path / "out", workers=0))
    with pytest.raises(RecordError, match="no verdict"):
        filter_record(FilterOptions(folder=tmp_path / "out"))
