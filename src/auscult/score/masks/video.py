"""J, F and J&F of a video, by the DAVIS protocols.

Conventions: a clip is (T, H, W), one frame (H, W). Masks are bool, one object of index 1, or whole numbers where each
object has its index: 0 none, 255 void. Scores are 0..1, higher is better.

Metrics: J is the IoU of each frame, F its boundary F (``auscult.score.masks.boundary_f``); each is averaged
over the frames, then over the objects, then (``aggregate``) over the data set; J&F is the mean of J and F.

Protocols:

- ``davis2016``: all objects as one (any index above 0), all frames.
- ``davis2017``: each object of the truth by itself; the first frame (it was given to the model) and the last
  are left out.

Empty on empty is 1, for J and for F, frame by frame. What the truth calls void (255) is taken out of both
masks; void in the prediction is no object. Objects are those of the truth, in any frame of the clip; an object
that only the prediction has is in no mean but is listed.

Variant: under ``davis`` an object is scored in every frame that counts, also before it first comes into the
picture. ``vos-benchmark`` follows that package: an object counts from the first frame that counts and shows
it, in truth or prediction, and objects seen in left-out frames only do not exist. Where all objects are there
from the start, as in DAVIS, both are the same. (That package knows no void: there 255 is one more object.)

References: DAVIS 2016 (Perazzi et al., CVPR 2016, Sec. 4), DAVIS 2017 (Pont-Tuset et al., arXiv:1704.00675,
Sec. 3) and its published evaluation; vos-benchmark 0.1.0.

How a mask behaves over the frames of a clip, the motion of the picture taken out. No truth is needed.

Conventions: a step lies between two consecutive frames of a clip. Its overlap is the IoU of the later mask with the
earlier one moved along with the picture, over the pixels whose motion could be followed (``arrays.motion``), 0..1. A
step counts where at least ``FOLLOWED`` of the two masks was followed.

- ``flicker``: 1 minus the median overlap, 0..1, **lower is better**: how much the mask changes from frame to frame
  beyond what motion explains. It is the usual step that counts; a single bad frame does not move it.
- ``is_switch``: the mask is on something else than a step before: hardly any overlap, neither mask mostly within the
  other, and another place or other colours. A mask that shrinks to a piece of itself, or swallows what is around it,
  is none.

References: flow-warped overlap as a measure of temporal stability goes back to Perazzi et al. 2016 (T of DAVIS) and
Lai et al. 2018 (warping error).

Boundary F of one mask: does its outline run where the true one runs?

Conventions: masks are bool (H, W); scores are 0..1, higher is better. The tolerance is a share of the frame's
diagonal, rounded up to whole pixels (8 pixels at 480x854).

Metrics: precision is the share of the predicted boundary that is near the true one, recall the share of the
true boundary that is near the predicted one, F their harmonic mean. Two empty masks give 1, an empty and a
not empty one 0. The frame's border is no boundary: a mask that fills the frame has none and agrees with an
empty one. IoU tells the two apart; F alone does not.

References: DAVIS 2016 (Perazzi et al., CVPR 2016, Sec. 4); the boundary and the disk as in the DAVIS 2017
evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boundary import TOLERANCE, BoundaryMatch, match, tolerance_px
from auscult.arrays.boxes import box_of, grown, union_box, window
from auscult.arrays.overlap import counts
from auscult.errors import InputError
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.score.masks.overlap import check_bool, check_pair
from auscult.types import Mask, Metadata, ScoreSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryF(Scored[float]):
    """Boundary F (``value``) with its two parts.

    Attributes:
        precision: Share of the predicted boundary near the true one, 0..1.
        recall: Share of the true boundary near the predicted one, 0..1.
        radius_px: What "near" means, in pixels.
    """

    precision: float
    recall: float
    radius_px: int


def boundary_f(prediction: Mask, truth: Mask, *, tolerance: float = TOLERANCE) -> BoundaryF:
    """F of the predicted boundary against the true one.

    Args:
        prediction: bool (H, W).
        truth: bool, the same shape.
        tolerance: Share of the frame's diagonal within which boundaries count as equal; 0 asks for the same pixels.

    Returns:
        0..1, higher is better; 1 when neither mask has a boundary.

    Raises:
        InputError: The shapes differ, a mask is not bool, or ``tolerance`` is negative or not a number.

    Example:
        >>> import numpy as np
        >>> mask = np.zeros((9, 9), bool); mask[3:6, 3:6] = True
        >>> boundary_f(mask, mask).value
        1.0
    """
    check_pair(prediction, truth, ndim=(2,))
    check_bool(prediction, truth)
    check_tolerance(tolerance)
    radius_px = tolerance_px(truth.shape, tolerance)
    _, boundary = compare(prediction, truth, radius_px)
    return BoundaryF(
        value=boundary.f,
        signature=Signature.of(metric="boundary_f", tolerance=f"{tolerance:g} of the diagonal", empty=1),
        precision=boundary.precision,
        recall=boundary.recall,
        radius_px=radius_px,
    )


def compare(prediction: Mask, truth: Mask, radius_px: int) -> tuple[tuple[int, int], BoundaryMatch]:
    """(intersection, union) in pixels and the boundary match of two masks, in one look at the part that holds them."""
    box = union_box(box_of(prediction), box_of(truth))
    if box is None:
        return (0, 0), BoundaryMatch(0, 0, 0, 0)
    # One pixel more: the boundary lies half a pixel towards the top left, so outside the masks on those sides.
    crop = window(grown(box, 1, (truth.shape[0], truth.shape[1])))
    return counts(prediction[crop], truth[crop]), match(prediction[crop], truth[crop], radius_px)


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no share of a diagonal."""
    if not (math.isfinite(tolerance) and 0 <= tolerance <= 1):
        raise InputError(
            f"tolerance is {tolerance!r}",
            expected="a share of the frame's diagonal, 0..1",
            hint="DAVIS uses 0.008; for a radius in pixels divide it by the diagonal",
        )


