"""SAM, SAM 2 and SAM 3 on single frames, from a folder of the user's: a box to the mask of what it holds.

Kirillov et al. 2023 (``SamModel``), Ravi et al. 2024 (``Sam2Model``) and the tracker of Carion et al. 2025
(``Sam3TrackerModel``), as ``transformers`` has them. SAM 2 and SAM 3 squeeze a frame into a square; SAM keeps its shape
and fills up the square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.nets import hf_sam2, hf_sam3
from auscult.nets.hf_config import Part
from auscult.nets.hf_files import read_table
from auscult.nets.hf_folder import CONFIG, Family, Loaded, check_folder, finite, load
from auscult.nets.hf_grounding import FloatBox
from auscult.nets.hf_pictures import Clip, Preparation, read_preparation
from auscult.nets.hf_sam2 import Sam2, square, to_frame

SAM: Final = Family(
    title="SAM",
    model="SamModel",
    part=Part(
        settings="SamConfig",
        types=("sam",),
        parts={
            "vision_config": Part(settings="SamVisionConfig", types=("sam_vision_model",)),
            "prompt_encoder_config": Part(settings="SamPromptEncoderConfig", types=("sam_prompt_encoder",)),
            "mask_decoder_config": Part(settings="SamMaskDecoderConfig", types=("sam_mask_decoder",)),
        },
    ),
)
SAM3: Final = Family(
    title="SAM 3",
    model="Sam3TrackerModel",
    part=Part(
        settings="Sam3TrackerConfig",
        types=("sam3_tracker", "sam3_tracker_video"),
        inside={"sam3_video": "tracker_config"},
        parts={
            "vision_config": hf_sam3.FAMILY.part.parts["vision_config"],
            "prompt_encoder_config": Part(
                settings="Sam3TrackerPromptEncoderConfig",
                types=("sam3_tracker_prompt_encoder", "sam3_tracker_video_prompt_encoder"),
            ),
            "mask_decoder_config": Part(
                settings="Sam3TrackerMaskDecoderConfig",
                types=("sam3_tracker_mask_decoder", "sam3_tracker_video_mask_decoder"),
            ),
        },
    ),
)
_HALF: Final = (0.5, 0.5, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Sam:
    """A loaded model of the first SAM."""

    _net: Loaded
    _prepared: Preparation
    _side: int

    def masks(self, frames: Clip, boxes: Sequence[FloatBox | None]) -> NDArray[np.bool_]:
        """One mask for the box of every frame; see ``hf_sam2.Sam2.masks``.

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
        from torch.nn.functional import interpolate, pad

        height, width = frame.shape[1:3]
        scale = self._side / max(height, width)
        high, wide = round(height * scale), round(width * scale)
        pixels = replace(self._prepared, size=(high, wide))(frame).to(self._net.device)
        pixels = pad(pixels, (0, self._side - wide, 0, self._side - high))
        corners = torch.tensor([[[edge * scale for edge in box]]], device=pixels.device)
        out = self._net.model(pixel_values=pixels, input_boxes=corners, multimask_output=False)
        logits = finite(out.pred_masks[:, 0], self._net.folder)
        large = interpolate(logits, size=(self._side, self._side), mode="bilinear", align_corners=False)
        return to_frame(large[..., :high, :wide], (height, width))


def load_sam(path: Path) -> Sam | Sam2:
    """Load whichever of the three a folder holds.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    found = _type_of(path)
    if found in SAM.part.types:
        net = load(check_folder(path, SAM))
        side = square(net.model.prompt_encoder.input_image_size)
        return Sam(net, read_preparation(path, side=side, usual=Preparation()), side)
    if found in (*SAM3.part.types, *SAM3.part.inside):
        net = load(check_folder(path, SAM3))
        side = square(net.model.prompt_encoder.input_image_size)
        return Sam2(net, read_preparation(path, side=side, usual=Preparation(mean=_HALF, std=_HALF)))
    return hf_sam2.load_sam2(path)


def _type_of(path: Path) -> Any:
    try:
        return read_table(path / CONFIG).get("model_type")
    except (InputError, UsageError):
        return None  # what is wrong is said by the look at the folder
