"""Scores of segmentation by sentences of which some name nothing: rIoU, mRR and their like.

Conventions: a reference is one object with its sentences, positive ones that name it and negative ones that name
nothing in its picture. A ``SentenceAreas`` is all that is needed of one sentence, whole pixels at the size of the
picture, so that nothing is decoded twice. Scores are 0..1, higher is better, unless said.

Of robust referring segmentation (R-RIS):

- ``riou`` (Eq. 1): of each reference all intersections over all unions and all that is painted for its negatives, then
  the mean over references. One without positives has none.
- ``mrr`` (Eq. 2): of each reference the share of negatives with exactly 0 pixels, then the mean over references. One
  without negatives has none.
- ``referring_miou``, ``referring_oiou``, ``precision_at``: over positives alone. mIoU is the mean over references of
  the mean over their sentences, as released and as App. A.2 puts it; ``over="sentences"`` is the plain mean of the
  literature on RefCOCO. Precision counts an IoU above the threshold, as Sec. 5.1 says, not at it.
- ``mask_ratio`` (Table 7): the share of the picture that is painted for negatives, lower is better; ``mask_ratios`` has
  it by kind of negation, with the row Origin.
- ``r2vos_r`` (App. A.4): 1 minus what is painted for negatives over what is painted for positives, below 1 and without
  a lower end. It rises where a model paints more on positives, rightly or not.

Of generalized referring segmentation (GRES), over all sentences, each alike:

- ``giou``: the mean IoU, where a negative has 1 for an empty mask and 0 for any other.
- ``ciou``: all intersections over all unions; what is painted for a negative is union.
- ``n_acc``, ``t_acc``: the share of negatives whose mask is empty, and of positives whose mask is not.

Variant ``robust_ref_seg``, the R-RIS release: its precision tests the running sum of a reference's IoUs against each
threshold (``>=``), so that a second sentence passes with half of it; its rIoU counts negatives at 480 x 480, whatever
the size of the picture (here their area in that proportion).

The interval of a score is ``score.stats.change.mean_of_ratios([score.ratio], clusters=pictures_of(sentences), ...)``,
that of the difference of two models ``ratio_change([[first.ratio], [second.ratio]], ...)`` (of R, of what is taken from
1).

References: Wu et al., "Towards Robust Referring Image Segmentation", Sec. 3, Tables 2 to 7, and its release
jianzongwu/robust-ref-seg; Li et al., "R2VOS"; Liu, Ding, Jiang, "GRES", CVPR 2023, Sec. 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np

from auscult.arrays.overlap import counts
from auscult.errors import InputError
from auscult.media.rle import Runs
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.masks.overlap import check_bool, check_pair
from auscult.types import Mask, ScoreSpec

PRECISIONS: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Thresholds of the IoU that precision is given at."""
ORIGIN: Final = "origin"
"""The row of positive sentences among the mask ratios."""
_RELEASE_PX: Final = 480 * 480

