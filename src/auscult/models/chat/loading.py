"""From ``chat:NAME`` and ``cascade:FILE`` to a model: profiles, keys, budget, and the models of a cascade."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from auscult.errors import AuscultError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes, safe_name
from auscult.models.chat.cascade import Cascade, Describer, NamedModel, Sense
from auscult.models.chat.kept import KeptReplies
from auscult.models.chat.model import Asking, ChatModel, chat_model
from auscult.models.chat.profile import read_profile
from auscult.record.codec import Word, from_json, load

CHAT: Final = "chat:"
CASCADE: Final = "cascade:"
_LIMITS: Final = Limits(max_bytes=200_000)
_EXPECTED: Final = "[[describe]] once or twice and [answer], each with a model; docs/chat.md has an example"

OtherModel: TypeAlias = Callable[[str], NamedModel]
"""Loads a model that is neither ``chat:`` nor ``cascade:``, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """A model of a cascade's file; paths are relative to the file."""

    model: Word
    profile: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Describing(_Stage):
    of: Annotated[tuple[Sense, ...], Meta(min_length=1, max_length=2)]
    asks: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        strange = sorted(self.asks.keys() - {"sound", "picture", "video"})
        if strange:
            raise ValueError(f"asks has {strange[0][:40]!r}, which is none of sound, picture, video")


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeFile:
    """A cascade as it is written down."""

    answer: _Stage
    describe: Annotated[tuple[_Describing, ...], Meta(min_length=1, max_length=2)]
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse two models that describe the same."""
        every = [sense for one in self.describe for sense in one.of]
        if len(every) != len(set(every)):
            raise ValueError("one sense is described twice")


def named_chat(name: str, *, profile: Path | None, asking: Asking) -> ChatModel:
    """The model ``chat:NAME``; with a profile, NAME may be left out."""
    found = None if profile is None else read_profile(profile)
    return chat_model(name.removeprefix(CHAT), profile=found, asking=asking)


def cascade_of(path: Path, *, asking: Asking, kept: KeptReplies | None = None, other: OtherModel) -> Cascade:
    """The cascade of a file.

    Raises:
        UsageError: The file cannot be read, or one of its models cannot be asked.
    """
    file = _read(path)
    models = [_model(stage, path.parent, asking=asking, other=other) for stage in (*file.describe, file.answer)]
    *describing, answerer = models
    describers = [
        Describer(model=model, of=one.of, asks=one.asks) for one, model in zip(file.describe, describing, strict=True)
    ]
    return Cascade(f"cascade.{safe_name(file.name or path.stem)}", describers, answerer, kept=kept)


def _model(stage: _Stage, home: Path, *, asking: Asking, other: OtherModel) -> NamedModel:
    if not stage.model.startswith(CHAT):
        return other(stage.model)
    own = Asking(
        base_url=stage.base_url or asking.base_url,
        connections=asking.connections,
        seed=asking.seed,
        spending=asking.spending,
        sends=asking.sends,
    )
    return named_chat(stage.model, profile=home / stage.profile if stage.profile else None, asking=own)


def _read(path: Path) -> CascadeFile:
    try:
        content = read_bytes(path, limits=_LIMITS)
        found = load(content) if path.suffix.lower() == ".json" else tomllib.loads(content.decode("utf-8"))
        return from_json(CascadeFile, found, error=UsageError, path=path, exact=True)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the cascade cannot be read: {str(error)[:100]}", path=path, expected=_EXPECTED) from error
    except AuscultError as error:
        raise UsageError(
            f"the cascade cannot be read: {error.message}",
            path=path,
            expected=error.expected or _EXPECTED,
            hint=error.hint,
        ) from error
