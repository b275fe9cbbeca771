"""The compact judge's training: samples, steps, stopping and going on, and files that are the network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.extra_train

SMALL = """
mixtures: 6
aligning: 6
held: 6
stage: [4, 8]
songs: 2
song_steps: 2
batch: 4
real: 0.0
design: {width: 32, blocks: 1}
"""


@pytest.fixture(scope="module")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few steps, stopped once in the middle of its second stage."""
    from auscult.jobs.options import TrainOptions
    from auscult.jobs.runner import Silent
    from auscult.train.sound_judge.compact import compact_sound

    out = tmp_path_factory.mktemp("compact")
    (out / "plan.yaml").write_text(SMALL, encoding="utf-8")
    options = TrainOptions(
        name="compact-sound", out=out, data=data, config=str(out / "plan.yaml"), threads=1, workers=0, minutes=0.0
    )
    assert [path.name for path in compact_sound(options, Silent())] == ["plan.json"]
    list(compact_sound(replace(options, minutes=None), Silent()))
    return out


def test_shares_over_the_whole_are_refused(tmp_path: Path) -> None:
    from auscult.errors import UsageError
    from auscult.train.sound_judge.trainer import read_plan

    path = tmp_path / "plan.yaml"
    path.write_text("{real: 0.7, song_share: 0.4}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"real 0\.7 and song_share 0\.4 are more than 1 together"):
        read_plan(str(path))
    path.write_text("{real: 0.65, song_share: 0.35}", encoding="utf-8")
    assert read_plan(str(path)).real == 0.65


def test_an_exactly_right_score_does_not_lower_its_expected_error_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its logarithm fell until 0 times infinity was NaN."""
    import torch

    from auscult.nets.sound_judge import Hardness, Judged
    from auscult.train.sound_judge import trainer

    logarithm = torch.full((1, 4), -97.0, requires_grad=True)
    judged = Judged(
        scores=torch.full((1, 4), 5.0),
        spread=logarithm,
        curves=torch.zeros(1, 2, 3),
        aligned=torch.zeros(1),
        pooled=torch.zeros(1, 2),
    )
    monkeypatch.setattr(trainer, "judge", lambda *_: (judged, Hardness(torch.zeros(1, 5), torch.zeros(1, 3))))
    batch = {"scores": torch.full((1, 4), 5.0), "curves": torch.zeros(1, 2, 3), "aligned": torch.ones(1)}
    batch |= {"difficulty": torch.zeros(1, 5), "domain": torch.tensor([0])}
    loss = trainer.SoundTrainer.losses(SimpleNamespace(net=None), batch)["loss"]
    loss.backward()
    assert loss.isfinite()
    assert logarithm.grad is not None
    assert (logarithm.grad == 0).all()  # no step lowers it further


@pytest.mark.slow
def test_a_run_gives_a_judge(folder: Path) -> None:
    from auscult.judge.sound.compact import CompactSoundJudge
    from auscult.train.sound_judge.samples import Recipe, made_samples

    assert len((folder / "aligning.jsonl").read_text().splitlines()) == 4
    losses = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    assert [row["step"] for row in losses] == list(range(8))
    assert all(np.isfinite(row["loss"]) for row in losses)
    assert len((folder / "songs.jsonl").read_text().splitlines()) == 2
    judge = CompactSoundJudge().fitted(folder / "judge")
    for sample in made_samples(None, part="test", numbers=[0], seed=3, recipe=Recipe(outputs=2)):
        verdict = judge(sample.case, sample.separated)
        assert verdict.overall is not None
        assert 1 <= verdict.overall_low <= verdict.overall <= verdict.overall_high <= 5


@pytest.mark.slow
def test_the_files_are_the_network(folder: Path) -> None:
    import torch

    from auscult.nets.sound_judge import HeadDesign, SoundJudgeNet, Trunk
    from auscult.train.sound_judge.compact import CLOSE, difference

    net = SoundJudgeNet(Trunk(), HeadDesign(width=32, blocks=1))
    net.load_state_dict(torch.load(folder / "network.pt", weights_only=True))
    assert difference(net.eval(), folder / "judge") < CLOSE
    with torch.no_grad():
        net.scores[0].weight += 0.5
    assert difference(net, folder / "judge") > CLOSE


@pytest.mark.slow
def test_a_stopped_training_goes_on_with_the_same_losses(folder: Path, data: Path) -> None:
    import torch

    from auscult.jobs.options import TrainOptions
    from auscult.nets.sound_judge import SoundJudgeNet
    from auscult.train.sound_judge.compact import NETS, CompactRun, read_trunk
    from auscult.train.sound_judge.store import Store
    from auscult.train.sound_judge.trainer import read_plan

    options = TrainOptions(name="compact-sound", out=folder, data=data, threads=1, workers=0)
    run = CompactRun(options=options, plan=read_plan(str(folder / "plan.yaml")), until=float("inf"))
    samples = Store(folder=folder / "material" / "train").samples

    def trainer():
        torch.manual_seed(0)
        return run.trainer(SoundJudgeNet(read_trunk(data / NETS), run.plan.network), samples, stage="scores")

    straight, interrupted = trainer(), trainer()
    expected = [straight.learn(straight.feed.batch(number))["loss"] for number in range(6)]
    found_losses = [interrupted.learn(interrupted.feed.batch(number))["loss"] for number in range(3)]
    interrupted.save(folder / "half.pt")
    resumed = trainer()
    resumed.load(folder / "half.pt")
    found_losses += [resumed.learn(resumed.feed.batch(number))["loss"] for number in range(resumed.step, 6)]
    assert found_losses == pytest.approx(expected, rel=1e-5)


def test_the_trunk_is_the_released_tagger(data: Path) -> None:
    import onnxruntime
    import torch

    from auscult.train.sound_judge.compact import NETS, read_trunk

    log_mel = np.random.default_rng(0).normal(size=(1, 1, 128, 192)).astype(np.float32)
    released = onnxruntime.InferenceSession(str(data / NETS)).run(["logits", "embedding"], {"logmel": log_mel})
    trunk = read_trunk(data / NETS).eval()
    with torch.no_grad():
        embedding = trunk(torch.from_numpy(log_mel)).mean(2)
        assert np.abs(embedding.numpy() - released[1]).max() < 1e-4
        assert np.abs(trunk.logits(embedding).numpy() - released[0]).max() < 1e-4


def test_a_sample_is_the_same_by_its_number_alone() -> None:
    from auscult.train.sound_judge.samples import made_samples

    both_samples = list(made_samples(None, part="train", numbers=[4, 5], seed=2))
    alone = list(made_samples(None, part="train", numbers=[5], seed=2))
    assert [sample.id for sample in both_samples][-len(alone) :] == [sample.id for sample in alone]
    for sample, alone_sample in zip(both_samples[-len(alone) :], alone, strict=True):
        assert np.array_equal(sample.separated, alone_sample.separated)
        assert sample.scores == alone_sample.scores
    assert all(1 <= value <= 5 for sample in both_samples for value in sample.scores.values())


def test_the_level_and_the_delay_of_an_output_are_no_part_of_its_truth() -> None:
    from auscult.train.sound_judge.samples import Recipe, made_samples

    recipe = Recipe(outputs=12, whole=1.0, by_separators=0.0, wrong=0.0)
    samples = list(made_samples(None, part="train", numbers=[1], seed=2, recipe=recipe))
    assert len({sample.separated.tobytes() for sample in samples}) > 3
    assert all(min(sample.scores.values()) > 4.999 for sample in samples)


def test_samples_are_stored_as_they_were(tmp_path: Path) -> None:
    from auscult.judge.sound.compact.network import hear_mixture
    from auscult.train.sound_judge.samples import made_samples
    from auscult.train.sound_judge.store import heard_samples, read_shard, unpacked, write_shard

    samples = list(made_samples(None, part="train", numbers=[0, 1], seed=2))
    stored_samples = list(heard_samples(samples))
    write_shard(tmp_path / "0000.npz", stored_samples)
    samples_read = read_shard(tmp_path / "0000.npz")
    assert len(samples_read) == len(stored_samples) <= len(samples)
    for sample_read, sample_stored in zip(samples_read, stored_samples, strict=True):
        assert sample_read.about == sample_stored.about
        assert np.array_equal(sample_read.output, sample_stored.output)
        assert np.array_equal(sample_read.mixture, sample_stored.mixture)
        assert np.allclose(sample_read.curves, sample_stored.curves)
    opened_mixture = hear_mixture(samples[0].case.mixture, samples[0].case.rate_hz)
    assert np.abs(unpacked(samples_read[0].mixture) - opened_mixture.mel).max() < 0.01
