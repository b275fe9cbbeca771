"""Worker processes of the benchmark: one instance of one protocol, from its true masks to its candidates.

Source: MQ-RAVSBench, Sec. 3.3: the frame with most objects gives the hardest negatives. The paper counts the detections
of a detector; counting annotated objects needs no model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult import registry
from auscult.errors import AuscultError, ErrorRecord, InputError, UsageError
from auscult.jobs.runner import Indivisible, Result, failed_row, mask_digest
from auscult.jobs.stress import ITEMS, TARGETS, variant_name
from auscult.media.frames import frame_size, read_frame
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import safe_name
from auscult.models.base import USUAL_ENDPOINT, EndpointChoice
from auscult.models.hf import detected_count
from auscult.models.named_objects import VLM, MaskProposer, NamedProposer, ObjectCounter, negative_objects
from auscult.outcome import Scored, Undefined
from auscult.record.digest import digest_file, digest_json
from auscult.record.schema import error_to_json
from auscult.stress.masks import tracks, variants
from auscult.suites.mqa.options import ANNOTATED, GENERATORS, OWN, STANDARD, MqaProtocol
from auscult.suites.mqa.rows import KEY, RANKS, TRUTH
from auscult.suites.mqa.sample import split_of
from auscult.types import Frame, Instance, Mask, MaskRef, Moment, StressedMask

HF: Final = "hf:"
"""Prefix of a folder of detector weights."""

REMARK = "truth"
"""Stage of another object's unreadable mask, which is in ``errors.jsonl`` and affects no instance."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedMoment:
    """The masks of one annotated frame."""

    target: Mask | None  # bool (H, W), may be empty; None without annotation in this frame
    others: tuple[Mask | None, ...]  # each bool (H, W); None if missing or unreadable
    remarks: tuple[ErrorRecord, ...] = ()  # why another object's mask could not be read

    @property
    def area(self) -> int:
        """Pixels of the target."""
        return 0 if self.target is None else int(self.target.sum())

    @property
    def objects(self) -> int:
        """The count of visible objects in this frame, with the target."""
        return sum(mask is not None and bool(mask.any()) for mask in (self.target, *self.others))


def open_moment(moment: Moment) -> OpenedMoment:
    """Read the masks of a moment."""
    size = frame_size(moment.frame)
    target = None if moment.target is None else read_mask(moment.target, size=size).mask
    others: list[Mask | None] = []
    remarks = []
    for ref in moment.others:
        try:
            others.append(None if ref is None else read_mask(ref, size=size).mask)
        except InputError as error:
            others.append(None)
            remarks.append(ErrorRecord.of(error, REMARK))
    return OpenedMoment(target=target, others=tuple(others), remarks=tuple(remarks))


def digest_of(instance: Instance, moments: Sequence[int]) -> str:
    """Hash of the sources of the masks: the expression, and the frame and masks of each moment."""
    content: list[object] = [instance.query.text, instance.category, instance.template]
    for index in moments:
        moment = instance.moments[index]
        target = None if moment.target is None else mask_digest(moment.target)
        content.append([digest_file(moment.frame), target])
        content.append([_digest_or_nothing(ref) for ref in moment.others])
    return digest_json(content)


def _digest_or_nothing(ref: MaskRef | None) -> object:
    try:
        return None if ref is None else mask_digest(ref)
    except InputError:
        return "unreadable"  # such a mask is not used


UNREADABLE: Final = "unreadable"

Detector: TypeAlias = Callable[[Frame], int]
"""Counts the objects of a frame, uint8 RGB (H, W, 3): 0 or more. Picklable, since it runs in worker processes."""


