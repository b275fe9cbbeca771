"""What a perturbation of pictures is, and how pictures and clips are perturbed by name and rendered again.

Choosing is apart from doing (law 3): ``choose`` draws everything that is random, once for a whole clip, whatever the
strength; ``render`` makes one frame from that and is pure. So a clip's weather stays the same weather while its
strength rises and falls, and any frame can be made alone, in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray

from auscult.arrays.boxes import box_of, grown, window
from auscult.errors import UsageError
from auscult.stress.perturbation import Effect, P, Params, Perturbation, at_fault, chosen, kind_of, loaded
from auscult.types import Box, Frame, Mask, Stressed

MOST_FRAMES: Final = 1_000_000
MOST_FPS: Final = 100_000.0
_MOST_PIXELS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipInfo:
    """What a perturbation may know of a picture or clip when it draws its parameters.

    Attributes:
        height: Pixels.
        width: Pixels.
        frames: How many; 1 for a picture.
        rate_fps: Frames per second.
    """

    height: Annotated[int, Meta(ge=1, le=_MOST_PIXELS)]
    width: Annotated[int, Meta(ge=1, le=_MOST_PIXELS)]
    frames: Annotated[int, Meta(ge=1, le=MOST_FRAMES)] = 1
    rate_fps: Annotated[float, Meta(gt=0.0, le=MOST_FPS)] = 25.0


P_contra = TypeVar("P_contra", bound=Params, contravariant=True)


@runtime_checkable
class VisionStressor(Perturbation[P, ClipInfo], Protocol[P]):
    """Perturbs pictures."""

    def render(self, frame: Frame, params: P, *, index: int = 0) -> Frame:
        """Perturb one frame.

        Args:
            frame: uint8 RGB (H, W, 3), C-contiguous; never written to.
            params: What was drawn; ``params.strength`` is above 0 here.
            index: The frame's number in its clip, from 0.

        Returns:
            A new array of the same shape and dtype.
        """
        ...


@runtime_checkable
class MovingStressor(Protocol[P_contra]):
    """A perturbation under which pixels leave their places, so that masks must follow."""

    def move(self, mask: Mask, params: P_contra, *, index: int = 0) -> Mask:
        """Where the pixels of a mask went, bool (H, W)."""
        ...


AnyVisionStressor: TypeAlias = VisionStressor[Any]


def as_bytes(image: ArrayLike) -> NDArray[np.uint8]:
    """The same array, known to be uint8; nothing is copied."""
    return np.asarray(image, dtype=np.uint8)


def apply(
    name: str, image: NDArray[np.uint8], *, severity: float | str = 3, seed: int = 0, key: str = ""
) -> NDArray[np.uint8]:
    """Perturb a picture or a clip.

    Args:
        name: ``vision.fog.v1``, or a short form such as ``fog``.
        image: uint8: a picture, grey (H, W), RGB (H, W, 3) or RGBA (H, W, 4), or an RGB clip (T, H, W, 3).
        severity: 0..5, or ``low``, ``medium``, ``high`` for 1, 3, 5; 0 changes nothing.
        seed: The run's seed.
        key: What it is made for, an item's id; another key draws anew.

    Returns:
        A new array like ``image``. Transparency stays as it was.

    Raises:
        UnknownName: No such stressor.
        UsageError: The image is of another shape or type, or the severity is out of range.

    Example:
        >>> picture = np.full((60, 80, 3), 128, np.uint8)
        >>> apply("gaussian_noise", picture, severity=3, seed=7).shape
        (60, 80, 3)
    """
    return perturb(name, image, severity=severity, seed=seed, key=key).output


def perturb(
    name: str,
    image: NDArray[np.uint8],
    *,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
    masks: Sequence[Mask] | None = None,
    boxes: Sequence[Box] | None = None,
) -> Stressed[NDArray[np.uint8], Effect]:
    """Perturb a picture or a clip, with its parameters and resulting ground truth; other arguments as in ``apply``.

    ``masks`` of objects, each bool (H, W), or (T, H, W) for a clip, and ``boxes`` of objects of a picture,
    (x0, y0, x1, y1), are to follow the pixels. Boxes with fractions of pixels are rounded outwards.

    Returns:
        What was made, its parameters, and the masks and boxes where the pixels went.

    Raises:
        UnknownName: No such stressor.
        UsageError: The image, a mask, a box or the severity does not fit.
    """
    stressor = loaded("vision", name)
    picture = opened(image)
    params = chosen(stressor, picture.shot, severity=severity, seed=seed, key=key)
    output = rendered(stressor, picture, [params] * len(picture.frames))
    truth = moved(stressor, picture, params, masks=masks, boxes=boxes)
    return Stressed(output=output, params=params.as_json(), truth=truth)


def render(name: str, image: NDArray[np.uint8], params_json: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Render again from recorded parameters, byte for byte.

    Args:
        name: The stressor and version that drew them.
        image: What they were drawn for.
        params_json: ``Stressed.params``, as it was or read back from JSON.

    Raises:
        UnknownName: No such stressor.
        UsageError: The image is of another shape or type.
        InputError: The parameters are not this stressor's.
    """
    stressor = loaded("vision", name)
    picture = opened(image)
    return rendered(stressor, picture, [stressor.params.from_json(params_json)] * len(picture.frames))


