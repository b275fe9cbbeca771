"""The segmenters that `auscult train rris --model NAME` knows: a network, what reads its sentences, how it is saved.

Settings of a run are YAML, one file each for the paper, its release, and the small network.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec
import torch
from torch import Tensor, nn

from auscult.errors import OutputError, UnknownName, UsageError
from auscult.nets.hf_folder import quiet
from auscult.nets.hf_segmenters import load_clipseg
from auscult.nets.mobilenet import MobileStages
from auscult.nets.refsegformer.network import Reader, Segmentation, Segmenter
from auscult.nets.refsegformer.settings import Design, words_of
from auscult.nets.refsegformer.weights import BertReader, Model, begin, read_model, save
from auscult.record.codec import from_json
from auscult.train.network_files import copy_kernels, read_kernels
from auscult.train.recipes import read_yaml

LAMBDA: Final = 0.4
"""What the coarse masks M_2..M_4 count in Eq. 5."""
GAMMA: Final = 1.0
"""What existence counts in Eq. 8."""

COMMITTED: Final = ("paper", "release", "small", "mobile")
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Share = Annotated[float, msgspec.Meta(ge=0)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmenterPlan:
    """How a segmenter is trained; the defaults are the paper's (Sec. 4.3 and 5.1).

    Attributes:
        design: What a RefSegformer is made of; other models read its ``side`` and ``tokens``.
        vision: Folder or hub name of a Swin, where the design has one; a TensorFlow Lite file of MobileNetV2, where it
            has that, or None for one from nothing.
        text: Folder or hub name of a BERT, where the design has one.
        drop_path: Stochastic depth of Swin; None for what its settings say.
        naming_epochs: Beforehand the vision encoder learns in so many rounds of the pictures to name their objects; for
            encoders from nothing.
        naming_rate: First learning rate of that.
        epochs: Each shows one sentence of each reference.
        batch: References of a step, over all processes.
        rate: First learning rate of AdamW.
        decay: Its weight decay, on matrices and kernels.
        power: The rate falls as (1 - step / steps) to this power.
        warmup: Steps over which the rate rises at first.
        clip: Largest norm of the gradient; None for any.
        coarse: Lambda of Eq. 5.
        foreground: What a pixel of the target counts beside one of the background, see ``segmentation_loss``.
        gamma: Of Eq. 8.
        sentences: Sentences that a picture is shown with at once, half of them false, so that the same picture is to be
            painted in several ways; ``batch`` counts sentences, an epoch shows each picture. With 1 each reference
            is shown by itself, as in the paper.
        choosing: Weight of ``choosing_loss``; for small networks.
        negatives: None, or the release's weight of negative sentences, see ``segmentation_loss``.
        positives_only: Negative sentences are left out: regular referring segmentation.
        text_prompt: All sentences of a reference are joined to one (Fig. 8); so are its negative ones.
        frozen: Parameters whose names begin so keep their first values.
        split: Split of the data; what is in none is taken always.
        precision: ``bf16`` or ``no``, of ``accelerate``.
        checkpointing: Encoders of ``transformers`` compute again what they forget: less memory, more time.
    """

    design: Design = field(default_factory=Design)
    vision: str | None = None
    text: str | None = None
    drop_path: float | None = None
    naming_epochs: Annotated[int, msgspec.Meta(ge=0)] = 0
    naming_rate: _Positive = 2e-3
    epochs: _Count = 50
    batch: _Count = 64
    rate: _Positive = 3e-5
    decay: _Share = 0.02
    power: _Positive = 0.9
    warmup: Annotated[int, msgspec.Meta(ge=0)] = 0
    clip: _Positive | None = None
    coarse: _Share = LAMBDA
    foreground: _Positive = 1.0
    gamma: _Share = GAMMA
    sentences: _Count = 1
    choosing: _Share = 0.0
    negatives: _Share | None = None
    positives_only: bool = False
    text_prompt: bool = False
    frozen: tuple[str, ...] = ()
    split: str = "train"
    precision: Literal["no", "bf16"] = "no"
    checkpointing: bool = False

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step."""
        left = max(0.0, 1 - step / max(steps, 1))
        return self.rate * min(1.0, (step + 1) / (self.warmup + 1)) * math.pow(left, self.power)


def read_plan(name: str) -> SegmenterPlan:
    """The settings of a committed name, or of a YAML file."""
    table, path = read_yaml(name, folder=Path(__file__).parent, committed=COMMITTED)
    return from_json(SegmenterPlan, table, path=path, error=UsageError, exact=True)


_LEAST_SEEN: Final = 2  # rarer words stay unknown, so that the unknown word is learned too


