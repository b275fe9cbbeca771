"""Training MQ-Auditor: first, if the settings say so, to name what is in a clip; then to answer about masks.

It learns from masks of an INPUT with truth, each with the answer to learn. Sampling is the paper's (Sec. 4,
"Training"): an epoch shows one mask of each video, of one of its expressions; in each small batch a fixed part is
perfect masks, and of the others first a type is drawn, uniformly, then a mask of it. A batch follows from (seed,
number) and the masks alone.

Settings are the paper's, its release's, small ones, and a row of an ablation on any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

import cv2
import msgspec
import numpy as np
import torch
from torch import Tensor

from auscult.cases.datasets.mqravs import UNNAMED, response
from auscult.cases.listing import Listing, list_items
from auscult.errors import AuscultError, InputError, UnknownName, UsageError
from auscult.jobs.clip_context import ClipIndex
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.masks.reasoning import CALIBRATION, ReasoningCalibration
from auscult.judge.replies import read_reply
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.media.paths import write_bytes
from auscult.nets.mq_auditor.inputs import AuditorBatch, Reader
from auscult.nets.mq_auditor.network import AuxiliaryHeads, Decoding, MqAuditor
from auscult.nets.mq_auditor.prompt import AuditorConfig, build_tokenizer
from auscult.nets.mq_auditor.weights import assemble, load, save
from auscult.record.codec import dump, from_json
from auscult.rng import generator, pick
from auscult.train import trainer
from auscult.train.recipes import read_yaml
from auscult.train.trainer import STATE, ends_at, trained, write_plan
from auscult.types import ACTIONS, DEFECTS, Case, Defect, Item, Mask

COMMITTED: Final = ("paper", "release", "projectors", "small")
_FOLDER: Final = Path(__file__).parent
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditorPlan:
    """How MQ-Auditor is trained; the defaults are the paper's (Sec. 4, "Training").

    Attributes:
        network: What of ``AuditorConfig`` is not as by default.
        learns: ``answers``: adapters, projectors and Q-Formers learn what to answer about a mask; ``captions``: before
            that, projectors and Q-Formers alone learn to name what is in a clip; ``all``: everything, from nothing.
        positives: p of Table 6: the part of each small batch that is perfect masks.
        comment: Whether an answer begins with a sentence, in which the type is decided word by word; a network that
            cannot name things yet, learns types sooner without.
        auxiliary: The part of the steps, the first ones, that are without words: auxiliary heads predict a mask's type,
            action and IoU, so that encoder and Q-Former learn before the language model. Later their loss is added;
            they are not saved. The rate rises and falls in each of both parts.
        share: The part of the videos that is learned from (Table 10).
        epochs: Each shows one mask of each video.
        batch: Masks of a step, over all processes and accumulated small batches.
        small_batch: Masks that are computed at once, and among which ``positives`` holds.
        rate: Highest learning rate of AdamW.
        decay: Its weight decay, on matrices.
        warmup: The part of the steps over which the rate rises; then it falls as a cosine.
        clip: Largest norm of the gradient; None for any.
        split: Split of the data; what is in none is taken always.
        precision: ``bf16`` or ``no``, of ``accelerate``.
    """

    network: Mapping[str, Any] = field(default_factory=dict)
    learns: Literal["answers", "captions", "all"] = "answers"
    positives: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    comment: bool = True
    auxiliary: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.0
    share: _Share = 1.0
    epochs: _Count = 48
    batch: _Count = 128
    small_batch: _Count = 4
    rate: _Positive = 1e-4
    decay: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    warmup: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.03
    clip: _Positive | None = None
    split: str = "train"
    precision: Literal["no", "bf16"] = "bf16"

    def __post_init__(self) -> None:
        """Check that small batches fill a batch, and that auxiliary heads have masks."""
        if self.auxiliary and self.learns == "captions":
            raise ValueError("captions are of clips: there are no masks for `auxiliary` heads")
        if self.batch % self.small_batch:
            raise ValueError(f"a batch of {self.batch} is not made of small batches of {self.small_batch}")

    def auxiliary_steps(self, steps: int) -> int:
        """How many of the steps are taken without words."""
        return round(self.auxiliary * steps)

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step."""
        first = self.auxiliary_steps(steps)
        step, steps = (step, first) if step < first else (step - first, steps - first)
        rising = math.ceil(self.warmup * steps)
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1))) / 2


