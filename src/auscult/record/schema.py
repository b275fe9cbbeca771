"""What the lines of a record look like: the types that ``codec`` writes and reads, and the lines that need more.

``SCHEMA`` counts up when a reader of an older version would misread a line; new keys alone do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from auscult.arrays import error_map
from auscult.errors import ErrorRecord, InputError, RecordError
from auscult.outcome import Outcome, Scored, Undefined
from auscult.record.codec import from_json, to_json
from auscult.types import SoundVerdict, Verdict

SCHEMA = 1

VERDICT_KEYS = (
    "id", "iou", "iou_low", "iou_high", "defect", "defect_probs", "action", "evidence", "novelty",
    "target_exists", "target", "distractor", "rationale", "region", "error_map",
    "judge", "seconds",
)  # fmt: skip

OPTIONAL_KEYS = ("prob_iou_80", "prob_iou_50", "own_action", "judged_by", "joint", "usage")
"""Keys of a verdict that only judges write which give them: probabilities, an action of their own, who judged, what
asking took; and a joint audit's."""

DECIMALS = 6
"""Decimals that numbers of verdicts and clips keep."""


TABLE, REPORT = "verdicts.csv", "report.html"
PROBED = "probes.jsonl"
"""What the sanity probes of a judge gave, where it was probed."""
SOUND_TRUTH = "sound_truth.jsonl"
"""True scores of separated sounds, written after judging."""
PRINTED = ("printed_actions", "printed_sounds", "printed_estimates", "printed_worst")
"""Tables of an audit, in ``tables/``, that the command prints at its end."""
HANDOVERS: Mapping[str, tuple[str, ...]] = {
    "accepted.coco.json": ("accept",),
    "to_fix.coco.json": ("minor_revision", "major_revision"),
}
"""Files of masks for the next tool, with the actions of what they hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a command came to: the content of ``summary.json`` and of ``--json``."""

    command: str
    n: int  # how many cases there were
    ok: int  # how many have a result
    failed: int  # how many should have one and have none
    undefined: int = 0  # how many cannot have one
    by_action: Mapping[str, int] = field(default_factory=dict)
    by_defect: Mapping[str, int] = field(default_factory=dict)
    sound: Mapping[str, Any] | None = None  # n, ok, failed, unjudged, by_action of separated sounds; None without any
    # name to ``{value, low, high, n, signature}``
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The summary as plain JSON values, keys in the order above."""
        row: dict[str, Any] = to_json(self)
        if self.sound is None:
            del row["sound"]
        return row


def metric_row(outcome: Scored[float], *, n: int, **more: Any) -> dict[str, Any]:
    """A number of ``Summary.metrics``, with its interval where it has one; ``more`` stands before the signature."""
    low, high, clusters = (getattr(outcome, name, None) for name in ("low", "high", "clusters"))
    more = more if low is None else {"clusters": clusters, **more}
    return {
        "value": round(outcome.value, DECIMALS),
        "low": None if low is None else round(low, DECIMALS),
        "high": None if high is None else round(high, DECIMALS),
        "n": n,
        **more,
        "signature": str(outcome.signature),
    }


def counted_by(values: Sequence[str], order: Sequence[str]) -> dict[str, int]:
    """How often each name occurs, in a fixed order, for a summary; names that are not in the order are left out."""
    counts = Counter(values)
    return {name: counts[name] for name in order}


def cluster_of(row: Mapping[str, Any], films: Collection[str]) -> str:
    """What a row of ``verdicts.jsonl`` is clustered by: its clip if that is one of ``films``, else its frame.

    A row that names no frame is a cluster of its own.
    """
    clip = row.get("clip")
    return f"clip {clip}" if clip in films else f"frame {row.get('frame') or row.get('id')}"


def verdict_to_json(verdict: Verdict, **extra: Any) -> dict[str, Any]:
    """Turn a verdict into a row of ``verdicts.jsonl``; numbers keep six decimals.

    ``extra`` may be the row of an earlier verdict: what is the verdict's own, and absent in this one, is left out.
    """
    values = to_json(replace(verdict, error_map=None, picture=None), decimals=DECIMALS)
    if verdict.error_map is not None:
        values["error_map"] = error_map.to_json(verdict.error_map)
    row = {key: values[key] for key in VERDICT_KEYS}
    optional = {key: values[key] for key in OPTIONAL_KEYS if values[key] is not None}
    return {**row, **optional, **{key: value for key, value in extra.items() if key not in values}}


def verdict_from_json(
    row: Mapping[str, Any], *, path: Path | None = None, line: int | None = None, hint: str = ""
) -> Verdict:
    """Read a row of ``verdicts.jsonl``; keys that are not the verdict's stay in the row."""
    verdict = from_json(Verdict, {**row, "error_map": None, "picture": None}, path=path, line=line, hint=hint)
    if row.get("error_map") is None:
        return verdict
    try:
        return replace(verdict, error_map=error_map.from_json(row["error_map"]))
    except InputError as error:
        raise RecordError(error.message, expected=error.expected, hint=hint, path=path, line=line) from error


