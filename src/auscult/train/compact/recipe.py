"""The recipe of `masks.compact.v1`: one command, the same again to go on.

::

    auscult train compact-mask --data DIR --out DIR --seed 0

In OUT: ``pack.zip``, what training reads; ``checkpoint.pt``, where it stands; ``log.jsonl`` and ``curves.svg``, how it
went; ``weights.onnx`` and ``calibration.json``, what the judge needs. A run stops after ``minutes`` and says how many
samples are left; the same command continues with the very next batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import torch

from auscult.errors import InputError
from auscult.jobs.progress import Progress, Silent
from auscult.judge.masks.compact.calibration import save_calibration
from auscult.judge.masks.compact.network import load_network
from auscult.train.compact.batches import batches
from auscult.train.compact.calibrate import calibrate
from auscult.train.compact.export import export
from auscult.train.compact.held import held_out, said_of
from auscult.train.compact.log import TrainingLog
from auscult.train.compact.loop import Plan, Trainer, train
from auscult.train.compact.material import Amounts, everything
from auscult.train.compact.mixing import fit_mixing
from auscult.train.compact.pack import write_pack

MINUTES: Final = 130.0
_SAVE_EVERY_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactOptions:
    """How to train.

    Attributes:
        out: Where everything goes; what is there is continued.
        data: The folder of real material; None where a pack is given and nothing is calibrated (a lent machine).
        pack: A pack made before; made from ``data`` where None.
        plan: Design, seed and number of samples.
        amounts: How many scenes a new pack gets.
        minutes: After this long training stops and what there is gets exported.
        device: ``cpu`` or ``cuda``.
        threads: Threads of the network's arithmetic.
        workers: Processes that make batches.
    """

    out: Path
    data: Path | None = None
    pack: Path | None = None
    plan: Plan = field(default_factory=Plan)
    amounts: Amounts = field(default_factory=Amounts)
    minutes: float = MINUTES
    device: str = "cpu"
    threads: int = 2
    workers: int = 1


def compact_mask(options: CompactOptions, progress: Progress | None = None) -> Iterator[Path]:
    """Train, export, calibrate.

    Yields:
        The files, as they are written.

    Raises:
        InputError: The data, the pack or the checkpoint is missing, damaged or another plan's.
        OutputError: A file cannot be written.
    """
    listener = progress or Silent()
    torch.set_num_threads(options.threads)
    pack = options.pack or options.out / "pack.zip"
    if not pack.exists():
        yield _packed(pack, options, listener)
    trainer = Trainer(options.plan, device=options.device, threads=options.threads)
    checkpoint = options.out / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load(checkpoint)
    log = TrainingLog(options.out / "log.jsonl", plan=options.plan)
    _trained(trainer, pack, checkpoint, options=options, log=log, progress=listener)
    yield checkpoint
    yield log.draw(options.out / "curves.svg")
    net = trainer.averaged()
    if options.data is not None:
        listener.stage("mixing", 0)
        net.mix(fit_mixing(net, list(held_out(options.data, "calibration", seed=options.plan.seed))))
    weights = options.out / "weights.onnx"
    export(net, weights)
    yield weights
    if options.data is not None:
        yield calibrated(options.data, weights, seed=options.plan.seed, progress=listener)


def calibrated(data: Path, weights: Path, *, seed: int, progress: Progress) -> Path:
    """Calibrate exported weights on the calibration part, into ``calibration.json`` beside them.

    Raises:
        InputError: The data is missing or broken.
        UsageError: The weights are missing or broken.
    """
    progress.stage("calibrating", 0)
    network = load_network(weights)
    held = said_of(network, held_out(data, "calibration", seed=seed))
    return save_calibration(calibrate(held, weights=network.digest), weights.with_name("calibration.json"))


def _packed(pack: Path, options: CompactOptions, progress: Progress) -> Path:
    if options.data is None:
        raise InputError("there is no pack and no data to make one of", path=pack, hint="name --data or --pack")
    write_pack(pack, everything(options.data, options.amounts, seed=options.plan.seed, progress=progress))
    return pack


def _trained(
    trainer: Trainer, pack: Path, checkpoint: Path, *, options: CompactOptions, log: TrainingLog, progress: Progress
) -> None:
    until = time.monotonic() + options.minutes * 60
    progress.stage("training", trainer.plan.steps)
    progress.step(trainer.step)
    saved = time.monotonic()

    def heard(step: int, parts: dict[str, float]) -> None:
        nonlocal saved
        log.keep(step, parts, rate=trainer.plan.rate_at(step - 1))
        progress.step()
        if time.monotonic() - saved > _SAVE_EVERY_S:
            trainer.save(checkpoint)
            saved = time.monotonic()

    plan = options.plan
    with batches(
        pack, seed=plan.seed, size=plan.size, echo=plan.echo, first=trainer.step, workers=options.workers
    ) as found:
        train(trainer, found, until=until, heard=heard)
    trainer.save(checkpoint)
