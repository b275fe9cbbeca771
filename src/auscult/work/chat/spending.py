"""Tokens and cost of requests, and a budget: a request that might exceed it is not sent."""

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
    """Counts of tokens sent and received."""

    sent: int
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs, in USD for a million tokens."""

    sent: float  # for those that go in
    received: float  # for those that come out

    def of(self, tokens: Tokens) -> float:
        """The cost of tokens, in USD."""
        return (tokens.sent * self.sent + tokens.received * self.received) / _MILLION


class Spending:
    """The money spent in a run so far, by all models and threads.

    Args:
        budget: USD that may be spent in all; None without a limit.
        earlier: Gives the USD spent by earlier commands of the run; called once, when first needed.
    """

    def __init__(self, *, budget: float | None = None, earlier: Callable[[], float] | None = None) -> None:
        self._budget, self._spent, self._earlier = budget, 0.0, earlier
        self._reservations: list[float] = []
        self._condition = threading.Condition()

    @property
    def spent(self) -> float:
        """The money spent so far, in USD, with that of earlier commands."""
        with self._condition:
            self._add_earlier()
            return self._spent

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return self._budget is not None

    @contextmanager
    def reserved(self, most: float) -> Iterator[None]:
        """Reserve the highest possible cost of a request, while it is under way.

        If only the reservations of other requests leave too little, it waits for their ends, mostly at less cost.

        Raises:
            BudgetSpent: The rest of the budget may not be enough.
        """
        with self._condition:
            self._add_earlier()
            self._condition.wait_for(lambda: not self._reservations or self._fits(most))
            if not self._fits(most):
                raise BudgetSpent(
                    f"the budget of {self._budget:g} USD may not be enough for the next request: {self._spent:.4f} USD "
                    f"are spent, and it may cost {most:.4f}",
                    expected="a budget for all requests, each at that cost or less",
                    hint="what was answered is kept: the same command with a larger --budget goes on",
                )
            self._reservations.append(most)
        try:
            yield
        finally:
            with self._condition:
                self._reservations.remove(most)
                self._condition.notify_all()

    def _fits(self, cost: float) -> bool:
        return self._budget is None or self._spent + sum(self._reservations) + cost <= self._budget

    def _add_earlier(self) -> None:
        if self._earlier is not None:
            self._spent += self._earlier()
            self._earlier = None

    def add(self, cost: float) -> None:
        """Add the cost of a request."""
        with self._condition:
            self._spent += cost
