"""Questions for `studies.guessing`: expressions that need both senses, with the facts of their scenes.

`drawn` belongs to commit dadb72f, the last whose `grammar.describe` takes `families`; `recorded` runs on later ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import numpy as np

from auscult.language import grammar
from auscult.language.forms import Facts, SceneObject, Voice
from auscult.language.forms import Expression
from auscult.rng import generator
from auscult.scenes.facts import facts_from_json
from auscult.scenes.geometry import Path
from auscult.scenes.geometry import choose as choose_layout
from auscult.scenes.sound.generated import KINDS
from auscult.scenes.sound.spans import choose_spans

SECONDS = 10.0
EACH = 3  # expressions of a family in a scene
CATEGORIES = (
    "ball",
    "bell",
    "car",
    "clock",
    "cup",
    "drum",
    "duck",
    "fish",
    "fox",
    "kite",
    "lamp",
    "owl",
    "star",
    "tree",
)
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "white", "grey", "black", None)
TEXTURES = ("plain", "plain", "striped", "spotted", "checked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An expression and the things that it may name.

    Attributes:
        scene: Number of the scene.
        facts: Its facts.
        choices: Ids of the things that may be named, in the order of the file.
        text: The words.
        family: The family.
        form: The logical form.
        target: Id of what is named.
    """

    scene: int
    facts: Facts
    choices: tuple[str, ...]
    text: str
    family: str
    form: Mapping[str, Any]
    target: str


def drawn(scenes: int, wanted: Callable[[Expression], bool], families: Sequence[str]) -> list[Question]:
    """Draw scenes, without painting them, and ask for expressions of some families."""
    questions: list[Question] = []
    for number in range(scenes):
        rng = generator(0, "bench", "guessing", number)
        facts = _facts(rng)
        names = tuple(thing.id for thing in facts.things)
        expressions = [one for name in families for one in grammar.describe(rng, facts, most=EACH, families=(name,))]
        questions.extend(_question(one, facts, scene=number, choices=names) for one in expressions if wanted(one))
    return questions


def recorded(folder: File, wanted: Callable[[Expression], bool], families: Sequence[str]) -> list[Question]:
    """Some of the expressions of scenes that were made."""
    questions: list[Question] = []
    with (folder / "scenes.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            facts = facts_from_json(row["facts"])
            choices = tuple(row.get("targets") or [thing.id for thing in facts.things])
            expressions = [_expression(entry) for entry in row["expressions"] if entry["target"] is not None]
            questions.extend(_question(one, facts, scene=number, choices=choices) for one in expressions if wanted(one))
    return [one for one in questions if one.family in families]


def _expression(row: Mapping[str, Any]) -> Expression:
    fields = {key: row[key] for key in ("text", "family", "target", "form")}
    return Expression(**fields, wording=str(row.get("wording")), needs=frozenset(row["needs"]))


def _question(expression: Expression, facts: Facts, *, scene: int, choices: tuple[str, ...]) -> Question:
    return Question(
        scene=scene,
        facts=facts,
        choices=choices,
        text=expression.text,
        family=expression.family,
        form=expression.form,
        target=str(expression.target),
    )


def _facts(rng: np.random.Generator) -> Facts:
    """Facts as they follow from a layout's boxes: what is seen of a thing is its box."""
    count = int(rng.integers(2, 7))
    layout = choose_layout(rng, rng.uniform(0.6, 1.6, count).tolist(), duration_s=SECONDS)
    voices, away = _voices(rng, count)
    first = (_pick(rng, CATEGORIES), _pick(rng, COLOURS))
    twin = int(rng.integers(count)) if rng.random() < 0.6 else -1
    things = []
    for number in range(count):
        category, colour = first if number in {0, twin} else (_pick(rng, CATEGORIES), _pick(rng, COLOURS))
        x, y, area = _extent(layout.paths[number])
        things.append(
            SceneObject(
                id=str(number),
                category=str(category),
                colour=colour,
                texture=_pick(rng, TEXTURES),
                x=x,
                y=y,
                area=area,
                motion=layout.paths[number].motion,
                depth=layout.depth[number],
                voice=voices[number],
            )
        )
    order = rng.permutation(count)
    return Facts(things=tuple(things[index] for index in order), duration_s=SECONDS, elsewhere=away)


def _pick(rng: np.random.Generator, choice: Any) -> Any:
    return choice[int(rng.integers(len(choice)))]


def _voices(rng: np.random.Generator, count: int) -> tuple[list[Voice | None], tuple[Voice, ...]]:
    sounding = rng.random(count) < 0.65
    away = int(rng.random() < 0.4)
    total = int(sounding.sum()) + away
    kinds = [list(KINDS.values())[int(index)] for index in rng.permutation(len(KINDS))[:total]]
    spans = choose_spans(rng, total, duration_s=SECONDS)
    made = [
        Voice(noun=kind.noun, verb=kind.verb, spans=when, level_db=float(-rng.uniform(0, 18)))
        for kind, when in zip(kinds, spans, strict=True)
    ]
    given = iter(made)
    return [next(given) if sounds else None for sounds in sounding], tuple(made[total - away :] if away else ())


def _extent(path: Path) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    poses = [path.pose(second + 0.5) for second in range(int(SECONDS))]
    inside = [pose for pose in poses if 0 < pose.x < 1 and 0 < pose.y < 1] or poses
    x, y = [pose.x for pose in inside], [pose.y for pose in inside]
    area = [0.5 * pose.height**2 for pose in inside]
    return (min(x), max(x)), (min(y), max(y)), (min(area), max(area))
