"""The judge's numbers on the pages people read, from its card; `python tests/docs/docs_numbers.py` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from docs_pages import DOCS, README

from auscult.judge.cards import Card, Result, load_card

NAME = "masks.cues.v1"
MARK = f"<!-- numbers: {NAME} -->"
VERDICTS = DOCS / "verdicts.md"
HEADER = f"| measured on | masks | metric | {NAME} | always perfect | constant IoU |\n|---|---|---|---|---|---|\n"
COCO = ("COCO photographs, made defects without wrong objects", "coco_test", "constant-IoU")
COCO_SIX = ("the same, wrong objects counted with IoU 0", "coco_test", "constant-IoU-six")
SAME_SIX = ("the same", "coco_test", "constant-IoU-six")
MADE = ("made defects on three DAVIS sequences", "davis_test", "constant-IoU")
REAL = ("real masks of OSVOS and RVOS, three DAVIS sequences", "davis_test_real", "constant-IoU")
EACH = (
    "real masks of OSVOS and RVOS, ten DAVIS sequences, each judged by a fit without it",
    "davis_real_leave_one_out",
    "constant-IoU",
)
SAME_EACH = ("the same", "davis_real_leave_one_out", "constant-IoU")
RMSE = "RMSE of IoU, lower is better"
RANKS = "Spearman, higher is better"
TABLES = "F2-tables of the six defects, higher is better"
CONFUSION = "F2-confusion of the six defects, higher is better"
SHORT = (
    (COCO, RMSE, "rmse"),
    (COCO_SIX, RMSE, "rmse_all_six"),
    (SAME_SIX, TABLES, "f2_tables"),
    (SAME_SIX, CONFUSION, "f2_confusion"),
    (MADE, RMSE, "rmse"),
    (EACH, RMSE, "rmse"),
    (SAME_EACH, RANKS, "spearman"),
)
LONG = (*SHORT[:5], (REAL, RMSE, "rmse"), *SHORT[5:])
LAID_OUT = {README: SHORT, VERDICTS: LONG}


def result(card: Card, where: str, metric: str, row: str = NAME) -> Result:
    """The one result of that set, metric and row."""
    (found,) = [entry for entry in card.results if (entry.set, entry.metric, entry.row) == (where, metric, row)]
    return found


def table(card: Card, page: Path) -> str:
    """The table of a page."""
    lines = []
    for (label, where, constant), shown, metric in LAID_OUT[page]:
        found = [result(card, where, metric, row) for row in (NAME, "always-perfect", constant)]
        cells = [_cell(entry) for entry in found]
        lines.append(f"| {' | '.join([label, str(found[0].n), shown, *cells])} |\n")
    return MARK + "\n" + HEADER + "".join(lines)


def _cell(entry: Result) -> str:
    """A constant has no order: where it differs from fold to fold, its rank agreement says something of the folds."""
    ranked = entry.metric.startswith("spearman") and entry.row != NAME
    return "–" if entry.value is None or ranked else f"{entry.value:.3f}"


def _f2(card: Card, metric: str, where: str = "coco_test") -> float:
    return result(card, where, f"f2_tables.{metric}").value or 0.0


def _recognised(card: Card) -> float:
    """F2-tables is 5 R / (4 + R), so R, the share of masks that are recognised, is 4 F / (5 - F)."""
    value = _f2(card, "perfect")
    return 4 * value / (5 - value)


Fact = tuple[Path, str, Callable[[Card], str]]
FACTS: tuple[Fact, ...] = (
    (README, r"Cutouts are what it finds best \(F2 ([\d.]+)\)", lambda card: f"{_f2(card, 'cutout'):.3f}"),
    (README, r"a wrong object \(F2 ([\d.]+)\)", lambda card: f"{_f2(card, 'full_neg'):.3f}"),
    (
        README,
        r"held the true IoU for (\d+) % of the made defects",
        lambda card: f"{100 * (result(card, 'coco_test', 'coverage_90').value or 0):.0f}",
    ),
    *(
        fact
        for page in (README, VERDICTS)
        for fact in (
            (
                page,
                r"of (\d+) flawless COCO masks",
                lambda card: str(result(card, "coco_test", "f2_tables.perfect").n),
            ),
            (page, r"flawless COCO masks it calls (\d+) % perfect", lambda card: f"{100 * _recognised(card):.0f}"),
        )
    ),
    (VERDICTS, r"wrong objects: F2 ([\d.]+);", lambda card: f"{_f2(card, 'full_neg'):.3f}"),
    (VERDICTS, r"F2 ([\d.]+) for hard ones", lambda card: f"{_f2(card, 'merge.hard'):.3f}"),
    (
        VERDICTS,
        r"for hard ones, ([\d.]+) when",
        lambda card: f"{_f2(card, 'merge.hard', 'coco_test_with_others'):.3f}",
    ),
)


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
