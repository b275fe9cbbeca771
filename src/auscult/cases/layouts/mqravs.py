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
    comment = sentence.format(target=target or UNNAMED, other=other or ANOTHER)
    return (
        f"<audit> {comment} Its overlap with the true mask is <iou> {iou:.4f} </iou>, its type "
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


def file_name(split: str, protocol: str) -> str:
    """Where the document of a split and protocol stands, relative to the data root."""
    if split == TRAIN and protocol == "image":
        return f"{META}/train_audit_only_filtered.json"
    return f"{META}/{split or 'test'}_{protocol}_filtered.json"


def files_of(rows: Iterable[Mapping[str, Any]], table: Iterable[refavs.MetadataRow] = ()) -> dict[str, bytes]:
    """The files of a benchmark, by name relative to the data root: the table, and a document a split and protocol.

    A row is a line of its ``items.jsonl``, one a mask, with ``frame``, ``mask``, ``text``, ``truth`` (``iou defect
    action``) and ``mqa`` (``uid vid split protocol frame rank category``); ``table`` says what else is known, ``fid``.
    """
    known = {row.uid: row for row in table}
    uids: dict[str, refavs.MetadataRow] = {}
    documents: dict[tuple[str, MqaProtocol], dict[str, dict[int, list[Mapping[str, Any]]]]] = {}
    for row in rows:
        mqa = row["mqa"]
        by_frame = documents.setdefault((mqa["split"], mqa["protocol"]), {}).setdefault(mqa["uid"], {})
        by_frame.setdefault(mqa["frame"], []).append(row)
    for (split, protocol), entries in sorted(documents.items(), key=lambda entry: entry[0][1]):  # image before video
        for uid, frames in entries.items():
            first = next(iter(frames.values()))[0]
            uids.setdefault(uid, _table_row(first, split, known.get(uid), key=protocol == "image"))
    made = {TABLE: refavs.metadata_csv(uids.values(), key_frames=True)}
    for (split, protocol), entries in documents.items():
        train = split == TRAIN and protocol == "image"
        built = {uid: _entry(uids[uid], frames, protocol, train=train) for uid, frames in entries.items()}
        text = json.dumps(built if train else [*built.values()], ensure_ascii=False, indent=1)
        made[file_name(split, protocol)] = text.encode("utf-8") + b"\n"
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


def _entry(
    row: refavs.MetadataRow,
    frames: Mapping[int, Sequence[Mapping[str, Any]]],
    protocol: MqaProtocol,
    *,
    train: bool,
) -> dict[str, Any]:
    """An expression, which the training file leaves to the table, and its masks: of a frame, or of a video's."""
    made = {} if train else _present(uid=row.uid, vid=row.vid, exp=row.exp, kfid=row.kfid)
    shown = {number: _shown(lines, train=train) for number, lines in sorted(frames.items())}
    if protocol == "video":
        return made | {"frames": [{"frame": number, **masks} for number, masks in shown.items()]}
    for masks in shown.values():
        made |= masks
    return made


def _shown(lines: Sequence[Mapping[str, Any]], *, train: bool) -> dict[str, Any]:
    """A frame and its masks by their groups."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        defect = line["truth"]["defect"]
        kind = "null" if defect == "empty" else defect
        groups.setdefault(kind, []).append(_mask(line, kind, train=train))
    made: dict[str, Any] = {"image_path": lines[0]["frame"]}
    if "perfect" in groups:
        made[GT] = groups["perfect"][0]
    if parts := {kind: masks for kind, masks in groups.items() if kind not in NOT_PARTS}:
        made[PART] = parts
    return made | {group: groups[kind] for group, kind in ((FULL, "full_neg"), (NULL, "null")) if kind in groups}


def _mask(line: Mapping[str, Any], kind: str, *, train: bool) -> dict[str, Any]:
    truth, mqa = line["truth"], line["mqa"]
    words = {"target": mqa.get("category") or "", "other": mqa.get("negative") or "", "kind": kind}
    return _present(
        mask_path=line["mask"],
        iou_to_gt=truth["iou"],
        rank=None if kind == "perfect" else mqa.get("rank"),
        action=truth["action"],
        response=response(truth["defect"], truth["action"], iou=truth["iou"], **words) if train else None,
    )


def _present(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
