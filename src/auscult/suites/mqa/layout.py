"""The benchmark in MQ-RAVSBench's own files, beside the INPUT and naming the same masks, frames and sounds.

What reads the release reads this folder: ``train_test_meta_files/metadata.csv`` with the key frames, one JSON document
per split and protocol, ``media/<vid>/frames/`` and ``media/<vid>/audio.wav``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from auscult.cases.layouts import mqravs, refavs
from auscult.jobs.runner import finish_tables
from auscult.record.folder import RunFolder
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary, counted_by
from auscult.report.tables import Table
from auscult.suites.mqa.building import Order
from auscult.suites.mqa.options import BuildOptions
from auscult.suites.mqa.sample import SampledInstances, is_clip, split_of
from auscult.suites.mqa.statistics import JsonRow, iou_figure, sample_table, statistics
from auscult.types import ACTIONS, DEFECTS, Instance

_FID: Final = re.compile(r"fid_([0-9]{1,6})")


def layout_files(
    items: Sequence[JsonRow], orders: Sequence[Order], *, key_frames: Mapping[str, int]
) -> dict[str, bytes]:
    """The released files, name to bytes; none for a split and protocol without a mask."""
    if not items:
        return {}
    instances = {order.instance.id: order for order in orders}
    table = [
        refavs.MetadataRow(
            vid=order.instance.clip,
            uid=name,
            split=split_of(order.instance),
            fid=object_number(order.instance),
            exp=order.instance.query.text or "",
            kfid=key_frames.get(name),
        )
        for name, order in instances.items()
    ]
    return mqravs.files_of(items, table)


def object_number(instance: Instance) -> int:
    """The target's number in its clip: of Ref-AVSBench's mask folder or a mask of several objects; 0 if it has none."""
    for moment in instance.moments:
        if moment.target is not None and moment.target.index is not None:
            return moment.target.index
        if moment.target is not None and moment.target.path is not None:
            match = _FID.fullmatch(moment.target.path.parent.name)
            return int(match[1]) if match else 0
    return 0


FIGURE = "figures/iou.svg"
SURVEY = "survey.jsonl"


def finish(
    run: RunFolder,
    orders: Sequence[Order],
    *,
    sample: SampledInstances,
    options: BuildOptions,
    remarks: Sequence[str],
) -> tuple[Summary, list[Table]]:
    """Write everything that follows from the lines."""
    items, targets = _settled(run, orders)
    failed = failed_rows(run.lines("errors.jsonl"), ())
    counted = sample_table(sample, options)
    note = "; ".join([counted.note, *remarks, *_without_video(sample, options)])
    tables = {"sample": replace(counted, note=note), **statistics(items, targets)}
    run.write_text(FIGURE, iou_figure(items))
    if not options.step:  # the release has one frame an instance in its image protocol
        for file, data in layout_files(items, orders, key_frames=_key_frames(run, orders)).items():
            run.write_bytes(file, data, durable=False)
    undefined = sum(entry.get("count", 1) for row in targets for entry in row["undefined"])
    summary = Summary(
        command="stress masks",
        n=len(items) + undefined + len(failed),
        ok=len(items),
        failed=len(failed),
        undefined=undefined,
        by_action=counted_by([row["truth"]["action"] for row in items], ACTIONS),
        by_defect=counted_by([row["truth"]["defect"] for row in items], DEFECTS),
        metrics={},
    )
    summary, shown = finish_tables(run, summary, tables)
    return summary, [table for table in shown if table.rows]


def _settled(run: RunFolder, orders: Sequence[Order]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Items and targets in the order of the orders, so that the folder does not tell which worker was faster.

    A file that could not be read and was mended since may have changed the sample: what was made of instances that are
    no longer in it is removed.
    """
    places = {order.key: place for place, order in enumerate(orders)}
    rows = list({row["id"]: row for row in run.lines("items.jsonl")}.values())
    items = [row for row in rows if _key_of(row) in places]
    for row in rows:
        if _key_of(row) not in places:
            run.remove(row["mask"])
    items.sort(key=lambda row: places[_key_of(row)])  # stable: one instance's rows were written in order
    targets = [row for row in run.lines("targets.jsonl") if row["id"] in places]
    targets.sort(key=lambda row: places[row["id"]])
    survey = sorted({row["id"]: row for row in run.lines(SURVEY)}.values(), key=lambda row: str(row["id"]))
    for name, settled in (("items.jsonl", items), ("targets.jsonl", targets), (SURVEY, survey)):
        text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in settled)
        run.write_text(name, text)
    return items, targets


def _key_frames(run: RunFolder, orders: Sequence[Order]) -> dict[str, int]:
    """Instance id to its key frame's number in the clip, where that frame is part of an order."""
    found = {row["id"]: row["frame"] for row in run.lines(SURVEY)}
    return {
        order.instance.id: order.numbers[order.moments.index(found[order.instance.id])]
        for order in orders
        if found.get(order.instance.id) in order.moments
    }


def _key_of(row: Mapping[str, Any]) -> str:
    """The order of a row: its id without the mask's name and, in the video protocol, the frame's number."""
    return str(row["id"]).rsplit("/", 1 if row["mqa"]["protocol"] == "image" else 2)[0]


def _without_video(sample: SampledInstances, options: BuildOptions) -> list[str]:
    """Splits whose video protocol is empty because the source has photographs, or one annotated frame a clip."""
    if "video" not in options.protocols:
        return []
    return [
        f"no video protocol for {split}: no clip has two annotated frames of the target"
        for split, chosen in sample.image.items()
        if chosen and split in sample.video and not any(is_clip(instance) for instance in chosen)
    ]
