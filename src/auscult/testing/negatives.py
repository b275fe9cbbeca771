"""The laws of makers of negative sentences: purity, replay from JSON, and a proof for everything that is made.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES)
    def test_contract(check, example):
        check("negatives.target.v1", EXAMPLES[example])
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from auscult import registry
from auscult.language.categories import coco_categories
from auscult.language.forms import Facts, SceneObject, Voice
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.stress import negatives
from auscult.stress.negatives.attribute import COLOURS
from auscult.stress.negatives.base import NegativeStressor, Proof, Seen, Subject
from auscult.stress.negatives.borrowing import borrowable
from auscult.testing import require, require_described, require_frozen, require_refused
from auscult.types import Stressed

_COCO: Final = coco_categories()
_GREY: Final = dict.fromkeys(COLOURS, 0.0) | {"grey": 1.0, "white": 0.4}
_THINGS: Final = (
    Seen(category="dog", box=(0.1, 0.2, 0.35, 0.6), area=0.1, colours=_GREY),
    Seen(category="person", box=(0.6, 0.1, 0.9, 0.9), area=0.24, colours=_GREY | {"blue": 0.3}),
    Seen(category="sheep", box=(0.0, 0.0, 1.0, 0.3), area=0.3, colours=_GREY, crowd=True),
)
_OTHERS: Final = tuple(
    borrowable(text, f"other/{at}", known=_COCO)
    for at, text in enumerate(("the red bus", "a man on a horse", "second from left", "an oven beside the sink"))
)


def _subject(sentence: str, **more: Any) -> Subject:
    return Subject(
        sentence=sentence, known=_COCO, things=_THINGS, looked_for=frozenset(_COCO.names), others=_OTHERS, **more
    )


_BELL: Final = SceneObject(
    id="1",
    category="bell",
    texture="striped",
    x=(0.2, 0.2),
    y=(0.5, 0.5),
    area=(0.1, 0.1),
    voice=Voice(noun="ringing", verb="rings", spans=((0.0, 1.0),), level_db=-10.0),
)
_BARK: Final = Voice(noun="bark", verb="barks", spans=((2.0, 3.0),), level_db=-10.0)
_DOG: Final = dataclasses.replace(_BELL, id="2", category="dog", texture="spotted", x=(0.8, 0.8), voice=_BARK)
_HEARD: Final = {"op": "heard", "how": "before", "noun": "bark", "verb": "barks"}
_STRIPED_BELL: Final = {"op": "and", "of": [{"op": "category", "word": "bell"}, {"op": "texture", "word": "striped"}]}
_IN_SCENE: Final = Subject(
    sentence="the thing heard before the bark begins",
    known=_COCO,
    facts=Facts(things=(_BELL, _DOG), duration_s=5.0),
    form=_HEARD,
    voices=(("hum", "hums"), ("bark", "barks")),
)

EXAMPLES: Final[Mapping[str, Subject]] = {
    "plain": _subject("the dog"),
    "related": _subject("a man in blue shirt holding an umbrella"),
    "placed": _subject("dog on the left"),
    "other script": _subject("собака слева"),
    "scene": _IN_SCENE,
    "surface": dataclasses.replace(_IN_SCENE, sentence="the striped bell", form=_STRIPED_BELL),
}


def describes_itself(name: str, example: Subject) -> None:
    """It has its registry name and complete metadata of one line each."""
    del example
    stressor = registry.load("stressor", name)
    require(isinstance(stressor, NegativeStressor), "has name, meta, choose, render")
    require_described(name, stressor)


def is_decided_by_seed_and_key(name: str, example: Subject) -> None:
    """The same seed and key make the same sentence, whatever was drawn in between."""
    first = negatives.perturb(name, example, seed=5, key="a")
    negatives.perturb("negatives.category.v1", example, seed=99)
    second = negatives.perturb(name, example, seed=5, key="a")
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        require(first == second, "what is undefined stays undefined")
    else:
        require(first.output == second.output and first.params == second.params, "same seed and key, same sentence")


def replays_from_json(name: str, example: Subject) -> None:
    """What was chosen survives JSON and renders the same sentence."""
    for result in _results(name, example):
        params = json.loads(json.dumps(dict(result.params), allow_nan=False))
        require(negatives.render(name, example.sentence, params) == result.output, "the same sentence from JSON")


def chooses_apart_from_doing(name: str, example: Subject) -> None:
    """``choose`` gives a frozen dataclass; ``render`` is pure and needs the sentence alone."""
    stressor = registry.load("stressor", name)
    params = stressor.choose(generator(1, "contract"), example)
    if isinstance(params, Undefined):
        require(params.reason and "\n" not in params.reason, "the reason is one line of text")
        return
    require_frozen(params)
    require(len({stressor.render(example.sentence, params) for _ in range(2)}) == 1, "render gives the same twice")


def proves_what_it_says(name: str, example: Subject) -> None:
    """Every sentence is another one, and its proof names what is false and what shows it."""
    for result in _results(name, example):
        proof: Proof = result.truth
        require(result.output != example.sentence and result.output.strip(), "another sentence, not empty")
        require(proof.says and "\n" not in proof.says, "the proof says why in one line")
        if proof.claim == "absent":
            mentioned = example.known.named(result.output)
            claimed = frozenset(proof.word.split(", "))
            require(claimed & mentioned == claimed, "what is absent is named in the sentence")
            related = example.known.related(example.present)
            require(not claimed & related, "no synonym, superclass or subclass of what is present")
        if proof.limit is not None:
            require(bool(proof.measured) and max(proof.measured) < proof.limit, "all that was measured is below")


def refuses_foreign_parameters(name: str, example: Subject) -> None:
    """Parameters that are not its own are an ``InputError``, nothing else."""
    hostile = {"edits": [[0, 10**9, "x"]], "proof": {}}
    require_refused(lambda params: negatives.render(name, example.sentence, params), [hostile])


def works_somewhere(name: str, example: Subject) -> None:
    """Not everything may be undefined on every example."""
    del example
    require(any(list(_results(name, subject)) for subject in EXAMPLES.values()), "defined on at least one example")


CHECKS: tuple[Callable[[str, Subject], None], ...] = (
    describes_itself,
    is_decided_by_seed_and_key,
    replays_from_json,
    chooses_apart_from_doing,
    proves_what_it_says,
    refuses_foreign_parameters,
    works_somewhere,
)


def _results(name: str, example: Subject) -> Iterator[Stressed[str, Proof]]:
    for seed in range(8):
        outcome = negatives.perturb(name, example, seed=seed)
        if not isinstance(outcome, Undefined):
            yield outcome
