"""Two judges on the same items: which items are the same, and what the paired tests say, protocol by protocol."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats import McNemar, mcnemar, rmse, rmse_difference
from auscult.types import Verdict

FIRST_FAILED, SECOND_FAILED, BOTH_FAILED = "the first failed", "the second failed", "both failed"
FAILED = (FIRST_FAILED, SECOND_FAILED, BOTH_FAILED)
ONLY_FIRST, ONLY_SECOND = "only the first judged", "only the second judged"
CHANGED, OTHER_TRUTH, NO_TRUTH = "other frame, mask or text", "other truth", "no truth"
REASONS = (*FAILED, ONLY_FIRST, ONLY_SECOND, CHANGED, OTHER_TRUTH, NO_TRUTH)
VIDEO = "video"
_SAME_IOU = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an item stands in a benchmark.

    Attributes:
        protocol: ``image`` or ``video``; empty where the item's line is of no benchmark.
        clip: Its clip; empty where the line names none.
        track: Name of its mask track within the whole benchmark.
        split: The split; empty where there is none.
    """

    protocol: str = ""
    clip: str = ""
    track: str = ""
    split: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One judge's record.

    Attributes:
        name: What tables call it.
        home: The folder that was given: the record itself, or the folder of ``auscult run`` that holds it.
        verdicts: By item id.
        failed: Ids of the items that the judge failed on.
        inputs: Hash of what was judged, by item id.
        truths: Row of ``truth.jsonl`` by item id.
        places: Place of each judged item.
    """

    name: str
    home: Path
    verdicts: Mapping[str, Verdict]
    failed: frozenset[str]
    inputs: Mapping[str, str]
    truths: Mapping[str, Mapping[str, Any]]
    places: Mapping[str, Place]


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

    @property
    def failed(self) -> int:
        """Items that one or both failed on."""
        return sum(self.unmatched[reason] for reason in FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """What the tests of two judges say of one protocol.

    Attributes:
        match: The judges and their items.
        protocol: ``image``, ``video``, or empty where the items are of no benchmark.
        splits: Splits of the items, where they have any.
        n_iou: Items, of video tracks, with a true IoU.
        undefined: Items without a true IoU, or of true type ``empty``: in no RMSE.
        silent: Replies of each judge without an IoU.
        clusters: Clips or photographs of those with a true IoU.
        rmse: RMSE of each on them; 0 where there is none.
        difference: First minus second, with its interval.
        right: Label to how many each named right.
        tests: Label to its test; a label without truth is left out.
    """

    match: Match
    protocol: str
    splits: tuple[str, ...]
    n_iou: int
    undefined: int
    silent: tuple[int, int]
    clusters: int
    rmse: tuple[float, float]
    difference: Scored[float] | Undefined
    right: Mapping[str, tuple[int, int]]
    tests: Mapping[str, McNemar]


def match(first: Side, second: Side) -> Match:
    """Find the items that two judges have in common: same id, same input, same truth."""
    unmatched = dict.fromkeys(REASONS, 0)
    items = []
    for name in sorted({*first.verdicts, *second.verdicts, *first.failed, *second.failed}):
        reason = _why_not(first, second, name)
        if reason:
            unmatched[reason] += 1
        else:
            items.append(name)
    return Match(first=first, second=second, items=tuple(items), unmatched=unmatched)


def _why_not(first: Side, second: Side, name: str) -> str:
    lost = name in first.failed, name in second.failed
    if any(lost):
        return BOTH_FAILED if all(lost) else FIRST_FAILED if lost[0] else SECOND_FAILED
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


def paired_tests(found: Match) -> list[Paired]:
    """Compare two judges on their common items, one protocol at a time.

    Masks whose true type is ``empty`` are left out, as everywhere; an ``empty`` told of one that is not is wrong.
    """
    by_protocol: dict[str, list[str]] = {}
    for name in found.items:
        by_protocol.setdefault(found.first.places[name].protocol, []).append(name)
    return [_tested(found, protocol, names) for protocol, names in sorted(by_protocol.items())]


def _tested(found: Match, protocol: str, all_names: Sequence[str]) -> Paired:
    sides, truths = (found.first, found.second), found.first.truths
    names = [name for name in all_names if truths[name].get("defect") != "empty"]
    known = [name for name in names if truths[name].get("iou") is not None]
    groups = _groups(found, known, protocol)
    clusters = [_cluster(found, group[0]) for group in groups]
    errors = [[_error(side, group, truths) for group in groups] for side in sides]
    zeros = [0.0] * len(groups)
    difference = rmse_difference(errors[0], errors[1], zeros, clusters=clusters, rng=generator(0, "compare"))
    each = [rmse(values, zeros) for values in errors]
    right, tests = _labels(found, names)
    return Paired(
        match=found,
        protocol=protocol,
        splits=tuple(sorted({split for name in all_names if (split := found.first.places[name].split)})),
        n_iou=len(groups),
        undefined=len(all_names) - len(known),
        silent=(_silent(found.first, known), _silent(found.second, known)),
        clusters=len(set(clusters)),
        rmse=(_value(each[0]), _value(each[1])),
        difference=_of_tracks(difference) if protocol == VIDEO else difference,
        right=right,
        tests=tests,
    )


def _groups(found: Match, names: Sequence[str], protocol: str) -> list[list[str]]:
    """What RMSE is over: each item alone, in video the frames of a track together."""
    if protocol != VIDEO:
        return [[name] for name in names]
    tracks: dict[str, list[str]] = {}
    for name in names:
        tracks.setdefault(found.first.places[name].track, []).append(name)
    return list(tracks.values())


def _error(side: Side, group: Sequence[str], truths: Mapping[str, Mapping[str, Any]]) -> float:
    """Mean estimated minus mean true IoU over the frames with an estimate; without any the estimate counts as 0.

    Source: MQA-RefAVS Eq. 12; of a single item it is the error of Eq. 10.
    """
    pairs = [(side.verdicts[name].iou, float(truths[name]["iou"])) for name in group]
    told = [(iou, true) for iou, true in pairs if iou is not None] or [(0.0, true) for _, true in pairs]
    return fmean(iou for iou, _ in told) - fmean(true for _, true in told)


def _cluster(found: Match, name: str) -> Hashable:
    """The clip or photograph of an item, so that what is alike is drawn together."""
    cluster: Hashable = found.first.places[name].clip or found.first.truths[name].get("cluster") or name
    return cluster


def _silent(side: Side, names: Sequence[str]) -> int:
    return sum(side.verdicts[name].iou is None for name in names)


def _labels(found: Match, names: Sequence[str]) -> tuple[dict[str, tuple[int, int]], dict[str, McNemar]]:
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
    return right, tests


def _of_tracks(outcome: Scored[float] | Undefined) -> Scored[float] | Undefined:
    if not isinstance(outcome, Scored):
        return outcome
    fields = tuple(
        (key, "tracks" if key == "over" else value) for key, value in outcome.signature.fields if key != "version"
    )
    return replace(outcome, signature=Signature(fields))


def _value(outcome: Scored[float] | Undefined) -> float:
    return outcome.value if isinstance(outcome, Scored) else 0.0
