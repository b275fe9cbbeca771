"""Checks of identity: does this mask lie on the referred object? Evidence of its own, beside a judge's.

A check is registered under the kind ``identity`` and is a ``types.IdentityCheck``. ``combine`` joins what it finds with
a verdict; without a check a verdict says that identity was not checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from auscult.types import IdentityCheck


@runtime_checkable
class Ready(Protocol):
    """A check that can be tried before anything is judged."""

    def ready(self) -> None:
        """Open what the check needs; a UsageError where something is missing, damaged or does not fit together."""
        ...


@runtime_checkable
class NeedsWeights(Protocol):
    """A check whose weights the user brings."""

    def using(self, folder: Path | None) -> IdentityCheck:
        """The same check with the weights of a folder; None for the one that its environment variable names.

        A UsageError where there is none, a file is missing, or an extra is not installed. Nothing is loaded yet.
        """
        ...
