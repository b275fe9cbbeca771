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


def both(**said: str) -> Form:
    return {"op": "and", "of": [{"op": key, "word": word} for key, word in said.items()]}


def changed(
    form: Form, *things: SceneObject, unlisted: bool = False, seed: int = 0
) -> Stressed[str, Proof] | Undefined:
    numbered = tuple(replace(one, id=str(at)) for at, one in enumerate(things))
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
    made = changed(both(category=category, **({"motion": motion} if moves else {"texture": texture})), *things)
    if isinstance(made, Undefined):
        return
    said = made.truth.word
    meant = {thing.motion if moves else thing.texture for thing in things if thing.category == category}
    assert made.truth.claim == ("motion" if moves else "texture")
    assert said not in {motion, texture}
    assert not {said, None} & meant
    if moves:
        assert not (said == "to_and_fro" and meant & {"left", "right"})
        assert not (said in {"left", "right"} and "to_and_fro" in meant)
    else:
        assert {said, texture} != {"spotted", "speckled"}
        assert said in {thing.texture for thing in things}, "a texture that something else there has"


STRIPED, SPOTTED = replace(THING, texture="striped"), replace(THING, category="drum", texture="spotted")
LARGE, SMALL = replace(THING, area=(0.3, 0.3)), replace(THING, category="drum", area=(0.1, 0.1))
LARGER: Form = {"op": "relation", "how": "larger", "to": {"op": "category", "word": "drum"}}
LARGER_BELL: Form = {"op": "and", "of": [{"op": "category", "word": "bell"}, LARGER]}


@pytest.mark.parametrize(
    ("form", "things", "texts"),
    [
        (both(category="bell", texture="striped"), (STRIPED, SPOTTED), {"spotted"}),
        (LARGER_BELL, (LARGE, SMALL), {"smaller", "less"}),
        (both(category="bell", motion="left"), (replace(THING, motion="left"),), {"right", "up", "down", "still"}),
    ],
)
def test_one_of_each_sort(form: Form, things: tuple[SceneObject, ...], texts: set[str]) -> None:
    made = [changed(form, *things, seed=seed) for seed in range(40)]
    said = " ".join(one.output for one in made if not isinstance(one, Undefined))
    assert all(not isinstance(one, Undefined) for one in made)
    assert texts & set(said.split())


@pytest.mark.parametrize(
    ("form", "things", "unlisted"),
    [
        (both(category="bell", texture="striped"), (STRIPED, replace(STRIPED, texture="spotted")), False),
        (both(category="bell", texture="striped"), (STRIPED, replace(STRIPED, texture=None), SPOTTED), False),
        (both(texture="striped"), (STRIPED, replace(SPOTTED, category="bell")), False),
        (LARGER_BELL, (LARGE, SMALL, replace(LARGE, area=(0.02, 0.02))), False),
        (both(texture="striped"), (STRIPED, replace(SPOTTED, category="bell")), True),
    ],
)
def test_nothing_is_said_where_something_may_be_meant(
    form: Form, things: tuple[SceneObject, ...], unlisted: bool
) -> None:
    made = changed(form, *things, unlisted=unlisted)
    assert isinstance(made, Undefined)
    assert "still named" in made.reason
