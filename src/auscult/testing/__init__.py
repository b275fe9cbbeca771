"""Contract checks for registered components, as functions: for the project's own tests and those of plug-ins.

A check takes a registry name and an example and raises ``ContractBroken`` with what was expected.
"""

from __future__ import annotations


class ContractBroken(AssertionError):
    """A registered component breaks its contract; the message says which law and how."""


def require(kept: object, law: str) -> None:
    """Raise unless a law is kept.

    Raises:
        ContractBroken: ``kept`` is false.
    """
    if not kept:
        raise ContractBroken(law)
