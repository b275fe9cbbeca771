"""ACC, Rate, balanced ACC and kappa: values made by hand, and laws under random labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.agent.debate import CHOICE_SETS
from auscult.agent.evaluation.labels import Label, Score, kappa, labelled, offer_for, score, table_of_grades

NAMES = tuple("abcdefgh")
GRADES = st.lists(st.sampled_from((0, 1, 2)), min_size=len(NAMES), max_size=len(NAMES))
TAKEN = st.sets(st.sampled_from(NAMES))


def _label(grades: list[int]) -> Label:
    by_grade = [
        frozenset(name for name, grade in zip(NAMES, grades, strict=True) if grade == grade_index)
        for grade_index in range(3)
    ]
    return Label(needed=by_grade[2], plausible=by_grade[1])


@pytest.mark.parametrize(
    ("score_name", "selected", "expected"),
    [
        # needed a b, plausible c d, impossible e f g h
        ("ACC", "ab", 1.0),
        ("ACC", "ac", 6 / 8),  # b is left out, c is taken
        ("ACC", "", 6 / 8),
        ("ACC", "abcdefgh", 2 / 8),
        ("Rate", "abc", 1.0),  # what is plausible may be taken or left out
        ("Rate", "ac", 7 / 8),  # b is missing
        ("Rate", "abe", 7 / 8),  # e is impossible
        ("Rate", "", 6 / 8),
        ("Rate", "abcdefgh", 4 / 8),
        ("balanced ACC", "ac", (1 / 2 + 5 / 6) / 2),
        ("balanced ACC", "", 0.5),
        ("balanced ACC", "abcdefgh", 0.5),
    ],
)
def test_scores_by_hand(score_name: Score, selected: str, expected: float) -> None:
    label = Label(needed=frozenset("ab"), plausible=frozenset("cd"))
    assert score(score_name, label, offered=NAMES, selected=set(selected)) == pytest.approx(expected)


def test_without_anything_needed_balanced_acc_is_the_share_that_is_left_out() -> None:
    label = Label(needed=frozenset(), plausible=frozenset("a"))
    assert score("balanced ACC", label, offered=NAMES, selected={"a", "b"}) == 6 / 8


@settings(max_examples=30, deadline=None)
@given(GRADES, TAKEN)
def test_laws_of_the_scores(grades: list[int], taken: set[str]) -> None:
    label = _label(grades)
    acc, rate = (score(score_name, label, offered=NAMES, selected=taken) for score_name in ("ACC", "Rate"))
    assert 0 <= acc <= rate <= 1, "what ACC counts as right Rate finds reasonable"
    assert rate - acc == pytest.approx(len(taken & label.plausible) / len(NAMES))
    for score_name in ("ACC", "Rate", "balanced ACC"):
        assert score(score_name, label, offered=NAMES, selected=label.needed) == 1
        backwards = score(score_name, label, offered=NAMES[::-1], selected=sorted(taken))
        assert backwards == score(score_name, label, offered=NAMES, selected=taken)
    one_by_one = [label.reasonable(name, selected=name in taken) for name in NAMES]
    assert np.mean(one_by_one) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[10, 0, 0], [0, 10, 0], [0, 0, 10]], 1.0),
        ([[4, 4, 0], [4, 4, 0], [0, 0, 0]], 0.0),  # as chance would have it
        ([[0, 5, 0], [5, 0, 0], [0, 0, 0]], -1.0),
        # agreed .7; chance .5 * .6 + .5 * .4 = .5
        ([[20, 5, 0], [10, 15, 0], [0, 0, 0]], (0.7 - 0.5) / (1 - 0.5)),
        # agreed .6; chance .3 * .2 + .3 * .5 + .4 * .3 = .33
        ([[2, 1, 0], [0, 2, 1], [0, 2, 2]], (0.6 - 0.33) / (1 - 0.33)),
        ([[0, 0, 0], [0, 9, 0], [0, 0, 0]], np.nan),
    ],
)
def test_kappa_by_hand(counts: list[list[float]], expected: float) -> None:
    assert float(kappa(np.array(counts, float))) == pytest.approx(expected, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(GRADES, GRADES)
def test_laws_of_kappa(first: list[int], second: list[int]) -> None:
    counts = table_of_grades(_label(first), _label(second), NAMES)
    assert counts.tolist() == [
        [sum(pair == (grade, other) for pair in zip(first, second, strict=True)) for other in range(3)]
        for grade in range(3)
    ]
    agreement = float(kappa(counts))
    assert agreement == pytest.approx(float(kappa(counts.T)), nan_ok=True), "neither labeller comes first"
    assert np.isnan(agreement) or -1 - 1e-9 <= agreement <= 1 + 1e-9
    assert float(kappa(np.stack([counts, 3 * counts]))[1]) == pytest.approx(agreement, nan_ok=True)
    if first == second and len(set(first)) > 1:
        assert agreement == pytest.approx(1)


def test_labels_are_of_what_is_offered_and_enough() -> None:
    first, second = labelled(), labelled(second=True)
    assert (
        len({labelled_.id for labelled_ in first})
        == len({labelled_.instruction for labelled_ in first})
        == len(first)
        >= 120
    )
    assert len({labelled_.situation for labelled_ in first}) >= 30
    assert {labelled_.task for labelled_ in first} == {"ris", "vos", "rvos", "avs", "refavs"}
    assert min(sum(labelled_.half == split for labelled_ in first) for split in ("dev", "test")) >= 55
    by_id = {labelled_.id: labelled_ for labelled_ in first}
    assert len({labelled_.id for labelled_ in second}) == len(second) == 30
    for labelled_ in second:
        assert by_id[labelled_.id].instruction == labelled_.instruction
        assert by_id[labelled_.id].task == labelled_.task
        assert by_id[labelled_.id].labeller != labelled_.labeller
    for labelled_ in first:  # a sound that nobody hears cannot be wished for, and a silent sample cannot be heard
        silent = {sample.name for sample in offer_for(labelled_.task).samples if not sample.facts["sound"]}
        assert silent
        if labelled_.task in {"avs", "refavs"}:
            label = labelled_.labels["samples"]
            assert not silent & (label.needed | label.plausible), labelled_.id
        for choice_set in CHOICE_SETS:
            label, names = (
                labelled_.labels[choice_set],
                [item.name for item in offer_for(labelled_.task).of(choice_set)],
            )
            assert all(label.reasonable(name, selected=label.grade(name) == 2) for name in names)
            assert not any(
                label.reasonable(name, selected=label.grade(name) == 0) for name in names if label.grade(name) != 1
            )
