import itertools
import json

import pytest
from plain_truth import names
from random_facts import needs, random_facts

from auscult.errors import InputError
from auscult.language import forms, proof
from auscult.language.forms import Facts, SceneObject, Voice, heard, seen
from auscult.language.grammar import FAMILIES
from auscult.language.proof import Proof
from auscult.rng import generator

BALL = {"op": "category", "word": "ball"}
BELL = {"op": "category", "word": "bell"}
SOUNDS = {"op": "sounds"}


def thing(name, **changes):
    fields = {"category": "ball", "colour": "red", "x": (0.1, 0.1), "y": (0.5, 0.5), "area": (0.01, 0.01)}
    return SceneObject(id=name, **{**fields, **changes})


def voice(*spans, noun="hum", verb="hums", level_db=-10.0):
    return Voice(noun=noun, verb=verb, spans=spans, level_db=level_db)


def scene(*things, **changes):
    return Facts(**{"things": things, "duration_s": 10.0, **changes})


def random_form(rng, facts, depth):
    atoms = [*seen(facts), *heard(facts), {"op": "anything"}]
    kind = rng.integers(6) if depth else 0
    if kind <= 1:
        return atoms[int(rng.integers(len(atoms)))]
    inner = random_form(rng, facts, depth - 1)
    if kind == 2:
        return {"op": "and", "of": [inner, random_form(rng, facts, depth - 1)]}
    if kind == 3:
        return {"op": "not", "of": inner}
    if kind == 4:
        qualities = (*forms.SIGHT_QUALITIES, *forms.SOUND_QUALITIES)
        return {"op": "most", "by": qualities[int(rng.integers(len(qualities)))], "of": inner}
    relations = (*forms.SIGHT_RELATIONS, *forms.SOUND_RELATIONS)
    return {"op": "relation", "how": relations[int(rng.integers(len(relations)))], "to": inner}


def test_a_second_evaluator_agrees_on_random_scenes_and_forms():
    decided_count = 0
    for seed in range(40):
        facts = random_facts(seed, silent=seed % 25 == 0)
        rng = generator(seed, "tests", "forms")
        for _ in range(25):
            form = random_form(rng, facts, depth=3)
            ids_named = proof.named(form, facts)
            assert ids_named == names(form, facts), (seed, form)
            decided_count += bool(ids_named)
    assert decided_count > 80


@pytest.mark.parametrize("family", FAMILIES)
def test_a_second_evaluator_agrees_on_the_forms_of_a_family(family):
    checked = 0
    for seed in range(3):
        facts = random_facts(seed)
        for form in itertools.islice(FAMILIES[family][1](Proof(facts)), 150):
            assert proof.named(form, facts) == names(form, facts), (seed, form)
            checked += 1
    assert checked


def test_a_sense_that_is_lacking_only_makes_things_unclear():
    for seed in range(60):
        facts = random_facts(seed)
        rng = generator(seed, "tests", "senses")
        proof_of_all = Proof(facts)
        for _ in range(15):
            form = random_form(rng, facts, depth=2)
            for sense in ("sight", "sound"):
                lacking = Proof(facts, frozenset({sense})).values(form)
                if proof_of_all.named(form) is not None:
                    pairs = zip(lacking, proof_of_all.values(form), strict=True)
                    assert all(part in {None, value} for part, value in pairs), (seed, form)


def test_places_need_a_margin_at_every_time():
    left_of = {"op": "relation", "how": "left_of", "to": BELL}
    bell = thing("b", category="bell", x=(0.5, 0.6))
    for x, expected in (((0.1, 0.46), {"a"}), ((0.1, 0.48), None), ((0.64, 0.7), set()), ((0.62, 0.7), None)):
        assert proof.named(left_of, scene(thing("a", x=x), bell)) == expected


def test_an_unknown_colour_is_unclear_where_others_are_asked_by_colour():
    red = {"op": "colour", "word": "red"}
    facts = scene(thing("a"), thing("b", colour=None, category="bell"))
    assert proof.named(red, facts) is None
    assert proof.named({"op": "and", "of": [BALL, red]}, facts) == {"a"}


def test_what_is_presupposed_must_hold():
    after = {"op": "relation", "how": "after", "to": BELL}
    later_thing = thing("a", voice=voice((6.0, 7.0)))
    ringing = thing("b", category="bell", voice=voice((1.0, 2.0), noun="ring", verb="rings"))
    assert proof.named(after, scene(later_thing, ringing)) == {"a"}
    assert proof.named(after, scene(later_thing)) is None  # no bell
    assert proof.named(after, scene(later_thing, ringing, thing("c", category="bell"))) is None  # two bells
    assert proof.named(after, scene(later_thing, thing("b", category="bell"))) is None  # the bell never rings


