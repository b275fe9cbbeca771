"""Compare designs of the compact judge's network: same batches, two seeds, intervals over photographs and sequences.

    python tools/compare_designs.py PACK DATA OUT [--samples N] [--seeds 2]

Every design sees the same batches in the same order; a second seed draws other first weights and other batches. They
are measured on the calibration part of the committed split, never on the test part. A row of several members is the
answer of those already trained, together. OUT gets one JSON file per seed and row; a seed that is there is not trained
again. The table is printed as Markdown.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from auscult.judge.masks.compact.view import View, inputs, look
from auscult.nets.compact import TYPES, CompactNet, Design, Seen
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.stats import bootstrap_interval, f2_confusion, f2_tables, rmse, spearman
from auscult.train import material
from auscult.train.compact.batches import batches
from auscult.train.compact.loop import Plan, Trainer
from auscult.train.compact.objective import mean_of
from auscult.train.material import Sample
from auscult.train.split import committed

DESIGNS: Mapping[str, Design] = {
    "mask alone": Design(picture=False, strip=False),
    "crop, no distance channel": Design(strip=False, distance=False),
    "crop": Design(strip=False),
    "answer derived from the estimated truth": Design(derived=True),
    "strip": Design(crop=False),
    "strip, likeness": Design(crop=False, likeness=True),
    "crop + strip": Design(),
    "crop + strip, likeness": Design(likeness=True),
    "cues": Design(crop=False, strip=False, cues=True),
    "crop + strip + cues, likeness": Design(likeness=True, cues=True),
}
TOGETHER: Mapping[str, Mapping[str, float]] = {
    "crop + strip, likeness (.3); cues (.7)": {"crop + strip, likeness": 0.3, "cues": 0.7},
    "crop + strip (.2); the same with likeness (.2); cues (.6)": {
        "crop + strip": 0.2,
        "crop + strip, likeness": 0.2,
        "cues": 0.6,
    },
}
ROWS: Mapping[str, Mapping[str, float]] = {**{name: {name: 1.0} for name in DESIGNS}, **TOGETHER}
SEED = 5
FIVE = TYPES[:5]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a network says of one mask, beside its truth."""

    source: str
    cluster: str
    defect: str
    iou: float
    said: str
    estimate: float


