"""Training learns, stops and goes on as if it had not stopped, fits its bounds, and exports what it trained."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("onnx", reason="the extra `train` is not installed")

import torch

from auscult.cli.main import app
from auscult.errors import InputError, UsageError
from auscult.judge.masks.compact.network import INPUTS
from auscult.nets.compact import BINS, TYPES, CompactNet, Design, Member, Mixing, Seen
from auscult.train.compact.batches import batches
from auscult.train.compact.export import CLOSE, difference, export
from auscult.train.compact.feed import Arrays
from auscult.train.compact.loop import MOST_BYTES, Plan, Trainer, tensors, train
from auscult.train.compact.objective import histogram, mean_of
from auscult.train.compact.recipe import CompactOptions, compact_mask

pytestmark = pytest.mark.extra_train

TWO = (Design(width=8, likeness=True), Design(crop=False, strip=False, cues=True, share=3.0))
SMALL = Plan(designs=TWO, samples=64, size=8, seed=1, echo=1)


def trained(trainer: Trainer, pack: Path, *, until: float = float("inf")) -> list[float]:
    heard: list[float] = []
    with batches(pack, seed=trainer.plan.seed, size=trainer.plan.size, first=trainer.step, workers=0) as stream:
        train(trainer, stream, until=until, heard=lambda _, parts: heard.append(sum(parts.values())))
    return heard


def test_the_loss_falls(pack: Path) -> None:
    losses = trained(Trainer(replace(SMALL, samples=320)), pack)
    assert np.mean(losses[-8:]) < np.mean(losses[:8])


def test_a_stopped_run_goes_on_with_the_next_batch(pack: Path, tmp_path: Path) -> None:
    whole = Trainer(SMALL)
    every = trained(whole, pack)
    first = Trainer(SMALL)
    with batches(pack, seed=1, size=8, workers=0) as stream:
        for _ in range(4):
            first.learn(next(stream))
    size = first.save(tmp_path / "c.pt")
    assert size <= MOST_BYTES
    second = Trainer(SMALL)
    second.load(tmp_path / "c.pt")
    rest = trained(second, pack)
    assert len(rest) == len(every) - 4
    assert rest == pytest.approx(every[4:], rel=0.05)  # the moments are kept in half the bits


def test_the_shipped_design_fits_its_bounds(tmp_path: Path) -> None:
    trainer = Trainer(Plan())
    for optimiser in trainer.optimisers:
        for group in optimiser.param_groups:
            for value in group["params"]:
                value.grad = torch.zeros_like(value)
        optimiser.step()
    assert trainer.save(tmp_path / "c.pt") <= MOST_BYTES
    assert export(trainer.averaged(), tmp_path / "w.onnx") <= CLOSE
    assert (tmp_path / "w.onnx").stat().st_size <= 12_000_000


def test_threads_change_nothing(pack: Path) -> None:
    one, two = Trainer(SMALL), Trainer(SMALL, threads=2)
    assert trained(one, pack) == pytest.approx(trained(two, pack), rel=1e-4)


def test_a_member_learns_as_if_it_were_alone(pack: Path) -> None:
    both, alone = Trainer(SMALL), Trainer(replace(SMALL, designs=TWO[:1]))
    alone.net.members[0].load_state_dict(both.net.members[0].state_dict())
    trained(both, pack)
    trained(alone, pack)
    for name, value in alone.net.members[0].state_dict().items():
        assert torch.allclose(value, both.net.members[0].state_dict()[name], atol=1e-4), name


def test_together_members_answer_with_their_shares(pack: Path) -> None:
    net = CompactNet(TWO).eval()
    given = next(iter(_batches(pack)))
    seen, _ = tensors(given, torch.device("cpu"))
    with torch.no_grad():
        said = [member(seen) for member in net.members]
        found = net(seen)
    shares = 0.25, 0.75
    wanted = sum(share * one["kinds"].log_softmax(1) for share, one in zip(shares, said, strict=True))
    assert torch.allclose(found["kinds"], wanted.log_softmax(1), atol=1e-5)
    wanted = sum(share * one["experts"].exp() for share, one in zip(shares, said, strict=True))
    assert torch.allclose(found["experts"].exp(), wanted, atol=1e-5)
    assert torch.allclose(found["ious"].exp().sum(1), torch.ones(len(found["ious"])), atol=1e-4)
    assert torch.equal(found["truth"], said[0]["truth"])


def _batches(pack: Path) -> Iterator[Arrays]:
    with batches(pack, seed=3, size=8, workers=0) as stream:
        yield from islice(stream, 1)


def test_a_checkpoint_of_another_plan_is_refused(tmp_path: Path) -> None:
    Trainer(SMALL).save(tmp_path / "c.pt")
    with pytest.raises(InputError, match="another plan"):
        Trainer(replace(SMALL, seed=2)).load(tmp_path / "c.pt")
    (tmp_path / "bad.pt").write_bytes(b"damaged")
    with pytest.raises(InputError, match="cannot be read"):
        Trainer(SMALL).load(tmp_path / "bad.pt")


@pytest.mark.parametrize(
    "design",
    [
        Design(width=8),
        Design(width=8, picture=False, strip=False),
        Design(width=8, dense=False, strip=False, context=False),
        Design(width=8, distance=False),
        Design(width=8, derived=True),
        Design(width=8, likeness=True, cues=True),
        Design(width=8, crop=False, likeness=True),
        Design(crop=False, strip=False, cues=True),
    ],
)
def test_every_design_exports_to_the_same_numbers(design: Design, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = CompactNet([design]).eval()
    assert export(net, tmp_path / "w.onnx") <= CLOSE
    assert difference(net, tmp_path / "w.onnx", seed=7) <= CLOSE


def test_an_export_that_differs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.train.compact.export.CLOSE", -1.0)
    with pytest.raises(UsageError, match="differs"):
        export(CompactNet([Design(width=8)]).eval(), tmp_path / "w.onnx")


def test_what_is_mixed_is_exported(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = CompactNet(TWO).eval()
    export(net, tmp_path / "plain.onnx")
    net.mix(Mixing(offsets=(0.0,) * 5 + (-3.0,), kept=(0.3,) * 6, usual=((1.0, *(0.0,) * (BINS - 1)),) * 6))
    assert export(net, tmp_path / "mixed.onnx") <= CLOSE
    assert difference(net, tmp_path / "plain.onnx") > 0.1


def test_members_draw_noise_and_dropout_apart() -> None:
    member = Member(TWO[1]).train()
    seen = Seen(*(torch.zeros(4, *shape) for shape in INPUTS.values()))
    member.seeded(1)
    one, two = member(seen)["kinds"], member(seen)["kinds"]
    member.seeded(1)
    assert torch.equal(member(seen)["kinds"], one)
    assert not torch.equal(one, two)


def test_a_batch_of_masks_on_no_object_teaches_nothing(pack: Path) -> None:
    trainer = Trainer(SMALL)
    batch = dict(next(iter(_batches(pack))))
    batch["type"] = np.full_like(batch["type"], TYPES.index("arbitrary"))
    assert trainer.learn(batch) == {}
    assert all(value.isfinite().all() for value in trainer.net.state_dict().values())


def test_batches_that_are_echoed_go_on_where_they_stopped(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.train.compact.echo.BLOCK", 3)
    monkeypatch.setattr("auscult.train.compact.batches.BLOCK", 3)
    with batches(pack, seed=1, size=4, echo=2, workers=0) as stream:
        whole = list(islice(stream, 9))
    for first in (2, 5, 7):
        with batches(pack, seed=1, size=4, echo=2, first=first, workers=0) as stream:
            again = next(stream)
        assert all((again[name] == whole[first][name]).all() for name in again)


def test_workers_end_when_batches_are_no_longer_wanted(pack: Path) -> None:
    with batches(pack, seed=1, size=4, echo=2, workers=1) as stream:
        next(stream)
        begun = time.monotonic()
    assert time.monotonic() - begun < 20
    assert not multiprocessing.active_children()


def test_the_histogram_keeps_the_mean() -> None:
    iou = torch.tensor([0.0, 0.3, 0.5125, 0.77, 0.96])
    shares = histogram(iou)
    assert torch.allclose(shares.sum(1), torch.ones(5))
    centres = (torch.arange(BINS) + 0.5) / BINS
    assert torch.allclose((shares @ centres)[1:4], iou[1:4], atol=1e-5)
    assert float(mean_of(histogram(torch.tensor([1.0])).clamp(min=1e-9).log())) == pytest.approx(1.0, abs=1e-4)


def test_the_recipe_writes_everything_and_goes_on(pack: Path, tmp_path: Path) -> None:
    job = CompactOptions(out=tmp_path, pack=pack, plan=replace(SMALL, samples=800), minutes=0.02, threads=1, workers=0)
    begun = time.monotonic()
    files = list(compact_mask(job))
    assert time.monotonic() - begun < 60
    assert [path.name for path in files] == ["checkpoint.pt", "curves.svg", "weights.onnx"]
    first = torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"]
    list(compact_mask(job))
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] > first


def test_the_command_trains_from_a_pack(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--pack", str(pack), "--out", str(tmp_path), "--samples", "48", "--threads", "1", "--workers", "0"]
    app(["train", "compact-mask", *arguments, "--quiet"], standalone_mode=False)
    printed = capsys.readouterr().out.split()
    assert [Path(line).name for line in printed] == ["checkpoint.pt", "curves.svg", "weights.onnx"]
    assert all(Path(line).is_file() for line in printed)
