"""Rules and word lists of the perturbations of sentences; each file says under ``source`` where it comes from."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def read(name: str) -> dict[str, Any]:
    """A file of this folder, ``name`` without ``.json``."""
    text = resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
