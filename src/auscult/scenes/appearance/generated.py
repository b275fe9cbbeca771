"""Asset set one: things drawn from parts and painted backgrounds. It needs no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

import numpy as np
from msgspec import Meta

from auscult import rng as randomness
from auscult.errors import InputError
from auscult.record import codec
from auscult.record.codec import Share
from auscult.scenes.appearance import scenery
from auscult.scenes.appearance.colours import COLOURS, Tone, draw_tone, mark_for, scaled
from auscult.scenes.appearance.drawing import Look, PaintedOutline, Skin, Sprite, check_height, draw, upright
from auscult.scenes.appearance.figures import FIGURES
from auscult.scenes.appearance.scenery import TEXTURES, Weave, draw_weave
from auscult.types import Frame

INSTANCES: Final = 48
BACKGROUNDS: Final = 160
_PLAIN_SHARE: Final = 0.4
_SEED: Final = 20_260  # shapes depend on it and on the instance's name only
_TALLEST_PX: Final = 4096

_SECOND: Final[tuple[Tone, ...]] = ((232, 228, 218), (70, 70, 76), (150, 152, 156), (214, 190, 140))
_FIXED: Final[Mapping[str, Tone]] = MappingProxyType(
    {
        "dark": (38, 34, 36),
        "light": (240, 236, 226),
        "metal": (166, 170, 178),
        "gold": (214, 170, 72),
        "wood": (138, 96, 58),
        "leaf": (74, 128, 56),
        "glass": (176, 206, 222),
        "shine": (252, 250, 244),
        "flame": (244, 150, 40),
    }
)


_NAMES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {category: tuple(f"{category}-{number:03d}" for number in range(INSTANCES)) for category in FIGURES}
)


@dataclass(frozen=True, slots=True)
class Generated:
    """Things drawn from parts, of any colour and texture, and painted backgrounds."""

    name: str = "generated"

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Category to instance names, both in a fixed order."""
        return _NAMES

    def backgrounds(self) -> tuple[str, ...]:
        """Names of the backgrounds, in a fixed order."""
        return tuple(f"{scenery.KINDS[number % len(scenery.KINDS)]}-{number:03d}" for number in range(BACKGROUNDS))

    def held(self, background: str) -> frozenset[str] | None:
        """Nothing with a name; rooms, streets and clutter show shapes that a sentence might be taken to mean."""
        return frozenset() if background.split("-", maxsplit=1)[0] in scenery.WITH_SHAPES else None

    def look(self, rng: np.random.Generator, category: str, *, instance: str) -> Look:
        """Draw colour and texture; an InputError where there is no such category or instance."""
        _, aspect = _shape(category, instance)
        colour = str(rng.choice(COLOURS))
        texture = "plain" if rng.random() < _PLAIN_SHARE else str(rng.choice(TEXTURES[1:]))
        tone = draw_tone(rng, colour)
        weave = draw_weave(rng, texture)
        return Look(
            category=category,
            instance=instance,
            aspect=round(aspect, 6),
            colour=colour,
            texture=texture,
            params={
                "tone": list(tone),
                "mark": list(mark_for(rng, tone, colour)),
                "repeats": weave.repeats,
                "turn_deg": weave.turn_deg,
                "share": weave.share,
                "seed": weave.seed,
                "tallest_px": _TALLEST_PX,
            },
        )

    def sprite(self, look: Look, *, height_px: int, turn_deg: float = 0.0) -> Sprite:
        """Draw a look at a size."""
        parts, aspect = _shape(look.category, look.instance)
        check_height(height_px, tallest_px=_TALLEST_PX)
        skin = _skin(look)
        return draw(parts, aspect, skin=skin, height_px=height_px, turn_deg=turn_deg % 360.0)

    def background(self, name: str, *, size: tuple[int, int]) -> Frame:
        """Paint one of ``backgrounds()`` in a size, (height, width) in pixels."""
        if name not in self.backgrounds():
            raise InputError(f"there is no generated background {name[:60]!r}", expected="such as 'meadow-000'")
        rng = randomness.generator(_SEED, "background", name)
        return scenery.paint(rng, name.partition("-")[0], size=size)


@lru_cache(maxsize=128)
def _shape(category: str, instance: str) -> tuple[tuple[PaintedOutline, ...], float]:
    figure = FIGURES.get(category)
    prefix, _, number = instance.rpartition("-")
    if (
        figure is None
        or prefix != category
        or not (len(number) == 3 and number.isdecimal() and int(number) < INSTANCES)
    ):
        raise InputError(
            f"there is no generated thing {instance[:60]!r} of category {category[:60]!r}",
            expected=f"such as 'ball-000', up to {INSTANCES - 1:03d}",
        )
    return upright(figure(randomness.generator(_SEED, "shape", instance)))


_Byte: TypeAlias = Annotated[int, Meta(ge=0, le=255)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SkinParams:
    """What ``Look.params`` must hold of colours and texture."""

    tone: tuple[_Byte, _Byte, _Byte]
    mark: tuple[_Byte, _Byte, _Byte]
    repeats: Annotated[float, Meta(ge=0.1, le=100.0)]
    turn_deg: Annotated[float, Meta(ge=-360.0, le=360.0)]
    share: Share
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)]


def _skin(look: Look) -> Skin:
    params = codec.from_json(_SkinParams, look.params, error=InputError)
    if look.texture not in TEXTURES:
        raise InputError(f"texture {str(look.texture)[:40]!r} is unknown", expected=", ".join(TEXTURES))
    second = _SECOND[int(randomness.generator(_SEED, "second", look.instance).integers(len(_SECOND)))]
    tone = params.tone
    if sum(abs(first - other) for first, other in zip(tone, second, strict=True)) < 120:
        second = _SECOND[1] if sum(tone) > 380 else _SECOND[0]
    return Skin(
        tones={**_FIXED, "body": tone, "second": second, "shade": scaled(tone, 1.5 if max(tone) < 60 else 0.62)},
        mark=params.mark,
        texture=look.texture,
        weave=Weave(repeats=params.repeats, turn_deg=params.turn_deg, share=params.share, seed=params.seed),
        grain_seed=params.seed,
    )


GENERATED: Final = Generated()
