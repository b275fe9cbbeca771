"""Rules and word lists of the perturbations of sentences; each file says under ``source`` where it comes from."""

from __future__ import annotations

from typing import Any

from auscult.language import data


def read(name: str) -> dict[str, Any]:
    """A file of this folder, ``name`` without ``.json``."""
    return data.read(name, folder=__name__)
