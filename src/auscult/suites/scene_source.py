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
from auscult.language.facts import Facts
from auscult.language.forms import read
from auscult.language.proof import Proof
from auscult.record.lines import read_lines
from auscult.scenes.facts import facts_from_json
from auscult.suites.options import SuiteOptions

SCENE_FOLDER = "scenes"
_UNCLEAR = 0.1


def scenes_of(options: SuiteOptions, progress: Progress) -> Path:
    """Make the scenes of a run that are missing in its folder; returns their folder."""
    from auscult.jobs.make import make_scenes
    from auscult.jobs.options import MakeOptions

    folder = options.out / SCENE_FOLDER
    make_scenes(
        MakeOptions(
            out=folder,
            count=options.count,
            seed=options.seed,
            assets=options.assets,
            workers=options.workers,
            overwrite=options.overwrite,
        ),
        progress,
    )
    return folder


def shown_instances(
    listing: InstanceListing, source: Path, *, splits: Collection[str], still: bool, null: bool = False
) -> InstanceListing:
    """The instances of some splits, or all, without sentences of generated scenes that the task cannot tell.

    As ``unshown`` says; a note tells how many were left out.
    """
    hidden = unshown(source, still=still, null=null)
    mine = [one for one in listing.instances if not splits or one.split in splits]
    kept = tuple(one for one in mine if one.id not in hidden)
    if len(kept) == len(mine):
        return replace(listing, instances=kept)
    there = sum(null or not one.absent for one in mine)
    note = f"{counted(len(mine) - len(kept), 'sentence')} of {there:,} left out: only what is heard" + (
        ", moves, or is hidden at another time tells whom they mean, and a photograph is silent and still."
        if still
        else " tells whom they mean, and no sound is given."
    )
    return replace(listing, instances=kept, notes=(*listing.notes, note))


def unshown(folder: Path, *, still: bool, null: bool = False) -> frozenset[str]:
    """Ids of generated scenes' expressions that need a modality the task lacks; with ``null`` null ones as well.

    Proven from an expression's logical form and the scene's facts: without the sound, and in one frame without the
    motions, it may refer to another object than its target, or to one though it names none.
    """
    found: set[str] = set()
    for row in _rows(folder / SCENES_FILE):
        try:
            found.update(_unshown(row, still=still, null=null))
        except InputError:
            continue
    return frozenset(found)


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of an untrusted file, up to the first that is not valid."""
    try:
        yield from read_lines(file) if is_file(file) else ()
    except RecordError:
        return


def _unshown(row: Mapping[str, Any], *, still: bool, null: bool) -> Iterator[str]:
    payload, expressions = row.get("facts"), row.get("expressions")
    if not isinstance(payload, Mapping) or not isinstance(expressions, list):
        return
    facts = facts_from_json(payload)
    named = Proof(_without_passing_covers(facts)).named
    if still:
        facts = replace(facts, things=tuple(replace(obj, motion=None) for obj in facts.things))
    proof = Proof(facts, frozenset({"sight"}))
    for expression in expressions:
        if isinstance(expression, Mapping) and (null or isinstance(expression.get("target"), str)):
            form, name = read(expression.get("form")), expression.get("target")
            target = frozenset({name} if isinstance(name, str) else ())
            if proof.possible(form) != target or (still and named(form) != target):
                yield str(expression.get("uid"))


def _without_passing_covers(facts: Facts) -> Facts:
    """The facts with occlusion made uncertain where either object moves: a single frame need not show it."""
    still = {obj.id for obj in facts.things if obj.motion == "still"}
    return replace(
        facts,
        things=tuple(
            obj if {obj.id, *obj.covered_by} <= still else replace(obj, hidden=min(obj.hidden, _UNCLEAR))
            for obj in facts.things
        ),
    )
