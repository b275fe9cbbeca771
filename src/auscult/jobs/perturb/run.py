"""``auscult stress vision|sound|sentences|timing|recipe``: perturbed copies of an INPUT, a folder for each recipe.

::

    DIR/<recipe>/       the perturbed files; for items an INPUT that ``audit`` takes
    DIR/outputs.jsonl   of every output the hash of what it decodes to, its plan, and what became of the truth
    DIR/manifest.json, errors.jsonl, summary.json, tables/

The same command again continues where a stopped run left off.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult import registry
from auscult.errors import REMARKS, ErrorRecord, Mismatch, UsageError
from auscult.jobs.clip_tracks import LOOSE, filmed
from auscult.jobs.options import PerturbOptions, arguments_of, refuse_out_of_range
from auscult.jobs.perturb.choice import Choice, choices_of, recipes_of, rooms_of, tasks_of, untouched, usual_severities
from auscult.jobs.perturb.inputs import (
    PartKind,
    PerturbedPart,
    PerturbedParts,
    SentencesFile,
    audio_id,
    frame_id,
    parts_of,
    text_id,
    written,
)
from auscult.jobs.perturb.work import (
    OUTPUTS,
    STAGE,
    Perturber,
    PerturbTask,
    done_id,
    failed_rows_of,
    not_done,
    only,
    output_name,
    part_digest,
)
from auscult.jobs.runner import (
    HINT,
    Progress,
    Result,
    ResultWriter,
    Verb,
    finish_tables,
    item_row,
    require_unchanged,
    run_manifest,
    run_verb,
)
from auscult.media.video_write import LOSSLESS, WORST_QUALITY
from auscult.media.wav import DEPTHS
from auscult.record.folder import RunFolder
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.stress.recipe import Recipe
from auscult.types import Item

MOST_SEED: Final = 2**63
_NEEDS: Final[tuple[tuple[str, frozenset[PartKind], str], ...]] = (
    ("quality", frozenset({"video"}), "video"),
    ("depth", frozenset({"video", "sound", "audio"}), "sound"),
    ("keep", frozenset({"sentence", "text"}), "sentence"),
    ("keep_head", frozenset({"sentence", "text"}), "sentence"),
)
"""Options, and the parts without which they do nothing."""


def check_ranges(options: PerturbOptions) -> None:
    """Insist that numbers are in range."""
    fine = {
        f"--seed {options.seed}": (abs(options.seed) < MOST_SEED, f"below {MOST_SEED} in size"),
        f"--quality {options.quality}": (
            LOSSLESS <= options.quality <= WORST_QUALITY,
            f"{LOSSLESS} (lossless) to {WORST_QUALITY}",
        ),
        f"--depth {options.depth}": (options.depth in DEPTHS, " or ".join(DEPTHS)),
    }
    refuse_out_of_range(fine)


def check_kept(options: PerturbOptions, rooms: frozenset[str]) -> None:
    """Refuse words to keep where no sentence is perturbed: whoever gives them believes that one is."""
    given = [name for name, value in (("--keep", options.keep), ("--keep-head", options.keep_head)) if value]
    if given and "sentences" not in rooms:
        raise UsageError(
            f"{' and '.join(given)} had no effect: no kind of sentences was asked for",
            expected="a kind of sentences in --kind, such as misspelling",
            hint=f"leave out {' and '.join(given)}, or add a kind of sentences",
        )


def idle_options(given: frozenset[str], parts: Sequence[PerturbedPart]) -> list[str]:
    """Notes of options that were spelled out, and that nothing in an input makes use of."""
    there = {part.kind for part in parts}
    return [
        f"--{name.replace('_', '-')} has no effect: the input holds no {what}"
        for name, kinds, what in _NEEDS
        if name in given and not kinds & there
    ]


ELSEWHERE: Final = ("video", "mixture", "separated")
"""Keys that name files which are not carried along; they are left out, and the line says so."""

BOXES: Final = ("box", "boxes", "bbox", "bboxes")
"""Keys that tell places in the picture; left out where pixels moved."""

SPANS: Final = ("spans_s",)
"""Keys that tell when something is heard; left out where the sound was taken away in part."""

_ROOM_OF: Final[Mapping[str, str]] = {"picture": "vision", "sound": "sound", "sentence": "sentences"}

RowsById = Mapping[str, Mapping[str, Any]]


def item_lines(
    parts: PerturbedParts, choice: Choice, *, rows: RowsById, options: PerturbOptions
) -> list[dict[str, Any]]:
    """The lines of one recipe, in the order of INPUT; an item that failed in any of its parts has none."""
    assert parts.listing is not None  # noqa: S101 - the caller looked
    films = filmed(parts.listing)
    known = {part.id: part for part in parts.parts}
    lines = []
    for item in parts.listing.items:
        names = part_names(item, known, choice, source=options.source)
        found = _Found.of(item, names, recipe=choice.of(known[names["picture"]]), seed=options.seed, rows=rows)
        if found is not None:
            lines.append(found.line(loose=item.id not in films))
    return lines


def part_names(item: Item, known: Mapping[str, PerturbedPart], choice: Choice, *, source: Path) -> dict[str, str]:
    """Which parts an item is put together from: ``picture``, ``sound``, ``sentence`` to a part's id."""
    names = {"picture": frame_id(item, source)}
    if item.audio is not None:
        own = audio_id(item, source, known[names["picture"]].group)
        names["sound"] = own if own in known else audio_id(item, source)
    if item.query.text:
        part = known.get(text_id(item))
        if part is not None and only(choice.of(part), part).steps:
            names["sentence"] = part.id
    return names


