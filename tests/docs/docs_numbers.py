"""The judge's numbers on the pages people read, from its card; `python tests/docs/docs_numbers.py` writes them anew."""

from __future__ import annotations

import re
from dataclasses import dataclass
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


CARD_PAGE = DOCS / "cards" / f"{NAME}.md"
GOALS_MARK = "<!-- goals: python tests/docs/docs_numbers.py -->"
OTHERS = (BESIDE, "masks.cues.v1", "mask-area", "constant")
FAMILIES = "family."


@dataclass(frozen=True)
class Goal:
    """What was aimed at before the judge was trained: a number of one set, or of the family where it is worst."""

    says: str  # of which masks, and what of them
    set: str
    metric: str
    least: float | None = None
    most: float | None = None
    of_constant: float | None = None  # at most this share of the constant's
    below: float | None = None  # at most so much below the older network judge

    def ends(self, card: Card, name: str) -> tuple[float | None, float | None]:
        """The least and the most that it may be, on the set ``name``, of as many digits as are shown."""
        least, most = self.least, self.most
        if self.of_constant is not None:
            most = self.of_constant * value_of(card, name, self.metric, "constant")
        if self.below is not None:
            least = value_of(card, name, self.metric, BESIDE) - self.below
        return None if least is None else round(least, 3), None if most is None else round(most, 3)


GOALS = (
    Goal("new families: AUC for IoU >= .8", "new_families", "auc_80", least=0.91),
    Goal("the same: Spearman", "new_families", "spearman", least=0.75),
    Goal("the same: RMSE, .75 of the constant's", "new_families", "rmse", of_constant=0.75),
    Goal("the same: bias under 2 % of the picture", "new_families", "bias_small", least=-0.1, most=0.1),
    Goal("lowest family: AUC", FAMILIES, "auc_80", least=0.83),
    Goal("new families: precision of accepting", "new_families", "accept_precision", least=0.8),
    Goal("the same: recall", "new_families", "accept_recall", least=0.55),
    Goal("photographs of these: precision", "new_families_photographs", "accept_precision", least=0.75),
    Goal("sequences of these: precision", "new_families_video", "accept_precision", least=0.75),
    Goal("lowest family of ten accepted: precision", FAMILIES, "accept_precision", least=0.55),
    Goal("flawless COCO masks: accepted", "flawless_coco", "accepted", least=0.4),
    Goal("the same: called defective", "flawless_coco", "called_defective", most=0.15),
    Goal("of these under 2 % of the picture: accepted", "flawless_small", "accepted", least=0.1),
    Goal("flawless DAVIS masks: accepted", "flawless_davis", "accepted", least=0.5),
    Goal("the same: called defective", "flawless_davis", "called_defective", most=0.15),
    Goal("new families: coverage of 90 % intervals", "new_families", "coverage_90", least=0.86, most=0.94),
    Goal("the same: width of the intervals", "new_families", "width_90", most=0.62),
    Goal("lowest family: coverage", FAMILIES, "coverage_90", least=0.75),
    Goal("second maker, COCO: F2-tables", "freehand_coco", "f2_tables", least=0.78),
    Goal("the same: of cutouts", "freehand_coco", "f2_tables.cutout", least=0.7),
    Goal("second maker, DAVIS: F2-tables", "freehand_davis", "f2_tables", least=0.84),
    Goal("first maker, COCO: F2-tables", "stress_coco", "f2_tables", below=0.01),
    Goal("first maker, DAVIS: F2-tables", "stress_davis", "f2_tables", below=0.01),
    Goal("within a sequence: median Spearman", "within_sequence", "spearman_median", least=0.7),
    Goal("the same: of the five worst, found", "within_sequence", "worst_five", least=3),
    Goal("a source nobody saw: AUC", "unseen_source", "auc_80", least=0.85),
)
LEAST_ACCEPTED = 10
LEAST_CLUSTERS = 20
"""A set of fewer photographs and sequences stands on the card, and is no claim of README or docs."""


