"""The main job from Python: arrays and items to verdicts, what a judge gets to see, and the numbers against truth."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import auscult
from auscult.cases.listing import list_items
from auscult.errors import InputError, UnknownName, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.outcome import Failed
from auscult.record.reader import read_run
from auscult.types import ACTIONS, Case, Item, MaskRef, Metadata, Prediction, Truth, Verdict
from auscult.work import EarlyWorkers
from auscult.work.process import Process
from entered_modules import entered_modules
from plugged import plug_in
from small_inputs import (
    HEIGHT,
    LEFT,
    RIGHT,
    SIZE,
    WIDTH,
    folder_input,
    item,
    picture,
    rows,
    save_frame,
    save_mask,
    save_palette,
    write_lines,
)

MOST_MODULES = 70


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The plug-in judge, on the path of this process and of its workers."""
    name = plug_in(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield name
    sys.modules.pop("plugged_judge", None)


# --- arrays ---


def test_audit_mask_gives_a_decided_verdict() -> None:
    verdict = auscult.audit_mask(picture(), LEFT, text="the red blob", others=[RIGHT])
    assert isinstance(verdict, Verdict)
    assert verdict.action in ACTIONS
    assert 0 <= verdict.iou_low <= verdict.iou <= verdict.iou_high <= 1
    assert verdict.seconds > 0
    assert verdict.judge == auscult.load_judge().name == "masks.prompted.v1"
    assert not verdict.evidence.identity
    empty = auscult.audit_mask(picture(), np.zeros(SIZE, bool))
    assert (empty.defect, empty.iou, empty.action) == ("empty", None, "reject")


@pytest.mark.parametrize(
    ("frame", "mask", "message"),
    [
        (np.zeros((8, 9), np.uint8), np.zeros((8, 9), bool), "frame has shape (8, 9)"),
        (np.zeros((8, 9, 4), np.uint8), np.zeros((8, 9), bool), "frame has shape (8, 9, 4)"),
        (np.zeros((8, 9, 3), np.float32), np.zeros((8, 9), bool), "dtype float32"),
        (np.zeros((8, 9, 3), np.uint8), np.full((8, 9), 7, np.uint8), "whole numbers 7"),
        (np.zeros((8, 9, 3), np.uint8), np.zeros((9, 8), bool), "the mask is 9 x 8, its frame 8 x 9"),
        (np.zeros((8, 9, 3), np.uint8), np.zeros((2, 8, 9), bool), "mask has shape (2, 8, 9)"),
    ],
)
def test_arrays_of_another_kind_are_refused(frame: Any, mask: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        auscult.audit_mask(frame, mask)
    assert message in error.value.message
    assert error.value.expected
    assert error.value.hint


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auscult.audit_mask(picture(), LEFT, policy=3), "policy is of type int"),
        (lambda: auscult.audit_mask(picture(), LEFT, text=5), "text is of type int"),
        (lambda: list(auscult.audit([], policy=3)), "policy is of type int"),
        (lambda: list(auscult.audit(None)), "the items are of type NoneType"),
        (lambda: list(auscult.audit("folder")), "the items are of type str"),
        (lambda: list(auscult.audit(["a"])), "an item is of type str"),
        (lambda: list(auscult.audit(Item(id="a", frame=Path("a"), mask=MaskRef(path=Path("a"))))), "of type Item"),
    ],
)
def test_arguments_of_another_type_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((UsageError, InputError)) as error:
        call()
    assert message in error.value.message
    assert error.value.expected
    assert error.value.hint


def test_other_masks_are_checked_too() -> None:
    with pytest.raises(InputError, match="mask 0: the mask is"):
        auscult.audit_mask(picture(), LEFT, others=[RIGHT[:-1]])


def test_audit_mask_leaves_its_arrays_alone() -> None:
    frame, mask, other = picture(), LEFT.copy(), RIGHT.copy()
    for array in (frame, mask, other):
        array.flags.writeable = False
    auscult.audit_mask(frame, mask, others=[other])


