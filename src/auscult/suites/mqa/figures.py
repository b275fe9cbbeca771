"""The IoU distribution as a picture: Fig. 4, one panel per split, types stacked."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from auscult.report.curves import Stack
from auscult.report.curves import histogram as drawn
from auscult.suites.mqa.statistics import BINS, Place, Row, histogram, iou_cells, split_words
from auscult.types import DEFECTS

_COLOURS = {
    "perfect": "#4c956c",
    "cutout": "#3d6fb4",
    "dilate": "#e09f3e",
    "erode": "#8d6cab",
    "merge": "#c8553d",
    "full_neg": "#5c5c66",
}
_WIDTH, _PANEL, _HEAD, _LEGEND = 540.0, 206.0, 22.0, 30.0


def iou_figure(items: Sequence[Row]) -> str:
    """Draw the exact IoUs of every split.

    Args:
        items: Rows of ``items.jsonl``.

    Returns:
        A whole SVG file with its own colours, readable on light and dark pages.
    """
    cells: dict[Place, dict[str, list[int]]] = {}
    for place, kind, ious in iou_cells(items):
        cells.setdefault(place, {})[kind] = histogram(ious)
    height = _LEGEND + len(cells) * (_PANEL + _HEAD)
    parts = [Markup("<style>{}</style>").format(Markup(_style())), _legend()]  # noqa: S704 - our own text
    for index, (place, kinds) in enumerate(cells.items()):
        parts.append(_panel(place, kinds, top=_LEGEND + index * (_PANEL + _HEAD)))
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" '
            'aria-label="Exact IoU of the masks of each split, by type">{}</svg>\n'
        ).format(_WIDTH, height, Markup("").join(parts))
    )


def _panel(place: Place, kinds: dict[str, list[int]], *, top: float) -> Markup:
    stacks = [
        Stack(
            f"IoU {index / BINS:.1f} to {(index + 1) / BINS:.1f}",
            tuple((f"t-{kind}", kind, kinds[kind][index]) for kind in DEFECTS if kind in kinds),
        )
        for index in range(BINS)
    ]
    total = sum(stack.total for stack in stacks)
    title = f"{split_words(place[1])}, {place[0]} protocol: {total:,} masks"
    chart = drawn(stacks, label=title, ticks={edge: f"{edge / BINS:.1f}" for edge in range(0, BINS + 1, 2)})
    return Markup(
        '<text x="40" y="{}" class="strong">{}</text><svg x="0" y="{}" width="{}" height="{}">{}</svg>'
    ).format(top + 14, title, top + _HEAD, _WIDTH, _PANEL, chart)


def _legend() -> Markup:
    step = (_WIDTH - 44) / len(DEFECTS)
    return Markup("").join(
        Markup('<rect x="{}" y="8" width="11" height="11" class="t-{}"/><text x="{}" y="18">{}</text>').format(
            round(40 + index * step), kind, round(56 + index * step), kind
        )
        for index, kind in enumerate(DEFECTS)
    )


def _style() -> str:
    types = "".join(f".t-{kind}{{fill:{colour}}}" for kind, colour in _COLOURS.items())
    return (
        "svg{overflow:visible}text{font:12px system-ui,sans-serif;fill:#444}.strong{font-weight:600}"
        ".axis{stroke:#888}.grid{stroke:#8884}"
        "@media(prefers-color-scheme:dark){text{fill:#ccc}}" + types
    )
