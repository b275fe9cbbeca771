"""Chat models as judges, by name: ``chat:NAME``, ``chat:A+B``, ``chat:hf:FOLDER``.

Every request and its reply stand in ``reply_cache.jsonl`` of the record as soon as the reply is there, with the text
that was sent and what it cost: what was paid for is not asked again, whatever ended the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from auscult import registry
from auscult.errors import UsageError
from auscult.judge.masks.chat import CLIP_FRAMES, SCHEMA, AnsweringModel, ChatJudge, JudgeModel, question
from auscult.media.paths import safe_name
from auscult.models.chat.loading import CHAT, ChatHow, named_chat
from auscult.models.chat.model import ReplyCache, key_of
from auscult.models.omni import OmniModel, Unreachable, WeightedOmniModel
from auscult.models.omni_spec import omni_spec
from auscult.record.digest import digest_json
from auscult.work.chat import BudgetSpent

LOCAL: Final = "hf:"
_LOCAL_MODEL: Final = "hf.qwen_omni.v1"
_LEAST_TEMPERATURE: Final = 0.7
"""Of models that are asked several times: at 0 all replies would be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChat:
    """The models that a judge's name stands for, each as often as it is asked."""

    name: str
    revision: str
    connections: int  # threads that ask at once; 0 for worker processes
    open: Callable[[], ChatJudge]


def find_chat(given: str, how: ChatHow, *, samples: int, kept: Callable[[], ReplyCache]) -> FoundChat:
    """The judge ``chat:...``; nothing is asked, and no weights are loaded.

    Args:
        given: The value of ``--judge``.
        how: How models behind endpoints are asked.
        samples: Replies of each model to one mask.
        kept: Gives the replies of the record, when the judge is opened.

    Raises:
        UsageError: A name is missing or stands there twice, or a model cannot be asked, as
            ``models.chat.model.chat_model`` says, or takes no pictures.
    """
    rest = given.removeprefix(CHAT)
    names = [rest] if rest.startswith(LOCAL) and Path(rest.removeprefix(LOCAL)).is_dir() else rest.split("+")
    names = [name.strip() for name in names]
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"{given[:80]!r} does not name each of its models once",
            expected="chat:NAME, or chat:A+B for two models",
            hint="several replies of one model are --samples K",
        )
    models = [model for name in names for model in _of_name(name, how, samples)]
    local = [model.connections == 0 for model in models]
    sent = question(None, frames=CLIP_FRAMES, heard=True)
    distinct = list(dict.fromkeys(model.name.removeprefix("chat.") for model in models))
    name = f"chat.{'+'.join(distinct)}"
    return FoundChat(
        name=name,
        revision=digest_json([sent, [[model.name, model.revision] for model in models]])[:12],
        connections=(0 if all(local) else 1) if any(local) else min(model.connections for model in models),
        open=lambda: ChatJudge([model.asked(number, kept()) for number, model in enumerate(models)], name=name),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """One reply of a model."""

    name: str
    revision: str
    connections: int
    open: Callable[[], JudgeModel]

    def asked(self, number: int, kept: ReplyCache) -> JudgeModel:
        opened = self.open()
        model = _Kept(opened.model, name=self.name, revision=f"{self.revision}#{number}", kept=kept)
        return replace(opened, model=model)


def _of_name(name: str, how: ChatHow, samples: int) -> Sequence[_Model]:
    if name.startswith(LOCAL):
        return [_local(name, samples)]
    least = _LEAST_TEMPERATURE if samples > 1 else 0.0
    return [_behind_endpoint(name, how, number=number, least_temperature=least) for number in range(samples)]


def _local(name: str, samples: int) -> _Model:
    if samples > 1:
        raise UsageError(
            "a model that runs here gives its likeliest reply, the same each time",
            expected="--samples 1, or a model behind an endpoint",
        )
    folder = name.removeprefix(LOCAL)
    spec = omni_spec(f"{_LOCAL_MODEL}@{folder}") if Path(folder).is_dir() else None
    if spec is None or spec.weights is None:
        raise UsageError(f"{folder[:80]!r}: there is no such folder of weights", expected="chat:hf:FOLDER")
    weights, full_name = spec.weights, f"chat.hf.{safe_name(spec.weights.name)}"

    def load() -> JudgeModel:
        entry = registry.find("model", _LOCAL_MODEL).load()
        if not isinstance(entry, WeightedOmniModel):
            raise UsageError(f"{_LOCAL_MODEL} runs no weights", expected="an installation as it was released")
        model = _OnFiles(entry.using(weights))
        return JudgeModel(name=full_name, model=model, hears=model.hears)

    return _Model(name=full_name, revision=spec.revision, connections=0, open=load)


def _behind_endpoint(name: str, how: ChatHow, *, number: int, least_temperature: float) -> _Model:
    asking = replace(how.asking(), seed=how.seed + number, schema=SCHEMA, least_temperature=least_temperature)
    model = named_chat(name, profile=how.profile, asking=asking)
    profile = model.profile
    if profile.images == "none" or "images" in profile.leaves_out:
        raise UsageError(f"{profile.model[:80]} takes no pictures", expected="a model that sees the mask")
    judge_model = JudgeModel(
        name=model.name,
        model=model,
        hears=profile.sounds != "none" and "sounds" not in profile.leaves_out,
        frames=0 if profile.video == "none" or "video" in profile.leaves_out else profile.frames,
        as_json=profile.json != "none",
    )
    return _Model(name=model.name, revision=model.revision, connections=model.connections, open=lambda: judge_model)


class _OnFiles:
    """A model that takes files, asked about pictures and sounds in memory."""

    def __init__(self, model: OmniModel) -> None:
        self._model, self.hears = model, bool(getattr(model, "hears", False))

    def answer(self, question: str, *, images: Sequence[bytes], sounds: Sequence[bytes]) -> str:
        """The reply of the model."""
        with TemporaryDirectory(prefix="auscult-ask-") as folder:
            files = [Path(folder, f"{number}") for number in range(len(images) + len(sounds))]
            for file, content in zip(files, (*images, *sounds), strict=True):
                file.write_bytes(content)
            return self._model.answer(question, images=files[: len(images)], sounds=files[len(images) :], video=None)

    def close(self) -> None:
        """Release the model."""
        if callable(close := getattr(self._model, "close", None)):
            close()


class _Kept:
    """A model whose replies are kept, and asked for once."""

    def __init__(self, model: AnsweringModel, *, name: str, revision: str, kept: ReplyCache) -> None:
        self._model, self._name, self._revision, self._kept = model, name, revision, kept

    def answer(self, question: str, *, images: Sequence[bytes], sounds: Sequence[bytes]) -> str:
        """The reply of the model, or of an earlier command of the run."""
        key = key_of(self._name, self._revision, text=question, media=(*images, *sounds))
        ask = partial(self._model.answer, question, images=images, sounds=sounds)
        try:
            return self._kept.reply(key, ask, model=self._name, sent=question)
        except Unreachable as error:
            if isinstance(error.__cause__, BudgetSpent):
                raise error.__cause__ from None
            raise

    def close(self) -> None:
        """Release the model."""
        if callable(close := getattr(self._model, "close", None)):
            close()
