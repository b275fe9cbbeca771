"""Coverage of 95 % intervals over few clips or photographs: the table of docs/intervals.md.

    python -m studies.cluster_intervals                    2,000 data sets for each cell, onto the page
    python -m studies.cluster_intervals --sets 400         fewer, printed

A data set is made of a number of clusters, each of its own mean and size; the functions of ``score.stats`` give the
number with its interval; the truth is the number of ``MANY`` clusters. Beside it is the coverage of the percentiles of
the same draws without widening, which is what the intervals were before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from unittest.mock import patch

import numpy as np

from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, JudgeColumns, TruthColumns, measures, with_interval
from auscult.score.stats import Scores, auc_interval, change_interval, few_clusters, rmse_difference, spearman_interval
from auscult.score.stats.few_clusters import SHARE
from auscult.score.stats.change import mean_of_ratios, mean_ratio
from auscult.types import Doubles

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "intervals.md"
CLUSTERS: Final = (5, 8, 10, 20)
MANY: Final = 30_000
SETS: Final = 2_000
MARK: Final = "<!-- coverage -->"

Told: TypeAlias = "Scored[float] | Undefined"
Design: TypeAlias = Callable[[int, np.random.Generator], Told]


def sized(clusters: int, rng: np.random.Generator, *, most: int = 8) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The cluster of each item, (n,), of 1 to ``most`` items each."""
    return np.repeat(np.arange(clusters), rng.integers(1, most + 1, clusters))


def ious(members: Any, rng: np.random.Generator) -> Doubles:
    """IoUs that are alike within a clip: most are high, some clips are lost."""
    mean = rng.beta(4, 1.2, members.max() + 1)[members]
    return np.asarray(rng.beta(10 * mean + 0.01, 10 * (1 - mean) + 0.01))


def estimates(true: Doubles, members: Any, rng: np.random.Generator, *, noise: float = 0.08) -> Doubles:
    """What a judge says of them: too near to the middle, with an error of each clip."""
    shared = rng.normal(0, 0.05, members.max() + 1)[members]
    return np.asarray(np.clip(0.45 + 0.4 * true + shared + rng.normal(0, noise, true.size), 0, 1))


def mean_of(values: Doubles, members: Any, *, over: Doubles | None = None, within: Any = SHARE) -> Told:
    """A mean, or a ratio of sums."""
    mine, where = dict(enumerate(values.tolist())), dict(enumerate(members.tolist()))
    if over is None:
        return mean_ratio(mine, clusters=where, rng=generator(0, "coverage"), within=within)
    parts = [(mine, dict(enumerate(over.tolist())))]
    return mean_of_ratios(parts, clusters=where, rng=generator(0, "coverage"), within=within)


def normal(clusters: int, rng: np.random.Generator) -> Told:
    """Equal clusters, normal."""
    members = np.repeat(np.arange(clusters), 5)
    return mean_of(rng.normal(0.6, 0.1, clusters)[members] + rng.normal(0, 0.1, members.size), members, within=None)


def iou(clusters: int, rng: np.random.Generator) -> Told:
    """Mean IoU."""
    members = sized(clusters, rng)
    return mean_of(ious(members, rng), members)


def pixels(clusters: int, rng: np.random.Generator) -> Told:
    """Overall IoU, objects of unequal size."""
    members = sized(clusters, rng, most=5)
    union = np.exp(rng.normal(0, 0.7, members.size))
    return mean_of(ious(members, rng) * union, members, over=union)


def share(clusters: int, rng: np.random.Generator, *, a: float = 3.0, b: float = 1.0) -> Told:
    """Share of masks that are good."""
    members = sized(clusters, rng)
    return mean_of((rng.random(members.size) < rng.beta(a, b, clusters)[members]).astype(np.float64), members)


def change(clusters: int, rng: np.random.Generator, *, shape: float = 1.5) -> Told:
    """Average change under stress: some clips lose much; the fewer, the smaller the shape."""
    members = sized(clusters, rng, most=4)
    lost = -0.1 * rng.gamma(shape, 1.0, clusters)[members] + rng.normal(0, 0.08, members.size)
    names = range(members.size)
    scores = Scores(
        clean=dict.fromkeys(names, 0.8), levels={"high": dict(zip(names, (0.8 + lost).tolist(), strict=True))}
    )
    return change_interval(
        scores, clusters=dict(zip(names, members.tolist(), strict=True)), rng=generator(0, "coverage")
    )


