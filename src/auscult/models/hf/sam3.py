"""SAM 3 by text: of all instances that fit a phrase the best one, each frame on its own.

SAM 3 finds every instance of a concept. Here one object is asked for, so the instance that scores best is the answer,
not the union of all: a union would count every other thing of the kind as the object.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from auscult.models.hf.weighted import ByText, Weighted
from auscult.types import Metadata


def _load(weights: Path) -> ByText:
    from auscult.nets.hf_sam3 import load_sam3

    return load_sam3(weights).masks


MODEL: Final = Weighted(
    name="hf.sam3.v1",
    meta=Metadata(
        summary="SAM 3 by text: the best instance of what a phrase names, frame by frame",
        goal="a strong open-vocabulary model, asked for one object",
        modality="video",
        source="Carion et al. 2025; weights: the folder of facebook/sam3",
    ),
    tasks=("ris", "rvos"),
    by_text=_load,
)
