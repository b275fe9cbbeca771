"""``auscult stress masks``: the six mask defects from true masks, as an INPUT that ``audit`` takes.

The same command again continues where a stopped run left off.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from auscult import registry
from auscult.cases.listing import Listing, list_items
from auscult.errors import AuscultError, InputError, NothingToDo, UsageError
from auscult.jobs.clip_tracks import LOOSE, filmed
from auscult.jobs.errors import ErrorLog, failed_row
from auscult.jobs.finish import counted_by
from auscult.jobs.groups import Crew, FrameGroup, each_frame, item_row
from auscult.jobs.progress import Progress, Silent
from auscult.jobs.resume import SAME_RESULT, InputOptions, input_digest, input_manifest, refuse_changed
from auscult.media.frames import frame_size
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import read_bytes, safe_name
from auscult.outcome import Scored, Undefined
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder, open_run
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary, error_to_json
from auscult.report.tables import Table
from auscult.stress.masks import variants
from auscult.types import ACTIONS, DEFECTS, Item, Mask, MaskTarget, StressedMask


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What one target came to.

    Attributes:
        id: The target's id.
        items: Lines of ``items.jsonl``.
        files: The mask files those lines name: name to bytes.
        frame: Name of the frame in the output folder, and the file to copy there.
        input: Hash of what was stressed.
        undefined: What could not be made: {kind, difficulty, reason}.
        error: Row of ``errors.jsonl`` when the target could not be read.
    """

    id: str
    items: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    frame: tuple[str, Path] | None = None
    input: str = ""
    undefined: Sequence[Mapping[str, Any]] = ()
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stresser:
    """Makes the defects of the targets of one frame; made once in each worker process."""

    source: Path
    seed: int
    kinds: tuple[str, ...]
    difficulties: tuple[str, ...]

    def __call__(self, group: FrameGroup) -> list[Made]:
        """Stress the wanted targets of one frame, in their order."""
        wanted = [item for item in group.items if item.id in group.wanted]
        try:
            size = frame_size(wanted[0].frame)
            frame_digest = digest_file(wanted[0].frame)
        except AuscultError as error:
            return [Made(id=item.id, error=failed_row(item, error, "read")) for item in wanted]
        masks = {item.id: _open(item, size) for item in group.items}
        return [self._one(item, masks, frame_digest) for item in wanted]

    def _one(self, item: Item, masks: Mapping[str, Mask | AuscultError], frame_digest: str) -> Made:
        mask = masks[item.id]
        if isinstance(mask, AuscultError):
            return Made(id=item.id, error=failed_row(item, mask, "read"))
        others = tuple(
            other for name, other in masks.items() if name != item.id and not isinstance(other, AuscultError)
        )
        truth_name = f"truth/{safe_name(item.id)}.png"
        frame_name = f"frames/{frame_name_of(item.frame, self.source)}"
        items: list[dict[str, Any]] = []
        undefined: list[dict[str, Any]] = []
        files = {truth_name: encode_mask(mask)}
        made = variants(MaskTarget(mask=mask, others=others), seed=self.seed, key=item.id, kinds=self.kinds)
        for kind, difficulty, index, outcome in made:
            if kind in GRADED and difficulty not in self.difficulties:
                continue
            if isinstance(outcome, Scored):
                name = variant_name(kind, difficulty=difficulty, index=index)
                mask_name = f"masks/{safe_name(item.id)}/{name}.png"
                files[mask_name] = encode_mask(outcome.value.output)
                names = (frame_name, mask_name, truth_name)
                line = stressed_line(item, f"{item.id}/{name}", outcome.value, names=names)
                line["stress"]["kind"] = kind
                items.append(line)
            elif isinstance(outcome, Undefined):
                undefined.append({"kind": kind, "difficulty": difficulty, "reason": outcome.reason})
        return Made(
            id=item.id,
            items=items,
            files=files,
            frame=(frame_name, item.frame),
            input=input_digest(item, frame_digest),
            undefined=undefined,
        )


GRADED = frozenset({"cutout", "dilate", "erode"})


def make_stresser(source: Path, *, seed: int, wanted: tuple[tuple[str, ...], tuple[str, ...]]) -> Stresser:
    """Make the worker's function; module-level, so that a child process can be told to call it."""
    return Stresser(source=source, seed=seed, kinds=wanted[0], difficulties=wanted[1])


