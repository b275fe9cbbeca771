"""A tree in the form of AVI-Bench's release: keys, repeated ids, empty confirmations, and media of no content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from auscult.cases.avibench import STAGE_OF, task_folder

SIZES = {"AMIC": 518, "VMIC": 521, "AVL": 205, "AVM": 250, "VAR": 264, "AVR": 264, "AVC": 280, "AVH": 250, "VAH": 250,
         "AVQA": 469, "AVLG": 503, "ASQA": 502, "VSQA_I": 620, "VSQA_V": 580, "AVSQA": 388}  # fmt: skip
"""Table 2, confirmations included; of VSQA_I 147 more are empty."""
SMALL = dict.fromkeys(SIZES, 4)
EMPTY = 147
_CONFIRMED = ("ASQA", "VSQA_I", "VSQA_V", "AVSQA")


def make_release(root: Path, sizes: Mapping[str, int] = SMALL, *, empty: int = 1) -> Path:
    """Write ``levels/`` below a folder; of folders with confirmations half of the size is questions."""
    for folder in STAGE_OF:
        if sizes.get(folder):
            _write(root / task_folder(folder), sizes[folder], empty if folder == "VSQA_I" else 0)
    return root


def _write(root: Path, size: int, empty: int) -> None:
    folder, confirmed = root.name, root.name in _CONFIRMED
    rows = [_ENTRIES[folder](number) for number in range(size // 2 if confirmed else size)]
    for number, row in enumerate(rows):
        row["id"] = f"{number // 2:05d}" if folder in ("AVQA", "AVLG", "VSQA_V") else f"{number:05d}"
        row["task"] = folder
        for name in _named_files(row["input"]):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f"{folder} {name}".encode())
    if confirmed:
        rows += [_confirmation(row) for row in rows]
        blank = _confirmation(rows[0])
        blank["input"]["question"]["text"] = blank["output"]["question_answer"] = None
        rows += [{**blank, "id": f"pre_none{number}"} for number in range(empty)]
    (root / "data.json").write_text(json.dumps(rows, indent=1))


def _named_files(question_input: Mapping[str, Any]) -> list[str]:
    video = [question_input["video"]] if question_input.get("video") else []
    return [*(question_input.get("image_list") or ()), *(question_input.get("audio_list") or ()), *video]


def _confirmation(row: dict[str, Any]) -> dict[str, Any]:
    folder = row["task"]
    question = {"prompt": "prompt_avsqa" if folder == "AVSQA" else None, "text": "Is there anything?",
                "options": ["yes", "no", "not sure"] if folder == "AVSQA" else "options_yes_no"}  # fmt: skip
    return {**row, "id": f"pre_{row['id']}", "input": {**row["input"], "question": question},
            "output": {"pre_answer": None, "question_answer": "yes"}}  # fmt: skip


def _entry(text: str, answer: object, *, prompt: str | None, options: object = None, **media: Any) -> dict[str, Any]:
    return {"subtask": None, "input": {"pre_question": None, "question": {"prompt": prompt, "text": text,
            "options": options}, **media}, "output": {"pre_answer": None, "question_answer": answer}}  # fmt: skip


def _wav(number: int) -> list[str]:
    return [f"./input/wavs/{number:05d}.wav"]


def _image(number: int) -> list[str]:
    return [f"./input/images/{number:05d}.png"]


def _fields_of_both(number: int) -> dict[str, Any]:
    return {"audio_list": _wav(number), "video": f"./input/videos/{number:05d}.mp4"}


def _candidates(kind: str, number: int, end: str) -> list[str]:
    return [f"./input/{kind}/{number:05d}_{option:02d}.{end}" for option in range(10)]


def _yes_no(key: str) -> Callable[[int], dict[str, Any]]:
    return lambda number: _entry(
        "Does what is heard match what is seen?", ("yes", "no")[number % 2], prompt=f"prompt_{key}",
        options=f"{key}_options_list", **_fields_of_both(number),
    )  # fmt: skip


def _avqa(number: int) -> dict[str, Any]:
    texts = ("Which instrument is loudest?", "Is a cello heard?", "How many instruments are there?")
    answers = ("electric_bass", "no", "2")
    keys = ("avqa_cls_list", "avqa_options_list_is", None)
    kind = number % 3
    return _entry(texts[kind], answers[kind], prompt=None, options=keys[kind], **_fields_of_both(number // 2))


_ENTRIES: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "AMIC": lambda n: _entry("What is heard?", {"dog": "2", "cat": str(1 + n % 3)}, prompt="prompt_amic",
                             options="amic_cls_list", audio_list=_wav(n)),
    "VMIC": lambda n: _entry("What is seen?", {"apple": "12", "bee": str(1 + n % 3)}, prompt="prompt_vmic",
                             options="vmic_cls_list", image_list=_image(n)),
    "AVL": lambda n: _entry("Where does it sound?", {"original_wh": [640, 480], "bbox": {
        "dog_1": [10, 20, 100 + n % 50, 200], "dog_2": [300, 20, 100, 200]}}, prompt="prompt_avl",
        audio_list=_wav(n), image_list=_image(n)),
    "AVM": _yes_no("avm"), "AVH": _yes_no("avh"), "VAH": _yes_no("vah"),
    "VAR": lambda n: _entry("Which sounds fit?", [n % 10], prompt="prompt_var", image_list=_image(n),
                            audio_list=_candidates("wavs", n, "wav")),
    "AVR": lambda n: _entry("Which pictures fit?", [n % 10, (n + 1) % 10], prompt="prompt_avr", audio_list=_wav(n),
                            image_list=_candidates("images", n, "png")),
    "AVC": lambda n: _entry("Describe it.", [f"A dog barks {n} times.", f"Dog number {n} barks."], prompt=None,
                            **_fields_of_both(n)),
    "AVQA": _avqa,
    "AVLG": lambda n: _entry("Reference: the dog that barks.", {"original_wh": [1280, 720], "bbox": {
        f"frame_{frame}": None if frame == n % 10 else [10 * frame, 20, 100, 200] for frame in range(10)}},
        prompt="prompt_avlg", audio_list=_wav(n),
        image_list=[f"./input/images/{n:05d}/{frame}.jpg" for frame in range(10)]),
    "ASQA": lambda n: _entry("Which is clearer?", ("first", "last", "same")[n % 3], prompt=None,
                             options="options_sound_clarity", audio_list=_wav(n)),
    "VSQA_I": lambda n: _entry("Which colour?", ("puprle", "red", "blue")[n % 3], prompt=None,
                               options="get_from_color", image_list=_image(n)),
    "VSQA_V": lambda n: _entry("How does it move?", ("horizontal", "no movenment")[n % 2], prompt=None,
                               options="what_movement_2d", video=f"./input/videos/{n:05d}.mp4"),
    "AVSQA": lambda n: _entry("Which are heard?", ("cube", "cone;sphere")[n % 2], prompt="prompt_avsqa",
                              options="avsqa_options_list_object", **_fields_of_both(n)),
}  # fmt: skip
