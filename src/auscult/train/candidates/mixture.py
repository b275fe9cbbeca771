"""Which kinds of candidates there are, how often each is drawn, and the candidates of one object."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from auscult.errors import UsageError
from auscult.rng import pick
from auscult.train.candidates import base, missing, moved, outlines, segments
from auscult.train.candidates.base import Candidate, CandidateScene, Draft, Maker, Work


def _bands(side: outlines.BandDefect) -> dict[str, tuple[Maker, float]]:
    shapes: dict[outlines.Shaped, float] = {
        outlines.offset: 1.4,
        outlines.element: 0.8,
        outlines.one_sided: 0.6,
        outlines.partial: 0.6,
        outlines.stepped: 0.6,
    }
    return {f"{side}_{shaped.__name__}": (outlines.band(side, shaped), weight) for shaped, weight in shapes.items()}


MAKERS: Final[Mapping[str, Mapping[str, tuple[Maker, float]]]] = MappingProxyType(
    {
        "perfect": {"perfect": (base.perfect, 1.0)},
        "cutout": {
            "paper_cutout": (base.paper_cutout, 1.6),
            "bite": (missing.bite, 1.0),
            "hole": (missing.hole, 1.0),
            "end": (missing.end, 0.7),
            "stripes": (missing.stripes, 0.4),
            "cells": (missing.cells, 0.4),
            "limb": (missing.limb, 0.7),
            "component": (missing.component, 0.4),
            "colour": (missing.colour, 0.8),
        },
        "dilate": {
            "paper_dilate": (base.paper_dilate, 1.6),
            **_bands("dilate"),
        },
        "erode": {
            "paper_erode": (base.paper_erode, 1.6),
            **_bands("erode"),
        },
        "merge": {
            "paper_merge": (base.paper_merge, 1.5),
            "any_other": (moved.any_other, 1.0),
            "rough_other": (moved.rough_other, 0.6),
            "part_of_other": (moved.part_of_other, 0.6),
            "grown_merge": (moved.grown_merge, 0.4),
            "both_sides": (moved.both_sides, 0.3),
        },
        "real": {
            "wavy": (outlines.wavy, 1.0),
            "jagged": (outlines.jagged, 0.5),
            "corners": (outlines.corners, 1.0),
            "low_resolution": (outlines.low_resolution, 1.0),
            "blocky": (outlines.blocky, 0.5),
            "opened": (missing.opened, 0.5),
            "leak": (missing.leak, 0.8),
            "mistaken": (missing.mistaken, 1.0),
            "pieces_gained": (missing.pieces_gained, 0.7),
            "pieces_fitted": (missing.pieces_fitted, 0.5),
            "flooded": (missing.flooded, 0.6),
            "grab_cut": (missing.grab_cut, 0.3),
            "delayed": (moved.delayed, 0.5),
            "propagated": (moved.propagated, 0.8),
            "shifted": (moved.shifted, 0.5),
            "posed": (moved.posed, 0.6),
            "mirrored": (moved.mirrored, 0.15),
            "bent": (moved.bent, 0.6),
            "part_merged": (moved.part_of_other, 0.4),
            "eroded_merge": (moved.eroded_merge, 0.2),
        },
        "segments": {
            "inner_part": (segments.inner_part, 1.5),
            "colour_part": (segments.colour_part, 1.0),
            "clicked": (segments.clicked, 1.3),
            "superpixel_union": (segments.superpixel_union, 1.2),
            "boxed": (segments.boxed, 0.5),
            "stray": (segments.stray, 0.7),
            "part_and_leak": (segments.together(segments.inner_part, missing.leak), 0.6),
            "part_and_wave": (segments.together(segments.inner_part, outlines.wavy), 0.8),
            "wave_and_stray": (segments.together(outlines.wavy, segments.stray), 0.5),
            "union_and_coarse": (segments.together(segments.superpixel_union, outlines.low_resolution), 0.5),
            "colour_and_shift": (segments.together(segments.colour_part, moved.shifted), 0.3),
        },
        "near": {
            "nearly": (outlines.nearly, 1.0),
            "traced": (outlines.traced, 0.6),
            "resampled": (outlines.resampled, 0.4),
        },
        "arbitrary": {
            "paper_arbitrary": (base.paper_arbitrary, 0.15),
            "shape": (moved.shape, 1.0),
            "moved_away": (moved.moved_away, 0.7),
            "background": (moved.background, 0.4),
            "half_and_half": (moved.half_and_half, 0.5),
        },
    }
)
"""Groups of kinds; within a group a kind is drawn by its weight. Where one cannot be made, another of its group is."""

SHARES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "perfect": 0.13,
        "cutout": 0.10,
        "dilate": 0.10,
        "erode": 0.10,
        "merge": 0.14,
        "real": 0.14,
        "segments": 0.21,
        "near": 0.04,
        "arbitrary": 0.04,
    }
)
"""Share of each group. Merges count for more, since an object that is alone in its picture has none."""


def mixture() -> list[tuple[str, float]]:
    """The kinds and how often each is drawn: (kind, weight) with weights that sum to 1."""
    kinds: list[tuple[str, float]] = []
    for group, makers in MAKERS.items():
        total = sum(weight for _, weight in makers.values())
        kinds += [(kind, SHARES[group] * weight / total) for kind, (_, weight) in makers.items()]
    return kinds


_TRIES: Final = 3
_TYPES: Final = frozenset({"perfect", "cutout", "dilate", "erode", "merge"})
"""Groups whose candidates must have the type, so that the types stay equally frequent."""


def candidates(target: CandidateScene, rng: np.random.Generator, count: int) -> list[Candidate]:
    """Draw as many candidates of one object from the mixture, in the order drawn.

    A kind that cannot be made (no other object, no room, a wanted IoU out of reach) gives way to another of its group,
    then to another group.
    """
    work = working(target)
    kinds = [(kind, weight) for kind, weight in mixture() if target.complete or kind not in MAKERS["arbitrary"]]
    names = [kind for kind, _ in kinds]
    weights = np.array([weight for _, weight in kinds])
    weights /= weights.sum()
    result: list[Candidate] = []
    while len(result) < count:
        result.append(_make(work, rng, names[int(rng.choice(len(names), p=weights))], complete=target.complete))
    return result


def of_kind(work: Work, kind: str, rng: np.random.Generator) -> Candidate | None:
    """Make one candidate of a kind, or None where the object does not allow it this time."""
    maker = next(makers[kind][0] for makers in MAKERS.values() if kind in makers)
    draft = maker(work, rng)
    if draft is None or not draft.mask.any():
        return None
    result = _candidate(work, kind, draft)
    return None if result.iou == 1.0 and result.defect != "perfect" else result  # the truth, where it is not meant


def working(target: CandidateScene) -> Work:
    """Check a target and make it ready."""
    shape = target.mask.shape
    frames = [target.frame] + ([target.before[0]] if target.before else [])
    masks = [target.mask, *target.others] + ([target.before[1]] if target.before else [])
    fitting = all(frame.shape == (*shape, 3) and frame.dtype == np.uint8 for frame in frames)
    if not fitting or any(mask.shape != shape or mask.dtype != np.bool_ for mask in masks):
        raise UsageError(
            f"frames of shapes {[frame.shape for frame in frames]}, masks of shapes {[mask.shape for mask in masks]}",
            expected="uint8 (H, W, 3) and bool (H, W), all of one height and width",
        )
    if not target.mask.any():
        raise UsageError("the true mask is empty", expected="an object to make candidates of")
    return Work(target.frame, target.mask, target.others, before=target.before)


def _make(work: Work, rng: np.random.Generator, kind: str, *, complete: bool) -> Candidate:
    groups = [name for name in MAKERS if complete or name != "arbitrary"]
    group = next(group for group, makers in MAKERS.items() if kind in makers)
    for attempt in range(2 * _TRIES):
        if attempt == _TRIES:
            group = pick(rng, groups)
        candidate = of_kind(work, kind, rng)
        if candidate is not None and (group not in _TYPES or candidate.defect == group):
            return candidate
        kind = _random_kind(group, rng)
    return _candidate(work, "perfect", base.perfect(work, rng))


def _random_kind(group: str, rng: np.random.Generator) -> str:
    names = list(MAKERS[group])
    weights = np.array([MAKERS[group][name][1] for name in names])
    return names[int(rng.choice(len(names), p=weights / weights.sum()))]


def _candidate(work: Work, kind: str, draft: Draft) -> Candidate:
    return Candidate(mask=work.whole(draft.mask), kind=kind, defect=draft.defect, iou=work.iou(draft.mask))
