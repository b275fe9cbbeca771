"""Tables and a figure that describe a benchmark, counted from ``items.jsonl`` and ``targets.jsonl``.

A type that has no mask has an empty cell, not a zero share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final, TypeAlias

from auscult.report.charts.basic import HISTOGRAM_PX, Stack, histogram_parts
from auscult.report.drawing import Drawing, DrawnShape, Rect, Text, to_svg
from auscult.report.tables import Table
from auscult.suites.mqa.options import ALL_THERE, PROTOCOLS, TARGETS, BuildOptions
from auscult.suites.mqa.rows import bin_of
from auscult.suites.mqa.sample import SampledInstances
from auscult.types import DEFECTS

JsonRow: TypeAlias = Mapping[str, Any]
TableCell: TypeAlias = tuple[str, str]

BINS: Final = 10
"""Bins of the IoU distribution, .1 wide; the last one holds 1 itself."""

SPLIT_WORDS: Final[Mapping[str, str]] = {"train": "train", "test_s": "test (seen)", "test_u": "test (unseen)"}
REASON_WORDS: Final[Mapping[str, str]] = {
    "null_expression": "refers to nothing (null expression)",
    "target_missing": "the data set has no mask of the target",
    "target_empty": "the target's mask is empty in every frame",
    "too_small": "the target has too few pixels in every frame",
    "unreadable": "a file is missing or broken: see errors.jsonl",
    "split_not_taken": "split not taken",
}


def statistics(items: Sequence[JsonRow], targets: Sequence[JsonRow]) -> dict[str, Table]:
    """The tables that describe a benchmark."""
    return {
        "masks": masks_table(items),
        "types": types_table(items),
        "iou": iou_table(items),
        "undefined": undefined_table(targets),
    }


def by_cell(items: Iterable[JsonRow]) -> dict[TableCell, list[JsonRow]]:
    """Rows of ``items.jsonl`` by protocol and split, in the paper's order: image before video, training first."""
    grouped: dict[TableCell, list[JsonRow]] = defaultdict(list)
    for row in items:
        grouped[str(row["mqa"]["protocol"]), str(row["mqa"]["split"])].append(row)
    splits = (*TARGETS, "")

    def rank(cell: TableCell) -> tuple[int, int, str]:
        protocol, split = cell
        return [*PROTOCOLS, protocol].index(protocol), [*splits, split].index(split), split

    return {cell: grouped[cell] for cell in sorted(grouped, key=rank)}


def masks_table(items: Sequence[JsonRow]) -> Table:
    """Table 1: videos, expressions and masks per protocol and split, test splits added up."""
    grouped = by_cell(items)
    rows: list[tuple[str, ...]] = []
    for protocol in dict.fromkeys(of for of, _ in grouped):
        splits = {split: members for (of, split), members in grouped.items() if of == protocol}
        rows += [(protocol, split_words(split), *_amounts(members)) for split, members in splits.items()]
        tests = [members for split, members in splits.items() if split != "train"]
        if len(tests) > 1:
            rows.append((protocol, "test, all", *_amounts([row for members in tests for row in members])))
    return Table(
        title="benchmark: videos, expressions, masks",
        header=("protocol", "split", "videos", "expressions", "masks"),
        rows=tuple(rows),
        note="form of MQ-RAVSBench, Table 1; a mask of the video protocol is one frame of a track",
    )


def types_table(items: Sequence[JsonRow]) -> Table:
    """Table 8: masks of each type per protocol and split."""
    rows = []
    for (protocol, split), members in by_cell(items).items():
        counts = Counter(row["truth"]["defect"] for row in members)
        cells = (f"{counts[kind]:,}" for kind in DEFECTS)
        rows.append((protocol, split_words(split), f"{len(members):,}", *cells))
    return Table(
        title="benchmark: masks of each type",
        header=("protocol", "split", "total", *DEFECTS),
        rows=tuple(rows),
        note="form of MQ-RAVSBench, Table 8: 1 perfect, 2 cutout, dilate and erode, at most 3 merge and full_neg each",
    )


def iou_table(items: Sequence[JsonRow]) -> Table:
    """Fig. 4 as text: the IoU distribution of each type, of the image protocol; of video if there is no other."""
    rows = []
    for cell, kind, ious in iou_cells(items):
        bins = histogram(ious)
        spread = f"{min(ious):.3f} {median(ious):.3f} {max(ious):.3f}"
        rows.append((split_words(cell[1]), kind, f"{len(ious):,}", spread, *(str(count or "") for count in bins)))
    return Table(
        title="benchmark: exact IoU",
        header=("split", "type", "n", "min median max", *(f".{index}" for index in range(BINS))),
        rows=tuple(rows),
        note="form of MQ-RAVSBench, Fig. 4; columns are IoU from .0, .1, ..., .9 up, the last one with 1 itself",
    )


def iou_cells(items: Sequence[JsonRow]) -> list[tuple[TableCell, str, list[float]]]:
    """The exact IoUs of each split and type, of the protocol of Fig. 4."""
    grouped = by_cell(items)
    # images first, if there are any
    main_protocol = next((protocol for protocol, _ in grouped), "")
    cells: list[tuple[TableCell, str, list[float]]] = []
    for cell, rows in grouped.items():
        for kind in DEFECTS if cell[0] == main_protocol else ():
            ious = [float(row["truth"]["iou"]) for row in rows if row["truth"]["defect"] == kind]
            cells += [(cell, kind, ious)] if ious else []
    return cells


