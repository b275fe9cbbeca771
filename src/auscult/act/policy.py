"""A policy turns a verdict into an action: one small file of thresholds, applied again at any time without judging.

Defects fall into four groups. In each, the most lenient action whose threshold the estimated IoU reaches is taken, and
``reject`` where it reaches none:

============  =======================  ==========================================================
group         defects                  ``default``
============  =======================  ==========================================================
``perfect``   perfect                  accept from .95, else minor revision
``shape``     cutout, dilate, erode    minor revision from .825, major revision from .75
``merge``     merge                    minor revision from .90, major revision from .75
``full_neg``  full_neg                 reject
============  =======================  ==========================================================

Before the groups, a policy may have ``good``: a mask whose judge says with what probability its IoU is .8 or more is
accepted where that reaches the threshold (``default``: .59), whatever its defect but ``merge`` and ``full_neg``. Where
it does not, the groups decide, and a mask of the group ``perfect`` is not accepted by its IoU after all.

Two rules are no policy's to change. An empty mask is right when the target is known to be absent (accept), and wrong
otherwise (reject). A mask without a defect is ``unjudged``: the judge had no basis. A mask that is not empty on an
absent target counts as ``full_neg``, judged or not.

::

    name = "mine"
    require_identity = false                # optional
    [good]                                  # optional: the judge's probability that the IoU is .8 or more
    accept = { at_least = 0.7 }             # whatever the defect but merge and full_neg
    [perfect]
    accept = { at_least = 0.95 }            # or { above = 0.95 }
    minor_revision = { at_least = 0.0 }
    [shape]                                 # cutout, dilate, erode
    minor_revision = { at_least = 0.825 }
    major_revision = { at_least = 0.75 }
    [merge]
    major_revision = { at_least = 0.75 }
    [full_neg]                              # no threshold: always reject
"""

from __future__ import annotations

import difflib
import itertools
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar

from auscult.errors import InputError, UnknownName, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.record.codec import Share, from_json, load
from auscult.types import DECISIONS, Action, Decision, Defect, Existence, Verdict

T = TypeVar("T")
Group: TypeAlias = Literal["perfect", "shape", "merge", "full_neg"]

