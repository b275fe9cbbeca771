"""What a worker process of the benchmark does: one instance of one protocol, from its true masks to its candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auscult.errors import AuscultError, UsageError
from auscult.media.frames import read_frame
from auscult.media.masks import encode_mask
from auscult.media.paths import safe_name
from auscult.models.proposals import MaskProposer
from auscult.outcome import Scored, Undefined
from auscult.stress.masks import tracks, variants
from auscult.stress.masks.making import Variant
from auscult.suites.mqa.key_frame import load_proposer
from auscult.suites.mqa.moments import OpenedMoment, digest_of, failed_row, open_moment
from auscult.suites.mqa.options import GENERATORS, OWN, STANDARD
from auscult.suites.mqa.rows import RANKS, Protocol
from auscult.types import Instance, Mask, StressedMask

NUMBERED = frozenset({"merge", "full_neg"})
NO_TRACKS = "proposer_has_no_tracks"
"""Reason: a proposer's regions of two frames are not known to be one object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to make of an instance.

    Attributes:
        instance: The instance.
        split: Its split in the benchmark.
        protocol: ``image`` or ``video``.
        moments: Which of its moments: the key frame, or all that have a mask of the target.
        numbers: Number of each of those frames in its clip.
        frames: Name of each of those frames in the output folder.
        sound: Name of the clip's sound there.
        several: One of several frames of an instance in the image protocol, each an order of its own.
    """

    instance: Instance
    split: str
    protocol: Protocol
    moments: tuple[int, ...]
    numbers: tuple[int, ...]
    frames: tuple[str, ...]
    sound: str | None = None
    several: bool = False

    @property
    def made_for(self) -> str:
        """What the masks are drawn for: another frame has other masks."""
        return f"{self.instance.id}/{self.numbers[0]:05d}" if self.several else self.instance.id

    @property
    def key(self) -> str:
        """Unique among the orders."""
        return f"{self.protocol}/{self.made_for}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What became of an order.

    Attributes:
        key: The order's key.
        items: Lines of ``items.jsonl``.
        files: The mask files those lines name: name to bytes.
        target: The line of ``targets.jsonl``.
        error: Row of ``errors.jsonl`` when the instance could not be read.
    """

    key: str
    items: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mask that was made.

    Attributes:
        name: Unique within the instance and moment: ``erode_hard``, ``merge_1``.
        kind: The stressor's bare name; the defect, of the standard generator.
        rank: 1 is the hardest of its kind.
        place: Its moment's place in the order.
        made: The mask and its truth.
        negative: What the other object is called; empty where there is none, or no name of it.
    """

    name: str
    kind: str
    rank: int
    place: int
    made: StressedMask
    negative: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Makes the candidates of an order; made once in each worker process.

    Attributes:
        seed: The run's seed.
        proposer: Where other objects come from; None for the data set's own.
        generator: Who makes the defects, a key of ``GENERATORS``.
    """

    seed: int
    proposer: MaskProposer | None = None
    generator: str = STANDARD

    def __call__(self, order: Order) -> Built:
        """Make an order; an instance that cannot be read costs itself."""
        try:
            opened = [open_moment(order.instance.moments[index]) for index in order.moments]
            digest = digest_of(order.instance, order.moments)
            made, undefined = self._image(order, opened[0]) if order.protocol == "image" else self._video(order, opened)
        except AuscultError as error:
            return Built(key=order.key, error=failed_row(order.instance, error, "read"))
        files = {_truth_name(order, place): encode_mask(_target(moment)) for place, moment in enumerate(opened)}
        items = []
        for candidate in made:
            files[_mask_name(order, candidate)] = encode_mask(candidate.made.output)
            items.append(_line(order, candidate, opened[candidate.place], generator=self.generator))
        target = {
            "id": order.key,
            "uid": order.instance.id,
            "vid": order.instance.clip,
            "protocol": order.protocol,
            "split": order.split,
            "made": len(items),
            "undefined": undefined,
            "input": digest,
        }
        return Built(key=order.key, items=items, files=files, target=target)

    def _image(self, order: Order, opened: OpenedMoment) -> tuple[list[Candidate], list[dict[str, Any]]]:
        """The paper's set of masks for the key frame."""
        mask = _target(opened)
        target = tracks.target_of(mask, self._others(order, opened))
        candidates, undefined = [], []
        made = list(variants(target, seed=self.seed, key=order.made_for, kinds=GENERATORS[self.generator]))
        hardest = sorted((v for v in made if v[0] == "merge" and isinstance(v[3], Scored)), key=_easier)
        places = {id(v[3]): place for place, v in enumerate(hardest)}
        for kind, difficulty, number, outcome in made:
            index = places.get(id(outcome), number)
            rank = index + 1 if kind in NUMBERED else RANKS.get(difficulty or "", 1)
            if isinstance(outcome, Scored):
                defect = outcome.value.truth.defect or kind
                name = f"{defect}_{rank}" if kind in NUMBERED else f"{defect}_{difficulty}" if difficulty else defect
                negative = self._named(order, outcome.value.params.get("other"))
                candidates.append(Candidate(name, kind, rank, 0, outcome.value, negative))
            elif isinstance(outcome, Undefined):
                undefined.append(
                    {
                        "kind": kind.removeprefix(f"{self.generator}_"),
                        "difficulty": difficulty,
                        "reason": outcome.reason,
                    }
                )
        return candidates, undefined

    def _others(self, order: Order, opened: OpenedMoment) -> Sequence[Mask | None]:
        if self.proposer is None:
            return opened.others
        frame = read_frame(order.instance.moments[order.moments[0]].frame)
        return self.proposer(frame, target=_target(opened))

    def _video(self, order: Order, opened: Sequence[OpenedMoment]) -> tuple[list[Candidate], list[dict[str, Any]]]:
        """The paper's set of tracks through the clip."""
        others = [moment.others if self.proposer is None else () for moment in opened]
        candidates, undefined = [], []
        targets = [moment.target for moment in opened]
        for track in tracks.variants(targets, others, seed=self.seed, key=order.instance.id):
            negative = self._named(order, track.other)
            candidates += [
                Candidate(track.name, track.kind, track.rank, place, outcome.value, negative)
                for place, outcome in enumerate(track.frames)
                if isinstance(outcome, Scored)
            ]
            undefined += [
                {"kind": track.kind, "difficulty": track.difficulty, "reason": self._reason(reason), "count": count}
                for reason, count in sorted(track.reasons.items())
            ]
        return candidates, undefined

    def _named(self, order: Order, other: object) -> str:
        """The data set's word for the other object; a proposed region has none."""
        names = order.instance.others
        known = self.proposer is None and isinstance(other, int) and other < len(names)
        return names[other] if known and isinstance(other, int) else ""

    def _reason(self, reason: str) -> str:
        return NO_TRACKS if self.proposer is not None and reason == "no_other_object" else reason


