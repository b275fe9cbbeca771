"""How large an input may be. Checked from the header, before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from auscult.errors import TooLarge


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds on one input file.

    Attributes:
        max_pixels: Height times width of a picture or mask. Pillow has a ceiling of its own, about 179 million, that
            no larger value lifts.
        max_bytes: Size of the file.
    """

    max_pixels: int = 100_000_000
    max_bytes: int = 268_435_456


DEFAULT_LIMITS = Limits()


def check_pixels(size: tuple[int, int], *, limits: Limits, path: object = None) -> None:
    """Refuse a picture that is over the limit.

    Args:
        size: (height, width) in pixels.
        limits: The bounds.
        path: The file it is about, for the message.

    Raises:
        TooLarge: Height times width is over ``limits.max_pixels``.
    """
    height, width = size
    if height * width > limits.max_pixels:
        raise TooLarge(
            f"a picture of {height} x {width} (height x width) has {height * width:,} pixels",
            expected=f"at most {limits.max_pixels:,} pixels",
            hint="scale or crop the picture; nothing was decoded",
            path=None if path is None else str(path),
        )
