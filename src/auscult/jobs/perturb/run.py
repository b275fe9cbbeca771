"""``auscult stress vision|sound|sentences|timing|recipe``: perturbed copies of an INPUT, a folder for each recipe.

::

    DIR/<recipe>/       the perturbed files; for items an INPUT that ``audit`` takes
    DIR/outputs.jsonl   for every output the hash of its decoded content, its plan, and its truth
    DIR/manifest.json, errors.jsonl, summary.json, tables/

The same command again resumes a stopped run.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from auscult import registry
from auscult.errors import REMARKS, ErrorRecord, UsageError
from auscult.jobs.clip_tracks import LOOSE, filmed
from auscult.jobs.options import arguments_of, refuse_out_of_range
from auscult.jobs.perturb.choice import (
    Output,
    PerturbTask,
    idle_notes,
    moves_frames,
    not_done,
    outputs_of,
    recipes_of,
    rooms_of,
    tasks_of,
    usual_severities,
)
from auscult.jobs.perturb.inputs import ROOMS_OF, InputMedium, PerturbedPart, parts_of
from auscult.jobs.perturb.options import PerturbOptions
from auscult.jobs.perturb.sentences import written
from auscult.jobs.perturb.work import OUTPUTS, STAGE, Perturber, part_digest
from auscult.jobs.runner import (
    Result,
    ResultWriter,
    Verb,
    finish_tables,
    item_row,
    require_all_unchanged,
    run_manifest,
)
from auscult.media.containers import load_av
from auscult.media.video_write import LOSSLESS, WORST_QUALITY
from auscult.media.wav import DEPTHS
from auscult.record.folder import RunFolder
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.stress.recipe import Recipe, preset
from auscult.types import Item

MOST_SEED: Final = 2**63
_NEEDS: Final[Mapping[str, tuple[InputMedium, ...]]] = {
    "quality": ("video",),
    "depth": ("sound", "video"),
    "keep": ("sentence",),
    "keep_head": ("sentence",),
}
"""Options and the media that they apply to; messages name the first."""


def _check(options: PerturbOptions, rooms: frozenset[str]) -> None:
    """Refuse numbers out of range, and --keep options without a perturbation of sentences."""
    quality = LOSSLESS <= options.quality <= WORST_QUALITY
    refuse_out_of_range(
        {
            f"--seed {options.seed}": (abs(options.seed) < MOST_SEED, f"below {MOST_SEED} in size"),
            f"--quality {options.quality}": (quality, f"{LOSSLESS} (lossless) to {WORST_QUALITY}"),
            f"--depth {options.depth}": (options.depth in DEPTHS, " or ".join(DEPTHS)),
        }
    )
    given = [name for name, value in (("--keep", options.keep), ("--keep-head", options.keep_head)) if value]
    if given and "sentences" not in rooms:
        raise UsageError(
            f"{' and '.join(given)} had no effect: no kind of sentences was asked for",
            expected="a kind of sentences in --kind, such as misspelling",
            hint=f"leave out {' and '.join(given)}, or add a kind of sentences",
        )


def idle_options(given: frozenset[str], parts: Sequence[PerturbedPart]) -> list[str]:
    """Notes on given options without effect on this input."""
    present = {part.medium for part in parts}
    return [
        f"--{name.replace('_', '-')} has no effect: the input holds no {media[0]}"
        for name, media in _NEEDS.items()
        if name in given and present.isdisjoint(media)
    ]


ELSEWHERE: Final = ("video", "mixture", "separated")
"""Keys of files that are not copied; they are left out, and listed under ``left_out``."""

BOXES: Final = ("box", "boxes", "bbox", "bboxes")
"""Keys with positions in the picture; left out if pixels moved."""

SPANS: Final = ("spans_s",)
"""Keys with time spans of sounds; left out if parts of the sound were silenced."""

MediumRow = Mapping[str, Any]


def item_line(
    item: Item, recipe: Recipe, rows: Mapping[InputMedium, MediumRow], *, seed: int, loose: bool
) -> dict[str, Any]:
    """The line of an item in ``items.jsonl``, from those of its outputs; unknown keys are kept."""
    picture, sound, sentence = rows["picture"], rows.get("sound"), rows.get("sentence")
    silent_s = None if sound is None else sound.get("silent_s")
    gone = (*ELSEWHERE, *(BOXES if picture["moved"] else ()), *(SPANS if silent_s else ()))
    plans = {medium: row["plan"] for medium, row in rows.items() if row["plan"] is not None}
    stress: dict[str, Any] = {"recipe": recipe.name, "seed": seed, "plans": plans}
    stress |= {"index": picture["index"], "moved": picture["moved"]}
    masks = picture["items"][item.id]
    line = {"id": item.id, "frame": _below(recipe, picture), "mask": masks["mask"], **item_row(item)}
    if sentence is not None:
        stress |= {"text": item.query.text, "words": sentence["words"]}
        line["text"] = sentence["text"]
    if sound is not None:
        line["audio"] = _below(recipe, sound)
    if "truth" in masks:
        line["truth"] = masks["truth"]
    notes = {
        "silent_s": silent_s,
        "not_done": not_done(recipe, {room for medium in rows for room in ROOMS_OF[medium]}),
        "left_out": [key for key in gone if key in item.extra],
        LOOSE: loose,
    }
    stress |= {key: value for key, value in notes.items() if value}
    if "stress" in item.extra:
        stress["before"] = item.extra["stress"]
    extra = {key: value for key, value in item.extra.items() if key not in {*gone, "stress"}}
    return {**line, **extra, "stress": stress}


def _below(recipe: Recipe, row: MediumRow) -> str:
    """The file of an output, relative to the recipe's folder."""
    return str(row["output"]).removeprefix(f"{recipe.name}/")


