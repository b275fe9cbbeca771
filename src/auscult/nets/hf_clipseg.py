"""CLIPSeg from a folder of the user's: a sentence and a frame to a map of how likely each pixel is meant.

Lueddecke and Ecker, CVPR 2022, as ``transformers`` has it (``CLIPSegForImageSegmentation``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.nets.hf_config import MOST_PATCHES, Part
from auscult.nets.hf_folder import CLIP_TOKENS, Family, Loaded, check_folder, finite, load
from auscult.nets.hf_pictures import PREPARED, Clip, Preparation, batches, read_preparation

FAMILY: Final = Family(
    title="CLIPSeg",
    model="CLIPSegForImageSegmentation",
    part=Part(
        settings="CLIPSegConfig",
        types=("clipseg",),
        parts={
            "text_config": Part(settings="CLIPSegTextConfig", types=("clipseg_text_model",)),
            "vision_config": Part(settings="CLIPSegVisionConfig", types=("clipseg_vision_model",)),
        },
    ),
    tokens=CLIP_TOKENS,
    reader="CLIPTokenizer",
)
_BATCH: Final = 8
_SIDE: Final = 352


@dataclass(frozen=True, slots=True, eq=False)
class ClipSeg:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def heat(self, frames: Clip, text: str) -> NDArray[np.float32]:
        """How likely each pixel is meant: the sigmoid of the model's map, enlarged linearly to the frame.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            text: The sentence; words beyond what the model reads are cut off.

        Returns:
            float32 (T, H, W) in [0, 1].

        Raises:
            UsageError: The model gives what is no number.
        """
        import torch
        from torch.nn.functional import interpolate

        net, start = self._net, 0
        found = np.empty(frames.shape[:3], np.float32)
        with torch.inference_mode():
            meant = self._meant(text)
            for batch in batches(frames, _BATCH):
                pixels = self._prepared(batch).to(net.device)
                logits = net.model(
                    pixel_values=pixels, conditional_embeddings=meant.expand(len(batch), -1)
                ).logits.reshape(len(batch), 1, *pixels.shape[-2:])
                heat = torch.sigmoid(finite(logits, net.folder))
                heat = interpolate(heat, size=frames.shape[1:3], mode="bilinear", align_corners=False)
                found[start : start + len(batch)] = heat[:, 0].clamp(0, 1).cpu().numpy()
                start += len(batch)
        return found

    def _meant(self, text: str) -> Any:
        """The sentence as the decoder takes it, a tensor (1, d)."""
        most = self._net.model.config.text_config.max_position_embeddings
        tokens = self._net.tokens([text], truncation=True, max_length=most, return_tensors="pt").to(self._net.device)
        return self._net.model.get_conditional_embeddings(batch_size=1, **tokens)


def load_clipseg(path: Path) -> ClipSeg:
    """Load the model of a folder.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    net = load(check_folder(path, FAMILY))
    usual = Preparation(size=(_SIDE, _SIDE))
    prepared = read_preparation(path, side=None, usual=usual)
    _check_side(net, prepared)
    return ClipSeg(net, prepared)


def _check_side(net: Loaded, prepared: Preparation) -> None:
    """The decoder reads a square of patches; attention takes the fourth power of its side."""
    height, width = prepared.size or (0, 0)
    patch = net.model.config.vision_config.patch_size
    if height != width or height % patch or height // patch > MOST_PATCHES:
        raise UsageError(
            f"frames of {height} x {width} pixels in patches of {patch}",
            path=net.folder.path / PREPARED,
            expected=f"a square of 1 to {MOST_PATCHES} whole patches a side",
        )
