"""Pictures, sounds and videos as parts of a message: in the order images, sounds, video, text, as AVI-Bench sends them.

No file name goes out. Sounds are written anew, so that no text in a chunk of a WAV file does either. Media are told by
their content; a file that is none costs its request, and nothing is left out in silence.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from auscult.arrays.resampling import resampled
from auscult.errors import InputError, TooLarge
from auscult.media.frames import decode_frame, encode_jpeg, encode_png
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.media.sound import read_sound
from auscult.media.video import count_frames, frames_numbered, probe
from auscult.media.wav import encode_wav
from auscult.models.chat.profile import ChatProfile, Medium
from auscult.types import Frame

MOST_BYTES: Final = 64 << 20
"""Of the media of one request, before they are written as base64."""

_LIMITS: Final = Limits(max_bytes=MOST_BYTES)
_JPEG_QUALITY: Final = 92
_PICTURES: Final = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"))
_MP3: Final = (b"ID3", *(bytes((0xFF, second)) for second in (0xFB, 0xF3, 0xF2, 0xFA)))
_UNKNOWN_VIDEO: Final = "an MP4, MOV or WebM file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """The media of a question."""

    images: Sequence[Path] = ()
    sounds: Sequence[Path] = ()
    video: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a message, and the tokens that it takes at most."""

    body: dict[str, Any]
    tokens: int
    size: int  # bytes of its media


def parts_of(media: Media, profile: ChatProfile) -> list[Part]:
    """The media of a question as parts of a message.

    An InputError where a file cannot be read, or the profile takes nothing of its kind; a TooLarge where they are more
    than one request may hold.
    """
    found: list[Part] = []
    for part in _parts(media, profile):
        found.append(part)
        if sum(one.size for one in found) > MOST_BYTES:
            raise TooLarge(
                f"the media of one question have more than {MOST_BYTES >> 20} MiB",
                expected="fewer or smaller files",
                hint="longest_side_px, sound_rate_hz and frames of the profile make them smaller",
            )
    return found


def _parts(media: Media, profile: ChatProfile) -> Iterator[Part]:
    sounds = list(media.sounds)
    if media.video is not None and profile.video == "video_url" and profile.hears_video and _has_sound(media.video):
        sounds = sounds[1:]  # the first is the video's own, which is heard already
    if media.images and _is_taken("images", media.images[0], profile):
        yield from (_picture(path, profile) for path in media.images)
    if sounds and _is_taken("sounds", sounds[0], profile):
        yield from (_sound(path, profile) for path in sounds)
    if media.video is not None and _is_taken("video", media.video, profile):
        yield from _video(media.video, profile)


def _is_taken(medium: Medium, path: Path, profile: ChatProfile) -> bool:
    if medium in profile.leaves_out:
        return False
    if getattr(profile, medium) == "none":
        raise InputError(
            f"the profile of {profile.model} takes no {medium}",
            expected="a model that takes them, or a cascade with one that describes them",
            hint=f"leaves_out = [{medium!r}] in the profile leaves them out",
            path=path,
        )
    return True


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode('ascii')}"


def _picture(path: Path, profile: ChatProfile) -> Part:
    data = read_bytes(path, limits=_LIMITS)
    kind = next((kind for head, kind in _PICTURES if data.startswith(head)), "")
    if kind and not profile.longest_side_px:
        return _picture_part(kind, data, profile)
    frame = decode_frame(data, path=path, limits=_LIMITS)
    smaller = _within(frame, profile.longest_side_px)
    if kind and smaller is frame:
        return _picture_part(kind, data, profile)
    if kind == "jpeg":
        return _picture_part("jpeg", encode_jpeg(smaller, quality=_JPEG_QUALITY), profile)
    return _picture_part("png", encode_png(smaller), profile)


def _picture_part(kind: str, data: bytes, profile: ChatProfile) -> Part:
    url = {"url": _data_url(f"image/{kind}", data)}
    return Part(body={"type": "image_url", "image_url": url}, tokens=profile.tokens.picture, size=len(data))


def _within(frame: Frame, longest_px: int) -> Frame:
    """A frame whose longer side is no longer than that; 0 is no limit."""
    height, width = frame.shape[:2]
    if not longest_px or max(height, width) <= longest_px:
        return frame
    scale = longest_px / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _sound(path: Path, profile: ChatProfile) -> Part:
    seconds, kind, data = _sound_file(path, profile)
    tokens = round(seconds * profile.tokens.sound_second) + 1
    url = _data_url(f"audio/{kind}", data)
    if profile.sounds == "audio_url":
        return Part(body={"type": "audio_url", "audio_url": {"url": url}}, tokens=tokens, size=len(data))
    held = url if profile.sounds == "input_audio_url" else url.partition(",")[2]
    return Part(
        body={"type": "input_audio", "input_audio": {"data": held, "format": kind}}, tokens=tokens, size=len(data)
    )


def _sound_file(path: Path, profile: ChatProfile) -> tuple[float, str, bytes]:
    """Seconds, format and bytes of a sound as it is sent."""
    if "mp3" in profile.sound_formats and not profile.sound_rate_hz:
        data = read_bytes(path, limits=_LIMITS)
        if data.startswith(_MP3):
            return len(data) * 8 / 32_000, "mp3", data  # 32 kbit/s: the tokens are an upper bound
    sound = read_sound(path, limits=_LIMITS)
    samples, rate_hz = sound.samples, profile.sound_rate_hz or sound.rate_hz
    if rate_hz != sound.rate_hz:
        samples = np.clip(resampled(samples, rate_hz=sound.rate_hz, wanted_hz=rate_hz), -1.0, 1.0)
    return samples.shape[1] / rate_hz, "wav", encode_wav(samples, rate_hz)


def _video(path: Path, profile: ChatProfile) -> Iterator[Part]:
    if profile.video == "frames":
        for frame in video_frames(path, profile.frames):
            data = encode_jpeg(_within(frame, profile.longest_side_px), quality=_JPEG_QUALITY)
            yield _picture_part("jpeg", data, profile)
        return
    data = read_bytes(path, limits=_LIMITS)
    seconds = probe(path, limits=_LIMITS).duration_s or 0.0
    url = {"url": _data_url(_kind_of_video(data, path), data)}
    tokens = round(seconds * profile.tokens.video_second) + 1
    yield Part(body={"type": "video_url", "video_url": url}, tokens=tokens, size=len(data))


def video_frames(path: Path, count: int) -> list[Frame]:
    """So many frames evenly over a video, uint8 RGB (H, W, 3), each from the middle of its part, or all it has."""
    total = count_frames(path, limits=_LIMITS)
    numbers = {int((place + 0.5) * total / count) for place in range(count)}
    frames = [timed.frame for _, timed in frames_numbered(path, numbers, limits=_LIMITS)]
    if not frames:
        raise InputError("the video has no frame", expected="a whole video", path=path)
    return frames


def _has_sound(path: Path) -> bool:
    return probe(path, limits=_LIMITS).sound_rate_hz is not None


def _kind_of_video(data: bytes, path: Path) -> str:
    if data[4:8] == b"ftyp":
        return "video/mp4"
    if data.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm"
    raise InputError("the video is of a kind that no endpoint is known to take", expected=_UNKNOWN_VIDEO, path=path)
