"""Training a segmenter that can answer with nothing: the vision encoder names things, then sentences are segmented.

Losses are those of Sec. 4: Eq. 5 on masks, Eq. 7 on existence, Eq. 8 of both. A trained network with encoders of our
own becomes two ONNX files: what hangs on the picture alone, and the rest. ``stem.onnx`` runs once a picture,
``answer.onnx`` once a sentence on the maps that the first gave. Both take any batch.

Before a small network reads sentences, its vision encoder learns to name things. A Swin comes from ImageNet. From
nothing, a mask for each sentence teaches an encoder little: most of it is background, and it can be told from a
sentence alone. What a thing is called is told by every object of every picture at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import cv2
import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from auscult.errors import AuscultError, InputError, UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.nets.refsegformer.answering import ANSWER, READER, STEM, PictureReading
from auscult.nets.refsegformer.network import RefSegformer, Segmentation, VisionStages
from auscult.nets.refsegformer.settings import LAST, PADDING, Design, squeezed
from auscult.nets.refsegformer.weights import Model, WordReader, read_model
from auscult.rng import generator
from auscult.train import trainer
from auscult.train.network_files import describe_onnx, require_close, write_onnx
from auscult.train.rris.references import TRIES, Feed, Reference, read_references, truth
from auscult.train.rris.trainable import GAMMA, LAMBDA, SegmenterPlan, Trainable, build, read_plan
from auscult.train.trainer import STATE, ends_at, trained, write_plan
from auscult.types import MaskRef


def segmentation_loss(
    masks: Sequence[Tensor],
    truth: Tensor,
    *,
    coarse: float = LAMBDA,
    foreground: float = 1.0,
    exists: Tensor | None = None,
    negatives: float | None = None,
) -> Tensor:
    """Eq. 5: cross-entropy of M_1 over all pixels, plus ``coarse`` (lambda) times that of each of M_2..M_4.

    ``masks`` are logits (n, 2, h, w), finest first, each enlarged linearly to the size of ``truth``, bool or int64 (n,
    H, W), all 0 for a negative sentence. ``foreground`` is what a pixel of the target counts; one of the background
    counts 1, as both do in Eq. 5. More helps a network that begins from nothing over the time in which it calls every
    pixel background. Without ``negatives`` there is one mean over all samples. The release's variant
    (``robust_ref_seg``) is the mean over positive samples, by ``exists``, bool (n,), plus ``negatives`` times the mean
    over negative ones; .4 there.
    """
    total = truth.new_zeros((), dtype=torch.float32)
    for index, mask in enumerate(masks):
        logits = functional.interpolate(mask.float(), size=truth.shape[1:], mode="bilinear", align_corners=False)
        pixels = functional.cross_entropy(logits, truth.long(), reduction="none")
        per_sample = (pixels * (1 + (foreground - 1) * truth.float())).mean(dim=(1, 2))
        total = total + (1.0 if index == 0 else coarse) * _joined(per_sample, exists, negatives)
    return total


def existence_loss(logits: Tensor, exists: Tensor) -> Tensor:
    """Eq. 7 with the minus that it lacks in print: binary cross-entropy of logits (n,) with ``exists``, bool (n,)."""
    return functional.binary_cross_entropy_with_logits(logits.float(), exists.float())


def choosing_loss(masks: Sequence[Tensor], objects: Tensor, of: Tensor, *, chosen: Tensor, each: int) -> Tensor:
    """How much a sentence's object stands out among the objects of its picture: not in the paper.

    Of each mask, logits (n, 2, h, w), the mean logit of the target over an object is that object's; the loss is the
    cross-entropy of the right one, a mean over sentences and masks. A mask can be learned without reading, since most
    of it is the outline of some object; this cannot. ``objects``, bool (k, H, W), are all of all pictures, ``of``,
    int64 (k,), the picture of each, ``chosen``, int64 (n,), the object of each sentence or -1 for a negative one, which
    has no part; ``each`` picture has so many sentences.
    """
    positive = chosen >= 0
    if not positive.any():
        return masks[0].sum() * 0
    others = torch.arange(len(chosen), device=of.device)[:, None] // each != of[None]
    losses = []
    for mask in masks:
        logits = (mask[:, 1] - mask[:, 0]).float()
        cover = functional.adaptive_avg_pool2d(objects.float()[:, None], (mask.shape[2], mask.shape[3]))[:, 0]
        summed = torch.einsum("nhw,khw->nk", logits, cover)
        means = summed / cover.sum(dim=(1, 2)).clamp(min=torch.finfo(torch.float32).eps)
        losses.append(functional.cross_entropy(means.masked_fill(others, -1e4)[positive], chosen[positive]))
    return torch.stack(losses).mean()


def total_loss(segmentation: Tensor, existence: Tensor | None, *, gamma: float = GAMMA) -> Tensor:
    """Eq. 8."""
    return segmentation if existence is None else segmentation + gamma * existence


def _joined(per_sample: Tensor, exists: Tensor | None, negatives: float | None) -> Tensor:
    if negatives is None or exists is None:
        return per_sample.mean()
    present = exists.float()
    positive = (per_sample * present).sum() / present.sum().clamp(min=1)
    return positive + negatives * (per_sample * (1 - present)).sum() / (1 - present).sum().clamp(min=1)


class Trainer(trainer.Trainer):
    """A segmenter in training, see ``trainer.Trainer``."""

    recipe: ClassVar = "rris"
    plan: SegmenterPlan

    def __init__(
        self, trainable: Trainable, feed: trainer.Lessons, *, seed: int, steps: int, device: str = "cpu"
    ) -> None:
        net = trainable.net
        if not isinstance(net, nn.Module):
            raise TypeError("a segmenter in training is a torch module")
        for name, value in net.named_parameters():
            value.requires_grad_(value.requires_grad and not name.startswith(trainable.plan.frozen or ("\0",)))
        self.trainable = trainable
        super().__init__(net, feed, trainable.plan, seed=seed, steps=steps, device=device)

    def losses(self, batch: Any) -> dict[str, torch.Tensor]:
        """Eqs. 5, 7 and 8 of a batch, and what the plan adds to them."""
        device, plan = self.accelerator.device, self.plan
        ids, token_mask = (value.to(device) for value in self.trainable.read(batch.texts))
        pictures = torch.from_numpy(batch.pictures).to(device).permute(0, 3, 1, 2).float() / 255
        truth, exists = torch.from_numpy(batch.truth).to(device), torch.from_numpy(batch.exists).to(device)
        segmentation = self.net(pictures, ids, token_mask)
        masks = segmentation_loss(
            segmentation.masks,
            truth,
            coarse=plan.coarse,
            foreground=plan.foreground,
            exists=exists,
            negatives=plan.negatives,
        )
        existence = None if segmentation.existence is None else existence_loss(segmentation.existence, exists)
        parts = {"loss": total_loss(masks, existence, gamma=plan.gamma), "masks": masks}
        if existence is not None:
            parts["existence"] = existence
        if plan.choosing and segmentation.masks:
            arrays = batch.objects, batch.of, batch.chosen
            objects, of, chosen = (torch.from_numpy(array).to(device) for array in arrays)
            parts["choosing"] = choosing_loss(
                segmentation.masks, objects, of, chosen=chosen, each=len(chosen) // len(pictures)
            )
            parts["loss"] = parts["loss"] + plan.choosing * parts["choosing"]
        return parts


CLOSE: Final = 1e-4


class Stem(nn.Module):
    """Pictures, RGB in 0..1 (n, 3, side, side), to the maps up to the first fusion."""

    def __init__(self, net: RefSegformer) -> None:
        super().__init__()
        self.net = net

    def forward(self, pictures: Tensor) -> tuple[Tensor, ...]:
        """Run all that hangs on the picture alone."""
        return tuple(self.net.stem(pictures))


class SegmenterAnswer(nn.Module):
    """Maps and token numbers, int64 (n, tokens), to an answer."""

    def __init__(self, net: RefSegformer) -> None:
        super().__init__()
        self.net = net

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Give what the network has: logits of target (n, side / 4, side / 4) and existence (n,); VLTFs' attention."""
        segmentation: Segmentation = self.net.answer(inputs[:-1], inputs[-1], inputs[-1] != PADDING)
        fine = tuple(mask[:, 1] - mask[:, 0] for mask in segmentation.masks[:1])
        existence = () if segmentation.existence is None else (segmentation.existence,)
        return (*fine, *existence, *(segmentation.attention if self.net.design.fusion == "vltf" else ()))


