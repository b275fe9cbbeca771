"""The regression of `sound.cues.v1`: from features to scores, intervals, difficulty and novelty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.types import PERFORMANCE, Doubles

FARTHEST: Final = 4.0
"""Deviations from the mean beyond which a feature says no more."""
LEAST_SIZE: Final = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """Ridge regression on features, their parts above knots, and their products; outputs are 1..5."""

    mean: Doubles  # of each feature, (f,)
    spread: Doubles  # deviation of each
    knots: Doubles  # (k, f), in deviations
    weights: Doubles  # (basis, outputs)

    def standardised(self, values: Doubles) -> Doubles:
        """Features (n, f) in deviations from their means."""
        return np.asarray(np.clip((values - self.mean) / self.spread, -FARTHEST, FARTHEST))

    def basis(self, values: Doubles) -> Doubles:
        """What is weighted, (n, basis)."""
        scaled = self.standardised(values)
        one, two = np.triu_indices(scaled.shape[1], 1)
        bent = [np.maximum(scaled - knot, 0.0) for knot in self.knots]
        return np.hstack([np.ones((len(scaled), 1)), scaled, *bent, scaled[:, one] * scaled[:, two]])

    def __call__(self, values: Doubles) -> Doubles:
        """Outputs (n, outputs) of features (n, f)."""
        return np.asarray(np.clip(self.basis(values) @ self.weights, 1.0, 5.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class CuesModel:
    """What is fitted for outputs with spans, or for those without."""

    scores: Regression  # by ``PERFORMANCE``, from the features of the output
    hard: Regression  # by ``DIFFICULTY_AXES``, from those of the mixture
    errors: Doubles  # weights of the errors' size on the basis of the scores, (basis, 4)
    reach: Doubles  # conformal: how many sizes the interval reaches down and up, (4, 2)
    precision: Doubles  # inverse covariance of the standardised features
    distances: Doubles  # that half of the calibration's outputs keep within in feature space, and 95 %

    def distance(self, values: Doubles) -> Doubles:
        """From the middle of the training's outputs, (n,)."""
        scaled = self.scores.standardised(values)
        return np.asarray(np.sqrt(np.einsum("ni,ij,nj->n", scaled, self.precision, scaled)))

    def novelty(self, values: Doubles) -> Doubles:
        """0 within the median distance of the calibration, .5 at its 95 %, 1 as far again beyond; (n,)."""
        near, far = self.distances
        return np.asarray(np.interp(self.distance(values), (near, far, 2 * far - near), (0.0, 0.5, 1.0)))

    def sizes(self, values: Doubles) -> Doubles:
        """How large errors are expected to be, larger where novel, (n, 4)."""
        expected = np.clip(self.scores.basis(values) @ self.errors, LEAST_SIZE, 2.0)
        return np.asarray(expected * (1.0 + self.novelty(values)[:, None]))

    def intervals(self, values: Doubles) -> Doubles:
        """Scores with the ends of their 90 % intervals, (n, 4, 3)."""
        scores, sizes = self.scores(values), self.sizes(values)
        ends = [scores, scores - sizes * self.reach[:, 0], scores + sizes * self.reach[:, 1]]
        return np.stack([np.clip(end, 1.0, 5.0) for end in ends], axis=2)

    def effects(self, values: Doubles) -> Doubles:
        """By how much each of an output's features (f,) moves the overall score, beside the feature's mean."""
        others = np.tile(values, (len(values), 1))
        np.fill_diagonal(others, self.scores.mean)
        found = self.scores(np.vstack([values, others]))[:, PERFORMANCE.index("overall")]
        return np.asarray(found[0] - found[1:])


def model_json(part: Any) -> Any:
    """A model as JSON values of six decimals; ``model_of`` reads them."""
    if isinstance(part, np.ndarray):
        return np.round(part, 6).tolist()
    return {name: model_json(value) for name, value in vars(part).items()}


def model_of(value: Mapping[str, Any]) -> CuesModel:
    """Read what ``model_json`` gave."""
    parts = {name: np.array(part) for name, part in value.items() if not isinstance(part, dict)}
    scores, hard = (
        Regression(**{key: np.array(numbers) for key, numbers in value[name].items()}) for name in ("scores", "hard")
    )
    return CuesModel(scores=scores, hard=hard, **parts)


@lru_cache(maxsize=1)
def shipped() -> dict[bool, CuesModel]:
    """The models in the package, for outputs with spans and without."""
    text = Path(__file__).with_name("coefficients.json").read_text(encoding="utf-8")
    return {name == "spans": model_of(value) for name, value in json.loads(text).items()}
