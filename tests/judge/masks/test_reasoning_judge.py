"""`reasoning@FOLDER` on tiny random weights: a verdict for every mask, its interval, shared clips, less memory."""

import json
import time

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.clip_context import ClipPictures
from auscult.jobs.judges import judge_spec, load_judge
from auscult.jobs.options import AuditOptions
from auscult.types import ACTIONS, DEFECTS, Case, Prediction, Query
from small_inputs import LEFT, RIGHT, auscult, folder_input, rows, save_frame, save_mask, write_lines

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytestmark = pytest.mark.extra_train


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import build_tokenizer, tiny_config
    from auscult.nets.mq_auditor.weights import save

    torch.set_num_threads(1)
    folder_path = tmp_path_factory.mktemp("auditor")
    tokenizer = build_tokenizer(["the dog on the left"], 400)
    save(MqAuditor(tiny_config(len(tokenizer))), tokenizer, folder_path)
    (folder_path / "judge.json").write_text(json.dumps({"comment": 4}))
    return folder_path


def _cases_and_masks(count, clip=None):
    frame = np.random.default_rng(5).integers(0, 255, (24, 36, 3), np.uint8)
    cases = [Case(id=f"{index}", frame=frame, query=Query("the dog"), clip=clip) for index in range(count)]
    masks = [np.tri(24, 36, index + 1, dtype=np.bool_) for index in range(count)]
    return cases, [Prediction(mask) for mask in masks]


def test_every_mask_gets_a_verdict_and_the_judge_looks_at_clips(folder):
    judge_name = f"reasoning@{folder}"
    assert judge_spec(judge_name).needs_clip
    judge = load_judge(judge_name)
    cases, masks = _cases_and_masks(3)
    verdicts = judge.batch(cases, [*masks[:2], Prediction(np.zeros((24, 36), np.bool_))])
    assert [verdict.defect for verdict in verdicts][2] == "empty"
    for verdict in verdicts[:2]:
        assert verdict.defect in DEFECTS
        assert verdict.own_action in ACTIONS
        assert 0 <= verdict.iou <= 1
        assert verdict.iou_low is None
    fit = {"schema": 1, "split": "val", "n": 99, "low": -0.2, "high": 0.1}
    for line in ({}, {"slope": 0.5, "intercept": 0.4}):
        (folder / "calibration.json").write_text(json.dumps(fit | line))
        calibrated = load_judge(judge_name)(cases[0], masks[0])
        (folder / "calibration.json").unlink()
        stated = verdicts[0].iou
        assert calibrated.iou == pytest.approx(0.4 + 0.5 * stated if line else stated)
        assert calibrated.iou_low == pytest.approx(max(0, calibrated.iou - 0.2))


def test_thirteen_masks_of_a_clip_take_at_most_five_times_the_time_of_one(folder, tmp_path):
    frames = tuple(save_frame(tmp_path / f"{index}.png", seed=index) for index in range(4))
    judge = load_judge(f"reasoning@{folder}")
    judge(*(sequence[0] for sequence in _cases_and_masks(1)))

    def seconds(count):
        times = []
        for turn in range(3):  # each a clip that was not seen before
            cases, masks = _cases_and_masks(count, ClipPictures(f"{count}, {turn}", 1, frames))
            start_s = time.process_time()
            judge.batch(cases, masks)
            times.append(time.process_time() - start_s)
        return min(times)

    one_s, thirteen = seconds(1), seconds(13)
    print(f"thirteen masks take {thirteen / one_s:.2f} times the {one_s * 1000:.0f} ms of one")
    assert thirteen <= 5 * one_s


