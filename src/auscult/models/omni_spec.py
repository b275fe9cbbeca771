"""From what a person writes after ``--model`` to a loaded omni model.

============================== ======================================================================================
``reference.ideal``, ``ideal`` a registered model; ``NAME:ARGUMENT`` one that takes an argument, as ``noisy:0.8``
``FILE.py:NAME``               a function ``answer(question, *, images, sounds, video) -> str``, or an object or class
                               with a method of that name; ``package.module:NAME`` likewise
``command:PROGRAM ...``        a program that reads and writes lines of JSON; ``cmd:`` for short
``predictions:DIR``            replies that were given elsewhere, in the release's form
``human:DIR``                  the same, of a person who is called like the folder
============================== ======================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from auscult import registry
from auscult.errors import UnknownName, UsageError
from auscult.models.omni import OmniModel, OmniPredictor, OmniRequest
from auscult.models.spec import COMMAND, PREDICTIONS, ModelSpec, model_spec
from auscult.record.digest import digest_json
from auscult.types import Metadata

CMD: Final = "cmd:"
HUMAN: Final = "human:"
_FORMS: Final = "a model of `auscult list model`, FILE.py:NAME, module:NAME, command:PROGRAM ..., predictions:DIR"
_DIGITS: Final = 12


@runtime_checkable
class RequestAnswerer(Protocol):
    """A registered model that answers requests: one of ours, which may know more than a model under test.

    Attributes:
        takes_argument: What its argument is, ``an accuracy from 0 to 1``; empty where it takes none.
    """

    name: str
    meta: Metadata
    takes_argument: str

    def check(self, argument: str) -> None:
        """Raise a ``UsageError`` where it cannot take an argument."""
        ...

    def reply(self, request: OmniRequest, argument: str) -> str:
        """Its reply."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniSpec(ModelSpec):
    """An omni model that was asked for, before anything of it is loaded; goes to worker processes."""

    argument: str = ""  # what stands behind a registered model's name
    boxes: str = ""  # how it gives boxes; empty where it does not say
    connections: int = 0  # threads of this process that ask it at once; 0 for worker processes

    def open(self) -> OmniPredictor:
        """Load it into this process."""
        from auscult.models.adapters import omni  # adapters are loaded when they are needed

        if self.kind == "predictions":
            return omni.StoredReplies(Path(self.target))
        if self.kind == "command":
            return omni.AnsweringProgram(self.target)
        if self.kind == "callable":
            return omni.Answering.of_function(self.target, self.function)
        return self._of_registry()

    def _of_registry(self) -> OmniPredictor:
        from auscult.models.adapters import omni

        model = registry.find("model", self.target).load()
        if isinstance(model, RequestAnswerer):
            return omni.Referenced(model, self.argument)
        return omni.Answering(model)


def omni_spec(given: str) -> OmniSpec:
    """Parse the name of an omni model; nothing of the model is loaded but its registration."""
    text = given.strip()
    if text.startswith(HUMAN):
        found = model_spec(PREDICTIONS + text.removeprefix(HUMAN))
        return _extended(replace(found, given=text, name=HUMAN + Path(found.target).name), connections=1)
    registered = _registered(text)
    if registered is not None:
        return registered
    if text.startswith(CMD):
        text = COMMAND + text.removeprefix(CMD)
    if ":" not in text:
        _refuse(text)
    found = model_spec(text)
    return _extended(found, connections=1 if found.kind == "predictions" else 0)


def omni_models(names: Iterable[str]) -> tuple[OmniSpec, ...]:
    """What ``--model`` names, each once."""
    found: dict[tuple[str, ...], OmniSpec] = {}
    for name in names:
        spec = omni_spec(name)
        found.setdefault((spec.kind, spec.target, spec.function, spec.argument, spec.revision), spec)
    return tuple(found.values())


def _extended(found: ModelSpec, **more: Any) -> OmniSpec:
    return OmniSpec(**{one.name: getattr(found, one.name) for one in fields(ModelSpec)}, **more)


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
