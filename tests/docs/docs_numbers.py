"""The judge's numbers on the pages people read, from its card; `python tests/docs/docs_numbers.py` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from docs_pages import DOCS, README

from auscult.judge.cards import Card, Result, load_card

NAME = "masks.compact.v1"
BESIDE = "masks.cues.v1"
CONSTANT = "constant-IoU"
MARK = f"<!-- numbers: {NAME} -->"
VERDICTS = DOCS / "verdicts.md"
HEADER = (
    f"| measured on | masks | metric | {NAME} | {BESIDE} | always perfect | constant IoU |\n"
    "|---|---|---|---|---|---|---|\n"
)
COCO = ("21 COCO photographs, the paper's defects", "coco_test")
COCO_OTHER = ("the same photographs, defects of another maker", "coco_test_freehand")
DAVIS = ("three DAVIS sequences, the paper's defects", "davis_test")
DAVIS_OTHER = ("the same sequences, defects of another maker", "davis_test_freehand")
REAL = ("real masks of OSVOS and RVOS on them", "davis_test_real")
SAME = "the same"
RMSE = "RMSE of IoU, lower is better"
ALONE = "the same without merges"
RANKS = "Spearman, higher is better"
TABLES = "F2-tables of the type, higher is better"
CONFUSION = "F2-confusion of the type, higher is better"
COVERED = "coverage of the 90 % interval"
SHORT = (
    (COCO, TABLES, "f2_tables"),
    (COCO, CONFUSION, "f2_confusion"),
    (COCO, RMSE, "rmse"),
    (COCO_OTHER, TABLES, "f2_tables"),
    (COCO_OTHER, CONFUSION, "f2_confusion"),
    (COCO_OTHER, RMSE, "rmse"),
    (DAVIS, TABLES, "f2_tables"),
    (DAVIS, RMSE, "rmse"),
    (DAVIS_OTHER, TABLES, "f2_tables"),
    (DAVIS_OTHER, RMSE, "rmse"),
    (REAL, RMSE, "rmse"),
    (REAL, RANKS, "spearman"),
)
LONG = (
    *SHORT[:3],
    (COCO, ALONE, "rmse_without_merge"),
    (COCO, COVERED, "coverage_90"),
    *SHORT[3:6],
    (COCO_OTHER, COVERED, "coverage_90"),
    SHORT[6],
    (DAVIS, CONFUSION, "f2_confusion"),
    *SHORT[7:12],
    (REAL, COVERED, "coverage_90"),
)
LAID_OUT = {README: SHORT, VERDICTS: LONG}


def result(card: Card, where: str, metric: str, row: str = NAME) -> Result:
    """The one result of that set, metric and row."""
    found = [entry for entry in card.results if (entry.set, entry.metric, entry.row) == (where, metric, row)]
    if not found and row not in {NAME, BESIDE}:  # one number for all has no order, no type and no interval
        return Result(set=where, row=row, metric=metric, value=None, low=None, high=None, n=0, clusters=0)
    (one,) = found
    return one


def table(card: Card, page: Path) -> str:
    """The table of a page."""
    lines = []
    before = ""
    for (label, where), shown, metric in LAID_OUT[page]:
        found = [result(card, where, metric, row) for row in (NAME, BESIDE, "always-perfect", CONSTANT)]
        cells = [_cell(entry) for entry in found]
        lines.append(f"| {' | '.join([SAME if where == before else label, str(found[0].n), shown, *cells])} |\n")
        before = where
    return MARK + "\n" + HEADER + "".join(lines)


def _cell(entry: Result) -> str:
    return "–" if entry.value is None else f"{entry.value:.3f}"


def _value(card: Card, metric: str, where: str = "coco_test") -> float:
    return result(card, where, metric).value or 0.0


def _recognised(card: Card) -> float:
    """F2-tables is 5 R / (4 + R), so R, the share of masks that are recognised, is 4 F / (5 - F)."""
    value = _value(card, "f2_tables.perfect")
    return 4 * value / (5 - value)


Fact = tuple[Path, str, Callable[[Card], str]]
FACTS: tuple[Fact, ...] = tuple(
    fact
    for page in (README, VERDICTS)
    for fact in (
        (page, r"of (\d+) flawless COCO masks", lambda card: str(result(card, "coco_test", "f2_tables.perfect").n)),
        (page, r"flawless COCO masks it calls (\d+) % perfect", lambda card: f"{100 * _recognised(card):.0f}"),
        (page, r"cutouts of the other maker F2 ([\d.]+)", lambda card: f"{_other(card, 'cutout'):.3f}"),
        (
            page,
            r"wrong objects counted in, its RMSE is ([\d.]+)",
            lambda card: f"{_value(card, 'rmse_all_six'):.3f}",
        ),
    )
)


def _other(card: Card, kind: str) -> float:
    return _value(card, f"f2_tables.{kind}", "coco_test_freehand")


def filled(card: Card, page: Path) -> str:
    """A page with the card's numbers in it."""
    text = page.read_text(encoding="utf-8")
    text, found = re.subn(rf"{re.escape(MARK)}\n(?:\|.*\n)+", table(card, page), text)
    if found != 1:
        raise ValueError(f"{page.name} has {found} tables below {MARK}")
    for where, pattern, value in FACTS:
        if where == page:
            match = re.search(pattern, text)
            if match is None:
                raise ValueError(f"{page.name} has no sentence {pattern}")
            text = text[: match.start(1)] + value(card) + text[match.end(1) :]
    return text


if __name__ == "__main__":
    for path in LAID_OUT:
        path.write_text(filled(load_card(NAME), path), encoding="utf-8")