BOUNDARY_F = ScoreSpec(
    meta=Metadata(
        summary="F of the mask's boundary against the true one",
        goal="ragged, shrunken and swollen outlines that IoU hardly notices",
        modality="mask",
        source="DAVIS 2016, Sec. 4",
        truth="the true mask",
        higher_is_better=True,
    ),
    function=boundary_f,
    options={"tolerance": TOLERANCE},
)


FOLLOWED = 0.4
SURELY_FOLLOWED = 0.5
LEAST_STEPS = 3
LITTLE_OVERLAP = 0.25
MOSTLY_WITHIN = 0.5
ELSEWHERE = 0.1
JUMP = 0.5
OTHER_COLOURS = 0.35
SURELY_OTHER_COLOURS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskStep:
    """What happens to a mask between two consecutive frames."""

    iou: float | None  # overlap over the followed pixels; None where none was followed, or both masks are empty
    followed: float  # share of the two masks that was followed, 0..1
    everywhere: float | None  # overlap over all pixels; None for two empty masks
    within: float | None = None  # share of the smaller mask that lies in the other; None where either is empty
    # distance of the later mask's centre from where motion puts the earlier one's, in sides of a square of the earlier
    # mask's area; None where either is empty
    jump: float | None = None
    # Hellinger distance of the colours under the two masks, 0..1; None where either is empty. Where the mask comes back
    # after frames without it, of the colours under it now and when it was last there
    colours: float | None = None

    @property
    def overlap(self) -> float | None:
        """The overlap where the step counts, else None."""
        return self.iou if self.followed >= FOLLOWED else None


def flicker(steps: Sequence[MaskStep | None]) -> Scored[float] | Undefined:
    """1 minus the median overlap of a clip's steps, 0..1, lower is better; None is a step that could not be had.

    Undefined where fewer than half of the steps count, or fewer than ``LEAST_STEPS``.
    """
    overlaps = [step.overlap for step in steps if step is not None and step.overlap is not None]
    readable = sum(step is not None and step.everywhere is not None for step in steps)
    if readable < LEAST_STEPS:
        return Undefined(f"fewer than {LEAST_STEPS} steps between frames that both could be read")
    if len(overlaps) < LEAST_STEPS or 2 * len(overlaps) < readable:
        return Undefined(f"the motion could be followed in {len(overlaps)} of {readable} steps only")
    signature = Signature.of(metric="flicker", over="followed pixels", followed=FOLLOWED, steps=len(overlaps))
    return Scored(1 - median(overlaps), signature)


