"""Everything that is chosen about a scene, as JSON: with the same assets the same plan gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, cast

from auscult.cases import fields
from auscult.cases.scenes import reading
from auscult.cases.scenes.appearance.light import Light
from auscult.cases.scenes.appearance.sprite import Look
from auscult.cases.scenes.geometry.layout import MOST_THINGS, Layout
from auscult.cases.scenes.sound.source import Source, Track
from auscult.cases.scenes.splits import SPLITS, Split
from auscult.errors import InputError

SIDES = (32, 4096)
SECONDS = (3.0, 120.0)
RATES_HZ = (8_000, 96_000)

_LOUDEST_DB, _SOFTEST_DB = 0.0, -120.0
_MOST_SOUNDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPlan:
    """One thing of a scene.

    Attributes:
        id: ``1``, ``2``, ...: its number in the scene and its ``fid`` on disk.
        look: What it looks like.
        track: How it sounds; None for a silent thing.
    """

    id: str
    look: Look
    track: Track | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePlan:
    """A scene before it is drawn.

    Attributes:
        vid: Name of the scene.
        split: The split it belongs to.
        size: (height, width) in pixels.
        seconds: Length of the clip.
        rate_hz: Sample rate of its sound.
        background: Name of the background.
        unlisted: The background is a photograph, which may show things that are not of the scene.
        light: Light and camera.
        objects: The things.
        layout: Their ways, in the order of ``objects``.
        elsewhere: Sounds from outside the picture.
    """

    vid: str
    split: Split
    size: tuple[int, int]
    seconds: float
    rate_hz: int
    background: str
    unlisted: bool = False
    light: Light
    objects: tuple[ObjectPlan, ...]
    layout: Layout
    elsewhere: tuple[Track, ...] = ()

    @property
    def key_times_s(self) -> tuple[float, ...]:
        """Times of the key frames: one a second, the first at 0 s; ten of them in ten seconds."""
        return tuple(float(second) for second in range(int(self.seconds)))

    @property
    def tracks(self) -> tuple[Track, ...]:
        """Everything that sounds."""
        return (*(thing.track for thing in self.objects if thing.track is not None), *self.elsewhere)

    def as_json(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {
            "vid": self.vid,
            "split": self.split,
            "size": list(self.size),
            "seconds": self.seconds,
            "rate_hz": self.rate_hz,
            "background": self.background,
            "unlisted": self.unlisted,
            "light": self.light.as_json(),
            "objects": [
                {"id": thing.id, "look": asdict(thing.look), "track": track_to_json(thing.track)}
                for thing in self.objects
            ],
            "layout": self.layout.as_json(),
            "elsewhere": [track_to_json(track) for track in self.elsewhere],
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ScenePlan:
        """Read what ``as_json`` gives.

        Raises:
            InputError: A value is absent, of another type or out of bounds, or parts do not fit together.
        """
        seconds = reading.number(row, "seconds", low=SECONDS[0], high=SECONDS[1])
        objects = tuple(
            _object(entry, str(number), until_s=seconds)
            for number, entry in enumerate(reading.entries(row, "objects", most=MOST_THINGS), 1)
        )
        layout = Layout.from_json(reading.mapping(row, "layout"))
        if not objects or len(objects) != len(layout.paths):
            raise InputError(
                f"the scene has {len(objects)} objects and {len(layout.paths)} paths", expected="one path an object"
            )
        return cls(
            vid=_name(row, "vid"),
            split=cast("Split", reading.word(row, "split", SPLITS)),
            size=_size(row),
            seconds=seconds,
            rate_hz=reading.whole(row, "rate_hz", low=RATES_HZ[0], high=RATES_HZ[1]),
            background=fields.required(row, "background"),
            unlisted=reading.flag(row, "unlisted", default=False),
            light=Light.from_json(reading.mapping(row, "light")),
            objects=objects,
            layout=layout,
            elsewhere=tuple(
                _track(entry, until_s=seconds) for entry in reading.entries(row, "elsewhere", most=_MOST_SOUNDS)
            ),
        )


def track_to_json(track: Track | None) -> dict[str, Any] | None:
    """A track as JSON values."""
    if track is None:
        return None
    return {
        "source": asdict(track.source),
        "spans": [list(span) for span in track.spans],
        "gain_db": list(track.gain_db),
        "pan": list(track.pan),
        "times_s": list(track.times_s),
    }


def _name(row: Mapping[str, Any], key: str) -> str:
    text = fields.required(row, key)
    if not all(letter.isascii() and (letter.isalnum() or letter == "-") for letter in text) or len(text) > 100:
        raise fields.wrong(key, text, "a name of letters, digits and hyphens")
    return text


def _size(row: Mapping[str, Any]) -> tuple[int, int]:
    sides = row.get("size")
    if not isinstance(sides, list) or len(sides) != 2:
        raise fields.wrong("size", None, "[height, width]")
    low, high = SIDES
    height, width = (reading.whole({"size": side}, "size", low=low, high=high) for side in sides)
    return height, width


def _object(row: Mapping[str, Any], expected: str, *, until_s: float) -> ObjectPlan:
    if row.get("id") != expected:
        raise fields.wrong("id", row.get("id"), f"{expected!r}: things are numbered from 1")
    look = reading.mapping(row, "look")
    track = fields.mapping(row, "track")
    return ObjectPlan(
        id=expected,
        look=Look(
            category=fields.required(look, "category"),
            instance=fields.required(look, "instance"),
            aspect=reading.number(look, "aspect", low=1e-3, high=1e3),
            colour=fields.text(look, "colour"),
            texture=fields.text(look, "texture"),
            params=reading.mapping(look, "params"),
        ),
        track=None if track is None else _track(track, until_s=until_s),
    )


def _track(row: Mapping[str, Any], *, until_s: float) -> Track:
    source = reading.mapping(row, "source")
    times = reading.numbers(row, "times_s", low=0.0, high=until_s)
    gains = reading.numbers(row, "gain_db", low=_SOFTEST_DB, high=_LOUDEST_DB)
    pans = reading.numbers(row, "pan", low=-1.0, high=1.0)
    rising = all(later > earlier for earlier, later in pairwise(times))
    if not times or not rising or not len(times) == len(gains) == len(pans):
        raise InputError(
            f"a track has {len(times)} times, {len(gains)} levels and {len(pans)} places",
            expected="as many of each, at rising times",
            hint="correct the line",
        )
    spans = reading.spans(row, "spans", until_s=until_s)
    if not spans:
        raise fields.wrong("spans", None, "at least one [start, end]")
    return Track(
        source=Source(
            label=fields.required(source, "label"),
            instance=fields.required(source, "instance"),
            noun=fields.required(source, "noun"),
            verb=fields.required(source, "verb"),
            countable=reading.flag(source, "countable", default=False),
            params=reading.mapping(source, "params"),
        ),
        spans=spans,
        gain_db=gains,
        pan=pans,
        times_s=times,
    )
