"""A cascade through the jobs: by its name, with a policy, an identity check, a budget of seconds, and as a row."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import auscult
import auscult.suites.registered as suites
from auscult.errors import UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.judges import judge_spec, load_judge
from auscult.jobs.options import AuditOptions
from auscult.record.folder import read_manifest
from auscult.record.manifest import argument
from auscult.types import Identity, Metadata
from small_inputs import auscult as command
from small_inputs import folder_input, rows, write_lines

CASCADE = "cascade:masks.cues.v1,replies:"


def cascade_input(tmp_path: Path, *, texts: bool = False) -> tuple[Path, str]:
    """An input, and a cascade of the cues and a file of replies to all of it."""
    source = folder_input(tmp_path / "in")
    ids = [row["id"] for row in first(tmp_path, source)]
    sheet = tmp_path / "sheet.jsonl"
    write_lines(sheet, *({"id": name, "iou": 0.0, "mask_type": "full_neg", "action": "reject"} for name in ids))
    return source, f"{CASCADE}{sheet}"


def first(tmp_path: Path, source: Path) -> list[dict]:
    audit_folder(AuditOptions(source=source, out=tmp_path / "cues", judge="cues", workers=0))
    return rows(tmp_path / "cues" / "verdicts.jsonl")


def test_a_cascade_is_a_judge_by_name_and_says_who_judged(tmp_path: Path) -> None:
    source, judge = cascade_input(tmp_path)
    audit_folder(AuditOptions(source=source, out=tmp_path / "out", judge=judge, workers=0, policy="paper"))
    verdicts = rows(tmp_path / "out" / "verdicts.jsonl")
    name = "cascade.masks.cues.v1+replies.sheet"
    assert {row["judge"] for row in verdicts} == {name}
    assert {row["judged_by"] for row in verdicts} <= {"masks.cues.v1", "replies.sheet"}
    asked_rows = [row for row in verdicts if row["judged_by"] == "replies.sheet"]
    assert asked_rows
    assert all(row["defect"] == "full_neg" and row["own_action"] == "reject" for row in asked_rows)
    manifest = read_manifest(tmp_path / "out")
    assert argument(manifest, "judge") == name
    assert str(argument(manifest, "cascade_1")).startswith("replies.sheet ")


def test_without_seconds_the_first_judge_judges_all(tmp_path: Path) -> None:
    source, judge = cascade_input(tmp_path)
    options = AuditOptions(source=source, out=tmp_path / "out", judge=judge, workers=0, cascade_seconds=0.0)
    audit_folder(options)
    verdicts = rows(tmp_path / "out" / "verdicts.jsonl")
    assert {row["judged_by"] for row in verdicts} == {"masks.cues.v1"}
    before = {row["id"]: (row["iou"], row["defect"]) for row in first(tmp_path, source)}
    assert {row["id"]: (row["iou"], row["defect"]) for row in verdicts} == before
    assert any("the budget is spent" in row["rationale"] for row in verdicts)


@pytest.mark.parametrize("name", ["cascade:", "cascade:cues", "cascade:cues,", "cascade:cues,cascade:cues,prompted"])
def test_what_is_no_cascade_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no cascade"):
        load_judge(name)


@pytest.mark.parametrize("name", ["cascade:cues,cues", "cascade:cues,prompted,masks.cues.v1"])
def test_a_judge_stands_once_in_a_cascade(name: str) -> None:
    with pytest.raises(UsageError, match=r"names masks\.cues\.v1 twice"):
        load_judge(name)


@pytest.mark.parametrize(
    ("judge", "option", "other"),
    [
        ("cues", ("--base-url", "http://127.0.0.1:9/v1"), "chat:NAME"),
        ("cascade:cues,prompted", ("--samples", "3"), "chat:NAME"),
        ("cues", ("--cascade-seconds", "5"), "cascade:CHEAP,DEAR"),
    ],
)
def test_options_that_a_judge_does_not_use_are_refused(
    tmp_path: Path, judge: str, option: tuple[str, str], other: str
) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    result = command("audit", source, "--judge", judge, *option, "--out", tmp_path / "out")
    assert result.code == 2
    assert f"{option[0]} changes nothing with the judge" in result.err
    assert other in result.err
    assert not (tmp_path / "out").exists()


def test_a_cascade_needs_the_clip_where_one_of_its_judges_does() -> None:
    assert not judge_spec("cascade:cues,prompted").needs_clip
    assert judge_spec("cascade:cues,prompted").origin.count("auscult") == 2


def test_from_python_an_identity_check_comes_before_the_dear_judge() -> None:
    frame, mask = np.zeros((40, 40, 3), np.uint8), np.zeros((40, 40), bool)
    frame[10:30, 10:30], mask[10:30, 10:30] = 200, True

    class IdentityCheck:
        name, meta = "identity.sure.v1", Metadata(summary="s", goal="g", modality="mask", source="ours")

        def __call__(self, *_: object) -> Identity:
            return Identity(match=0.0, note="it is another thing")

    judge = "cascade:cues,prompted"
    judged_verdict = auscult.audit_mask(frame, mask, text="the dog", judge=judge, policy="paper")
    settled = auscult.audit_mask(frame, mask, text="the dog", judge=judge, policy="paper", identity=IdentityCheck())
    assert (judged_verdict.judged_by, settled.judged_by) == ("masks.prompted.v1", "masks.cues.v1")
    assert (settled.defect, settled.action) == ("full_neg", "reject")


@pytest.mark.slow
def test_a_cascade_is_a_row_of_the_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)
    program = tmp_path / "judge.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'id': asked['id'], 'iou': 0.5, 'mask_type': 'merge'}), flush=True)\n"
    )
    suite_run = suites.run("mqa", data="scenes", count=2, seed=3, protocols=("image",), workers=0, out=tmp_path / "out",
                      judges=("cues", f"cascade:cues,command:{sys.executable} {program}"))  # fmt: skip
    name = "cascade.masks.cues.v1+command.judge"
    assert "command.judge" in {row["judged_by"] for row in rows(suite_run.out / "judges" / name / "verdicts.jsonl")}
    assert [row[0] for row in suite_run.tables["costs"].rows] == ["masks.cues.v1", name]
    assert rows(suite_run.out / "timing.jsonl")
    assert suite_run.summary.failed == 0
