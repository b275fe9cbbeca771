"""What a separator under test is: something that takes the wanted source out of a mixture.

A separator is asked with ``separate(mixture, query, *, rate_hz, spans=None, frames=None) -> (samples,)``. One that
takes no query gives every track it finds, by name, and the track that the query means is chosen from them
(``assignment``). An oracle is shown the true sources: it is no competitor, but a bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.frames import read_frame
from auscult.models.separators.assignment import Assignment, assign
from auscult.models.sound_taggers import SoundTagger
from auscult.types import Frames, Samples, SoundItem, SoundQuery, Span

Tracks: TypeAlias = Mapping[str, Samples]
"""All tracks of a separator that takes no query, by name, float32 (samples,) each."""

_MOST_TRACKS: Final = 32
_LOUDEST: Final = 100.0  # what is far over full scale was written as whole numbers
_PICTURES: Final = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
_FPS: Final = 25  # of frames out of a video, as the release of SAM Audio takes them
_MOST_FRAMES: Final = 1500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeparationRequest:
    """One request to a separator.

    Attributes:
        mixture: float32 in [-1, 1], (samples,) or (channels, samples).
        rate_hz: Its sample rate.
        query: Which source is wanted.
        spans: Where the wanted source is heard, or is not.
        frames: Makes the frames of the query's picture, uint8 RGB (T, H, W, 3), or None where it has none.
        stems: The true sources, the wanted one first, float32 (samples,) or (channels, samples); for oracles alone.
        item: The line of INPUT that is asked about; what looks up outputs and what names files needs it.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Separation:
    """The reply of a separator.

    Attributes:
        samples: What it took for the wanted source, float32 in [-1, 1], (samples,).
        seconds: Wall time of the separator alone.
        assignment: Which of its tracks that is, and why; None where it gave but one.
    """

    samples: Samples
    seconds: float
    assignment: Assignment | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Separator:
    """A loaded separator, in one process.

    Attributes:
        name: What tables call it.
        revision: What its code or weights are: a hash, so that a changed separator is run again.
        oracle: Whether it is shown the truth; its numbers are a bound, marked so wherever they stand.
        needs_stems: Whether ``stems`` has to be given.
        tagger: Chooses among tracks by the words of the query, or None.
    """

    name: str
    ask: Callable[[SeparationRequest], Any] = field(repr=False)
    revision: str = ""
    oracle: bool = False
    needs_stems: bool = False
    tagger: SoundTagger | None = None
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
        """Take the wanted source out of a mixture.

        Args:
            mixture: float32 in [-1, 1], (samples,) or (channels, samples).
            query: Which source is wanted.
            rate_hz: The sample rate of the mixture, of the stems and of what comes back.
            spans: In place of the query's own.
            frames: The query's picture as uint8 RGB (T, H, W, 3); read from its file where it is not given and the
                separator asks for it.
            stems: The true sources, the wanted one first; needed by oracles, shown to nothing else.
            item: The line of INPUT that is asked about.

        Raises:
            InputError: The mixture, the reply, or a file cannot be used.
            UsageError: An oracle was given no stems.
        """
        _check(mixture, rate_hz)
        if self.needs_stems and not stems:
            raise UsageError(
                f"{self.name} is an oracle and was given no stems", expected="the true sources, the wanted one first"
            )
        request = SeparationRequest(
            mixture=mixture,
            rate_hz=rate_hz,
            query=query,
            spans=tuple(query.spans if spans is None else spans),
            frames=(lambda: picture_frames(query.picture)) if frames is None else frames.copy,
            stems=tuple(map(mono, stems)) if self.needs_stems else (),
            item=item,
        )
        begun = time.perf_counter()
        found = self.ask(request)
        seconds = time.perf_counter() - begun
        count = mixture.shape[-1]
        if not isinstance(found, Mapping):
            return Separation(samples=checked(found, count=count), seconds=seconds)
        if not 1 <= len(found) <= _MOST_TRACKS:
            raise InputError(f"the separator gave {len(found)} tracks", expected=f"1 to {_MOST_TRACKS}")
        tracks = {str(name)[:100]: checked(track, count=count) for name, track in found.items()}
        chosen = assign(tracks, query, rate_hz=rate_hz, spans=request.spans, tagger=self.tagger)
        return Separation(samples=tracks[chosen.track], seconds=seconds, assignment=chosen)

    def close(self) -> None:
        """Release its resources; a second call does nothing."""
        self.end()


def mono(samples: Samples) -> Samples:
    """The mean of the channels, float32 (samples,)."""
    return np.asarray(samples if samples.ndim == 1 else samples.mean(axis=0), dtype=np.float32)


def checked(found: Any, *, count: int) -> Samples:
    """What a separator gave as float32 (count,) in [-1, 1]; channels are averaged, what is over full scale is cut off.

    Raises:
        InputError: It is no sound, is not finite, or has another length.
    """
    try:
        array = np.asarray(found)
    except (TypeError, ValueError) as error:
        raise InputError(f"the separator gave no array: {str(error)[:80]}", expected=f"float ({count},)") from error
    if array.dtype.kind != "f" or array.ndim not in {1, 2} or (array.ndim == 2 and array.shape[0] > 8):
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
    if array.ndim == 2:
        array = array.mean(axis=0)
    loudest = float(np.max(np.abs(array), initial=0.0))
    if not loudest <= _LOUDEST:  # also where it is no number
        raise InputError(f"the separator gave values up to {loudest:g}", expected="finite samples in [-1, 1]")
    return np.asarray(np.clip(array, -1.0, 1.0), dtype=np.float32)


def _check(mixture: Samples, rate_hz: int) -> None:
    if mixture.dtype != np.float32 or mixture.ndim not in {1, 2} or not mixture.size or rate_hz < 1:
        raise InputError(
            f"a mixture of {mixture.dtype} {mixture.shape} at {rate_hz} Hz",
            expected="float32 (samples,) or (channels, samples), with its rate",
        )
    if not np.isfinite(mixture).all():
        raise InputError("the mixture holds values that are not finite", expected="samples from -1 to 1")


def picture_frames(picture: Path | None) -> Frames | None:
    """The frames of a query's picture, video (25 a second) or folder of frames, uint8 RGB (T, H, W, 3)."""
    if picture is None:
        return None
    if picture.suffix.lower() in _PICTURES:
        return read_frame(picture)[None]
    if picture.is_dir():
        files = sorted(file for file in picture.iterdir() if file.suffix.lower() in _PICTURES)
        shown = [read_frame(file) for file in files[:_MOST_FRAMES]]
    else:
        from itertools import islice

        from auscult.media.video import read_frames

        shown = [timed.frame for timed in islice(read_frames(picture, fps=_FPS), _MOST_FRAMES)]
    if not shown or len({frame.shape for frame in shown}) > 1:
        raise InputError(
            "the query's frames are none, or of several sizes", expected="frames of one size", path=picture
        )
    return np.stack(shown)
