"""The training loop: batches in order, averaged weights, checkpoints of at most 16 MiB."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional as f

from auscult.errors import InputError, OutputError
from auscult.nets.compact import CompactNet, Design
from auscult.train.compact.objective import Weights, losses

MOST_BYTES: Final = 16 << 20
SCHEMA: Final = 1
_AVERAGE: Final = 0.999
_WARM_UP: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a network is trained.

    Attributes:
        design: What it looks at.
        seed: Seed of its first weights and of every batch.
        samples: How many samples it sees in all; the last quarter with a falling rate.
        size: Samples of a batch.
        rate: Learning rate before it falls.
        decay: Weight decay.
        weights: How much each part of the loss counts.
    """

    design: Design = field(default_factory=Design)
    seed: int = 0
    samples: int = 400_000
    size: int = 48
    rate: float = 2e-3
    decay: float = 0.02
    weights: Weights = field(default_factory=Weights)

    @property
    def steps(self) -> int:
        """Batches in all."""
        return math.ceil(self.samples / self.size)

    def rate_at(self, step: int) -> float:
        """The learning rate of a step: rising, level, falling to nearly nothing over the last quarter."""
        left = (self.steps - step) / max(self.steps * 0.25, 1)
        return self.rate * min(1.0, (step + 1) / _WARM_UP, max(left, 0.01))


class Trainer:
    """A network in training, its optimiser and its averaged weights.

    Args:
        plan: How it is trained.
        device: ``cpu`` or ``cuda``.
    """

    def __init__(self, plan: Plan, *, device: str = "cpu") -> None:
        torch.manual_seed(plan.seed)
        self.plan = plan
        self.device = torch.device(device)
        self.net = CompactNet(plan.design).to(self.device, memory_format=torch.channels_last)
        self.optimiser = torch.optim.AdamW(_groups(self.net, plan.decay), lr=plan.rate, betas=(0.9, 0.98))
        self.average = {name: value.detach().clone().float() for name, value in self.net.state_dict().items()}
        self.step = 0

    def learn(self, batch: Mapping[str, Any]) -> dict[str, float]:
        """Take one step; returns the parts of the loss."""
        self.net.train()
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.rate_at(self.step)
        seen, wanted = tensors(batch, self.device)
        with torch.autocast(self.device.type, torch.bfloat16):
            said = self.net(*seen)
        parts = losses(said, wanted, self.plan.weights)
        total = torch.stack(list(parts.values())).sum()
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 2.0)
        self.optimiser.step()
        self.step += 1
        self._keep_average()
        return {name: float(value.detach()) for name, value in parts.items()}

    def _keep_average(self) -> None:
        share = min(_AVERAGE, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, value in self.net.state_dict().items():
                kept = self.average[name]
                if value.dtype.is_floating_point:
                    kept.lerp_(value.float(), 1 - share)
                else:
                    kept.copy_(value)

    def averaged(self) -> CompactNet:
        """The network with averaged weights, ready to judge."""
        net = CompactNet(self.plan.design)
        net.load_state_dict({name: value.cpu() for name, value in self.average.items()})
        net.eval()
        return net

    def save(self, path: Path) -> int:
        """Write a checkpoint; returns its size in bytes.

        Raises:
            OutputError: It cannot be written or is over 16 MiB.
        """
        state = {
            "schema": SCHEMA,
            "plan": asdict(self.plan),
            "step": self.step,
            "net": {name: value.cpu() for name, value in self.net.state_dict().items()},
            "average": {name: _short(value) for name, value in self.average.items()},
            "moments": _moments(self.optimiser),
        }
        beside = path.with_suffix(".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(state, beside)
            size = beside.stat().st_size
            if size > MOST_BYTES:
                raise OutputError(
                    f"the checkpoint would be {size / 2**20:.1f} MiB", expected="at most 16 MiB", path=path
                )
            beside.replace(path)
        except (OSError, RuntimeError) as error:  # torch tells of a full disk with a RuntimeError
            raise OutputError(f"cannot be written: {error}", path=path) from error
        return size

    def load(self, path: Path) -> None:
        """Continue from a checkpoint of the same plan; only how many samples in all may differ.

        Raises:
            InputError: It is damaged, or another plan's.
        """
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            same = {key: value for key, value in asdict(self.plan).items() if key != "samples"}
            if state["schema"] != SCHEMA or {k: v for k, v in state["plan"].items() if k != "samples"} != same:
                raise InputError("the checkpoint is of another plan", path=path, hint="name another folder with --out")
            self.net.load_state_dict(state["net"])
            for name, value in state["average"].items():
                self.average[name].copy_(value.to(self.device))
            self.step = int(state["step"])
            _restore(self.optimiser, state["moments"])
        except (OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError, UnpicklingError) as error:
            raise InputError(f"the checkpoint cannot be read: {error}", path=path) from error


def tensors(batch: Mapping[str, Any], device: torch.device) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
    """A batch as the network takes it, and what it should answer."""
    given = {name: torch.from_numpy(value).to(device) for name, value in batch.items()}
    seen = tuple(
        ((given[name].float() - 128) / 64).contiguous(memory_format=torch.channels_last)
        for name in ("crop", "context", "strip")
    )
    wanted = {
        "type": given["type"],
        "iou": given["iou"],
        "truth": given["truth"].float() / 255,
        "profile": given["profile"].float() / 255,
        "inside": f.avg_pool2d(given["crop"][:, 3:4].float(), 2).squeeze(1) / 255,
    }
    return seen, wanted


def train(
    trainer: Trainer,
    batches: Iterator[Mapping[str, Any]],
    *,
    until: float,
    heard: Callable[[int, dict[str, float]], None],
) -> bool:
    """Take steps until the plan is done or the time is up.

    Args:
        trainer: The network.
        batches: The batches from ``trainer.step`` on.
        until: ``time.monotonic`` at which to stop.
        heard: Hears step and losses after each.

    Returns:
        Whether the plan is done.
    """
    while trainer.step < trainer.plan.steps:
        if time.monotonic() >= until:
            return False
        parts = trainer.learn(next(batches))
        heard(trainer.step, parts)
    return True


def _short(value: Tensor) -> Tensor:
    """Half the bits for what there is much of."""
    return value.cpu().half() if value.ndim > 1 else value.cpu()


def _groups(net: CompactNet, decay: float) -> list[dict[str, Any]]:
    """No decay for biases and norms."""
    wide = [value for value in net.parameters() if value.ndim > 1]
    narrow = [value for value in net.parameters() if value.ndim <= 1]
    return [{"params": wide, "weight_decay": decay}, {"params": narrow, "weight_decay": 0.0}]


def _moments(optimiser: torch.optim.Optimizer) -> list[tuple[Tensor, Tensor, float]]:
    """The optimiser's moments in half the bits: they are means over many steps."""
    found = []
    for group in optimiser.param_groups:
        for value in group["params"]:
            state = optimiser.state.get(value)
            if state:
                first, second = state["exp_avg"].cpu().bfloat16(), state["exp_avg_sq"].cpu().bfloat16()
                found.append((first, second, float(state["step"])))
    return found


def _restore(optimiser: torch.optim.Optimizer, moments: list[tuple[Tensor, Tensor, float]]) -> None:
    values = [value for group in optimiser.param_groups for value in group["params"]]
    if moments and len(moments) != len(values):
        raise ValueError("the moments are of another network")
    for value, (first, second, step) in zip(values, moments, strict=False):
        optimiser.state[value] = {
            "step": torch.tensor(step),
            "exp_avg": first.to(value.device, torch.float32),
            "exp_avg_sq": second.to(value.device, torch.float32),
        }
