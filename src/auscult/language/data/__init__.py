"""Word lists; each file says under ``source`` where it comes from."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def read(name: str, *, folder: str = __name__) -> dict[str, Any]:
    """A file of this folder, or of another package, ``name`` without ``.json``."""
    text = resources.files(folder).joinpath(f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
