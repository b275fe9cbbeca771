"""From candidates and answers to cells: against the statistics one by one, and what must never count as a number."""

import csv
import io
import json
import time
from dataclasses import replace

import pytest
from mqa_material import answers, benchmark, candidate, right

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats import (
    Interval,
    bootstrap_interval,
    coverage,
    f2_confusion,
    f2_tables,
    f2_video,
    few_clusters,
    rmse,
    rmse_video,
    spearman,
)
from auscult.suites.core.page import cells_csv
from auscult.suites.mqa.evaluate import (
    COLUMNS,
    SIZES,
    JudgedBlock,
    TableNumber,
    ablation_cells,
    block_cells,
    blocks_of,
    calibration_error,
    measured_by,
    reliability,
    size_cells,
    size_name,
    training_of,
)
from auscult.suites.mqa.rows import JudgeAnswer, candidates_of
from auscult.suites.mqa.tables import interval_text, number_text, results_of, summary_metrics
from auscult.types import ACTIONS, DEFECTS, Item, MaskRef, Truth

CANDIDATES = benchmark(4)
ANSWERS = answers(CANDIDATES)


def _judged_block(block, answer_map):
    return JudgedBlock(block=block, judge="judge", answers=answer_map)


def _cells(block, answer_map, **options):
    return {(cell.metric, cell.column): cell for cell in block_cells(_judged_block(block, answer_map), **options)}


@pytest.mark.parametrize("block", blocks_of(CANDIDATES), ids=lambda block: f"{block.protocol}-{block.part}")
def test_every_cell_is_the_statistic_of_its_masks(block):
    cells = _cells(block, ANSWERS)
    for column in COLUMNS[block.protocol]:
        candidates = [candidate_ for candidate_ in block.candidates if column.holds(candidate_)]
        answers_ = [ANSWERS[candidate_.id] for candidate_ in candidates]
        estimates, true = [answer.iou for answer in answers_], [candidate_.iou for candidate_ in candidates]
        types, actions = [answer.defect for answer in answers_], [answer.action for answer in answers_]
        right_types, right_actions = (
            [candidate_.defect for candidate_ in candidates],
            [candidate_.action for candidate_ in candidates],
        )
        if block.protocol == "image":
            expected = (
                rmse(estimates, true).value,
                f2_tables(types, right_types, DEFECTS).value,
                f2_tables(actions, right_actions, ACTIONS, columns=["x"] * len(candidates)).value,
            )
        else:
            tracks = [candidate_.track for candidate_ in candidates]
            expected = (
                rmse_video(estimates, true, videos=tracks).value,
                f2_video(types, right_types, DEFECTS, videos=tracks).value,
                f2_video(actions, right_actions, ACTIONS, videos=tracks).value,
            )
        values = tuple(cells[metric, column.key].outcome.value for metric in ("rmse", "f2_m", "f2_a"))
        assert values == pytest.approx(expected)


def test_what_is_over_all_masks_is_the_statistic_of_all_masks():
    block = blocks_of(CANDIDATES)[0]
    cells = _cells(block, ANSWERS)
    answers_ = [ANSWERS[candidate_.id] for candidate_ in block.candidates]
    true = [candidate_.iou for candidate_ in block.candidates]
    assert cells["rmse", "all"].outcome.value == pytest.approx(rmse([answer.iou for answer in answers_], true).value)
    type_score = f2_confusion(
        [answer.defect for answer in answers_], [candidate_.defect for candidate_ in block.candidates], DEFECTS
    )
    assert cells["f2_confusion_m", "all"].outcome.value == pytest.approx(type_score.value)
    acted = f2_confusion(
        [answer.action for answer in answers_], [candidate_.action for candidate_ in block.candidates], ACTIONS
    )
    assert cells["f2_confusion_a", "all"].outcome.value == pytest.approx(acted.value)
    expected_coverage = coverage([answer.low for answer in answers_], [answer.high for answer in answers_], true)
    assert cells["coverage", "all"].outcome.value == pytest.approx(expected_coverage.value)


