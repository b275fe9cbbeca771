"""Six mask defects with exact truth: perfect, cutout, dilate, erode, merge, full_neg.

Each defect is a class and registers as ``masks.<defect>.v1``. Masks are bool (H, W). Everything random is drawn from
(seed, stressor, difficulty, key) and returned as JSON, from which ``render`` makes the same mask again.

Source: MQ-RAVSBench, Sec. 3.2, Eqs. 2-7.
"""

from auscult.stress.masks.base import MaskParams, MaskStressor
from auscult.stress.masks.making import render, stress, variants

__all__ = ["MaskParams", "MaskStressor", "render", "stress", "variants"]
