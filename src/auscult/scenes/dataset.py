"""Scenes as audio-visual segmentation asks for them: no sentence, and everything that sounds is meant.

Of a folder that ``auscult make scenes`` wrote, each clip is one instance. Its true mask at a frame is the union of what
is seen of all things that sound at the frame's time, as in AVSBench (Zhou et al., ECCV 2022): a span from ``a`` to
``b`` sounds at ``a`` and no longer at ``b``. Sounds from outside the picture have no mask, so a frame may be loud and
its truth empty. Which thing sounds when stands in ``scenes.jsonl``; the unions are no files, they are made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases.datasets.refavs import FILE, MAX_LINE_BYTES, ClipFiles, Clips
from auscult.cases.fields import parse, wrong
from auscult.cases.ids import counted
from auscult.cases.instances import InstanceListing
from auscult.cases.problems import ListError
from auscult.cases.walk import is_file
from auscult.errors import AuscultError, ErrorRecord, InputError, NothingToDo
from auscult.media.masks import read_mask
from auscult.media.rle import encode
from auscult.scenes.plan import ObjectPlan, ScenePlan
from auscult.types import Instance, MaskRef, Moment, Query

LAYOUT: Final = "datasets.avs_scenes.v1"
_EXPECTED: Final = "a folder that `auscult make scenes` wrote"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One scene of the file: its plan, or why there is none."""

    number: int
    plan: ScenePlan | None = None
    error: AuscultError | None = None


def sounding_instances(folder: Path) -> InstanceListing:
    """List the clips of a folder of scenes, everything that sounds as the target.

    Masks are opened here, since unions have no files of their own: about 50 ms for a clip of ten frames. Gives one
    instance a clip, its id and clip the scene's name, its query without text, its moments one a second from 0 s with
    inline RLE targets (empty ones where nothing that is seen sounds), its sound the clip's. A frame with a mask that is
    missing or cannot be read has no target, which is told; a clip without frames or sound, or one mask of what sounds
    that can be read, is an error and not listed.
    """
    file = folder / FILE
    if not is_file(file):
        raise NothingToDo(f"there is no {FILE} to say what sounds when", path=folder, expected=_EXPECTED)
    clips = Clips(folder)
    instances: dict[str, Instance] = {}
    errors: list[ListError] = []
    for line in _lines(file):
        try:
            instance, broken = _instance(clips, line, file=file)
            if instance.id in instances:
                raise InputError(f"the scene {instance.id} is listed twice", expected="names that are unique")
            instances[instance.id] = instance
            errors += ((None, ErrorRecord.of(_placed(error, file, line.number), "truth")) for error in broken)
        except AuscultError as error:
            name = None if line.plan is None else line.plan.vid
            errors.append((name, ErrorRecord.of(_placed(error, file, line.number), "read")))
    if not instances and not errors:
        raise NothingToDo("the file holds no scene", path=file, expected=_EXPECTED)
    silent = sum(one.absent for one in instances.values())
    notes: tuple[str, ...] = ("targets are everything that sounds at the time of a frame",)
    if silent:
        notes = (*notes, f"in {counted(silent, 'clip')} nothing that is seen sounds at the time of a frame")
    return InstanceListing(instances=tuple(instances.values()), errors=tuple(errors), layout=LAYOUT, notes=notes)


def _lines(file: Path) -> Iterator[_Line]:
    """The lines that are not blank; nothing further after one that is too long."""
    try:
        opened = file.open("rb")
    except OSError as error:
        yield _Line(number=1, error=InputError(f"the file cannot be read: {error.strerror}", expected=_EXPECTED))
        return
    with opened:
        number = 0
        while content := opened.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(content) > MAX_LINE_BYTES:
                told = f"the line is longer than {MAX_LINE_BYTES:,} bytes; nothing after it was read"
                yield _Line(number=number, error=InputError(told, expected="one scene"))
                return
            if content.strip():
                yield _line(content.strip(), file=file, number=number)


def _line(content: bytes, *, file: Path, number: int) -> _Line:
    try:
        row: Any = parse(content, path=file, line=number)
        if not isinstance(row, dict) or "plan" not in row:
            raise wrong("plan", None, "an object")
        return _Line(number=number, plan=ScenePlan.from_json(row["plan"]))
    except InputError as error:
        return _Line(number=number, error=error)


def _instance(clips: Clips, line: _Line, *, file: Path) -> tuple[Instance, list[InputError]]:
    """The clip of a line, and why some of its frames have no target."""
    if line.plan is None:
        raise line.error or InputError("the line holds no scene")
    plan = line.plan
    clip, sound = clips.clip(plan.vid), clips.sound(plan.vid, vid=plan.vid, absent=False)
    if clip.errors or not clip.frames or sound is None:
        told = clip.errors[0].error if clip.errors else "it has no frames" if not clip.frames else "it has no sound"
        raise InputError(f"the scene {plan.vid} cannot be used: {told}", hint="make the scenes again")
    unions = {number: _union_or_error(clip, plan, frame=number) for number in clip.frames}
    broken = [one for one in unions.values() if isinstance(one, InputError)]
    known = [one for one in unions.values() if isinstance(one, MaskRef)]
    silent = all(map(_is_empty, known))
    if broken and silent:  # whether anything that is seen sounds is not known
        raise broken[0]
    moments = tuple(
        Moment(frame=frame, target=one if isinstance(one := unions[number], MaskRef) else None, time_s=float(number))
        for number, frame in clip.frames.items()
    )
    instance = Instance(
        id=plan.vid,
        clip=plan.vid,
        query=Query(),
        moments=moments,
        split=plan.split,
        sound=sound,
        absent=silent,
        source=file,
        line=line.number,
    )
    return instance, broken


def _sounding(things: Sequence[ObjectPlan], time_s: float) -> list[int]:
    """Numbers of the things that sound at a time."""
    return [
        int(thing.id)
        for thing in things
        if thing.track is not None and any(start <= time_s < end for start, end in thing.track.spans)
    ]


def _union_or_error(clip: ClipFiles, plan: ScenePlan, *, frame: int) -> MaskRef | InputError:
    try:
        return _union(clip, plan, frame=frame)
    except InputError as error:
        return error


def _union(clip: ClipFiles, plan: ScenePlan, *, frame: int) -> MaskRef:
    mask = np.zeros(plan.size, np.bool_)
    for fid in _sounding(plan.objects, float(frame)):
        ref = clip.ref(fid, frame)
        if ref is None:
            raise InputError(
                f"there is no true mask of object {fid} at frame {frame}",
                expected=f"gt_mask/{clip.folder}/fid_{fid}/{frame:05d}.png",
                hint="make the scenes again",
            )
        mask |= read_mask(ref, size=plan.size).mask
    return MaskRef(segmentation=encode(mask), size=plan.size)


def _is_empty(ref: MaskRef) -> bool:
    """Whether an encoded union is empty: one run only."""
    return ref.size is not None and ref.segmentation == encode(np.zeros(ref.size, np.bool_))


def _placed(error: AuscultError, file: Path, number: int) -> InputError:
    """An error with the line it is about, where it names no other file."""
    if error.path is not None:
        return InputError(error.message, expected=error.expected, hint=error.hint, path=error.path, line=error.line)
    return InputError(error.message, expected=error.expected, hint=error.hint, path=file, line=number)
