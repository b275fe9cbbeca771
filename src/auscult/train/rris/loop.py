"""Training a segmenter that can answer with nothing: the vision encoder names things, then sentences are segmented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import torch

from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.media.paths import write_bytes
from auscult.nets.refsegformer.network import RefSegformer
from auscult.nets.refsegformer.weights import read_model
from auscult.record.codec import dump, to_json
from auscult.rng import generator
from auscult.train.rris.export import export
from auscult.train.rris.naming import NamingFeed, NamingTrainer
from auscult.train.rris.references import Feed, Reference, read_references
from auscult.train.rris.trainable import Trainable, build, read_plan
from auscult.train.rris.trainer import Trainer
from auscult.train.trainer import STATE, ends_at, trained

NAMING: Final = "naming.pt"
NAMING_LOSSES: Final = "naming.jsonl"
MODEL: Final = "model"
ONNX: Final = "onnx"


def rris(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train a segmenter on the references of ``--data``; yields what it wrote.

    The folder gets ``plan.json``, the settings as they were; ``losses.jsonl``, a line a step; ``state.pt``, from which
    the same command goes on; ``naming.jsonl`` and ``naming.pt``, the same of naming things, where the plan has that;
    and at the end ``model/``, and ``onnx/`` where the network has encoders of our own.
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
        yield _described(trainer, references, errors=len(listing.errors), options=options)
    until = ends_at(options)
    if not state.exists() and not _named(trainable, references, options, until=until, progress=progress):
        return
    if not trained(trainer, options, progress, until=until):
        return
    if main:
        yield from trainable.save(options.out / MODEL)
        design = trainable.plan.design
        if isinstance(trainable.net, RefSegformer) and design.vision != "swin" and design.text == "small":
            yield from export(read_model(options.out / MODEL), options.out / ONNX)


def _named(
    trainable: Trainable, references: Sequence[Reference], options: TrainOptions, *, until: float, progress: Progress
) -> bool:
    """Teach a small vision encoder to name things; gives whether that is done, or not asked for."""
    feed = NamingFeed(references, trainable.plan, seed=options.seed)
    net = trainable.net
    if not feed.steps or not isinstance(net, RefSegformer):
        return True
    trainer = NamingTrainer(trainable, feed, seed=options.seed, device=options.device)
    if (options.out / NAMING).exists():
        trainer.load(options.out / NAMING)
    return trained(trainer, options, progress, until=until, state=NAMING, losses=NAMING_LOSSES, stage="naming things")


def _described(trainer: Trainer, references: Sequence[Reference], *, errors: int, options: TrainOptions) -> Path:
    net = trainer.accelerator.unwrap_model(trainer.net)
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