def test_a_sound_from_outside_belongs_to_no_thing_but_times_can_be_told_by_it():
    bark = {"noun": "bark", "verb": "barks"}
    facts = scene(thing("a", voice=voice((5.0, 6.0))), thing("b"), elsewhere=(voice((1.0, 2.0), **bark),))
    assert proof.named({"op": "voice", **bark}, facts) == frozenset()
    assert proof.named({"op": "heard", "how": "after", **bark}, facts) == {"a"}
    assert proof.named({"op": "heard", "how": "before", **bark}, facts) == frozenset()


def test_nothing_is_said_of_sound_where_there_is_no_track():
    facts = scene(thing("a"), thing("b"), silent=True)
    assert proof.named(SOUNDS, facts) is None
    assert proof.named({"op": "not", "of": SOUNDS}, facts) is None


def test_neither_a_relation_nor_its_denial_is_true_of_the_thing_it_goes_to():
    facts = scene(thing("a", x=(0.8, 0.8)), thing("b", category="bell"))
    left_of = {"op": "relation", "how": "left_of", "to": BELL}
    assert proof.named(left_of, facts) == frozenset()
    assert proof.named({"op": "not", "of": left_of}, facts) == {"a"}


def test_a_silent_thing_may_be_called_quiet_but_not_loud():
    loud, quiet = ({"op": "most", "by": quality, "of": {"op": "anything"}} for quality in ("loud", "quiet"))
    facts = scene(thing("a", voice=voice((1.0, 2.0))), thing("b", voice=voice((1.0, 2.0), level_db=-20.0)), thing("c"))
    assert proof.named(loud, facts) == {"a"}
    assert proof.named(quiet, facts) is None
    assert proof.named({"op": "most", "by": "quiet", "of": SOUNDS}, facts) == {"b"}


def test_needs_is_found_out_and_not_declared():
    facts = scene(thing("a", voice=voice((1.0, 2.0))), thing("b"), thing("c", category="bell", voice=voice((4.0, 5.0))))
    ball_that_sounds = {"op": "and", "of": [BALL, SOUNDS]}
    assert needs(ball_that_sounds, facts, target="a") == {"sight", "sound"}
    assert needs(BELL, facts, target="c") == {"sight"}
    assert needs({"op": "not", "of": SOUNDS}, facts, target="b") == {"sound"}
    assert needs({"op": "and", "of": [BELL, SOUNDS]}, facts, target="c") == {"sight"}


def nested(times):
    form = {"op": "sounds"}
    for _ in range(times):
        form = {"op": "not", "of": form}
    return form


@pytest.mark.parametrize(
    "form",
    [
        None,
        [],
        "sounds",
        {},
        {"op": None},
        {"op": ["and"]},
        {"op": "exec", "word": "x"},
        {"op": "sounds", "extra": 1},
        {"op": "category"},
        {"op": "category", "word": 3},
        {"op": "category", "word": ""},
        {"op": "category", "word": "x" * 256},
        {"op": "place", "word": "nowhere"},
        {"op": "motion", "word": "sideways"},
        {"op": "times", "count": True},
        {"op": "times", "count": 0},
        {"op": "times", "count": 1.0},
        {"op": "and", "of": []},
        {"op": "and", "of": [SOUNDS] * 7},
        {"op": "and", "of": SOUNDS},
        {"op": "not", "of": None},
        {"op": "most", "by": "beauty", "of": SOUNDS},
        {"op": "most", "by": ["large"], "of": SOUNDS},
        {"op": "relation", "how": "beyond", "to": SOUNDS},
        {"op": "heard", "how": "left_of", "noun": "a", "verb": "b"},
        {"op": "voice", "noun": "hum"},
        nested(forms.MOST_NESTING),
    ],
    ids=str,
)
def test_hostile_forms_are_refused_with_a_reason(form):
    with pytest.raises(InputError) as error:
        proof.named(form, scene(thing("a"), thing("b")))
    assert error.value.expected
    assert error.value.hint


def test_nesting_is_bounded_whatever_it_is():
    with pytest.raises(InputError, match="nests too deeply"):
        proof.named(nested(5000), scene(thing("a")))
    assert proof.named(nested(2), scene(thing("a"), thing("b", voice=voice((1.0, 2.0))))) == {"b"}


def test_a_form_means_the_same_after_json():
    facts = random_facts(3)
    rng = generator(3, "tests", "json")
    for _ in range(100):
        form = random_form(rng, facts, depth=3)
        assert proof.named(json.loads(json.dumps(form)), facts) == proof.named(form, facts)


def test_a_superlative_of_sound_is_unclear_where_nothing_can_be_heard():
    loudest_bell = {"op": "most", "by": "loud", "of": BELL}
    facts = scene(thing("a"), thing("b", category="bell", voice=voice((1.0, 2.0))))
    assert proof.named(loudest_bell, facts) == {"b"}
    assert proof.named(loudest_bell, scene(thing("a"), thing("b", category="bell"))) == frozenset()
    assert proof.named(loudest_bell, scene(thing("a"), thing("b", category="bell"), silent=True)) is None