def is_sound(row: Mapping[str, Any]) -> bool:
    """Whether a row of ``verdicts.jsonl`` is of a separated sound; else it is of a mask."""
    return "overall" in row and "iou" not in row


def sound_verdict_to_json(verdict: SoundVerdict, **extra: Any) -> dict[str, Any]:
    """Turn the verdict on a separated sound into a row of ``verdicts.jsonl``; curves keep two decimals."""
    row: dict[str, Any] = to_json(replace(verdict, curves=None), decimals=DECIMALS)
    row["curves"] = to_json(verdict.curves, decimals=2)
    if verdict.curves is not None:
        row["curves"]["hop_s"] = verdict.curves.hop_s
    return {**row, **{key: value for key, value in extra.items() if key not in row and value is not None}}


def sound_verdict_from_json(
    row: Mapping[str, Any], *, path: Path | None = None, line: int | None = None, hint: str = ""
) -> SoundVerdict:
    """Read a row of ``sound_verdict_to_json``; keys that are not the verdict's stay in the row."""
    return from_json(SoundVerdict, row, path=path, line=line, hint=hint)


def error_to_json(id: str | None, error: ErrorRecord) -> dict[str, Any]:  # noqa: A002 - the key's own name
    """Turn an error into a row of ``errors.jsonl``; ``id`` is None when no case could be named."""
    return {"id": id, **{key: getattr(error, key) for key in ("path", "line", "stage", "error", "expected", "hint")}}


def error_from_json(row: Mapping[str, Any]) -> ErrorRecord:
    """Read a row of ``errors.jsonl``."""
    return from_json(ErrorRecord, {key: value for key, value in row.items() if key != "id"})


def score_to_json(id: str, metric: str, outcome: Outcome[Any]) -> dict[str, Any]:  # noqa: A002 - the key's own name
    """Turn an outcome into a row of ``scores.jsonl``; the value keeps full precision, null unless scored."""
    row = {"id": id, "metric": metric, "value": None, "outcome": "scored", "reason": None, "signature": None}
    if isinstance(outcome, Scored):
        return {**row, "value": to_json(outcome.value), "signature": outcome.signature.as_dict()}
    if isinstance(outcome, Undefined):
        return {**row, "outcome": "undefined", "reason": outcome.reason}
    return {**row, "outcome": "failed", "reason": outcome.error.error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A frame of a clip that stands out."""

    id: str | None  # the item's id; None where the frame has no mask of the object
    number: int  # the frame's number in the clip, from 0
    frame: str
    time_s: float | None
    kind: str  # ``switch``; or ``iou``, ``area``, ``shape``, ``empty``, ``missing``
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRow:
    """One object over the frames of one video: a line of ``clips.jsonl``, with six decimals."""

    clip: str
    track: str  # unique among the video's objects; empty where it is the only one
    judge: str
    n: int  # its items
    failed: int  # those of them that have no verdict
    empty: int  # those on which nothing is segmented
    missing: int  # frames between its first and last that have no item of it
    iou: float | None  # mean estimated IoU over the frames, 0..1; None where no frame has one
    iou_low: float | None  # lower end of its interval
    iou_high: float | None
    defect: str | None  # None where no frame was judged
    defect_probs: Mapping[str, float] = field(default_factory=dict)
    action: str  # what the policy decides for the clip
    note: str = ""  # why the action is not the policy's alone; may be empty
    actions: Mapping[str, int] = field(default_factory=dict)  # frames by action
    # change from frame to frame beyond motion, 0..1, lower is better; None where undefined
    flicker: float | None = None
    # change of the estimated IoU from first to last frame along a robust line; None where undefined
    drift: float | None = None
    drift_low: float | None = None  # lower end of its 90 % interval
    drift_high: float | None = None
    switches: tuple[Mark, ...] = ()  # frames from which on the mask is on something else
    odd: tuple[Mark, ...] = ()  # frames that differ from their neighbours
    frames: tuple[str | None, ...] = ()  # ids of the items from first to last; None where a frame has none
    times_s: tuple[float, ...] = ()  # times of these frames; empty where not all are known
    # overlap of each frame's mask with the one before, with motion compensated; None where it is not known
    overlaps: tuple[float | None, ...] = ()
    # how much each frame differs from its neighbours; 1 and more is odd; None where it is not known
    oddness: tuple[float | None, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)  # quantity to why there is none
    signatures: Mapping[str, str] = field(default_factory=dict)  # quantity to how it was made
