"""Which kinds of candidates there are and how often each is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from auscult.train.candidates import (
    bands,
    leaks,
    merged,
    missing,
    moved,
    near,
    nonsense,
    outlines,
    paper,
    segments,
)
from auscult.train.candidates.base import Maker


def _bands(side: bands.Side) -> dict[str, tuple[Maker, float]]:
    shapes: dict[bands.Shaped, float] = {
        bands.offset: 1.4,
        bands.element: 0.8,
        bands.one_sided: 0.6,
        bands.partial: 0.6,
        bands.stepped: 0.6,
    }
    return {f"{side}_{shaped.__name__}": (bands.band(side, shaped), weight) for shaped, weight in shapes.items()}


MAKERS: Final[Mapping[str, Mapping[str, tuple[Maker, float]]]] = MappingProxyType(
    {
        "perfect": {"perfect": (paper.perfect, 1.0)},
        "cutout": {
            "paper_cutout": (paper.paper_cutout, 1.6),
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
            "paper_dilate": (paper.paper_dilate, 1.6),
            **_bands("dilate"),
        },
        "erode": {
            "paper_erode": (paper.paper_erode, 1.6),
            **_bands("erode"),
        },
        "merge": {
            "paper_merge": (paper.paper_merge, 1.5),
            "any_other": (merged.any_other, 1.0),
            "rough_other": (merged.rough_other, 0.6),
            "part_of_other": (merged.part_of_other, 0.6),
            "grown_merge": (merged.grown_merge, 0.4),
            "both_sides": (merged.both_sides, 0.3),
        },
        "real": {
            "wavy": (outlines.wavy, 1.0),
            "jagged": (outlines.jagged, 0.5),
            "corners": (outlines.corners, 1.0),
            "low_resolution": (outlines.low_resolution, 1.0),
            "blocky": (outlines.blocky, 0.5),
            "opened": (missing.opened, 0.5),
            "leak": (leaks.leak, 0.8),
            "mistaken": (leaks.mistaken, 1.0),
            "pieces_gained": (leaks.pieces_gained, 0.7),
            "pieces_fitted": (leaks.pieces_fitted, 0.5),
            "flooded": (leaks.flooded, 0.6),
            "grab_cut": (leaks.grab_cut, 0.3),
            "delayed": (moved.delayed, 0.5),
            "propagated": (moved.propagated, 0.8),
            "shifted": (moved.shifted, 0.5),
            "posed": (moved.posed, 0.6),
            "mirrored": (moved.mirrored, 0.15),
            "bent": (moved.bent, 0.6),
            "part_merged": (merged.part_of_other, 0.4),
            "eroded_merge": (merged.eroded_merge, 0.2),
        },
        "segments": {
            "inner_part": (segments.inner_part, 1.5),
            "colour_part": (segments.colour_part, 1.0),
            "clicked": (segments.clicked, 1.3),
            "superpixel_union": (segments.superpixel_union, 1.2),
            "boxed": (segments.boxed, 0.5),
            "stray": (segments.stray, 0.7),
            "part_and_leak": (segments.together(segments.inner_part, leaks.leak), 0.6),
            "part_and_wave": (segments.together(segments.inner_part, outlines.wavy), 0.8),
            "wave_and_stray": (segments.together(outlines.wavy, segments.stray), 0.5),
            "union_and_coarse": (segments.together(segments.superpixel_union, outlines.low_resolution), 0.5),
            "colour_and_shift": (segments.together(segments.colour_part, moved.shifted), 0.3),
        },
        "near": {
            "nearly": (near.nearly, 1.0),
            "traced": (near.traced, 0.6),
            "resampled": (near.resampled, 0.4),
        },
        "arbitrary": {
            "paper_arbitrary": (paper.paper_arbitrary, 0.15),
            "shape": (nonsense.shape, 1.0),
            "moved_away": (nonsense.moved_away, 0.7),
            "background": (nonsense.background, 0.4),
            "half_and_half": (nonsense.half_and_half, 0.5),
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


def mixture(rng: np.random.Generator) -> list[tuple[str, float]]:
    """The kinds and how often each is drawn.

    Args:
        rng: Not drawn from by this mixture; a mixture that changes from object to object would.

    Returns:
        (kind, weight) with weights that sum to 1.
    """
    del rng
    kinds: list[tuple[str, float]] = []
    for group, makers in MAKERS.items():
        total = sum(weight for _, weight in makers.values())
        kinds += [(kind, SHARES[group] * weight / total) for kind, (_, weight) in makers.items()]
    return kinds
