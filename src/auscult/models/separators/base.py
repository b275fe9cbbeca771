"""What a separator under test is: something that takes the wanted source out of a mixture.

It is asked ``separate(mixture, query, *, rate_hz, spans=None, frames=None) -> (samples,)``. One that takes no query
gives every track it finds, by name, and the one that the query means is assigned to it. An oracle is shown the true
sources: it is no competitor, but a bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from auscult.arrays.resampling import mono
from auscult.errors import InputError, UsageError
from auscult.media.frames import FRAME_SUFFIXES, read_frame
from auscult.media.video import read_frames
from auscult.models.sound_taggers import SoundTagger, text_similarity
from auscult.types import Frames, Samples, SoundItem, SoundQuery, Span

Tracks: TypeAlias = Mapping[str, Samples]
"""All tracks of a separator that takes no query, by name, float32 (samples,) each."""

_MOST_TRACKS: Final = 32
_MOST_CHANNELS: Final = 8
_LOUDEST: Final = 100.0  # what is far over full scale was written as whole numbers
_FPS: Final = 25  # of frames out of a video, as the release of SAM Audio takes them
_MOST_FRAMES: Final = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A track that was chosen."""

    track: str
    by: Literal["text", "spans", "order"]  # order: nothing told the tracks apart, and it is the first
    scores: Mapping[str, float]  # of each track: a similarity of words and sound, or the share of energy in the spans
    margin: float  # by how much it is better than the second best; 0 where nothing was measured or there is no other


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeparationRequest:
    """What a separator is asked, as ``Separator.separation`` takes it; ``frames`` opens the query's picture."""

    mixture: Samples
    rate_hz: int
    query: SoundQuery
    spans: tuple[Span, ...] = ()
    frames: Callable[[], Frames | None] = lambda: None
    stems: Sequence[Samples] = ()
    item: SoundItem | None = None

    @property
    def mono(self) -> Samples:
        """The mean of the mixture's channels, float32 (samples,)."""
        return mono(self.mixture)


Ask: TypeAlias = Callable[[SeparationRequest], Any]
"""From a request to the wanted source, (samples,) or (channels, samples), or to ``Tracks``; not yet checked."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Separation:
    """The reply of a separator."""

    samples: Samples  # what it took for the wanted source, float32 in [-1, 1], (samples,)
    seconds: float  # wall time of the separator alone
    assignment: Assignment | None = None  # which of its tracks that is; None where it gave but one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Separator:
    """A loaded separator, in one process."""

    name: str  # what tables call it
    ask: Ask = field(repr=False)
    oracle: bool = False  # whether it is shown the truth; its numbers are a bound, marked so wherever they stand
    tagger: SoundTagger | None = None  # assigns tracks to the words of the query
    end: Callable[[], None] = field(default=lambda: None, repr=False)

    def separate(self, mixture: Samples, query: SoundQuery, **given: Any) -> Samples:
        """As ``separation``, but its samples alone, float32 (samples,)."""
        return self.separation(mixture, query, **given).samples

    def separation(
        self,
        mixture: Samples,
        query: SoundQuery,
        *,
        rate_hz: int,
        spans: Sequence[Span] | None = None,
        frames: Frames | None = None,
        stems: Sequence[Samples] = (),
        item: SoundItem | None = None,
    ) -> Separation:
        """Take the wanted source out of a mixture, float32 in [-1, 1], (samples,) or (channels, samples).

        Args:
            mixture: The mixture.
            query: Which source is wanted.
            rate_hz: The sample rate of the mixture, of the stems and of what comes back.
            spans: In place of the query's own.
            frames: The query's picture, uint8 RGB (T, H, W, 3); else read from its file for whoever asks for it.
            stems: The true sources, the wanted one first; shown to oracles alone, which need them.
            item: The line of INPUT that is asked about; folders of outputs need it.

        Raises:
            InputError: The mixture, the reply, or a file cannot be used.
        """
        _check(mixture, rate_hz)
        if self.oracle and not stems:
            raise UsageError(
                f"{self.name} was given no stems", expected="an oracle is shown them, the wanted one first"
            )
        request = SeparationRequest(
            mixture=mixture,
            rate_hz=rate_hz,
            query=query,
            spans=tuple(query.spans if spans is None else spans),
            frames=(lambda: picture_frames(query.picture)) if frames is None else frames.copy,
            stems=tuple(map(mono, stems)) if self.oracle else (),
            item=item,
        )
        start = time.perf_counter()
        reply = self.ask(request)
        seconds = time.perf_counter() - start
        if not isinstance(reply, Mapping):
            return Separation(samples=checked(reply, count=mixture.shape[-1]), seconds=seconds)
        check_count(reply)
        tracks = {str(name)[:100]: checked(track, count=mixture.shape[-1]) for name, track in reply.items()}
        chosen = assign(tracks, query, rate_hz=rate_hz, spans=request.spans, tagger=self.tagger)
        return Separation(samples=tracks[chosen.track], seconds=seconds, assignment=chosen)

    def close(self) -> None:
        """Release its resources; a second call does nothing."""
        self.end()


def assign(
    tracks: Mapping[str, Samples],
    query: SoundQuery,
    *,
    rate_hz: int,
    spans: tuple[Span, ...] = (),
    tagger: SoundTagger | None = None,
) -> Assignment:
    """Choose the track, of at least one, that a query means; of equals the first.

    By the similarity of words and sound, as SAM Audio Judge (Sec. III-A) assigns the tracks of MossFormer2 and Demucs
    to text prompts with CLAP. Where nothing measures that, by the share of a track's energy that falls into the spans.
    """
    scores: dict[str, float] = {}
    by: Literal["text", "spans"] = "text"
    if tagger is not None and query.text:
        fits = {name: text_similarity(tagger, query.text, track, rate_hz=rate_hz) for name, track in tracks.items()}
        scores = {name: value for name, value in fits.items() if value is not None}
    if not scores and spans:
        scores, by = {name: _share_inside(track, spans, rate_hz) for name, track in tracks.items()}, "spans"
    if not scores:
        return Assignment(track=next(iter(tracks)), by="order", scores={}, margin=0.0)
    best, *others = sorted(scores, key=lambda name: -scores[name])
    return Assignment(track=best, by=by, scores=scores, margin=scores[best] - scores[others[0]] if others else 0.0)


def _share_inside(track: Samples, spans: tuple[Span, ...], rate_hz: int) -> float:
    """The share of a track's energy inside the ``+`` spans (else outside the ``-`` ones); 0 of silence."""
    inside = np.zeros(track.size, np.bool_)
    positive = [span for span in spans if span.sign == "+"]
    for span in positive or spans:
        inside[max(0, round(span.start_s * rate_hz)) : max(0, round(span.end_s * rate_hz))] = True
    power = np.square(track, dtype=np.float64)
    return float(power[inside if positive else ~inside].sum() / max(float(power.sum()), 1e-300))