@dataclass(frozen=True, slots=True, eq=False)
class Trainable:
    """A segmenter in training; ``plan`` has the design that it ended up with."""

    net: Segmenter
    read: Reader
    plan: SegmenterPlan
    save: Callable[[Path], list[Path]]


# What a name changes of the settings' design.
_DESIGNS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "refsegformer": {},
        "lavt": {"fusion": "pwan", "decoder_tokens": False, "existence": "none"},
        "lavt+": {"fusion": "pwan", "decoder_tokens": False, "existence": "vision"},
        "existence": {"decoder": "none", "fused": (4,), "existence": "vision", "existence_stage": 4},
    }
)
NAMES: Final = (*_DESIGNS, "clipseg@FOLDER")


def build(name: str, plan: SegmenterPlan, texts: Iterable[str]) -> Trainable:
    """The segmenter of a name: new, or ``NAME@FOLDER`` with the weights of a folder to go on from.

    ``refsegformer``; ``lavt`` and ``lavt+``, LAVT's fusion in its place, without and with the existence head;
    ``existence``, the classifier of the two-stage baseline; ``clipseg@FOLDER``, whose decoder is trained. The plan's
    design is changed as the name says; words of ``texts`` are those that a small text encoder is to know.
    """
    kind, _, folder = name.partition("@")
    if kind == "clipseg" and folder:
        return _clipseg(Path(folder), plan)
    if kind not in _DESIGNS:
        raise UnknownName(f"there is no segmenter {name!r} to train", expected=f"one of: {', '.join(NAMES)}")
    if folder:
        return _wrapped(read_model(Path(folder)), plan)
    design: Design = replace(plan.design, **_DESIGNS[kind])
    model = begin(
        design,
        vision=plan.vision,
        text=plan.text,
        words=vocabulary(texts) if design.text == "small" else (),
        drop_path=plan.drop_path,
        checkpointing=plan.checkpointing,
    )
    if isinstance(vision := model.net.vision, MobileStages) and plan.vision is not None:
        layers = vision.convolutions()
        copy_kernels(read_kernels(Path(plan.vision))[: len(layers)], layers, Path(plan.vision))
    return _wrapped(model, plan)


def _wrapped(model: Model, plan: SegmenterPlan) -> Trainable:
    return Trainable(model.net, model.read, replace(plan, design=model.net.design), lambda out: save(model, out))


def vocabulary(texts: Iterable[str]) -> list[str]:
    """The words that occur at least twice, in alphabetical order."""
    counts = Counter(word for text in texts for word in words_of(text))
    return sorted(word for word, count in counts.items() if count >= _LEAST_SEEN)


class ClipSegSegmenter(nn.Module):
    """CLIPSeg as a ``Segmenter``: its decoder learns, CLIP itself rests, as in its release."""

    def __init__(self, model: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.model = model
        self.model.clip.requires_grad_(requires_grad=False)
        self.mean = nn.Buffer(torch.tensor(mean)[:, None, None])
        self.std = nn.Buffer(torch.tensor(std)[:, None, None])

    def forward(self, pictures: Tensor, ids: Tensor, known: Tensor) -> Segmentation:
        """As ``Segmenter`` says; its one logit a pixel is that of the target beside a background of 0."""
        meant = self.model.get_conditional_embeddings(batch_size=len(ids), input_ids=ids, attention_mask=known.long())
        pixels = ((pictures - self.mean) / self.std).repeat_interleave(len(ids) // len(pictures), dim=0)
        logits = self.model(pixel_values=pixels, conditional_embeddings=meant).logits
        logits = logits.reshape(len(ids), 1, *pictures.shape[2:])
        return Segmentation([torch.cat([torch.zeros_like(logits), logits], dim=1)])


def _clipseg(folder: Path, plan: SegmenterPlan) -> Trainable:
    loaded = load_clipseg(folder)
    side = (loaded.prepared.size or (0, 0))[0]
    if side != plan.design.side:
        raise UsageError(
            f"this CLIPSeg sees {side} pixels, the settings {plan.design.side}",
            path=folder,
            expected=f"`side: {side}` in the settings' design",
        )
    model, tokenizer = loaded.net.model.cpu(), loaded.net.tokens
    limit = min(plan.design.tokens, model.config.text_config.max_position_embeddings)

    def write(out: Path) -> list[Path]:
        try:
            with quiet():
                model.save_pretrained(out)
                tokenizer.save_pretrained(out)
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=out) from error
        return [out]

    net = ClipSegSegmenter(model, mean=loaded.prepared.mean, std=loaded.prepared.std)
    return Trainable(net, BertReader(tokenizer, tokens=limit), plan, write)
