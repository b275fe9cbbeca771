"""What a planner is compared with: choices that need no thought, and a model that errs at a set rate."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from auscult.agent.choices import CHOICE_SETS, Choice, ChoiceSet, Offer, Offered, Proposal
from auscult.agent.debate import MOST_ROUNDS, Debate, Role
from auscult.agent.evaluation.labels import Labelled
from auscult.rng import generator
from auscult.stress.presets import barred, places, tags_of

Selection: TypeAlias = Mapping[ChoiceSet, Collection[str]]


class ScriptedDebater:
    """Operator or guardian that knows what is needed and errs about everything offered with one probability.

    Each look at something is a new draw, of the guardian apart from the operator's. The guardian says what it sees; the
    operator looks again at what the guardian disputes, and keeps to the rest. So verification can both mend and spoil.
    """

    def __init__(self, role: Role, labels: Mapping[str, Labelled], *, error: float, seed: int) -> None:
        self.name = f"scripted {role}, {error:.0%} errors"
        self._role, self._labels, self._error, self._seed = role, labels, error, seed
        self._about, self._looks, self._last = "", 0, dict[tuple[ChoiceSet, str], bool]()

    def propose(self, instruction: str, offer: Offer) -> Proposal:
        """What it sees at a first look."""
        self._looks = 0
        return self._said(offer, self._look(instruction, offer))

    def verify(self, instruction: str, offer: Offer, *, proposal: Proposal) -> Proposal:
        """What it sees at another look; of the operator, only where it is contradicted."""
        self._looks = self._looks + 1 if instruction == self._about else 1  # a new sentence begins a new memory
        seen = self._look(instruction, offer)
        if self._role == "operator":
            theirs = {(of, choice.type): choice.selected for of in CHOICE_SETS for choice in proposal.of(of)}
            seen = {key: seen[key] if theirs[key] != kept else kept for key, kept in self._last.items()}
        return self._said(offer, seen)

    def _look(self, instruction: str, offer: Offer) -> dict[tuple[ChoiceSet, str], bool]:
        self._about, labels = instruction, self._labels[instruction].labels
        truth = {(of, one.name): one.name in labels[of].needed for of in CHOICE_SETS for one in offer.of(of)}
        rng = generator(self._seed, "scripted", self._role, str(self._error), instruction, str(self._looks))
        return {
            key: needed != (draw < self._error)
            for (key, needed), draw in zip(truth.items(), rng.random(len(truth)), strict=True)
        }

    def _said(self, offer: Offer, seen: dict[tuple[ChoiceSet, str], bool]) -> Proposal:
        self._last = seen
        chosen = {
            of: tuple(Choice(type=one.name, reason="", selected=seen[of, one.name]) for one in offer.of(of))
            for of in CHOICE_SETS
        }
        return Proposal(**chosen)


def by_rounds(found: Debate) -> list[Selection]:
    """What the operator selects if the debate ends after 0 to 3 rounds; fewer rounds are the beginning of more."""
    words = [(turn.round, turn.proposal) for turn in found.turns if turn.role == "operator" and turn.proposal]
    last = [[said for at, said in words if at <= rounds][-1] for rounds in range(MOST_ROUNDS + 1)]
    return [{of: said.selected(of) for of in CHOICE_SETS} for said in last]


def everything(offer: Offer) -> Selection:
    """All that is offered."""
    return {of: [one.name for one in offer.of(of)] for of in CHOICE_SETS}


def at_random(offer: Offer, like: Selection, *, rng: np.random.Generator) -> Selection:
    """As many of each set as another selects, drawn."""
    return {
        of: [offer.of(of)[at].name for at in rng.permutation(len(offer.of(of)))[: len(like[of])]] for of in CHOICE_SETS
    }


def by_place(instruction: str, offer: Offer) -> Selection:
    """By places alone: what ``stress/data/occurrence.json`` does not bar there, and samples of these places.

    A place is known by its word in the sentence, singular or plural, and in a sample by its words and by whether it is
    indoors and by day. Where the sentence names no place, everything is taken.
    """
    said = _places(re.findall(r"[a-z]+", instruction.lower()))
    tags = frozenset[str]().union(*map(tags_of, said))
    return {
        "samples": [one.name for one in offer.samples if said <= _tags(one)],
        "perturbations": [one.name for one in offer.perturbations if not barred(one.name, tags)],
        "metrics": [one.name for one in offer.metrics],
    }


def _places(words: Iterable[str]) -> set[str]:
    known = {spelled: name for name in places() for spelled in (name, f"{name}s", name.removesuffix("s"))}
    return {known[word] for word in words if word in known}


def _tags(sample: Offered) -> frozenset[str]:
    facts = sample.facts
    side = {True: "indoors", False: "outdoors", None: ""}[facts["indoors"]]
    return frozenset[str]().union(*map(tags_of, _places([*facts["place"], facts["day"], side])))
