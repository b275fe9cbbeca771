"""Every cue of `masks.cues.v1`: its name, what it means, its range. Coefficients refer to cues by these names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Cue:
    """One number a person can check by eye.

    Attributes:
        name: What coefficients call it.
        meaning: One line.
        low: Least value; smaller ones are clipped.
        high: Greatest value.
    """

    name: str
    meaning: str
    low: float
    high: float


CUES: Final[tuple[Cue, ...]] = (
    # the mask alone
    Cue("hole_count", "log(1 + holes)", 0, 6),
    Cue("hole_share", "root of the holes' area over the mask's", 0, 2),
    Cue("hole_largest", "the same of the largest hole", 0, 2),
    Cue("hole_regularity", "how much the largest hole is an upright rectangle or ellipse", 0, 1),
    Cue("part_count", "log of the number of separate parts", 0, 6),
    Cue("parts_share", "root of the area outside the largest part", 0, 1),
    Cue("part_second", "root of the second part's share of the area", 0, 1),
    Cue("part_colour_gap", "log(1 + Lab distance of the two largest parts)", 0, 6),
    Cue("neck_thin", "root of the second piece's share after peeling 0.35 thicknesses", 0, 1),
    Cue("neck_thick", "the same after peeling 0.7 thicknesses", 0, 1),
    Cue("notch_largest", "root of the largest notch of the outline over the area", 0, 1),
    Cue("notch_regularity", "how much that notch is an upright rectangle or ellipse", 0, 1),
    Cue("roughness", "log of the outline's length over its smoothed length", -0.5, 2),
    Cue("compactness", "log of length squared over 4 pi area; 0 is a disc", -0.5, 6),
    Cue("solidity", "area over that of the convex hull", 0, 1),
    Cue("solidity_largest", "the same of the largest part", 0, 1),
    Cue("box_fill", "area over that of the box", 0, 1),
    Cue("wiggle", "log(1 + mean distance of the outline from its smoothed self)", 0, 3),
    Cue("turning_skew", "skew of the curvature: outward corners sharp (+) or inward ones (-)", -3, 3),
    Cue("straight_share", "share of the outline in long upright or level runs off the frame", 0, 1),
    Cue("spikes_fine", "root of the area that opening by 0.1 thicknesses removes", 0, 1),
    Cue("spikes_mid", "the same, 0.2 thicknesses", 0, 1),
    Cue("spikes_coarse", "the same, 0.4 thicknesses", 0, 1),
    Cue("dents_fine", "root of the area that closing by 0.1 thicknesses adds", 0, 1.5),
    Cue("dents_mid", "the same, 0.2 thicknesses", 0, 1.5),
    Cue("dents_coarse", "the same, 0.4 thicknesses", 0, 1.5),
    Cue("log_area", "log of the area in pixels", 0, 20),
    Cue("frame_share", "root of the area over the frame's", 0, 1),
    Cue("thinness", "log of area over squared thickness; thin things are high", 0, 10),
    # the picture across the outline
    Cue("frame_contact", "share of the outline on the frame's border", 0, 1),
    Cue("edge_far_inside", "log edge strength 0.8-0.35 thicknesses inside, to the ribbon's mean", -3, 3),
    Cue("edge_inside", "the same 0.35-0.18 inside", -3, 3),
    Cue("edge_just_inside", "the same 0.18-0.07 inside", -3, 3),
    Cue("edge_on", "the same on the outline", -3, 3),
    Cue("edge_just_outside", "the same 0.07-0.18 outside", -3, 3),
    Cue("edge_outside", "the same 0.18-0.35 outside", -3, 3),
    Cue("edge_far_outside", "the same 0.35-0.8 outside", -3, 3),
    Cue("peak_offset", "median offset of the strongest edge, outside positive, in thicknesses", -0.5, 0.5),
    Cue("mean_peak_offset", "mean of it, weighted by strength", -0.5, 0.5),
    Cue("peak_spread", "its weighted standard deviation", 0, 0.5),
    Cue("peak_on_share", "share of the outline whose strongest edge lies on it", 0, 1),
    Cue("peak_outside_share", "share whose strongest edge lies outside", 0, 1),
    Cue("peak_inside_share", "share whose strongest edge lies inside", 0, 1),
    Cue("run_outside", "longest stretch of outline with the edge outside, share of its length", 0, 1),
    Cue("run_inside", "longest stretch with the edge inside", 0, 1),
    Cue("unsupported_share", "share of the outline with no edge of note on it", 0, 1),
    Cue("edge_strength", "log(1 + mean edge strength of the ribbon in Lab units)", 0, 5),
    Cue("contrast", "log(1 + mean Lab distance across the outline)", 0, 6),
    Cue("contrast_weak_share", "share of the outline with less than 6 Lab units across it", 0, 1),
    Cue("hole_edge_support", "log edge strength on holes' outlines to that on the outer one", -4, 4),
    # colour
    Cue("colour_deep_inside", "log ratio inside to outside colour, 0.6-0.35 thicknesses inside", -3, 3),
    Cue("colour_inside", "the same 0.35-0.18 inside", -3, 3),
    Cue("colour_just_inside", "the same 0.18-0 inside", -3, 3),
    Cue("colour_just_outside", "the same 0-0.18 outside", -3, 3),
    Cue("colour_outside", "the same 0.18-0.35 outside", -3, 3),
    Cue("colour_far_outside", "the same 0.35-0.7 outside", -3, 3),
    Cue("colour_step", "its fall across the outline", -6, 6),
    Cue("colour_likeness", "overlap of the two colour histograms", 0, 1.01),
    Cue("inside_spread", "log(1 + Lab standard deviation of the core)", 0, 5),
    Cue("outside_spread", "the same of the ring around", 0, 5),
    Cue("missing_largest", "root of the largest region outside that looks like the inside, over the area", 0, 3),
    Cue("missing_share", "root of all pixels just outside that look like the inside, over the area", 0, 3),
    Cue("foreign_largest", "root of the largest region inside that looks like the outside, over the area", 0, 1),
    Cue("foreign_share", "share of the mask that looks like the outside", 0, 1),
    # the frame's other masks
    Cue("swallowed", "root of the mask's share that is another object, covered whole", 0, 1),
    Cue("overlap", "root of the mask's largest share that lies on another object", 0, 1),
    Cue("touching", "largest share of the rim that lies on another object", 0, 1),
)
"""The cues, in the order of every cue vector."""
