"""The tables of ``make scenes``: what was made, in which words it is spoken of, and which files were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from auscult.errors import ErrorRecord
from auscult.report.tables import Table
from auscult.scenes.splits import SPLITS

PARTLY_HIDDEN = 0.1


def scenes_table(scenes: Sequence[Mapping[str, Any]]) -> Table:
    """Count scenes and what is in them, by split; ``scenes`` are lines of ``scenes.jsonl``."""
    rows = [_counts(split, [scene for scene in scenes if scene["split"] == split]) for split in SPLITS]
    rows.append(_counts("all", scenes))
    return Table(
        title="scenes",
        header=("split", "scenes", "objects", "sounding", "hidden", "alike", "elsewhere", "expressions", "null"),
        rows=tuple(row for row in rows if row[1] != "0"),
        note=f"hidden: scenes with an object of which another hides {PARTLY_HIDDEN:.0%} or more at a key frame; "
        "alike: scenes with two objects of one category and colour; elsewhere: sounds from outside the picture; "
        "null expressions are in the split test_n",
    )


def _counts(name: str, scenes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    things = [scene["facts"]["things"] for scene in scenes]
    said = [one for scene in scenes for one in scene["expressions"]]
    counts = (
        len(scenes),
        sum(len(some) for some in things),
        sum(thing["voice"] is not None for some in things for thing in some),
        sum(any(thing["hidden"] >= PARTLY_HIDDEN for thing in some) for some in things),
        sum(len({(thing["category"], thing["colour"]) for thing in some}) < len(some) for some in things),
        sum(len(scene["facts"]["elsewhere"]) for scene in scenes),
        sum(one["target"] is not None for one in said),
        sum(one["target"] is None for one in said),
    )
    return (name, *(str(count) for count in counts))


def families_table(scenes: Sequence[Mapping[str, Any]]) -> Table:
    """Count expressions by family."""
    said = [one for scene in scenes for one in scene["expressions"]]
    counts = Counter((one["family"], one["target"] is None) for one in said)
    wordings: dict[str, set[str]] = {}
    needs: dict[str, set[str]] = {}
    for one in said:
        wordings.setdefault(one["family"], set()).add(one["wording"])
        needs.setdefault(one["family"], set()).add("+".join(one["needs"]))
    rows = tuple(
        (
            name,
            str(counts[name, False]),
            str(counts[name, True]),
            str(len(wordings[name])),
            ", ".join(sorted(needs[name])),
        )
        for name in sorted(wordings)
    )
    return Table(
        title="expressions",
        header=("family", "expressions", "null", "wordings", "needs"),
        rows=rows,
        note="every expression is proven to name one object, every null expression to name none",
    )


def left_out_table(left_out: Sequence[ErrorRecord]) -> Table:
    """List asset files that cannot be used, and why."""
    return Table(
        title="assets left out",
        header=("file", "why"),
        rows=tuple((error.path or "", error.error) for error in left_out),
        note="no scene uses these files or rows; errors.jsonl says what was expected",
    )
