"""What makes a number trustworthy: the order of work changes nothing, corrections count, damage is refused."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import AuscultError, RecordError
from auscult.jobs import runner
from auscult.jobs.act import filter_record
from auscult.jobs.audit import audit_folder
from auscult.jobs.finish import report_folder, score_record
from auscult.jobs.options import AuditOptions, FilterOptions, StressOptions
from auscult.jobs.stress import stress_masks
from small_inputs import LEFT, folder_input, item, rows, save_frame, save_mask, write_lines


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished record whose INPUT had truth: six frames, seven masks each."""
    place = tmp_path_factory.mktemp("trust")
    source = folder_input(place / "in", "abcdef")
    stress_masks(StressOptions(source=source, out=place / "made", seed=3, workers=0))
    audit_folder(AuditOptions(source=place / "made", out=place / "out", workers=0))
    return place / "out"


def copy(record: Path, place: Path) -> Path:
    shutil.copytree(record, place)
    return place


def test_the_order_in_which_workers_are_done_changes_no_number(record: Path, tmp_path: Path) -> None:
    other = copy(record, tmp_path / "out")
    for name in ("verdicts.jsonl", "truth.jsonl", "scores.jsonl"):
        lines = (other / name).read_text().splitlines(keepends=True)
        random.Random(5).shuffle(lines)
        (other / name).write_text("".join(lines))
    report_folder(other)
    assert json.loads((other / "summary.json").read_text()) == json.loads((record / "summary.json").read_text())
    assert (other / "verdicts.csv").read_bytes() == (record / "verdicts.csv").read_bytes()
    for table in (record / "tables").iterdir():
        assert (other / "tables" / table.name).read_bytes() == table.read_bytes()


def test_a_corrected_truth_counts_without_judging_again(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    options = AuditOptions(source=source / "items.jsonl", out=tmp_path / "out", workers=0)
    write_lines(source / "items.jsonl", item("one", truth={"iou": 0.9}), item("two", truth={"iou": 0.9}))
    before = audit_folder(options).metrics["rmse"]["value"]
    verdict_bytes = (tmp_path / "out" / "verdicts.jsonl").read_bytes()
    write_lines(source / "items.jsonl", item("one", truth={"iou": 0.1}), item("two", truth={"iou": 0.1}))
    assert audit_folder(options).metrics["rmse"]["value"] > before + 0.3
    assert (tmp_path / "out" / "verdicts.jsonl").read_bytes() == verdict_bytes
    assert [row["value"] for row in rows(tmp_path / "out" / "scores.jsonl")] == [0.1, 0.1]


def test_a_repaired_input_has_no_failures_left(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    options = AuditOptions(source=source / "items.jsonl", out=tmp_path / "out", workers=0)
    write_lines(source / "items.jsonl", item("one"), b"{broken", item("two", frame="frames/none.png"))
    summary = audit_folder(options)
    assert (summary.n, summary.ok, summary.failed) == (3, 1, 2)
    write_lines(source / "items.jsonl", item("one"), item("two"))
    summary = audit_folder(options)
    assert (summary.n, summary.ok, summary.failed) == (2, 2, 0)


def test_a_frame_with_many_masks_is_handed_out_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK", 2)
    save_frame(tmp_path / "in" / "frames" / "a.png")
    for number in range(5):
        save_mask(tmp_path / "in" / "masks" / "a" / f"{number}.png", np.roll(LEFT, number, 1))
    summary = audit_folder(AuditOptions(source=tmp_path / "in", out=tmp_path / "out", workers=0))
    assert (summary.ok, summary.failed) == (5, 0)
    assert sorted(row["id"] for row in rows(tmp_path / "out" / "verdicts.jsonl")) == [f"a/{n}" for n in range(5)]


HUGE = 10**400
DAMAGE = {
    "a cluster that is a list": ("truth.jsonl", {"cluster": [1]}),
    "a true IoU of 2": ("truth.jsonl", {"iou": 2}),
    "an estimate no float can hold": ("verdicts.jsonl", {"iou": HUGE}),
    "a probability no float can hold": ("verdicts.jsonl", {"defect_probs": {"perfect": HUGE}}),
    "a score no float can hold": ("scores.jsonl", {"value": HUGE}),
    "an error of a list": ("errors.jsonl", {"id": [1], "stage": "truth", "error": "x"}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_record_gives_a_clear_error_or_the_right_page(name: str, record: Path, tmp_path: Path) -> None:
    file, change = DAMAGE[name]
    other = copy(record, tmp_path / "out")
    lines = rows(other / file) or [{}]
    (other / file).write_text("".join(json.dumps(row) + "\n" for row in [{**lines[0], **change}, *lines[1:]]))
    for command in (report_folder, score_record, lambda folder: filter_record(FilterOptions(folder=folder))):
        with suppress(AuscultError):  # any other exception fails
            command(other)


@pytest.mark.parametrize("arguments", [None, [], "x", {"given": []}])
def test_a_manifest_without_arguments_still_filters(arguments: object, record: Path, tmp_path: Path) -> None:
    other = copy(record, tmp_path / "out")
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps({**manifest, "arguments": arguments}))
    assert filter_record(FilterOptions(folder=other)).total == 42


def test_nothing_outside_is_touched_through_a_link_in_a_record(record: Path, tmp_path: Path) -> None:
    other = copy(record, tmp_path / "out")
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (other / ".written").unlink(missing_ok=True)
    (other / ".written").symlink_to(victim)
    with pytest.raises(RecordError, match="link"):
        report_folder(other)
    assert victim.read_text() == "mine"
