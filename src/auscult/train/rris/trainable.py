"""The segmenters that `auscult train rris --model NAME` knows: a network, what reads its sentences, how it is saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import torch
from torch import Tensor, nn

from auscult.errors import OutputError, UnknownName, UsageError
from auscult.nets.hf_folder import quiet
from auscult.nets.hf_text import load_clipseg
from auscult.nets.mobilenet import MobileStages
from auscult.nets.refsegformer.encoders import Reader
from auscult.nets.refsegformer.network import Segmentation, Segmenter
from auscult.nets.refsegformer.settings import Design
from auscult.nets.refsegformer.view import words_of
from auscult.nets.refsegformer.weights import Model, begin, read_model, save
from auscult.train.rris.plan import Plan
from auscult.train.tflite import copy_kernels, read_kernels

_LEAST_SEEN: Final = 2  # rarer words stay unknown, so that the unknown word is learned too


@dataclass(frozen=True, slots=True, eq=False)
class Trainable:
    """A segmenter in training; ``plan`` has the design that it ended up with."""

    net: Segmenter
    read: Reader
    plan: Plan
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


def build(name: str, plan: Plan, texts: Iterable[str]) -> Trainable:
    """The segmenter of a name: new, or ``NAME@FOLDER`` with the weights of a folder to go on from.

    ``refsegformer``; ``lavt`` and ``lavt+``, LAVT's fusion in its place, without and with the existence head;
    ``existence``, the classifier of the two-stage baseline; ``clipseg@FOLDER``, whose decoder is trained.

    Args:
        name: As above.
        plan: Its design is changed as the name says.
        texts: Sentences whose words a small text encoder is to know.
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
        wanted = vision.convolutions()
        copy_kernels(read_kernels(Path(plan.vision))[: len(wanted)], wanted, Path(plan.vision))
    return _wrapped(model, plan)


def _wrapped(model: Model, plan: Plan) -> Trainable:
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


def _clipseg(folder: Path, plan: Plan) -> Trainable:
    loaded = load_clipseg(folder)
    side = (loaded.prepared.size or (0, 0))[0]
    if side != plan.design.side:
        raise UsageError(
            f"this CLIPSeg sees {side} pixels, the settings {plan.design.side}",
            path=folder,
            expected=f"`side: {side}` in the settings' design",
        )
    model, tokenizer = loaded.net.model.cpu(), loaded.net.tokens
    most = min(plan.design.tokens, model.config.text_config.max_position_embeddings)

    def read(texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        found = tokenizer(list(texts), truncation=True, padding="max_length", max_length=most, return_tensors="pt")
        return found["input_ids"], found["attention_mask"].bool()

    def write(out: Path) -> list[Path]:
        try:
            with quiet():
                model.save_pretrained(out)
                tokenizer.save_pretrained(out)
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=out) from error
        return [out]

    net = ClipSegSegmenter(model, mean=loaded.prepared.mean, std=loaded.prepared.std)
    return Trainable(net, read, plan, write)
