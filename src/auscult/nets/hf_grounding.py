"""Grounding DINO from a folder of the user's: a sentence and a frame to the box that fits it best.

Liu et al., ECCV 2024, as ``transformers`` has it (``GroundingDinoForObjectDetection``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from auscult.nets.hf_config import Part
from auscult.nets.hf_folder import BERT_TOKENS, Family, Loaded, check_folder, load
from auscult.nets.hf_pictures import Clip, Preparation, batches, read_preparation

FloatBox = tuple[float, float, float, float]

FAMILY: Final = Family(
    title="Grounding DINO",
    model="GroundingDinoForObjectDetection",
    part=Part(
        settings="GroundingDinoConfig",
        types=("grounding-dino",),
        parts={
            "backbone_config": Part(settings="SwinConfig", types=("swin",)),
            "text_config": Part(settings="BertConfig", types=("bert",)),
        },
    ),
    tokens=BERT_TOKENS,
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

    def boxes(self, frames: Clip, text: str) -> list[FloatBox | None]:
        """The best box of every frame.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            text: The sentence; it is asked for in lower case and with a full stop, as the model was trained.

        Returns:
            For every frame (x0, y0, x1, y1) in pixels, which may reach a little beyond it; None where no box scores
            more than ``LEAST_SCORE``.
        """
        import torch

        tokens = self._asked(text)
        found: list[FloatBox | None] = []
        with torch.inference_mode():
            for batch in batches(frames, _BATCH):
                pixels = self._prepared(batch).to(self._net.device)
                asked = {name: values.expand(len(batch), -1) for name, values in tokens.items()}
                mask = torch.ones((len(batch), *pixels.shape[-2:]), dtype=torch.int64, device=pixels.device)
                out = self._net.model(pixel_values=pixels, pixel_mask=mask, **asked)
                # Words that are not there have logits of minus infinity; NaN never passes the threshold.
                scores = torch.sigmoid(out.logits).amax(-1).cpu()
                found += [
                    _box(one, boxes, frames.shape[1:3]) for one, boxes in zip(scores, out.pred_boxes.cpu(), strict=True)
                ]
        return found

    def _asked(self, text: str) -> dict[str, Any]:
        most = self._net.model.config.max_text_len
        tokens = self._net.tokens([sentence(text)], truncation=True, max_length=most, return_tensors="pt")
        return {name: tokens[name].to(self._net.device) for name in ("input_ids", "token_type_ids", "attention_mask")}


def load_grounding(path: Path) -> Grounding:
    """Load the model of a folder.

    Raises:
        UsageError: The folder cannot be used; see ``hf_folder``.
    """
    net = load(check_folder(path, FAMILY))
    return Grounding(net, read_preparation(path, side=None, usual=Preparation()))


def sentence(text: str) -> str:
    """A sentence as the model was trained to read it.

    Example:
        >>> sentence(" The Red Car")
        'the red car.'
    """
    plain = text.strip().lower()
    return plain if plain.endswith(".") else f"{plain}."


def _box(scores: Any, boxes: Any, size: tuple[int, ...]) -> FloatBox | None:
    best = int(scores.argmax())
    if not float(scores[best]) > LEAST_SCORE:
        return None
    x, y, width, height = map(float, boxes[best])
    left, top = (x - width / 2) * size[1], (y - height / 2) * size[0]
    return left, top, left + width * size[1], top + height * size[0]
