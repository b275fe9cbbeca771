"""Pairs of sentence and candidate, and the numbers that are made of the answers."""

from __future__ import annotations

import numpy as np
import pytest

from auscult.rng import generator
from auscult.scenes.options import SceneOptions
from auscult.train.matcher.pairs import (
    CheckAnswer,
    PairKind,
    SentencePair,
    answers,
    calibrated_words,
    fit_curve,
    numbers,
    painted,
    pairs_of,
    tables,
    vocabulary,
)
from auscult.types import Case, Identity, Metadata, Prediction

Matches = dict[tuple[str, bytes], float | None]
OPTIONS = SceneOptions(size=(96, 170), seconds=4.0)


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    source = painted("train")
    return [pair for scene in range(3) for pair in pairs_of(source, scene, seed=4, options=OPTIONS)]


class Knows:
    """A check that says what it is told, by the candidate and the words."""

    name = "identity.knows.v1"
    meta = Metadata(summary="", goal="", modality="image", source="")

    def __init__(self, matches: Matches) -> None:
        self.matches = matches

    def __call__(self, case: Case, prediction: Prediction) -> Identity | None:
        match = self.matches[str(case.query.text), prediction.mask.tobytes()]
        return None if match is None else Identity(match=match)


def pair(family: str, *, is_alike: bool = False, truth: bool) -> SentencePair:
    frame, mask = np.zeros((4, 4, 3), np.uint8), np.ones((4, 4), bool)
    kind: PairKind = "perfect" if truth else "other"
    return SentencePair(
        scene=0, frame=frame, mask=mask, text="it", family=family, kind=kind, alike=is_alike, kept=float(truth)
    )


def test_a_pair_says_what_is_true_of_it(pairs: list[SentencePair]) -> None:
    assert {pair.kind for pair in pairs} >= {"perfect", "other"}
    for pair in pairs:
        assert pair.mask.any()
        assert pair.mask.shape == pair.frame.shape[:2] == (96, 170)
        if pair.kind == "perfect":
            assert pair.kept == 1.0
        if pair.kind == "other":
            assert pair.kept == 0.0
        if pair.kind == "merge":
            assert 0 < pair.kept < 1
        assert pair.matches == (pair.kind != "other")
        assert not (pair.null and pair.matches)


def test_pairs_follow_from_the_seed(pairs: list[SentencePair]) -> None:
    second = list(pairs_of(painted("train"), 0, seed=4, options=OPTIONS))
    first = [pair for pair in pairs if pair.scene == 0]
    assert [pair.text for pair in second] == [pair.text for pair in first]
    assert all(
        np.array_equal(first_pair.mask, second_pair.mask) for first_pair, second_pair in zip(second, first, strict=True)
    )


def test_a_check_that_knows_is_right_everywhere(pairs: list[SentencePair]) -> None:
    matches: Matches = {(pair.text, pair.mask.tobytes()): 0.9 if pair.matches else 0.1 for pair in pairs}
    measures = numbers(answers(Knows(matches), pairs))
    assert measures["answered"] == measures["auc"] == measures["right"] == measures["f2_wrong"] == 1.0
    assert 0 < measures["f2_blind"] < 1


def test_what_was_not_answered_is_counted_and_enters_nothing_else(pairs: list[SentencePair]) -> None:
    matches: Matches = {(pair.text, pair.mask.tobytes()): None if pair.matches else 0.1 for pair in pairs}
    measures = numbers(answers(Knows(matches), pairs))
    assert 0 < measures["answered"] < 1
    assert measures["auc"] is None
    assert measures["right_kept"] is None
    assert measures["wrong_found"] == 1.0


def test_tables_part_what_one_frame_decides_from_the_rest() -> None:
    def answer_of(family: str, *, is_alike: bool, match: float, truth: bool) -> CheckAnswer:
        return CheckAnswer(pair=pair(family, is_alike=is_alike, truth=truth), match=match)

    rows = [
        answer_of("position", is_alike=True, match=0.8, truth=True),
        answer_of("position", is_alike=True, match=0.7, truth=False),
        answer_of("sounding", is_alike=False, match=0.9, truth=True),
    ]
    measures = tables(rows)
    assert measures["all"]["n"] == 3
    assert measures["decidable"]["n"] == measures["decidable, alike"]["n"] == 2
    assert measures["family sounding"]["right"] == 1.0
    assert measures["kind other"]["right"] == 0.0


@pytest.mark.parametrize(
    ("matches", "area"),
    [({True: 0.9, False: 0.1}, 1.0), ({True: 0.5, False: 0.5}, 0.5), ({True: 0.5}, None)],
)
def test_area_under_the_curve_counts_ties_half(matches: dict[bool, float], area: float | None) -> None:
    check_answers = [CheckAnswer(pair=pair("colour", truth=truth), match=match) for truth, match in matches.items()]
    assert numbers(check_answers)["auc"] == area


def test_the_fitted_curve_finds_the_one_that_made_the_answers() -> None:
    rng = generator(0, "curve")
    raw = rng.uniform(0.02, 0.98, 4000)
    logit = np.log(raw / (1 - raw))
    truth = rng.random(4000) < 1 / (1 + np.exp(-(0.6 * logit + 0.4)))
    slope, offset, loss = fit_curve(raw, truth)
    assert slope == pytest.approx(0.6, abs=0.08)
    assert offset == pytest.approx(0.4, abs=0.1)
    assert loss < 0.69


def test_calibration_turns_a_check_that_always_says_the_contrary_down(pairs: list[SentencePair]) -> None:
    words = vocabulary([painted("train")])
    wrong: Matches = {(pair.text, pair.mask.tobytes()): 0.1 if pair.matches else 0.9 for pair in pairs}
    calibrated = calibrated_words(words, pairs, lambda _: Knows(wrong))
    assert calibrated.slope == 0.05


def test_the_vocabulary_is_of_what_is_trained_on() -> None:
    words = vocabulary([painted("train")])
    assert "bell" in words.categories
    assert "cat" not in words.categories  # unseen
    assert all(not maker for _, _, maker in words.voices)
    assert words.parts == (len(words.categories), len(words.categories) + 11)
