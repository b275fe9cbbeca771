"""Candidates of the benchmark, and a judge's answer to each.

A candidate is an item whose truth names a defect; the key ``mqa`` of its line has its position in the benchmark.
Lines without that key, as ``auscult stress masks`` writes them, are candidates of the image protocol without split.

Baselines, which a judge must beat, are in every table and do not see the mask; none gives an interval of its own.

- ``always perfect``: IoU 1, perfect, accept.
- ``constant IoU``: one IoU and one type for all. With a training part they are its mean true IoU and its most frequent
  type; without one .80 and ``cutout``: .80 is where the upper and the lower window of the shape defects meet, and of
  these cutout comes first. The action is the policy's for the two.
- ``random``: IoU, type and action drawn uniformly and independently, seeded by the item's id, so that the same item
  always has the same answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from auscult.act.policy import Policy, action_of
from auscult.errors import ErrorRecord, InputError
from auscult.jobs.against_truth import clusters_of
from auscult.record.codec import Count, Share, from_json
from auscult.rng import generator, pick
from auscult.suites.mqa.options import MqaProtocol
from auscult.types import ACTIONS, DEFECTS, Action, Defect, Difficulty, Item, Verdict

MakingName: TypeAlias = Literal["take", "objects", "least_px", "splits_file"]
FrameCount: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << 31)]

KEY = "mqa"
TRUTH = ("iou", "defect", "difficulty", "action")
"""The fields of a line's truth besides its mask."""

MAKING: tuple[MakingName, ...] = ("take", "objects", "least_px", "splits_file")

_NUMBERED = re.compile(r"_([0-9]{1,3})$")
RANKS: Mapping[str, int] = {"hard": 1, "medium": 2, "easy": 3}
_HINT = "`auscult stress masks --suite mqa` writes such lines"
_SHOULD = '"mqa": {"uid", "vid", "split", "protocol": "image" or "video", "frame", "rank", "track", "category", "area"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One candidate mask of the benchmark."""

    id: str  # the item's id
    uid: str  # the instance: an expression in a clip
    clip: str  # the clip or photograph; candidates of one clip are one cluster
    split: str = ""  # the source's split; empty where it has none
    protocol: MqaProtocol = "image"
    frame: FrameCount = 0  # number of the frame in its clip
    rank: FrameCount | None = None  # 1 is the hardest of its type (highest IoU); None where there is no order
    track: str = ""  # its track: one kind of mask over the frames of a clip
    category: str = ""  # the target's category; empty where not known
    area: Share | None = None  # the target's share of the frame, 0..1; None if unknown
    iou: Share | None = None  # true IoU, 0..1; None if unknown
    defect: Defect = "perfect"  # true defect; ``empty`` for an empty mask, which is in no score
    difficulty: Difficulty | None = None  # how visible the defect is
    action: Action | None = None  # the right action
    generator: str = ""  # generator of the mask; empty for the standard one, or unknown
    making: tuple[tuple[MakingName, str], ...] = ()  # how it was chosen, if not as in the paper: of ``MAKING``


@dataclass(frozen=True, slots=True, kw_only=True)
class _Position:
    """The key ``mqa`` of a line: its position in the benchmark, with fields as in ``Candidate``; any may be missing."""

    uid: str | None = None
    vid: str | None = None
    split: str | None = None
    protocol: MqaProtocol = "image"
    frame: FrameCount | None = None
    rank: FrameCount | None = None
    track: str | None = None
    category: str | None = None
    area: Share | None = None
    generator: str | None = None
    take: str | None = None
    objects: str | None = None
    least_px: str | None = None
    splits_file: str | None = None


_SAME = ("split", "protocol", "frame", "rank", "category", "area", "generator")
"""The fields that a candidate takes from its position unchanged; a missing one has the candidate's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """A judge's answer to a candidate; a missing field is None."""

    iou: float | None = None  # estimated IoU, 0..1
    low: float | None = None  # lower end of its 90 % interval
    high: float | None = None  # upper end
    defect: str | None = None  # one of the six; None also for ``empty``
    action: str | None = None  # the policy's decision
    own_action: str | None = None  # the judge's own, if it names one
    target: str = ""  # the target as the judge names it; may be empty
    words: str = ""  # its reasons


AnswersById: TypeAlias = Mapping[str, JudgeAnswer]


def candidates_of(
    items: Iterable[Item], *, films: Collection[str] | None = None
) -> tuple[list[Candidate], list[tuple[str, ErrorRecord]]]:
    """The candidates among items in their order, and id and error of those without a valid position or truth."""
    candidates: list[Candidate] = []
    errors: list[tuple[str, ErrorRecord]] = []
    listed = list(items)
    clusters = clusters_of(listed, films=films)
    for item in listed:
        try:
            candidates.append(candidate_of(item, cluster=str(clusters[item.id])))
        except InputError as error:
            errors.append((item.id, ErrorRecord.of(error, "read")))
    return candidates, errors


