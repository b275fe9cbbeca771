"""Write docs/rris-paper.md: what "Towards Robust Referring Image Segmentation" says of its tables, beside what they give.

    python studies/rris_paper_tables.py            write the page
    python studies/rris_paper_tables.py --check    only compare; exits 1 when the page is stale

The cells are those of tests/golden/rris_paper_tables.csv, as printed.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
CELLS = ROOT / "tests" / "golden" / "rris_paper_tables.csv"
PAGE = ROOT / "docs" / "rris-paper.md"

Cells: TypeAlias = Mapping[tuple[str, str, str], float]
"""Table, row and metric to the printed number."""

_METRICS: Final = ("mIoU", "oIoU", "mRR", "rIoU")
_BLANK: Final = ("0", "5", "10")
_SLACK: Final = 1e-9
_ROUNDED: Final = 0.005  # half a unit of the last digit of a cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A number of the text or of a sum, and what the cells give."""

    where: str
    what: str
    printed: str  # as printed, without its unit
    ours: float
    cells: int = 2  # cells that enter, each rounded by half a unit at most

    @property
    def agrees(self) -> str:
        """``yes``, ``rounding`` where cells before they were rounded can give it, or ``no``."""
        off = abs(self.ours - float(self.printed)) - 10.0 ** -len(self.printed.partition(".")[2]) / 2
        return "yes" if off <= _SLACK else "rounding" if off <= self.cells * _ROUNDED + _SLACK else "no"


def read(path: Path = CELLS) -> Cells:
    """The printed cells."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["row"], row["metric"]): float(row["printed"]) for row in csv.DictReader(file)}


def claims(cells: Cells) -> tuple[Claim, ...]:
    """What can be computed again."""

    def gap(table: str, rows: tuple[str, str], metric: str) -> float:
        return cells[table, rows[0], metric] - cells[table, rows[1], metric]

    sums = [
        Claim(
            where=f"Table 1, {name}, {part}",
            what="positive and negative sentences a reference, together",
            printed=f"{cells['1', name, f'{part} all']:.2f}",
            ours=cells["1", name, f"{part} positive"] + cells["1", name, f"{part} negative"],
        )
        for name in ("R-RefCOCO", "R-RefCOCO+", "R-RefCOCOg")
        for part in ("train", "val")
    ]
    regular = [metric for table, row, metric in cells if (table, row) == ("3", "LAVT")]
    gains = [gap("3", ("RefSegformer", "LAVT"), metric) for metric in regular]
    flops = 100 * (cells["5", "3", "GFLOPs"] / cells["5", "1", "GFLOPs"] - 1)
    rest = (
        ("Sec. 5.2", "rIoU above LAVT+ on R-RefCOCO, points", "6", gap("2", ("RefSegformer", "LAVT+"), "R-RefCOCO rIoU")),
        ("Sec. 5.2", "largest gain over LAVT in regular RIS (RefCOCO+ val)", "1.38", max(gains)),
        ("Sec. 5.2", "mean gain over LAVT in regular RIS", "0.43", math.fsum(gains) / len(gains)),
        ("Sec. 5.3", "rIoU gained by 10 blank tokens over none", "4.07", gap("4", ("10 vision", "0 vision"), "rIoU")),
        ("Sec. 5.3", "rIoU gained by 5 blank tokens over none", "3.54", gap("4", ("5 vision", "0 vision"), "rIoU")),
        ("Sec. 5.3", "oIoU gained by the deformable decoder", "1.2", gap("6", ("deformable", "plain"), "oIoU")),
        ("Sec. 5.3", "oIoU gained by the text prompt", "3.7", gap("6", ("deformable, prompt", "deformable"), "oIoU")),
        ("Sec. 5.3", "GFLOPs of three VLTFs over one, percent", "5", flops),
        ("Sec. 5.3", "parameters of three VLTFs over one, million", "4.2", gap("5", ("3", "1"), "params")),
        ("Table 8", "oIoU of VLTF, as Tables 4 and 5 have it", f"{cells['8', 'VLTF', 'oIoU']:.2f}", cells["5", "3", "oIoU"]),
    )  # fmt: skip
    return (*sums, *(Claim(where=one[0], what=one[1], printed=one[2], ours=one[3]) for one in rest))


def vision_wins(cells: Cells) -> dict[str, int]:
    """In how many of the three settings of Table 4 the vision query is above the tokens, by metric."""
    return {
        metric: sum(cells["4", f"{blank} vision", metric] > cells["4", f"{blank} tokens", metric] for blank in _BLANK)
        for metric in _METRICS
    }


def head_gains(cells: Cells) -> dict[str, float]:
    """Mean gain in rIoU by the existence head, by what its query is."""
    return {
        query: math.fsum(cells["4", f"{blank} {query}", "rIoU"] - cells["4", f"{blank} none", "rIoU"] for blank in _BLANK)
        / len(_BLANK)
        for query in ("tokens", "vision")
    }  # fmt: skip


def page(cells: Cells) -> str:
    """The whole page."""
    every, wins, gains = claims(cells), vision_wins(cells), head_gains(cells)
    wrong = [claim.what for claim in every if claim.agrees == "no"]
    lines = ["| where | what | printed | from the tables | agrees |", "|---" * 5 + "|"]
    lines += [f"| {one.where} | {one.what} | {one.printed} | {one.ours:.2f} | {one.agrees} |" for one in every]
    one_vltf, best = (cells["3", name, "RefCOCO+ val"] for name in ("LAVT", "RefSegformer"))
    as_printed = {guess: math.log(guess) for guess in (0.9, 0.1)}
    return _PAGE.format(
        claims=len(every),
        wrong=len(wrong),
        table="\n".join(lines),
        wins=", ".join(f"{metric} in {count} of 3" for metric, count in wins.items()),
        tokens=gains["tokens"],
        vision=gains["vision"],
        one=cells["5", "1", "oIoU"],
        pwan=cells["8", "PWAN + LP", "oIoU"],
        lavt=one_vltf,
        ours=best,
        right=as_printed[0.9],
        bad=as_printed[0.1],
        flops=cells["5", "3", "GFLOPs"] - cells["5", "1", "GFLOPs"],
        p9=(cells["6", "deformable", "P@0.9"], cells["6", "deformable, prompt", "P@0.9"]),
        beside=_beside(cells),
    )


def _beside(cells: Cells) -> str:
    """Table 2."""
    names = dict.fromkeys(row for table, row, _ in cells if table == "2")
    metrics = [metric for table, row, metric in cells if (table, row) == ("2", "LAVT")]
    lines = [f"| model | {' | '.join(metrics)} |", "|---" * (len(metrics) + 1) + "|"]
    for name in names:
        lines.append(" | ".join([f"| {name}", *(f"{cells['2', name, metric]:.2f}" for metric in metrics)]) + " |")
    return "\n".join(lines)


_PAGE: Final = """\
# The tables of robust referring segmentation, recomputed

