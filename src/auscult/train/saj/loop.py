"""Training SAJ: first whether outputs follow their prompts, then what they deserve (Sec. III-B)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from auscult.errors import UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.media.paths import write_bytes
from auscult.nets.saj.inputs import SajReader
from auscult.nets.saj.network import ALIGNMENT, Saj
from auscult.nets.saj.weights import begin, load, save
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import committed_classes
from auscult.train import trainer
from auscult.train.saj.samples import (
    Example,
    Lesson,
    Listed,
    Made,
    SajFeed,
    SajPlan,
    Source,
    lesson,
    read_items,
    read_plans,
)
from auscult.train.trainer import STATE, ends_at, trained, write_plan
from auscult.types import PERFORMANCE, SoundItem

MODEL: Final = "model"
CALIBRATION: Final = "calibration.json"
_CALIBRATED_ON: Final = 0.1  # of the clusters, which are not learned from
_CALIBRATED_MOST: Final = 300
_LEAST: Final = 20
_SCALED_ON: Final = 200


class SajTrainer(trainer.Trainer):
    """SAJ in training; a batch is a list of lessons."""

    recipe: ClassVar = "saj"
    keeps_resting: ClassVar = False
    plan: SajPlan
    feed: SajFeed

    def __init__(self, net: Saj, feed: SajFeed, plan: SajPlan, *, seed: int, device: str = "cpu") -> None:
        from accelerate import PartialState

        for name, parameter in net.named_parameters():
            parameter.requires_grad_(not name.startswith(plan.frozen or ("\0",)))
        processes = PartialState(cpu=device == "cpu").num_processes
        if plan.parts % processes:
            raise UsageError(f"{plan.parts} parts are not shared out evenly among {processes} processes")
        super().__init__(
            net, feed, plan, seed=seed, steps=plan.updates, device=device, accumulation=plan.parts // processes
        )

    def parts(self, batch: Sequence[Lesson]) -> Sequence[Lesson]:
        """The lessons of a batch."""
        return batch

    def losses(self, batch: Lesson) -> dict[str, Tensor]:
        """Of alignment the cross-entropy; of scores the mean over axes of squared errors by the axis' variance.

        The paper names no loss. An axis whose truth is not known counts nothing.
        """
        device = self.accelerator.device
        outputs = self.net(batch.batch.to(device))
        if self.plan.stage == "alignment":
            logits, follows = outputs[ALIGNMENT].float(), batch.follows.to(device)
            loss = functional.binary_cross_entropy_with_logits(logits, follows)
            return {"loss": loss + self._unused(), "right": ((logits > 0) == (follows > 0.5)).float().mean()}
        net, losses = self.accelerator.unwrap_model(self.net), {}
        for axis, std in zip(net.design.axes, net.std, strict=True):
            truth = batch.truth[axis].to(device)
            known = ~truth.isnan()
            off = (outputs[axis].float() - truth.nan_to_num()).square() * known
            losses[axis] = off.sum() / known.sum().clamp(min=1) / std**2
        return {"loss": torch.stack(list(losses.values())).mean() + self._unused(), **losses}

    def _unused(self) -> Tensor:
        """Nothing, with a gradient for all that learns, which several processes want of heads and encoders not used."""
        if self.accelerator.num_processes == 1:
            return torch.zeros((), device=self.accelerator.device)
        return (
            0.0 * torch.stack([parameter.sum() for parameter in self.net.parameters() if parameter.requires_grad]).sum()
        )


def saj(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train SAJ on an INPUT with truth, or on generated sounds without ``--data``; yields what it wrote.

    The folder gets one for each stage, with ``plan.json``, ``losses.jsonl``, a line a step, and ``state.pt``, from
    which the same command goes on; and at the end ``model/``, which ``--sound-judge saj@DIR/model`` loads, with the
    intervals of its scores from clusters that were not learned from, if there are enough.
    """
    torch.set_num_threads(options.threads)
    plans, until, net, reader = read_plans(options.config), ends_at(options), None, None
    for plan in plans:
        items, held_out = list[SoundItem](), list[SoundItem]()
        if options.data is not None:
            items, held_out = split(read_items(options.data, plan), seed=options.seed)
        if net is None or reader is None:
            torch.manual_seed(int(generator(options.seed, SajTrainer.recipe, "weights").integers(1 << 62)))
            texts = sorted({item.query.text for item in items if item.query.text}) or [*committed_classes().classes]
            net, reader = start(options.model, plan, texts)
        source = Listed(items, plan, pictures=net.vision is not None) if items else Made(plan)
        if plan.stage == "scores" and not (options.out / plan.stage / STATE).exists():
            scale(net, source, seed=options.seed)
        training = SajTrainer(net, SajFeed(source, plan, reader, seed=options.seed), plan, seed=options.seed,
                           device=options.device)  # fmt: skip
        out = options.out / plan.stage
        if (out / STATE).exists():
            training.load(out / STATE)
        if training.accelerator.is_main_process:
            yield write_plan(training, options, out / "plan.json", items=len(items))
        if not trained(training, replace(options, out=out), progress, until=until, stage=plan.stage):
            return
        net = training.accelerator.unwrap_model(training.net)
    if net is None or reader is None or not training.accelerator.is_main_process:
        return
    yield from save(net, reader, options.out / MODEL)
    if plan.stage == "scores":
        rng = generator(options.seed, SajTrainer.recipe, "calibrated")
        examples = (
            source.once(held_out, rng) if isinstance(source, Listed) else Made(plan, part="calibration").examples(rng)
        )
        name = "held out of train" if items else "calibration, generated sounds"
        yield from calibrated(net, reader, examples, split=name, path=options.out / MODEL / CALIBRATION)


