"""The weights of ``onsets_match.likeness``: what ridge regression found, rounded; see the page on the model.

Rows are: the measures of a candidate, the same times the narrow bell of its distance in x, the same times the wide one.
"""

from __future__ import annotations

from typing import Final

from auscult.models.classical.onsets_sight import Kind

WEIGHTS: Final[dict[Kind, tuple[tuple[float, ...], ...]]] = {
    "moving": (
        (0.015, -0.010, 0.061, 0.115, -0.072, -0.057, 0.000, 0.127, 0.060),
        (-0.084, 0.079, 0.075, 0.033, -0.184, -0.074, 0.000, 0.123, -0.081),
        (-0.120, 0.145, 0.091, 0.074, -0.184, -0.063, 0.000, 0.170, 0.134),
    ),
    "standing": (
        (0.036, 0.049, 0.065, -0.099, -0.056, -0.039, -0.063, 0.109, -0.015),
        (0.101, 0.139, -0.031, 0.017, -0.036, -0.037, -0.033, -0.097, -0.033),
        (0.176, 0.152, -0.047, -0.005, -0.101, -0.038, -0.159, -0.041, -0.159),
    ),
    "alone": (
        (0.059, 0.080, 0.020, -0.084, -0.094, -0.063, -0.084, 0.101, -0.028),
        (0.057, 0.085, -0.062, -0.009, -0.118, -0.049, -0.006, -0.088, -0.019),
        (0.121, 0.150, -0.019, -0.047, -0.181, -0.071, -0.198, 0.131, 0.031),
    ),
}
