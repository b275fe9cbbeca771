"""How a job says how far it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Listens to a job."""

    def stage(self, name: str, total: int) -> None:
        """A new stage begins, with ``total`` steps."""
        ...

    def step(self, count: int = 1) -> None:
        """``count`` more steps of the current stage are done."""
        ...


class Silent:
    """Listens to nothing."""

    def stage(self, name: str, total: int) -> None:
        """Ignore the stage."""

    def step(self, count: int = 1) -> None:
        """Ignore the steps."""
