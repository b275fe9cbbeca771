"""The judge's numbers on the pages people read, from its card; `python tests/docs/docs_numbers.py` writes them anew."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from docs_pages import DOCS, README

from auscult.judge.cards import Card, Result, load_card

NAME = "masks.prompted.v1"
BESIDE = "masks.compact.v1"
MARK = f"<!-- numbers: {NAME} -->"
VERDICTS = DOCS / "verdicts.md"
ROWS = (NAME, BESIDE, "mask-area", "constant")
HEADER = f"| measured on | masks | clusters | metric | {' | '.join(ROWS)} |\n|{'---|' * (4 + len(ROWS))}\n"
NEW = ("masks of model families not in training", "new_families")
PHOTOGRAPHS = ("of these, photographs", "new_families_photographs")
UNSEEN = ("pets and two sequences, a held-out source", "unseen_source")
FLAWLESS = ("ground truth of COCO objects", "flawless_coco")
SMALL = ("of these, under 2 % of the picture", "flawless_small")
OTHER = ("COCO, synthetic defects of a second generator", "freehand_coco")
AUC = ("AUC for IoU >= .8, higher is better", "auc_80")
RANKS = ("Spearman, higher is better", "spearman")
RMSE = ("RMSE of IoU, lower is better", "rmse")
COVERED = ("coverage of the 90 % interval", "coverage_90")
WIDTH = ("its mean width", "width_90")
PRECISION = ("precision of accepting (IoU >= .8), higher is better", "accept_precision")
RECALL = ("recall of accepting, higher is better", "accept_recall")
ACCEPTED = ("accepted, higher is better", "accepted")
DEFECTIVE = ("called defective, lower is better", "called_defective")
TYPES = ("F2 of the defect (F2-tables), higher is better", "f2_tables")
LAID_OUT = {
    README: (
        *((NEW, metric) for metric in (AUC, RANKS, RMSE, COVERED, PRECISION, RECALL)),
        (UNSEEN, AUC),
        (UNSEEN, RMSE),
        (FLAWLESS, ACCEPTED),
        (OTHER, TYPES),
    ),
    VERDICTS: (
        *((NEW, metric) for metric in (AUC, RANKS, RMSE, COVERED, WIDTH, PRECISION, RECALL)),
        *((PHOTOGRAPHS, metric) for metric in (AUC, RMSE, PRECISION, RECALL)),
        *((UNSEEN, metric) for metric in (AUC, RMSE, COVERED, PRECISION, RECALL)),
        *((set_name, metric) for set_name in (FLAWLESS, SMALL) for metric in (ACCEPTED, DEFECTIVE)),
        (OTHER, TYPES),
    ),
}


LEAST_CLUSTERS = 20
"""A set of fewer photographs and sequences stands on the card, and is no claim of README or docs."""


def same_for_all(card: Card, set_name: str, metric: str) -> float | None:
    """What one answer for all masks gets where the card's row `constant` has none: accept each, name one type."""
    if metric == "accept_precision":  # the share of good masks, since all are accepted
        accepted, precision, recall = (
            result(card, set_name, name).value for name in ("accepted", "accept_precision", "accept_recall")
        )
        return accepted * precision / recall if accepted and precision and recall else None
    return {"accept_recall": 1.0, "accepted": 1.0, "called_defective": 0.0, "f2_tables": 0.2}.get(metric)


def result(card: Card, set_name: str, metric: str, row: str = NAME) -> Result:
    """The one result of that set, metric and row."""
    matches = [entry for entry in card.results if (entry.set, entry.metric, entry.row) == (set_name, metric, row)]
    if not matches and row not in {NAME, BESIDE}:  # a number that looks at nothing names no type
        return Result(set=set_name, row=row, metric=metric, value=None, low=None, high=None, n=0, clusters=0)
    (match,) = matches
    return match


def table(card: Card, page: Path) -> str:
    """The table of a page."""
    lines = []
    before = ""
    for (label, set_name), (shown_metric, metric) in LAID_OUT[page]:
        results_of_rows = [result(card, set_name, metric, row) for row in ROWS]
        if results_of_rows[0].clusters < LEAST_CLUSTERS:
            raise ValueError(f"{label}: {results_of_rows[0].clusters} clusters are too few for a claim")
        if results_of_rows[-1].value is None:
            results_of_rows[-1] = replace(results_of_rows[-1], value=same_for_all(card, set_name, metric))
        first = "the same" if set_name == before else label
        cells = [
            first,
            str(results_of_rows[0].n),
            str(results_of_rows[0].clusters),
            shown_metric,
            *(_cell(entry) for entry in results_of_rows),
        ]
        lines.append(f"| {' | '.join(cells)} |\n")
        before = set_name
    return MARK + "\n" + HEADER + "".join(lines)


def _cell(entry: Result) -> str:
    if entry.value is None:
        return "–"
    if entry.low is None or entry.high is None or entry.row != NAME:
        return f"{entry.value:.2f}"
    return f"{entry.value:.2f} [{entry.low:.2f}, {entry.high:.2f}]"


def filled(card: Card, page: Path) -> str:
    """A page with the card's numbers in it."""
    text = page.read_text(encoding="utf-8")
    text, count = re.subn(rf"{re.escape(MARK)}\n(?:\|.*\n)+", lambda _: table(card, page), text)
    if count != 1:
        raise ValueError(f"{page.name} has {count} tables below {MARK}")
    return text


if __name__ == "__main__":
    for path in LAID_OUT:
        path.write_text(filled(load_card(NAME), path), encoding="utf-8")
