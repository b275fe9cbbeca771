"""Parses the reply of an endpoint, whole or as events: untrusted text, bounded and read by type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from auscult.work.chat.spending import Tokens

MOST_CHARACTERS: Final = 100_000
"""Of a reply; longer ones are cut. `score.replies` reads 20,000."""
_MOST_COUNTED: Final = 10**9
_SHOWN: Final = 200
_MOST_TEXT: Final = 4000
_MOST_PARTS: Final = 4
_MESSAGE_KEYS: Final = ("error", "message", "detail", "msg")
_FILTERED: Final = "content_filter"
_DONE: Final = "[DONE]"
_ENDS: Final = re.compile(r"\r\n|\n|\r")
_BROKEN_OFF: Final = frozenset({"error", "abort"})  # generating failed, or the server gave the request up
_THOUGHT: Final = re.compile(
    r"</\s{0,9}think(?:ing)?\s{0,9}>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE
)
_OPEN_THOUGHT: Final = re.compile(
    r"<\s{0,9}think(?:ing)?\s{0,9}>|\[THINK\]|◁think▷|<\|channel\|>(?:analysis|commentary)\b", re.IGNORECASE
)
# Also within an error that a proxy passes on as text, where each quotation mark is escaped.
_RETRY_DELAY: Final = re.compile(rb'"retryDelay\\{0,3}"\s{0,9}:\s{0,9}\\{0,3}"(\d{1,9}(?:\.\d{1,9})?)s\\{0,3}"')


class Malformed(Exception):
    """The reply is not a completed chat of the protocol; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """A completed reply."""

    text: str  # what the model said, or why it refused; may be empty
    # why it ended, as the endpoint says: ``stop``, ``length``, ``content_filter``; empty where it does not
    finish: str = ""
    tokens: Tokens | None = None  # as the endpoint counted them; None where it does not
    model: str = ""  # which model answered, as the endpoint says; it may be more precise than what was asked
    tries: int = 1  # how often it was sent, those that failed among them
    cost: float | None = None  # USD; None without a price


def after_thought(text: str) -> str:
    """What stands behind the drafts that some models write first, ``<think> ... </think>``.

    Of a draft that has no end, since the reply was cut, nothing stands.
    """
    return _OPEN_THOUGHT.split(_THOUGHT.split(text)[-1], maxsplit=1)[0]


def read_whole(body: bytes) -> ChatReply:
    """The reply in a JSON body; ``Malformed`` where it holds none."""
    content = _json(body)
    choice = _choice(content)
    if choice is None:
        raise Malformed(error_message(content) or "it has no choice")
    message, finish = choice.get("message"), _finish(choice)
    if not isinstance(message, Mapping):
        if not finish.startswith(_FILTERED):
            raise Malformed("its choice has no message")
        message = {}  # what was withheld: a refusal, which would cost as much each time
    return ChatReply(
        text=_text(message), finish=finish, tokens=_tokens(content.get("usage")), model=_word(content.get("model"))
    )


def read_events(body: bytes) -> ChatReply:
    """The reply in server-sent events; ``Malformed`` if its end is missing."""
    text: list[str] = []
    finish, model, tokens, ended = "", "", None, False
    for event in _events(body):
        if event == _DONE:
            ended = True
            break
        chunk = _json(event.encode("utf-8", "surrogatepass"))
        if chunk.get("error"):
            raise Malformed(error_message(chunk) or "it ends with an error")
        model, tokens = model or _word(chunk.get("model")), _tokens(chunk.get("usage")) or tokens
        if (choice := _choice(chunk)) is not None:
            delta = choice.get("delta")
            text.append(_text(delta) if isinstance(delta, Mapping) else "")
            finish = _finish(choice) or finish
    if not ended and not finish:
        raise Malformed("it was cut off")
    return ChatReply(text="".join(text)[:MOST_CHARACTERS], finish=finish, tokens=tokens, model=model)


def error_message(body: object) -> str:
    """The message of an error reply, on one line; empty if it has none."""
    if isinstance(body, bytes):
        try:
            body = _value(body)
        except Malformed:
            return ""
    return " ".join(_error_text(body)[:_MOST_TEXT].split())


def _error_text(value: object, depth: int = 4) -> str:
    """The text of an error: ``error`` with ``message``, as the protocol has it, or as servers send it instead."""
    if isinstance(value, str) or depth == 0:
        return value if isinstance(value, str) else ""
    if isinstance(value, list):
        return "; ".join(filter(None, (_error_text(one, depth - 1) for one in value[:_MOST_PARTS])))
    if not isinstance(value, Mapping):
        return ""
    text = next((found for key in _MESSAGE_KEYS if (found := _error_text(value.get(key), depth - 1))), "")
    place = value.get("loc")  # of a field that a server's schema does not know or refuses
    return f"{'.'.join(map(str, place[:_MOST_PARTS]))}: {text}" if isinstance(place, list) and text else text


def code_of(body: bytes) -> str:
    """The code or type of an error, such as ``insufficient_quota``; empty where it has none."""
    error = _error_of(body)
    return _word(error.get("code")) or _word(error.get("type"))


def is_moderated(body: bytes) -> bool:
    """Whether an error says that this input was flagged, as OpenRouter does; another one may pass."""
    details = _error_of(body).get("metadata")
    return isinstance(details, Mapping) and bool(details.get("reasons"))


def retry_delay_s(body: bytes) -> float | None:
    """The seconds that an error itself says to wait, as Gemini does without a header; None where it does not."""
    found = _RETRY_DELAY.search(body)
    return None if found is None else float(found[1])


def _error_of(body: bytes) -> Mapping[str, Any]:
    try:
        error = _json(body).get("error")
    except Malformed:
        return {}
    return error if isinstance(error, Mapping) else {}


def _events(body: bytes) -> Iterator[str]:
    data: list[str] = []
    for line in _ENDS.split(body.decode("utf-8", "replace")):  # not splitlines: JSON may hold other line separators
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").strip())
        elif not line:
            if any(data):  # one without data is no event, but a sign that the connection is kept
                yield "\n".join(data)
            data = []
    if any(data):
        yield "\n".join(data)


def _value(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("it is no JSON") from None


def _json(body: bytes) -> Mapping[str, Any]:
    content = _value(body)
    if not isinstance(content, Mapping):
        raise Malformed("it is no object of JSON")
    return content


def _choice(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first choice; None without one, ``Malformed`` where generating it has failed."""
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return None
    choice: Mapping[str, Any] = choices[0]
    if choice.get("error") or _finish(choice) in _BROKEN_OFF:
        raise Malformed(error_message(choice) or "it ends with an error")
    return choice


def _finish(choice: Mapping[str, Any]) -> str:
    return _word(choice.get("finish_reason"))


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message, whole or in parts; else its refusal."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    refusal = message.get("refusal")
    text = content if isinstance(content, str) and content else refusal if isinstance(refusal, str) else ""
    # A lone surrogate, which JSON can encode, could not be written to a record.
    return text[:MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _tokens(usage: object) -> Tokens | None:
    """Tokens as counted; those of thoughts, which some endpoints add to the total alone, are received too."""
    if not isinstance(usage, Mapping):
        return None
    counts = [usage.get(f"{name}_tokens") for name in ("prompt", "completion", "total")]
    sent, completion, total = (n if type(n) is int and 0 <= n <= _MOST_COUNTED else None for n in counts)
    if sent is None or (completion is None and total is None):
        return None
    return Tokens(sent=sent, received=max(completion or 0, (total or 0) - sent))


def _word(value: object) -> str:
    return value[:_SHOWN] if isinstance(value, str) else ""
