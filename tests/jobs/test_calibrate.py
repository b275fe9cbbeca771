"""`act calibrate`: estimates, intervals and actions of a record anew, from labels of some of its masks."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, RecordError, UsageError
from auscult.jobs.act import filter_record
from auscult.jobs.audit import audit_folder
from auscult.jobs.calibrate import MEAN_IOU, Estimates, Labels, calibrate_record, calibrations_of, fit
from auscult.jobs.estimates import shifts_of
from auscult.jobs.finish import report_folder
from auscult.jobs.options import AuditOptions, CalibrateOptions, FilterOptions, RepairOptions, StressOptions
from auscult.jobs.repair import repair_record
from auscult.jobs.stress import stress_masks
from auscult.record.reader import read_run
from auscult.record.schema import verdict_from_json
from auscult.rng import generator
from small_inputs import auscult, folder_input, rows, tree, write_lines


def judged_masks(n: int, *, seed: int = 0) -> tuple[Estimates, np.ndarray, list[str]]:
    """A judge that is .2 too kind, its probabilities likewise; the true IoUs; one photograph for every two masks."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(0.2, 1.0, n)
    estimate = np.clip(true + rng.normal(0.2, 0.1, n), 0, 1)
    low, high = np.clip(estimate - 0.1, 0, 1), np.clip(estimate + 0.1, 0, 1)
    columns = Estimates(iou=estimate, low=low, high=high, good=1 / (1 + np.exp(-(estimate - 0.8) * 12)))
    return columns, true, [f"photo {number // 2}" for number in range(n)]


def labelled(true: np.ndarray, m: int, *, known_iou: bool = True) -> Labels:
    value = true[:m] if known_iou else np.where(true[:m] >= 0.8, MEAN_IOU["good"], MEAN_IOU["bad"])
    return Labels(index=np.arange(m), iou=value, known=known_iou)


@pytest.mark.parametrize("known_iou", [True, False])
def test_labels_take_a_judge_s_kindness_back(known_iou: bool) -> None:
    columns, true, clusters = judged_masks(2_060)
    fitted = fit(columns, labelled(true, 60, known_iou=known_iou), clusters=clusters).columns
    unlabelled = slice(60, None)

    def rmse(values: np.ndarray) -> float:
        return float(np.sqrt(np.mean((values[unlabelled] - true[unlabelled]) ** 2)))

    assert rmse(fitted.iou) < (0.75 if known_iou else 0.85) * rmse(columns.iou)
    assert rmse(fitted.iou) < rmse(np.full(len(true), true[:60].mean()))
    good = true[unlabelled] >= 0.8
    assert abs(fitted.good[unlabelled].mean() - good.mean()) < 0.5 * abs(columns.good[unlabelled].mean() - good.mean())
    assert np.all((fitted.low <= fitted.iou) & (fitted.iou <= fitted.high))


def test_true_ious_give_intervals_that_hold_their_promise() -> None:
    coverages = []
    for seed in range(40):
        columns, true, clusters = judged_masks(260, seed=seed)
        fitted_columns = fit(columns, labelled(true, 60), clusters=clusters).columns
        coverages.append(np.mean((fitted_columns.low[60:] <= true[60:]) & (true[60:] <= fitted_columns.high[60:])))
    assert 0.86 <= np.mean(coverages) <= 0.95


def test_a_judge_without_intervals_gets_them_from_true_ious_alone() -> None:
    columns, true, clusters = judged_masks(260)
    undefined = np.full(260, np.nan)
    bare = replace(columns, low=undefined, high=undefined, good=undefined)
    fitted_columns = fit(bare, labelled(true, 60), clusters=clusters).columns
    assert 0.8 <= np.mean((fitted_columns.low[60:] <= true[60:]) & (true[60:] <= fitted_columns.high[60:])) <= 1
    assert np.isfinite(fitted_columns.good).all()
    by_labels = fit(bare, labelled(true, 60, known_iou=False), clusters=clusters).columns
    assert np.isnan(by_labels.low).all()


def test_a_label_says_nothing_of_its_own_photograph() -> None:
    columns, true, clusters = judged_masks(200)
    labels = labelled(true, 60)
    other = replace(labels, iou=np.where(np.arange(60) < 2, 1 - labels.iou, labels.iou))
    first, second = (fit(columns, labels_, clusters=clusters).columns for labels_ in (labels, other))
    assert first.iou[:2] == pytest.approx(second.iou[:2], abs=0)
    assert first.iou[100] != second.iou[100]


