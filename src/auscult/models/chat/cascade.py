"""Cascades: models that describe what is heard or seen, and one that answers by their words and by what is left.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias

from auscult.models.chat.encoding import Media
from auscult.models.chat.model import NOTHING, Estimate
from auscult.models.chat.reply_cache import ReplyCache, key_of
from auscult.models.omni import BOXES, CountedText, OmniModel
from auscult.record.digest import digest_json
from auscult.work.chat import Tokens

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
    """A model that describes.

    Attributes:
        model: The model.
        of: What it describes.
        asks: What it is told, by ``sound``, ``picture`` and ``video``; the usual words where one is missing.
    """

    model: NamedModel
    of: tuple[Sense, ...]
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
        self._models = models = [*(one.model for one in self._describers), answerer]
        told = [[one.of, {**_ASKS, **one.asks}] for one in self._describers]
        named = [[model.name, model.revision] for model in models]
        self.revision = digest_json([named, told, _TOLD])[:12]
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
        return CountedText(reply, dict(usage))

    def estimate(
        self, question: str, *, images: Sequence[Path] = (), sounds: Sequence[Path] = (), video: Path | None = None
    ) -> Estimate:
        """What asking would take at most; descriptions that are known, or were estimated before, are not counted."""
        found, words = NOTHING, []
        media = Media(images=images, sounds=sounds, video=video)
        for part in self._to_describe(media):
            estimate = _estimate(part.model, part.ask, part.media)
            words.append("word " * estimate.tokens.received)  # as long as the description may be
            if part.key not in self._kept and part.key not in self._estimated:
                self._estimated.add(part.key)
                found += estimate
        return found + _estimate(self._answerer, _composed(words, question), self._left(media))

    def close(self) -> None:
        """Close all models."""
        for model in self._models:
            close = getattr(model, "close", None)
            if callable(close):
                close()

    def _to_describe(self, media: Media) -> Iterator[_Part]:
        for describer in self._describers:
            if "sound" in describer.of:
                for number, path in enumerate(media.sounds):
                    yield _Part(describer, "sound", label=f"Sound {number}", media=Media(sounds=(path,)))
            if "picture" in describer.of:
                for number, path in enumerate(media.images):
                    yield _Part(describer, "picture", label=f"Picture {number}", media=Media(images=(path,)))
                if media.video is not None:
                    yield _Part(describer, "video", label="Video", media=Media(video=media.video))

    def _left(self, media: Media) -> Media:
        """What nobody describes: the model that answers sees and hears it."""
        done = {sense for describer in self._describers for sense in describer.of}
        return Media(
            images=() if "picture" in done else media.images,
            sounds=() if "sound" in done else media.sounds,
            video=None if "picture" in done else media.video,
        )

    def _asked(self, model: OmniModel, text: str, *, media: Media) -> CountedText:
        with self._turns.get(id(model), nullcontext()):
            found = model.answer(text, images=media.images, sounds=media.sounds, video=media.video)
        return found if isinstance(found, CountedText) else CountedText(found, {})


class _Part:
    """One file that one model describes."""

    def __init__(self, describer: Describer, kind: str, *, label: str, media: Media) -> None:
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


def _estimate(model: object, text: str, media: Media) -> Estimate:
    estimate = getattr(model, "estimate", None)
    if not callable(estimate):
        return Estimate(requests=1, tokens=Tokens(sent=0, received=0), cost=0.0)  # of a model of one's own
    found: Estimate = estimate(text, images=media.images, sounds=media.sounds, video=media.video)
    return found
