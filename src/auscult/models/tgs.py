"""An agent after TGS-Agent: an omni model says what a sentence means, and a segmenter segments that phrase.

``tgs:OMNI+MODEL``: OMNI as after ``--model`` of ``run avi``, MODEL one that segments by a sentence; with
``grounded_sam2@DIR`` boxes over .1 count, the best one of each frame, and SAM 2 draws what it holds. The omni model
sees the frames, hears the sound and reads the sentence. Where it says that nothing is meant, the masks are empty; where
no phrase can be read from its reply, the request has failed.

Source: Zhou et al., TGS-Agent (2025), which trains its own omni model for this; here it is any.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.models.base import Answer, EndpointChoice, Predictor, Request
from auscult.models.chat.loading import ChatHow
from auscult.models.omni import OmniPredictor
from auscult.models.omni_spec import OmniSpec, omni_spec
from auscult.models.phrases import TARGET_QUESTION, asked, quoted, read_target
from auscult.models.spec import TGS, ModelSpec, model_spec
from auscult.record.digest import digest_json
from auscult.types import Query

_EXPECTED: Final = "tgs:OMNI+MODEL, such as tgs:chat:qwen2.5-omni+grounded_sam2@WEIGHTS"


class TgsAgent:
    """A loaded agent, of an omni model and a segmenter that are given to it."""

    def __init__(self, omni: OmniPredictor, segmenter: Predictor) -> None:
        self._omni, self._segmenter = omni, segmenter

    def __call__(self, request: Request) -> Answer:
        """Ask for the phrase, then for its masks; the answer says the phrase."""
        if not (request.query.text or "").strip():
            raise InputError("the agent was asked without a sentence", expected="a referring expression")
        frames, begun = request.frames(), time.perf_counter()
        question = TARGET_QUESTION.format(count=len(frames), meant=quoted(request.query.text or ""))
        phrase = read_target(asked(self._omni, question, frames, sound=request.sound, rate_hz=request.rate_hz))
        seconds = time.perf_counter() - begun
        if phrase is None:
            return Answer(masks=np.zeros(request.shape, np.bool_), seconds=seconds, said="nothing")
        found = self._segmenter(replace(request, query=Query(phrase), sound=None, rate_hz=None))
        return replace(found, seconds=found.seconds + seconds, said=phrase)

    def close(self) -> None:
        """Release both models."""
        self._omni.close()
        self._segmenter.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class TgsSpec(ModelSpec):
    """An agent that was asked for, before anything of it is loaded; goes to worker processes."""

    omni: str
    segmenter: ModelSpec
    endpoint: EndpointChoice

    def load(self) -> Predictor:
        """Load both models into this process."""
        return TgsAgent(opened_omni(self.omni, self.endpoint).open(), self.segmenter.load())


def opened_omni(name: str, endpoint: EndpointChoice) -> OmniSpec:
    """An omni model by its name; one behind an endpoint is asked as the endpoint says."""
    return omni_spec(name, how=ChatHow(base_url=endpoint.base_url, profile=endpoint.profile))


def parted(text: str, *, expected: str) -> tuple[str, str]:
    """OMNI and MODEL of ``OMNI+MODEL``; the last plus parts them."""
    omni, plus, segmenter = text.rpartition("+")
    if not plus or not omni.strip() or not segmenter.strip():
        raise UsageError(f"{text[:80]!r} names no omni model and segmenter", expected=expected)
    return omni.strip(), segmenter.strip()


def tgs_spec(given: str, *, endpoint: EndpointChoice) -> TgsSpec:
    """Parse ``tgs:OMNI+MODEL``."""
    omni_name, segmenter_name = parted(given.removeprefix(TGS), expected=_EXPECTED)
    omni, segmenter = opened_omni(omni_name, endpoint), model_spec(segmenter_name)
    if "rvos" not in segmenter.tasks or segmenter.kind == "predictions":
        raise UsageError(f"{segmenter.name} segments no phrase", expected=_EXPECTED)
    return TgsSpec(
        given=given,
        kind="agent",
        name=f"tgs.{omni.name}+{segmenter.name}",
        target=given,
        revision=digest_json([omni.revision, segmenter.revision, TARGET_QUESTION])[:12],
        tasks=("ris", "rvos", "refavs"),
        omni=omni_name,
        segmenter=segmenter,
        endpoint=endpoint,
    )
