"""What a model under test is: something that segments what is referred to, through the frames of a clip.

======== ============================= ==========================================
task     the reference (guidance)      frames
======== ============================= ==========================================
ris      a sentence                    one photograph
vos      the mask of the first frame   a video
rvos     a sentence                    a video
avs      the sound                     frames at the times of the sound
avss     the sound                     the same; of each pixel also the class is asked
refavs   a sentence and the sound      frames at the times of the sound
======== ============================= ==========================================

A model takes arrays and gives masks, of ``avss`` class maps (``ReferringModel``). What runs one knows more, such as
where a case's predictions lie: an adapter takes a ``Request`` and gives masks (``Predictor``). ``models.spec`` turns
what a person writes into either.

An answer is masks of the asked shape, or probabilities that are cut at one half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.types import Floats, Frame, Frames, Mask, Metadata, Query, Samples

ModelTask: TypeAlias = Literal["ris", "vos", "rvos", "avs", "avss", "refavs"]
Guidance: TypeAlias = Literal["text", "mask", "sound"]
Masks: TypeAlias = NDArray[np.bool_]

ClassMaps: TypeAlias = NDArray[np.uint8]
"""Which class each pixel of each frame belongs to, (T, H, W); 0 is the background."""

TASKS: Final[tuple[ModelTask, ...]] = ("ris", "vos", "rvos", "avs", "avss", "refavs")
MASK_TASKS: Final[tuple[ModelTask, ...]] = ("ris", "vos", "rvos", "avs", "refavs")
"""The tasks that ask for one mask a frame."""
GUIDANCE: Final[dict[ModelTask, tuple[Guidance, ...]]] = {
    "ris": ("text",), "vos": ("mask",), "rvos": ("text",), "avs": ("sound",), "avss": ("sound",),
    "refavs": ("text", "sound"),
}  # fmt: skip
CLASSES: Final = 71
"""Classes of ``avss``: the 70 of AVSBench-semantic, and 0 for the background."""


class ModelInfo(Protocol):
    """What is known of a model before it is run."""

    @property
    def name(self) -> str:
        """The registry's full name, ``classical.flow.v1``."""
        ...

    @property
    def meta(self) -> Metadata:
        """What it says about itself."""
        ...

    @property
    def tasks(self) -> tuple[ModelTask, ...]:
        """The tasks it supports."""
        ...


@runtime_checkable
class ReferringModel(ModelInfo, Protocol):
    """Segments what is referred to.

    A model holds nothing over from one call to the next that could change an answer.
    """

    def predict(
        self,
        frames: Frames,
        query: Query,
        *,
        sound: Samples | None = None,
        rate_hz: int | None = None,
        first_mask: Mask | None = None,
    ) -> NDArray[Any]:
        """Segment one object.

        Args:
            frames: uint8 RGB (T, H, W, 3); T is 1 for a photograph.
            query: The referring expression; its text is None where the reference is a mask or the sound.
            sound: float32 in [-1, 1], (samples,) or (channels, samples), as long as the clip; None without sound.
            rate_hz: Its sample rate; None without sound.
            first_mask: The object in the first frame, bool (H, W); None where the reference is not a mask.

        Returns:
            bool (T, H, W); or probabilities in [0, 1], which are cut at .5. Of ``avss`` whole numbers (T, H, W), the
            class of each pixel, 0 for the background.
        """
        ...


@runtime_checkable
class WeightedModel(ModelInfo, Protocol):
    """A model whose weights the user brings: what is registered until they are there."""

    def using(self, weights: Path) -> ReferringModel:
        """The model with the weights of a folder; a ``UsageError`` says what is missing or damaged."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Request:
    """One request to a model: a case under one condition.

    Attributes:
        id: The case.
        condition: What was done to its input, ``clean`` or a recipe's name.
        names: The stem of every frame's file, in order: what predictions in a folder are called.
        size: (height, width) of the frames.
        query: What was asked for, as perturbed.
        frames: Makes the frames, uint8 RGB (T, H, W, 3), as perturbed: a new array, which a model may spoil. A
            function, since an adapter that looks up what was predicted elsewhere needs none.
        sound: As perturbed, or None.
        rate_hz: Its sample rate, or None.
        first_mask: The object in the first frame, as perturbed, or None.
        classes: How many classes are told apart, the background among them; 0 where one mask a frame is asked for.
    """

    id: str
    condition: str
    names: tuple[str, ...]
    size: tuple[int, int]
    query: Query
    frames: Callable[[], Frames]
    sound: Samples | None = None
    rate_hz: int | None = None
    first_mask: Mask | None = None
    classes: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        """What an answer must have: (T, H, W)."""
        return (len(self.names), *self.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """The reply of a model."""

    masks: Masks | ClassMaps  # bool (T, H, W), or where classes were asked for, these
    seconds: float  # wall time of the model alone
    threshold: float | None = None  # what probabilities were cut at; None where the model gave masks
    said: str = ""  # what an agent took the sentence for; empty for other models


class Predictor(Protocol):
    """A loaded model, in one process."""

    def __call__(self, request: Request) -> Answer:
        """Run the model; an ``InputError`` means an unusable reply, any other exception is the model's own."""
        ...

    def close(self) -> None:
        """Release its resources; a second call does nothing."""
        ...


@runtime_checkable
class AttentiveModel(ReferringModel, Protocol):
    """A model that says where its tokens are looked at from, and which words it never learned.

    Attributes:
        attends: True; a model that waits for its weights says so too.
    """

    attends: bool

    def attention(self, frame: Frame, text: str) -> Mapping[str, Mapping[str, Floats]]:
        """Maps (h, w) in [0, 1] of one sentence, by kind of token and by layer; empty where it has none."""
        ...

    def unknown_words(self, text: str) -> tuple[str, ...]:
        """The words of a sentence that it never learned."""
        ...


