"""Every statistic says the same of booleans, whole numbers and floats, of Python's and of numpy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.rng import generator
from auscult.score import stats
from auscult.score.stats.change import mean_of_ratios, mean_ratio, ratio_change
from auscult.score.stats.few_clusters import at_most, cluster_upper_bound, fewest_clusters, upper_bound
from auscult.score.stats.trend import neighbour_medians, oddness, theil_sen

TYPES: dict[str, Callable[[Any], Any]] = {
    "bool": bool, "float": float, "np.bool_": np.bool_, "np.int8": np.int8, "np.uint8": np.uint8, "np.int64": np.int64,
    "np.float32": np.float32, "np.float64": np.float64,
}  # fmt: skip
ONE, OTHER = "abcd" * 40, "aabbccdd" * 20


def rng() -> np.random.Generator:
    return generator(1, "types")


def by_item(values: Sequence[Any]) -> dict[int, Any]:
    return dict(enumerate(values))


def scores(x: Sequence[Any], y: Sequence[Any]) -> stats.Scores:
    return stats.Scores(clean=by_item(x), levels={"low": by_item(y), "high": by_item(x[::-1])})


def x_and_y(x: Sequence[Any]) -> dict[str, Any]:
    """The clusters of as many items, and how they are drawn."""
    return {"clusters": dict(enumerate(ONE[: len(x)])), "rng": rng(), "replicates": 30}


def as_list(x: Sequence[Any]) -> dict[str, Any]:
    return {"clusters": OTHER[: len(x)], "rng": rng(), "replicates": 30}


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "adapt_to_label_shift": lambda x, _: stats.adapt_to_label_shift([[v, not v] for v in x], [0.4, 0.6]),
    "apc": lambda x, y: stats.apc(x[0], [y[0], x[1]]),
    "associations": lambda x, y: stats.associations(x, y, clusters=ONE[: len(x)], replicates=30),
    "associations_by": lambda x, y: stats.associations_by({"a": x, "b": y}, against="b", clusters=ONE[: len(x)]),
    "auc": stats.auc,
    "auc_of_draws": lambda x, y: stats.auc_of_draws(x, y)(np.ones(len(x))),
    "auc_interval": lambda x, y: stats.auc_interval(x, y, **as_list(x)),
    "bootstrap_interval": lambda x, y: stats.bootstrap_interval(
        lambda v: sum(map(float, v)) / len(v), [x, y], rng=rng()
    ),
    "breaking_point": lambda x, y: stats.breaking_point(scores(x, y), **x_and_y(x)),
    "change_difference": lambda x, y: stats.change_difference(scores(x, y), scores(y, x), **x_and_y(x)),
    "change_interval": lambda x, y: stats.change_interval(scores(x, y), **x_and_y(x)),
    "change_intervals": lambda x, y: stats.change_intervals({"a": scores(x, y)}, **x_and_y(x)),
    "cluster_upper_bound": lambda x, _: cluster_upper_bound([*x, x[0]], [*x, x[0]]),
    "common": lambda x, y: stats.common([by_item(x), by_item(y)]).values.tolist(),
    "confusion": lambda x, y: stats.confusion([str(bool(v)) for v in x], [str(bool(v)) for v in y], ["True", "False"]),
    "correlation": lambda x, y: stats.correlation({"a": by_item(x), "b": by_item(y)}).values.tolist(),
    "coverage": lambda x, y: stats.coverage(np.zeros(len(x)), x, y),
    "cross_fitted": lambda x, y: stats.cross_fitted(
        np.column_stack([x, y]), [bool(v) for v in y], clusters=ONE[: len(x)], rng=rng()
    ),
    "crossing": lambda x, y: stats.crossing(x[0], {"low": y[0], "high": x[1]}),
    "f_beta": lambda x, y: stats.f_beta(x[0], y[0], x[1]),
    "fewest_clusters": lambda x, _: fewest_clusters([1, *x], 0.05),
    "holm": lambda x, _: stats.holm(x),
    "joined": lambda x, y: stats.common([stats.joined({"a": by_item(x), "b": by_item(y)})]).values.tolist(),
    "looks_for": lambda x, _: stats.looks_for(x),
    "mcnemar": stats.mcnemar,
    "mean_change": lambda x, y: stats.mean_change(scores(x, y)),
    "mean_ranks": lambda x, _: stats.mean_ranks(x),
    "mean_of_ratios": lambda x, y: mean_of_ratios([(by_item(x), by_item(y))], **x_and_y(x)),
    "mean_ratio": lambda x, _: mean_ratio(by_item(x), **x_and_y(x)),
    "rank_by_change": lambda x, y: stats.rank_by_change({"a": scores(x, y), "b": scores(y, x)}, **x_and_y(x)),
    "rank_by_score": lambda x, y: stats.rank_by_score({"a": by_item(x), "b": by_item(y)}, **x_and_y(x)),
    "ratio_change": lambda x, y: ratio_change([[(by_item(x), by_item(y))], [(by_item(y), by_item(x))]], **x_and_y(x)),
    "right_difference": lambda x, y: stats.right_difference(x, y, clusters=OTHER[: len(x)]),
    "rmse": stats.rmse,
    "rmse_difference": lambda x, y: stats.rmse_difference(x, y, y, **as_list(x)),
    "rmse_video": lambda x, y: stats.rmse_video(x, y, videos=ONE[: len(x)]),
    "sample_changes": lambda x, y: list(stats.sample_changes(scores(x, y)).values()),
    "share_below": lambda x, _: stats.share_below(x, **as_list(x)),
    "sign_flips": lambda x, _: stats.sign_flips(x),
    "spearman": stats.spearman,
    "spearman_of_draws": lambda x, y: stats.spearman_of_draws(x, y)(np.ones(len(x))),
    "spearman_interval": lambda x, y: stats.spearman_interval(x, y, **as_list(x)),
    "theil_sen": lambda x, _: theil_sen(x, np.arange(len(x))),
    "upper_bound": lambda x, _: upper_bound(x[0], x[0] + 1),
}
LABELS = {"f2_confusion", "f2_tables", "f2_video"}  # of names
OF_FLOAT64 = {"adapted_to_set", "logistic", "logistic_fit"}
ARRAYS = OF_FLOAT64 | {"change", "cluster_draws", "percentile_interval", "sums_by_cluster"}


def plain(found: Any) -> Any:
    """A result as what can be compared and printed; every number must be one of Python's."""
    if is_dataclass(found) and not isinstance(found, type):
        return {field.name: plain(getattr(found, field.name)) for field in fields(found)}
    if isinstance(found, np.ndarray):
        return found.tolist()
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(value) for value in found]
    assert not isinstance(found, np.generic), f"{found!r} is a number of numpy's"
    return found