"Towards Robust Referring Image Segmentation" (Wu et al.) says in its text what its tables show. This page computes that
again from the printed cells; `python studies/rris_paper_tables.py` writes it. *Rounding* means that the cells before
they were rounded can give the printed number. Of {claims} numbers {wrong} do not follow.

{table}

- The gain of 5 blank tokens is 3.64, not 3.54.
- Three VLTFs have 5.20 million parameters more than one, not 4.2, and {flops:.2f} GFLOPs more, which is 3.9 %, not 5 %.
- The largest gain over LAVT is {ours:.2f} - {lavt:.2f} = 1.36, not 1.38.
- Table 8 prints {one:.2f} for the oIoU of VLTF, which is the row of one VLTF in Table 5; that of the same network in
  Tables 4 and 5 is 69.78. PWAN + LP ({pwan:.2f}) stays above it.
- "Vision features outperform tokens in all settings" (Sec. 5.3): in Table 4 they are above in
  {wins}. So it holds for mRR and rIoU, and the tokens are
  better in mIoU throughout.
- "An average decay point around 6" without the existence head (Sec. 5.3, which cites Table 2 for Table 4) is that of
  tokens as the query, {tokens:.2f} in rIoU; with vision features, the default, it is {vision:.2f}.

## Equations

- **Eq. 3** has V_2 = v_2(V_1), but V_i = V_(i-1) + sigma(F_i) for i = 3, 4: stages 3 and 4 do not occur, and V_3 needs
  F_3, which needs V_3. What the next stage sees is written over what it gives. We read: stage i + 1 sees V_i + sigma(F_i).
- **Eq. 7** lacks its minus. With e = 1 it is log(0.9) = {right:.2f} for a right answer and log(0.1) = {bad:.2f} for a
  wrong one, and what is minimised would be sought at the wrong one. We take the usual binary cross-entropy.

## Release and paper

- **Precision.** The paper counts IoUs above a threshold. The release compares the sum of a reference's IoUs so far, so
  that a reference with several sentences passes more easily. With the text prompt of Table 6 a reference has one
  sentence, and the sum is its IoU: there P@0.9 falls from {p9[0]:.2f} to {p9[1]:.2f} while oIoU rises. The paper blames noise
  in the text; a sum that adds nothing any more would have the same effect. `precision_at(..., variant="robust_ref_seg")` computes it.
- **Size.** The release counts what is painted for a negative sentence at 480 x 480 and for a positive one at the
  picture's size; Eq. 1 says nothing of sizes. `riou(..., variant="robust_ref_seg")` does so, in proportion.

## Table 2, percent

For reading beside our own results, which are on other data and not comparable.

{beside}
"""


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; 1 when a checked page is stale, 2 for a wrong option."""
    if list(arguments) not in ([], ["--check"]):
        print("options: --check, or none")
        return 2
    text = page(read())
    if arguments:
        stale = not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text
        print(f"{PAGE.relative_to(ROOT)} is {'stale; run: python studies/rris_paper_tables.py' if stale else 'right'}")
        return int(stale)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
