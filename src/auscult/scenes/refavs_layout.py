"""A finished scene as files: the released layout of Ref-AVSBench, and lines of an INPUT that ``audit`` takes.

Every thing has a mask folder, ``fid_1``, ``fid_2``, ..., whether an expression refers to it or not. Null expressions
share ``fid_0``, whose masks are empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from auscult.cases.datasets import refavs
from auscult.language.forms import Expression
from auscult.media.frames import encode_jpeg
from auscult.media.masks import encode_mask
from auscult.media.wav import encode_wav
from auscult.scenes.draw import RenderedScene
from auscult.scenes.joint import JointSample
from auscult.scenes.plan import ScenePlan
from auscult.types import Samples

NULL_FID = 0
NULL_SPLIT = "test_n"
QUALITY = 90

_UNSAFE = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionRow:
    """An expression with its row in the layout."""

    row: refavs.MetadataRow  # its row of `metadata.csv`
    expression: Expression  # the sentence and its logical form


def object_word(category: str) -> str:
    """A category as the object word of a uid: letters and digits with hyphens between; never ``null``."""
    word = _UNSAFE.sub("-", category).strip("-") or "object"
    return f"{word}-object" if word == refavs.NULL else word


def rows_of(plan: ScenePlan, expressions: Sequence[Expression]) -> tuple[ExpressionRow, ...]:
    """Give every expression its uid, split and fid; the expressions of one object word are counted from 1."""
    words = {planned.id: object_word(planned.look.category) for planned in plan.objects}
    counts: dict[str, int] = {}
    rows = []
    for expression in expressions:
        word = refavs.NULL if expression.target is None else words[expression.target]
        counts[word] = counts.get(word, 0) + 1
        row = refavs.MetadataRow(
            vid=plan.vid,
            uid=refavs.uid_of(plan.vid, word, counts[word]),
            split=NULL_SPLIT if expression.target is None else plan.split,
            fid=NULL_FID if expression.target is None else int(expression.target),
            exp=expression.text,
        )
        rows.append(ExpressionRow(row=row, expression=expression))
    return tuple(rows)


def files_of(plan: ScenePlan, shots: Sequence[RenderedScene], samples: Samples, *, nulls: bool) -> dict[str, bytes]:
    """The files of a scene by name: key frames, sound, and the visible mask of every thing at every key frame.

    ``samples`` are (2, n) float32 in [-1, 1]; ``nulls`` asks for the empty masks of null expressions.
    """
    files = {refavs.sound_name(plan.vid): encode_wav(samples, plan.rate_hz)}
    empty = encode_mask(np.zeros(plan.size, np.bool_))
    for frame, shot in enumerate(shots):
        files[refavs.frame_name(plan.vid, frame)] = encode_jpeg(shot.frame, quality=QUALITY)
        for number, mask in enumerate(shot.visible, 1):
            files[refavs.mask_name(plan.vid, number, frame)] = encode_mask(mask) if mask.any() else empty
        if nulls:
            files[refavs.mask_name(plan.vid, NULL_FID, frame)] = empty
    return files


def items_of(plan: ScenePlan, shots: Sequence[RenderedScene], listed: Sequence[ExpressionRow]) -> list[dict[str, Any]]:
    """Lines of ``items.jsonl``: every thing at every key frame that shows it, its true mask as the candidate."""
    first: dict[str, ExpressionRow] = {}
    for row in listed:
        if row.expression.target is not None:
            first.setdefault(row.expression.target, row)
    items = []
    for frame, shot in enumerate(shots):
        for number, planned in enumerate(plan.objects):
            if shot.visible[number].any():
                items.append(_item(plan, planned.id, when=(frame, shot.time_s), listed=first.get(planned.id)))
    return items


def joint_files(
    plan: ScenePlan, shots: Sequence[RenderedScene], samples: Sequence[JointSample], *, stems: Sequence[Samples]
) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """The separated sounds of joint items by name, and their lines, which name files of ``files_of`` too."""
    files: dict[str, bytes] = {}
    lines: list[dict[str, Any]] = []
    for number, (sample, stem) in enumerate(zip(samples, stems, strict=True)):
        name = f"{refavs.MEDIA}/{plan.vid}/stems/{number:03d}.wav"
        files[name] = encode_wav(stem, plan.rate_hz)
        named = str(sample.expression.target)
        truth = refavs.mask_name(plan.vid, int(named), sample.shot)
        line: dict[str, Any] = {"id": f"{plan.vid}/joint/{number}", "frame": refavs.frame_name(plan.vid, sample.shot)}
        line |= {"mask": refavs.mask_name(plan.vid, sample.mask + 1, sample.shot), "text": sample.expression.text}
        line |= {"clip": plan.vid, "time_s": shots[sample.shot].time_s}
        line |= {"mixture": refavs.sound_name(plan.vid), "separated": name}
        lines.append({**line, "truth": {"mask": truth, "joint": sample.wrong}})
    return files, lines


def with_video(items: Sequence[Mapping[str, Any]], files: Iterable[str]) -> list[Mapping[str, Any]]:
    """Lines of ``items.jsonl`` that also name the scene's video, where one is among the names of its files."""
    names = frozenset(files)
    return [{**item, "video": name} if (name := video_name(item["clip"])) in names else item for item in items]


def video_name(vid: str) -> str:
    """Where a scene's video stands."""
    return f"{refavs.MEDIA}/{vid}/video.mp4"


def _item(plan: ScenePlan, object_id: str, *, when: tuple[int, float], listed: ExpressionRow | None) -> dict[str, Any]:
    frame, time_s = when
    category = plan.objects[int(object_id) - 1].look.category
    mask = refavs.mask_name(plan.vid, int(object_id), frame)
    scene: Mapping[str, Any] = {
        "object": object_id,
        "category": category,
        "split": plan.split,
        "uid": None if listed is None else listed.row.uid,
    }
    return {
        "id": f"{plan.vid}/{object_id}/{frame}",
        "frame": refavs.frame_name(plan.vid, frame),
        "mask": mask,
        **({} if listed is None else {"text": listed.row.exp}),
        "clip": plan.vid,
        "time_s": time_s,
        "audio": refavs.sound_name(plan.vid),
        "truth": {"mask": mask, "iou": 1.0, "defect": "perfect", "action": "accept"},
        "scene": scene,
    }