GROUPS: tuple[Group, ...] = ("perfect", "shape", "merge", "full_neg")
GROUP_OF: Mapping[str, Group] = MappingProxyType(
    {
        "perfect": "perfect",
        "cutout": "shape",
        "dilate": "shape",
        "erode": "shape",
        "merge": "merge",
        "full_neg": "full_neg",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The least estimated IoU that an action needs."""

    action: Action
    iou: Share
    inclusive: bool = True  # whether ``iou`` itself is enough

    def reached(self, iou: float) -> bool:
        """Whether an estimated IoU is enough."""
        return iou >= self.iou if self.inclusive else iou > self.iou


@dataclass(frozen=True, slots=True, kw_only=True)
class Good:
    """The least probability of a good mask, IoU .8 or more, that accepts it whatever its defect."""

    prob_iou_80: Share
    inclusive: bool = True  # whether ``prob_iou_80`` itself is enough

    def reached(self, probability: float) -> bool:
        """Whether a probability is enough."""
        return probability >= self.prob_iou_80 if self.inclusive else probability > self.prob_iou_80


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What to do about which verdict."""

    name: str
    # thresholds for masks without a defect, most lenient action first; what reaches none is rejected
    perfect: tuple[Threshold, ...] = ()
    shape: tuple[Threshold, ...] = ()  # for cutout, dilate and erode, and errors of both sides
    merge: tuple[Threshold, ...] = ()  # for masks that hold something else besides the target
    full_neg: tuple[Threshold, ...] = ()  # for masks of something else
    good: Good | None = None  # accept by probability, before the groups decide; None where the groups alone decide
    require_identity: bool = False  # turn an accept into ``minor_revision`` where the judge did not check identity
    summary: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Refuse an action that is never taken, since a more lenient one needs no more."""
        for group in GROUPS:
            for lenient, strict in itertools.pairwise(getattr(self, group)):
                if (lenient.iou, not lenient.inclusive) <= (strict.iou, not strict.inclusive):
                    raise InputError(
                        f"in {group!r}, {lenient.action} needs no more than {strict.action}",
                        expected="accept above minor_revision above major_revision",
                        hint="leave out an action that the policy never takes",
                    )


_SHIPPED = Path(__file__).parent / "policies"
_LIMITS = Limits(max_bytes=1_000_000)


def shipped_policies(folder: Path = _SHIPPED) -> tuple[str, ...]:
    """Names of the policies that ship with the package."""
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


_CORRECT = "correct the file, or use a shipped policy by its name, such as default"


def load_policy(source: str | Path) -> Policy:
    """Load a policy by its name (``default``, ``identity``, ``paper``, ``release``) or from a .json or .toml file."""
    return read_policy(source, policy_of, folder=_SHIPPED)


def read_policy(source: str | Path, read: Callable[[object], T], *, folder: Path) -> T:
    """Read the content of a policy that is shipped in ``folder`` under this name, or of a .json or .toml file."""
    path, names = Path(source), shipped_policies(folder)
    if str(source) in names:
        path = folder / f"{source}.json"
    elif path.suffix.lower() not in {".json", ".toml"}:
        close = difflib.get_close_matches(str(source), names, n=1)
        raise UnknownName(
            f"there is no policy {str(source)[:80]!r}",
            expected=f"one of: {', '.join(names)}; or a .json or .toml file",
            hint=f"did you mean {close[0]}?" if close else "",
        )
    try:
        text = read_bytes(path, limits=_LIMITS).decode("utf-8-sig")
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else load(text.encode())
        return read(content)
    except InputError as error:
        raise UsageError(error.message, expected=error.expected, hint=error.hint or _CORRECT, path=path) from error
    except (ValueError, RecursionError) as error:  # a table of TOML may nest too deeply
        kind = path.suffix[1:].upper()
        message = f"broken {kind}: {str(error)[:120]}"
        raise UsageError(message, expected=f"a policy in {kind}", hint=_CORRECT, path=path) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoundFile:
    """A bound as a file has it: ``at_least`` or ``above``."""

    at_least: Share | None = None
    above: Share | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.above is None):
            raise ValueError(f"it has {0 if self.above is None else 2} bounds, not one of at_least, above")

    @property
    def value(self) -> float:
        """The bound, 0..1."""
        return (self.above if self.at_least is None else self.at_least) or 0.0

    @property
    def inclusive(self) -> bool:
        """Whether the bound itself is enough."""
        return self.at_least is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupFile:
    """The actions of a group of defects as a file has them, most lenient first; what reaches none is rejected."""

    accept: _BoundFile | None = None
    minor_revision: _BoundFile | None = None
    major_revision: _BoundFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _GoodFile:
    """The probability that accepts, as a file has it."""

    accept: _BoundFile


@dataclass(frozen=True, slots=True, kw_only=True)
class _PolicyFile:
    """A policy's file, key by key."""

    name: str
    perfect: _GroupFile
    shape: _GroupFile
    merge: _GroupFile
    full_neg: _GroupFile
    summary: str = ""
    require_identity: bool = False
    good: _GoodFile | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("the name is empty")


def policy_of(content: object) -> Policy:
    """Check a policy that was read from a file."""
    parsed = from_json(_PolicyFile, content, error=InputError, exact=True)
    good = None if parsed.good is None else parsed.good.accept
    return Policy(
        name=parsed.name,
        summary=parsed.summary,
        require_identity=parsed.require_identity,
        good=None if good is None else Good(prob_iou_80=good.value, inclusive=good.inclusive),
        **{group: _thresholds(getattr(parsed, group)) for group in GROUPS},
    )


def _thresholds(group: _GroupFile) -> tuple[Threshold, ...]:
    actions: tuple[Action, ...] = ("accept", "minor_revision", "major_revision")
    bounds = ((action, getattr(group, action)) for action in actions)
    return tuple(
        Threshold(action=action, iou=bound.value, inclusive=bound.inclusive) for action, bound in bounds if bound
    )


DEFAULT = load_policy("default")

DECIMALS = 6
_NEXT = 10.0**-DECIMALS  # to the next IoU that a record tells apart
_GOOD = 0.8  # the IoU that ``prob_iou_80`` is about
UNCHECKED_EMPTY = "Rejected although the target may be absent: whether it is there was not checked."
UNCHECKED_IDENTITY = "Not accepted as it is: that this is the object asked for was not checked."
NO_ESTIMATE = "Rejected because the judge gave no estimate of the IoU."
_NOTES = (UNCHECKED_EMPTY, UNCHECKED_IDENTITY, NO_ESTIMATE)


def decide(verdict: Verdict, policy: Policy = DEFAULT) -> Verdict:
    """Set a verdict's action.

    Deciding again, by the same or another policy, starts from the judge's verdict: the action is replaced, and a note
    that an earlier decision added to the rationale is taken back.
    """
    action, note = action_of(
        policy,
        defect=verdict.defect,
        iou=verdict.iou,
        target_exists=verdict.target_exists,
        identity=verdict.evidence.identity,
        prob_iou_80=verdict.prob_iou_80,
    )
    return replace(verdict, action=action, rationale=with_note(verdict.rationale, note))


def action_of(
    policy: Policy,
    *,
    defect: Defect | None,
    iou: float | None,
    target_exists: Existence = "unchecked",
    identity: bool = False,
    prob_iou_80: float | None = None,
) -> tuple[Decision, str]:
    """What a policy does about one estimate, and a sentence on what was not checked (empty for none).

    IoU and probability are taken to the six decimals that a record keeps, so that a later decision is the same; NaN
    counts as None.
    """
    if defect == "empty":
        if target_exists == "no":
            return "accept", ""
        return "reject", UNCHECKED_EMPTY if target_exists == "unchecked" else ""
    if defect is None and target_exists != "no":
        return "unjudged", ""
    group = "full_neg" if defect is None or target_exists == "no" else GROUP_OF[defect]
    good = _good(policy, group, prob_iou_80)
    action, note = _by_iou(policy, group, iou)
    if good:
        action, note = "accept", ""
    elif good is False and group == "perfect" and action == "accept":
        action = "minor_revision"
    if action == "accept" and policy.require_identity and not identity:
        return "minor_revision", UNCHECKED_IDENTITY
    return action, note


def possible_actions(verdict: Verdict, policy: Policy = DEFAULT, *, named: bool = False) -> set[Decision]:
    """Every action that a policy may take within a verdict's 90 % interval.

    Without an interval the IoU may be anything, 0..1. Where an object was ``named``, by an expression, and its identity
    was not checked, the mask may also be on another one. A mask that was not judged may deserve anything.
    """
    if verdict.defect == "empty":
        return {decide(verdict, policy).action or "unjudged"}
    if verdict.defect is None and verdict.target_exists != "no":
        return set(DECISIONS)
    low, high = (
        (0.0 if verdict.iou_low is None else verdict.iou_low),
        (1.0 if verdict.iou_high is None else verdict.iou_high),
    )
    bounds = {bound.iou + step for group in GROUPS for bound in getattr(policy, group) for step in (-_NEXT, 0, _NEXT)}
    actions: set[Decision] = {"reject"} if named and not verdict.evidence.identity else set()
    for iou in (low, high, *(bound for bound in bounds | {_GOOD - _NEXT, _GOOD} if low < bound < high)):
        action, _ = action_of(
            policy,
            defect=verdict.defect,
            iou=iou,
            target_exists=verdict.target_exists,
            identity=verdict.evidence.identity,
            prob_iou_80=None if verdict.prob_iou_80 is None else float(iou >= _GOOD),
        )
        actions.add(action)
    return actions


def _good(policy: Policy, group: Group, probability: float | None) -> bool | None:
    """Whether a mask is accepted by its probability; None where the policy or the judge leaves that to the groups."""
    other = group in {"full_neg", "merge"}  # it holds another object, however well that is drawn
    if policy.good is None or other or probability is None or math.isnan(probability):
        return None
    return policy.good.reached(round(probability, DECIMALS))


def _by_iou(policy: Policy, group: Group, iou: float | None) -> tuple[Action, str]:
    """The action of a group's thresholds for an estimated IoU, and a note where there is no estimate."""
    thresholds: tuple[Threshold, ...] = getattr(policy, group)
    if iou is None or math.isnan(iou):
        return "reject", NO_ESTIMATE if thresholds else ""
    rounded = round(iou, DECIMALS)
    return next((threshold.action for threshold in thresholds if threshold.reached(rounded)), "reject"), ""


def with_note(rationale: str, note: str) -> str:
    """A rationale with the note of this decision in place of an earlier one's."""
    for earlier in _NOTES:
        if rationale.endswith(earlier):
            rationale = rationale.removesuffix(earlier).rstrip()
    return f"{rationale} {note}".lstrip() if note else rationale
