"""The R-RIS paper: what its text says of its tables, recomputed; and the page that tells it."""

import pytest

from studies import rris_paper_tables as tool

CELLS = tool.read()
WRONG = {"3.54": 3.64, "4.2": 5.20, "5": 3.91, "1.38": 1.36, "66.30": 69.78}
BY_ROUNDING = {"13.70": 13.71, "5.69": 5.68, "3.81": 3.80}


def test_what_does_not_follow_and_what_rounding_explains():
    claims = {kind: {} for kind in ("yes", "rounding", "no")}
    for claim in tool.claims(CELLS):
        claims[claim.agrees][claim.printed] = round(claim.ours, 2)
    assert (claims["no"], claims["rounding"]) == (WRONG, BY_ROUNDING)
    assert {"13.04", "13.20", "5.68", "4.07", "0.43", "1.2", "3.7", "6"} == claims["yes"].keys()


def test_vision_beats_tokens_in_mrr_and_riou_alone():
    assert tool.vision_wins(CELLS) == {"mIoU": 0, "oIoU": 1, "mRR": 3, "rIoU": 3}
    assert tool.head_gains(CELLS) == pytest.approx({"tokens": 6.06, "vision": 9.297}, abs=0.001)


def test_rows_that_stand_in_two_tables_agree_but_one():
    pairs = (("2", "RefSegformer", "R-RefCOCO "), ("5", "3", ""), ("8", "VLTF", ""))
    differing = {
        (table, metric)
        for table, row, prefix in pairs
        for metric in ("mIoU", "oIoU", "mRR", "rIoU")
        if (table, row, prefix + metric) in CELLS
        and CELLS[table, row, prefix + metric] != CELLS["4", "10 vision", metric]
    }
    assert differing == {("8", "oIoU")}


def test_the_page_is_computed():
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(CELLS)
