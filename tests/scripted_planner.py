"""A scripted language model as a planner: it is asked about entries and selects some of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from chat_server import completed
from planted_orders import LINE

KEY = "sk-very-secret-0123456789"
Reply = Callable[[int, str, list[str]], str | bytes]
"""From the number of a request, its text and the ids that it asks about, to a reply, or a whole response."""


def entries(text: str) -> list[dict[str, Any]]:
    """The data of a prompt: what it is about, then the entries."""
    return [json.loads(line) for line in text.split(LINE)[1].splitlines()]


def choices_reply(choices: Mapping[str, object]) -> str:
    """A reply in the form that was asked for."""
    return json.dumps({"choices": [{"type": key, "reason": "so", "selected": on} for key, on in choices.items()]})


def every_second(_: int, __: str, ids: list[str]) -> str:
    """A model that selects every second entry, whatever it reads."""
    return choices_reply({key: int(key[1:]) % 2 == 1 for key in ids})


def script(reply: Reply) -> Callable[[int, Mapping[str, Any]], bytes]:
    """What ``chat_server.serving`` takes."""

    def answer(number: int, body: Mapping[str, Any]) -> bytes:
        text = body["messages"][-1]["content"]
        reply_made = reply(number, text, [row["id"] for row in entries(text)[1:]])
        return reply_made if isinstance(reply_made, bytes) else completed(reply_made)

    return answer
