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
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta

from auscult.act.policy import DECIMALS, read_policy
from auscult.errors import InputError
from auscult.record.codec import Word, from_json
from auscult.types import ACTIONS, PERFORMANCE, Decision, SoundVerdict

Score: TypeAlias = Annotated[float, Meta(ge=1.0, le=5.0)]
Bounds: TypeAlias = Annotated[dict[Literal["overall", "overall_low", "weakest"], Score], Meta(min_length=1)]
"""The least scores that an action needs."""

_SHIPPED: Final = Path(__file__).parent / "policies" / "sound"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundPolicy:
    """What to do about which separated sound; an action without bounds is never taken."""

    name: Word
    accept: Bounds | None = None
    minor_revision: Bounds | None = None
    major_revision: Bounds | None = None
    summary: str = field(default="", compare=False)


def load_sound_policy(source: str | Path) -> SoundPolicy:
    """Load a policy by its name (``default``) or from a .json or .toml file; ``UsageError`` where that cannot be."""
    hint = "an action has bounds: some of overall, overall_low, weakest"
    return read_policy(
        source, partial(from_json, SoundPolicy, error=InputError, exact=True, hint=hint), folder=_SHIPPED
    )


DEFAULT_SOUND: Final = load_sound_policy("default")


def weakest(verdict: SoundVerdict) -> float | None:
    """The least of recall, precision and faithfulness, 1..5; None without scores."""
    scores = [getattr(verdict, axis) for axis in PERFORMANCE if axis != "overall"]
    return None if None in scores else min(scores)


def decide_sound(verdict: SoundVerdict, policy: SoundPolicy = DEFAULT_SOUND) -> SoundVerdict:
    """Set a verdict's action; one that was set before is replaced. Scores have the decimals that a record keeps."""
    if verdict.overall is None:
        return replace(verdict, action="unjudged")
    values = {"overall": verdict.overall, "overall_low": verdict.overall_low, "weakest": weakest(verdict)}
    rounded = {name: -1.0 if value is None else round(value, DECIMALS) for name, value in values.items()}
    bounds = ((action, getattr(policy, action, None)) for action in ACTIONS)
    reached = (action for action, bound in bounds if bound and all(rounded[name] >= bound[name] for name in bound))
    action: Decision = next(reached, "reject")
    return replace(verdict, action=action)