def is_switch(step: MaskStep | None) -> bool:
    """Whether the mask is on something else after this step.

    Where the step cannot be followed, a fast object looks like a jump: there only other colours count, and more so.
    The same holds where the mask comes back after frames without it.
    """
    if step is None or step.colours is None:
        return False
    if step.jump is None:
        return step.colours >= SURELY_OTHER_COLOURS
    if step.within is not None and step.within >= MOSTLY_WITHIN:
        return False
    if step.overlap is not None and step.followed >= SURELY_FOLLOWED:
        elsewhere = step.jump >= JUMP or (step.within is not None and step.within < ELSEWHERE)
        return step.overlap < LITTLE_OVERLAP and (elsewhere or step.colours >= OTHER_COLOURS)
    return (step.everywhere or 0.0) < LITTLE_OVERLAP and step.colours >= SURELY_OTHER_COLOURS


VOID = 255

Pairs: TypeAlias = Iterator[tuple[Mask, Mask]]
ObjectPairs: TypeAlias = tuple[int | None, tuple[int, ...], Pairs]
"""An object's index (None: the union), its frames, and its predicted and true mask in each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ClipMasks:
    """Prediction and truth of one clip, both (T, H, W), bool or object indices."""

    prediction: NDArray[Any]
    truth: NDArray[Any]

    @classmethod
    def of(cls, prediction: NDArray[Any], truth: NDArray[Any]) -> ClipMasks:
        """Check the values of two arrays of one shape; a single frame becomes a clip of one."""
        for name, array in (("prediction", prediction), ("truth", truth)):
            _check_values(name, array)
        if truth.ndim == 2:
            return cls(prediction[None], truth[None])
        return cls(prediction, truth)

    @property
    def length(self) -> int:
        """Number of frames."""
        return int(self.truth.shape[0])


def union_of_objects(clip: ClipMasks, frames: Sequence[int]) -> tuple[ObjectPairs, ...]:
    """All objects as one mask, in the given frames."""
    return ((None, tuple(frames), (_union_pair(clip, frame) for frame in frames)),)


def each_object(
    clip: ClipMasks, frames: Sequence[int], *, late: bool
) -> tuple[tuple[ObjectPairs, ...], tuple[int, ...]]:
    """Each object of the truth by itself, by index, and the indices that only the prediction has in these frames.

    With ``late`` an object counts from the first of the frames that shows it, not from the first of all; one that none
    of them shows in the truth does not exist.
    """
    in_truth = {frame: _objects(clip.truth[frame]) for frame in (frames if late else range(clip.length))}
    in_prediction = {frame: _objects(clip.prediction[frame]) for frame in frames}
    void = frozenset(frame for frame in frames if VOID in in_truth[frame])
    real = sorted(frozenset().union(*in_truth.values()) - {VOID})
    extra = sorted(frozenset().union(*in_prediction.values()) - {VOID, *real})
    objects = []
    for index in real:
        shown = [frame for frame in frames if index in in_truth[frame] or index in in_prediction[frame]]
        object_frames = tuple(frame for frame in frames if not late or frame >= shown[0])
        objects.append((index, object_frames, _object_pairs(clip, (index, object_frames), void)))
    return tuple(objects), tuple(extra)


def _object_pairs(clip: ClipMasks, chosen: tuple[int, Iterable[int]], void: frozenset[int]) -> Pairs:
    index, frames = chosen
    for frame in frames:
        prediction, truth = clip.prediction[frame] == index, clip.truth[frame] == index
        if frame in void:
            prediction &= clip.truth[frame] != VOID
        yield prediction, truth


def _union_pair(clip: ClipMasks, frame: int) -> tuple[Mask, Mask]:
    prediction, truth = _foreground(clip.prediction[frame]), _foreground(clip.truth[frame])
    if clip.truth.dtype != np.bool_:
        void = clip.truth[frame] == VOID
        if void.any():
            prediction = prediction & ~void
    return prediction, truth


def _foreground(frame: NDArray[Any]) -> Mask:
    if frame.dtype == np.bool_:
        return frame
    foreground: Mask = (frame > 0) & (frame != VOID)
    return foreground


_FEW = 8


def _objects(frame: NDArray[Any]) -> frozenset[int]:
    if frame.dtype == np.bool_:
        return frozenset({1} if frame.any() else ())
    if frame.dtype != np.uint8:
        return frozenset(np.unique(frame).tolist()) - {0}
    # Looking for each of a few values takes a tenth of the time of counting all 256, and that half of sorting.
    largest = int(frame.max(initial=0))
    if largest <= _FEW:
        return frozenset(value for value in range(1, largest + 1) if (frame == value).any())
    return frozenset(np.flatnonzero(np.bincount(frame.ravel(), minlength=256)).tolist()) - {0}


def _check_values(name: str, array: NDArray[Any]) -> None:
    if array.dtype == np.bool_:
        return
    expected = "bool, or whole numbers: 0 none, 1.. objects, 255 void"
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{name} has dtype {array.dtype}", expected=expected, hint=f"threshold it first: `{name} > 0.5`"
        )
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise InputError(f"{name} holds the value {array.min()}", expected=expected)
    if (array == VOID).any() and not ((array > 0) & (array != VOID)).any():
        raise InputError(
            f"{name} holds no value but 0 and 255, and 255 is void",
            expected=expected,
            hint=f"a mask stored as 0 and 255? pass `{name} > 0`",
        )


DavisProtocol: TypeAlias = Literal["davis2016", "davis2017"]
DavisVariant: TypeAlias = Literal["davis", "vos-benchmark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectJAndF:
    """One object's scores.

    Attributes:
        index: Its index in the truth; None for the union of all.
        j: Mean IoU over its frames.
        f: Mean boundary F over its frames.
        frames: The frames' positions in the clip as given, from 0.
        j_per_frame: IoU of each of them.
        f_per_frame: Boundary F of each of them.
    """

    index: int | None
    j: float
    f: float
    frames: tuple[int, ...]
    j_per_frame: tuple[float, ...]
    f_per_frame: tuple[float, ...]

    @property
    def j_and_f(self) -> float:
        """Mean of J and F."""
        return (self.j + self.f) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class JAndF(Scored[float]):
    """J&F of one clip (``value``) with everything it was made of.

    Attributes:
        j: Mean over the objects of J, 0..1.
        f: Mean over the objects of F, 0..1.
        objects: Each object of the truth.
        extra_objects: Indices that only the prediction has; in no mean.
    """

    j: float
    f: float
    objects: tuple[ObjectJAndF, ...]
    extra_objects: tuple[int, ...] = ()

    @property
    def j_and_f(self) -> float:
        """Mean of J and F: ``value`` by its name."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetJAndF(Scored[float]):
    """J&F of a data set (``value``).

    Attributes:
        j: Mean J, 0..1.
        f: Mean F, 0..1.
        videos: Clips that entered.
        objects: Objects that entered.
        undefined: Clips without a score.
        failed: Clips that should have one and could not be scored.
    """

    j: float
    f: float
    videos: int
    objects: int
    undefined: int
    failed: int

    @property
    def j_and_f(self) -> float:
        """Mean of J and F: ``value`` by its name."""
        return self.value


