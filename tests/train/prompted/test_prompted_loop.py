"""Training is exact to repeat, goes on where it was stopped, and refuses checkpoints that are not its own."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_material as small

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from auscult.errors import InputError, OutputError
from auscult.nets.prompted import BINS, Design
from auscult.train.prompted.feed import Arrays
from auscult.train.prompted.loop import (
    MaskTrainer,
    TrainingPlan,
    batches,
    losses,
    mean_of,
    network_of,
    read_checkpoint,
    soft_labels,
    tensors,
    train,
)
from auscult.train.prompted.material import Picture

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)
PLAN = TrainingPlan(design=Design(side=64, frozen=0), start="scratch", steps=3, size=6)
FOREVER = float("inf")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    return small.material(tmp_path_factory.mktemp("data")).pictures


@pytest.fixture(scope="module")
def feed(pictures: list[Picture]) -> list[Arrays]:
    return list(batches(pictures, PLAN, first=0, workers=0))


@pytest.fixture(scope="module")
def checkpoint(feed: list[Arrays], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run that was stopped after one step."""
    trainer = MaskTrainer(PLAN, weights=Path("nowhere"))
    trainer.learn(feed[0])
    path = tmp_path_factory.mktemp("run") / "deep" / "member.pt"
    trainer.save(path)
    return path


