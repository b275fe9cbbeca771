"""SAJ in training, on its smallest configuration."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("accelerate", reason="the extra `train` is not installed")
pytest.importorskip("transformers", reason="the extra `clip` is not installed")
pytest.importorskip("peft", reason="the extra `train` is not installed")

import torch
import yaml

from auscult.errors import InputError, UsageError
from auscult.jobs.judges import load_sound_judge
from auscult.jobs.options import TrainOptions
from auscult.media.wav import encode_wav
from auscult.nets.saj.settings import SajDesign
from auscult.nets.saj.weights import begin
from auscult.rng import generator
from auscult.train import recipes
from auscult.train.saj.loop import SajTrainer
from auscult.train.saj.samples import Listed, Made, SajFeed, SajPlan, Source, read_items, read_plans
from auscult.train.trainer import LOSSES
from auscult.types import SoundCase

pytestmark = pytest.mark.extra_train
RATE_HZ = 16_000
_TEXT = {"model_type": "modernbert", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
         "intermediate_size": 16}  # fmt: skip
_DESIGN = {"audio": {"kind": "mel", "width": 16, "halvings": 3, "layers": 1, "heads": 2}, "text": _TEXT,
           "text_layer": -1, "vision": None, "width": 16, "heads": 2, "layers": 1}  # fmt: skip
_PLAN = {"design": _DESIGN, "prompts": ["text", "spans"], "tokens": 80, "parts": 2, "updates": 4, "warmup": 2,
         "rate": 1e-3, "precision": "no"}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Mixtures of a hum and of noise, of several domains, with stems and outputs of known worth."""
    root, lines = tmp_path_factory.mktemp("saj"), []
    for number in range(30):
        rng = generator(0, "saj training", number)
        times = np.arange(round(RATE_HZ * (0.4 + 0.2 * (number % 3)))) / RATE_HZ
        hum = (0.2 * np.sin(times * (600 + 40 * number))).astype(np.float32)
        noise = (0.1 * rng.standard_normal(times.size)).astype(np.float32)
        sounds = {"mixture": hum + noise, "hum": hum, "noise": noise, "output": hum + (number % 5) * 0.2 * noise}
        for name, sound in sounds.items():
            (root / f"{name}{number}.wav").write_bytes(encode_wav(sound, RATE_HZ))
        overall = 5.0 - number % 5
        scores = {"recall": 5.0, "precision": overall, "faithfulness": 4.0, "overall": overall}
        stems = {"stem": f"hum{number}.wav", "others": {"noise": f"noise{number}.wav"}}
        lines.append({
            "id": str(number), "mixture": f"mixture{number}.wav", "separated": f"output{number}.wav", "text": "humming",
            "spans_s": [["+", 0.0, 0.2]], "domain": ["speech", "music", "sound"][number % 3], "split": "train",
            "truth": {**stems, **scores, "difficulty": {"counting": 1.0}},
        })  # fmt: skip
    lines.append({**lines[0], "id": "test", "split": "test"})
    lines.append({**lines[0], "id": "bare", "text": "", "spans_s": None})
    (root / "items.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return root


def plan_file(folder: Path, **fields: object) -> Path:
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump({**_PLAN, "stage": "scores", **fields}))
    return path


def losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / LOSSES).read_text().splitlines()]


def plan_of(**fields: object) -> SajPlan:
    return SajPlan(**{**_PLAN, "stage": "scores", **fields, "design": SajDesign(**_DESIGN)})  # type: ignore[arg-type]


def listed_set(path: Path, plan: SajPlan) -> Listed:
    return Listed(read_items(path, plan), plan)


def feed(plan: SajPlan, source: Source) -> SajFeed:
    return SajFeed(source, plan, begin(plan.design, texts=["humming"])[1], seed=0)


