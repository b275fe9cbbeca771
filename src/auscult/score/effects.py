"""What each part of a composed model is worth, and whether a seed changes who is better (AVI-Bench D.3, D.4, E.3).

A grid has every combination of a few parts in two versions each, named so: ``q1_a1_v1`` to ``q2_a2_v2``. The effect of
a part is the mean of the numbers with its second version less that with its first. The effect of two parts together,
their interaction, is half of by how much the effect of one differs with the version of the other; of three likewise.
All of them and the mean give every number back.

Source: AVI-Bench, Tables 9 and 12; effects as in Box, Hunter and Hunter, "Statistics for Experimenters", chapter 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Final

import numpy as np

from auscult.errors import InputError
from auscult.types import Doubles

TOGETHER: Final = " x "
"""Between the names of parts in the name of an interaction."""
_MOST_PARTS: Final = 6
_FORM: Final = "names such as q1_a1_v1 to q2_a2_v2: every combination of parts in two versions each"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsGrid:
    """A grid of models."""

    parts: tuple[str, ...]  # names of the parts: what the names of their versions begin with
    versions: tuple[tuple[str, str], ...]  # the two versions of each part, the first and the second
    models: tuple[str, ...]  # the name of the model of each combination, the last part changing first


def parts_grid(names: Sequence[str]) -> PartsGrid:
    """The grid that models form by their names.

    Raises:
        InputError: They form none.

    Example:
        >>> parts_grid(["q1_v1", "q1_v2", "q2_v1", "q2_v2"]).parts
        ('q', 'v')
    """
    split = [name.split("_") for name in names]
    parts = len(split[0]) if split else 0
    if not 2 <= parts <= _MOST_PARTS or any(len(words) != parts for words in split):
        raise InputError(f"the models {_names_text(names)} form no grid", expected=_FORM)
    versions = [tuple(sorted({words[part] for words in split})) for part in range(parts)]
    expected = ["_".join(combination) for combination in product(*versions)]
    if any(len(pair) != 2 for pair in versions) or sorted(expected) != sorted(names):
        raise InputError(f"the models {_names_text(names)} form no grid", expected=_FORM)
    pairs = tuple((version[0], version[1]) for version in versions)
    called = tuple(_begin(*pair) for pair in pairs)
    return PartsGrid(parts=called, versions=pairs, models=tuple(expected))


def contrasts(grid: PartsGrid) -> dict[str, dict[str, float]]:
    """Of each part and each set of parts: what each model's number is multiplied by before they are added up."""
    levels = list(product((-1, 1), repeat=len(grid.parts)))
    half = len(levels) / 2
    sets = chain.from_iterable(combinations(range(len(grid.parts)), size) for size in range(1, len(grid.parts) + 1))
    return {
        TOGETHER.join(grid.parts[part] for part in chosen): {
            model: float(np.prod([signs[part] for part in chosen])) / half
            for model, signs in zip(grid.models, levels, strict=True)
        }
        for chosen in sets
    }


def effects(grid: PartsGrid, numbers: Mapping[str, Doubles | float]) -> dict[str, Doubles]:
    """Effects of parts and their interactions, in the unit of the numbers, of numbers (or arrays of them) by model."""
    return {
        name: np.sum([weight * np.asarray(numbers[model], np.float64) for model, weight in weights.items()], axis=0)
        for name, weights in contrasts(grid).items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStability:
    """How far several runs of the same models agree."""

    pairs: int  # pairs of models
    kept: int  # pairs that are in the same order in every run; equal numbers in one run are in no order
    moved: int  # the most ranks that a model moves
    changed: float  # the most that a model's number changes between runs
    closest: float  # the least by which two models differ in a run


def rank_stability(runs: Sequence[Mapping[str, float]]) -> RankStability:
    """Whether runs, as with other seeds, order the same models alike.

    Args:
        runs: Numbers by model, higher is better, of two runs or more.

    Raises:
        InputError: Fewer than two runs or models, or other models in one of them.
    """
    models = list(runs[0]) if runs else []
    if len(runs) < 2 or len(models) < 2 or any(set(run) != set(models) for run in runs):
        raise InputError(
            f"there are {len(runs)} runs of {_names_text(models)}",
            expected="two runs or more of the same models, two or more",
        )
    table = np.array([[run[model] for model in models] for run in runs], np.float64)
    pairs = list(combinations(range(len(models)), 2))
    signs = np.array([np.sign(table[:, left] - table[:, right]) for left, right in pairs])
    ranks = 1 + (table[:, None, :] > table[:, :, None]).sum(axis=2)
    return RankStability(
        pairs=len(pairs),
        kept=int(((signs == signs[:, :1]).all(axis=1) & (signs[:, 0] != 0)).sum()),
        moved=int(np.ptp(ranks, axis=0).max()),
        changed=float(np.ptp(table, axis=0).max()),
        closest=float(min(np.abs(table[:, left] - table[:, right]).min() for left, right in pairs)),
    )


def _begin(first: str, second: str) -> str:
    """The common beginning of two versions, else both."""
    same = next((index for index, (one, two) in enumerate(zip(first, second, strict=False)) if one != two), len(first))
    return first[:same].rstrip("-. ") or f"{first}/{second}"


def _names_text(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:8]) + (", ..." if len(names) > 8 else "")
