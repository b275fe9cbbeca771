"""Where the cases of a run come from: a data set, or scenes that are made for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from auscult.cases.datasets.refavs import has_heading
from auscult.cases.datasets.refdavis import FILE as EXPRESSIONS
from auscult.cases.ids import counted
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.layouts.refavs import COLUMNS, TABLE
from auscult.cases.listing import ListOptions
from auscult.cases.walk import is_file
from auscult.errors import UsageError
from auscult.jobs.progress import Progress
from auscult.scenes.dataset import sounding_instances
from auscult.scenes.splits import SPLITS
from auscult.suites.r2.tasks import TaskRules
from auscult.suites.registered import SCENES, SuiteOptions
from auscult.suites.scene_source import scenes_of, unshown
from auscult.types import Instance


def listing_of(options: SuiteOptions, task: TaskRules, progress: Progress) -> InstanceListing:
    """List what the data refers to.

    Raises:
        NothingToDo: It holds nothing.
        UsageError: There is no such data, or an option does not fit it.
    """
    if options.data == SCENES:
        _refuse_unknown(options.splits, SPLITS)
    source = scenes_of(options, progress) if options.data == SCENES else Path(options.data)
    listing = _listed(source, options, task)
    _refuse_unknown(options.splits, dict.fromkeys(one.split for one in listing.instances))
    return listing


def _refuse_unknown(wanted: Iterable[str], known: Iterable[str]) -> None:
    each = [one for one in known if one]
    for split in wanted:
        if split not in each:
            raise UsageError(
                f"the data have no split {split[:40]!r}",
                expected=f"one of: {', '.join(each)}" if each else "no --split: the data are not divided",
            )


def _listed(source: Path, options: SuiteOptions, task: TaskRules) -> InstanceListing:
    if task.guidance == "sound" and has_heading(source / TABLE, *COLUMNS):
        return sounding_instances(source)
    if task.guidance == "sentences" and is_file(source / EXPRESSIONS):
        source = source / EXPRESSIONS
    tested = options.tested
    listing = list_instances(source, ListOptions(images=options.images, texts=tested.texts, masks=tested.masks))
    if task.guidance == "masks":
        return replace(listing, instances=_one_per_object(listing.instances))
    return _shown(listing, source, options, still=task.still)


def _shown(listing: InstanceListing, source: Path, options: SuiteOptions, *, still: bool) -> InstanceListing:
    """The instances without those of generated scenes whose sentence speaks of what the task does not show."""
    hidden = unshown(source, still=still) if options.tested.texts is None else frozenset()
    mine = [one for one in listing.instances if not options.splits or one.split in options.splits]
    count = sum(one.id in hidden and not one.absent for one in mine)
    if not count:
        return listing
    there = sum(not one.absent for one in mine)
    told = f"{counted(count, 'sentence')} of {there:,} left out: only what is heard" + (
        ", moves, or is hidden at another time tells whom they mean, and a photograph is silent and still."
        if still
        else " tells whom they mean, and no sound is given."
    )
    kept = tuple(one for one in listing.instances if one.id not in hidden)
    return replace(listing, instances=kept, notes=(*listing.notes, told))


def _one_per_object(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """The first instance of every object: several sentences may name one, which a mask says once."""
    first: dict[str, Instance] = {}
    for one in instances:
        if not one.absent:
            first.setdefault(repr((one.clip, [moment.target for moment in one.moments])), one)
    return tuple(first.values())
