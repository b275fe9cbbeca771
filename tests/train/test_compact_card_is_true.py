"""The shipped weights, measured again on the real material, give the shipped card of the compact judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.judge.cards import load_card
from auscult.judge.masks.compact import JUDGE
from auscult.judge.masks.compact.network import load_network
from auscult.train.compact.card import StudyOptions, study
from auscult.train.compact.card_page import card_page
from auscult.train.compact.card_words import METRICS

# processors round differently; a mask at the edge of a decision may fall to the other side
TOLERANCE = 0.01
AGAIN = ("coco_test_freehand", "davis_test_real", "davis_test_arbitrary", "coco_test_small", "generated_test_u")
PAGE = Path(__file__).parents[2] / "docs" / "cards" / f"{JUDGE.name}.md"


def test_the_card_is_of_the_shipped_weights_and_of_the_test_part() -> None:
    card = load_card(JUDGE.name)
    assert any(load_network().digest in line for line in card.split)
    assert set(AGAIN) <= set(card.sets)
    assert set(card.metrics) == set(METRICS)
    assert all(name in card.sets for name in {result.set for result in card.results})


def test_the_page_is_the_card() -> None:
    text = PAGE.read_text(encoding="utf-8")
    card = load_card(JUDGE.name)
    start, end = text.index("## Failures"), text.index("## Results")
    failures = text[start:end].removeprefix("## Failures").strip()
    assert text == card_page(card, failures=failures)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_measuring_again_reproduces_a_part_of_the_card(data: Path) -> None:
    card = load_card(JUDGE.name)
    found = study(data, judge=JUDGE, options=StudyOptions(seed=card.seed, only=AGAIN))
    again = {(one.set, one.row, one.metric): one for one in found.results}
    shipped = {(one.set, one.row, one.metric): one for one in card.results if one.set in AGAIN}
    for source, said in card.constants.items():
        assert found.known.constants[source] == pytest.approx(said["constant-IoU"], abs=1e-4)
    # what is named of few masks may come and go with one of them
    steady = {key for key, one in shipped.items() if one.n >= 30 and not one.metric.startswith("reliability")}
    assert steady <= again.keys()
    for key in steady:
        assert again[key].n == pytest.approx(shipped[key].n, abs=2), key
        if shipped[key].value is not None:
            assert again[key].value == pytest.approx(shipped[key].value, abs=max(TOLERANCE, 2 / shipped[key].n)), key
