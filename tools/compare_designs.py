"""Compare designs of the compact judge's network: same batches, two seeds, intervals over photographs and sequences.

    python tools/compare_designs.py PACK DATA OUT [--samples N] [--seeds 2] [--only NAME,NAME]

Every design sees the same batches in the same order; a second seed draws other first weights and other batches. They
are measured on the calibration part of the committed split, never on the test part. OUT gets one JSON file per
network; those that are there are not trained again. The table is printed as Markdown.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from auscult.judge.masks.compact.view import inputs, look
from auscult.nets.compact import TYPES, CompactNet, Design
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
    "mask only": Design(picture=False, strip=False),
    "crop, no truth head": Design(dense=False, strip=False, context=False),
    "crop": Design(strip=False, context=False),
    "crop, no distance": Design(strip=False, context=False, distance=False),
    "crop + context": Design(strip=False),
    "crop + strip": Design(context=False),
    "crop + context + strip": Design(),
    "derived from estimated truth": Design(derived=True),
}
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
    parser.add_argument("--samples", type=int, default=24_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = [name.strip() for name in given.only.split(",") if name.strip()] or list(DESIGNS)
    given.out.mkdir(parents=True, exist_ok=True)
    for seed in range(given.seeds):
        wanted = [name for name in names if not place(given.out, name, seed=seed, samples=given.samples).exists()]
        if wanted:
            train_all(wanted, given, seed)
    table(given.out, names, seeds=given.seeds, samples=given.samples)


def place(out: Path, name: str, *, seed: int, samples: int) -> Path:
    """The file of one network's rows."""
    return out / f"{name.replace(' ', '_').replace(',', '')}.{seed}.{samples}.json"


def train_all(names: Sequence[str], given: argparse.Namespace, seed: int) -> None:
    """Train several designs side by side on one stream of batches."""
    plans = {name: Plan(design=DESIGNS[name], seed=seed, samples=given.samples) for name in names}
    trainers = {name: Trainer(plan) for name, plan in plans.items()}
    spent = dict.fromkeys(names, 0.0)
    plan = next(iter(plans.values()))
    with batches(given.pack, seed=seed, size=plan.size) as stream:
        for step in range(plan.steps):
            batch = next(stream)
            for name, trainer in trainers.items():
                begun = time.process_time()
                trainer.learn(batch)
                spent[name] += time.process_time() - begun
            if step % 50 == 0:
                print(f"seed {seed}: step {step} of {plan.steps}", flush=True)
    shown = list(seen(given.data))
    for name, trainer in trainers.items():
        net = trainer.averaged()
        rows = rows_of(net, shown)
        said = {
            "rows": [asdict(row) for row in rows],
            "parameters": sum(value.numel() for value in net.parameters()),
            "cpu_s": round(spent[name], 1),
        }
        place(given.out, name, seed=seed, samples=given.samples).write_text(json.dumps(said))


def seen(data: Path) -> list[tuple[Sample, Any]]:
    """The masks to measure on, with what a network sees of them."""
    names = committed()
    found = [
        *material.coco(data, names["coco"]["calibration"], seed=SEED, alone=True),
        *material.davis(data, names["davis"]["calibration"], seed=SEED, every=3),
        *material.real(data, names["davis"]["calibration"]),
    ]
    return [(one, look(one.frame, one.mask)) for one in found if one.defect != "full_neg"]


def rows_of(net: CompactNet, shown: Sequence[tuple[Sample, Any]]) -> list[Row]:
    """Judge by a network."""
    rows: list[Row] = []
    for start in range(0, len(shown), 32):
        part = shown[start : start + 32]
        given = inputs([view for _, view in part])
        with torch.no_grad():
            said = net(*(torch.from_numpy(value) for value in given.values()))
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


def table(out: Path, names: Sequence[str], *, seeds: int, samples: int) -> None:
    """Print the table: the mean over seeds, with the interval over clusters of all seeds' rows together."""
    print("| design | parameters | CPU s | " + " | ".join(name for name, *_ in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for name in names:
        files = [place(out, name, seed=seed, samples=samples) for seed in range(seeds)]
        told = [json.loads(path.read_text()) for path in files if path.exists()]
        if not told:
            continue
        rows = [[Row(**row) for row in one["rows"]] for one in told]
        cells = [cell(rows, column) for column in COLUMNS]
        cpu = np.mean([one["cpu_s"] for one in told])
        print(f"| {name} | {told[0]['parameters'] / 1e6:.2f} M | {cpu:.0f} | " + " | ".join(cells) + " |")


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
