"""Scores of masks against the truth: overlap, boundary, and both over a video."""

from auscult.score.masks.boundary import BoundaryF, boundary_f
from auscult.score.masks.class_wise import ClassSums, class_sums, class_wise
from auscult.score.masks.overlap import MaskMean, iou, miou, oiou
from auscult.score.masks.ref_avs import ClipMean, ref_avs_f, ref_avs_j, ref_avs_s
from auscult.score.masks.video import DatasetJAndF, JAndF, ObjectJAndF, aggregate, j_and_f

__all__ = [
    "BoundaryF",
    "ClassSums",
    "ClipMean",
    "DatasetJAndF",
    "JAndF",
    "MaskMean",
    "ObjectJAndF",
    "aggregate",
    "boundary_f",
    "class_sums",
    "class_wise",
    "iou",
    "j_and_f",
    "miou",
    "oiou",
    "ref_avs_f",
    "ref_avs_j",
    "ref_avs_s",
]
