import re
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
from random_facts import needs, random_facts

from auscult.language import grammar, proof
from auscult.language.grammar import BOTH, FAMILIES, describe, nulls, phrase
from auscult.language.proof import Proof
from auscult.rng import generator

SCENES = 20
VERBS = {"barks": "bark", "wails": "wail", "hums": "hum", "buzzes": "buzz"}


@pytest.fixture(scope="module")
def positives():
    pairs = []
    for seed in range(SCENES):
        facts = random_facts(seed)
        pairs += [(facts, expression) for expression in describe(generator(seed, "tests", "describe"), facts, most=6)]
    return pairs


@pytest.fixture(scope="module")
def negatives():
    pairs = []
    for seed in range(SCENES):
        facts = random_facts(seed)
        pairs += [(facts, null) for null in nulls(generator(seed, "tests", "nulls"), facts, most=3)]
    return pairs


def test_an_expression_names_its_target_and_nothing_else(positives):
    assert len(positives) > 4 * SCENES
    for facts, expression in positives:
        assert proof.named(expression.form, facts) == {expression.target}


def test_a_null_expression_names_nothing_beyond_doubt(negatives):
    assert len(negatives) > 2 * SCENES
    for facts, expression in negatives:
        assert expression.target is None
        assert proof.named(expression.form, facts) == frozenset()


def test_every_family_comes_out(positives, negatives):
    assert len({expression.family for _, expression in positives}) >= 12
    assert len({expression.family for _, expression in negatives}) >= 12


def test_needs_are_those_of_the_family_and_proven(positives):
    for facts, expression in positives:
        assert (
            expression.needs
            == FAMILIES[expression.family][0]
            == needs(expression.form, facts, target=expression.target)
        )


ONE, MANY = r"\b(thing|object|item|one|ball|mouse|box|owl)", r"\b(things|objects|items|ones|balls|mice|boxes|owls)"
SINGULAR, PLURAL = (
    "is|has|does|sounds|makes|moves|stays|barks|wails|hums",
    "are|have|do|sound|make|move|stay|bark|wail|hum",
)


def sentence_faults(text):
    words = text.split(" ")
    faults = {
        "space": text != text.strip() or "  " in text,
        "slot": re.search(r"[{}*+|_:]|None|not:", text),
        "stop": text[-1] in ".!?,;",
        "case": text != text.lower(),
        "start": words[0] not in {"the", "of", "among", "out"},
        "twice": any(word == next_word for word, next_word in pairwise(words)),
        "article": re.search(r"\ba (?=[aeio])|\ban (?![aeiou])", text),
        "several with a verb for one": re.search(rf"{MANY} that ({SINGULAR})\b", text),
        "one with a verb for several": re.search(rf"{ONE} that ({PLURAL})\b", text),
        "denied in the third person": re.search(r"\b(does|do) not (\w+s)\b", text),
        "a verb left in the third person": re.search(rf"{MANY} that never (makes|stops)\b", text),
        "the last to start, as if it moved": re.search(r"(first|last) to (start|stop|begin)( for good)?$", text),
        "two ways of noise": "noisiest" in text,
        "true of all before a background": "something behind" in text or "in front of something else" in text,
        "several of one": re.search(r"\bare (anything|something)\b.* (a|an) ", text),
        "one with their": re.search(rf"{ONE} (with a sound of|on) their\b", text),
    }
    return [name for name, fault in faults.items() if fault]


def test_sentences_are_well_formed(positives, negatives):
    wrong = [
        (expression.text, sentence_faults(expression.text))
        for _, expression in (*positives, *negatives)
        if sentence_faults(expression.text)
    ]
    assert not wrong, wrong[:5]


def test_every_form_of_every_family_can_be_said():
    for seed in range(5):
        facts = random_facts(seed)
        rng = generator(seed, "tests", "say")
        for _, lister in FAMILIES.values():
            for form in list(lister(Proof(facts)))[::7]:
                assert not sentence_faults(phrase(rng, form).text), phrase(rng, form).text


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_worded_in_many_ways(family):
    wordings, texts = set(), set()
    rng = generator(0, "tests", "wordings", family)
    for seed in range(6):
        for form in list(FAMILIES[family][1](Proof(random_facts(seed))))[:12]:
            phrasings = [phrase(rng, form) for _ in range(8)]
            wordings |= {phrasing.wording for phrasing in phrasings}
            texts |= {phrasing.text for phrasing in phrasings}
    assert len(wordings) >= 6
    assert len(texts) >= len(wordings) / 2


