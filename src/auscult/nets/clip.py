"""CLIP from a folder of the user's: pictures and sentences to vectors that can be compared. Nothing is downloaded.

Radford et al. 2021, as ``transformers`` has it. The folder is what ``save_pretrained`` of a CLIP model and of its
tokenizer writes: ``config.json``, ``model.safetensors``, and ``tokenizer.json`` or ``vocab.json`` with ``merges.txt``.
It is checked and loaded as every folder of weights (``hf_folder``).
Pictures are prepared here, with OpenCV, by the means and deviations of ``preprocessor_config.json`` where there is one:
resampling differs a little from the release's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.nets.hf_folder import PREPARED, WEIGHTS, CheckedFolder, Family, channels, load, read_table
from auscult.nets.hf_folder import check_folder as check_weights
from auscult.types import Frame

Vectors = NDArray[np.float32]

CLIP: Final = Family(title="CLIP", extra="clip", model="CLIPModel", types=("clip",), reader="CLIPTokenizer")
_MEAN: Final = (0.48145466, 0.4578275, 0.40821073)
_STD: Final = (0.26862954, 0.26130258, 0.27577711)
_BATCH: Final = 32


@dataclass(frozen=True, slots=True)
class ClipFolder:
    """A folder that was checked and may be loaded."""

    weights: CheckedFolder
    mean: tuple[float, ...] = _MEAN  # mean of each channel, 0..1, that pictures are prepared with
    std: tuple[float, ...] = _STD  # their deviation

    @property
    def path(self) -> Path:
        """The folder."""
        return self.weights.path


@dataclass(frozen=True, slots=True, eq=False)
class ClipModel:
    """A loaded model."""

    folder: ClipFolder
    image_size: int  # side of the square pictures it sees
    scale: float  # what cosines are multiplied by before a softmax, as it was trained
    words: int  # most tokens of a sentence; the rest is cut off
    _model: Any
    _tokens: Any

    def pictures(self, frames: Sequence[Frame]) -> Vectors:
        """Vectors of pictures, uint8 RGB (H, W, 3) each and squeezed to a square: float32 (n, d), each of length 1."""
        import torch

        vectors = []
        for start in range(0, len(frames), _BATCH):
            batch = np.stack([self._prepared(frame) for frame in frames[start : start + _BATCH]])
            with torch.inference_mode():
                vectors.append(_plain(self._model.get_image_features(pixel_values=torch.from_numpy(batch))))
        return _unit(np.concatenate(vectors), self.folder) if vectors else np.zeros((0, 0), np.float32)

    def sentences(self, texts: Sequence[str]) -> Vectors:
        """Vectors of sentences, float32 (n, d), each of length 1."""
        import torch

        vectors = []
        for start in range(0, len(texts), _BATCH):
            tokens = self._tokens(
                list(texts[start : start + _BATCH]),
                padding=True,
                truncation=True,
                max_length=self.words,
                return_tensors="pt",
            )
            with torch.inference_mode():
                vectors.append(_plain(self._model.get_text_features(**tokens)))
        return _unit(np.concatenate(vectors), self.folder) if vectors else np.zeros((0, 0), np.float32)

    def _prepared(self, frame: Frame) -> NDArray[np.float32]:
        """float32 (3, side, side)."""
        side = self.image_size
        interpolation = cv2.INTER_AREA if min(frame.shape[:2]) > side else cv2.INTER_CUBIC
        small = np.asarray(cv2.resize(frame, (side, side), interpolation=interpolation), dtype=np.float32) / 255.0
        scaled = (small - np.asarray(self.folder.mean, np.float32)) / np.asarray(self.folder.std, np.float32)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def check_folder(path: Path) -> ClipFolder:
    """Check a folder of weights without loading them; a ``UsageError`` says what is wrong, as in ``hf_folder``."""
    weights = check_weights(path, CLIP)
    prepared = path / PREPARED
    try:
        mean, std = channels(read_table(prepared) if prepared.is_file() else {}, usual=(_MEAN, _STD))
    except InputError as error:
        raise UsageError(error.message, path=prepared, expected=CLIP.expected, hint=error.hint) from error
    return ClipFolder(weights, mean, std)


def load_clip(folder: ClipFolder) -> ClipModel:
    """Load the model onto the CPU, in float32; takes seconds and the size of the weights in memory."""
    net = load(folder.weights)
    model = net.model.cpu()
    side, text = model.config.vision_config.image_size, model.config.text_config
    scale = float(model.logit_scale.detach().exp())
    if not math.isfinite(scale):
        raise UsageError(f"CLIP's 'logit_scale' is {scale}", path=folder.path / WEIGHTS, expected="whole weights")
    return ClipModel(folder, side, scale, text.max_position_embeddings, model, net.tokens)


def _plain(output: Any) -> NDArray[np.float32]:
    """The projected vectors of what a model returns: a tensor, or an object that holds it."""
    tensor = getattr(output, "pooler_output", output)
    return np.asarray(tensor.numpy(), dtype=np.float32)


def _unit(vectors: NDArray[np.float32], folder: ClipFolder) -> Vectors:
    if not np.isfinite(vectors).all():
        raise UsageError("CLIP gives what is no number", path=folder.path / WEIGHTS, expected="whole weights")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
