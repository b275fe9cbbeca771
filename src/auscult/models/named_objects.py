"""What an omni model names and a segmenter draws: other objects of a frame, and the agent that segments what is meant.

Other objects are those of ``vlm:OMNI+MODEL``: OMNI as after ``--model`` of ``run avi``, or the NAME of ``chat:NAME``;
MODEL one that segments a picture by a sentence, with ``grounded_sam2@DIR`` by a grounded box and SAM 2, as in the
paper. Each step is given to ``NegativeObjects``: what gives phrases, and what draws a phrase. What lies on the target
is no other object: a mask that shares more than ``MOST_SHARED`` of its pixels, or of the target's, with the target is
left out, and what little others share with it is cut off where they are used. Of two masks of one thing the first
counts. The three of highest box IoU are taken by the stressors themselves. Where nobody names them, a ``MaskProposer``
proposes them; detectors and segmenters fit the same interface.

The texts of the questions are ours; the rules of the first are those of MQ-RAVSBench, App. G.1, and the second does
what TGS-Agent asks its model for. Replies come from strangers: they are read within bounds, and one that holds no
answer is an error.

Source: MQ-RAVSBench, Sec. 3.2 and App. G.1; shares are ours, since the paper says only that the masks do not overlap.

``tgs:OMNI+MODEL`` is the agent after TGS-Agent: an omni model says what a sentence means, and a segmenter segments that
phrase; with ``grounded_sam2@DIR`` boxes over .1 count, the best one of each frame, and SAM 2 draws what it holds. The
omni model sees the frames, hears the sound and reads the sentence. Where it says that nothing is meant, the masks are
empty; where no phrase can be read from its reply, the request has failed.

Source: Zhou et al., TGS-Agent (2025), which trains its own omni model for this; here it is any.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from auscult import registry
from auscult.arrays.overlap import iou
from auscult.errors import InputError, UnknownName, UsageError
from auscult.media.frames import write_frame
from auscult.media.paths import write_bytes
from auscult.media.wav import Sound, wav_bytes
from auscult.models.adapters import BY_SENTENCE, TGS, WEIGHTED, ModelSpec, for_task, plain_spec
from auscult.models.base import Answer, EndpointChoice, Predictor, Request
from auscult.models.chat.loading import ChatHow
from auscult.models.omni import OmniPredictor, OmniRequest
from auscult.models.omni_spec import OmniSpec, omni_spec
from auscult.record.digest import digest_json
from auscult.types import Frame, Frames, Mask, Metadata, Query, Samples
from auscult.work.chat.replies import after_thought


@runtime_checkable
class MaskProposer(Protocol):
    """Proposes masks of things in a frame."""

    @property
    def name(self) -> str:
        """The registry's full name, ``classical.regions.v1``."""
        ...

    @property
    def meta(self) -> Metadata:
        """What it says about itself."""
        ...

    def __call__(self, frame: Frame, *, target: Mask | None = None) -> tuple[Mask, ...]:
        """Propose things other than the target.

        Args:
            frame: uint8 RGB (H, W, 3).
            target: Pixels that no proposal may hold, bool (H, W); None for no such object.

        Returns:
            Masks bool (H, W), none empty, the most object-like first; may be none.

        Raises:
            InputError: The frame or the target is not of the stated shape and type.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedObject:
    """Another object of a frame."""

    phrase: str
    mask: Mask  # bool (H, W), not empty


@runtime_checkable
class NamedProposer(Protocol):
    """Proposes masks of things in a frame, and says what each is."""

    def named(self, frame: Frame, *, target: Mask, meant: str) -> tuple[NamedObject, ...]:
        """Propose things that could be taken for the target, the most confusing first; may be none.

        Args:
            frame: uint8 RGB (H, W, 3).
            target: What is meant, bool (H, W).
            meant: What it is called, or the sentence that refers to it.

        Raises:
            InputError: What was asked gave no answer that can be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class ObjectCounter:
    """Counts things in a frame as the number of proposals: for choosing the frame that shows most."""

    proposer: MaskProposer

    def __call__(self, frame: Frame) -> int:
        """The number of proposals, 0 or more; a frame's rank among those of its clip, not a true count."""
        return len(self.proposer(frame))


