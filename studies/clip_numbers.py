"""Do the flags of ``clips.jsonl`` agree with true IoU? Prints a line for each track of records that have truth.

Usage: python studies/clip_numbers.py RECORD [RECORD ...]

A record is the output folder of `auscult audit` on an INPUT with true masks. ``rho`` is Spearman's rank correlation
over the frames of a track: of oddness with how far the true IoU lies below that of its neighbours (``odd~dip``), and of
overlap with true IoU (``overlap~true``); higher is better in both. ``in dips`` counts the odd frames and switches whose
true IoU lies at least .1 below the track's median.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from auscult.outcome import Scored
from auscult.record.codec import from_json
from auscult.record.reader import Run, read_run
from auscult.record.schema import ClipRow
from auscult.score.stats.correlation import spearman
from auscult.score.stats.trend import neighbour_medians

DIP = 0.1


def main(folders: Sequence[str]) -> int:
    """Print the lines; 2 without a record."""
    if not folders:
        print(__doc__)
        return 2
    for folder in folders:
        run = read_run(Path(folder))
        truths = {str(row["id"]): row.get("iou") for row in run.lines("truth.jsonl")}
        print(f"{folder}\n{'track':24} frames  iou est true  in interval  odd~dip overlap~true  flagged (in dips)")
        print(*_lines(run, truths), sep="\n")
    return 0


def _lines(run: Run, truths: dict[str, float | None]) -> list[str]:
    lines = []
    inside = total = 0
    for row in (from_json(ClipRow, one) for one in run.clips):
        true = [None if name is None else truths.get(name) for name in row.frames]
        known = [iou for iou in true if iou is not None]
        if not known or row.iou is None:
            continue
        mean = sum(known) / len(known)
        held = row.iou_low is not None and row.iou_high is not None and row.iou_low <= mean <= row.iou_high
        inside, total = inside + held, total + 1
        lines.append(_line(row, true, mean, held=held))
    return [*lines, f"{inside} of {total} tracks have their true mean IoU in the interval"]


def _line(row: ClipRow, true: Sequence[float | None], mean: float, *, held: bool) -> str:
    around = neighbour_medians(true)
    dips = [None if iou is None or near is None else near - iou for iou, near in zip(true, around, strict=True)]
    middle = median(iou for iou in true if iou is not None)
    place = {name: number for number, name in enumerate(row.frames) if name is not None}
    flagged = {place[mark.id] for mark in (*row.odd, *row.switches) if mark.id is not None}
    hits = sum(iou is not None and iou <= middle - DIP for iou in (true[number] for number in flagged))
    return (
        f"{row.clip + ' ' + row.track:24} {row.n:5}  {row.iou or 0:.3f} {mean:.3f}  {'yes' if held else 'no':>9}"
        f"  {_rho(row.oddness, dips):>8} {_rho(row.overlaps, true):>8}  {len(flagged):4} ({hits})"
    )


def _rho(first: Sequence[float | None], second: Sequence[float | None]) -> str:
    both = [(one, two) for one, two in zip(first, second, strict=True) if one is not None and two is not None]
    told = spearman([one for one, _ in both], [two for _, two in both])
    return f"{told.value:+.2f}" if isinstance(told, Scored) else "-"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
