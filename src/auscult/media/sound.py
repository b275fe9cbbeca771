"""Reading sound files: WAV with the core alone, everything that libsndfile knows (FLAC, Ogg, MP3) with the extra."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.media.containers import EXPECTED, best_stream, damaged, decoder_errors, load_av, opened_video, zero_of
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_seconds, check_sound
from auscult.media.paths import check_file, regular_descriptor, unreadable
from auscult.media.wav import BLOCK, SampleBlocks, Sound, decode_wav, is_wav, wav_block, wav_layout
from auscult.types import Samples

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
        blocks = SampleBlocks(channels, limits.max_samples // max(channels, 1), path=path)
        for start, chunk in _chunks(container, stream, path=path, limits=limits) if rate and channels else ():
            if start + chunk.shape[1] > 0:
                blocks.put(chunk[:, max(0, -start) :], start=max(0, start))
    if blocks.count == 0:
        raise InputError("the sound of the video has no samples", expected=EXPECTED, path=path)
    return Sound(samples=blocks.samples(), rate_hz=rate)


def _chunks(container: Any, stream: Any, *, path: Path, limits: Limits) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Decoded pieces, (channels, samples) each, and the sample at which each starts; they may start below 0."""
    rate, channels = int(stream.rate), int(stream.channels)
    resampler = load_av().AudioResampler(format="fltp", layout=stream.layout, rate=rate)
    zero, position = zero_of(container), None
    try:
        for frame in container.decode(stream):
            start = position
            if frame.pts is not None:
                stated = round((frame.pts * Fraction(frame.time_base) - zero) * rate)
                start = stated if position is None or abs(stated - position) > _JUMP_S * rate else position
            start = max(start or 0, position if position is not None else -rate * 60)
            for piece in resampler.resample(frame):
                chunk = np.asarray(piece.to_ndarray(), dtype=np.float32)
                check_sound((channels, start + chunk.shape[1]), rate, limits=limits, path=path)
                yield start, chunk
                start += chunk.shape[1]
            position = start
    except decoder_errors() as error:
        raise damaged(path, error, done=f" in its sound at {(position or 0) / max(rate, 1):.3f} s") from error


SOUND_SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64"})
"""Endings that a folder of sounds is searched for; a file named alone may have any."""

_BEGINNINGS = (
    *(b"OggS", b"fLaC", b"ID3", b"FORM", b".snd", b"RIFF", b"RIFX", b"RF64", b"caff", b"riff", b"wvpk"),
    *(bytes((0xFF, second)) for second in range(0xE0, 0x100)),  # an MPEG frame
)
_EXPECTED = "a whole sound file: WAV, FLAC, Ogg or MP3"


def read_sound(path: Path, *, limits: Limits = DEFAULT_LIMITS, cut: bool = True) -> Sound:
    """Read a sound file, by its content: (channels, samples) float32; with ``cut`` within full scale.

    Floating point and MP3 may hold more than full scale. It is cut off where the sound will be stored as 16 bits;
    scores and judges, to which a level means nothing, are given the file as it is.

    Limits are checked before decoding, and again while it goes on where the header does not tell. It is decoded in
    blocks: at most ``limits.max_samples`` float32 are held, once.
    """
    check_file(path, limits=limits)
    try:
        # By its descriptor: of a file with a name libsndfile would look at the ending.
        with os.fdopen(regular_descriptor(path, os.O_RDONLY), "rb") as file:
            head = file.read(12)
            sound = decode_wav(file, path=path, limits=limits, cut=cut) if is_wav(head) else None
            if sound is None:
                file.seek(0)
                sound = _decoded(file, head, path=path, limits=limits, cut=cut)
    except OSError as error:
        raise unreadable(path, error) from error
    if sound.samples.shape[1] == 0:
        raise InputError("the sound has no samples", expected=_EXPECTED, hint="copy or export it again", path=path)
    return sound


