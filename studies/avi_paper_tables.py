"""Write docs/avi-paper.md: what the paper of AVI-Bench says of its tables, beside what they give.

    python studies/avi_paper_tables.py            write the page
    python studies/avi_paper_tables.py --check    only compare; exits 1 when the page is stale

The cells are those of tests/golden/avi_paper_tables.csv, as printed. Needs scipy.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from scipy import stats

from auscult.score.effects import RankStability, effects, parts_grid, rank_stability
from auscult.score.levels import Levels, levels
from auscult.score.tasks import STAGES, TASKS

ROOT = Path(__file__).resolve().parents[1]
CELLS = ROOT / "tests" / "golden" / "avi_paper_tables.csv"
PAGE = ROOT / "docs" / "avi-paper.md"

Cells: TypeAlias = Mapping[tuple[str, str, str], str]
"""Table, row and metric to the cell, as printed."""

LEVELS: Final = ("L1", "L2", "L3", "L4")
COUNTING: Final = 1 / 8
CHANCE: Final[Mapping[str, tuple[str, tuple[tuple[int, float], ...]]]] = {
    "AVQA": ("232 of 3 options, 155 numbers of 8, 82 of 24 classes", ((232, 1 / 3), (155, COUNTING), (82, 1 / 24))),
    "ASQA": ("342 of 4, 120 of 3, 40 numbers of 8", ((342, 1 / 4), (120, 1 / 3), (40, COUNTING))),
    "ASQA, counts exchanged": ("120 of 4, 342 of 3, 40 numbers of 8", ((120, 1 / 4), (342, 1 / 3), (40, COUNTING))),
    "AVSQA": ("160 of 6, 34 of 8, 194 confirmations of 3", ((160, 1 / 6), (34, 1 / 8), (194, 1 / 3))),
    "AVSQA, formal questions alone": ("160 of 6, 34 of 8", ((160, 1 / 6), (34, 1 / 8))),
    "AVSQA, both must be right": ("160 of 6, 34 of 8, a third of each", ((160, 1 / 18), (34, 1 / 24))),
}
"""Samples and the chance of a right guess; numbers as one of 8 is what gives the printed values."""


def read(path: Path = CELLS) -> Cells:
    """The printed cells."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["row"], row["metric"]): row["printed"] for row in csv.DictReader(file)}


def models(cells: Cells) -> tuple[str, ...]:
    """Models in the order of Table 3."""
    return tuple(row for table, row, metric in cells if (table, metric) == ("3", "AMIC"))


def recomputed(cells: Cells) -> dict[str, Levels]:
    """Stages and levels of each model from the task scores of Table 3."""
    return {model: levels({task: float(cells["3", model, task]) for task in TASKS}) for model in models(cells)}


def level_cells(cells: Cells) -> list[tuple[str, str, float, float]]:
    """Model, level, printed and recomputed of each cell of Table 5 that is off by more than .02."""
    found = [
        (model, level, float(cells["5", model, level]), getattr(made, f"level_{level[1]}"))
        for model, made in recomputed(cells).items()
        for level in LEVELS
    ]
    return [one for one in found if abs(one[2] - one[3]) > 0.02]


def chance() -> dict[str, float]:
    """What guessing scores, in percent, from the counts of Table 15."""
    return {
        name: 100 * sum(count * share for count, share in parts) / sum(count for count, _ in parts)
        for name, (_, parts) in CHANCE.items()
    }


def gaps(cells: Cells) -> list[tuple[str, str, float]]:
    """Sec. 5.5: difference of GPT-4o and Gemini-1.5-pro, as printed and GPT-4o less Gemini."""
    first, second = "GPT-4o", "Gemini-1.5-pro"
    average = float(cells["3", first, "average"]) - float(cells["3", second, "average"])
    by_level = [float(cells["5", first, level]) - float(cells["5", second, level]) for level in LEVELS]
    return list(zip(("average", *LEVELS), ("0.30", "2.57", "4.35", "9.26", "22.73"), (average, *by_level), strict=True))


def rank_gap(cells: Cells) -> int:
    """Places between the two in Table 5, by level 4."""
    values = {model: float(cells["5", model, "L4"]) for model in models(cells)}
    order = sorted(values, key=values.__getitem__, reverse=True)
    return order.index("GPT-4o") - order.index("Gemini-1.5-pro")


def domain_gaps(cells: Cells) -> dict[str, float]:
    """Observation 6: by how much of it sensation is below reasoning, in percent."""
    found = {}
    for model in models(cells):
        reasoning, sensation = (float(cells["3", model, stage]) for stage in ("reasoning", "sensation"))
        found[model] = 100 * (reasoning - sensation) / reasoning
    return found


def means_of_table_4(cells: Cells) -> dict[str, float]:
    """Mean over the tasks of Table 4 of each of its columns."""
    tasks = [name for name in TASKS if ("4", "human", name) in cells]
    return {who: math.fsum(float(cells["4", who, name]) for name in tasks) / len(tasks) for who in ("human", "Gemini-2.5-pro")}