def test_labels_of_a_single_photograph_are_refused() -> None:
    columns, true, _ = judged_masks(80)
    with pytest.raises(UsageError, match="one photograph"):
        fit(columns, labelled(true, 60), clusters=["photo"] * 80)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit of stressed masks, with their truth."""
    place = tmp_path_factory.mktemp("calibrate")
    folder_input(place / "in", [f"f{number}" for number in range(12)])
    stress_masks(StressOptions(source=place / "in", out=place / "made", workers=0))
    audit_folder(AuditOptions(source=place / "made", out=place / "out", judge="masks.cues.v1", workers=0))
    return place / "out"


@pytest.fixture(scope="module")
def true_ious(record: Path) -> dict[str, float]:
    judged_ids = {row["id"] for row in rows(record / "verdicts.jsonl") if row["iou"] is not None}
    return {row["id"]: row["iou"] for row in rows(record / "truth.jsonl") if row["id"] in judged_ids}


def test_the_new_record_is_one_like_any_other(record: Path, true_ious: dict[str, float], tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    with labels.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "true_iou"), *list(true_ious.items())[:70], ("f0", "")])
    before = tree(record)
    result = auscult("act", "calibrate", record, "--labels", labels, "--out", tmp_path / "out")
    assert result.code == 0
    assert "RMSE on the 70 labelled masks" in result.out
    assert tree(record) == before
    old, new = (rows(folder / "verdicts.jsonl") for folder in (record, tmp_path / "out"))
    assert {row["id"] for row in new} == {row["id"] for row in old}
    assert {row["id"]: row["defect"] for row in new} == {row["id"]: row["defect"] for row in old}
    assert any(
        row["iou"] != other["iou"] for row, other in zip(new, sorted(old, key=lambda row: row["id"]), strict=True)
    )
    assert report_folder(tmp_path / "out").ok == len(old)
    assert filter_record(FilterOptions(folder=tmp_path / "out", out=tmp_path / "picked")).total == len(old)
    calibration = json.loads((tmp_path / "out" / "manifest.json").read_text())["inputs"]["calibration"]
    assert calibration["rmse"]["calibrated"] <= calibration["rmse"]["judge"]


def test_what_was_fitted_to_labels_of_a_set_is_not_adapted_to_it_again(
    record: Path, true_ious: dict[str, float], tmp_path: Path
) -> None:
    copy, labels = shutil.copytree(record, tmp_path / "copy"), tmp_path / "labels.csv"
    given = {"prob_iou_50": 0.9, "prob_shift": 0.4, "prob_prior": [0.4, 0.8]}
    write_lines(copy / "verdicts.jsonl", *({**row, **given} for row in rows(record / "verdicts.jsonl")))
    labels.write_text("id,true_iou\n" + "".join(f"{name},{iou}\n" for name, iou in true_ious.items()))
    calibrated = calibrate_record(CalibrateOptions(folder=copy, labels=labels, out=tmp_path / "new"))
    assert "adapted" not in calibrated.summary.metrics["share_below_80"]["signature"]
    new_rows = rows(tmp_path / "new" / "verdicts.jsonl")
    assert not any("prob_prior" in row for row in new_rows)
    ((remaining, of_50),) = {tuple(row["prob_shift"]) for row in new_rows}
    assert of_50 == 0.4, "labels of .8 say nothing of .5"
    assert f"shift:{remaining:g}|" in calibrated.summary.metrics["share_below_80"]["signature"]
    assert "shift:0.4|" in calibrated.summary.metrics["share_below_50"]["signature"]


def test_the_more_labels_the_less_is_left_that_all_probabilities_are_off_by() -> None:
    rng = generator(1, "shift")
    true = rng.uniform(0.5, 1.0, 2400)
    errors = np.repeat(rng.normal(0, 2, 300), 8)  # alike in all eight masks of a clip
    chances = 1 / (1 + np.exp(-8 * (true - 0.75) - errors))
    columns = Estimates(iou=chances, low=chances * 0, high=chances * 0 + 1, good=chances)

    def shift(count: int, masks_in_a_clip: int = 8) -> float:
        labels = Labels(index=np.arange(count), iou=true[:count], known=True)
        return fit(columns, labels, clusters=[mask // masks_in_a_clip for mask in range(true.size)]).shift

    assert shift(2400) < shift(240) / 2 < shift(64)
    assert shift(2400, masks_in_a_clip=1) < shift(2400) / 1.3, "masks of one clip err together"


def test_labels_of_worse_masks_alone_leave_more_open_than_labels_by_lot() -> None:
    columns, true, clusters = judged_masks(300)
    by_lot, order = np.arange(60), np.argsort(columns.iou)
    of_all, of_worse = (
        fit(columns, Labels(index=index, iou=true[index], known=True), clusters=clusters).shift
        for index in (by_lot, order[100:160])
    )
    assert of_worse > 2 * of_all


def test_two_clips_unlike_one_another_leave_a_record_that_can_be_read() -> None:
    columns, _, _ = judged_masks(400)
    labels = Labels(index=np.arange(400), iou=np.repeat([0.9, 0.3], 200), known=True)
    shift = fit(columns, labels, clusters=["good clip"] * 200 + ["bad clip"] * 200).shift
    assert shifts_of({"prob_shift": [shift, 0.5]}) == (shift, 0.5)
    assert shift > 10, "they say nothing of others"


def test_a_shift_that_is_none_is_named_and_nothing_written(
    record: Path, true_ious: dict[str, float], tmp_path: Path
) -> None:
    copy = shutil.copytree(record, tmp_path / "copy")
    write_lines(copy / "verdicts.jsonl", *({**row, "prob_shift": []} for row in rows(record / "verdicts.jsonl")))
    labels = write_lines(tmp_path / "labels.jsonl", *({"id": name, "true_iou": true_ious[name]} for name in true_ious))
    with pytest.raises(RecordError, match="prob_shift"):
        calibrate_record(CalibrateOptions(folder=copy, labels=labels, out=tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def calibrated_record(record: Path, true_ious: dict[str, float], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calibrated")
    labels = write_lines(place / "labels.jsonl", *({"id": name, "true_iou": iou} for name, iou in true_ious.items()))
    calibrate_record(CalibrateOptions(folder=record, labels=labels, out=place / "out"))
    return place / "out"


@pytest.mark.parametrize("known_iou", [True, False])
def test_what_was_fitted_gives_the_estimates_of_masks_without_a_label(known_iou: bool) -> None:
    columns, true, clusters = judged_masks(100)
    fitted = fit(columns, labelled(true, 60, known_iou=known_iou), clusters=clusters)
    again = fitted.calibration.apply(columns)
    for name in ("iou", "low", "high", "good"):
        assert np.array_equal(getattr(again, name)[60:], getattr(fitted.columns, name)[60:])


def test_a_repair_of_the_new_record_estimates_its_attempts_by_the_same_fit(
    record: Path, calibrated_record: Path, true_ious: dict[str, float], tmp_path: Path
) -> None:
    tried = next(name for name in true_ious if "cutout" in name)
    verdicts = []
    for number, folder in enumerate((record, calibrated_record)):
        one = tmp_path / f"{number}"
        one.mkdir()
        shutil.copy(folder / "manifest.json", one)
        doubted = {"defect": "cutout", "action": "major_revision", "iou_low": 0.05}
        for name, other in (("verdicts.jsonl", doubted), ("masks.jsonl", {})):
            write_lines(one / name, *(row | other for row in rows(folder / name) if row["id"] == tried))
        repair_record(RepairOptions(folder=one, out=tmp_path / f"repaired {number}", workers=0))
        (repair,) = rows(tmp_path / f"repaired {number}" / "repairs.jsonl")
        verdicts.append([verdict_from_json(attempt["verdict"]) for attempt in repair["attempts"]])
    (calibration,) = calibrations_of(read_run(tmp_path / "repaired 1"))
    assert len(verdicts[0]) == len(verdicts[1]) > 1
    for old, new in zip(*verdicts, strict=True):
        assert new.iou != old.iou
        fitted = calibration.verdict(old)
        for name in ("iou", "iou_low", "iou_high", "prob_iou_80"):
            assert getattr(new, name) == pytest.approx(getattr(fitted, name), abs=1e-5)


def test_a_record_calibrated_twice_keeps_both_fits_and_labels_of_repaired_masks_are_told(
    calibrated_record: Path, true_ious: dict[str, float], tmp_path: Path
) -> None:
    once = shutil.copytree(calibrated_record, tmp_path / "once")
    was, three = {"repair": {"attempt": "fill", "before": {}}}, list(true_ious)[:3]
    path = once / "verdicts.jsonl"
    write_lines(path, *(row | (was if row["id"] in three else {}) for row in rows(path)))
    labels = calibrated_record.parent / "labels.jsonl"
    twice = calibrate_record(CalibrateOptions(folder=once, labels=labels, out=tmp_path / "twice"))
    assert twice.notes == ("3 labels of repaired masks: of the masks as they are now, not as they were",)
    first, both = (calibrations_of(read_run(folder)) for folder in (once, twice.out))
    assert (len(first), len(both)) == (1, 2)
    assert both[:1] == first


def test_a_fit_that_the_manifest_does_not_hold_is_no_fit(calibrated_record: Path, tmp_path: Path) -> None:
    altered = shutil.copytree(calibrated_record, tmp_path / "altered")
    manifest = json.loads((altered / "manifest.json").read_text())
    del manifest["inputs"]["calibration"]["fits"]
    (altered / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RecordError) as refused:
        repair_record(RepairOptions(folder=altered, out=tmp_path / "out", workers=0))
    assert "act calibrate" in refused.value.hint


def test_the_page_of_the_new_record_says_that_it_was_fitted(
    record: Path, calibrated_record: Path, true_ious: dict[str, float]
) -> None:
    words = f"Estimates, intervals and actions were fitted to {len(true_ious)} labels"
    assert words in (calibrated_record / "report.html").read_text()
    assert words not in (record / "report.html").read_text()


def test_marks_do_as_json_lines_too(record: Path, true_ious: dict[str, float], tmp_path: Path) -> None:
    marks = [{"id": name, "label": "good" if iou >= 0.8 else "bad"} for name, iou in list(true_ious.items())[:70]]
    labels = write_lines(tmp_path / "labels.jsonl", *marks, {"id": list(true_ious)[70], "label": "unsure"}, {"id": "?"})
    calibrated = calibrate_record(CalibrateOptions(folder=record, labels=labels, out=tmp_path / "out"))
    assert (calibrated.labels, calibrated.known, calibrated.rmse) == (70, False, {})
    assert calibrated.notes == ("1 mask marked as unsure",)


def test_a_manifest_that_was_altered_does_no_harm(record: Path, true_ious: dict[str, float], tmp_path: Path) -> None:
    altered = shutil.copytree(record, tmp_path / "altered")
    manifest = json.loads((altered / "manifest.json").read_text())
    (altered / "manifest.json").write_text(json.dumps({**manifest, "inputs": "%s%n"}))
    labels = write_lines(tmp_path / "labels.jsonl", *({"id": name, "true_iou": iou} for name, iou in true_ious.items()))
    result = auscult("act", "calibrate", altered, "--labels", labels, "--out", tmp_path / "out")
    assert result.code == 0, result.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,label\n", "first row"),
        ("id,label\na,fine\n", "the label is"),
        ("id,true_iou\na,1.5\n", "the IoU is"),
        ("id,label\na,good\n", "1 of 1 labels name no mask"),
        ("id,label\na,good,\n", "3 cells"),
    ],
)
def test_labels_that_are_none_are_refused(record: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises((InputError, UsageError), match=message):
        calibrate_record(CalibrateOptions(folder=record, labels=tmp_path / "labels.csv", out=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_few_labels_labels_of_one_kind_and_a_twice_named_mask_are_refused(
    record: Path, true_ious: dict[str, float], tmp_path: Path
) -> None:
    names = list(true_ious)
    for named_ids, message in (
        (names[:59], "59 of the"),
        (names[:60], "one side"),
        (names[:1] * 2, "named twice"),
    ):
        labels = write_lines(tmp_path / "labels.jsonl", *({"id": name, "label": "good"} for name in named_ids))
        with pytest.raises((InputError, UsageError), match=message):
            calibrate_record(CalibrateOptions(folder=record, labels=labels, out=tmp_path / "out"))


def test_a_record_is_never_written_into(record: Path, true_ious: dict[str, float], tmp_path: Path) -> None:
    marks = ({"id": name, "true_iou": iou} for name, iou in true_ious.items())
    labels = write_lines(tmp_path / "labels.jsonl", *marks)
    with pytest.raises(RecordError, match="lies in the record"):
        calibrate_record(CalibrateOptions(folder=record, labels=labels, out=record / "new"))
