"""MQ-RAVSBench as released: candidate masks of Ref-AVSBench clips with their true IoU, defect and action.

INPUT is the data root, the folder ``train_test_meta_files`` in it, or one of its JSON files. Every mask is an item with
truth: the true mask of its frame, and what the file says of IoU, rank and action. The seventh group, ``null_masks``, is
an empty mask, to be rejected. The key ``mqa`` says where in the benchmark an item stands, and ``auscult run mqa`` reads
it; keys that the release's loader does not know come back under ``mqravs``. Of the training file's frames only the
number is known, from the table: the picture is ``media/<folder>/frames/<kfid>.jpg``, unless the entry names it.

::

    train_test_meta_files/metadata.csv                    vid,uid,split,fid,exp,kfid
    train_test_meta_files/train_audit_only_filtered.json  {uid: {groups}}, each mask with the answer to learn
    train_test_meta_files/test_s_image_filtered.json      [{uid, vid, exp, kfid, image_path, groups}]
    train_test_meta_files/test_s_video_filtered.json      [{uid, vid, exp, kfid, frames: [{frame, image_path, groups}]}]
    (test_u likewise)

Groups: ``gt_mask_path`` (one mask), ``part_neg_masks`` (cutout, erode, dilate, merge), ``full_neg_masks``, and
``null_masks``, which the release's code knows and the paper does not. A mask has ``mask_path``, ``iou_to_gt``, and
where known ``rank``, ``action`` and, for training, ``response``. Paths are relative to the data root. ``files_of``
writes the same files from rows of a benchmark.

Source: release of MQ-Auditor; the paper's Sec. 3 and App. B.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from auscult.cases import fields
from auscult.cases.datasets import refavs
from auscult.cases.datasets.base import Layout, file_names
from auscult.cases.datasets.refavs import KEY_FRAME, has_heading, read_table, template_of
from auscult.cases.fields import load
from auscult.cases.ids import check_id, shown
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems
from auscult.cases.walk import base_folder, is_file, is_folder, within
from auscult.errors import InputError, NothingToDo
from auscult.types import Action, Defect, Difficulty, Item, MaskRef, Metadata, Query, Truth

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
    by_uid = {row.uid: row for row in table}
    uids: dict[str, refavs.MetadataRow] = {}
    documents: dict[tuple[str, MqaProtocol], dict[str, dict[int, list[Mapping[str, Any]]]]] = {}
    for row in rows:
        mqa = row["mqa"]
        by_frame = documents.setdefault((mqa["split"], mqa["protocol"]), {}).setdefault(mqa["uid"], {})
        by_frame.setdefault(mqa["frame"], []).append(row)
    for (split, protocol), entries in sorted(documents.items(), key=lambda entry: entry[0][1]):  # image before video
        for uid, frames in entries.items():
            first = next(iter(frames.values()))[0]
            uids.setdefault(uid, _table_row(first, split, by_uid.get(uid), key=protocol == "image"))
    files = {TABLE: refavs.metadata_csv(uids.values(), key_frames=True)}
    for (split, protocol), entries in documents.items():
        train = split == TRAIN and protocol == "image"
        built = {uid: _written_entry(uids[uid], frames, protocol, train=train) for uid, frames in entries.items()}
        text = json.dumps(built if train else [*built.values()], ensure_ascii=False, indent=1)
        files[file_name(split, protocol)] = text.encode("utf-8") + b"\n"
    return files


def _table_row(
    row: Mapping[str, Any], split: str, existing: refavs.MetadataRow | None, *, key: bool
) -> refavs.MetadataRow:
    mqa = row["mqa"]
    frame = mqa["frame"] if key else 0 if existing is None or existing.kfid is None else existing.kfid
    return refavs.MetadataRow(
        vid=mqa["vid"],
        uid=mqa["uid"],
        split=split,
        fid=0 if existing is None else existing.fid,
        exp=row.get("text") or "",
        kfid=frame,
    )


def _written_entry(
    row: refavs.MetadataRow,
    frames: Mapping[int, Sequence[Mapping[str, Any]]],
    protocol: MqaProtocol,
    *,
    train: bool,
) -> dict[str, Any]:
    """An expression, which the training file leaves to the table, and its masks: of a frame, or of a video's."""
    entry = {} if train else _present(uid=row.uid, vid=row.vid, exp=row.exp, kfid=row.kfid)
    by_frame = {number: _written_masks(lines, train=train) for number, lines in sorted(frames.items())}
    if protocol == "video":
        return entry | {"frames": [{"frame": number, **masks} for number, masks in by_frame.items()]}
    for masks in by_frame.values():
        entry |= masks
    return entry


