"""32 px patches round outlines: of real objects in photographs, and of things that were put into them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng as randomness
from auscult.media.frames import encode_jpeg
from auscult.scenes.appearance.compose import ComposedPicture
from auscult.scenes.appearance.colours import Light, choose_light
from auscult.scenes.appearance.drawing import AssetSet, Placed
from auscult.types import Frame, Mask
from studies.seam_features import features

SIZE: Final = (480, 854)
SIDE: Final = 32
JITTER: Final = 5  # outlines drawn by hand are off by a few pixels; so are the centres of both kinds of patches
PER_REAL: Final = 16
PER_THING: Final = 6
QUALITY: Final = 92
_TEST_SHARE: Final = 0.4

Composer = Callable[..., ComposedPicture]


@dataclass(frozen=True, slots=True, eq=False)
class Patches:
    """Patches and where they come from.

    Attributes:
        features: float32 (n, features).
        photograph: Of each patch, its cluster.
    """

    features: NDArray[np.float32]
    photograph: NDArray[np.str_]

    @classmethod
    def of(cls, pairs: Iterator[tuple[NDArray[np.uint8], str]]) -> Patches:
        """Gather patches."""
        every = list(pairs)
        return cls(features(np.stack([pixels for pixels, _ in every])), np.array([name for _, name in every]))


def in_test(name: str) -> bool:
    """Whether a photograph or asset belongs to the test part: by a hash of its name, so nobody can choose."""
    return hashlib.blake2b(name.encode(), digest_size=4).digest()[0] < 256 * _TEST_SHARE


def around(frame: Frame, mask: Mask, *, rng: np.random.Generator, most: int) -> Iterator[NDArray[np.uint8]]:
    """Patches round points of a mask's outline, away from the picture's border."""
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8))
    rows, columns = np.nonzero(mask & (inner == 0))
    reach = SIDE // 2 + JITTER
    inside = (rows >= reach) & (rows < mask.shape[0] - reach) & (columns >= reach) & (columns < mask.shape[1] - reach)
    places = np.flatnonzero(inside)
    if places.size == 0:
        return
    for place in rng.choice(places, size=min(most, places.size), replace=False):
        y, x = (int(side[place]) + int(rng.integers(-JITTER, JITTER + 1)) - SIDE // 2 for side in (rows, columns))
        yield frame[y : y + SIDE, x : x + SIDE]


def real(
    photographs: Mapping[str, tuple[Frame, Sequence[Mask]]], composer: Composer, *, key: str
) -> Iterator[tuple[NDArray[np.uint8], str]]:
    """Patches round the outlines of real objects, through the same light, camera and JPEG as the others."""
    for name, (background, masks) in photographs.items():
        rng = randomness.generator(3, "seams", key, name)
        frame = as_seen(composer(background, [], light=choose_light(rng)).frame)
        for mask in masks:
            for patch in around(frame, mask, rng=rng, most=PER_REAL):
                yield patch, name


def as_seen(frame: Frame) -> Frame:
    """A picture after JPEG."""
    data = np.frombuffer(encode_jpeg(frame, quality=QUALITY), np.uint8)
    return np.asarray(cv2.cvtColor(np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR)), cv2.COLOR_BGR2RGB), dtype=np.uint8)


def composed(
    backgrounds: Mapping[str, Frame], things: Scatter, composer: Composer, *, pictures: int
) -> Iterator[tuple[NDArray[np.uint8], str]]:
    """Patches round the outlines of things put into pictures."""
    for name, background in backgrounds.items():
        for number in range(pictures):
            rng = randomness.generator(5, "seams", things.key, name, number)
            placed, light = things.placed(rng), choose_light(rng)
            picture = composer(background, placed, light=light)
            frame = as_seen(picture.frame)
            for mask in picture.visible:
                for patch in around(frame, mask, rng=rng, most=PER_THING):
                    yield patch, name


@dataclass(frozen=True, slots=True)
class Scatter:
    """Things at random places.

    Attributes:
        assets: Where they come from.
        instances: (category, instance) to choose from.
        key: Of the draws.
    """

    assets: AssetSet
    instances: Sequence[tuple[str, str]]
    key: str
    most: int = 4

    def placed(self, rng: np.random.Generator) -> list[Placed]:
        """Draw a few things, far to near."""
        found = []
        for height in np.sort(rng.uniform(60, 240, size=self.most)):
            category, instance = self.instances[int(rng.integers(len(self.instances)))]
            look = self.assets.look(rng, category, instance=instance)
            tallest = min(int(look.params["tallest_px"]), int(400 / look.aspect))
            sprite = self.assets.sprite(
                look, height_px=max(8, min(int(height), tallest)), turn_deg=float(rng.normal(0, 8))
            )
            x, y = rng.uniform((0.08, 0.15), (0.92, 0.9)) * SIZE[::-1]
            found.append(Placed(sprite=sprite, x_px=float(x), y_px=float(y)))
        return found


def instances_of(assets: AssetSet, *, test: bool) -> list[tuple[str, str]]:
    """The instances of one part."""
    return [
        (category, name) for category, names in assets.instances().items() for name in names if in_test(name) == test
    ]


def plain(background: Frame, placed: Sequence[Placed], *, light: Light) -> ComposedPicture:  # noqa: ARG001 - the same call as compose
    """What a composer must beat: pixels laid over pixels, nothing matched."""
    frame = background.astype(np.float32)
    whole: list[Mask] = []
    for thing in placed:
        height, width = thing.sprite.alpha.shape
        alpha: NDArray[Any] = np.zeros(frame.shape[:2], np.float32)
        colours: NDArray[Any] = np.zeros_like(frame)
        x0, y0 = round(thing.x_px - width / 2), round(thing.y_px - height / 2)
        here = (slice(max(0, -y0), frame.shape[0] - y0), slice(max(0, -x0), frame.shape[1] - x0))
        part = thing.sprite.alpha[here]
        there = (slice(max(0, y0), max(0, y0) + part.shape[0]), slice(max(0, x0), max(0, x0) + part.shape[1]))
        alpha[there], colours[there] = part / 255.0, thing.sprite.rgb[here]
        frame += (colours - frame) * alpha[..., None]
        whole = [mask & (alpha < 0.5) for mask in whole]
        whole.append(alpha >= 0.5)
    return ComposedPicture(np.rint(frame).astype(np.uint8), tuple(whole), tuple(whole))
