"""Rows that look at nothing."""

import pytest
from mqa_material import benchmark, candidate

from auscult.act.policy import DEFAULT
from auscult.suites.mqa.rows import ALWAYS_PERFECT, CONSTANT, RANDOM, baseline_answers, constant_of
from auscult.types import ACTIONS, DEFECTS


def test_the_constant_comes_from_the_training_part():
    training = [
        candidate("a", iou=0.9, defect="erode"),
        candidate("b", iou=0.5, defect="erode"),
        candidate("c", iou=0.1, defect="merge"),
        candidate("d", iou=None, defect="dilate"),
        candidate("e", iou=0.0, defect="empty"),
    ]
    constant = constant_of(training)
    assert (constant.iou, constant.defect, constant.trained) == (pytest.approx(0.5), "erode", 3)
    assert "3 training masks" in constant.words


def test_without_a_training_part_the_constant_is_fixed_and_says_so():
    constant = constant_of([])
    assert (constant.iou, constant.defect, constant.trained) == (0.80, "cutout", 0)
    assert "no training part" in constant.words


def test_the_rows_answer_everything():
    candidates = benchmark(1)
    rows = baseline_answers(candidates, constant_of([]), DEFAULT)
    assert list(rows) == [ALWAYS_PERFECT, CONSTANT, RANDOM]
    for answers in rows.values():
        assert answers.keys() == {candidate_.id for candidate_ in candidates}
        assert all(answer.defect in DEFECTS and answer.action in ACTIONS for answer in answers.values())
        assert all(answer.low is None and answer.high is None for answer in answers.values())
    perfect = set(rows[ALWAYS_PERFECT].values())
    assert [(answer.iou, answer.defect, answer.action) for answer in perfect] == [(1.0, "perfect", "accept")]
    constant = set(rows[CONSTANT].values())
    assert [(answer.iou, answer.defect, answer.action) for answer in constant] == [(0.80, "cutout", "major_revision")]


def test_the_random_row_depends_on_the_id_alone():
    candidates = benchmark(2)
    forward = baseline_answers(candidates, constant_of([]), DEFAULT)[RANDOM]
    backward = baseline_answers(candidates[::-1][:40], constant_of([]), DEFAULT)[RANDOM]
    assert all(forward[name] == answer for name, answer in backward.items())
    assert len({answer.iou for answer in forward.values()}) == len(forward)
    assert {answer.defect for answer in forward.values()} == set(DEFECTS)
    assert forward != baseline_answers(candidates, constant_of([]), DEFAULT, seed=1)[RANDOM]