def test_the_same_draw_says_the_same_and_texts_do_not_repeat():
    facts = random_facts(5)
    first, second = (describe(generator(1, "tests"), facts, most=8) for _ in range(2))
    assert first == second
    assert len({expression.text for expression in first}) == len(first) > 1


def test_most_bounds():
    facts = random_facts(6)
    assert describe(generator(1, "tests"), facts, most=0) == ()
    assert len(describe(generator(1, "tests"), facts, most=3)) <= 3


def test_only_wanted_things_are_named():
    for seed in range(5):
        facts = random_facts(seed)
        target_ids = {thing.id for thing in facts.things[:2]}
        expressions = describe(generator(seed, "tests"), facts, most=5, targets=target_ids)
        assert {expression.target for expression in expressions} <= target_ids
    assert describe(generator(1, "tests"), facts, most=5, targets=()) == ()


@pytest.mark.parametrize("count", [0, 1])
def test_scenes_of_no_thing_or_one_are_no_error(count):
    facts = random_facts(2, things=count)
    for expression in (*describe(generator(1, "tests"), facts, most=4), *nulls(generator(1, "tests"), facts, most=4)):
        assert proof.named(expression.form, facts) == (
            frozenset() if expression.target is None else {expression.target}
        )


def test_of_a_photograph_neither_sound_nor_motion_is_said():
    for seed in range(5):
        facts = random_facts(seed, duration_s=0.0, silent=True)
        for expression in (*describe(generator(seed, "t"), facts, most=6), *nulls(generator(seed, "t"), facts, most=3)):
            assert expression.needs <= {"sight"}
            assert not re.search(r"sound|heard|silent|mov|nois", expression.text), expression.text


def test_what_needs_both_senses_is_said_of_every_thing_equally_often():
    counts = Counter()
    chance = 0.0
    for seed in range(16):
        facts = random_facts(seed)
        scene = grammar._Scene(facts)
        rng = generator(seed, "tests", "balance")
        names = [thing.id for thing in facts.things]
        by_size = sorted(facts.things, key=lambda thing: thing.area)
        sounding = {thing.id for thing in facts.things if thing.voice}
        for _ in range(60):
            expression = scene.draw(rng, names)
            if expression is not None and expression.family in BOTH:
                counts["all"] += 1
                counts["largest"] += expression.target == by_size[-1].id
                counts["sounding"] += (expression.target in sounding) - len(sounding) / len(names)
                chance += 1 / len(names)
    assert counts["all"] > 100
    spread = np.sqrt(chance)
    assert abs(counts["largest"] - chance) < 4 * spread
    assert abs(counts["sounding"]) < 4 * spread


def test_a_null_expression_is_a_near_miss(negatives):
    near_miss_count = 0
    for facts, expression in negatives:
        if expression.form["op"] == "and":
            near_miss_count += 1
            assert all(True in Proof(facts).values(part) for part in expression.form["of"])
    assert near_miss_count


def superlatives(form):
    if form["op"] == "most":
        yield form
    inner = form.get("of", form.get("to", ()))
    for part in inner if isinstance(inner, list) else [inner] if inner else []:
        yield from superlatives(part)


def test_a_superlative_has_several_to_choose_from_wherever_it_stands(positives, negatives):
    triples = [
        (facts, expression, part)
        for facts, expression in (*positives, *negatives)
        for part in superlatives(expression.form)
    ]
    assert len(triples) > 20
    for facts, expression, part in triples:
        assert Proof(facts).values(part["of"]).count(True) > 1, expression.text


