"""The section of clips: rows worst first, marks that lead to their items, text from files escaped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from auscult.errors import RecordError
from auscult.record.codec import to_json
from auscult.record.reader import Run
from auscult.record.schema import DECIMALS, ClipRow, Mark
from auscult.report.audit import clip_views, page_of_audit
from auscult.report.drawing import to_markup
from auscult.report.page import render
from auscult.types import Verdict


def a_row(clip: str, **changes: Any) -> ClipRow:
    odd = Mark(id=f"{clip}/1", number=1, frame="001.jpg", time_s=0.5, kind="iou", why="Estimated IoU 0.20.")
    fields = ClipRow(
        clip=clip, track="#1", judge="masks.planted.v1", n=2, failed=0, empty=0, missing=1, iou=0.5, iou_low=0.4,
        iou_high=0.6, defect="erode", action="minor_revision", flicker=None, odd=(odd,),
        switches=(replace(odd, kind="switch", why="Overlap 0.01."),), frames=(f"{clip}/0", f"{clip}/1", None),
        overlaps=(None, 0.4, None), oddness=(0.0, 3.0, None), undefined={"flicker": "fewer than 3 steps"},
    )  # fmt: skip
    return replace(fields, **changes)


@pytest.fixture
def run(a_run: Callable[..., Run], verdict: Callable[..., Verdict]) -> Run:
    names = [f"{clip}/{number}" for clip in ("<b>a", "z") for number in range(2)]
    rows = [a_row("<b>a"), a_row("z", action="reject")]
    return replace(
        a_run([verdict(name) for name in names]), clips=tuple(to_json(row, decimals=DECIMALS) for row in rows)
    )


def test_rows_are_worst_first_and_say_what_is_missing(run: Run) -> None:
    worst, other = clip_views(run, links={"z/1": "#i4"})
    assert (worst.name, worst.action) == ("z #1", "reject")
    assert dict(worst.facts)["Frames"] == "2, 1 without mask"
    assert dict(worst.facts)["Flicker"] == "–"
    assert worst.note == "No flicker: fewer than 3 steps."
    assert [(kind, link) for kind, _, _, link in worst.marks] == [("switch", "#i4"), ("iou", "#i4")]
    assert worst.marks[0][1] == "001.jpg at 0.5 s"
    timelines = [to_markup(row.timeline.drawing) for row in (worst, other)]
    assert timelines[0].count('<a href="#i4"') == 2
    assert timelines[1].count("<a ") == 0
    assert 'class="s-quiet" stroke-width="3"' in timelines[1]


def test_the_page_has_the_section_and_escapes_it(run: Run) -> None:
    page = render(page_of_audit(run, thumbnails={}, crops={}, tables={}))
    assert 'data-view="clips"' in page
    assert page.count('class="drawing chart timeline"') == 2
    assert "&lt;b&gt;a #1" in page
    assert "<b>a" not in page
    bare = render(page_of_audit(replace(run, clips=()), thumbnails={}, crops={}, tables={}))
    assert 'data-view="clips"' not in bare


def test_a_damaged_row_is_named(run: Run) -> None:
    with pytest.raises(RecordError, match="'n' is 'two'"):
        clip_views(replace(run, clips=({**run.clips[0], "n": "two"},)), links={})
