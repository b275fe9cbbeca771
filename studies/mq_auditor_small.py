"""MQ-Auditor from nothing at a small size on generated scenes, and the ablations of Tables 4, 5, 6, 9 and 10 there.

    auscult make scenes --count 900 --seed 19 --size 192x192 --seconds 3 --objects 2-4 --out scenes
    auscult stress masks scenes --suite mqa --protocol image --objects all --split train --seed 19 --out train
    auscult stress masks scenes --suite mqa --protocol image --split test_s,test_u --count 50 --seed 20 --out test
    python studies/mq_auditor_small.py --train train --test test --out runs --samples 24000
    python studies/mq_auditor_small.py --test test --out runs --report

A run is a row and a seed: `auscult train mq-auditor --config small+ROW`, then `auscult run mqa --judge reasoning@DIR`.
Runs that are finished are not made again, one that was stopped goes on. Intervals draw whole scenes; recalls are means
over types and over actions, so that always saying the most frequent one gets a sixth and a quarter.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.stats.intervals import bootstrap_interval

ROWS: Final = ("table4.both", "table4.mask", "table4.masked", "table9.overlay", "table5.regressed", "table6.p50",
               "table6.p75", "table10.d25", "table10.d50")  # fmt: skip
"""Each once: the settings as they are, ``table4.both``, are a row of every table, of Table 6 ``p25``."""
SEEDS: Final = (0, 1)

Row = dict[str, Any]


def run(row: str, seed: int, given: argparse.Namespace) -> None:
    """Train and measure one row with one seed."""
    out = given.out / f"{row}-{seed}"
    auscult = [sys.executable, "-m", "auscult"]
    train = ["train", "mq-auditor", "--config", f"{given.config}+{row}", "--data", given.train, "--out", out / "train",
             "--seed", seed, "--samples", given.samples, "--threads", 1, "--workers", 1]  # fmt: skip
    model = out / "train" / "model"
    judge = ["run", "mqa", "--judge", f"reasoning@{model}", "--data", given.test, "--out", out / "mqa",
             "--workers", 1]  # fmt: skip
    for words in (train, judge):
        subprocess.run([*auscult, *map(str, words), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    (out / "done").touch()


def judged(test: Path, out: Path) -> list[list[Row]]:
    """Truth and verdict of each mask, by scene."""
    lines = [json.loads(line) for line in (test / "items.jsonl").read_text().splitlines()]
    said = [
        json.loads(line) for line in (out / "judges" / "masks.reasoning.v1" / "verdicts.jsonl").read_text().splitlines()
    ]
    verdicts = {one["id"]: one for one in said}
    scenes = defaultdict(list)
    for line in lines:
        scenes[line["clip"]].append({**line["truth"], "said": verdicts.get(line["id"]), "split": line["mqa"]["split"]})
    return list(scenes.values())


def recall(rows: Sequence[Row], *, of: str, said: str) -> float | Undefined:
    """The mean over the classes of the share that is named right; a mask without verdict is wrong."""
    right = defaultdict(list)
    for row in rows:
        right[row[of]].append(row["said"] is not None and row["said"].get(said) == row[of])
    return float(np.mean([np.mean(one) for one in right.values()]))


def ious(rows: Sequence[Row]) -> tuple[Any, Any]:
    """True IoUs and those of verdicts."""
    truth, estimates = zip(*((row["iou"], row["said"]["iou"]) for row in rows if row["said"] is not None), strict=True)
    return np.array(truth), np.array(estimates)


def gain(rows: Sequence[Row]) -> float:
    """How much nearer the IoU is than the best constant of these very masks, their median (mean absolute error)."""
    truth, estimates = ious(rows)
    return float(np.abs(truth - np.median(truth)).mean() - np.abs(truth - estimates).mean())


def error(rows: Sequence[Row]) -> float:
    """RMSE of the IoU, as in the paper."""
    truth, estimates = ious(rows)
    return float(np.sqrt(np.mean((truth - estimates) ** 2)))


def squared_gain(rows: Sequence[Row]) -> float:
    """How much lower the RMSE is than that of the best constant of these very masks, their mean."""
    return float(np.std(ious(rows)[0])) - error(rows)


def report(given: argparse.Namespace) -> None:
    """Print a line a run."""
    print(
        "| row | seed | n | no verdict | type recall | action recall | RMSE | lower than a constant's | IoU nearer than a constant |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for row in ROWS:
        for seed in SEEDS:
            out = given.out / f"{row}-{seed}"
            if not (out / "done").exists():
                continue
            scenes = judged(given.test, out / "mqa")
            every = [one for scene in scenes for one in scene]
            cells = [row, seed, len(every), sum(one["said"] is None for one in every)]
            for statistic in (
                lambda rows: recall(rows, of="defect", said="defect"),
                lambda rows: recall(rows, of="action", said="own_action"),
                error,
                squared_gain,
                gain,
            ):
                found = bootstrap_interval(statistic, scenes, rng=generator(0, "mq-auditor", "report"), replicates=500)
                known = not isinstance(found, Undefined)
                cells.append(f"{found.value:.3f} ({found.low:.3f}..{found.high:.3f})" if known else "-")
            print("| " + " | ".join(map(str, cells)) + " |")


def main() -> None:
    """Run what is left, then print what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=Path)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--config", default="small")
    parser.add_argument("--samples", type=int, default=24_000)
    parser.add_argument("--rows", nargs="*", default=ROWS)
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    for seed in () if given.report else given.seeds:
        for row in given.rows:
            if not (given.out / f"{row}-{seed}" / "done").exists():
                run(row, seed, given)
    report(given)


if __name__ == "__main__":
    main()
