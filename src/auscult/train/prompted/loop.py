"""The training loop: batches made ahead, averaged weights, checkpoints that a later run continues from.

Both files hold the convolutions of MobileNetV2 in the order in which they run, batch norm folded in. DeepLab's holds
its context head behind them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from auscult.errors import InputError
from auscult.judge.masks.compact.view import scaled
from auscult.judge.masks.prompted.view import Lens, picture
from auscult.nets.prompted import BINS, Design, PromptedNet
from auscult.rng import generator
from auscult.train.network_files import copy_kernels, read_kernels
from auscult.train.prompted.feed import Arrays, Feed
from auscult.train.prompted.material import Picture
from auscult.train.trainer import check_finite, numbered_batches, refuse_other_settings, write_state

Start: TypeAlias = Literal["deeplab", "imagenet", "scratch"]
FILES: Final[dict[str, str]] = {
    "deeplab": "deeplabv3_mnv2_pascal_quant.tflite",
    "imagenet": "tf2_mobilenet_v2_1.0_224_ptq.tflite",
}
SHA256: Final[dict[str, str]] = {
    "deeplab": "350af47fd346ea6d74b58833a351f583ba860e9806ec5bd292ff8d8f1f249398",
    "imagenet": "5d3137241276e79c86d14a74fe43581398ae0e815191d3dba45495b810840e8c",
}


def begin(net: PromptedNet, start: Start, folder: Path) -> None:
    """Copy public weights into a network's backbone, and into its context head where the file has one."""
    if start == "scratch":
        return
    kernels = read_kernels(folder / FILES[start], digest=SHA256[start])
    layers = net.backbone.convolutions()
    if start == "deeplab":
        # the file runs the branch of each position first, then that of the mean
        layers = [*layers, net.context.local, net.context.whole, net.context.project]
    copy_kernels(kernels[: len(layers)], layers, folder / FILES[start])


