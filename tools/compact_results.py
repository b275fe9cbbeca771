"""Measure the compact judge: its card, the card's page and charts, failures, and the tables of docs/compact-results.md.

    python tools/compact_results.py --out DIR                the test part of the data in AUSCULT_DATA, into DIR
    python tools/compact_results.py --out DIR --ship         and what may be passed on into the repository
    python tools/compact_results.py --out DIR --part calibration --few --weights W.onnx --calibration C.json

The test part is for the card that ships; whoever changes the judge looks at the calibration part. --left-out
SEQUENCE=DIR names weights that were trained without a sequence (DIR/weights.onnx, DIR/calibration.json; see
less_material.py); sequences that the shipped weights were trained on are left aside without them. --sequences measures
those alone and writes their section of the page. DIR/gallery.html shows pictures of the data: it is for
whoever has the data, and is never shipped.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mqa_results import placed

from auscult.errors import UsageError
from auscult.judge.masks.compact import CompactJudge
from auscult.judge.masks.compact.calibration import FILE as CALIBRATION
from auscult.judge.masks.compact.calibration import load_calibration
from auscult.judge.masks.compact.network import FILE as WEIGHTS
from auscult.judge.masks.compact.network import load_network
from auscult.train import material
from auscult.train.compact import card_inputs, card_real, card_tables
from auscult.train.compact.card import Study, StudyOptions, study
from auscult.train.compact.card_files import FAILURES, RELIABILITY, WIDTHS, write_card
from auscult.train.compact.card_judging import Measured
from auscult.train.compact.card_sets import Amounts
from auscult.train.split import PARTS, committed
from auscult.types import MaskJudge

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "compact-results.md"
PRINTED = ROOT / "tests" / "golden" / "mqa_paper_tables.csv"
FEW = Amounts(photographs=2, sequences=1, davis_every=12, nonsense_every=4, scenes=1)
SHIPPED = {
    "masks.compact.v1.json": ROOT / "src" / "auscult" / "judge" / "cards",
    "masks.compact.v1.md": ROOT / "docs" / "cards",
    RELIABILITY: ROOT / "docs" / "images",
    WIDTHS: ROOT / "docs" / "images",
    FAILURES: ROOT / "docs" / "images",
    "compact-results.md": ROOT / "docs",
}


def main(arguments: Sequence[str]) -> int:
    """Measure and write; 0 when all is written."""
    options = _options(arguments)
    if options.sequences:
        PAGE.write_text(
            placed(PAGE.read_text(encoding="utf-8"), "sequences", sequences_section(options)), encoding="utf-8"
        )
        return 0
    network = load_network(options.weights)
    judge = CompactJudge(network=network, calibration=load_calibration(options.calibration))
    amounts = FEW if options.few else Amounts()
    asked = StudyOptions(part=options.part, seed=options.seed, amounts=amounts, weights=network.digest)
    found, _ = write_card(options.data, options.out, judge=judge, options=asked, progress=Loud())
    text = PAGE.read_text(encoding="utf-8")
    for name, section in sections(found, options).items():
        text = placed(text, name, section)
    (options.out / PAGE.name).write_text(text, encoding="utf-8")
    if options.ship:
        for name, folder in SHIPPED.items():
            shutil.copyfile(options.out / name, folder / name)
    return 0


def sections(found: Study, options: argparse.Namespace) -> Mapping[str, str]:
    """What stands between the marks of docs/compact-results.md, by mark."""
    made = [one for one in found.sets if one.source in {"coco", "davis"}]
    made = [one for one in made if not one.name.endswith(("arbitrary", "small"))]
    other = [one for one in made if one.name.endswith("freehand")]
    return {
        "table 2": "\n\n".join(table_2(one) for one in other),
        "inputs": inputs_section(found, options),
        "confusions": "\n\n".join(
            f"**{one.name}**\n\n{card_tables.confusion_table(one, found.judge)}" for one in other
        ),
        "hardest": card_tables.hardest_table(made, found.judge),
        "offsets": card_tables.offsets_table(made, found.judge),
        "sequences": sequences_section(options),
    }


def table_2(measured: Measured) -> str:
    """The three tables of a set; photographs have the paper's printed rows below."""
    rows = printed_rows() if measured.source == "coco" else []
    return "\n\n".join(
        f"**{measured.name}: {words}**\n\n{card_tables.table_2(measured, metric, printed=rows)}"
        for metric, words in card_tables.METRICS.items()
    )


