"""The judge without some of its inputs, and real masks ranked worst first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.train.compact import card_real
from auscult.train.compact.card_inputs import BLANKED, without
from auscult.train.compact.card_real import Sequel, sequences_table

Arrays = Mapping[str, NDArray[np.float32]]


@pytest.mark.parametrize("name", BLANKED)
def test_only_what_is_taken_away_is_grey(name: str) -> None:
    seen: list[Arrays] = []

    def network(inputs: Arrays) -> dict[str, NDArray[np.float32]]:
        seen.append(inputs)
        return {}

    shapes = {"crop": (2, 6, 8, 8), "context": (2, 5, 4, 4), "strip": (2, 6, 3, 8), "cues": (2, 169)}
    usual = np.zeros(169, np.float32)
    given = {key: np.ones(shape, dtype=np.float32) for key, shape in shapes.items()}
    without(network, BLANKED[name], usual)(given)
    assert all((value == 1).all() for value in given.values())
    blank = {(key, at) for key, value in seen[0].items() for at in range(value.shape[1]) if (value[:, at] == 0).all()}
    expected = {
        (key, at) for key, channels in BLANKED[name] for at in (range(shapes[key][1]) if channels is None else channels)
    }
    assert blank == expected
    assert all(((value == 0) | (value == 1)).all() for value in seen[0].values())


def sequel(said: list[float], true: list[float]) -> Sequel:
    return Sequel(
        sequence="goat",
        model="osvos",
        weights="shipped; nothing saw it",
        frame=np.array([f"{at:05d}" for at in range(len(said))]),
        said=np.array(said),
        true=np.array(true),
    )


def test_the_worst_frames_come_first_and_are_counted() -> None:
    one = sequel([0.9, 0.1, 0.8, 0.3, 0.7, 0.6, 0.2], [0.9, 0.2, 0.1, 0.3, 0.8, 0.85, 0.4])
    assert one.worst() == [1, 6, 3, 5, 4, 2, 0]
    assert one.found() == len({1, 6, 3, 5, 4} & {2, 1, 3, 6, 4})
    text = sequences_table([one])
    assert "00001 (0.10/0.20), 00006 (0.20/0.40)" in text
    assert "4 of 5" in text
    assert "shipped; nothing saw it" in text


def test_equal_estimates_have_no_order_and_say_so() -> None:
    assert "undefined: all values are equal" in sequences_table([sequel([0.5] * 3, [0.1, 0.2, 0.3])])
    assert card_real.WORST == 5
