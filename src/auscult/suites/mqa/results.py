"""All tables of the benchmark, from candidates and answers alone.

All of it is counted from the rows of ``items.jsonl`` and ``targets.jsonl``. Nothing is estimated: a type that has no
mask has an empty cell, not a zero share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final, TypeAlias

from auscult.outcome import Scored, Signature
from auscult.report.tables import Table
from auscult.suites.core.numbers import metric_json
from auscult.suites.mqa.calibration import Bin, calibration_error, pairs_of, rank_cell, reliability, size_cells
from auscult.suites.mqa.evaluate import METRICS, Block, TableNumber, ablation_cells, block_cells, blocks_of
from auscult.suites.mqa.options import ALL_THERE, PROTOCOLS, TARGETS, BuildOptions
from auscult.suites.mqa.rows import MAKING, Answers, Candidate
from auscult.suites.mqa.sample import SampledInstances
from auscult.suites.mqa.tables import (
    ablation_table,
    answers_table,
    consistency_cells,
    consistency_table,
    number_text,
    overall_table,
    paper_table,
    reliability_table,
    size_table,
)
from auscult.types import DEFECTS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockResults:
    """What one block came to."""

    block: Block
    cells: Mapping[str, Sequence[TableNumber]]
    curves: Mapping[str, Sequence[Bin]]  # judge to its reliability curve
    sizes: Mapping[str, Sequence[TableNumber]]  # judge to its RMSE by size of the object
    tables: Mapping[str, Table]  # by file name, the most important first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MqaResults:
    """What the benchmark came to."""

    blocks: tuple[BlockResults, ...]  # one per protocol and part
    tables: Mapping[str, Table]  # of what is over several blocks
    cells: tuple[TableNumber, ...]

    @property
    def all_tables(self) -> dict[str, Table]:
        """Every table by file name: block by block, then what is over several."""
        parts = (*(one.tables for one in self.blocks), self.tables)
        return {name: table for part in parts for name, table in part.items()}


def results_of(candidates: Sequence[Candidate], judges: Mapping[str, Answers]) -> MqaResults:
    """Everything that follows from the candidates, training part or not, and the rows in the order of the tables."""
    blocks = tuple(_block(block, judges) for block in blocks_of(candidates))
    cells = [cell for one in blocks for row in one.cells.values() for cell in row]
    tables: dict[str, Table] = {}
    images = [one for one in blocks if one.block.protocol == "image"]
    if images:
        for metric in METRICS:
            rows = {judge: _ablation(images, judge, metric) for judge in judges}
            tables[f"image_ablation_{metric}"] = ablation_table(metric, [one.block.part for one in images], rows)
            cells += [cell for row in rows.values() for cell in row]
    making = _making(candidates)
    return MqaResults(blocks=blocks, tables=tables, cells=tuple(_signed(cell, making) for cell in cells))


def _making(candidates: Sequence[Candidate]) -> tuple[tuple[str, str], ...]:
    """Who made the defects and how instances and frames were chosen, where not in the paper's way."""
    found: dict[str, set[str]] = {"generator": {one.generator for one in candidates} - {""}}
    for one in candidates:
        for name, value in one.making:
            found.setdefault(name, set()).add(value)
    return tuple((name, ",".join(sorted(found[name]))) for name in ("generator", *MAKING) if found.get(name))


def _signed(cell: TableNumber, making: tuple[tuple[str, str], ...]) -> TableNumber:
    """The cell with how its masks were made in its signature."""
    if not making or not isinstance(cell.outcome, Scored):
        return cell
    signature = Signature((*cell.outcome.signature.fields, *making))
    return replace(cell, outcome=replace(cell.outcome, signature=signature))


def summary_metrics(cells: Sequence[TableNumber]) -> dict[str, dict[str, Any]]:
    """The averages and what is over all masks, for ``summary.json``: ``image/seen/rmse/avg/masks.cues.v1``."""
    return {
        "/".join((cell.protocol, cell.part, cell.metric, cell.column, cell.judge)): metric_json(cell)
        for cell in cells
        if cell.column in {"avg", "all"}
    }


def _ablation(images: Sequence[BlockResults], judge: str, metric: str) -> list[TableNumber]:
    rows = [
        [cell for cell in one.cells[judge] if cell.metric == metric and cell.column not in {"avg", "all"}]
        for one in images
    ]
    return [_renamed(cell) for cell in ablation_cells(rows[0], rows[1] if len(rows) > 1 else ())]


