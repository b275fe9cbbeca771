"""Separators under test: what is given a mixture and a query, and gives the wanted source."""

from auscult.models.separators.base import Separation, SeparationRequest, Separator
from auscult.models.separators.loading import (
    ORACLE,
    SEPARATORS,
    SeparatorSpec,
    load_separator,
    named_separators,
    separator_spec,
)

__all__ = (
    "ORACLE",
    "SEPARATORS",
    "Separation",
    "SeparationRequest",
    "Separator",
    "SeparatorSpec",
    "load_separator",
    "named_separators",
    "separator_spec",
)
