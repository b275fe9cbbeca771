"""Cases from instances: a photograph and one sentence, which names an object or nothing.

A reference is an object with its sentences and the negative ones made from them. Sentences without reference, such as
null expressions of generated scenes, are one reference for each picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from auscult.cases.datasets.refdavis import sentences_of
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import ListOptions
from auscult.errors import InputError
from auscult.jobs.predict import MediaReader
from auscult.jobs.runner import Progress
from auscult.media.frames import frame_size
from auscult.media.masks import read_mask
from auscult.models.base import Request
from auscult.record.digest import digest_file, digest_json
from auscult.suites.core.conditions import Condition
from auscult.suites.core.requests import CaseList
from auscult.suites.options import SCENES, refuse_unknown_splits
from auscult.suites.rris import RrisOptions
from auscult.suites.scene_source import scenes_of, shown_instances
from auscult.types import Instance, Mask, MaskRef, Moment, Query

NO_KIND: Final = "not told"
"""The kind of a negative sentence if the data do not say how it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RrisCase:
    """A photograph and one sentence."""

    id: str  # unique in the run
    clip: str  # the photograph or its video: the cluster of intervals
    split: str  # ``seen``, ``unseen``, or the source's own word
    text: str
    frame: Path
    size: tuple[int, int]  # (height, width)
    target: MaskRef | None  # None for a negative sentence
    reference: str  # shared by the sentences of one object
    kind: str  # the kind of negation; empty for a positive sentence
    category: str  # of the object; empty for a negative sentence, or unknown
    digest: str  # hash of what a model can see of it
    truth: str  # hash of its true mask

    @property
    def frames(self) -> tuple[Path, ...]:
        """Its picture."""
        return (self.frame,)

    @property
    def about(self) -> dict[str, str | int]:
        """The data of results besides areas."""
        return {"reference": self.reference, "kind": self.kind, "picture_px": self.size[0] * self.size[1]}

    @property
    def shown(self) -> dict[str, Any]:
        """The fields of its line for people."""
        return {"text": self.text, "size": list(self.size)}

    def mask(self) -> Mask | None:
        """The true mask, bool (H, W); None for a negative sentence."""
        return None if self.target is None else read_mask(self.target, size=self.size).mask


@dataclass(frozen=True, slots=True)
class RrisPrepared:
    """A case ready to be sent to a model; goes to a worker process."""

    case: RrisCase
    condition: Condition

    def ask(self, reader: MediaReader) -> Request:
        """The request."""
        case = self.case
        return Request(
            id=case.id,
            condition=self.condition.name,
            names=(case.frame.stem,),
            size=case.size,
            query=Query(case.text),
            frames=lambda: reader.frames(case.frames, case.size).copy(),
        )


def listing_of(options: RrisOptions, progress: Progress) -> InstanceListing:
    """List the sentences of the data, without those of scenes that need sound or motion."""
    source = sentences_of(scenes_of(options, progress) if options.data == SCENES else Path(options.data))
    listing = list_instances(source, ListOptions(images=options.images))
    refuse_unknown_splits(options.splits, dict.fromkeys(instance.split for instance in listing.instances))
    listing = shown_instances(listing, source, splits=options.splits, still=True, null=True)
    if any(instance.reference for instance in listing.instances):
        return listing
    note = "The data know no references: the sentences of a picture are taken as those of one."
    return replace(listing, notes=(*listing.notes, note))


def cases_of(instances: Iterable[Instance], *, step: Callable[[], None] = lambda: None) -> CaseList[RrisCase]:
    """Make the cases; a sentence without picture, words or true mask is left out, with an error."""
    case_list, hash_of, size_of = CaseList[RrisCase](), cache(digest_file), cache(frame_size)
    for instance in instances:
        case_list.add(instance.id, partial(_case, instance, hash_of, size_of))
        step()
    case_list.cases.sort(key=lambda case: (case.clip, str(case.frame)))  # a worker keeps the picture of the last one
    return case_list


def _case(instance: Instance, hash_of: Callable[[Path], str], size_of: Callable[[Path], tuple[int, int]]) -> RrisCase:
    text = (instance.query.text or "").strip()
    if not text:
        raise InputError(
            "nothing says which object is meant",
            expected="a referring expression, or one that names nothing",
            path=instance.source,
        )
    moment = _moment(instance)
    size, target = size_of(moment.frame), None if instance.absent else moment.target
    frame_digest = hash_of(moment.frame)
    truth = "" if target is None else repr(target.segmentation)
    if target is not None and target.path is not None:
        truth = repr([hash_of(target.path) if target.path.is_file() else None, target.index])
    return RrisCase(
        id=instance.id,
        clip=instance.clip,
        split=instance.split,
        text=text,
        frame=moment.frame,
        size=size,
        target=target,
        reference=instance.reference or f"{instance.clip}/{moment.frame.stem}",
        kind=(instance.negation or NO_KIND) if instance.absent else "",
        category="" if instance.absent else instance.category,
        digest=digest_json([frame_digest, text]),
        truth=digest_json([instance.absent, truth]),
    )


def _moment(instance: Instance) -> Moment:
    """The moment nearest to the middle; for a positive sentence one that shows the object."""
    middle = (len(instance.moments) - 1) / 2
    nearest = sorted(instance.moments, key=lambda one: abs(instance.moments.index(one) - middle))
    for moment in nearest:
        if instance.absent or _shows(moment):
            return moment
    raise InputError(
        "the object is in no frame that has a true mask", expected="a true mask that shows it", path=instance.source
    )


def _shows(moment: Moment) -> bool:
    return moment.target is not None and bool(read_mask(moment.target, size=frame_size(moment.frame)).mask.any())
