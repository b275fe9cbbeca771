"""What is lost on the way: strong compression, and a low resolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata

MOST_PIXELS: Final = 65_500
"""Greatest height and width that the JPEG library takes."""


class JpegCompression(Fixed):
    """JPEG: the picture went through a strong compression.

    Source: R2-Bench, Table 1, transmission noise of vision; qualities of ImageNet-C, colour at half resolution (4:2:0).

    What comes back depends on the JPEG library by a grey level or so; with the pinned versions it is the same every
    time.
    """

    name = "vision.jpeg_compression.v1"
    quality = Constant("quality", (100.0, 25.0, 18.0, 15.0, 10.0, 7.0), unit="100 = best")
    meta = Metadata(
        summary="compresses as JPEG at quality 25 to 7 and opens it again",
        goal="blocks of 8 x 8 and smeared colour: false edges beside true ones",
        modality="image",
        source="R2-Bench, Table 1 (transmission); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="transmission",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame as it comes out of a JPEG file; a UsageError where it is larger than such a file may be."""
        del index
        if max(frame.shape) > MOST_PIXELS:
            raise UsageError(
                f"a frame of {frame.shape[0]} x {frame.shape[1]} for JPEG", expected=f"up to {MOST_PIXELS}"
            )
        quality = self.quality.at(params.strength)
        options = [
            cv2.IMWRITE_JPEG_QUALITY,
            round(quality),
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
            cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420,
        ]
        _, encoded = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), options)
        return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB), dtype=np.uint8)


JPEG_COMPRESSION: VisionStressor[NoDraws] = JpegCompression()


Plane: TypeAlias = NDArray[np.uint8]
Whole: TypeAlias = NDArray[np.int64]

_AT_ONCE: Final = 1 << 17
_HALF: Final = np.float32(0.5 + 2.0**-12)  # halves go up, as in Pillow


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Boxes:
    """Boxes along a side."""

    firsts: Whole  # the first pixel of each
    numbers: Whole  # how many pixels each has, 1 or more


