"""What a worker process of ``stress masks`` does: open the true masks of one frame, make their defects, write them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auscult.errors import AuscultError, InputError
from auscult.jobs.clip_tracks import LOOSE
from auscult.jobs.errors import failed_row
from auscult.jobs.groups import FrameGroup
from auscult.jobs.items import asked
from auscult.jobs.resume import input_digest
from auscult.media.frames import frame_size
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import safe_name
from auscult.outcome import Scored, Undefined
from auscult.record.digest import digest_file
from auscult.stress.masks import variants
from auscult.types import Item, Mask, MaskTarget, StressedMask


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
    """One line of ``items.jsonl`` for a stressed mask.

    Args:
        item: The target.
        name: The new item's id.
        stressed: What was made of it.
        names: Where frame, mask and true mask are, relative to the file.
    """
    frame_name, mask_name, truth_name = names
    truth = stressed.truth
    row: dict[str, Any] = {"id": name, "frame": frame_name, "mask": mask_name}
    row |= asked(item)
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