def make_builder(negatives: str | MaskProposer, *, seed: int, generator: str = STANDARD) -> Builder:
    """Make the worker's function; module-level, so that a child process can be told to call it.

    Args:
        negatives: As ``BuildOptions.negatives``.
        seed: The run's seed.
        generator: As ``BuildOptions.generator``.

    Raises:
        UnknownName: No such proposer.
    """
    if not isinstance(negatives, str):
        return Builder(seed=seed, proposer=negatives, generator=generator)
    proposer = None if negatives == OWN else load_proposer(negatives)
    return Builder(seed=seed, proposer=proposer, generator=generator)


def _easier(variant: Variant) -> float:
    """Merges by falling IoU, as in the video protocol and Table 3."""
    outcome = variant[3]
    return -(outcome.value.truth.iou or 0.0) if isinstance(outcome, Scored) else 0.0


def _target(opened: OpenedMoment) -> Mask:
    if opened.target is None:
        raise UsageError("a moment without a mask of the target was ordered", expected="moments that have one")
    return opened.target


def _folder(order: Order) -> str:
    return safe_name(order.instance.id)


def _truth_name(order: Order, place: int) -> str:
    return f"truth/{_folder(order)}/{order.numbers[place]:05d}.png"


def _mask_name(order: Order, candidate: Candidate) -> str:
    return f"masks/{_folder(order)}/{order.protocol}/{candidate.name}/{order.numbers[candidate.place]:05d}.png"


def _line(order: Order, candidate: Candidate, opened: OpenedMoment, *, generator: str) -> dict[str, Any]:
    """One line of ``items.jsonl``."""
    instance, frame = order.instance, order.numbers[candidate.place]
    moment, truth = instance.moments[order.moments[candidate.place]], candidate.made.truth
    name = f"{order.key}/{candidate.name}" + (f"/{frame:05d}" if order.protocol == "video" else "")
    row: dict[str, Any] = {"id": name, "frame": order.frames[candidate.place], "mask": _mask_name(order, candidate)}
    known = {"text": instance.query.text, "clip": instance.clip, "time_s": moment.time_s, "audio": order.sound}
    row |= {key: value for key, value in known.items() if value is not None}
    row["truth"] = {
        "mask": _truth_name(order, candidate.place),
        "iou": truth.iou,
        "defect": truth.defect,
        "difficulty": truth.difficulty,
        "action": truth.action,
    }
    row["stress"] = {"target": instance.id, "kind": candidate.kind, "params": dict(candidate.made.params)}
    row["mqa"] = {
        "uid": instance.id,
        "vid": instance.clip,
        "split": order.split,
        "protocol": order.protocol,
        "frame": frame,
        "rank": candidate.rank,
        "track": candidate.name,
        "category": instance.category,
        "template": instance.template,
        "area": round(opened.area / _target(opened).size, 6),
    }
    if candidate.negative:
        row["mqa"]["negative"] = candidate.negative
    if generator != STANDARD:
        row["mqa"]["generator"] = generator
    return row