def judged(clusters: int, rng: np.random.Generator, *, quantity: Any) -> Told:
    """A quantity of a judge."""
    members = sized(clusters, rng)
    true = ious(members, rng)
    truth = TruthColumns(iou=true, cluster=members)
    measured = quantity(JudgeColumns(iou=estimates(true, members, rng)), truth)
    draws = ClusterDraws.of(members.tolist(), rng=partial(generator, 0, "coverage"), replicates=1000)
    return with_interval(measured.outcome, draws.values(measured), clusters=clusters, within=measured.within)


def two_judges(clusters: int, rng: np.random.Generator) -> Told:
    """Difference of two RMSEs."""
    members = sized(clusters, rng)
    true = ious(members, rng)
    sides = [estimates(true, members, rng, noise=noise) for noise in (0.08, 0.15)]
    return rmse_difference(*sides, true, clusters=members.tolist(), rng=generator(0, "coverage"))


def ranked(clusters: int, rng: np.random.Generator) -> Told:
    """Spearman's correlation of estimates and IoUs."""
    members = sized(clusters, rng)
    true = ious(members, rng)
    return spearman_interval(
        estimates(true, members, rng, noise=0.15), true, clusters=members.tolist(), rng=generator(0, "coverage")
    )


def area(clusters: int, rng: np.random.Generator) -> Told:
    """Area under the ROC curve for an IoU of .8."""
    members = sized(clusters, rng)
    true = ious(members, rng)
    said = estimates(true, members, rng, noise=0.15)
    return auc_interval(said, (true >= 0.8).tolist(), clusters=members.tolist(), rng=generator(0, "coverage"))


DESIGNS: Final[Mapping[str, Design]] = {
    "mean, equal normal clusters": normal,
    "mean IoU": iou,
    "overall IoU (ratio of pixels)": pixels,
    "share of good masks, .75": share,
    "share of good masks, .90": partial(share, a=4.5, b=0.5),
    "average change under stress": change,
    "average change, strongly skewed": partial(change, shape=0.8),
    "RMSE of estimated IoU": partial(judged, quantity=measures.rmse),
    "bias of estimated IoU": partial(judged, quantity=measures.bias),
    "RMSE difference of two judges": two_judges,
    "Spearman": ranked,
    "AUC": area,
}


def truth_of(name: str) -> float:
    """The number of very many clusters, without an interval."""
    with patch.object(few_clusters, "FEW", 2), patch("auscult.score.stats.intervals.cluster_draws", _no_draws):
        found = DESIGNS[name](MANY, generator(0, "coverage", "truth", name))
    if isinstance(found, Undefined):
        raise TypeError(f"{name}: {found.reason}")
    return found.value


def _no_draws(clusters: int, *, rng: np.random.Generator, replicates: int = 1000) -> Doubles:
    del rng, replicates
    return np.ones((2, clusters))


def covered(name: str, clusters: int, *, sets: int, plain: bool = False) -> float:
    """The share of data sets whose interval holds the truth; of those that have an interval."""
    truth, hits, told = truth_of(name), 0, 0
    with patch.object(few_clusters, "FEW", 2 if plain else few_clusters.FEW):
        for number in range(sets):
            found = DESIGNS[name](clusters, generator(0, "coverage", name, clusters, number))
            low, high = getattr(found, "low", None), getattr(found, "high", None)
            if low is not None and high is not None:
                told += 1
                hits += low <= truth <= high
    return hits / told


def rows(*, sets: int) -> list[tuple[str, list[float], list[float]]]:
    """Name, coverage by clusters as it is and as it was by percentiles alone."""
    found = []
    for name in DESIGNS:
        now = [covered(name, each, sets=sets) for each in CLUSTERS]
        before = [covered(name, each, sets=sets // 4, plain=True) for each in CLUSTERS]
        print(name, *(f"{value:.3f}" for value in (*now, *before)), flush=True)
        found.append((name, now, before))
    return found


def page_table(found: Sequence[tuple[str, list[float], list[float]]], *, sets: int) -> str:
    """The table in Markdown."""
    header = ["number", *(f"{count} clusters" for count in CLUSTERS), "percentiles alone"]
    lines = [header, ["---"] * len(header)]
    for name, now, before in found:
        lines.append([name, *(f"{value:.3f}" for value in now), ", ".join(f"{value:.3f}" for value in before)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{MARK}\n\nOf {sets:,} data sets each, {sets // 4:,} for percentiles alone.\n\n{table}\n\n{MARK}"


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and write the page where all data sets were made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=SETS)
    options = parser.parse_args(arguments)
    found = rows(sets=options.sets)
    if options.sets == SETS:
        before, _, after = PAGE.read_text(encoding="utf-8").split(MARK)
        PAGE.write_text(before + page_table(found, sets=SETS) + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