def test_no_function_is_left_out() -> None:
    public = {name for name in stats.__all__ if callable(getattr(stats, name)) and name[0].islower()}
    assert public <= CALLS.keys() | LABELS | ARRAYS


@pytest.mark.parametrize("name", CALLS)
@given(pairs=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=80))
@settings(max_examples=2, deadline=None)
def test_the_type_of_a_number_does_not_matter(name: str, pairs: list[tuple[int, int]]) -> None:
    call, (x, y) = CALLS[name], map(list, zip(*pairs, strict=True))
    expected = repr(plain(call(x, y)))
    for kind in TYPES.values():
        assert repr(plain(call([kind(value) for value in x], [kind(value) for value in y]))) == expected
    for array in (np.array(x), np.array(x, dtype=bool)):
        if name not in {"upper_bound", "cluster_upper_bound"}:
            assert repr(plain(call(array, np.array(y)))) == expected


def test_more_than_62_items_that_differ_have_a_p_value_in_every_type() -> None:
    for kind in (*TYPES.values(), int):
        result = stats.mcnemar([kind(1)] * 70 + [kind(0)] * 30, [kind(0)] * 70 + [kind(1)] * 30)
        assert result.value == pytest.approx(7.85e-5, rel=0.01)


LARGE = (np.int8, np.uint8, np.int64, np.float32, np.float64)


@pytest.mark.parametrize("kind", LARGE)
def test_numbers_too_large_for_a_small_type_do_not_wrap_around(kind: Callable[[Any], Any]) -> None:
    values = [100, 120, 90, 100, 10, 127, 3]
    calls: list[Callable[[Any], Any]] = [
        neighbour_medians, lambda x: oddness(x, floor=1), stats.sign_flips, lambda x: stats.rmse(x, x[::-1]),
        lambda x: upper_bound(x[0], x[1]), lambda x: at_most(x[0], x[1], rate=0.75), lambda x: stats.apc(x[0], x),
        lambda x: stats.f_beta(x[0], x[1], x[2]), lambda x: cluster_upper_bound(x, [x[-1]] * 7),
    ]  # fmt: skip
    for call in calls:
        assert repr(plain(call([kind(value) for value in values]))) == repr(plain(call(values)))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_shares_are_plain_numbers_in_every_type(kind: Callable[[Any], Any]) -> None:
    assert plain(stats.holm([kind(0.25), kind(0.03125)])) == [0.25, 0.0625]
    assert plain(at_most(100, 120, rate=kind(0.75))) == at_most(100, 120, rate=0.75)
    assert plain(upper_bound(3, 60, confidence=kind(0.875))) == upper_bound(3, 60, confidence=0.875)
