"""What a segmenter learns from: references of an INPUT with their sentences, true and false, and batches of them.

A reference is an object of a picture or clip. Each epoch shows one of its sentences, by turns a true and a false one
(Sec. 4.3: 1:1); a false one has an empty mask. A batch follows from (seed, number) and the references alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.datasets.refdavis import sentences_of
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import ListOptions
from auscult.cases.references import by_reference
from auscult.errors import AuscultError, InputError, UsageError
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.nets.refsegformer.settings import squeezed
from auscult.rng import generator, pick
from auscult.suites.scene_source import shown_instances
from auscult.train.rris.trainable import SegmenterPlan
from auscult.types import Instance, MaskRef, Moment

TRIES: Final = 50
"""Unreadable pictures in a row that end a training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An object, or a picture about which only false sentences are known."""

    id: str
    moments: tuple[Moment, ...]  # where it may be shown; targets None where there is no object
    true: tuple[str, ...]
    false: tuple[str, ...]
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Pictures, each with as many sentences as the others."""

    pictures: NDArray[np.uint8]  # (p, side, side, 3), RGB
    texts: tuple[str, ...]  # n, picture by picture
    truth: NDArray[np.bool_]  # (n, side, side), empty for a false sentence
    exists: NDArray[np.bool_]  # (n,)
    objects: NDArray[np.bool_]  # (k, side, side), what sentences are about; with `choosing` all objects
    of: NDArray[np.int64]  # (k,), of each object the picture
    chosen: NDArray[np.int64]  # (n,), of each sentence the object, or -1


def read_references(
    source: Path, plan: SegmenterPlan, *, images: Path | None = None
) -> tuple[list[Reference], InstanceListing]:
    """List the references of an INPUT that a plan learns from; no picture is opened.

    ``images`` is the folder of the pictures, where the data does not say. Of generated scenes, sentences that sound or
    motion decides are left out, as in ``auscult run rris``. False sentences that name no reference are dealt out among
    those of their picture or clip.
    """
    source = sentences_of(source)
    listing = shown_instances(
        list_instances(source, ListOptions(images=images)), source, splits=(), still=True, null=True
    )
    clips: dict[str, list[Instance]] = {}
    for instance in listing.instances:
        if instance.query.text:
            clips.setdefault(instance.clip, []).append(instance)
    references = [reference for clip in clips.values() for reference in _of_clip(clip, plan)]
    if not references:
        raise UsageError(
            "there is nothing to learn from",
            expected=f"expressions of the split {plan.split!r} with true masks",
            hint="; ".join(listing.notes),
            path=source,
        )
    return references, listing


def _of_clip(clip: Sequence[Instance], plan: SegmenterPlan) -> list[Reference]:
    """The references of a clip; null expressions may have a split of their own, and count to that of the others."""
    positives = [instance for instance in clip if not instance.absent]
    if {instance.split for instance in positives or clip} - {plan.split, ""}:
        return []
    negatives = [] if plan.positives_only else [instance for instance in clip if instance.absent]
    groups = by_reference((*positives, *negatives))
    references = {key: same for key, same in groups.items() if not same[0].absent}
    keys = cycle(tuple(references))
    for instance in (instance for same in groups.values() if same[0].absent for instance in same):
        references.setdefault(next(keys, instance.reference), []).append(instance)
    return [
        Reference(
            id=same[0].id,
            moments=same[0].moments,
            true=_texts(instance for instance in same if not instance.absent),
            false=_texts(instance for instance in same if instance.absent),
            category=same[0].category,
        )
        for same in references.values()
    ]


def _texts(instances: Iterable[Instance]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(instance.query.text for instance in instances if instance.query.text))


