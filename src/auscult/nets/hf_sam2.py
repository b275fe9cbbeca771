"""SAM 2 on single frames, from a folder of the user's: a box to the mask of what it holds.

Ravi et al. 2024, as ``transformers`` has it (``Sam2Model``); the released folders are those of the video model, and
their parts for video are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.nets.hf_config import Part
from auscult.nets.hf_folder import Family, Loaded, check_folder, finite, load
from auscult.nets.hf_grounding import FloatBox
from auscult.nets.hf_pictures import Clip, Preparation, read_preparation

SEEING: Final = Part(
    settings="Sam2VisionConfig",
    types=("sam2_vision_model",),
    parts={"backbone_config": Part(settings="Sam2HieraDetConfig", types=("sam2_hiera_det_model",))},
)
FAMILY: Final = Family(
    title="SAM 2",
    model="Sam2Model",
    part=Part(
        settings="Sam2Config",
        types=("sam2", "sam2_video"),
        parts={
            "vision_config": SEEING,
            "prompt_encoder_config": Part(
                settings="Sam2PromptEncoderConfig", types=("sam2_prompt_encoder", "sam2_video_prompt_encoder")
            ),
            "mask_decoder_config": Part(
                settings="Sam2MaskDecoderConfig", types=("sam2_mask_decoder", "sam2_video_mask_decoder")
            ),
        },
    ),
)
CUT: Final = 0.0
"""Logits above it are the mask, as released."""


@dataclass(frozen=True, slots=True, eq=False)
class Sam2:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def masks(self, frames: Clip, boxes: Sequence[FloatBox | None]) -> NDArray[np.bool_]:
        """One mask for the box of every frame, frame by frame; an empty mask where there is no box.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            boxes: (x0, y0, x1, y1) in pixels, or None, for every frame.

        Returns:
            bool (T, H, W).

        Raises:
            UsageError: The model gives what is no number.
        """
        import torch

        found = np.zeros(frames.shape[:3], np.bool_)
        with torch.inference_mode():
            for place, box in enumerate(boxes):
                if box is not None:
                    found[place] = self._mask(frames[place : place + 1], box)
        return found

    def _mask(self, frame: Clip, box: FloatBox) -> NDArray[np.bool_]:
        import torch

        pixels = self._prepared(frame).to(self._net.device)
        scale = (pixels.shape[-1] / frame.shape[2], pixels.shape[-2] / frame.shape[1]) * 2
        corners = torch.tensor([[[edge * by for edge, by in zip(box, scale, strict=True)]]], device=pixels.device)
        out = self._net.model(pixel_values=pixels, input_boxes=corners, multimask_output=False)
        return to_frame(finite(out.pred_masks[:, 0], self._net.folder), frame.shape[1:3])


def load_sam2(path: Path) -> Sam2:
    """Load the model of a folder.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    net = load(check_folder(path, FAMILY))
    side = net.model.prompt_encoder.input_image_size
    return Sam2(net, read_preparation(path, side=square(side), usual=Preparation()))


def square(side: Any) -> int:
    """The side of the model's pictures, given as one number or as two."""
    return int(side[0]) if isinstance(side, list | tuple) else int(side)


def to_frame(logits: Any, size: tuple[int, ...]) -> NDArray[np.bool_]:
    """Logits (1, 1, h, w) as a mask of the frame: enlarged linearly, then cut."""
    from torch.nn.functional import interpolate

    large = interpolate(logits, size=size, mode="bilinear", align_corners=False)
    return np.asarray((large > CUT)[0, 0].cpu().numpy(), np.bool_)
