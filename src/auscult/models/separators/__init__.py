"""Separators under test: what is given a mixture and a query, and gives the wanted source."""

from auscult.models.separators.base import Separation, SeparationRequest, Separator
from auscult.models.separators.loading import SEPARATORS, SeparatorSpec, load_separator, separator_spec

__all__ = (
    "SEPARATORS",
    "Separation",
    "SeparationRequest",
    "Separator",
    "SeparatorSpec",
    "load_separator",
    "separator_spec",
)
