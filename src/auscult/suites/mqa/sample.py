"""The sample of a benchmark: few expressions per clip, balanced over clips, templates and categories.

A training clip gives one expression. A test clip gives one, and some clips a second one until the target is reached,
preferably of another object. Each step takes the expression whose category and template have been taken least so far;
ties are broken by a random draw per expression, so that the order of the listing has no effect.

Source: MQ-RAVSBench, Sec. 3.1 and 3.3, Table 1. The paper does not say how clips, templates and categories are
balanced; the rule above is ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from auscult import rng as randomness
from auscult.suites.mqa.options import EVERYTHING, LEFT_OUT, TARGETS, WITHOUT_SPLITS, BuildOptions, Target
from auscult.types import Instance

TemplateCell: TypeAlias = tuple[str, str]
"""Category and template, which are balanced."""

LEAST_MOMENTS = 2
"""A clip with fewer annotated frames is a photograph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledInstances:
    """The sampled instances."""

    image: Mapping[str, tuple[Instance, ...]]  # split to its instances, in the order of the listing
    video: Mapping[str, tuple[Instance, ...]]  # a subset; without splits that have no video target
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # counts by split and reason

    @property
    def instances(self) -> tuple[Instance, ...]:
        """All chosen ones, split by split."""
        return tuple(instance for chosen in self.image.values() for instance in chosen)


def split_of(instance: Instance) -> str:
    """The split of an instance; ``test`` if its source has none."""
    return instance.split or WITHOUT_SPLITS


