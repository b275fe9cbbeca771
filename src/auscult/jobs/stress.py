"""``auscult stress masks``: the six mask defects from true masks, as an INPUT that ``audit`` takes.

The same command again resumes a stopped run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult.cases.listing import refuse_best
from auscult.errors import AuscultError, InputError, UsageError
from auscult.jobs.clip_tracks import LOOSE, filmed
from auscult.jobs.frame_masks import FrameMasks
from auscult.jobs.options import DIFFICULTIES, StressOptions, arguments_of
from auscult.jobs.runner import (
    ERRORS,
    FrameGroup,
    FrameVerb,
    Result,
    ResultWriter,
    failed_row,
    finish_tables,
    input_digest,
    item_row,
)
from auscult.media.frames import frame_size
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import safe_name
from auscult.media.readings import LoadedMask
from auscult.outcome import Scored, Undefined
from auscult.record.digest import digest_file, digest_json
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary, counted_by
from auscult.report.tables import Table
from auscult.stress.masks import making, variants
from auscult.types import ACTIONS, DEFECTS, Item, MaskTarget, StressedMask


@dataclass(frozen=True, slots=True, kw_only=True)
class Stresser:
    """Makes the defects of the targets of one frame; made once in each worker process."""

    source: Path
    seed: int
    kinds: tuple[str, ...]
    difficulties: tuple[str, ...]

    def __call__(self, group: FrameGroup) -> list[Result]:
        """Make the defects of the targets of one frame, in their order."""
        wanted = [item for item in group.items if item.id in group.wanted]
        try:
            size = frame_size(wanted[0].frame)
            frame_digest = digest_file(wanted[0].frame)
        except AuscultError as error:
            return [Result(id=item.id, errors=[failed_row(item, error, "read")]) for item in wanted]
        masks = FrameMasks(group.items, partial(_open, size=size))
        return [self._result(item, masks, frame_digest) for item in wanted]

    def _result(self, item: Item, masks: FrameMasks, frame_digest: str) -> Result:
        loaded = masks.get(item.id)
        if isinstance(loaded, AuscultError):
            return Result(id=item.id, errors=[failed_row(item, loaded, "read")])
        mask, others = loaded.mask, masks.others(item.id)
        truth_name = f"truth/{safe_name(item.id)}.png"
        frame_name = f"frames/{frame_name_of(item.frame, self.source)}"
        items: list[dict[str, Any]] = []
        undefined: list[dict[str, Any]] = []
        files = {truth_name: encode_mask(mask)}
        outcomes = variants(MaskTarget(mask=mask, others=others), seed=self.seed, key=item.id, kinds=self.kinds)
        for kind, difficulty, index, outcome in outcomes:
            if making.is_graded(kind) and difficulty not in self.difficulties:
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
        digest = input_digest(item, frame_digest)
        target = {"id": item.id, "made": len(items), "undefined": undefined, "input": digest}
        return Result(id=item.id, files=files, copies={frame_name: item.frame}, rows={ITEMS: items, TARGETS: [target]})


ITEMS, TARGETS = "items.jsonl", "targets.jsonl"


def _open(item: Item, *, size: tuple[int, int]) -> LoadedMask:
    loaded = read_mask(item.mask, size=size)
    if not loaded.mask.any():
        raise InputError(
            "the true mask is empty, there is nothing to stress",
            path=item.mask.path,
            expected="a mask of the target",
            hint="leave this item out",
        )
    return loaded


def variant_name(kind: str, *, difficulty: str | None, index: int) -> str:
    """The last part of a stressed item's id: ``erode_hard``, ``merge_2``, ``perfect``."""
    if making.is_graded(kind):
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
    """A frame's file name in the output folder: its path below INPUT in one word.

    ``frames/a/b.png``, ``a/b.png``, ``images/a/b.png`` and ``a__b.png`` would have the same name: only the first that
    exists has it without a digest.
    """
    root = (source if source.is_dir() else source.parent).resolve()
    place = Path(os.path.relpath(frame.resolve(), root))
    parts = [part for part in place.parts if part not in {"..", "frames", "images"}]
    plain = Path(*parts).with_suffix(frame.suffix.lower())
    split = Path(plain.as_posix().replace("__", "/"))
    candidates = [Path(folder, path) for path in dict.fromkeys((split, plain)) for folder in ("frames", "", "images")]
    first = next((candidate for candidate in candidates if candidate == place or (root / candidate).exists()), place)
    tag = "" if first == place else f"-{digest_json(place.as_posix())[:8]}"
    return safe_name("__".join([*parts[:-1], frame.stem])) + tag + frame.suffix.lower()


