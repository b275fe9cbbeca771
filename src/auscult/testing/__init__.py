"""The laws that registered things keep, as functions: the project's own tests and every plug-in's call the same ones.

A check takes a registry name and an example and raises ``ContractBroken`` with what was expected.
"""

from __future__ import annotations


class ContractBroken(AssertionError):
    """A registered thing does not keep a law; the message says which and how."""


def require(kept: object, law: str) -> None:
    """Raise unless a law is kept.

    Raises:
        ContractBroken: ``kept`` is false.
    """
    if not kept:
        raise ContractBroken(law)
