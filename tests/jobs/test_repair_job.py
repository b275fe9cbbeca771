"""`act repair`: what it leaves, what it changes, what it writes, and that it never reads truth."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.cases.listing import list_items
from auscult.errors import Mismatch, RecordError, UsageError
from auscult.jobs.act import filter_record
from auscult.jobs.audit import audit_folder
from auscult.jobs.finish import picture_name, report_folder
from auscult.jobs.options import AuditOptions, FilterOptions, RepairOptions, StressOptions
from auscult.jobs.repair import REPAIRS, Scores, compared, repair_record
from auscult.jobs.stress import stress_masks
from auscult.media.rle import decode
from auscult.media.wav import encode_wav
from auscult.record.folder import read_manifest
from auscult.record.manifest import argument
from small_inputs import LEFT, RIGHT, auscult, folder_input, item, rows, save_frame, save_mask, tree, write_lines

MODEL = '''
import os
import numpy as np

def predict(frames, query):
    """The left ellipse of the tests' frames, whatever is asked for."""
    if query.text == "die":
        os._exit(3)
    if query.text == "raise":
        raise ZeroDivisionError("division by zero")
    rows, columns = np.ogrid[:48, :64]
    found = ((rows - 24) / 14) ** 2 + ((columns - 18) / 11) ** 2 <= 1
    return np.repeat((found if query.text != "nothing" else found & False)[None], len(frames), axis=0)
