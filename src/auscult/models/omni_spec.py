"""From what a person writes after ``--model`` to a loaded omni model.

============================== ======================================================================================
``reference.ideal``, ``ideal`` a registered model; ``NAME:ARGUMENT`` one that takes an argument, as ``noisy:0.8``
``FILE.py:NAME``               a function ``answer(question, *, images, sounds, video) -> str``, or an object or class
                               with a method of that name; ``package.module:NAME`` likewise
``command:PROGRAM ...``        a program that reads and writes lines of JSON; ``cmd:`` for short
``predictions:DIR``            replies that were given elsewhere, in the release's form
``human:DIR``                  the same, of a person who is called like the folder
``chat:NAME``                  a model behind an OpenAI-compatible endpoint
``cascade:FILE``               models that describe what another answers about
============================== ======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from auscult import registry
from auscult.errors import UnknownName, UsageError
from auscult.media.paths import safe_name
from auscult.models.adapters import COMMAND, PREDICTIONS, WEIGHTED, ModelSpec, plain_spec, revision_of
from auscult.models.omni import (
    CountedText,
    OmniModel,
    OmniPredictor,
    OmniRequest,
    RequestAnswerer,
    WeightedOmniModel,
)
from auscult.record.digest import digest_json

if TYPE_CHECKING:
    from auscult.models.chat.loading import ChatHow

ENDPOINTS: Final = ("chat:", "cascade:")
CMD: Final = "cmd:"
HUMAN: Final = "human:"
_FORMS: Final = (
    "a model of `auscult list model`, NAME@WEIGHTS, FILE.py:NAME, module:NAME, command:PROGRAM ..., predictions:DIR, "
    "chat:NAME or cascade:FILE"
)
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniSpec(ModelSpec):
    """An omni model that was asked for, before anything of it is loaded; goes to worker processes."""

    argument: str = ""  # what stands behind a registered model's name
    boxes: str = ""  # how it gives boxes; empty where it does not say
    connections: int = 0  # threads that ask it at once; 0 for worker processes
    how: ChatHow | None = None  # how one behind an endpoint is asked

    @property
    def foreign(self) -> bool:
        """Whether it is Python code of the user's or of a plug-in, which may take what it likes."""
        return self.kind == "callable" or (
            self.kind == "registered" and registry.find("model", self.target).package != "auscult"
        )

    def open(self, *, apart: OpenApart | None = None) -> OmniPredictor:
        """Load it into this process; the foreign models of a cascade by ``apart``, where that is given."""
        from auscult.models.adapters import omni  # adapters are loaded when they are needed

        if self.kind == "predictions":
            return omni.StoredReplies(Path(self.target))
        if self.kind == "command":
            return omni.AnsweringProgram(self.target)
        if self.kind == "callable":
            return omni.Answering.of_function(self.target, self.function)
        if self.how is not None:
            return omni.Answering(_behind_endpoint(self.target, self.how, apart))
        return self._of_registry()

    def _of_registry(self) -> OmniPredictor:
        from auscult.models.adapters import omni

        model = registry.find("model", self.target).load()
        if isinstance(model, RequestAnswerer):
            return omni.Referenced(model, self.argument)
        if isinstance(model, WeightedOmniModel) and self.weights is not None:
            return omni.Answering(model.using(self.weights))
        return omni.Answering(model)


OpenApart: TypeAlias = Callable[[OmniSpec], OmniPredictor]
"""Loads a model into a process of its own."""


def omni_spec(given: str, *, how: ChatHow | None = None) -> OmniSpec:
    """Parse the name of an omni model; nothing of the model is loaded but its registration.

    ``how`` says how models behind endpoints are asked.
    """
    text = given.strip()
    if text.startswith(ENDPOINTS):
        return _endpoint(text, how)
    if WEIGHTED.match(text):
        return _weighted(text)
    if text.startswith(HUMAN):
        spec = plain_spec(PREDICTIONS + text.removeprefix(HUMAN))
        return _extended(replace(spec, given=text, name=HUMAN + Path(spec.target).name), connections=1)
    registered = _registered(text)
    if registered is not None:
        return registered
    if text.startswith(CMD):
        text = COMMAND + text.removeprefix(CMD)
    if ":" not in text:
        _refuse(text)
    spec = plain_spec(text)
    return _extended(spec, connections=1 if spec.kind == "predictions" else 0)


def omni_models(names: Iterable[str], *, how: ChatHow | None = None) -> tuple[OmniSpec, ...]:
    """What ``--model`` names, each once."""
    by_key: dict[tuple[str, ...], OmniSpec] = {}
    for name in names:
        spec = omni_spec(name, how=how)
        by_key.setdefault((spec.kind, spec.target, spec.function, spec.argument, spec.revision), spec)
    return tuple(by_key.values())


