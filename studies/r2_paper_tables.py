"""Write docs/r2-paper.md: the changes that R2-Bench prints, beside those that its own printed scores give.

    python studies/r2_paper_tables.py            write the page
    python studies/r2_paper_tables.py --check    only compare; exits 1 when the page is stale

The scores are those of tests/golden/r2_paper_tables.csv, the arithmetic is that of `auscult.score.stats.apc`.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from auscult.outcome import Scored
from auscult.score.stats import apc

ROOT = Path(__file__).resolve().parents[1]
CELLS = ROOT / "tests" / "golden" / "r2_paper_tables.csv"
PAGE = ROOT / "docs" / "r2-paper.md"

_TITLES: Final = {
    "3": "Table 3: referring image segmentation, mIoU, 0..1",
    "4": "Table 4: video object segmentation, percent",
    "5": "Table 5: referring video object segmentation, percent",
    "6": "Table 6: audio-visual segmentation, percent",
}
_SLACK: Final = 1e-9
_OPENING: Final = """\
# The tables of R2-Bench, recomputed

R2-Bench (Li et al., ECCV 2024) prints for each model a clean score, a score at three levels of stress, and the average
performance change (APC): the mean of perturbed minus clean over the levels. Both can be compared, since the scores are
printed too. This page does so for every row of its Tables 3 to 6. `auscult.score.stats.apc` is the arithmetic;
`python studies/r2_paper_tables.py` writes the page.

Two tolerances, for printed numbers are rounded themselves:

- **strict**: the change from the printed scores, rounded as it is printed, is the printed one: at most half a unit of
  the last digit away.
- **rounding**: the printed change can be that of scores before they were rounded: at most one and a half units away,
  half for the change, half for the clean score, half for the mean of the levels.
"""
_READING: Final = """\
## How the tables were read

The source is a text version of the paper, whose headings may not be those of the print; the numbers decide.

- Table 4 heads all levels with G seen and G unseen. Its DAVIS half has no unseen classes and heads the clean scores
  with J and F; so its levels and changes are read as J and F too. Its YouTube-VOS half is G seen and G unseen.
- Tables 5 and 6 head the low level of their right half with F before J. Its numbers stand in the order J, F like all
  others: in that order {straight} of the {rows} rows agree at least by rounding, exchanged {exchanged}.
- MTTR has no scores on Ref-DAVIS.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model, data set and metric of a table, as printed.

    Attributes:
        table: Its number.
        data: The data set.
        metric: The metric.
        method: The model.
        clean: Score without stress, as printed.
        levels: Scores at low, medium and high, as printed.
        apc: Change, as printed.
    """

    table: str
    data: str
    metric: str
    method: str
    clean: str
    levels: tuple[str, str, str]
    apc: str

    @property
    def name(self) -> tuple[str, str, str, str]:
        """What tells it from all others."""
        return self.table, self.data, self.metric, self.method

    @property
    def ours(self) -> float:
        """The change from the printed scores."""
        return _change(self.clean, self.levels)

    @property
    def agrees(self) -> str:
        """``yes`` in the strict sense, ``rounding``, or ``no``."""
        return _agreement(self.ours, self.apc)


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; 1 when a checked page is stale, 2 for a wrong option."""
    if list(arguments) not in ([], ["--check"]):
        print("options: --check, or none")
        return 2
    text = page(read())
    if arguments:
        stale = not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text
        state = "stale; run: python studies/r2_paper_tables.py" if stale else "as it should be"
        print(f"{PAGE.relative_to(ROOT)} is {state}")
        return int(stale)
    PAGE.write_text(text, encoding="utf-8")
    return 0