def _written_masks(lines: Sequence[Mapping[str, Any]], *, train: bool) -> dict[str, Any]:
    """A frame and its masks by their groups."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        defect = line["truth"]["defect"]
        kind = "null" if defect == "empty" else defect
        groups.setdefault(kind, []).append(_written_mask(line, kind, train=train))
    entry: dict[str, Any] = {"image_path": lines[0]["frame"]}
    if "perfect" in groups:
        entry[GT] = groups["perfect"][0]
    if parts := {kind: masks for kind, masks in groups.items() if kind not in NOT_PARTS}:
        entry[PART] = parts
    return entry | {group: groups[kind] for group, kind in ((FULL, "full_neg"), (NULL, "null")) if kind in groups}


def _written_mask(line: Mapping[str, Any], kind: str, *, train: bool) -> dict[str, Any]:
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


MAX_FILE_BYTES = 1024 * 1024 * 1024

_ENTRY = ("uid", "vid", "exp", "kfid")
_SHOWN = ("image_path", GT, PART, FULL, NULL)
_MASK = ("mask_path", "iou_to_gt", "rank", "action", "response")
_MAX_NUMBER = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mask:
    """One mask of a frame, as the file has it: ``iou``, ``rank`` (1 is the harder), ``action`` and ``response``.

    ``kind`` is ``perfect``, ``full_neg``, ``null``, or the key it stands under in ``part_neg_masks``; ``more`` are keys
    that are not known.
    """

    kind: str
    mask: str
    iou: float | None = None
    rank: int | None = None
    action: str | None = None
    response: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FrameMasks:
    """The masks of one frame, its number and the picture's path where the file says them, and keys not known."""

    frame: int | None
    image: str | None
    candidates: tuple[_Mask, ...]
    more: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """An expression and its frames; the training file leaves ``exp`` and the number of the key frame to the table."""

    uid: str
    vid: str | None
    exp: str | None
    kfid: int | None
    shown: tuple[_FrameMasks, ...]
    more: Mapping[str, Any]


def _rows(path: Path) -> list[tuple[str | None, object]]:
    """The entries of a file, each with its uid where the file is an object by uid."""
    data = load(path, max_bytes=MAX_FILE_BYTES)
    if not isinstance(data, dict | list):
        raise NothingToDo(f"the file holds {fields.kind(data)}", expected="a list or an object of entries", path=path)
    return list(data.items()) if isinstance(data, dict) else [(None, row) for row in data]


def _entry(key: str | None, row: object, protocol: MqaProtocol) -> _Entry:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object with masks")
    uid = fields.text(row, "uid") or key
    if not uid:
        raise InputError("there is no 'uid'", expected="'uid' is a text")
    if protocol == "video":
        frames = row.get("frames")
        if not isinstance(frames, list):
            raise fields.wrong("frames", frames, "a list of frames with masks")
        frame_masks = tuple(_frame_masks(frame, numbered=True) for frame in frames)
        more = _more(row, (*_ENTRY, "frames"))
    else:
        frame_masks, more = (_frame_masks(row, numbered=False),), {}
    return _Entry(
        uid=check_id(uid),
        vid=fields.text(row, "vid"),
        exp=fields.text(row, "exp"),
        kfid=_integer(row, "kfid"),
        shown=frame_masks,
        more=more,
    )


