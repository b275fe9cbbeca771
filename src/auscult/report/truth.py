"""Judge against truth: finished tables of the record beside a scatter of estimated and true IoU.

Nothing is computed here; the numbers were computed, after judging, by the job that wrote the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from auscult.report.order import action_key
from auscult.report.svg import Point, scatter
from auscult.report.tables import Table, read_table
from auscult.report.words import ACTION_WORDS, number
from auscult.types import Verdict

POINTS = 2_000


def truth_tables(tables: Mapping[str, object]) -> tuple[Table, ...]:
    """Read the finished judge-against-truth tables of a record, in the order of their names.

    Args:
        tables: Name to the JSON of ``tables/<name>.json``: {title, header, rows, note}.

    Raises:
        InputError: One of them is not such a table.
    """
    return tuple(read_table(name, tables[name]) for name in sorted(tables))


def truth_points(verdicts: Sequence[Verdict], truths: Mapping[str, float], *, listed: int) -> tuple[Point, ...]:
    """The items to draw: true IoU across, estimated IoU up.

    Args:
        verdicts: In the order of the page; an item leads to its card.
        truths: Item id to its true IoU, 0..1.
        listed: How many of them, from the start, have a card on the page.

    Returns:
        At most ``POINTS``, evenly thinned over the order of the page where there are more.
    """
    places = [
        (index, verdict, verdict.iou)
        for index, verdict in enumerate(verdicts)
        if verdict.iou is not None and verdict.id in truths
    ]
    step = max(1, -(-len(places) // POINTS))
    return tuple(
        Point(
            x=truths[verdict.id],
            y=iou,
            style=f"a-{action_key(verdict.action)}",
            words=f"{verdict.id}: true {number(truths[verdict.id])}, estimated {number(iou)}, "
            f"{ACTION_WORDS[action_key(verdict.action)]}",
            link=f"#i{index + 1}" if index < listed else "",
        )
        for index, verdict, iou in places[::step]
    )


def truth_scatter(points: Sequence[Point]) -> Markup:
    """Estimated against true IoU as inline SVG; empty markup for no points."""
    if not points:
        return Markup("")
    return scatter(
        points,
        label=f"Estimated against true IoU of {len(points)} masks; the diagonal is perfect agreement",
        axes=("true IoU", "estimated IoU"),
    )
