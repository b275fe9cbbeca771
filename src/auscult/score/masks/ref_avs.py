"""J, F and S of referred audio-visual segmentation, as the releases compute them and as one would expect.

Conventions: a prediction is (T, H, W), bool or a probability in [0, 1]; a truth is bool (T, H, W). An expression that
refers to nothing has an empty truth in every frame. J and F are 0..1, higher is better; S is 0..1, lower is better.

Measures:

- J: IoU of each frame at a threshold, mean over frames, then over groups of clips.
- F: region F with beta squared .3 (not a boundary F). Where the releases say F they mean the best of 255 thresholds,
  found on the truth they score against.
- S, for null expressions: square root of the share of pixels that are segmented.

Variants, which differ by several points on the same masks:

- ``plain``: J and F at threshold .5 frame by frame; empty on empty is 1, one of them empty is 0 for J; frames with an
  empty truth have no F; S frame by frame. Clips count alike.
- ``ref-avs``: the data set's baseline. J at .4; on a frame with an empty truth J is the share of pixels both call
  background; F curves are averaged over the frames of four clips and then the best threshold is taken; S of four clips'
  pixels together. So F and S depend on how clips fall into groups.
- ``tgs-agent``: each clip alone; J at .5 with the same rule for empty truths; best of 255 thresholds for each clip; S
  frame by frame.

The releases also resize both masks first (256x256 and 224x224); here masks are compared as given.

References: Ref-AVS (Wang et al., ECCV 2024) and its evaluation code; TGS-Agent's; MQA-RefAVS Table 7 prints J, F, J&F.

AVSBench, without sentences: masks are bool (T, H, W); everything that sounds is one mask a frame, empty where nothing
that is seen does. Scores are 0..1, higher is better; each is one number a clip, so that two models can be paired clip
by clip.

Metrics:

- ``J``: mean over frames of the IoU. At a frame with an empty truth it is the share of pixels that the prediction
  leaves out, which is AVSBench's rule: one wrong pixel there costs next to nothing, and an empty mask is right.
- ``F_region``: region F with beta squared .3 (precision counts more than recall), mean over the frames whose truth is
  not empty. AVSBench takes the best of 255 thresholds of a soft mask, found on the truth; a bool mask has one. Where
  no frame's truth shows anything there is none.
- ``F_contour``: boundary F as in DAVIS, mean over all frames; empty on empty is 1, one of them empty 0.

R2-Bench does not say which F its Table 6 prints; the clean cells of its first row (72.8 and 84.8, 47.9 and 57.8) are
those that AVSBench prints for its own model, so Table 6 is compared by ``F_region``. Both are always given.

References: AVSBench (Zhou et al., ECCV 2022, Sec. 5.1, and its evaluation code); DAVIS 2016, Sec. 4; R2-Bench, Table 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boundary import TOLERANCE, tolerance_px
from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.masks.overlap import BETA2, check_bool, check_pair
from auscult.score.masks.video import compare
from auscult.types import Mask, ScoreSpec

RefAvsVariant: TypeAlias = Literal["plain", "ref-avs", "tgs-agent"]
Soft: TypeAlias = NDArray[np.bool_] | NDArray[np.floating[Any]]

THRESHOLDS = 255
_EPS = 1e-7


@dataclass(frozen=True, slots=True)
class _Rules:
    threshold: float
    empty: Literal["agree", "background"]
    best_of: int
    pooled: int


_RULES: dict[RefAvsVariant, _Rules] = {
    "plain": _Rules(0.5, "agree", 1, 1),
    "ref-avs": _Rules(0.4, "background", THRESHOLDS, 4),
    "tgs-agent": _Rules(0.5, "background", THRESHOLDS, 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipMean(Scored[float]):
    """A score of many clips.

    Attributes:
        clips: Clips that entered.
        frames: Frames that entered.
        undefined: Frames that did not, because the variant has no rule for them.
    """

    clips: int
    frames: int
    undefined: int


def ref_avs_j(
    predictions: Sequence[Soft], truths: Sequence[Mask], *, variant: RefAvsVariant = "plain"
) -> ClipMean | Undefined:
    """J: mean IoU over frames.

    Args:
        predictions: One (T, H, W) a clip, bool or in [0, 1].
        truths: As many bool (T, H, W), each of its partner's shape.
        variant: ``plain``, ``ref-avs`` or ``tgs-agent``; see the module.

    Returns:
        0..1, higher is better. Undefined when there is no clip.

    Raises:
        InputError: Numbers of clips, shapes or dtypes do not fit, or a probability is not in [0, 1].

    Example:
        >>> truth = np.zeros((1, 2, 2), bool); truth[0, 0] = True
        >>> ref_avs_j([truth], [truth]).value
        1.0
        >>> nothing, speck = np.zeros((1, 2, 2), bool), np.eye(2, dtype=bool)[None] & truth
        >>> ref_avs_j([speck], [nothing]).value, ref_avs_j([speck], [nothing], variant="ref-avs").value
        (0.0, 0.75)
    """
    rules = _rules(variant)

    def of_group(group: _Group) -> tuple[float, int] | None:
        values = [_frame_j(prediction >= rules.threshold, truth, rules) for prediction, truth in _frames(group)]
        return (math.fsum(values) / len(values), len(values)) if values else None

    return _mean(of_group, _pairs(predictions, truths), rules=rules, signature=_signature("j", variant, rules))


def ref_avs_f(
    predictions: Sequence[Soft], truths: Sequence[Mask], *, variant: RefAvsVariant = "plain"
) -> ClipMean | Undefined:
    """F: region F with beta squared .3, over frames whose truth is not empty; arguments and errors as in ``ref_avs_j``.

    At threshold .5 (``plain``), or the best of 255 thresholds of four clips (``ref-avs``) or of each clip
    (``tgs-agent``): an optimistic number, since the threshold is chosen on the truth. 0..1, higher is better. Undefined
    when no truth shows anything.
    """
    rules = _rules(variant)
    grid = np.array([0.5]) if rules.best_of == 1 else np.linspace(0.0, 1.0 - 1e-10, rules.best_of)

    def of_group(group: _Group) -> tuple[float, int] | None:
        curves = [_f_curve(prediction, truth, grid) for prediction, truth in _frames(group) if truth.any()]
        return (float(np.mean(curves, axis=0).max()), len(curves)) if curves else None

    return _mean(of_group, _pairs(predictions, truths), rules=rules, signature=_signature("f", variant, rules))


def ref_avs_s(predictions: Sequence[Soft], *, variant: RefAvsVariant = "plain") -> ClipMean | Undefined:
    """S: square root of the share of pixels segmented where the expression refers to nothing, 0..1, lower is better.

    Predictions as in ``ref_avs_j``, for null expressions only; ``ref-avs`` takes the pixels of four clips together, the
    others each frame by itself. Undefined when there is no clip.

    Example:
        >>> quarter = np.zeros((1, 2, 2), bool); quarter[0, 0, 0] = True
        >>> ref_avs_s([quarter]).value
        0.5
    """
    rules = _rules(variant)
    nothing = [np.zeros(np.shape(prediction), np.bool_) for prediction in predictions]

    def of_group(group: _Group) -> tuple[float, int] | None:
        shares = [float(np.mean(prediction >= 0.5)) for prediction, _ in _frames(group)]
        if not shares:
            return None
        if rules.pooled > 1:
            sizes = [prediction.size for prediction, _ in _frames(group)]
            return math.sqrt(float(np.average(shares, weights=sizes))), len(shares)
        return math.fsum(map(math.sqrt, shares)) / len(shares), len(shares)

    return _mean(of_group, _pairs(predictions, nothing), rules=rules, signature=_signature("s", variant, rules))


RefAvsSums: TypeAlias = Mapping[str, Sequence[float]]
"""Of one clip's bool masks, by measure: sums over its frames or pixels, and what they are over; see ``clip_sums``."""


