"""Prompts, and parsing of replies: lists of ``{"type", "reason", "selected"}``, in JSON or something like it.

Objects are found in a list, in an object around it, in a code fence, after ``name =``, among prose and in a truncated
list; with Python's ``True``, single quotes or a trailing comma. Nothing is evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeVar

from auscult.errors import InputError
from auscult.judge.replies import printable
from auscult.record.codec import from_json
from auscult.work.chat.replies import after_thought

T = TypeVar("T")

MOST_CHARACTERS: Final = 200_000
MOST_REASON: Final = 300
_CHOICE: Final[Mapping[str, Any]] = {
    "type": {"type": "string"}, "reason": {"type": "string"}, "selected": {"type": "boolean"},
}  # fmt: skip
_EXACT: Final[Mapping[str, Any]] = {"type": "object", "additionalProperties": False}
_CHOICES: Final[Mapping[str, Any]] = {
    "type": "array", "items": {**_EXACT, "properties": _CHOICE, "required": list(_CHOICE)},
}  # fmt: skip
SCHEMA: Final[Mapping[str, Any]] = {**_EXACT, "properties": {"choices": _CHOICES}, "required": ["choices"]}
"""The JSON Schema of a reply, for endpoints that can enforce one."""

_MOST_STARTS: Final = 1000
# A quote ends a text only before the end of a value, so that 'it's dark' is one text; lengths are bounded, so that a
# text without an end takes little time.
_TOKEN: Final = re.compile(
    r"\s{0,200}(?:(?P<sign>[][{}(),:])|\"(?P<double>(?:\\.|[^\\]){0,4000}?)\"(?=\s{0,200}[],:})])"
    r"|'(?P<single>(?:\\.|[^\\]){0,4000}?)'(?=\s{0,200}[],:})])|(?P<word>[\w.+-]{1,100}))",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SIGNS: Final[Mapping[str, str]] = {"n": "\n", "t": "\t", "r": "\r"}
_YES_NO: Final[Mapping[str, bool]] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@cache
def prompt(name: str) -> str:
    """The text of a file of ``prompts``."""
    return files("auscult.agent").joinpath("prompts", f"{name}.txt").read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer about one entry."""

    selected: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers in a reply."""

    of: Mapping[str, Answer] = field(default_factory=dict)  # by id, without contradictory answers
    unasked: int = 0  # count of answers about anything else
    unreadable: int = 0  # count of objects without ``type``, or without a yes or no


def read_answers(text: str, asked: Mapping[str, str]) -> Answers:
    """Read a reply in bounded time; answers may refer to ids or names of the entries ``asked`` about.

    It never raises; a reply of more than ``MOST_CHARACTERS`` gives no answers.

    Example:
        >>> read_answers("x = [{'type': 'p1', 'reason': 'it's outdoors', 'selected': True,}]", {"p1": "fog"}).of
        {'p1': Answer(selected=True, reason="it's outdoors")}
    """
    keys = {name.casefold(): key for key, name in asked.items()} | {key.casefold(): key for key in asked}
    answers, twice, unasked, unreadable = dict[str, Answer](), set[str](), 0, 0
    for entry in _objects(after_thought(text)) if len(text) <= MOST_CHARACTERS else ():
        selected = _YES_NO.get(entry.get("selected", "").strip().casefold())
        key = keys.get(entry.get("type", "").strip().casefold())
        if "type" not in entry or selected is None:
            unreadable += 1
        elif key is None:
            unasked += 1
        else:
            if key in answers and answers[key].selected != selected:
                twice.add(key)
            answers[key] = Answer(selected=selected, reason=printable(entry.get("reason", ""), MOST_REASON))
    agreed = {key: answer for key, answer in answers.items() if key not in twice}
    return Answers(of=agreed, unasked=unasked, unreadable=unreadable)


def read_object(kind: type[T], text: str, *, hint: str = "") -> T:
    """The JSON object in a reply, perhaps among prose; an InputError with the hint if there is none of that kind."""
    if len(text) > MOST_CHARACTERS:
        raise InputError("it is too long", expected=f"{MOST_CHARACTERS:,} characters at most", hint=hint)
    answer = after_thought(text)
    try:
        row = json.JSONDecoder().raw_decode(answer, max(0, answer.find("{")))[0]
    except (ValueError, RecursionError):
        row = None
    return from_json(kind, row, error=InputError, hint=hint)


def _objects(text: str) -> Iterator[dict[str, str]]:
    """The objects in a text that have plain values, inner ones first; numbers and words become text."""
    position = 0
    for _ in range(_MOST_STARTS):
        position = text.find("{", position)
        token = None if position < 0 else _TOKEN.match(text, position)
        stack, key, last = list[dict[str, str]](), "", ""
        while token is not None:
            position = token.end()
            sign = token["sign"]
            if sign is None:
                last = _plain(token)
                if key:
                    stack[-1][key] = last
            elif sign == "{":
                stack.append({})
            elif sign == "}" and (closed := stack.pop()):
                yield closed
            key = last if sign == ":" else ""
            token = _TOKEN.match(text, position) if stack else None
        if position < 0:
            return


def _plain(token: re.Match[str]) -> str:
    if token["word"] is not None:
        return token["word"]
    text = token["double"] if token["double"] is not None else token["single"]
    return _ESCAPE.sub(lambda sign: chr(int(sign[1], 16)) if sign[1] else _SIGNS.get(sign[2], sign[2]), text)
