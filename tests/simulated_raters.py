"""Simulated pools of raters of golden items, and how well bad ones are told from good ones.

``python tests/simulated_raters.py`` prints the table of ``docs/ratings.md`` and draws its curve, in a
quarter of an hour on one core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.outcome import Scored
from auscult.report.charts.basic import Axes, Series, lines_drawing
from auscult.report.drawing import Drawing, to_svg
from auscult.rng import generator
from auscult.score.raters import SCALE, Ratings, fit_raters, plain_mad
from auscult.score.stats.correlation import auc
from auscult.score.stats.few_clusters import t_quantile

BAD_KINDS: Final = ("noisy", "biased", "lazy", "adversarial")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pool:
    """Simulated raters of golden items.

    Attributes:
        ratings: (raters, items), 0 where missing.
        experts: (1, items).
        kinds: Of each rater: ``good`` or one of ``BAD_KINDS``.
        truth: (items,) true scores, 1..5.
    """

    ratings: Ratings
    experts: Ratings
    kinds: tuple[str, ...]
    truth: NDArray[np.int64]

    @property
    def bad(self) -> NDArray[np.bool_]:
        """(raters,) whether each is a bad one."""
        return np.array([kind != "good" for kind in self.kinds])


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """What a simulated pool is like; the paper has 40 golden items and ended with 128 raters.

    Attributes:
        good: Raters who are right but for a spread of .3 to .7.
        bad: Raters of ``BAD_KINDS``, in turn.
        items: Golden items; most have the lowest and the highest score.
        missing: Share of ratings that are missing, at random.
    """

    good: int = 128
    bad: int = 40
    items: int = 40
    missing: float = 0.0


_TRUE_SHARES: Final = (0.26, 0.13, 0.14, 0.17, 0.30)


def simulate_pool(plan: PoolPlan, rng: np.random.Generator) -> Pool:
    """Draw a pool: qualities on a line, items of unequal ambiguity, an expert with errors, and raters.

    Ratings come from a shift, a slope and Gaussian noise on that line and not from confusion matrices, so that the
    model that is tried on them is not the one that made them.
    """
    truth = rng.choice(SCALE, plan.items, p=_TRUE_SHARES)
    quality = truth + rng.uniform(-0.5, 0.5, plan.items)
    unclear = np.sqrt(rng.gamma(2.0, 0.5, plan.items))

    def rate(*, bias: float, spread: float, slope: float = 1.0) -> Ratings:
        perceived = 2 + slope * (quality - 2) + bias + spread * unclear * rng.normal(size=plan.items)
        return np.clip(np.rint(perceived), 0, SCALE - 1).astype(np.int64) + 1

    def bad(kind: str) -> Ratings:
        if kind == "noisy":
            return rate(bias=rng.normal(0, 0.2), spread=rng.uniform(1.2, 2.0))
        if kind == "biased":
            return rate(bias=rng.choice((-1, 1)) * rng.uniform(1.0, 1.6), spread=rng.uniform(0.3, 0.7))
        if kind == "lazy":  # the same answer to most
            constant, most = rng.choice((3, 4, 5)), rng.random(plan.items) < rng.uniform(0.6, 0.95)
            return np.where(most, constant, rate(bias=0.0, spread=0.5))
        return rate(bias=0.0, spread=0.6, slope=-1.0)

    kinds = ("good",) * plan.good + tuple(BAD_KINDS[number % len(BAD_KINDS)] for number in range(plan.bad))
    ratings = np.array(
        [
            rate(bias=rng.normal(0, 0.2), spread=rng.uniform(0.3, 0.7), slope=rng.uniform(0.85, 1.15))
            if kind == "good"
            else bad(kind)
            for kind in kinds
        ]
    )
    ratings[rng.random(ratings.shape) < plan.missing] = 0
    return Pool(ratings=ratings, experts=rate(bias=0.0, spread=0.35)[None], kinds=kinds, truth=truth + 1)


def pool_aucs(plan: PoolPlan, *, rng: np.random.Generator, draws: int = 150) -> Mapping[str, float]:
    """How well a pool's bad raters are told by expected and by plain deviation: two areas under the curve, 0..1."""
    pool = simulate_pool(plan, rng)
    expected = fit_raters(pool.ratings, pool.experts, rng=rng, draws=draws, warm_up=100).mad
    plain = plain_mad(pool.ratings, pool.experts)
    plain[np.isnan(plain)] = expected.mean()  # of a rater without a rating
    aucs = {"expected MAD": auc(expected, pool.bad), "plain MAD": auc(plain, pool.bad)}
    return {name: result.value for name, result in aucs.items() if isinstance(result, Scored)}


POOLS: Final = 40
UNSEEN: Final = 2000
"""Further items of a pool, on which its raters' true deviations are measured."""


