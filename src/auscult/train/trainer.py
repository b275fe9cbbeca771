"""What all networks' trainings share: steps that follow from (seed, number) alone, and a state from which they go on.

`accelerate` moves the network to its device, computes in bf16 and joins processes: `torchrun --nproc_per_node 2 -m
auscult.cli train NAME ...` shares each batch out among them.
"""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, ClassVar, Final, Protocol

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from auscult.errors import InputError, OutputError, UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.media.paths import write_bytes
from auscult.record.codec import dump, to_json
from auscult.rng import generator

STATE: Final = "state.pt"
LOSSES: Final = "losses.jsonl"
_AHEAD: Final = 4
SAVED_EVERY_S: Final = 120.0


class Lessons(Protocol):
    """Gives the batches of a training, each by its number."""

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> Any:
        """The part of a batch that one of several processes computes."""
        ...


class Settings(Protocol):
    """What a trainer reads of a plan, which is a dataclass."""

    @property
    def decay(self) -> float:
        """Weight decay of AdamW, on matrices and kernels."""
        ...

    @property
    def clip(self) -> float | None:
        """Largest norm of the gradient; None for any."""
        ...

    @property
    def precision(self) -> str:
        """``bf16`` or ``no``."""
        ...

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step."""
        ...


def check_finite(loss: float, *, step: int, training: str) -> None:
    """Stop before a network whose loss is not finite is saved over an earlier one."""
    if not math.isfinite(loss):
        raise InputError(
            f"{training}: the loss of step {step} is {loss}",
            expected="a finite number",
            hint="what is saved is from before that step; try a lower rate or another --seed, in a new folder",
        )


def write_state(path: Path, state: Mapping[str, Any]) -> None:
    """Write the state of a training, whole or not at all."""
    temporary = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, temporary)
        temporary.replace(path)
    except (OSError, RuntimeError) as error:  # torch raises RuntimeError on a full disk
        raise OutputError(f"cannot be written: {error}", path=path) from error


class Trainer(ABC):
    """A network in training; parameters without ``requires_grad`` keep their values.

    ``plan`` is a dataclass of settings; of ``seed`` are dropout and stochastic depth; after ``steps`` the learning rate
    is 0; ``accumulation`` parts of a batch are computed one after another, each with a backward pass.
    """

    recipe: ClassVar[str]
    """Its name, from which seeds are drawn."""
    keeps_resting: ClassVar[bool] = True
    """Whether the state holds parameters that do not learn."""

    def __init__(
        self,
        net: nn.Module,
        feed: Lessons,
        plan: Settings,
        *,
        seed: int,
        steps: int,
        device: str = "cpu",
        accumulation: int = 1,
    ) -> None:
        from accelerate import Accelerator

        self.feed, self.plan, self.seed, self.steps = feed, plan, seed, steps
        self.accelerator = Accelerator(
            mixed_precision=plan.precision, cpu=device == "cpu", gradient_accumulation_steps=accumulation
        )
        if (plugin := getattr(self.accelerator.state, "deepspeed_plugin", None)) is not None:
            plugin.deepspeed_config["train_micro_batch_size_per_gpu"] = 1  # only DeepSpeed's reports of speed read it
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

    @abstractmethod
    def losses(self, batch: Any) -> dict[str, Tensor]:
        """The loss of a batch, or of a part of one, under ``loss``, and what it is made of."""

    def parts(self, batch: Any) -> Sequence[Any]:
        """The parts of a batch, as many as ``accumulation``."""
        return (batch,)

    def learn(self, batch: Any) -> dict[str, float]:
        """Take one step; gives the loss and its parts, means over all processes.

        Raises:
            InputError: The loss is not finite, so that the network now is none that should be saved.
        """
        self.net.train()
        key = int(
            generator(self.seed, self.recipe, "step", self.step, self.accelerator.process_index).integers(1 << 62)
        )
        torch.manual_seed(key)
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.rate_at(self.step, self.steps) * group.get("scale", 1.0)
        collected: list[dict[str, Tensor]] = []
        for part in self.parts(batch):
            with self.accelerator.accumulate(self.net):
                losses = self.losses(part)
                self.accelerator.backward(losses["loss"])
                if self.plan.clip is not None and self.accelerator.sync_gradients:
                    self.accelerator.clip_grad_norm_(self.net.parameters(), self.plan.clip)
                self.optimiser.step()
                self.optimiser.zero_grad(set_to_none=True)
            collected.append({name: value.detach() for name, value in losses.items()})
        self.step += 1
        means = {name: torch.stack([entry[name] for entry in collected]).mean() for name in collected[0]}
        result = {name: float(self.accelerator.reduce(value, "mean")) for name, value in means.items()}
        check_finite(result["loss"], step=self.step - 1, training=self.recipe)
        return result

    def any_says(self, flag: bool) -> bool:  # noqa: FBT001 - what is asked of every process
        """Whether some process says so; all of them hear the same."""
        return bool(self.accelerator.reduce(torch.tensor(float(flag), device=self.accelerator.device), "sum") > 0)

    def _settings(self) -> dict[str, Any]:
        return {**to_json(asdict(self.plan)), "seed": self.seed, "steps": self.steps}  # type: ignore[call-overload]

    def save(self, path: Path) -> None:
        """Write the state, whole or not at all."""
        if self._sharded:
            self.accelerator.save_state(str(path.with_suffix("")))
        if not self.accelerator.is_main_process:
            return
        state = {"settings": self._settings(), "step": self.step, **({} if self._sharded else self._values())}
        write_state(path, state)

    @property
    def _sharded(self) -> bool:
        """Whether parameters are spread over processes, so that `accelerate` writes them."""
        return str(self.accelerator.distributed_type).rpartition(".")[2] in {"FSDP", "DEEPSPEED"}

    def _values(self) -> dict[str, Any]:
        net = self.accelerator.unwrap_model(self.net)
        resting = {name for name, value in net.named_parameters() if not (self.keeps_resting or value.requires_grad)}
        learned = {name: value for name, value in net.state_dict().items() if name not in resting}
        return {"net": learned, "optimiser": self.optimiser.state_dict()}

    def load(self, path: Path) -> None:
        """Continue from the state of the same plan; what differs in another one is named."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            message = "the state is of other settings"
            refuse_other_settings(state["settings"], self._settings(), what=message, path=path)
            if self._sharded:
                self.accelerator.load_state(str(path.with_suffix("")))
            else:
                net = self.accelerator.unwrap_model(self.net)
                net.load_state_dict(state["net"], strict=self.keeps_resting)
                self.optimiser.load_state_dict(state["optimiser"])
            self.step = int(state["step"])
        except (OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError, UnpicklingError) as error:
            raise InputError(f"the state cannot be read: {' '.join(str(error).split())[:200]}", path=path) from error