def export(model: Model, folder: Path) -> list[Path]:
    """Write both files and compare them with the network; more than ``CLOSE`` apart is a ``UsageError``."""
    net, read = model.net.eval().cpu(), model.read
    if not isinstance(read, WordReader) or net.design.vision == "swin":
        raise UsageError("only networks with encoders of our own are exported")
    pictures = torch.rand(2, 3, net.design.side, net.design.side, generator=torch.Generator().manual_seed(0))
    ids = torch.randint(1, len(read.words) + 2, (2, net.design.tokens), generator=torch.Generator().manual_seed(1))
    ids[:, net.design.tokens // 2 :] = PADDING
    with torch.no_grad():
        maps = Stem(net)(pictures)
    names = [f"map{number}" for number in range(1, len(maps) + 1)]
    outputs = ["mask"] * (net.decoder is not None) + ["existence"] * (net.head is not None)
    outputs += [f"attention{number}" for number in net.design.fused if net.design.fusion == "vltf"]
    axes = {name: {0: "n"} for name in ("pictures", "ids", *names, *outputs)}
    # the exporter gives a module back in the mode that its outermost part had
    write_onnx(Stem(net).eval(), (pictures,), folder / STEM, inputs=["pictures"], outputs=names, axes=axes)
    write_onnx(
        SegmenterAnswer(net).eval(), (*maps, ids), folder / ANSWER, inputs=[*names, "ids"], outputs=outputs, axes=axes
    )
    reading = PictureReading(words=read.words, tokens=read.tokens, side=net.design.side, blank=net.design.blank)
    describe_onnx(folder / ANSWER, READER, msgspec.json.encode(reading).decode())
    require_close(_difference(net, folder, pictures=pictures, ids=ids), folder, close=CLOSE)
    return [folder / STEM, folder / ANSWER]


def _difference(net: RefSegformer, folder: Path, *, pictures: Tensor, ids: Tensor) -> float:
    """The largest, of three sentences of one picture: another batch than the one that was traced."""
    import onnxruntime

    sentences = torch.cat([ids, ids[:1].flip(1)])
    with torch.no_grad():
        expected = SegmenterAnswer(net)(*(value.expand(3, -1, -1, -1) for value in Stem(net)(pictures[:1])), sentences)
    stem, answer = (
        onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"]) for name in (STEM, ANSWER)
    )
    maps = stem.run(None, {"pictures": pictures[:1].numpy()})
    inputs = {f"map{number}": np.repeat(array, 3, axis=0) for number, array in enumerate(maps, start=1)}
    inputs["ids"] = sentences.numpy()
    outputs = answer.run(None, {entry.name: inputs[entry.name] for entry in answer.get_inputs()})
    return max(float(np.abs(actual - value.numpy()).max()) for actual, value in zip(outputs, expected, strict=True))


_LEAST_KEPT: Final = 0.6
"""A crop keeps an object when it keeps this share of its pixels."""
_LEAST_SIDE: Final = 0.65
_LIGHT: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedBatch:
    """Pictures with their objects."""

    pictures: NDArray[np.uint8]  # (n, side, side, 3), RGB
    of: NDArray[np.int64]  # (k,), of each object the picture
    masks: NDArray[np.bool_]  # (k, side, side)
    names: NDArray[np.int64]  # (k,), of each object the category


class NamingFeed:
    """Makes batches of pictures, flipped, cropped and lit by chance, with all objects that a sentence is about.

    Attributes:
        categories: What is told apart, in alphabetical order; each names two objects at least.
        steps: Those of the plan's ``naming_epochs``.
    """

    def __init__(self, references: Sequence[Reference], plan: SegmenterPlan, *, seed: int) -> None:
        self.plan, self.seed = plan, seed
        counts = Counter(reference.category for reference in references if reference.category and reference.true)
        self.categories = tuple(sorted(name for name, count in counts.items() if count > 1))
        numbers = {name: number for number, name in enumerate(self.categories)}
        by_frame: dict[Path, list[tuple[MaskRef, int]]] = {}
        for reference in references:
            for moment in reference.moments if reference.true and reference.category in numbers else ():
                if moment.target is not None:
                    by_frame.setdefault(moment.frame, []).append((moment.target, numbers[reference.category]))
        self._pictures = tuple(by_frame.items())
        self._each = max(1, len(by_frame) // plan.batch)
        self.steps = self._each * plan.naming_epochs if len(self.categories) > 1 else 0

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> NamedBatch:
        """A batch by its number, see ``Feed.batch``."""
        epoch, position = divmod(number, self._each)
        order = generator(self.seed, "rris", "naming order", epoch).permutation(len(self._pictures))
        size = self.plan.batch
        chosen = np.take(order, np.arange(position * size, (position + 1) * size), mode="wrap")[process::processes]
        rng = generator(self.seed, "rris", "naming", number, process)
        samples = [self._shown(int(which), rng) for which in chosen]
        return NamedBatch(
            pictures=np.stack([picture for picture, _, _ in samples]),
            of=np.repeat(np.arange(len(samples)), [len(names) for _, _, names in samples]),
            masks=np.concatenate([masks for _, masks, _ in samples]),
            names=np.concatenate([names for _, _, names in samples]),
        )

    def _shown(
        self, which: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int64]]:
        """A picture with its objects; where it cannot be read, another one."""
        for _ in range(TRIES):
            path, objects = self._pictures[which]
            try:
                frame = read_frame(path)
                size = (frame.shape[0], frame.shape[1])
                masks = [(read_mask(target, size=size).mask, name) for target, name in objects]
                return _varied(frame, [mask for mask in masks if mask[0].any()], self.plan.design.side, rng=rng)
            except (AuscultError, cv2.error):
                which = int(rng.integers(len(self._pictures)))
        raise InputError(f"{TRIES} pictures in a row cannot be read", hint="are the pictures where the data says?")


def _varied(
    frame: NDArray[np.uint8], objects: Sequence[tuple[NDArray[np.bool_], int]], side: int, *, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int64]]:
    height, width = (round(length * rng.uniform(_LEAST_SIDE, 1)) for length in frame.shape[:2])
    top, left = int(rng.integers(frame.shape[0] - height + 1)), int(rng.integers(frame.shape[1] - width + 1))
    turn = slice(None, None, -1 if rng.random() < 1 / 2 else 1)
    visible = [item for item in objects if item[0][top : top + height, left : left + width].mean() * height * width
               >= _LEAST_KEPT * item[0].sum()]  # fmt: skip
    if not visible:
        top, left, (height, width), visible = 0, 0, frame.shape[:2], list(objects)
    if not visible:
        raise InputError("no object is seen")
    part = (slice(top, top + height), slice(left, left + width))
    light = rng.uniform(1 - _LIGHT, 1 + _LIGHT)
    picture = np.clip(squeezed(np.ascontiguousarray(frame[part][:, turn]), side) * light, 0, 255).astype(np.uint8)
    masks = np.stack([truth(np.ascontiguousarray(mask[part][:, turn]), side) for mask, _ in visible])
    return picture, masks, np.array([name for _, name in visible], np.int64)