def _renamed(cell: TableNumber) -> TableNumber:
    return replace(cell, metric=f"{cell.metric}_ablation")


def _block(block: Block, judges: Mapping[str, Answers]) -> BlockResults:
    cells = {
        judge: [*block_cells(block, judge, answers), rank_cell(block, judge, answers)]
        for judge, answers in judges.items()
    }
    sizes = {judge: size_cells(block, judge, answers) for judge, answers in judges.items()}
    curves = {judge: reliability(pairs_of(block, answers)) for judge, answers in judges.items()}
    steady: dict[str, list[TableNumber]] = {}
    if block.protocol == "video":
        steady = {judge: consistency_cells(block, judge, answers) for judge, answers in judges.items()}
    tables = _tables(block, judges, cells)
    name = f"{block.protocol}_{block.part}"
    tables[f"{name}_size"] = size_table(block, sizes)
    errors = {judge: number_text(calibration_error(curve), "calibration") for judge, curve in curves.items()}
    tables[f"{name}_reliability"] = reliability_table(block, curves, errors)
    if steady:
        tables[f"{name}_consistency"] = consistency_table(block, steady)
    return BlockResults(
        block=block,
        cells={judge: [*row, *sizes[judge], *steady.get(judge, [])] for judge, row in cells.items()},
        curves=curves,
        sizes=sizes,
        tables=tables,
    )


def _tables(
    block: Block, judges: Mapping[str, Answers], cells: Mapping[str, Sequence[TableNumber]]
) -> dict[str, Table]:
    name = f"{block.protocol}_{block.part}"
    overall = {judge: {cell.metric: cell for cell in row if cell.column == "all"} for judge, row in cells.items()}
    averages = {judge: {cell.metric: cell for cell in row if cell.column == "avg"} for judge, row in cells.items()}
    headline = {
        judge: {**{key: averages[judge][key] for key in ("f2_m", "f2_a")}, **overall[judge]} for judge in judges
    }
    tables = {f"{name}_overall": overall_table(block, headline)}
    for metric in METRICS:
        rows = {
            judge: [cell for cell in row if cell.metric == metric and cell.column != "all"]
            for judge, row in cells.items()
        }
        tables[f"{name}_{metric}"] = paper_table(block, metric, rows)
    tables[f"{name}_answers"] = answers_table(block, {judge: _counts(block, said) for judge, said in judges.items()})
    tables |= _skipped(block, judges)
    return tables


def _skipped(block: Block, judges: Mapping[str, Answers]) -> dict[str, Table]:
    """The tables once more with replies without an answer left out, where there are any."""
    lacking = {judge: said for judge, said in judges.items() if any(_counts(block, said)[key] for key in _LACKS)}
    if not lacking:
        return {}
    rows = {judge: block_cells(block, judge, said, unparsed="skip") for judge, said in lacking.items()}
    found = {}
    for metric in METRICS:
        chosen = {
            judge: [cell for cell in row if cell.metric == metric and cell.column != "all"]
            for judge, row in rows.items()
        }
        table = paper_table(block, metric, chosen)
        name = f"{block.protocol}_{block.part}_{metric}_skip"
        found[name] = Table(
            title=f"{table.title}, replies without an answer left out",
            header=table.header,
            rows=table.rows,
            note=table.note,
        )
    return found


_LACKS = ("no IoU", "no type", "no action")


def _counts(block: Block, answers: Answers) -> dict[str, int]:
    said = [(one, answers[one.id]) for one in block.candidates if one.id in answers]
    undefined = sum(one.defect == "empty" or one.iou is None for one, _ in said)
    kept = [answer for one, answer in said if one.defect != "empty"]
    return {
        "masks": len(block.candidates),
        "judged": len(said),
        "failed": len(block.candidates) - len(said),
        "undefined": undefined,
        "no IoU": sum(answer.iou is None for answer in kept),
        "no type": sum(answer.defect is None for answer in kept),
        "no action": sum(answer.action is None for answer in kept),
    }


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
    """The tables of a benchmark that was made."""
    return {
        "masks": masks_table(items),
        "types": types_table(items),
        "iou": iou_table(items),
        "undefined": undefined_table(targets),
    }


def place_of(row: JsonRow) -> TableCell:
    """Protocol and split of a row of ``items.jsonl``."""
    return str(row["mqa"]["protocol"]), str(row["mqa"]["split"])


