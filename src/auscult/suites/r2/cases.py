"""Cases of a task from instances: frames, reference (sentence, sound or mask) and truth.

A further task (the paper's fifth is queryable 3-D mapping) is one more entry of ``TASK_RULES`` and one more function of
``suites.r2.scoring``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np

from auscult.cases.datasets.refavs import COLUMNS, TABLE, has_heading
from auscult.cases.datasets.refdavis import sentences_of
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import ListOptions
from auscult.errors import ErrorRecord, InputError, UnknownName
from auscult.jobs.runner import Progress
from auscult.media.frames import frame_size
from auscult.media.masks import read_class_map, read_mask
from auscult.models.base import CLASSES, ClassMaps, ModelTask
from auscult.record.digest import digest_file, digest_json
from auscult.record.manifest import argument
from auscult.scenes.dataset import sounding_instances
from auscult.scenes.splits import SPLITS
from auscult.suites.core.grid import Task
from auscult.suites.core.numbers import GridView
from auscult.suites.core.page import SuiteResults
from auscult.suites.core.requests import STAGE, CaseList
from auscult.suites.options import SCENES, refuse_unknown_splits
from auscult.suites.r2 import R2Options
from auscult.suites.r2.ref_avs import ref_avs_results
from auscult.suites.scene_source import scenes_of, shown_instances
from auscult.types import Instance, Mask, MaskRef, Query

FrameRule = Literal["all", "davis2017", "after the first"]
Room = Literal["sentences", "sound", "masks"]

BOTH: Final = "J&F"
OVERALL: Final = "oIoU"

BASELINES: Final = (
    "baseline.full_frame.v1",
    "baseline.centre_box.v1",
    "baseline.random_region.v1",
    "baseline.empty.v1",
)
"""Baselines of every run: the change of a model that is not better carries no information."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRules(Task):
    """A task of the benchmark: ``ris``, ``vos``, ``rvos``, ``avs``, ``avss`` or ``refavs``."""

    name: ModelTask
    guidance: Room  # the room whose perturbations change the reference
    scored: FrameRule  # the scored frames, unless the layout says otherwise
    still: bool = False  # whether a case is one photograph, without dynamics
    classes: int = 0  # count of classes, with the background; 0 for a mask
    heard: bool = False  # whether the sound is also part of the reference
    null: bool = False  # whether null expressions are asked too

    @property
    def rooms(self) -> tuple[Room, ...]:
        """The rooms whose perturbations change the reference."""
        return (self.guidance, "sound") if self.heard else (self.guidance,)


class RefAvsRules(TaskRules):
    """Reference by sentence and sound: S of null expressions, and the releases' variants."""

    def results(self, view: GridView) -> SuiteResults:
        """The results from the scores."""
        return ref_avs_results(view)


_SHARED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "suite": "r2",
        "derived": {BOTH: ("F", "mean of J and F"), OVERALL: ("IoU", "pixels in both of pixels in either")},
        "baselines": BASELINES,
        "metric_words": {"IoU": "mIoU", "F_contour": "F (contour)", "F_region": "F (region)"},
        "group_words": {
            "mix": "a kind drawn for each case",
            "picture": "picture alone",
            "guidance": "guidance alone",
        },
    }
)
_J_AND_F: Final[Mapping[str, tuple[str, ...]]] = {BOTH: ("J", "F")}
_REF_AVS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "derived": {BOTH: ("F", "mean of J and F")},
        "metric_words": {"F": "F (region)", "S": "S (null expressions), lower is better"},
    }
)
_CLASS_WISE: Final = "of each class the mean over frames, then the mean over the classes that occur"

