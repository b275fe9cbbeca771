"""In a photograph there is more than was put in; what is said then still holds whatever else the picture shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from random_facts import COLOURS, TEXTURES, extent, pick, random_facts

from auscult.language import grammar, proof
from auscult.language.forms import SceneObject
from auscult.rng import generator

SEEDS = range(60)


def stranger(seed, facts):
    """A thing of the background: silent, at rest, behind all, of a category of its own, otherwise anything."""
    rng = generator(seed, "tests", "stranger")
    is_covered = facts.things and rng.random() < 0.5
    area = float(pick(rng, (0.0005, 0.01, 0.4)))
    return SceneObject(
        id="stranger",
        category="stop sign",
        colour=pick(rng, COLOURS),
        texture=pick(rng, TEXTURES),
        x=extent(rng),
        y=extent(rng),
        area=(area, area),
        motion="still",
        depth=99,
        covered_by=(facts.things[0].id,) if is_covered else (),
        hidden=0.4 if is_covered else 0.0,
    )


def sayings():
    for seed in SEEDS:
        facts = replace(random_facts(seed), unlisted=True)
        rng = generator(seed, "tests", "said")
        for expression in (*grammar.describe(rng, facts, most=8), *grammar.nulls(rng, facts, most=4)):
            yield seed, facts, expression


@pytest.mark.slow
def test_a_stranger_in_the_picture_changes_nothing():
    checked = 0
    for seed, facts, expression in sayings():
        assert proof.named(expression.form, facts) == (
            frozenset() if expression.target is None else {expression.target}
        )
        for number in range(3):
            wider_facts = replace(facts, things=(*facts.things, stranger(3 * seed + number, facts)), unlisted=False)
            ids_named = proof.named(expression.form, wider_facts)
            assert ids_named is None or ids_named == proof.named(expression.form, facts), (
                expression.text,
                wider_facts.things[-1],
            )
            checked += ids_named is not None
    assert checked > 500


@pytest.mark.slow
def test_without_the_flag_a_stranger_does_change_what_is_named():
    """The control: the same check fails for expressions that were made for a picture without strangers."""
    change_count = 0
    for seed in SEEDS:
        facts = random_facts(seed)
        wider_facts = replace(facts, things=(*facts.things, stranger(seed, facts)))
        for expression in grammar.describe(generator(seed, "tests", "said"), facts, most=8):
            ids_named = proof.named(expression.form, wider_facts)
            change_count += ids_named is not None and ids_named != {expression.target}
    assert change_count > 20


@pytest.mark.parametrize(
    ("form", "holds"),
    [
        ({"op": "anything"}, False),
        ({"op": "category", "word": "ball"}, True),
        ({"op": "colour", "word": "red"}, False),
        ({"op": "and", "of": [{"op": "colour", "word": "red"}, {"op": "category", "word": "ball"}]}, True),
        ({"op": "not", "of": {"op": "category", "word": "ball"}}, False),
        ({"op": "not", "of": {"op": "sounds"}}, False),
        ({"op": "sounds"}, True),
        ({"op": "most", "by": "large", "of": {"op": "anything"}}, False),
        ({"op": "most", "by": "large", "of": {"op": "category", "word": "ball"}}, True),
        ({"op": "most", "by": "early", "of": {"op": "sounds"}}, True),
        ({"op": "motion", "word": "left"}, True),
        ({"op": "motion", "word": "still"}, False),
        ({"op": "relation", "how": "left_of", "to": {"op": "category", "word": "ball"}}, False),
        ({"op": "relation", "how": "same_category", "to": {"op": "category", "word": "ball"}}, True),
        (
            {
                "op": "and",
                "of": [
                    {"op": "category", "word": "owl"},
                    {"op": "relation", "how": "left_of", "to": {"op": "colour", "word": "red"}},
                ],
            },
            False,
        ),
        ({"op": "and", "of": [{"op": "category", "word": "owl"}, {"op": "hiding"}]}, False),
    ],
)
def test_which_forms_hold(form, holds):
    from auscult.language import proof

    assert proof.holds(form) is holds