def places(items: Iterable[JsonRow]) -> list[TableCell]:
    """Protocols and splits that occur, in the paper's order: image before video, training first."""
    order = (*TARGETS, "")
    return sorted(
        {place_of(row) for row in items},
        key=lambda place: (
            PROTOCOLS.index(place[0]) if place[0] in PROTOCOLS else len(PROTOCOLS),
            order.index(place[1]) if place[1] in order else len(order),
            place[1],
        ),
    )


def masks_table(items: Sequence[JsonRow]) -> Table:
    """Table 1: videos, expressions and masks per protocol and split, test splits added up."""
    grouped = _by_place(items)
    rows: list[tuple[str, ...]] = []
    for protocol in dict.fromkeys(place[0] for place in places(items)):
        splits = [place for place in places(items) if place[0] == protocol]
        rows += [(protocol, split_words(place[1]), *_amounts(grouped[place])) for place in splits]
        tests = [place for place in splits if place[1] != "train"]
        if len(tests) > 1:
            rows.append((protocol, "test, all", *_amounts([row for place in tests for row in grouped[place]])))
    return Table(
        title="benchmark: videos, expressions, masks",
        header=("protocol", "split", "videos", "expressions", "masks"),
        rows=tuple(rows),
        note="form of MQ-RAVSBench, Table 1; a mask of the video protocol is one frame of a track",
    )


def types_table(items: Sequence[JsonRow]) -> Table:
    """Table 8: masks of each type per protocol and split."""
    counts = {place: Counter(row["truth"]["defect"] for row in rows) for place, rows in _by_place(items).items()}
    rows = tuple(
        (
            place[0],
            split_words(place[1]),
            f"{counts[place].total():,}",
            *(f"{counts[place][kind]:,}" for kind in DEFECTS),
        )
        for place in places(items)
    )
    return Table(
        title="benchmark: masks of each type",
        header=("protocol", "split", "total", *DEFECTS),
        rows=rows,
        note="form of MQ-RAVSBench, Table 8: 1 perfect, 2 cutout, dilate and erode, at most 3 merge and full_neg each",
    )


def iou_table(items: Sequence[JsonRow]) -> Table:
    """Fig. 4 as text: how many masks of each type have which IoU, image protocol; video where there is no other."""
    rows = []
    for place, kind, ious in iou_cells(items):
        bins = histogram(ious)
        spread = f"{min(ious):.3f} {median(ious):.3f} {max(ious):.3f}"
        rows.append((split_words(place[1]), kind, f"{len(ious):,}", spread, *(str(count or "") for count in bins)))
    return Table(
        title="benchmark: exact IoU",
        header=("split", "type", "n", "min median max", *(f".{index}" for index in range(BINS))),
        rows=tuple(rows),
        note="form of MQ-RAVSBench, Fig. 4; columns are IoU from .0, .1, ..., .9 up, the last one with 1 itself",
    )


def iou_cells(items: Sequence[JsonRow]) -> list[tuple[TableCell, str, list[float]]]:
    """The exact IoUs of each split and type that has any, of the protocol that Fig. 4 shows."""
    shown = "image" if any(row["mqa"]["protocol"] == "image" for row in items) else "video"
    cells: dict[tuple[TableCell, str], list[float]] = defaultdict(list)
    for row in items:
        if row["mqa"]["protocol"] == shown:
            cells[place_of(row), row["truth"]["defect"]].append(float(row["truth"]["iou"]))
    return [(place, kind, cells[place, kind]) for place in places(items) for kind in DEFECTS if (place, kind) in cells]


def histogram(ious: Iterable[float]) -> list[int]:
    """Counts of values 0..1 in ``BINS`` equal bins; 1 itself is in the last."""
    counts = Counter(min(BINS - 1, int(iou * BINS + 1e-9)) for iou in ious)
    return [counts[index] for index in range(BINS)]


def undefined_table(targets: Sequence[JsonRow]) -> Table:
    """What could not be made, and why: frames of tracks in the video protocol, masks in the image protocol."""
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
    """How many clips and instances were wanted and how many there are, with what was left out."""
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
    """A split's name as the tables print it."""
    return SPLIT_WORDS.get(split, split)


def _by_place(items: Iterable[JsonRow]) -> dict[TableCell, list[JsonRow]]:
    grouped: dict[TableCell, list[JsonRow]] = defaultdict(list)
    for row in items:
        grouped[place_of(row)].append(row)
    return grouped


def _amounts(rows: Sequence[JsonRow]) -> tuple[str, str, str]:
    clips = {row["mqa"]["vid"] for row in rows}
    return f"{len(clips):,}", f"{len({row['mqa']['uid'] for row in rows}):,}", f"{len(rows):,}"
