"""Scenes that a suite generates itself, with ``--data scenes``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from auscult.cases.datasets.refavs import FILE as SCENES_FILE
from auscult.cases.ids import counted
from auscult.cases.instances import InstanceListing
from auscult.cases.walk import is_file
from auscult.errors import InputError, RecordError
from auscult.jobs.runner import Progress
from auscult.record.lines import read_lines
from auscult.scenes.facts import hidden_sentences
from auscult.suites.options import SuiteOptions

SCENE_FOLDER = "scenes"


def scenes_of(options: SuiteOptions, progress: Progress) -> Path:
    """Make the missing scenes of a run; returns their folder."""
    from auscult.jobs.make import make_scenes
    from auscult.jobs.options import MakeOptions

    make_options = MakeOptions(count=options.count, assets=options.assets, **options.making(SCENE_FOLDER))
    make_scenes(make_options, progress)
    return make_options.out


def shown_instances(
    listing: InstanceListing, source: Path, *, splits: Collection[str], still: bool, null: bool = False
) -> InstanceListing:
    """The instances of some splits, or all, without sentences of scenes that need a modality the task lacks.

    ``unshown`` lists those; a note has their count.
    """
    hidden = unshown(source, still=still, null=null)
    instances = [instance for instance in listing.instances if not splits or instance.split in splits]
    visible = tuple(instance for instance in instances if instance.id not in hidden)
    if len(visible) == len(instances):
        return replace(listing, instances=visible)
    total = sum(null or not instance.absent for instance in instances)
    note = f"{counted(len(instances) - len(visible), 'sentence')} of {total:,} left out: only what is heard" + (
        ", moves, or is hidden at another time tells whom they mean, and a photograph is silent and still."
        if still
        else " tells whom they mean, and no sound is given."
    )
    return replace(listing, instances=visible, notes=(*listing.notes, note))


def unshown(folder: Path, *, still: bool, null: bool = False) -> frozenset[str]:
    """Ids of expressions of generated scenes that need a modality the task lacks; with ``null`` also null ones."""
    hidden: set[str] = set()
    for row in _rows(folder / SCENES_FILE):
        try:
            hidden.update(hidden_sentences(row, still=still, null=null))
        except InputError:
            continue
    return frozenset(hidden)


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of an untrusted file, up to the first that is not valid."""
    try:
        yield from read_lines(file) if is_file(file) else ()
    except RecordError:
        return
