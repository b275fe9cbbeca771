"""`reasoning@FOLDER` on tiny random weights: a verdict for every mask, its interval, shared clips, less memory."""

import json
import time

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.jobs.judges import judge_spec, load_judge
from auscult.types import ACTIONS, DEFECTS, Case, Prediction, Query

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytestmark = pytest.mark.extra_train


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import build_tokenizer
    from auscult.nets.mq_auditor.settings import tiny_config
    from auscult.nets.mq_auditor.weights import save

    torch.set_num_threads(1)
    made = tmp_path_factory.mktemp("auditor")
    tokenizer = build_tokenizer(["the dog on the left"], 400)
    save(MqAuditor(tiny_config(len(tokenizer))), tokenizer, made)
    (made / "judge.json").write_text(json.dumps({"comment": 4}))
    return made


def _shown(count):
    frame = np.random.default_rng(5).integers(0, 255, (24, 36, 3), np.uint8)
    cases = [Case(id=f"{at}", frame=frame, query=Query("the dog")) for at in range(count)]
    masks = [np.tri(24, 36, at + 1, dtype=np.bool_) for at in range(count)]
    return cases, [Prediction(mask) for mask in masks]


def test_every_mask_gets_a_verdict_and_the_judge_looks_at_clips(folder):
    given = f"reasoning@{folder}"
    assert judge_spec(given).needs_clip
    judge = load_judge(given)
    cases, masks = _shown(3)
    verdicts = judge.batch(cases, [*masks[:2], Prediction(np.zeros((24, 36), np.bool_))])
    assert [one.defect for one in verdicts][2] == "empty"
    for one in verdicts[:2]:
        assert one.defect in DEFECTS
        assert one.own_action in ACTIONS
        assert 0 <= one.iou <= 1
        assert one.iou_low is None
    (folder / "calibration.json").write_text(
        json.dumps({"schema": 1, "split": "val", "n": 99, "low": -0.2, "high": 0.1})
    )
    told = load_judge(given)(cases[0], masks[0])
    (folder / "calibration.json").unlink()
    assert told.iou_low == pytest.approx(max(0, told.iou - 0.2))


def test_thirteen_masks_of_a_clip_take_at_most_five_times_the_time_of_one(folder):
    judge = load_judge(f"reasoning@{folder}")
    cases, masks = _shown(13)
    judge(cases[0], masks[0])

    def seconds(count):
        times = []
        for _ in range(3):
            begun = time.process_time()
            judge.batch(cases[:count], masks[:count])
            times.append(time.process_time() - begun)
        return min(times)

    assert seconds(13) <= 5 * seconds(1)


def test_where_memory_runs_out_batches_shrink_and_then_it_is_an_error(folder, monkeypatch):
    from auscult.nets.mq_auditor.network import MqAuditor

    judge, generate = load_judge(f"reasoning@{folder}"), MqAuditor.generate
    most = 2

    def short_of_memory(self, batch, *rest):
        if len(batch) > most:
            raise torch.OutOfMemoryError("no memory")
        return generate(self, batch, *rest)

    monkeypatch.setattr(MqAuditor, "generate", short_of_memory)
    assert len(judge.batch(*_shown(5))) == 5
    most = 0
    with pytest.raises(UsageError, match="memory"):
        judge.batch(*_shown(1))


def test_a_folder_that_is_not_there_is_an_error_before_anything_is_judged(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        judge_spec(f"reasoning@{tmp_path / 'none'}")
