"""SAM 3 on single frames, from a folder of the user's: a phrase to the mask of the instance that fits it best.

Carion et al. 2025, as ``transformers`` has it (``Sam3Model``); the released folder is that of the video model, and only
its detector is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.nets.hf_config import Part
from auscult.nets.hf_folder import CLIP_TOKENS, Family, Loaded, check_folder, finite, load
from auscult.nets.hf_pictures import Clip, Preparation, read_preparation, square

FAMILY: Final = Family(
    title="SAM 3",
    model="Sam3Model",
    part=Part(
        settings="Sam3Config",
        types=("sam3",),
        inside={"sam3_video": "detector_config"},
        parts={
            "vision_config": Part(
                settings="Sam3VisionConfig",
                types=("sam3_vision_model",),
                parts={"backbone_config": Part(settings="Sam3ViTConfig", types=("sam3_vit_model",))},
            ),
            "text_config": Part(settings="CLIPTextConfig", types=("clip_text_model",)),
            "geometry_encoder_config": Part(settings="Sam3GeometryEncoderConfig", types=("sam3_geometry_encoder",)),
            "detr_encoder_config": Part(settings="Sam3DETREncoderConfig", types=("sam3_detr_encoder",)),
            "detr_decoder_config": Part(settings="Sam3DETRDecoderConfig", types=("sam3_detr_decoder",)),
            "mask_decoder_config": Part(settings="Sam3MaskDecoderConfig", types=("sam3_mask_decoder",)),
        },
    ),
    tokens=CLIP_TOKENS,
    reader="CLIPTokenizer",
)
LEAST_SCORE: Final = 0.5
"""What an instance must score, as the release's examples have it."""

CUT: Final = 0.5
_HALF: Final = (0.5, 0.5, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Sam3:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def masks(self, frames: Clip, text: str) -> NDArray[np.bool_]:
        """The best instance of every frame, frame by frame; an empty mask where none scores over ``LEAST_SCORE``.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            text: The phrase; words beyond what the model reads are cut off.

        Returns:
            bool (T, H, W).

        Raises:
            UsageError: The model gives what is no number.
        """
        import torch

        found = np.zeros(frames.shape[:3], np.bool_)
        with torch.inference_mode():
            tokens = self._asked(text)
            words = self._net.model.get_text_features(**tokens)
            for place in range(len(frames)):  # one by one: a frame takes gigabytes in the released model
                pixels = self._prepared(frames[place : place + 1]).to(self._net.device)
                out = self._net.model(pixel_values=pixels, text_embeds=words, attention_mask=tokens["attention_mask"])
                found[place] = self._best(out, frames.shape[1:3])
        return found

    def _best(self, out: Any, size: tuple[int, ...]) -> NDArray[np.bool_]:
        import torch
        from torch.nn.functional import interpolate

        scores = finite(torch.sigmoid(out.pred_logits) * torch.sigmoid(out.presence_logits), self._net.folder)[0]
        best = int(scores.argmax())
        if not float(scores[best]) > LEAST_SCORE:
            return np.zeros(size, np.bool_)
        soft = torch.sigmoid(finite(out.pred_masks[:, best : best + 1], self._net.folder))
        large = interpolate(soft, size=size, mode="bilinear", align_corners=False)
        return np.asarray((large > CUT)[0, 0].cpu().numpy(), np.bool_)

    def _asked(self, text: str) -> dict[str, Any]:
        most = self._net.model.config.text_config.max_position_embeddings
        tokens = self._net.tokens([text], padding="max_length", truncation=True, max_length=most, return_tensors="pt")
        return {name: tokens[name].to(self._net.device) for name in ("input_ids", "attention_mask")}


def load_sam3(path: Path) -> Sam3:
    """Load the model of a folder.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    net = load(check_folder(path, FAMILY))
    side = square(net.model.config.vision_config.backbone_config.image_size)
    return Sam3(net, read_preparation(path, side=side, usual=Preparation(mean=_HALF, std=_HALF)))
