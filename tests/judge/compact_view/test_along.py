"""Measures of the strip: stretches and quantiles are what they are called, wherever the outline begins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.judge.masks.compact.view import MEASURES, along
from auscult.rng import generator

RUNS_OUTSIDE = slice(18 + 12, 18 + 24)
"""Longest stretches: bands outside above 0 (three) and above 0.7, bands inside below 0 and below -0.7."""
EDGES = slice(70, 75)
SIDES = slice(75, 78)


def strip(edge: int = 12, *, likeness: int = 128) -> np.ndarray:
    """A strip whose colour changes after row ``edge``, of one likeness everywhere."""
    strip_values = np.zeros((6, 24, 256), np.uint8)
    strip_values[:3, :edge], strip_values[:3, edge:] = 180, 40
    strip_values[3, :12], strip_values[4], strip_values[5] = 255, 255, likeness
    return strip_values


@pytest.mark.parametrize(("edge", "side"), [(12, 0), (18, 1), (6, 2)])
def test_it_says_on_which_side_of_the_outline_the_edge_lies(edge: int, side: int) -> None:
    measures = along(strip(edge))
    assert measures[SIDES].argmax() == side
    assert measures[SIDES][side] == 1
    assert measures[EDGES].mean() == pytest.approx({0: 0.0, 1: 0.5, 2: -0.5}[side], abs=0.1)


def test_one_colour_has_its_strongest_edge_nowhere() -> None:
    even = strip()
    even[:3] = 90
    assert along(even)[EDGES] == pytest.approx(0, abs=1e-6)


def test_a_stretch_counts_in_one_piece_over_the_seam() -> None:
    long_stretch = strip(likeness=60)
    long_stretch[5, 12:, :64] = 240
    two_stretches = strip(likeness=60)
    two_stretches[5, 12:, 20:52] = two_stretches[5, 12:, 120:152] = 240
    long_runs, short_runs = along(long_stretch)[RUNS_OUTSIDE], along(two_stretches)[RUNS_OUTSIDE]
    assert long_runs[0] == pytest.approx(0.25, abs=0.05)
    assert short_runs[0] == pytest.approx(0.125, abs=0.05)
    seam = np.roll(long_stretch, 230, axis=2)
    assert along(seam)[RUNS_OUTSIDE] == pytest.approx(long_runs, abs=1e-6)


def test_likeness_outside_and_unlikeness_inside_are_told_apart() -> None:
    eroded, grown = strip(likeness=240), strip(likeness=20)
    assert (along(eroded)[18:24] == 1).all()
    assert (along(eroded)[24:30] == 0).all()
    assert (along(grown)[18:24] == 0).all()
    assert (along(grown)[24:30] == 1).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 255), st.booleans())
def test_it_is_finite_and_does_not_mind_where_the_outline_begins(seed: int, shift: int, even: bool) -> None:
    rng = generator(seed, "strip")
    strip_in = np.full((6, 24, 256), 90, np.uint8) if even else rng.integers(0, 256, (6, 24, 256), dtype=np.uint8)
    original = strip_in.copy()
    measures = along(strip_in)
    assert measures.shape == (MEASURES,)
    assert np.isfinite(measures).all()
    assert (strip_in == original).all()
    assert along(np.roll(strip_in, shift, axis=2)) == pytest.approx(measures, abs=1e-3)
    assert along(strip_in[..., ::-1]) == pytest.approx(measures, abs=1e-3)