OTHERS_QUESTION: Final = """\
Look at the picture. Somebody points at this in it: {meant}
Which other things in the picture could be taken for it by mistake?
- Name whole things and no parts of them: a person and not an arm, a car and not a tyre.
- Where a person or an animal holds, plays, rides or uses what is pointed at, name that person or animal.
- Leave out what is pointed at, whatever else it may be called.
- Give two or three things where little is to be seen, and up to five where the picture is full.
- Begin with what can make a sound (people, animals, vehicles, machines, instruments), go on with what touches or
  belongs to what is pointed at, and end with whatever else strikes the eye.
- Tell things of one kind apart by colour or place: "the grey car at the back".
Reply with a JSON list of strings and with nothing else."""

TARGET_QUESTION: Final = """\
Here are {count} pictures of one scene in order of time, and its sound if there is any. A sentence speaks of one thing
in the scene: {meant}
Look and listen which thing that is. Then say what it looks like, in at most eight words, so that somebody who sees only
one of the pictures and hears nothing could point at it: what kind of thing, its colour, its place.
Say "nothing" if the scene holds no such thing.
Reply with <target>...</target> and with nothing else."""

MOST_PHRASES: Final = 5
MOST_CHARS: Final = 120
MOST_FRAMES: Final = 10
_MOST_READ: Final = 20_000
_MOST_WORDS: Final = 16
_MOST_LISTS: Final = 32  # brackets that are tried: each may cost its whole reply
_TARGET: Final = re.compile(r"<target>(.*?)(?:</target>|$)", re.IGNORECASE | re.DOTALL)
_NOTHING: Final = frozenset({"nothing", "none", "null", "no such thing"})
_REFUSAL: Final = re.compile(r"\b(?:i|sorry|cannot|unable)\b|\bcan['\u2019]t\b", re.IGNORECASE)


def asked(
    omni: OmniPredictor, question: str, frames: Frames, *, sound: Samples | None = None, rate_hz: int | None = None
) -> str:
    """The reply to a question about frames, uint8 RGB (T, H, W, 3), of which ten are shown at most, and their sound."""
    with tempfile.TemporaryDirectory(prefix="auscult-asked-") as folder:
        images = []
        for number in np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MOST_FRAMES)).round().astype(int)):
            images.append(Path(folder, f"{number:05d}.png"))
            write_frame(images[-1], frames[number])
        sounds = []
        if sound is not None and rate_hz and np.size(sound):
            sounds.append(Path(folder, "sound.wav"))
            write_bytes(sounds[0], wav_bytes(Sound(samples=np.atleast_2d(sound), rate_hz=rate_hz), "int16"))
        request = OmniRequest(
            id="", condition="", folder="", position=0, question=question, images=tuple(images), sounds=tuple(sounds)
        )
        return omni(request).text


def quoted(text: str) -> str:
    """A sentence inside a question: in quotation marks and on one line, so that it does not pass for the question."""
    return json.dumps(text[:2000], ensure_ascii=False)


def read_phrases(reply: str) -> tuple[str, ...]:
    """At most five phrases of a reply with a JSON list of strings, each once; an InputError where it has none."""
    for texts in _lists(after_thought(reply)[:_MOST_READ]):
        phrases = dict.fromkeys(phrase for text in texts if (phrase := _phrase(text)))
        return tuple(phrases)[:MOST_PHRASES]
    raise InputError(
        f"the reply names no other things: {reply[:80]!r}", expected='a JSON list of strings, such as ["the grey car"]'
    )


def _lists(text: str) -> Iterator[list[str]]:
    """Lists of strings in a text."""
    decoder = json.JSONDecoder()
    for match in islice(re.finditer(r"\[", text), _MOST_LISTS):
        try:
            value: Any = decoder.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            yield value