def main() -> None:
    """Train what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--samples", type=int, default=36_000)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True, exist_ok=True)
    for seed in range(given.seeds):
        if not all(place(given.out, name, seed=seed, samples=given.samples).exists() for name in ROWS):
            train_all(given, seed)
    table(given.out, seeds=given.seeds, samples=given.samples)


def place(out: Path, name: str, *, seed: int, samples: int) -> Path:
    """The file of one row and seed."""
    letters = "".join(letter if letter.isalnum() else "_" for letter in name)
    return out / f"{letters}.{seed}.{samples}.json"


def train_all(given: argparse.Namespace, seed: int) -> None:
    """Train every design on one stream of batches and measure each row."""
    plan = Plan(designs=tuple(DESIGNS.values()), seed=seed, samples=given.samples)
    trainer = Trainer(plan)
    with batches(given.pack, seed=seed, size=plan.size, echo=plan.echo) as stream:
        for step in range(plan.steps):
            trainer.learn(next(stream))
            if step % 50 == 0:
                print(f"seed {seed}: step {step} of {plan.steps}", flush=True)
    trained = dict(zip(DESIGNS, trainer.averaged().members, strict=True))
    shown = list(seen(given.data))
    for name, parts in ROWS.items():
        net = CompactNet([replace(DESIGNS[part], share=share) for part, share in parts.items()])
        net.members = nn.ModuleList([trained[part] for part in parts])
        begun = time.process_time()
        rows = rows_of(net.eval(), shown)
        said = {
            "rows": [asdict(row) for row in rows],
            "parameters": sum(value.numel() for value in net.parameters()),
            "cpu_ms": round(1000 * (time.process_time() - begun) / len(rows), 2),
        }
        place(given.out, name, seed=seed, samples=given.samples).write_text(json.dumps(said))


def seen(data: Path) -> list[tuple[Sample, View]]:
    """The masks to measure on, with what a network sees of them."""
    names = committed()
    found = [
        *material.coco(data, names["coco"]["calibration"], seed=SEED, alone=True),
        *material.davis(data, names["davis"]["calibration"], seed=SEED, every=3),
        *material.real(data, names["davis"]["calibration"]),
    ]
    return [(one, look(one.frame, one.mask)) for one in found if one.defect != "full_neg"]


def rows_of(net: CompactNet, shown: Sequence[tuple[Sample, View]]) -> list[Row]:
    """Judge by a network."""
    rows: list[Row] = []
    for start in range(0, len(shown), 32):
        part = shown[start : start + 32]
        given = inputs([view for _, view in part])
        with torch.no_grad():
            said = net(Seen(**{name: torch.from_numpy(value) for name, value in given.items()}))
        best = said["types"][:, : len(FIVE)].argmax(1).numpy()
        estimate = mean_of(said["ious"]).numpy()
        rows += [
            Row(
                source=one.source,
                cluster=one.cluster,
                defect=one.defect,
                iou=one.iou,
                said=FIVE[int(best[at])],
                estimate=float(estimate[at]),
            )
            for at, (one, _) in enumerate(part)
        ]
    return rows


Statistic = Callable[[Sequence[Row]], Any]


def types_by_tables(rows: Sequence[Row]) -> Any:
    return f2_tables([row.said for row in rows], [row.defect for row in rows], FIVE)


def types_by_confusion(rows: Sequence[Row]) -> Any:
    return f2_confusion([row.said for row in rows], [row.defect for row in rows], FIVE)


def error(rows: Sequence[Row]) -> Any:
    return rmse([row.estimate for row in rows], [row.iou for row in rows])


def ranks(rows: Sequence[Row]) -> Any:
    return spearman([row.estimate for row in rows], [row.iou for row in rows])


COLUMNS: tuple[tuple[str, str, Statistic, Callable[[Row], bool]], ...] = (
    ("COCO F2-tables", "%", types_by_tables, lambda row: row.source == "coco"),
    ("COCO F2-confusion", "%", types_by_confusion, lambda row: row.source == "coco"),
    ("COCO RMSE", "", error, lambda row: row.source == "coco"),
    ("COCO RMSE, no merge", "", error, lambda row: row.source == "coco" and row.defect != "merge"),
    ("DAVIS F2-tables", "%", types_by_tables, lambda row: row.source == "davis"),
    ("DAVIS RMSE", "", error, lambda row: row.source == "davis"),
    ("real RMSE", "", error, lambda row: row.source == "real"),
    ("real Spearman", "", ranks, lambda row: row.source == "real"),
)


def table(out: Path, *, seeds: int, samples: int) -> None:
    """Print the table: the mean over seeds, with the interval over clusters of all seeds' rows together."""
    print("| members look at | parameters | CPU ms a mask | " + " | ".join(name for name, *_ in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for name in ROWS:
        files = [place(out, name, seed=seed, samples=samples) for seed in range(seeds)]
        told = [json.loads(path.read_text()) for path in files]
        rows = [[Row(**row) for row in one["rows"]] for one in told]
        cells = [cell(rows, column) for column in COLUMNS]
        cpu = np.mean([one["cpu_ms"] for one in told])
        print(f"| {name} | {told[0]['parameters'] / 1e6:.2f} M | {cpu:.1f} | " + " | ".join(cells) + " |")


def cell(runs: Sequence[Sequence[Row]], column: tuple[str, str, Statistic, Callable[[Row], bool]]) -> str:
    """One number: the mean of the seeds' values, their interval, and each seed's value."""
    name, unit, statistic, keep = column
    kept = [[row for row in rows if keep(row)] for rows in runs]
    values = [float(value.value) for value in map(statistic, kept) if isinstance(value, Scored)]
    clusters = sorted({row.cluster for row in kept[0]})
    by_cluster = [[[row for row in rows if row.cluster == one] for rows in kept] for one in clusters]

    def mean(drawn: Sequence[Sequence[Sequence[Row]]]) -> float:
        found = [statistic([row for one in drawn for row in one[seed]]) for seed in range(len(kept))]
        return float(np.mean([value.value for value in found if isinstance(value, Scored)]))

    interval = bootstrap_interval(
        mean, [[one] for one in by_cluster], rng=generator(0, "designs", name), replicates=200
    )
    scale, digits = (100, 1) if unit else (1, 3)
    middle = f"{np.mean(values) * scale:.{digits}f}"
    if not isinstance(interval, Scored):
        return f"{middle} (no interval)"
    return f"{middle} [{interval.low * scale:.{digits}f}, {interval.high * scale:.{digits}f}]"


if __name__ == "__main__":
    main()