def rows() -> dict[str, dict[str, Any]]:
    """The rows of Tables 4, 5, 6, 9 and 10 by name, ``table4.both``, each with the settings that make it."""
    table, path = read_yaml("ablations", folder=_FOLDER, committed=("ablations",))
    return from_json(dict[str, dict[str, Any]], table, path=path, error=UsageError)


def read_plan(name: str) -> AuditorPlan:
    """The settings of a committed name, or of a YAML file; ``NAME+ROW`` with those of an ablation's row on top."""
    base, plus, row = name.partition("+")
    table, path = read_yaml(base, folder=_FOLDER, committed=COMMITTED)
    ablations = rows()
    if plus and row not in ablations:
        raise UnknownName(f"there is no row {row!r}", expected=f"one of: {', '.join(ablations)}")
    if plus and isinstance(table, dict):
        changes = ablations[row]
        network = {**(table.get("network") or {}), **changes.get("network", {})}
        table = {**table, **changes, "network": network}
    return from_json(AuditorPlan, table or {}, path=path, error=UsageError, exact=True)


TRIES: Final = 50
"""Unreadable masks in a row that end a training."""

_COMMENT: Final = re.compile(r"(<audit>).*?(<iou>)", re.IGNORECASE | re.DOTALL)
_IOU: Final = re.compile(r"(<iou>)[^<]*(</iou>)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A video with an expression: its perfect mask, and its others by type."""

    id: str
    video: str
    perfect: Item | None
    others: Mapping[Defect, tuple[Item, ...]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """A mask as a judge sees it, and what to answer about it."""

    case: Case
    mask: Mask
    answer: str
    iou: float
    kind: tuple[int, int]  # type and action, places in DEFECTS and ACTIONS
    caption: str


def read_units(source: Path, plan: AuditorPlan) -> tuple[list[Unit], Listing]:
    """List what a plan learns from: MQ-RAVSBench as released, or what ``auscult stress masks --suite mqa`` wrote.

    Of the videos, ``plan.share`` are kept; a smaller share is part of a larger one. Empty masks are left out: they are
    rejected by rule.
    """
    listing = list_items(source)
    by_uid: dict[str, list[Item]] = {}
    for item in listing.items:
        mqa, truth = item.extra.get("mqa") or {}, item.truth
        if mqa.get("split", "") not in {plan.split, ""} or truth is None or truth.iou is None:
            continue
        if truth.defect is not None and truth.defect != "empty" and truth.action is not None:
            by_uid.setdefault(str(mqa.get("uid") or f"{item.clip or item.frame}: {item.query.text}"), []).append(item)
    units = [_unit(name, items) for name, items in by_uid.items()]
    videos = sorted({unit.video for unit in units})
    order = generator(0, "mq-auditor", "videos").permutation(len(videos))
    chosen = {videos[index] for index in order[: max(1, round(plan.share * len(videos)))]} if videos else set()
    units = [unit for unit in units if unit.video in chosen]
    if not units:
        splits = {str(split) for item in listing.items if (split := (item.extra.get("mqa") or {}).get("split"))}
        splits.discard(plan.split)
        other = f"; or name in a YAML file of settings, as `split`, one that is here: {', '.join(sorted(splits)[:5])}"
        raise UsageError(
            "there is nothing to learn from",
            expected=f"masks of the split {plan.split!r} with true IoU, defect and action",
            hint="`auscult stress masks INPUT --suite mqa` makes them from true masks with expressions"
            + (other if splits else ""),
            path=source,
        )
    return units, listing


def _unit(name: str, items: Sequence[Item]) -> Unit:
    by_type: dict[Defect, list[Item]] = {}
    for item in items:
        by_type.setdefault(_defect(item), []).append(item)
    perfect = by_type.pop("perfect", [None])[0]
    video = items[0].clip or str(items[0].frame)
    return Unit(id=name, video=video, perfect=perfect, others={name: tuple(same) for name, same in by_type.items()})


def _defect(item: Item) -> Defect:
    return "perfect" if item.truth is None or item.truth.defect is None else item.truth.defect


def _kind(item: Item) -> tuple[int, int]:
    truth = item.truth
    if truth is None or truth.defect is None or truth.action is None or truth.defect not in DEFECTS:
        raise InputError(f"{item.id}: defect and action are not all known")
    return DEFECTS.index(truth.defect), ACTIONS.index(truth.action)


def answer_of(item: Item) -> tuple[str, float]:
    """What to answer about a mask, what its file says or the sentence of its type (G.3), and the IoU that is in it."""
    truth = item.truth
    if truth is None or truth.iou is None or truth.defect is None or truth.action is None:
        raise InputError(f"{item.id}: IoU, defect and action are not all known")
    written = item.extra.get("response")
    if isinstance(written, str):
        return _IOU.sub(rf"\1 {truth.iou:.4f} \2", written), truth.iou
    mqa = item.extra.get("mqa") or {}
    words = {key: mqa.get(name) or "" for key, name in (("target", "category"), ("other", "negative"))}
    return response(truth.defect, truth.action, iou=truth.iou, **words), truth.iou


def caption_of(units: Iterable[Unit]) -> str:
    """What is in a video, as far as its masks say: the warm-up of the projectors learns to name it."""
    masks = (item for unit in units for same in (*unit.others.values(), (unit.perfect,)) for item in same if item)
    labels = (item.extra.get("mqa") or {} for item in masks)
    names = sorted({str(name) for label in labels for name in (label.get("category"), label.get("negative")) if name})
    return f"There is: {', '.join(names) or UNNAMED}."


class AuditorFeed:
    """Makes the batches of a plan: each a list of small batches, of which a process gets its own."""

    def __init__(self, units: Sequence[Unit], clips: ClipIndex, plan: AuditorPlan, *, seed: int) -> None:
        self.clips, self.plan, self.seed = clips, plan, seed
        self.videos = [[*same] for _, same in groupby(sorted(units, key=attrgetter("video")), attrgetter("video"))]
        self.each = max(1, len(self.videos) // plan.batch)
        self.steps = self.each * plan.epochs
        self._captions = {same[0].video: caption_of(same) for same in self.videos}

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> list[list[Sample]]:
        """A batch by its number, as lists of ``small_batch`` samples."""
        batches = list(enumerate(self.drawn(number)))[process::processes]
        return [[self._read(item, rng=self._rng("instead", number, k)) for item in small] for k, small in batches]

    def _rng(self, use: str, *key: int) -> np.random.Generator:
        return generator(self.seed, "mq-auditor", use, *key)

    def drawn(self, number: int) -> list[list[Item]]:
        """The masks of a batch."""
        plan, (epoch, position) = self.plan, divmod(number, self.each)
        order = self._rng("order", epoch).permutation(len(self.videos))
        chosen = np.take(order, np.arange(position * plan.batch, (position + 1) * plan.batch), mode="wrap")
        rng = self._rng("batch", number)
        first = number * (plan.batch // plan.small_batch)
        return [
            self._small([pick(rng, self.videos[which]) for which in part], first + k, rng)
            for k, part in enumerate(chosen.reshape(-1, plan.small_batch).tolist())
        ]

    def _small(self, units: Sequence[Unit], number: int, rng: np.random.Generator) -> list[Item]:
        """A mask of each; what 25 % of 2 leaves over is made up for by the small batches after it."""
        part = self.plan.positives * self.plan.small_batch
        positives = int(part * (number + 1) + 1e-9) - int(part * number + 1e-9)
        return [_draw_item(unit, rng, perfect=index < positives) for index, unit in enumerate(units)]

    def _read(self, item: Item, *, rng: np.random.Generator) -> Sample:
        """A mask; where it cannot be read, another one, perfect if it was."""
        for _ in range(TRIES):
            try:
                return self.sample(item)
            except (AuscultError, cv2.error):
                unit = pick(rng, pick(rng, self.videos))
                item = _draw_item(unit, rng, perfect=_defect(item) == "perfect")
        raise InputError(f"{TRIES} masks in a row cannot be read", hint="are the pictures where the data says?")

    def sample(self, item: Item) -> Sample:
        """A mask as the judge would see it."""
        frame = read_frame(item.frame)
        mask = read_mask(item.mask, size=(frame.shape[0], frame.shape[1])).mask
        answer, iou = answer_of(item)
        if not self.plan.comment:
            answer = _COMMENT.sub(r"\1 \2", answer)
        clip = self.clips.context(item)
        case = Case(id=item.id, frame=frame, query=item.query, time_s=item.time_s, clip=clip)
        caption = self._captions[item.clip or str(item.frame)]
        return Sample(case=case, mask=mask, answer=answer, iou=iou, kind=_kind(item), caption=caption)


def _draw_item(unit: Unit, rng: np.random.Generator, *, perfect: bool) -> Item:
    """Its perfect mask, or a mask of a type that is drawn first; where there is none such, of the other kind."""
    if unit.perfect is not None and (perfect or not unit.others):
        return unit.perfect
    return pick(rng, unit.others[pick(rng, sorted(unit.others))])


def texts_of(units: Iterable[Unit]) -> list[str]:
    """All expressions and answers, of which a small language model takes its words."""
    items = [item for unit in units for same in (*unit.others.values(), (unit.perfect,)) for item in same if item]
    return [text for item in items for text in (item.query.text or "", answer_of(item)[0])]


MODEL: Final = "model"
_CALIBRATED_ON: Final = 0.1  # of the videos, which are not learned from
_CALIBRATED_MOST: Final = 400
_LEAST: Final = 20
_NOT_SAVED: Final = "auxiliary."


class AuditorTrainer(trainer.Trainer):
    """MQ-Auditor in training; a batch is a list of small batches."""

    recipe: ClassVar = "mq-auditor"
    keeps_resting: ClassVar = False
    plan: AuditorPlan

    def __init__(
        self, net: MqAuditor, feed: Lessons, plan: AuditorPlan, *, seed: int, steps: int, device: str = "cpu"
    ) -> None:
        from accelerate import PartialState

        net.learn(plan.learns)
        if plan.auxiliary:
            net.auxiliary = AuxiliaryHeads(net.config)
        parts = plan.batch // plan.small_batch
        processes = PartialState(cpu=device == "cpu").num_processes
        if plan.auxiliary and processes > 1:
            raise UsageError("several processes cannot train auxiliary heads", hint="`auxiliary: 0`, or one process")
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

    feed: AuditorFeed
    read: Reader
    auxiliary_steps: int = 0  # batches, the first ones, without answers

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> list[AuditorBatch]:
        """The small batches of a process, see ``Feed.batch``."""
        parts, read = self.feed.batch(number, process=process, processes=processes), self.read
        if self.feed.plan.learns == "captions":
            return [read.captions([item.case for item in part], [item.caption for item in part]) for part in parts]
        return [self._shown(part, silent=number < self.auxiliary_steps) for part in parts]

    def _shown(self, part: Sequence[Sample], *, silent: bool) -> AuditorBatch:
        """Masks with what to answer, or, ``silent``, without it and without their clips."""
        shown = [(replace(item.case, clip=None) if silent else item.case, item.mask) for item in part]
        batch = self.read.batch(shown, None if silent else [item.answer for item in part])
        kinds, ious = torch.tensor([item.kind for item in part]), torch.tensor([item.iou for item in part])
        return replace(batch, kinds=kinds, ious=ious)


def mq_auditor(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train MQ-Auditor on masks with truth; yields what it wrote.

    The folder gets ``plan.json``, the settings as they were; ``losses.jsonl``, a line a step; ``state.pt``, from which
    the same command goes on; and at the end ``model/``, which ``--judge reasoning@DIR/model`` loads, with the interval
    of its IoU from videos that were not learned from.
    """
    torch.set_num_threads(options.threads)
    plan = read_plan(options.config)
    units, listing = read_units(options.material(), plan)
    learned, held_out = split(units, seed=options.seed)
    torch.manual_seed(int(generator(options.seed, AuditorTrainer.recipe, "weights").integers(1 << 62)))
    net, tokenizer = build(options.model, plan, learned)
    feed = AuditorFeed(learned, ClipIndex.of(listing), plan, seed=options.seed)
    steps = feed.steps if options.samples is None else max(1, options.samples // plan.batch)
    lessons = Lessons(feed, Reader(net.config, tokenizer), auxiliary_steps=plan.auxiliary_steps(steps))
    training = AuditorTrainer(net, lessons, plan, seed=options.seed, steps=steps, device=options.device)
    if (options.out / STATE).exists():
        training.load(options.out / STATE)
    main = training.accelerator.is_main_process
    if main:
        counts = {"videos": len(feed.videos), "could_not_be_listed": len(listing.errors)}
        yield write_plan(training, options, options.out / "plan.json", excluded=(_NOT_SAVED,), **counts)
    if not trained(training, options, progress, until=ends_at(options)):
        return
    weights = training.accelerator.get_state_dict(training.net)  # gathered, where processes share them
    if main:
        net, tokenizer = build(options.model, plan, learned)
        net.load_state_dict({name: value for name, value in weights.items() if not name.startswith(_NOT_SAVED)})
        save(net, tokenizer, options.out / MODEL, learned_only=plan.learns != "all")
        yield options.out / MODEL
        if plan.learns != "captions":
            others = AuditorFeed(held_out, feed.clips, plan, seed=options.seed)
            yield from calibrated(net, tokenizer, others, folder=options.out / MODEL)


def split(units: Sequence[Unit], *, seed: int) -> tuple[list[Unit], list[Unit]]:
    """Units to learn from, and units of a tenth of the videos for the interval of the IoU."""
    videos = sorted({unit.video for unit in units})
    order = generator(seed, AuditorTrainer.recipe, "held out").permutation(len(videos))
    held_out = {videos[index] for index in order[: int(_CALIBRATED_ON * len(videos))]}
    return [unit for unit in units if unit.video not in held_out], [unit for unit in units if unit.video in held_out]


def build(name: str, plan: AuditorPlan, units: Sequence[Unit]) -> tuple[MqAuditor, Any]:
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
        return all(known.get(key) == setting for key, setting in value.items())
    return value == known


def calibrated(net: MqAuditor, tokenizer: Any, feed: AuditorFeed, *, folder: Path) -> Iterator[Path]:
    """Write the line from stated to true IoU, and quantiles of what is left, on masks as frequent as in the data."""
    units = list(chain(*feed.videos))
    items = [unit.perfect for unit in units if unit.perfect is not None]
    items += [item for unit in units for same in unit.others.values() for item in same]
    order = generator(feed.seed, AuditorTrainer.recipe, "calibrated").permutation(len(items)).tolist()
    chosen = [items[index] for index in order[:_CALIBRATED_MOST]]
    read, pairs = Reader(net.config, tokenizer), list[tuple[float, float]]()
    net.eval()
    for start in range(0, len(chosen), feed.plan.small_batch):
        few = chosen[start : start + feed.plan.small_batch]
        part = [sample for item in few if (sample := _readable(feed, item))]
        if not part:
            continue
        batch = read.batch([(sample.case, sample.mask) for sample in part]).to(next(net.parameters()).device)
        for sample, replies in zip(part, net.generate(batch, tokenizer, how=Decoding()), strict=True):
            with suppress(InputError):
                pairs.append((read_reply(replies[0]).iou, sample.iou))
    if len(pairs) < _LEAST:
        return
    stated, true = np.transpose(pairs)
    varies = float(stated.var())
    slope = max(0.0, float(np.mean((stated - stated.mean()) * (true - true.mean()))) / varies) if varies else 0.0
    intercept = float(true.mean() - slope * stated.mean())
    low, high = np.quantile(true - np.clip(intercept + slope * stated, 0, 1), (0.05, 0.95)).tolist()
    fit = ReasoningCalibration(
        schema=1, split="held out of train", n=len(pairs), slope=slope, intercept=intercept, low=low, high=high
    )
    write_bytes(folder / CALIBRATION, dump(asdict(fit), indent=1) + b"\n")
    yield folder / CALIBRATION


def _readable(feed: AuditorFeed, item: Item) -> Sample | None:
    with suppress(AuscultError, cv2.error):
        return feed.sample(item)
    return None
