"""SAM 2 on videos, from a folder of the user's: the first frame's mask is followed through the clip.

Ravi et al. 2024, as ``transformers`` has it (``Sam2VideoModel``). Its own session holds every prepared frame and every
past output; here frames are prepared when they are looked at, and what the model looks back at no more is dropped, so
that memory does not grow with the clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.nets.hf_config import Part
from auscult.nets.hf_folder import Family, Loaded, check_folder, finite, load
from auscult.nets.hf_pictures import Clip, Preparation, read_preparation, square
from auscult.nets.hf_sam import SEEING, to_frame
from auscult.types import Mask

FAMILY: Final = Family(
    title="SAM 2 video",
    model="Sam2VideoModel",
    part=Part(
        settings="Sam2VideoConfig",
        types=("sam2_video",),
        parts={
            "vision_config": SEEING,
            "prompt_encoder_config": Part(
                settings="Sam2VideoPromptEncoderConfig", types=("sam2_video_prompt_encoder", "sam2_prompt_encoder")
            ),
            "mask_decoder_config": Part(
                settings="Sam2VideoMaskDecoderConfig", types=("sam2_video_mask_decoder", "sam2_mask_decoder")
            ),
        },
    ),
)
_OBJECT: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class Sam2Video:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def follow(self, frames: Clip, first: Mask) -> NDArray[np.bool_]:
        """Follow an object.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            first: The object in the first frame, bool (H, W); may be empty.

        Returns:
            bool (T, H, W); the first is ``first``, as is usual in the task.

        Raises:
            UsageError: The model gives what is no number.
        """
        import torch

        found = np.zeros(frames.shape[:3], np.bool_)
        found[0] = first
        if len(frames) == 1:
            return found
        session = self._session(frames, first)
        with torch.inference_mode():
            for place in range(len(frames)):
                logits = self._net.model(session, frame_idx=place).pred_masks
                if place:
                    found[place] = to_frame(finite(logits, self._net.folder), frames.shape[1:3])
                self._forget(session, place)
        return found

    def _session(self, frames: Clip, first: Mask) -> Any:
        import torch
        from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoInferenceSession

        session: Any = Sam2VideoInferenceSession(
            video_height=frames.shape[1],
            video_width=frames.shape[2],
            inference_device=self._net.device,
            inference_state_device=self._net.device,
            dtype=torch.float32,
        )
        session.processed_frames = _Frames(frames, self._prepared)
        session.add_mask_inputs(session.obj_id_to_idx(_OBJECT), 0, self._prompt(first))
        session.obj_with_new_inputs = [_OBJECT]
        return session

    def _prompt(self, first: Mask) -> Any:
        """A mask as the model takes it, a tensor (1, 1, side, side) of 0 and 1, as its processor makes it."""
        import torch
        from torch.nn.functional import interpolate

        mask = torch.from_numpy(first.astype(np.float32))[None, None]
        if mask.shape[-2:] == self._prepared.size:
            return mask
        size = self._prepared.size
        return (interpolate(mask, size=size, mode="bilinear", align_corners=False, antialias=True) >= 0.5).float()

    def _forget(self, session: Any, place: int) -> None:
        config = self._net.model.config
        oldest = place - max(config.num_maskmem, config.max_object_pointers_in_encoder)
        past = session.output_dict_per_obj[0]["non_cond_frame_outputs"]
        for index in [index for index in past if index <= oldest]:
            del past[index]


class _Frames:
    """A clip's frames, prepared when they are asked for; stands where a session keeps a dictionary of them."""

    def __init__(self, frames: Clip, prepared: Preparation) -> None:
        self._frames = frames
        self._prepared = prepared

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, place: int) -> Any:
        return self._prepared(self._frames[place : place + 1])[0]


def load_sam2_video(path: Path) -> Sam2Video:
    """Load the model of a folder.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    net = load(check_folder(path, FAMILY))
    return Sam2Video(net, read_preparation(path, side=square(net.model.image_size), usual=Preparation()))
