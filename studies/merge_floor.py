"""How well the IoU of merged masks can be estimated by who sees both objects and is not told which one is meant.

    python studies/merge_floor.py --data DIR [--part calibration]

A merge of the objects A and B has IoU A / (A + B) where A was asked for, and about B / (A + B) where B was. The best
estimate without the expression knows the smaller of the two values and how often the larger object is the one that is
meant, here fitted on the very masks that are measured: a bound that no judge of shape and picture can be better than.
"""

from __future__ import annotations

import argparse
import os
from itertools import pairwise
from pathlib import Path

import numpy as np

from auscult.train import material
from auscult.train.material import PARTS, committed

EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.51)
ELSE = 0.055


def main() -> None:
    """Print the bound for merges, and what follows for all five types."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("AUSCULT_DATA"), required=not os.environ.get("AUSCULT_DATA")
    )
    parser.add_argument("--part", choices=PARTS, default="calibration")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    made = material.coco(given.data, committed()["coco"][given.part], seed=given.seed, alone=True)
    rows = [(sample.defect == "merge", sample.iou) for sample in made if sample.defect != "full_neg"]
    merges = np.array([iou for merged, iou in rows if merged])
    squared = (merges - best(merges)) ** 2
    rest = ELSE**2 * (len(rows) - len(merges))
    print(f"{len(merges)} merges of {len(rows)} masks, IoU {merges.mean():.2f} on average, spread {merges.std():.3f}")
    print(f"RMSE of the best estimate that is not told which object is meant: {np.sqrt(squared.mean()):.3f}")
    print(f"of all five types, were the others at {ELSE}: {np.sqrt((squared.sum() + rest) / len(rows)):.3f}")


def best(ious: np.ndarray) -> np.ndarray:
    """The mean of the two possible values, each weighed by how often it is the true one for such pairs."""
    smaller = np.minimum(ious, 1 - ious)
    found = np.empty_like(ious)
    for low, high in pairwise(EDGES):
        such = (smaller >= low) & (smaller < high)
        if such.any():
            larger = (ious[such] > 0.5).mean()
            found[such] = larger * (1 - smaller[such]) + (1 - larger) * smaller[such]
    return found


if __name__ == "__main__":
    main()