def better_with_confirmation(cells: Cells) -> list[tuple[str, str, str, str]]:
    """Cells of Table 8 that are better with confirmation than without, which cannot be."""
    return [
        (row, metric, printed, cells["8", row, f"{metric} without"])
        for (table, row, metric), printed in cells.items()
        if table == "8" and ("8", row, f"{metric} without") in cells
        and float(printed) > float(cells["8", row, f"{metric} without"])
    ]


def statistics(cells: Cells) -> list[tuple[str, str, str, str, float]]:
    """Table, row, metric, printed and recomputed of Tables 10 and 11."""
    names = (*STAGES, "average")
    columns = {name: np.array([float(cells["3", model, name]) for model in models(cells)]) for name in names}
    rows = []
    for name in names:
        statistic, p = stats.shapiro(columns[name])
        rows += [("10", name, "W", float(statistic)), ("10", name, "p", float(p))]
    for name in STAGES:
        rows += [
            ("11", name, other, float(stats.pearsonr(columns[name], columns[other]).statistic))
            for other in ("average", "sensation") if other != name
        ]
    return [(table, row, metric, cells[table, row, metric], ours) for table, row, metric, ours in rows]


def part_effects(cells: Cells) -> dict[str, dict[str, float]]:
    """Table 9: effects of parts and their interactions, by level."""
    grid = parts_grid([row for table, row, metric in cells if (table, metric) == ("9", "L1")])
    return {
        level: {name: float(value) for name, value in
                effects(grid, {model: float(cells["9", model, level]) for model in grid.models}).items()}
        for level in LEVELS
    }


def part_changes(cells: Cells, part: str) -> dict[tuple[str, str], float]:
    """Table 9: what the second version of a part changes, all else alike, by the model with the first, and level."""
    first = [row for table, row, metric in cells if (table, metric) == ("9", "L1") and f"{part}1" in row]
    return {
        (row, level): float(cells["9", row.replace(f"{part}1", f"{part}2"), level]) - float(cells["9", row, level])
        for row in first for level in LEVELS
    }


def seed_stability(cells: Cells) -> dict[str, RankStability]:
    """Table 12: the two seeds, by level."""
    return {
        level: rank_stability([
            {model: float(cells["12", f"{model} (s={seed})", level]) for model in ("M1", "M2")} for seed in (42, 1024)
        ])
        for level in LEVELS
    }


def agrees(printed: str, ours: float, *, units: float = 1.0) -> bool:
    """Whether a number is the printed one, to one unit of its last digit."""
    return abs(float(printed) - ours) <= units * 10.0 ** -len(printed.partition(".")[2]) + 1e-9


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def page(cells: Cells) -> str:
    """The whole page."""
    made, domain = recomputed(cells), domain_gaps(cells)
    stage_off = max(
        abs(getattr(made[model], name) - float(cells["3", model, name]))
        for model in models(cells) for name in (*STAGES, "average")
    )
    low, high = min(domain, key=domain.__getitem__), max(domain, key=domain.__getitem__)
    wrong = [
        [f"Table {table}", row, metric, printed, f"{ours:.{len(printed.partition('.')[2])}f}"]
        for table, row, metric, printed, ours in statistics(cells) if not agrees(printed, ours)
    ]
    return _PAGE.format(
        cells=4 * len(made),
        off="; ".join(f"{model} {level}, printed {printed:.2f}, computed {ours:.2f}"
                      for model, level, printed, ours in level_cells(cells)),
        stage_off=stage_off,
        rank_gap=rank_gap(cells),
        gaps=_table(
            ("of", "printed", "GPT-4o less Gemini-1.5-pro"),
            [(name, printed, f"{ours:+.2f}") for name, printed, ours in gaps(cells)],
        ),
        low=(low, domain[low]), high=(high, domain[high]),
        printed=(domain["Gemini-2.5-pro"], domain["Video-salmonn"]),
        human=means_of_table_4(cells),
        confirmed="; ".join(f"{row} {metric}, {printed} with and {without} without"
                            for row, metric, printed, without in better_with_confirmation(cells)),
        chance=_table(
            ("task", "printed", "computed", "from"),
            [(name, f"{TASKS[name].chance:.2f}" if name in TASKS else "", f"{value:.2f}", CHANCE[name][0])
             for name, value in chance().items()],
        ),
        wrong=_table(("", "of", "with", "printed", "computed"), wrong),
        worth=_table(
            ("of", *part_effects(cells)["L1"]),
            [(level, *(f"{value:+.2f}" for value in row.values())) for level, row in part_effects(cells).items()],
        ),
        helped={part: sum(change > 0 for change in part_changes(cells, part).values()) for part in "qav"},
        falls="; ".join(f"{level} of {row} falls by {-change:.2f}" for (row, level), change in part_changes(cells, "q").items()
                        if change <= 0),
        seeds=_table(
            ("of", "pairs in the same order", "largest change", "closest pair"),
            [(level, f"{found.kept} of {found.pairs}", f"{found.changed:.2f}", f"{found.closest:.2f}")
             for level, found in seed_stability(cells).items()],
        ),
        count=len(statistics(cells)),
        bad=len(wrong),
        relative=_table(
            ("model", "A", "V", "difference", "relative, printed", "computed"),
            [(row, *(cells["14", row, name] for name in ("A", "V", "absolute", "relative")), f"{_relative(cells, row):.3f}")
             for row in "ABCDE"],
        ),
    )


