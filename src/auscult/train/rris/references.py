"""What a segmenter learns from: references of an INPUT with their sentences, true and false, and batches of them.

A reference is an object of a picture or clip. Each epoch shows one of its sentences, by turns a true and a false one
(Sec. 4.3: 1:1); a false one has an empty mask. A batch follows from (seed, number) and the references alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from auscult.nets.refsegformer.view import squeezed
from auscult.rng import generator
from auscult.suites.scene_source import shown_instances
from auscult.train.rris.plan import Plan
from auscult.types import Instance, Moment

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
    """References, each with one sentence."""

    pictures: NDArray[np.uint8]  # (n, side, side, 3), RGB
    truth: NDArray[np.bool_]  # (n, side, side), empty for a false sentence
    texts: tuple[str, ...]
    exists: NDArray[np.bool_]  # (n,)


def read_references(source: Path, plan: Plan, *, images: Path | None = None) -> tuple[list[Reference], InstanceListing]:
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
    found = [one for clip in clips.values() for one in _of_clip(clip, plan)]
    if not found:
        raise UsageError(
            "there is nothing to learn from",
            expected=f"expressions of the split {plan.split!r} with true masks",
            hint="; ".join(listing.notes),
            path=source,
        )
    return found, listing


def _of_clip(clip: Sequence[Instance], plan: Plan) -> list[Reference]:
    """The references of a clip; null expressions may have a split of their own, and count to that of the others."""
    there = [one for one in clip if not one.absent]
    if {one.split for one in there or clip} - {plan.split, ""}:
        return []
    found = by_reference(there if plan.positives_only else (*there, *(one for one in clip if one.absent)))
    known = {key: same for key, same in found.items() if not same[0].absent}
    keys = cycle(tuple(known))
    for one in (one for same in found.values() if same[0].absent for one in same):
        known.setdefault(next(keys, one.reference), []).append(one)
    return [
        Reference(
            id=same[0].id,
            moments=same[0].moments,
            true=_texts(one for one in same if not one.absent),
            false=_texts(one for one in same if one.absent),
            category=same[0].category,
        )
        for same in known.values()
    ]


def _texts(instances: Iterable[Instance]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.query.text for one in instances if one.query.text))


class Feed:
    """Makes the batches of a plan."""

    def __init__(self, references: Sequence[Reference], plan: Plan, *, seed: int) -> None:
        self.references, self.plan, self.seed = references, plan, seed
        self.each = max(1, len(references) // plan.batch)
        self.steps = self.each * plan.epochs

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> Batch:
        """A batch by its number: the part of it that one of several processes computes."""
        epoch, at = divmod(number, self.each)
        order = generator(self.seed, "rris", "order", epoch).permutation(len(self.references))
        size = self.plan.batch
        chosen = np.take(order, np.arange(at * size, (at + 1) * size), mode="wrap")[process::processes]
        rng = generator(self.seed, "rris", "batch", number, process)
        shown = [self._shown(int(which), epoch, rng) for which in chosen]
        return Batch(
            pictures=np.stack([one[0] for one in shown]),
            truth=np.stack([one[1] for one in shown]),
            texts=tuple(one[2] for one in shown),
            exists=np.array([one[3] for one in shown], dtype=np.bool_),
        )

    def _shown(
        self, which: int, epoch: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], str, bool]:
        """A reference in an epoch; where its picture cannot be read, another one."""
        for _ in range(TRIES):
            reference = self.references[which]
            try:
                return self._drawn(reference, epoch, rng)
            except (AuscultError, cv2.error):
                which = int(rng.integers(len(self.references)))
        raise InputError(f"{TRIES} references in a row cannot be read", hint="are the pictures where the data says?")

    def _drawn(
        self, reference: Reference, epoch: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], str, bool]:
        first = int(generator(self.seed, "rris", "first", reference.id).integers(2))
        true = bool((first + epoch) % 2) if reference.true and reference.false else bool(reference.true)
        texts = reference.true if true else reference.false
        text = " ".join(texts) if self.plan.text_prompt else texts[int(rng.integers(len(texts)))]
        side = self.plan.design.side
        moments = [one for one in reference.moments if one.target is not None] if true else reference.moments
        for at in rng.permutation(len(moments)).tolist():
            frame = read_frame(moments[at].frame)
            target = moments[at].target if true else None
            mask = read_mask(target, size=(frame.shape[0], frame.shape[1])).mask if target is not None else None
            if mask is None or mask.any():
                return squeezed(frame, side), truth(mask, side), text, true
        raise InputError(f"{reference.id} is seen in none of its frames")


def truth(mask: NDArray[np.bool_] | None, side: int) -> NDArray[np.bool_]:
    """A mask (H, W) as a square of ``side`` pixels; empty where there is none."""
    if mask is None:
        return np.zeros((side, side), np.bool_)
    grey = np.where(mask, 255, 0).astype(np.uint8)
    return np.asarray(cv2.resize(grey, (side, side), interpolation=cv2.INTER_LINEAR) >= 128, dtype=np.bool_)
