"""How many masks of a set are bad: the mean of the judge's probabilities, and the same adapted to the set.

    PYTHONPATH=tools python studies/prompted_shares.py --data DATA --families FILE.json.gz --out RESULTS [--part dev]

RESULTS may be that of `tools/prompted_results.py`. Prints the table of the card, then, for sets of masks of one family
that are drawn from bad to good (weights exp(tilt IoU)), how far the estimated shares are off and how often intervals
hold the true one, without labels and with 60 of 300 masks labelled as good or bad, by lot or those of the lowest
estimates. `docs/prompted.md` and `studies/prompted.md` hold what it printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import prompted_card as cards
from numpy.typing import NDArray

from auscult.cli import show
from auscult.jobs.calibrate import MEAN_IOU, Estimates, Labels, fit
from auscult.judge.masks.prompted import PromptedJudge
from auscult.rng import generator
from auscult.score.judges import JudgeColumns
from auscult.score.stats import Interval, adapted_to_set, share_below
from auscult.train.prompted.material import FAMILIES, read_material
from auscult.train.prompted.outputs import FLAWLESS, CandidateColumns

TILTS = (-8, -4, 0, 4, 8, 14)
SIZES = (20, 40, 150, 600)
DEEP = ("yolo", "csnet", "deeplab", "osvos", "rvos")
OLD_SHIFT = 0.99549
LEAST = 90
DRAWS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--families", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", action="append")
    given = parser.parse_args()
    cv2.setNumThreads(1)
    judge, material = PromptedJudge(), read_material(given.data, families=FAMILIES)
    things = cards.real_things(material, given.data, given.families, parts=given.part or ("test", "unseen"))
    with show.progress_bar(quiet=False) as progress:
        columns, rows = cards.rows_of(
            [judge], things, given.out / "real", known=cards.known_columns(material), progress=progress
        )
    row = rows[judge.name]
    shares = cards.audit_shares(columns, row, shift=judge.prob_shift, prior=judge.prob_prior)
    print(cards.shares_table(shares))
    for name, inside in groups(columns, row).items():
        print(f"\n{name}\n")
        print("| masks | sets | under .8: off by, mean of probabilities | adapted | under .5 | adapted |"
              " .8: holds the true share, and width | adapted |")  # fmt: skip
        print("|---|---|---|---|---|---|---|---|")
        for size in SIZES if any(True for _ in sets_of(columns, inside, 2)) else ():
            print(line(columns, row, inside=inside, size=size, judge=judge), flush=True)
        for worst in (False, True):
            print(labelled(columns, row, inside=inside, judge=judge, worst=worst), flush=True)
        gains = [gain for gain in (nearer(columns, row, inside=inside, judge=judge, draw=draw) for draw in range(DRAWS)) if gain]
        if gains:
            low, high = np.quantile(gains, [0.025, 0.975])
            print(f"\n150 masks, under .8: interval of how much nearer adapted is [{low:.3f}, {high:.3f}], whole photographs and sequences drawn")


def groups(columns: CandidateColumns, row: JudgeColumns) -> dict[str, NDArray[np.bool_]]:
    """Deep and classical families, on test pictures and on the source nobody saw."""
    judged = ~np.isnan(row.iou) & (columns.family != FLAWLESS)
    unseen = np.isin(columns.source, ["pets"]) | np.char.startswith(columns.cluster, "davis_")
    deep = np.any([np.char.startswith(columns.family, one) for one in DEEP], axis=0)
    return {
        "networks": judged & deep & ~unseen,
        "classical methods": judged & ~deep & ~unseen,
        "networks, a source nobody saw": judged & deep & unseen,
        "classical methods, a source nobody saw": judged & ~deep & unseen,
    }


def sets_of(columns: CandidateColumns, inside: NDArray[np.bool_], size: int) -> Iterator[NDArray[np.int64]]:
    """Masks of one family each, twice at each tilt."""
    for family in sorted(set(columns.family[inside].tolist())):
        at = np.flatnonzero(inside & (columns.family == family))
        for tilt in TILTS if len(at) >= LEAST else ():
            weights = np.exp(tilt * columns.iou[at])
            for number in range(2):
                rng = generator(0, "shares", family, tilt, size, number)
                yield rng.choice(at, size, p=weights / weights.sum())


def labelled(
    columns: CandidateColumns, row: JudgeColumns, *, inside: NDArray[np.bool_], judge: PromptedJudge, worst: bool
) -> str:
    """Sets of 300 masks, 60 of them labelled, by lot or the worst; sets are left out whose labels are all alike."""
    assert row.low is not None and row.high is not None and row.good is not None and row.fair is not None
    found: dict[str, list[tuple[float, bool, float]]] = {"without": [], "with 60 labels": []}
    alone: list[float] = []
    for at in sets_of(columns, inside, 300):
        true, clusters = columns.iou[at] >= 0.8, columns.cluster[at].tolist()
        # the order of a set is one by lot
        chosen = np.argsort(row.iou[at], kind="stable")[:60] if worst else np.arange(60)
        if len(set(true[chosen].tolist())) < 2:
            continue
        marks = np.where(true, MEAN_IOU["good"], MEAN_IOU["bad"])[chosen]
        columns_ = Estimates(iou=row.iou[at], low=row.low[at], high=row.high[at], good=row.good[at])
        fitted = fit(columns_, Labels(index=chosen, iou=marks, known=False), clusters=clusters)
        adapted, _ = adapted_to_set(row.good[at], row.fair[at], prior=judge.prob_prior)
        share = float(np.mean(~true))
        for name, chances, shift in (
            ("without", adapted, judge.prob_shift),
            ("with 60 labels", fitted.columns.good, fitted.shift),
        ):
            told = share_below(chances, clusters=clusters, rng=generator(0, "in"), shift=shift, replicates=300)
            assert isinstance(told, Interval)
            found[name].append((abs(told.value - share), told.low <= share <= told.high, told.high - told.low))
        alone.append(abs(float(np.mean(~true[chosen])) - share))
    cells = [f"{name}: off by {{:.3f}}, held {{:.2f}}, width {{:.2f}}".format(*np.mean(values, axis=0))
             for name, values in found.items() if values]  # fmt: skip
    which = "the worst labelled" if worst else "labelled by lot"
    return f"\n300 masks, {which}, {len(alone)} sets: " + "; ".join(cells) + f"; the labels alone: off by {np.mean(alone or [np.nan]):.3f}"


def nearer(
    columns: CandidateColumns, row: JudgeColumns, *, inside: NDArray[np.bool_], judge: PromptedJudge, draw: int
) -> float | None:
    """How much nearer the adapted share is in sets of one draw of photographs and sequences."""
    assert row.good is not None and row.fair is not None
    names, members = np.unique(columns.cluster, return_inverse=True)
    rng = generator(0, "shares", "draw", draw)
    times = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))[members] * inside
    gains = []
    for family in sorted(set(columns.family[inside].tolist())):
        at = np.flatnonzero(inside & (columns.family == family))
        for tilt in TILTS if len(at) >= LEAST else ():
            weights = times[at] * np.exp(tilt * columns.iou[at])
            if not weights.any():  # all its sequences are left out
                continue
            chosen = rng.choice(at, 150, p=weights / weights.sum())
            adapted, _ = adapted_to_set(row.good[chosen], row.fair[chosen], prior=judge.prob_prior)
            true = np.mean(columns.iou[chosen] < 0.8)
            gains.append(abs(np.mean(1 - row.good[chosen]) - true) - abs(np.mean(1 - adapted) - true))
    return float(np.mean(gains)) if gains else None


def line(
    columns: CandidateColumns, row: JudgeColumns, *, inside: NDArray[np.bool_], size: int, judge: PromptedJudge
) -> str:
    """One size of set."""
    assert row.good is not None and row.fair is not None
    off: dict[tuple[str, str], list[float]] = {}
    held: dict[str, list[tuple[bool, float]]] = {"before": [], "adapted": []}
    count = 0
    for at in sets_of(columns, inside, size):
        count += 1
        adapted = adapted_to_set(row.good[at], row.fair[at], prior=judge.prob_prior)
        for level, before, after in ((0.8, row.good[at], adapted[0]), (0.5, row.fair[at], adapted[1])):
            true = float(np.mean(columns.iou[at] < level))
            for name, chances, shift in (("before", before, OLD_SHIFT), ("adapted", after, judge.prob_shift)):
                off.setdefault((name, str(level)), []).append(abs(float(np.mean(1 - chances)) - true))
                if level == 0.8:
                    found = share_below(
                        chances, clusters=columns.cluster[at].tolist(), rng=generator(0, "in"), shift=shift, replicates=300
                    )
                    assert isinstance(found, Interval)
                    held[name].append((found.low <= true <= found.high, found.high - found.low))
    cells = [f"{np.mean(off[name, level]):.3f}" for level in ("0.8", "0.5") for name in ("before", "adapted")]
    shares = ["{:.2f}, {:.2f}".format(*np.mean(held[name], axis=0)) for name in ("before", "adapted")]
    return "| " + " | ".join([str(size), str(count), *cells, *shares]) + " |"


if __name__ == "__main__":
    main()