def read_target(reply: str) -> str | None:
    """The phrase of a reply, in tags or as all it says; None for nothing; an InputError where no phrase is found."""
    text = after_thought(reply)[:_MOST_READ]
    tagged = _TARGET.findall(text)
    phrase = _phrase(tagged[-1] if tagged else text)
    if phrase.rstrip(".").casefold() in _NOTHING:
        return None
    refused = not tagged and ("<" in phrase or _REFUSAL.search(phrase))  # a tag of another form holds no phrase
    if not phrase or refused:
        raise InputError(
            f"the reply says not what is meant: {text[:80]!r}",
            expected=f"<target>...</target> with {_MOST_WORDS} words at most",
        )
    return phrase


def _phrase(text: str) -> str:
    """A phrase on one line; empty for what is none, as a paragraph or a text without a letter."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split()).strip(" \"'")
    short = len(plain) <= MOST_CHARS and len(plain.split()) <= _MOST_WORDS
    return plain if short and any(char.isalpha() for char in plain) else ""


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
        """The other objects, five at most, in the order of their phrases."""
        objects: list[NamedObject] = []
        for phrase in self.phrases(frame, meant=meant):
            mask = np.asarray(self.segment(frame[None], phrase)[0] > 0.5)
            if self._is_distinct(mask, target) and all(iou(mask, other.mask) < _SAME for other in objects):
                objects.append(NamedObject(phrase=phrase, mask=mask))
        return tuple(objects)

    @staticmethod
    def _is_distinct(mask: Mask, target: Mask) -> bool:
        size, shared = int(np.count_nonzero(mask)), int(np.count_nonzero(mask & target))
        return size - shared >= _LEAST_PX and shared <= MOST_SHARED * min(size, max(1, int(np.count_nonzero(target))))


def negative_objects(given: str, *, endpoint: EndpointChoice) -> Callable[[], NegativeObjects]:
    """Parse ``vlm:NAME+MODEL``; what is returned loads both models, and may be called in another process."""
    name, model = parted(given.removeprefix(VLM), expected=_EXPECTED)
    omni = opened_omni(_full_name(name), endpoint)
    segmenter = for_task(plain_spec(model), task="ris", does=BY_SENTENCE)
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
        vlm = NegativeObjects(name=f"vlm.{omni.name}+{segmenter.name}", phrases=AskedPhrases(opened), segment=segment)
        weakref.finalize(vlm, opened.close)  # a worker's function has no end of its own
        return vlm

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


_EXPECTED_AGENT: Final = "tgs:OMNI+MODEL, such as tgs:chat:qwen2.5-omni+grounded_sam2@WEIGHTS"


class TgsAgent:
    """A loaded agent, of an omni model and a segmenter that are given to it."""

    def __init__(self, omni: OmniPredictor, segmenter: Predictor) -> None:
        self._omni, self._segmenter = omni, segmenter

    def __call__(self, request: Request) -> Answer:
        """Ask for the phrase, then for its masks; the answer says the phrase."""
        if not (request.query.text or "").strip():
            raise InputError("the agent was asked without a sentence", expected="a referring expression")
        frames, start = request.frames(), time.perf_counter()
        question = TARGET_QUESTION.format(count=len(frames), meant=quoted(request.query.text or ""))
        phrase = read_target(asked(self._omni, question, frames, sound=request.sound, rate_hz=request.rate_hz))
        seconds = time.perf_counter() - start
        if phrase is None:
            return Answer(masks=np.zeros(request.shape, np.bool_), seconds=seconds, said="nothing")
        answer = self._segmenter(replace(request, query=Query(phrase), sound=None, rate_hz=None))
        return replace(answer, seconds=answer.seconds + seconds, said=phrase)

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
    omni_name, segmenter_name = parted(given.removeprefix(TGS), expected=_EXPECTED_AGENT)
    omni, segmenter = opened_omni(omni_name, endpoint), plain_spec(segmenter_name)
    if "rvos" not in segmenter.tasks or segmenter.kind == "predictions":
        raise UsageError(f"{segmenter.name} segments no phrase", expected=_EXPECTED_AGENT)
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
