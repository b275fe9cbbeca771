"""The end of an audit, and all of ``auscult report``: from the lines of a record to its summary, tables and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import Any

from auscult.act.export import verdicts_csv
from auscult.jobs.expected import expected
from auscult.jobs.handover import coco_of
from auscult.jobs.model_scores import ORDER_FILE, beside_score
from auscult.jobs.pairs import pairs_of
from auscult.jobs.pictures import crops
from auscult.jobs.rows import column, in_order, known, pictures
from auscult.jobs.truth_tables import against_truth
from auscult.jobs.unlike import unlike_share
from auscult.outcome import Signature
from auscult.record.folder import RunFolder
from auscult.record.reader import Run, read_run
from auscult.record.schema import Summary
from auscult.report.facts import worst_first
from auscult.report.html import render
from auscult.report.page import LARGE, PICTURED, page_from_run
from auscult.types import ACTIONS, DEFECTS, Verdict

HANDOVERS: Mapping[str, tuple[str, ...]] = {
    "accepted.coco.json": ("accept",),
    "to_fix.coco.json": ("minor_revision", "major_revision"),
}


def finish_run(run: RunFolder, *, command: str) -> Summary:
    """Write everything that follows from the lines: summary, tables, CSV, COCO, report.

    Args:
        run: The record, locked by this process.
        command: The verb.

    Returns:
        What ``summary.json`` says.
    """
    read = read_run(run.path)
    truths = known(read.lines("truth.jsonl"), path=run.path / "truth.jsonl")
    told = {row["id"] for row in truths}
    unreadable = {str(row.get("id")) for row in read.errors if row.get("stage") == "truth"} - told
    pairs = pairs_of([verdict for verdict, _ in read.verdicts], truths)
    compared = against_truth(pairs, unreadable=len(unreadable))
    beside = beside_score(read.verdicts, pairs)
    summary = summarise(read, command=command, metrics={**beside.metrics, **compared.metrics})
    tables = {name: asdict(table) for name, table in {**beside.tables, **compared.tables}.items()}
    for name, table in tables.items():
        run.write_json(f"tables/{name}.json", table)
    run.remove(ORDER_FILE)
    run.append_many(ORDER_FILE, beside.order)
    run.write_json("summary.json", summary.as_json())
    rows = in_order(row for _, row in read.verdicts)
    run.write_text("verdicts.csv", verdicts_csv(rows))
    masks = column(read.lines("masks.jsonl"), "segmentation", path=run.path / "masks.jsonl")
    for name, actions in HANDOVERS.items():
        chosen = [row for row in rows if row["action"] in actions]
        run.write_json(name, coco_of(chosen, masks), indent=None)
    page = _page(replace(read, summary=summary.as_json()), tables, beside.strongest)
    run.write_text("report.html", page)
    run.finish()
    return summary


def summarise(read: Run, *, command: str, metrics: Mapping[str, Mapping[str, Any]]) -> Summary:
    """Count what a record holds.

    Args:
        read: The record.
        command: The verb.
        metrics: What was measured against truth and the model's own score, if anything.
    """
    verdicts = [verdict for verdict, _ in read.verdicts]
    return Summary(
        command=command,
        n=len(verdicts) + len(read.failed),
        ok=len(verdicts),
        failed=len(read.failed),
        undefined=0,
        by_action=counted_by([verdict.action or "" for verdict in verdicts], ACTIONS),
        by_defect=counted_by([verdict.defect for verdict in verdicts], (*DEFECTS, "empty")),
        metrics={**_estimated(verdicts), **expected(read.verdicts), **unlike_share(verdicts), **metrics},
    )


def _estimated(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, Any]]:
    values = [verdict.iou for verdict in verdicts if verdict.iou is not None]
    if not values:
        return {}
    signature = Signature.of(metric="mean estimated IoU", judge=verdicts[0].judge)
    mean = {"value": round(fmean(values), 6), "low": None, "high": None, "n": len(values), "signature": str(signature)}
    return {"estimated_iou": mean}


def counted_by(values: Sequence[str], order: Sequence[str]) -> dict[str, int]:
    """How often each name occurs, in a fixed order, for a summary; names that are not in the order are left out."""
    counts = Counter(values)
    return {name: counts[name] for name in order}


def _page(read: Run, tables: Mapping[str, Any], apart: Sequence[str]) -> str:
    worst = worst_first(verdict for verdict, _ in read.verdicts)[:PICTURED]
    shown = {*(verdict.id for verdict in worst), *apart}
    rows = (row for row in read.thumbnails() if row.get("id") in shown or not isinstance(row.get("id"), str))
    thumbnails = pictures(rows, path=read.path / "thumbnails.jsonl")  # of thousands, only those that are shown
    large = crops(read.path, [verdict.id for verdict in worst[:LARGE]])
    return render(page_from_run(read, thumbnails=thumbnails, crops=large, tables=tables))
