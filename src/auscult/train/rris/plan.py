"""The settings of a training run: one YAML each for the paper, its release, and the small network."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from auscult.errors import UsageError
from auscult.nets.refsegformer.losses import GAMMA, LAMBDA
from auscult.nets.refsegformer.settings import Design
from auscult.record.codec import from_json
from auscult.train.settings import read_yaml

COMMITTED: Final = ("paper", "release", "small", "mobile")
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Share = Annotated[float, msgspec.Meta(ge=0)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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


def read_plan(name: str) -> Plan:
    """The settings of a committed name, or of a YAML file."""
    table, path = read_yaml(name, folder=Path(__file__).parent, committed=COMMITTED)
    return from_json(Plan, table, path=path, error=UsageError, exact=True)
