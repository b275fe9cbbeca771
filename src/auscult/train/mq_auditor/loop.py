"""Training MQ-Auditor: first, if the settings say so, to name what is in a clip; then to answer about masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import torch
from torch import Tensor

from auscult.errors import InputError, UsageError
from auscult.jobs.clip_context import ClipIndex
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.replies import read_reply
from auscult.media.paths import write_bytes
from auscult.nets.mq_auditor.inputs import AuditorBatch, Reader
from auscult.nets.mq_auditor.network import Decoding, MqAuditor
from auscult.nets.mq_auditor.prompt import AuditorConfig, build_tokenizer
from auscult.nets.mq_auditor.weights import assemble, load, save
from auscult.record.codec import dump, to_json
from auscult.rng import generator
from auscult.train import trainer
from auscult.train.mq_auditor.samples import Feed, Plan, Unit, read_plan, read_units, texts_of
from auscult.train.trainer import STATE, ends_at, trained

MODEL: Final = "model"
_CALIBRATED_ON: Final = 0.1  # of the videos, which are not learned from
_CALIBRATED_MOST: Final = 400
_LEAST: Final = 20


class Trainer(trainer.Trainer):
    """MQ-Auditor in training; a batch is a list of small batches."""

    recipe: ClassVar = "mq-auditor"
    keeps_resting: ClassVar = False
    plan: Plan

    def __init__(
        self, net: MqAuditor, feed: Lessons, plan: Plan, *, seed: int, steps: int, device: str = "cpu"
    ) -> None:
        from accelerate import PartialState

        net.learn(plan.learns)
        parts = plan.batch // plan.small_batch
        processes = PartialState(cpu=device == "cpu").num_processes
        if parts % processes:
            raise UsageError(f"{parts} small batches are not shared out evenly among {processes} processes")
        super().__init__(net, feed, plan, seed=seed, steps=steps, device=device, accumulation=parts // processes)

    def parts(self, batch: Sequence[AuditorBatch]) -> Sequence[AuditorBatch]:
        """The small batches of a batch."""
        return batch

    def losses(self, batch: AuditorBatch) -> dict[str, Tensor]:
        """Next-token loss of a small batch and, with a head for the IoU, its squared error (Sec. 5.2)."""
        losses: dict[str, Tensor] = self.net(batch.to(self.accelerator.device))
        return losses


@dataclass(frozen=True, slots=True)
class Lessons:
    """Batches as the network takes them."""

    feed: Feed
    read: Reader

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> list[AuditorBatch]:
        """The small batches of a process, see ``Feed.batch``."""
        drawn = self.feed.batch(number, process=process, processes=processes)
        if self.feed.plan.learns == "captions":
            return [self.read.captions([one.case for one in part], [one.caption for one in part]) for part in drawn]
        return [self.read.batch([(one.case, one.mask) for one in part], [one.answer for one in part]) for part in drawn]


def mq_auditor(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train MQ-Auditor on masks with truth; yields what it wrote.

    The folder gets ``plan.json``, the settings as they were; ``losses.jsonl``, a line a step; ``state.pt``, from which
    the same command goes on; and at the end ``model/``, which ``--judge reasoning@DIR/model`` loads, with the interval
    of its IoU from videos that were not learned from.
    """
    torch.set_num_threads(options.threads)
    plan = read_plan(options.config)
    units, listing = read_units(options.material(), plan)
    learned, held = split(units, seed=options.seed)
    torch.manual_seed(int(generator(options.seed, Trainer.recipe, "weights").integers(1 << 62)))
    net, tokenizer = build(options.model, plan, learned)
    feed = Feed(learned, ClipIndex.of(listing), plan, seed=options.seed)
    steps = feed.steps if options.samples is None else max(1, options.samples // plan.batch)
    lessons = Lessons(feed, Reader(net.config, tokenizer))
    training = Trainer(net, lessons, plan, seed=options.seed, steps=steps, device=options.device)
    if (options.out / STATE).exists():
        training.load(options.out / STATE)
    main = training.accelerator.is_main_process
    if main:
        value = {
            "model": options.model,
            "seed": options.seed,
            "parameters": sum(one.numel() for one in net.parameters()),
            "learned": sum(one.numel() for one in net.parameters() if one.requires_grad),
            "videos": len(feed.videos),
            "could_not_be_listed": len(listing.errors),
            "steps": steps,
            "plan": to_json(asdict(plan)),
        }
        write_bytes(options.out / "plan.json", dump(value, indent=1) + b"\n")
        yield options.out / "plan.json"
    if not trained(training, options, progress, until=ends_at(options)):
        return
    weights = training.accelerator.get_state_dict(training.net)  # gathered, where processes share them
    if main:
        net, tokenizer = build(options.model, plan, learned)
        net.load_state_dict(weights)
        save(net, tokenizer, options.out / MODEL, learned_only=plan.learns != "all")
        yield options.out / MODEL
        if plan.learns != "captions":
            others = Feed(held, feed.clips, plan, seed=options.seed)
            yield from calibrated(net, tokenizer, others, folder=options.out / MODEL)


def split(units: Sequence[Unit], *, seed: int) -> tuple[list[Unit], list[Unit]]:
    """Units to learn from, and units of a tenth of the videos for the interval of the IoU."""
    videos = sorted({one.video for one in units})
    order = generator(seed, Trainer.recipe, "held out").permutation(len(videos))
    held = {videos[at] for at in order[: int(_CALIBRATED_ON * len(videos))]}
    return [one for one in units if one.video not in held], [one for one in units if one.video in held]


def build(name: str, plan: Plan, units: Sequence[Unit]) -> tuple[MqAuditor, Any]:
    """The network of ``mq-auditor@FOLDER`` and its tokenizer, a folder with ``language/``, ``vision/`` and ``sound/``.

    Or what an earlier stage of training wrote; without a folder the network is new, with the words of ``units``, which
    only ``learns: all`` may be.
    """
    _, at, folder = name.partition("@")
    if at and Path(folder, "config.json").is_file():
        net, tokenizer = load(Path(folder))
        other = sorted(key for key, value in plan.network.items() if not _within(value, getattr(net.config, key, None)))
        if other:
            raise UsageError(
                f"the settings differ from those of the weights in {', '.join(other)}",
                expected="`network` as it was when they were made",
                path=Path(folder),
            )
        return net, tokenizer
    if at:
        base = {part: Path(folder, part) for part in ("language", "vision", "sound")}
        missing = [part for part, path in base.items() if not path.is_dir()]
        if missing:
            raise UsageError(
                f"there is no folder {', '.join(missing)} in it",
                expected="language/ (a causal LM), vision/ (CLIP) and sound/ (BEATs, AST, CLAP, PE-audio)",
                path=Path(folder),
            )
        return assemble(AuditorConfig(**plan.network), **base)
    if plan.learns != "all":
        raise UsageError(
            "the weights that MQ-Auditor starts from are not given",
            expected="--model mq-auditor@FOLDER with language/, vision/ and sound/ in it",
            hint="--config small needs none: it learns everything from nothing",
        )
    tokenizer = build_tokenizer(texts_of(units))
    language = {**plan.network.get("language", {}), "vocab_size": len(tokenizer)}
    return MqAuditor(AuditorConfig(**{**plan.network, "language": language})), tokenizer


def _within(value: object, known: object) -> bool:
    """Whether settings are among those that are known."""
    if isinstance(value, dict) and isinstance(known, dict):
        return all(known.get(key) == one for key, one in value.items())
    return value == known


def calibrated(net: MqAuditor, tokenizer: Any, feed: Feed, *, folder: Path) -> Iterator[Path]:
    """Write the 5 and 95 % quantiles of true minus stated IoU, types and perfect masks as often as in training."""
    read, off = Reader(net.config, tokenizer), list[float]()
    net.eval()
    count = min(_CALIBRATED_MOST, 12 * len(feed.videos))
    for number in range(-(-count // feed.plan.batch)):
        for part in feed.batch(number):
            batch = read.batch([(one.case, one.mask) for one in part]).to(next(net.parameters()).device)
            for sample, replies in zip(part, net.generate(batch, tokenizer, how=Decoding()), strict=True):
                try:
                    off.append(sample.iou - read_reply(replies[0]).iou)
                except InputError:
                    continue
    if len(off) >= _LEAST:
        low, high = np.quantile(off, (0.05, 0.95)).tolist()
        value = {"schema": 1, "split": "held out of train", "n": len(off), "low": low, "high": high}
        write_bytes(folder / "calibration.json", dump(value, indent=1) + b"\n")
        yield folder / "calibration.json"
