"""Settings of SAJ's training: a YAML for each stage and size; the defaults are the paper's (Sec. III-B)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from auscult.errors import UsageError
from auscult.nets.saj.settings import PROMPTS, Design
from auscult.record.codec import from_json
from auscult.train.settings import read_yaml
from auscult.types import DOMAINS

Stage = Literal["alignment", "scores"]
STAGES: Final[tuple[Stage, ...]] = ("alignment", "scores")
SIZES: Final = ("paper", "small", "tiny")
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Weight = Annotated[float, msgspec.Meta(ge=0)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a stage of SAJ is trained.

    Attributes:
        stage: ``alignment``: whether the output is what the prompts ask for, the target or another source of the same
            mixture; ``scores``: what a separated sound deserves.
        design: Of the network; a later stage has that of the one before.
        audio: Folder or hub name of an encoder of sounds; None for the design's, with random weights.
        text: The same of a text encoder.
        vision: The same of a picture encoder.
        frozen: Parameters whose names begin so keep their values, such as ``audio.``.
        prompts: Some of ``text``, ``spans``, ``picture``: what is asked with; each row has one of the subsets of those
            that it could have, drawn evenly, never none. ``[text]`` is the paper's first judge.
        tokens: Audio tokens of a step: frames of mixtures and outputs, over all processes.
        parts: A step is computed in so many parts, one after another, to fit the memory; shared out among processes.
        updates: Steps.
        warmup: Steps over which the rate rises; then it is constant.
        rate: Of AdamW. The paper's is lost from its text: this one is ours.
        decay: Its weight decay, on matrices and kernels.
        clip: Largest norm of the gradient; None for any. The paper names none.
        precision: ``bf16`` or ``no``, of ``accelerate``.
        domains: How often each is drawn, beside the others that are there.
        balanced: Whether whole numbers of the overall score are drawn evenly.
        longest_s: Longer sounds are left out.
    """

    stage: Stage
    design: Design = field(default_factory=Design)
    audio: str | None = None
    text: str | None = None
    vision: str | None = None
    frozen: tuple[str, ...] = ()
    prompts: tuple[Literal["text", "spans", "picture"], ...] = PROMPTS
    tokens: _Count = 8192
    parts: _Count = 1
    updates: _Count = 200_000
    warmup: Annotated[int, msgspec.Meta(ge=0)] = 5000
    rate: _Positive = 1e-4
    decay: _Weight = 0.1
    clip: _Positive | None = None
    precision: Literal["no", "bf16"] = "bf16"
    domains: Mapping[str, _Weight] = field(default_factory=lambda: {"speech": 1.0, "music": 2.0, "sound": 4.0})
    balanced: bool = True
    longest_s: _Positive = 30.0

    def __post_init__(self) -> None:
        """Check that the network has what the stage teaches."""
        if not set(self.prompts) & set(self.design.prompts):
            raise ValueError("none of the prompts is one that the network takes")
        if not (self.design.alignment if self.stage == "alignment" else self.design.axes):
            raise ValueError(f"the network has no head that the stage {self.stage} teaches")
        if unknown := set(self.domains) - set(DOMAINS):
            raise ValueError(f"domains are {', '.join(DOMAINS)}, not {', '.join(sorted(unknown))}")

    def rate_at(self, step: int, steps: int) -> float:  # noqa: ARG002 - of every plan
        """The learning rate of a step."""
        return self.rate * min(1.0, (step + 1) / max(self.warmup, 1))


def read_plans(name: str) -> list[Plan]:
    """The settings of both stages of a size, ``paper``; of one, ``paper-scores``; or of a YAML file."""
    committed = [f"{size}-{stage}" for size in SIZES for stage in STAGES]
    names = [f"{name}-{stage}" for stage in STAGES] if name in SIZES else [name]
    found = []
    for one in names:
        table, path = read_yaml(one, folder=Path(__file__).parent, committed=committed)
        found.append(from_json(Plan, table, path=path, error=UsageError, exact=True))
    return found
