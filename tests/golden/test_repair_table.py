"""MQA-RefAVS, Table 7: J&F from J and F, and what repair gains, against the printed cells."""

from __future__ import annotations

import pytest

from auscult.jobs.repair import Scores, compared, j_and_f

PRINTED = {  # in percent: J, F, J&F of seen, then of unseen; first before, then after
    "EEMC": ((31.9, 42.2, 37.1, 16.7, 32.5, 24.6), (38.4, 50.6, 44.5, 56.7, 66.0, 61.3)),
    "TGS-Agent": ((36.4, 47.6, 42.0, 44.9, 53.8, 49.3), (37.1, 49.6, 43.4, 46.7, 55.7, 51.2)),
}
HALF_A_DIGIT = 0.05 + 1e-9  # J and F were rounded before, and .05 is printed as either neighbour


@pytest.mark.parametrize("model", PRINTED)
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("part", [0, 1])
def test_j_and_f_is_the_mean_of_the_printed_cells(model: str, after: int, part: int) -> None:
    j, f, j_and_f_mean = PRINTED[model][after][3 * part : 3 * part + 3]
    assert j_and_f(j, f) == pytest.approx(j_and_f_mean, abs=HALF_A_DIGIT)


def test_the_cell_that_is_printed_lower_and_the_two_gains() -> None:
    assert j_and_f(44.9, 53.8) == pytest.approx(49.35)
    parts = {
        name: [[Scores(before[start] / 100, before[start + 1] / 100, after[start] / 100, after[start + 1] / 100)]]
        for before, after in (PRINTED["EEMC"],)
        for name, start in (("seen", 0), ("unseen", 3))
    }
    table = compared(parts).tables["before_after"]
    columns = dict(zip(table.header, zip(*table.rows, strict=True), strict=True))
    assert columns["unseen, J"][:3] == ("16.7", "56.7", "+40.0")
    assert columns["unseen, F"][:3] == ("32.5", "66.0", "+33.5")
    assert columns["unseen, J&F"][:2] == ("24.6", "61.4")  # printed 61.3
    assert columns["seen, J"][:3] == ("31.9", "38.4", "+6.5")


def test_the_interval_of_a_gain_stays_within_what_a_gain_can_be() -> None:
    """Of five masks one was empty and is drawn anew: widened for so few, the interval would go beyond 200 %."""
    masks = [[Scores(1 - gain, 1 - gain, 1.0, 1.0)] for gain in (0.0, 0.2, 0.0, 0.97, 0.0)]
    found = compared({"all": masks})
    for metric in ("repair_gain_j_all", "repair_gain_f_all", "repair_gain_j_and_f_all"):
        assert -1 <= found.metrics[metric]["low"] < found.metrics[metric]["value"] < found.metrics[metric]["high"] <= 1
