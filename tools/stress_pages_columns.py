"""What the constants of each perturbation are: the heads of the tables on the pages of docs/stress.

``levels`` of a perturbation are bare numbers. Here each column has a name and a unit; a head that counts for two
columns is a range, "from" and "to", in which a value is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    Attributes:
        text: What the constant is, with its unit.
        columns: 1; or 2 for a range.
    """

    text: str
    columns: int = 1


_FOG: Final = (Head("brightness of the fog, 1 = white"), Head("decay of the fractal at each halving"))
_FROST: Final = (Head("weight of the picture"), Head("weight of the frost"))
_SNOW: Final = (
    Head("mean of the noise"),
    Head("its deviation"),
    Head("enlargement"),
    Head("threshold"),
    Head("radius of the streaks, px"),
    Head("their deviation, px"),
    Head("share of the picture kept"),
)
_FILTER: Final = (Head("cut-off, Hz", 2), Head("share of the filter"))

HEADS: Final[Mapping[str, tuple[Head, ...]]] = MappingProxyType(
    {
        "vision.gaussian_noise.v1": (Head("standard deviation, 1 = white"),),
        "vision.shot_noise.v1": (Head("1 / photons at full brightness"),),
        "vision.impulse_noise.v1": (Head("share of values lost"),),
        "vision.speckle_noise.v1": (Head("standard deviation of the factor"),),
        "vision.gaussian_blur.v1": (Head("standard deviation, px"),),
        "vision.defocus_blur.v1": (Head("radius of the disc, px"), Head("deviation of its rim, px")),
        "vision.motion_blur.v1": (Head("radius of the kernel, px"), Head("standard deviation, px")),
        "vision.glass_blur.v1": (Head("standard deviation of the blur, px"), Head("reach, px"), Head("rounds")),
        "vision.zoom_blur.v1": (Head("greatest enlargement, over 1"), Head("step")),
        "vision.snow.v1": _SNOW,
        "vision.snow_r2bench.v1": _SNOW,
        "vision.fog.v1": _FOG,
        "vision.fog_r2bench.v1": _FOG,
        "vision.frost.v1": _FROST,
        "vision.frost_r2bench.v1": _FROST,
        "vision.spatter.v1": (
            Head("mean of the noise"),
            Head("its deviation"),
            Head("smoothing, px"),
            Head("threshold"),
            Head("shine of the water"),
            Head("opacity of the mud"),
        ),
        "vision.brightness.v1": (Head("added to the value, 1 = white"),),
        "vision.contrast.v1": (Head("contrast kept"),),
        "vision.saturate.v1": (Head("saturation times"), Head("and plus")),
        "vision.jpeg_compression.v1": (Head("quality, 100 = best"),),
        "vision.pixelate.v1": (Head("share of each side"),),
        "vision.pixelate_r2bench.v1": (Head("square, share of 512 px"), Head("share of the way to it")),
        "vision.elastic_transform.v1": (
            Head("height of the field, share of the side"),
            Head("deviation of its blur, share of the side"),
            Head("most that a corner moves, share of the side"),
        ),
        "sound.gain.v1": (Head("bound of the gain, dB"),),
        "sound.background_noise.v1": (Head("signal-to-noise ratio, dB", 2),),
        "sound.air_absorption.v1": (Head("humidity, %", 2), Head("distance, m", 2)),
        "sound.room_reverberation.v1": (
            Head("length, m", 2),
            Head("width, m", 2),
            Head("height, m", 2),
            Head("absorption of the walls", 2),
            Head("reverberation time, s", 2),
        ),
        "sound.gaussian_noise.v1": (Head("standard deviation, 1 = full scale", 2),),
        "sound.impulse_response.v1": (
            Head("length, s"),
            Head("time to decay by 60 dB, s"),
            Head("energy after the direct sound, dB of it"),
        ),
        "sound.impulse_noise.v1": (Head("clicks per second"), Head("greatest peak, 1 = full scale")),
        "sound.peaking_filter.v1": (Head("centre, Hz", 2), Head("bound of the gain, dB"), Head("quality", 2)),
        "sound.time_mask.v1": (Head("silenced share of the sound", 2),),
        "sound.tanh_distortion.v1": (Head("share of samples distorted", 2), Head("share of the distorted sound")),
        "sound.mp3_compression.v1": (Head("bitrate, kbit/s", 2),),
        "sound.low_pass.v1": _FILTER,
        "sound.high_pass.v1": _FILTER,
        "sentences.misspelling.v1": (Head("share of the words"),),
        "sentences.mispunctuation.v1": (Head("marks per character"),),
        "sentences.grammar_error.v1": (Head("faults per word, at least one fault from 1 on"),),
        "sentences.character_missing.v1": (Head("share of the characters"),),
        "sentences.homoglyphs.v1": (Head("share of the characters"),),
        "timing.offset.v1": (Head("offset, s"),),
        "timing.drift.v1": (Head("seconds lost or won per second"),),
        "timing.dropped_frames.v1": (Head("share of the frames lost"),),
        "timing.repeated_frames.v1": (Head("share of the frames that are repeats"),),
    }
)


def heads_of(name: str, columns: int) -> tuple[Head, ...]:
    """The heads of a perturbation's table.

    Raises:
        SystemExit: It has none here, or they do not fit its constants.
    """
    heads = HEADS.get(name, ())
    if sum(head.columns for head in heads) != columns:
        raise SystemExit(f"{name} has {columns} constants; name them in tools/{__name__}.py")
    return heads
