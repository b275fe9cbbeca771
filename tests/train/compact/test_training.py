"""Training learns, stops and goes on as if it had not stopped, fits its bounds, and exports what it trained."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("onnx", reason="the extra `train` is not installed")

import torch

from auscult.cli.main import app
from auscult.errors import InputError, UsageError
from auscult.nets.compact import BINS, CompactNet, Design
from auscult.train.compact.batches import batches
from auscult.train.compact.export import CLOSE, difference, export
from auscult.train.compact.loop import MOST_BYTES, Plan, Trainer, train
from auscult.train.compact.objective import histogram, mean_of
from auscult.train.compact.recipe import CompactOptions, compact_mask

pytestmark = pytest.mark.extra_train

SMALL = Plan(design=Design(width=8), samples=64, size=8, seed=1)


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
    for group in trainer.optimiser.param_groups:
        for value in group["params"]:
            value.grad = torch.zeros_like(value)
    trainer.optimiser.step()
    assert trainer.save(tmp_path / "c.pt") <= MOST_BYTES
    assert export(trainer.averaged(), tmp_path / "w.onnx") <= CLOSE
    assert (tmp_path / "w.onnx").stat().st_size <= 12_000_000


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
    ],
)
def test_every_design_exports_to_the_same_numbers(design: Design, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = CompactNet(design).eval()
    assert export(net, tmp_path / "w.onnx") <= CLOSE
    assert difference(net, tmp_path / "w.onnx", seed=7) <= CLOSE


def test_an_export_that_differs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.train.compact.export.CLOSE", -1.0)
    with pytest.raises(UsageError, match="differs"):
        export(CompactNet(Design(width=8)).eval(), tmp_path / "w.onnx")


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
