"""Quality cards: what was measured of a judge, on what. No card, no judge.

A built-in judge's card is ``<name>.json`` in this folder; a plug-in's judge names its file in an attribute ``card``.
The page under ``docs/cards`` is generated from the card by ``page``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from auscult.errors import UsageError
from auscult.outcome import Scored, Undefined
from auscult.record.codec import from_json, read_file, to_json
from auscult.types import MaskJudge, SoundJudge

FOLDER: Final = Path(__file__).parent
SCHEMA: Final = 1
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\.v[0-9]+")
_MOST_BYTES: Final = 1_000_000
_MOST_REMEMBERED: Final = 16
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One measured number."""

    set: str  # what it was measured on, a key of ``Card.sets``
    row: str  # whose number it is: the judge's name, or a baseline's
    metric: str  # what it is, ``rmse`` or ``f2_tables.erode.hard``
    value: float | None  # the number; None where it is undefined
    low: float | None  # lower end of its interval over clusters; None where there is none
    high: float | None  # upper end
    n: int  # masks it was measured on
    clusters: int  # photographs or sequences they come from
    reason: str = ""  # why the value is undefined; empty otherwise


def result_of(key: tuple[str, str, str], outcome: Scored[float] | Undefined, *, n: int, clusters: int) -> Result:
    """A number of a set, row and metric with its interval, where it has one, as a card holds it: of four digits."""
    ends = [getattr(outcome, name, None) for name in ("low", "high")]
    low, high = (None if end is None else round(float(end), _DIGITS) for end in ends)
    return Result(
        set=key[0],
        row=key[1],
        metric=key[2],
        value=round(float(outcome.value), _DIGITS) if isinstance(outcome, Scored) else None,
        low=low,
        high=high,
        n=n,
        clusters=clusters,
        reason="" if isinstance(outcome, Scored) else outcome.reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What was measured of one judge."""

    judge: str  # the judge's full name
    summary: str  # one sentence: what it is
    data: tuple[str, ...]  # what it was fitted and measured on, with licences, one line each
    split: tuple[str, ...]  # how the data was divided, one line each
    sets: Mapping[str, str]  # the measured sets by name, and what is in them
    metrics: Mapping[str, str]  # the metrics by first part of their name, and what they are
    seed: int  # seed of the measured masks and of the intervals
    not_for: tuple[str, ...]  # what the judge must not be used for, one line each
    results: tuple[Result, ...]
    # the constant baselines' IoU: by source of masks, then by row; may be empty
    constants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The card as JSON values; ``card_of`` reads them back."""
        return {"schema": SCHEMA, **to_json(self)}


def card_of(value: object) -> Card:
    """Read what ``Card.as_json`` wrote, with one result at least."""
    if not isinstance(value, Mapping) or value.get("schema") != SCHEMA:
        raise UsageError("this is no quality card", expected=f"a JSON object with schema {SCHEMA}")
    parts = {key: part for key, part in value.items() if key != "schema"}
    try:
        card = from_json(Card, parts, error=UsageError, exact=True)
    except UsageError as error:
        raise UsageError(
            f"the quality card is incomplete: {error.message}", expected=error.expected, hint=error.hint
        ) from error
    if all(result.value is None for result in card.results if result.row == card.judge):
        raise UsageError(f"the card of {card.judge} holds no measured number", hint="measure the judge first")
    return card


def load_card(name: str) -> Card:
    """Load a built-in judge's card by the judge's full name, ``masks.cues.v1``."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name[:80]!r} is no judge's name", expected="room.name.vN")
    return _read(FOLDER / f"{name}.json", name)


def require_card(judge: MaskJudge | SoundJudge) -> Card:
    """The card without which a judge must not be used; that of a plug-in's is the file in its attribute ``card``."""
    path = getattr(judge, "card", None)
    if path is None:
        return load_card(judge.name)
    return _read(Path(path), judge.name)


def _read(path: Path, name: str) -> Card:
    try:
        written = path.stat().st_mtime_ns
    except OSError as error:
        raise UsageError(
            f"the judge {name} has no quality card",
            expected="a JSON file of measured results",
            hint="a judge is used only with a measured card: measure it, and name the file in its attribute `card`",
            path=path,
        ) from error
    return _parsed(path, name, written)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _parsed(path: Path, name: str, written: int) -> Card:  # noqa: ARG001  # a card written again is read again
    value = read_file(
        dict[str, Any],
        path,
        what=f"the card of {name}",
        expected="a JSON file of measured results",
        most_bytes=_MOST_BYTES,
    )
    card = card_of(value)
    if card.judge != name:
        raise UsageError(f"the card is of {card.judge}, not of {name}", path=path)
    return card


_READING: Final = (
    "Scores are 0..1. In brackets: 95 % interval from drawing whole photographs or sequences; with two or three of "
    "these it says little. n counts masks."
)
_READING_SOUNDS: Final = (
    "Scores are 1..5. In brackets: 95 % interval from drawing whole recordings or mixtures. n counts outputs, or pairs."
)


def page(card: Card, *, made_by: str = "auscult train cues", before: Sequence[str] = ()) -> str:
    """Lay out a card as Markdown, with ``before`` ahead of the results set by set; all the rest is in the card.

    Scores are 0..1, intervals are in brackets; ``made_by`` is the command that wrote it.
    """
    parts = [
        f"# Quality card: {card.judge}",
        card.summary,
        f"Generated from the card's JSON by `{made_by}`; do not edit.",
        "## What it must not be used for",
        _listed(card.not_for),
        "## Data and licences",
        _listed(card.data),
        "## Split",
        _listed(card.split),
        f"Seed {card.seed}.",
        "## Metrics",
        _listed(f"`{name}`: {meaning}" for name, meaning in card.metrics.items()),
        *before,
        "## Results",
        _READING_SOUNDS if card.judge.startswith("sound.") else _READING,
    ]
    for name, meaning in card.sets.items():
        results = [result for result in card.results if result.set == name]
        parts += [f"### {name}", meaning, table(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def table(results: Sequence[Result]) -> str:
    """Results as a Markdown table: a line a metric, a column a row of the card."""
    rows = list(dict.fromkeys(result.row for result in results))
    metrics = list(dict.fromkeys(result.metric for result in results))
    by_cell = {(result.metric, result.row): result for result in results}
    lines = []
    for metric in metrics:
        of_metric = [by_cell.get((metric, row)) for row in rows]
        first = next(result for result in of_metric if result is not None)
        lines.append([f"`{metric}`", str(first.n), str(first.clusters), *(cell(result) for result in of_metric)])
    return markdown(["metric", "n", "clusters", *rows], lines)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def cell(result: Result | None) -> str:
    """A number with its interval, unless that has no width; empty where unmeasured, a reason where undefined."""
    if result is None:
        return ""
    if result.value is None:
        return f"undefined: {result.reason}"
    if result.low is None or result.high is None or f"{result.low:.3f}" == f"{result.high:.3f}":
        return f"{result.value:.3f}"
    return f"{result.value:.3f} [{result.low:.3f}, {result.high:.3f}]"