class StressMasks(FrameVerb[tuple[Summary, list[Table]]]):
    """``auscult stress masks``, as the runner sees it."""

    command = "stress masks"
    doing = "stressing"
    stage = "stress"
    results = TARGETS
    once = (ITEMS,)

    def __init__(self, options: StressOptions) -> None:
        self._kinds, self._difficulties = _chosen(options)
        self._seed = options.seed
        refuse_best(options.listing)
        super().__init__(options)

    def arguments(self) -> dict[str, Any]:
        """The kinds and difficulties by their full names."""
        return arguments_of(self.options) | {"kind": list(self._kinds), "difficulty": list(self._difficulties)}

    def items(self) -> list[Item]:
        """The items, with pictures outside of videos marked, since the output lines of both name a clip."""
        films = filmed(self.listing)
        return [
            item if item.id in films else replace(item, extra={**item.extra, LOOSE: True})
            for item in self.listing.items
        ]

    def worker(self) -> partial[Stresser]:
        """Makes the function of one frame in a worker process."""
        return partial(
            Stresser,
            source=self.options.source,
            seed=self._seed,
            kinds=self._kinds,
            difficulties=self._difficulties,
        )

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Sort the lines as INPUT is, since intervals depend on the order of clips, and count the masks made."""
        run, place = writer.run, {item.id: number for number, item in enumerate(self.listing.items)}
        items = sorted(run.lines(ITEMS), key=lambda row: place.get(row["stress"]["target"], len(place)))
        targets = sorted(run.lines(TARGETS), key=lambda row: place[row["id"]])
        run.write_lines(ITEMS, items)
        run.write_lines(TARGETS, targets)
        undefined = [entry for row in targets for entry in row["undefined"]]
        failed = failed_rows(run.lines(ERRORS), {row["id"] for row in targets})
        truths = [row["truth"] for row in items]
        summary = Summary(
            command="stress masks",
            n=len(items) + len(undefined) + len(failed),
            ok=len(items),
            failed=len(failed),
            undefined=len(undefined),
            by_action=counted_by([truth["action"] for truth in truths], ACTIONS),
            by_defect=counted_by([truth["defect"] for truth in truths], DEFECTS),
        )
        tables = {"made": _made_table(items, undefined)}
        if undefined:
            reasons = Counter((row["kind"], row["reason"]) for row in undefined)
            rows = tuple((kind, reason, str(count)) for (kind, reason), count in reasons.most_common())
            tables["undefined"] = Table(title="undefined", header=("kind", "reason", "targets"), rows=rows, note="")
        return finish_tables(run, summary, tables)


stress_masks: Final = StressMasks.of


def _chosen(options: StressOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kinds = DEFECTS if "all" in options.kinds else options.kinds
    kinds = tuple(making.find(name).name for name in kinds)
    for name in options.difficulties:
        if name not in DIFFICULTIES:
            raise UsageError(f"there is no difficulty {name!r}", expected="hard, medium, or both")
    if not kinds or not options.difficulties:
        raise UsageError("no kind or no difficulty was chosen", expected="at least one of each")
    return tuple(dict.fromkeys(kinds)), tuple(dict.fromkeys(options.difficulties))


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
    order: tuple[str, ...] = DEFECTS
    return order.index(key[0]) if key[0] in order else len(order), *key
