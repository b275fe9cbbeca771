"""Scenes for the tests of language: facts drawn so that every margin is met, missed and nearly met."""

from __future__ import annotations

from auscult.language.forms import MOTIONS, Facts, SceneObject, Voice
from auscult.language.proof import Proof, needed
from auscult.rng import generator

GRID_S = 0.05
CATEGORIES = ("ball", "owl", "fire engine", "mouse", "box", "umbrella")
COLOURS = ("red", "orange", "black", None)
TEXTURES = ("plain", "striped", "checked", None)
KINDS = (("bark", "barks"), ("siren", "wails"), ("hum", "hums"), ("buzz", "buzzes"), ("cry", "wails"))


def random_facts(seed, *, things=None, duration_s=10.0, silent=False):
    rng = generator(seed, "tests", "language", "facts")
    count = int(rng.integers(2, 7)) if things is None else things
    names = [f"t{number}" for number in rng.permutation(count)]
    thing_list = []
    for name in names:
        others = [other for other in names if other != name]
        is_covered = bool(others) and rng.random() < 0.3
        thing_list.append(
            SceneObject(
                id=name,
                category=pick(rng, CATEGORIES[: int(rng.integers(1, 7))]),
                colour=pick(rng, COLOURS),
                texture=pick(rng, TEXTURES),
                x=extent(rng),
                y=extent(rng),
                area=tuple(sorted((0.2 * rng.random() ** 2 + 0.004) * (1 + 0.3 * rng.random(2)))),
                motion=pick(rng, (*MOTIONS, "still", None)),
                depth=pick(rng, (int(name[1:]), int(name[1:]), None)),
                covered_by=(pick(rng, others),) if is_covered else (),
                hidden=float(rng.random() * 0.5) if is_covered else 0.0,
                voice=voice(rng) if rng.random() < 0.7 and duration_s and not silent else None,
            )
        )
    elsewhere = () if silent or not duration_s or rng.random() < 0.6 else (voice(rng),)
    return Facts(things=tuple(thing_list), duration_s=duration_s, elsewhere=elsewhere, silent=silent)


def pick(rng, choice):
    return choice[int(rng.integers(len(choice)))]


def extent(rng):
    centre, half_width = rng.random(), pick(rng, (0.0, 0.01, 0.1))
    return float(max(0.0, centre - half_width)), float(min(1.0, centre + half_width))


def voice(rng):
    noun, verb = pick(rng, KINDS)
    if rng.random() < 0.08:
        spans = ((0.0, 10.0),)
    else:
        cuts = sorted(rng.choice(200, size=2 * int(rng.integers(1, 4)), replace=False).tolist())
        spans = tuple((round(a * GRID_S, 2), round(b * GRID_S, 2)) for a, b in zip(cuts[::2], cuts[1::2], strict=True))
    countable = spans[0][0] < 6.0  # most of them
    return Voice(noun=noun, verb=verb, spans=spans, level_db=float(-rng.integers(0, 30)), countable=countable)


def needs(form, facts, *, target):
    """The senses without which a form does not single its target out."""
    lacking = {"sight": Proof(facts, frozenset({"sound"})), "sound": Proof(facts, frozenset({"sight"}))}
    return needed(form, target, lacking)
