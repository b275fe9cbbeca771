"""By what a judge of separated sound knows what is unlike its training: a section of docs/sound-judge-designs.md.

    AUSCULT_DATA=FOLDER python studies/sound_novelty.py --run RUN

RUN is a folder of ``auscult train compact-sound`` with its samples; the network is the shipped one. On the calibration
part alone: how each distance goes with the error of overall, and what it says of mixtures of noise, tones and clicks,
whose truth is computed from the two sounds.
"""

from __future__ import annotations

import argparse
import os
from itertools import permutations
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.cluster import KMeans

from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Silent
from auscult.judge.sound.compact import JUDGE
from auscult.judge.sound.compact.network import FOLDER
from auscult.train.sound_judge.calibrate import predictions
from auscult.train.sound_judge.compact import NETS, CompactRun, read_judge, read_trunk
from auscult.train.sound_judge.samples import ALL, OutputTruth
from auscult.train.sound_judge.trainer import read_plan
from auscult.types import SoundCase, SoundQuery

SPLITS, PLACES, AXES, MAIN = 12, 64, 48, 24
RATE_HZ, SECONDS = 16_000, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    given = parser.parse_args()
    root = Path(os.environ["AUSCULT_DATA"])
    options = TrainOptions(name="compact-sound", data=root, out=given.run)
    run = CompactRun(options=options, plan=read_plan("small"), until=monotonic() + 1e6)
    net, trunk = read_judge(FOLDER).eval(), read_trunk(root / NETS)
    held = run.samples("calibration", trunk, Silent())
    assert held is not None
    learned = run.learned(trunk)
    parts = [predictions(net, held, subset=subset) for subset in ("none", "text", ALL)]
    known = [predictions(net, learned, subset=subset) for subset in ("none", "text", ALL)]
    pooled, heard = (np.concatenate([getattr(one, name) for one in parts]) for name in ("pooled", "heard"))
    old_pooled, old_heard = (np.concatenate([getattr(one, name) for one in known]) for name in ("pooled", "heard"))
    error = np.abs(np.concatenate([one.scores[:, 3] - one.truth[:, 3] for one in parts]))
    clusters = np.tile([sample.about["cluster"] for sample in held], len(parts))
    print(f"{len(held)} samples, {len(set(clusters))} clusters; {len(learned)} of training")
    distances = {"middle": from_middle, "places": from_places, "axes": outside_axes}
    for name, distance in distances.items():
        values = heard if name == "axes" else pooled
        rows = []
        for split in range(SPLITS):
            names = np.random.default_rng(split).permutation(np.unique(clusters))
            fitted = np.isin(clusters, names[: 2 * len(names) // 3])
            rows.append(agreement(distance(values[fitted], values[~fitted]), error[~fitted]))
        print(name, "of other recordings of calibration", np.mean(rows, axis=0).round(3))
    print("places of training", np.round(agreement(from_places(old_pooled, pooled), error), 3))
    print("axes of training", np.round(agreement(outside_axes(old_heard, heard), error), 3))
    off, novelty = strange()
    print(
        f"strange sounds: {len(off)} outputs, overall off by {off.mean():.2f}, novelty .5 or more {np.mean(novelty >= 0.5):.2f}"
    )


def agreement(distance: Any, error: Any) -> tuple[float, float]:
    """Spearman of a distance and errors, and by how much the error is larger in the 5 % where it is largest."""
    far = distance >= np.quantile(distance, 0.95)
    return float(spearmanr(distance, error)[0]), float(error[far].mean() - error[~far].mean())


def from_middle(known: Any, values: Any) -> Any:
    centre = known.mean(axis=0)
    _, spread, axes = np.linalg.svd(known - centre, full_matrices=False)
    return np.sqrt((((values - centre) @ axes[:MAIN].T / spread[:MAIN]) ** 2).mean(axis=1))


def from_places(known: Any, values: Any) -> Any:
    known, values = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (known, values))
    places = KMeans(PLACES, n_init=1, random_state=0).fit(known).cluster_centers_
    return 1 - (values @ (places / np.linalg.norm(places, axis=1, keepdims=True)).T).max(axis=1)


def outside_axes(known: Any, values: Any) -> Any:
    centre = known.mean(axis=0)
    axes = np.linalg.svd(known - centre, full_matrices=False)[2][:AXES]
    off = values - centre
    return np.sqrt(np.maximum((off**2).sum(axis=1) - ((off @ axes.T) ** 2).sum(axis=1), 0.0))


def strange() -> tuple[Any, Any]:
    """Errors of overall and novelty for outputs of mixtures of two sounds that nothing in training is like."""
    rng, times = np.random.default_rng(0), np.arange(RATE_HZ * SECONDS) / RATE_HZ
    sounds = {
        "noise": rng.standard_normal(times.size),
        "tone": np.sin(2 * np.pi * 440 * times),
        "high tone": np.sin(2 * np.pi * 4000 * times),
        "sweep": np.sin(2 * np.pi * (100 * times + 700 * times**2)),
        "square": np.sign(np.sin(2 * np.pi * 110 * times)),
        "clicks": (np.arange(times.size) % 1600 == 0).astype(float),
        "bits": np.repeat(rng.choice([-1.0, 1.0], times.size // 40), 40),
        "warble": np.sin(2 * np.pi * 1000 * times + 50 * np.sin(2 * np.pi * 30 * times)),
        "crackle": (rng.random(times.size) < 0.002) * rng.standard_normal(times.size),
    }
    scaled = {name: (0.3 * sound / np.abs(sound).max()).astype(np.float32) for name, sound in sounds.items()}
    off, novelty = [], []
    for target, other in permutations(scaled.values(), 2):
        truth = OutputTruth([target, other], RATE_HZ, SoundQuery(), more={})
        case = SoundCase(id="strange", mixture=(target + other)[None], rate_hz=RATE_HZ)
        for output in (target, target + other, target + 0.3 * other, other):
            sample = truth.sample(output, case, kind="strange", aligned=True)
            verdict = JUDGE(case, output[None])
            if sample is not None and verdict.overall is not None:
                off.append(abs(verdict.overall - sample.scores["overall"]))
                novelty.append(verdict.novelty)
    return np.array(off), np.array(novelty)


if __name__ == "__main__":
    main()
