"""What is said of a scene: expressions of its things, each proven again before it leaves this module."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auscult.errors import AuscultError
from auscult.language import grammar, proof
from auscult.language.facts import Facts
from auscult.language.forms import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What shall be said.

    Attributes:
        targets: Ids of the things that may be referred to.
        most: Most expressions.
        nulls: Most null expressions.
    """

    targets: frozenset[str]
    most: int
    nulls: int = 0


def say(rng: np.random.Generator, facts: Facts, wish: Wish) -> tuple[Expression, ...]:
    """Draw expressions that name one thing each, then null expressions that name none.

    Args:
        rng: Where the draws come from.
        facts: The scene.
        wish: What shall be said.

    Returns:
        Expressions of different texts, each proven.

    Raises:
        AuscultError: A proof disagrees with the grammar.
    """
    found = grammar.describe(rng, facts, most=wish.most, targets=wish.targets)
    names = {one.text for one in found}
    empty = [one for one in grammar.nulls(rng, facts, most=wish.nulls) if one.text not in names] if wish.nulls else []
    for one in (*found, *empty):
        check(one, facts)
    return (*found, *empty)


def check(expression: Expression, facts: Facts) -> None:
    """Prove an expression once more from its logical form.

    Raises:
        AuscultError: The form names something else, or cannot be decided.
    """
    expected = frozenset() if expression.target is None else frozenset((expression.target,))
    named = proof.named(expression.form, facts)
    if named != expected:
        told = "undecided" if named is None else ", ".join(sorted(named)) or "nothing"
        raise AuscultError(
            f"the proof of {expression.text!r} gives {told}",
            expected=expression.target or "nothing",
            hint="this is a fault of auscult, not of the input: please report it with the line of errors.jsonl",
        )
