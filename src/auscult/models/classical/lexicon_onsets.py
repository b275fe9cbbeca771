"""Joins the lexicon and the onsets: a region is chosen by the words of a sentence, and by whether and when it sounds.

What a sentence says of the sound is read by single words: that the thing sounds, is silent, sounds first, last, loudest
or most quietly. What sounds where is what ``classical.onsets.v1`` finds; how well a region of a frame lies on it weighs
the region beside the words of sight, and the lexicon's way through the clip carries the choice to frames in which the
thing is silent. A sentence that says nothing of the sound, or says it of another thing or of a time between two sounds,
is answered by the words of sight alone. Where a thing must sound and nothing in the clip does, the answer is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.models.base import Masks, ModelTask, check_clip
from auscult.models.classical import lexicon
from auscult.models.classical.lexicon_reading import parse_query, tokens_of
from auscult.models.classical.onsets import heard_and_seen
from auscult.types import Doubles, Frames, Mask, Metadata, Query, Samples

HeardCue: TypeAlias = Literal["", "sounds", "silent", "first", "last", "loud", "quiet"]

_SOUNDING: Final = re.compile(
    r"\b(?:sound\w*|heard|hear|audible|nois[ey]\w*|loud\w*|quiet\w*|softest|voice|ringing|singing|speaking|talking"
    r"|(?:bark|beep|bleat|buzz|chirp|clang|click|croak|cry|growl|hiss|honk|hoot|howl|hum|jingl|knock|laugh|meow|purr"
    r"|quack|rattl|roar|rumbl|scream|snor|squeak|squeal|thud|tick|tinkl|trill|twang|warbl|whin|whirr?|whistl)\w*"
    r"|gives? off|source of)\b"
)
_SILENT: Final = re.compile(
    r"\b(?:silent|silence|soundless|noiseless|mute|no (?:sound|noise)|without (?:any |a )?(?:sound|noise)"
    r"|(?:not|never|cannot)(?: ever)? (?:be heard|heard|audible|sound|make (?:a|any) (?:sound|noise)|making))\b"
)
_BETWEEN: Final = re.compile(
    r"\b(?:after|before|while|during|once|until|together|along with|same time|falls? silent|fallen silent|goes quiet)\b"
)
_RANKED: Final[Mapping[HeardCue, re.Pattern[str]]] = {
    "first": re.compile(r"\b(?:first|earliest)\b"),
    "last": re.compile(r"\b(?:last|latest|finally)\b"),
    "loud": re.compile(r"\b(?:loudest|loudly|noisiest)\b"),
    "quiet": re.compile(r"\b(?:quietest|softest)\b"),
}
_RELATED: Final = re.compile(r"\b(?:than|same (?:colour|sort|kind)|shares|next to|closest|nearest|farthest|covers)\b")
_LEAST: Final = 0.05
"""What a region that does not sound as it should is still given."""

_NEAR_EDGE: Final = 2  # frames from the first or last that is heard within which a sound is the first or last
_MOST_CHARS: Final = 2000


def heard_cue(text: str) -> HeardCue:
    """What a sentence says of the sound of what it names; empty for nothing that is read."""
    plain = " ".join(tokens_of(text[:_MOST_CHARS]))
    first = _SOUNDING.search(plain)
    silent = _SILENT.search(plain)
    related = _RELATED.search(plain)
    if silent is not None and not _BETWEEN.search(plain):
        return "silent"
    if first is None or (related is not None and related.start() < first.start()):
        return ""
    if silent is not None:
        return ""
    return next((cue for cue, words in _RANKED.items() if words.search(plain)), "sounds")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sounding:
    """What sounds in a clip."""

    masks: Masks  # of every frame, bool (T, h, w), at the size that the onsets look at
    level: Doubles  # RMS around each frame, (T,)

    def lies(self, at: int, regions: NDArray[np.bool_]) -> Doubles:
        """How well each region (n, h, w) of a frame lies on something that sounds in it, 0..1: its best IoU."""
        height, width = regions.shape[1:]
        flat, best = regions.reshape(len(regions), -1), np.zeros(len(regions))
        for part in map(np.ravel, self._parts(at, (height, width))):
            both = (flat & part).sum(axis=1)
            best = np.maximum(best, both / np.maximum((flat | part).sum(axis=1), 1))
        return best

    def _parts(self, at: int, size: tuple[int, ...]) -> list[Mask]:
        small = cv2.resize(self.masks[at].view(np.uint8), (size[1], size[0]), interpolation=cv2.INTER_NEAREST)
        count, labels = cv2.connectedComponents(small)
        return [np.asarray(labels == number) for number in range(1, count)]

    def weights(self, cue: HeardCue) -> Doubles:
        """How much the sound of each frame tells of a cue, (T,), 0..1."""
        heard: Mask = np.asarray(self.masks.any(axis=(1, 2)))
        found: Doubles = heard.astype(np.float64)
        times = np.flatnonzero(heard)
        if cue in {"first", "last"} and len(times):
            away = np.arange(len(heard)) - (times[0] if cue == "first" else times[-1])
            return np.asarray(found * (np.abs(away) < _NEAR_EDGE))
        if cue in {"loud", "quiet"} and len(times):
            share = self.level / max(float(self.level.max()), 1e-9)
            return np.asarray(found * (share if cue == "loud" else 1 - share))
        return found


def _weigh(sounding: Sounding, cue: HeardCue) -> Callable[[int, NDArray[np.bool_]], Doubles] | None:
    """What multiplies the chances of the regions of a frame; None where the sound tells nothing."""
    if not cue:
        return None
    weights = sounding.weights(cue)

    def weigh(at: int, regions: NDArray[np.bool_]) -> Doubles:
        lies = np.minimum(1.0, 1.5 * sounding.lies(at, regions))
        fit = _LEAST + (1 - _LEAST) * (1 - lies if cue == "silent" else lies)
        return np.asarray(fit ** weights[at])

    return weigh


_Array: TypeAlias = tuple[bytes, tuple[int, ...]]


@lru_cache(maxsize=1)  # a clip is asked about sentence after sentence
def _sounding(frames: _Array, sound: _Array, rate_hz: int) -> Sounding:
    samples = np.frombuffer(sound[0], np.float32).reshape(sound[1])
    masks, level = heard_and_seen(np.frombuffer(frames[0], np.uint8).reshape(frames[1]), samples, rate_hz)
    return Sounding(masks=masks, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconOnsets:
    """Chooses a region by the words of a sentence and by what sounds."""

    name: str = "classical.lexicon_onsets.v1"
    meta: Metadata = Metadata(
        summary="the lexicon's regions, weighed by what the onsets find sounding and what the sentence says of it",
        goal="a model for referring audio-visual segmentation that needs no download",
        modality="video",
        source="auscult; classical.lexicon.v1 and classical.onsets.v1",
    )
    tasks: tuple[ModelTask, ...] = ("refavs",)

    def predict(
        self, frames: Frames, query: Query, *, sound: Samples | None = None, rate_hz: int | None = None, **_: object
    ) -> Masks:
        """Segment what the sentence speaks of: bool (T, H, W), one region a frame; without sound as the lexicon."""
        check_clip(frames)
        cue = heard_cue(query.text or "")
        if not cue or sound is None or not rate_hz or not np.size(sound):
            return lexicon.MODEL.predict(frames, query)
        samples = np.ascontiguousarray(np.atleast_2d(sound), np.float32)
        sounding = _sounding((frames.tobytes(), frames.shape), (samples.tobytes(), samples.shape), rate_hz)
        if cue != "silent" and not sounding.masks.any():
            return np.zeros(frames.shape[:3], np.bool_)
        return lexicon.segmented(frames, parse_query(query.text), weigh=_weigh(sounding, cue))


MODEL = LexiconOnsets()