def histogram(ious: Iterable[float]) -> list[int]:
    """Counts of values 0..1 in ``BINS`` equal bins; 1 itself is in the last."""
    counts = Counter(bin_of(iou, BINS) for iou in ious)
    return [counts[index] for index in range(BINS)]


def undefined_table(targets: Sequence[JsonRow]) -> Table:
    """Counts and reasons of what could not be made: frames of tracks in video, masks in image."""
    counts: Counter[tuple[str, str, str, str, str]] = Counter()
    for row in targets:
        for entry in row["undefined"]:
            counts[row["protocol"], row["split"], entry["kind"], entry["difficulty"] or "", entry["reason"]] += (
                entry.get("count", 1)
            )
    order = (*DEFECTS, "")
    rows = sorted(counts, key=lambda key: (*key[:2], order.index(key[2]) if key[2] in order else len(order), key[3:]))
    return Table(
        title="benchmark: undefined",
        header=("protocol", "split", "type", "difficulty", "reason", "masks"),
        rows=tuple((key[0], split_words(key[1]), *key[2:], f"{counts[key]:,}") for key in rows),
        note="masks that the object does not allow; they are counted here and in no score",
    )


def sample_table(sample: SampledInstances, options: BuildOptions) -> Table:
    """Target and actual counts of clips and instances, with those left out."""
    rows: list[tuple[str, ...]] = []
    for split, chosen in sample.image.items():
        target = options.target(split)
        clips, videos = {instance.clip for instance in chosen}, sample.video.get(split, ())
        rows += [
            (split_words(split), "videos or photographs", _wanted(target.clips), str(len(clips))),
            (split_words(split), "instances", _wanted(target.instances), str(len(chosen))),
        ]
        if target.videos and "video" in options.protocols:
            rows.append((split_words(split), "videos of the video protocol", _wanted(target.videos), str(len(videos))))
    for split, reasons in sorted(sample.left_out.items()):
        rows += [
            (split_words(split), f"left out: {REASON_WORDS.get(reason, reason)}", "", str(count))
            for reason, count in sorted(reasons.items())
        ]
    return Table(
        title="benchmark: sample",
        header=("split", "of what", "wanted", "there"),
        rows=tuple(rows),
        note="only files of instances that were about to be taken are opened: other broken ones are not counted",
    )


def _wanted(count: int) -> str:
    return "all" if count == ALL_THERE.instances else str(count)


def split_words(split: str) -> str:
    """A split's name in tables."""
    return SPLIT_WORDS.get(split, split)


def _amounts(rows: Sequence[JsonRow]) -> tuple[str, str, str]:
    clips = {row["mqa"]["vid"] for row in rows}
    return f"{len(clips):,}", f"{len({row['mqa']['uid'] for row in rows}):,}", f"{len(rows):,}"


_PANEL, _HEAD, _LEGEND = HISTOGRAM_PX + 12.0, 22.0, 30.0
_WIDTH: Final = 540.0
_COLOURS: Final = {kind: f"s{number}" for number, kind in enumerate(DEFECTS)}


def iou_figure(items: Sequence[JsonRow]) -> str:
    """Draw the exact IoUs of every split, as SVG."""
    cells: dict[TableCell, dict[str, list[int]]] = {}
    for cell, kind, ious in iou_cells(items):
        cells.setdefault(cell, {})[kind] = histogram(ious)
    parts = _legend()
    for index, (cell, kinds) in enumerate(cells.items()):
        parts += _panel(cell, kinds, top_px=_LEGEND + index * (_PANEL + _HEAD))
    height = round(_LEGEND + len(cells) * (_PANEL + _HEAD))
    title = "Exact IoU of the masks of each split, by type"
    return to_svg(Drawing(size=(round(_WIDTH), height), parts=tuple(parts), title=title))


def _panel(cell: TableCell, kinds: dict[str, list[int]], *, top_px: float) -> list[DrawnShape]:
    stacks = [
        Stack(
            f"IoU {index / BINS:.1f} to {(index + 1) / BINS:.1f}",
            tuple((_COLOURS[kind], kind, kinds[kind][index]) for kind in DEFECTS if kind in kinds),
        )
        for index in range(BINS)
    ]
    total = sum(stack.total for stack in stacks)
    title = f"{split_words(cell[1])}, {cell[0]} protocol: {total:,} masks"
    ticks = {edge: f"{edge / BINS:.1f}" for edge in range(0, BINS + 1, 2)}
    return [
        Text(at=(40, top_px + 14), words=title, bold=True),
        *histogram_parts(stacks, ticks=ticks, top=top_px + _HEAD),
    ]


def _legend() -> list[DrawnShape]:
    step = (_WIDTH - 44) / len(DEFECTS)
    parts: list[DrawnShape] = []
    for index, (kind, colour) in enumerate(_COLOURS.items()):
        parts.append(Rect(x=40 + index * step, y=8, width_px=11, height_px=11, fill=colour))
        parts.append(Text(at=(56 + index * step, 18), words=kind, colour="quiet"))
    return parts
