"""J and F of audio-visual segmentation, clip by clip: as AVSBench means them, and the contour F that others print.

Conventions: masks are bool (T, H, W); everything that sounds is one mask a frame, empty where nothing that is seen
does. Scores are 0..1, higher is better; each is one number a clip, so that two models can be paired clip by clip.

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
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from auscult.arrays.boundary import TOLERANCE, tolerance_px
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.masks.boundary import compare
from auscult.score.masks.inputs import check_bool, check_pair
from auscult.score.masks.ref_avs import BETA2, ref_avs_f, ref_avs_j
from auscult.types import Mask

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
    """Score one clip.

    Args:
        prediction: bool (T, H, W).
        truth: bool, the same shape: what sounds in each frame.

    Returns:
        ``J``, ``F_contour`` and ``F_region``, each with its signature. All are undefined where there is no frame,
        ``F_region`` also where no truth shows anything.

    Raises:
        InputError: The masks are not bool (T, H, W) of one shape.

    Example:
        >>> import numpy as np
        >>> truth = np.zeros((2, 8, 8), bool); truth[0, 2:6, 2:6] = True
        >>> told = avs_scores(truth, truth)
        >>> [round(one.value, 6) for one in told.values()]
        [1.0, 1.0, 1.0]
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


def _signed(told: Scored[float] | Undefined, signature: Signature) -> Scored[float] | Undefined:
    """A number of the rules that both benchmarks share, under this one's name."""
    if isinstance(told, Undefined):
        return Undefined("nothing sounds that is seen")
    return Scored(told.value, signature)


def _contour(prediction: Mask, truth: Mask) -> float:
    radius_px = tolerance_px(truth.shape[1:], TOLERANCE)
    told = [compare(one, other, radius_px)[1].f for one, other in zip(prediction, truth, strict=True)]
    return math.fsum(told) / len(told)