def candidate_of(item: Item, *, cluster: str) -> Candidate:
    """An item as a candidate."""
    truth = item.truth
    if truth is None or truth.defect is None:
        raise _wrong(item, "the item's truth names no defect", expected='"truth": {"iou", "defect", "action"}')
    candidate = Candidate(
        id=item.id,
        uid=item.id,
        clip=cluster,
        iou=truth.iou,
        defect=truth.defect,
        difficulty=truth.difficulty,
        action=truth.action,
    )
    payload = item.extra.get(KEY)
    if payload is None:
        return _unplaced(item, candidate)
    if not isinstance(payload, Mapping):
        raise _wrong(item, f"the key mqa is {type(payload).__name__}", expected=_SHOULD)
    position = from_json(_Position, payload, path=item.source, line=item.line, error=InputError, hint=_HINT)
    uid = position.uid or candidate.uid
    return replace(
        candidate,
        uid=uid,
        clip=position.vid or candidate.clip,
        track=f"{uid}/{position.track or _track_name(candidate, position.rank)}",
        making=tuple((name, value) for name in MAKING if (value := getattr(position, name))),
        **{name: value for name in _SAME if (value := getattr(position, name)) is not None},
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
            own_action=verdict.own_action,
            target=verdict.target or "",
            words=verdict.rationale,
        )
        for verdict in verdicts
    }


def bin_of(iou: float, bins: int) -> int:
    """The index of the bin of an IoU, of ``bins`` equal bins of 0..1; the last one includes 1."""
    return min(bins - 1, max(0, int(iou * bins + 1e-9)))


def _unplaced(item: Item, candidate: Candidate) -> Candidate:
    stress = item.extra.get("stress")
    target = stress.get("target") if isinstance(stress, Mapping) else None
    uid = target if isinstance(target, str) else candidate.uid
    numbered = _NUMBERED.search(item.id)
    rank = RANKS.get(candidate.difficulty or "")
    if candidate.defect in {"merge", "full_neg"}:
        rank = int(numbered[1]) if numbered else None
    return replace(candidate, uid=uid, rank=rank, track=f"{uid}/{_track_name(candidate, rank)}")


def _track_name(candidate: Candidate, rank: int | None) -> str:
    return f"{candidate.defect}_{rank or 0}"


def _wrong(item: Item, message: str, *, expected: str) -> InputError:
    return InputError(message, expected=expected, hint=_HINT, path=item.source, line=item.line)


ALWAYS_PERFECT = "always perfect"
CONSTANT = "constant IoU"
RANDOM = "random"
BASELINES = (ALWAYS_PERFECT, CONSTANT, RANDOM)

_NO_TRAINING: tuple[float, Defect] = (0.80, "cutout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """The answer of the constant row."""

    iou: Share
    defect: Defect
    trained: Count  # count of training candidates behind it; may be 0

    def __post_init__(self) -> None:
        """Refuse an unknown type."""
        if self.defect not in DEFECTS:
            raise ValueError(f"{self.defect} is no type of the taxonomy")

    @property
    def words(self) -> str:
        """Its values and their source, for a note."""
        source = f"from {self.trained} training masks" if self.trained else "there is no training part"
        return f"constant row says IoU {self.iou:.3f}, {self.defect} ({source})"


def constant_of(training: Sequence[Candidate]) -> Constant:
    """The constant of a benchmark, from the training candidates with an IoU that are not empty."""
    pairs = [
        (candidate.iou, candidate.defect)
        for candidate in training
        if candidate.iou is not None and candidate.defect != "empty"
    ]
    if not pairs:
        return Constant(iou=_NO_TRAINING[0], defect=_NO_TRAINING[1], trained=0)
    counts: Counter[Defect] = Counter(defect for _, defect in pairs)
    defect = max(DEFECTS, key=lambda name: counts[name])  # on a tie the first
    return Constant(iou=fmean(iou for iou, _ in pairs), defect=defect, trained=len(pairs))


def baseline_answers(
    candidates: Sequence[Candidate], constant: Constant, policy: Policy, *, seed: int = 0
) -> dict[str, dict[str, JudgeAnswer]]:
    """Answers of the three rows."""
    perfect = JudgeAnswer(iou=1.0, defect="perfect", action="accept")
    action, _ = action_of(policy, defect=constant.defect, iou=constant.iou, identity=True)
    fixed = JudgeAnswer(iou=constant.iou, defect=constant.defect, action=action)
    return {
        ALWAYS_PERFECT: {candidate.id: perfect for candidate in candidates},
        CONSTANT: {candidate.id: fixed for candidate in candidates},
        RANDOM: {candidate.id: _drawn(candidate.id, seed) for candidate in candidates},
    }


def _drawn(name: str, seed: int) -> JudgeAnswer:
    rng = generator(seed, "mqa", "random row", name)
    return JudgeAnswer(
        iou=float(rng.random()),
        defect=pick(rng, DEFECTS),
        action=pick(rng, ACTIONS),
    )