def j_and_f(
    prediction: NDArray[Any],
    truth: NDArray[Any],
    *,
    protocol: DavisProtocol = "davis2016",
    tolerance: float = TOLERANCE,
    variant: DavisVariant = "davis",
) -> JAndF | Undefined:
    """Region and boundary agreement of a segmented video with the truth.

    Args:
        prediction: bool or whole numbers (object indices), (T, H, W) or (H, W).
        truth: The same shape.
        protocol: ``davis2016`` or ``davis2017``; see the module's first lines.
        tolerance: Share of the diagonal within which boundaries count as equal.
        variant: Which frames count for an object that is not there from the start (``davis2017`` only).

    Returns:
        J, F and J&F, 0..1, higher is better, with each object's value in each frame. Undefined when no frame is left
        to score (``davis2017`` needs three) and when ``davis2017`` finds no object in the truth.

    Raises:
        InputError: The shapes differ, the values are no object indices, or an option is unknown.

    Example:
        >>> import numpy as np
        >>> truth = np.zeros((3, 8, 8), bool); truth[:, 2:6, 2:6] = True
        >>> result = j_and_f(truth, truth, protocol="davis2017")
        >>> result.j, result.f, result.j_and_f
        (1.0, 1.0, 1.0)
    """
    _check_options(protocol, tolerance, variant)
    check_pair(prediction, truth, ndim=(2, 3))
    clip = ClipMasks.of(prediction, truth)
    frames = range(clip.length) if protocol == "davis2016" else range(1, clip.length - 1)
    if not frames:
        return Undefined("no frame is left to score", {"protocol": protocol, "frames": clip.length})
    extra: tuple[int, ...] = ()
    if protocol == "davis2016":
        masks = union_of_objects(clip, frames)
    else:
        masks, extra = each_object(clip, frames, late=variant == "vos-benchmark")
    radius_px = tolerance_px(truth.shape[-2:], tolerance)
    objects = tuple(_score(index, numbers, pairs, radius_px=radius_px) for index, numbers, pairs in masks)
    if not objects:
        return Undefined("the truth holds no object", {"protocol": protocol, "extra_objects": extra})
    j, f = _mean(part.j for part in objects), _mean(part.f for part in objects)
    return JAndF(
        value=(j + f) / 2,
        signature=_signature(protocol, tolerance, variant),
        j=j,
        f=f,
        objects=objects,
        extra_objects=extra,
    )


