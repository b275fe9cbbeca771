"""A texture, size or motion is said of a scene only where an independent reading of its facts has it false."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.language.categories import coco_categories
from auscult.language.forms import MOTIONS, Facts, Form, SceneObject
from auscult.language.grammar import phrase
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.stress.negatives import Proof, Subject, perturb
from auscult.types import Stressed

CATEGORIES = ("bell", "drum")
TEXTURES = ("plain", "striped", "spotted", "speckled")
THING = SceneObject(id="0", category="bell", x=(0.5, 0.5), y=(0.5, 0.5), area=(0.1, 0.1))
LOOKS = st.tuples(
    st.sampled_from(CATEGORIES),
    st.sampled_from((*TEXTURES, None)),
    st.sampled_from((*MOTIONS, None)),
    st.floats(0.01, 0.5),
)


def form_with(**attributes: str) -> Form:
    return {"op": "and", "of": [{"op": key, "word": word} for key, word in attributes.items()]}


def negative_of(
    form: Form, *things: SceneObject, unlisted: bool = False, seed: int = 0
) -> Stressed[str, Proof] | Undefined:
    numbered = tuple(replace(scene_object, id=str(number)) for number, scene_object in enumerate(things))
    facts = Facts(things=numbered, duration_s=5.0, unlisted=unlisted)
    sentence = phrase(generator(1, "said"), form).text
    return perturb(
        "scene_attribute", Subject(sentence=sentence, known=coco_categories(), facts=facts, form=form), seed=seed
    )


@given(
    looks=st.lists(LOOKS, min_size=1, max_size=6),
    category=st.sampled_from(CATEGORIES),
    texture=st.sampled_from(TEXTURES),
    motion=st.sampled_from(MOTIONS),
    moves=st.booleans(),
)
def test_what_is_said_instead_is_false_of_all_that_could_be_meant(
    looks: list[tuple[Any, Any, Any, Any]], category: str, texture: str, motion: str, moves: bool
) -> None:
    things = [
        replace(THING, category=kind, texture=look, motion=way, area=(size, size)) for kind, look, way, size in looks
    ]
    outcome = negative_of(
        form_with(category=category, **({"motion": motion} if moves else {"texture": texture})), *things
    )
    if isinstance(outcome, Undefined):
        return
    word = outcome.truth.word
    meant = {thing.motion if moves else thing.texture for thing in things if thing.category == category}
    assert outcome.truth.claim == ("motion" if moves else "texture")
    assert word not in {motion, texture}
    assert not {word, None} & meant
    if moves:
        assert not (word == "to_and_fro" and meant & {"left", "right"})
        assert not (word in {"left", "right"} and "to_and_fro" in meant)
    else:
        assert {word, texture} != {"spotted", "speckled"}
        assert word in {thing.texture for thing in things}, "a texture that something else there has"


STRIPED, SPOTTED = replace(THING, texture="striped"), replace(THING, category="drum", texture="spotted")
LARGE, SMALL = replace(THING, area=(0.3, 0.3)), replace(THING, category="drum", area=(0.1, 0.1))
LARGER: Form = {"op": "relation", "how": "larger", "to": {"op": "category", "word": "drum"}}
LARGER_BELL: Form = {"op": "and", "of": [{"op": "category", "word": "bell"}, LARGER]}


@pytest.mark.parametrize(
    ("form", "things", "texts"),
    [
        (form_with(category="bell", texture="striped"), (STRIPED, SPOTTED), {"spotted"}),
        (LARGER_BELL, (LARGE, SMALL), {"smaller", "less"}),
        (form_with(category="bell", motion="left"), (replace(THING, motion="left"),), {"right", "up", "down", "still"}),
    ],
)
def test_one_of_each_sort(form: Form, things: tuple[SceneObject, ...], texts: set[str]) -> None:
    outcomes = [negative_of(form, *things, seed=seed) for seed in range(40)]
    sentences_said = " ".join(outcome.output for outcome in outcomes if not isinstance(outcome, Undefined))
    assert all(not isinstance(outcome, Undefined) for outcome in outcomes)
    assert texts & set(sentences_said.split())


@pytest.mark.parametrize(
    ("form", "things", "unlisted"),
    [
        (form_with(category="bell", texture="striped"), (STRIPED, replace(STRIPED, texture="spotted")), False),
        (form_with(category="bell", texture="striped"), (STRIPED, replace(STRIPED, texture=None), SPOTTED), False),
        (form_with(texture="striped"), (STRIPED, replace(SPOTTED, category="bell")), False),
        (LARGER_BELL, (LARGE, SMALL, replace(LARGE, area=(0.02, 0.02))), False),
        (form_with(texture="striped"), (STRIPED, replace(SPOTTED, category="bell")), True),
    ],
)
def test_nothing_is_said_where_something_may_be_meant(
    form: Form, things: tuple[SceneObject, ...], unlisted: bool
) -> None:
    outcome = negative_of(form, *things, unlisted=unlisted)
    assert isinstance(outcome, Undefined)
    assert "still named" in outcome.reason