def blocky(frame: Frame, *, rows: int, columns: int) -> Frame:
    """A frame resized to ``rows`` x ``columns`` pixels, each at least 1, and back to its own size.

    Either may exceed the frame's own, which then changes nothing along that side.
    """
    height, width = frame.shape[:2]
    down, across = _boxes(height, rows), _boxes(width, columns)
    row_of, column_of = _nearest(height, rows), _nearest(width, columns)
    output = np.empty_like(frame)
    lines = frame.reshape(height, -1)
    at_once = max(1, _AT_ONCE // lines.shape[1])
    for start in range(0, rows, at_once):
        chunk = slice(start, start + at_once)
        small = _reduced(lines, _Boxes(firsts=down.firsts[chunk], numbers=down.numbers[chunk]), across)
        strip = np.asarray(cv2.transpose(small[column_of])).reshape(-1, lines.shape[1])
        first, last = np.searchsorted(row_of, (start, start + len(strip)))
        part = output[first:last].reshape(-1, lines.shape[1])
        np.take(strip, row_of[first:last] - start, axis=0, mode="clip", out=part)
    return output


def _reduced(lines: Plane, down: _Boxes, across: _Boxes) -> Frame:
    """Means of lines, uint8 (H, 3 W), over boxes down and across: uint8 (columns, rows, 3).

    They are turned round so that both sums run over whole rows of memory.
    """
    largest = 255 * int(down.numbers.max()) * int(across.numbers.max())
    kind = np.uint16 if largest < 1 << 16 else np.int32
    rows, columns = len(down.firsts), len(across.firsts)
    turned = np.asarray(cv2.transpose(_summed(lines, down, kind).reshape(rows, -1, 3)))
    means = _summed(turned.reshape(-1, 3 * rows), across, kind).astype(np.float32)
    means *= (1.0 / across.numbers).astype(np.float32)[:, None]
    means *= np.repeat(1.0 / down.numbers, 3).astype(np.float32)
    means += _HALF
    return means.astype(np.uint8).reshape(columns, rows, 3)


def _boxes(size: int, count: int) -> _Boxes:
    """Cut a side into ``count`` boxes; boxes smaller than a pixel have the one under their middle.

    A pixel whose centre lies on an edge belongs to the box before. In Pillow rounding may give it to both or to none,
    which shows, as edges may meet centres all along a side; so the steps are Pillow's, in float64.
    """
    per_box = size / count
    reach = max(per_box, 1.0) / 2
    middles = (np.arange(count) + 0.5) * per_box
    firsts = (middles - reach + 0.5).astype(np.int64)
    ends = np.minimum((middles + reach + 0.5).astype(np.int64), size)
    inside = 1.0 / max(per_box, 1.0)
    firsts += (firsts - middles + 0.5) * inside <= -0.5
    ends -= (ends - 1 - middles + 0.5) * inside > 0.5
    return _Boxes(firsts=firsts, numbers=ends - firsts)


def _nearest(size: int, count: int) -> Whole:
    """Which of ``count`` boxes each pixel of a side shows.

    Where the middle of a pixel falls between two boxes, the rounding of a running sum decides, as in Pillow.
    """
    steps = np.full(size, count / size)
    steps[0] *= 0.5
    indices: Whole = np.cumsum(steps).astype(np.int64)
    return np.minimum(indices, count - 1)


def _summed(lines: NDArray[Any], boxes: _Boxes, kind: type[np.generic]) -> NDArray[Any]:
    """Sums of the lines in each box."""
    firsts, numbers = boxes.firsts, boxes.numbers
    fewest = int(numbers.min())
    sums = lines[firsts].astype(kind)
    for step in range(1, fewest):
        sums += lines[firsts + step]
    for step in range(fewest, int(numbers.max())):
        larger = np.flatnonzero(numbers > step)
        sums[larger] += lines[firsts[larger] + step]
    return sums


class Pixelate(Fixed):
    """Pixelation: sent at a low resolution and blown up again.

    Source: R2-Bench, Table 1, transmission noise of vision; constants of ImageNet-C, geometry of imagecorruptions,
    whose small picture keeps the frame's shape. ``pixelate_r2bench`` is the release's own geometry.

    A box takes in the pixels whose centres lie in it, each with the same weight, and none by halves; OpenCV's area
    interpolation weighs by overlap and gives other values wherever a factor is not whole.
    """

    name = "vision.pixelate.v1"
    factor = Constant("share of each side", (1.0, 0.6, 0.5, 0.4, 0.3, 0.25))
    meta = Metadata(
        summary="scales down to .6 to .25 of each side and up again without smoothing",
        goal="a low resolution: small things and thin parts merge with what is beside them",
        modality="image",
        source="R2-Bench, Table 1 (transmission); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="transmission",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame in larger pixels."""
        del index
        factor = self.factor.at(params.strength)
        height, width = frame.shape[:2]
        return blocky(frame, rows=max(1, int(height * factor)), columns=max(1, int(width * factor)))


PIXELATE: VisionStressor[NoDraws] = Pixelate()


SQUARE_PX: Final = 512


class PixelateR2Bench(Fixed):
    """Pixelation in the geometry of R2-Bench's release: through a small square, whatever the frame's shape.

    Source: R2-Bench's toolbox. A frame that is wider than high gets pixels that are wider than high, and one of less
    than the square's size stays as it is along that side. Strengths below 1 shrink from the frame's own size to level
    1's.
    """

    name = "vision.pixelate_r2bench.v1"
    factor = Constant("square", (0.6, 0.6, 0.5, 0.4, 0.3, 0.25), unit="share of 512 px")
    given_way = Constant("share of the way to it", (0.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    meta = Metadata(
        summary="scales to a square of 307 to 128 pixels and back without smoothing",
        goal="a low resolution: small things and thin parts merge with what is beside them",
        modality="image",
        source="R2-Bench toolbox, whose pixelate differs from ImageNet-C's in geometry",
        truth="masks and boxes stay",
        origin="transmission",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame in larger pixels."""
        del index
        factor, given_way = self.factor.at(params.strength), self.given_way.at(params.strength)
        height, width = (
            int(given_way * int(SQUARE_PX * factor) + (1.0 - given_way) * side + 1e-6) for side in frame.shape[:2]
        )
        return blocky(frame, rows=height, columns=width)


PIXELATE_R2BENCH: VisionStressor[NoDraws] = PixelateR2Bench()
