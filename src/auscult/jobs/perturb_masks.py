"""The masks of a perturbed frame: moved where its pixels moved, else carried along as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError, ErrorRecord
from auscult.jobs.perturb_names import tagged
from auscult.jobs.perturb_parts import Part
from auscult.media.frames import frame_size
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import read_bytes, safe_name
from auscult.stress.masks.base import truth_of
from auscult.stress.recipe import Plan
from auscult.types import Defect, Item, Mask, MaskRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What goes with a perturbed part.

    Attributes:
        items: Item to what its line says: ``mask`` and, where it has one, ``truth``; and of a mask that was drawn
            anew the hash of its pixels, bool row by row.
        files: Name below the recipe's folder to bytes.
        errors: (item, error) for what could not be opened.
    """

    items: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    errors: tuple[tuple[str, ErrorRecord], ...] = ()


def carried(part: Part, plan: Plan | None) -> Carried:
    """The masks and truths of the items of a frame.

    Args:
        part: The frame.
        plan: What was done to it; None where nothing was.

    Raises:
        InputError: The frame cannot be read.
    """
    assert part.path is not None  # noqa: S101 - a frame has a file
    moving = plan if plan is not None and plan.moves else None
    carrier = _Carrier(frame_size(part.path), moving, part.index, part.twins)
    items: dict[str, Mapping[str, Any]] = {}
    files: dict[str, bytes] = {}
    errors: list[tuple[str, ErrorRecord]] = []
    for item in part.items:
        try:
            said, made = carrier.item(item)
        except AuscultError as error:
            errors.append((item.id, ErrorRecord.of(error, "read")))
            continue
        items[item.id] = said
        files |= made
    return Carried(items=items, files=files, errors=tuple(errors))


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Carries masks of one frame along, or moves them."""

    size: tuple[int, int]
    plan: Plan | None
    index: int
    twins: frozenset[str]

    def item(self, item: Item) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What an item's line says of its masks, and the files for it."""
        name = tagged(safe_name(item.id), item.id) if item.id in self.twins else safe_name(item.id)
        value, mask, files = self._mask(item.mask, f"masks/{name}", redraw=item.mask.absent_ok)
        said: dict[str, Any] = {"mask": value}
        if mask is not None:
            said["mask_sha256"] = hashlib.sha256(mask.tobytes()).hexdigest()
        if item.truth is None:
            return said, files
        truth = {
            key: getattr(item.truth, key)
            for key in ("iou", "defect", "difficulty", "action")
            if getattr(item.truth, key) is not None
        }
        true = None
        if item.truth.mask is not None:
            true_value, true, made = self._mask(item.truth.mask, f"truth/{name}")
            files |= made
            truth = {"mask": true_value, **truth}
        if self.plan is not None and "iou" in truth:
            # both masks moved; what the two share is counted anew, and without the true mask it is not known
            for key in ("iou", "difficulty", "action"):
                truth.pop(key, None)
            if mask is not None and true is not None and (mask.any() or true.any()):
                truth |= _counted(item.truth.defect, iou(mask, true))
        said["truth"] = truth
        return said, files

    def _mask(self, ref: MaskRef, name: str, *, redraw: bool = False) -> tuple[Any, Mask | None, dict[str, bytes]]:
        """How a line names a mask, the mask where it was opened, and its file."""
        elsewhere = ref.segmentation is not None and ref.size not in {None, self.size}
        if self.plan is not None or ref.positive or redraw or elsewhere:
            mask = read_mask(ref, size=self.size).mask
            if self.plan is not None:
                mask = self.plan.mask(np.ascontiguousarray(mask), self.index)
            return f"{name}.png", mask, {f"{name}.png": encode_mask(mask)}
        if ref.path is None:
            return ref.segmentation, None, {}
        place = name + ref.path.suffix.lower()
        named: Any = place
        if ref.index is not None:
            named = {"path": place, "index": ref.index, "labels": ref.labels}
        elif ref.labels:
            named = {"path": place, "labels": True}
        return named, None, {place: read_bytes(ref.path)}


def _counted(defect: Defect | None, value: float) -> dict[str, Any]:
    """IoU, difficulty and action of masks that moved; without a defect the IoU alone."""
    if defect is None:
        return {"iou": value}
    found = truth_of(defect, value)
    return {key: getattr(found, key) for key in ("iou", "difficulty", "action") if getattr(found, key) is not None}