def measure(plan: PoolPlan, *, rng: np.random.Generator) -> dict[str, float]:
    """Areas under the curve of both deviations, and how many true deviations 90 % intervals hold."""
    longer = simulate_pool(PoolPlan(good=plan.good, bad=plan.bad, items=plan.items + UNSEEN), rng)
    ratings, experts = longer.ratings[:, : plan.items].copy(), longer.experts[:, : plan.items]
    ratings[rng.random(ratings.shape) < plan.missing] = 0
    later_ratings, truth = longer.ratings[:, plan.items :], longer.truth[plan.items :]
    true = np.mean(
        [np.abs(later_ratings[:, truth == value] - value).mean(axis=1) for value in range(1, SCALE + 1)], axis=0
    )
    fit = fit_raters(ratings, experts, rng=rng, draws=300, warm_up=200)
    low, high = fit.interval()
    is_covered = (low <= true) & (true <= high)
    plain = plain_mad(ratings, experts)
    plain[np.isnan(plain)] = fit.mad.mean()
    areas = {"expected MAD": auc(fit.mad, longer.bad), "plain MAD": auc(plain, longer.bad)}
    return {
        **{name: area.value for name, area in areas.items() if isinstance(area, Scored)},
        "good held": float(is_covered[~longer.bad].mean()),
        "bad held": float(is_covered[longer.bad].mean()),
        "r_hat": fit.r_hat,
    }


def unequal_raters(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Good raters from nearly perfect to middling, rated by matrices: true deviations, and whether intervals hold.

    60 good raters, with spreads of .35 to .8 around the true score, beside 20 of spread 2; half is missing.
    """
    spreads = np.concatenate([rng.uniform(0.35, 0.8, 60), np.full(20, 2.0)])
    scores = np.arange(SCALE)
    away = np.abs(scores[:, None] - scores)
    matrices = np.exp(-0.5 * (away / spreads[:, None, None]) ** 2)
    matrices /= matrices.sum(axis=2, keepdims=True)
    truth = rng.choice(SCALE, 40, p=_TRUE_SHARES)
    limits = matrices.cumsum(axis=2)[:, truth]
    ratings = 1 + (rng.random((80, 40, 1)) > limits[..., :-1]).sum(axis=2)
    experts = ratings[:1].copy()
    ratings[rng.random(ratings.shape) < 0.5] = 0
    low, high = fit_raters(ratings[1:], experts, rng=rng, draws=300, warm_up=200).interval()
    true = (matrices * away).sum(axis=2).mean(axis=1)[1:]
    return true[:59], ((low <= true) & (true <= high))[:59]


def _text(values: list[float], digits: int = 4) -> str:
    half_width = t_quantile(0.975, len(values) - 1) * float(np.std(values, ddof=1)) / np.sqrt(len(values))
    ends = (
        f"{end:.{digits}f}".replace("0.", ".", 1)
        for end in (np.mean(values) - half_width, np.mean(values) + half_width)
    )
    return f"{np.mean(values):.{digits}f}".replace("0.", ".", 1) + f" [{', '.join(ends)}]"


def curve(means: Mapping[float, Mapping[str, float]]) -> Drawing:
    """Areas under the curve by the share of ratings that is missing."""
    names = ("expected MAD", "plain MAD")
    lines = [
        Series(
            name=name,
            points=tuple(
                (share, mean_aucs[name], f"{share:.0%} missing: {mean_aucs[name]:.4f}")
                for share, mean_aucs in means.items()
            ),
            style=style,
        )
        for style, name in enumerate(names)
    ]
    low = min(mean_aucs[name] for mean_aucs in means.values() for name in names)
    ticks = tuple((tick / 4, f"{tick / 4:.0%}") for tick in range(5))
    axes = Axes(x=(0, 1), y=(min(0.95, low), 1), ticks=ticks, across="ratings missing", up="area under the curve")
    return lines_drawing(lines, axes, title="Bad raters told from good ones, by ratings missing")


if __name__ == "__main__":
    means: dict[float, dict[str, float]] = {}
    for share in (0.0, 0.25, 0.5, 0.75):
        rows = [
            measure(PoolPlan(missing=share), rng=generator(number, "report", f"{share}")) for number in range(POOLS)
        ]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        gains = list(np.subtract(columns["expected MAD"], columns["plain MAD"]))
        areas = " | ".join(_text(column) for column in (columns["expected MAD"], columns["plain MAD"], gains))
        held = " | ".join(_text(columns[name], 2) for name in ("good held", "bad held"))
        print(f"| {share:.0%} | {areas} | {held} |", flush=True)
        means[share] = {name: float(np.mean(values)) for name, values in columns.items()}
    unequal = [unequal_raters(generator(number, "unequal raters")) for number in range(POOLS)]
    true, is_held = (np.concatenate(parts) for parts in zip(*unequal, strict=True))
    for low, high in ((0.0, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 1.0), (0.0, 1.0)):
        inside = (true >= low) & (true < high)
        print(f"good raters with deviations of {low} to {high}: {is_held[inside].mean():.2f} of {inside.sum()} held")
    Path("docs/images/raters.svg").write_text(to_svg(curve(means)), encoding="utf-8")