def aggregate(
    results: Iterable[JAndF | Undefined | Failed], *, over: Literal["objects", "videos"] = "objects"
) -> DatasetJAndF | Undefined:
    """J&F of a data set from its clips' results.

    Args:
        results: What ``j_and_f`` gave for each clip; ``Undefined`` and ``Failed`` enter no mean and are counted.
        over: ``objects``: the mean over the objects of all videos, as the DAVIS evaluation has it, so that a video of
            five objects weighs five times; ``videos``: the mean of the videos' means.

    Returns:
        Mean J, F and J&F, 0..1, higher is better. Undefined when no clip has a score.

    Raises:
        InputError: The clips were scored in different ways, or ``over`` is unknown.
    """
    _check_choice("over", over, ("objects", "videos"))
    outcomes = list(results)
    scored = [result for result in outcomes if isinstance(result, JAndF)]
    if not scored:
        return Undefined("no items" if not outcomes else "no clip has a score")
    signatures = sorted({str(result.signature) for result in scored})
    if len(signatures) > 1:
        raise InputError(
            f"the clips were scored in different ways: {signatures[0]} and {signatures[1]}",
            expected="one signature",
            hint="score all clips with the same protocol, tolerance, variant and version",
        )
    parts: Sequence[JAndF | ObjectJAndF] = scored
    if over == "objects":
        parts = [part for result in scored for part in result.objects]
    j, f = _mean(part.j for part in parts), _mean(part.f for part in parts)
    return DatasetJAndF(
        value=(j + f) / 2,
        signature=Signature((("over", over), *scored[0].signature.fields)),
        j=j,
        f=f,
        videos=len(scored),
        objects=sum(len(result.objects) for result in scored),
        undefined=sum(isinstance(result, Undefined) for result in outcomes),
        failed=sum(isinstance(result, Failed) for result in outcomes),
    )


def _score(index: int | None, frames: tuple[int, ...], pairs: Pairs, *, radius_px: int) -> ObjectJAndF:
    j_per_frame, f_per_frame = [], []
    for prediction, truth in pairs:
        (both, either), boundary = compare(prediction, truth, radius_px)
        j_per_frame.append(both / either if either else 1.0)
        f_per_frame.append(boundary.f)
    return ObjectJAndF(
        index=index,
        j=_mean(j_per_frame),
        f=_mean(f_per_frame),
        frames=frames,
        j_per_frame=tuple(j_per_frame),
        f_per_frame=tuple(f_per_frame),
    )


def _mean(values: Iterable[float]) -> float:
    # fsum rounds once, so that the order of frames, objects and videos cannot matter.
    listed = list(values)
    return math.fsum(listed) / len(listed)


def _signature(protocol: DavisProtocol, tolerance: float, variant: DavisVariant) -> Signature:
    per_object = protocol == "davis2017"
    return Signature.of(
        metric="j_and_f",
        protocol=protocol,
        objects="each" if per_object else "union",
        frames="without first and last" if per_object else "all",
        tolerance=f"{tolerance:g} of the diagonal",
        empty=1,
        void=VOID,
        variant=variant,
    )


def _check_options(protocol: str, tolerance: float, variant: str) -> None:
    _check_choice("protocol", protocol, ("davis2016", "davis2017"))
    _check_choice("variant", variant, ("davis", "vos-benchmark") if protocol == "davis2017" else ("davis",))
    check_tolerance(tolerance)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} is {value!r}", expected=f"one of: {', '.join(choices)}")


J_AND_F = ScoreSpec(
    meta=Metadata(
        summary="mean of IoU and boundary F of a segmented video",
        goal="a target lost, swapped or badly outlined over time",
        modality="mask",
        source="DAVIS 2016, Sec. 4; DAVIS 2017, Sec. 3",
        truth="the true mask of every frame",
        higher_is_better=True,
    ),
    function=j_and_f,
    options={"protocol": "davis2016", "tolerance": TOLERANCE, "variant": "davis"},
)
