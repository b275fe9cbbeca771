"""Replies of other models: what is understood, what is not, and that nothing is guessed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import AuscultError, InputError
from auscult.judge.replies import MOST_CHARACTERS, FileJudge, read_reply
from auscult.record.digest import digest_json
from auscult.types import Case, Prediction

PAPER = (
    "<audit> The given mask correctly delineates the dog but suffers from slight boundary shrinkage. The IoU with GT "
    "is <iou> 0.8731 </iou>, its mask type belongs to <mask_type> erode </mask_type>, and the recommend action is "
    "<action> Minor Revision </action> </audit>"
)


@pytest.mark.parametrize(
    ("text", "iou", "defect", "action"),
    [
        (PAPER, 0.8731, "erode", "minor_revision"),
        ("<IOU>.87</IOU><Mask> Full-Neg. </Mask>", 0.87, "full_neg", None),
        ("<iou> 87 % </iou> <mask type>**cutout**</mask type> <action>MAJOR_REVISION</action>", 0.87, "cutout",
         "major_revision"),
        ("<<iou>> 1.0 <</iou>> <<mask>> Perfect <</mask>> <<action>> Accept <</action>>", 1.0, "perfect", "accept"),
        ("Asked: <iou> IOU </iou>, <mask> MASKTYPE </mask>. My answer: <iou>0</iou> <mask>merge</mask>", 0.0, "merge",
         None),
        ("Sure!\n```json\n{\"IoU\": \"0.5\", \"Mask Type\": \"dilate\", \"action\": null}\n```", 0.5, "dilate", None),
        ('{"iou": 1, "defect": "perfect", "action": "accept"}', 1.0, "perfect", "accept"),
        ('{"id": "a", "reply": "<iou> 0.4 </iou> <mask> full neg </mask>"}', 0.4, "full_neg", None),
    ],
)  # fmt: skip
def test_replies_as_models_write_them_are_understood(text: str, iou: float, defect: str, action: str | None) -> None:
    reply = read_reply(text)
    assert (reply.iou, reply.defect, reply.action) == (iou, defect, action)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("sample 0.83", "sample 0.83."),
        ("It is cut.", "It is cut."),
        ("He said 'cut!'", "He said 'cut!'"),
        ("", "The reply gives no reason."),
    ],
)
def test_a_rationale_ends_before_what_follows_it(reason: str, sentence: str) -> None:
    assert read_reply({"iou": 0.5, "mask_type": "erode", "reason": reason}).rationale == sentence


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the mask is good, IoU 0.9, perfect, accept",
        "<iou> 0.9 </iou>",
        "<mask_type> perfect </mask_type> <action> accept </action>",
        "<iou> about 0.9 </iou> <mask> perfect </mask>",
        "<iou> 0.8-0.9 </iou> <mask> perfect </mask>",
        "<iou> 87 </iou> <mask> perfect </mask>",
        "<iou> 101 % </iou> <mask> perfect </mask>",
        "<iou> -0.1 </iou> <mask> perfect </mask>",
        "<iou> nan </iou> <mask> perfect </mask>",
        "<iou> 0,87 </iou> <mask> perfect </mask>",
        "<iou> 0.9 </iou> <mask> good </mask>",
        "<iou> 0.9 </iou> <mask> perfect </mask> <action> do not accept </action>",
        "<iou> 0.9 </iou> <iou> 0.8 </iou> <mask> perfect </mask>",
        "<iou> 0.9 </iou> <mask> perfect </mask> <mask_type> erode </mask_type>",
        '{"iou": 0.9, "iou": 0.1, "mask_type": "perfect"}',
        '{"iou": true, "mask_type": "perfect"}',
        '{"iou": NaN, "mask_type": "perfect"}',
        '{"iou": 1e400, "mask_type": "perfect"}',
        '{"iou": 0.9, "mask_type": "perfect"',
        '{"iou": [0.9], "mask_type": {"a": 1}}',
        "__import__('os').system('true')",
        "[" * 100_000,
        "<iou>" * 40_000 + "<" * 50_000,
        "x" * (MOST_CHARACTERS + 1),
    ],
)
def test_nothing_is_guessed_and_nothing_takes_long(text: str) -> None:
    start_s = time.process_time()
    with pytest.raises(InputError) as error:
        read_reply(text)
    assert error.value.expected or len(text) > MOST_CHARACTERS
    assert time.process_time() - start_s < 2.0


def _ask(judge: FileJudge, name: str, *, empty: bool = False) -> float | None:
    mask = np.zeros((8, 8), np.bool_)
    mask[2:5, 2:5] = not empty
    return judge(Case(id=digest_json(name), frame=np.zeros((8, 8, 3), np.uint8)), Prediction(mask)).iou


def test_a_folder_has_a_file_an_item_and_nothing_outside_it_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "v1" / "f3").mkdir(parents=True)
    (folder / "v1" / "f3" / "m2.txt").write_text(PAPER)
    (folder / "a.b#1.json").write_text('{"iou": 0.25, "mask_type": "merge"}')
    (folder / "bytes").write_bytes(b"\xff\xfe<iou> 0.5 </iou>\xff<mask> dilate </mask>")
    (tmp_path / "outside.txt").write_text(PAPER)
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(folder / "pipe.txt")
    judge = FileJudge(folder, "replies.mine")
    assert [_ask(judge, name) for name in ("v1/f3/m2", "a.b#1", "bytes")] == [0.8731, 0.25, 0.5]
    assert _ask(judge, "nobody", empty=True) is None  # by rule, without a reply
    for name in ("nobody", "link", "pipe", "../outside"):
        with pytest.raises(InputError):
            _ask(judge, name)


def test_lines_that_cannot_be_read_are_told_and_two_replies_must_agree(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "reply": PAPER},
        {"id": "b", "iou": 0.5, "mask_type": "erode"},
        {"id": "b", "iou": 0.5, "mask_type": "erode"},
        {"id": "c", "iou": 0.5, "mask_type": "erode"},
        {"id": "c", "iou": 0.6, "mask_type": "erode"},
        {"id": "d", "error": "out of memory"},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\nbroken\n[1]\n")
    judge = FileJudge(file, "replies.mine")
    assert _ask(judge, "a") == 0.8731
    assert _ask(judge, "b") == 0.5
    with pytest.raises(InputError, match="differ"):
        _ask(judge, "c")
    with pytest.raises(InputError, match="out of memory"):
        _ask(judge, "d")
    with pytest.raises(InputError, match="line 7"):
        _ask(judge, "e")


def test_a_folder_without_replies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuscultError, match="no reply"):
        FileJudge(tmp_path, "replies.mine")
