"""Conditions: a perturbation of every case and its strength."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from auscult.stress.perturbation import strength_of
from auscult.stress.recipe_parts import base_of, room_of

FramePart = Literal["all", "first", "rest"]

CLEAN: Final = "clean"
DYNAMIC: Final = "dynamic"
REMOVED: Final = "removed"
PARTS: Final[tuple[FramePart, ...]] = ("all", "first", "rest")
_WORDS: Final = MappingProxyType({1.0: "low", 3.0: "medium", 5.0: "high"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A perturbation of every case, at one strength."""

    name: str  # valid as a folder name
    group: str  # ``clean``, a mix drawn for each case, or the full name of a kind
    level: str  # ``clean``, ``low``, ``medium``, ``high``, a strength as text, ``dynamic``, or ``removed``
    part: FramePart = "all"  # the perturbed frames of a clip whose first frame has the reference

    def __post_init__(self) -> None:
        """Refuse a level that is none."""
        _ = self.strength

    @property
    def key(self) -> tuple[str, str, str]:
        """Group, level and part: its identity in every record."""
        return self.group, self.level, self.part

    @property
    def strength(self) -> float | None:
        """0..5; None if it changes over frames, or a sense is removed."""
        if self.level in {DYNAMIC, REMOVED}:
            return None
        return 0.0 if self.level == CLEAN else strength_of(self.level)

    @property
    def label(self) -> str:
        """The group in words: ``mix``, ``fog``, ``fog, first frame``."""
        name = self.group
        if "." in name:
            has_room = self.name.startswith(f"{room_of(name)}.")
            name = f"{base_of(name)} of {room_of(name)}" if has_room else base_of(name)
        return name if self.part == "all" else f"{name}, {'first frame' if self.part == 'first' else 'later frames'}"

    def as_json(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)


NOTHING: Final = Condition(name=CLEAN, group=CLEAN, level=CLEAN)


def is_kind(group: str) -> bool:
    """Whether a group of conditions is one kind, with the full name of a stressor."""
    return "." in group


def is_mix(group: str) -> bool:
    """Whether a group of conditions is a mix, drawn for each case."""
    return group != CLEAN and not is_kind(group)


def part_name(start: str, group: str, part: str) -> str:
    """A name for files: ``general_mix``, ``general_mix_first``."""
    return f"{start}_{group}" + ("" if part == "all" else f"_{part}")


def words_of(conditions: Iterable[Condition]) -> str:
    """Options of the command line that include these conditions."""
    perturbed = [condition for condition in conditions if condition.group != CLEAN]
    mixes = dict.fromkeys(condition.group for condition in perturbed if is_mix(condition.group))
    kinds = dict.fromkeys(condition.group for condition in perturbed if is_kind(condition.group))
    parts = dict.fromkeys(condition.part for condition in perturbed)
    options: dict[str, list[str]] = {
        "perturb": list(mixes) or ["none"],
        "kind": list(kinds),
        "severity": list(dict.fromkeys(condition.level for condition in perturbed)),
        "part": list(parts) if set(parts) - {"all"} else [],
    }
    return " ".join(f"--{name} {','.join(words)}" for name, words in options.items() if words)


def level_word(level: str) -> str:
    """A strength as printed; strengths with the same text are equal."""
    printed = f"{abs(strength_of(level)):g}"  # of -0, 0
    return _WORDS.get(float(printed), printed)


def unique_conditions(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions without duplicates under another spelling, as ``3`` is ``medium``."""
    listed = list(conditions)
    keys = {condition.key for condition in listed}

    def is_other(condition: Condition) -> bool:
        plain = condition.level if condition.level in {CLEAN, DYNAMIC, REMOVED} else level_word(condition.level)
        return plain != condition.level and (condition.group, plain, condition.part) in keys

    return tuple(condition for condition in listed if not is_other(condition))