def clip_sums(prediction: Mask, truth: Mask) -> RefAvsSums:
    """What the releases' scores of bool masks (T, H, W) follow from, so that clips are pooled without their masks.

    ``J``: sum over frames, by background agreement where the truth is empty, and frames. ``F``: sum over frames whose
    truth is not empty, of the mask and of the whole frame (which the lowest of 255 thresholds gives), and such frames.
    ``S``: pixels segmented, and pixels.
    """
    ((soft, _),) = _pairs([prediction], [truth])
    rules = _RULES["tgs-agent"]
    agreed = [_frame_j(frame >= rules.threshold, true, rules) for frame, true in zip(soft, truth, strict=True)]
    curves = [
        _f_curve(frame, true, np.array([0.0, 0.5])) for frame, true in zip(soft, truth, strict=True) if true.any()
    ]
    frame_f, mask_f = np.sum(curves, axis=0).tolist() if curves else (0.0, 0.0)
    return {
        "J": (math.fsum(agreed), len(agreed)),
        "F": (mask_f, frame_f, len(curves)),
        "S": (int(np.count_nonzero(prediction)), prediction.size),
    }


def pooled_sums(
    clips: Sequence[RefAvsSums], measure: Literal["J", "F", "S"], *, variant: RefAvsVariant
) -> Scored[float] | Undefined:
    """J or F of clips whose object is there, or S of null expressions, by a release's rules, from ``clip_sums``.

    As ``ref_avs_j``, ``ref_avs_f`` and ``ref_avs_s`` of the same masks in the same order; ``tgs-agent``'s S is
    ``plain``'s and follows from frames, not from sums. Undefined where no clip has a frame to score.
    """
    pooled = _rules(variant).pooled
    groups = [clips[start : start + pooled] for start in range(0, len(clips), pooled)]
    ratios = []
    for group in groups:
        *parts, over = np.sum([clip[measure] for clip in group], axis=0).tolist()
        if over:
            ratios.append(max(parts) / over)
    if not ratios:
        return Undefined("no items" if not clips else "no frame has a rule")
    values = map(math.sqrt, ratios) if measure == "S" else ratios
    lower: Literal["j", "f", "s"] = "j" if measure == "J" else "f" if measure == "F" else "s"
    return Scored(math.fsum(values) / len(ratios), _signature(lower, variant, _rules(variant)))


