"""What a model behind an endpoint takes, and how it is told: a file, TOML or JSON. Nothing about a model is guessed.

::

    model = "gpt-4o-2024-08-06"
    base_url = "https://api.openai.com/v1"
    key = "OPENAI_API_KEY"            # the name of an environment variable, never the key
    images = "image_url"
    sounds = "none"
    video = "frames"
    frames = 16
    boxes = "xyxy share"

    [price]                           # USD for a million tokens
    sent = 2.5
    received = 10.0

Pictures, sounds and videos as parts of a message: in the order images, sounds, video, text, as AVI-Bench sends them.

No file name goes out. Sounds are written anew, so that no text in a chunk of a WAV file does either. Media are told by
their content; a file that is none costs its request, and nothing is left out in silence.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar

import cv2
import numpy as np
from msgspec import Meta

from auscult.arrays.resampling import resampled
from auscult.errors import AuscultError, InputError, TooLarge, UsageError
from auscult.media.frames import decode_frame, encode_jpeg, encode_png
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.media.sound import read_sound
from auscult.media.video import count_frames, frames_numbered, probe
from auscult.media.wav import decode_wav, encode_wav
from auscult.record.codec import Count, Word, from_json, load
from auscult.record.digest import digest_json
from auscult.types import Frame
from auscult.work.chat import Base64

PROFILE_FILES: Final = frozenset({".toml", ".json"})
OTHER_KEY: Final = "AUSCULT_CHAT_KEY"
"""The environment variable with the key for a base URL that is not the profile's own."""

_LIMITS: Final = Limits(max_bytes=200_000)
_EXPECTED: Final = "a profile: TOML or JSON, as docs/chat.md describes it"
_OWN: Final = frozenset({"model", "messages", "stream", "stream_options", "temperature", "seed", "n", "top_p"})
_VARIABLE: Final = re.compile(r"([A-Z][A-Z0-9_]{0,99})?")
_SECRETS: Final = re.compile(
    r"(.*[-_])?(api[-_]?key|access[-_]?key|authorization|secret|password|headers?)|((auth|access|api|bearer)[-_])?token"
)
_FORMAT: Final = 1
"""Counts up when the same profile sends something else than before."""
_APART: Final = frozenset({"base_url", "key", "price", "tokens", "timeout_s", "tries", "revision", "json"})
"""What changes no answer by itself, and what says where a model is."""

