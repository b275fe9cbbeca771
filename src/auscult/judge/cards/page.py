"""A card as a page to read, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from auscult.judge.cards.card import Card, Result

_READING: Final = (
    "Scores are 0..1. In brackets: 95 % interval from drawing whole photographs or sequences; with two or three of "
    "these it says little. n counts masks."
)


def page(card: Card) -> str:
    """Lay out a card; everything on the page is in the card.

    Returns:
        Markdown. Scores are 0..1, intervals are in brackets.
    """
    parts = [
        f"# Quality card: {card.judge}",
        card.summary,
        "Generated from the card's JSON by `auscult train cues`; do not edit.",
        "## What it must not be used for",
        _listed(card.not_for),
        "## Data and licences",
        _listed(card.data),
        "## Split",
        _listed(card.split),
        f"Seed {card.seed}.",
        "## Metrics",
        _listed(f"`{name}`: {meaning}" for name, meaning in card.metrics.items()),
        "## Results",
        _READING,
    ]
    for name, meaning in card.sets.items():
        results = [result for result in card.results if result.set == name]
        parts += [f"### {name}", meaning, _table(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(results: Sequence[Result]) -> str:
    rows = list(dict.fromkeys(result.row for result in results))
    metrics = list(dict.fromkeys(result.metric for result in results))
    found = {(result.metric, result.row): result for result in results}
    lines = [_line(["metric", "n", "clusters", *rows]), _line(["---"] * (3 + len(rows)))]
    for metric in metrics:
        here = [found.get((metric, row)) for row in rows]
        first = next(result for result in here if result is not None)
        lines.append(_line([f"`{metric}`", str(first.n), str(first.clusters), *(_cell(result) for result in here)]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    if result.value is None:
        return f"undefined: {result.reason}"
    if result.low is None or result.high is None:
        return f"{result.value:.3f}"
    return f"{result.value:.3f} [{result.low:.3f}, {result.high:.3f}]"
