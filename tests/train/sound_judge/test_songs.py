"""Songs that the sound judge learns from: stems, truth, and the third stage of its training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.extra_train


def test_a_song_is_the_same_by_its_number_alone(data: Path) -> None:
    from auscult.train.sound_judge.songs import song_samples

    both = list(song_samples(data, part="train", numbers=[3, 4], seed=1))
    alone = list(song_samples(data, part="train", numbers=[4], seed=1))
    assert [sample.id for sample in both][-len(alone) :] == [sample.id for sample in alone]
    for sample, again in zip(both[-len(alone) :], alone, strict=True):
        assert np.array_equal(sample.separated, again.separated)
        assert sample.scores == again.scores


@pytest.mark.slow
def test_voices_of_one_part_sing_in_no_other(data: Path) -> None:
    from auscult.rng import generator
    from auscult.train.sound_judge.samples import open_material
    from auscult.train.sound_judge.songs import compose

    catalogue = open_material(data)
    voices = {
        part: {compose(generator(number), catalogue, part=part)[1] for number in range(12)}
        for part in ("train", "calibration")
    }
    assert len(voices["train"]) > 2
    assert {clip.part for clip in catalogue.clips if clip.voice in voices["calibration"]} & {"calibration"}
    files = {
        part: {clip.recording for clip in catalogue.clips if clip.part == part and clip.voice in voices[part]}
        for part in voices
    }
    assert not files["train"] & files["calibration"]


def test_without_anyone_speaking_there_is_no_song() -> None:
    from auscult.errors import InputError
    from auscult.rng import generator
    from auscult.train.sound_judge.samples import open_material
    from auscult.train.sound_judge.songs import compose

    with pytest.raises(InputError, match="someone speaking"):
        compose(generator(0), open_material(None), part="train")


def test_a_sung_note_has_its_pitch() -> None:
    from auscult.rng import generator
    from auscult.train.sound_judge.songs import RATE_HZ, _filtered

    flat = np.ones((200, 257), np.float32)
    sung = _filtered(generator(0), flat, np.ones(200, np.float32), pitch=np.full(200, 220.0), count=RATE_HZ)
    power = np.abs(np.fft.rfft(sung)) ** 2  # bins of 1 Hz
    harmonics = sum(power[220 * number - 3 : 220 * number + 4].sum() for number in range(1, 30))
    assert harmonics > 0.7 * power.sum()


def test_masked_outputs_are_poor_and_good() -> None:
    from auscult.rng import generator
    from auscult.score.sound.perceptual import perceptual
    from auscult.train.sound_judge.songs import RATE_HZ, masked

    target = np.sin(np.arange(3 * RATE_HZ) * 0.2).astype(np.float32) * 0.3
    rest = 0.1 * generator(1).standard_normal(target.size).astype(np.float32)
    results = [perceptual(masked(generator(seed), target, rest), [target, rest], rate_hz=RATE_HZ) for seed in range(24)]
    precision = np.array([parts.precision for parts in results])  # type: ignore[union-attr]
    assert precision.min() < 3
    assert precision.max() > 4.5


def test_the_shipped_judge_is_read_as_it_is(tmp_path: Path) -> None:
    from auscult.errors import UsageError
    from auscult.judge.sound.compact.network import FOLDER
    from auscult.train.sound_judge.compact import CLOSE, difference, read_judge

    assert difference(read_judge(FOLDER).eval(), FOLDER) < CLOSE
    for path in FOLDER.glob("*.onnx"):
        (tmp_path / path.name).write_bytes((FOLDER / "hardness.onnx").read_bytes())
    with pytest.raises(UsageError, match="another design"):
        read_judge(tmp_path)


@pytest.mark.slow
def test_the_third_stage_teaches_the_head_alone(data: Path, tmp_path: Path) -> None:
    import torch

    from auscult.jobs.options import TrainOptions
    from auscult.judge.sound.compact.network import FOLDER
    from auscult.train.sound_judge.compact import CompactRun, read_judge
    from auscult.train.sound_judge.songs import song_samples
    from auscult.train.sound_judge.store import heard_samples
    from auscult.train.sound_judge.trainer import read_plan

    options = TrainOptions(name="compact-sound", out=tmp_path, data=data, threads=1, workers=0)
    plan = replace(read_plan("songs"), batch=2, real=0.0)
    samples = list(heard_samples(song_samples(data, part="train", numbers=[0], seed=17)))
    net, before = read_judge(FOLDER), read_judge(FOLDER).state_dict()
    trainer = CompactRun(options=options, plan=plan, until=float("inf")).trainer(net, samples, stage="songs")
    for number in range(2):
        trainer.learn(trainer.feed.batch(number))
    changed = {name for name, value in net.state_dict().items() if not torch.equal(value, before[name])}
    assert changed
    assert not [name for name in changed if name.startswith(("trunk", "query", "hard", "meaning"))]


@pytest.mark.slow
def test_a_judge_of_which_nothing_new_is_kept_is_as_before(data: Path, tmp_path: Path) -> None:
    import torch

    from auscult.jobs.options import TrainOptions
    from auscult.jobs.runner import Silent
    from auscult.judge.sound.compact.network import FOLDER
    from auscult.train.sound_judge.compact import compact_sound, read_judge

    settings = "{start: judge, mixtures: 2, aligning: 0, stage: [0, 0], held: 2, songs: 1, song_steps: 1, batch: 2"
    (tmp_path / "plan.yaml").write_text(f"{settings}, real: 0.0, song_weight: 0.0}}", encoding="utf-8")
    options = TrainOptions(name="compact-sound", out=tmp_path, data=data, config=str(tmp_path / "plan.yaml"), threads=1)
    list(compact_sound(options, Silent()))
    network = torch.load(tmp_path / "network.pt", weights_only=True)
    for name, value in read_judge(FOLDER).state_dict().items():
        assert torch.equal(network[name], value)
