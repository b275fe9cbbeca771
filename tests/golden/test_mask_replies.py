"""Replies of chat models as they come: what each is read as. A line without a verdict never becomes a score."""

from __future__ import annotations

import json
from pathlib import Path

from auscult.errors import InputError
from auscult.judge.replies import read_reply

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "mask_replies.jsonl").read_text().splitlines()]


def reply_masks(text: str) -> list[object] | None:
    try:
        reply = read_reply(text)
    except InputError:
        return None
    return [reply.iou, reply.defect, reply.action]


def test_every_reply_is_read_as_it_is_written_down() -> None:
    readings = {line["reply"]: reply_masks(line["reply"]) for line in CORPUS}
    assert len(readings) >= 200
    wrong = {line["reply"]: readings[line["reply"]] for line in CORPUS if readings[line["reply"]] != line["verdict"]}
    assert wrong == {}
    assert sum(verdict is None for verdict in readings.values()) > 100