class _Found:
    """An item with the rows of its frame, its sound and its expression."""

    def __init__(self, item: Item, *, recipe: Recipe, seed: int, rows: RowsById) -> None:
        self._item = item
        self._recipe = recipe
        self._seed = seed
        self._rows = rows

    @classmethod
    def of(cls, item: Item, names: Mapping[str, str], *, recipe: Recipe, seed: int, rows: RowsById) -> _Found | None:
        """Put an item together; None where one of its parts is missing."""
        if any(name not in rows for name in names.values()) or item.id not in rows[names["picture"]]["items"]:
            return None
        return cls(item, recipe=recipe, seed=seed, rows={what: rows[name] for what, name in names.items()})

    def line(self, *, loose: bool) -> dict[str, Any]:
        """The line; keys that auscult does not know are kept."""
        item, picture = self._item, self._rows["picture"]
        extra = {key: value for key, value in item.extra.items() if key not in {*self._left_out(), "stress"}}
        said = picture["items"][item.id]
        row: dict[str, Any] = {"id": item.id, "frame": self._below(picture), "mask": said["mask"], **item_row(item)}
        if "sentence" in self._rows:
            row["text"] = self._rows["sentence"]["text"]
        if "sound" in self._rows:
            row["audio"] = self._below(self._rows["sound"])
        if "truth" in said:
            row["truth"] = said["truth"]
        return {**row, **extra, "stress": self._stress(loose=loose)}

    def _left_out(self) -> list[str]:
        """Keys of the item that are not carried along: what they tell is elsewhere, or true no more."""
        keys = [*ELSEWHERE]
        keys += BOXES if self._rows["picture"]["moved"] else ()
        keys += SPANS if self._rows.get("sound", {}).get("silent_s") else ()
        return [key for key in keys if key in self._item.extra]

    def _below(self, row: Mapping[str, Any]) -> str:
        return str(row["output"]).removeprefix(f"{self._recipe.name}/")

    def _stress(self, *, loose: bool) -> dict[str, Any]:
        item, picture = self._item, self._rows["picture"]
        plans = {what: row["plan"] for what, row in self._rows.items() if row["plan"] is not None}
        told: dict[str, Any] = {"recipe": self._recipe.name, "seed": self._seed, "plans": plans}
        told |= {"index": picture["index"], "moved": picture["moved"]}
        if "sentence" in self._rows:
            told |= {"text": item.query.text, "words": self._rows["sentence"]["words"]}
        silent = self._rows.get("sound", {}).get("silent_s")
        if silent:
            told["silent_s"] = silent
        left = not_done(self._recipe, {_ROOM_OF[what] for what in self._rows})
        if left:
            told["not_done"] = left
        left_out = self._left_out()
        if left_out:
            told["left_out"] = left_out
        if loose:
            told[LOOSE] = True
        if "stress" in item.extra:
            told["before"] = item.extra["stress"]
        return told


