"""Another model as a judge of `auscult audit`: its replies from files, or from a program that is asked."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import numpy as np

import auscult
from auscult.cases.listing import list_items
from small_inputs import SIZE, folder_input, rows, save_mask
from small_inputs import auscult as command

PROGRAM = """
import json, sys
print("loading", file=sys.stderr)
for line in sys.stdin:
    question = json.loads(line)
    open(question["frame"], "rb").close(), open(question["mask"], "rb").close()
    answers = {"the left one": {"reply": "<iou> 0.7 </iou> <mask> erode </mask>"}, None: {"reply": "no idea"}}
    print(json.dumps({"id": question["id"], **answers.get(question["text"], {"error": "no weights"})}), flush=True)
"""


def _replies(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("<iou> 0.91 </iou> <mask_type> perfect </mask_type> <action> Reject </action>")
    (folder / "b.json").write_text('{"iou": 0.8, "mask_type": "erode", "rationale": "<script>too small</script>"}')
    (folder / "c.txt").write_text("I think it is fine.")
    return folder


def test_replies_in_files_are_a_judge_and_what_cannot_be_read_has_no_score(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b", "c", "d"))
    save_mask(source / "masks" / "d.png", np.zeros(SIZE, np.bool_))
    replies = _replies(tmp_path / "mine")
    command_line = [
        "audit",
        str(source),
        "--judge",
        f"replies:{replies}",
        "--out",
        str(tmp_path / "out"),
        "--workers",
        "1",
    ]
    result = command(*command_line, "--json")
    assert result.code == 1
    verdict_of = {row["id"]: row for row in rows(tmp_path / "out" / "verdicts.jsonl")}
    assert {name: (row["iou"], row["defect"], row["action"]) for name, row in verdict_of.items()} == {
        "a": (0.91, "perfect", "minor_revision"),
        "b": (0.8, "erode", "major_revision"),
        "d": (None, "empty", "reject"),  # by rule
    }
    assert {name: row.get("own_action") for name, row in verdict_of.items()} == {"a": "reject", "b": None, "d": None}
    assert {row["judge"] for row in verdict_of.values()} == {"replies.mine"}
    assert verdict_of["a"]["iou_low"] is None
    assert not any(verdict_of["a"]["evidence"].values())
    [failed] = rows(tmp_path / "out" / "errors.jsonl")
    assert (failed["id"], failed["error"]) == ("c", "the reply names no IoU")
    assert "<script>too" not in (tmp_path / "out" / "report.html").read_text()
    (replies / "a.txt").write_text("<iou> 0.2 </iou> <mask_type> perfect </mask_type>")
    assert command(*command_line).code == 2  # the record holds another reply
    assert command(*command_line, "--overwrite").code == 1
    assert {row["iou"] for row in rows(tmp_path / "out" / "verdicts.jsonl")} == {0.2, 0.8, None}


def test_a_program_is_a_judge_and_its_errors_cost_their_items(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in")
    (tmp_path / "texts.csv").write_text("id,text\na,the left one\nb,another\n")
    script = tmp_path / "my judge.py"
    script.write_text(PROGRAM)
    judge = "command:" + shlex.join([sys.executable, "-I", "-S", str(script)])
    out = tmp_path / "out"
    texts = ["--texts", str(tmp_path / "texts.csv")]
    result = command("audit", str(source), "--judge", judge, *texts, "--out", str(out), "--workers", "1")
    assert result.code == 1
    [verdict] = rows(out / "verdicts.jsonl")
    assert (verdict["id"], verdict["iou"], verdict["defect"]) == ("a", 0.7, "erode")
    assert verdict["judge"].startswith("command.my_judge")
    assert {row["id"]: row["error"] for row in rows(out / "errors.jsonl")} == {
        "b": "the program says: 'no weights'",
        "c": "the reply names no IoU",
    }


def test_a_judge_by_file_judges_from_python_too(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    replies = tmp_path / "mine.jsonl"
    replies.write_text("".join(json.dumps({"id": name, "iou": 0.5, "mask_type": "merge"}) + "\n" for name in "ab"))
    items = list_items(source).items
    assert [verdict.iou for verdict in auscult.audit(items, judge=f"replies:{replies}")] == [0.5, 0.5]


def test_replies_that_are_not_there_are_refused(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    result = command("audit", str(source), "--judge", f"replies:{tmp_path / 'none'}", "--out", str(tmp_path / "out"))
    assert result.code == 2
    assert "no such replies" in result.err
