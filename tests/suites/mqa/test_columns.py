"""Columns of the paper's tables and the three averages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqa_material import KINDS, benchmark, candidate

from auscult.outcome import Scored, Signature, Undefined
from auscult.suites.mqa.evaluate import (
    COLUMNS,
    GROUPS,
    NO_ITEMS,
    TABLE_2,
    TABLE_3,
    plain_mean,
)
from auscult.suites.mqa.evaluate import (
    mean_by_group as group_means,
)

NONE = Undefined(NO_ITEMS)
CELLS = st.lists(st.one_of(st.floats(0, 1), st.none()), min_size=9, max_size=9)


def _outcomes(values):
    return [NONE if value is None else Scored(value, Signature.of(source="test")) for value in values]


def test_every_mask_of_the_benchmark_is_in_exactly_one_column_of_table_2():
    for candidate_ in benchmark(1):
        assert sum(column.holds(candidate_) for column in TABLE_2) == 1


def test_table_3_leaves_out_merges_and_wrong_objects_below_rank_1():
    for candidate_ in benchmark(1):
        n_columns = sum(column.holds(candidate_) for column in TABLE_3)
        assert n_columns == (0 if candidate_.defect in {"merge", "full_neg"} and candidate_.rank != 1 else 1)
    assert {"image": TABLE_2, "video": TABLE_3} == COLUMNS
    assert len(KINDS) == 13


def test_difficulty_counts_before_rank_and_rank_stands_in_for_it():
    hard = next(column for column in TABLE_2 if column.key == "erode_hard")
    assert hard.holds(candidate("a", defect="erode", difficulty="hard", rank=2))
    assert hard.holds(candidate("a", defect="erode", difficulty=None, rank=1))
    assert not hard.holds(candidate("a", defect="erode", difficulty=None, rank=2))


@given(CELLS)
def test_an_empty_column_is_left_out_of_the_mean_and_never_zero(values):
    mean = plain_mean(_outcomes(values))
    defined = [value for value in values if value is not None]
    if not defined:
        assert isinstance(mean, Undefined)
        return
    assert mean.value == pytest.approx(sum(defined) / len(defined))
    assert f"{len(defined)} of 9 columns" in str(mean.signature)


@given(CELLS, CELLS)
def test_the_ablation_mean_averages_difficulties_first(seen, unseen):
    groups = []
    for values in (seen, unseen):
        by_key = {column.key: value for column, value in zip(TABLE_2, values, strict=True)}
        for _, keys in GROUPS:
            members = [by_key[key] for key in keys if by_key[key] is not None]
            groups.append(sum(members) / len(members) if members else None)
    defined = [value for value in groups if value is not None]
    mean = plain_mean([*group_means(_outcomes(seen)), *group_means(_outcomes(unseen))])
    if defined:
        assert mean.value == pytest.approx(sum(defined) / len(defined))
    else:
        assert isinstance(mean, Undefined)


def test_one_part_has_six_columns():
    values = _outcomes([0.1, 0.2, 0.4, None, None, 0.5, None, 1.0, 0.0])
    assert [getattr(mean, "value", None) for mean in group_means(values)] == [
        0.1, pytest.approx(0.3), None, 0.5, 1.0, 0.0,
    ]  # fmt: skip
    assert plain_mean(group_means(values)).value == pytest.approx((0.1 + 0.3 + 0.5 + 1.0) / 5)