class SoundReader:
    """A sound file of which blocks are read when they are asked for; a context manager.

    ``reader[..., a:b]`` is float32 (channels, samples), as of ``read_sound``; with ``cut`` it is cut off at full scale.
    Of what is neither WAV, FLAC nor Ogg, all is held.

    Attributes:
        shape: (channels, samples).
        rate_hz: Sample rate.
    """

    def __init__(self, path: Path, *, limits: Limits = DEFAULT_LIMITS, cut: bool = True) -> None:
        check_file(path, limits=limits)
        try:
            self._file = os.fdopen(regular_descriptor(path, os.O_RDONLY), "rb")
            head = self._file.read(12)
        except OSError as error:
            raise unreadable(path, error) from error
        self._path, self._cut = path, cut
        with contextlib.ExitStack() as failing:
            failing.callback(self._file.close)
            self._open(head, limits)
            failing.pop_all()

    def _open(self, head: bytes, limits: Limits) -> None:
        path = self._path
        self._layout = wav_layout(self._file, path=path, limits=limits) if is_wav(head) else None
        self._whole: Samples | None = None
        self._decoder: Any = None
        if self._layout is not None:
            self.shape, self.rate_hz = (self._layout.channels, self._layout.count), self._layout.rate_hz
        elif head.startswith((b"fLaC", b"OggS")):
            self._file.seek(0)
            with _decoding(path):
                self._decoder = _soundfile(path).SoundFile(self._file)
            self.shape, self.rate_hz = (self._decoder.channels, max(0, self._decoder.frames)), self._decoder.samplerate
            check_sound(self.shape, self.rate_hz, limits=limits, path=path)
        else:
            sound = read_sound(path, limits=limits, cut=self._cut)
            self._whole, self.rate_hz = sound.samples, sound.rate_hz
            self.shape = (sound.samples.shape[0], sound.samples.shape[1])
        if self.shape[1] == 0:
            raise InputError("the sound has no samples", expected=_EXPECTED, hint="export it again", path=path)

    def __getitem__(self, key: tuple[Any, slice]) -> Samples:
        """A block."""
        start, stop, _ = key[-1].indices(self.shape[1])
        stop = max(start, stop)
        if self._whole is not None:
            return self._whole[:, start:stop]
        if self._layout is not None:
            samples = wav_block(self._file, self._layout, path=self._path, span=(start, stop))
        else:
            with _decoding(self._path):
                self._decoder.seek(start)
                samples = self._decoder.read(stop - start, dtype="float32", always_2d=True).T
            if samples.shape[1] != stop - start:
                raise InputError("the sound is truncated or damaged", expected=_EXPECTED, path=self._path)
        return np.clip(samples, -1.0, 1.0) if self._cut else samples

    def __enter__(self) -> Self:
        """Ready to be read."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()


def _soundfile(path: Path | None = None) -> Any:
    """The package, to read a file."""
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise UsageError(
            "reading this sound needs the extra `sound`",
            expected="the package soundfile; a WAV file of PCM is read without it",
            hint="pip install 'auscult[sound]', or '.[sound]' in a clone",
            path=path,
        ) from error
    return soundfile


def flac_bytes(samples: NDArray[np.int16], rate_hz: int) -> bytes:
    """A FLAC file of 16 bits from int16 (samples,); a ``UsageError`` where soundfile is missing."""
    file = io.BytesIO()
    _soundfile().write(file, samples, rate_hz, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def _decoded(source: BinaryIO, head: bytes, *, path: Path, limits: Limits, cut: bool) -> Sound:
    try:
        soundfile = _soundfile(path)
    except UsageError:
        if head.startswith(_BEGINNINGS):
            raise
        raise InputError("the file is no sound that is known", expected=_EXPECTED, path=path) from None
    with _decoding(path), soundfile.SoundFile(source) as file:
        check_sound((file.channels, max(0, file.frames)), file.samplerate, limits=limits, path=path)
        samples = _blocks(file, path=path, limits=limits, cut=cut)
        return Sound(samples=samples, rate_hz=int(file.samplerate))


@contextlib.contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Errors of libsndfile as ours."""
    soundfile = _soundfile(path)
    try:
        yield
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


def _blocks(file: Any, *, path: Path, limits: Limits, cut: bool) -> Samples:
    """Decode block by block: a length in a header may be wrong."""
    blocks = SampleBlocks(file.channels, max(0, file.frames), path=path, cut=cut)
    while len(block := file.read(BLOCK, dtype="float32", always_2d=True)):
        check_sound((file.channels, blocks.count + len(block)), file.samplerate, limits=limits, path=path)
        blocks.put(block.T)
    if blocks.count < file.frames and file.format != "MP3":  # the length of an MP3 is an estimate
        raise InputError(
            f"the sound is truncated or damaged: {blocks.count / file.samplerate:.3f} of "
            f"{file.frames / file.samplerate:.3f} s could be decoded",
            expected=_EXPECTED,
            hint="copy or export it again",
            path=path,
        )
    return blocks.samples()