def inputs_section(found: Study, options: argparse.Namespace) -> str:
    """The judge without some of its inputs, on the second maker's defects."""
    held = committed()["coco"]["calibration"]
    usual = card_inputs.usual_cues(material.coco(options.data, held, seed=options.seed, alone=True))
    judges = card_inputs.blanked(load_network(options.weights), load_calibration(options.calibration), usual)
    names = tuple(f"{source}_{options.part}_freehand" for source in ("coco", "davis"))
    asked = StudyOptions(
        part=options.part, seed=options.seed, amounts=found.options.amounts, only=names, beside=judges[1:]
    )
    shown = study(options.data, judge=judges[0], options=asked, progress=Loud(), known=found.known)
    return "\n\n".join(f"**{one.name}**\n\n{card_tables.inputs_table(one)}" for one in shown.sets)


def sequences_section(options: argparse.Namespace) -> str:
    """Real masks sequence by sequence, each by weights that never saw it."""
    left_out = dict(part.split("=", 1) for part in options.left_out)
    shipped = CompactJudge(network=load_network(options.weights), calibration=load_calibration(options.calibration))

    def judge_of(name: str) -> tuple[MaskJudge, str]:
        if name in left_out:
            folder = Path(left_out[name])
            network = load_network(folder / "weights.onnx")
            calibration = load_calibration(folder / "calibration.json")
            return CompactJudge(network=network, calibration=calibration), "trained without it"
        seen = "nothing saw it" if name in committed()["davis"]["test"] else "no weight saw it, calibration did"
        return shipped, f"shipped; {seen}"

    parts = committed()["davis"]
    known = {name for part in PARTS for name in parts[part]}
    if not left_out.keys() <= known:
        raise UsageError(
            f"no sequence is called {', '.join(left_out.keys() - known)}", expected=", ".join(sorted(known))
        )
    trained_on = [name for name in parts["train"] if name not in left_out]
    wanted = sorted((known if options.part == "test" else {*parts["calibration"]}) - {*trained_on})
    told = (
        f"\n\nNot judged, since the shipped weights were trained on them: {', '.join(trained_on)}."
        if trained_on
        else ""
    )
    return card_real.sequences_table(card_real.sequels(options.data, wanted, judge_of=judge_of)) + told


def printed_rows() -> list[card_tables.Printed]:
    """The rows of the paper's Table 2 as they are printed there."""
    with PRINTED.open(encoding="utf-8", newline="") as lines:
        return [
            card_tables.Printed(
                metric=row["metric"],
                part=row["part"],
                method=row["method"],
                cells=tuple(row["cells"].split()),
                average=row["average"],
            )
            for row in csv.DictReader(lines)
            if row["table"] == "2"
        ]


class Loud:
    """Prints each stage with the time it began."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def stage(self, name: str, total: int) -> None:
        """Say that a stage begins."""
        print(f"{time.monotonic() - self._since:6.0f} s  {name} {total or ''}", flush=True)

    def step(self, count: int = 1) -> None:
        """Say that a step is done."""
        print(f"{time.monotonic() - self._since:6.0f} s  {'.' * count}", flush=True)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("AUSCULT_DATA"), help="default: AUSCULT_DATA")
    parser.add_argument("--out", type=Path, help="needed but for --sequences")
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--calibration", type=Path, default=CALIBRATION)
    parser.add_argument("--part", choices=PARTS, default="test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--few", action="store_true", help="a little of each set, to see that all works")
    parser.add_argument("--left-out", action="append", default=[], metavar="SEQUENCE=DIR")
    parser.add_argument("--sequences", action="store_true", help="write only the page's section of real sequences")
    parser.add_argument("--ship", action="store_true", help="copy into the repository what may be passed on")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("name the data with --data, or set AUSCULT_DATA")
    if options.out is None and not options.sequences:
        parser.error("name a folder with --out")
    if options.ship and (options.part != "test" or options.few):
        parser.error("only the whole card of the test part ships")
    options.data = Path(options.data)
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