def test_audit_mask_takes_a_judge_and_a_policy(tmp_path: Path) -> None:
    class ConstantJudge:
        name = "masks.sure.v1"
        meta = Metadata(summary="s", goal="g", modality="mask", source="s")

        def __call__(self, case: Case, prediction: Prediction) -> Verdict:
            assert case.frame.shape[:2] == prediction.mask.shape
            return replace(known_verdict, iou=0.5, iou_low=0.5, iou_high=0.5, defect="erode", judge=self.name)

    known_verdict = replace(auscult.audit_mask(picture(), LEFT), action=None, prob_iou_80=None, prob_iou_50=None)
    assert auscult.audit_mask(picture(), LEFT, judge=ConstantJudge()).action == "reject"
    groups = {group: {"minor_revision": {"at_least": 0.5}} for group in ("perfect", "shape", "merge", "full_neg")}
    (tmp_path / "half.json").write_text(json.dumps({"name": "half", **groups}))
    verdict = auscult.audit_mask(picture(), LEFT, judge=ConstantJudge(), policy=str(tmp_path / "half.json"))
    assert (verdict.judge, verdict.action) == ("masks.sure.v1", "minor_revision")


def test_load_judge_takes_short_names_and_names_the_nearest() -> None:
    assert auscult.load_judge("cues") is auscult.load_judge("masks.cues.v1")
    with pytest.raises(UnknownName) as error:
        auscult.load_judge("cuse")
    assert "masks.cues.v1" in error.value.hint


