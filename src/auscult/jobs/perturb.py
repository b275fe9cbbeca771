"""``auscult stress vision|sound|sentences|timing|recipe``: perturbed copies of an INPUT, a folder for each recipe.

::

    DIR/<recipe>/       the perturbed files; for items an INPUT that ``audit`` takes
    DIR/outputs.jsonl   of every output the hash of what it decodes to, its plan, and what became of the truth
    DIR/manifest.json, errors.jsonl, summary.json, tables/

The same command again continues where a stopped run left off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult import registry
from auscult.jobs.errors import ErrorLog
from auscult.jobs.manifests import SAME_RESULT, InputOptions
from auscult.jobs.perturb_checks import check_kept, check_ranges, idle_options
from auscult.jobs.perturb_choice import Choice, Wanted, tasks_of, untouched
from auscult.jobs.perturb_kept import Keeper, content_digest, refuse_changed
from auscult.jobs.perturb_lines import item_lines
from auscult.jobs.perturb_parts import Kind, Part, Parts
from auscult.jobs.perturb_tables import perturbed_tables
from auscult.jobs.perturb_texts import written
from auscult.jobs.perturb_units import parts_of
from auscult.jobs.perturb_work import STAGE, Done, Task, done_id, failed_rows_of, make_perturber
from auscult.jobs.progress import Progress, Silent
from auscult.media.video_write import LOSSLESS
from auscult.media.wav import Depth
from auscult.outcome import Failed
from auscult.record.folder import RunFolder, open_run
from auscult.record.lines import dump
from auscult.record.manifest import build
from auscult.record.schema import Summary, error_to_json
from auscult.report.tables import Table
from auscult.stress.recipe import Recipe
from auscult.work.pool import Task as PoolTask
from auscult.work.pool import run_tasks

_CHUNKS: Final[Mapping[Kind, int]] = {"picture": 4, "frame": 8, "sentence": 256, "text": 256}


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbOptions(InputOptions):
    """What to perturb and how.

    Attributes:
        wanted: Kinds, severities and schedule, or a preset.
        seed: The same seed makes the same material.
        keep: Words or phrases that sentences keep.
        keep_head: Whether sentences keep their head noun, where one is found.
        quality: Of videos: 0 for lossless, else x264's constant quantiser, 1 to 51.
        depth: Of sounds: ``int16`` or ``float32``.
        video_timeout_s: Limit for one video; None for none. ``timeout_s`` is for a few of the other parts together.
    """

    wanted: Wanted
    seed: int = 0
    keep: tuple[str, ...] = ()
    keep_head: bool = False
    quality: int = LOSSLESS
    depth: Depth = "int16"
    video_timeout_s: float | None = None


def perturb(options: PerturbOptions, progress: Progress | None = None) -> tuple[Summary, list[Table]]:
    """Perturb an INPUT into an output folder.

    Returns:
        What ``summary.json`` says, and tables of what was made.

    Raises:
        NothingToDo: INPUT holds nothing that was asked for could perturb.
        UsageError: An argument is unknown or out of range, or an extra is missing.
        RecordError: The output folder is in use, or was made with other arguments.
    """
    listener = progress or Silent()
    check_ranges(options)
    recipes = options.wanted.recipes()
    rooms = options.wanted.rooms(recipes)
    check_kept(options, rooms)
    made_by = _origins(recipes)
    by_group = bool(options.wanted.preset)
    parts = parts_of(options.source, options.listing, rooms=rooms, out=options.out, by_group=by_group)
    _check_extras(parts.parts)
    choices = options.wanted.choices(parts, recipes, seed=options.seed)
    parts = replace(
        parts, notes=(*parts.notes, *idle_options(options.given, parts.parts), *untouched(parts.parts, choices))
    )
    manifest = _manifest(options, parts, made_by)
    with open_run(options.out, manifest, overwrite=options.overwrite, ignore=SAME_RESULT) as run:
        run.remove("errors.jsonl")  # whatever failed before is tried again now
        errors = ErrorLog(run)
        errors.keep(error_to_json(name, error) for name, error in parts.errors)
        keeper = Keeper(run, errors)
        wanted = {choice.name: [part for part in parts.parts if choice.takes(part)] for choice in choices}
        refuse_changed(keeper.rows, wanted)
        listener.stage("perturbing", sum(map(len, wanted.values())))
        for tasks, timeout_s in _tasks(options, choices, wanted=wanted, keeper=keeper, listener=listener):
            _work(options, tasks, timeout_s=timeout_s, keeper=keeper, listener=listener)
        return _finish(run, options, parts=parts, choices=choices, rows=keeper.rows)


def _origins(recipes: Iterable[Recipe]) -> dict[str, list[Any]]:
    """What each recipe does, and which package it comes from.

    Raises:
        UsageError: A plug-in cannot be loaded; the run ends before it begins.
    """
    stressors = {step.name: registry.find("stressor", step.name) for recipe in recipes for step in recipe.steps}
    for entry in stressors.values():
        entry.load()
    return {
        recipe.name: [[step.name, step.strength, stressors[step.name].origin] for step in recipe.steps]
        for recipe in recipes
    }


def _check_extras(parts: Iterable[Part]) -> None:
    if any(part.kind == "video" for part in parts):
        from auscult.media.containers import load_av

        load_av()


def _manifest(options: PerturbOptions, parts: Parts, recipes: Mapping[str, Any]) -> dict[str, Any]:
    plain = asdict(options.listing)
    listing = {key: str(value) if isinstance(value, Path) else value for key, value in plain.items()}
    wanted = options.wanted
    everything = {
        "source": str(options.source.resolve()),
        "out": str(options.out),
        "kind": wanted.kinds,
        "severity": wanted.severities or wanted.usual_severities,
        "dynamic": wanted.schedule,
        "preset": wanted.preset,
        "place": wanted.place,
        "seed": options.seed,
        "keep": list(options.keep),
        "keep_head": options.keep_head,
        "quality": options.quality,
        "depth": options.depth,
        "workers": options.crew_size,
        "timeout": options.timeout_s,
        **listing,
    }
    spelled = options.given | {"source", "out"}
    return build(
        f"stress {wanted.room}",
        given={key: value for key, value in everything.items() if key in spelled},
        defaulted={key: value for key, value in everything.items() if key not in spelled},
        seeds={"seed": options.seed},
        inputs={
            "layout": parts.layout,
            "items": len(parts.parts),
            "notes": list(parts.notes),
            "recipes": recipes,
        },
    )


def _tasks(
    options: PerturbOptions,
    choices: Sequence[Choice],
    *,
    wanted: Mapping[str, Sequence[Part]],
    keeper: Keeper,
    listener: Progress,
) -> Iterator[tuple[list[Task], float | None]]:
    """What is still to be done, kind by kind, with the limit for each task."""
    for kind in dict.fromkeys(part.kind for parts in wanted.values() for part in parts):
        tasks: list[Task] = []
        for choice in choices:
            mine = [part for part in wanted[choice.name] if part.kind == kind]
            left = [part for part in mine if not keeper.has(choice.name, part)]
            listener.step(len(mine) - len(left))
            tasks += tasks_of([choice], left, chunk=_CHUNKS.get(kind, 1))
        yield tasks, options.video_timeout_s if kind == "video" else options.timeout_s


def _work(
    options: PerturbOptions,
    tasks: Sequence[Task],
    *,
    timeout_s: float | None,
    keeper: Keeper,
    listener: Progress,
) -> None:
    """Do tasks; parts whose task failed as a whole are tried one by one, so that one of them costs no other."""
    make = partial(
        make_perturber,
        options.out.resolve(),
        seed=options.seed,
        keep=options.keep,
        keep_head=options.keep_head,
        quality=options.quality,
        depth=options.depth,
    )
    again: list[Task] = []
    for attempt in (tasks, again):
        named = {done_id(recipe.name, members[0].id): (recipe, members) for recipe, members in attempt}
        pool = (PoolTask(name, keeper.claimed(task)) for name, task in named.items())
        for result in run_tasks(make, pool, workers=options.crew_size, timeout_s=timeout_s, stage=STAGE):
            recipe, members = named[result.key]
            if isinstance(result.outcome, Failed):
                keeper.tidied((recipe, members))
            if isinstance(result.outcome, Failed) and len(members) > 1:
                again += [(recipe, (one,)) for one in members]
                continue
            done: Sequence[Done] = (
                [Done(id=result.key, errors=failed_rows_of(recipe, members[0], result.outcome.error))]
                if isinstance(result.outcome, Failed)
                else result.outcome
            )
            keeper.keep(done)
            listener.step(len(members))


def _finish(
    run: RunFolder,
    options: PerturbOptions,
    *,
    parts: Parts,
    choices: Sequence[Choice],
    rows: Mapping[str, Mapping[str, Any]],
) -> tuple[Summary, list[Table]]:
    made: dict[str, int] = {}
    for choice in choices:
        mine = {str(row["part"]): row for row in rows.values() if row["recipe"] == choice.name}
        if parts.listing is not None:
            lines = item_lines(parts, choice, rows=mine, options=options)
            run.write_bytes(f"{choice.name}/items.jsonl", b"".join(dump(line) + b"\n" for line in lines))
            made[choice.name] = len(lines)
            continue
        made[choice.name] = len(mine)
        if parts.sentences is not None:
            files = written(parts.sentences, {name: str(row["text"]) for name, row in mine.items()})
            for ending in (".txt", ".csv"):
                name = f"{parts.sentences.name}{ending}"
                if name in files:
                    run.write_text(f"{choice.name}/{name}", files[name])
                else:
                    run.remove(f"{choice.name}/{name}")
    summary, tables = perturbed_tables(run, parts=parts, choices=choices, rows=rows, made=made)
    summary = replace(summary, command=f"stress {options.wanted.room}")
    for table in tables:
        run.write_json(f"tables/{table.title.replace(' ', '_')}.json", asdict(table))
    run.write_json("summary.json", summary.as_json())
    run.manifest["content_sha256"] = content_digest(rows)
    run.finish()
    return summary, tables