@pytest.mark.parametrize("metric", ["f2_m", "f2_a", "f2_confusion_a"])
@pytest.mark.parametrize("unparsed", ["wrong", "skip"])
def test_the_number_from_sums_is_the_number_of_the_items(metric, unparsed):
    block = blocks_of(CANDIDATES)[0]
    kept_candidates = [
        candidate_ for candidate_ in block.candidates if metric != "f2_m" or candidate_.defect == "erode"
    ]
    silent = {kept_candidates[0].id: JudgeAnswer(), kept_candidates[3].id: JudgeAnswer(iou=0.4, defect="merge")}
    pairs = [(candidate_, {**ANSWERS, **silent}[candidate_.id]) for candidate_ in kept_candidates]
    measurement = measured_by(metric, pairs, protocol="image", unparsed=unparsed)
    assert measurement.from_sums(measurement.rows.sum(axis=0)[None])[0] == pytest.approx(measurement.outcome.value)
    assert measurement.n == len(kept_candidates) - (measurement.unparsed if unparsed == "skip" else 0)


def test_intervals_are_those_of_the_bootstrap_on_the_items(monkeypatch):
    monkeypatch.setattr(few_clusters, "FEW", 2)  # the draws themselves
    block = blocks_of(CANDIDATES)[0]
    cell = _cells(block, ANSWERS)["rmse", "merge"]
    clips = {candidate_.clip for candidate_ in block.candidates}
    groups = [
        [
            (ANSWERS[candidate_.id].iou, candidate_.iou)
            for candidate_ in block.candidates
            if candidate_.clip == clip and candidate_.defect == "merge"
        ]
        for clip in clips
    ]
    from auscult.rng import generator

    slow = bootstrap_interval(
        lambda pairs: rmse([a for a, _ in pairs], [b for _, b in pairs]), groups, rng=generator(0, "x")
    )
    assert isinstance(cell.outcome, Interval)
    assert cell.outcome.clusters == 4
    assert (cell.outcome.low, cell.outcome.high) == pytest.approx((slow.low, slow.high), abs=0.01)


def test_a_right_judge_is_perfect_everywhere():
    for block in blocks_of(CANDIDATES):
        for (metric, _), cell in _cells(
            block, {candidate_.id: right(candidate_) for candidate_ in block.candidates}
        ).items():
            assert cell.outcome.value == pytest.approx(0.0 if metric == "rmse" else 1.0)


def test_a_failed_case_is_in_no_number_and_is_counted():
    block = blocks_of(CANDIDATES)[0]
    erode = [
        candidate_
        for candidate_ in block.candidates
        if candidate_.defect == "erode" and candidate_.difficulty == "hard"
    ]
    answer_map = {candidate_.id: right(candidate_) for candidate_ in block.candidates} | {
        erode[0].id: JudgeAnswer(iou=0.0, defect="merge")
    }
    with_miss = _cells(block, answer_map)["f2_m", "erode_hard"]
    without_miss = _cells(block, {name: answer for name, answer in answer_map.items() if name != erode[0].id})[
        "f2_m", "erode_hard"
    ]
    assert with_miss.outcome.value < 1
    assert (without_miss.outcome.value, without_miss.n, without_miss.failed) == (1.0, with_miss.n - 1, 1)


def test_an_empty_column_is_undefined_not_zero():
    block = blocks_of([candidate_ for candidate_ in CANDIDATES if candidate_.defect != "dilate"])[0]
    cells = _cells(block, ANSWERS)
    empty = cells["rmse", "dilate_hard"]
    assert isinstance(empty.outcome, Undefined)
    assert (empty.n, empty.failed) == (0, 0)
    defined = [cells["rmse", column.key].outcome for column in COLUMNS["image"]]
    values = [outcome.value for outcome in defined if isinstance(outcome, Scored)]
    assert len(values) == 7
    assert cells["rmse", "avg"].outcome.value == pytest.approx(sum(values) / 7)
    row = empty.row()
    assert (row["value"], row["low"], row["reason"]) == (None, None, "no masks of this column")


def test_a_reply_without_an_answer_is_a_miss_or_left_out_and_always_counted():
    candidates = [candidate(f"c{number}", defect="erode", iou=0.8, action="major_revision") for number in range(4)]
    answer_map = {candidate_.id: right(candidate_) for candidate_ in candidates} | {"c0": JudgeAnswer()}
    block = blocks_of(candidates)[0]
    wrong, skipped = _cells(block, answer_map), _cells(block, answer_map, unparsed="skip")
    assert wrong["rmse", "all"].outcome.value == pytest.approx((0.8**2 / 4) ** 0.5)
    assert skipped["rmse", "all"].outcome.value == pytest.approx(0.0)
    assert wrong["f2_confusion_m", "all"].outcome.value == pytest.approx(5 * 3 / (5 * 3 + 4))
    assert skipped["f2_confusion_m", "all"].outcome.value == 1.0
    assert {cells["rmse", "all"].unparsed for cells in (wrong, skipped)} == {1}
    tables = results_of(candidates, {"judge": answer_map}).tables
    assert "left out" in tables["image_all_rmse_skip"].title
    assert tables["image_all_answers"].rows[0] == ("judge", "4", "4", "0", "0", "1", "1", "1")


