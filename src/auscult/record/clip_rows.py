"""Rows of ``clips.jsonl``: one object over the frames of one video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from auscult.errors import RecordError

_DECIMALS = 6
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
        raise _wrong("switches or odd", entry, "an object for each frame")
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
        raise _wrong(key, value, {str: "text", int: "a whole number"}.get(kind, "an object"))
    return value


def _list(row: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = row.get(key, [])
    if not isinstance(value, list):
        raise _wrong(key, value, "a list")
    return value


def _number(value: object, key: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise _wrong(key, value, "a number or null")
    return float(value)


def _wrong(key: str, value: object, expected: str) -> RecordError:
    return RecordError(f"{key!r} is {repr(value)[:80]}", expected=f"{expected} at {key!r}")
