"""From things that may be this or that to the probability that a sentence names one of them.

What a thing is called is drawn from its probabilities, many times over. In each such world the sentence is proven with
the language's own proof (`language.proof`), from sight alone; what is unclear there is shared among what it may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.identity.scenes_text import Reading, form_words
from auscult.judge.identity.scenes_things import Found
from auscult.judge.identity.scenes_words import Vocabulary
from auscult.language.facts import Facts, Thing
from auscult.language.proof import Proof
from auscult.rng import generator

WORLDS: Final = 40
_UNCLEAR: Final = 0.5
_NOTHING: Final = 0.25  # weight of a world in which the sentence names nothing: what is asked for is mostly there
_DURATION_S: Final = 1.0  # of no meaning, but without one nothing moves
_ELSE: Final = "something else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """How likely a sentence names each thing.

    Attributes:
        shares: Probability of each thing, in the order given.
        nothing: Share of worlds in which it names nothing that was found.
        settled: Share of worlds in which exactly one thing is named beyond doubt.
        possible: Share of worlds in which the sentence may be true of each thing, however many others it fits too.
    """

    shares: tuple[float, ...]
    nothing: float
    settled: float
    possible: tuple[float, ...]


def named(reading: Reading, things: Sequence[Found], words: Vocabulary, *, worlds: int = WORLDS) -> Named:
    """Prove a sentence in many worlds.

    Args:
        reading: The sentence.
        things: What was found, at least one.
        words: What their probabilities are of.
        worlds: How many; the same draws each time.
    """
    rng = generator(0, "identity", "worlds", len(things))
    asked = form_words(reading.form)
    drawn = [_draws(rng, thing, words=words, asked=asked, worlds=worlds) for thing in things]
    there = np.stack([rng.random(worlds) < thing.sure for thing in things])
    seen: dict[tuple[object, ...], NDArray[np.float64]] = {}
    shares, possible, nothing, settled = np.zeros(len(things)), np.zeros(len(things)), 0.0, 0
    for world in range(worlds):
        key = tuple(drawn[at][world] if there[at, world] else None for at in range(len(things)))
        if key not in seen:
            seen[key] = _proven(reading, things, key)
        values = seen[key]
        possible += values > 0
        total = values.sum()
        if total > 0:
            shares += values / total
            settled += int((values == 1).sum() == 1 and (values > 0).sum() == 1)
        else:
            nothing += 1
    whole = worlds - nothing + _NOTHING * nothing
    return Named(
        shares=tuple(float(share) for share in shares / whole),
        nothing=nothing / worlds,
        settled=settled / worlds,
        possible=tuple(float(share) for share in possible / worlds),
    )


_Draw = tuple[str, str | None, str | None]


def _draws(
    rng: np.random.Generator, thing: Found, *, words: Vocabulary, asked: frozenset[str], worlds: int
) -> list[_Draw]:
    """What one thing is called in each world: only what the sentence speaks of is told apart."""
    names = sorted(asked & set(words.categories))
    chances = np.array([thing.categories[words.categories.index(name)] for name in names])
    options = [*names, _ELSE]
    weights = np.array([*chances, 0.0], np.float64)
    weights = weights / max(1.0, float(weights.sum()))
    weights[-1] = max(0.0, 1.0 - float(weights.sum()))
    steps = np.cumsum(weights / weights.sum())
    categories = np.searchsorted(steps, rng.random(worlds), side="right")
    colours = _picked(rng, thing.colours, words.colours, worlds=worlds)
    textures = _picked(rng, thing.textures, words.textures, worlds=worlds)
    named_so = [options[min(int(at), len(options) - 1)] for at in categories]
    return list(zip(named_so, colours, textures, strict=True))


def _picked(
    rng: np.random.Generator, chances: NDArray[np.float32], words: Sequence[str], *, worlds: int
) -> list[str | None]:
    steps = np.cumsum(chances / chances.sum())
    drawn = np.minimum(np.searchsorted(steps, rng.random(worlds), side="right"), len(words) - 1)
    return [words[int(at)] for at in drawn]


def _proven(reading: Reading, things: Sequence[Found], world: Sequence[object]) -> NDArray[np.float64]:
    """1 for each thing that the sentence is true of, 0 where it is false, between where it is unclear."""
    kept = [at for at, one in enumerate(world) if one is not None]
    values = np.zeros(len(things))
    if not kept:
        return values
    facts = Facts(things=tuple(_thing(str(at), things[at], world[at]) for at in kept), duration_s=_DURATION_S)
    proof = Proof(facts, frozenset({"sight"}))
    found = proof.values(reading.form)
    values[kept] = [1.0 if value else _UNCLEAR if value is None else 0.0 for value in found]
    return values


def _thing(name: str, found: Found, called: object) -> Thing:
    category, colour, texture = called if isinstance(called, tuple) else (_ELSE, None, None)
    return Thing(
        id=name,
        category=category,
        colour=colour,
        texture=texture,
        x=(found.x, found.x),
        y=(found.y, found.y),
        area=(found.share, found.share),
        covered_by=(_ELSE,),  # whether a part of it is hidden is not known
        hidden=0.05,
    )