TASK_RULES: Final[Mapping[str, TaskRules]] = MappingProxyType(
    {
        rules.name: rules
        for rules in (
            TaskRules(
                name="ris",
                title="referring image segmentation",
                guidance="sentences",
                metrics=("IoU",),
                pooled=OVERALL,
                scored="all",
                still=True,
                **_SHARED,
            ),
            TaskRules(
                name="vos",
                title="video object segmentation",
                guidance="masks",
                metrics=("J", "F"),
                means=_J_AND_F,
                scored="davis2017",
                **_SHARED,
            ),
            TaskRules(
                name="rvos",
                title="referring video object segmentation",
                guidance="sentences",
                metrics=("J", "F"),
                means=_J_AND_F,
                scored="all",
                **_SHARED,
            ),
            TaskRules(
                name="avs",
                title="audio-visual segmentation",
                guidance="sound",
                metrics=("J", "F_contour", "F_region"),
                scored="all",
                **_SHARED,
            ),
            TaskRules(
                name="avss",
                title="audio-visual semantic segmentation",
                guidance="sound",
                metrics=("mIoU_clip", "F_clip"),
                class_wise=("mIoU", "F"),
                scored="all",
                classes=CLASSES,
                **{
                    **_SHARED,
                    "baselines": BASELINES[-1:],
                    "derived": {"mIoU": ("mIoU_clip", _CLASS_WISE), "F": ("F_clip", _CLASS_WISE)},
                    "metric_words": {"mIoU_clip": "mIoU of each clip", "F_clip": "F of each clip"},
                },
            ),
            RefAvsRules(
                name="refavs",
                title="referring audio-visual segmentation",
                guidance="sentences",
                heard=True,
                null=True,
                metrics=("J", "F"),
                beside=("S",),
                means=_J_AND_F,
                scored="all",
                **{**_SHARED, **_REF_AVS},
            ),
        )
    }
)

_BY_LAYOUT: Final[Mapping[tuple[str, str], FrameRule]] = MappingProxyType(
    {("vos", "datasets.ytvos.v1"): "after the first", ("rvos", "datasets.refdavis.v1"): "davis2017"}
)
"""Data sets whose released evaluation scores other frames than the task."""


def task_rules(name: str) -> TaskRules:
    """A task by its name."""
    if name not in TASK_RULES:
        tasks = ", ".join(f"{rules.name} ({rules.title})" for rules in TASK_RULES.values())
        raise UnknownName(f"there is no task {name!r:.40}", expected=f"one of: {tasks}", hint="--task vos, for example")
    return TASK_RULES[name]


def record_task(manifest: Mapping[str, Any]) -> TaskRules:
    """The task of a record."""
    return task_rules(str(argument(manifest, "task")))


def frame_rule(task: TaskRules, layout: str) -> FrameRule:
    """The rule for the scored frames of a clip."""
    return _BY_LAYOUT.get((task.name, layout), task.scored)


def scored_frames(rule: FrameRule, count: int) -> range:
    """The indices of the scored frames, of ``count``; may be empty."""
    if rule == "all":
        return range(count)
    return range(1, count - 1 if rule == "davis2017" else count)


