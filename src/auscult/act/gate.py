"""Find the lowest score from which masks may be accepted unseen, from masks whose truth is known.

Thresholds are tried from the strictest down (fixed-sequence testing: A. Angelopoulos and others, "Learn then Test:
Calibrating Predictive Algorithms to Achieve Risk Control", Annals of Applied Statistics 19, 2025, Sec. 4). Each is a
test of "the share of bad masks from here up is above what may be accepted"; the first one that cannot be ruled out ends
the search. So there is one chance to accept too much, at the first threshold that truly is too low, and its
probability is at most 1 - confidence.

Which thresholds there are, where the search begins, and which mask of a photograph is tested, depends on scores, names
and counts alone. None of it looks at a true IoU, or the bound would not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.rng import generator

Clusters: TypeAlias = Literal["one", "bound"]
CountArray: TypeAlias = NDArray[np.int64]

GRID: Final = tuple(step / 200 for step in range(200, -1, -1))
# The search begins where this share of the photographs is left. At a handful of masks a single bad one would end it,
# and at all of them there would be nothing to search; measured on five curves of bad masks over scores.
_BEGIN: Final = 0.25
_SEED: Final = 0
_EXCHANGES: Final = 999
_NEVER: Final = frozenset({"full_neg", "empty"})
SOUND_SCORES: Final = ("overall", "overall_low")
"""What a threshold on separated sounds may be put on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMask:
    """A mask whose truth is known."""

    id: str
    score: float | None  # what the threshold is put on, 0..1; None for a mask that no threshold accepts
    bad: bool  # whether its true IoU is below what counts as good
    cluster: str  # its photograph or clip; masks of one cluster may resemble one another


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How sure a count is."""

    # from accepted and bad masks of each cluster, both (n,), to the highest credible share of bad ones
    upper: Callable[[CountArray, CountArray], float]
    # from the accepted masks of each cluster to how many clusters are needed where no mask is bad
    fewest: Callable[[CountArray], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStep:
    """One threshold."""

    threshold: float  # masks of this score or more are accepted
    clusters: int  # photographs or clips with such a mask
    tested: int  # masks that the bound is on: one a cluster, or all
    tested_bad: int  # bad ones among them
    masks: int  # all masks from here up
    masks_bad: int  # bad ones among them
    bound: float  # highest credible share of bad ones
    passed: bool = False  # the threshold was tried, and bad shares above the wanted one are ruled out
    tried: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What was found."""

    steps: tuple[GateStep, ...]  # every threshold that reaches further masks, the strictest first
    chosen: GateStep | None  # the last one that passed; None where none did
    usable: int  # clusters that have a mask with a score
    needed: int  # how many are needed where no mask is bad; 0 where no mask has a score
    # of rule `one`: the share of exchanges of photographs under which those with more masks are as bad, from the chosen
    # threshold up; small where crowded photographs are worse. 1 for rule `bound`, which allows for them
    crowded_p: float = 1.0

    @property
    def enough(self) -> bool:
        """Whether any threshold could have passed, had no mask been bad."""
        return any(step.tried for step in self.steps)


def score_of(row: Any, by: str) -> float | None:
    """The score of a line of ``verdicts.jsonl``; None where the mask is never accepted.

    That is the case for the defects ``full_neg`` and ``empty``, where the target is not in the frame, and without an
    estimate. Scores of separated sounds, 1..5, are brought to 0..1.
    """
    value = row.get(by)
    if by in SOUND_SCORES:
        return None if value is None else (float(value) - 1) / 4
    never = row.get("defect") in _NEVER or row.get("target_exists") == "no"
    return None if never or value is None else float(value)


def search(known: Sequence[KnownMask], *, accept_error: float, clusters: Clusters, bound: Bound) -> Search:
    """Try the thresholds of ``GRID``; ``one`` tests one mask a cluster, drawn by name, ``bound`` tests all."""
    if not 0 < accept_error < 1:
        raise UsageError(f"the accepted error is {accept_error:g}", expected="a number between 0 and 1, such as 0.05")
    counted = _counts(known, single=clusters == "one")
    if not counted:
        return Search(steps=(), chosen=None, usable=0, needed=0)
    steps = [_step(row, bound) for row in counted]
    begin = _begin(counted, accept_error, bound)
    tried = _walked(steps, begin, accept_error)
    passed = [step for step in tried if step.passed]
    last = counted[-1]
    return Search(
        steps=(*steps[:begin], *tried, *steps[begin + len(tried) :]),
        chosen=passed[-1] if passed else None,
        usable=last.accepted.size,
        needed=bound.fewest(last.accepted),
        crowded_p=_crowded(known, passed[-1].threshold) if passed and clusters == "one" else 1.0,
    )


