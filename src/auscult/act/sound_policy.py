"""A policy for separated sounds: what scores an action needs; applied again at any time without judging.

The most lenient action all of whose bounds are reached is taken, and ``reject`` where there is none. Bounds are on the
estimated overall score (``overall``), on the lower end of its interval (``overall_low``), and on the least of recall,
precision and faithfulness (``weakest``); all are 1..5 and reached from the number itself on. A verdict without scores
is ``unjudged``, which is no policy's to change. The shipped policy ``default``, as TOML::

    name = "default"
    [accept]
    overall_low = 3.5
    weakest = 3.5
    [minor_revision]
    overall = 3.5
    [major_revision]
    overall = 2.5
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from auscult.act.policy import DECIMALS, read_policy
from auscult.errors import InputError
from auscult.record.codec import Word, from_json
from auscult.types import ACTIONS, PERFORMANCE, Decision, SoundVerdict

Score: TypeAlias = Annotated[float, Meta(ge=1.0, le=5.0)]

_SHIPPED: Final = Path(__file__).parent / "policies" / "sound"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreBounds:
    """The least scores, 1..5, that an action needs; None where a score does not matter."""

    overall: Score | None = None
    overall_low: Score | None = None
    weakest: Score | None = None

    def __post_init__(self) -> None:
        """Refuse to take an action whatever the scores are."""
        if self.overall is None and self.overall_low is None and self.weakest is None:
            raise ValueError("it has no bound")

    def reached(self, verdict: SoundVerdict) -> bool:
        """Whether a verdict has all these scores, to the decimals that a record keeps."""
        found = (verdict.overall, verdict.overall_low, weakest(verdict))
        least = (self.overall, self.overall_low, self.weakest)
        pairs = [(value, bound) for value, bound in zip(found, least, strict=True) if bound is not None]
        return all(value is not None and round(value, DECIMALS) >= bound for value, bound in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundPolicy:
    """What to do about which separated sound; an action without bounds is never taken."""

    name: Word
    accept: ScoreBounds | None = None
    minor_revision: ScoreBounds | None = None
    major_revision: ScoreBounds | None = None
    summary: str = field(default="", compare=False)


def load_sound_policy(source: str | Path) -> SoundPolicy:
    """Load a policy by its name (``default``) or from a .json or .toml file; ``UsageError`` where that cannot be."""
    return read_policy(source, partial(from_json, SoundPolicy, error=InputError, exact=True), folder=_SHIPPED)


DEFAULT_SOUND: Final = load_sound_policy("default")


def weakest(verdict: SoundVerdict) -> float | None:
    """The least of recall, precision and faithfulness, 1..5; None without scores."""
    found = [getattr(verdict, axis) for axis in PERFORMANCE if axis != "overall"]
    return None if None in found else min(found)


def decide_sound(verdict: SoundVerdict, policy: SoundPolicy = DEFAULT_SOUND) -> SoundVerdict:
    """Set a verdict's action; one that was set before is replaced."""
    if verdict.overall is None:
        return replace(verdict, action="unjudged")
    bounds = ((action, getattr(policy, action, None)) for action in ACTIONS)
    action: Decision = next((action for action, bound in bounds if bound and bound.reached(verdict)), "reject")
    return replace(verdict, action=action)
