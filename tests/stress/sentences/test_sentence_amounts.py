"""How much is changed at each level: the release's counts, and more at every greater strength."""

from __future__ import annotations

import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from sentence_cases import (
    ALL,
    CHARACTER_MISSING,
    GRAMMAR_ERROR,
    HOMOGLYPHS,
    LONG,
    MISPUNCTUATION,
    MISSPELLING,
    NESTED,
    edits,
    perturbed_text_of,
    real_sentences,
)

from auscult.rng import generator
from auscult.stress.sentences.base import SentenceStressor
from auscult.stress.sentences.rewriting import edit_distance

THIRTY = "a small dog barks at the tower"
TEN_WORDS = "the small dog that barks after the horn sounds twice"
LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


def test_counts_of_30_characters_are_the_release_s() -> None:
    assert len(THIRTY) == 30
    n_lost = [30 - len(perturbed_text_of(CHARACTER_MISSING, THIRTY, strength=level)) for level in (1, 3, 5)]
    marks = [len(perturbed_text_of(MISPUNCTUATION, THIRTY, strength=level)) - 30 for level in (1, 3, 5)]
    assert n_lost == [2, 4, 8]
    assert marks == [1, 4, 6]


def test_counts_of_10_words_are_the_paper_s_shares() -> None:
    counts = [len(edits(MISSPELLING, TEN_WORDS, strength=level)) for level in LEVELS]
    assert counts == [2, 3, 4, 5, 6]


def test_look_alikes_replace_as_many_letters_as_their_share() -> None:
    counts = [len(edits(HOMOGLYPHS, "a" * 100, strength=level)) for level in LEVELS]
    assert counts == [5, 10, 15, 20, 25]


@pytest.mark.parametrize("seed", range(5))
def test_faults_of_grammar_grow_with_the_level_and_one_is_there_from_level_1(seed: int) -> None:
    counts = [len(edits(GRAMMAR_ERROR, LONG, strength=level, seed=seed)) for level in LEVELS]
    assert counts[0] >= 1
    assert counts == sorted(counts)
    assert counts[-1] >= counts[0] + 3


@pytest.mark.parametrize("stressor", NESTED, ids=lambda stressor: stressor.name)
def test_what_changes_at_one_strength_changes_at_every_greater_one(stressor: SentenceStressor) -> None:
    for low, high in pairwise([edits(stressor, LONG, strength=level / 4) for level in range(1, 21)]):
        assert set(low) <= set(high)


def test_edit_distance_is_levenshtein_s() -> None:
    rng = generator(0, "distance")
    for _ in range(60):
        before, after = ("".join(rng.choice(list("ab c"), size=int(rng.integers(0, 9)))) for _ in range(2))
        assert edit_distance(before, after) == _plain_distance(before, after)


def _plain_distance(before: str, after: str) -> int:
    if not before or not after:
        return len(before) + len(after)
    distance_if_same = _plain_distance(before[1:], after[1:])
    if before[0] == after[0]:
        return distance_if_same
    return 1 + min(distance_if_same, _plain_distance(before[1:], after), _plain_distance(before, after[1:]))


def test_the_median_edit_distance_grows_with_the_level_on_real_sentences(data: Path) -> None:
    sentences = real_sentences(data, per_source=20)
    for stressor in ALL:
        medians = [
            statistics.median(
                edit_distance(sentence, perturbed_text_of(stressor, sentence, strength=level)) for sentence in sentences
            )
            for level in LEVELS
        ]
        assert all(low < high for low, high in pairwise(medians)), f"{stressor.name}: {medians}"


def test_few_real_sentences_stay_as_they_were(data: Path) -> None:
    sentences = real_sentences(data, per_source=20)
    for stressor in ALL:
        unchanged = [
            sentence for sentence in sentences if perturbed_text_of(stressor, sentence, strength=3.0) == sentence
        ]
        assert len(unchanged) <= 2, f"{stressor.name}: {unchanged}"
