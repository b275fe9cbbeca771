"""What the lines of a record look like: nouns to JSON and back.

``SCHEMA`` counts up when a reader of an older version would misread a line; new keys alone do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast, get_args

from auscult.arrays import error_map
from auscult.errors import ErrorRecord, InputError, RecordError
from auscult.outcome import Failed, Outcome, Scored, Undefined
from auscult.types import ACTIONS, DEFECTS, Action, Box, Defect, ErrorMap, Evidence, Existence, Verdict

SCHEMA = 1

VERDICT_KEYS = (
    "id", "iou", "iou_low", "iou_high", "defect", "defect_probs", "action", "evidence", "novelty",
    "target_exists", "target", "distractor", "rationale", "region", "error_map",
    "judge", "seconds",
)  # fmt: skip

PROBABILITY_KEYS = ("prob_iou_80", "prob_iou_50")
"""Keys of a verdict that only judges with probabilities write."""

_DECIMALS = 6
_LARGEST = 1e300  # JSON knows whole numbers that no float can hold
_EVIDENCE = ("shape", "boundary", "identity", "sound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a command came to: the content of ``summary.json`` and of ``--json``.

    Attributes:
        command: The verb.
        n: How many cases there were.
        ok: How many have a result.
        failed: How many should have one and have none.
        undefined: How many cannot have one.
        by_action: Counts of actions.
        by_defect: Counts of defects.
        metrics: Name to ``{value, low, high, n, signature}``.
    """

    command: str
    n: int
    ok: int
    failed: int
    undefined: int = 0
    by_action: Mapping[str, int] = field(default_factory=dict)
    by_defect: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The summary as plain JSON values, keys in the order above."""
        return {
            **{key: getattr(self, key) for key in ("command", "n", "ok", "failed", "undefined")},
            "by_action": dict(self.by_action),
            "by_defect": dict(self.by_defect),
            "metrics": {name: dict(metric) for name, metric in self.metrics.items()},
        }


def verdict_to_json(verdict: Verdict, **extra: Any) -> dict[str, Any]:
    """Turn a verdict into a row of ``verdicts.jsonl``; numbers keep six decimals.

    Args:
        verdict: What the judge said.
        extra: Further keys of the row, JSON values; they cannot replace a key of the verdict.
    """
    row: dict[str, Any] = {key: _rounded(getattr(verdict, key)) for key in VERDICT_KEYS if key != "evidence"}
    row["evidence"] = asdict(verdict.evidence)
    row["region"] = None if verdict.region is None else [int(edge) for edge in verdict.region]
    row["error_map"] = None if verdict.error_map is None else error_map.to_json(verdict.error_map)
    given = {key: _rounded(getattr(verdict, key)) for key in PROBABILITY_KEYS if getattr(verdict, key) is not None}
    return {**{key: row[key] for key in VERDICT_KEYS}, **given, **{k: v for k, v in extra.items() if k not in row}}


def verdict_from_json(row: Mapping[str, Any]) -> Verdict:
    """Read a row of ``verdicts.jsonl``; keys that are not the verdict's stay in the row.

    Raises:
        RecordError: A key is missing, or its value is of another type.
    """
    defect = _one_of(row, "defect", (*DEFECTS, "empty"))
    action = None if row.get("action") is None else _one_of(row, "action", ACTIONS)
    return Verdict(
        id=_text(row, "id"),
        iou=_number_or_none(row, "iou"),
        iou_low=_number_or_none(row, "iou_low"),
        iou_high=_number_or_none(row, "iou_high"),
        defect=cast("Defect", defect),
        defect_probs=_probabilities(row),
        evidence=_evidence(row),
        rationale=_text(row, "rationale"),
        judge=_text(row, "judge"),
        action=cast("Action | None", action),
        novelty=_number_or_none(row, "novelty") or 0.0,
        target_exists=cast(
            "Existence", _one_of({"target_exists": "unchecked", **row}, "target_exists", get_args(Existence))
        ),
        target=_text_or_none(row, "target"),
        distractor=_text_or_none(row, "distractor"),
        region=_region(row),
        error_map=_error_map(row),
        seconds=_number_or_none(row, "seconds") or 0.0,
        prob_iou_80=_number_or_none(row, "prob_iou_80"),
        prob_iou_50=_number_or_none(row, "prob_iou_50"),
    )


def error_to_json(id: str | None, error: ErrorRecord) -> dict[str, Any]:  # noqa: A002 - the key's own name
    """Turn an error into a row of ``errors.jsonl``; ``id`` is None when no case could be named."""
    return {
        "id": id,
        "path": error.path,
        "line": error.line,
        "stage": error.stage,
        "error": error.error,
        "expected": error.expected,
        "hint": error.hint,
    }


def error_from_json(row: Mapping[str, Any]) -> ErrorRecord:
    """Read a row of ``errors.jsonl``.

    Raises:
        RecordError: A key is missing, or its value is of another type.
    """
    line = row.get("line")
    if line is not None and (not isinstance(line, int) or isinstance(line, bool)):
        raise _wrong("line", line, "a line number or null")
    return ErrorRecord(
        stage=_text(row, "stage"),
        error=_text(row, "error"),
        expected=_text_or_none(row, "expected") or "",
        hint=_text_or_none(row, "hint") or "",
        path=_text_or_none(row, "path"),
        line=line,
    )


def score_to_json(id: str, metric: str, outcome: Outcome[Any]) -> dict[str, Any]:  # noqa: A002 - the key's own name
    """Turn an outcome into a row of ``scores.jsonl``; the value keeps full precision, null unless scored."""
    row: dict[str, Any] = {
        "id": id, "metric": metric, "value": None, "outcome": "scored", "reason": None, "signature": None
    }  # fmt: skip
    if isinstance(outcome, Scored):
        value = outcome.value
        row["value"] = value.item() if hasattr(value, "item") else value
        row["signature"] = outcome.signature.as_dict()
    elif isinstance(outcome, Undefined):
        row.update(outcome="undefined", reason=outcome.reason)
    elif isinstance(outcome, Failed):
        row.update(outcome="failed", reason=outcome.error.error)
    return row


def _rounded(value: Any) -> Any:
    """Numpy and Python floats to six decimals; everything else as it is."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, Mapping):
        return {str(key): _rounded(inner) for key, inner in value.items()}
    return value