ReferringVariant: TypeAlias = Literal["paper", "robust_ref_seg"]
MeanOver: TypeAlias = Literal["references", "sentences"]
Segmented: TypeAlias = Mask | Runs | Mapping[str, Any]
"""A mask: bool (H, W), runs, or COCO RLE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceAreas:
    """What a model painted for one sentence, in pixels.

    Attributes:
        reference: The reference it is of.
        id: Tells it from the other sentences of its reference.
        picture: The picture; intervals draw whole pictures.
        kind: The kind of negation; empty for a positive sentence, and where it is not known.
        both_px: Pixels in both prediction and truth.
        predicted_px: Pixels of the prediction.
        truth_px: Pixels of the truth; 0 for a negative sentence, and for no other.
        picture_px: Pixels of the picture.

    Raises:
        InputError: Areas that no two masks have.
    """

    reference: Hashable
    id: Hashable
    picture: Hashable
    predicted_px: int
    picture_px: int
    both_px: int = 0
    truth_px: int = 0
    kind: str = ""

    def __post_init__(self) -> None:
        """Refuse areas that no two masks have."""
        largest = max(self.predicted_px, self.truth_px, self.either_px)
        if not (0 <= self.both_px <= min(self.predicted_px, self.truth_px) and largest <= self.picture_px):
            raise InputError(
                f"sentence {self.id!r:.60}: {self.both_px} pixels in both, {self.predicted_px} predicted, "
                f"{self.truth_px} true, of {self.picture_px}",
                expected="areas of two masks of one picture",
            )

    @classmethod
    def of(cls, prediction: Segmented, truth: Segmented | None, **about: Any) -> Self:
        """From two masks of one size, bool (H, W) or RLE; ``truth`` None is a negative sentence.

        ``about`` are ``reference``, ``id``, ``picture`` and ``kind``.

        Example:
            >>> SentenceAreas.of(np.eye(2, dtype=bool), None, reference=1, id=1, picture="a.jpg").predicted_px
            2
        """
        if isinstance(prediction, np.ndarray) and isinstance(truth, np.ndarray | None):
            true = np.zeros_like(prediction) if truth is None else truth
            check_pair(prediction, true, ndim=(2,))
            check_bool(prediction, true)
            both, _ = counts(prediction, true)
            areas, size = (int(np.count_nonzero(prediction)), int(np.count_nonzero(true))), prediction.shape
        else:
            runs = _runs(prediction)
            truth_runs = None if truth is None else _runs(truth)
            both = 0 if truth_runs is None else runs.shared(truth_runs)
            areas, size = (runs.area, 0 if truth_runs is None else truth_runs.area), runs.size
        return cls(both_px=both, predicted_px=areas[0], truth_px=areas[1], picture_px=math.prod(size), **about)

    @property
    def exists(self) -> bool:
        """Whether the sentence names something: it is a positive one."""
        return self.truth_px > 0

    @property
    def either_px(self) -> int:
        """Pixels in prediction or truth."""
        return self.predicted_px + self.truth_px - self.both_px

    @property
    def iou(self) -> float:
        """IoU, 0..1; of a negative sentence 1 where nothing is painted, else 0."""
        return self.both_px / self.either_px if self.either_px else 1.0


def _runs(mask: Segmented) -> Runs:
    if isinstance(mask, Runs):
        return mask
    if not isinstance(mask, np.ndarray | Mapping):
        raise InputError(
            f"a mask is given as {type(mask).__name__}",
            expected="a NumPy array bool (H, W), or COCO RLE {size, counts}",
            hint="numpy.asarray(mask) > 0 makes one of a tensor or picture",
        )
    return Runs.of(mask) if isinstance(mask, np.ndarray) else Runs.read(mask)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferringScore(Scored[float]):
    """A score of many sentences, the sum of parts over the sum of what they are over.

    Attributes:
        n: References, or sentences, that entered.
        undefined: References that did not, since they lack the sentences that it is of.
        ratio: The part of each reference (by its key) or sentence (by reference and id), and what it is over; 1 for a
            mean.
    """

    n: int
    undefined: int = 0
    ratio: tuple[Mapping[Hashable, float], Mapping[Hashable, float]] = field(compare=False, repr=False)


def riou(sentences: Iterable[SentenceAreas], *, variant: ReferringVariant = "paper") -> ReferringScore | Undefined:
    """rIoU, 0..1, higher is better; Undefined where no reference has a positive sentence.

    Example:
        >>> about = {"reference": 1, "picture": 1, "picture_px": 100}
        >>> right = SentenceAreas(id=1, both_px=8, predicted_px=8, truth_px=10, **about)
        >>> riou([right, SentenceAreas(id=2, predicted_px=6, **about)]).value
        0.5

    Source: Wu et al., Eq. 1.
    """
    _check_variant(variant)

    def of(reference: Sequence[SentenceAreas]) -> float | None:
        both = sum(sentence.both_px for sentence in reference)
        union = sum(sentence.either_px for sentence in reference if sentence.exists)
        painted = [(sentence.predicted_px, sentence.picture_px) for sentence in reference if not sentence.exists]
        if variant == "robust_ref_seg":
            invented = math.fsum(area * _RELEASE_PX / size for area, size in painted)
        else:
            invented = sum(area for area, _ in painted)
        return both / (union + invented) if union else None

    size = "480x480" if variant == "robust_ref_seg" else "the picture's"
    return _over_references(sentences, of, metric="riou", variant=variant, negatives="union", negatives_size=size)


def mrr(sentences: Iterable[SentenceAreas]) -> ReferringScore | Undefined:
    """mRR, 0..1, higher is better; Undefined where no reference has a negative sentence. Source: Wu et al., Eq. 2."""

    def of(reference: Sequence[SentenceAreas]) -> float | None:
        empty = [sentence.predicted_px == 0 for sentence in reference if not sentence.exists]
        return sum(empty) / len(empty) if empty else None

    return _over_references(sentences, of, metric="mrr", empty="0 pixels")


def referring_miou(sentences: Iterable[SentenceAreas], *, over: MeanOver = "references") -> ReferringScore | Undefined:
    """Mean IoU (mIoU) of positive sentences, 0..1, higher is better; Undefined where there is none.

    ``over`` is ``references``, each with the mean of its sentences, or ``sentences``, each alike.
    """
    if over not in ("references", "sentences"):
        raise InputError(f"over is {over!r:.40}", expected="references or sentences")
    if over == "sentences":
        return _over_sentences(_positive(sentences), lambda sentence: (sentence.iou, 1), metric="referring_miou")

    def of(reference: Sequence[SentenceAreas]) -> float | None:
        values = [sentence.iou for sentence in reference if sentence.exists]
        return math.fsum(values) / len(values) if values else None

    return _over_references(sentences, of, metric="referring_miou", negatives="left out")


def referring_oiou(sentences: Iterable[SentenceAreas]) -> ReferringScore | Undefined:
    """Overall IoU (oIoU) of positive sentences: all intersections over all unions, 0..1; Undefined for none."""
    return _over_sentences(_positive(sentences), lambda row: (row.both_px, row.either_px), metric="referring_oiou")


def precision_at(
    sentences: Iterable[SentenceAreas], *, threshold: float = 0.5, variant: ReferringVariant = "paper"
) -> ReferringScore | Undefined:
    """P@X: the share of positive sentences with an IoU above a threshold, 0..1; Undefined where there is none.

    Source: Wu et al., Sec. 5.1 ("higher than the threshold").
    """
    _check_variant(variant)
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold!r}", expected="an IoU, 0..1")
    release, sums = variant == "robust_ref_seg", dict[Hashable, float]()

    def passes(sentence: SentenceAreas) -> tuple[float, float]:
        if not release:
            return sentence.iou > threshold, 1
        sums[sentence.reference] = sums.get(sentence.reference, 0.0) + sentence.iou
        return sums[sentence.reference] >= threshold, 1

    fields = {"threshold": f"{'>=' if release else '>'} {threshold:g}", "variant": variant}
    fields |= {"tested": "running sum of the reference"} if release else {}
    return _over_sentences(_positive(sentences), passes, metric="precision_at", **fields)


def mask_ratio(sentences: Iterable[SentenceAreas]) -> ReferringScore | Undefined:
    """The mean share of the picture that is painted for negative sentences, 0..1, lower is better.

    Undefined where there is none. Source: Wu et al., App. A.1.
    """
    return _ratio_of([sentence for sentence in sentences if not sentence.exists], "negative sentences")


def mask_ratios(sentences: Iterable[SentenceAreas]) -> Mapping[str, ReferringScore | Undefined]:
    """The rows of Table 7: ``mask_ratio`` of each kind of negation that occurs, and ``origin``, that of positives."""
    all_sentences = tuple(sentences)
    negatives = [sentence for sentence in all_sentences if not sentence.exists]
    kinds = dict.fromkeys(sentence.kind for sentence in negatives)
    rows = {kind: [sentence for sentence in negatives if sentence.kind == kind] for kind in kinds}
    rows[ORIGIN] = [sentence for sentence in all_sentences if sentence.exists]
    return {name: _ratio_of(row, name or "no kind") for name, row in rows.items()}


def r2vos_r(sentences: Iterable[SentenceAreas]) -> ReferringScore | Undefined:
    """R of R2VOS: 1 minus pixels painted for negatives over pixels painted for positives, up to 1, higher is better.

    Undefined where nothing is painted for positives, and where there is no negative. It says nothing of quality: a
    mask that is made worse by more pixels on a positive sentence raises it. Its ``ratio`` is that of the pixels.

    Source: Wu et al., App. A.4.
    """
    all_sentences = tuple(sentences)
    if not any(not sentence.exists for sentence in all_sentences):
        return Undefined("there is no negative sentence")
    wrong = {_key(sentence): 0.0 if sentence.exists else float(sentence.predicted_px) for sentence in all_sentences}
    right = {_key(sentence): float(sentence.predicted_px) if sentence.exists else 0.0 for sentence in all_sentences}
    if not any(right.values()):
        return Undefined("nothing is painted for positive sentences")
    value = 1 - math.fsum(wrong.values()) / math.fsum(right.values())
    signature = Signature.of(metric="r2vos_r", over="pixels of all sentences", size="the picture's")
    return ReferringScore(value=value, signature=signature, n=len(all_sentences), ratio=(wrong, right))


def giou(sentences: Iterable[SentenceAreas], *, cleared_below: int = 1) -> ReferringScore | Undefined:
    """Generalized IoU (gIoU) of GRES: the mean IoU of all sentences, 0..1, higher is better; Undefined for none.

    A mask of fewer than ``cleared_below`` pixels counts as empty: GRES clears those of fewer than 50 of models that
    cannot say that nothing is there.
    """
    cleared = _cleared(sentences, cleared_below)
    return _over_sentences(cleared, lambda sentence: (sentence.iou, 1), metric="giou", **_gres(cleared_below, "1"))


def ciou(sentences: Iterable[SentenceAreas], *, cleared_below: int = 1) -> ReferringScore | Undefined:
    """Cumulative IoU (cIoU) of GRES: all intersections over all unions, 0..1, higher is better.

    ``cleared_below`` as in ``giou``. An empty mask for a negative sentence adds nothing. Undefined where there is no
    pixel in any mask.
    """
    cleared = _cleared(sentences, cleared_below)
    fields = _gres(cleared_below, "adds nothing")
    return _over_sentences(cleared, lambda sentence: (sentence.both_px, sentence.either_px), metric="ciou", **fields)


def n_acc(sentences: Iterable[SentenceAreas], *, cleared_below: int = 1) -> ReferringScore | Undefined:
    """N-acc of GRES: the share of negative sentences whose mask is empty, 0..1, higher is better.

    Each sentence counts alike, where ``mrr`` counts references. Undefined where there is no negative sentence.
    """
    negatives = [sentence for sentence in _cleared(sentences, cleared_below) if not sentence.exists]
    fields = _gres(cleared_below, "right for a negative")
    return _over_sentences(negatives, lambda sentence: (sentence.predicted_px == 0, 1), metric="n_acc", **fields)


def t_acc(sentences: Iterable[SentenceAreas], *, cleared_below: int = 1) -> ReferringScore | Undefined:
    """T-acc of GRES: the share of positive sentences whose mask is not empty, wherever it is, 0..1, higher is better.

    Undefined where there is no positive sentence.
    """
    positives = _positive(_cleared(sentences, cleared_below))
    fields = _gres(cleared_below, "wrong for a positive")
    return _over_sentences(positives, lambda sentence: (sentence.predicted_px > 0, 1), metric="t_acc", **fields)


def pictures_of(sentences: Iterable[SentenceAreas]) -> dict[Hashable, Hashable]:
    """The picture of every reference and sentence, by the keys of ``ReferringScore.ratio``: clusters of an interval."""
    pictures: dict[Hashable, Hashable] = {}
    for sentence in sentences:
        pictures[sentence.reference] = pictures[_key(sentence)] = sentence.picture
    return pictures


def _check_variant(variant: str) -> None:
    if variant not in ("paper", "robust_ref_seg"):
        raise InputError(f"there is no variant {variant!r:.40}", expected="paper or robust_ref_seg")


def _key(sentence: SentenceAreas) -> Hashable:
    return sentence.reference, sentence.id


def _positive(sentences: Iterable[SentenceAreas]) -> list[SentenceAreas]:
    return [sentence for sentence in sentences if sentence.exists]


def _cleared(sentences: Iterable[SentenceAreas], below: int) -> list[SentenceAreas]:
    """The sentences, masks of fewer pixels emptied."""
    if below < 1:
        raise InputError(f"cleared_below is {below}", expected="1 (no mask is cleared) or more; GRES has 50")
    return [
        replace(sentence, predicted_px=0, both_px=0) if sentence.predicted_px < below else sentence
        for sentence in sentences
    ]


def _gres(below: int, empty: str) -> dict[str, str]:
    return {"empty": empty} | ({} if below == 1 else {"empty_below": f"{below} px"})


def _ratio_of(sentences: Sequence[SentenceAreas], of: str) -> ReferringScore | Undefined:
    return _over_sentences(sentences, lambda row: (row.predicted_px / row.picture_px, 1), metric="mask_ratio", of=of)


def _over_references(
    sentences: Iterable[SentenceAreas], of: Callable[[Sequence[SentenceAreas]], float | None], /, **about: object
) -> ReferringScore | Undefined:
    """The mean of a value of each reference; those without one are counted."""
    references: dict[Hashable, list[SentenceAreas]] = {}
    for sentence in sentences:
        references.setdefault(sentence.reference, []).append(sentence)
    values = {key: value for key, members in references.items() if (value := of(members)) is not None}
    if not values:
        return Undefined("no reference has the sentences that it is of", {"references": len(references)})
    return ReferringScore(
        value=math.fsum(values.values()) / len(values),
        signature=Signature.of(**about, over="references"),
        n=len(values),
        undefined=len(references) - len(values),
        ratio=(values, dict.fromkeys(values, 1.0)),
    )


def _over_sentences(
    sentences: Sequence[SentenceAreas], of: Callable[[SentenceAreas], tuple[float, float]], /, **about: object
) -> ReferringScore | Undefined:
    """The sum of a part of each sentence over the sum of what it is over."""
    parts = {_key(sentence): of(sentence) for sentence in sentences}
    if len(parts) < len(sentences):
        raise InputError("two sentences of one reference have one id", expected="an id for each sentence")
    numerators, denominators = ({key: float(part[side]) for key, part in parts.items()} for side in (0, 1))
    if not any(denominators.values()):
        return Undefined("there is no sentence that it is of" if not parts else "all masks are empty")
    value = math.fsum(numerators.values()) / math.fsum(denominators.values())
    signature = Signature.of(**about, over="sentences")
    return ReferringScore(value=value, signature=signature, n=len(parts), ratio=(numerators, denominators))


_spec = partial(ScoreSpec.of, takes="sentences")

RIOU = _spec(
    riou,
    summary="rIoU: IoU of each reference, with all that is painted for its negative sentences",
    goal="masks for sentences that name nothing, and bad ones for those that do",
    source="Wu et al., Towards Robust Referring Image Segmentation, Eq. 1",
)
MRR = _spec(
    mrr,
    summary="mRR: share of negative sentences with an empty mask, by reference",
    goal="masks for sentences that name nothing",
    source="Wu et al., Towards Robust Referring Image Segmentation, Eq. 2",
)
REFERRING_MIOU = _spec(
    referring_miou,
    summary="mIoU of positive sentences, by reference or sentence",
    goal="bad masks of what is named, objects alike",
    source="Wu et al., Towards Robust Referring Image Segmentation, Sec. 3",
)
REFERRING_OIOU = _spec(
    referring_oiou,
    summary="oIoU of positive sentences",
    goal="bad masks of what is named, by size",
    source="Wu et al., Towards Robust Referring Image Segmentation, Sec. 3",
)
PRECISION_AT = _spec(
    precision_at,
    summary="P@X: share of positive sentences with an IoU above a threshold",
    goal="objects that are not found well enough",
    source="Wu et al., Towards Robust Referring Image Segmentation, Sec. 5.1",
)
MASK_RATIO = _spec(
    mask_ratio,
    higher_is_better=False,
    summary="share of the picture that is painted for negative sentences",
    goal="masks for sentences that name nothing, by their size",
    source="Wu et al., Towards Robust Referring Image Segmentation, Table 7",
)
R2VOS_R = _spec(
    r2vos_r,
    summary="R: 1 - painted for negative / painted for positive sentences",
    goal="masks for sentences that name nothing; blind to where masks are",
    source="R2VOS (Li et al. 2022), as in Wu et al., A.4",
)
GIOU = _spec(
    giou,
    summary="gIoU: mean IoU, a negative sentence 1 for an empty mask, else 0",
    goal="bad masks and masks of nothing, sentences alike",
    source="GRES (Liu et al., CVPR 2023), Sec. 3.3",
)
CIOU = _spec(
    ciou,
    summary="cIoU: all intersections over all unions, of all sentences",
    goal="bad masks and masks of nothing, by size",
    source="GRES (Liu et al., CVPR 2023), Sec. 3.3",
)
N_ACC = _spec(
    n_acc,
    summary="N-acc: share of negative sentences with an empty mask",
    goal="masks for sentences that name nothing",
    source="GRES (Liu et al., CVPR 2023), Sec. 3.3",
)
T_ACC = _spec(
    t_acc,
    summary="T-acc: share of positive sentences with a mask that is not empty",
    goal="objects called absent that are there",
    source="GRES (Liu et al., CVPR 2023), Sec. 3.3",
)