def equal(first: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return first.keys() == other.keys() and all(torch.equal(first[name], other[name]) for name in first)


def test_a_run_that_was_stopped_ends_with_the_same_weights(feed: list[Arrays], checkpoint: Path) -> None:
    heard_steps: list[int] = []
    straight, resumed = (MaskTrainer(PLAN, weights=Path("nowhere")) for _ in range(2))
    first = {name: value.clone() for name, value in straight.net.state_dict().items()}
    assert train(straight, iter(feed), until=FOREVER, heard=lambda step, _: heard_steps.append(step))
    resumed.load(checkpoint)
    assert resumed.step == 1
    assert train(resumed, iter(feed[1:]), until=FOREVER, heard=lambda step, _: heard_steps.append(step))
    assert heard_steps == [0, 1, 2, 1, 2]
    assert equal(straight.net.state_dict(), resumed.net.state_dict())
    assert equal(straight.average, resumed.average)
    assert not equal(straight.net.state_dict(), straight.average)
    still = [name for name, value in straight.net.state_dict().items() if torch.equal(value, first[name])]
    assert still == [], "some weights never learn"


def test_another_seed_gives_other_weights_and_other_batches(pictures: list[Picture], feed: list[Arrays]) -> None:
    plan = replace(PLAN, seed=1)
    assert not equal(*(MaskTrainer(plan_, weights=Path("nowhere")).net.state_dict() for plan_ in (PLAN, plan)))
    batches_ = batches(pictures, plan, first=2, workers=0)
    assert not np.array_equal(next(batches_)["crop"], feed[2]["crop"])


@pytest.mark.slow
def test_batches_are_the_same_whoever_makes_them(pictures: list[Picture], feed: list[Arrays]) -> None:
    for batch_, other in zip(batches(pictures, PLAN, first=1, workers=1), feed[1:], strict=True):
        assert all(np.array_equal(batch_[name], other[name]) for name in other)


def test_when_the_time_is_up_no_step_is_taken() -> None:
    trainer = MaskTrainer(PLAN, weights=Path("nowhere"))
    assert not train(trainer, iter(()), until=time.monotonic(), heard=lambda *_: None)
    assert trainer.step == 0


def test_the_rate_rises_then_falls_to_nothing() -> None:
    plan = replace(PLAN, steps=1000)
    shares = np.array([plan.share_at(step) for step in range(1000)])
    assert shares[0] < 0.02
    assert (np.diff(shares[:50]) > 0).all()
    assert (np.diff(shares[60:]) < 0).all()
    assert shares[-1] < 1e-4
    assert 0.95 < shares.max() <= 1


def test_started_blocks_are_frozen_and_all_else_learns(feed: list[Arrays], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.train.prompted.loop.begin", lambda *_: None)
    trainer = MaskTrainer(replace(PLAN, start="imagenet", design=Design(side=64, frozen=2)), weights=Path("nowhere"))
    first = {name: value.clone() for name, value in trainer.net.state_dict().items()}
    trainer.learn(feed[0])
    still = {name for name, value in trainer.net.state_dict().items() if torch.equal(value, first[name])}
    assert still == {
        name for name in first if name.startswith(("backbone.stem.", "backbone.blocks.0.", "backbone.blocks.1."))
    }


def test_the_network_of_a_checkpoint_is_the_averaged_one(checkpoint: Path) -> None:
    net, design = network_of(checkpoint)
    assert design == PLAN.design
    assert not net.training
    assert equal(net.state_dict(), read_checkpoint(checkpoint)["average"])
    resumed = MaskTrainer(PLAN, weights=Path("nowhere"))
    resumed.load(checkpoint)
    assert equal(net.state_dict(), resumed.average)


@pytest.mark.parametrize(
    ("changes", "other_plan", "own_plan"),
    [
        ({"steps": 4, "rate": 0.1}, "rate 0.002, steps 3", "rate 0.1, steps 4"),
        ({"seed": 7}, "seed 0", "seed 7"),
        ({"design": Design(side=64, frozen=1)}, "'frozen': 0", "'frozen': 1"),
    ],
)
def test_a_checkpoint_of_another_plan_is_refused_and_both_are_named(
    checkpoint: Path, changes: dict[str, object], other_plan: str, own_plan: str
) -> None:
    trainer = MaskTrainer(replace(PLAN, **changes), weights=Path("nowhere"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="another plan") as error:
        trainer.load(checkpoint)
    assert other_plan in error.value.message
    assert own_plan in error.value.expected
    assert error.value.path == str(checkpoint)
    assert "size" not in error.value.message, "what is equal in both is not named"


BROKEN = {
    "missing": None,
    "empty": b"",
    "text": b"no checkpoint",
    "a pickle": b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.",
    "cut off": 0.7,
    "another schema": {"schema": 99, "plan": {}},
    "parts missing": {"schema": 1},
    "a list": [1, 2],
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_checkpoint_is_refused_by_name(checkpoint: Path, tmp_path: Path, fault: str) -> None:
    path, content = tmp_path / "member.pt", BROKEN[fault]
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, float):
        whole_file = checkpoint.read_bytes()
        path.write_bytes(whole_file[: int(content * len(whole_file))])
    elif content is not None:
        torch.save(content, path)
    with pytest.raises(InputError, match="checkpoint") as error:
        read_checkpoint(path)
    assert error.value.path == str(path)


def test_a_checkpoint_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    trainer = MaskTrainer(PLAN, weights=Path("nowhere"))
    with pytest.raises(OutputError, match="cannot be written"):
        trainer.save(tmp_path / "file" / "member.pt")


def answers(batch: dict[str, Tensor], *, sureness: float) -> dict[str, Tensor]:
    """What a net says that is right, where ``sure`` is above 0, or wrong where it is below."""
    types = torch.zeros(len(batch["type"]), 6)
    types[torch.arange(len(types)), batch["type"].clamp(min=0)] = sureness
    ious = batch["iou"] if sureness > 0 else (batch["iou"] + 0.5) % 1
    return {"answer": sureness * (2 * batch["truth"] - 1), "ious": torch.log(soft_labels(ious)), "types": types}


def test_every_part_of_the_loss_is_lower_for_a_right_answer(feed: list[Arrays]) -> None:
    batch = tensors(feed[0], torch.device("cpu"))
    right, wrong = (losses(answers(batch, sureness=sureness), batch) for sureness in (6.0, -6.0))
    assert right.keys() == wrong.keys() == {"pixels", "dice", "ious", "mean", "types"}
    assert all(0 <= right[name] < 0.6 * wrong[name] for name in right), (right, wrong)


def test_what_has_no_type_or_no_answer_is_left_out(feed: list[Arrays]) -> None:
    batch = tensors(feed[0], torch.device("cpu"))
    batch["type"][0], batch["type"][1:], batch["answered"][0], batch["answered"][1:] = -1, 1, 0.0, 1.0
    outputs = answers(batch, sureness=6.0)
    before = losses(outputs, batch)
    outputs["types"][0], outputs["answer"][0] = torch.arange(6.0), -outputs["answer"][0]
    after = losses(outputs, batch)
    assert all(torch.equal(before[name], after[name]) for name in before)
    outputs["types"][1], outputs["answer"][1] = torch.arange(6.0), -outputs["answer"][1]
    last = losses(outputs, batch)
    assert all((last[name] > after[name]) == (name in {"types", "pixels", "dice"}) for name in last)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_soft_labels_sum_to_one_about_the_iou(ious: list[float]) -> None:
    true = torch.tensor(ious)
    shares = soft_labels(true)
    assert shares.shape == (len(ious), BINS)
    assert torch.allclose(shares.sum(dim=1), torch.ones(len(ious)))
    off = (mean_of(torch.log(shares)) - true).abs()
    assert (off < torch.where((true > 0.15) & (true < 0.85), 0.003, 0.05)).all()  # at both ends the bell is cut