class Feed:
    """Makes the batches of a plan."""

    def __init__(self, references: Sequence[Reference], plan: SegmenterPlan, *, seed: int) -> None:
        self.references, self.plan, self.seed = references, plan, seed
        self._seen: dict[Path, list[tuple[Reference, MaskRef | None]]] = {}
        for reference in references:
            for moment in reference.moments:
                if reference.false or moment.target is not None:
                    self._seen.setdefault(moment.frame, []).append((reference, moment.target))
        self._units = tuple(references) if plan.sentences == 1 else tuple(self._seen)
        self._pictures = max(1, plan.batch // plan.sentences)
        self.each = max(1, len(self._units) // self._pictures)
        self.steps = self.each * plan.epochs

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> Batch:
        """A batch by its number: the part of it that one of several processes computes."""
        epoch, position = divmod(number, self.each)
        order = generator(self.seed, "rris", "order", epoch).permutation(len(self._units))
        size = self._pictures
        chosen = np.take(order, np.arange(position * size, (position + 1) * size), mode="wrap")[process::processes]
        rng = generator(self.seed, "rris", "batch", number, process)
        samples = [self._shown(int(which), epoch, rng) for which in chosen]
        first = np.cumsum([0, *(len(sample.objects) for sample in samples)])
        side = self.plan.design.side
        empty = np.zeros((1, side, side), np.bool_)
        objects = np.concatenate([empty, *(sample.objects for sample in samples)])
        numbers = [
            -1 if number is None else int(first[index]) + number
            for index, sample in enumerate(samples)
            for number in sample.chosen
        ]
        return Batch(
            pictures=np.stack([sample.picture for sample in samples]),
            texts=tuple(text for sample in samples for text in sample.texts),
            truth=objects[np.array(numbers) + 1],
            exists=np.array(numbers) >= 0,
            objects=objects[1:],
            of=np.repeat(np.arange(len(samples)), [len(sample.objects) for sample in samples]),
            chosen=np.array(numbers, np.int64),
        )

    def _shown(self, which: int, epoch: int, rng: np.random.Generator) -> _ShownPicture:
        """A reference or a picture in an epoch; where it cannot be read, another one."""
        for _ in range(TRIES):
            unit = self._units[which]
            try:
                return (
                    self._of_reference(unit, epoch, rng) if isinstance(unit, Reference) else self._of_picture(unit, rng)
                )
            except (AuscultError, cv2.error):
                which = int(rng.integers(len(self._units)))
        raise InputError(f"{TRIES} references in a row cannot be read", hint="are the pictures where the data says?")

    def _of_reference(self, reference: Reference, epoch: int, rng: np.random.Generator) -> _ShownPicture:
        first = int(generator(self.seed, "rris", "first", reference.id).integers(2))
        true = bool((first + epoch) % 2) if reference.true and reference.false else bool(reference.true)
        text = self._text(reference, rng, true=true)
        moments = [moment for moment in reference.moments if moment.target is not None] if true else reference.moments
        for index in rng.permutation(len(moments)).tolist():
            picture, objects = self._looked(moments[index].frame, wanted={reference.id} if true else set())
            if not true or reference.id in objects:
                return _ShownPicture.of(picture, objects, [(text, reference.id if true else None)])
        raise InputError(f"{reference.id} is seen in none of its frames")

    def _of_picture(self, path: Path, rng: np.random.Generator) -> _ShownPicture:
        """As many sentences as the plan says, of the references by turns; half of them, rounded down, false."""
        references = [reference for reference, _ in self._seen[path]]
        picture, objects = self._looked(path, wanted={reference.id for reference in references})
        true = [reference for reference in references if reference.true and reference.id in objects]
        false = [reference for reference in references if reference.false]
        count = self.plan.sentences // 2 if true else self.plan.sentences
        counts = (self.plan.sentences - count, count) if false else (self.plan.sentences, 0)
        if not true and not false:
            raise InputError("no object is seen", path=path)
        sentences = [
            (self._text(group[index], rng, true=group is true), group[index].id if group is true else None)
            for group, count in zip((true, false), counts, strict=True)
            for index in np.resize(rng.permutation(len(group)), count).tolist()
        ]
        return _ShownPicture.of(picture, objects, sentences)

    def _text(self, reference: Reference, rng: np.random.Generator, *, true: bool) -> str:
        texts = reference.true if true else reference.false
        return " ".join(texts) if self.plan.text_prompt else pick(rng, texts)

    def _looked(
        self, path: Path, *, wanted: AbstractSet[str]
    ) -> tuple[NDArray[np.uint8], dict[str, NDArray[np.bool_]]]:
        """A picture, and by reference the masks that are wanted, or all with ``choosing``; none that is empty."""
        side = self.plan.design.side
        frame = read_frame(path)
        size = (frame.shape[0], frame.shape[1])
        masks = {
            reference.id: read_mask(target, size=size).mask
            for reference, target in self._seen.get(path, ())
            if target is not None and (reference.id in wanted or self.plan.choosing)
        }
        return squeezed(frame, side), {name: truth(mask, side) for name, mask in masks.items() if mask.any()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ShownPicture:
    """A picture with sentences."""

    picture: NDArray[np.uint8]
    objects: NDArray[np.bool_]
    texts: tuple[str, ...]
    chosen: tuple[int | None, ...]

    @classmethod
    def of(
        cls,
        picture: NDArray[np.uint8],
        objects: Mapping[str, NDArray[np.bool_]],
        asked: Sequence[tuple[str, str | None]],
    ) -> _ShownPicture:
        """Sentences, each with the reference that it is true of."""
        numbers = {name: number for number, name in enumerate(objects)}
        return cls(
            picture=picture,
            objects=np.array([*objects.values()], np.bool_).reshape(-1, *picture.shape[:2]),
            texts=tuple(text for text, _ in asked),
            chosen=tuple(None if name is None else numbers[name] for _, name in asked),
        )


def truth(mask: NDArray[np.bool_] | None, side: int) -> NDArray[np.bool_]:
    """A mask (H, W) as a square of ``side`` pixels; empty where there is none."""
    if mask is None:
        return np.zeros((side, side), np.bool_)
    grey = np.where(mask, 255, 0).astype(np.uint8)
    return np.asarray(cv2.resize(grey, (side, side), interpolation=cv2.INTER_LINEAR) >= 128, dtype=np.bool_)
