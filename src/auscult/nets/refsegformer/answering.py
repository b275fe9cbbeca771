"""A trained network as a function of pictures and sentences: from two ONNX files without torch, or from its weights.

What hangs on the picture alone, the stem, runs once a picture, the rest once a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from auscult.errors import UsageError
from auscult.nets.onnx_session import open_session, read_network, runtime_errors
from auscult.nets.refsegformer.settings import DESIGN, Vocabulary, squeezed
from auscult.types import Floats, Frame

if TYPE_CHECKING:
    from auscult.nets.refsegformer.weights import Model

STEM: Final = "stem.onnx"
ANSWER: Final = "answer.onnx"
READER: Final = "auscult.reader"
"""Key of the JSON in ``answer.onnx`` that says how a sentence is read: a ``PictureReading``."""
_MOST_BYTES: Final = 200_000_000
_EXPECTED: Final = f"a folder of `auscult train rris`: onnx/ with {STEM} and {ANSWER}, or model/ with {DESIGN}"
_Word = Annotated[str, msgspec.Meta(max_length=200)]


class PictureReading(msgspec.Struct, frozen=True, kw_only=True):
    """How a network of ONNX files reads and sees."""

    words: Annotated[tuple[_Word, ...], msgspec.Meta(max_length=100_000)]
    tokens: Annotated[int, msgspec.Meta(ge=1, le=512)]
    side: Annotated[int, msgspec.Meta(ge=64, le=2048)]  # of the square that a picture is squeezed to
    blank: Annotated[int, msgspec.Meta(ge=0, le=512)]  # of a fusion's tokens, the first


class SentenceAnswer(NamedTuple):
    """The answer to one sentence."""

    logits: Floats | None  # of the target beside the background (h, w), at stride 4; None of a classifier
    existence: float | None  # logit that the target is there; None without a head
    attention: Mapping[int, Floats]  # by stage, of each token where it is looked at from, (blank + memory, h, w), 0..1


class OnnxAnswering:
    """A network of a folder with ``stem.onnx`` and ``answer.onnx``.

    Raises:
        UsageError: A file is missing, too large or broken, or the two do not fit one another.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ANSWER
        self._stem, self._answer = (
            open_session(read_network(path, most_bytes=_MOST_BYTES, hint=_EXPECTED), path, hint=_EXPECTED)
            for path in (folder / STEM, folder / ANSWER)
        )
        try:
            metadata = self._answer.get_modelmeta().custom_metadata_map[READER]
            self.reading = msgspec.json.decode(metadata, type=PictureReading)
        except (KeyError, msgspec.DecodeError) as error:
            raise UsageError(f"the network does not say how it reads: {error}", path=self._path) from error
        self.blank = self.reading.blank
        self._words = Vocabulary(self.reading.words, tokens=self.reading.tokens)
        self.unknown = self._words.unknown
        self._maps = [output.name for output in self._stem.get_outputs()]
        self._takes = {entry.name for entry in self._answer.get_inputs()}
        self._gives = [output.name for output in self._answer.get_outputs()]
        broken: tuple[type[Exception], ...] = (*runtime_errors(), KeyError, IndexError, ValueError)
        try:
            self.answer(self.stem(np.zeros((64, 64, 3), np.uint8)), "", attention=True)
        except broken as error:
            message = " ".join(str(error).split())[:160]
            raise UsageError(f"the network does not run: {message}", path=folder, expected=_EXPECTED) from error

    def stem(self, frame: Frame) -> dict[str, Floats]:
        """What ``answer`` needs of a picture, uint8 RGB (H, W, 3)."""
        pixels = squeezed(frame, self.reading.side).transpose(2, 0, 1)[None].astype(np.float32) / 255
        return dict(zip(self._maps, self._stem.run(None, {"pictures": pixels}), strict=True))

    def answer(self, seen: Any, text: str, *, attention: bool = False) -> SentenceAnswer:
        """Answer a sentence about a picture that ``stem`` saw; with attention only where it is asked for."""
        inputs = {**seen, "ids": self._words.ids([text])}
        names = [name for name in self._gives if attention or not name.startswith("attention")]
        outputs = self._answer.run(names, {name: inputs[name] for name in self._takes})
        return _answer_of(dict(zip(names, outputs, strict=True)), self._path)


class TorchAnswering:
    """A network with its weights, on the CPU; asked like ``OnnxAnswering``."""

    def __init__(self, model: Model, path: Path) -> None:
        self._model, self._path = model, path
        design = model.net.design
        self.blank = design.blank
        # LAVT's tokens are the words, so that nothing is blank or memory
        self._stages = design.fused if design.fusion == "vltf" else ()

    def stem(self, frame: Frame) -> Any:
        """What ``answer`` needs of a picture."""
        import torch

        pixels = torch.from_numpy(squeezed(frame, self._model.net.design.side)).permute(2, 0, 1)[None].float() / 255
        with torch.no_grad():
            return self._model.net.stem(pixels)

    def answer(self, seen: Any, text: str, *, attention: bool = False) -> SentenceAnswer:
        """Answer a sentence."""
        import torch

        with torch.no_grad():
            result = self._model.net.answer(seen, *self._model.read([text]))
        outputs = {} if not result.masks else {"mask": result.masks[0][:, 1] - result.masks[0][:, 0]}
        if result.existence is not None:
            outputs["existence"] = result.existence
        if attention:
            outputs |= {f"attention{stage}": maps for stage, maps in zip(self._stages, result.attention, strict=False)}
        return _answer_of({name: value.numpy() for name, value in outputs.items()}, self._path)

    def unknown(self, text: str) -> tuple[str, ...]:
        """The words that it never learned; BERT knows pieces of any word."""
        return self._model.read.unknown(text) if isinstance(self._model.read, Vocabulary) else ()


Answering: TypeAlias = OnnxAnswering | TorchAnswering
"""A network that is asked: ``blank``, how many of a fusion's tokens are blank, ``stem``, ``answer``, ``unknown``."""


def _answer_of(outputs: Mapping[str, Floats], path: Path) -> SentenceAnswer:
    """One answer from outputs by name."""
    shaped = {name: np.asarray(value[0], np.float32) for name, value in outputs.items()}
    if not all(np.isfinite(value).all() for value in shaped.values()):
        raise UsageError("the network gives what is no number", path=path, hint="its weights are damaged")
    attention = {}
    for name, array in shaped.items():
        if name.startswith("attention"):
            side = math.isqrt(len(array))
            attention[int(name.removeprefix("attention"))] = array.T.reshape(array.shape[1], side, side)
    logits, existence = shaped.get("mask"), shaped.get("existence")
    if logits is not None and logits.ndim != 2:
        raise ValueError(f"a mask of shape {logits.shape}")
    return SentenceAnswer(logits, None if existence is None else float(existence), attention)


def load_answering(folder: Path) -> Answering:
    """The network of a folder that ``auscult train rris`` wrote, of its ONNX files where there are some.

    Raises:
        UsageError: There is none, or it cannot be used.
    """
    for home in (folder, folder / "onnx"):
        if (home / ANSWER).is_file():
            return OnnxAnswering(home)
    for home in (folder, folder / "model"):
        if (home / DESIGN).is_file():
            try:
                from auscult.nets.refsegformer.weights import read_model
            except ImportError as error:
                raise UsageError(
                    f"weights without ONNX files need torch: {error}", hint="pip install 'auscult[train]'", path=home
                ) from error
            return TorchAnswering(read_model(home), home)
    raise UsageError("no trained network lies here", path=folder, expected=_EXPECTED)
