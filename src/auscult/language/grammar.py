"""Referring expressions for a scene, each proven to name one thing, and null expressions, each proven to name none.

What is named is drawn before how it is named, so that no word tells more than it says. A family that needs both senses
is used only in a scene where it can name every thing: there each of them is named equally often, whatever it looks
like, and neither the words nor the picture alone tell which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np

from auscult.errors import UsageError
from auscult.language.atoms import ANYTHING, SOUNDS
from auscult.language.atoms import most as most_of
from auscult.language.expression import Expression, Sense
from auscult.language.facts import Facts
from auscult.language.families import BOTH, EITHER, FAMILIES
from auscult.language.forms import SIGHT_QUALITIES, Form
from auscult.language.phrases import phrase
from auscult.language.proof import Proof, Values, needed

T = TypeVar("T")

_TRIES: Final = 6  # draws for each expression that is wanted
_BOTH_SENSES: Final = 0.5  # chance that an expression that needs both senses is wanted
_TELLING: Final = 0.05  # how often a form that tells the place from the left is taken, to others, where both are needed
_FROM_LEFT: Final = frozenset({"left", "right", "left_of", "right_of", "nearest", "farthest"})


def describe(
    rng: np.random.Generator,
    facts: Facts,
    *,
    most: int,
    families: Sequence[str] | None = None,
    targets: Collection[str] | None = None,
) -> tuple[Expression, ...]:
    """Draw referring expressions, each of which names exactly one thing.

    Args:
        rng: The draw.
        facts: The scene.
        most: How many at most.
        families: Those that may be used; None for all.
        targets: Ids of the things that may be named; None for all. Others still matter for what an expression means.

    Returns:
        Expressions of different texts and logical forms; fewer than ``most`` where the scene allows no more.

    Raises:
        UsageError: There is no such family.
    """
    wanted = [thing.id for thing in facts.things if targets is None or thing.id in targets]
    scene = _Scene(facts, _checked(families))
    found: dict[str, Expression] = {}
    for _ in range(_TRIES * most):
        if len(found) == most:
            break
        drawn = scene.draw(rng, wanted) if wanted else None
        if drawn is not None:
            found.setdefault(repr(drawn.form), drawn)
    return tuple({one.text: one for one in found.values()}.values())


def nulls(rng: np.random.Generator, facts: Facts, *, most: int) -> tuple[Expression, ...]:
    """Draw null expressions: near misses, which name nothing in the scene, beyond doubt.

    Where an expression joins parts, each of them alone is true of some thing. What a relation goes to is there, and a
    superlative has several things to choose from. An expression of one part ("the thing heard three times") is simply
    false of every thing; a sound that it speaks of may come from outside the picture.

    Args:
        rng: The draw.
        facts: The scene.
        most: How many at most.

    Returns:
        Expressions of different texts and logical forms, with ``target`` None.
    """
    scene = _Scene(facts, tuple(FAMILIES))
    found: dict[str, Expression] = {}
    for _ in range(_TRIES * most):
        if len(found) == most:
            break
        drawn = scene.draw_null(rng)
        if drawn is not None:
            found.setdefault(repr(drawn.form), drawn)
    return tuple({one.text: one for one in found.values()}.values())


def _checked(families: Sequence[str] | None) -> tuple[str, ...]:
    unknown = sorted(set(families or ()) - set(FAMILIES))
    if unknown:
        raise UsageError(f"there is no family {unknown[0]!r}", expected=f"one of: {', '.join(FAMILIES)}")
    return tuple(FAMILIES) if families is None else tuple(families)


@dataclass(slots=True)
class _Scene:
    """What can be said of one scene, found out as it is asked for."""

    facts: Facts
    families: tuple[str, ...]
    proof: Proof = field(init=False)
    lacking: dict[Sense, Proof] = field(init=False)
    kept: dict[str, dict[str | None, list[Form]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.proof = Proof(self.facts)
        self.lacking = {
            "sight": Proof(self.facts, frozenset({"sound"})),
            "sound": Proof(self.facts, frozenset({"sight"})),
        }

    def draw(self, rng: np.random.Generator, wanted: Sequence[str]) -> Expression | None:
        """One expression of one of some things; None where what was drawn cannot be named."""
        target, family = wanted[int(rng.integers(len(wanted)))], None
        if rng.random() < _BOTH_SENSES or not self._of(EITHER):
            family = self._first(rng, BOTH, wanted)
        family = family or self._first(rng, EITHER, [target])
        return self._say(rng, family, target) if family else None

    def draw_null(self, rng: np.random.Generator) -> Expression | None:
        """One null expression."""
        family = self._first(rng, tuple(FAMILIES), [None])
        return self._say(rng, family, None) if family else None

    def _first(self, rng: np.random.Generator, names: Sequence[str], wanted: Sequence[str | None]) -> str | None:
        """One of the families that can name all of these, each as often; no more are looked at than it takes."""
        names = self._of(names)
        order = (names[int(place)] for place in rng.permutation(len(names)))
        return next((name for name in order if self._names(name, wanted)), None)

    def _names(self, family: str, wanted: Sequence[str | None]) -> bool:
        """Whether a family can name all of these; with both senses, without telling their place from the left."""
        forms = self.forms(family)
        if len(FAMILIES[family][0]) < 2 or None in wanted:
            return set(wanted) <= set(forms)
        return all(any(not _tells(form) for form in forms.get(target, ())) for target in wanted)

    def forms(self, family: str) -> dict[str | None, list[Form]]:
        """The forms of a family by what they name; under None those that name nothing and might be thought to."""
        if family not in self.kept:
            senses, lister = FAMILIES[family]
            found: dict[str | None, list[Form]] = {}
            for form in lister(self.proof):
                self._file(form, senses, found)
            self.kept[family] = found
        return self.kept[family]

    def _file(self, form: Form, senses: frozenset[Sense], found: dict[str | None, list[Form]]) -> None:
        named = self.proof.named(form)
        if named is None or len(named) > 1 or not self._earns(form, senses):
            return
        target = next(iter(named), None)
        if target is None:
            found.setdefault(None, []).append(form)
        elif needed(form, target, self.lacking) == senses:
            found.setdefault(target, []).append(form)

    def _earns(self, form: Form, senses: frozenset[Sense]) -> bool:
        """Each part of what is joined changes what is named, and is true of something by itself."""
        if not self._chooses(form):
            return False
        whole = self.proof.values(form)
        if form["op"] == "most":
            return self._differs(form, senses)
        if form["op"] != "and":
            return True
        for index, part in enumerate(form["of"]):
            rest = [*form["of"][:index], *form["of"][index + 1 :]]
            without = self.proof.values({"op": "and", "of": rest})
            if without == whole or True not in self.proof.values(part) or self._to_itself(part, without):
                return False
        return True

    def _to_itself(self, part: Form, without: Values) -> bool:
        """Whether only the thing that a relation goes to could stand in it: "the drum left of the drum"."""
        inner = part["of"] if part["op"] == "not" else part
        if inner["op"] != "relation":
            return False
        pairs = zip(without, self.proof.values(inner["to"]), strict=True)
        return all(value is False or goal is True for value, goal in pairs)

    def _chooses(self, form: Form) -> bool:
        """Every superlative in a form has several things to choose from."""
        if form["op"] == "most" and self.proof.values(form["of"]).count(True) < 2:
            return False
        inner = form.get("of", form.get("to", ()))
        return all(map(self._chooses, inner if isinstance(inner, list) else [inner] if inner else []))

    def _differs(self, form: Form, senses: frozenset[Sense]) -> bool:
        """Whether a superlative that needs both senses gives another thing than it would give among all."""
        every = ANYTHING if form["by"] in SIGHT_QUALITIES else SOUNDS
        return len(senses) < 2 or self.proof.values(most_of(form["by"], every)) != self.proof.values(form)

    def _of(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self.families]

    def _say(self, rng: np.random.Generator, family: str, target: str | None) -> Expression:
        forms = self.forms(family)[target]
        rare = _TELLING if family in BOTH else 1.0
        weights = np.array([rare if _tells(form) else 1.0 for form in forms])
        form = forms[int(rng.choice(len(forms), p=weights / weights.sum()))]
        said = phrase(rng, form)
        needs = FAMILIES[family][0] if target is None else needed(form, target, self.lacking)
        return Expression(text=said.text, family=family, wording=said.wording, target=target, needs=needs, form=form)


def _tells(form: Form) -> bool:
    """Whether the words of a form tell how many things lie left of what it names, more or less."""
    inner = form.get("of", form.get("to", ()))
    parts = inner if isinstance(inner, list) else [inner] if inner else []
    own = (form.get(key) for key in ("word", "by", "how"))
    return any(word in _FROM_LEFT for word in own) or any(map(_tells, parts))