_Pair: TypeAlias = tuple[NDArray[np.floating[Any]], Mask]
_Group: TypeAlias = tuple[_Pair, ...]


def _rules(variant: RefAvsVariant) -> _Rules:
    if variant not in _RULES:
        raise InputError(f"there is no variant {variant!r}", expected=f"one of: {', '.join(_RULES)}")
    return _RULES[variant]


def _pairs(predictions: Sequence[Soft], truths: Sequence[Mask]) -> list[_Pair]:
    if len(predictions) != len(truths):
        raise InputError(f"{len(predictions)} predictions and {len(truths)} truths", expected="one truth a prediction")
    return [
        _pair(np.asarray(prediction), np.asarray(truth), index)
        for index, (prediction, truth) in enumerate(zip(predictions, truths, strict=True))
    ]


def _pair(prediction: NDArray[Any], truth: NDArray[Any], index: int) -> _Pair:
    if prediction.ndim != 3 or prediction.shape != truth.shape or truth.dtype != np.bool_:
        raise InputError(
            f"clip {index}: the prediction has shape {prediction.shape}, the truth {truth.shape} and {truth.dtype}",
            expected="a prediction (T, H, W) and a bool truth of its shape",
        )
    if prediction.dtype != np.bool_ and not np.issubdtype(prediction.dtype, np.floating):
        raise InputError(
            f"clip {index}: the prediction has dtype {prediction.dtype}", expected="bool, or probabilities in [0, 1]"
        )
    soft = prediction.astype(np.float64)
    if soft.size and not (float(soft.min()) >= 0.0 and float(soft.max()) <= 1.0):
        raise InputError(
            f"clip {index}: the prediction reaches from {soft.min()} to {soft.max()}",
            expected="probabilities in [0, 1]",
            hint="apply the sigmoid first",
        )
    return soft, truth


def _frames(group: _Group) -> Iterator[_Pair]:
    for prediction, truth in group:
        yield from zip(prediction, truth, strict=True)


def _frame_j(prediction: Mask, truth: Mask, rules: _Rules) -> float:
    if not truth.any() and rules.empty == "background":
        return float(np.mean(~prediction))
    either = int(np.count_nonzero(prediction | truth))
    if either == 0:
        return 1.0
    both = int(np.count_nonzero(prediction & truth))
    return both / (either + _EPS) if rules.empty == "background" else both / either


