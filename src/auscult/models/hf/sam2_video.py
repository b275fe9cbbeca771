"""SAM 2: the first frame's mask, followed through a clip by a memory of past frames."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from auscult.models.hf.weighted import ByMask, Weighted
from auscult.types import Metadata


def _load(weights: Path) -> ByMask:
    from auscult.nets.hf_sam2_video import load_sam2_video

    return load_sam2_video(weights).follow


MODEL: Final = Weighted(
    name="hf.sam2_video.v1",
    meta=Metadata(
        summary="SAM 2 video: the first frame's mask, followed through the clip",
        goal="a strong model of video object segmentation",
        modality="video",
        source="Ravi et al. 2024; weights: the folder of facebook/sam2.1-hiera-tiny, small, base-plus or large",
    ),
    tasks=("vos",),
    by_mask=_load,
)
