"""Answers dealt like cards: in each round every one comes once, in an order of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from auscult.rng import generator

T = TypeVar("T")


def dealt(answers: Sequence[T], index: int, *, seed: int, key: Sequence[str | int]) -> T:
    """The answer of a number, from 0: each is as often as the others, give or take one, and no number tells which."""
    turn, place = divmod(index, len(answers))
    return answers[int(generator(seed, *key, turn).permutation(len(answers))[place])]
