"""Temporal consistency of the video protocol, by hand."""

import pytest
from mqa_material import benchmark, candidate, right

from auscult.outcome import Scored, Undefined
from auscult.suites.mqa.evaluate import JudgedBlock, blocks_of, consistency_cells, track_consistency
from auscult.suites.mqa.rows import JudgeAnswer
from auscult.suites.mqa.tables import results_of


def _cells(block, answer_map):
    return consistency_cells(JudgedBlock(block=block, judge="judge", answers=answer_map))


def _track(true, estimates, defects, numbers=None):
    frames = []
    for place, (iou, estimate, defect) in enumerate(zip(true, estimates, defects, strict=True)):
        number = place if numbers is None else numbers[place]
        candidate_ = candidate(f"f{place}", protocol="video", track="t", frame=number, iou=iou, defect="erode")
        frames.append((candidate_, None if defect is None else JudgeAnswer(iou=estimate, defect=defect)))
    return frames


def test_the_four_quantities_by_hand():
    consistency = track_consistency(_track([0.8, 0.8, 0.9], [0.5, 0.7, 0.6], ["erode", "cutout", "erode"]))
    assert consistency["excess_change"] == pytest.approx((0.2 + 0.1) / 2 - (0.0 + 0.1) / 2)
    assert consistency["step_error"] == pytest.approx((abs(0.2 - 0.0) + abs(-0.1 - 0.1)) / 2)
    assert consistency["agreement"] == pytest.approx(2 / 3)
    assert consistency["flicker"] == 1.0


def test_a_judge_that_follows_is_consistent_however_wrong_it_is():
    consistency = track_consistency(_track([0.8, 0.7, 0.9], [0.3, 0.2, 0.4], ["merge"] * 3))
    assert (consistency["excess_change"], consistency["step_error"]) == (pytest.approx(0), pytest.approx(0))
    assert (consistency["agreement"], consistency["flicker"]) == (1.0, 0.0)


def test_frames_are_put_in_order_and_a_failed_one_breaks_the_steps():
    frames = _track([0.8, 0.8, 0.8, 0.8], [0.1, 0.9, 0.2, 0.3], ["erode", None, "erode", "cutout"], [0, 10, 20, 30])
    consistency = track_consistency(frames[::-1])
    assert consistency["excess_change"] == pytest.approx(0.1)
    assert consistency["flicker"] == 1.0
    assert consistency["agreement"] == pytest.approx(2 / 3)


def test_one_frame_has_no_steps_and_none_nothing():
    consistency = track_consistency(_track([0.8], [0.1], ["erode"]))
    assert (
        consistency["excess_change"],
        consistency["step_error"],
        consistency["agreement"],
        consistency["flicker"],
    ) == (None, None, 1.0, None)
    assert track_consistency([])["agreement"] is None


def test_the_right_judge_is_perfectly_consistent_and_an_absent_one_undefined():
    block = blocks_of(benchmark(3, protocols=("video",)))[0]
    cells = _cells(block, {candidate_.id: right(candidate_) for candidate_ in block.candidates})
    assert [cell.metric for cell in cells] == ["excess_change", "step_error", "agreement", "flicker"]
    assert [cell.outcome.value for cell in cells] == pytest.approx([0, 0, 1, 0])
    assert all(cell.n == 39 for cell in cells)
    absent = _cells(block, {})
    assert all(isinstance(cell.outcome, Undefined) and cell.n == 0 for cell in absent)
    assert not any(isinstance(cell.outcome, Scored) for cell in absent)


def test_failed_frames_and_frames_without_an_answer_are_counted():
    block = blocks_of(benchmark(1, protocols=("video",)))[0]
    answer_map = {candidate_.id: right(candidate_) for candidate_ in block.candidates[4:]}
    answer_map[block.candidates[4].id] = JudgeAnswer(defect="erode")
    answer_map[block.candidates[5].id] = JudgeAnswer(iou=0.5)
    cells = {cell.metric: cell for cell in _cells(block, answer_map)}
    assert all(cell.failed == 4 for cell in cells.values())
    assert all(cell.unparsed == 1 for cell in cells.values())
    table = results_of(block.candidates, {"judge": answer_map}).tables["video_seen_consistency"]
    assert "Failed and in no number: 4 of judge" in table.note