def test_batches_are_as_large_as_said_and_balanced(source: Path) -> None:
    plan = plan_of(tokens=400, parts=2)
    feed_ = feed(plan, listed_set(source, plan))
    n_by_score: Counter[tuple[str, float]] = Counter()
    for number in range(8):
        parts = feed_.batch(number)
        sizes = [int(2 * (-(-part.batch.samples // feed_.reader.steps)).sum()) for part in parts]
        assert len(parts) == 2
        assert all(150 < size <= 200 for size in sizes)
        other = [feed_.batch(number, process=process, processes=2) for process in range(2)]
        assert [int(part[0].batch.samples.sum()) for part in other] == [int(part.batch.samples.sum()) for part in parts]
        n_by_score.update(float(score) for part in parts for score in part.truth["overall"])  # type: ignore[arg-type]
    assert set(n_by_score) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert max(n_by_score.values()) < 2 * min(n_by_score.values())
    assert {item.id for item in read_items(source, plan)} == set(map(str, range(30)))


def test_domains_are_drawn_as_they_weigh(source: Path) -> None:
    plan = plan_of(domains={"speech": 0.0, "music": 1.0, "sound": 4.0})
    n_by_domain = Counter(
        ["speech", "music", "sound"][int(example.case.id) % 3]
        for example in islice(listed_set(source, plan).examples(generator(0, "domains")), 60)
    )
    assert n_by_domain["speech"] == 0
    assert n_by_domain["sound"] > 2 * n_by_domain["music"] > 0


def test_alignment_shows_the_target_or_another_source_of_its_mixture(source: Path) -> None:
    plan = plan_of(stage="alignment")
    examples = list(islice(listed_set(source, plan).examples(generator(0, "alignment")), 16))
    for example in examples:
        spectrum = np.abs(np.fft.rfft(example.output[0])) ** 2
        assert (spectrum.max() / spectrum.sum() > 0.2) == example.follows  # a hum has a line, and noise has none
    assert 3 < sum(example.follows for example in examples) < 13


@pytest.mark.parametrize("stage", ["alignment", pytest.param("scores", marks=pytest.mark.slow)])
def test_generated_batches_follow_from_seed_and_number(stage: str) -> None:
    plan = plan_of(stage=stage, tokens=500, parts=1)
    first, same_batch, other = (feed(plan, Made(plan)).batch(number)[0] for number in (0, 0, 1))
    assert torch.equal(first.batch.outputs, same_batch.batch.outputs)
    assert first.batch.outputs.shape != other.batch.outputs.shape
    assert len(first.batch.mixtures) < len(first.batch)  # outputs of one mixture share it
    assert not first.truth["overall"].isnan().any()
    if stage == "alignment":
        assert 0 < float(torch.cat([first.follows, other.follows]).mean()) < 1


def test_an_axis_that_is_switched_off_has_no_loss(source: Path) -> None:
    kept_axes = ("recall", "difficulty_counting", "difficulty_loudness")
    plan = plan_of()
    feed_ = feed(plan, listed_set(source, plan))
    design = SajDesign(**{**_DESIGN, "axes": kept_axes})  # type: ignore[arg-type]
    net, _ = begin(design, texts=["humming"])
    losses_of = SajTrainer(net, feed_, plan, seed=0).losses(feed_.part(0, 0))
    loss_values = {name: loss.item() for name, loss in losses_of.items()}
    assert set(loss_values) == {"loss", *kept_axes}
    assert loss_values["difficulty_loudness"] == 0.0  # its truth is not known
    assert loss_values["loss"] == pytest.approx(sum(loss_values[axis] for axis in kept_axes) / 3)


def test_killed_and_resumed_it_has_the_losses_of_an_undisturbed_run(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    plans = {stage: tmp_path / f"{stage}.yaml" for stage in ("alignment", "scores")}
    for stage, path in plans.items():
        path.write_text(yaml.safe_dump({**_PLAN, "stage": stage, "updates": 4 if stage == "alignment" else 6}))
    monkeypatch.setattr("auscult.train.saj.loop.read_plans", lambda _: [read_plans(str(path))[0] for path in
                                                                        plans.values()])  # fmt: skip
    options = TrainOptions(name="saj", out=first, data=source, threads=1, workers=0)
    paths = list(recipes.run(options))
    assert [len(losses(first / stage)) for stage in plans] == [4, 6]
    assert losses(first / "scores")[-1] < losses(first / "scores")[0]
    learn = SajTrainer.learn

    def stop_midway(trainer: SajTrainer, batch: object) -> dict[str, float]:
        if trainer.plan.stage == "scores" and trainer.step == 3:
            raise KeyboardInterrupt
        return learn(trainer, batch)  # type: ignore[arg-type]

    monkeypatch.setattr("auscult.train.trainer.SAVED_EVERY_S", 0.0)
    monkeypatch.setattr(SajTrainer, "learn", stop_midway)
    with pytest.raises(KeyboardInterrupt):
        list(recipes.run(replace(options, out=second)))
    monkeypatch.setattr(SajTrainer, "learn", learn)
    list(recipes.run(replace(options, out=second)))
    assert [losses(second / stage) for stage in plans] == [losses(first / stage) for stage in plans]
    name = "model/model.safetensors"
    assert (second / name).read_bytes() == (first / name).read_bytes()
    assert {path.name for path in paths} >= {"plan.json", "design.json", "model.safetensors"}
    with pytest.raises(InputError, match="other settings: seed"):
        list(recipes.run(replace(options, seed=5)))
    judge = load_sound_judge(f"saj@{first / 'model'}")
    mixture = generator(0, "mixture").normal(size=(1, 9000)).astype(np.float32)
    case = SoundCase(id="a", mixture=mixture, rate_hz=RATE_HZ, text="humming")
    assert judge(case, case.mixture).overall is not None


def test_intervals_are_not_told_of_other_sounds_where_too_few_are_left(source: Path, tmp_path: Path) -> None:
    options = TrainOptions(name="saj", out=tmp_path / "out", data=source, config=str(plan_file(tmp_path, updates=1)),
                           threads=1, workers=0)  # fmt: skip
    list(recipes.run(options))
    assert (tmp_path / "out/model/design.json").exists()
    assert not (tmp_path / "out/model/calibration.json").exists()  # three clusters


@pytest.mark.slow
def test_without_data_it_learns_from_generated_sounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.train.saj.loop._CALIBRATED_MOST", 24)
    monkeypatch.setattr("auscult.train.saj.loop._SCALED_ON", 8)
    config = plan_file(tmp_path, updates=2, tokens=300)
    list(recipes.run(TrainOptions(name="saj", out=tmp_path / "out", config=str(config), threads=1, workers=0)))
    assert len(losses(tmp_path / "out/scores")) == 2
    calibration = json.loads((tmp_path / "out/model/calibration.json").read_text())
    assert (calibration["n"], calibration["split"]) == (24, "calibration, generated sounds")
    assert all(low < high for low, high in calibration["off"].values())
    load_sound_judge(f"saj@{tmp_path / 'out/model'}")


def test_committed_settings_are_those_of_the_paper_and_sizes_are_two_stages() -> None:
    for size in ("paper", "small", "tiny"):
        assert [plan.stage for plan in read_plans(size)] == ["alignment", "scores"]
        assert [read_plans(f"{size}-{stage}")[0].stage for stage in ("alignment", "scores")] == ["alignment", "scores"]
    for plan in read_plans("paper"):
        assert (plan.tokens, plan.updates, plan.warmup, plan.decay, plan.precision) == (
            8192,
            200_000,
            5000,
            0.1,
            "bf16",
        )
        assert plan.domains == {"speech": 1, "music": 2, "sound": 4}
        assert plan.balanced
        rates = [plan.rate_at(step, 200_000) / plan.rate for step in (0, 2499, 4999, 199_999)]
        assert rates == pytest.approx([0.0002, 0.5, 1.0, 1.0])
    (tiny,) = read_plans("tiny-scores")
    rates = [tiny.rate_at(step, 4500) / tiny.rate for step in (0, 2999, 3000, 3750, 4499)]
    assert rates == pytest.approx([0.01, 1.0, 1.0, 0.5, 1 / 1500])


def test_wrong_settings_are_named(source: Path, tmp_path: Path) -> None:
    options = TrainOptions(name="saj", out=tmp_path / "out", data=source, threads=1, workers=0)
    for change, message in (
        ({"design": {**_DESIGN, "axes": []}}, "no head"),
        ({"prompts": ["picture"]}, "prompts"),
        ({"domains": {"birds": 1.0}}, "birds"),
        ({"tokenz": 1}, "tokenz"),
        ({"parts": 0}, "parts"),
    ):
        with pytest.raises(UsageError, match=message):
            list(recipes.run(replace(options, config=str(plan_file(tmp_path, **change)))))
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "a", "mixture": "a.wav", "text": "dog"}))
    with pytest.raises(UsageError, match="nothing to learn scores"):
        list(recipes.run(replace(options, data=tmp_path, config=str(plan_file(tmp_path)))))
