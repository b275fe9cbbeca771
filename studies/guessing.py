"""Whether expressions can be guessed: answerers that lack words, picture or sound, on scenes they never saw.

An answerer chooses one of the scene's things. It is learned: a softmax over the things, with words times features of a
thing as its inputs, fitted on one half of the scenes and tried on the other, both ways round. Only expressions of the
families that need both senses are asked.

`AUSCULT_SCENES` may name a folder that `auscult make scenes` wrote; without it scenes are drawn, but not painted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auscult.language import proof
from auscult.language.forms import SceneObject
from auscult.language.grammar import BOTH
from auscult.language.lexicon import base, ing
from auscult.rng import generator
from studies.guessing_scenes import Question, drawn, recorded
from bench.table import Table, text

SCENES = 420
MOST_THINGS = 8
STEPS = 150
RARE = 5  # a word that occurs less often is left out
SAMPLES = 600
BAR = 0.05
CONTROL = "position"

Numbers = NDArray[np.float64]
Features = Callable[[Question, SceneObject], list[float]]

WORDS = ("striped", "spotted", "checked", "speckled", "plain")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "white", "grey", "black")
MOTIONS = ("still", "left", "right", "up", "down", "nearer", "away", "to_and_fro")


@dataclass(frozen=True, slots=True)
class Answerer:
    """What one answerer is given.

    Attributes:
        name: As the table calls it.
        reads: It has the words.
        features: What it has of each thing.
        barred: It must stay near chance.
    """

    name: str
    reads: bool
    features: Features
    barred: bool


def run() -> Table:
    """Ask every answerer about every expression, and give accuracy beside chance, a family a row."""
    folder = os.environ.get("AUSCULT_SCENES")
    make = partial(recorded, Path(folder)) if folder else partial(drawn, SCENES)
    rows = _rows(make(lambda one: len(one.needs) == 2, BOTH), "all")
    over = [
        f"{row[0]}, {name}"
        for row in rows
        for name, cell in zip(_NAMES, row[4:], strict=False)
        if _barred(name) and _over(cell)
    ]
    rows.append(_rows(make(lambda one: one.family == CONTROL, (CONTROL,)), f"({CONTROL})")[0])
    header = ["family", "expressions", "scenes", "chance %", *(f"{name}, over chance" for name in _NAMES), "proof %"]
    return Table("guessing what needs both senses", header, rows, _note(folder, over))


def _rows(questions: Sequence[Question], name: str) -> list[list[str]]:
    """A row for all, called ``name``, and one for each family."""
    answers = {answerer.name: _answers(questions, answerer) for answerer in ANSWERERS}
    proven = np.array([proof.named(one.form, one.facts) == frozenset((one.target,)) for one in questions], np.float64)
    families = np.array([one.family for one in questions])
    rows = []
    for family in (name, *np.unique(families).tolist()):
        chosen = np.flatnonzero((families == family) | (family == name))
        right = {key: values[chosen] for key, values in {**answers, "proof": proven}.items()}
        rows.append(_row(family, [questions[index] for index in chosen.tolist()], right))
    return rows


def _note(folder: str | None, over: Sequence[str]) -> str:
    return (
        f"{'recorded' if folder else 'drawn'} scenes; chance is the mean of 1 over the number of things that may be "
        "named; points over it, in brackets the 95 % interval with scenes drawn anew. Text only knows the words, the "
        "number of things and their order in the file, from the left and from the right; picture only all that is seen "
        f"of all things. Bar for these two: {100 * BAR:.0f} points. Over it: {', '.join(over) or 'none'}. "
        "The last row is a control: "
        "where a thing is can be guessed from its words by who knows the order from the left."
    )


def _barred(name: str) -> bool:
    return any(answerer.name == name and answerer.barred for answerer in ANSWERERS)


def _over(cell: str) -> bool:
    return float(cell.split(" ", maxsplit=1)[0]) > 100 * BAR


def _row(family: str, questions: Sequence[Question], right: dict[str, Numbers]) -> list[str]:
    chance = np.array([1 / len(one.choices) for one in questions])
    scenes = np.unique([one.scene for one in questions], return_inverse=True)[1]
    cells = [_difference(right[name] - chance, scenes) for name in _NAMES]
    return [
        family,
        str(len(questions)),
        str(scenes.max() + 1),
        f"{100 * chance.mean():.1f}",
        *cells,
        f"{100 * right['proof'].mean():.1f}",
    ]


def _difference(values: Numbers, scenes: NDArray[np.intp]) -> str:
    """Mean with its clustered bootstrap interval, in points."""
    sums, counts = np.bincount(scenes, values), np.bincount(scenes)
    rng = generator(0, "bench", "guessing", "interval")
    draws = rng.integers(len(sums), size=(SAMPLES, len(sums)))
    means = sums[draws].sum(1) / counts[draws].sum(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{100 * values.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _answers(questions: Sequence[Question], answerer: Answerer) -> Numbers:
    """1 where the answerer is right, 0 where not; ties share."""
    inputs = np.stack([_things(one, answerer.features) for one in questions])
    there = np.array([[place < len(one.choices) for place in range(MOST_THINGS)] for one in questions])
    truth = np.array([one.choices.index(one.target) for one in questions])
    half = np.array([one.scene % 2 == 0 for one in questions])
    right = np.zeros(len(questions))
    for fit, test in ((half, ~half), (~half, half)):
        words = _bags(questions, fit) if answerer.reads else np.ones((len(questions), 1))
        centre, spread = inputs[fit][there[fit]].mean(0), inputs[fit][there[fit]].std(0) + 1e-6
        scaled = np.where(there[..., None], (inputs - centre) / spread, 0.0)
        weights = _fit(words[fit], scaled[fit], (there[fit], truth[fit]))
        scores = _scores(words[test], scaled[test], weights)
        scores[~there[test]] = -np.inf
        best = scores >= scores.max(1, keepdims=True) - 1e-9
        right[test] = best[np.arange(best.shape[0]), truth[test]] / best.sum(1)
    return right


def _fit(words: Numbers, inputs: Numbers, goal: tuple[NDArray[np.bool_], NDArray[np.intp]]) -> Numbers:
    """Weights (words, features) of greatest likelihood, with a Gaussian prior; Adam, all at once."""
    there, truth = goal
    weights = np.zeros((words.shape[1], inputs.shape[2]))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    hit = np.eye(MOST_THINGS)[truth]
    prior = 3.0 / len(words)
    for step in range(1, STEPS + 1):
        scores = np.where(there, _scores(words, inputs, weights), -np.inf)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        missed = ((chances - hit)[:, None, :] @ inputs)[:, 0]
        slope = words.T @ missed / len(words) + prior * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= 0.03 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def _scores(words: Numbers, inputs: Numbers, weights: Numbers) -> Numbers:
    return (inputs @ (words @ weights)[:, :, None])[..., 0]


def _bags(questions: Sequence[Question], fit: NDArray[np.bool_]) -> Numbers:
    """A constant, and which of the words that the fitted half has often enough occur."""
    counts = Counter(word for index in np.flatnonzero(fit).tolist() for word in set(questions[index].text.split()))
    known = {word: place for place, word in enumerate(sorted(word for word, n in counts.items() if n >= RARE), 1)}
    bags = np.zeros((len(questions), len(known) + 1))
    bags[:, 0] = 1.0
    for row, one in enumerate(questions):
        for word in set(one.text.split()) & set(known):
            bags[row, known[word]] = 1.0
    return bags


def _things(question: Question, features: Features) -> Numbers:
    by_id = {thing.id: thing for thing in question.facts.things}
    rows = [features(question, by_id[name]) for name in question.choices]
    return np.array(rows + [[0.0] * len(rows[0])] * (MOST_THINGS - len(rows)))


def _order(question: Question, thing: SceneObject) -> list[float]:
    """Place among the things, in the file, from the left and from the right."""
    names = list(question.choices)
    across = sorted((one for one in question.facts.things if one.id in names), key=lambda one: sum(one.x))
    left = [one.id for one in across].index(thing.id)
    places = (names.index(thing.id), left, len(names) - 1 - left)
    return [float(place == each) for place in places for each in range(MOST_THINGS)]


def _picture(question: Question, thing: SceneObject) -> list[float]:
    facts = question.facts
    every = facts.things
    numbers = [_rank([key(one) for one in every], key(thing)) for key in _SEEN]
    own = [
        sum(thing.x) / 2,
        sum(thing.y) / 2,
        np.log(sum(thing.area) + 1e-6),
        float(np.ptp(thing.x)),
        float(np.ptp(thing.y)),
    ]
    alike = [sum(getattr(one, name) == getattr(thing, name) for one in every) / len(every) for name in _LOOKS]
    covers = [float(bool(thing.covered_by)), float(any(thing.id in one.covered_by for one in every)), thing.hidden]
    depth = [-1.0 if thing.depth is None else thing.depth / len(every)]
    hot = [float(thing.motion == word) for word in MOTIONS] + [float(thing.colour == word) for word in COLOURS]
    hot += [float(thing.texture == word) for word in WORDS]
    smooth = [*numbers, *own, *alike, *covers, *depth]
    return [*smooth, *hot, *(np.tanh(np.array(smooth) @ _MIXTURES[: len(smooth)])).tolist()]


def _deaf(question: Question, thing: SceneObject) -> list[float]:
    words = f" {question.text} "
    named = [float(f" {word} " in words) for word in (thing.category, thing.colour, thing.texture)]
    return [*_picture(question, thing)[: -_MIXTURES.shape[1]], *named]


def _blind(question: Question, thing: SceneObject) -> list[float]:
    order, voice = _order(question, thing), thing.voice
    if voice is None:
        return [0.0] * 13 + order
    others = [one.voice for one in question.facts.things if one.voice is not None]
    ranks = [_rank([key(one) for one in others], key(voice)) for key in _HEARD]
    words = f" {question.text} "
    kind = [float(f" {word} " in words) for word in (voice.noun, voice.verb, base(voice.verb), ing(voice.verb))]
    counts = [float(len(voice.spans) == count) for count in (1, 2, 3)]
    return [1.0, *ranks, *kind, *counts, *order]


def _rank(values: list[float], value: float) -> float:
    return float(np.mean([value > other for other in values]) - np.mean([value < other for other in values]))


_SEEN: tuple[Callable[[SceneObject], float], ...] = (
    lambda one: sum(one.x),
    lambda one: sum(one.y),
    lambda one: sum(one.area),
    lambda one: abs(sum(one.x) / 2 - 0.5),
    lambda one: one.x[1] - one.x[0],
)
_HEARD = (
    lambda voice: voice.spans[0][0],
    lambda voice: voice.spans[-1][1],
    lambda voice: voice.level_db,
    lambda voice: float(len(voice.spans)),
    lambda voice: sum(end - start for start, end in voice.spans),
)
_LOOKS = ("category", "colour", "texture", "motion")
_MIXTURES = generator(0, "bench", "guessing", "mixtures").normal(size=(40, 40))

ANSWERERS = (
    Answerer("text only", reads=True, features=_order, barred=True),
    Answerer("picture only", reads=False, features=_picture, barred=True),
    Answerer("text and picture", reads=True, features=_deaf, barred=False),
    Answerer("text and sound", reads=True, features=_blind, barred=False),
)
_NAMES = tuple(answerer.name for answerer in ANSWERERS)


if __name__ == "__main__":
    print(text(run()))
