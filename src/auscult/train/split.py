"""Which photographs and sequences are for fitting, calibrating and measuring.

Names were ordered by a hash and cut at fixed shares: half for fitting, a fifth for calibration, the rest to measure.
``split.json`` keeps the outcome: a later change of the data cannot move a photograph to another part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

SplitName: TypeAlias = Literal["train", "calibration", "test"]
PARTS: Final[tuple[SplitName, ...]] = ("train", "calibration", "test")
FILE: Final = Path(__file__).with_name("split.json")


@cache
def committed() -> Mapping[str, Mapping[SplitName, tuple[str, ...]]]:
    """The division that coefficients and card were made with: ``coco`` and ``davis``."""
    value = json.loads(FILE.read_text(encoding="utf-8"))
    return {source: {part: tuple(value[source][part]) for part in PARTS} for source in ("coco", "davis")}
