"""The training loop: steps that follow from (seed, number) alone, and a state from which it goes on.

`accelerate` moves the network to its device, computes in bf16 and joins processes: `torchrun --nproc_per_node 2 -m
auscult.cli train rris ...` shares each batch out among them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from auscult.errors import InputError, OutputError, UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.media.paths import write_bytes
from auscult.nets.refsegformer.losses import existence_loss, segmentation_loss, total_loss
from auscult.nets.refsegformer.network import RefSegformer
from auscult.nets.refsegformer.weights import read_model
from auscult.record.codec import dump, to_json
from auscult.rng import generator
from auscult.train.rris.export import export
from auscult.train.rris.plan import Plan, read_plan
from auscult.train.rris.references import Batch, Feed, read_references
from auscult.train.rris.trainable import Trainable, build

STATE: Final = "state.pt"
LOSSES: Final = "losses.jsonl"
MODEL: Final = "model"
ONNX: Final = "onnx"
_SAVED_EVERY_S: Final = 120.0
_AHEAD: Final = 4


class Trainer:
    """A segmenter in training.

    Args:
        trainable: The segmenter.
        feed: Its batches.
        seed: Of dropout and stochastic depth.
        steps: After which the learning rate is 0.
        device: ``cpu`` or ``cuda``.
    """

    def __init__(self, trainable: Trainable, feed: Feed, *, seed: int, steps: int, device: str = "cpu") -> None:
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

    def learn(self, batch: Batch) -> dict[str, float]:
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

    def losses(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Eqs. 5, 7 and 8 of a batch."""
        device, plan = self.accelerator.device, self.plan
        ids, known = (value.to(device) for value in self.trainable.read(batch.texts))
        pictures = torch.from_numpy(batch.pictures).to(device).permute(0, 3, 1, 2).float() / 255
        truth, exists = torch.from_numpy(batch.truth).to(device), torch.from_numpy(batch.exists).to(device)
        found = self.net(pictures, ids, known)
        masks = segmentation_loss(found.masks, truth, coarse=plan.coarse, exists=exists, negatives=plan.negatives)
        existence = None if found.existence is None else existence_loss(found.existence, exists)
        parts = {"loss": total_loss(masks, existence, gamma=plan.gamma), "masks": masks}
        return parts if existence is None else {**parts, "existence": existence}

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


class _Batches(Dataset[Batch]):
    """Batches by number, for loader processes."""

    def __init__(self, trainer: Trainer) -> None:
        self._feed, self._first, self._steps = trainer.feed, trainer.step, trainer.steps
        self._part = {"process": trainer.accelerator.process_index, "processes": trainer.accelerator.num_processes}

    def __len__(self) -> int:
        return max(self._steps - self._first, 0)

    def __getitem__(self, at: int) -> Batch:
        import cv2

        cv2.setNumThreads(1)
        return self._feed.batch(self._first + at, **self._part)


def batches(trainer: Trainer, *, workers: int) -> Iterator[Batch]:
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


def rris(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train a segmenter on the references of ``--data``; yields what it wrote.

    The folder gets ``plan.json``, the settings as they were; ``losses.jsonl``, a line a step; ``state.pt``, from which
    the same command goes on; and at the end ``model/``, and ``onnx/`` where the network has encoders of our own.
    """
    torch.set_num_threads(options.threads)
    plan = read_plan(options.config)
    references, listing = read_references(options.material(), plan, images=options.images)
    torch.manual_seed(int(generator(options.seed, "rris", "weights").integers(1 << 62)))
    trainable = build(options.model, plan, (text for one in references for text in (*one.true, *one.false)))
    feed = Feed(references, trainable.plan, seed=options.seed)
    steps = feed.steps if options.samples is None else max(1, options.samples // plan.batch)
    trainer = Trainer(trainable, feed, seed=options.seed, steps=steps, device=options.device)
    main = trainer.accelerator.is_main_process
    state = options.out / STATE
    if state.exists():
        trainer.load(state)
    if main:
        yield _described(trainer, len(listing.errors), options)
    if not _trained(trainer, options, progress):
        return
    if main:
        yield from trainable.save(options.out / MODEL)
        design = trainable.plan.design
        if isinstance(trainable.net, RefSegformer) and design.vision == design.text == "small":
            yield from export(read_model(options.out / MODEL), options.out / ONNX)


def _trained(trainer: Trainer, options: TrainOptions, progress: Progress) -> bool:
    """Train as far as time goes; gives whether all steps are done."""
    until = float("inf") if options.minutes is None else time.monotonic() + 60 * options.minutes
    progress.stage("training", trainer.steps)
    progress.step(trainer.step)
    path, saved = options.out / LOSSES, time.monotonic()
    if trainer.accelerator.is_main_process:
        _cut(path, trainer.step)
    for batch in batches(trainer, workers=options.workers):
        if trainer.any_says(time.monotonic() >= until):
            break
        row = {"step": trainer.step, **{name: round(value, 6) for name, value in trainer.learn(batch).items()}}
        progress.step()
        if trainer.accelerator.is_main_process:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            if time.monotonic() - saved > _SAVED_EVERY_S:
                trainer.save(options.out / STATE)
                saved = time.monotonic()
    trainer.save(options.out / STATE)
    return trainer.step >= trainer.steps


def _cut(path: Path, step: int) -> None:
    """Leave out the lines of steps behind the state, which are taken again."""
    kept = path.read_bytes().splitlines(keepends=True)[:step] if path.is_file() else []
    write_bytes(path, b"".join(kept))


def _described(trainer: Trainer, errors: int, options: TrainOptions) -> Path:
    net = trainer.accelerator.unwrap_model(trainer.net)
    references = trainer.feed.references
    value = {
        "model": options.model,
        "seed": options.seed,
        "parameters": sum(one.numel() for one in net.parameters()),
        "references": len(references),
        "without_true": sum(not one.true for one in references),
        "without_false": sum(not one.false for one in references),
        "could_not_be_listed": errors,
        "steps": trainer.steps,
        "plan": to_json(asdict(trainer.plan)),
    }
    write_bytes(options.out / "plan.json", dump(value, indent=1) + b"\n")
    return options.out / "plan.json"