Usd: TypeAlias = Annotated[float, Meta(ge=0.0, le=1e6)]
SettingsKind = TypeVar("SettingsKind")
Medium: TypeAlias = Literal["images", "sounds", "video"]
File: TypeAlias = Path | bytes
"""A file on disk, or what would stand in one."""
FileKind_co = TypeVar("FileKind_co", bound=File, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceOf:
    """USD for a million tokens."""

    sent: Usd
    received: Usd


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensOf:
    """How many tokens media take at most, for the budget and for ``--dry-run``; the endpoint counts the real ones."""

    picture: Count = 1500
    sound_second: Count = 50
    video_second: Count = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatProfile:
    """What a model takes and how."""

    model: Word  # its name, as the endpoint knows it
    base_url: str = ""  # up to and without ``/chat/completions``; empty where the command gives it
    key: str = ""  # the environment variable that holds the key for ``base_url``; empty where none is needed
    # what is served there, where the name does not say it: replies are kept apart by it. Without it they are kept apart
    # by the base URL.
    revision: str = ""
    system: str = "You answer questions about what you see and hear."  # the first message; none where it is empty
    images: Literal["image_url", "none"] = "image_url"  # whether pictures can be sent
    # how sounds are sent: ``input_audio`` as base64, ``input_audio_url`` the same as a data URL, ``audio_url`` as vLLM
    # takes them, or not at all
    sounds: Literal["input_audio", "input_audio_url", "audio_url", "none"] = "input_audio"
    # how a video is sent: as a file, as frames, or not at all. Its sound is sent as a sound.
    video: Literal["video_url", "frames", "none"] = "frames"
    # media that are not sent where a question has them. Without it such a question is a failed request, since an answer
    # about what was not sent says nothing.
    leaves_out: tuple[Medium, ...] = ()
    hears_video: bool = False  # with a video as a file: its soundtrack is heard, so it is not sent again as a sound
    frames: Annotated[int, Meta(ge=1, le=256)] = 16  # how many frames of a video, evenly over it
    # larger pictures and frames are made smaller; 0 sends pictures as they are
    longest_side_px: Annotated[int, Meta(ge=0, le=16384)] = 0
    sound_rate_hz: Annotated[int, Meta(ge=0, le=192_000)] = 0  # the rate of all sounds; 0 sends each at its own
    # ``wav`` always; with ``mp3`` such files are sent as they are
    sound_formats: tuple[Literal["wav", "mp3"], ...] = ("wav",)
    # how the model gives boxes, order and unit: ``xyxy``, ``yxyx`` or ``xywh``; ``share`` of width and height,
    # ``thousandths`` of them, or ``pixels``
    boxes: Annotated[str, Meta(pattern=r"^(xyxy|yxyx|xywh) (share|thousandths|pixels)$")] = "xyxy share"
    # 0 for the likeliest reply; null leaves it to the endpoint
    temperature: Annotated[float, Meta(ge=0.0, le=2.0)] | None = 0.0
    seeded: bool = True  # whether a seed is sent
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024  # of a reply
    # what the endpoint calls that limit; budgets hold where the endpoint obeys it
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = False  # ask for the reply in pieces, as some endpoints demand
    # how the endpoint enforces JSON where an answer has a schema: by the schema, as any object, or not at all
    json: Literal["schema", "object", "none"] = "none"
    # further keys of the request; none that is called like a key or a header of HTTP
    extra: dict[str, Any] = field(default_factory=dict)
    timeout_s: Annotated[float, Meta(ge=0.1, le=3600.0)] = 120.0  # for one try
    tries: Annotated[int, Meta(ge=1, le=20)] = 5  # how often a request is sent at most
    price: PriceOf | None = None  # for cost and budget; null where it is not known
    tokens: TokensOf = field(default_factory=TokensOf)  # for their estimates

    def __post_init__(self) -> None:
        """Refuse a key where its variable is asked for, and what would change what the profile itself says."""
        if not _VARIABLE.fullmatch(self.key):  # it may be a key, so it is not shown
            raise ValueError("key is not the name of an environment variable, which is in capital letters")
        reserved = sorted(self.extra.keys() & (_OWN | {"max_tokens", "max_completion_tokens"}))
        if reserved:
            raise ValueError(f"extra holds {reserved[0]!r}, which the profile or the run decides")
        secret = next((name for name in _names(self.extra) if _SECRETS.fullmatch(name.lower())), None)
        if secret is not None:
            raise ValueError(f"extra holds {secret[:40]!r}: keys are read from the environment alone")

    def in_form(self, schema: Mapping[str, Any]) -> ChatProfile:
        """The same, asked for JSON of a schema in the way that the endpoint offers; itself where it offers none."""
        if self.json == "none":
            return self
        form: dict[str, Any] = {"type": "json_object"}
        if self.json == "schema":
            form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}
        return replace(self, extra={**self.extra, "response_format": form})

    def digest(self, *, base_url: str, seed: int) -> str:
        """What an answer depends on beside the question and its media."""
        settings = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in _APART}
        revision = self.revision or base_url.rstrip("/")
        return digest_json([_FORMAT, settings, revision, seed if self.seeded else None])[:12]


def read_profile(path: Path) -> ChatProfile:
    """Read a profile.

    Raises:
        UsageError: It cannot be read, lacks a key or has an unknown one; the message says which.
    """
    return read_settings(ChatProfile, path, what="profile", expected=_EXPECTED)


def read_settings(kind: type[SettingsKind], path: Path, *, what: str, expected: str) -> SettingsKind:
    """Read a small file, TOML or JSON, as a dataclass; ``what`` it is and what is ``expected`` stand in errors.

    Raises:
        UsageError: It cannot be read, lacks a key or has an unknown one; the message says which.
    """
    try:
        return _parsed(kind, read_bytes(path, limits=_LIMITS), path)
    except AuscultError as error:
        raise UsageError(
            f"the {what} cannot be read: {error.message}",
            path=path,
            expected=error.expected or expected,
            hint=error.hint,
        ) from error


