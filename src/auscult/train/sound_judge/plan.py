"""Settings of the compact judge's training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from auscult.errors import UsageError
from auscult.nets.sound_judge.network import Design
from auscult.record.codec import from_json
from auscult.train.settings import read_yaml

COMMITTED: Final = ("small",)
_Count = Annotated[int, msgspec.Meta(ge=1)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How ``sound.compact.v1`` is trained.

    Attributes:
        mixtures: Made mixtures to learn from.
        aligning: Mixtures of the first stage, alignment (SAM Audio Judge, Sec. III-B); 0 leaves it out.
        held: Made mixtures to calibrate on.
        stage: Steps of the first stage and of the second.
        batch: Samples of a step.
        rate: Highest learning rate of AdamW.
        trunk: Share of it that the trunk learns with; 0 keeps it as it was.
        start: ``tagger``, from the weights of the pretrained network, or ``nothing``.
        decay: Weight decay, on matrices and kernels.
        warmup: Part of the steps over which the rate rises; then it falls as a cosine.
        clip: Largest norm of the gradient.
        real: Part of the samples that are outputs of real separators.
        text: How often a sample keeps its text.
        spans: How often its spans.
        picture: How often its class is asked for as by a picture, whether it has one or not.
        text_first: Part of the steps in which text is the only prompt.
        balanced: Whether scores of overall are drawn equally often.
        domains: How often speech, music and sound are drawn, relative to one another.
        precision: ``bf16`` or ``no``.
        design: Of the network.
    """

    mixtures: _Count = 4000
    aligning: Annotated[int, msgspec.Meta(ge=0)] = 1000
    held: _Count = 600
    stage: tuple[int, int] = (400, 4000)
    batch: _Count = 16
    rate: float = 1.5e-3
    trunk: _Share = 0.2
    start: Literal["tagger", "nothing"] = "tagger"
    decay: float = 0.02
    warmup: _Share = 0.05
    clip: float | None = 1.0
    real: _Share = 0.12
    text: _Share = 0.7
    spans: _Share = 0.5
    picture: _Share = 0.25
    text_first: _Share = 0.0
    balanced: bool = True
    domains: tuple[float, float, float] = (1.0, 2.0, 4.0)
    precision: Literal["no", "bf16"] = "no"
    design: Mapping[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> Design:
        """The design of the network."""
        return from_json(Design, self.design, error=UsageError, exact=True)

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step."""
        rising = math.ceil(self.warmup * steps)
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1))) / 2


def read_plan(name: str) -> Plan:
    """The settings of a committed name, or of a YAML file."""
    table, path = read_yaml(name, folder=Path(__file__).parent, committed=COMMITTED)
    return from_json(Plan, table or {}, path=path, error=UsageError, exact=True)