def test_a_frame_without_an_answer_leaves_the_mean_of_its_track():
    candidates = [
        candidate(f"f{number}", protocol="video", track="t", clip="c", frame=number, iou=0.5, defect="erode")
        for number in range(3)
    ]
    answer_map = {
        "f0": JudgeAnswer(iou=0.5, defect="erode"),
        "f1": JudgeAnswer(defect="erode"),
        "f2": JudgeAnswer(iou=0.7, defect="erode"),
    }
    cells = _cells(blocks_of(candidates)[0], answer_map)
    assert cells["rmse", "all"].outcome.value == pytest.approx(0.1)
    assert cells["rmse", "all"].n == 1
    silent = _cells(blocks_of(candidates)[0], {candidate_.id: JudgeAnswer() for candidate_ in candidates})
    assert silent["rmse", "all"].outcome.value == pytest.approx(0.5)


def test_blocks_follow_the_splits_and_never_mix_in_the_training_part():
    train = [
        replace(candidate_, split="train", id=f"t/{candidate_.id}")
        for candidate_ in CANDIDATES
        if candidate_.protocol == "image"
    ]
    null = replace(CANDIDATES[0], split="test_n", id="null")
    blocks = blocks_of([*train, *CANDIDATES, null])
    assert [(block.protocol, block.part) for block in blocks] == [
        ("image", "seen"), ("image", "unseen"), ("video", "seen"), ("video", "unseen"),
    ]  # fmt: skip
    assert sum(len(block.candidates) for block in blocks) == len(CANDIDATES)
    assert [block.part for block in blocks_of(train)] == ["all"]
    assert len(training_of([*train, *CANDIDATES])) == len(train)
    assert blocks_of([]) == []


def test_tables_have_a_row_per_judge_and_the_counts():
    results = results_of(CANDIDATES, {"one": ANSWERS, "two": {}})
    table = results.tables["video_seen_f2_m"]
    assert [row[0] for row in table.rows] == ["one", "two", "n masks", "n tracks"]
    assert table.rows[1][1:11] == ("–",) * 10
    assert table.rows[2][1:4] == ("12", "12", "12")
    assert table.rows[3][8:10] == ("4", "4")
    assert "Failed and in no number: 108 of two" in table.note
    answer_rows = {row[0]: row for row in results.tables["video_seen_answers"].rows}
    assert answer_rows["two"] == ("two", "156", "0", "156", "0", "0", "0", "0")
    assert all(len(row) == len(table.header) for table in results.tables.values() for row in table.rows)
    ablation = results.tables["image_ablation_rmse"]
    assert ablation.header[13:] == ("Avg.", "95 %", "n", "left out")
    assert ablation.rows[1][-2:] == ("0", "104 failed")
    assert results.tables["video_seen_consistency"].rows[0][0] == "one"


def test_cells_are_told_as_json_csv_and_metrics():
    results = results_of(CANDIDATES, {"one": ANSWERS, "two": {}})
    rows = [cell.row() for cell in results.cells]
    json.dumps(rows, allow_nan=False)
    csv_rows = list(csv.DictReader(io.StringIO(cells_csv(results.cells))))
    assert len(csv_rows) == len(rows)
    assert all((row["value"] == "") == (row["reason"] != "") for row in csv_rows)
    metrics = summary_metrics(results.cells)
    assert metrics["image/seen/rmse/avg/one"].keys() >= {"value", "low", "high", "n", "signature"}
    assert metrics["image/seen/rmse/avg/two"]["value"] is None
    assert metrics["image/seen/rmse/avg/two"]["reason"]
    assert metrics["image/both/rmse_ablation/avg/one"]["value"] is not None


def test_spearman_and_reliability():
    block = blocks_of(CANDIDATES)[0]
    pairs = _judged_block(block, ANSWERS).pairs("rmse")
    expected = spearman([answer.iou for _, answer in pairs], [candidate_.iou for candidate_, _ in pairs])
    cells = {cell.metric: cell for cell in results_of(CANDIDATES, {"one": ANSWERS}).blocks[0].cells["one"]}
    assert cells["spearman"].outcome.value == pytest.approx(expected.value)
    assert cells["spearman"].outcome.low <= expected.value <= cells["spearman"].outcome.high
    curve = reliability(pairs)
    assert sum(point.n for point in curve) == len(pairs)
    assert calibration_error(
        reliability([(candidate_, right(candidate_)) for candidate_, _ in pairs])
    ).value == pytest.approx(0, abs=1e-9)
    constant = [(candidate("a", iou=0.2), JudgeAnswer(iou=1.0)), (candidate("b", iou=0.6), JudgeAnswer(iou=1.0))]
    assert calibration_error(reliability(constant)).value == pytest.approx(0.6)
    assert isinstance(calibration_error(reliability([])), Undefined)


