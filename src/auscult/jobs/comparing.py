"""Two judges on the same items: which items are the same, and what the paired tests say."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.stats import McNemar, mcnemar, rmse, rmse_difference
from auscult.types import Verdict

ONLY_FIRST, ONLY_SECOND = "only the first judged", "only the second judged"
CHANGED, OTHER_TRUTH, NO_TRUTH = "other frame, mask or text", "other truth", "no truth"
_SAME_IOU = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One judge's record.

    Attributes:
        name: What tables call it.
        folder: Its record.
        verdicts: By item id.
        inputs: Hash of what was judged, by item id.
        truths: Row of ``truth.jsonl`` by item id.
        clips: The clip of each item, where its line says which benchmark clip it belongs to.
    """

    name: str
    folder: Path
    verdicts: Mapping[str, Verdict]
    inputs: Mapping[str, str]
    truths: Mapping[str, Mapping[str, Any]]
    clips: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The items that two judges have in common.

    Attributes:
        first: One judge.
        second: The other.
        items: Ids in order.
        unmatched: Reason to how many items; every reason is there, with 0 where it did not occur.
    """

    first: Side
    second: Side
    items: tuple[str, ...]
    unmatched: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """What the tests of two judges say.

    Attributes:
        match: The judges and their items.
        n_iou: Items with a true IoU and both estimates.
        clusters: Clips or photographs of those.
        rmse: RMSE of each on them; 0 where there is none.
        difference: First minus second, with its interval.
        right: Label to how many each named right.
        tests: Label to its test; a label without truth is left out.
    """

    match: Match
    n_iou: int
    clusters: int
    rmse: tuple[float, float]
    difference: Scored[float] | Undefined
    right: Mapping[str, tuple[int, int]]
    tests: Mapping[str, McNemar]


def match(first: Side, second: Side) -> Match:
    """Find the items that two judges have in common: same id, same input, same truth."""
    unmatched = dict.fromkeys((ONLY_FIRST, ONLY_SECOND, CHANGED, OTHER_TRUTH, NO_TRUTH), 0)
    items = []
    for name in sorted({*first.verdicts, *second.verdicts}):
        reason = _why_not(first, second, name)
        if reason:
            unmatched[reason] += 1
        else:
            items.append(name)
    return Match(first=first, second=second, items=tuple(items), unmatched=unmatched)


def _why_not(first: Side, second: Side, name: str) -> str:
    if name not in second.verdicts:
        return ONLY_FIRST
    if name not in first.verdicts:
        return ONLY_SECOND
    if first.inputs[name] != second.inputs[name]:
        return CHANGED
    one, other = first.truths.get(name), second.truths.get(name)
    if one is None or other is None:
        return NO_TRUTH
    return "" if _same_truth(one, other) else OTHER_TRUTH


def _same_truth(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if any(one.get(key) != other.get(key) for key in ("defect", "action")):
        return False
    first, second = one.get("iou"), other.get("iou")
    if first is None or second is None:
        return first is second
    return abs(float(first) - float(second)) <= _SAME_IOU


def paired_tests(found: Match) -> Paired:
    """Compare two judges on their common items.

    Masks whose true type is ``empty`` are left out, as everywhere; an ``empty`` told of one that is not is wrong.
    """
    names = [name for name in found.items if found.first.truths[name].get("defect") != "empty"]
    measured = [name for name in names if _has_ious(found, name)]
    told = [[side.verdicts[name].iou or 0.0 for name in measured] for side in (found.first, found.second)]
    true = [float(found.first.truths[name]["iou"]) for name in measured]
    clusters: list[Hashable] = [
        found.first.clips.get(name) or found.first.truths[name].get("cluster") or name for name in measured
    ]
    difference = rmse_difference(told[0], told[1], true, clusters=clusters, rng=generator(0, "compare"))
    each = [rmse(values, true) for values in told]
    right: dict[str, tuple[int, int]] = {}
    tests: dict[str, McNemar] = {}
    for label in ("defect", "action"):
        labelled = [name for name in names if found.first.truths[name].get(label) is not None]
        hits = [
            [getattr(side.verdicts[name], label) == found.first.truths[name][label] for name in labelled]
            for side in (found.first, found.second)
        ]
        test = mcnemar(hits[0], hits[1])
        if isinstance(test, McNemar):
            right[label], tests[label] = (sum(hits[0]), sum(hits[1])), test
    return Paired(
        match=found,
        n_iou=len(measured),
        clusters=len(set(clusters)),
        rmse=(_value(each[0]), _value(each[1])),
        difference=difference,
        right=right,
        tests=tests,
    )


def _has_ious(found: Match, name: str) -> bool:
    both = found.first.verdicts[name].iou is not None and found.second.verdicts[name].iou is not None
    return both and found.first.truths[name].get("iou") is not None


def _value(outcome: Scored[float] | Undefined) -> float:
    return outcome.value if isinstance(outcome, Scored) else 0.0
