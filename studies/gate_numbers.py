"""Measure `auscult act gate` with a real judge: how many masks it accepts, and how many of them are bad.

    python studies/gate_numbers.py --data $AUSCULT_DATA                          COCO photographs
    python studies/gate_numbers.py --material drawn --photographs 600            drawn pictures, as many as wanted
    python studies/gate_numbers.py --table judged.csv                            scores that were kept before

Each object of a picture gets one candidate mask: its true mask, or, for a share of the objects, a random defect of it.
The judge sees no truth. Then the pictures are divided at random many times: one side is the calibration set, the other
side stands for masks without truth, on which the share of bad masks among the accepted is counted. Thresholds found
here are thrown away; none enters the package.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from auscult import registry
from auscult.act.gate import KnownMask, search
from auscult.jobs.gate import bound_of, read_calibration
from auscult.jobs.options import GateOptions
from auscult.rng import generator
from auscult.train import material
from auscult.train.material import committed
from auscult.types import Case, Prediction

SEED = 20
FIRST_DRAWN = 500_000  # far from the pictures that any recipe was fitted on
COLUMNS = ("id", "iou", "iou_low", "true_iou", "cluster", "defect", "novelty", "judge")


@dataclass(frozen=True)
class Split:
    """What one division came to: None where the calibration set was too small."""

    accepted: float
    error: float | None
    masks: int


def main(arguments: Sequence[str]) -> int:
    """Judge, divide, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--material", choices=("coco", "drawn"), default="coco")
    parser.add_argument("--photographs", type=int, default=400, help="how many drawn pictures")
    parser.add_argument("--unseen", action="store_true", help="only COCO photographs that no recipe was fitted on")
    parser.add_argument("--wrong", type=float, default=0.4, help="share of objects that get a defect")
    parser.add_argument("--judge", default="masks.cues.v1")
    parser.add_argument("--table", type=Path, help="a table kept before; nothing is judged")
    parser.add_argument("--keep", type=Path, help="write the judged masks as a table for --calibration")
    parser.add_argument("--share", type=float, default=0.5, help="share of the pictures on the calibration side")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--by", choices=("iou", "iou_low"), default="iou")
    parser.add_argument("--bad-below", type=float, default=0.75)
    options = parser.parse_args(arguments)
    table = options.table or options.keep or Path("gate_numbers.csv")
    if options.table is None:
        write(table, judged(samples(options), options.judge, wrong=options.wrong))
    masks = read_calibration(table, by=options.by, bad_below=options.bad_below).masks
    pictures = len({mask.cluster for mask in masks})
    bad = sum(mask.bad for mask in masks) / len(masks)
    print(
        f"{len(masks)} masks on {pictures} pictures, {bad:.1%} bad; "
        f"{options.splits} divisions, {options.share:.0%} calibrate"
    )
    print("error  clusters  refused  none   accepted  bad among them  most   over the error  masks on the other side")
    for error in (0.05, 0.1):
        for clusters in ("one", "bound"):
            asked = GateOptions(folder=Path(), calibration=Path(), accept_error=error, clusters=clusters)
            found = [split(masks, asked, number, share=options.share) for number in range(options.splits)]
            print(line(asked, found))
    return 0


def samples(options: argparse.Namespace) -> Iterator[list[material.CandidateSample]]:
    """The candidates of each object: those of one object together."""
    if options.material == "drawn":
        made: Iterable[material.CandidateSample] = (
            one
            for number in range(FIRST_DRAWN, FIRST_DRAWN + options.photographs)
            for one in material.pictures([number], seed=SEED, alone=False)
        )
    else:
        parts = committed()["coco"]
        names = [name for part in parts if not (options.unseen and part == "train") for name in parts[part]]
        made = (one for name in names for one in material.coco(options.data, [name], seed=SEED, alone=False))
    group: list[material.CandidateSample] = []
    for one in made:
        if one.defect == "perfect" and group:  # an object's candidates begin with its true mask
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def judged(objects: Iterable[list[material.CandidateSample]], name: str, *, wrong: float) -> Iterator[list[object]]:
    """Rows of the table: one candidate of each object, judged without truth."""
    judge = registry.find("judge", name).load()
    for number, group in enumerate(objects):
        rng = generator(SEED, "gate numbers", group[0].cluster, number)
        faulty = [one for one in group if one.defect != "perfect"]
        chosen = faulty[int(rng.integers(len(faulty)))] if faulty and rng.random() < wrong else group[0]
        case = Case(id=f"{number}", frame=chosen.frame, others=chosen.others)
        said = judge(case, Prediction(chosen.mask))
        yield [number, said.iou, said.iou_low, chosen.iou, chosen.cluster, said.defect, said.novelty, said.judge]


def write(path: Path, rows: Iterable[list[object]]) -> None:
    """Write the table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def split(masks: Sequence[KnownMask], asked: GateOptions, number: int, *, share: float) -> Split | None:
    """Divide the pictures, calibrate on one side, count on the other."""
    names = sorted({mask.cluster for mask in masks})
    order = generator(SEED, "division", number).permutation(len(names))
    first = {names[at] for at in order[: round(share * len(names))]}
    found = search(
        [mask for mask in masks if mask.cluster in first],
        accept_error=asked.accept_error,
        clusters="one" if asked.clusters == "one" else "bound",
        bound=bound_of(asked),
    )
    if not found.enough:
        return None
    others = [mask for mask in masks if mask.cluster not in first]
    least = 2.0 if found.chosen is None else found.chosen.threshold
    taken = [mask.bad for mask in others if mask.score is not None and mask.score >= least]
    return Split(len(taken) / len(others), sum(taken) / len(taken) if taken else None, len(others))


def line(asked: GateOptions, found: Sequence[Split | None]) -> str:
    """What all divisions came to."""
    ran = [one for one in found if one is not None]
    errors = [one.error for one in ran if one.error is not None]
    over = sum(error > asked.accept_error for error in errors)
    cells = [
        f"{asked.accept_error:<6g} {asked.clusters:<9} {1 - len(ran) / len(found):<8.0%}",
        f"{sum(one.error is None for one in ran) / len(found):<6.0%}",
        f"{np.mean([one.accepted for one in ran]):<9.1%}" if ran else "-        ",
        f"{np.mean(errors):<15.2%} {max(errors):<6.1%}" if errors else "-               -     ",
        f"{over} of {len(found)} = {over / len(found):.1%}",
        f"   {np.mean([one.masks for one in ran]):.0f}" if ran else "",
    ]
    return " ".join(cells)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
