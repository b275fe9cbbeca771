"""Cut-outs: pictures of one thing with transparency around it, as uint8 RGBA (H, W, 4), not premultiplied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.media.pictures import opened, orientation, pixels, upright

LIMITS = Limits(max_pixels=16_777_216)
"""16 megapixels, as 4096 x 4096: a cut-out is decoded whole for every scene that shows it, in every process."""


def read_cutout(path: Path, *, limits: Limits = LIMITS) -> NDArray[np.uint8]:
    """Read a picture with alpha.

    Args:
        path: A PNG, WebP or TIFF file; the content counts, not the suffix. Grey, palette and 16-bit grey pictures with
            transparency are converted.
        limits: Checked against the header, before anything is decoded.

    Returns:
        uint8 RGBA (H, W, 4), C-contiguous, turned as its EXIF orientation says; straight colours.

    Raises:
        InputError: Missing, empty, truncated, not a picture, or a picture without alpha.
        TooLarge: Over ``limits``.
    """
    data = read_bytes(path, limits=limits)
    with opened(data, path=path, limits=limits) as picture:
        if not picture.has_transparency_data:
            raise InputError(
                "the picture has no alpha channel",
                expected="a cut-out: a PNG, WebP or TIFF picture with transparency around the thing",
                hint="cut the thing out and export it with alpha; photographs belong into backgrounds/",
                path=path,
            )
        turn = orientation(picture)
        rgba: NDArray[Any] = pixels(picture if picture.mode == "RGBA" else picture.convert("RGBA"))
    return np.ascontiguousarray(upright(rgba, turn), dtype=np.uint8)
