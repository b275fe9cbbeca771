"""The layout of MQ-RAVSBench: its documents, and rows of a benchmark to the bytes of its files.

::

    train_test_meta_files/metadata.csv                    vid,uid,split,fid,exp,kfid
    train_test_meta_files/train_audit_only_filtered.json  {uid: {groups}}, each mask with the answer to learn
    train_test_meta_files/test_s_image_filtered.json      [{uid, vid, exp, kfid, image_path, groups}]
    train_test_meta_files/test_s_video_filtered.json      [{uid, vid, exp, kfid, frames: [{frame, image_path, groups}]}]
    (test_u likewise)

Groups: ``gt_mask_path`` (one mask), ``part_neg_masks`` (cutout, erode, dilate, merge), ``full_neg_masks``, and
``null_masks``, an empty mask to be rejected, which the release's code knows and the paper does not. A mask has
``mask_path``, ``iou_to_gt``, and where known ``rank``, ``action`` and, for training, ``response``. Paths are relative
to the data root.

Source: release of MQ-Auditor; the paper's Sec. 3 and App. B.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from auscult.cases.layouts import refavs
from auscult.types import Action, Defect

ACTION_WORDS: Mapping[Action, str] = {
    "accept": "Accept",
    "minor_revision": "Minor Revision",
    "major_revision": "Major Revision",
    "reject": "Reject",
}
UNNAMED = "object"
ANOTHER = "another object"

_SENTENCES: Mapping[tuple[Defect, Action], str] = {
    ("perfect", "accept"): "The {target} is covered whole, and the edge of the mask runs along its outline.",
    ("cutout", "minor_revision"): "The {target} is found, but a small piece inside it was left open.",
    ("cutout", "major_revision"): "The {target} is found, but a large piece is torn out of it.",
    ("dilate", "minor_revision"): "The {target} is found, but a thin rim of its surroundings was taken with it.",
    ("dilate", "major_revision"): "The {target} is found, but the mask spreads widely over its surroundings.",
    ("erode", "minor_revision"): "The {target} is found, but a thin rim along its outline is lost.",
    ("erode", "major_revision"): "The {target} is found, but only its core is covered; its outer parts are lost.",
    ("merge", "minor_revision"): "The {target} is found, and a little of {other} was joined to it.",
    ("merge", "major_revision"): "The {target} is found, and much of {other} was joined to it.",
    ("merge", "reject"): "The {target} is in the mask, but most of the mask is {other}.",
    ("full_neg", "reject"): "The mask lies on {other}; no part of the {target} is in it.",
    ("empty", "reject"): "The mask is empty, although the {target} is asked for.",
}


def response(defect: Defect, action: Action, *, iou: float, target: str = "", other: str = "", kind: str = "") -> str:
    """What an auditor should answer about a mask of some IoU; ``kind`` is the word between the type's tags."""
    sentence = _SENTENCES.get((defect, action), "The mask does not fit the {target}.")
    said = sentence.format(target=target or UNNAMED, other=other or ANOTHER)
    return (
        f"<audit> {said} Its overlap with the true mask is <iou> {iou:.4f} </iou>, its type "
        f"<mask_type> {kind or defect} </mask_type>, "
        f"and what to do is <action> {ACTION_WORDS[action]} </action> </audit>"
    )


MqaProtocol: TypeAlias = Literal["image", "video"]

META = "train_test_meta_files"
TABLE = f"{META}/{refavs.TABLE}"
TRAIN = "train"
GT, PART, FULL, NULL = "gt_mask_path", "part_neg_masks", "full_neg_masks", "null_masks"
PARTS = ("cutout", "erode", "dilate", "merge")
NOT_PARTS = frozenset({"perfect", "full_neg", "null"})
"""Kinds of masks that stand outside ``part_neg_masks``."""

