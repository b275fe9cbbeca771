"""MQ-Auditor in training, on its tiny configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("accelerate", reason="the extra `train` is not installed")
pytest.importorskip("transformers", reason="the extra `clip` is not installed")
pytest.importorskip("peft", reason="the extra `train` is not installed")

import torch
import yaml

from auscult.errors import InputError, UsageError
from auscult.jobs.clip_context import ClipIndex
from auscult.jobs.options import TrainOptions
from auscult.nets.mq_auditor.inputs import AuditorBatch
from auscult.nets.mq_auditor.prompt import tiny_config
from auscult.nets.mq_auditor.weights import load
from auscult.train import recipes
from auscult.train.mq_auditor import loop as settings
from auscult.train.mq_auditor.loop import MODEL, AuditorTrainer, rows
from auscult.train.trainer import LOSSES, STATE
from auscult.types import Item
from small_inputs import folder_input, write_lines
from small_inputs import item as line

pytestmark = pytest.mark.extra_train
KEYS = ("language", "vision", "sound", "frames", "seconds", "queries", "qformer_width", "qformer_heads", "lora_rank")
KINDS = {"perfect": (1.0, "accept"), "erode": (0.87, "minor_revision"), "full_neg": (0.0, "reject")}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> TrainOptions:
    root = tmp_path_factory.mktemp("mq-auditor")
    folder_input(root)
    lines = [
        {
            **line(f"{video}{kind}"),
            "clip": f"v{video}",
            "text": "the dog that barks",
            "truth": {"iou": iou, "defect": kind, "action": action},
            "mqa": {"uid": f"u{video}", "split": "train", "category": "dog", "negative": "cat"},
        }
        for video in range(16)
        for kind, (iou, action) in KINDS.items()
    ]
    write_lines(root / "items.jsonl", *lines)
    tiny = tiny_config(1).to_dict()
    del tiny["language"]["vocab_size"]  # that of the words that are there
    write_settings(root / "tiny.yaml", network={key: tiny[key] for key in KEYS})
    return TrainOptions(
        name="mq-auditor", out=root / "out", data=root, config=str(root / "tiny.yaml"), threads=1, workers=0
    )


def write_settings(path: Path, **fields: object) -> None:
    plain = {"learns": "all", "epochs": 2, "batch": 4, "small_batch": 2, "rate": 1e-3, "precision": "no"}
    path.write_text(yaml.safe_dump({**plain, **fields}))


def losses(out: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (out / LOSSES).read_text().splitlines()]


@pytest.mark.parametrize("row", rows())
@pytest.mark.slow
def test_every_row_of_the_ablations_starts(row: str, options: TrainOptions, tmp_path: Path) -> None:
    run_options = replace(options, config=f"{options.config}+{row}", out=tmp_path, samples=4)
    list(recipes.run(run_options))
    assert len(losses(tmp_path)) == 1
    plan = json.loads((tmp_path / "plan.json").read_text())["plan"]
    for key, value in rows()[row].items():
        assert plan[key] == value or all(plan[key][name] == setting for name, setting in value.items())


def test_killed_and_resumed_it_has_the_losses_of_an_undisturbed_run(
    options: TrainOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(recipes.run(options))
    straight_losses = losses(options.out)
    assert len(straight_losses) == 6
    assert straight_losses[-1] < straight_losses[0]
    second_run, learn = replace(options, out=tmp_path), AuditorTrainer.learn

    def stop_midway(trainer: AuditorTrainer, batch: object) -> dict[str, float]:
        if trainer.step == 4:
            raise KeyboardInterrupt
        return learn(trainer, batch)

    monkeypatch.setattr("auscult.train.trainer.SAVED_EVERY_S", 0.0)
    monkeypatch.setattr(AuditorTrainer, "learn", stop_midway)
    with pytest.raises(KeyboardInterrupt):
        list(recipes.run(second_run))
    monkeypatch.setattr(AuditorTrainer, "learn", learn)
    list(recipes.run(second_run))
    assert losses(tmp_path) == straight_losses
    (first, _), (second, _) = load(options.out / MODEL), load(tmp_path / MODEL)
    assert all(torch.equal(value, second.state_dict()[name]) for name, value in first.state_dict().items())
    with pytest.raises(InputError, match="other settings: seed"):
        list(recipes.run(replace(options, seed=5)))


def test_small_batches_in_turn_are_one_step(options: TrainOptions, tmp_path: Path) -> None:
    first_losses = []
    for size in (2, 4):
        config = tmp_path / f"{size}.yaml"
        write_settings(config, small_batch=size, network=yaml.safe_load(Path(options.config).read_text())["network"])
        list(recipes.run(replace(options, config=str(config), out=tmp_path / str(size), samples=4)))
        first_losses.append(losses(tmp_path / str(size))[0])
        state = torch.load(tmp_path / str(size) / STATE, weights_only=True)
        assert state["step"] == 1
        assert len(losses(tmp_path / str(size))) == 1
    assert first_losses[0] == pytest.approx(
        first_losses[1], rel=0.05
    )  # masks are drawn again; the first loss is that of chance


def test_without_weights_to_start_from_the_papers_settings_are_refused(options: TrainOptions, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="weights that MQ-Auditor starts from") as error:
        list(recipes.run(replace(options, config="paper", out=tmp_path)))
    assert "mq-auditor@FOLDER" in str(error.value.expected)
    (tmp_path / "base" / "language").mkdir(parents=True)
    with pytest.raises(UsageError, match="vision, sound"):
        list(recipes.run(replace(options, config="paper", out=tmp_path, model=f"mq-auditor@{tmp_path / 'base'}")))


@pytest.mark.slow
def test_projectors_first_then_answers(options: TrainOptions, tmp_path: Path) -> None:
    list(recipes.run(replace(options, out=tmp_path / "base", samples=4)))
    start = f"mq-auditor@{tmp_path / 'base' / MODEL}"
    network = yaml.safe_load(Path(options.config).read_text())["network"]
    for stage in ("captions", "answers"):
        write_settings(tmp_path / "stage.yaml", learns=stage, network=network)
        out = tmp_path / stage
        list(recipes.run(replace(options, config=str(tmp_path / "stage.yaml"), out=out, samples=8, model=start)))
        assert len(losses(out)) == 2
        state = torch.load(out / STATE, weights_only=True)
        assert not any(name.startswith("vision.") for name in state["net"])
        assert any("lora_" in name for name in state["net"]) == (stage == "answers")


def test_the_calibration_leads_from_the_stated_iou_to_the_true_one(
    options: TrainOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = settings.read_plan(options.config)
    units, listing = settings.read_units(options.material(), plan)
    net, tokenizer = settings.build(options.model, plan, units)
    feed = settings.AuditorFeed(units, ClipIndex.of(listing), plan, seed=0)
    seen, sample = list[float](), feed.sample

    def recorded(item: Item) -> settings.Sample:
        seen.append(sample(item).iou)
        return sample(item)

    def stated(batch: AuditorBatch, *_: object, **__: object) -> list[list[str]]:
        ious = seen[-len(batch) :]
        return [[f"<iou>{0.25 + 0.5 * iou}</iou><mask_type>erode</mask_type>"] for iou in ious]

    monkeypatch.setattr(feed, "sample", recorded)
    monkeypatch.setattr(net, "generate", stated)
    (path,) = settings.calibrated(net, tokenizer, feed, folder=tmp_path)
    fit = json.loads(path.read_text())
    assert fit["n"] == len(seen) == 48
    assert [fit[key] for key in ("slope", "intercept", "low", "high")] == pytest.approx([2, -0.5, 0, 0])


@pytest.mark.parametrize("name", ["processes", "fsdp", "deepspeed"])
def test_settings_of_several_processes_are_known_to_accelerate(name: str) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    accelerate_config = load_config_from_file(str(Path(settings.__file__).with_name(f"{name}.yaml")))
    assert accelerate_config.num_processes == 4
    assert accelerate_config.mixed_precision == "bf16"
