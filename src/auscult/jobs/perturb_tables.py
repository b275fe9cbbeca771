"""The summary and tables of a run of perturbing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from auscult.errors import REMARKS
from auscult.jobs.perturb_choice import Choice
from auscult.jobs.perturb_parts import Parts
from auscult.record.folder import RunFolder
from auscult.record.schema import Summary
from auscult.report.tables import Table

_NOTE: Final = (
    "in part: without the steps for what a file has not; samples beyond full scale are cut off; outputs.jsonl has the "
    "hash of what each output decodes to"
)
_UNOPENED: Final = "; masks of pictures in which nothing moved were copied unopened"


def perturbed_tables(
    run: RunFolder,
    *,
    parts: Parts,
    choices: Sequence[Choice],
    rows: Mapping[str, Mapping[str, Any]],
    made: Mapping[str, int],
) -> tuple[Summary, list[Table]]:
    """What a run came to.

    Args:
        run: The record.
        parts: What INPUT held.
        choices: The folders.
        rows: The lines of ``outputs.jsonl``.
        made: Folder to items or files that it holds.
    """
    wanted = {
        choice.name: len(parts.listing.items)
        if parts.listing is not None
        else sum(choice.takes(part) for part in parts.parts)
        for choice in choices
    }
    unread = sum(error.stage not in REMARKS for _, error in parts.errors)
    n, ok = sum(wanted.values()) + unread, sum(made.values())
    summary = Summary(command="stress", n=n, ok=ok, failed=n - ok)
    tables = [_made(choices, wanted=wanted, made=made, rows=rows, items=parts.listing is not None)]
    failed = Counter((row.get("stage") or "", row.get("error") or "") for row in run.lines("errors.jsonl"))
    if failed:
        told = tuple((stage, error, str(count)) for (stage, error), count in failed.most_common(20))
        tables.append(Table(title="failed", header=("stage", "error", "count"), rows=told, note="all: errors.jsonl"))
    return summary, tables


def _made(
    choices: Sequence[Choice],
    *,
    wanted: Mapping[str, int],
    made: Mapping[str, int],
    rows: Mapping[str, Mapping[str, Any]],
    items: bool,
) -> Table:
    by_recipe: dict[str, list[Mapping[str, Any]]] = {choice.name: [] for choice in choices}
    for row in rows.values():
        by_recipe[row["recipe"]].append(row)
    cells = []
    for name, mine in by_recipe.items():
        frames = sum(row.get("frames", 1) for row in mine if row["kind"] in {"picture", "frame", "video"})
        clipped = sum(row.get("clipped", 0) for row in mine)
        same = sum(row["kind"] in {"sentence", "text"} and not row["words"] for row in mine)
        part = sum(bool(row.get("not_done")) for row in mine)
        failed = wanted[name] - made[name]
        cells.append((name, *map(str, (made[name], failed, part, frames, clipped, same))))
    return Table(
        title="perturbed",
        header=("recipe", "made", "failed", "in part", "frames", "samples cut off", "sentences unchanged"),
        rows=tuple(cells),
        note=_NOTE + (_UNOPENED if items else ""),
    )
