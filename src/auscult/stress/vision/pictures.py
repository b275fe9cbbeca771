"""Pictures and clips as a list of RGB frames, and back into the shape that was given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.stress.perturbation import kind_of
from auscult.stress.vision.base import ClipInfo
from auscult.types import Box, Frame, Mask

Form: TypeAlias = Literal["grey", "rgb", "rgba", "clip"]

_FAR = 2**31  # pixels

_EXPECTED = "uint8 (H, W), (H, W, 3), (H, W, 4) or (T, H, W, 3), none of them 0"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedPicture:
    """A picture or clip, opened.

    Attributes:
        frames: Its frames, each uint8 RGB (H, W, 3), C-contiguous.
        form: What was given.
        alpha: The transparency of an RGBA picture, (H, W).
        shot: Its size.
    """

    frames: tuple[Frame, ...]
    form: Form
    alpha: NDArray[np.uint8] | None
    shot: ClipInfo

    def closed(self, frames: Sequence[Frame]) -> NDArray[np.uint8]:
        """Perturbed frames in the shape that was given."""
        if self.form == "clip":
            return np.stack(frames)
        (frame,) = frames
        if self.form == "grey":
            return np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
        return frame if self.alpha is None else np.dstack([frame, self.alpha])

    def mask(self, mask: object) -> NDArray[np.bool_]:
        """A mask frame by frame, (T, H, W); a UsageError where it is not of the picture's size."""
        size = self.shot.height, self.shot.width
        wanted = (len(self.frames), *size) if self.form == "clip" else size
        return checked_mask(mask, wanted).reshape(len(self.frames), *size)

    def mask_back(self, mask: NDArray[np.bool_]) -> Mask:
        """The opposite of ``mask``; a copy."""
        return mask.copy() if self.form == "clip" else mask[0].copy()


def opened(image: object, *, rate_fps: float = 25.0) -> OpenedPicture:
    """Open a picture or clip; a UsageError where it is of another shape or type."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or 0 in image.shape:
        hint = "scale 16-bit or float pictures to 0..255 and cast them"
        raise UsageError(f"the image is {kind_of(image)}", expected=_EXPECTED, hint=hint)
    if image.ndim == 4 and image.shape[3] == 3:
        frames = tuple(np.ascontiguousarray(frame) for frame in image)
        return _picture(frames, "clip", rate_fps)
    if image.ndim == 2:
        return _picture((np.asarray(cv2.cvtColor(image, cv2.COLOR_GRAY2RGB), dtype=np.uint8),), "grey", rate_fps)
    if image.ndim == 3 and image.shape[2] in {3, 4}:
        frame = np.ascontiguousarray(image[..., :3])
        if image.shape[2] == 3:
            return _picture((frame,), "rgb", rate_fps)
        return _picture((frame,), "rgba", rate_fps, alpha=image[..., 3].copy())
    raise UsageError(f"the image is {image.dtype} {image.shape}", expected=_EXPECTED)


def checked_mask(mask: object, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of a shape; a UsageError where it is none."""
    if not isinstance(mask, np.ndarray) or mask.shape != shape or mask.dtype != np.bool_:
        raise UsageError(f"a mask is {kind_of(mask)}", expected=f"bool {shape}")
    return mask


def masks_from(values: object) -> list[object]:
    """Masks one by one, each still to be looked at; none where there are none."""
    return [] if values is None else _listed(values, "masks")


def boxes_from(values: object) -> list[Box]:
    """Boxes of whole pixels, rounded outwards; a UsageError where one is no (x0, y0, x1, y1) of finite numbers."""
    return [_box(value) for value in _listed(values, "boxes")]


def _listed(values: object, what: str) -> list[object]:
    single = isinstance(values, str | bytes | dict) or (isinstance(values, np.ndarray) and values.ndim == 0)
    if single or not isinstance(values, Iterable):
        raise UsageError(f"{what} are {values!r:.60}", expected=f"a list of {what}")
    return list(values)


def _box(value: object) -> Box:
    sides = list(value) if isinstance(value, Sequence | np.ndarray) else []
    fits = len(sides) == 4 and all(isinstance(side, Real) and -_FAR <= side <= _FAR for side in sides)  # type: ignore[operator]
    if not fits or sides[0] > sides[2] or sides[1] > sides[3]:
        raise UsageError(f"a box is {value!r:.60}", expected="(x0, y0, x1, y1) in pixels, x0 <= x1, y0 <= y1")
    return math.floor(sides[0]), math.floor(sides[1]), math.ceil(sides[2]), math.ceil(sides[3])


def _picture(
    frames: tuple[Frame, ...], form: Form, rate_fps: float, *, alpha: NDArray[np.uint8] | None = None
) -> OpenedPicture:
    height, width = frames[0].shape[:2]
    shot = ClipInfo(height=height, width=width, frames=len(frames), rate_fps=rate_fps)
    return OpenedPicture(frames=frames, form=form, alpha=alpha, shot=shot)