def test_size_bins_hold_every_object_once():
    sizes = [0.0, 0.009, 0.01, 0.049, 0.05, 0.149, 0.15, 0.29, 0.30, 1.0]
    candidates = [candidate(f"c{number}", area=area, defect="erode") for number, area in enumerate(sizes)]
    candidates.append(candidate("unknown", area=None, defect="erode"))
    results = results_of(candidates, {"judge": {candidate_.id: right(candidate_) for candidate_ in candidates}})
    assert [cell.n for cell in results.blocks[0].sizes["judge"]] == [2, 2, 2, 2, 2]
    assert size_name(SIZES[0]) == "under 1 %"


def test_items_become_candidates_and_bad_places_cost_themselves(tmp_path):
    def item(name, extra, truth=Truth(iou=0.5, defect="erode", difficulty="hard")):  # noqa: B008 - frozen
        return Item(
            id=name, frame=tmp_path / f"{name}.png", mask=MaskRef(path=tmp_path / "m.png"), truth=truth, extra=extra
        )

    place = {"uid": "u", "vid": "v", "split": "test_s", "protocol": "video", "frame": 3, "rank": 2, "track": "t"}
    wrong = (("protocol", "sound"), ("frame", -1), ("frame", True), ("rank", "first"), ("area", 2.0), ("uid", 5))
    bad = [{key: value} for key, value in (*wrong, ("split", []))]
    candidates, errors = candidates_of(
        [
            item("good", {"mqa": place}),
            item("plain", {"stress": {"target": "x"}}),
            item("no-truth", {"mqa": place}, None),
            item("list", {"mqa": []}),
            *(item(f"bad{number}", {"mqa": {**place, **change}}) for number, change in enumerate(bad)),
        ]
    )
    assert [candidate_.id for candidate_ in candidates] == ["good", "plain"]
    assert (candidates[0].clip, candidates[0].track, candidates[0].rank, candidates[0].frame) == ("v", "u/t", 2, 3)
    assert (candidates[1].uid, candidates[1].protocol, candidates[1].rank) == ("x", "image", 1)
    assert [name for name, _ in errors] == ["no-truth", "list", *(f"bad{number}" for number in range(len(bad)))]
    assert all(error.expected for _, error in errors)


def _erode(name, **fields):
    return candidate(name, **{"defect": "erode", "iou": 0.8, "area": 0.02, **fields})


@pytest.mark.parametrize("protocol", ["image", "video"])
def test_empty_masks_are_in_no_number_and_counted_as_undefined(protocol):
    candidates = [
        _erode("a", protocol=protocol),
        _erode("b", protocol=protocol, defect="empty", iou=0.0, action="reject"),
    ]
    answer_map = {"a": right(candidates[0]), "b": JudgeAnswer(iou=1.0, defect="merge", action="accept")}
    block = blocks_of(candidates)[0]
    cells = _cells(block, answer_map)
    for metric, value in (("rmse", 0.0), ("f2_confusion_m", 1.0), ("f2_confusion_a", 1.0)):
        cell = cells[metric, "all"]
        assert (cell.outcome.value, cell.n, cell.undefined) == (pytest.approx(value), 1, 1)
    small = size_cells(_judged_block(block, answer_map))[1]
    assert (small.outcome.value, small.n, small.undefined) == (pytest.approx(0.0), 1, 1)


def test_a_track_without_any_iou_counts_as_0_whatever_its_truth():
    candidates = [
        _erode(f"f{frame}", protocol="video", track="t", clip="c", frame=frame, iou=0.9) for frame in range(2)
    ]
    cells = _cells(blocks_of(candidates)[0], {candidate_.id: JudgeAnswer(defect="erode") for candidate_ in candidates})
    assert cells["rmse", "all"].outcome.value == pytest.approx(0.9)
    assert (cells["rmse", "all"].n, cells["rmse", "all"].unparsed) == (1, 2)
    assert isinstance(
        _cells(blocks_of(candidates)[0], {candidate_.id: JudgeAnswer() for candidate_ in candidates}, unparsed="skip")[
            "rmse", "all"
        ].outcome,
        Undefined,
    )