def _open(item: Item, size: tuple[int, int]) -> Mask | AuscultError:
    try:
        mask = read_mask(item.mask, size=size).mask
    except AuscultError as error:
        return error
    if not mask.any():
        return InputError(
            "the true mask is empty, there is nothing to stress",
            path=item.mask.path,
            expected="a mask of the target",
            hint="leave this item out",
        )
    return mask


def variant_name(kind: str, *, difficulty: str | None, index: int) -> str:
    """The last part of a stressed item's id: ``erode_hard``, ``merge_2``, ``perfect``."""
    if kind in GRADED:
        return f"{kind}_{difficulty}"
    return kind if kind == "perfect" else f"{kind}_{index + 1}"


def stressed_line(item: Item, name: str, stressed: StressedMask, *, names: tuple[str, str, str]) -> dict[str, Any]:
    """One line of ``items.jsonl`` for a stressed mask."""
    frame_name, mask_name, truth_name = names
    truth = stressed.truth
    row: dict[str, Any] = {"id": name, "frame": frame_name, "mask": mask_name}
    row |= item_row(item)
    row["truth"] = {
        "mask": truth_name,
        "iou": truth.iou,
        "defect": truth.defect,
        "difficulty": truth.difficulty,
        "action": truth.action,
    }
    row["stress"] = {"target": item.id, "params": dict(stressed.params)}
    if item.extra.get(LOOSE) is True:
        row["stress"][LOOSE] = True
    return row


def frame_name_of(frame: Path, source: Path) -> str:
    """A frame's file name in the output folder: its path below INPUT in one word, so that no two frames share it."""
    root = source if source.is_dir() else source.parent
    parts = Path(os.path.relpath(frame.resolve(), root.resolve())).parts
    kept = [part for part in parts if part not in {"..", "frames", "images"}]
    return safe_name("__".join([*kept[:-1], frame.stem])) + frame.suffix.lower()


DIFFICULTIES = ("hard", "medium")


@dataclass(frozen=True, slots=True, kw_only=True)
class StressOptions(InputOptions):
    """What to stress and how; the masks of ``source`` are taken as the truth.

    Attributes:
        seed: The same seed makes the same masks.
        kinds: Defects to make, or ``all``.
        difficulties: ``hard`` (IoU .85 to .90), ``medium`` (.75 to .80), or both; merges and whole wrong objects have
            the difficulty that their IoU gives them and are always made.
    """

    seed: int = 0
    kinds: tuple[str, ...] = ("all",)
    difficulties: tuple[str, ...] = DIFFICULTIES


def stress_masks(options: StressOptions, progress: Progress | None = None) -> tuple[Summary, list[Table]]:
    """Stress the masks of an INPUT into an output folder.

    Returns:
        What ``summary.json`` says, and tables of what was made and what could not be.

    Raises:
        NothingToDo: INPUT holds no mask.
        UsageError: A kind or difficulty is unknown.
        RecordError: The output folder is in use, or was made with other arguments.
    """
    listener = progress or Silent()
    kinds, difficulties = _chosen(options)
    listing = list_items(options.source, options.listing)
    if not listing.items and not listing.errors:
        raise NothingToDo("the input holds no mask", path=options.source, hint="see `auscult stress masks --help`")
    manifest = input_manifest(
        "stress masks",
        options,
        arguments={"kind": list(kinds), "difficulty": list(difficulties), "seed": options.seed},
        listing=listing,
        seeds={"seed": options.seed},
    )
    with open_run(options.out, manifest, overwrite=options.overwrite, ignore=SAME_RESULT) as run:
        run.remove("errors.jsonl")  # whatever failed before is tried again now
        errors = ErrorLog(run)
        errors.keep(error_to_json(name, error) for name, error in listing.errors)
        make = partial(make_stresser, options.source, seed=options.seed, wanted=(kinds, difficulties))
        done = {row["id"]: row.get("input") for row in run.lines("targets.jsonl")}
        refuse_changed(done, listing.items)
        listener.stage("stressing", len(listing.items))
        each_frame(
            Crew(make, options.n_workers, options.timeout_s, "stress"),
            _loose(listing),
            done=done,
            keep=DefectWriter(run, errors),
            errors=errors,
            progress=listener,
        )
        return _finish(run)


def _loose(listing: Listing) -> list[Item]:
    """The items, loose pictures marked: what is written names its clip, and would be taken for a video."""
    films = filmed(listing)
    return [item if item.id in films else replace(item, extra={**item.extra, LOOSE: True}) for item in listing.items]