def start(model: str, plan: SajPlan, texts: Sequence[str]) -> tuple[Saj, SajReader]:
    """A new network, or with ``saj@FOLDER`` what an earlier stage of training wrote, and what makes its batches."""
    _, at, folder = model.partition("@")
    if not at:
        return begin(plan.design, audio=plan.audio, text=plan.text, vision=plan.vision, texts=texts)
    net, reader = load(Path(folder))
    if plan.stage == "alignment" and not net.design.alignment:
        raise UsageError("the network has no head for alignment", path=Path(folder))
    return net, reader


def split(items: Sequence[SoundItem], *, seed: int) -> tuple[list[SoundItem], list[SoundItem]]:
    """Items to learn from, and those of a tenth of the clusters for the intervals."""
    clusters = sorted({item.cluster for item in items})
    order = generator(seed, SajTrainer.recipe, "held out").permutation(len(clusters))
    held_out = {clusters[index] for index in order[: int(_CALIBRATED_ON * len(clusters))]}
    learned = [item for item in items if item.cluster not in held_out]
    return learned, [item for item in items if item.cluster in held_out]


def scale(net: Saj, source: Source, *, seed: int) -> None:
    """Set mean and deviation of each axis to those of what will be learned from."""
    truths = [
        example.truth for example in islice(source.examples(generator(seed, SajTrainer.recipe, "scale")), _SCALED_ON)
    ]
    for index, axis in enumerate(net.design.axes):
        if values := [truth[axis] for truth in truths if axis in truth]:
            net.mean[index], net.std[index] = float(np.mean(values)), max(float(np.std(values)), 0.1)


def calibrated(net: Saj, reader: SajReader, examples: Iterator[Example], *, split: str, path: Path) -> Iterator[Path]:
    """Write the 5 and 95 % quantiles of true minus stated scores on what was not learned from, if that is enough."""
    axes, off = [axis for axis in PERFORMANCE if axis in net.design.axes], []
    net.eval()
    for example in islice(examples, _CALIBRATED_MOST):
        part = lesson([example], reader)
        with torch.inference_mode():
            scores: dict[str, Any] = net(part.batch.to(next(net.parameters()).device))
        off.append([float(part.truth[axis][0]) - min(max(float(scores[axis][0]), 1.0), 5.0) for axis in axes])
    if len(off) < _LEAST:
        return
    ends = {axis: np.quantile(row, (0.05, 0.95)).tolist() for axis, row in zip(axes, np.transpose(off), strict=True)
            if not np.isnan(row).any()}  # fmt: skip
    value = {"schema": 1, "split": split, "n": len(off), "off": ends}
    write_bytes(path, dump(value, indent=1) + b"\n")
    yield path