def _wrong(key: str, value: object, expected: str) -> RecordError:
    shown = repr(value)
    return RecordError(f"{key!r} is {shown[:80]}", expected=f"{expected} at {key!r}")


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise _wrong(key, value, "text")
    return value


def _text_or_none(row: Mapping[str, Any], key: str) -> str | None:
    return None if row.get(key) is None else _text(row, key)


def _number_or_none(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > _LARGEST:
        raise _wrong(key, str(value)[:40], "a number or null")
    return float(value)


def _one_of(row: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = row.get(key)
    if not isinstance(value, str) or value not in allowed:
        raise _wrong(key, value, f"one of {', '.join(allowed)}")
    return value


def _probabilities(row: Mapping[str, Any]) -> dict[str, float]:
    values = row.get("defect_probs")
    if not isinstance(values, Mapping):
        raise _wrong("defect_probs", values, "an object of numbers")
    return {key: _number_or_none(values, key) or 0.0 for key in values}


def _evidence(row: Mapping[str, Any]) -> Evidence:
    values = row.get("evidence")
    if not isinstance(values, Mapping):
        raise _wrong("evidence", values, "an object of true and false")
    return Evidence(**{key: values.get(key) is True for key in _EVIDENCE})


def _region(row: Mapping[str, Any]) -> Box | None:
    value = row.get("region")
    if value is None:
        return None
    whole = isinstance(value, (list, tuple)) and all(type(edge) is int for edge in value)
    if not whole or len(value) != 4:
        raise _wrong("region", value, "[x0, y0, x1, y1] or null")
    return value[0], value[1], value[2], value[3]


def _error_map(row: Mapping[str, Any]) -> ErrorMap | None:
    value = row.get("error_map")
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _wrong("error_map", value, "an object or null")
    try:
        return error_map.from_json(value)
    except InputError as error:
        raise RecordError(error.message, expected=error.expected) from error


_NUMBERS = ("iou", "iou_low", "iou_high", "flicker", "drift", "drift_low", "drift_high")
_COUNTS = ("n", "failed", "empty", "missing")
_MAPPINGS = ("undefined", "signatures", "actions")
_TEXTS = ("clip", "track", "judge", "defect", "action")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A frame of a clip that stands out.

    Attributes:
        id: The item's id; None where the frame has no mask of the object.
        number: The frame's number in the clip, from 0.
        frame: Name of the frame's file.
        time_s: Its time in the clip, where known.
        kind: ``switch``; or ``iou``, ``area``, ``shape``, ``empty``, ``missing``.
        why: One plain sentence.
    """

    id: str | None
    number: int
    frame: str
    time_s: float | None
    kind: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRow:
    """What is said of one object over the frames of one video.

    Attributes:
        clip: The video.
        track: What tells the object from the video's others; empty where it is the only one.
        judge: Who judged its frames.
        n: Its items.
        failed: Those of them that have no verdict.
        empty: Those on which nothing is segmented.
        missing: Frames between its first and last that have no item of it.
        iou: Mean estimated IoU over the frames, 0..1; None where no frame has one.
        iou_low: Lower end of its interval.
        iou_high: Upper end.
        defect: The most probable defect over the frames.
        defect_probs: Mean probabilities.
        action: What the policy decides for the clip.
        note: Why the action is not the policy's alone; may be empty.
        actions: Frames by action.
        flicker: Change from frame to frame beyond motion, 0..1, lower is better; None where undefined.
        drift: Change of the estimated IoU from first to last frame along a robust line; None where undefined.
        drift_low: Lower end of its 90 % interval.
        drift_high: Upper end.
        switches: Frames from which on the mask is on something else.
        odd: Frames that differ from their neighbours.
        frames: Ids of the items from first to last; None where a frame has none.
        times_s: Times of these frames; empty where not all are known.
        overlaps: Overlap of each frame's mask with the one before, motion taken out; None where it cannot be told.
        oddness: How much each frame differs from its neighbours; 1 and more is odd; None where it cannot be told.
        undefined: Quantity to why there is none.
        signatures: Quantity to how it was made.
    """

    clip: str
    track: str
    judge: str
    n: int
    failed: int
    empty: int
    missing: int
    iou: float | None
    iou_low: float | None
    iou_high: float | None
    defect: str
    defect_probs: Mapping[str, float] = field(default_factory=dict)
    action: str
    note: str = ""
    actions: Mapping[str, int] = field(default_factory=dict)
    flicker: float | None = None
    drift: float | None = None
    drift_low: float | None = None
    drift_high: float | None = None
    switches: tuple[Mark, ...] = ()
    odd: tuple[Mark, ...] = ()
    frames: tuple[str | None, ...] = ()
    times_s: tuple[float, ...] = ()
    overlaps: tuple[float | None, ...] = ()
    oddness: tuple[float | None, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)


def clip_row_to_json(row: ClipRow) -> dict[str, Any]:
    """A row as plain JSON values; numbers keep six decimals."""
    content: dict[str, Any] = _plain(asdict(row))
    return content


def clip_row_from_json(row: Mapping[str, Any]) -> ClipRow:
    """Read a row of ``clips.jsonl``.

    Raises:
        RecordError: A key is missing, or its value is of another kind.
    """
    known: dict[str, Any] = {
        **{key: _of(row, key, str) for key in _TEXTS},
        **{key: _of(row, key, int) for key in _COUNTS},
        **{key: _number(row.get(key), key) for key in _NUMBERS},
        **{key: dict(_of({key: {}, **row}, key, Mapping)) for key in _MAPPINGS},
    }
    return ClipRow(
        **known,
        note=_of({"note": "", **row}, "note", str),
        defect_probs={key: _number(value, key) or 0.0 for key, value in _of(row, "defect_probs", Mapping).items()},
        switches=tuple(_mark(entry) for entry in _list(row, "switches")),
        odd=tuple(_mark(entry) for entry in _list(row, "odd")),
        frames=tuple(None if name is None else _of({"frames": name}, "frames", str) for name in _list(row, "frames")),
        times_s=tuple(_number(value, "times_s") or 0.0 for value in _list(row, "times_s")),
        overlaps=tuple(_number(value, "overlaps") for value in _list(row, "overlaps")),
        oddness=tuple(_number(value, "oddness") for value in _list(row, "oddness")),
    )


def _mark(entry: object) -> Mark:
    if not isinstance(entry, Mapping):
        raise _wrong_clip_key("switches or odd", entry, "an object for each frame")
    return Mark(
        id=None if entry.get("id") is None else _of(entry, "id", str),
        number=_of(entry, "number", int),
        frame=_of(entry, "frame", str),
        time_s=_number(entry.get("time_s"), "time_s"),
        kind=_of(entry, "kind", str),
        why=_of(entry, "why", str),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _of(row: Mapping[str, Any], key: str, kind: type) -> Any:
    value = row.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong_clip_key(key, value, {str: "text", int: "a whole number"}.get(kind, "an object"))
    return value


def _list(row: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = row.get(key, [])
    if not isinstance(value, list):
        raise _wrong_clip_key(key, value, "a list")
    return value


def _number(value: object, key: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise _wrong_clip_key(key, value, "a number or null")
    return float(value)


def _wrong_clip_key(key: str, value: object, expected: str) -> RecordError:
    return RecordError(f"{key!r} is {repr(value)[:80]}", expected=f"{expected} at {key!r}")
