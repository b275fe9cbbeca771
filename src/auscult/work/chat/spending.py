"""Tokens and cost of requests, and a budget: a request that might pass it is not sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from auscult.errors import UsageError

_MILLION: Final = 1e6


class BudgetSpent(UsageError):
    """The next request might cost more than what is left of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """How many tokens went in and came out."""

    sent: int
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs.

    Attributes:
        sent: USD for a million tokens that go in.
        received: USD for a million tokens that come out.
    """

    sent: float
    received: float

    def of(self, tokens: Tokens) -> float:
        """USD."""
        return (tokens.sent * self.sent + tokens.received * self.received) / _MILLION


class Spending:
    """What was spent in a run so far, by all models and from all threads.

    Args:
        budget: USD that may be spent in all; None without a limit.
        earlier: Gives the USD that earlier commands of the run have spent; called once, when that is first needed.
    """

    def __init__(self, *, budget: float | None = None, earlier: Callable[[], float] | None = None) -> None:
        self._budget, self._spent, self._earlier = budget, 0.0, earlier
        self._under_way: list[float] = []
        self._changed = threading.Condition()

    @property
    def spent(self) -> float:
        """USD."""
        with self._changed:
            self._begin()
            return self._spent

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return self._budget is not None

    @contextmanager
    def reserved(self, most: float) -> Iterator[None]:
        """Hold back what a request may cost at most, while it is under way.

        Where only what is under way leaves too little, it waits until that is paid, which is less as a rule.

        Raises:
            BudgetSpent: What is left may not be enough.
        """
        with self._changed:
            self._begin()
            self._changed.wait_for(lambda: not self._under_way or self._fits(most))
            if not self._fits(most):
                raise BudgetSpent(
                    f"the budget of {self._budget:g} USD may not be enough for the next request: {self._spent:.4f} USD "
                    f"are spent, and it may cost {most:.4f}",
                    expected="a budget for all requests; `--dry-run` says what they may cost",
                    hint="what was answered is kept: the same command with a larger --budget goes on",
                )
            self._under_way.append(most)
        try:
            yield
        finally:
            with self._changed:
                self._under_way.remove(most)
                self._changed.notify_all()

    def _fits(self, most: float) -> bool:
        return self._budget is None or self._spent + sum(self._under_way) + most <= self._budget

    def _begin(self) -> None:
        if self._earlier is not None:
            self._spent += self._earlier()
            self._earlier = None

    def add(self, cost: float) -> None:
        """Count what a request has cost."""
        with self._changed:
            self._spent += cost
