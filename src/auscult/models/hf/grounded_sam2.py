"""Grounding DINO's best box and SAM 2's mask of it, each frame on its own.

As TGS-Agent grounds its phrases: boxes over .1, the best one of each frame, one mask for it. A frame without such a box
has an empty mask.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.models.base import Clip
from auscult.models.hf.weighted import ByText, Weighted
from auscult.types import Metadata

BOXES: Final = "grounding_dino"
MASKS: Final = "sam2"


def _load(weights: Path) -> ByText:
    from auscult.nets.hf_grounding import load_grounding
    from auscult.nets.hf_sam import load_sam2

    for name in (BOXES, MASKS):
        if not (weights / name).is_dir():
            raise UsageError(
                f"the folder of weights has no folder {name!r}",
                path=weights,
                expected=f"two folders in it: {BOXES} with Grounding DINO and {MASKS} with SAM 2",
            )
    grounding, sam2 = load_grounding(weights / BOXES), load_sam2(weights / MASKS)

    def answer(frames: Clip, text: str) -> NDArray[np.bool_]:
        return sam2.masks(frames, grounding.boxes(frames, text))

    return answer


MODEL: Final = Weighted(
    name="hf.grounded_sam2.v1",
    meta=Metadata(
        summary="Grounding DINO's best box for a sentence, and SAM 2's mask of what it holds, frame by frame",
        goal="what agents that hand phrases to a detector and a segmenter come down to",
        modality="video",
        source="Liu et al., ECCV 2024; Ravi et al. 2024; weights: IDEA-Research/grounding-dino-tiny in "
        f"`{BOXES}` and facebook/sam2.1-hiera-large in `{MASKS}` of one folder",
    ),
    tasks=("ris", "rvos"),
    by_text=_load,
)
