"""Where the cases of a run come from: a data set, or scenes that are made for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from auscult.cases.datasets.avs_scenes import sounding_instances
from auscult.cases.datasets.refavs_table import has_heading
from auscult.cases.datasets.refdavis_sentences import FILE as EXPRESSIONS
from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.layouts.refavs import COLUMNS, TABLE
from auscult.cases.listing import ListOptions
from auscult.cases.walk import is_file
from auscult.errors import UsageError
from auscult.jobs.progress import Progress
from auscult.suites.r2.tasks import TaskRules
from auscult.suites.registered import SCENES, SuiteOptions
from auscult.suites.scene_source import scenes_of
from auscult.types import Instance


def listing_of(options: SuiteOptions, task: TaskRules, progress: Progress) -> InstanceListing:
    """List what the data refers to.

    Raises:
        NothingToDo: It holds nothing.
        UsageError: There is no such data, or an option does not fit it.
    """
    source = scenes_of(options, progress) if options.data == SCENES else Path(options.data)
    if not source.exists():
        raise UsageError(
            "there is no such file or folder",
            path=source,
            expected="a source with true masks, or the word scenes",
            hint="see `auscult run --help`",
        )
    if task.guidance == "sound" and has_heading(source / TABLE, *COLUMNS):
        return sounding_instances(source)
    if task.guidance == "sentences" and is_file(source / EXPRESSIONS):
        source = source / EXPRESSIONS
    tested = options.tested
    listing = list_instances(source, ListOptions(images=options.images, texts=tested.texts, masks=tested.masks))
    return replace(listing, instances=_one_per_object(listing.instances)) if task.guidance == "masks" else listing


def _one_per_object(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """The first instance of every object: several sentences may name one, which a mask says once."""
    first: dict[str, Instance] = {}
    for one in instances:
        if not one.absent:
            first.setdefault(repr((one.clip, [moment.target for moment in one.moments])), one)
    return tuple(first.values())
