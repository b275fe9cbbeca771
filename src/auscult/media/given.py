"""What a Python caller gives as a frame, as masks or as a sound: arrays, tensors, PIL images, files, detections.

A frame is uint8 RGB (H, W, 3), as an array or a tensor; a PIL image of any mode, as it lies in memory; or a file.

A mask is bool; whole numbers 0 and 1, or 0 and 255; floating point, cut at a threshold; each (H, W), or with axes of
length 1 beside these; a PIL image; or a file of one mask, as `media.masks` reads it. Several masks are an array (N, H,
W) or (N, 1, H, W), a list of masks, a file of several objects, or `supervision.Detections` with masks. Tensors are
whatever has ``detach`` and ``cpu``, detections whatever has ``mask`` and ``xyxy``: neither package is imported.

Nothing is resized, and nothing is guessed: what may mean two things is refused, and the error says what was given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from auscult.errors import InputError
from auscult.media.frames import read_frame, rgb_of
from auscult.media.limits import DEFAULT_LIMITS
from auscult.media.masks import check_size, object_indices, read_mask
from auscult.media.readings import VOID
from auscult.media.wav import Sound
from auscult.types import Frame, Frames, Mask, MaskRef

_FRAME: Final = "uint8 RGB (height, width, 3), a PIL image or the path of a picture"
_MASK: Final = (
    "(height, width) of bool, of 0 and 1, of 0 and 255 or of probabilities; a tensor, a PIL image or the path of a mask"
)
_MASKS: Final = f"(masks, height, width), a list of masks, or supervision.Detections; a mask is {_MASK}"
_SOUND: Final = "floating point (samples,) or (channels, samples), about -1 to 1"
_CUT: Final = 0.5


def given_frame(given: object) -> Frame:
    """What was given as a frame, uint8 RGB (H, W, 3); an array of that kind is given back as it is."""
    if isinstance(given, str | Path):
        return read_frame(Path(given))
    if isinstance(given, Image.Image):
        return np.ascontiguousarray(rgb_of(_loaded(given), None))
    array = _array(given)
    if array is None:
        raise InputError(f"the frame is of type {_name(given)}", expected=_FRAME, hint="numpy.asarray makes an array")
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8 or not array.size:
        raise InputError(
            f"the frame has shape {array.shape} and dtype {array.dtype}", expected=_FRAME, hint=_frame_hint(array)
        )
    return np.ascontiguousarray(array)


def given_sound(given: object, rate_hz: int) -> Sound:
    """What was given as a sound: floating point (samples,) or (channels, samples), as an array or a tensor."""
    array = _array(given)
    if array is None or array.dtype.kind != "f" or array.ndim not in {1, 2} or not array.size:
        text = f"is of type {_name(given)}" if array is None else f"has shape {array.shape} and dtype {array.dtype}"
        hint = "auscult.media.sound.read_sound reads a file that way; of 16-bit samples: samples / 32768"
        raise InputError(f"the sound {text}", expected=_SOUND, hint=hint)
    if array.ndim == 2 and array.shape[0] > array.shape[1]:
        raise InputError(f"the sound has shape {array.shape}", expected=_SOUND, hint="channels come first: sound.T")
    if type(rate_hz) is not int or not 1 <= rate_hz <= DEFAULT_LIMITS.max_rate_hz:
        raise InputError(f"rate_hz is {rate_hz!r}", expected="a whole number of samples per second")
    return Sound(samples=np.atleast_2d(np.asarray(array, dtype=np.float32)), rate_hz=rate_hz)


def given_frames(given: object) -> Frames:
    """What was given as a picture or as frames of one: ``given_frame``, or an array or tensor (T, H, W, 3)."""
    array = None if isinstance(given, str | Path) else _array(given)
    if array is None or array.ndim != 4:
        return given_frame(given)[None]
    if not len(array):
        raise InputError("frames holds no frame", expected="one at least, or None for no picture prompt")
    return np.stack([given_frame(frame) for frame in array])


def _frame_hint(array: NDArray[Any]) -> str:
    if array.ndim == 4:
        return "one frame a call: frames[0]"
    if array.ndim == 3 and array.shape[0] == 3 and array.shape[2] != 3:
        return "channels come last: frame.transpose(1, 2, 0), of a tensor frame.permute(1, 2, 0)"
    if array.dtype.kind == "f":
        return "undo the normalization, then (frame * 255).round().astype(numpy.uint8)"
    if array.ndim == 3 and array.shape[2] == 4:
        return "leave alpha out: frame[..., :3]"
    if array.ndim == 2:
        return "repeat grey three times: numpy.repeat(frame[..., None], 3, axis=2)"
    return "auscult.media.frames.read_frame reads a file that way"


def given_mask(given: object, size: tuple[int, int], *, threshold: float | None = None) -> Mask:
    """What was given as one mask of a frame of ``size`` (height, width): bool (H, W).

    Floating point is in the mask from ``threshold`` on: .5 where it is None, and then it must be in 0..1.
    """
    if isinstance(given, str | Path):
        return read_mask(MaskRef(path=Path(given)), size=size).mask
    if isinstance(given, Image.Image):
        if len(given.getbands()) > 1:
            raise InputError(
                f"the mask is a picture of mode {given.mode}",
                expected=_MASK,
                hint="make it grey: mask.convert('L'); of a cut-out the mask is mask.getchannel('A')",
            )
        given = np.asarray(_loaded(given))
    array = _array(given)
    if array is None:
        raise InputError(f"the mask is of type {_name(given)}", expected=_MASK, hint=_type_hint(given))
    flat = _without_axes(array, size)
    check_size((flat.shape[0], flat.shape[1]), size)
    return _cut(flat, threshold)


def given_masks(given: object, size: tuple[int, int], *, threshold: float | None = None) -> list[Mask]:
    """What was given as the masks of a frame of ``size`` (height, width), each bool (H, W); may be none."""
    if isinstance(given, str | Path):
        path = Path(given)
        indices = object_indices(path)
        refs = [MaskRef(path=path)] if indices is None else [MaskRef(path=path, index=index) for index in indices]
        return [read_mask(ref, size=size).mask for ref in refs]
    if hasattr(given, "xyxy") and hasattr(given, "mask"):
        given = _of_detections(given)
    array = _array(given)
    masks: Iterable[object]
    if isinstance(given, Image.Image):
        masks = [given]
    elif array is not None:
        if array.ndim == 4 and array.shape[1] == 1:
            array = array[:, 0]
        single = array.ndim < 3 or (array.ndim == 3 and array.shape[2] == 1 != size[1])
        masks = [array] if single else list(array)
    elif isinstance(given, Iterable) and not isinstance(given, Mapping):
        masks = given
    else:
        raise InputError(f"the masks are of type {_name(given)}", expected=_MASKS, hint=_type_hint(given))
    return [_numbered(number, mask, size, threshold=threshold) for number, mask in enumerate(masks)]


def _numbered(number: int, given: object, size: tuple[int, int], *, threshold: float | None) -> Mask:
    try:
        return given_mask(given, size, threshold=threshold)
    except InputError as error:
        raise InputError(
            f"mask {number}: {error.message}", expected=error.expected, hint=error.hint, path=error.path
        ) from error


def _of_detections(given: Any) -> object:
    """The masks of detections; none where nothing was detected."""
    if given.mask is not None:
        return given.mask
    if len(given.xyxy) == 0:
        return ()
    raise InputError(
        f"{_name(given)} holds {len(given.xyxy)} boxes and no masks",
        expected="detections of a model that segments",
        hint="a box is no mask; run a segmenter in the boxes first",
    )


def _loaded(picture: Image.Image) -> Image.Image:
    """The picture with its pixels decoded, since Pillow opens a file without reading it."""
    try:
        picture.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"the picture cannot be read: {error}", expected="a whole picture") from error
    return picture


def _array(given: Any) -> NDArray[Any] | None:
    """An array or tensor as an array of numbers; None for anything else."""
    if callable(getattr(given, "detach", None)) and callable(getattr(given, "cpu", None)):
        try:
            given = given.detach().cpu()
            given = np.asarray(given.float() if given.is_floating_point() else given)  # NumPy knows no bfloat16
        except (TypeError, AttributeError, RuntimeError) as error:
            raise InputError(
                f"a {_name(given)} does not become an array: {error}", expected=_MASK, hint="pass mask.cpu().numpy()"
            ) from error
    elif not isinstance(given, np.ndarray) and callable(getattr(given, "__array__", None)):
        given = np.asarray(given)
    if not isinstance(given, np.ndarray):
        return None
    if np.ma.is_masked(given):
        raise InputError(
            "a masked array hides some of its values", expected=_MASK, hint="say what they are: .filled(0)"
        )
    return np.asarray(given)


def _without_axes(array: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """An array (H, W) from one with axes of length 1 before or after."""
    plane = array
    while plane.ndim > 2 and 1 in {plane.shape[0], plane.shape[-1]}:
        plane = plane[0] if plane.shape[0] == 1 else plane[..., 0]
    if plane.ndim == 2 and plane.size:
        return plane
    several = plane.ndim == 3 and plane.shape[1:] == size
    raise InputError(
        f"the mask has shape {array.shape}",
        expected=_MASK,
        hint="auscult.audit_masks takes several masks of a frame" if several else "one mask is (height, width)",
    )


def _cut(array: NDArray[Any], threshold: float | None) -> Mask:
    if array.dtype == np.bool_:
        return np.not_equal(array.view(np.uint8), 0)  # Pillow's True is 255, which arithmetic on bytes would trip over
    if array.dtype.kind == "f":
        return _of_soft(array, threshold)
    if array.dtype.kind not in "iu":
        raise InputError(f"the mask has dtype {array.dtype}", expected=_MASK, hint="make it bool")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high not in {0, 1, VOID} or bool(((array != 0) & (array != high)).any()):
        values = np.unique(array)
        listed = ", ".join(map(str, values[:6])) + (", ..." if values.size > 6 else "")
        raise InputError(
            f"the mask holds the whole numbers {listed}",
            expected="0 and 1, or 0 and 255",
            hint=f"object indices? one mask is labels == {values[-1]}; a soft mask? divide it by its largest value",
        )
    return np.asarray(array != 0)


def _of_soft(array: NDArray[Any], threshold: float | None) -> Mask:
    cut = _CUT if threshold is None else _finite(threshold)
    if not np.isfinite(array).all():
        raise InputError("the mask holds NaN or infinity", expected=_MASK, hint="look at what the model gave")
    if threshold is None and (float(array.min()) < 0 or float(array.max()) > 1):
        raise InputError(
            f"the mask holds numbers from {float(array.min()):.4g} to {float(array.max()):.4g}",
            expected="probabilities in 0..1, or a threshold for other numbers",
            hint="logits? pass threshold=0; 0 to 255? pass threshold=128",
        )
    return np.asarray(array >= cut)


def _finite(threshold: float) -> float:
    try:
        if math.isfinite(threshold):
            return threshold
    except TypeError:
        pass
    raise InputError(f"threshold is {threshold!r:.60}", expected="a finite number, such as 0.5; 0 for logits")


def _type_hint(given: object) -> str:
    if isinstance(given, Mapping):
        return "a COCO segmentation is decoded by auscult.media.masks.read_mask(auscult.MaskRef(segmentation=...))"
    return "numpy.asarray makes an array of most things"


def _name(given: object) -> str:
    kind = type(given)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
