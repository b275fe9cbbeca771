"""Scores of masks against the truth: overlap, boundary, both over a video, and sentences that name nothing."""

from auscult.score.masks.boundary import BoundaryF, boundary_f
from auscult.score.masks.class_wise import ClassSums, class_scores, class_sums, class_wise
from auscult.score.masks.overlap import MaskMean, iou, miou, oiou
from auscult.score.masks.ref_avs import ClipMean, ref_avs_f, ref_avs_j, ref_avs_s
from auscult.score.masks.referring import (
    ReferringScore,
    SentenceAreas,
    ciou,
    giou,
    mask_ratio,
    mask_ratios,
    mrr,
    n_acc,
    pictures_of,
    precision_at,
    r2vos_r,
    referring_miou,
    referring_oiou,
    riou,
    t_acc,
)
from auscult.score.masks.video import DatasetJAndF, JAndF, ObjectJAndF, aggregate, j_and_f

__all__ = [
    "BoundaryF",
    "ClassSums",
    "ClipMean",
    "DatasetJAndF",
    "JAndF",
    "MaskMean",
    "ObjectJAndF",
    "ReferringScore",
    "SentenceAreas",
    "aggregate",
    "boundary_f",
    "ciou",
    "class_scores",
    "class_sums",
    "class_wise",
    "giou",
    "iou",
    "j_and_f",
    "mask_ratio",
    "mask_ratios",
    "miou",
    "mrr",
    "n_acc",
    "oiou",
    "pictures_of",
    "precision_at",
    "r2vos_r",
    "ref_avs_f",
    "ref_avs_j",
    "ref_avs_s",
    "referring_miou",
    "referring_oiou",
    "riou",
    "t_acc",
]