def key_frame(objects: Sequence[int], areas: Sequence[int]) -> int | None:
    """Index of the frame with most objects among those that show the target; None if none does.

    On a tie the one with the larger target, then the earlier one.

    Both lists are per frame: the count of objects, and the target's pixels, 0 if it is absent or not annotated.

    Example:
        >>> key_frame([2, 4, 4, 5], [90, 40, 50, 0])
        2
    """
    if len(objects) != len(areas) or any(number < 0 for number in (*objects, *areas)):
        raise UsageError(
            f"{len(objects)} counts and {len(areas)} areas",
            expected="one count and one area per frame, neither negative",
        )
    showing = [index for index, area in enumerate(areas) if area]
    return max(showing, key=lambda index: (objects[index], areas[index], -index), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSurvey:
    """What was found when an instance's masks were opened: a line of ``survey.jsonl``."""

    id: str
    frame: int | None  # index of its key frame among its moments; None if unusable
    objects: tuple[int, ...] = ()  # counts per moment
    areas: tuple[int, ...] = ()  # the target's pixels per moment
    reason: str = ""  # why it is unusable
    errors: tuple[Mapping[str, Any], ...] = ()  # rows of errors.jsonl


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds the key frame of an instance; made once in each worker process."""

    detector: Detector | None = None  # None counts annotated objects
    least_px: int = 0  # least pixels of a visible target

    def __call__(self, instance: Instance) -> InstanceSurvey:
        """Open every moment of an instance; an instance with an unreadable moment is left out."""
        objects: list[int] = []
        areas: list[int] = []
        remarks: list[Mapping[str, Any]] = []
        try:
            for moment in instance.moments:
                opened = open_moment(moment)
                remarks += [error_to_json(instance.id, remark) for remark in opened.remarks]
                areas.append(opened.area)
                objects.append(self._count(moment, opened))
        except AuscultError as error:
            errors = (*remarks, failed_row(instance, error, "read"))
            return InstanceSurvey(id=instance.id, frame=None, reason=UNREADABLE, errors=errors)
        frame = key_frame(objects, [area if area >= self.least_px else 0 for area in areas])
        return InstanceSurvey(
            id=instance.id,
            frame=frame,
            objects=tuple(objects),
            areas=tuple(areas),
            reason="" if frame is not None else "too_small" if any(areas) else "target_empty",
            errors=tuple(remarks),
        )

    def _count(self, moment: Moment, masks: OpenedMoment) -> int:
        if self.detector is None or not masks.area:
            return masks.objects
        return self.detector(read_frame(moment.frame))


def make_finder(key_frame: str | Detector, *, least_px: int = 0) -> Finder:
    """Make the worker's function; module-level, so that a child process can import it."""
    if not isinstance(key_frame, str):
        return Finder(key_frame, least_px)
    if key_frame.startswith(HF):
        return Finder(detected_count(Path(key_frame.removeprefix(HF))), least_px)
    return Finder(None if key_frame == ANNOTATED else ObjectCounter(load_proposer(key_frame)), least_px)


def load_proposer(name: str) -> MaskProposer:
    """A registered proposer of regions, by its full or short name."""
    entry = registry.find("model", name)
    loaded = entry.load()
    if not callable(loaded) or "target" not in inspect.signature(loaded).parameters:
        raise UsageError(
            f"model {entry.name} proposes no regions",
            expected="a model that is called with a frame and keyword target",
            hint="`auscult list model` says what there is",
        )
    proposer: MaskProposer = loaded
    return proposer


NUMBERED = frozenset({"merge", "full_neg"})
NO_TRACKS = "proposer_has_no_tracks"
"""Reason: a proposer's regions in two frames cannot be matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTask(Indivisible):
    """The masks to make of one instance."""

    instance: Instance
    protocol: MqaProtocol
    moments: tuple[int, ...]  # the key frame, or all with a mask of the target
    numbers: tuple[int, ...]  # frame numbers in the clip
    frames: tuple[str, ...]  # frame names in the output folder
    sound: str | None = None  # name of the clip's sound there
    several: bool = False  # whether it is one of several tasks of the instance, one per frame

    @property
    def made_for(self) -> str:
        """The key of the masks' random draws, different for each frame."""
        return f"{self.instance.id}/{self.numbers[0]:05d}" if self.several else self.instance.id

    @property
    def key(self) -> str:
        """Unique among the tasks."""
        return f"{self.protocol}/{self.made_for}"


@dataclass(frozen=True, slots=True)
class MadeMask:
    """A made mask."""

    name: str  # unique within the instance and moment: erode_hard, merge_1
    kind: str  # the stressor's bare name; the defect, of the standard generator
    rank: int  # 1 is the hardest of its kind
    index: int  # index of its moment in the task
    made: StressedMask


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Makes the candidates of a task; made once in each worker process."""

    seed: int
    proposer: MaskProposer | NamedProposer | None = None  # source of other objects; None for the data set's own
    generator: str = STANDARD  # a key of GENERATORS
    making: Mapping[str, str] = field(default_factory=dict)  # how instances and frames were chosen, for every line

    def __call__(self, task: BuildTask) -> Result:
        """Do a task; an unreadable instance gives an error row."""
        try:
            opened = [open_moment(task.instance.moments[index]) for index in task.moments]
            digest = digest_of(task.instance, task.moments)
            others, names = self._others(task, opened[0])
            if task.protocol == "image":
                masks, undefined = self._image(task, opened[0], others)
            else:
                masks, undefined = self._video(task, opened)
        except AuscultError as error:
            return Result(id=task.key, errors=[failed_row(task.instance, error, "read")])
        files = {_truth_name(task, index): encode_mask(_target(moment)) for index, moment in enumerate(opened)}
        items = []
        for candidate in masks:
            files[_mask_name(task, candidate)] = encode_mask(candidate.made.output)
            items.append(self._line(task, candidate, opened[candidate.index], names=names))
        target = {
            "id": task.key,
            "uid": task.instance.id,
            "vid": task.instance.clip,
            "protocol": task.protocol,
            "split": split_of(task.instance),
            "made": len(items),
            "undefined": undefined,
            "input": digest,
        }
        return Result(id=task.key, files=files, rows={ITEMS: items, TARGETS: [target]})

    def _others(self, task: BuildTask, opened: OpenedMoment) -> tuple[Sequence[Mask | None], Sequence[str]]:
        """Other objects of the key frame, and what the data set or a model calls them; none by models for a clip."""
        instance = task.instance
        if self.proposer is None:
            return opened.others, instance.others
        if task.protocol == "video":
            return (), ()
        frame, target = read_frame(instance.moments[task.moments[0]].frame), _target(opened)
        if not isinstance(self.proposer, NamedProposer):
            return self.proposer(frame, target=target), ()
        meant = instance.category or instance.query.text or "the thing that is meant"
        found = self.proposer.named(frame, target=target, meant=meant)
        return [other.mask for other in found], [other.phrase for other in found]

    def _image(
        self, task: BuildTask, opened: OpenedMoment, others: Sequence[Mask | None]
    ) -> tuple[list[MadeMask], list[dict[str, Any]]]:
        """The paper's set of masks for the key frame."""
        target = tracks.target_of(_target(opened), others)
        candidates, undefined = [], []
        outcomes = list(variants(target, seed=self.seed, key=task.made_for, kinds=GENERATORS[self.generator]))
        merges = [outcome for kind, *_, outcome in outcomes if kind == "merge" and isinstance(outcome, Scored)]
        merges.sort(key=lambda merge: -(merge.value.truth.iou or 0.0))  # as in the video protocol and Table 3
        positions = {id(merge): position for position, merge in enumerate(merges)}
        for kind, difficulty, number, outcome in outcomes:
            index = positions.get(id(outcome), number)
            rank = index + 1 if kind in NUMBERED else RANKS.get(difficulty or "", 1)
            if isinstance(outcome, Scored):
                defect = outcome.value.truth.defect or kind
                name = variant_name(defect, difficulty=difficulty, index=index)
                candidates.append(MadeMask(name, kind, rank, 0, outcome.value))
            elif isinstance(outcome, Undefined):
                bare = kind.removeprefix(f"{self.generator}_")
                undefined.append({"kind": bare, "difficulty": difficulty, "reason": outcome.reason})
        return candidates, undefined

    def _video(self, task: BuildTask, opened: Sequence[OpenedMoment]) -> tuple[list[MadeMask], list[dict[str, Any]]]:
        """The paper's set of tracks through the clip."""
        others = [moment.others if self.proposer is None else () for moment in opened]
        candidates, undefined = [], []
        targets = [moment.target for moment in opened]
        for track in tracks.variants(targets, others, seed=self.seed, key=task.instance.id):
            candidates += [
                MadeMask(track.name, track.kind, track.rank, index, outcome.value)
                for index, outcome in enumerate(track.frames)
                if isinstance(outcome, Scored)
            ]
            undefined += [
                {"kind": track.kind, "difficulty": track.difficulty, "reason": self._reason(reason), "count": count}
                for reason, count in sorted(track.reasons.items())
            ]
        return candidates, undefined

    def _reason(self, reason: str) -> str:
        return NO_TRACKS if self.proposer is not None and reason == "no_other_object" else reason

    def _line(
        self, task: BuildTask, candidate: MadeMask, opened: OpenedMoment, *, names: Sequence[str]
    ) -> dict[str, Any]:
        """One line of ``items.jsonl``."""
        instance, frame = task.instance, task.numbers[candidate.index]
        moment, truth = instance.moments[task.moments[candidate.index]], candidate.made.truth
        name = f"{task.key}/{candidate.name}" + (f"/{frame:05d}" if task.protocol == "video" else "")
        row: dict[str, Any] = {"id": name, "frame": task.frames[candidate.index], "mask": _mask_name(task, candidate)}
        optional = {"text": instance.query.text, "clip": instance.clip, "time_s": moment.time_s, "audio": task.sound}
        row |= {key: value for key, value in optional.items() if value is not None}
        row["truth"] = {"mask": _truth_name(task, candidate.index)} | {name: getattr(truth, name) for name in TRUTH}
        row["stress"] = {"target": instance.id, "kind": candidate.kind, "params": dict(candidate.made.params)}
        row[KEY] = {
            "uid": instance.id,
            "vid": instance.clip,
            "split": split_of(task.instance),
            "protocol": task.protocol,
            "frame": frame,
            "rank": candidate.rank,
            "track": candidate.name,
            "category": instance.category,
            "template": instance.template,
            "area": round(opened.area / _target(opened).size, 6),
        }
        other = candidate.made.params.get("other")
        if isinstance(other, int) and other < len(names) and names[other]:
            row[KEY]["negative"] = names[other]  # the data set's word or a model's phrase
        if self.generator != STANDARD:
            row[KEY]["generator"] = self.generator
        row[KEY] |= self.making
        return row


def check_negatives(negatives: str | MaskProposer | NamedProposer, *, endpoint: EndpointChoice) -> None:
    """Raise for an unknown source of negatives; weights of models are loaded later."""
    if isinstance(negatives, str) and negatives.startswith(VLM):
        negative_objects(negatives, endpoint=endpoint)
    else:
        make_builder(negatives, seed=0)


def make_builder(
    negatives: str | MaskProposer | NamedProposer,
    *,
    seed: int,
    generator: str = STANDARD,
    making: Mapping[str, str] | None = None,
    endpoint: EndpointChoice = USUAL_ENDPOINT,
) -> Builder:
    """Make the worker's function; module-level, so that a child process can import it."""
    if isinstance(negatives, str) and negatives.startswith(VLM):
        negatives = negative_objects(negatives, endpoint=endpoint)()
    source = None if negatives == OWN else negatives
    proposer = load_proposer(source) if isinstance(source, str) else source
    return Builder(seed=seed, proposer=proposer, generator=generator, making=making or {})


def _target(masks: OpenedMoment) -> Mask:
    if masks.target is None:
        raise UsageError("a moment has no mask of the target", expected="moments that have one")
    return masks.target


def _truth_name(task: BuildTask, index: int) -> str:
    return f"truth/{safe_name(task.instance.id)}/{task.numbers[index]:05d}.png"


def _mask_name(task: BuildTask, candidate: MadeMask) -> str:
    folder = f"masks/{safe_name(task.instance.id)}/{task.protocol}"
    return f"{folder}/{candidate.name}/{task.numbers[candidate.index]:05d}.png"