def test_where_memory_runs_out_batches_shrink_and_then_it_is_an_error(folder, monkeypatch):
    from auscult.nets.mq_auditor.network import MqAuditor

    judge, generate = load_judge(f"reasoning@{folder}"), MqAuditor.generate
    largest_batch = 2

    def short_of_memory(self, batch, *arguments):
        if len(batch) > largest_batch:
            raise torch.OutOfMemoryError("no memory")
        return generate(self, batch, *arguments)

    monkeypatch.setattr(MqAuditor, "generate", short_of_memory)
    assert len(judge.batch(*_cases_and_masks(5))) == 5
    largest_batch = 0
    with pytest.raises(UsageError, match="memory"):
        judge.batch(*_cases_and_masks(1))


def test_a_folder_that_is_not_there_is_an_error_before_anything_is_judged(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        judge_spec(f"reasoning@{tmp_path / 'none'}")


@pytest.mark.slow
def test_a_folder_without_a_card_is_probed_and_judges_through_the_command_line(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("auscult.jobs.probes.SCENES", 2)
    source, out = folder_input(tmp_path / "in"), tmp_path / "out"
    result = auscult("audit", source, "--judge", f"reasoning@{folder}", "--text", "the dog", "--out", out,
                   "--workers", "1")  # fmt: skip
    assert result.code == 0, result.err
    assert {row["defect"] for row in rows(out / "verdicts.jsonl")} <= set(DEFECTS)
    assert len(rows(out / "verdicts.jsonl")) == 3
    assert len(rows(out / "probes.jsonl")) == 4 * 2
    assert json.loads((out / "judge_card.json").read_text())["judge"] == "masks.reasoning.v1"
    assert '<p class="alarm" role="alert">This judge ' in (out / "report.html").read_text()


@pytest.mark.slow
def test_where_memory_runs_out_an_audit_goes_on_and_says_which_masks_failed(folder, tmp_path, monkeypatch):
    from auscult.nets.mq_auditor.network import MqAuditor

    generate = MqAuditor.generate  # the right ellipse has no room, nor has any batch

    def short_of_memory(self, batch, *arguments):
        if len(batch) > 1 or batch.masks[0, 0, 0, 16, 22] > 0:
            raise torch.OutOfMemoryError("no memory")
        return generate(self, batch, *arguments)

    monkeypatch.setattr(MqAuditor, "generate", short_of_memory)
    source, out = folder_input(tmp_path / "in"), tmp_path / "out"
    audit_folder(AuditOptions(source=source, judge=f"reasoning@{folder}", workers=0, out=out))
    assert [row["id"] for row in rows(out / "verdicts.jsonl")] == ["a", "c"]
    (error_row,) = (row for row in rows(out / "errors.jsonl") if row["stage"] == "judge")
    assert error_row["id"] == "b"
    assert "memory" in error_row["error"]


@pytest.mark.slow
def test_it_is_a_row_of_the_benchmark(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("auscult.jobs.probes.SCENES", 1)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.RANK_DRAWS", 5)
    save_mask(tmp_path / "in" / "right.png", LEFT)
    save_mask(tmp_path / "in" / "wrong.png", RIGHT)
    lines = []
    for number in range(2):
        save_frame(tmp_path / "in" / f"{number}.png", seed=number)
        for name, defect, iou in (("right", "perfect", 1.0), ("wrong", "full_neg", 0.0)):
            truth = {"iou": iou, "defect": defect, "action": "accept" if iou else "reject"}
            lines.append({"id": f"{number}/{name}", "frame": f"{number}.png", "mask": f"{name}.png", "text": "the dog",
                          "clip": str(number), "truth": truth, "mqa": {"split": "test_s"}})  # fmt: skip
    write_lines(tmp_path / "in" / "items.jsonl", *lines)
    judge, out = f"reasoning@{folder}", tmp_path / "out"
    result = auscult("run", "mqa", "--judge", judge, "--data", tmp_path / "in", "--out", out, "--workers", "1")
    assert result.code == 0, result.err
    verdict_rows = rows(out / "judges" / "masks.reasoning.v1" / "verdicts.jsonl")
    assert len(verdict_rows) == 4
    assert {row["own_action"] for row in verdict_rows} <= set(ACTIONS)
    assert "masks.reasoning.v1" in result.out
