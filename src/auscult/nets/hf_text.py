"""CLIPSeg and Grounding DINO from a user's folder: a sentence and a frame to a map of likely pixels, or to a box.

Lueddecke and Ecker, CVPR 2022, as ``transformers`` has it (``CLIPSegForImageSegmentation``).

Liu et al., ECCV 2024, as ``transformers`` has it (``GroundingDinoForObjectDetection``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.nets.hf_folder import (
    PREPARED,
    Family,
    Loaded,
    Preparation,
    batches,
    check_folder,
    finite,
    load,
    read_preparation,
)
from auscult.types import Frame, Frames

CLIPSEG: Final = Family(
    title="CLIPSeg", model="CLIPSegForImageSegmentation", types=("clipseg",), reader="CLIPTokenizer"
)
MOST_PATCHES: Final = 128
"""Patches along one side of a picture, at most: attention takes the fourth power of it."""

_SENTENCES: Final = 8
_SIDE: Final = 352


@dataclass(frozen=True, slots=True, eq=False)
class ClipSeg:
    """A loaded model."""

    net: Loaded
    prepared: Preparation

    def heat(self, frames: Frames, text: str) -> NDArray[np.float32]:
        """How likely each pixel is meant, float32 (T, H, W) in [0, 1]: the sigmoid of the map, enlarged linearly."""
        import torch
        from torch.nn.functional import interpolate

        net, start = self.net, 0
        found = np.empty(frames.shape[:3], np.float32)
        with torch.inference_mode():
            meant = self._meant(text)
            for batch in batches(frames, _SENTENCES):
                pixels = self.prepared(batch).to(net.device)
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
        most = self.net.model.config.text_config.max_position_embeddings
        tokens = self.net.tokens([text], truncation=True, max_length=most, return_tensors="pt").to(self.net.device)
        return self.net.model.get_conditional_embeddings(batch_size=1, **tokens)


def load_clipseg(path: Path) -> ClipSeg:
    """Load the model of a folder."""
    net = load(check_folder(path, CLIPSEG))
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


FloatBox = tuple[float, float, float, float]

GROUNDING_DINO: Final = Family(
    title="Grounding DINO",
    model="GroundingDinoForObjectDetection",
    types=("grounding-dino",),
    parts={"backbone_config": "SwinConfig", "text_config": "BertConfig"},
    reader="BertTokenizer",
)
LEAST_SCORE: Final = 0.1
"""What a box must score, as TGS-Agent has it. Its second threshold, .25 on words, only names boxes and moves none."""

_BATCH: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Grounding:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def boxes(self, frames: Frames, text: str) -> list[FloatBox | None]:
        """The best box of every frame, (x0, y0, x1, y1) in pixels, which may reach a little beyond it.

        None where no box scores more than ``LEAST_SCORE``.
        """
        found = (ranked[:1] for ranked in self._ranked(frames, text, least_score=LEAST_SCORE))
        return [ranked[0] if ranked else None for ranked in found]

    def every_box(self, frame: Frame, text: str, *, least_score: float) -> list[FloatBox]:
        """All boxes of a frame that score more, the surest first."""
        (found,) = self._ranked(frame[None], text, least_score=least_score)
        return found

    def _ranked(self, frames: Frames, text: str, *, least_score: float) -> Iterator[list[FloatBox]]:
        import torch

        tokens = self._tokens_of(text)
        with torch.inference_mode():
            for batch in batches(frames, _BATCH):
                pixels = self._prepared(batch).to(self._net.device)
                inputs = {name: values.expand(len(batch), -1) for name, values in tokens.items()}
                mask = torch.ones((len(batch), *pixels.shape[-2:]), dtype=torch.int64, device=pixels.device)
                out = self._net.model(pixel_values=pixels, pixel_mask=mask, **inputs)
                # Words that are not there have logits of minus infinity; NaN never passes the threshold.
                scores = torch.sigmoid(out.logits).amax(-1).cpu()
                for row, boxes in zip(scores, out.pred_boxes.cpu(), strict=True):
                    sure = [
                        index
                        for index in row.argsort(descending=True, stable=True).tolist()
                        if float(row[index]) > least_score
                    ]
                    yield [_box(boxes[index], frames.shape[1:3]) for index in sure]

    def _tokens_of(self, text: str) -> dict[str, Any]:
        most = self._net.model.config.max_text_len
        tokens = self._net.tokens([sentence(text)], truncation=True, max_length=most, return_tensors="pt")
        return {name: tokens[name].to(self._net.device) for name in ("input_ids", "token_type_ids", "attention_mask")}


def load_grounding(path: Path) -> Grounding:
    """Load the model of a folder."""
    net = load(check_folder(path, GROUNDING_DINO))
    return Grounding(net, read_preparation(path, side=None, usual=Preparation()))


def sentence(text: str) -> str:
    """A sentence as the model was trained to read it: in lower case, with a full stop."""
    plain = text.strip().lower()
    return plain if plain.endswith(".") else f"{plain}."


def _box(box: Any, size: tuple[int, ...]) -> FloatBox:
    x, y, width, height = map(float, box)
    left, top = (x - width / 2) * size[1], (y - height / 2) * size[0]
    return left, top, left + width * size[1], top + height * size[0]
