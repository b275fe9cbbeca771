"""How much a compact judge gains from more material: several trained networks, measured on the same masks.

    python tools/less_material.py OUT/pack.zip half.zip --share .5
    auscult train compact-mask --pack half.zip --data DIR --out half --samples 18000
    python tools/learning_curve.py "half of the photographs=half" "all=OUT" [--part test] [--ship]

Each argument is what the row is called and the folder of its weights. Prints tables; --ship puts them into
docs/compact-results.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from compact_results import PAGE, Loud
from mqa_results import placed

from auscult.judge.masks.compact import CompactJudge
from auscult.judge.masks.compact.calibration import load_calibration
from auscult.judge.masks.compact.network import load_network
from auscult.train.compact import card_tables
from auscult.train.compact.card import StudyOptions, study
from auscult.train.compact.card_inputs import Blanked
from auscult.train.split import PARTS, Part

SETS = ("coco_{part}", "coco_{part}_freehand", "davis_{part}", "davis_{part}_freehand")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--data", type=Path, default=os.environ.get("AUSCULT_DATA"))
    parser.add_argument("--part", choices=PARTS, default="test")
    parser.add_argument("--ship", action="store_true")
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the data with --data, or set AUSCULT_DATA")
    made = tables(Path(given.data), given.rows, part=given.part)
    print(made)
    if given.ship:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "learning", made), encoding="utf-8")


def tables(data: Path, rows: Sequence[str], *, part: Part) -> str:
    """One table a set, one row a network."""
    judges = [judge_of(*row.rsplit("=", 1)) for row in rows]
    names = tuple(name.format(part=part) for name in SETS)
    asked = StudyOptions(part=part, only=names, beside=judges[1:])
    found = study(data, judge=judges[0], options=asked, progress=Loud())
    return "\n\n".join(f"**{one.name}**\n\n{card_tables.inputs_table(one)}" for one in found.sets)


def judge_of(name: str, folder: str) -> Blanked:
    """The judge with the weights of a folder, under another name."""
    network = load_network(Path(folder) / "weights.onnx")
    calibration = load_calibration(Path(folder) / "calibration.json")
    return Blanked(name, CompactJudge(network=network, calibration=calibration))


if __name__ == "__main__":
    main()
