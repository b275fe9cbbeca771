"""A card as a page to read, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from auscult.judge.cards.card import Card, Result

_READING: Final = (
    "Scores are 0..1. In brackets: 95 % interval from drawing whole photographs or sequences; with two or three of "
    "these it says little. n counts masks."
)

Layout: TypeAlias = Callable[[Sequence[Result]], Sequence[str]]
"""Lays out the results of one set as Markdown parts."""


def page(
    card: Card, *, made_by: str = "auscult train cues", before: Sequence[str] = (), layout: Layout | None = None
) -> str:
    """Lay out a card; everything on the page is in the card.

    Args:
        card: The card.
        made_by: The command that wrote it.
        before: Markdown parts to stand before the results set by set, such as a summary and charts.
        layout: Lays out the results of one set; one table of all by default.

    Returns:
        Markdown. Scores are 0..1, intervals are in brackets.
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
        _READING,
    ]
    for name, meaning in card.sets.items():
        results = [result for result in card.results if result.set == name]
        parts += [f"### {name}", meaning, *(layout(results) if layout else [table(results)])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def table(results: Sequence[Result]) -> str:
    """Results as a Markdown table: a line a metric, a column a row of the card."""
    rows = list(dict.fromkeys(result.row for result in results))
    metrics = list(dict.fromkeys(result.metric for result in results))
    found = {(result.metric, result.row): result for result in results}
    lines = []
    for metric in metrics:
        here = [found.get((metric, row)) for row in rows]
        first = next(result for result in here if result is not None)
        lines.append([f"`{metric}`", str(first.n), str(first.clusters), *(cell(result) for result in here)])
    return markdown(["metric", "n", "clusters", *rows], lines)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def cell(result: Result | None) -> str:
    """A number with its interval as text; empty where it was not measured, the reason where it is undefined."""
    if result is None:
        return ""
    if result.value is None:
        return f"undefined: {result.reason}"
    if result.low is None or result.high is None:
        return f"{result.value:.3f}"
    return f"{result.value:.3f} [{result.low:.3f}, {result.high:.3f}]"