def read(path: Path = CELLS) -> tuple[Row, ...]:
    """The printed rows, in the paper's order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            Row(
                table=line["table"],
                data=line["data"],
                metric=line["metric"],
                method=line["method"],
                clean=line["clean"],
                levels=(line["low"], line["medium"], line["high"]),
                apc=line["apc"],
            )
            for line in csv.DictReader(file)
        )


def page(rows: Sequence[Row]) -> str:
    """The whole page."""
    tables = [part for number in _TITLES for part in (f"## {_TITLES[number]}", _table(rows, number))]
    return "\n\n".join([_OPENING.strip(), _differing(rows), _read_as(rows).strip(), *tables]) + "\n"


def exchanged(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows of the right halves of Tables 5 and 6 with the low scores of J and F exchanged, as they are headed."""
    halves = [row for row in rows if (row.table, row.data) in (("5", "Ref-YTVOS"), ("6", "AVS-ms3"))]
    low = {row.name: row.levels[0] for row in halves}
    made = []
    for row in halves:
        table, data, metric, method = row.name
        other = low[table, data, "J" if metric == "F" else "F", method]
        made.append(
            Row(
                table=table,
                data=data,
                metric=metric,
                method=method,
                clean=row.clean,
                levels=(other, *row.levels[1:]),
                apc=row.apc,
            )
        )
    return tuple(made)


def _differing(rows: Sequence[Row]) -> str:
    """What does not agree, as a table, and what can be said of it."""
    strict = [row for row in rows if row.agrees != "yes"]
    beyond = [row for row in strict if row.agrees == "no"]
    lines = [
        "| table | data | metric | model | printed | from the scores | explained by rounding |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in strict:
        explained = "no" if row.agrees == "no" else "yes"
        lines.append(f"| {' | '.join(row.name)} | {row.apc} | {row.ours:.3f} | {explained} |")
    said = (
        f"Of {len(rows)} changes {len(rows) - len(strict)} agree strictly, {len(strict) - len(beyond)} more by "
        f"rounding, and {len(beyond)} do not agree:"
    )
    return "\n\n".join(["## What differs", said, "\n".join(lines), *_remarks(rows, beyond)])


def _remarks(rows: Sequence[Row], beyond: Sequence[Row]) -> list[str]:
    """For each row that does not agree: which other printed clean score would give its change."""
    told = []
    for row in beyond:
        others = [
            f"the clean {other.metric} ({other.clean})"
            for other in rows
            if (other.table, other.data, other.method) == (row.table, row.data, row.method)
            and other.metric != row.metric
            and _agreement(_change(other.clean, row.levels), row.apc) != "no"
        ]
        reason = f"is what its levels give against {others[0]}" if others else "follows from no score printed beside it"
        told.append(f"- {row.method} on {row.data}, {row.metric}: the printed {row.apc} {reason}.")
    return ["\n".join(told)] if told else []


def _read_as(rows: Sequence[Row]) -> str:
    swapped = exchanged(rows)
    names = {row.name for row in swapped}
    straight = sum(row.agrees != "no" for row in rows if row.name in names)
    return _READING.format(rows=len(swapped), straight=straight, exchanged=sum(row.agrees != "no" for row in swapped))


def _table(rows: Sequence[Row], number: str) -> str:
    lines = [
        "| data | metric | model | clean | low | medium | high | APC printed | from the scores | agrees |",
        "|---" * 10 + "|",
    ]
    for row in rows:
        if row.table == number:
            cells = (row.data, row.metric, row.method, row.clean, *row.levels, row.apc, f"{row.ours:.3f}", row.agrees)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _change(clean: str, levels: Sequence[str]) -> float:
    told = apc(float(clean), [float(level) for level in levels])
    if not isinstance(told, Scored):
        raise TypeError(f"no change from {clean} and {levels}: {told}")
    return told.value


def _agreement(ours: float, printed: str) -> str:
    unit = 10.0 ** -len(printed.partition(".")[2])
    off = abs(ours - float(printed))
    if off <= unit / 2 + _SLACK:
        return "yes"
    return "rounding" if off <= 3 * unit / 2 + _SLACK else "no"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