class Naming(nn.Module):
    """A vision encoder, and behind its stages 2 to 4 what names an object by the mean feature under its mask."""

    def __init__(self, vision: VisionStages, design: Design, *, categories: int) -> None:
        super().__init__()
        self.vision = vision
        self.heads = nn.ModuleList(nn.Linear(width, categories) for width in design.widths[1:])

    def forward(self, pictures: Tensor, of: Tensor, masks: Tensor) -> list[Tensor]:
        """Name objects ``masks`` (k, side, side) of pictures (n, 3, side, side): logits (k, categories) a stage."""
        logits, features = [], self.vision(pictures, 1)
        for stage, head in zip(range(2, LAST + 1), self.heads, strict=True):
            features = self.vision(features, stage)
            cover = functional.adaptive_avg_pool2d(masks.float()[:, None], (features.shape[2], features.shape[3]))
            summed = (features[of] * cover).sum(dim=(2, 3))
            logits.append(head(summed / cover.sum(dim=(2, 3)).clamp(min=torch.finfo(torch.float32).eps)))
        return logits


class NamingTrainer(Trainer):
    """Teaches the vision encoder of a segmenter; the rest of it rests."""

    def __init__(self, trainable: Trainable, feed: NamingFeed, *, seed: int, device: str = "cpu") -> None:
        if not isinstance(trainable.net, RefSegformer):
            raise TypeError("only a RefSegformer has a vision encoder to teach")
        net = Naming(trainable.net.vision, trainable.plan.design, categories=len(feed.categories))
        plan = replace(trainable.plan, rate=trainable.plan.naming_rate)
        super().__init__(replace(trainable, net=net, plan=plan), feed, seed=seed, steps=feed.steps, device=device)

    def losses(self, batch: NamedBatch) -> dict[str, Tensor]:
        """Cross-entropy of the names, a mean over objects, summed over stages."""
        device = self.accelerator.device
        of, masks, names = (torch.from_numpy(value).to(device) for value in (batch.of, batch.masks, batch.names))
        pictures = torch.from_numpy(batch.pictures).to(device).permute(0, 3, 1, 2).float() / 255
        by_stage = [functional.cross_entropy(logits.float(), names) for logits in self.net(pictures, of, masks)]
        return {"loss": torch.stack(by_stage).sum(), "naming": by_stage[-1]}


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
    trainable = build(
        options.model, plan, (text for reference in references for text in (*reference.true, *reference.false))
    )
    feed = Feed(references, trainable.plan, seed=options.seed)
    steps = feed.steps if options.samples is None else max(1, options.samples // plan.batch)
    trainer = Trainer(trainable, feed, seed=options.seed, steps=steps, device=options.device)
    main = trainer.accelerator.is_main_process
    state = options.out / STATE
    if state.exists():
        trainer.load(state)
    if main:
        yield write_plan(
            trainer,
            options,
            options.out / "plan.json",
            references=len(references),
            without_true=sum(not reference.true for reference in references),
            without_false=sum(not reference.false for reference in references),
            could_not_be_listed=len(listing.errors),
        )
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
