"""SAM, SAM 2 and SAM 3 on single frames, from a folder of the user's: a box to the mask of what it holds.

Kirillov et al. 2023 (``SamModel``), Ravi et al. 2024 (``Sam2Model``) and the tracker of Carion et al. 2025
(``Sam3TrackerModel``), as ``transformers`` has them; released folders of video models are read too, and their parts for
video are left out. SAM 2 and SAM 3 squeeze a frame into a square; SAM keeps its shape and fills up the square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import AuscultError
from auscult.nets import hf_sam3
from auscult.nets.hf_config import Part
from auscult.nets.hf_files import read_table
from auscult.nets.hf_folder import CONFIG, Family, Loaded, check_folder, finite, load
from auscult.nets.hf_grounding import FloatBox
from auscult.nets.hf_pictures import Clip, Preparation, read_preparation, square

SEEING: Final = Part(
    settings="Sam2VisionConfig",
    types=("sam2_vision_model",),
    parts={"backbone_config": Part(settings="Sam2HieraDetConfig", types=("sam2_hiera_det_model",))},
)
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
SAM2: Final = Family(
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
CUT: Final = 0.0
"""Logits above it are the mask, as released."""
_HALF: Final = (0.5, 0.5, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class BoxSegmenter:
    """A loaded model, and how it wants its frames: squeezed into its square, or in their own shape (``padded``)."""

    _net: Loaded
    _prepared: Preparation
    _side: int
    _padded: bool

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
        from torch.nn.functional import interpolate, pad

        height, width = frame.shape[1:3]
        high, wide = self._size(height, width)
        pixels = replace(self._prepared, size=(high, wide))(frame).to(self._net.device)
        pixels = pad(pixels, (0, self._side - wide, 0, self._side - high))
        scale = (wide / width, high / height) * 2
        corners = torch.tensor([[[edge * by for edge, by in zip(box, scale, strict=True)]]], device=pixels.device)
        out = self._net.model(pixel_values=pixels, input_boxes=corners, multimask_output=False)
        logits = finite(out.pred_masks[:, 0], self._net.folder)
        if self._padded:
            logits = interpolate(logits, size=(self._side, self._side), mode="bilinear", align_corners=False)
            logits = logits[..., :high, :wide]
        return to_frame(logits, (height, width))

    def _size(self, height: int, width: int) -> tuple[int, int]:
        """The size that a frame has inside the square."""
        if not self._padded:
            return self._side, self._side
        scale = self._side / max(height, width)
        return max(1, round(height * scale)), max(1, round(width * scale))


def load_sam(path: Path) -> BoxSegmenter:
    """Load whichever of the three a folder holds.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    found = _type_of(path)
    if found in SAM.part.types:
        return _loaded(path, SAM, Preparation(), padded=True)
    if found in (*SAM3.part.types, *SAM3.part.inside):
        return _loaded(path, SAM3, Preparation(mean=_HALF, std=_HALF))
    return load_sam2(path)


def load_sam2(path: Path) -> BoxSegmenter:
    """Load SAM 2.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    return _loaded(path, SAM2, Preparation())


def _loaded(path: Path, family: Family, usual: Preparation, *, padded: bool = False) -> BoxSegmenter:
    net = load(check_folder(path, family))
    side = square(net.model.prompt_encoder.input_image_size)
    return BoxSegmenter(net, read_preparation(path, side=side, usual=usual), side, padded)


def _type_of(path: Path) -> Any:
    try:
        return read_table(path / CONFIG).get("model_type")
    except AuscultError:
        return None  # what is wrong is said by the look at the folder


def to_frame(logits: Any, size: tuple[int, ...]) -> NDArray[np.bool_]:
    """Logits (1, 1, h, w) as a mask of the frame: enlarged linearly, then cut."""
    from torch.nn.functional import interpolate

    large = interpolate(logits, size=size, mode="bilinear", align_corners=False)
    return np.asarray((large > CUT)[0, 0].cpu().numpy(), np.bool_)
