"""Effects of parts and stability under seeds: the paper's Tables 9 and 12, and laws of the arithmetic."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.score.effects import contrasts, effects, parts_grid, rank_stability

with (Path(__file__).parents[1] / "golden" / "avi_paper_tables.csv").open(encoding="utf-8") as file:
    CELLS = {(row["table"], row["row"], row["metric"]): float(row["printed"]) for row in csv.DictReader(file)}
NAMES = [row for table, row, metric in CELLS if (table, metric) == ("9", "L1")]
LEVELS = ("L1", "L2", "L3", "L4")


def of_table_9(level):
    return effects(parts_grid(NAMES), {name: CELLS["9", name, level] for name in NAMES})


def test_the_grid_of_table_9():
    grid = parts_grid(NAMES[::-1])
    assert (grid.parts, grid.versions[0], len(grid.models)) == (("q", "a", "v"), ("q1", "q2"), 8)
    assert grid.models[:2] == ("q1_a1_v1", "q1_a1_v2")


@pytest.mark.parametrize(
    ("level", "by_hand"),
    [  # mean with the second version less mean with the first, by hand from the eight cells
        ("L1", {"q": 0.88, "a": 7.405, "v": -0.145}),
        ("L2", {"q": 3.335, "a": 5.78, "v": -0.495}),
        ("L3", {"q": 3.0225, "a": 5.7875, "v": -0.5675}),
        ("L4", {"q": 3.8875, "a": 2.7975, "v": 0.8675}),
    ],
)
def test_effects_of_table_9(level, by_hand):
    effects_found = of_table_9(level)
    assert set(effects_found) == {"q", "a", "v", "q x a", "q x v", "a x v", "q x a x v"}
    assert {name: float(effects_found[name]) for name in by_hand} == pytest.approx(by_hand, abs=1e-9)


def test_what_the_text_says_of_table_9():
    """A better audio model helps in all 16 comparisons (D.4); a better language model in 15, not in all."""

    def changes(part):
        first = [name for name in NAMES if f"{part}1" in name]
        return [
            CELLS["9", name.replace(f"{part}1", f"{part}2"), level] - CELLS["9", name, level]
            for name in first
            for level in LEVELS
        ]

    assert min(changes("a")) > 0
    assert [round(change, 2) for change in changes("q") if change <= 0] == [-0.29]  # L1, a2_v1
    assert sum(change > 0 for change in changes("v")) == 7  # of 16: no consistent gain


def test_rank_stability_of_table_12():
    for level in LEVELS:
        runs = [{model: CELLS["12", f"{model} (s={seed})", level] for model in ("M1", "M2")} for seed in (42, 1024)]
        stability = rank_stability(runs)
        assert (stability.pairs, stability.kept, stability.moved) == (1, 1, 0)
        assert stability.changed < stability.closest
    assert CELLS["12", "M1 (s=42)", "L4"] == CELLS["9", "q1_a1_v1", "L4"]
    assert rank_stability([{"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.0, "b": 4.0, "c": 3.5}]).kept == 2


@given(st.lists(st.floats(0, 100), min_size=8, max_size=8))
def test_mean_and_effects_give_every_number_back(values):
    grid = parts_grid(NAMES)
    effects_found = effects(grid, dict(zip(grid.models, values, strict=True)))
    for place, model in enumerate(grid.models):
        rebuilt = np.mean(values) + sum(
            float(effects_found[name]) / 2 * np.sign(weights[model]) for name, weights in contrasts(grid).items()
        )
        assert rebuilt == pytest.approx(values[place], abs=1e-6)


@given(st.permutations(range(4)), st.floats(0.1, 5))
def test_what_adds_up_has_no_interaction(order, step):
    grid = parts_grid(["q1_a1", "q1_a2", "q2_a1", "q2_a2"])
    effects_found = effects(grid, dict(zip(grid.models, (10.0, 10 + step, 12.0, 12 + step), strict=True)))
    assert {name: float(value) for name, value in effects_found.items()} == pytest.approx(
        {"q": 2, "a": step, "q x a": 0}
    )


@pytest.mark.parametrize(
    "names", [[], ["a"], ["a1_b1", "a1_b2", "a2_b1"], ["a1_b1", "a2"], ["a1", "a2"], ["a1_b1"] * 4]
)
def test_names_that_form_no_grid(names):
    with pytest.raises(InputError, match="form no grid"):
        parts_grid(names)


def test_runs_of_other_models_or_one_alone_are_no_runs():
    for runs in ([], [{"a": 1.0, "b": 2.0}], [{"a": 1.0}] * 2, [{"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0}]):
        with pytest.raises(InputError, match="runs of"):
            rank_stability(runs)
