"""Controlled test material: everything that can go wrong, made on purpose, with the truth of what was done.

``auscult.stress.masks`` makes candidate masks with a known defect and an exact IoU.
"""

from auscult.stress import masks

__all__ = ["masks"]