def _frame_masks(row: object, *, numbered: bool) -> _FrameMasks:
    if not isinstance(row, dict):
        raise InputError(f"a frame is {fields.kind(row)}", expected="an object with masks")
    keys = (*_SHOWN, "frame") if numbered else (*_SHOWN, *_ENTRY)
    parts = fields.mapping(row, PART) or {}
    if not NOT_PARTS.isdisjoint(parts):
        raise InputError(f"{PART} holds {', '.join(sorted(NOT_PARTS & parts.keys()))}", expected="defects of a part")
    groups: dict[str, Any] = {**{kind: _list(parts, kind) for kind in parts}, "full_neg": _list(row, FULL)}
    groups["null"] = _list(row, NULL)
    candidates = [*_true(row), *(_candidate(kind, mask) for kind, group in groups.items() for mask in group)]
    return _FrameMasks(
        frame=_integer(row, "frame") if numbered else None,
        image=fields.text(row, "image_path"),
        candidates=tuple(candidates),
        more=_more(row, keys),
    )


def _true(row: Mapping[str, Any]) -> Iterator[_Mask]:
    value = row.get(GT)
    if isinstance(value, str) and value:
        yield _Mask(kind="perfect", mask=value)
    elif value is not None and value != {}:
        yield _candidate("perfect", value)


def _candidate(kind: str, row: object) -> _Mask:
    if not isinstance(row, dict):
        raise InputError(f"a mask of {shown(kind)} is {fields.kind(row)}", expected="an object with mask_path")
    return _Mask(
        kind=kind,
        mask=fields.required(row, "mask_path"),
        iou=fields.number(row, "iou_to_gt", low=0.0, high=1.0),
        rank=_integer(row, "rank"),
        action=fields.text(row, "action"),
        response=fields.text(row, "response"),
        more=_more(row, _MASK),
    )