class _Batches(Dataset[Any]):
    """Batches by number, for loader processes."""

    def __init__(self, make: Callable[[int], Any], numbers: range) -> None:
        self._make, self._numbers = make, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        return self._make(self._numbers[index])


def numbered_batches(make: Callable[[int], Any], numbers: range, *, workers: int) -> Iterator[Any]:
    """Batches made by their numbers, ahead and by other processes; 0 workers make them here."""
    import cv2

    # OpenCV's threads end here, before the fork: a copy of a process that has some waits for them without end.
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    loader = DataLoader(
        _Batches(make, numbers),
        batch_size=None,
        num_workers=workers,
        prefetch_factor=_AHEAD if workers else None,
        multiprocessing_context="fork" if workers else None,
        collate_fn=lambda batch: batch,
    )
    try:
        yield from loader
    finally:
        cv2.setNumThreads(threads)


def refuse_other_settings(theirs: Mapping[str, Any], ours: Mapping[str, Any], *, what: str, path: Path) -> None:
    """Refuse to go on from a state of other settings; ``what`` it is, and what differs, are named."""
    differ = sorted(name for name in ours if theirs.get(name) != ours[name])
    if differ:
        raise InputError(
            f"{what}: " + ", ".join(f"{name} {theirs.get(name)}" for name in differ),
            expected=", ".join(f"{name} {ours[name]}" for name in differ),
            hint="give the options it was begun with, or another folder with --out",
            path=path,
        )


def write_plan(
    trainer: Trainer, options: TrainOptions, path: Path, *, excluded: tuple[str, ...] = (), **counts: int
) -> Path:
    """Write a training's settings, the size of its network, and ``counts``.

    Parameters whose names begin with one of ``excluded`` are not counted.
    """
    net = trainer.accelerator.unwrap_model(trainer.net)
    counted = [parameter for name, parameter in net.named_parameters() if not name.startswith(excluded)]
    value = {
        "model": options.model,
        "seed": options.seed,
        "parameters": sum(parameter.numel() for parameter in counted),
        "learned": sum(parameter.numel() for parameter in counted if parameter.requires_grad),
        **counts,
        "steps": trainer.steps,
        "plan": to_json(asdict(trainer.plan)),  # type: ignore[call-overload]
    }
    write_bytes(path, dump(value, indent=1) + b"\n")
    return path


def ends_at(options: TrainOptions) -> float:
    """The moment of ``time.monotonic`` at which a training stops that was given ``--minutes``."""
    return float("inf") if options.minutes is None else time.monotonic() + 60 * options.minutes


def trained(
    trainer: Trainer,
    options: TrainOptions,
    progress: Progress,
    *,
    until: float,
    state: str = STATE,
    losses: str = LOSSES,
    stage: str = "training",
) -> bool:
    """Train until a moment of ``time.monotonic``; gives whether all steps are done.

    The folder gets a line a step in ``losses``, and in ``state`` what ``Trainer.load`` goes on from.
    """
    progress.stage(stage, trainer.steps)
    progress.step(trainer.step)
    path, saved = options.out / losses, time.monotonic()
    if trainer.accelerator.is_main_process:
        _cut(path, trainer.step)
    process, processes = trainer.accelerator.process_index, trainer.accelerator.num_processes
    make = partial(trainer.feed.batch, process=process, processes=processes)
    for batch in numbered_batches(make, range(trainer.step, trainer.steps), workers=options.workers):
        if trainer.any_says(time.monotonic() >= until):
            break
        row = {"step": trainer.step, **{name: round(value, 6) for name, value in trainer.learn(batch).items()}}
        progress.step()
        if trainer.accelerator.is_main_process:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        if trainer.any_says(time.monotonic() - saved > SAVED_EVERY_S):  # sharded states are written by all
            trainer.save(options.out / state)
            saved = time.monotonic()
    trainer.save(options.out / state)
    return trainer.step >= trainer.steps


def _cut(path: Path, step: int) -> None:
    """Leave out the lines of steps behind the state, which are taken again."""
    lines = path.read_bytes().splitlines(keepends=True)[:step] if path.is_file() else []
    write_bytes(path, b"".join(lines))
