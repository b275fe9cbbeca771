"""The clips of a record as the page shows them: one row each, with a timeline of the estimated IoU.

The timeline is a drawing like the other charts: a band for the 90 % interval, a line for the estimate, an upright bar
where the mask switched to something else, a ring where a frame differs from its neighbours, a tick at the foot where
there is no mask. Every mark leads to its item and says in words what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from auscult.record.codec import from_json
from auscult.record.reader import Run
from auscult.record.schema import ClipRow, Mark
from auscult.report.drawing import Circle, Drawing, DrawnShape, Line, Polygon, Polyline, Text
from auscult.report.facts import ACTION_WORDS, RANK, UNDECIDED, interval, number
from auscult.report.page import ClipView, Figure
from auscult.types import Verdict

LISTED = 300
MARKS_SHOWN = 40

_WIDTH, _LEFT, _HIGH, _TOP = 520.0, 30.0, 74.0, 6.0
_BASE = _TOP + _HIGH


def clip_views(run: Run, *, links: Mapping[str, str]) -> tuple[ClipView, ...]:
    """Lay out the clips of a record, worst first; at most ``LISTED``."""
    rows = sorted((from_json(ClipRow, row) for row in run.clips), key=_worst_first)[:LISTED]
    verdicts = {verdict.id: verdict for verdict, _ in run.verdicts} if rows else {}
    return tuple(_view(row, verdicts, links) for row in rows)


def _worst_first(row: ClipRow) -> tuple[int, float, str]:
    return RANK[_action(row)], 1.0 if row.iou is None else row.iou, f"{row.clip} {row.track}"


def _action(row: ClipRow) -> str:
    return row.action if row.action in ACTION_WORDS else UNDECIDED


def _view(row: ClipRow, verdicts: Mapping[str, Verdict], links: Mapping[str, str]) -> ClipView:
    marks = (*row.switches, *row.odd)
    counts = ((row.failed, "failed"), (row.empty, "empty"), (row.missing, "without mask"))
    frames = ", ".join([str(row.n), *(f"{count} {words}" for count, words in counts if count)])
    drift = f"{row.drift:+.2f} {interval(row.drift_low, row.drift_high)}" if row.drift is not None else "–"
    reasons = [f"No {name}: {why}." for name, why in row.undefined.items()]
    return ClipView(
        name=f"{row.clip} {row.track}".strip(),
        action=_action(row),
        facts=(
            ("Frames", frames),
            ("Mean estimated IoU", f"{number(row.iou)} {interval(row.iou_low, row.iou_high)}".strip()),
            ("Defect", row.defect or "not judged"),
            ("Flicker", number(row.flicker)),
            ("Drift", drift),
            ("Switches", str(len(row.switches))),
            ("Odd frames", str(len(row.odd))),
        ),
        marks=tuple((mark.kind, _when(mark), mark.why, links.get(mark.id or "", "")) for mark in marks[:MARKS_SHOWN]),
        more=max(0, len(marks) - MARKS_SHOWN),
        note=" ".join([row.note, *reasons]).strip(),
        timeline=timeline(row, verdicts, links),
    )


def _when(mark: Mark) -> str:
    return f"{mark.frame} at {mark.time_s:g} s" if mark.time_s is not None else mark.frame


def timeline(row: ClipRow, verdicts: Mapping[str, Verdict], links: Mapping[str, str]) -> Figure:
    """Estimated IoU over the frames of a clip, with its interval and the frames that stand out."""
    shown = [None if name is None else verdicts.get(name) for name in row.frames]
    parts = _axis(len(shown))
    judged = [(i, verdict) for i, verdict in enumerate(shown) if verdict is not None and verdict.iou is not None]
    for stretch in _stretches([i for i, _ in judged]):
        parts += _drawn([pair for pair in judged if stretch[0] <= pair[0] <= stretch[-1]], len(shown))
    index_of = {name: i for i, name in enumerate(row.frames) if name is not None}
    for mark in (*row.switches, *row.odd):
        i = index_of.get(mark.id or "")
        if i is not None:
            parts.append(_mark(mark, (_x(i, len(shown)), _iou_of(shown[i])), links))
    gaps = (_x(i, len(shown)) for i, verdict in enumerate(shown) if verdict is None or verdict.defect == "empty")
    parts += [Line(start=(x, _BASE - 5), end=(x, _BASE), colour="quiet", width=3) for x in gaps]
    words = f"Estimated IoU of {row.clip} over {len(shown)} frames: mean {number(row.iou)}, "
    words += f"{len(row.switches)} switches, {len(row.odd)} odd frames, {ACTION_WORDS[_action(row)]}"
    drawing = Drawing(size=(round(_WIDTH), round(_BASE + 18)), parts=tuple(parts), title=words)
    return Figure(caption=f"Estimated IoU of {row.clip}", drawing=drawing, kind="timeline")


def _stretches(indices: Sequence[int]) -> list[list[int]]:
    """Runs of neighbouring indices: no line is drawn over a frame without an estimate."""
    numbered = enumerate(indices)
    return [[index for _, index in group] for _, group in groupby(numbered, key=lambda pair: pair[1] - pair[0])]


def _drawn(judged: Sequence[tuple[int, Verdict]], count: int) -> list[DrawnShape]:
    upper = [(_x(i, count), _y(verdict.iou if verdict.iou_high is None else verdict.iou_high)) for i, verdict in judged]
    lower = [(_x(i, count), _y(verdict.iou if verdict.iou_low is None else verdict.iou_low)) for i, verdict in judged]
    line = [(_x(i, count), _y(verdict.iou)) for i, verdict in judged]
    if len(line) == 1:  # a line needs two ends
        (x, y), (_, top), (_, foot) = line[0], upper[0], lower[0]
        upper, lower, line = [(x - 1, top), (x + 1, top)], [(x - 1, foot), (x + 1, foot)], [(x - 1, y), (x + 1, y)]
    return [
        Polygon(points=(*upper, *reversed(lower)), fill="accent", opacity=0.22),
        Polyline(points=tuple(line), colour="accent", width=2),
    ]


def _mark(mark: Mark, at: tuple[float, float], links: Mapping[str, str]) -> DrawnShape:
    words, link = f"{_when(mark)}: {mark.why}", links.get(mark.id or "", "")
    if mark.kind == "switch":
        return Line(start=(at[0], _TOP), end=(at[0], _BASE), colour="a-reject", width=3, title=words, link=link)
    # filled, though with nothing to see, so that its inside can be pointed at
    return Circle(
        centre=at, radius=4.5, fill="ground", opacity=0, stroke="a-reject-ink", width=2, title=words, link=link
    )


def _axis(count: int) -> list[DrawnShape]:
    parts: list[DrawnShape] = []
    for value in (0.0, 0.5, 1.0):
        y, words = _y(value), f"{value:.1f}".removesuffix(".0")
        parts.append(Line(start=(_LEFT, y), end=(_WIDTH - 4, y), colour="line"))
        parts.append(Text(at=(_LEFT - 6, y + 4), words=words, size=12.5, anchor="end", colour="quiet"))
    foot, right = _BASE + 15, _WIDTH - 4
    first = Text(at=(_LEFT, foot), words="first frame", size=12.5, colour="quiet")
    return [*parts, first, Text(at=(right, foot), words=f"frame {count}", size=12.5, anchor="end", colour="quiet")]


def _x(index: int, count: int) -> float:
    return _LEFT + 6 + (_WIDTH - _LEFT - 16) * (index / max(1, count - 1))


def _y(value: float | None) -> float:
    return _BASE - _HIGH * min(1.0, max(0.0, value or 0.0))


def _iou_of(verdict: Verdict | None) -> float:
    return _y(None if verdict is None else verdict.iou)
