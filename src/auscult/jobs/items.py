"""What a record says of an item besides its result."""

from __future__ import annotations

from typing import Any

from auscult.types import Item


def asked(item: Item) -> dict[str, Any]:
    """Expression, clip and time of an item, as the keys of ``items.jsonl``; what it lacks is left out."""
    keys = {"text": item.query.text, "clip": item.clip, "time_s": item.time_s}
    return {key: value for key, value in keys.items() if value is not None}