def test_of_one_sounding_thing_it_is_not_said_that_it_is_the_loudest():
    """Not even where another thing is told by it, nor where nothing is found."""
    for seed in range(12):
        facts = random_facts(seed)
        first = next((n for n, thing in enumerate(facts.things) if thing.voice), 0)
        things = tuple(thing if n == first else replace(thing, voice=None) for n, thing in enumerate(facts.things))
        facts = replace(facts, things=things, elsewhere=())
        for family, (senses, lister) in FAMILIES.items():
            scene = grammar._Scene(facts, tuple(FAMILIES))
            kept_forms = [form for form in islice(lister(Proof(facts)), 400) if scene._earns(form, senses)]
            assert not [form for form in kept_forms for part in superlatives(form) if part["of"] == SOUNDS], family


def every_wording(form, draws=60):
    rng = generator(3, "tests", "every wording", repr(form))
    return {phrase(rng, form).text for _ in range(draws)}


SOUNDS = {"op": "sounds"}
KEYS = {"op": "category", "word": "keys"}
KEY = {"op": "category", "word": "key"}


@pytest.mark.parametrize("quality", ["early", "late", "short_lived", "lasting"])
def test_what_is_first_or_last_is_said_to_be_so_in_sounding(quality):
    for text in every_wording({"op": "most", "by": quality, "of": {"op": "motion", "word": "left"}}):
        assert re.search(r"sound|heard|silent|quiet", text), text
        assert ("heard" in text) <= (quality == "early"), text
        assert ("for good" in text) == (quality == "short_lived"), text


def test_a_thing_is_said_to_stop_sounding_and_not_to_stop():
    for relation in ("after", "before"):
        for text in every_wording({"op": "relation", "how": relation, "to": KEY}):
            assert not re.search(r"the key (stops|starts|begins|has stopped)( and|$)", text), text
            assert "ahead" not in text


def test_the_loudest_is_not_said_to_make_noise_as_well():
    assert not any("noisiest" in text for text in every_wording({"op": "most", "by": "loud", "of": SOUNDS}))


def test_what_hides_is_said_to_hide_a_part():
    for text in every_wording({"op": "hiding"}):
        assert re.search(r"(hid(es|ing)|cover(s|ing)) (a part of )?another thing", text), text


def test_several_are_no_keys_rather_than_no_key():
    group = {"op": "and", "of": [{"op": "not", "of": KEY}, {"op": "colour", "word": "red"}]}
    texts = every_wording({"op": "most", "by": "long", "of": group}, draws=200)
    assert any("are anything but keys" in text for text in texts)
    assert not any(re.search(r"\bare .*\ba key\b", text) for text in texts)


def test_a_noun_that_is_plural_already_agrees_with_its_verb():
    still = {"op": "motion", "word": "still"}
    texts = every_wording({"op": "and", "of": [KEYS, {"op": "not", "of": still}]})
    texts |= every_wording({"op": "and", "of": [KEYS, SOUNDS]})
    assert "the keys that do not stay still" in texts
    wrong = re.compile(r"keys (that (is|does|moves|makes|gives)|with a sound of its)\b|keyses")
    assert not any(map(wrong.search, texts))
    assert not any(re.search("a keys|not keys", text) for text in every_wording({"op": "not", "of": KEYS}))
    after = every_wording({"op": "relation", "how": "after", "to": KEYS})
    assert any("after the keys have " in text for text in after)
    assert not any(re.search(r"keys (has|stops)\b", text) for text in after)
    longest = every_wording({"op": "most", "by": "long", "of": KEYS})
    assert any("the keys, the ones that are heard the longest" in text for text in longest)
    assert not any("the one that" in text for text in longest)


def test_what_sounds_but_not_with_another_is_said_in_one_clause():
    growl = {"op": "heard", "how": "with", "noun": "growl", "verb": "growls"}
    texts = every_wording({"op": "and", "of": [SOUNDS, {"op": "not", "of": growl}]})
    assert any(text.endswith("that sounds, but not during the growl") for text in texts)
    assert all(", but n" in text for text in texts)


def test_a_null_expression_of_one_part_is_false_of_every_thing(negatives):
    simple = [
        (facts, expression)
        for facts, expression in negatives
        if expression.form["op"] not in {"and", "most", "relation"}
    ]
    assert simple
    for facts, expression in simple:
        assert set(Proof(facts).values(expression.form)) == {False}