def refuse_changed(rows: Mapping[str, MediumRow], outputs: Mapping[str, Output]) -> None:
    """Refuse changed files of earlier outputs."""
    digests: dict[tuple[str, ...], str] = {}

    def same(output: Output, row: MediumRow) -> bool:
        made_of = (output.part.id, *row.get("items", ()))
        if made_of not in digests:
            digests[made_of] = part_digest(output.part, made_of[1:])
        return digests[made_of] == row.get("input")

    words = {"made": "was made", "parts": "input has"}
    require_all_unchanged(rows, outputs, same, path=lambda output: output.part.path, **words)


def content_digest(rows: Mapping[str, MediumRow]) -> str:
    """One SHA-256 over the hashes of all outputs, to compare two runs.

    It covers for every output, sorted by id: the id, and the hashes of frames, sound, sentence, copied file and moved
    masks in its line.
    """
    digest = hashlib.sha256()
    for name in sorted(rows):
        row = rows[name]
        fields = [name, *(str(row.get(key, "")) for key in ("sha256", "sound_sha256", "file_sha256"))]
        items = row.get("items", {})
        fields += [f"{item} {items[item].get('mask_sha256', '')}" for item in sorted(items)]
        digest.update("\n".join([*fields, ""]).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


_NOTE: Final = (
    "in part: without the steps for what a file has not; samples beyond full scale are cut off; outputs.jsonl has the "
    "hash of what each output decodes to"
)
_UNOPENED: Final = "; masks of pictures in which nothing moved were copied unopened"


def _made_table(counts: Mapping[str, tuple[int, int]], rows: Iterable[MediumRow], *, note: str) -> Table:
    """Outputs by recipe; ``counts`` are those made and requested, of outputs or items."""
    by_recipe: dict[str, list[MediumRow]] = {name: [] for name in counts}
    for row in rows:
        by_recipe[row["recipe"]].append(row)
    cells = []
    for name, own_rows in by_recipe.items():
        made, wanted = counts[name]
        frames = sum(row.get("frames", 1) for row in own_rows if row["kind"] in {"picture", "frame", "video"})
        clipped = sum(row.get("clipped", 0) for row in own_rows)
        same = sum(row["kind"] in {"sentence", "text"} and not row["words"] for row in own_rows)
        part = sum(bool(row.get("not_done")) for row in own_rows)
        cells.append((name, *map(str, (made, wanted - made, part, frames, clipped, same))))
    header = ("recipe", "made", "failed", "in part", "frames", "samples cut off", "sentences unchanged")
    return Table(title="perturbed", header=header, rows=tuple(cells), note=note)


_CHUNKS: Final[Mapping[InputMedium, int]] = {"picture": 4, "sentence": 256}


class Perturb(Verb[PerturbTask, tuple[Summary, list[Table]]]):
    """``auscult stress vision|sound|sentences|timing|recipe``, as the runner sees it."""

    doing = "perturbing"
    stage = STAGE
    options: PerturbOptions

    def __init__(self, options: PerturbOptions) -> None:
        super().__init__(options)
        wanted = options.wanted
        recipes = recipes_of(wanted)
        rooms = rooms_of(wanted, recipes)
        _check(options, rooms)
        self._made_by = _origins(recipes)
        by_group = bool(wanted.preset)
        self._parts = parts_of(
            options.source,
            options.listing,
            rooms=rooms,
            out=options.out,
            by_group=by_group,
            as_clips=moves_frames(recipes),
        )
        parts = self._parts.parts
        if any(part.medium == "video" for part in parts):
            load_av()  # raises before anything is written if the extra is missing
        outputs = outputs_of(wanted, parts, recipes=recipes, seed=options.seed)
        self._folders = [preset(wanted.preset).name] if wanted.preset else [recipe.name for recipe in recipes]
        self._notes = [*self._parts.notes, *idle_options(options.given, parts), *idle_notes(outputs, self._folders)]
        self._outputs = {output.id: output for output in outputs if output.made}
        self._rows: dict[str, MediumRow] = {}

    def manifest(self) -> dict[str, Any]:
        """The manifest of the run."""
        options, wanted = self.options, self.options.wanted
        arguments = arguments_of(options) | {"severity": wanted.severities or usual_severities(wanted)}
        inputs = {
            "layout": self._parts.layout,
            "items": len(self._parts.parts),
            "notes": self._notes,
            "recipes": self._made_by,
        }
        return run_manifest(f"stress {wanted.room}", options, inputs=inputs, arguments=arguments)

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """Errors of INPUT, with the id where there is one."""
        return self._parts.errors

    def worker(self) -> partial[Perturber]:
        """Makes the function of a few parts in a worker process."""
        return partial(Perturber, replace(self.options, out=self.options.out.resolve()))

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[PerturbTask], float | None]]:
        """The remaining outputs, medium by medium: videos have a time limit of their own."""
        self._rows = _rows_there(writer.run)
        refuse_changed(self._rows, self._outputs)
        by_medium: dict[InputMedium, list[Output]] = defaultdict(list)
        for output in self._outputs.values():
            by_medium[output.part.medium].append(output)
        writer.progress.stage(self.doing, len(self._outputs))
        for medium, outputs in by_medium.items():
            left = [output for output in outputs if not self._has(output)]
            writer.progress.step(len(outputs) - len(left))
            limit_s = self.options.video_timeout_s if medium == "video" else self.options.timeout_s
            yield tasks_of(left, chunk=_CHUNKS.get(medium, 1)), limit_s

    def _has(self, output: Output) -> bool:
        """Whether an output is done; a frame only with all its items."""
        if output.id not in self._rows:
            return False
        row = self._rows[output.id]
        return "items" not in row or all(item.id in row["items"] for item in output.part.items)

    def begin(self, task: PerturbTask, run: RunFolder) -> None:
        """Register the files that a worker is about to write, so that a later run can remove them."""
        for output in task.outputs:
            if output.file:
                run.claim(output.file)
            if output.part.medium == "video":
                run.claim(f"{output.file}.part")

    def after_write(self, results: Sequence[Result]) -> None:
        """Remember the new lines of ``outputs.jsonl``."""
        for result in results:
            self._rows |= {str(row["id"]): row for row in result.rows.get(OUTPUTS, ())}

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write the lines of items and the files of sentences, summary and tables."""
        run, parts = writer.run, self._parts
        for output in self._outputs.values():
            if output.part.medium == "video" and output.id not in self._rows:
                run.remove(f"{output.file}.part")  # left by a stopped worker
        wanted = Counter(output.recipe.name for output in self._outputs.values())
        made = Counter(str(row["recipe"]) for row in self._rows.values())
        counts = {name: (made[name], wanted[name]) for name in self._folders}
        if parts.listing is not None:
            for name, lines in self._lines(parts.listing.items, filmed(parts.listing)):
                run.write_lines(f"{name}/items.jsonl", lines)
                counts[name] = (len(lines), len(parts.listing.items))
        if parts.sentences is not None:
            for name in self._folders:
                sentences = {str(row["part"]): row["text"] for row in self._rows.values() if row["recipe"] == name}
                ending, content = written(parts.sentences, sentences)
                run.write_text(f"{name}/{parts.sentences.name}{ending}", content)
                other = ".csv" if ending == ".txt" else ".txt"  # perhaps written by an earlier command
                run.remove(f"{name}/{parts.sentences.name}{other}")
        run.manifest["content_sha256"] = content_digest(self._rows)
        note = _NOTE if parts.listing is None else _NOTE + _UNOPENED
        tables = {"perturbed": _made_table(counts, self._rows.values(), note=note)}
        ok = sum(count for count, _ in counts.values())
        n = sum(count for _, count in counts.values()) + sum(error.stage not in REMARKS for _, error in parts.errors)
        summary = Summary(command=f"stress {self.options.wanted.room}", n=n, ok=ok, failed=n - ok)
        return finish_tables(run, summary, tables)

    def _lines(self, items: Sequence[Item], films: frozenset[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The lines of each recipe, in the order of INPUT; an item that failed in any of its parts has none."""
        parts: dict[str, list[PerturbedPart]] = defaultdict(list)
        for part in self._parts.parts:
            for item in part.items:
                parts[item.id].append(part)
        for name in self._folders:
            lines = []
            for item in items:
                ids = [f"{name}/{part.id}" for part in parts[item.id]]
                outputs = [self._outputs[key] for key in ids if key in self._outputs]  # a sentence may stay as it is
                rows = {output.part.medium: self._rows[output.id] for output in outputs if output.id in self._rows}
                if len(rows) == len(outputs) and item.id in rows["picture"]["items"]:
                    loose = item.id not in films
                    lines.append(item_line(item, outputs[0].recipe, rows, seed=self.options.seed, loose=loose))
            yield name, lines


perturb: Final = Perturb.of


def _rows_there(run: RunFolder) -> dict[str, MediumRow]:
    """The last line of ``outputs.jsonl`` by id.

    Outputs with missing files, or files of another size, are left out and made again.
    """

    def there(row: MediumRow) -> bool:
        try:
            return all((run.path / name).stat().st_size == size for name, size in row.get("bytes", {}).items())
        except OSError:
            return False

    lines = {str(row["id"]): row for row in run.lines(OUTPUTS)}
    return {name: row for name, row in lines.items() if there(row)}


def _origins(recipes: Iterable[Recipe]) -> dict[str, list[Any]]:
    """The steps of each recipe: stressor, strength and package."""
    stressors = {step.name: registry.find("stressor", step.name) for recipe in recipes for step in recipe.steps}
    for entry in stressors.values():
        entry.load()
    return {
        recipe.name: [[step.name, step.strength, stressors[step.name].origin] for step in recipe.steps]
        for recipe in recipes
    }
