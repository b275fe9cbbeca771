"""Data files that come with the package: word lists, rules, tables; each says in itself where it comes from."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def read_shipped(name: str) -> dict[str, Any]:
    """A JSON file by its path in the package, such as ``language/data/lexicon.json``; nobody may have changed it."""
    content: dict[str, Any] = json.loads(resources.files("auscult").joinpath(name).read_text(encoding="utf-8"))
    return content
