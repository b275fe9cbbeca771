"""Steps that follow from (seed, number) alone, and a state from which they go on.

`accelerate` moves the network to its device, computes in bf16 and joins processes: `torchrun --nproc_per_node 2 -m
auscult.cli train rris ...` shares each batch out among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final, Protocol

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from auscult.errors import InputError, OutputError, UsageError
from auscult.nets.refsegformer.losses import choosing_loss, existence_loss, segmentation_loss, total_loss
from auscult.record.codec import to_json
from auscult.rng import generator
from auscult.train.rris.plan import Plan
from auscult.train.rris.trainable import Trainable

_AHEAD: Final = 4


class Lessons(Protocol):
    """Gives the batches of a training, each by its number."""

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> Any:
        """The part of a batch that one of several processes computes."""
        ...


class Trainer:
    """A segmenter in training.

    Args:
        trainable: The segmenter.
        feed: Its batches.
        seed: Of dropout and stochastic depth.
        steps: After which the learning rate is 0.
        device: ``cpu`` or ``cuda``.
    """

    def __init__(self, trainable: Trainable, feed: Lessons, *, seed: int, steps: int, device: str = "cpu") -> None:
        from accelerate import Accelerator

        self.trainable, self.feed, self.seed, self.steps = trainable, feed, seed, steps
        self.plan: Plan = trainable.plan
        self.accelerator = Accelerator(mixed_precision=self.plan.precision, cpu=device == "cpu")
        net = trainable.net
        if not isinstance(net, nn.Module):
            raise TypeError("a segmenter in training is a torch module")
        for name, value in net.named_parameters():
            value.requires_grad_(value.requires_grad and not name.startswith(self.plan.frozen or ("\0",)))
        if self.accelerator.num_processes > 1 and self.accelerator.device.type == "cuda":
            net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
        self.net, self.optimiser = self.accelerator.prepare(net, torch.optim.AdamW(self._groups(net), lr=0.0))
        self.step = 0

    def _groups(self, net: nn.Module) -> list[dict[str, Any]]:
        learned = [value for value in net.parameters() if value.requires_grad]
        if not learned:
            raise UsageError("nothing is left to learn", hint="see `frozen` in the settings")
        return [
            {"params": [value for value in learned if value.ndim > 1], "weight_decay": self.plan.decay},
            {"params": [value for value in learned if value.ndim <= 1], "weight_decay": 0.0},
        ]

    def learn(self, batch: Any) -> dict[str, float]:
        """Take one step; gives the loss and its parts, means over all processes."""
        self.net.train()
        key = int(generator(self.seed, "rris", "step", self.step, self.accelerator.process_index).integers(1 << 62))
        torch.manual_seed(key)
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.rate_at(self.step, self.steps)
        parts = self.losses(batch)
        self.optimiser.zero_grad(set_to_none=True)
        self.accelerator.backward(parts["loss"])
        if self.plan.clip is not None:
            self.accelerator.clip_grad_norm_(self.net.parameters(), self.plan.clip)
        self.optimiser.step()
        self.step += 1
        return {name: float(self.accelerator.reduce(value.detach(), "mean")) for name, value in parts.items()}

    def any_says(self, flag: bool) -> bool:  # noqa: FBT001 - what is asked of every process
        """Whether some process says so; all of them hear the same."""
        return bool(self.accelerator.reduce(torch.tensor(float(flag), device=self.accelerator.device), "sum") > 0)

    def losses(self, batch: Any) -> dict[str, torch.Tensor]:
        """Eqs. 5, 7 and 8 of a batch, and what the plan adds to them."""
        device, plan = self.accelerator.device, self.plan
        ids, known = (value.to(device) for value in self.trainable.read(batch.texts))
        pictures = torch.from_numpy(batch.pictures).to(device).permute(0, 3, 1, 2).float() / 255
        truth, exists = torch.from_numpy(batch.truth).to(device), torch.from_numpy(batch.exists).to(device)
        found = self.net(pictures, ids, known)
        masks = segmentation_loss(
            found.masks,
            truth,
            coarse=plan.coarse,
            foreground=plan.foreground,
            exists=exists,
            negatives=plan.negatives,
        )
        existence = None if found.existence is None else existence_loss(found.existence, exists)
        parts = {"loss": total_loss(masks, existence, gamma=plan.gamma), "masks": masks}
        if existence is not None:
            parts["existence"] = existence
        if plan.choosing and found.masks:
            objects, of, chosen = (torch.from_numpy(one).to(device) for one in (batch.objects, batch.of, batch.chosen))
            parts["choosing"] = choosing_loss(
                found.masks, objects, of, chosen=chosen, each=len(chosen) // len(pictures)
            )
            parts["loss"] = parts["loss"] + plan.choosing * parts["choosing"]
        return parts

    def save(self, path: Path) -> None:
        """Write the state, whole or not at all."""
        if not self.accelerator.is_main_process:
            return
        state = {
            "plan": to_json(asdict(self.plan)),
            "seed": self.seed,
            "steps": self.steps,
            "step": self.step,
            "net": self.accelerator.unwrap_model(self.net).state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        beside = path.with_suffix(".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(state, beside)
            beside.replace(path)
        except (OSError, RuntimeError) as error:  # torch raises RuntimeError on a full disk
            raise OutputError(f"cannot be written: {error}", path=path) from error

    def load(self, path: Path) -> None:
        """Continue from the state of the same plan; what differs in another one is named."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            theirs = {**state["plan"], "seed": state["seed"], "steps": state["steps"]}
            ours = {**to_json(asdict(self.plan)), "seed": self.seed, "steps": self.steps}
            differ = sorted(name for name in ours if theirs.get(name) != ours[name])
            if differ:
                raise InputError(
                    "the state is of other settings: " + ", ".join(f"{name} {theirs.get(name)}" for name in differ),
                    expected=", ".join(f"{name} {ours[name]}" for name in differ),
                    hint="give the options it was begun with, or another folder with --out",
                    path=path,
                )
            self.accelerator.unwrap_model(self.net).load_state_dict(state["net"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.step = int(state["step"])
        except (OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError, UnpicklingError) as error:
            raise InputError(f"the state cannot be read: {' '.join(str(error).split())[:200]}", path=path) from error


class _Batches(Dataset[Any]):
    """Batches by number, for loader processes."""

    def __init__(self, trainer: Trainer) -> None:
        self._feed, self._first, self._steps = trainer.feed, trainer.step, trainer.steps
        self._part = {"process": trainer.accelerator.process_index, "processes": trainer.accelerator.num_processes}

    def __len__(self) -> int:
        return max(self._steps - self._first, 0)

    def __getitem__(self, at: int) -> Any:
        import cv2

        cv2.setNumThreads(1)
        return self._feed.batch(self._first + at, **self._part)


def batches(trainer: Trainer, *, workers: int) -> Iterator[Any]:
    """The batches that are left, made ahead by other processes; 0 workers make them here."""
    loader = DataLoader(
        _Batches(trainer),
        batch_size=None,
        num_workers=workers,
        prefetch_factor=_AHEAD if workers else None,
        multiprocessing_context="fork" if workers else None,
        collate_fn=lambda batch: batch,
    )
    yield from loader