class DefectWriter:
    """Writes what was made of one frame: the items, then the line that says the target is done."""

    def __init__(self, run: RunFolder, errors: ErrorLog) -> None:
        self._run = run
        self._errors = errors
        rows = run.lines("items.jsonl")
        self._known = {row["id"] for row in rows}
        self._frames = {row["frame"] for row in rows}

    def __call__(self, made: Sequence[Made]) -> None:
        """Keep the targets of one frame; one that was kept before a stop is not kept twice."""
        for target in made:
            if target.error is not None:
                self._errors.keep([target.error])
                continue
            self._write(target)
            fresh = [dict(row) for row in target.items if row["id"] not in self._known]
            if fresh:
                self._run.append_many("items.jsonl", fresh)
            self._known.update(row["id"] for row in fresh)
            self._run.append(
                "targets.jsonl",
                {
                    "id": target.id,
                    "made": len(target.items),
                    "undefined": list(target.undefined),
                    "input": target.input,
                },
            )

    def _write(self, target: Made) -> None:
        """Write the files first: a file without its line is no item, a line without its file would be a broken one."""
        for name, data in target.files.items():
            self._run.write_bytes(name, data, durable=False)
        if target.frame is not None and target.frame[0] not in self._frames:
            name, source = target.frame
            self._run.write_bytes(name, read_bytes(source), durable=False)
            self._frames.add(name)


def _chosen(options: StressOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kinds = DEFECTS if "all" in options.kinds else options.kinds
    kinds = tuple(registry.find("stressor", name).name for name in kinds)
    for name in options.difficulties:
        if name not in DIFFICULTIES:
            raise UsageError(f"there is no difficulty {name!r}", expected="hard, medium, or both")
    if not kinds or not options.difficulties:
        raise UsageError("no kind or no difficulty was chosen", expected="at least one of each")
    return tuple(dict.fromkeys(kinds)), tuple(dict.fromkeys(options.difficulties))


def _finish(run: RunFolder) -> tuple[Summary, list[Table]]:
    items = run.lines("items.jsonl")
    undefined = [entry for row in run.lines("targets.jsonl") for entry in row["undefined"]]
    done = {row["id"] for row in run.lines("targets.jsonl")}
    failed = failed_rows(run.lines("errors.jsonl"), done)
    truths = [row["truth"] for row in items]
    summary = Summary(
        command="stress masks",
        n=len(items) + len(undefined) + len(failed),
        ok=len(items),
        failed=len(failed),
        undefined=len(undefined),
        by_action=counted_by([truth["action"] for truth in truths], ACTIONS),
        by_defect=counted_by([truth["defect"] for truth in truths], DEFECTS),
        metrics={},
    )
    tables = [_made_table(items, undefined), *_undefined_table(undefined)]
    for name, table in zip(("made", "undefined"), tables, strict=False):
        run.write_json(f"tables/{name}.json", asdict(table))
    run.write_json("summary.json", summary.as_json())
    run.finish()
    return summary, tables


def _made_table(items: Sequence[Mapping[str, Any]], undefined: Sequence[Mapping[str, Any]]) -> Table:
    cells: dict[tuple[str, str], list[float]] = {}
    for row in items:
        cells.setdefault((row["stress"]["kind"], row["truth"]["difficulty"] or ""), []).append(row["truth"]["iou"])
    missing = Counter((row["kind"], row["difficulty"] or "") for row in undefined)
    rows = []
    for key in sorted({*cells, *missing}, key=_paper_order):
        values = cells.get(key, [])
        span = f"{min(values):.3f} to {max(values):.3f}" if values else ""
        rows.append((*key, str(len(values)), str(missing[key]), span))
    return Table(
        title="stressed masks",
        header=("kind", "difficulty", "made", "undefined", "exact IoU"),
        rows=tuple(rows),
        note="undefined: the wanted IoU cannot be reached on that object; undefined masks are in no mean",
    )


def _paper_order(key: tuple[str, str]) -> tuple[int, str, str]:
    known: tuple[str, ...] = DEFECTS
    return known.index(key[0]) if key[0] in known else len(known), *key


def _undefined_table(undefined: Sequence[Mapping[str, Any]]) -> list[Table]:
    if not undefined:
        return []
    reasons = Counter((row["kind"], row["reason"]) for row in undefined)
    rows = tuple((kind, reason, str(count)) for (kind, reason), count in reasons.most_common())
    return [Table(title="undefined", header=("kind", "reason", "targets"), rows=rows, note="")]