def _relative(cells: Cells, row: str) -> float:
    audio, visual = float(cells["14", row, "A"]), float(cells["14", row, "V"])
    return 2 * abs(audio - visual) / (audio + visual)


_PAGE: Final = """\
# The tables of AVI-Bench, recomputed

"AVI-Bench: Toward Human-like Audio-Visual Intelligence of Omni-MLLMs" (arXiv 2606.07643) prints task scores of 28 models
and what follows from them. This page computes that again; `python studies/avi_paper_tables.py` writes it.

## Stages and levels

Stage means and averages of Table 3 follow from its task scores, the furthest off by {stage_off:.3f}. Of the {cells} cells of Table
5 all follow within 0.02 but one: {off}.

They follow where level 1 is the mean of the three familiar stage means. As Eq. 1 is printed it is a mean of tasks.

Sec. 5.5 says that the gap between two models widens. The first four gaps favour GPT-4o, the last one Gemini-1.5-pro, so
that what widens changes sides; the rank gap of level 4 is {rank_gap}.

{gaps}

Table 14, why the gap of Eq. 2 is relative:

{relative}

## What does not hold

- **Observation 6.** Sensation is said to be below reasoning by 47.6 % (Gemini-2.5-pro) to 82.7 % (Video-salmonn). These two
  have {printed[0]:.1f} % and {printed[1]:.1f} %, but the range is {low[1]:.1f} % ({low[0]}) to {high[1]:.1f} % ({high[0]}).
- **Table 8.** A second question that must be right too can only lower a score. Not so in: {confirmed}.
- **Observation 3** counts AVH among visual-dominant tasks; Table 2 has it as audio-dominant, and so do the levels of Table 5.
- **App. G.1.4** describes VAR as images retrieved by sound; Tables 2 and 6 and the names say the reverse.
- **Eq. 3** is followed by a range of 0 to 1 for S_T; it is S_M that alpha bounds, and scores are percent.
- **Eq. 55** repeats Eq. 3 without alpha: with it an imbalance of 2 would give a level of -1 times level 1.
- **Eqs. 33, 34**: since the repeat rate is at least 0.8 by Eq. 33, the penalty is 0.8 or more, not of (0, 1].
- **Sec. B.3** sets the human 92.6 beside Gemini-2.5-pro's 57.2. The first is the mean of the eleven tasks of Table 4, {human[human]:.2f}, the
  second that of four stage means over fourteen tasks. On the same eleven Gemini has {human[Gemini-2.5-pro]:.2f}.

## Chance

Table 15's values for question types in percent. A counting question counts as one option of eight, which is what gives
the printed values; the paper does not say so.

{chance}

So ASQA was printed with the counts of two types exchanged, and AVSQA with the confirmations as if they were questions. The
counts behind VSQA's 26.70 are not printed by type. No level uses the chance of a task of sensation.

## Statistics

Tables 10 (Shapiro-Wilk) and 11 (Pearson) from Table 3. Of {count} cells {bad} differ by more than a unit of the last digit:

{wrong}

## Parts and seeds

Table 9, eight models of two language (q), audio (a) and vision (v) models each: the mean with the second version less that
with the first, and interactions, half of by how much one effect differs with the version of another. `auscult effects`
computes them.

{worth}

- D.4 says that the better audio model helps on all four levels: it does in {helped[a]} of 16 comparisons. Its effect is the largest on
  levels 1 to 3; on level 4 that of the language model is larger, and level 4 is where the two interact most.
- D.4 says that Qwen3 consistently outperforms Qwen2.5: it does in {helped[q]} of 16; {falls}.
- The better vision model helps in {helped[v]} of 16; its effect is below 0 on levels 1 to 3, where D.4 says that gains are limited.

Table 12, the same two models with seeds 42 and 1024. One pair of models says little about ranks; the change that a seed
makes on level 2 is larger than every effect of the vision model in Table 9.

{seeds}
"""


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; 1 when a checked page is stale, 2 for a wrong option."""
    if list(arguments) not in ([], ["--check"]):
        print("options: --check, or none")
        return 2
    text = page(read())
    if arguments:
        stale = not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text
        print(f"{PAGE.relative_to(ROOT)} is {'stale; run: python studies/avi_paper_tables.py' if stale else 'right'}")
        return int(stale)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
