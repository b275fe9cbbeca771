"""Cells of the MQA paper's tables, from the counts of its release: share right, times 100, two decimals."""

import pytest

from auscult.score.stats import f2_tables, f_beta

CELLS = [
    (241, 437, 60.58),
    (350, 437, 83.41),
    (393, 437, 91.78),
    (893, 1274, 74.55),
    (823, 1276, 69.43),
    (179, 303, 64.34),
    (578, 785, 77.73),
]


@pytest.mark.parametrize(("right", "total", "percent"), CELLS)
def test_a_cell_of_the_papers_tables(right, total, percent):
    predicted = ["erode"] * right + ["perfect"] * (total - right)
    cell = f2_tables(predicted, ["erode"] * total, ["perfect", "erode"]).columns["erode"].value
    assert round(100 * cell, 2) == percent
    assert cell == pytest.approx(f_beta(right, 0, total - right).value)
    recall = right / total
    assert cell == pytest.approx(5 * recall / (4 + recall))