class _OfCascade:
    """A model of a cascade that is not behind an endpoint, its files relative to ``home``: loaded when it is asked."""

    def __init__(self, name: str, *, home: Path, seed: int, apart: OpenApart | None = None) -> None:
        spec = None if name.strip().startswith((PREDICTIONS, HUMAN)) else omni_spec(_relative_to(name.strip(), home))
        if spec is None or _is_reference(spec):
            raise UsageError(
                f"{name[:80]!r} cannot stand in a cascade",
                expected="a model that answers any question",
                hint="references and stored replies answer questions of a benchmark alone",
            )
        self._spec, self._opening, self._seed = spec, Lock(), seed
        self._open = apart if apart is not None and spec.foreign else OmniSpec.open
        self._opened: OmniPredictor | None = None
        self.name, self.revision, self.connections = self._spec.name, self._spec.revision, self._spec.connections
        if self._spec.boxes:
            self.boxes = self._spec.boxes

    def answer(
        self, question: str, *, images: Sequence[Path], sounds: Sequence[Path], video: Path | None
    ) -> CountedText:
        """Answer one question; it stands for no sample."""
        with self._opening:
            if self._opened is None:
                self._opened = self._open(self._spec)
        request = OmniRequest(
            id="", condition="", folder="", position=0, question=question,
            images=tuple(images), sounds=tuple(sounds), video=video, seed=self._seed,
        )  # fmt: skip
        reply = self._opened(request)
        return CountedText(reply.text, reply.usage)

    def close(self) -> None:
        """Release the model."""
        if self._opened is not None:
            self._opened.close()


def _relative_to(name: str, home: Path) -> str:
    """The name of a model whose file or folder of weights is written relative to a folder."""
    if WEIGHTED.match(name):
        model, _, weights = name.partition("@")
        return f"{model}@{home / weights}"
    file, _, function = name.rpartition(":")
    return f"{home / file}:{function}" if file.endswith(".py") and not name.startswith((COMMAND, CMD)) else name


def _is_reference(spec: OmniSpec) -> bool:
    return spec.kind == "registered" and isinstance(registry.find("model", spec.target).load(), RequestAnswerer)


def _other(text: str, how: ChatHow, apart: OpenApart | None = None) -> Callable[[str], _OfCascade]:
    """How the models of a cascade are loaded that are not behind an endpoint."""
    return partial(_OfCascade, home=Path(text.partition(":")[2]).parent, seed=how.seed, apart=apart)


def _behind_endpoint(text: str, how: ChatHow, apart: OpenApart | None) -> OmniModel:
    from auscult.models.chat.loading import endpoint_model

    return endpoint_model(text, how, other=_other(text, how, apart))


def _endpoint(text: str, how: ChatHow | None) -> OmniSpec:
    from auscult.models.chat.loading import ChatHow, endpoint_model

    given, how = text, how or ChatHow()
    kind, _, file = text.partition(":")
    if kind == "cascade":
        text = f"{kind}:{Path(file).resolve()}"
    model = endpoint_model(text, how, other=_other(text, how))
    return OmniSpec(
        given=given,
        kind="endpoint",
        name=model.name,
        target=text,
        revision=model.revision,
        boxes=model.boxes,
        connections=model.connections,
        how=how,
    )


def _weighted(text: str) -> OmniSpec:
    """A registered omni model on a folder of weights."""
    name, _, weights = text.partition("@")
    entry = registry.find("model", name)
    if not isinstance(entry.load(), WeightedOmniModel):
        raise UsageError(f"{entry.name} answers no questions in text", expected=_FORMS)
    folder = Path(weights)
    if not folder.is_dir():
        raise UsageError("there is no such folder of weights", path=folder, expected=f"{name}@DIR")
    folder = folder.resolve()
    return OmniSpec(
        given=text,
        kind="registered",
        name=f"{entry.name}@{safe_name(folder.name)}",
        target=entry.name,
        weights=folder,
        revision=revision_of(entry, folder),
    )


def _extended(spec: ModelSpec, **more: Any) -> OmniSpec:
    return OmniSpec(**{field.name: getattr(spec, field.name) for field in fields(ModelSpec)}, **more)


def _registered(text: str) -> OmniSpec | None:
    """A registered omni model; None where no omni model has that name."""
    name, colon, argument = text.partition(":")
    try:
        entry = registry.find("model", name)
    except UnknownName:
        return None
    model = entry.load()
    takes = model.takes_argument if isinstance(model, RequestAnswerer) else ""
    if not isinstance(model, RequestAnswerer | OmniModel):
        return None
    if bool(colon) != bool(takes):
        expected = f"{name}:ARGUMENT, which is {takes}" if takes else name
        raise UsageError(f"{text[:80]!r} is written otherwise", expected=expected)
    if isinstance(model, RequestAnswerer):
        model.check(argument)
    return OmniSpec(
        given=text,
        kind="registered",
        name=f"{entry.name}:{argument}" if takes else entry.name,
        target=entry.name,
        argument=argument,
        revision=digest_json([entry.name, entry.origin, argument])[:_DIGITS],
        boxes=str(getattr(model, "boxes", "")),
        connections=1 if isinstance(model, RequestAnswerer) else int(getattr(model, "connections", 0)),
    )


def _refuse(text: str) -> None:
    """Say what a name without a colon is."""
    if not text:
        raise UsageError("a model without a name was asked for", expected=_FORMS)
    if text.endswith(".py"):
        raise UsageError(f"{text[:80]!r} names no function", expected=_FORMS, hint="write FILE.py:answer")
    entry = registry.find("model", text)  # raises where there is none
    raise UsageError(f"{entry.name} answers no questions in text", expected=_FORMS)