def check_count(tracks: Mapping[str, Any]) -> None:
    """Refuse no tracks, and more than anyone would compare."""
    if not 1 <= len(tracks) <= _MOST_TRACKS:
        raise InputError(f"the separator gave {len(tracks)} tracks", expected=f"1 to {_MOST_TRACKS}")


def checked(output: Any, *, count: int) -> Samples:
    """What a separator gave as float32 (count,), full scale at 1, which may be exceeded; channels are averaged.

    ``InputError`` where it is no sound, is not finite, far over full scale, or has another length.
    """
    array = np.asarray(output)
    if array.dtype.kind != "f" or array.ndim not in {1, 2} or not 1 <= len(np.atleast_2d(array)) <= _MOST_CHANNELS:
        raise InputError(
            f"the separator gave {array.dtype} {array.shape}",
            expected=f"floating point in [-1, 1], ({count},) or (channels, {count})",
            hint="several tracks are a dict of name to samples",
        )
    if array.shape[-1] != count:
        raise InputError(
            f"the separator gave {array.shape[-1]} samples of a mixture of {count}",
            expected="as many samples as the mixture has, at its rate",
            hint="resample, cut or pad in the separator; nothing is done here that nobody sees",
        )
    loudest = float(np.max(np.abs(array), initial=0.0))
    if not loudest <= _LOUDEST:  # also where it is no number
        raise InputError(f"the separator gave values up to {loudest:g}", expected="finite samples in [-1, 1]")
    return np.asarray(mono(array), dtype=np.float32)


def _check(mixture: Samples, rate_hz: int) -> None:
    shaped = mixture.dtype == np.float32 and mixture.ndim in {1, 2} and mixture.size and rate_hz > 0
    if not shaped or not np.isfinite(mixture).all():
        raise InputError(
            f"a mixture of {mixture.dtype} {mixture.shape} at {rate_hz} Hz, or with values that are not finite",
            expected="float32 in [-1, 1], (samples,) or (channels, samples), with its rate",
        )


def picture_frames(picture: Path | None) -> Frames | None:
    """The frames of a query's picture, video (25 a second) or folder of frames, uint8 RGB (T, H, W, 3)."""
    if picture is None:
        return None
    if picture.is_dir():
        files = sorted(file for file in picture.iterdir() if file.suffix.lower() in FRAME_SUFFIXES)
        frames = list(map(read_frame, files[:_MOST_FRAMES]))
    elif picture.suffix.lower() in FRAME_SUFFIXES:
        frames = [read_frame(picture)]
    else:
        frames = [timed.frame for timed in islice(read_frames(picture, fps=_FPS), _MOST_FRAMES)]
    if not frames or len({frame.shape for frame in frames}) > 1:
        raise InputError("the query's frames are none, or of several sizes", expected="one size", path=picture)
    return np.stack(frames)