'''


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of stressed masks with truth, judged by `cues`, which is made to think little of cutouts."""
    folder = tmp_path_factory.mktemp("audited")
    folder_input(folder / "in", ("a", "b"))
    stress_masks(StressOptions(source=folder / "in", out=folder / "stressed", workers=0))
    audit_folder(AuditOptions(source=folder / "stressed", out=folder / "out", judge="cues", alone=True, workers=0))
    doubted = {"defect": "cutout", "action": "major_revision", "iou_low": 0.05}
    path = folder / "out" / "verdicts.jsonl"
    write_lines(path, *(row | doubted if "cutout" in row["id"] else row for row in rows(path)))
    return folder / "out"


def masks_of(record: Path) -> dict[str, np.ndarray]:
    return {row["id"]: decode(row["segmentation"]) for row in rows(record / "masks.jsonl")}


def repaired(record: Path, out: Path, **options: object) -> Path:
    repair_record(RepairOptions(folder=record, out=out, workers=0, **options))
    return out


@pytest.fixture(scope="module")
def repaired_record(audited: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repaired(audited, tmp_path_factory.mktemp("done") / "out")


def test_accepted_masks_stay_and_every_other_one_is_tried_once(audited: Path, repaired_record: Path) -> None:
    before, after = masks_of(audited), masks_of(repaired_record)
    verdicts = {row["id"]: row for row in rows(audited / "verdicts.jsonl")}
    repair_of = {row["id"]: row for row in rows(repaired_record / REPAIRS)}
    assert repair_of.keys() == {name for name, row in verdicts.items() if row["action"] not in {"accept", "unjudged"}}
    kept_rows = {name: row for name, row in repair_of.items() if row["kept"] is not None}
    assert kept_rows, "nothing was repaired, so that this test shows nothing"
    assert before.keys() == after.keys()
    for name, mask in before.items():
        unchanged = np.array_equal(mask, after[name])
        assert unchanged != (name in kept_rows)
    new = {row["id"]: row for row in rows(repaired_record / "verdicts.jsonl")}
    for name, row in verdicts.items():
        if name not in kept_rows:
            assert new[name] == row


def test_every_attempt_is_on_record_with_reason_mask_and_verdict(audited: Path, repaired_record: Path) -> None:
    before = {row["id"]: row for row in rows(audited / "verdicts.jsonl")}
    new = {row["id"]: row for row in rows(repaired_record / "verdicts.jsonl")}
    after = masks_of(repaired_record)
    for row in rows(repaired_record / REPAIRS):
        assert row["before"]["iou_low"] == pytest.approx(before[row["id"]]["iou_low"], abs=1e-6)
        for attempt in row["attempts"]:
            assert attempt["reason"]
            assert decode(attempt["segmentation"]).any()
            assert attempt["verdict"]["judge"] == "masks.cues.v1"
        if row["kept"] is not None:
            (kept_attempt,) = [attempt for attempt in row["attempts"] if attempt["kept"]]
            assert kept_attempt["attempt"] == row["kept"]
            assert np.array_equal(decode(kept_attempt["segmentation"]), after[row["id"]])
            assert kept_attempt["verdict"]["iou_low"] > row["before"]["iou_low"]
            assert new[row["id"]]["iou"] == kept_attempt["verdict"]["iou"]
            assert new[row["id"]]["repair"]["attempt"] == row["kept"]


def test_what_comes_out_is_a_record_an_input_and_coco(repaired_record: Path, tmp_path: Path) -> None:
    listing = list_items(repaired_record)
    assert not listing.errors
    after = masks_of(repaired_record)
    assert {item.id for item in listing.items} == after.keys()
    audit_folder(AuditOptions(source=repaired_record, out=tmp_path / "again", judge="cues", alone=True, workers=0))
    second_verdicts = {row["id"]: row for row in rows(tmp_path / "again" / "verdicts.jsonl")}
    for row in rows(repaired_record / REPAIRS):
        if row["kept"] is not None:
            (kept_verdict,) = [attempt["verdict"] for attempt in row["attempts"] if attempt["kept"]]
            assert {key: second_verdicts[row["id"]][key] for key in ("iou", "defect", "action")} == {
                key: kept_verdict[key] for key in ("iou", "defect", "action")
            }
    coco = json.loads((repaired_record / "repaired.coco.json").read_text())
    assert len(coco["annotations"]) == len(after)
    assert filter_record(FilterOptions(folder=repaired_record, out=tmp_path / "kept")).total == len(after)
    assert (repaired_record / "report.html").stat().st_size > 10_000
    picture_names = {path.name for path in (repaired_record / "pictures").iterdir()}
    assert {Path(picture_name(row["id"])).name for row in rows(repaired_record / REPAIRS)} <= picture_names


def test_a_repair_of_a_repaired_record_still_knows_the_truth_of_its_input(
    repaired_record: Path, tmp_path: Path
) -> None:
    summary = json.loads((repaired_record / "summary.json").read_text())
    again = repaired(repaired_record, tmp_path / "again")
    table = json.loads((again / "tables" / "before_after.json").read_text())
    first = json.loads((repaired_record / "tables" / "before_after.json").read_text())
    assert table["rows"][0][1:] == first["rows"][1][1:]
    assert {row["id"] for row in rows(again / "truth.jsonl")} == {
        row["id"] for row in rows(repaired_record / "truth.jsonl")
    }
    assert "repair_gain_j_all" in summary["metrics"]


def test_a_repaired_mask_has_the_iou_that_it_has_now_and_no_defect_of_the_mask_before(
    audited: Path, repaired_record: Path, tmp_path: Path
) -> None:
    before = {row["id"]: row for row in rows(audited / "truth.jsonl")}
    changed = {row["id"] for row in rows(repaired_record / REPAIRS) if row["kept"] is not None}
    assert changed
    assert changed < before.keys()
    for record in (repaired_record, repaired(repaired_record, tmp_path / "again")):
        for row in rows(record / "truth.jsonl"):
            if row["id"] not in changed:
                assert row == before[row["id"]]
                continue
            assert row["iou"] != before[row["id"]]["iou"]
            assert (row["defect"], row["difficulty"], row["action"]) == (None, None, None)


def test_a_report_written_anew_keeps_what_the_repair_gained(repaired_record: Path, tmp_path: Path) -> None:
    record = shutil.copytree(repaired_record, tmp_path / "copy")
    before = json.loads((record / "summary.json").read_text())
    assert "repair_gain_j_all" in before["metrics"]
    report_folder(record)
    assert json.loads((record / "summary.json").read_text()) == before
    (record / "summary.json").write_text("{")
    assert "repair_gain_j_all" not in report_folder(record).metrics


def test_a_mask_that_was_repaired_before_is_repaired_again(
    audited: Path, repaired_record: Path, tmp_path: Path
) -> None:
    (kept_id, *_) = (row["id"] for row in rows(repaired_record / REPAIRS) if row["kept"] is not None)
    once = shutil.copytree(audited, tmp_path / "once")
    earlier = {"repair": {"attempt": "fill", "before": {}}}
    kept_rows = [row | earlier if row["id"] == kept_id else row for row in rows(once / "verdicts.jsonl")]
    write_lines(once / "verdicts.jsonl", *kept_rows)
    new = {row["id"]: row for row in rows(repaired(once, tmp_path / "out") / "verdicts.jsonl")}
    assert (
        new[kept_id]["repair"]
        == {row["id"]: row for row in rows(repaired_record / "verdicts.jsonl")}[kept_id]["repair"]
    )


def test_the_loop_reads_no_truth(audited: Path, repaired_record: Path, tmp_path: Path) -> None:
    blind = tmp_path / "blind"
    shutil.copytree(audited, blind)
    for name in ("truth.jsonl", "scores.jsonl"):
        (blind / name).unlink()
    hidden = tmp_path / "hidden"
    shutil.copytree(audited.parent / "stressed", hidden)
    lines = [{key: value for key, value in row.items() if key != "truth"} for row in rows(hidden / "items.jsonl")]
    write_lines(hidden / "items.jsonl", *lines)
    shutil.rmtree(hidden / "truth")
    text = (blind / "manifest.json").read_text()
    (blind / "manifest.json").write_text(text.replace(str(audited.parent / "stressed"), str(hidden)))
    repaired_folder = repaired(blind, tmp_path / "out")

    def timeless(record: Path) -> list[dict[str, object]]:
        return json.loads(json.dumps(rows(record / REPAIRS)), object_hook=lambda row: row | {"seconds": 0})

    assert timeless(repaired_folder) == timeless(repaired_record)
    assert not (repaired_folder / "before_after.jsonl").exists()
    assert (repaired_record / "before_after.jsonl").exists()


def test_the_same_command_goes_on_and_loses_nothing(audited: Path, repaired_record: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(repaired_record, out)
    lines = (out / REPAIRS).read_bytes().split(b"\n")
    (out / REPAIRS).write_bytes(b"\n".join(lines[:2]) + b"\n" + lines[2][:40])  # as a killed run leaves it
    repaired(audited, out)
    assert {row["id"]: row["kept"] for row in rows(out / REPAIRS)} == {
        row["id"]: row["kept"] for row in rows(repaired_record / REPAIRS)
    }
    assert {name: mask.tobytes() for name, mask in masks_of(out).items()} == {
        name: mask.tobytes() for name, mask in masks_of(repaired_record).items()
    }
    assert len(rows(out / "before_after.jsonl")) == len(rows(repaired_record / "before_after.jsonl"))


def test_a_model_that_was_never_asked_is_named(audited: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    out = repaired(audited, tmp_path / "out", model=f"{tmp_path / 'model.py'}:predict")
    note = json.loads((out / "tables" / "attempts.json").read_text())["note"]
    assert "segmented nothing anew: no rejected mask has an expression" in note
    made = [row["attempts"] for row in rows(out / REPAIRS)]
    assert not all(made)
    assert note.startswith(f"to repair: {len(made)} masks; tried: {sum(map(bool, made))}; ")


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """Three masks of the right ellipse where the left one is meant, one of each of them empty or asked to fail."""
    for number, name in enumerate(("a", "b", "c", "d")):
        save_frame(tmp_path / "in" / "frames" / f"{name}.png", seed=number)
        save_mask(tmp_path / "in" / "masks" / f"{name}.png", RIGHT)
        save_mask(tmp_path / "in" / "truth" / f"{name}.png", LEFT)
    save_mask(tmp_path / "in" / "masks" / "d.png", RIGHT & ~RIGHT)
    texts = {"a": "the left ellipse", "b": "die", "c": "raise", "d": "the left ellipse"}
    lines = [
        {"id": name, "frame": f"frames/{name}.png", "mask": f"masks/{name}.png", "text": text,
         "truth": {"mask": f"truth/{name}.png"}, "mqa": {"split": "test_s" if name < "c" else "test_u"}}
        for name, text in texts.items()
    ]  # fmt: skip
    write_lines(tmp_path / "in" / "items.jsonl", *lines)
    audit_folder(AuditOptions(source=tmp_path / "in", out=tmp_path / "out", judge="cues", workers=0))
    path = tmp_path / "out" / "verdicts.jsonl"
    changes = {"defect": "full_neg", "action": "reject", "iou": 0.02, "iou_low": 0.0, "target": "the left ellipse"}
    verdict_rows = rows(path)
    write_lines(path, *(row if row["id"] == "d" else row | changes | {"target": row["text"]} for row in verdict_rows))
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


@pytest.mark.slow
def test_a_model_that_takes_its_process_along_costs_its_item(wrong: Path) -> None:
    options = ("--model", f"{wrong / 'model.py'}:predict", "--workers", "1", "--max-failed", "2")
    result = auscult("act", "repair", wrong / "out", *options)
    assert result.code == 0, result.err
    check_anew(wrong / "out-repaired")


@pytest.mark.parametrize("policy", [None, "paper"])
def test_rejects_are_segmented_anew_and_a_model_that_fails_costs_its_item(wrong: Path, policy: str | None) -> None:
    (wrong / "model.py").write_text(MODEL.replace("os._exit(3)", "raise ZeroDivisionError"))
    out = repaired(wrong / "out", wrong / "repaired", model=f"{wrong / 'model.py'}:predict", policy=policy)
    check_anew(out, policy)


def check_anew(out: Path, policy: str | None = None) -> None:
    masks = masks_of(out)
    assert np.array_equal(masks["a"], LEFT)
    assert "nothing anew" not in (out / "tables" / "attempts.json").read_text()
    assert np.array_equal(masks["b"], RIGHT)
    assert np.array_equal(masks["c"], RIGHT)
    assert np.array_equal(masks["d"], LEFT) == (policy is None)  # the paper says nothing of empty masks
    failed = {row["id"]: row for row in rows(out / "errors.jsonl")}
    assert failed.keys() == {"b", "c"}
    assert json.loads((out / "summary.json").read_text())["failed"] == 2
    assert len(rows(out / "verdicts.jsonl")) == 4
    table = json.loads((out / "tables" / "before_after.json").read_text())
    assert table["header"] == ["", *(f"{part}, {name}" for part in ("seen", "unseen") for name in ("J", "F", "J&F"))]
    assert table["rows"][0][1:3] == ["0.0", table["rows"][0][2]]
    assert table["rows"][1][1] == "50.0"


def test_as_in_the_paper_what_is_kept_may_be_worse(wrong: Path) -> None:
    before = rows(wrong / "out" / "verdicts.jsonl")
    raised_rows = [row | {"iou_low": 0.9, "iou": 0.95, "iou_high": 0.97} if row["id"] == "a" else row for row in before]
    write_lines(wrong / "out" / "verdicts.jsonl", *(row for row in raised_rows if row["id"] in {"a", "d"}))
    manifest = wrong / "out" / "summary.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"ok": 2}))
    model = f"{wrong / 'model.py'}:predict"
    bound = repaired(wrong / "out", wrong / "bound", model=model)
    paper = repaired(wrong / "out", wrong / "paper", model=model, policy="paper")
    assert np.array_equal(masks_of(bound)["a"], RIGHT)
    assert np.array_equal(masks_of(paper)["a"], LEFT)


def test_as_in_the_paper_a_clip_is_segmented_anew_as_a_whole(wrong: Path) -> None:
    clip_row = {"frames": ["a", "d"], "defect": "full_neg"}  # of which "d" is not called so as a frame
    spared = {"frames": ["b", "c"], "defect": "cutout"}  # though both are called so as frames
    write_lines(wrong / "out" / "clips.jsonl", clip_row, spared)
    out = repaired(wrong / "out", wrong / "repaired", model=f"{wrong / 'model.py'}:predict", policy="paper")
    assert {row["id"] for row in rows(out / REPAIRS)} == {"a", "d"}


def test_the_record_is_not_changed_and_another_judge_is_refused(audited: Path, tmp_path: Path) -> None:
    before = tree(audited)
    with pytest.raises(Mismatch, match=r"judged by masks\.cues\.v1"):
        repaired(audited, tmp_path / "x", judge="compact")
    with pytest.raises(RecordError, match="lies in the record"):
        repaired(audited, audited / "inside")
    with pytest.raises(UsageError, match="no policy"):
        repaired(audited, tmp_path / "x", policy="lenient")
    with pytest.raises(UsageError, match="segmented anew"):
        repaired(audited, tmp_path / "x", policy="paper")
    assert tree(audited) == before
    assert not (tmp_path / "x").exists()


def test_a_frame_that_is_gone_costs_its_items_and_their_masks_stay(audited: Path, tmp_path: Path) -> None:
    record, source = tmp_path / "out", tmp_path / "stressed"
    shutil.copytree(audited, record)
    shutil.copytree(audited.parent / "stressed", source)
    text = (record / "manifest.json").read_text()
    (record / "manifest.json").write_text(text.replace(str(audited.parent / "stressed"), str(source)))
    shutil.rmtree(source)
    out = repaired(record, tmp_path / "repaired")
    assert {name: mask.tobytes() for name, mask in masks_of(out).items()} == {
        name: mask.tobytes() for name, mask in masks_of(record).items()
    }
    failed = {row["id"] for row in rows(out / "errors.jsonl")}
    assert failed == masks_of(record).keys()  # none of them is among the frames that are written
    assert json.loads((out / "summary.json").read_text())["failed"] == len(failed)
    assert read_manifest(out)["command"] == "act repair"


PROGRAM = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "iou": 0.99, "mask_type": "perfect"}), flush=True)
"""


def test_a_cascade_judges_attempts_as_it_judged_masks(audited: Path, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(PROGRAM)
    judge = f"cascade:cues,command:{sys.executable} {tmp_path / 'judge.py'}"
    record, stressed = tmp_path / "out", audited.parent / "stressed"
    audit_folder(AuditOptions(source=stressed, out=record, judge=judge, alone=True, workers=0))
    path = record / "verdicts.jsonl"
    doubted = {"defect": "cutout", "action": "major_revision", "iou_low": 0.05}
    write_lines(path, *(row | doubted if "cutout" in row["id"] else row for row in rows(path)))
    with pytest.raises(Mismatch, match="its name alone is not that judge") as error:
        repaired(record, tmp_path / "x")
    assert "cascade:CHEAP,DEAR" in error.value.hint
    repairs = rows(repaired(record, tmp_path / "repaired", judge=judge) / REPAIRS)
    verdicts = [attempt["verdict"] for row in repairs for attempt in row["attempts"]]
    assert {verdict["judge"] for verdict in verdicts} == {"cascade.masks.cues.v1+command.judge"}
    second_judge_ious = [verdict["iou"] for verdict in verdicts if verdict["judged_by"] == "command.judge"]
    assert second_judge_ious, "every attempt was clear to the first judge, so that this test shows nothing"
    assert set(second_judge_ious) == {0.99}


def test_replies_in_files_are_refused_before_anything_is_tried(audited: Path, tmp_path: Path) -> None:
    reply = {"iou": 0.5, "mask_type": "cutout", "action": "major_revision"}
    names = [row["id"] for row in rows(audited / "verdicts.jsonl")]
    judge = f"replies:{write_lines(tmp_path / 'sheet.jsonl', *({'id': name, **reply} for name in names))}"
    audit_folder(AuditOptions(source=audited.parent / "stressed", out=tmp_path / "out", judge=judge, workers=0))
    with pytest.raises(UsageError, match="know no attempt"):
        repaired(tmp_path / "out", tmp_path / "x", judge=judge)


def test_a_mask_with_a_separated_sound_is_still_audited_with_it(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    holed = LEFT.copy()
    holed[20:28, 14:22] = False
    save_mask(source / "masks" / "a.png", holed)
    tone = 0.2 * np.sin(np.arange(8_000, dtype=np.float32) * 0.5)[None]
    for name in ("mixture", "stem"):
        (source / f"{name}.wav").write_bytes(encode_wav(tone, 8_000))
    line = item("a", text="the left ellipse", mixture="mixture.wav", separated="stem.wav")
    write_lines(source / "items.jsonl", line)
    audit_folder(AuditOptions(source=source / "items.jsonl", out=tmp_path / "out", judge="cues", workers=0))
    path = tmp_path / "out" / "verdicts.jsonl"
    doubted = {"defect": "cutout", "action": "major_revision", "iou_low": 0.05}
    write_lines(path, *(row | doubted for row in rows(path)))
    out = repaired(tmp_path / "out", tmp_path / "repaired")
    (row,) = rows(out / REPAIRS)
    assert row["kept"] == "fill"
    assert all(attempt["verdict"]["joint"]["wrong"] for attempt in row["attempts"])
    (verdict,) = rows(out / "verdicts.jsonl")
    assert verdict["joint"] == next(attempt for attempt in row["attempts"] if attempt["kept"])["verdict"]["joint"]


@pytest.mark.extra_clip
@pytest.mark.slow
def test_a_segmenter_of_the_user_s_draws_what_the_error_map_doubts(audited: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    import tiny_hf

    folder = tiny_hf.write_sam2(tmp_path / "weights")
    out = repaired(audited, tmp_path / "repaired", segmenter=f"hf:{folder}")
    attempts_ = [
        attempt for row in rows(out / REPAIRS) for attempt in row["attempts"] if attempt["attempt"] == "prompted"
    ]
    assert attempts_
    assert all(attempt["verdict"]["judge"] == "masks.cues.v1" for attempt in attempts_)
    assert set(argument(read_manifest(out), "segmenter")) >= {"config.json", "model.safetensors"}
    with pytest.raises(UsageError, match="no segmenter"):
        repaired(audited, tmp_path / "x", segmenter="sam2")


def test_a_gain_without_an_interval_says_why() -> None:
    same = [Scores(j_before=j, f_before=j, j_after=j, f_after=j, repaired=False) for j in (0.5, 0.75, 1.0)]
    changed = [replace(score, j_after=0.25 + score.j_before / 2) for score in same]
    parts = {"seen": [[score] for score in same], "unseen": [[score] for score in changed]}
    (table,) = compared(parts).tables.values()
    assert [row[0] for row in table.rows] == ["before", "after", "gain", "95 %"]
    assert table.rows[-1][1:4] == ("n/a",) * 3
    assert " to " in table.rows[-1][4]
    assert "seen: no interval, the statistic is the same in every draw; " in table.note
