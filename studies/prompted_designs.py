"""Designs of the prompted network and a learning curve: one training each, compared on real masks of the part dev.

    python studies/prompted_designs.py --data DATA --out RESULTS [--steps 1000] [--only imagenet192:0,...]

Every run takes its steps of 24 samples with the whole cosine. What a network says of the part dev is kept under
RESULTS: a run that is there is not repeated, one that was stopped goes on from its checkpoint. Nothing is calibrated.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch

from auscult.arrays.overlap import iou
from auscult.judge.masks.prompted.view import inputs, looks
from auscult.nets.prompted import Design
from auscult.rng import generator
from auscult.score.stats.correlation import auc
from auscult.train.prompted.loop import MaskTrainer, TrainingPlan, batches, network_of, train
from auscult.train.prompted.material import Material, Picture, read_material
from auscult.train.prompted.outputs import FLAWLESS, real_and_flawless
from auscult.train.prompted.recipe import WEIGHTS

DRAWS: Final = 1000
SAVED_EVERY: Final = 50
BASE: Final = TrainingPlan(design=Design(side=192, margin=2.0), start="imagenet")
DEEPLAB: Final = replace(BASE, start="deeplab")
RUNS: Final[dict[str, tuple[TrainingPlan, int | None]]] = {
    "imagenet192": (BASE, None),
    "deeplab192": (DEEPLAB, None),
    "deeplab256": (replace(DEEPLAB, design=Design(side=256, margin=1.5)), None),
    "frozen192": (replace(BASE, design=replace(BASE.design, frozen=17)), None),
    "nostrip192": (replace(BASE, design=replace(BASE.design, strip=False)), None),
    "scratch192": (replace(BASE, start="scratch"), None),
    "photos50": (BASE, 50),
    "photos200": (BASE, 200),
    "photos800": (BASE, 800),
}
"""Name to plan and how many photographs it learns from; None for all. Video is always whole."""
BATCH: Final = 24


def main() -> None:
    options = _options()
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    wanted = [tuple(one.split(":")) for one in options.only.split(",")] if options.only else []
    todo = wanted or [(name, seed) for seed in ("0", "1") for name in RUNS]
    material = read_material(options.data)
    print("| run | seed | minutes | AUC | RMSE |\n|---|---|---|---|---|")
    for name, seed in todo:
        path = options.out / f"{name}_{seed}.npz"
        if not path.exists():
            _run(material, options, name=name, seed=int(seed))
        print(_line(path), flush=True)


def learnable(pictures: list[Picture], *, photographs: int | None) -> list[Picture]:
    """Pictures to learn from: all video, and some or all photographs, the first of one fixed order."""
    if photographs is None:
        return pictures
    still = [one for one in pictures if one.source != "davis"]
    order = np.random.default_rng(0).permutation(len(still))[:photographs]
    return [still[at] for at in sorted(order.tolist())] + [one for one in pictures if one.source == "davis"]


def _run(material: Material, options: argparse.Namespace, *, name: str, seed: int) -> None:
    plan, photographs = RUNS[name]
    plan = replace(plan, seed=seed, steps=options.steps)
    pictures = learnable(material.of("train"), photographs=photographs)
    trainer = MaskTrainer(plan, weights=options.data / WEIGHTS)
    checkpoint = options.out / f"{name}_{seed}.pt"
    if checkpoint.exists():
        trainer.load(checkpoint)
    begun, first = time.monotonic(), trainer.step

    def saved(step: int, _: dict[str, float]) -> None:
        if (step + 1) % SAVED_EVERY == 0:
            trainer.save(checkpoint)

    train(trainer, batches(pictures, plan, first=first, workers=1), until=float("inf"), heard=saved)
    trainer.save(checkpoint)
    minutes = (time.monotonic() - begun) / 60 * plan.steps / max(plan.steps - first, 1)
    net, _ = network_of(checkpoint)
    things = list(real_and_flawless(material.of("dev")))
    shares = []
    for first in range(0, len(things), BATCH):
        views = [looks(one.frame, one.mask, (plan.lens,))[0] for one in things[first : first + BATCH]]
        given = {key: torch.from_numpy(value) for key, value in inputs(views).items()}
        with torch.no_grad():
            found = net(given["crop"], given["candidate"], strip=given["strip"], shape=given["shape"])
        shares.append(torch.softmax(found["ious"], dim=1).numpy())
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez(
        options.out / f"{name}_{seed}.npz",
        shares=np.concatenate(shares),
        family=np.array([one.family for one in things]),
        cluster=np.array([one.cluster for one in things]),
        iou=np.array([iou(one.mask, one.truth) for one in things]),
        minutes=minutes,
    )


def _line(path: Path) -> str:
    with np.load(path) as held:
        real = held["family"] != FLAWLESS
        shares, true, cluster = held["shares"][real], held["iou"][real], held["cluster"][real]
        minutes = float(held["minutes"])
    mean = shares @ ((np.arange(shares.shape[1]) + 0.5) / shares.shape[1])
    rank = shares[:, -5:].sum(axis=1) + 1e-3 * mean
    names, members = np.unique(cluster, return_inverse=True)
    places = [np.flatnonzero(members == at) for at in range(len(names))]
    rng = generator(0, "prompted", "designs")
    cells = []
    for score in (lambda at: _auc(rank[at], true[at]), lambda at: float(np.sqrt(np.mean((mean[at] - true[at]) ** 2)))):
        drawn = [
            score(np.concatenate([places[at] for at in rng.integers(len(places), size=len(places))]))
            for _ in range(DRAWS)
        ]
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        cells.append(f"{score(np.arange(len(true))):.3f} [{low:.3f}, {high:.3f}]")
    name, seed = path.stem.rsplit("_", 1)
    return f"| {name} | {seed} | {minutes:.0f} | {' | '.join(cells)} |"


def _auc(rank: np.ndarray, true: np.ndarray) -> float:  # type: ignore[type-arg]
    found = auc(rank, true >= 0.8)
    return float(getattr(found, "value", np.nan))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    return parser.parse_args()


if __name__ == "__main__":
    main()
