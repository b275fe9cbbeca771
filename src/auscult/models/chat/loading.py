"""From ``chat:NAME`` and ``cascade:FILE`` to a model: profiles, keys, budget, and the models of a cascade.

Cascades: models that describe what is heard or seen, and one that answers by their words and by what is left.

AVI-Bench F.1 has an audio model describe and a model that sees frames answer; D.3 has an audio model and an image
model describe, and a text model answer. Any two or three models will do::

    name = "gpt-4o with ears"

    [[describe]]
    of = ["sound"]
    model = "chat:gpt-4o-audio-preview-2024-12-17"

    [answer]
    model = "chat:gpt-4o-2024-08-06"

Every file is described alone and without the question, so once in a run. What was described is not shown to the model
that answers. A description that fails costs the question.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias

from msgspec import Meta

from auscult.errors import UsageError
from auscult.media.paths import safe_name
from auscult.models.chat.model import NOTHING, REPLY_CACHE, Asking, ChatModel, Estimate, ReplyCache, chat_model, key_of
from auscult.models.chat.profile import PROFILE_FILES, Media, read_profile, read_settings
from auscult.models.omni import BOXES, CountedText, OmniModel
from auscult.record.codec import Word
from auscult.record.digest import digest_json
from auscult.record.lines import read_lines
from auscult.work.chat import Spending, Tokens

Sense: TypeAlias = Literal["sound", "picture"]

_ASKS: Final[Mapping[str, str]] = {
    "sound": "Describe everything that is heard, in order: which things make a sound, how many of each, how loud, how "
    "clear and how long, and any speech or music. Only what is heard.",
    "picture": "Describe everything that is seen: which things, how many of each, where, their colours, shapes and "
    "sizes, and the background. Only what is seen.",
    "video": "Describe everything that is seen, in order of time: which things, how many of each, where, their colours "
    "and shapes, how they move and what happens. Only what is seen.",
}
_TOLD: Final = "Another model has described what is shown and heard:"
_NOTHING: Final = "(nothing)"


class NamedModel(OmniModel, Protocol):
    """An omni model with a name and a revision."""

    name: str
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Describer:
    """A model that describes."""

    model: NamedModel
    of: tuple[Sense, ...]  # what it describes
    # what it is told, by ``sound``, ``picture`` and ``video``; the usual words where one is missing
    asks: Mapping[str, str] = field(default_factory=dict)


class Cascade:
    """One or two models that describe and one that answers, itself an omni model; safe to ask from threads.

    A model without ``connections`` is asked by one thread at a time.
    """

    def __init__(
        self, name: str, describers: Sequence[Describer], answerer: NamedModel, *, kept: ReplyCache | None = None
    ) -> None:
        self.name, self._describers, self._answerer = name, tuple(describers), answerer
        self._kept = kept if kept is not None else ReplyCache()
        self._estimated: set[str] = set()
        self._models = models = [*(describer.model for describer in self._describers), answerer]
        describing = [[describer.of, {**_ASKS, **describer.asks}] for describer in self._describers]
        model_ids = [[model.name, model.revision] for model in models]
        self.revision = digest_json([model_ids, describing, _TOLD])[:12]
        self.connections = max(int(getattr(model, "connections", 0)) or 1 for model in models)
        self.boxes = str(getattr(answerer, "boxes", BOXES))
        self._turns = {id(model): threading.Lock() for model in models if not getattr(model, "connections", 0)}

    def answer(
        self, question: str, *, images: Sequence[Path] = (), sounds: Sequence[Path] = (), video: Path | None = None
    ) -> CountedText:
        """The answer, with what it cost; what descriptions took that were not known yet is under ``described_...``."""
        usage: Counter[str] = Counter()
        words: list[str] = []
        media = Media(images=images, sounds=sounds, video=video)
        for part in self._to_describe(media):
            text = self._kept.reply(
                part.key, partial(self._asked, part.model, part.ask, media=part.media), **part.about
            )
            usage.update({f"described_{name}": number for name, number in text.usage.items()})
            words.append(f"{part.label}: {' '.join(text.split()) or _NOTHING}")
        reply = self._asked(self._answerer, _composed(words, question), media=self._left(media))
        usage.update(reply.usage)
        return CountedText(reply, dict(usage), served=reply.served)

    def estimate(
        self, question: str, *, images: Sequence[Path] = (), sounds: Sequence[Path] = (), video: Path | None = None
    ) -> Estimate:
        """What asking would take at most; descriptions that are known, or were estimated before, are not counted."""
        total, words = NOTHING, []
        media = Media(images=images, sounds=sounds, video=video)
        for part in self._to_describe(media):
            estimate = _estimate(part.model, part.ask, part.media)
            words.append("word " * estimate.tokens.received)  # as long as the description may be
            if part.key not in self._kept and part.key not in self._estimated:
                self._estimated.add(part.key)
                total += estimate
        return total + _estimate(self._answerer, _composed(words, question), self._left(media))

    def close(self) -> None:
        """Close all models."""
        for model in self._models:
            close = getattr(model, "close", None)
            if callable(close):
                close()

    def _to_describe(self, media: Media[Path]) -> Iterator[_CascadePart]:
        for describer in self._describers:
            if "sound" in describer.of:
                for number, path in enumerate(media.sounds):
                    yield _CascadePart(describer, "sound", label=f"Sound {number}", media=Media(sounds=(path,)))
            if "picture" in describer.of:
                for number, path in enumerate(media.images):
                    yield _CascadePart(describer, "picture", label=f"Picture {number}", media=Media(images=(path,)))
                if media.video is not None:
                    yield _CascadePart(describer, "video", label="Video", media=Media(video=media.video))

    def _left(self, media: Media[Path]) -> Media[Path]:
        """What nobody describes: the model that answers sees and hears it."""
        done = {sense for describer in self._describers for sense in describer.of}
        return Media(
            images=() if "picture" in done else media.images,
            sounds=() if "sound" in done else media.sounds,
            video=None if "picture" in done else media.video,
        )

    def _asked(self, model: OmniModel, text: str, *, media: Media[Path]) -> CountedText:
        with self._turns.get(id(model), nullcontext()):
            reply = model.answer(text, images=media.images, sounds=media.sounds, video=media.video)
        return reply if isinstance(reply, CountedText) else CountedText(reply, {})


class _CascadePart:
    """One file that one model describes."""

    def __init__(self, describer: Describer, kind: str, *, label: str, media: Media[Path]) -> None:
        self.model, self.label, self.media = describer.model, label, media
        self.ask = describer.asks.get(kind) or _ASKS[kind]
        self._kind = kind

    @property
    def key(self) -> str:
        """Under which its description is kept."""
        paths = (*self.media.images, *self.media.sounds, *filter(None, (self.media.video,)))
        return key_of(self.model.name, self.model.revision, text=self.ask, media=paths)

    @property
    def about(self) -> dict[str, str]:
        """What stands beside its description."""
        return {"model": self.model.name, "of": self._kind, "sent": self.ask}


def _composed(words: Sequence[str], question: str) -> str:
    """The text that the last model is sent."""
    return "\n".join((_TOLD, *words, "", question)) if words else question


def _estimate(model: object, text: str, media: Media[Path]) -> Estimate:
    estimate = getattr(model, "estimate", None)
    if not callable(estimate):
        return Estimate(requests=1, tokens=Tokens(sent=0, received=0), cost=0.0)  # of a model of one's own
    result: Estimate = estimate(text, images=media.images, sounds=media.sounds, video=media.video)
    return result


CHAT: Final = "chat:"
CASCADE: Final = "cascade:"
_EXPECTED: Final = "[[describe]] once or twice and [answer], each with a model; docs/chat.md has an example"

OtherModel: TypeAlias = Callable[[str], NamedModel]
"""Loads a model that is neither ``chat:`` nor ``cascade:``, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHow:
    """How the models of a run that are behind endpoints are asked."""

    base_url: str = ""  # goes before that of profiles
    profile: Path | None = None  # a file, for the model that it names, or a folder of them
    connections: int = 8  # requests under way at once
    seed: int = 42  # sent with each request
    budget: float | None = None  # USD for the whole run, what earlier commands spent included; None without a limit
    folder: Path | None = None  # of the run: what was spent is read there, and descriptions are kept there
    replies: str = ""  # name of the file with the run's replies
    sends: bool = True  # False for a dry run
    spending: Spending = field(init=False, repr=False, compare=False)  # what is spent: one for all models of the run

    @classmethod
    def of(cls, options: Any, **more: Any) -> ChatHow:
        """As the options of a command have it (``jobs.options.ChatOptions``); ``more`` are the other attributes."""
        settings = {"base_url": options.base_url, "profile": options.profile, "connections": options.max_connections}
        return cls(**settings, budget=options.budget, **more)

    def __post_init__(self) -> None:
        """Make the budget; what earlier commands spent is read when it is needed."""
        spending = Spending(budget=self.budget if self.sends else None, earlier=self._earlier)
        object.__setattr__(self, "spending", spending)

    def asking(self) -> Asking:
        """The same as one model takes it."""
        same = ("base_url", "connections", "seed", "spending", "sends")
        return Asking(**{name: getattr(self, name) for name in same})

    def kept(self) -> ReplyCache:
        """What the run has asked before, beside its questions."""
        return ReplyCache(None if self.folder is None else self.folder / REPLY_CACHE)

    def _earlier(self) -> float:
        names = [name for name in (self.replies, REPLY_CACHE) if name]
        return 0.0 if self.folder is None else sum(_costs([self.folder / name for name in names]))