_PHOTO_FPS = 25.0
_ALL_OPEN: Final[Mapping[Path, ErrorRecord]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class R2Case:
    """One object of one clip or photograph, with one reference."""

    id: str  # unique in the run
    clip: str  # video or photograph; cases of one clip are one cluster
    split: str  # ``seen``, ``unseen``, or the source's own word
    query: Query  # the referring expression; without text if the reference is a mask or a sound
    frames: tuple[Path, ...]  # picture files in order of time
    targets: tuple[MaskRef | None, ...]  # the true mask of every frame; None if missing
    size: tuple[int, int]  # (height, width) of every frame
    rate_fps: float  # frames per second, for what changes over time
    scored: FrameRule  # the scored frames
    sound: Path | None = None  # the clip's sound, or None
    first: bool = False  # whether the first frame's true mask is the reference
    digest: str = ""  # hash of all that a model can see; unique in the run
    truth: str = ""  # hash of its true masks, so that a change scores answers again
    classes: int = 0  # count of classes in its true masks; 0 for single masks
    absent: bool = False  # whether it is a null expression: the true mask is empty on every frame

    @property
    def about(self) -> dict[str, str | int]:
        """The data of results besides scores."""
        return {"absent": 1} if self.absent else {}

    @property
    def shown(self) -> dict[str, Any]:
        """The fields of its line for people."""
        return {"text": self.query.text, "frames": len(self.frames), "size": list(self.size)}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its frames' predictions: the files' stems, or numbers if two stems are equal."""
        stems = tuple(path.stem for path in self.frames)
        return stems if len(set(stems)) == len(stems) else tuple(f"{number:05d}" for number in range(len(stems)))


def cases_of(
    instances: Iterable[Instance],
    task: TaskRules,
    *,
    scored: FrameRule,
    step: Callable[[], None] = lambda: None,
    unopened: Mapping[Path, ErrorRecord] = _ALL_OPEN,
) -> CaseList[R2Case]:
    """Make the cases of a task; one without the required sentence, sound or first mask is left out, with an error."""
    case_list, digests = CaseList[R2Case](), set[str]()
    source = _Source(task=task, scored=scored, hash_of=cache(digest_file), unopened=unopened)
    for instance in instances:
        if instance.absent and not task.null:
            case_list.absent += 1
        else:
            case_list.add(instance.id, partial(_case, instance, source))
        step()
    for number, case in enumerate(case_list.cases):  # digests are cache keys of answers, so each is unique
        if case.digest in digests:
            case_list.cases[number] = replace(case, digest=digest_json([case.digest, case.id]))
        digests.add(case_list.cases[number].digest)
    return case_list


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Settings shared by all instances of a run."""

    task: TaskRules
    scored: FrameRule
    hash_of: Callable[[Path], str]  # cached, since several objects share a clip's frames
    unopened: Mapping[Path, ErrorRecord]


def _case(instance: Instance, source: _Source) -> R2Case:
    task = source.task
    if task.guidance == "sentences" and not (instance.query.text or "").strip():
        raise InputError(
            "nothing says which object is meant",
            expected=f"a referring expression: {task.title} is asked by a sentence",
            hint="give sentences with --texts, or in the data set's own file of expressions",
            path=instance.source,
        )
    if "sound" in task.rooms and instance.sound is None:
        raise InputError("the clip has no sound", expected="a sound file beside its frames", path=instance.source)
    start = _middle(instance) if task.still else _start(instance, source.unopened) if task.guidance == "masks" else 0
    moments = instance.moments[start : start + 1] if task.still else instance.moments[start:]
    if task.classes and any(moment.target is not None and not moment.target.classes for moment in moments):
        raise InputError(
            "its true masks do not say which class a pixel belongs to",
            expected="AVSBench-semantic, whose masks hold classes",
            hint="--task avs asks for all that sounds, whatever it is",
            path=instance.source,
        )
    absent = instance.absent and task.null
    if task.guidance != "sound" and not absent and not any(moment.target is not None for moment in moments):
        raise InputError("no frame has a true mask", expected="true masks to score with", path=instance.source)
    case = R2Case(
        id=instance.id,
        clip=cluster_of(instance),
        split=instance.split,
        query=instance.query if task.guidance == "sentences" else Query(),
        frames=tuple(moment.frame for moment in moments),
        targets=tuple(None if absent else moment.target for moment in moments),
        size=frame_size(moments[0].frame),
        rate_fps=_rate([moment.time_s for moment in moments]),
        scored=source.scored,
        sound=instance.sound if "sound" in task.rooms else None,
        first=task.guidance == "masks",
        classes=task.classes,
        absent=absent,
    )
    return _with_digest(case, source.hash_of)


def cluster_of(instance: Instance) -> str:
    """The cluster for intervals: the clip, or the photograph."""
    stem = instance.moments[0].frame.stem
    return instance.clip if len(instance.moments) > 1 or instance.clip == stem else f"{instance.clip}/{stem}"


def _with_digest(case: R2Case, hash_of: Callable[[Path], str]) -> R2Case:
    first = target(case, 0) if case.first else None
    content = {
        "frames": [hash_of(path) for path in case.frames],
        "text": case.query.text,
        "sound": None if case.sound is None else hash_of(case.sound),
        "first": None if first is None else digest_json([first.shape, np.packbits(first).tobytes().hex()]),
        "rate": case.rate_fps,
    }
    truth = [None if ref is None else _mask_digest(ref, hash_of) for ref in case.targets]
    return replace(case, digest=digest_json(content), truth=digest_json("nothing" if case.absent else truth))


def _mask_digest(ref: MaskRef, hash_of: Callable[[Path], str]) -> list[Any]:
    """The hash of a true mask; a missing file is reported by scoring."""
    if ref.path is None:
        return [repr(ref.segmentation)]
    return [hash_of(ref.path) if ref.path.is_file() else None, ref.index, ref.absent_ok]


def target(case: R2Case, index: int) -> Mask | None:
    """The true mask of a frame, bool (H, W); None if missing."""
    ref = case.targets[index]
    return None if ref is None else read_mask(ref, size=case.size).mask


def _truth(case: R2Case, index: int) -> Mask | ClassMaps | None:
    """The true mask or class map of a frame, None if missing; empty for a null expression."""
    if case.absent:
        return np.zeros(case.size, np.bool_)
    ref = case.targets[index]
    if ref is None or ref.path is None or not case.classes:
        return target(case, index)
    return read_class_map(ref.path, classes=case.classes, size=case.size)


@dataclass(frozen=True, slots=True)
class Truths:
    """The true masks of a case."""

    # of every frame, bool (H, W), or classes, uint8 (H, W); None where the data set has none, or none that can be read
    masks: list[Mask | ClassMaps | None]
    errors: Mapping[int, InputError]  # frame number to why its mask cannot be read


def truths_of(case: R2Case) -> Truths:
    """Read the true masks of a case; an unreadable one is None, with its error."""
    masks: list[Mask | ClassMaps | None] = []
    errors: dict[int, InputError] = {}
    for index, frame in enumerate(case.frames):
        try:
            masks.append(_truth(case, index))
        except InputError as error:
            masks.append(None)
            path = error.path or frame
            errors[index] = InputError(error.message, expected=error.expected, hint=error.hint, path=path)
    return Truths(masks, errors)


def _shows(ref: MaskRef | None, frame: Path) -> bool:
    return ref is not None and bool(read_mask(ref, size=frame_size(frame)).mask.any())


def _start(instance: Instance, errors: Mapping[Path, ErrorRecord]) -> int:
    """The first frame that shows the object, where its case begins."""
    for index, moment in enumerate(instance.moments):
        try:
            if _shows(moment.target, moment.frame):
                return index
        except InputError as error:
            raise _unreadable(ErrorRecord.of(error, STAGE)) from error
        if moment.target is None and moment.frame in errors:
            raise _unreadable(errors[moment.frame])
    raise InputError(
        "the object is in no frame that has a true mask",
        expected="a first frame whose mask says which object is meant",
        path=instance.source,
    )


def _unreadable(error: ErrorRecord) -> InputError:
    return InputError(
        f"the first mask, which says which object is meant, cannot be read: {error.error}",
        expected=error.expected,
        hint="put the mask in its place; a later one would be another request",
        path=error.path,
    )


def _middle(instance: Instance) -> int:
    """The frame nearest to the middle of a clip that shows the object."""
    if len(instance.moments) == 1:
        return 0
    middle = (len(instance.moments) - 1) / 2
    broken: InputError | None = None
    for index in sorted(range(len(instance.moments)), key=lambda number: (abs(number - middle), number)):
        try:
            if _shows(instance.moments[index].target, instance.moments[index].frame):
                return index
        except InputError as error:  # another frame may be readable
            broken = broken or error
    raise broken or InputError(
        "the object is in no frame that has a true mask", expected="a true mask that shows it", path=instance.source
    )


def _rate(times_s: Sequence[float | None]) -> float:
    """Frames per second from the times of first and last frame; 25 if the times are unknown."""
    times = [time for time in times_s if time is not None]
    if len(times) < 2 or len(times) < len(times_s) or not times[-1] > times[0]:
        return _PHOTO_FPS
    return (len(times) - 1) / (times[-1] - times[0])


def listing_of(options: R2Options, task: TaskRules, progress: Progress) -> InstanceListing:
    """List the instances of the data."""
    if options.data == SCENES:
        refuse_unknown_splits(options.splits, SPLITS)
    source = scenes_of(options, progress) if options.data == SCENES else Path(options.data)
    if task.guidance == "sentences":
        source = sentences_of(source)
    sounding = task.guidance == "sound" and has_heading(source / TABLE, *COLUMNS)
    list_options = ListOptions(images=options.images, texts=options.texts, masks=options.masks)
    listing = sounding_instances(source) if sounding else list_instances(source, list_options)
    refuse_unknown_splits(options.splits, dict.fromkeys(instance.split for instance in listing.instances))
    if task.guidance == "masks":
        return replace(listing, instances=_one_per_object(listing.instances))
    if sounding or task.heard or options.texts is not None:
        return listing
    return shown_instances(listing, source, splits=options.splits, still=task.still)


def _one_per_object(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """The first instance of every object: the mask is the reference, whatever the sentences."""
    first: dict[str, Instance] = {}
    for instance in instances:
        if not instance.absent:
            first.setdefault(repr((instance.clip, [moment.target for moment in instance.moments])), instance)
    return tuple(first.values())