def check_clip(frames: Frames) -> None:
    """Refuse what is no clip of frames."""
    if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[3] != len("RGB") or not frames.size:
        raise InputError(f"frames of shape {frames.shape} and type {frames.dtype}", expected="uint8 (T, H, W, 3)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointChoice:
    """Where the omni models of agents answer that are behind an endpoint, as the command says."""

    base_url: str = ""  # before what a profile says
    profile: Path | None = None  # of a chat model, a file; None for the shipped one of its name


USUAL_ENDPOINT: Final = EndpointChoice()


THRESHOLD: Final = 0.5
_EXPECTED: Final = "an array bool (T, H, W), or probabilities in [0, 1]"


def masks_of(given: object, *, shape: tuple[int, int, int]) -> tuple[Masks, float | None]:
    """What a model gave as masks of ``shape`` (T, H, W), a new array, and what it was cut at: .5, or None for masks.

    It may be bool, whole numbers 0 and 1, or floating point in [0, 1], where .5 itself is in the mask as in files; T
    may be left out for a single frame.
    """
    array = _shaped(given, shape)
    if array.dtype == np.bool_:
        return array.copy(), None
    if np.issubdtype(array.dtype, np.integer):
        return _of_whole(array), None
    return _of_soft(array), THRESHOLD


def class_maps_of(given: object, *, shape: tuple[int, int, int], classes: int) -> ClassMaps:
    """What a model gave as classes of ``shape`` (T, H, W): whole numbers from 0, the background, to ``classes`` - 1.

    A bool array without a True says that all is background. T may be left out for a single frame.
    """
    array = _shaped(given, shape)
    if array.dtype.kind not in "iu" and not (array.dtype == np.bool_ and not array.any()):
        raise InputError(
            f"the model gave {array.dtype} where the class of each pixel is asked for",
            expected=f"whole numbers (T, H, W) from 0, the background, to {classes - 1}",
            hint="of scores of each class, take numpy.argmax over the classes",
        )
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < classes:
        raise InputError(
            f"the model gave classes from {array.min()} to {array.max()}",
            expected=f"whole numbers from 0, the background, to {classes - 1}",
        )
    return array.astype(np.uint8)


def _shaped(output: object, shape: tuple[int, int, int]) -> NDArray[Any]:
    array = _array(output)
    if array.ndim == 2 and shape[0] == 1:
        array = array[None]
    if array.shape != shape:
        raise InputError(
            f"the model gave an array of shape {array.shape}",
            expected=f"{shape}: frames, height, width of the clip",
            hint="masks are never resized here; resize them to the frames in the model",
        )
    return array


def _array(output: object) -> NDArray[Any]:
    output = _unmasked(_from_tensor(output))
    if isinstance(output, list | tuple) and output:
        frames = [_unmasked(_from_tensor(frame)) for frame in output]
        if all(isinstance(frame, np.ndarray) for frame in frames):
            output = _stacked(frames)
    if not isinstance(output, np.ndarray):
        raise InputError(
            f"the model gave {type(output).__name__}", expected=_EXPECTED, hint="return a NumPy array or a torch tensor"
        )
    if output.dtype.kind not in "biuf":
        raise InputError(
            f"the model gave an array of {output.dtype}", expected=_EXPECTED, hint="return a NumPy array of numbers"
        )
    return np.asarray(output)


def _from_tensor(output: object) -> object:
    """A torch tensor, or what acts like one, says itself how it becomes an array; anything else is left as it is."""
    detach = getattr(output, "detach", None)
    if not callable(detach):
        return output
    try:
        return detach().cpu().numpy()
    except (TypeError, AttributeError, RuntimeError) as error:  # bfloat16, a sparse tensor
        raise InputError(
            f"the model gave {type(output).__name__}, which does not become an array: {error}",
            expected=_EXPECTED,
            hint="end the model with `.float().cpu().numpy()`",
        ) from error


def _unmasked(output: object) -> object:
    """An array without NumPy's mask of what is not valid; a mask that hides nothing is dropped."""
    if not isinstance(output, np.ma.MaskedArray):
        return output
    if np.ma.getmaskarray(output).any():
        raise InputError(
            "the model gave a masked array that hides some of its values",
            expected=_EXPECTED,
            hint="say what they are: `.filled(False)` where nothing is segmented there",
        )
    return np.asarray(output)


def _stacked(frames: list[Any]) -> NDArray[Any]:
    shapes = {frame.shape for frame in frames}
    if len(shapes) > 1:
        raise InputError(
            f"the model gave masks of different shapes: {sorted(shapes)[:4]}",
            expected=_EXPECTED,
            hint="masks are never resized here; resize them to the frames in the model",
        )
    return np.stack(frames)


def _of_whole(array: NDArray[Any]) -> Masks:
    if array.size and (int(array.min()) < 0 or int(array.max()) > 1):
        raise InputError(
            f"the model gave whole numbers from {array.min()} to {array.max()}",
            expected="0 and 1",
            hint="one object is asked for at a time: compare with its index, or with 0",
        )
    return np.asarray(array != 0)


def _of_soft(array: NDArray[Any]) -> Masks:
    if not np.isfinite(array).all():
        raise InputError(
            "the model gave NaN or infinity",
            expected="probabilities in [0, 1]",
            hint="look at what the model computes there; numpy.nan_to_num would only hide it",
        )
    low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
    if low < 0.0 or high > 1.0:
        raise InputError(
            f"the model gave numbers from {low:g} to {high:g}",
            expected="probabilities in [0, 1]",
            hint="pass scores through a sigmoid, or compare them with 0",
        )
    return np.asarray(array >= THRESHOLD)