def _costs(files: Sequence[Path]) -> Iterator[float]:
    """What each reply of a run has cost."""
    for file in files:
        for row in read_lines(file):
            usage = row.get("usage")
            cost = usage.get("cost") if isinstance(usage, dict) else None
            if isinstance(cost, int | float):
                yield cost


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
        senses = [sense for stage in self.describe for sense in stage.of]
        if len(senses) != len(set(senses)):
            raise ValueError("one sense is described twice")


def named_chat(name: str, *, profile: Path | None, asking: Asking) -> ChatModel:
    """The model ``chat:NAME``; with a profile, NAME may be left out."""
    model = name.removeprefix(CHAT)
    if profile is not None and profile.is_dir():
        files = sorted(file for file in profile.iterdir() if file.suffix.lower() in PROFILE_FILES)
        profiles = {entry.model: entry for entry in map(read_profile, files)}
        return chat_model(model, profile=profiles.get(model), asking=asking)
    chosen = None if profile is None else read_profile(profile)
    return chat_model(model, profile=chosen, asking=asking)


def cascade_of(path: Path, *, asking: Asking, kept: ReplyCache | None = None, other: OtherModel) -> Cascade:
    """The cascade of a file.

    Raises:
        UsageError: The file cannot be read, or one of its models cannot be asked.
    """
    file = read_settings(CascadeFile, path, what="cascade", expected=_EXPECTED)
    models = [_model(stage, path.parent, asking=asking, other=other) for stage in (*file.describe, file.answer)]
    *describing, answerer = models
    describers = [
        Describer(model=model, of=stage.of, asks=stage.asks)
        for stage, model in zip(file.describe, describing, strict=True)
    ]
    return Cascade(f"cascade.{safe_name(file.name or path.stem)}", describers, answerer, kept=kept)


def _model(stage: _Stage, home: Path, *, asking: Asking, other: OtherModel) -> NamedModel:
    if stage.model.startswith(CASCADE):
        raise UsageError(f"{stage.model[:80]!r} stands in a cascade", expected="models that are no cascade themselves")
    if not stage.model.startswith(CHAT):
        return other(stage.model)
    profile = home / stage.profile if stage.profile else None
    return named_chat(stage.model, profile=profile, asking=replace(asking, base_url=stage.base_url or asking.base_url))
