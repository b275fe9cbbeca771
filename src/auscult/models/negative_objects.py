"""Other objects of a frame, found by models: an omni model names them, a segmenter draws each.

``vlm:OMNI+MODEL``: OMNI as after ``--model`` of ``run avi``, or the NAME of ``chat:NAME``; MODEL one that segments a
picture by a sentence, with ``grounded_sam2@DIR`` by a grounded box and SAM 2, as in the paper. Each step is given to
``NegativeObjects``: what gives phrases, and what draws a phrase.

What lies on the target is no other object: a mask that shares more than ``MOST_SHARED`` of its pixels, or of the
target's, with the target is left out, and what little others share with it is cut off where they are used. Of two masks
of one thing the first counts. The three of highest box IoU are taken by the stressors themselves.

Source: MQ-RAVSBench, Sec. 3.2 and App. G.1; shares are ours, since the paper says only that the masks do not overlap.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult import registry
from auscult.arrays.overlap import iou
from auscult.errors import UnknownName, UsageError
from auscult.models.base import EndpointChoice, Request
from auscult.models.omni import OmniPredictor
from auscult.models.phrases import OTHERS_QUESTION, asked, quoted, read_phrases
from auscult.models.proposals import NamedObject
from auscult.models.spec import BY_SENTENCE, WEIGHTED, named_models
from auscult.models.tgs import opened_omni, parted
from auscult.types import Frame, Frames, Mask, Query

VLM: Final = "vlm:"
MOST_SHARED: Final = 0.1
_SAME: Final = 0.7  # IoU from which on two masks are of one thing
_LEAST_PX: Final = 16
_EXPECTED: Final = "vlm:NAME+MODEL, such as vlm:chat:qwen2.5-vl+grounded_sam2@WEIGHTS"

SegmentFunction: TypeAlias = Callable[[Frames, str], NDArray[Any]]
"""From frames, uint8 RGB (T, H, W, 3), and a phrase to bool (T, H, W), or probabilities in [0, 1]."""


class PhraseSource(Protocol):
    """Names other things in a frame than what is meant."""

    def __call__(self, frame: Frame, *, meant: str) -> tuple[str, ...]:
        """At most five phrases, the most confusing first; may be none."""
        ...


@dataclass(frozen=True, slots=True)
class AskedPhrases:
    """Asks an omni model, by the rules of App. G.1 in our words."""

    omni: OmniPredictor

    def __call__(self, frame: Frame, *, meant: str) -> tuple[str, ...]:
        """Its phrases without what is meant itself; an InputError where its reply holds no list."""
        reply = asked(self.omni, OTHERS_QUESTION.format(meant=quoted(meant)), frame[None])
        return tuple(phrase for phrase in read_phrases(reply) if phrase.casefold() != meant.strip().casefold())


@dataclass(frozen=True, kw_only=True)
class NegativeObjects:
    """Finds other objects of a frame (a ``NamedProposer``); what it is called in a manifest is ``name``."""

    name: str
    phrases: PhraseSource
    segment: SegmentFunction

    def named(self, frame: Frame, *, target: Mask, meant: str) -> tuple[NamedObject, ...]:
        """The other objects, five at most, in the order of their phrases.

        Args:
            frame: uint8 RGB (H, W, 3).
            target: What is meant, bool (H, W).
            meant: What it is called, or the sentence that refers to it.
        """
        found: list[NamedObject] = []
        for phrase in self.phrases(frame, meant=meant):
            mask = np.asarray(self.segment(frame[None], phrase)[0] > 0.5)
            if self._apart(mask, target) and all(iou(mask, one.mask) < _SAME for one in found):
                found.append(NamedObject(phrase=phrase, mask=mask))
        return tuple(found)

    @staticmethod
    def _apart(mask: Mask, target: Mask) -> bool:
        own, shared = int(np.count_nonzero(mask)), int(np.count_nonzero(mask & target))
        return own - shared >= _LEAST_PX and shared <= MOST_SHARED * min(own, max(1, int(np.count_nonzero(target))))


def negative_objects(given: str, *, endpoint: EndpointChoice) -> Callable[[], NegativeObjects]:
    """Parse ``vlm:NAME+MODEL``; what is returned loads both models, and may be called in another process."""
    name, model = parted(given.removeprefix(VLM), expected=_EXPECTED)
    omni = opened_omni(_full_name(name), endpoint)
    (segmenter,) = named_models([model], task="ris", does=BY_SENTENCE)
    if segmenter.kind == "predictions":
        raise UsageError("stored predictions draw no phrase", expected=_EXPECTED)

    def load() -> NegativeObjects:
        predictor = segmenter.load()

        def segment(frames: Frames, phrase: str) -> NDArray[Any]:
            request = Request(
                id="", condition="", names=("0",), size=frames.shape[1:3], query=Query(phrase), frames=frames.copy
            )
            return predictor(request).masks

        opened = opened_omni(omni.given, endpoint).open()
        found = NegativeObjects(name=f"vlm.{omni.name}+{segmenter.name}", phrases=AskedPhrases(opened), segment=segment)
        weakref.finalize(found, opened.close)  # a worker's function has no end of its own
        return found

    return load


def _full_name(name: str) -> str:
    """The name of an omni model; a word that is none by itself is that of a chat model."""
    if ":" in name or WEIGHTED.match(name):
        return name
    try:
        registry.find("model", name)
    except UnknownName:
        return f"chat:{name}"
    return name
