"""Omni models behind one call: Python functions and objects, programs, replies that were given elsewhere.

A program reads questions as lines of JSON and writes replies as lines of JSON, with the question's id, which is never
the same twice. ``images`` and ``sounds`` are lists of paths, ``video`` is a path or null::

    {"id": "AVM/0003/7#1", "question": "...", "images": [], "sounds": ["/data/.../7.wav"], "video": "/data/.../7.mp4"}
    {"id": "AVM/0003/7#1", "reply": "yes"}      or    {"id": "AVM/0003/7#1", "error": "why"}

A folder of replies has a file for each folder of the tree, ``<FOLDER>.json`` or ``tasks/<FOLDER>.json``: a list aligned
with ``data.json`` of ``{"task", "subtask", "id", "predict"}``, or null where there is no reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError, UsageError
from auscult.models.adapters.calling import function_of
from auscult.models.omni import OmniModel, OmniReply, OmniRequest, RequestAnswerer
from auscult.record import codec
from auscult.work.line_program import LineProgram, shown

MOST_CHARACTERS: Final = 1 << 20
"""A longer reply is kept up to here: no answer is read from so long a one."""
_MOST_BYTES: Final = 268_435_456
_REPLIES: Final = 'for each question one line: {"id": ..., "reply": "..."} or {"id": ..., "error": "why"}'


class Answering:
    """Asks a model, ``answer(question, images=..., sounds=..., video=...)``."""

    def __init__(self, model: OmniModel | Callable[..., Any]) -> None:
        self._model = model
        self._answer: Callable[..., Any] = model.answer if isinstance(model, OmniModel) else model

    @classmethod
    def of_function(cls, target: str, name: str) -> Answering:
        """Of a file or module: a function, or ``answer`` of an object or class."""
        function = function_of(target, name, method="answer")
        owner = getattr(function, "__self__", None)
        return cls(owner if isinstance(owner, OmniModel) else function)

    @property
    def connections(self) -> int:
        """From how many threads of one process it may be asked; 0 for worker processes."""
        count = getattr(self._model, "connections", 0)
        return count if type(count) is int and count > 0 else 0

    @property
    def boxes(self) -> str:
        """How it gives boxes; empty where it does not say."""
        return str(getattr(self._model, "boxes", ""))

    def estimate(self, request: OmniRequest) -> Any:
        """What a request would take, of a model that says it (``models.chat.model.Estimate``); None of any other."""
        function = getattr(self._model, "estimate", None)
        if not callable(function):
            return None
        return function(request.question, images=request.images, sounds=request.sounds, video=request.video)

    def __call__(self, request: OmniRequest) -> OmniReply:
        """Call it; what it gives must be text."""
        start = time.perf_counter()
        answer = self._answer(request.question, images=request.images, sounds=request.sounds, video=request.video)
        return _reply(answer, time.perf_counter() - start)

    def close(self) -> None:
        """Release what it holds; a second call does nothing."""
        close = getattr(self._model, "close", None)
        if callable(close):
            close()


class Referenced:
    """Asks one of our own reference answerers."""

    def __init__(self, model: RequestAnswerer, argument: str) -> None:
        self._model, self._argument = model, argument

    def __call__(self, request: OmniRequest) -> OmniReply:
        """Its reply; it takes no time worth telling."""
        return _reply(self._model.reply(request, self._argument), 0.0)

    def close(self) -> None:
        """Do nothing: it holds nothing."""


class AnsweringProgram:
    """Asks a program, which runs as long as this object."""

    def __init__(self, line: str) -> None:
        self._program = LineProgram.of(line, answers=_REPLIES)

    def __call__(self, request: OmniRequest) -> OmniReply:
        """Ask, and read the reply."""
        question = {
            "id": self._program.key(request.id),
            "question": request.question,
            "images": list(map(str, request.images)),
            "sounds": list(map(str, request.sounds)),
            "video": None if request.video is None else str(request.video),
        }
        start = time.perf_counter()
        reply = self._program.ask(question, most_bytes=8 * MOST_CHARACTERS)
        return _reply(reply.get("reply"), time.perf_counter() - start)

    def close(self) -> None:
        """End the program; a second call does nothing."""
        self._program.close()


class StoredReplies:
    """Looks up replies that were given elsewhere."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError("there is no such folder of replies", path=folder, expected="<FOLDER>.json in it")
        self._folder = folder
        self._lists: dict[str, list[Any]] = {}

    def __call__(self, request: OmniRequest) -> OmniReply:
        """The reply at the sample's position; a failed request where there is none or it is of another sample."""
        rows, path = self._list(request.folder), self.path(request.folder)
        row = rows[request.position] if request.position < len(rows) else None
        entry = row if isinstance(row, dict) else {"predict": row if isinstance(row, str) else None}
        reply, sample_id = entry.get("predict"), request.id.split("/", 2)[-1]
        if reply is None:
            raise InputError(
                f"there is no reply at position {request.position}",
                path=path,
                expected='a text, or an object with "predict"',
                hint="add the reply there and give the same command again; null is a failed request",
            )
        if str(entry.get("id", sample_id))[:200] != sample_id:
            raise InputError(
                f"position {request.position} holds the reply to {shown(entry['id'])}, not to {shown(sample_id)}",
                path=path,
                expected="a list aligned with data.json",
                hint="put the replies in the order of data.json, and null where there is none",
            )
        return _reply(reply if isinstance(reply, str) else codec.dump(reply).decode(), 0.0)

    def path(self, folder: str) -> Path:
        """The file with the replies to a folder of the tree."""
        name = f"{folder}.json"
        return self._folder / "tasks" / name if (self._folder / "tasks" / name).is_file() else self._folder / name

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _list(self, folder: str) -> list[Any]:
        if folder not in self._lists:
            self._lists[folder] = codec.read_file(
                list[Any],
                self.path(folder),
                what="the replies",
                expected="a list aligned with data.json",
                most_bytes=_MOST_BYTES,
                error=InputError,
            )
        return self._lists[folder]


def _reply(output: object, seconds: float) -> OmniReply:
    if not isinstance(output, str):
        raise InputError(
            f"the model gave {type(output).__name__}",
            expected="text, str",
            hint="return what the model said; an object as json.dumps(answer)",
        )
    usage, served = getattr(output, "usage", {}), str(getattr(output, "served", ""))
    return OmniReply(text=str(output)[:MOST_CHARACTERS], seconds=seconds, usage=dict(usage), served=served)
