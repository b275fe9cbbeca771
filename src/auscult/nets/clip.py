"""CLIP from a folder of the user's: pictures and sentences to vectors that can be compared. Nothing is downloaded.

Radford et al. 2021, as ``transformers`` has it. The folder is what ``save_pretrained`` of a CLIP model and of its
tokenizer writes: ``config.json``, ``model.safetensors``, and ``tokenizer.json`` or ``vocab.json`` with ``merges.txt``.
Weights are read from ``model.safetensors`` only, since other formats can run code; code that a folder brings is never
run, and of its settings only those of ``clip_config`` are used.
Pictures are prepared here, with OpenCV, by the means and deviations of ``preprocessor_config.json`` where there is one:
resampling differs a little from the release's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import check_file, read_bytes
from auscult.nets.clip_config import WEIGHTS, ClipSettings, read_settings
from auscult.types import Frame

Vectors = NDArray[np.float32]

CONFIG: Final = "config.json"
_TOKENS: Final = (("tokenizer.json",), ("vocab.json", "merges.txt"))
_PREPARED: Final = "preprocessor_config.json"
_ADAPTER: Final = "adapter_config.json"
_SMALL: Final = Limits(max_bytes=1_000_000)
_MEDIUM: Final = Limits(max_bytes=32_000_000)
_LARGE: Final = Limits(max_bytes=8_000_000_000)
_WEIGHTS_HINT: Final = "a folder with config.json, model.safetensors and the tokenizer's files of a CLIP model"
_MEAN: Final = (0.48145466, 0.4578275, 0.40821073)
_STD: Final = (0.26862954, 0.26130258, 0.27577711)
_BATCH: Final = 32


@dataclass(frozen=True, slots=True)
class ClipFolder:
    """A folder that was looked at and may be loaded.

    Attributes:
        path: The folder.
        settings: Of what the model is made.
        mean: Mean of each channel, 0..1, that pictures are prepared with.
        std: Their deviation.
    """

    path: Path
    settings: ClipSettings
    mean: tuple[float, ...] = _MEAN
    std: tuple[float, ...] = _STD


@dataclass(frozen=True, slots=True, eq=False)
class ClipModel:
    """A loaded model.

    Attributes:
        folder: Where it comes from.
        image_size: Side of the square pictures it sees.
        scale: What cosines are multiplied by before a softmax, as it was trained.
        words: Most tokens of a sentence; the rest is cut off.
    """

    folder: ClipFolder
    image_size: int
    scale: float
    words: int
    _model: Any
    _tokens: Any

    def pictures(self, frames: Sequence[Frame]) -> Vectors:
        """Vectors of pictures.

        Args:
            frames: uint8 RGB (H, W, 3) each; what is not square is squeezed.

        Returns:
            float32 (n, d), each of length 1.

        Raises:
            UsageError: The model gives what is no number.
        """
        import torch

        found = []
        for start in range(0, len(frames), _BATCH):
            batch = np.stack([self._prepared(frame) for frame in frames[start : start + _BATCH]])
            with torch.inference_mode():
                found.append(_plain(self._model.get_image_features(pixel_values=torch.from_numpy(batch))))
        return _unit(np.concatenate(found), self.folder) if found else np.zeros((0, 0), np.float32)

    def sentences(self, texts: Sequence[str]) -> Vectors:
        """Vectors of sentences, float32 (n, d), each of length 1.

        Raises:
            UsageError: The model gives what is no number.
        """
        import torch

        found = []
        for start in range(0, len(texts), _BATCH):
            tokens = self._tokens(
                list(texts[start : start + _BATCH]),
                padding=True,
                truncation=True,
                max_length=self.words,
                return_tensors="pt",
            )
            with torch.inference_mode():
                found.append(_plain(self._model.get_text_features(**tokens)))
        return _unit(np.concatenate(found), self.folder) if found else np.zeros((0, 0), np.float32)

    def _prepared(self, frame: Frame) -> NDArray[np.float32]:
        """float32 (3, side, side)."""
        side = self.image_size
        how = cv2.INTER_AREA if min(frame.shape[:2]) > side else cv2.INTER_CUBIC
        small = np.asarray(cv2.resize(frame, (side, side), interpolation=how), dtype=np.float32) / 255.0
        scaled = (small - np.asarray(self.folder.mean, np.float32)) / np.asarray(self.folder.std, np.float32)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def check_folder(path: Path) -> ClipFolder:
    """Look at a folder of weights without loading them.

    Raises:
        UsageError: The extra `clip` is not installed; the folder or a file is missing or too large; the configuration
            is not that of a CLIP model, is out of bounds or names other files; or the folder holds an adapter.
    """
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise UsageError(
            "CLIP needs the extra `clip`",
            expected="the packages transformers and torch",
            hint="pip install 'auscult[clip]', or '.[clip]' in a clone",
        )
    if not path.is_dir():
        raise UsageError("there is no such folder of weights", path=path, expected=_WEIGHTS_HINT)
    if not any(all((path / name).is_file() for name in names) for names in _TOKENS):
        raise UsageError("the tokenizer is missing", path=path, expected="tokenizer.json, or vocab.json and merges.txt")
    if (path / _ADAPTER).exists():
        raise UsageError(
            "the folder holds an adapter, that is other weights beside the model's",
            path=path / _ADAPTER,
            expected=_WEIGHTS_HINT,
        )
    try:
        check_file(path / WEIGHTS, limits=_LARGE)
        for name in {name for names in _TOKENS for name in names if (path / name).is_file()}:
            check_file(path / name, limits=_MEDIUM)
        settings = read_settings(_table(path / CONFIG), size=(path / WEIGHTS).stat().st_size)
        mean, std = _channels(path / _PREPARED)
    except InputError as error:
        hint = "pickled weights are not read: save the model again with safetensors" if _pickled(path) else ""
        raise UsageError(error.message, path=error.path, expected=_WEIGHTS_HINT, hint=hint or error.hint) from error
    return ClipFolder(path, settings, mean, std)


def load_clip(folder: ClipFolder) -> ClipModel:
    """Load the model onto the CPU, in float32; takes seconds and the size of the weights in memory.

    Raises:
        UsageError: The files do not fit together, are damaged, lack some of the weights, or hold what is no number.
    """
    import transformers

    library: Any = transformers
    place, of = str(folder.path), folder.settings
    try:
        with _quiet():
            config = library.CLIPConfig(
                text_config=dict(of.text), vision_config=dict(of.vision), projection_dim=of.projection_dim
            )
            model, told = library.CLIPModel.from_pretrained(
                place,
                config=config,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                dtype="float32",
            )
            tokens = library.CLIPTokenizer.from_pretrained(place, local_files_only=True)
    except Exception as error:  # what tokenizers and safetensors raise shares no base but Exception
        reason = " ".join(str(error).split())[:160]
        raise UsageError(f"CLIP cannot be loaded: {reason}", path=folder.path, expected=_WEIGHTS_HINT) from error
    lacking = sorted(map(str, (*told.get("missing_keys", ()), *told.get("mismatched_keys", ()))))
    if lacking:
        raise UsageError(
            f"{len(lacking)} weights are missing or of another shape, the first {lacking[0][:80]}",
            path=folder.path / WEIGHTS,
            expected="the weights that config.json describes",
        )
    model.eval()
    scale = float(model.logit_scale.detach().exp())
    if not math.isfinite(scale):
        raise UsageError(f"CLIP's 'logit_scale' is {scale}", path=folder.path / WEIGHTS, expected="whole weights")
    return ClipModel(folder, of.vision["image_size"], scale, of.text["max_position_embeddings"], model, tokens)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no notes of transformers on stderr; its settings are put back."""
    from transformers.utils import logging

    notes: Any = logging
    level, bars = notes.get_verbosity(), notes.is_progress_bar_enabled()
    notes.set_verbosity_error()
    notes.disable_progress_bar()
    try:
        yield
    finally:
        notes.set_verbosity(level)
        if bars:
            notes.enable_progress_bar()


