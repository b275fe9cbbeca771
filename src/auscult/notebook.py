"""How verdicts are shown to people at a prompt or in a notebook, and as plain values."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any, Final

import numpy as np

_LONGEST_SHOWN: Final = 60


def estimated(value: float | None, low: float | None, high: float | None, *, whole: str = "") -> str:
    """A number with two decimals and its interval; an interval that reads as ``whole`` says nothing."""
    if value is None:
        return "None"
    if low is None or high is None:
        return f"{value:.2f}"
    ends = f"{low:.2f}, {high:.2f}"
    return f"{value:.2f} [{'not known' if ends == whole else ends}]"


def short(text: str) -> str:
    """A text in quotes, cut where it is long."""
    quoted = repr(text)
    return quoted if len(quoted) <= _LONGEST_SHOWN else f"{quoted[: _LONGEST_SHOWN - 4]}...{quoted[-1]}"


def as_html(verdict: Any, lines: list[str], *, jpeg: bytes | None = None, shows: str = "") -> str:
    """Action and lines of a verdict beside a picture that ``shows`` something; no text is taken for markup."""
    image = ""
    if jpeg is not None:
        image = f'<img alt="{escape(shows)}" src="data:image/jpeg;base64,{b64encode(jpeg).decode("ascii")}">'
    text = "<br>".join(escape(line) for line in lines if line)
    return (
        f'<div style="display:flex;gap:1em;align-items:flex-start">{image}'
        f"<div><b>{escape(verdict.action or 'not decided')}</b><br>{text}<br>"
        f"<small>{escape(verdict.id)} · {escape(verdict.judge)}</small></div></div>"
    )


def plain(value: Any, *, without: frozenset[str] = frozenset()) -> Any:
    """A value as JSON has it, also where it was computed with NumPy; ``without`` these fields of a dataclass."""
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value) if one.name not in without}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, tuple | list) else value