def result(card: Card, set_name: str, metric: str, row: str = NAME) -> Result:
    """The one result of that set, metric and row."""
    (match,) = (entry for entry in card.results if (entry.set, entry.metric, entry.row) == (set_name, metric, row))
    return match


def value_of(card: Card, set_name: str, metric: str, row: str = NAME) -> float:
    """The number of a result that has one."""
    found = result(card, set_name, metric, row).value
    if found is None:
        raise ValueError(f"{set_name}, {metric}, {row} has no number")
    return found


def goals(card: Card) -> str:
    """What was aimed at, what came of it, and whom it is ahead of by the interval of the paired difference."""
    head = (
        "goal",
        "masks",
        "clusters",
        "aim",
        *(row.removesuffix(".v1") for row in (NAME, *OTHERS)),
        "reached",
        "ahead of",
    )
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for goal in GOALS:
        name = worst_family(card, goal.metric) if goal.set == FAMILIES else goal.set
        measured = result(card, name, goal.metric)
        found = round(value_of(card, name, goal.metric), 3)
        least, most = goal.ends(card, name)
        reached = (least is None or found >= least) and (most is None or found <= most)
        says = goal.says if goal.set != FAMILIES else f"{goal.says} ({name.removeprefix(FAMILIES)})"
        values = [_cell(result(card, name, goal.metric, row), digits=3) for row in (NAME, *OTHERS)]
        cells = [says, str(measured.n), str(measured.clusters), _aim(least, most), *values]
        lines.append(f"| {' | '.join([*cells, 'yes' if reached else '**no**', ahead_of(card, name, goal.metric)])} |")
    return "\n".join([GOALS_MARK, *lines, ""])


def worst_family(card: Card, metric: str) -> str:
    """The family where a metric is lowest; for precision only where ten were accepted."""
    names = [name for name in card.sets if name.startswith(FAMILIES)]
    if metric == "accept_precision":
        taken = {name: result(card, name, "accepted") for name in names}
        names = [name for name, one in taken.items() if one.n * (one.value or 0) >= LEAST_ACCEPTED - 0.5]
    return min(names, key=lambda name: result(card, name, metric).value or 0.0)


def ahead_of(card: Card, set_name: str, metric: str) -> str:
    """The other rows than which it is better by an interval; a dash where better has no meaning."""
    name = f"{metric}.better"
    if all(entry.metric != name or entry.set != set_name for entry in card.results):
        return "–"
    lows = [(row, result(card, set_name, name, row).low) for row in OTHERS]
    return ", ".join(row.removesuffix(".v1") for row, low in lows if low is not None and low > 0) or "none"


def _aim(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f"{least:.3f} to {most:.3f}"
    return f">= {least:.3f}" if least is not None else f"<= {most:.3f}"


def table(card: Card, page: Path) -> str:
    """The table of a page."""
    lines = []
    before = ""
    for (label, set_name), (shown_metric, metric) in LAID_OUT[page]:
        results_of_rows = [result(card, set_name, metric, row) for row in ROWS]
        if results_of_rows[0].clusters < LEAST_CLUSTERS:
            raise ValueError(f"{label}: {results_of_rows[0].clusters} clusters are too few for a claim")
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


def _cell(entry: Result, *, digits: int = 2) -> str:
    if entry.value is None:
        return "–"
    if entry.low is None or entry.high is None or entry.row != NAME:
        return f"{entry.value:.{digits}f}"
    return f"{entry.value:.{digits}f} [{entry.low:.{digits}f}, {entry.high:.{digits}f}]"


def filled(card: Card, page: Path) -> str:
    """A page with the card's numbers in it."""
    text = page.read_text(encoding="utf-8")
    mark, made = (GOALS_MARK, goals(card)) if page == CARD_PAGE else (MARK, table(card, page))
    text, count = re.subn(rf"{re.escape(mark)}\n(?:\|.*\n)*", lambda _: made, text)
    if count != 1:
        raise ValueError(f"{page.name} has {count} tables below {mark}")
    return text


PAGES = (*LAID_OUT, CARD_PAGE)

if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(load_card(NAME), path), encoding="utf-8")