def refuse_changed(rows: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, Sequence[PerturbedPart]]) -> None:
    """Insist that what was made before still comes from the same files.

    Raises:
        Mismatch: A part changed, can no longer be read, or is no longer there.
    """
    known = {done_id(recipe, part.id): part for recipe, parts in wanted.items() for part in parts}
    digests: dict[tuple[str, ...], str] = {}

    def same(part: PerturbedPart, row: Mapping[str, Any]) -> bool:
        made_of = (part.id, *row.get("items", ()))
        if made_of not in digests:
            digests[made_of] = part_digest(part, made_of[1:])
        return digests[made_of] == row.get("input")

    for name, row in rows.items():
        part = known.get(name)
        if part is None:
            raise Mismatch(f"{name} was made in the folder and is no longer in the input", hint=HINT)
        require_unchanged(name, partial(same, part, row), path=part.path, made="was made", parts="input has")


def content_digest(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """One SHA-256 over the hashes of all outputs, by which two people compare what they built.

    Of every output, in the order of their ids: its id, and the hashes of frames, sound, sentence, copied file and moved
    masks that its line holds.
    """
    digest = hashlib.sha256()
    for name in sorted(rows):
        row = rows[name]
        told = [name, *(str(row.get(key, "")) for key in ("sha256", "sound_sha256", "file_sha256"))]
        items = row.get("items", {})
        told += [f"{item} {items[item].get('mask_sha256', '')}" for item in sorted(items)]
        digest.update("\n".join([*told, ""]).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


_NOTE: Final = (
    "in part: without the steps for what a file has not; samples beyond full scale are cut off; outputs.jsonl has the "
    "hash of what each output decodes to"
)
_UNOPENED: Final = "; masks of pictures in which nothing moved were copied unopened"


def perturbed_tables(
    run: RunFolder,
    *,
    parts: PerturbedParts,
    choices: Sequence[Choice],
    rows: Mapping[str, Mapping[str, Any]],
    made: Mapping[str, int],
) -> tuple[Summary, list[Table]]:
    """What a run came to."""
    wanted = {
        choice.name: len(parts.listing.items)
        if parts.listing is not None
        else sum(choice.takes(part) for part in parts.parts)
        for choice in choices
    }
    unread = sum(error.stage not in REMARKS for _, error in parts.errors)
    n, ok = sum(wanted.values()) + unread, sum(made.values())
    summary = Summary(command="stress", n=n, ok=ok, failed=n - ok)
    tables = [_made(choices, wanted=wanted, made=made, rows=rows, items=parts.listing is not None)]
    failed = Counter((row.get("stage") or "", row.get("error") or "") for row in run.lines("errors.jsonl"))
    if failed:
        told = tuple((stage, error, str(count)) for (stage, error), count in failed.most_common(20))
        tables.append(Table(title="failed", header=("stage", "error", "count"), rows=told, note="all: errors.jsonl"))
    return summary, tables


def _made(
    choices: Sequence[Choice],
    *,
    wanted: Mapping[str, int],
    made: Mapping[str, int],
    rows: Mapping[str, Mapping[str, Any]],
    items: bool,
) -> Table:
    by_recipe: dict[str, list[Mapping[str, Any]]] = {choice.name: [] for choice in choices}
    for row in rows.values():
        by_recipe[row["recipe"]].append(row)
    cells = []
    for name, mine in by_recipe.items():
        frames = sum(row.get("frames", 1) for row in mine if row["kind"] in {"picture", "frame", "video"})
        clipped = sum(row.get("clipped", 0) for row in mine)
        same = sum(row["kind"] in {"sentence", "text"} and not row["words"] for row in mine)
        part = sum(bool(row.get("not_done")) for row in mine)
        failed = wanted[name] - made[name]
        cells.append((name, *map(str, (made[name], failed, part, frames, clipped, same))))
    return Table(
        title="perturbed",
        header=("recipe", "made", "failed", "in part", "frames", "samples cut off", "sentences unchanged"),
        rows=tuple(cells),
        note=_NOTE + (_UNOPENED if items else ""),
    )


_CHUNKS: Final[Mapping[PartKind, int]] = {"picture": 4, "frame": 8, "sentence": 256, "text": 256}


def perturb(options: PerturbOptions, progress: Progress | None = None) -> tuple[Summary, list[Table]]:
    """Perturb an INPUT into an output folder.

    Returns:
        What ``summary.json`` says, and tables of what was made.

    Raises:
        NothingToDo: INPUT holds nothing that was asked for could perturb.
        UsageError: An argument is unknown or out of range, or an extra is missing.
        RecordError: The output folder is in use, or was made with other arguments.
    """
    return run_verb(Perturb(options), progress)


class Perturb(Verb[PerturbTask, tuple[Summary, list[Table]]]):
    """``auscult stress vision|sound|sentences|timing|recipe``, as the runner sees it."""

    doing = "perturbing"
    stage = STAGE
    options: PerturbOptions

    def __init__(self, options: PerturbOptions) -> None:
        super().__init__(options)
        check_ranges(options)
        recipes = recipes_of(options.wanted)
        rooms = rooms_of(options.wanted, recipes)
        check_kept(options, rooms)
        self._made_by = _origins(recipes)
        by_group = bool(options.wanted.preset)
        parts = parts_of(options.source, options.listing, rooms=rooms, out=options.out, by_group=by_group)
        _check_extras(parts.parts)
        self._choices = choices_of(options.wanted, parts, recipes=recipes, seed=options.seed)
        notes = (*parts.notes, *idle_options(options.given, parts.parts), *untouched(parts.parts, self._choices))
        self._parts = replace(parts, notes=notes)
        self._wanted = {choice.name: [part for part in parts.parts if choice.takes(part)] for choice in self._choices}
        self._rows: dict[str, Mapping[str, Any]] = {}

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        options, wanted = self.options, self.options.wanted
        arguments = arguments_of(options) | {"severity": wanted.severities or usual_severities(wanted)}
        inputs = {
            "layout": self._parts.layout,
            "items": len(self._parts.parts),
            "notes": list(self._parts.notes),
            "recipes": self._made_by,
        }
        return run_manifest(f"stress {wanted.room}", options, inputs=inputs, arguments=arguments)

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """What of INPUT cannot be read, with its id where it has one."""
        return self._parts.errors

    def worker(self) -> partial[Perturber]:
        """Makes the function of a few parts in a worker process."""
        options = self.options
        return partial(
            Perturber,
            out=options.out.resolve(),
            seed=options.seed,
            keep=options.keep,
            keep_head=options.keep_head,
            quality=options.quality,
            depth=options.depth,
        )

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[PerturbTask], float | None]]:
        """What is still to be done, kind by kind: a video has a time limit of its own."""
        self._rows = _rows_there(writer.run)
        refuse_changed(self._rows, self._wanted)
        writer.progress.stage(self.doing, sum(map(len, self._wanted.values())))
        for kind in dict.fromkeys(part.kind for parts in self._wanted.values() for part in parts):
            tasks: list[PerturbTask] = []
            for choice in self._choices:
                mine = [part for part in self._wanted[choice.name] if part.kind == kind]
                left = [part for part in mine if not self._has(choice.name, part)]
                writer.progress.step(len(mine) - len(left))
                tasks += tasks_of(choice, left, chunk=_CHUNKS.get(kind, 1))
            yield tasks, self.options.video_timeout_s if kind == "video" else self.options.timeout_s

    def _has(self, recipe: str, part: PerturbedPart) -> bool:
        """Whether a part is done; a frame is not, as long as one of its items is missing."""
        row = self._rows.get(done_id(recipe, part.id))
        return row is not None and all(item.id in row.get("items", ()) for item in part.items)

    def begin(self, task: PerturbTask, run: RunFolder) -> None:
        """Note the files that a worker is about to write, so that a later run can remove them."""
        for part in task.parts:
            name = output_name(task.recipe, part)
            if name:
                run.claim(name)
            if part.kind == "video":
                run.claim(f"{name}.part")

    def failed(self, task: PerturbTask, error: ErrorRecord) -> list[dict[str, Any]]:
        """The rows of ``errors.jsonl`` of a part that failed."""
        return failed_rows_of(task.recipe, task.parts[0], error)

    def kept(self, results: Sequence[Result]) -> None:
        """Take note of the lines of ``outputs.jsonl``."""
        for result in results:
            self._rows |= {str(row["id"]): row for row in result.rows.get(OUTPUTS, ())}

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write the lines of items and the files of sentences, summary and tables."""
        run, parts, options = writer.run, self._parts, self.options
        made: dict[str, int] = {}
        for choice in self._choices:
            self._remove_unfinished(run, choice)
            mine = {str(row["part"]): row for row in self._rows.values() if row["recipe"] == choice.name}
            made[choice.name] = len(mine)
            if parts.listing is not None:
                lines = item_lines(parts, choice, rows=mine, options=options)
                run.write_lines(f"{choice.name}/items.jsonl", lines)
                made[choice.name] = len(lines)
            elif parts.sentences is not None:
                _write_sentences(run, choice.name, parts.sentences, rows=mine)
        summary, tables = perturbed_tables(run, parts=parts, choices=self._choices, rows=self._rows, made=made)
        run.manifest["content_sha256"] = content_digest(self._rows)
        summary = replace(summary, command=f"stress {options.wanted.room}")
        return finish_tables(run, summary, {table.title.replace(" ", "_"): table for table in tables})

    def _remove_unfinished(self, run: RunFolder, choice: Choice) -> None:
        """Remove what workers that were stopped left of videos."""
        for part in self._wanted[choice.name]:
            if part.kind == "video" and not self._has(choice.name, part):
                run.remove(f"{output_name(choice.of(part), part)}.part")


def _rows_there(run: RunFolder) -> dict[str, Mapping[str, Any]]:
    """The lines of ``outputs.jsonl`` by id; of two with one id the later counts.

    Only those whose files are there and as large as they were made: the others are made again.
    """

    def there(row: Mapping[str, Any]) -> bool:
        try:
            return all((run.path / name).stat().st_size == size for name, size in row.get("bytes", {}).items())
        except OSError:
            return False

    lines = {str(row["id"]): row for row in run.lines(OUTPUTS)}
    return {name: row for name, row in lines.items() if there(row)}


def _write_sentences(run: RunFolder, recipe: str, sentences: SentencesFile, *, rows: RowsById) -> None:
    """Write the perturbed sentences, as lines or as a table, and remove the other where it was written before."""
    files = written(sentences, {name: str(row["text"]) for name, row in rows.items()})
    for ending in (".txt", ".csv"):
        name = f"{sentences.name}{ending}"
        if name in files:
            run.write_text(f"{recipe}/{name}", files[name])
        else:
            run.remove(f"{recipe}/{name}")


def _origins(recipes: Iterable[Recipe]) -> dict[str, list[Any]]:
    """What each recipe does, and which package it comes from."""
    stressors = {step.name: registry.find("stressor", step.name) for recipe in recipes for step in recipe.steps}
    for entry in stressors.values():
        entry.load()
    return {
        recipe.name: [[step.name, step.strength, stressors[step.name].origin] for step in recipe.steps]
        for recipe in recipes
    }


def _check_extras(parts: Iterable[PerturbedPart]) -> None:
    if any(part.kind == "video" for part in parts):
        from auscult.media.containers import load_av

        load_av()