def splits_in(instances: Iterable[Instance], wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The splits to take, training first: the named ones, else all except ``val`` and ``test_n``."""
    splits = {split_of(instance) for instance in instances}
    chosen = splits & set(wanted) if wanted else splits - LEFT_OUT
    order = tuple(TARGETS)
    return tuple(sorted(chosen, key=lambda name: (order.index(name) if name in order else len(order), name)))


def choose(instances: Sequence[Instance], options: BuildOptions, *, rejected: Mapping[str, str]) -> SampledInstances:
    """Choose instances without the rejected ones (id to reason), independent of their order."""
    splits = splits_in(instances, options.splits)
    left_out: dict[str, Counter[str]] = defaultdict(Counter)
    pools: dict[str, list[Instance]] = {split: [] for split in splits}
    for instance in instances:
        split = split_of(instance)
        reason = refused(instance, splits) or rejected.get(instance.id)
        if reason:
            left_out[split][reason] += 1
        else:
            pools[split].append(instance)
    image, video = {}, {}
    for split in splits:
        target, draw = options.target(split), _BalancedDraw(pools[split], options.seed)
        if options.objects == EVERYTHING:
            image[split] = draw.first(target.instances)
        else:
            image[split] = draw.with_seconds(target)
        if target.videos:
            clips = _BalancedDraw([instance for instance in image[split] if is_clip(instance)], options.seed)
            video[split] = clips.in_order(clips.balanced(clips.pool, target.videos))
    return SampledInstances(
        image=image, video=video, left_out={split: dict(counts) for split, counts in left_out.items()}
    )


def refused(instance: Instance, splits: Collection[str]) -> str:
    """Why an instance cannot be taken, without opening a file; empty if it can."""
    if instance.absent:
        return "null_expression"
    if split_of(instance) not in splits:
        return "split_not_taken"
    if all(moment.target is None for moment in instance.moments):
        return "target_missing"
    return ""


def with_photographs(instances: Sequence[Instance]) -> tuple[Instance, ...]:
    """Give every photograph of a folder its own clip name, if the folder was listed as a clip but is not one.

    If no object of a plain folder is annotated in two of its pictures, they are photographs: each is a cluster of its
    own, ``<clip>/<stem>``.
    """
    frames: dict[str, set[Path]] = defaultdict(set)
    moving: set[str] = set()
    for instance in instances:
        frames[instance.clip].update(moment.frame for moment in instance.moments)
        if len(instance.moments) > 1:
            moving.add(instance.clip)
    loose = {clip for clip, pictures in frames.items() if len(pictures) > 1 and clip not in moving}
    return tuple(
        replace(instance, clip=f"{instance.clip}/{instance.moments[0].frame.stem}")
        if instance.clip in loose
        else instance
        for instance in instances
    )


def is_clip(instance: Instance) -> bool:
    """Whether the target is annotated in more than one frame."""
    return sum(moment.target is not None for moment in instance.moments) >= LEAST_MOMENTS


class _BalancedDraw:
    """Draws instances from a pool, balanced over categories and templates; a seed breaks ties."""

    def __init__(self, pool: Sequence[Instance], seed: int) -> None:
        self.pool = pool
        self._ranks = {
            instance.id: float(randomness.generator(seed, "mqa", "sample", instance.id).random()) for instance in pool
        }
        # in units of the even share
        self._categories = dict.fromkeys((instance.category for instance in pool), 0)
        self._templates = dict.fromkeys((instance.template for instance in pool), 0)

    def first(self, count: int) -> tuple[Instance, ...]:
        """Every instance of every clip, or the first ``count`` by their draws."""
        return self.in_order(sorted(self.pool, key=lambda instance: (self._ranks[instance.id], instance.id))[:count])

    def with_seconds(self, target: Target) -> tuple[Instance, ...]:
        """One expression per clip, then second ones of the same clips until the target is reached."""
        first = self.balanced(self.pool, min(target.clips, target.instances))
        if not target.doubled:
            return self.in_order(first)
        objects = {instance.clip: _object_of(instance) for instance in first}
        taken = {instance.id for instance in first}
        rest = [instance for instance in self.pool if instance.clip in objects and instance.id not in taken]
        of_another = [instance for instance in rest if _object_of(instance) != objects[instance.clip]]
        second = self.balanced(of_another, target.instances - len(first))
        doubled = {instance.clip for instance in second}
        rest = [instance for instance in rest if instance.clip not in doubled]
        third = self.balanced(rest, target.instances - len(first) - len(second))
        return self.in_order([*first, *second, *third])

    def balanced(self, pool: Iterable[Instance], count: int) -> list[Instance]:
        """Take at most ``count`` instances of different clips, each time from the cell taken least so far."""
        cells: dict[TemplateCell, list[Instance]] = defaultdict(list)
        for instance in sorted(pool, key=lambda instance: (-self._ranks[instance.id], instance.id)):
            cells[instance.category, instance.template].append(instance)  # the lowest rank last, for pop
        chosen: list[Instance] = []
        used: set[str] = set()
        while len(chosen) < count and cells:
            best = min(cells, key=lambda cell: (self._load(cell), self._ranks[cells[cell][-1].id]))
            instance = cells[best].pop()
            if not cells[best]:
                del cells[best]
            if instance.clip not in used:
                chosen.append(instance)
                used.add(instance.clip)
                self._categories[best[0]] += len(self._categories)
                self._templates[best[1]] += len(self._templates)
        return chosen

    def _load(self, cell: TemplateCell) -> int:
        category, template = cell
        return self._categories[category] + self._templates[template]

    def in_order(self, chosen: Iterable[Instance]) -> tuple[Instance, ...]:
        """The chosen instances in the order of the pool."""
        names = {instance.id for instance in chosen}
        return tuple(instance for instance in self.pool if instance.id in names)


def _object_of(instance: Instance) -> list[object]:
    """The mask files, which identify an object of a clip."""
    return [moment.target for moment in instance.moments]


def split_remarks(instances: Sequence[Instance]) -> tuple[str, ...]:
    """Remarks on categories of ``test_s`` without training instances, and of ``test_u`` with some."""
    categories: dict[str, set[str]] = defaultdict(set)
    for instance in instances:
        if instance.category and not instance.absent:
            categories[split_of(instance)].add(instance.category)
    if not categories["train"]:
        return ()
    without = sorted(categories["test_s"] - categories["train"])
    with_it = sorted(categories["test_u"] & categories["train"])
    remarks = []
    if without:
        remarks.append(f"categories of test_s that no training instance has: {', '.join(without)}")
    if with_it:
        remarks.append(f"categories of test_u that training instances have: {', '.join(with_it)}")
    return tuple(remarks)
