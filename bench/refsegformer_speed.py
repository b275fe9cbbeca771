"""How many sentences a second `refsegformer-small` answers, disk to disk: `auscult run rris` as a whole command.

Every run asks baselines and the lexicon too; they are asked by a first command, and the measured one, the same with the
network added, asks that alone: it lists, loads, answers, scores, compares, draws and writes the report. Another network
is named by the environment variable ``BENCH_MODEL``, such as ``refsegformer@FOLDER``.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from auscult.media.masks import read_mask
from auscult.media.rle import encode
from auscult.record.lines import read_lines
from auscult.types import MaskRef
from bench.main_job import SHAPE, WORKERS, make_input, measure
from bench.table import Table

PICTURES = 40
TRUE = ("the left thing", "the thing on the left", "left", "the large tree", "the striped one", "a thing")
FALSE = ("the zebra", "the red boat on the right", "a small cat", "the one behind the bus", "dog", "the green kite")
WANTED, GOAL = 8, 15


def run() -> Table:
    """Measure on generated pictures with twelve sentences each."""
    model = os.environ.get("BENCH_MODEL", "refsegformer-small")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_input(root / "input", frames=PICTURES)
        sentences = _sentences(root / "input")
        command = ["run", "rris", "--data", str(root / "input" / "items.jsonl"), "--out", str(root / "out")]
        measure([*command, "--model", "lexicon"])
        found = measure([*command, "--model", "lexicon", "--model", model])
        rows = [row for row in read_lines(root / "out" / "predictions.jsonl") if row["model"].startswith("trained.")]
    if len(rows) != sentences:
        raise RuntimeError(f"{len(rows)} of {sentences} sentences were answered")
    alone = sum(row["seconds"] + row["preparing_s"] + row["overhead_s"] for row in rows)
    cells = [found.wall_s, sentences / found.wall_s, found.cpu_s, WORKERS * sentences / found.cpu_s]
    return Table(
        title=f"sentences about pictures, disk to disk, {SHAPE[0]}x{SHAPE[1]}, {WORKERS} workers, {model}",
        header=["sentences", "wall s", "sentences/s", "CPU s", "sentences/s of 2 CPUs", "answering ms", "peak MB"],
        rows=[[str(sentences), *(f"{one:.1f}" for one in (*cells, 1000 * alone / sentences)), f"{found.peak_mb:.0f}"]],
        note=f"{PICTURES} pictures with {len(TRUE) + len(FALSE)} sentences each; start-up, scores, tables and report "
        f"included. Wanted: {WANTED} on two cores, goal {GOAL}; load {os.getloadavg()[0]:.1f} at the end",
    )


def _sentences(folder: Path) -> int:
    """Write ``items.jsonl``: of each picture true sentences about its left object, and false ones."""
    lines = []
    for path in sorted((folder / "masks").glob("*/0.png")):
        name = path.parent.name
        mask = encode(read_mask(MaskRef(path=path)).mask)
        for at, text in enumerate((*TRUE, *FALSE)):
            row: dict[str, object] = {
                "id": f"{name}/{at}",
                "frame": f"frames/{name}.jpg",
                "text": text,
                "reference": name,
            }
            row |= {"exists": text in TRUE, "mask": mask}
            lines.append(json.dumps(row if text in TRUE else {**row, "negative": {"kind": "target"}}))
    (folder / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)
