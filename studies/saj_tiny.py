"""What the smallest SAJ learns from generated sounds, beside `sound.cues.v1`: alignment, and scores with the truth.

    auscult train saj --config tiny --out run --threads 1 --workers 2
    python studies/saj_tiny.py --model run/model --part test --mixtures 400

Mixtures are generated, of recordings that training did not hear; each is asked for with its text and spans. Balanced
accuracy of alignment is by what it is asked with: text alone, spans alone, both. Intervals draw whole clusters
(mixtures that share a voice or a recording), 1,000 times, and comparisons are paired.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from auscult.jobs.judges import load_sound_judge
from auscult.nets.saj.network import ALIGNMENT
from auscult.nets.saj.weights import load
from auscult.rng import generator
from auscult.train.saj.samples import RECIPES, Example, lesson
from auscult.train.sound_judge.card import measure
from auscult.train.sound_judge.samples import made_samples
from auscult.types import PERFORMANCE, SoundTruth

SEED: Final = 1_000_003  # training's seeds are small
ASKED: Final = {"text": {"text"}, "spans": {"spans"}, "text+spans": {"text", "spans"}}
DRAWS: Final = 1000


def drawn(clusters: Sequence[str], value: Callable[[np.ndarray], float]) -> tuple[float, float, float, int]:
    """A number of rows, its 95 % interval over whole clusters, and how many there are."""
    names = np.unique(clusters)
    rows = [np.flatnonzero(np.array(clusters) == name) for name in names]
    rng = generator(0, "saj tiny")
    draws = [value(np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])) for _ in range(DRAWS)]
    low, high = np.nanquantile(draws, (0.025, 0.975))
    return value(np.arange(len(clusters))), float(low), float(high), len(names)


def cell(number: tuple[float, float, float, int]) -> str:
    """A number with its interval."""
    return f"{number[0]:+.3f} [{number[1]:+.3f}, {number[2]:+.3f}] of {number[3]} clusters"


def balanced_accuracy(right: np.ndarray, follows: np.ndarray) -> float:
    """The mean of both classes' shares that are told right."""
    parts = [right[follows == one].mean() if (follows == one).any() else np.nan for one in (True, False)]
    return float(np.mean(parts))


def alignment(folder: Path, part: Any, mixtures: int) -> None:
    """Whether the network tells the target from another source of the mixture, by what it is asked with."""
    net, reader = load(folder)
    net.eval()
    rows: list[tuple[str, bool, dict[str, bool]]] = []
    for sample in made_samples(None, part=part, numbers=range(mixtures), seed=SEED, recipe=RECIPES["alignment"]):
        if sample.kind not in {"stem", "other_source"} or not sample.case.text or not sample.case.spans:
            continue
        case = replace(sample.case, frames=None)
        example = Example.of(case, sample.separated, SoundTruth(), follows=sample.aligned)
        said = {}
        for name, prompts in ASKED.items():
            with torch.inference_mode():
                logit = net(lesson([example], reader, prompts=[prompts]).batch)[ALIGNMENT]
            said[name] = bool(logit[0] > 0)
        rows.append((sample.cluster, sample.aligned, said))
    follows = np.array([row[1] for row in rows])
    for name in ASKED:
        right = np.array([row[2][name] for row in rows]) == follows
        number = drawn([row[0] for row in rows], lambda of, right=right: balanced_accuracy(right[of], follows[of]))
        print(f"alignment, {name}: {cell(number)}, {len(rows)} sources, chance .500")


def _has_scores(said: dict[str, Any]) -> bool:
    return "text+spans" in said and all(said["text+spans"][axis][0] is not None for axis in PERFORMANCE)


def scores(folder: Path, part: Any, mixtures: int) -> None:
    """Pearson with the truth by formula of each axis, beside `sound.cues.v1`, paired."""
    judges = [load_sound_judge(name) for name in (f"saj@{folder}", "sound.cues.v1")]
    samples = made_samples(None, part=part, numbers=range(mixtures), seed=SEED + 1, recipe=RECIPES["scores"])
    rows = list(measure(judges, samples, subsets=("text+spans",)))
    names = [judge.name for judge in judges]
    judged = [row for row in rows if all(_has_scores(row["said"][name]) for name in names)]
    clusters = [row["cluster"] for row in judged]
    for axis in PERFORMANCE:
        truth = np.array([row["scores"][axis] for row in judged])
        values = {name: np.array([row["said"][name]["text+spans"][axis][0] for row in judged]) for name in names}

        def pearson(of: np.ndarray, name: str, truth: np.ndarray = truth, values: Any = values) -> float:
            return float(np.corrcoef(values[name][of], truth[of])[0, 1])

        for name in names:
            print(
                f"{axis}, {name}: {cell(drawn(clusters, lambda of, name=name: pearson(of, name)))}, {len(judged)} outputs"
            )
        print(
            f"{axis}, ahead of cues: {cell(drawn(clusters, lambda of: pearson(of, names[0]) - pearson(of, names[1])))}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--part", default="test", choices=("calibration", "test"))
    parser.add_argument("--mixtures", type=int, default=400)
    given = parser.parse_args()
    torch.set_num_threads(1)
    alignment(given.model, given.part, given.mixtures)
    scores(given.model, given.part, given.mixtures)
