"""Room reverberation: the source sounds in a room, and its echoes are heard too.

A shoebox room, its walls alike, with a source and a microphone 15 to 35 cm from it, as audiomentations places them:
``room_images`` makes the response. The direct sound is heard without delay and at its loudness; echoes come on top.

Up to level 4 the walls follow from the level's absorption, at level 5 from its reverberation time, as in the release;
between the two, on a straight line. Chosen otherwise than audiomentations: the late part is noise of the power and
decay that images would have (instead of rays of its own random numbers), and the air takes nothing.

Source: R2-Bench, Table 1, environmental noise of sound; constants of its toolbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, pi, sin
from typing import ClassVar, Final

import numpy as np

from auscult.stress.params import seed_from
from auscult.stress.sound.base import SeedParams, SoundStressor, Take
from auscult.stress.sound.convolution import convolve
from auscult.stress.sound.room_images import LEAD, Room, absorption_for, response
from auscult.stress.strength import ALL_ONE_WAY, STRONGEST, Rows, between
from auscult.types import Metadata, Samples

_MARGIN_M: Final = 0.1
_SOURCE_M: Final = ((0.1, 3.5), (0.1, 2.7), (1.0, 2.1))
_MICROPHONE_M: Final = (0.15, 0.35)
_UNITS: Final = ("length", "width", "height", "liveness", "source_x", "source_y", "source_z", "away")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomParams(SeedParams):
    """Parameters of the room; each but the angles is a place in a range, 0 to 1.

    Attributes:
        length: Of the room, in the level's range.
        width: Of the room, in the level's range.
        height: Of the room, in the level's range.
        liveness: 1 for the least absorption, or the longest reverberation, of the level's range.
        source_x: Where the source is along the length.
        source_y: Where the source is along the width.
        source_z: Where the source is along the height.
        away: How far the microphone is from the source.
        azimuth: Its direction, in turns.
        elevation: Its direction, in turns.
    """

    length: float
    width: float
    height: float
    liveness: float
    source_x: float
    source_y: float
    source_z: float
    away: float
    azimuth: float
    elevation: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = dict.fromkeys((*_UNITS, "azimuth", "elevation"), (0.0, 1.0))


class RoomReverberation:
    """Puts the sound into a room."""

    name = "sound.room_reverberation.v1"
    params = RoomParams
    # Length, width, height in metres, absorption, reverberation time in seconds; each from, to.
    levels: Rows = (
        (3.6, 4.0, 3.6, 3.7, 2.4, 2.5, 1.0, 1.0, 0.0, 0.0),
        (3.6, 4.0, 3.6, 3.7, 2.4, 2.5, 0.4, 0.6, 0.15, 0.3),
        (4.0, 4.5, 3.7, 3.8, 2.5, 2.6, 0.3, 0.5, 0.3, 0.4),
        (4.5, 5.0, 3.8, 3.9, 2.6, 2.7, 0.2, 0.4, 0.4, 0.5),
        (5.0, 5.5, 3.9, 4.0, 2.7, 2.8, 0.1, 0.3, 0.5, 0.6),
        (5.5, 5.6, 4.0, 4.1, 2.8, 3.0, 0.075, 0.2, 0.6, 0.8),
    )
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="puts the sound into a room whose echoes are heard too",
        goal="a model that knows a source by its onsets or by a dry recording",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="who sounds when stays; echoes outlast the sound by up to a second",
        origin="environment",
        occurs=("indoors",),
    )

    def choose(self, rng: np.random.Generator, take: Take, *, strength: float) -> RoomParams:
        """Draw the room, where the source is and where the microphone."""
        del take
        length, width, height, liveness, *places, away, azimuth, elevation = rng.random(10).tolist()
        source_x, source_y, source_z = places
        return RoomParams(
            strength=strength,
            seed=seed_from(rng),
            length=length,
            width=width,
            height=height,
            liveness=liveness,
            source_x=source_x,
            source_y=source_y,
            source_z=source_z,
            away=away,
            azimuth=azimuth,
            elevation=elevation,
        )

    def render(self, sound: Samples, params: RoomParams, *, rate_hz: int) -> Samples:
        """The sound and its echoes, cut where the sound ends; the same room for all channels."""
        room = self.room(params)
        heard = response(room, samples=sound.shape[1], rate_hz=rate_hz, rng=params.stream("room"))
        return convolve(sound, heard, lead=LEAD)

    def room(self, params: RoomParams) -> Room:
        """The room that was drawn."""
        row = between(self.levels, params.strength)
        ranges = list(zip(row[::2], row[1::2], strict=True))
        units = (params.length, params.width, params.height)
        long, wide, high = (low + unit * (top - low) for unit, (low, top) in zip(units, ranges[:3], strict=True))
        size_m = (long, wide, high)
        low, top = ranges[3]
        absorption = top - params.liveness * (top - low)
        by_time = max(0.0, params.strength - (STRONGEST - 1.0))
        if by_time > 0.0:
            low, top = ranges[4]
            wanted = absorption_for(low + params.liveness * (top - low), size_m)
            absorption += by_time * (wanted - absorption)
        source, microphone = _places(params, size_m)
        return Room(size_m=size_m, source_m=source, microphone_m=microphone, absorption=absorption)


def _places(
    params: RoomParams, size_m: tuple[float, float, float]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Source and microphone; a microphone beyond a wall is moved to the other side of the source."""
    near, far = _MICROPHONE_M
    away = near + params.away * (far - near)
    azimuth, elevation = 2.0 * pi * params.azimuth, 2.0 * pi * params.elevation
    offsets = (-cos(elevation) * sin(azimuth), cos(elevation) * cos(azimuth), sin(elevation))
    source, microphone = [], []
    for unit, (low, top), size, offset in zip(
        (params.source_x, params.source_y, params.source_z), _SOURCE_M, size_m, offsets, strict=True
    ):
        place = low + unit * (min(top, size - _MARGIN_M) - low)
        other = place + away * offset
        source.append(place)
        microphone.append(other if _MARGIN_M <= other <= size - _MARGIN_M else place - away * offset)
    return (source[0], source[1], source[2]), (microphone[0], microphone[1], microphone[2])


STRESSOR: SoundStressor[RoomParams] = RoomReverberation()
