"""Labelled instructions and the pool of samples they are about; ACC, Rate and agreement (R2-Bench, Sec. 5.4).

Everything offered for an instruction is needed, plausible or impossible, by ``guideline.txt``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from auscult.agent.debate import CHOICE_SETS, ChoiceSet, Offer, Offered
from auscult.agent.offers import perturbations_of
from auscult.errors import InputError
from auscult.record.lines import numbered_lines, read_lines
from auscult.stress.recipe_parts import full_name
from auscult.suites.r2.cases import task_rules
from auscult.types import Doubles

Half: TypeAlias = Literal["dev", "test"]
Score: TypeAlias = Literal["ACC", "Rate", "balanced ACC"]
SCORES: Final[tuple[Score, ...]] = get_args(Score)
_HERE: Final = Path(__file__).parent
_FIRST: Final = ("instructions_a.jsonl", "instructions_b.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The needed and the plausible entries of a set; the rest of the offer is impossible."""

    needed: frozenset[str]
    plausible: frozenset[str] = frozenset()

    def grade(self, name: str) -> int:
        """2 for needed, 1 for plausible, 0 for impossible."""
        return 2 if name in self.needed else int(name in self.plausible)

    def reasonable(self, name: str, *, selected: bool) -> bool:
        """Whether a choice is acceptable: a needed entry must be selected, an impossible one must not."""
        return self.grade(name) > 0 if selected else self.grade(name) < 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """An instruction with its labels."""

    id: str  # the letter of its author and two digits
    task: str  # a task of suite r2
    instruction: str
    labels: Mapping[ChoiceSet, Label] = field(default_factory=dict)  # by the names of an ``Offer``
    situation: str = ""  # in a word or two
    labeller: str = ""

    @property
    def half(self) -> Half:
        """``test`` is not used for tuning; the half follows from the id."""
        return "test" if sha256(self.id.encode()).digest()[0] % 2 else "dev"


@cache
def pool() -> tuple[Offered, ...]:
    """The samples for which all instructions are labelled."""
    rows = read_lines(_HERE / "samples.jsonl")
    return tuple(Offered(name=row["id"], summary=row["caption"], facts=row["facts"]) for row in rows)


@cache
def offer_for(task: str) -> Offer:
    """What is offered for an instruction: the pool, and the task's perturbations of frames, sounds, sentences, timing.

    Defects of the first mask and twins of perturbations are not labelled, and so not offered.
    """
    rules = task_rules(task)
    middle = {name: line for name, line in perturbations_of(rules)[0].items() if not name.startswith("masks.")}
    return Offer(
        suite="r2",
        task=task,
        samples=pool(),
        perturbations=tuple(Offered(name=name, summary=line) for name, line in middle.items()),
        metrics=tuple(Offered(name=name, summary=name) for name in (*rules.metrics, *rules.beside)),
    )


@cache
def labelled(*, second: bool = False) -> tuple[Labelled, ...]:
    """All labelled instructions; with ``second`` those of a second labeller, who labelled some of them."""
    return tuple(
        _labelled(row, f"{name}:{line}")
        for name in (("second_labels.jsonl",) if second else _FIRST)
        for line, row in numbered_lines(_HERE / name)
    )


def _labelled(row: Mapping[str, Any], place: str) -> Labelled:
    labels: dict[ChoiceSet, Label] = {}
    offer = offer_for(row["task"])
    for choice_set in CHOICE_SETS:
        grades = {grade: frozenset(map(_named, names)) for grade, names in row[choice_set].items()}
        foreign = grades["needed"].union(grades["plausible"]) - {offered.name for offered in offer.of(choice_set)}
        if foreign or grades["needed"] & grades["plausible"]:
            message = f"{place}: {', '.join(foreign) or 'a name that is both needed and plausible'}"
            raise InputError(message, expected=f"{choice_set} offered for {row['task']}, each once")
        labels[choice_set] = Label(**grades)
    texts = {name: row.get(name, "") for name in ("id", "task", "instruction", "situation", "labeller")}
    return Labelled(labels=MappingProxyType(labels), **texts)


def _named(name: str) -> str:
    return full_name(name) if "." in name else name


def score(which: Score, label: Label, *, offered: Iterable[str], selected: Collection[str]) -> float:
    r"""A planner's choice of one set for one instruction, 0..1, higher is better.

    For entries x of the offer, s(x) is whether x is selected:

        ACC          = share of x with s(x) = (x is needed)
        Rate         = share of x with  s(x) and x is needed or plausible,  or  not s(x) and x is not needed
        balanced ACC = mean of the selected share of the needed x and the unselected share of the others; only one
                       of them where the other is empty

    Source: R2-Bench, Sec. 5.4, which measures ACC and Rate by people; the labels and balanced ACC are ours.
    """
    names = list(offered)
    if which == "Rate":
        return float(np.mean([label.reasonable(name, selected=name in selected) for name in names]))
    needed = np.isin(names, list(label.needed))
    right = np.isin(names, list(selected)) == needed
    if which == "ACC":
        return float(right.mean())
    return float(np.mean([right[part].mean() for part in (needed, ~needed) if part.any()]))


def table_of_grades(first: Label, second: Label, offered: Iterable[str]) -> Doubles:
    """Counts of the pairs of grades, (3, 3), with the first labelling as rows."""
    counts = np.zeros((3, 3))
    for name in offered:
        counts[first.grade(name), second.grade(name)] += 1
    return counts


def kappa(counts: Doubles) -> Doubles:
    """Cohen's kappa of tables of grades, (..., 3, 3): 1 is full agreement, 0 is chance.

    NaN where both labellings use a single grade.

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960, Eq. 1.
    """
    shares = counts / counts.sum((-2, -1), keepdims=True)
    agreed = np.trace(shares, axis1=-2, axis2=-1)
    chance = (shares.sum(-1) * shares.sum(-2)).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance < 1, (agreed - chance) / (1 - chance), np.nan))
