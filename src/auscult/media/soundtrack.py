"""The sound of a video, on the clock of its frames."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.containers import EXPECTED, best_stream, damaged, decoder_errors, load_av, opened_video, zero_of
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_seconds, check_sound
from auscult.media.wav import Sound, bounded

MOST_CHANNELS: Final = 7
"""More than these PyAV does not give back."""

# Presentation times are rounded to the file's clock; a smaller step between two packets is no gap.
_JUMP_S = 0.005


def read_soundtrack(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Sound | None:
    """Read the sound of a video; its sample 0 is at second 0 of the frames' clock.

    A gap in the track is silence. What a coder put before second 0 is left out.

    Args:
        path: The video file.
        limits: Bounds on bytes, seconds, channels, rate and samples.

    Returns:
        The sound, or None for a video without sound.

    Raises:
        InputError: The file cannot be read, or its sound is truncated or damaged.
        TooLarge: Over ``limits``.
        UsageError: The extra `video` is not installed.
    """
    with opened_video(path, limits=limits) as container:
        stream = best_stream(container, "audio")
        if stream is None:
            return None
        rate, channels = int(stream.rate or 0), int(stream.channels or 0)
        if channels > MOST_CHANNELS:  # with more, PyAV ends the process
            raise InputError(
                f"the sound of the video has {channels} channels",
                expected=f"at most {MOST_CHANNELS}",
                hint="mix it to fewer channels",
                path=path,
            )
        check_sound((channels, 0), rate, limits=limits, path=path)
        check_seconds((container.duration or 0) / 1e6, limits=limits, path=path)
        chunks = list(_chunks(container, stream, path=path, limits=limits)) if rate and channels else []
    end = max((start + chunk.shape[1] for start, chunk in chunks), default=0)
    if end <= 0:
        raise InputError("the sound of the video has no samples", expected=EXPECTED, path=path)
    whole = np.zeros((channels, end), dtype=np.float32)
    for start, chunk in chunks:
        inner = chunk[:, max(0, -start) :]
        whole[:, max(0, start) : max(0, start) + inner.shape[1]] = inner
    return Sound(samples=bounded(whole, path=path), rate_hz=rate)


def _chunks(container: Any, stream: Any, *, path: Path, limits: Limits) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Decoded pieces, (channels, samples) each, and the sample at which each starts; they may start below 0."""
    rate, channels = int(stream.rate), int(stream.channels)
    resampler = load_av().AudioResampler(format="fltp", layout=stream.layout, rate=rate)
    zero, place = zero_of(container), None
    try:
        for heard in container.decode(stream):
            start = place
            if heard.pts is not None:
                stated = round((heard.pts * Fraction(heard.time_base) - zero) * rate)
                start = stated if place is None or abs(stated - place) > _JUMP_S * rate else place
            start = max(start or 0, place if place is not None else -rate * 60)
            for piece in resampler.resample(heard):
                chunk = np.asarray(piece.to_ndarray(), dtype=np.float32)
                check_sound((channels, start + chunk.shape[1]), rate, limits=limits, path=path)
                yield start, chunk
                start += chunk.shape[1]
            place = start
    except decoder_errors() as error:
        raise damaged(path, error, done=f" in its sound at {(place or 0) / max(rate, 1):.3f} s") from error
