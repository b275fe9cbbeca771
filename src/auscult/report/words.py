"""The words and number formats that every part of a report shares."""

from __future__ import annotations

import math

from auscult.report.order import UNDECIDED

ACTION_WORDS: dict[str, str] = {
    "accept": "accept",
    "minor_revision": "minor revision",
    "major_revision": "major revision",
    "reject": "reject",
    UNDECIDED: "undecided",
}

ACTION_MEANING: dict[str, str] = {
    "accept": "use as it is",
    "minor_revision": "touch up",
    "major_revision": "redraw parts",
    "reject": "throw away",
    UNDECIDED: "no policy applied",
}

DEFECT_MEANING: dict[str, str] = {
    "perfect": "no defect found",
    "cutout": "a piece is missing",
    "dilate": "too large",
    "erode": "too small",
    "merge": "another object too",
    "full_neg": "another object",
    "empty": "nothing segmented",
}


def number(value: float | None, digits: int = 2) -> str:
    """A score as text; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def percent(share: float) -> str:
    """A share as text, ``14 %``; above nothing never ``0 %``."""
    whole = round(100 * share)
    return "< 1\u00a0%" if share > 0 and not whole else f"{whole}\u00a0%"


def interval(low: float | None, high: float | None) -> str:
    """An interval as text, ``[0.76, 0.90]``; empty where there is none."""
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"


def shortened(text: str, limit: int) -> str:
    """The text on one line, cut at a word with an ellipsis when it is longer than ``limit`` characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[limit // 2 :] else head) + "…"
