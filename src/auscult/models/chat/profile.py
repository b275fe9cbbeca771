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
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Meta

from auscult.errors import AuscultError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.record.codec import Count, Word, from_json, load
from auscult.record.digest import digest_json

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
    """What a model takes and how.

    Attributes:
        model: Its name, as the endpoint knows it.
        base_url: Up to and without ``/chat/completions``; empty where the command gives it.
        key: The environment variable that holds the key for ``base_url``; empty where none is needed.
        revision: What is served there, where the name does not say it: replies are kept apart by it. Without it they
            are kept apart by the base URL.
        system: The first message; none where it is empty.
        images: Whether pictures can be sent.
        sounds: How sounds are sent: ``input_audio`` as base64, ``input_audio_url`` the same as a data URL,
            ``audio_url`` as vLLM takes them, or not at all.
        video: How a video is sent: as a file, as frames, or not at all. Its sound is sent as a sound.
        leaves_out: Media that are not sent where a question has them. Without it such a question is a failed request,
            since an answer about what was not sent says nothing.
        hears_video: With a video as a file: its soundtrack is heard, so it is not sent again as a sound.
        frames: How many frames of a video, evenly over it.
        longest_side_px: Larger pictures and frames are made smaller; 0 sends pictures as they are.
        sound_rate_hz: The rate of all sounds; 0 sends each at its own.
        sound_formats: ``wav`` always; with ``mp3`` such files are sent as they are.
        boxes: How the model gives boxes, order and unit: ``xyxy``, ``yxyx`` or ``xywh``; ``share`` of width and height,
            ``thousandths`` of them, or ``pixels``.
        temperature: 0 for the likeliest reply; null leaves it to the endpoint.
        seeded: Whether a seed is sent.
        max_tokens: Of a reply.
        limit_name: What the endpoint calls that limit; budgets hold where the endpoint obeys it.
        stream: Ask for the reply in pieces, as some endpoints demand.
        json: How the endpoint enforces JSON where an answer has a schema: by the schema, as any object, or not at all.
        extra: Further keys of the request; none that is called like a key or a header of HTTP.
        timeout_s: For one try.
        tries: How often a request is sent at most.
        price: For cost and budget; null where it is not known.
        tokens: For their estimates.
    """

    model: Word
    base_url: str = ""
    key: str = ""
    revision: str = ""
    system: str = "You answer questions about what you see and hear."
    images: Literal["image_url", "none"] = "image_url"
    sounds: Literal["input_audio", "input_audio_url", "audio_url", "none"] = "input_audio"
    video: Literal["video_url", "frames", "none"] = "frames"
    leaves_out: tuple[Medium, ...] = ()
    hears_video: bool = False
    frames: Annotated[int, Meta(ge=1, le=256)] = 16
    longest_side_px: Annotated[int, Meta(ge=0, le=16384)] = 0
    sound_rate_hz: Annotated[int, Meta(ge=0, le=192_000)] = 0
    sound_formats: tuple[Literal["wav", "mp3"], ...] = ("wav",)
    boxes: Annotated[str, Meta(pattern=r"^(xyxy|yxyx|xywh) (share|thousandths|pixels)$")] = "xyxy share"
    temperature: Annotated[float, Meta(ge=0.0, le=2.0)] | None = 0.0
    seeded: bool = True
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = False
    json: Literal["schema", "object", "none"] = "none"
    extra: dict[str, Any] = field(default_factory=dict)
    timeout_s: Annotated[float, Meta(ge=0.1, le=3600.0)] = 120.0
    tries: Annotated[int, Meta(ge=1, le=20)] = 5
    price: PriceOf | None = None
    tokens: TokensOf = field(default_factory=TokensOf)

    def __post_init__(self) -> None:
        """Refuse a key where its variable is asked for, and what would change what the profile itself says."""
        if not _VARIABLE.fullmatch(self.key):  # it may be a key, so it is not shown
            raise ValueError("key is not the name of an environment variable, which is in capital letters")
        own = sorted(self.extra.keys() & (_OWN | {"max_tokens", "max_completion_tokens"}))
        if own:
            raise ValueError(f"extra holds {own[0]!r}, which the profile or the run decides")
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
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _APART}
        return digest_json([_FORMAT, own, self.revision or base_url.rstrip("/"), seed if self.seeded else None])[:12]


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
    known = shipped_profiles()
    return known.get(name) or ChatProfile(model=name)


def shipped_profiles() -> Mapping[str, ChatProfile]:
    """The profiles that come with auscult, by the name of the model: the versions of AVI-Bench's Table 13."""
    folder = resources.files("auscult.models.chat") / "profiles"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    read = (_parsed(ChatProfile, file.read_bytes(), Path(file.name)) for file in files)
    return {profile.model: profile for profile in read}


def _names(value: object) -> Iterator[str]:
    """The names of all keys, however deep they are nested."""
    if isinstance(value, Mapping):
        for name, held in value.items():
            yield str(name)
            yield from _names(held)
    elif isinstance(value, list):
        for held in value:
            yield from _names(held)


def _parsed(kind: type[SettingsKind], content: bytes, path: Path) -> SettingsKind:
    try:
        found = load(content) if path.suffix.lower() == ".json" else tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is no {path.suffix[1:].upper() or 'TOML'}: {str(error)[:100]}", path=path) from error
    return from_json(kind, found, error=UsageError, path=path, exact=True)
