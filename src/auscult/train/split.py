"""Which photographs and sequences are for fitting, calibrating and measuring.

The names are ordered by a hash and cut at fixed shares: half for fitting, a fifth for calibration, the rest to measure.
``split.json`` keeps the outcome: a later change of the data cannot move a photograph to another part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

SplitName: TypeAlias = Literal["train", "calibration", "test"]
PARTS: Final[tuple[SplitName, ...]] = ("train", "calibration", "test")
FILE: Final = Path(__file__).with_name("split.json")


def divide(names: Iterable[str]) -> dict[SplitName, tuple[str, ...]]:
    """Divide names, in any order, by the order of their hashes: 50 % train, 20 % calibration, 30 % test."""
    order = sorted(set(names), key=_hash)
    first, second = len(order) // 2, int(len(order) * 0.7)
    cut = {"train": order[:first], "calibration": order[first:second], "test": order[second:]}
    return {part: tuple(sorted(cut[part])) for part in PARTS}


@cache
def committed() -> Mapping[str, Mapping[SplitName, tuple[str, ...]]]:
    """The division that coefficients and card were made with: ``coco`` and ``davis``."""
    value = json.loads(FILE.read_text(encoding="utf-8"))
    return {source: {part: tuple(value[source][part]) for part in PARTS} for source in ("coco", "davis")}


def _hash(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()
