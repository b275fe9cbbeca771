"""Pieces of a picture and their borders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.arrays import segments


def halves() -> np.ndarray:
    picture = np.full((40, 60, 3), 40, np.uint8)
    picture[:, 31:] = 200
    return picture


def test_edges_are_strong_where_the_colour_changes_and_nowhere_else() -> None:
    strength = segments.edge_strength(halves())
    assert strength.shape == (40, 60)
    assert strength[:, 30:32].min() > 20
    assert strength[:, :28].max() == strength[:, 34:].max() == 0


def test_no_piece_crosses_a_strong_edge() -> None:
    picture = halves()
    labels = segments.pieces(picture, segments.edge_strength(picture), step_px=10)
    assert set(np.unique(labels[:, :30])).isdisjoint(np.unique(labels[:, 33:]))


@settings(max_examples=20, deadline=None)
@given(height=st.integers(1, 50), width=st.integers(1, 50), step=st.integers(2, 20), seed=st.integers(0, 99))
def test_pieces_cover_the_picture_with_dense_labels(height: int, width: int, step: int, seed: int) -> None:
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    labels = segments.pieces(picture, segments.edge_strength(picture), step_px=step)
    assert labels.shape == (height, width)
    assert np.array_equal(np.unique(labels), np.arange(labels.max() + 1))


@settings(max_examples=20, deadline=None)
@given(height=st.integers(1, 12), width=st.integers(1, 12), seed=st.integers(0, 99))
def test_borders_are_counted_as_a_plain_loop_counts_them(height: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, (height, width)).astype(np.int32)
    strength = rng.random((height, width)).astype(np.float32)
    want: dict[tuple[int, int], list[float]] = {}
    for row in range(height):
        for column in range(width):
            for other in ((row, column + 1), (row + 1, column)):
                if other[0] < height and other[1] < width and labels[row, column] != labels[other]:
                    pair = tuple(sorted((int(labels[row, column]), int(labels[other]))))
                    want.setdefault(pair, []).append(float(max(strength[row, column], strength[other])))
    border_table = segments.borders(labels, strength)
    assert [tuple(pair) for pair in border_table.pairs.tolist()] == sorted(want)
    assert border_table.length_px.tolist() == [len(want[pair]) for pair in sorted(want)]
    assert border_table.strength.tolist() == pytest.approx([sum(want[pair]) for pair in sorted(want)])