def rendered(stressor: AnyVisionStressor, picture: OpenedPicture, params: Sequence[Params]) -> NDArray[np.uint8]:
    """Every frame by its own parameters, in the shape that was given."""
    return picture.closed([
        frame_of(stressor, frame, frame_params, index=index)
        for index, (frame, frame_params) in enumerate(zip(picture.frames, params, strict=True))
    ])  # fmt: skip


def frame_of(stressor: AnyVisionStressor, frame: Frame, params: Params, *, index: int = 0) -> Frame:
    """One frame, perturbed; a copy at strength 0; a UsageError where the stressor gave no frame of the same size."""
    if params.strength == 0.0:
        return frame.copy()
    output: object = stressor.render(frame, params, index=index)
    if not isinstance(output, np.ndarray) or output.shape != frame.shape or output.dtype != np.uint8:
        raise at_fault(stressor, f"made {kind_of(output)}", expected=f"uint8 {frame.shape}")
    return output


def moved(
    stressor: AnyVisionStressor,
    picture: OpenedPicture,
    params: Params,
    *,
    masks: Sequence[Mask] | None,
    boxes: Sequence[Box] | None,
) -> Effect:
    """Masks and boxes after the perturbation; unchanged where it moves no pixels."""
    checked = [picture.mask(mask) for mask in masks_from(masks)]
    if boxes is not None and len(picture.frames) != 1:
        raise UsageError("boxes of a clip", expected="boxes of one picture", hint="give masks instead")
    before = [] if boxes is None else boxes_from(boxes)
    after: tuple[Box | None, ...] | None = None if boxes is None else tuple(before)
    if isinstance(stressor, MovingStressor) and params.strength > 0.0:
        checked = [np.stack([stressor.move(part, params, index=i) for i, part in enumerate(mask)]) for mask in checked]
        size = picture.shot.height, picture.shot.width
        after = None if boxes is None else tuple(box_of(stressor.move(_filled(box, size), params)) for box in before)
    return Effect(masks=None if masks is None else tuple(picture.mask_back(mask) for mask in checked), boxes=after)


def _filled(box: Box, size: tuple[int, int]) -> Mask:
    filled = np.zeros(size, dtype=np.bool_)
    filled[window(grown(box, 0, size))] = True
    return filled


Form: TypeAlias = Literal["grey", "rgb", "clip"]

_FAR = 2**31  # pixels

_EXPECTED = "uint8 (H, W), (H, W, 3), (H, W, 4) or (T, H, W, 3), none of them 0"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedPicture:
    """A picture or clip, opened."""

    frames: tuple[Frame, ...]  # its frames, each uint8 RGB (H, W, 3), C-contiguous
    form: Form  # what was given
    alpha: NDArray[np.uint8] | None  # the transparency of an RGBA picture, (H, W)
    shot: ClipInfo  # its size

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
        shape = (len(self.frames), *size) if self.form == "clip" else size
        return checked_mask(mask, shape).reshape(len(self.frames), *size)

    def mask_back(self, mask: NDArray[np.bool_]) -> Mask:
        """The opposite of ``mask``; a copy."""
        return mask.copy() if self.form == "clip" else mask[0].copy()


def opened(image: object, *, rate_fps: float = 25.0) -> OpenedPicture:
    """Open a picture or clip; a UsageError where it is of another shape or type."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or 0 in image.shape:
        hint = "scale 16-bit or float pictures to 0..255 and cast them"
        raise UsageError(f"the image is {kind_of(image)}", expected=_EXPECTED, hint=hint)
    form: Form
    alpha = None
    if image.ndim == 4 and image.shape[3] == 3:
        frames, form = tuple(np.ascontiguousarray(frame) for frame in image), "clip"
    elif image.ndim == 2:
        frames, form = (np.asarray(cv2.cvtColor(image, cv2.COLOR_GRAY2RGB), dtype=np.uint8),), "grey"
    elif image.ndim == 3 and image.shape[2] in {3, 4}:
        frames, form = (np.ascontiguousarray(image[..., :3]),), "rgb"
        alpha = image[..., 3].copy() if image.shape[2] == 4 else None
    else:
        raise UsageError(f"the image is {image.dtype} {image.shape}", expected=_EXPECTED)
    height, width = frames[0].shape[:2]
    shot = ClipInfo(height=height, width=width, frames=len(frames), rate_fps=rate_fps)
    return OpenedPicture(frames=frames, form=form, alpha=alpha, shot=shot)


def checked_mask(mask: object, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of the given shape; a UsageError where it is not one."""
    if not isinstance(mask, np.ndarray) or mask.shape != shape or mask.dtype != np.bool_:
        raise UsageError(f"a mask is {kind_of(mask)}", expected=f"bool {shape}")
    return mask


def masks_from(values: object) -> list[object]:
    """Masks one by one, not yet checked; none where there are none."""
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
