"""What becomes of a quantity: ``Scored``, ``Undefined`` or ``Failed``. A failure is never a score.

``Undefined`` is a quantity that does not exist for this case (a window that no erosion of a tiny object can reach);
``Failed`` is one that should exist and could not be had (a file that cannot be read). Neither enters a mean.
Every ``Scored`` carries the ``Signature`` of how it was computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from auscult.errors import ErrorRecord
from auscult.version import VERSION

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Signature:
    """How a number was made: ordered ``key:value`` pairs, the version last.

    Example:
        >>> str(Signature.of(protocol="davis2017", empty="1"))  # doctest: +ELLIPSIS
        'protocol:davis2017|empty:1|version:...'
    """

    fields: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, **fields: object) -> Signature:
        """Build a signature from keyword fields, in the order given; the package version is added."""
        return cls((*((key, str(value)) for key, value in fields.items()), ("version", VERSION)))

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" for key, value in self.fields)

    def as_dict(self) -> dict[str, str]:
        """The fields as a plain mapping, for JSON."""
        return dict(self.fields)


@dataclass(frozen=True, slots=True)
class Scored(Generic[T_co]):
    """A value that exists, with the signature of how it was made."""

    value: T_co
    signature: Signature


@dataclass(frozen=True, slots=True)
class Undefined:
    """A quantity that does not exist for this case, and why."""

    reason: str
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """A quantity that should exist and could not be had."""

    error: ErrorRecord


Outcome: TypeAlias = Scored[T_co] | Undefined | Failed
