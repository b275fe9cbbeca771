"""Training MQ-Auditor to look before it speaks, on its tiny configuration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("accelerate", reason="the extra `train` is not installed")
pytest.importorskip("transformers", reason="the extra `clip` is not installed")
pytest.importorskip("peft", reason="the extra `train` is not installed")

import torch
import yaml

from auscult.jobs.options import TrainOptions
from auscult.nets.mq_auditor.prompt import tiny_config
from auscult.nets.mq_auditor.weights import load
from auscult.train import recipes
from auscult.train.mq_auditor.loop import MODEL, AuditorPlan, AuditorTrainer, read_plan
from auscult.train.trainer import LOSSES
from small_inputs import folder_input, write_lines
from small_inputs import item as line

pytestmark = pytest.mark.extra_train
KEYS = ("language", "vision", "sound", "frames", "seconds", "queries", "qformer_width", "qformer_heads")


@pytest.fixture
def options(tmp_path: Path) -> TrainOptions:
    torch.set_num_threads(1)
    folder_input(tmp_path)
    lines = [
        {
            **line(f"{video}{kind}"),
            "clip": f"v{video}",
            "text": "the dog that barks",
            "truth": {"iou": iou, "defect": kind, "action": action},
            "mqa": {"uid": f"u{video}", "split": "train", "category": "dog", "negative": "cat"},
        }
        for video in range(4)
        for kind, iou, action in (("perfect", 1.0, "accept"), ("full_neg", 0.0, "reject"))
    ]
    write_lines(tmp_path / "items.jsonl", *lines)
    tiny = tiny_config(1).to_dict()
    del tiny["language"]["vocab_size"]  # that of the words that are there
    plan = {"learns": "all", "auxiliary": 0.5, "comment": False, "batch": 4, "small_batch": 2, "precision": "no"}
    network = {**{key: tiny[key] for key in KEYS}, "stem": True, "lora_rank": 0}
    (tmp_path / "auxiliary.yaml").write_text(yaml.safe_dump({**plan, "network": network}))
    config = str(tmp_path / "auxiliary.yaml")
    return TrainOptions(
        name="mq-auditor", out=tmp_path / "out", data=tmp_path, config=config, samples=16, threads=1, workers=0
    )


def rows_of(out: Path) -> list[dict[str, float]]:
    return [json.loads(text) for text in (out / LOSSES).read_text().splitlines()]


def interrupt(options: TrainOptions, monkeypatch: pytest.MonkeyPatch, *, at: int) -> None:
    """Train until a step, and stop there as one who interrupts it would."""
    learn = AuditorTrainer.learn

    def stopping(trainer: AuditorTrainer, batch: object) -> dict[str, float]:
        if trainer.step == at:
            raise KeyboardInterrupt
        return learn(trainer, batch)

    with monkeypatch.context() as patch:
        patch.setattr("auscult.train.trainer.SAVED_EVERY_S", 0.0)
        patch.setattr(AuditorTrainer, "learn", stopping)
        with pytest.raises(KeyboardInterrupt):
            list(recipes.run(options))


def test_words_come_after_looking_and_both_are_resumed(
    options: TrainOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(recipes.run(options))
    rows = rows_of(options.out)
    assert [set(row) for row in rows[:2]] == [{"step", "loss", "auxiliary"}] * 2
    assert [set(row) for row in rows[2:]] == [{"step", "loss", "auxiliary", "words", "iou"}] * 2
    net, _ = load(options.out / MODEL)
    assert net.config.stem
    assert not any(name.startswith("auxiliary.") for name in net.state_dict())
    resumed = replace(options, out=tmp_path / "resumed")
    interrupt(resumed, monkeypatch, at=1)
    list(recipes.run(resumed))
    assert rows_of(resumed.out) == rows


def test_the_rate_rises_and_falls_in_each_part() -> None:
    plain, plan = AuditorPlan(warmup=0.1, rate=1.0), AuditorPlan(auxiliary=0.4, warmup=0.1, rate=1.0)
    rates = [plan.rate_at(step, 100) for step in range(100)]
    assert rates[:40] == [plain.rate_at(step, 40) for step in range(40)]
    assert rates[40:] == [plain.rate_at(step, 60) for step in range(60)]


def test_only_the_small_settings_look_first_and_captions_cannot() -> None:
    assert [read_plan(name).auxiliary for name in ("paper", "release", "projectors", "small")] == [0.0, 0.0, 0.0, 0.5]
    with pytest.raises(ValueError, match="no masks"):
        AuditorPlan(auxiliary=0.4, learns="captions")
