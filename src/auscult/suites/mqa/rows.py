"""Candidates of the benchmark, and what a judge said of each.

A candidate is an item whose truth names a defect; the key ``mqa`` of its line says where in the benchmark it stands.
Lines without that key, as ``auscult stress masks`` writes them, are candidates of the image protocol without split.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

from auscult.errors import ErrorRecord, InputError
from auscult.jobs.against_truth import clusters_of
from auscult.types import DEFECTS, Action, Defect, Difficulty, Item, Verdict

MqaProtocol: TypeAlias = Literal["image", "video"]

PROTOCOLS: tuple[MqaProtocol, ...] = ("image", "video")
KEY = "mqa"
MAKING = ("take", "objects", "least_px", "splits_file")

_NUMBERED = re.compile(r"_([0-9]{1,3})$")
RANKS: Mapping[str, int] = {"hard": 1, "medium": 2, "easy": 3}
_SHOULD = '"mqa": {"uid", "vid", "split", "protocol": "image" or "video", "frame", "rank", "track", "category", "area"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One candidate mask of the benchmark.

    Attributes:
        id: The item's id.
        uid: The instance: an expression in a clip.
        clip: The clip or photograph; candidates of one clip are one cluster.
        split: The source's split; empty where it has none.
        protocol: ``image`` or ``video``.
        frame: Number of the frame in its clip.
        rank: 1 is the hardest of its type (highest IoU); None where there is no order.
        track: The mask over the frames of a clip that this one belongs to.
        category: The target's category; empty where not known.
        area: Share of the frame that the target covers, 0..1; None where not known.
        iou: True IoU, 0..1; None where it cannot be had.
        defect: True defect; ``empty`` where nothing is segmented, which is in no score.
        difficulty: How visible the defect is.
        action: The right action.
        generator: Who made the mask; empty for the standard generator, and where it is not known.
        making: How instances and frames were chosen, where not in the paper's way: names of ``MAKING`` and values.
    """

    id: str
    uid: str
    clip: str
    split: str = ""
    protocol: MqaProtocol = "image"
    frame: int = 0
    rank: int | None = None
    track: str = ""
    category: str = ""
    area: float | None = None
    iou: float | None = None
    defect: Defect = "perfect"
    difficulty: Difficulty | None = None
    action: Action | None = None
    generator: str = ""
    making: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """What a judge said of a candidate; None where its reply held no answer.

    Attributes:
        iou: Estimated IoU, 0..1.
        low: Lower end of its 90 % interval.
        high: Upper end.
        defect: One of the six; None also for ``empty``, which is no answer on a mask that is not.
        action: What the policy decided.
    """

    iou: float | None = None
    low: float | None = None
    high: float | None = None
    defect: str | None = None
    action: str | None = None


Answers: TypeAlias = Mapping[str, JudgeAnswer]


def candidates_of(
    items: Iterable[Item], *, films: Collection[str] | None = None
) -> tuple[list[Candidate], list[tuple[str, ErrorRecord]]]:
    """The candidates among items, and those that say they are and are none.

    Returns:
        Candidates in the order of the items; (id, error) of each item without a usable place or truth.
    """
    found: list[Candidate] = []
    errors: list[tuple[str, ErrorRecord]] = []
    known = list(items)
    clusters = clusters_of(known, films=films)
    for item in known:
        try:
            found.append(candidate_of(item, cluster=str(clusters[item.id])))
        except InputError as error:
            errors.append((item.id, ErrorRecord.of(error, "read")))
    return found, errors


def candidate_of(item: Item, *, cluster: str) -> Candidate:
    """An item as a candidate."""
    truth = item.truth
    if truth is None or truth.defect is None:
        raise _wrong(item, "the item's truth names no defect", expected='"truth": {"iou", "defect", "action"}')
    known = Candidate(
        id=item.id,
        uid=item.id,
        clip=cluster,
        iou=truth.iou,
        defect=truth.defect,
        difficulty=truth.difficulty,
        action=truth.action,
    )
    place = item.extra.get(KEY)
    if place is None:
        return _unplaced(item, known)
    if not isinstance(place, Mapping):
        raise _wrong(item, f"the key mqa is {type(place).__name__}", expected=_SHOULD)
    protocol = place.get("protocol", "image")
    if protocol not in PROTOCOLS:
        raise _wrong(item, f"the protocol is {str(protocol)[:40]!r}", expected="image or video")
    uid = _text(item, place, "uid") or known.uid
    rank = _whole(item, place, "rank")
    return replace(
        known,
        uid=uid,
        clip=_text(item, place, "vid") or known.clip,
        split=_text(item, place, "split"),
        protocol=cast("MqaProtocol", protocol),
        frame=_whole(item, place, "frame") or 0,
        rank=rank,
        track=f"{uid}/{_text(item, place, 'track') or _track_name(known, rank)}",
        category=_text(item, place, "category"),
        area=_share(item, place, "area"),
        generator=_text(item, place, "generator"),
        making=tuple((name, _text(item, place, name)) for name in MAKING if place.get(name)),
    )


def answers_of(verdicts: Iterable[Verdict]) -> dict[str, JudgeAnswer]:
    """A judge's verdicts by item id."""
    return {
        verdict.id: JudgeAnswer(
            iou=verdict.iou,
            low=verdict.iou_low,
            high=verdict.iou_high,
            defect=verdict.defect if verdict.defect in DEFECTS else None,
            action=verdict.action,
        )
        for verdict in verdicts
    }


def with_true_ious(candidates: Sequence[Candidate], ious: Mapping[str, float]) -> list[Candidate]:
    """Candidates with the IoU that was computed from their masks, where it was; else as the input gives it."""
    return [replace(one, iou=ious.get(one.id, one.iou)) for one in candidates]


def _unplaced(item: Item, known: Candidate) -> Candidate:
    stress = item.extra.get("stress")
    target = stress.get("target") if isinstance(stress, Mapping) else None
    uid = target if isinstance(target, str) else known.uid
    numbered = _NUMBERED.search(item.id)
    rank = RANKS.get(known.difficulty or "")
    if known.defect in {"merge", "full_neg"}:
        rank = int(numbered[1]) if numbered else None
    return replace(known, uid=uid, rank=rank, track=f"{uid}/{_track_name(known, rank)}")


def _track_name(known: Candidate, rank: int | None) -> str:
    return f"{known.defect}_{rank or 0}"


def _text(item: Item, place: Mapping[str, Any], key: str) -> str:
    value = place.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(item, f"mqa.{key} is {str(value)[:40]!r}", expected="text")
    return value


def _whole(item: Item, place: Mapping[str, Any], key: str) -> int | None:
    value = place.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise _wrong(item, f"mqa.{key} is {str(value)[:40]!r}", expected="a whole number, 0 or more")
    return value


def _share(item: Item, place: Mapping[str, Any], key: str) -> float | None:
    value = place.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _wrong(item, f"mqa.{key} is {str(value)[:40]!r}", expected="a share, 0 to 1")
    return float(value)


def _wrong(item: Item, message: str, *, expected: str) -> InputError:
    return InputError(
        message,
        expected=expected,
        hint="`auscult stress masks --suite mqa` writes such lines",
        path=item.source,
        line=item.line,
    )
