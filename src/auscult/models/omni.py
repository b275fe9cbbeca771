"""What an omni model under test is: something that answers a question about pictures, sounds and a video in text.

A model takes files and gives text (``OmniModel``). What runs one knows more, such as where a reply was stored by its
benchmark's own program: an adapter takes an ``OmniRequest`` and gives an ``OmniReply`` (``OmniPredictor``).

A model may have these attributes too:

===============  ==============================================================================================
``connections``  how many threads of one process ask it at once; such a model waits for others and needs no further
                 processes: ``answer`` is called from all threads
``boxes``        how it gives boxes, ``ORDER UNIT``: order ``xyxy``, ``yxyx`` or ``xywh``; unit ``share`` of width and
                 height, ``thousandths`` of them, or ``pixels``. Without it they are what the prompt asks for
``close``        releases what it holds; called once, when nothing more is asked
===============  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, runtime_checkable

from auscult.errors import InputError
from auscult.types import Metadata

BOXES: Final = "xyxy share"
"""How boxes are given where a model says nothing of it: as the prompt asks for."""


@runtime_checkable
class OmniModel(Protocol):
    """Answers questions about what is seen and heard.

    A model holds nothing over from one call to the next that could change an answer.
    """

    def answer(self, question: str, *, images: Sequence[Path], sounds: Sequence[Path], video: Path | None) -> str:
        """Answer one question.

        Args:
            question: The whole text that is sent: how to answer, what may be answered, and what is asked.
            images: Files of pictures in their order; candidates and frames are told apart by it, from 0.
            sounds: Files of sounds, likewise.
            video: A file of a video, or None; its sound, where it has one, is the first of ``sounds``.

        Returns:
            The reply as it came, a ``CountedText`` where it is known what it cost. An error that is raised is a failed
            request, which is no answer and enters no score.
        """
        ...


class Unreachable(InputError):
    """Nothing can be asked at all: an endpoint that does not answer, a key that is refused, a budget that is spent.

    A model raises it instead of any other error of one request. After several in a row, without a reply between them,
    the run ends and is resumed by the same command.
    """


class CountedText(str):
    """A reply that says what it cost, and who gave it."""

    __slots__ = ("served", "usage")
    # name to number, such as ``tokens_in``, ``tokens_out``, ``requests`` and ``cost``; summed over a run
    usage: Mapping[str, float]
    served: str  # the model that answered, where its endpoint names another one than was asked

    def __new__(cls, text: str, usage: Mapping[str, float], *, served: str = "") -> CountedText:  # noqa: PYI034 - slots and str
        """A reply with its usage."""
        reply = super().__new__(cls, text)
        reply.usage, reply.served = MappingProxyType(dict(usage)), served
        return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRequest:
    """One request to a model: a sample under one condition."""

    id: str  # the sample, unique in the run
    condition: str  # ``clean``, or what was taken away
    folder: str  # the sample's folder in the released tree, such as ``VSQA_I``
    position: int  # its place in that folder's ``data.json``, from 0: what stored replies are told apart by
    question: str  # the whole text that is sent
    images: tuple[Path, ...] = ()  # pictures in their order
    sounds: tuple[Path, ...] = ()  # sounds in their order
    video: Path | None = None  # the video, or None
    seed: int = 0  # of the run, for models that draw


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniReply:
    """The reply of a model."""

    text: str
    seconds: float  # wall time of the model alone
    usage: Mapping[str, float] = field(default_factory=dict)
    served: str = ""  # as of ``CountedText``


class OmniPredictor(Protocol):
    """A loaded model."""

    def __call__(self, request: OmniRequest) -> OmniReply:
        """Ask the model; whatever it raises is a failed request."""
        ...

    def close(self) -> None:
        """Release its resources; a second call does nothing."""
        ...


@runtime_checkable
class RequestAnswerer(Protocol):
    """A registered model that answers requests: one of ours, which may know more than a model under test.

    Attributes:
        takes_argument: What its argument is, ``an accuracy from 0 to 1``; empty where it takes none.
    """

    name: str
    meta: Metadata
    takes_argument: str

    def check(self, argument: str) -> None:
        """Raise a ``UsageError`` where it cannot take an argument."""
        ...

    def reply(self, request: OmniRequest, argument: str) -> str:
        """Its reply."""
        ...


@runtime_checkable
class WeightedOmniModel(Protocol):
    """A registered omni model whose weights the user brings."""

    name: str
    meta: Metadata

    def using(self, weights: Path) -> OmniModel:
        """The model with the weights of a folder; a ``UsageError`` says what is missing or damaged."""
        ...
