"""Scenes as audio-visual segmentation asks for them: no sentence, and everything that sounds is meant.

Of a folder that ``auscult make scenes`` wrote, each clip is one instance. Its true mask at a frame is the union of what
is seen of all things that sound at the frame's time, as in AVSBench (Zhou et al., ECCV 2022): a span from ``a`` to
``b`` sounds at ``a`` and no longer at ``b``. Sounds from outside the picture have no mask, so a frame may be loud and
its truth empty. Which thing sounds when stands in ``scenes.jsonl``; the unions are no files, they are made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases.datasets.refavs import FILE, MAX_LINE_BYTES, ClipFiles, Clips
from auscult.cases.fields import lines_of, parse, wrong
from auscult.cases.ids import counted
from auscult.cases.instances import InstanceListing
from auscult.cases.problems import Problems
from auscult.cases.walk import is_file
from auscult.errors import AuscultError, InputError, NothingToDo
from auscult.media.masks import read_mask
from auscult.media.paths import open_regular
from auscult.media.rle import encode
from auscult.scenes.plan import ScenePlan
from auscult.types import Instance, MaskRef, Moment, Query

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
