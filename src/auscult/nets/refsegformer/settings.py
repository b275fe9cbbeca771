"""What a `RefSegformer` is made of, and what it sees of a picture and reads of a sentence, with or without torch."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

LAST: Final = 4
DESIGN: Final = "design.json"
MOBILE_WIDTHS: Final = (24, 32, 96, 160)
_MOST: Final = 512
_WIDEST: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The parts of a network; the defaults are the paper's (Sec. 4 and 5.1), with Swin-B and BERT-base."""

    side: int = 480  # pictures are squeezed to a square of this many pixels, a multiple of 32
    tokens: int = 20  # tokens of a sentence at most, marks of begin and end included
    # ``swin`` (from ``transformers``); ``mobile``, MobileNetV2; or ``small``, a convolutional encoder of our own
    vision: Literal["swin", "mobile", "small"] = "swin"
    # ``bert`` (from ``transformers``) or ``small``, word vectors and a two-layer transformer of our own
    text: Literal["bert", "small"] = "bert"
    # channels of the vision encoder's four stages, at strides 4, 8, 16 and 32
    widths: tuple[int, ...] = (128, 256, 512, 1024)
    depths: tuple[int, ...] = ()  # blocks of each stage; read for ``small`` only
    text_width: int = 768  # numbers of a token
    head_width: int = 32  # channels of one head in each cross-attention
    # ``vltf`` (Sec. 4.2), or ``pwan``: LAVT's pixel-word attention with its language pathway (Table 8).
    fusion: Literal["vltf", "pwan"] = "vltf"
    # stages with a fusion behind them; the paper's one, two and three VLTFs are (4,), (3, 4), (2, 3, 4)
    fused: tuple[int, ...] = (2, 3, 4)
    memory: int = 20  # memory tokens of a VLTF
    blank: int = 10  # blank tokens of a VLTF
    # what memory tokens attend to: the text that has seen the picture (paper), or the text (release)
    memory_reads: Literal["vision_text", "text"] = "vision_text"
    # whether a fusion's positions know where they are, as two channels beside V_i. Not in the paper; a convolution
    # knows hardly more than its borders.
    places: bool = False
    # ``fpn`` (Eq. 4), or ``deformable``: six layers of deformable attention before one mask (Table 6); or ``none``: no
    # masks, a classifier of existence alone, as the two-stage baseline has.
    decoder: Literal["fpn", "deformable", "none"] = "fpn"
    decoder_width: int = 256  # channels of the deformable decoder, a multiple of 32
    # whether the FPN attends to the tokens once more where a VLTF was; the paper is silent, the release does so, and
    # only so the paper's size is met
    decoder_tokens: bool = True
    # ``fused``, F_i as in Eq. 4; or ``sum``, V_i + sigma(F_i), what the next stage sees too.
    decoder_input: Literal["fused", "sum"] = "fused"
    # the query of Eq. 6: ``vision``, ``tokens``, or ``none`` for no head
    existence: Literal["vision", "tokens", "none"] = "vision"
    existence_stage: int = LAST  # the VLTF whose tokens it sees: 4 (paper) or 2 (release)
    # ``joint``; or ``detached``: the head's loss teaches the head alone (release)
    existence_gradient: Literal["joint", "detached"] = "joint"

    def __post_init__(self) -> None:
        """Check what the parts need of one another."""
        if self.side % 32 or not 64 <= self.side <= 2048:
            raise ValueError(f"side is {self.side}, not a multiple of 32 from 64 to 2048")
        if len(self.widths) != LAST or any(width % self.head_width for width in self.widths[1:]):
            raise ValueError(f"widths are {self.widths}, not four of whole heads of {self.head_width}")
        if self.vision == "mobile" and self.widths != MOBILE_WIDTHS:
            raise ValueError(f"widths are {self.widths}, MobileNetV2's {MOBILE_WIDTHS}")
        if self.vision == "small" and len(self.depths) != LAST:
            raise ValueError(f"depths are {self.depths}, not four numbers of blocks")
        if not self.fused or any(a >= b for a, b in itertools.pairwise(self.fused)) or {*self.fused} - {2, 3, LAST}:
            raise ValueError(f"fused is {self.fused}, not stages 2, 3, 4 or some of them, in order")
        if not (1 <= self.memory <= _MOST and 0 <= self.blank <= _MOST and 2 <= self.tokens <= _MOST):
            raise ValueError(
                f"{self.memory} memory and {self.blank} blank tokens, {self.tokens} of text: out of bounds"
            )
        sizes = (*self.widths, self.text_width, *self.depths, self.decoder_width)
        if self.decoder_width % 32 or not all(1 <= size <= _WIDEST for size in sizes):
            raise ValueError(f"a width or depth is not from 1 to {_WIDEST}, or decoder_width no multiple of 32")
        if self.existence == self.decoder == "none":
            raise ValueError("a network has a decoder, an existence head, or both")
        if self.existence != "none" and self.existence_stage not in self.fused:
            raise ValueError(f"existence_stage is {self.existence_stage}, which is not fused")


PADDING: Final = 0
UNKNOWN: Final = 1
"""Numbers of the two marks in a small encoder's vocabulary; words follow."""
_WORD: Final = re.compile(r"[^\W_]+")


def squeezed(frame: Frame, side: int) -> Frame:
    """A picture, uint8 RGB (H, W, 3), as a square of ``side`` pixels."""
    shrinks = min(frame.shape[:2]) >= side
    interpolation = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(frame, (side, side), interpolation=interpolation), dtype=np.uint8)


def words_of(text: str) -> list[str]:
    """The words of a sentence, in lower case."""
    return _WORD.findall(text.lower())


class Vocabulary:
    """Words of a list as tokens, behind padding and the one unknown word; ``tokens`` are read of a sentence."""

    def __init__(self, words: Sequence[str], *, tokens: int) -> None:
        self.words, self.tokens = tuple(words), tokens
        self._numbers = {word: number for number, word in enumerate(words, start=UNKNOWN + 1)}

    def ids(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Token numbers (n, tokens); a sentence without a word is one unknown word."""
        result = np.full((len(texts), self.tokens), PADDING, np.int64)
        for row, text in zip(result, texts, strict=True):
            numbers = [self._numbers.get(word, UNKNOWN) for word in words_of(text)[: self.tokens]] or [UNKNOWN]
            row[: len(numbers)] = numbers
        return result

    def unknown(self, text: str) -> tuple[str, ...]:
        """The words of a sentence that are not in the list."""
        return tuple(dict.fromkeys(word for word in words_of(text) if word not in self._numbers))
