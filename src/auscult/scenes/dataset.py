"""Scenes as audio-visual segmentation asks for them: no sentence, and everything that sounds is meant.

Of a folder that ``auscult make scenes`` wrote, each clip is one instance. Its true mask at a frame is the union of what
is seen of all things that sound at the frame's time, as in AVSBench (Zhou et al., ECCV 2022): a span from ``a`` to
``b`` sounds at ``a`` and no longer at ``b``. Sounds from outside the picture have no mask, so a frame may be loud and
its truth empty. Which thing sounds when stands in ``scenes.jsonl``; the unions are no files, they are made here.

A finished scene as files: the released layout of Ref-AVSBench, and lines of an INPUT that ``audit`` takes.

Every thing has a mask folder, ``fid_1``, ``fid_2``, ..., whether an expression refers to it or not. Null expressions
share ``fid_0``, whose masks are empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases.datasets import refavs
from auscult.cases.datasets.refavs import FILE, MAX_LINE_BYTES, ClipFiles, Clips
from auscult.cases.fields import lines_of, parse, wrong
from auscult.cases.ids import counted
from auscult.cases.instances import InstanceListing
from auscult.cases.problems import Problems
from auscult.cases.walk import is_file
from auscult.errors import AuscultError, InputError, NothingToDo
from auscult.language.forms import Expression
from auscult.media.frames import encode_jpeg
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import open_regular
from auscult.media.rle import encode
from auscult.media.wav import encode_wav
from auscult.scenes.draw import RenderedScene
from auscult.scenes.plan import ScenePlan
from auscult.scenes.references import JointSample
from auscult.types import Instance, MaskRef, Moment, Query, Samples

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
        target = str(sample.expression.target)
        truth = refavs.mask_name(plan.vid, int(target), sample.shot)
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


LAYOUT: Final = "datasets.avs_scenes.v1"
_EXPECTED: Final = "a folder that `auscult make scenes` wrote"


def sounding_instances(folder: Path) -> InstanceListing:
    """List the clips of a folder of scenes, everything that sounds as the target.

    Masks are opened here, since unions have no files of their own: about 50 ms for a clip of ten frames. Gives one
    instance a clip, its id and clip the scene's name, its query without text, its moments one a second from 0 s with
    inline RLE targets (empty ones where nothing that is seen sounds), its sound the clip's. A frame with a mask that is
    missing or cannot be read has no target and is reported; a clip without frames or sound, or one mask of what sounds
    that can be read, is an error and not listed.
    """
    file = folder / FILE
    if not is_file(file):
        raise NothingToDo(f"there is no {FILE} to say what sounds when", path=folder, expected=_EXPECTED)
    clips, problems = Clips(folder), Problems()
    instances: dict[str, Instance] = {}
    for number, content in _lines(file, problems):
        plan = None
        try:
            plan = _plan(content, file=file, line=number)
            instance, broken = _instance(clips, plan, source=(file, number))
            if instance.id in instances:
                raise InputError(f"the scene {instance.id} is listed twice", expected="names that are unique")
            instances[instance.id] = instance
            for error in broken:
                problems.add(error, None if error.path else file, line=number, stage="truth")
        except AuscultError as error:
            name = None if plan is None else plan.vid
            problems.add(error, None if error.path else file, line=number, item=name)
    if not instances and not problems.found:
        raise NothingToDo("the file holds no scene", path=file, expected=_EXPECTED)
    silent = sum(instance.absent for instance in instances.values())
    notes: tuple[str, ...] = ("targets are everything that sounds at the time of a frame",)
    if silent:
        notes = (*notes, f"in {counted(silent, 'clip')} nothing that is seen sounds at the time of a frame")
    return InstanceListing(
        instances=tuple(instances.values()), errors=tuple(problems.found), layout=LAYOUT, notes=notes
    )


def _lines(file: Path, problems: Problems) -> Iterator[tuple[int, bytes | None]]:
    """The lines that are not blank; None for one that is too long."""
    try:
        with open_regular(file) as opened:
            yield from lines_of(opened, max_bytes=MAX_LINE_BYTES)
    except OSError as error:
        problems.add(InputError(f"the file cannot be read: {error.strerror}", expected=_EXPECTED), file, line=1)


def _plan(content: bytes | None, *, file: Path, line: int) -> ScenePlan:
    if content is None:
        raise InputError(f"the line is longer than {MAX_LINE_BYTES:,} bytes", expected="one scene")
    row: Any = parse(content, path=file, line=line)
    if not isinstance(row, dict) or "plan" not in row:
        raise wrong("plan", None, "an object")
    return ScenePlan.from_json(row["plan"])


def _instance(clips: Clips, plan: ScenePlan, *, source: tuple[Path, int]) -> tuple[Instance, list[InputError]]:
    """The clip of a plan, and why some of its frames have no target."""
    clip, sound = clips.clip(plan.vid), clips.sound(plan.vid, vid=plan.vid, absent=False)
    if clip.errors or not clip.frames or sound is None:
        reason = clip.errors[0].error if clip.errors else "it has no frames" if not clip.frames else "it has no sound"
        raise InputError(f"the scene {plan.vid} cannot be used: {reason}", hint="make the scenes again")
    targets: dict[int, MaskRef] = {}
    broken = []
    for number in clip.frames:
        try:
            targets[number] = _union(clip, plan, frame=number)
        except InputError as error:
            broken.append(error)
    empty = encode(np.zeros(plan.size, np.bool_))
    silent = all(target.segmentation == empty for target in targets.values())
    if broken and silent:  # whether anything that is seen sounds is not known
        raise broken[0]
    instance = Instance(
        id=plan.vid,
        clip=plan.vid,
        query=Query(),
        moments=tuple(
            Moment(frame=frame, target=targets.get(number), time_s=float(number))
            for number, frame in clip.frames.items()
        ),
        split=plan.split,
        sound=sound,
        absent=silent,
        source=source[0],
        line=source[1],
    )
    return instance, broken


def _union(clip: ClipFiles, plan: ScenePlan, *, frame: int) -> MaskRef:
    mask = np.zeros(plan.size, np.bool_)
    for planned in plan.objects:
        if planned.track is None or not any(start <= frame < end for start, end in planned.track.spans):
            continue
        fid = int(planned.id)
        ref = clip.ref(fid, frame)
        if ref is None:
            raise InputError(
                f"there is no true mask of object {fid} at frame {frame}",
                expected=f"gt_mask/{clip.folder}/fid_{fid}/{frame:05d}.png",
                hint="make the scenes again",
            )
        mask |= read_mask(ref, size=plan.size).mask
    return MaskRef(segmentation=encode(mask), size=plan.size)
