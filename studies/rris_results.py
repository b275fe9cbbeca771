"""Write docs/rris-results.md from runs of ``auscult run rris`` on photographs, scenes and human sentences.

    AUSCULT_DATA=FOLDER python studies/rris_results.py --out RUNS [--model M ...]   run what is missing, write the page
    python studies/rris_results.py --out RUNS --page                                only write the page

The parts: COCO photographs with "the <category>" as positive sentences, and the human sentences whose photograph is
there, both with negatives of ``auscult stress negatives``; generated scenes with their null expressions.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rris-results.md"
DATA = Path(os.environ.get("AUSCULT_DATA", "."))
COCO = DATA / "images" / "coco"
HUMAN = DATA / "referring" / "refcocos_sentences.json"
PRINTED = ROOT / "tests" / "golden" / "rris_paper_tables.csv"
SCENES, PER = 120, 5
HEAD = """\
# Results on sentences that name nothing

What [`auscult run rris`](rris.md) says of models that run anywhere, percent, in brackets 95 % intervals over whole
photographs or scenes. `python studies/rris_results.py --out RUNS --model M` runs it and writes this page; a model that
is added computes itself alone. What the paper prints for its models is on [another page](rris-paper.md): other data,
not comparable.
"""
WORDS_OF_PAPER = (
    "Table 2 of Wu et al., percent: **other data, not comparable** with the rows above. Its negatives are those of the "
    "released R-RefCOCO, ten a reference; which of its numbers follow from one "
    "another is on [a page of its own](rris-paper.md)."
)
WORDS = {
    "photographs": """\
## COCO photographs with own negatives

Objects that are alone of their category in their photograph (`auscult stress negatives`, five negatives a reference). The positive sentence is "the <category>", which asks for recognition and nothing else.
""",
    "scenes": """\
## Generated scenes

{scenes} [scenes](scenes.md) of seed 7, with the expressions and null expressions that one silent frame can tell.
""",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    if not given.page:
        for name, source in _inputs(given.out).items():
            models = [word for model in given.model or ["classical.lexicon.v1"] for word in ("--model", model)]
            _auscult("run", "rris", *models, "--data", source, "--out", given.out / name)
    parts = [WORDS[name].format(scenes=SCENES) + "\n" + _tables(given.out / name) for name in WORDS]
    PAGE.write_text("\n".join([HEAD, *parts, _human(given.out / "human"), paper()]), encoding="utf-8")
    return 0


def _inputs(out: Path) -> dict[str, Path]:
    """Make the data of every part."""
    pictures = ("--images", COCO / "images")
    _auscult("stress", "negatives", COCO / "instances.json", *pictures, "--per", PER, "--out", out / "of_photographs")
    _auscult("make", "scenes", "--count", SCENES, "--seed", 7, "--out", out / "made")
    refer = out / "refer"
    refer.mkdir(exist_ok=True)
    (refer / "refs(human).json").write_text(json.dumps(_refs()))
    (refer / "instances.json").write_bytes((COCO / "instances.json").read_bytes())
    _auscult("stress", "negatives", refer, *pictures, "--per", 10, "--out", out / "of_human")
    return {"photographs": out / "of_photographs", "scenes": out / "made", "human": out / "of_human"}


def _refs() -> list[dict[str, Any]]:
    """The human sentences whose photograph is there, in REFER's form."""
    known = {row["id"]: row for row in json.loads((COCO / "instances.json").read_text())["annotations"]}
    rows = [row for row in json.loads(HUMAN.read_text()) if row["image_available"]]
    return [
        {
            "ref_id": number,
            "ann_id": row["ann_id"],
            "image_id": known[row["ann_id"]]["image_id"],
            "split": "human",
            "sentences": [{"sent_id": number, "raw": row["sentence"], "sent": row["sentence"]}],
        }
        for number, row in enumerate(rows, start=1)
    ]


def _auscult(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "auscult", *map(str, words), "--quiet"], check=True)


def _tables(folder: Path) -> str:
    found = []
    for name in ("general", "general_kinds", "more"):
        path = folder / "tables" / f"{name}.json"
        if path.is_file():
            table = json.loads(path.read_text(encoding="utf-8"))
            rows = [row for row in table["rows"] if name != "general_kinds" or not row[0].startswith("baseline.")]
            lines = [_row(row) for row in (table["header"], ["---"] * len(table["header"]), *rows)]
            found.append("\n".join([f"**{table['title']}**", "", *lines, "", table["note"], ""]))
    return "\n".join(found)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _human(folder: Path) -> str:
    """Counts alone: so few say nothing in percent."""
    cases = {row["id"]: row["about"] for row in _lines(folder / "cases.jsonl")}
    counts: dict[str, list[int]] = {}
    for row in _lines(folder / "scores.jsonl"):
        found = counts.setdefault(row["model"], [0, 0])
        positive = not cases[row["id"]]["kind"]
        found[0] += row["metric"] == "IoU" and positive and (row["value"] or 0.0) > 0.5
        found[1] += row["metric"] == "painted" and not positive and row["value"] == 0
    positives = sum(not about["kind"] for about in cases.values())
    header = ["model", f"of {positives} sentences IoU above .5", f"of {len(cases) - positives} negatives left empty"]
    lines = [_row(row) for row in (header, ["---"] * 3, *([model, *map(str, two)] for model, two in counts.items()))]
    words = (
        f"## Human sentences\n\nOf 309 human sentences of refCOCOs {positives} have their photograph here; they name "
        "what is there, and their negatives are made. So few are counted, not measured; the other sentences measure [the "
        "reading of expressions](referring.md) alone."
    )
    return "\n".join([words, "", *lines, ""])


def paper() -> str:
    """Table 2 as it is printed."""
    with PRINTED.open(encoding="utf-8") as file:
        cells = [row for row in csv.DictReader(file) if row["table"] == "2"]
    columns = list(dict.fromkeys(row["metric"] for row in cells))
    found = {(row["row"], row["metric"]): row["printed"] for row in cells}
    rows = [[model, *(found[model, one] for one in columns)] for model in dict.fromkeys(row["row"] for row in cells)]
    lines = [_row(row) for row in (["model", *columns], ["---"] * (1 + len(columns)), *rows)]
    return "\n".join(["## What the paper prints", "", WORDS_OF_PAPER, "", *lines, ""])


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    raise SystemExit(main())
