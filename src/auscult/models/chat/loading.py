"""From ``chat:NAME`` and ``cascade:FILE`` to a model: profiles, keys, budget, and the models of a cascade."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from auscult.errors import UsageError
from auscult.media.paths import safe_name
from auscult.models.chat.cascade import Cascade, Describer, NamedModel, Sense
from auscult.models.chat.model import Asking, ChatModel, chat_model
from auscult.models.chat.profile import PROFILE_FILES, read_profile, read_settings
from auscult.models.chat.reply_cache import FILE as KEPT
from auscult.models.chat.reply_cache import ReplyCache
from auscult.record.codec import Word
from auscult.record.lines import read_lines
from auscult.work.chat import Spending

CHAT: Final = "chat:"
CASCADE: Final = "cascade:"
_EXPECTED: Final = "[[describe]] once or twice and [answer], each with a model; docs/chat.md has an example"

OtherModel: TypeAlias = Callable[[str], NamedModel]
"""Loads a model that is neither ``chat:`` nor ``cascade:``, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHow:
    """How the models of a run that are behind endpoints are asked.

    Attributes:
        base_url: Goes before that of profiles.
        profile: A file, for the model that it names, or a folder of them.
        connections: Requests under way at once.
        seed: Sent with each request.
        budget: USD for the whole run, what earlier commands spent included; None without a limit.
        folder: Of the run: what was spent is read there, and descriptions are kept there.
        replies: Name of the file with the run's replies.
        sends: False for a dry run.
        spending: What is spent: one for all models of the run.
    """

    base_url: str = ""
    profile: Path | None = None
    connections: int = 8
    seed: int = 42
    budget: float | None = None
    folder: Path | None = None
    replies: str = ""
    sends: bool = True
    spending: Spending = field(init=False, repr=False, compare=False)

    @classmethod
    def of(cls, options: Any, **more: Any) -> ChatHow:
        """As the options of a command have it (``jobs.options.ChatOptions``); ``more`` are the other attributes."""
        asked = {"base_url": options.base_url, "profile": options.profile, "connections": options.max_connections}
        return cls(**asked, budget=options.budget, **more)

    def __post_init__(self) -> None:
        """Make the budget; what earlier commands spent is read when it is needed."""
        spending = Spending(budget=self.budget if self.sends else None, earlier=self._earlier)
        object.__setattr__(self, "spending", spending)

    def asking(self) -> Asking:
        """The same as one model takes it."""
        return Asking(
            base_url=self.base_url,
            connections=self.connections,
            seed=self.seed,
            spending=self.spending,
            sends=self.sends,
        )

    def kept(self) -> ReplyCache:
        """What the run has asked before, beside its questions."""
        return ReplyCache(None if self.folder is None else self.folder / KEPT)

    def _earlier(self) -> float:
        names = [name for name in (self.replies, KEPT) if name]
        return 0.0 if self.folder is None else sum(_costs([self.folder / name for name in names]))


def _costs(files: Sequence[Path]) -> Iterator[float]:
    """What each reply of a run has cost."""
    for file in files:
        for row in read_lines(file):
            usage = row.get("usage")
            cost = usage.get("cost") if isinstance(usage, dict) else None
            if isinstance(cost, int | float):
                yield cost


def is_endpoint(text: str) -> bool:
    """Whether a model's name is that of one behind an endpoint, or of a cascade."""
    return text.startswith((CHAT, CASCADE))


def endpoint_model(text: str, how: ChatHow, *, other: OtherModel) -> ChatModel | Cascade:
    """The model ``chat:NAME`` or ``cascade:FILE``.

    Raises:
        UsageError: It cannot be asked: no address, no key, a wrong profile, no budget for it.
    """
    if text.startswith(CASCADE):
        return cascade_of(Path(text.removeprefix(CASCADE)), asking=how.asking(), kept=how.kept(), other=other)
    return named_chat(text, profile=how.profile, asking=how.asking())


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
    wanted = name.removeprefix(CHAT)
    if profile is not None and profile.is_dir():
        files = sorted(file for file in profile.iterdir() if file.suffix.lower() in PROFILE_FILES)
        known = {one.model: one for one in map(read_profile, files)}
        return chat_model(wanted, profile=known.get(wanted), asking=asking)
    found = None if profile is None else read_profile(profile)
    return chat_model(wanted, profile=found, asking=asking)


def cascade_of(path: Path, *, asking: Asking, kept: ReplyCache | None = None, other: OtherModel) -> Cascade:
    """The cascade of a file.

    Raises:
        UsageError: The file cannot be read, or one of its models cannot be asked.
    """
    file = read_settings(CascadeFile, path, what="cascade", expected=_EXPECTED)
    models = [_model(stage, path.parent, asking=asking, other=other) for stage in (*file.describe, file.answer)]
    *describing, answerer = models
    describers = [
        Describer(model=model, of=one.of, asks=one.asks) for one, model in zip(file.describe, describing, strict=True)
    ]
    return Cascade(f"cascade.{safe_name(file.name or path.stem)}", describers, answerer, kept=kept)


def _model(stage: _Stage, home: Path, *, asking: Asking, other: OtherModel) -> NamedModel:
    if stage.model.startswith(CASCADE):
        raise UsageError(f"{stage.model[:80]!r} stands in a cascade", expected="models that are no cascade themselves")
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