def _list(row: Mapping[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise fields.wrong(key, value, "a list of masks")
    return value


def _integer(row: Mapping[str, Any], key: str) -> int | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_NUMBER:
        raise fields.wrong(key, row.get(key), "a whole number, 0 or more")
    return value


def _more(row: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """What the file says beside the known ``keys``; a known key that is null is kept as well."""
    return {key: value for key, value in row.items() if key not in keys or value is None}


_FILE = re.compile(r"^(train)_audit_only_filtered\.json$|^(\w+)_(image|video)_filtered\.json$")
_GRADED: Mapping[str, Defect] = {"cut": "cutout", "erode": "erode", "dilate": "dilate"}
_ACTIONS: tuple[Action, ...] = ("accept", "minor_revision", "major_revision", "reject")
_RANKS: Mapping[int | None, Difficulty] = {1: "hard", 2: "medium"}
_MERGES: Mapping[Action | None, Difficulty] = {"minor_revision": "hard", "major_revision": "medium", "reject": "easy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The file of an entry, and the folder that the names in it are relative to."""

    file: Path
    root: Path
    base: Path
    split: str
    protocol: MqaProtocol
    rows: Mapping[str, refavs.MetadataRow] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        return within(self.base, home=self.root, name=name)


class MqRavsDataset(Layout):
    """The benchmark of mask judges in its released files."""

    name = "datasets.mqravs.v1"
    meta = Metadata(
        summary="MQ-RAVSBench: train_test_meta_files/ with train, image and video JSON, media/ and mask folders",
        goal="lists the released candidates with their truth, for `auscult audit` and `auscult run mqa`",
        modality="mask",
        source="release of MQ-Auditor (MQ-RAVSBench)",
        truth="iou_to_gt, the group, rank and action of every mask, and gt_mask_path",
    )

    described_as = "MQ-RAVSBench"
    foreign_options = ("frames", "masks", "images")

    def matches(self, source: Path) -> bool:
        """Whether it is the data root, its folder of JSON files, or one of them."""
        if _FILE.match(source.name) and is_file(source):
            return True
        return bool(_files(source / META)) or (source.name == META and bool(_files(source)))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every mask of every file, the training file first."""
        refuse_options(options, *self.unused_options, layout=self.described_as)
        folder = source / META if is_folder(source / META) else source if is_folder(source) else source.parent
        root = folder.parent if folder.resolve().name == META else folder
        base = base_folder(root, options.root)
        table = root / TABLE if is_file(root / TABLE) else folder / refavs.TABLE
        items: list[Item] = []
        rows: dict[str, refavs.MetadataRow] = {}
        problems = Problems()
        notes: tuple[str, ...] = ()
        if has_heading(table, *refavs.COLUMNS, KEY_FRAME):
            read = read_table(table, released=False)
            rows = {row.uid: row for row in reversed(read.rows)}  # the first row of a uid counts
            problems.take(read.errors)
        else:
            notes = ("no metadata.csv with a column kfid: the training file's expressions and frames are not known",)
        for file in [source] if is_file(source) else _files(folder):
            split, protocol = _split_and_protocol(file.name)
            context = _Context(file=file, root=root, base=base, split=split, protocol=protocol, rows=rows)
            for number, (key, row) in enumerate(_rows(file), start=1):
                uid = row.get("uid") if key is None and isinstance(row, dict) else key
                with problems.skipping(file, key=f"entry {shown(uid) if isinstance(uid, str) else number}"):
                    items += list(_items(_entry(key, row, protocol), context))
        return Listing(tuple(items), tuple(problems.found), self.name, notes)


def _files(folder: Path) -> list[Path]:
    """The benchmark's files in a folder: training, then image before video, splits by name."""
    files = [folder / name for name in file_names(folder) if _FILE.match(name) and is_file(folder / name)]
    return sorted(
        files,
        key=lambda path: (
            _split_and_protocol(path.name)[0] != TRAIN,
            _split_and_protocol(path.name)[1],
            path.name,
        ),
    )


def _split_and_protocol(name: str) -> tuple[str, MqaProtocol]:
    """Split and protocol that a file's name says."""
    match = _FILE.match(name)
    if match is None or match[1]:
        return TRAIN, "image"
    return match[2], "video" if match[3] == "video" else "image"


def _items(entry: _Entry, context: _Context) -> Iterator[Item]:
    row = context.rows.get(entry.uid)
    for number, masks in enumerate(entry.shown):
        frame = _frame_number(entry, masks, row, index=number if context.protocol == "video" else None)
        picture = context.path(masks.image or _train_picture(entry, row, frame))
        sound = picture.parent.parent / "audio.wav"  # of media/<folder>/frames
        true = next((candidate.mask for candidate in masks.candidates if candidate.kind == "perfect"), None)
        counts: dict[str, int] = {}
        for candidate in masks.candidates:
            defect = _defect(candidate.kind)
            counts[defect] = counts.get(defect, 0) + 1
            track = _track(candidate, defect, counts[defect])
            yield Item(
                id=check_id(f"{context.split}/{context.protocol}/{entry.uid}/{frame:05d}/{track}"),
                frame=picture,
                mask=MaskRef(path=context.path(candidate.mask), positive=True),
                query=Query((row.exp if row is not None and row.exp else entry.exp) or None),
                clip=_vid(entry, row),
                time_s=float(frame),
                audio=sound if is_file(sound) else None,
                truth=_truth(candidate, defect, None if true is None else context.path(true)),
                extra=_extra(entry, masks, candidate, context=context, frame=frame, track=track),
                source=context.file,
            )


def _frame_number(entry: _Entry, masks: _FrameMasks, row: refavs.MetadataRow | None, *, index: int | None) -> int:
    stated = masks.frame if index is not None else row.kfid if row is not None and row.kfid is not None else entry.kfid
    number = index if stated is None else stated
    if number is None:
        raise InputError(
            "the number of its key frame is not known",
            expected=f"a row of {refavs.TABLE} with {KEY_FRAME}",
            hint="put metadata.csv beside the file",
        )
    return number


def _train_picture(entry: _Entry, row: refavs.MetadataRow | None, frame: int) -> str:
    folder = (row.folder if row is not None else entry.uid.rsplit("_", 2)[0]) or entry.uid
    return refavs.frame_name(folder, frame)


def _vid(entry: _Entry, row: refavs.MetadataRow | None) -> str:
    if row is not None and row.vid:
        return row.vid
    return entry.vid or entry.uid.rsplit("_", 2)[0]


def _defect(kind: str) -> Defect:
    """What a group's name means, as loosely as the release's loader reads it."""
    word = kind.strip().lower()
    if word in {"perfect", "gt", "gt_mask"}:
        return "perfect"
    if word in {"null", "null_mask", "null_masks", "empty", "empty_mask"}:
        return "empty"
    graded = next((defect for part, defect in _GRADED.items() if part in word), None)
    if graded is not None:
        return graded
    if "merge" in word:
        return "merge"
    if "full" in word or "neg" in word:
        return "full_neg"
    raise InputError(
        f"the kind of mask {shown(kind)} is not known", expected=f"one of: {', '.join(PARTS)}, full_neg, null"
    )


def _truth(candidate: _Mask, defect: Defect, true: Path | None) -> Truth:
    iou = candidate.iou
    if iou is None and defect in {"perfect", "full_neg", "empty"}:
        iou = 1.0 if defect == "perfect" else 0.0
    action = _action(candidate.action, defect)
    if defect in {"cutout", "erode", "dilate"}:
        difficulty = _RANKS.get(candidate.rank)
        action = action or ("minor_revision" if difficulty == "hard" else "major_revision" if difficulty else None)
    else:
        difficulty = _MERGES.get(action) if defect == "merge" else None
    mask = None if true is None else MaskRef(path=true, absent_ok=True, positive=True)
    return Truth(mask=mask, iou=iou, defect=defect, difficulty=difficulty, action=action)


def _action(declared: str | None, defect: Defect) -> Action | None:
    for action in _ACTIONS:
        if declared is not None and action.partition("_")[0] in declared.lower():
            return action
    if declared is not None:
        raise InputError(f"the action is {shown(declared)}", expected=f"one of: {', '.join(_ACTIONS)}")
    return {"perfect": _ACTIONS[0], "full_neg": _ACTIONS[3], "empty": _ACTIONS[3]}.get(defect)


def _track(candidate: _Mask, defect: Defect, count: int) -> str:
    if defect == "perfect":
        return defect
    graded = defect in {"cutout", "erode", "dilate"} and candidate.rank in _RANKS and count <= len(_RANKS)
    return f"{defect}_{_RANKS[candidate.rank]}" if graded else f"{defect}_{count}"


def _extra(
    entry: _Entry, masks: _FrameMasks, candidate: _Mask, *, context: _Context, frame: int, track: str
) -> dict[str, Any]:
    row = context.rows.get(entry.uid)
    parts = entry.uid.rsplit("_", 2)
    mqa: dict[str, Any] = {
        "uid": entry.uid,
        "vid": _vid(entry, row),
        "split": context.split,
        "protocol": context.protocol,
        "frame": frame,
        "rank": 1 if candidate.kind == "perfect" and candidate.rank is None else candidate.rank,
        "track": track,
        "category": parts[1] if len(parts) == 3 else "",
        "template": template_of((row.exp if row is not None else entry.exp) or ""),
    }
    more: dict[str, Any] = {**entry.more, **masks.more, **candidate.more}
    response = {"response": candidate.response} if candidate.response is not None else {}
    return {"mqa": mqa, **response, **({"mqravs": more} if more else {})}


DATASET = MqRavsDataset()