def _plain(found: Any) -> NDArray[np.float32]:
    """The projected vectors of what a model returns: a tensor, or an object that holds it."""
    tensor = getattr(found, "pooler_output", found)
    return np.asarray(tensor.numpy(), dtype=np.float32)


def _unit(vectors: NDArray[np.float32], folder: ClipFolder) -> Vectors:
    if not np.isfinite(vectors).all():
        raise UsageError("CLIP gives what is no number", path=folder.path / WEIGHTS, expected="whole weights")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _table(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(read_bytes(path, limits=_SMALL))
    except (ValueError, RecursionError) as error:
        raise InputError(f"broken JSON: {str(error)[:80]}", path=path) from error
    if not isinstance(found, dict):
        raise InputError("the settings are no object", path=path)
    return found


def _channels(path: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if not path.is_file():
        return _MEAN, _STD
    table = _table(path)
    return _three(table, "image_mean", _MEAN), _three(table, "image_std", _STD)


def _three(table: Mapping[str, Any], key: str, usual: tuple[float, ...]) -> tuple[float, ...]:
    value = table.get(key, usual)
    numbers = isinstance(value, list | tuple) and len(value) == 3 and all(type(one) in {int, float} for one in value)
    if not numbers or not all(0 <= one <= 1 for one in value) or (key == "image_std" and min(value) < 1e-3):
        raise InputError(f"{key!r} in {_PREPARED} is {str(value)[:60]}, not three numbers from 0 to 1")
    return tuple(float(one) for one in value)


def _pickled(path: Path) -> bool:
    return not (path / WEIGHTS).exists() and any(path.glob("*.bin"))
