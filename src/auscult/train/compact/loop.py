"""The training loop: batches in order, averaged weights, checkpoints of at most 16 MiB."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from auscult.errors import InputError, OutputError
from auscult.nets.compact import MEMBERS, CompactNet, Design, Member, Seen
from auscult.rng import generator
from auscult.train.compact.objective import ARBITRARY, Weights, losses

MOST_BYTES: Final = 16 << 20
SCHEMA: Final = 2
_AVERAGE: Final = 0.999
_WARM_UP: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a network is trained.

    Attributes:
        designs: What its members look at.
        seed: Seed of its first weights and of every batch.
        samples: How many samples it is shown in all, the same one ``echo`` times; the last quarter with a falling rate.
        size: Samples of a batch.
        echo: How often a sample is seen, changed each time: making one costs more than learning from it.
        rate: Learning rate before it falls.
        decay: Weight decay.
        weights: How much each part of the loss counts.
    """

    designs: tuple[Design, ...] = MEMBERS
    seed: int = 0
    samples: int = 192_000
    size: int = 24
    echo: int = 3
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
    """A network in training, its members' optimisers and its averaged weights.

    Args:
        plan: How it is trained.
        device: ``cpu`` or ``cuda``.
        threads: Threads of arithmetic, shared among the members, which learn side by side.
    """

    def __init__(self, plan: Plan, *, device: str = "cpu", threads: int = 1) -> None:
        self.plan = plan
        self.device = torch.device(device)
        self._names = [_name(design) for design in plan.designs]
        self.net = CompactNet(plan.designs)
        for at, name in enumerate(self._names):  # a member is the same whichever others there are
            torch.manual_seed(_seed(plan.seed, "first", name))
            self.net.members[at] = Member(plan.designs[at])
        self.net.to(self.device, memory_format=torch.channels_last)
        self.optimisers = [
            torch.optim.AdamW(_groups(member, plan.decay), lr=plan.rate, betas=(0.9, 0.98))
            for member in self.net.members
        ]
        self.average = {name: value.detach().clone().float() for name, value in self.net.state_dict().items()}
        self.step = 0
        side_by_side = min(threads, len(plan.designs))
        self._threads = ThreadPoolExecutor(
            side_by_side, initializer=torch.set_num_threads, initargs=(threads // side_by_side,)
        )

    def learn(self, batch: Mapping[str, Any]) -> dict[str, float]:
        """Take one step with every member; returns the parts of the loss, each the mean of the members that have it."""
        self.net.train()
        seen, wanted = tensors(batch, self.device)
        said = list(self._threads.map(lambda at: self._taught(at, seen, wanted), range(len(self.optimisers))))
        self.step += 1
        self._keep_average()
        names = dict.fromkeys(name for parts in said for name in parts)
        return {name: _mean([parts[name] for parts in said if name in parts]) for name in names}

    def _taught(self, at: int, seen: Seen, wanted: dict[str, Tensor]) -> dict[str, float]:
        member, optimiser = self.net.members[at], self.optimisers[at]
        if not (wanted["type"] != ARBITRARY).any():
            return {}
        member.seeded(_seed(self.plan.seed, "dropout", self._names[at], self.step))
        for group in optimiser.param_groups:
            group["lr"] = self.plan.rate_at(self.step)
        with torch.autocast(self.device.type, torch.bfloat16):
            said = member(seen)
        parts = losses(said, wanted, self.plan.weights)
        total = torch.stack(list(parts.values())).sum()
        optimiser.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(member.parameters(), 2.0)
        optimiser.step()
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
        net = CompactNet(self.plan.designs)
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
            "moments": [_moments(optimiser) for optimiser in self.optimisers],
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
            if state["schema"] != SCHEMA or _lasting(state["plan"]) != _lasting(asdict(self.plan)):
                raise InputError("the checkpoint is of another plan", path=path, hint="name another folder with --out")
            self.net.load_state_dict(state["net"])
            for name, value in state["average"].items():
                self.average[name].copy_(value.to(self.device))
            self.step = int(state["step"])
            for optimiser, moments in zip(self.optimisers, state["moments"], strict=True):
                _restore(optimiser, moments)
        except (OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError, UnpicklingError) as error:
            raise InputError(f"the checkpoint cannot be read: {error}", path=path) from error


def _name(design: Design) -> str:
    """What makes a design another one; how much it counts beside others does not."""
    return json.dumps({name: value for name, value in asdict(design).items() if name != "share"}, sort_keys=True)


def _seed(seed: int, *key: str | int) -> int:
    return int(generator(seed, "compact", *key).integers(1 << 62))


def _lasting(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan without what may differ when a run continues: how many samples, and how much each member counts."""
    designs = [{name: value for name, value in one.items() if name != "share"} for one in plan["designs"]]
    return {**{name: value for name, value in plan.items() if name != "samples"}, "designs": designs}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def tensors(batch: Mapping[str, Any], device: torch.device) -> tuple[Seen, dict[str, Tensor]]:
    """A batch as the network takes it, and what it should answer."""
    given = {name: torch.from_numpy(value).to(device) for name, value in batch.items()}
    pictures = {
        name: ((given[name].float() - 128) / 64).contiguous(memory_format=torch.channels_last)
        for name in ("crop", "context", "strip")
    }
    seen = Seen(cues=given["cues"], **pictures)
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


def _groups(net: nn.Module, decay: float) -> list[dict[str, Any]]:
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
