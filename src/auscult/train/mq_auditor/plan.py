"""Settings of MQ-Auditor's training: the paper's, its release's, small ones, and a row of an ablation on any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from auscult.errors import UnknownName, UsageError
from auscult.record.codec import from_json
from auscult.train.settings import read_yaml

COMMITTED: Final = ("paper", "release", "projectors", "small")
_FOLDER: Final = Path(__file__).parent
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How MQ-Auditor is trained; the defaults are the paper's (Sec. 4, "Training").

    Attributes:
        network: What of ``AuditorConfig`` is not as by default.
        learns: ``answers``: adapters, projectors and Q-Formers learn what to answer about a mask; ``captions``: before
            that, projectors and Q-Formers alone learn to name what is in a clip; ``all``: everything, from nothing.
        positives: p of Table 6: the part of each small batch that is perfect masks.
        comment: Whether an answer begins with a sentence, in which the type is decided word by word; a network that
            cannot name things yet, learns types sooner without.
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
        """Check that small batches fill a batch."""
        if self.batch % self.small_batch:
            raise ValueError(f"a batch of {self.batch} is not made of small batches of {self.small_batch}")

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step."""
        rising = math.ceil(self.warmup * steps)
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1))) / 2


def rows() -> dict[str, dict[str, Any]]:
    """The rows of Tables 4, 5, 6, 9 and 10 by name, ``table4.both``, each with the settings that make it."""
    table, path = read_yaml("ablations", folder=_FOLDER, committed=("ablations",))
    return from_json(dict[str, dict[str, Any]], table, path=path, error=UsageError)


def read_plan(name: str) -> Plan:
    """The settings of a committed name, or of a YAML file; ``NAME+ROW`` with those of an ablation's row on top."""
    base, plus, row = name.partition("+")
    table, path = read_yaml(base, folder=_FOLDER, committed=COMMITTED)
    known = rows()
    if plus and row not in known:
        raise UnknownName(f"there is no row {row!r}", expected=f"one of: {', '.join(known)}")
    if plus and isinstance(table, dict):
        more = known[row]
        network = {**(table.get("network") or {}), **more.get("network", {})}
        table = {**table, **more, "network": network}
    return from_json(Plan, table or {}, path=path, error=UsageError, exact=True)