def _crowded(known: Sequence[KnownMask], threshold: float) -> float:
    """Whether photographs with more masks have a larger share of bad ones: a permutation test, one-sided."""
    counted = _Ordered(known).above(threshold, single=False)
    if counted is None or not counted.bad.any() or np.ptp(counted.accepted) == 0:
        return 1.0
    shares, rng = counted.bad / counted.accepted, generator(_SEED, "gate", "crowded")
    permuted = [float(counted.accepted @ rng.permutation(shares)) for _ in range(_EXCHANGES)]
    return (1 + sum(value >= counted.masks_bad - 1e-9 for value in permuted)) / (1 + _EXCHANGES)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Counted:
    """The masks from a threshold up: those tested, by cluster, and how many there are in all."""

    threshold: float
    accepted: CountArray
    bad: CountArray
    masks: int
    masks_bad: int


class _Ordered:
    """The masks with a score, cluster by cluster, within a cluster in an order that was drawn by name."""

    def __init__(self, known: Sequence[KnownMask]) -> None:
        scored = sorted((mask for mask in known if mask.score is not None), key=lambda mask: (mask.cluster, mask.id))
        numbers: dict[str, int] = {}
        cluster = np.array([numbers.setdefault(mask.cluster, len(numbers)) for mask in scored], dtype=np.int64)
        sizes = np.bincount(cluster)
        ends = zip(sizes.tolist(), np.cumsum(sizes).tolist(), strict=True)
        orders = [_random_order(scored[end - size].cluster, size) for size, end in ends]
        order = np.lexsort((np.concatenate(orders) if orders else np.zeros(0), cluster))
        self._cluster = cluster[order]
        self._score = np.array([mask.score for mask in scored], dtype=np.float64)[order]
        self._bad = np.array([mask.bad for mask in scored], dtype=np.int64)[order]

    def above(self, threshold: float, *, single: bool) -> _Counted | None:
        """Counts from a threshold up; None where there is no mask."""
        reached = self._score >= threshold
        if not reached.any():
            return None
        cluster, bad = self._cluster[reached], self._bad[reached]
        first = np.flatnonzero(np.concatenate(([True], cluster[1:] != cluster[:-1])))
        sizes = np.diff(first, append=cluster.size)
        return _Counted(
            threshold=threshold,
            accepted=np.ones_like(sizes) if single else sizes,
            bad=bad[first] if single else np.add.reduceat(bad, first),
            masks=int(bad.size),
            masks_bad=int(bad.sum()),
        )


def _counts(known: Sequence[KnownMask], *, single: bool) -> list[_Counted]:
    """Counts at each threshold that reaches further masks: below the lowest score seen, nothing is known."""
    table = _Ordered(known)
    counts: list[_Counted] = []
    for threshold in GRID:
        counted = table.above(threshold, single=single)
        if counted is not None and (not counts or counted.masks > counts[-1].masks):
            counts.append(counted)
    return counts


def _random_order(cluster: str, size: int) -> CountArray:
    """A random order of the masks of a photograph."""
    return generator(_SEED, "gate", cluster).permutation(size) if size > 1 else np.zeros(1, dtype=np.int64)


def _step(counted: _Counted, bound: Bound) -> GateStep:
    return GateStep(
        threshold=counted.threshold,
        clusters=counted.accepted.size,
        tested=int(counted.accepted.sum()),
        tested_bad=int(counted.bad.sum()),
        masks=counted.masks,
        masks_bad=counted.masks_bad,
        bound=bound.upper(counted.accepted, counted.bad),
    )


def _begin(counted: Sequence[_Counted], accept_error: float, bound: Bound) -> int:
    """Where the search begins: enough clusters to pass where no mask is bad, and a share of all of them."""
    least = _BEGIN * counted[-1].accepted.size
    for index, row in enumerate(counted):
        if row.accepted.size >= least and bound.upper(row.accepted, np.zeros_like(row.bad)) <= accept_error:
            return index
    return len(counted)


def _walked(steps: Sequence[GateStep], begin: int, accept_error: float) -> list[GateStep]:
    """The steps that were tried, the first failure last.

    A step must also hold over all its masks as they were counted. That guarantees nothing by itself, but where crowded
    photographs are the worse ones, testing one mask a photograph alone would be too optimistic.
    """
    tried: list[GateStep] = []
    for step in steps[begin:]:
        passed = step.bound <= accept_error and step.masks_bad <= accept_error * step.masks
        tried.append(replace(step, passed=passed, tried=True))
        if not passed:
            break
    return tried