SCHEMA: Final = 1
_SPREAD: Final = 0.04
"""Standard deviation of the soft label of an IoU."""
_TYPE_WEIGHTS: Final = (1.0, 1.0, 1.2, 1.2, 1.0, 1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """How one network is trained."""

    design: Design = field(default_factory=Design)  # what it is made of
    start: Start = "deeplab"  # where its first weights come from
    seed: int = 0  # seed of its random weights and of every batch
    steps: int = 1000  # batches in all; the rate falls along a cosine over them
    size: int = 24  # samples of a batch
    rate: float = 2e-3  # highest learning rate of randomly initialised weights
    backbone_rate: float = 2e-4  # the same of public weights
    decay: float = 0.02
    average: float = 0.995  # how much of the averaged weights stays from step to step

    @property
    def lens(self) -> Lens:
        """How the network looks at a candidate."""
        return Lens(side=self.design.side, margin=self.design.margin)

    def share_at(self, step: int) -> float:
        """The share of the highest rate at a step: a short rise, then half a cosine."""
        return min(1.0, (step + 1) / 60) * (0.5 + 0.5 * math.cos(math.pi * min(step / max(self.steps, 1), 1.0)))


class MaskTrainer:
    """A network in training, its optimiser and its averaged weights.

    ``weights`` is the folder of public first weights, ``device`` is ``cpu`` or ``cuda``.
    """

    def __init__(self, plan: TrainingPlan, *, weights: Path, device: str = "cpu") -> None:
        self.plan = plan
        self.device = torch.device(device)
        torch.manual_seed(_seed(plan.seed, "first"))
        self.net = PromptedNet(plan.design)
        begin(self.net, plan.start, weights)
        _freeze(self.net, plan)
        self.net.to(self.device, memory_format=torch.channels_last)
        self.optimiser = torch.optim.AdamW(_groups(self.net, plan), betas=(0.9, 0.98))
        self.average = {name: value.detach().clone() for name, value in self.net.state_dict().items()}
        self.step = 0

    def learn(self, batch: Arrays) -> dict[str, float]:
        """Take one step; returns the parts of the loss."""
        self.net.train()
        torch.manual_seed(_seed(self.plan.seed, "dropout", self.step))
        share = self.plan.share_at(self.step)
        for group in self.optimiser.param_groups:
            group["lr"] = group["highest"] * share
        inputs = tensors(batch, self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=faster_in_bf16(self.device)):
            outputs = self.net(
                inputs["crop"],
                inputs["candidate"],
                strip=inputs["strip"],
                shape=inputs["shape"],
                prompt=inputs["prompt"],
            )
        parts = losses({name: value.float() for name, value in outputs.items()}, inputs)
        self.optimiser.zero_grad(set_to_none=True)
        torch.stack(list(parts.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 2.0)
        self.optimiser.step()
        self.step += 1
        self._keep_average()
        values = {name: float(value.detach()) for name, value in parts.items()}
        check_finite(sum(values.values()), step=self.step - 1, training="prompted-mask")
        return values

    def _keep_average(self) -> None:
        decay = min(self.plan.average, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, value in self.net.state_dict().items():
                self.average[name].lerp_(value, 1 - decay)

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        state = {
            "schema": SCHEMA,
            "plan": asdict(self.plan),
            "step": self.step,
            "net": {name: value.cpu() for name, value in self.net.state_dict().items()},
            "average": {name: value.cpu() for name, value in self.average.items()},
            "optimiser": self.optimiser.state_dict(),
        }
        write_state(path, state)

    def load(self, path: Path) -> None:
        """Continue from a checkpoint of the same plan; of another one both are named."""
        state = read_checkpoint(path)
        message = "the checkpoint is of another plan"
        refuse_other_settings(state["plan"], asdict(self.plan), what=message, path=path)
        try:
            self.net.load_state_dict(state["net"])
            for name, value in state["average"].items():
                self.average[name].copy_(value.to(self.device))
            self.optimiser.load_state_dict(state["optimiser"])
            self.step = int(state["step"])
        except (RuntimeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"the checkpoint cannot be read: {error}", path=path) from error


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint as plain values and tensors; nothing in it is executed."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if state["schema"] != SCHEMA:
            raise InputError(f"the checkpoint's schema is {state['schema']!r}, not {SCHEMA}", path=path)
        lacking = sorted({"plan", "step", "net", "average", "optimiser"} - set(state))
        if lacking:
            raise InputError(f"the checkpoint lacks {', '.join(lacking)}", path=path)
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError, UnpicklingError) as error:
        raise InputError(f"the checkpoint cannot be read: {error}", path=path) from error
    return dict(state)


def network_of(path: Path) -> tuple[PromptedNet, Design]:
    """The network with averaged weights that a checkpoint holds."""
    state = read_checkpoint(path)
    design = Design(**state["plan"]["design"])
    net = PromptedNet(design)
    net.load_state_dict(state["average"])
    net.eval()
    return net, design


def faster_in_bf16(device: torch.device) -> bool:
    """Whether a device is faster in bf16 than in 32 bits: GPUs, and processors with AMX or AVX-512's bf16."""
    can = torch.cpu.get_capabilities()
    return device.type == "cuda" or bool(can.get("amx_bf16") or can.get("avx512_bf16"))


def tensors(batch: Arrays, device: torch.device) -> dict[str, Tensor]:
    """A batch as inputs of the network and targets."""
    arrays: dict[str, Any] = {
        "crop": picture(np.asarray(batch["crop"], dtype=np.uint8)),
        "strip": scaled(np.asarray(batch["strip"], dtype=np.uint8)),
        "candidate": batch["candidate"][:, None] / np.float32(255),
        "truth": batch["truth"][:, None] / np.float32(255),
        "prompt": batch["prompt"] / np.float32(255),
        **{name: batch[name] for name in ("shape", "iou", "answered", "type")},
    }
    result = {name: torch.from_numpy(value).to(device) for name, value in arrays.items()}
    for name in ("crop", "strip", "prompt", "candidate"):
        result[name] = result[name].contiguous(memory_format=torch.channels_last)
    return result


def losses(outputs: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parts of the loss: answer mask, IoU and type."""
    answered = targets["answered"] / targets["answered"].sum().clamp(min=1.0)
    pixels = functional.binary_cross_entropy_with_logits(outputs["answer"], targets["truth"], reduction="none")
    probability = torch.sigmoid(outputs["answer"])
    overlap = (probability * targets["truth"]).sum(dim=(1, 2, 3))
    dice = 1 - 2 * overlap / (probability.sum(dim=(1, 2, 3)) + targets["truth"].sum(dim=(1, 2, 3)) + 1.0)
    labels = soft_labels(targets["iou"])
    weights = torch.tensor(_TYPE_WEIGHTS, device=outputs["types"].device)
    types = functional.cross_entropy(
        outputs["types"], targets["type"], weight=weights, ignore_index=-1, reduction="sum", label_smoothing=0.03
    )
    return {
        "pixels": (pixels.mean(dim=(1, 2, 3)) * answered).sum(),
        "dice": (dice * answered).sum(),
        "ious": -(labels * torch.log_softmax(outputs["ious"], dim=1)).sum(dim=1).mean(),
        "mean": 2.0 * functional.smooth_l1_loss(mean_of(outputs["ious"]), targets["iou"], beta=0.1),
        "types": 0.6 * types / max(len(targets["type"]), 1),
    }


def soft_labels(ious: Tensor) -> Tensor:
    """Shares of each bin, (n, 25): a bell about the IoU, so that neighbouring bins share weight."""
    centres = (torch.arange(BINS, device=ious.device) + 0.5) / BINS
    bell = torch.exp(-0.5 * ((ious[:, None] - centres) / _SPREAD) ** 2) + 1e-8
    return bell / bell.sum(dim=1, keepdim=True)


def mean_of(logits: Tensor) -> Tensor:
    """The mean of a histogram of logits, (n, 25) -> (n,)."""
    centres = (torch.arange(BINS, device=logits.device) + 0.5) / BINS
    return torch.softmax(logits, dim=1) @ centres


def batches(pictures: Sequence[Picture], plan: TrainingPlan, *, first: int, workers: int) -> Iterator[Arrays]:
    """Batches of a plan from a step on, made ahead by other processes; 0 workers make them here."""
    feed = Feed(pictures, seed=plan.seed, lens=plan.lens)
    return numbered_batches(lambda number: feed.batch(number, plan.size), range(first, plan.steps), workers=workers)


def train(
    trainer: MaskTrainer, made: Iterator[Arrays], *, until: float, heard: Callable[[int, dict[str, float]], None]
) -> bool:
    """Take steps on the batches from ``trainer.step`` on until the plan is done, or ``time.monotonic`` is at ``until``.

    ``heard`` is told step and losses after each. Gives whether the plan is done.
    """
    while trainer.step < trainer.plan.steps:
        if time.monotonic() >= until:
            return False
        heard(trainer.step, trainer.learn(next(made)))
    return True


def _seed(seed: int, *key: str | int) -> int:
    return int(generator(seed, "prompted", *key).integers(1 << 62))


def _freeze(net: PromptedNet, plan: TrainingPlan) -> None:
    if plan.start == "scratch":
        return
    for part in (net.backbone.stem, *net.backbone.blocks[: plan.design.frozen]):
        part.requires_grad_(requires_grad=False)


def _groups(net: PromptedNet, plan: TrainingPlan) -> list[dict[str, Any]]:
    """Two rates, and no decay for biases and norms."""
    started = {id(value) for value in net.backbone.parameters()} if plan.start != "scratch" else set()
    if plan.start == "deeplab":
        started |= {id(value) for value in net.context.parameters()}
    groups = []
    for slow in (True, False):
        for matrices in (True, False):
            values = [
                value
                for value in net.parameters()
                if value.requires_grad and (id(value) in started) == slow and (value.ndim > 1) == matrices
            ]
            rate = plan.backbone_rate if slow else plan.rate
            decay = plan.decay if matrices else 0.0
            groups.append({"params": values, "lr": rate, "highest": rate, "weight_decay": decay})
    return [group for group in groups if group["params"]]
