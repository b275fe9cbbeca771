"""CLIPSeg: a sentence to a map of probabilities, each frame on its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from auscult.models.hf.weighted import ByText, Weighted
from auscult.types import Metadata


def _load(weights: Path) -> ByText:
    from auscult.nets.hf_clipseg import load_clipseg

    return load_clipseg(weights).heat


MODEL: Final = Weighted(
    name="hf.clipseg.v1",
    meta=Metadata(
        summary="CLIPSeg: a sentence and a frame to how likely each pixel is meant",
        goal="an open model of photographs that reads a whole sentence at once",
        modality="video",
        source="Lueddecke and Ecker, CVPR 2022; weights: the folder of CIDAS/clipseg-rd64-refined",
    ),
    tasks=("ris", "rvos"),
    by_text=_load,
)
