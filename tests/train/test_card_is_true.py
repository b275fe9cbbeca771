"""The shipped judges, measured again on real material, give their shipped cards; a sample here, see `make cards`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from auscult.jobs.runner import Silent
from auscult.judge.cards import load_card
from auscult.judge.masks.prompted import PromptedJudge
from auscult.train.cues import measure
from auscult.train.prompted.material import read_material

# libraries and processors round differently; a mask at the edge of a decision may fall to the other side
TOLERANCE = 0.01
SAMPLE = () if os.environ.get("AUSCULT_CARDS") == "whole" else ("davis_test_real", "coco_test_small")
FEW = ("csnet", "rvos")
"""Families with few masks on test pictures, none of them made by our own code."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_measuring_again_reproduces_the_card(data: Path) -> None:
    card = load_card("masks.cues.v1")
    measured_again = {
        (result.set, result.row, result.metric): result
        for result in measure(data, constants=card.constants, seed=card.seed, sets=SAMPLE)
    }
    shipped = {
        (result.set, result.row, result.metric): result
        for result in card.results
        if result.set in SAMPLE or not (SAMPLE or result.set == "davis_real_leave_one_out")
    }
    assert measured_again.keys() == shipped.keys()
    for key, result in shipped.items():
        measured = measured_again[key]
        assert (measured.n, measured.clusters, measured.reason) == (result.n, result.clusters, result.reason), key
        if result.value is not None:
            assert measured.value == pytest.approx(result.value, abs=TOLERANCE), key


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_default_judge_says_of_real_masks_what_its_card_says(data: Path, tmp_path: Path) -> None:
    import prompted_card as cards

    material = read_material(data, families=FEW, parts=("calibration", "test", "unseen"))
    things_listed = cards.real_things(material, data, None, parts=("test", "unseen"))

    def few_things() -> cards.Iterator[cards.Judgeable]:
        return (thing_ for thing_ in things_listed() if thing_.family in FEW)

    known_columns = cards.known_columns(material)
    columns, rows = cards.rows_of([PromptedJudge()], few_things, tmp_path, known=known_columns, progress=Silent())
    shipped = {
        (result_.set, result_.metric): result_
        for result_ in load_card(cards.JUDGE).results
        if result_.row == cards.JUDGE
    }
    sets = cards.real_sets(columns)
    for name in (f"family.{family}" for family in FEW):
        _, inside = sets[name]
        measured_again = {
            result.metric: result
            for result in cards.results_of(
                name,
                columns.where(inside),
                {cards.JUDGE: rows[cards.JUDGE].where(inside)},
                metrics=cards.REAL,
                seed=0,
            )
        }
        assert int(np.count_nonzero(inside)) == shipped[name, "rmse"].n
        for metric in ("auc_80", "spearman", "rmse", "coverage_90", "accepted"):
            assert measured_again[metric].value == pytest.approx(shipped[name, metric].value, abs=TOLERANCE), (
                name,
                metric,
            )
