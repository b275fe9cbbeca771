"""Small scenes for questions: things in cells of a picture, or each in a column of a video, with voices at will.

Things never hide one another and never leave the picture, so that what is planned is what is seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from auscult.media.frames import encode_jpeg
from auscult.rng import pick
from auscult.scenes.appearance.colours import choose_light
from auscult.scenes.appearance.drawing import Look
from auscult.scenes.draw import RenderedScene, Stage
from auscult.scenes.familiar.base import FPS, PICTURE_QUALITY, RATE_HZ, Drawn, World
from auscult.scenes.geometry import Motion, Path, Pose, SceneLayout
from auscult.scenes.plan import ObjectPlan, ScenePlan
from auscult.scenes.sound.mix import SoundSet, SoundSource, SoundTrack, TimeSpan, mix_down
from auscult.types import Frame, Samples

PICTURE: Final = (480, 640)
ALONE: Final = (288, 288)
VIDEO: Final = (288, 512)
SECONDS: Final = 8.0
CELLS: Final = (3, 4)
"""Rows and columns of a picture's cells, each of which holds one thing at most."""

STILL_S: Final = 3.0
_FILLS: Final = 0.82
_SHIFT: Final = 0.34
_QUIET_DB: Final = -8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who is in a scene and who is heard."""

    looks: Sequence[Look]
    paths: Sequence[Path]
    tracks: Mapping[int, SoundTrack] = field(default_factory=dict)  # by the number of the look
    elsewhere: Sequence[SoundTrack] = ()


def stage(rng: np.random.Generator, world: World, cast: Cast, *, size: tuple[int, int], seconds: float) -> ScenePlan:
    """A scene before a background that shows no thing."""
    order = range(len(cast.looks))
    objects = [ObjectPlan(id=str(index + 1), look=cast.looks[index], track=cast.tracks.get(index)) for index in order]
    return ScenePlan(
        vid="sample",
        split="train",
        size=size,
        seconds=seconds,
        rate_hz=RATE_HZ,
        background=pick(rng, world.backgrounds),
        light=choose_light(rng),
        objects=tuple(objects),
        layout=SceneLayout(paths=tuple(cast.paths), depth=tuple(order)),
        elsewhere=tuple(cast.elsewhere),
    )


def in_cells(rng: np.random.Generator, looks: Sequence[Look]) -> list[Path]:
    """Places at rest, each thing in a cell of its own, of different sizes; at most 12 things."""
    rows, columns = CELLS
    cells = rng.permutation(rows * columns)[: len(looks)]
    paths = []
    for look, cell in zip(looks, cells, strict=True):
        row, column = divmod(int(cell), columns)
        high = _fitting(look, wide=1 / columns, high=1 / rows, size=PICTURE) * float(rng.uniform(0.65, 1.0))
        width = _width(look, high, PICTURE)
        x = (column + 0.5) / columns + float(rng.uniform(-0.45, 0.45)) * (_FILLS / columns - width)
        y = (row + 0.5) / rows + float(rng.uniform(-0.45, 0.45)) * (_FILLS / rows - high)
        pose = _pose(x, y, high, turn_deg=float(rng.uniform(-6, 6)))
        paths.append(_path(pose, pose, seconds=STILL_S))
    return paths


def in_row(rng: np.random.Generator, looks: Sequence[Look], *, size: tuple[int, int]) -> list[Path]:
    """Things at rest from left to right, as large as fits."""
    paths = []
    for index, look in enumerate(looks):
        high = _fitting(look, wide=1 / len(looks), high=1.0, size=size) * float(rng.uniform(0.75, 1.0))
        pose = _pose((index + 0.5) / len(looks), 0.5, high)
        paths.append(_path(pose, pose, seconds=STILL_S))
    return paths


def in_columns(rng: np.random.Generator, looks: Sequence[Look], *, moving: Sequence[bool] | None = None) -> list[Path]:
    """Things from left to right, each in a column of its own, at rest or going up or down.

    Without ``moving`` each moves or rests by chance.
    """
    paths = []
    for index, look in enumerate(looks):
        moves = bool(rng.random() < 0.5) if moving is None else moving[index]
        high = _fitting(look, wide=1 / len(looks), high=0.6, size=VIDEO) * float(rng.uniform(0.75, 1.0))
        x, reach = (index + 0.5) / len(looks), min(_SHIFT, 0.94 - high)
        middle = float(rng.uniform(0.5 - (0.94 - high - reach) / 2, 0.5 + (0.94 - high - reach) / 2))
        ends = (
            (middle - reach / 2, middle + reach / 2)[:: 1 if rng.random() < 0.5 else -1] if moves else (middle, middle)
        )
        start, end = (_pose(x, y, high) for y in ends)
        paths.append(_path(start, end, seconds=SECONDS))
    return paths


def _fitting(look: Look, *, wide: float, high: float, size: tuple[int, int]) -> float:
    """The largest height, as a share of the picture's, with which a thing fits into shares of it."""
    return _FILLS * min(high, wide * size[1] / size[0] / look.aspect)


def _width(look: Look, high: float, size: tuple[int, int]) -> float:
    return high * look.aspect * size[0] / size[1]


def _pose(x: float, y: float, high: float, *, turn_deg: float = 0.0) -> Pose:
    return Pose(round(x, 4), round(y, 4), round(high, 4), round(turn_deg, 2))


def _path(start: Pose, end: Pose, *, seconds: float) -> Path:
    motion: Motion = "still" if start == end else "down" if end.y > start.y else "up"
    return Path(motion=motion, start=start, end=end, duration_s=seconds, full_height=start.height)


def track(rng: np.random.Generator, source: SoundSource, spans: Sequence[TimeSpan], *, pan: float = 0.0) -> SoundTrack:
    """A source at one level and place."""
    level = round(float(rng.uniform(_QUIET_DB, 0.0)), 2)
    return SoundTrack(source=source, spans=tuple(spans), gain_db=(level,), pan=(round(pan, 3),), times_s=(0.0,))


def played(tracks: Sequence[SoundTrack], sounds: SoundSet, *, seconds: float) -> Samples:
    """Tracks as one channel, (samples,)."""
    mixed = mix_down(tracks, sounds, seconds=seconds, rate_hz=RATE_HZ).samples
    return np.asarray(mixed.mean(axis=0), np.float32)


def photographed(plan: ScenePlan, world: World) -> tuple[RenderedScene, tuple[str, bytes]]:
    """A scene's first moment, and it as a picture."""
    shot = Stage(plan, world.looks).at(0.0)
    return shot, (".jpg", encode_jpeg(shot.frame, quality=PICTURE_QUALITY))


def filmed(plan: ScenePlan, world: World) -> Iterator[Frame]:
    """A scene's frames."""
    renderer = Stage(plan, world.looks)
    for number in range(round(plan.seconds * FPS)):
        yield renderer.at(number / FPS).frame


def about_video(
    plan: ScenePlan, world: World, *, text: str, truth: str, options: tuple[str, ...],
    frames: Iterable[Frame] | None = None, **proof: Any,
) -> Drawn:  # fmt: skip
    """A question about a video of a scene, of which ``frames`` may be others; ``proof`` stands beside its plan."""
    return Drawn(
        text=text,
        truth=truth,
        options=options,
        sounds=(played(plan.tracks, world.voices, seconds=SECONDS),),
        frames=filmed(plan, world) if frames is None else frames,
        proof={"plan": plan.as_json(), **proof},
    )