def test_no_card_no_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = plug_in(tmp_path / "site", card=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(UsageError, match="no quality card"):
        auscult.load_judge(name)
    with pytest.raises(UsageError, match="no quality card"):
        audit_folder(AuditOptions(source=folder_input(tmp_path / "in"), out=tmp_path / "out", judge=name, workers=1))
    sys.modules.pop("plugged_judge", None)


# --- items ---


@pytest.mark.parametrize("workers", [0, 1])
def test_audit_yields_a_verdict_or_a_failure_for_each_item(tmp_path: Path, workers: int) -> None:
    source = folder_input(tmp_path / "in", ("a", "b", "c", "d"))
    (source / "masks" / "b.png").write_bytes(b"")
    (source / "frames" / "c.png").write_bytes(b"")
    lines = [item(name, frame=f"frames/{name}.png", mask=f"masks/{name}.png") for name in "abcd"]
    items = list_items(write_lines(source / "items.jsonl", *lines)).items
    results = list(auscult.audit(items, workers=workers))
    verdicts = {result.id: result for result in results if isinstance(result, Verdict)}
    failures = [result for result in results if isinstance(result, Failed)]
    assert set(verdicts) == {"a", "d"}
    assert sorted(Path(failure.error.path).name for failure in failures) == ["b.png", "c.png"]
    assert {failure.error.stage for failure in failures} == {"read"}
    alone = auscult.audit_mask(picture(0), LEFT)
    assert verdicts["a"].iou == pytest.approx(alone.iou, abs=1e-6)
    assert (verdicts["a"].defect, verdicts["a"].action) == (alone.defect, alone.action)


def test_audit_of_nothing_is_nothing_and_of_one_id_twice_a_failure(tmp_path: Path) -> None:
    assert list(auscult.audit([])) == []
    (first_item,) = list_items(folder_input(tmp_path / "in", ("a",))).items
    other = replace(first_item, mask=MaskRef(path=save_mask(tmp_path / "other.png", RIGHT)))
    first, second = sorted(auscult.audit([first_item, other]), key=lambda result: isinstance(result, Failed))
    assert isinstance(first, Verdict)
    assert isinstance(second, Failed)
    assert "used twice" in second.error.error
    assert first.iou == next(iter(auscult.audit([first_item]))).iou


@pytest.mark.parametrize("workers", [0, 1])
def test_a_judge_that_raises_costs_its_item_and_says_where(tmp_path: Path, plugged: str, workers: int) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    lines = [
        item("fine"), item("refused", frame="frames/b.png", text="refuse"), item("beside", frame="frames/b.png"),
    ]  # fmt: skip
    items = list_items(write_lines(source / "items.jsonl", *lines)).items
    results = list(auscult.audit(items, judge=plugged, workers=workers))
    assert sorted(result.id for result in results if isinstance(result, Verdict)) == ["beside", "fine"]
    (failed,) = [result for result in results if isinstance(result, Failed)]
    assert (failed.error.stage, failed.error.error) == ("judge", "this judge does not like it")
    lines[1]["text"] = "raise"
    results = list(auscult.audit(list_items(write_lines(source / "items.jsonl", *lines)).items, judge=plugged))
    crashed = [result for result in results if isinstance(result, Failed)]
    assert len(results) == 3
    assert [failure.error.id for failure in crashed] == ["refused"], "the others of its frame are judged"
    assert "ZeroDivisionError" in crashed[0].error.error
    assert "plugged_judge" in crashed[0].error.error


def test_a_judge_that_dies_costs_its_frame_and_the_summary_adds_up(tmp_path: Path, plugged: str) -> None:
    source = folder_input(tmp_path / "in", ("a", "b", "c"))
    lines = [
        item("fine"),
        item("dies", frame="frames/b.png", text="die"),
        item("refused", frame="frames/c.png", text="refuse"),
        item("unread", mask="masks/none.png"),
    ]
    file = write_lines(source / "items.jsonl", *lines, b"{broken")
    options = AuditOptions(source=file, out=tmp_path / "out", judge=plugged, workers=1)
    summary = audit_folder(options)
    assert (summary.n, summary.ok, summary.failed, summary.undefined) == (5, 1, 4, 0)
    assert sum(summary.by_action.values()) == sum(summary.by_defect.values()) == 1
    stages = {row["id"]: row["stage"] for row in rows(tmp_path / "out" / "errors.jsonl")}
    assert stages == {"dies": "judge", "refused": "judge", "unread": "read", None: "read"}
    died = next(row for row in rows(tmp_path / "out" / "errors.jsonl") if row["id"] == "dies")
    assert "the worker process died (exit status 3)" in died["error"]
    assert summary.metrics["estimated_iou"]["n"] == 1
    second = audit_folder(options)
    assert second == summary
    assert len(rows(tmp_path / "out" / "errors.jsonl")) == 4


# --- what a judge gets to see ---


def test_a_judge_never_sees_the_truth(tmp_path: Path, plugged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    secret = np.roll(LEFT, (5, 7), (0, 1))
    save_mask(source / "truth" / "a.png", secret)
    save_mask(source / "masks" / "a" / "two.png", RIGHT)
    truth = {"mask": "truth/a.png", "iou": 0.123456, "defect": "merge", "action": "reject", "difficulty": "easy"}
    lines_ = [
        item("one", text="the red blob", clip="v", time_s=2.0, secret=7),
        item("two", mask="masks/a/two.png"),
    ]
    log_of = {}
    for name, lines in (("untold", lines_), ("told", [{**line, "truth": truth} for line in lines_])):
        log = tmp_path / f"{name}.log"
        monkeypatch.setenv("PLUGGED_LOG", str(log))
        file = write_lines(source / f"{name}.jsonl", *lines)
        audit_folder(AuditOptions(source=file, out=tmp_path / name, judge=plugged, workers=1))
        log_of[name] = rows(log)
    assert log_of["told"] == log_of["untold"]
    assert len(rows(tmp_path / "told" / "truth.jsonl")) == 2, "the truth is there, and opened later"
    log_text = json.dumps(log_of["told"])
    assert "0.123456" not in log_text
    fields = ["clip", "frame", "id", "others", "query", "rate_hz", "sound", "time_s"]
    for row in log_of["told"]:
        assert (row["case"], row["prediction"]) == (fields, ["mask"])
        assert row["others"] == 1
        assert len(row["arrays"]) == 3
    assert [row["text"] for row in log_of["told"]] == ["the red blob", None]


def test_masks_of_one_frame_are_one_anothers_other_objects(
    tmp_path: Path, plugged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    save_palette(source / "masks" / "a.png", {1: LEFT, 2: RIGHT, 3: ~(LEFT | RIGHT)})
    monkeypatch.setenv("PLUGGED_LOG", str(tmp_path / "log"))
    audit_folder(AuditOptions(source=source, out=tmp_path / "out", judge=plugged, workers=1))
    log = rows(tmp_path / "log")
    assert sorted(row["others"] for row in log) == [0, 2, 2, 2]
    ids = {row["id"] for row in log}
    assert len(ids) == 4
    assert not ids & {"a#1", "a#2", "a#3", "b"}, "an item's id may say what was done to its mask; no judge sees it"


# --- what the record keeps of each item ---


def _reading(write: Callable[[Path], Any], suffix: str = ".png") -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        path = folder / f"mask{suffix}"
        write(path)
        return path.name

    return make


def _alpha(path: Path) -> None:
    rgba = np.dstack([picture(), LEFT.astype(np.uint8) * 255])
    Image.fromarray(rgba).save(path)


RLE = {"size": list(SIZE), "counts": [0, HEIGHT * WIDTH]}
READINGS: dict[str, Callable[[Path], Any]] = {
    "binary": _reading(save_mask),
    "index": _reading(lambda path: save_palette(path, {4: LEFT})),
    "soft>=0.5": _reading(lambda path: Image.fromarray(np.uint8(LEFT * 200 + RIGHT * 90)).save(path)),
    "alpha": _reading(_alpha),
    "npy": _reading(lambda path: np.save(path, LEFT), ".npy"),
    "rle": lambda _: RLE,
    "polygon": lambda _: [[5, 5, 40, 5, 40, 30, 5, 30]],
}


def test_the_record_says_how_each_mask_was_read(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    lines = []
    for number, (name, make) in enumerate(READINGS.items()):
        (source / str(number)).mkdir()
        mask = make(source / str(number))
        lines.append(item(name, mask=f"{number}/{mask}" if isinstance(mask, str) else mask))
    audit_folder(AuditOptions(source=write_lines(source / "items.jsonl", *lines), out=tmp_path / "out", workers=0))
    run = read_run(tmp_path / "out")
    assert {row["id"]: row["reading"] for _, row in run.verdicts} == {name: name for name in READINGS}
    assert {row["frame"] for _, row in run.verdicts} == {"a.png"}


def test_the_digest_of_an_item_follows_its_files_and_words_and_nothing_else(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    save_frame(source / "frames" / "same.png", seed=0)
    save_mask(source / "masks" / "same.png", LEFT)
    lines = [
        item("plain"),
        item("renamed", frame="frames/same.png", mask="masks/same.png", clip="v", note=1, truth={"iou": 0.5}),
        item("worded", text="the red blob"),
        item("other mask", mask="masks/b.png"),
        item("other frame", frame="frames/b.png"),
        item("inline", mask=RLE),
    ]
    audit_folder(AuditOptions(source=write_lines(source / "items.jsonl", *lines), out=tmp_path / "out", workers=0))
    digests = {row["id"]: row["input"] for row in rows(tmp_path / "out" / "verdicts.jsonl")}
    assert digests["plain"] == digests["renamed"]
    assert len({digests[name] for name in digests if name != "renamed"}) == 5


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", [f"f{number}" for number in range(8)])
    results = []
    for workers in (0, 1, 2):
        out = tmp_path / f"out{workers}"
        audit_folder(AuditOptions(source=source, out=out, workers=workers))
        results.append({row["id"]: {**row, "seconds": 0} for row in rows(out / "verdicts.jsonl")})
    assert results[0] == results[1] == results[2]


# --- against truth ---


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Shifted masks with their truth, on several photographs, one of them empty, audited."""
    place = tmp_path_factory.mktemp("measured")
    source = folder_input(place / "in", ("a", "b", "c"))
    save_mask(source / "truth.png", LEFT)
    lines = []
    for number in range(12):
        mask = np.roll(LEFT, number - 4, 1) if number else LEFT & False
        save_mask(source / "shifted" / f"{number}.png", mask)
        defect = ("perfect", "dilate", "erode", "merge")[number % 4]
        action = ("accept", "minor_revision", "reject")[number % 3]
        truth: dict[str, Any] = {"mask": "truth.png", "defect": defect, "action": action}
        if number == 1:
            truth = {"iou": 0.25}
        frame = f"frames/{'abc'[number % 3]}.png"
        lines.append(item(f"n{number}", frame=frame, mask=f"shifted/{number}.png", truth=truth))
    audit_folder(AuditOptions(source=write_lines(source / "items.jsonl", *lines), out=place / "out", workers=0))
    return place, {line["id"]: line for line in lines}


def _exact(number: int) -> float:
    if number == 1:
        return 0.25
    mask = np.roll(LEFT, number - 4, 1)
    return float(np.count_nonzero(mask & LEFT) / np.count_nonzero(mask | LEFT))


def test_the_numbers_against_truth_are_those_computed_by_hand(measured: tuple[Path, dict[str, Any]]) -> None:
    place, lines = measured
    metrics = json.loads((place / "out" / "summary.json").read_text())["metrics"]
    verdict_of = {row["id"]: row for row in rows(place / "out" / "verdicts.jsonl")}
    numbers = range(1, 12)  # number 0 segments nothing, which is in no mean
    truth = np.array([_exact(number) for number in numbers])
    estimate = np.array([verdict_of[f"n{number}"]["iou"] for number in numbers])
    assert metrics["rmse"]["value"] == pytest.approx(np.sqrt(np.mean((estimate - truth) ** 2)), abs=2e-6)
    assert metrics["rmse"]["n"] == 11
    covered = [verdict_of[f"n{n}"]["iou_low"] <= _exact(n) <= verdict_of[f"n{n}"]["iou_high"] for n in numbers]
    assert metrics["coverage"]["value"] == pytest.approx(np.mean(covered), abs=1e-6)
    assert metrics["spearman"]["value"] == pytest.approx(np.corrcoef(_ranks(estimate), _ranks(truth))[0, 1], abs=1e-6)
    for key, label in (("defect", "defect"), ("action", "action")):
        labelled = [n for n in numbers if n != 1]
        true = [lines[f"n{n}"]["truth"][key] for n in labelled]
        estimated_labels = [verdict_of[f"n{n}"][label] for n in labelled]
        defects = [lines[f"n{n}"]["truth"]["defect"] for n in labelled]
        assert metrics[f"f2_tables_{key}"]["value"] == pytest.approx(
            _f2_tables(estimated_labels, true, defects), abs=1e-6
        )
        assert metrics[f"f2_confusion_{key}"]["value"] == pytest.approx(_f2_confusion(estimated_labels, true), abs=1e-6)
        assert metrics[f"f2_tables_{key}"]["n"] == 10
    for metric in metrics.values():
        assert metric["low"] is None or metric["low"] <= metric["value"] <= metric["high"]
        assert "version:" in metric["signature"]


def _ranks(values: np.ndarray) -> np.ndarray:
    """Average ranks, ties shared."""
    return np.array([(values < value).sum() + ((values == value).sum() + 1) / 2 for value in values])


def _f2_tables(estimated: list[str], true: list[str], defects: list[str]) -> float:
    """MQA-RefAVS: one true defect at a time, macro over the labels that are right there; the mean over the defects."""
    columns = []
    for defect in set(defects):
        labels = [(a, b) for a, b, own_defect in zip(estimated, true, defects, strict=True) if own_defect == defect]
        parts = []
        for name in {b for _, b in labels}:
            hit = sum(a == b == name for a, b in labels)
            n_called, occurs = sum(a == name for a, _ in labels), sum(b == name for _, b in labels)
            parts.append(5 * hit / (4 * occurs + n_called))
        columns.append(np.mean(parts))
    return float(np.mean(columns))


def _f2_confusion(estimated: list[str], true: list[str]) -> float:
    """Eq. 11: F2 of each class from the counts of the whole set; the mean over classes that occur or are named."""
    parts = []
    for name in {*estimated, *true}:
        hit = sum(a == b == name for a, b in zip(estimated, true, strict=True))
        missed, false = true.count(name) - hit, estimated.count(name) - hit
        parts.append(5 * hit / (5 * hit + 4 * missed + false))
    return float(np.mean(parts))


def test_the_baselines_beside_the_judge_are_those_computed_by_hand(measured: tuple[Path, dict[str, Any]]) -> None:
    place, _ = measured
    table = json.loads((place / "out" / "tables" / "truth_1_iou.json").read_text())
    truth = np.array([_exact(number) for number in range(1, 12)])
    cells = {row[0]: row for row in table["rows"]}
    perfect = float(cells["always perfect"][2].split()[0])
    constant = float(cells["constant (mean of this truth)"][2].split()[0])
    assert perfect == pytest.approx(np.sqrt(np.mean((1 - truth) ** 2)), abs=6e-4)
    assert constant == pytest.approx(truth.std(), abs=6e-4)
    assert {row[1] for row in table["rows"]} == {"11"}


def test_a_truth_that_cannot_be_read_is_counted_until_it_is_repaired(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    save_mask(source / "truth.png", LEFT)
    lines = [
        item("one", truth={"mask": "truth.png"}),
        item("two", frame="frames/b.png", mask="masks/b.png", truth={"mask": "other.png"}),
    ]
    options = AuditOptions(source=write_lines(source / "items.jsonl", *lines), out=tmp_path / "out", workers=0)
    summary = audit_folder(options)
    table = tmp_path / "out" / "tables" / "truth_1_iou.json"
    assert (summary.ok, summary.failed, summary.metrics["rmse"]["n"]) == (2, 0, 1)
    assert "1 truths could not be read" in json.loads(table.read_text())["note"]
    save_mask(source / "other.png", RIGHT)
    summary = audit_folder(options)
    assert summary.metrics["rmse"]["n"] == 2
    assert "could not be read" not in json.loads(table.read_text())["note"]
    assert len(rows(tmp_path / "out" / "verdicts.jsonl")) == 2


def test_the_truth_of_an_item_reaches_python_too(tmp_path: Path) -> None:
    (listed_item,) = list_items(folder_input(tmp_path / "in", ("a",))).items
    with_truth_item = replace(listed_item, truth=Truth(iou=0.1, defect="merge"))
    (with_truth,), (without_truth,) = list(auscult.audit([with_truth_item])), list(auscult.audit([listed_item]))
    assert replace(with_truth, seconds=0) == replace(without_truth, seconds=0)


def test_an_audit_reads_its_verdicts_once_and_opens_each_frame_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for judging and once for the crops of the worst; before that a resumed run reads what is done."""
    source = folder_input(tmp_path / "in")
    n_opened: Counter[str] = Counter()
    plain = os.open

    def counting_open(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        n_opened["/".join(Path(path).parts[-2:])] += flags & (os.O_WRONLY | os.O_RDWR) == 0
        return plain(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", counting_open)
    audit_folder(AuditOptions(source=source, out=tmp_path / "out", workers=0))
    assert [n_opened[f"frames/{stem}.png"] for stem in "abc"] == [2, 2, 2]
    assert n_opened["out/verdicts.jsonl"] == 2


def test_an_audit_enters_few_modules(tmp_path: Path) -> None:
    options = AuditOptions(source=folder_input(tmp_path / "in"), out=tmp_path / "out", workers=0)
    entered = entered_modules(audit_folder, options)
    assert 40 < len(entered) <= MOST_MODULES, entered


@pytest.mark.parametrize(("judge", "early"), [("masks.prompted.v1", 1), ("prompted", 1), ("cues", 0)])
def test_workers_of_the_default_judge_start_before_the_input_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judge: str, early: int
) -> None:
    counts = []

    class Counting(EarlyWorkers):
        def take(self, first: bytes, *, memory_mb: int | None) -> list[Process]:
            processes = super().take(first, memory_mb=memory_mb)
            counts.append(len(processes))
            return processes

    monkeypatch.setattr("auscult.jobs.runner.EarlyWorkers", Counting)
    source = folder_input(tmp_path / "in")
    summary = audit_folder(AuditOptions(source=source, out=tmp_path / "out", judge=judge, workers=2))
    assert counts[0] == early
    assert summary.failed == 0
