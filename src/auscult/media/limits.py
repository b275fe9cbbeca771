"""How large an input may be. Checked from the header, before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auscult.errors import TooLarge


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds on one input file.

    Attributes:
        max_pixels: Height times width of a picture or mask. Pillow has a ceiling of its own, about 179 million, that
            no larger value lifts.
        max_bytes: Size of the file.
        max_seconds: Length of a sound or video.
        max_channels: Channels of a sound.
        max_rate_hz: Sample rate of a sound.
        max_samples: Samples of a sound over all its channels; each takes 4 bytes.
        max_frames: Frames of a video.
    """

    max_pixels: int = 100_000_000
    max_bytes: int = 268_435_456
    max_seconds: float = 3600.0
    max_channels: int = 32
    max_rate_hz: int = 384_000
    max_samples: int = 120_000_000
    max_frames: int = 250_000


DEFAULT_LIMITS = Limits()


def check_pixels(size: tuple[int, int], *, limits: Limits, path: Path | str | None = None) -> None:
    """Refuse a picture of (height, width) pixels that is over the limit; ``path`` is for the message."""
    height, width = size
    if height * width > limits.max_pixels:
        raise TooLarge(
            f"a picture of {height} x {width} (height x width) has {height * width:,} pixels",
            expected=f"at most {limits.max_pixels:,} pixels",
            hint="scale or crop the picture; nothing was decoded",
            path=path,
        )


def check_seconds(seconds: float, *, limits: Limits, path: Path | str | None = None) -> None:
    """Refuse a sound or video that is too long."""
    if seconds > limits.max_seconds:
        raise TooLarge(
            f"it is {seconds:,.1f} s long",
            expected=f"at most {limits.max_seconds:,g} s",
            hint="cut out the part that is needed",
            path=path,
        )


def check_sound(shape: tuple[int, int], rate_hz: int, *, limits: Limits, path: Path | str | None = None) -> None:
    """Refuse a sound of (channels, samples of each) that is over the limits; ``path`` is for the message."""
    channels, count = shape
    if channels > limits.max_channels or rate_hz > limits.max_rate_hz:
        raise TooLarge(
            f"a sound of {channels} channels at {rate_hz:,} Hz",
            expected=f"at most {limits.max_channels} channels and {limits.max_rate_hz:,} Hz",
            hint="mix or resample it; nothing was decoded",
            path=path,
        )
    check_seconds(count / max(rate_hz, 1), limits=limits, path=path)
    if channels * count > limits.max_samples:
        raise TooLarge(
            f"a sound of {channels} channels of {count:,} samples",
            expected=f"at most {limits.max_samples:,} samples in all",
            hint="cut out the part that is needed, or mix its channels",
            path=path,
        )