def _f_curve(prediction: NDArray[np.floating[Any]], truth: Mask, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """F at each threshold; a pixel is segmented when its probability is at least the threshold."""
    passed = np.searchsorted(grid, prediction.ravel(), side="right")  # thresholds that a pixel passes
    inside = truth.ravel()
    hits = _at_least(passed[inside], grid.size)
    called = _at_least(passed, grid.size)
    precision = hits / np.maximum(called, 1)
    recall = hits / np.count_nonzero(inside)
    weighed = BETA2 * precision + recall
    return np.where(weighed > 0, (1 + BETA2) * precision * recall / np.where(weighed > 0, weighed, 1.0), 0.0)


def _at_least(passed: NDArray[np.int64], thresholds: int) -> NDArray[np.int64]:
    counts = np.bincount(passed, minlength=thresholds + 1)
    return np.asarray(counts[::-1].cumsum()[::-1][1:], dtype=np.int64)


def _mean(
    of_group: Callable[[_Group], tuple[float, int] | None],
    pairs: Sequence[_Pair],
    *,
    rules: _Rules,
    signature: Signature,
) -> ClipMean | Undefined:
    groups = [tuple(pairs[start : start + rules.pooled]) for start in range(0, len(pairs), rules.pooled)]
    outcomes = [(of_group(group), group) for group in groups]
    scored = [(outcome, group) for outcome, group in outcomes if outcome is not None]
    if not scored:
        return Undefined("no items" if not pairs else "no frame has a rule")
    frames = sum(count for (_, count), _ in scored)
    return ClipMean(
        value=math.fsum(value for (value, _), _ in scored) / len(scored),
        signature=signature,
        clips=sum(len(group) for _, group in scored),
        frames=frames,
        undefined=sum(len(truth) for _, truth in pairs) - frames,
    )


def _signature(measure: str, variant: RefAvsVariant, rules: _Rules) -> Signature:
    return Signature.of(
        metric=f"ref_avs_{measure}",
        variant=variant,
        threshold="best of 255"
        if measure == "f" and rules.best_of > 1
        else f"{rules.threshold if measure == 'j' else 0.5:g}",
        empty_truth=rules.empty if measure == "j" else "left out" if measure == "f" else "all",
        pooled_clips=rules.pooled,
        resize="none",
    )


AvsMetric: TypeAlias = Literal["J", "F_contour", "F_region"]
AVS_METRICS: Final[tuple[AvsMetric, ...]] = ("J", "F_contour", "F_region")

_J: Final = Signature.of(metric="avsbench_j", frames="all", empty_truth="background share", resize="none")
_REGION: Final = Signature.of(
    metric="avsbench_f_region", beta2=f"{BETA2:g}", threshold="none: bool masks", empty_truth="left out", resize="none"
)
_CONTOUR: Final = Signature.of(
    metric="avs_f_contour", tolerance=f"{TOLERANCE:g} of the diagonal", frames="all", empty=1, resize="none"
)


def avs_scores(prediction: Mask, truth: Mask) -> Mapping[AvsMetric, Scored[float] | Undefined]:
    """``J``, ``F_contour`` and ``F_region`` of one clip, bool (T, H, W), against what sounds in each frame.

    All are undefined where there is no frame, ``F_region`` also where no truth shows anything.

    Example:
        >>> truth = np.zeros((2, 8, 8), bool); truth[0, 2:6, 2:6] = True
        >>> round(avs_scores(~truth, truth)["J"].value, 6)
        0.0
    """
    check_pair(prediction, truth, ndim=(3,))
    check_bool(prediction, truth)
    if not len(truth):
        return dict.fromkeys(AVS_METRICS, Undefined("no frames"))
    return {
        "J": _signed(ref_avs_j([prediction], [truth], variant="tgs-agent"), _J),
        "F_contour": Scored(_contour(prediction, truth), _CONTOUR),
        "F_region": _signed(ref_avs_f([prediction], [truth], variant="plain"), _REGION),
    }


def _signed(outcome: Scored[float] | Undefined, signature: Signature) -> Scored[float] | Undefined:
    """A number of the rules that both benchmarks share, under this one's name."""
    if isinstance(outcome, Undefined):
        return Undefined("nothing sounds that is seen")
    return Scored(outcome.value, signature)


def _contour(prediction: Mask, truth: Mask) -> float:
    radius_px = tolerance_px(truth.shape[1:], TOLERANCE)
    values = [compare(frame, true_frame, radius_px)[1].f for frame, true_frame in zip(prediction, truth, strict=True)]
    return math.fsum(values) / len(values)


REF_AVS_J = ScoreSpec.of(
    ref_avs_j,
    takes="soft clips",
    summary="mean IoU of frames, by the rules of two releases",
    goal="referred objects lost in some frames of a clip",
    source="Ref-AVS (Wang et al., ECCV 2024); TGS-Agent",
)
REF_AVS_F = ScoreSpec.of(
    ref_avs_f,
    takes="soft clips",
    summary="region F with beta squared .3, by the rules of two releases",
    goal="masks that hold more than the referred object",
    source="Ref-AVS (Wang et al., ECCV 2024); TGS-Agent",
)
REF_AVS_S = ScoreSpec.of(
    ref_avs_s,
    takes="null clips",
    higher_is_better=False,
    summary="root of the share of pixels that is segmented",
    goal="masks for expressions that refer to nothing",
    source="Ref-AVS (Wang et al., ECCV 2024); TGS-Agent",
    truth="that nothing is there",
)
AVS = ScoreSpec.of(
    avs_scores,
    takes="clips",
    summary="J, contour F and region F of one clip, by what sounds in each frame",
    goal="sounding objects missed, and silent ones segmented",
    source="AVSBench (Zhou et al., ECCV 2022, Sec. 5.1)",
)
