"""The shipped coefficients, measured again on the real material, give the shipped card."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.judge.cards import load_card
from auscult.train.cues import measure

# libraries and processors round differently; a mask at the edge of a decision may fall to the other side
TOLERANCE = 0.01


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_measuring_again_reproduces_the_card(data: Path) -> None:
    card = load_card("masks.cues.v1")
    again = {
        (result.set, result.row, result.metric): result
        for result in measure(data, constants=card.constants, seed=card.seed)
    }
    shipped = {
        (result.set, result.row, result.metric): result
        for result in card.results
        if result.set != "davis_real_leave_one_out"
    }
    assert again.keys() == shipped.keys()
    for key, result in shipped.items():
        found = again[key]
        assert (found.n, found.clusters, found.reason) == (result.n, result.clusters, result.reason), key
        if result.value is not None:
            assert found.value == pytest.approx(result.value, abs=TOLERANCE), key