_GROUPS = frozenset({GT, PART, FULL, NULL})


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutMask:
    """One mask of a frame.

    Attributes:
        kind: ``perfect``, ``full_neg``, ``null``, or the key it stands under in ``part_neg_masks``.
        mask: Its path, relative to the data root.
        iou: Its IoU with the true mask, 0..1, where the file says it.
        rank: 1 is the harder of its kind.
        action: What to do about it, in the file's own words.
        response: The answer to learn; only in the training file.
        more: Keys that are not known.
        bare: The file gives nothing but the path, as text; only of the true mask.
    """

    kind: str
    mask: str
    iou: float | None = None
    rank: int | None = None
    action: str | None = None
    response: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The masks of one frame, its number and the picture's path where the file says them.

    ``empty`` are groups, and keys of ``part_neg_masks``, that stand in the file without a mask; ``more`` are keys that
    are not known.
    """

    frame: int | None = None
    image: str | None = None
    candidates: tuple[LayoutMask, ...] = ()
    empty: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An expression and its masks: of one frame, or of the frames of a video.

    Attributes:
        uid: The expression's uid.
        vid: The video.
        exp: The expression; the training file leaves it to the table.
        kfid: Number of the key frame; likewise.
        shown: One frame, or all of the video.
        inside: The uid stands in the entry, not only beside it as its key.
        more: Keys that are not known; those of an image entry are its frame's.
    """

    uid: str
    vid: str | None = None
    exp: str | None = None
    kfid: int | None = None
    shown: tuple[Shown, ...] = ()
    inside: bool = True
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One JSON file; ``keyed`` entries stand in an object by uid, as in the training file, not in a list."""

    protocol: MqaProtocol
    entries: tuple[Entry, ...]
    keyed: bool = False


def file_name(split: str, protocol: str) -> str:
    """Where the document of a split and protocol stands, relative to the data root."""
    if split == TRAIN and protocol == "image":
        return f"{META}/train_audit_only_filtered.json"
    return f"{META}/{split or 'test'}_{protocol}_filtered.json"


def document_json(document: Document) -> bytes:
    """A document as JSON in UTF-8."""
    one = _video_entry if document.protocol == "video" else _image_entry
    rows = [one(entry) for entry in document.entries]
    keyed = {entry.uid: row for entry, row in zip(document.entries, rows, strict=True)}
    return json.dumps(keyed if document.keyed else rows, ensure_ascii=False, indent=1).encode("utf-8") + b"\n"


def files_of(rows: Iterable[Mapping[str, Any]], table: Iterable[refavs.MetadataRow] = ()) -> dict[str, bytes]:
    """The files of a benchmark, by name relative to the data root: the table, and a document a split and protocol.

    A row is a line of its ``items.jsonl``, one a mask, with ``frame``, ``mask``, ``text``, ``truth`` (``iou defect
    action``) and ``mqa`` (``uid vid split protocol frame rank category``); ``table`` says what else is known, ``fid``.
    """
    known = {row.uid: row for row in table}
    uids: dict[str, refavs.MetadataRow] = {}
    places: dict[tuple[str, MqaProtocol], dict[str, dict[int, list[Mapping[str, Any]]]]] = {}
    for row in rows:
        mqa = row["mqa"]
        place = places.setdefault((mqa["split"], mqa["protocol"]), {}).setdefault(mqa["uid"], {})
        place.setdefault(mqa["frame"], []).append(row)
    for (split, protocol), entries in sorted(places.items(), key=lambda one: one[0][1]):  # image before video
        for uid, frames in entries.items():
            first = next(iter(frames.values()))[0]
            uids.setdefault(uid, _table_row(first, split, known.get(uid), key=protocol == "image"))
    made = {TABLE: refavs.metadata_csv(uids.values(), key_frames=True)}
    for (split, protocol), entries in places.items():
        train = split == TRAIN and protocol == "image"
        built = tuple(_entry(uids[uid], frames, train=train) for uid, frames in entries.items())
        made[file_name(split, protocol)] = document_json(Document(protocol=protocol, entries=built, keyed=train))
    return made


def _table_row(
    row: Mapping[str, Any], split: str, known: refavs.MetadataRow | None, *, key: bool
) -> refavs.MetadataRow:
    mqa = row["mqa"]
    frame = mqa["frame"] if key else 0 if known is None or known.kfid is None else known.kfid
    return refavs.MetadataRow(
        vid=mqa["vid"],
        uid=mqa["uid"],
        split=split,
        fid=0 if known is None else known.fid,
        exp=row.get("text") or "",
        kfid=frame,
    )


def _entry(row: refavs.MetadataRow, frames: Mapping[int, Sequence[Mapping[str, Any]]], *, train: bool) -> Entry:
    shown = tuple(
        Shown(
            frame=number,
            image=lines[0]["frame"],
            candidates=tuple(_candidate(line, train=train) for line in lines),
        )
        for number, lines in sorted(frames.items())
    )
    if train:
        return Entry(uid=row.uid, shown=shown, inside=False)
    return Entry(uid=row.uid, vid=row.vid, exp=row.exp, kfid=row.kfid, shown=shown)


def _candidate(line: Mapping[str, Any], *, train: bool) -> LayoutMask:
    truth, mqa = line["truth"], line["mqa"]
    defect: Defect = truth["defect"]
    action: Action = truth["action"]
    kind = "null" if defect == "empty" else defect
    words = {"target": mqa.get("category") or "", "other": mqa.get("negative") or "", "kind": kind}
    return LayoutMask(
        kind=kind,
        mask=line["mask"],
        iou=truth["iou"],
        rank=None if defect == "perfect" else mqa.get("rank"),
        action=action,
        response=response(defect, action, iou=truth["iou"], **words) if train else None,
    )


def _image_entry(entry: Entry) -> dict[str, Any]:
    return {**_known(entry), **{key: value for shown in entry.shown for key, value in _shown(shown).items()}}


def _video_entry(entry: Entry) -> dict[str, Any]:
    frames = [_present(frame=shown.frame) | _shown(shown) for shown in entry.shown]
    return {**_known(entry), "frames": frames}


def _known(entry: Entry) -> dict[str, Any]:
    told = _present(uid=entry.uid if entry.inside else None, vid=entry.vid, exp=entry.exp, kfid=entry.kfid)
    return told | dict(entry.more)


def _shown(shown: Shown) -> dict[str, Any]:
    made: dict[str, Any] = _present(image_path=shown.image)
    true = next((one for one in shown.candidates if one.kind == "perfect"), None)
    if true is not None:
        made[GT] = true.mask if true.bare else _mask(true)
    elif GT in shown.empty:
        made[GT] = {}
    kinds = dict.fromkeys(one.kind for one in shown.candidates)
    groups = {kind: [_mask(one) for one in shown.candidates if one.kind == kind] for kind in kinds}
    groups |= {kind: [] for kind in shown.empty if kind not in _GROUPS}
    parts = {kind: masks for kind, masks in groups.items() if kind not in NOT_PARTS}
    if parts or PART in shown.empty:
        made[PART] = parts
    for group, kind in ((FULL, "full_neg"), (NULL, "null")):
        if kind in groups or group in shown.empty:
            made[group] = groups.get(kind, [])
    return made | dict(shown.more)


def _mask(one: LayoutMask) -> dict[str, Any]:
    return _present(
        mask_path=one.mask, iou_to_gt=one.iou, rank=one.rank, action=one.action, response=one.response
    ) | dict(one.more)


def _present(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