def named_profile(name: str) -> ChatProfile:
    """The profile of a model that comes with auscult, or one that says nothing but the name."""
    profiles = shipped_profiles()
    return profiles.get(name) or ChatProfile(model=name)


def shipped_profiles() -> Mapping[str, ChatProfile]:
    """The profiles that come with auscult, by the name of the model: the versions of AVI-Bench's Table 13."""
    folder = resources.files("auscult.models.chat") / "profiles"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    read = (_parsed(ChatProfile, file.read_bytes(), Path(file.name)) for file in files)
    return {profile.model: profile for profile in read}


def _names(value: object) -> Iterator[str]:
    """The names of all keys, however deep they are nested."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield str(name)
            yield from _names(part)
    elif isinstance(value, list):
        for part in value:
            yield from _names(part)


def _parsed(kind: type[SettingsKind], content: bytes, path: Path) -> SettingsKind:
    try:
        values = load(content) if path.suffix.lower() == ".json" else tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is no {path.suffix[1:].upper() or 'TOML'}: {str(error)[:100]}", path=path) from error
    return from_json(kind, values, error=UsageError, path=path, exact=True)


MOST_BYTES: Final = 64 << 20
"""Of the media of one request, before they are written as base64."""

_FILE_LIMITS: Final = Limits(max_bytes=MOST_BYTES)
_JPEG_QUALITY: Final = 92
_PICTURES: Final = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"))
_MP3: Final = (b"ID3", *(bytes((0xFF, second)) for second in (0xFB, 0xF3, 0xF2, 0xFA)))
_UNKNOWN_VIDEO: Final = "an MP4, MOV or WebM file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Media(Generic[FileKind_co]):
    """The media of a question."""

    images: Sequence[FileKind_co] = ()
    sounds: Sequence[FileKind_co] = ()
    video: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """A part of a message, and the tokens that it takes at most."""

    body: dict[str, Any]
    tokens: int
    size: int  # bytes of its media


def parts_of(media: Media[File], profile: ChatProfile) -> list[MessagePart]:
    """The media of a question as parts of a message.

    An InputError where a file cannot be read, or the profile takes nothing of its kind; a TooLarge where they are more
    than one request may hold.
    """
    parts: list[MessagePart] = []
    for part in _parts(media, profile):
        parts.append(part)
        if sum(entry.size for entry in parts) > MOST_BYTES:
            raise TooLarge(
                f"the media of one question have more than {MOST_BYTES >> 20} MiB",
                expected="fewer or smaller files",
                hint="longest_side_px, sound_rate_hz and frames of the profile make them smaller",
            )
    return parts


def _parts(media: Media[File], profile: ChatProfile) -> Iterator[MessagePart]:
    sounds = list(media.sounds)
    if media.video is not None and profile.video == "video_url" and profile.hears_video and _has_sound(media.video):
        sounds = sounds[1:]  # the first is the video's own, which is heard already
    if media.images and _is_taken("images", media.images[0], profile):
        yield from (_picture(file, profile) for file in media.images)
    if sounds and _is_taken("sounds", sounds[0], profile):
        yield from (_sound(file, profile) for file in sounds)
    if media.video is not None and _is_taken("video", media.video, profile):
        yield from _video(media.video, profile)


def _is_taken(medium: Medium, file: File, profile: ChatProfile) -> bool:
    if medium in profile.leaves_out:
        return False
    if getattr(profile, medium) == "none":
        raise InputError(
            f"the profile of {profile.model} takes no {medium}",
            expected="a model that takes them, or a cascade with one that describes them",
            hint=f"leaves_out = [{medium!r}] in the profile leaves them out",
            path=_path(file),
        )
    return True


def _path(file: File) -> Path:
    """What errors call a file."""
    return file if isinstance(file, Path) else Path("media in memory")


def _content(file: File) -> bytes:
    return file if isinstance(file, bytes) else read_bytes(file, limits=_FILE_LIMITS)


def _data_url(kind: str, data: bytes) -> Base64:
    return Base64(data, f"data:{kind};base64,")


def _picture(file: File, profile: ChatProfile) -> MessagePart:
    data = _content(file)
    kind = next((kind for head, kind in _PICTURES if data.startswith(head)), "")
    if kind and not profile.longest_side_px:
        return _picture_part(kind, data, profile)
    frame = decode_frame(data, path=_path(file), limits=_FILE_LIMITS)
    smaller = _within(frame, profile.longest_side_px)
    if kind and smaller is frame:
        return _picture_part(kind, data, profile)
    if kind == "jpeg":
        return _picture_part("jpeg", encode_jpeg(smaller, quality=_JPEG_QUALITY), profile)
    return _picture_part("png", encode_png(smaller), profile)


def _picture_part(kind: str, data: bytes, profile: ChatProfile) -> MessagePart:
    url = {"url": _data_url(f"image/{kind}", data)}
    return MessagePart(body={"type": "image_url", "image_url": url}, tokens=profile.tokens.picture, size=len(data))


def _within(frame: Frame, longest_px: int) -> Frame:
    """A frame whose longer side is no longer than that; 0 is no limit."""
    height, width = frame.shape[:2]
    if not longest_px or max(height, width) <= longest_px:
        return frame
    scale = longest_px / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _sound(file: File, profile: ChatProfile) -> MessagePart:
    seconds, kind, data = _sound_file(file, profile)
    tokens = round(seconds * profile.tokens.sound_second) + 1
    url = _data_url(f"audio/{kind}", data)
    if profile.sounds == "audio_url":
        return MessagePart(body={"type": "audio_url", "audio_url": {"url": url}}, tokens=tokens, size=len(data))
    payload = url if profile.sounds == "input_audio_url" else Base64(data)
    return MessagePart(
        body={"type": "input_audio", "input_audio": {"data": payload, "format": kind}}, tokens=tokens, size=len(data)
    )


def _sound_file(file: File, profile: ChatProfile) -> tuple[float, str, bytes]:
    """Seconds, format and bytes of a sound as it is sent."""
    if "mp3" in profile.sound_formats and not profile.sound_rate_hz:
        data = _content(file)
        if data.startswith(_MP3):
            return len(data) * 8 / 32_000, "mp3", data  # 32 kbit/s: the tokens are an upper bound
    sound = decode_wav(file, path=_path(file)) if isinstance(file, bytes) else read_sound(file, limits=_FILE_LIMITS)
    if sound is None:
        raise InputError("a sound in memory cannot be read", expected="a WAV file of PCM", path=_path(file))
    samples, rate_hz = sound.samples, profile.sound_rate_hz or sound.rate_hz
    if rate_hz != sound.rate_hz:
        samples = np.clip(resampled(samples, rate_hz=sound.rate_hz, wanted_hz=rate_hz), -1.0, 1.0)
    return samples.shape[1] / rate_hz, "wav", encode_wav(samples, rate_hz)


def _video(path: Path, profile: ChatProfile) -> Iterator[MessagePart]:
    if profile.video == "frames":
        for frame in video_frames(path, profile.frames):
            data = encode_jpeg(_within(frame, profile.longest_side_px), quality=_JPEG_QUALITY)
            yield _picture_part("jpeg", data, profile)
        return
    data = read_bytes(path, limits=_FILE_LIMITS)
    seconds = probe(path, limits=_FILE_LIMITS).duration_s or 0.0
    url = {"url": _data_url(_kind_of_video(data, path), data)}
    tokens = round(seconds * profile.tokens.video_second) + 1
    yield MessagePart(body={"type": "video_url", "video_url": url}, tokens=tokens, size=len(data))


def video_frames(path: Path, count: int) -> list[Frame]:
    """So many frames evenly over a video, uint8 RGB (H, W, 3), each from the middle of its part, or all it has."""
    total = count_frames(path, limits=_FILE_LIMITS)
    numbers = {int((place + 0.5) * total / count) for place in range(count)}
    frames = [timed.frame for _, timed in frames_numbered(path, numbers, limits=_FILE_LIMITS)]
    if not frames:
        raise InputError("the video has no frame", expected="a whole video", path=path)
    return frames


def _has_sound(path: Path) -> bool:
    return probe(path, limits=_FILE_LIMITS).sound_rate_hz is not None


def _kind_of_video(data: bytes, path: Path) -> str:
    if data[4:8] == b"ftyp":
        return "video/mp4"
    if data.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm"
    raise InputError("the video is of a kind that no endpoint is known to take", expected=_UNKNOWN_VIDEO, path=path)