def test_the_interval_of_the_ablation_mean_is_drawn_over_all_its_columns(monkeypatch):
    monkeypatch.setattr(few_clusters, "FEW", 2)  # the draws themselves
    parts = [
        [cell for cell in block_cells(_judged_block(block, ANSWERS)) if cell.metric == "rmse"][:9]
        for block in blocks_of(CANDIDATES)
        if block.protocol == "image"
    ]
    *columns, mean = ablation_cells(*parts)
    assert len(columns) == 12
    mean_draws = sum(cell.draws for cell in columns) / 12
    assert mean.draws == pytest.approx(mean_draws)
    low, high = sorted(mean_draws)[25 - 1], sorted(mean_draws)[-25]
    assert (mean.outcome.low, mean.outcome.high) == (pytest.approx(low, abs=2e-3), pytest.approx(high, abs=2e-3))
    assert mean.draws != pytest.approx(columns[0].draws)


def test_failed_masks_are_counted_in_every_cell_of_sizes():
    candidates = [_erode("a"), _erode("b"), _erode("c", area=0.5), _erode("d", area=0.5, iou=None)]
    cells = size_cells(_judged_block(blocks_of(candidates)[0], {"a": right(candidates[0]), "d": JudgeAnswer(iou=0.5)}))
    assert [(cell.n, cell.failed, cell.undefined) for cell in cells] == [
        (0, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0, 0), (0, 1, 1),
    ]  # fmt: skip
    results = results_of(candidates, {"dead": {}, "judge": {"a": right(candidates[0]), "d": JudgeAnswer(iou=0.5)}})
    table = results.tables["image_all_size"]
    assert table.rows[-1] == ("n", "0", "2", "0", "0", "2")  # the masks themselves, not the first judge's
    assert "2 of judge" in table.note
    assert "4 of dead" in table.note


def test_a_track_whose_object_changes_size_is_in_several_columns():
    candidates = [
        _erode(f"{track}{frame}", protocol="video", track=track, clip=track, frame=frame, area=area)
        for track in "ab"
        for frame, area in enumerate((0.02, 0.03, 0.10))
    ]
    table = results_of(candidates, {"judge": {candidate_.id: right(candidate_) for candidate_ in candidates}}).tables[
        "video_all_size"
    ]
    assert table.rows[-1] == ("n", "0", "2", "2", "0", "0")
    assert "tracks, and a track whose object changes size" in table.note


def test_the_headline_says_what_is_not_in_it():
    candidates = [_erode("a"), _erode("b"), _erode("c", iou=None), _erode("d")]
    answer_map = {"a": right(candidates[0]), "b": JudgeAnswer(defect="erode"), "c": JudgeAnswer(iou=0.5)}
    table = results_of(candidates, {"judge": answer_map}).tables["image_all_overall"]
    row = dict(zip(table.header, table.rows[0], strict=True))
    assert [row[name] for name in ("n", "left out")] == ["2", "1 failed, 1 undefined, 1/1/2 unparsed"]
    all_answers = {candidate_.id: right(candidate_) for candidate_ in (candidates[0], candidates[1])}
    table = results_of(candidates[:2], {"judge": all_answers}).tables["image_all_overall"]
    assert table.rows[0][-2:] == ("2", "0")


@pytest.mark.parametrize(("protocol", "words"), [("image", "counts as 0;"), ("video", "leaves the mean of its track")])
def test_the_note_says_what_a_reply_without_iou_is(protocol, words):
    candidate_ = _erode("a", protocol=protocol)
    assert words in results_of([candidate_], {"judge": {"a": right(candidate_)}}).tables[f"{protocol}_all_answers"].note


def test_what_rounds_to_zero_has_no_sign():
    value = Interval(
        value=-0.0002, signature=Signature.of(source="test"), low=-0.0004, high=0.1, clusters=2, replicates=1,
        undefined=0,
    )  # fmt: skip
    cell = TableNumber(
        protocol="video", part="all", judge="j", metric="excess_change", column="all", outcome=value, n=2
    )
    assert number_text(cell) == "0.000"
    assert interval_text(cell) == "[0.000, 0.100]"
    assert number_text(replace(cell, outcome=replace(value, value=-0.0006))) == "-0.001"


@pytest.mark.slow
def test_a_benchmark_of_the_papers_size_takes_seconds():
    candidates = benchmark(200, protocols=("image",))
    start_s = time.monotonic()
    results_of(candidates, {"judge": answers(candidates)})
    assert time.monotonic() - start_s < 20
