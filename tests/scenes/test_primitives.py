"""Questions of `make prise`: answers are dealt evenly, and nothing but the stimulus tells which is true."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from auscult.rng import generator
from auscult.scenes.primitives.base import StimulusKind
from auscult.scenes.primitives.kinds import KINDS, true_answer
from auscult.score.tasks import TASKS

MANY = 2000
EACH = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def truths(kind: StimulusKind, count: int, *, seed: int = 0) -> list[str]:
    return [true_answer(kind, index, seed=seed) for index in range(count)]


@EACH
def test_answers_without_a_look_are_at_chance(kind: StimulusKind) -> None:
    error = 2 * math.sqrt(kind.chance * (1 - kind.chance) / kind.count)
    true = truths(kind, kind.count)
    for constant in kind.answers:
        assert abs(true.count(constant) / len(true) - kind.chance) <= error
    rng, answers = generator(1, "random answerer", kind.name), kind.answers
    guesses = [answers[int(rng.integers(len(answers)))] == truth for truth in truths(kind, MANY)]
    assert abs(sum(guesses) / MANY - kind.chance) <= 3 * math.sqrt(kind.chance / MANY)


@EACH
def test_the_numbers_of_questions_do_not_tell(kind: StimulusKind) -> None:
    """An answerer that learned the truths of one seed, or the answer that followed an answer, is at chance."""
    true, other = truths(kind, MANY), truths(kind, MANY, seed=1)
    share_same = (
        sum(first_answer == second_answer for first_answer, second_answer in zip(true, other, strict=True)) / MANY
    )
    assert abs(share_same - kind.chance) <= 4 * math.sqrt(kind.chance / MANY)
    by_place = [Counter(true[index :: len(kind.answers)]) for index in range(len(kind.answers))]
    best = max(count for counts in by_place for count in counts.values()) * len(kind.answers) / MANY
    assert best <= kind.chance + 5 * math.sqrt(kind.chance * len(kind.answers) / MANY)


def test_questions_and_confirmations_are_as_many_as_in_the_paper() -> None:
    counts: Counter[str] = Counter()
    for kind in KINDS.values():
        counts[kind.folder] += 2 * kind.count
    paper_counts = {
        folder: count for task in TASKS.values() if task.confirmed for folder, count in task.folders.items()
    }
    assert counts == paper_counts
    assert sum(counts.values()) == 2090
