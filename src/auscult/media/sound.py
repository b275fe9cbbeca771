"""Reading sound files: WAV with the core alone, everything that libsndfile knows (FLAC, Ogg, MP3) with the extra."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.media.containers import EXPECTED, best_stream, damaged, decoder_errors, load_av, opened_video, zero_of
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_seconds, check_sound
from auscult.media.paths import read_bytes
from auscult.media.wav import Sound, bounded, decode_wav, is_wav

MOST_CHANNELS: Final = 7
"""More than these PyAV does not give back."""

# Presentation times are rounded to the file's clock; a smaller step between two packets is no gap.
_JUMP_S = 0.005


def read_soundtrack(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Sound | None:
    """Read the sound of a video, from second 0 of the frames' clock on; None for a video without sound.

    A gap in the track is silence. What a coder put before second 0 is left out.
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
    zero, position = zero_of(container), None
    try:
        for heard in container.decode(stream):
            start = position
            if heard.pts is not None:
                stated = round((heard.pts * Fraction(heard.time_base) - zero) * rate)
                start = stated if position is None or abs(stated - position) > _JUMP_S * rate else position
            start = max(start or 0, position if position is not None else -rate * 60)
            for piece in resampler.resample(heard):
                chunk = np.asarray(piece.to_ndarray(), dtype=np.float32)
                check_sound((channels, start + chunk.shape[1]), rate, limits=limits, path=path)
                yield start, chunk
                start += chunk.shape[1]
            position = start
    except decoder_errors() as error:
        raise damaged(path, error, done=f" in its sound at {(position or 0) / max(rate, 1):.3f} s") from error


SOUND_SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64"})
"""Endings that a folder of sounds is searched for; a file named alone may have any."""

_BLOCK = 1 << 16
_BEGINNINGS = (
    *(b"OggS", b"fLaC", b"ID3", b"FORM", b".snd", b"RIFF", b"RIFX", b"RF64", b"caff", b"riff", b"wvpk"),
    *(bytes((0xFF, second)) for second in range(0xE0, 0x100)),  # an MPEG frame
)
_EXPECTED = "a whole sound file: WAV, FLAC, Ogg or MP3"


def read_sound(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Sound:
    """Read a sound file, by its content: (channels, samples) float32; what is over full scale is cut off.

    Limits are checked before decoding, and again while it goes on where the header does not tell.
    """
    data = read_bytes(path, limits=limits)
    sound = decode_wav(data, path=path, limits=limits) if is_wav(data) else None
    if sound is None:
        sound = _decoded(data, path=path, limits=limits)
    if sound.samples.shape[1] == 0:
        raise InputError("the sound has no samples", expected=_EXPECTED, hint="copy or export it again", path=path)
    return sound


def _soundfile() -> Any:
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise UsageError(
            "reading this sound needs the extra `video`",
            expected="the package soundfile; a WAV file of PCM is read without it",
            hint="pip install 'auscult[video]', or '.[video]' in a clone",
        ) from error
    return soundfile


def _decoded(data: bytes, *, path: Path, limits: Limits) -> Sound:
    try:
        soundfile = _soundfile()
    except UsageError:
        if data.startswith(_BEGINNINGS):
            raise
        raise InputError("the file is no sound that is known", expected=_EXPECTED, path=path) from None
    try:
        # From memory: of a file with a name libsndfile would look at the ending.
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            check_sound((file.channels, max(0, file.frames)), file.samplerate, limits=limits, path=path)
            samples = _blocks(file, path=path, limits=limits)
            return Sound(samples=samples, rate_hz=int(file.samplerate))
    except InputError:
        raise
    except (
        soundfile.SoundFileError,
        OSError,
        RuntimeError,
        ValueError,
        TypeError,
        AttributeError,
        MemoryError,
    ) as error:
        message = " ".join(str(error).split()).rpartition(": ")[2][:120]
        raise InputError(
            f"the file is no sound that can be decoded ({message})",
            expected=_EXPECTED,
            hint="convert it, or copy it again",
            path=path,
        ) from error


def _blocks(file: Any, *, path: Path, limits: Limits) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Decode block by block: a length in a header may be wrong."""
    parts: list[np.ndarray[Any, np.dtype[np.float32]]] = []
    count = 0
    while True:
        block = file.read(_BLOCK, dtype="float32", always_2d=True)
        if len(block) == 0:
            break
        parts.append(block)
        count += len(block)
        check_sound((file.channels, count), file.samplerate, limits=limits, path=path)
    if count < file.frames and file.format != "MP3":  # the length of an MP3 is an estimate
        raise InputError(
            f"the sound is truncated or damaged: {count / file.samplerate:.3f} of "
            f"{file.frames / file.samplerate:.3f} s could be decoded",
            expected=_EXPECTED,
            hint="copy or export it again",
            path=path,
        )
    whole = np.concatenate(parts).T if parts else np.zeros((file.channels, 0), dtype=np.float32)
    return bounded(whole, path=path)
