"""Scenes that a suite makes for itself, where ``--data scenes`` was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from auscult.cases.datasets.refavs import FILE as SCENES_FILE
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
    """Make the scenes of a run into its folder, as far as they are not there, and say where."""
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


def unshown(folder: Path, *, still: bool) -> frozenset[str]:
    """Which sentences of generated scenes nobody can follow who is not given what they speak of.

    Proven from a sentence's logical form and the scene's facts: without the sound, and of one frame without the
    motions, it may mean another thing than the one it names.
    """
    found: set[str] = set()
    for row in _rows(folder / SCENES_FILE):
        try:
            found.update(_unshown(row, still=still))
        except InputError:
            continue
    return frozenset(found)


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of a file of anyone's, up to one that is none."""
    try:
        yield from read_lines(file) if is_file(file) else ()
    except RecordError:
        return


def _unshown(row: Mapping[str, Any], *, still: bool) -> Iterator[str]:
    told, expressions = row.get("facts"), row.get("expressions")
    if not isinstance(told, Mapping) or not isinstance(expressions, list):
        return
    facts = facts_from_json(told)
    named = Proof(_without_passing_covers(facts)).named
    if still:
        facts = replace(facts, things=tuple(replace(thing, motion=None) for thing in facts.things))
    proof = Proof(facts, frozenset({"sight"}))
    for one in expressions:
        if isinstance(one, Mapping) and isinstance(one.get("target"), str):
            form, target = read(one.get("form")), frozenset({one["target"]})
            if proof.possible(form) != target or (still and named(form) != target):
                yield str(one.get("uid"))


def _without_passing_covers(facts: Facts) -> Facts:
    """The facts, unclear of what hides what where one of the two moves: one frame need not show it."""
    still = {thing.id for thing in facts.things if thing.motion == "still"}
    return replace(
        facts,
        things=tuple(
            thing if {thing.id, *thing.covered_by} <= still else replace(thing, hidden=min(thing.hidden, _UNCLEAR))
            for thing in facts.things
        ),
    )
