import pytest

from auscult.language import morphology


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("ball", "balls"),
        ("box", "boxes"),
        ("bench", "benches"),
        ("bus", "buses"),
        ("fly", "flies"),
        ("toy", "toys"),
        ("mouse", "mice"),
        ("fire engine", "fire engines"),
        ("fireman", "firemen"),
        ("human", "humans"),
        ("goldfish", "goldfish"),
        ("potato", "potatoes"),
        ("piano", "pianos"),
        ("knife", "knives"),
        ("glass of water", "glasses of water"),
        ("quiz", "quizzes"),
        ("sheep", "sheep"),
        ("scissors", "scissors"),
    ],
)
def test_plural(one, many):
    assert morphology.plural(one) == many


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("owl", "an owl"),
        ("ball", "a ball"),
        ("umbrella", "an umbrella"),
        ("unicorn", "a unicorn"),
        ("hourglass", "an hourglass"),
        ("ukulele", "a ukulele"),
        ("user", "a user"),
        ("usher", "an usher"),
        ("ewe", "a ewe"),
        ("one-eyed owl", "a one-eyed owl"),
        ("x", "a x"),
    ],
)
def test_article(noun, expected):
    assert morphology.article(noun) == expected


@pytest.mark.parametrize(
    ("third", "base", "ing"),
    [
        ("rings", "ring", "ringing"),
        ("buzzes", "buzz", "buzzing"),
        ("hisses", "hiss", "hissing"),
        ("cries", "cry", "crying"),
        ("hums", "hum", "humming"),
        ("purrs", "purr", "purring"),
        ("taps", "tap", "tapping"),
        ("sneezes", "sneeze", "sneezing"),
        ("rattles", "rattle", "rattling"),
        ("crashes", "crash", "crashing"),
        ("screeches", "screech", "screeching"),
        ("meows", "meow", "meowing"),
        ("beeps", "beep", "beeping"),
        ("plays music", "play music", "playing music"),
        ("goes off", "go off", "going off"),
        ("is playing", "be playing", "playing"),
    ],
)
def test_verbs(third, base, ing):
    assert morphology.base(third) == base
    assert morphology.ing(third) == ing


def test_verbs_of_several_and_denied():
    assert morphology.of_many("is heard") == "are heard"
    assert morphology.of_many("has its own sound") == "have their own sound"
    assert morphology.of_many("cannot be heard") == "cannot be heard"
    assert morphology.negated("can be heard") == "cannot be heard"
    assert morphology.negated("rings") == "does not ring"
    assert morphology.negated("is on the left") == "is not on the left"


def test_numbers_of_times():
    assert [morphology.often(count) for count in (1, 2, 3, 40)] == ["once", "twice", "three times", "40 times"]
