import pytest

from auscult.language import lexicon


@pytest.mark.parametrize(
    ("singular", "plural_form"),
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
        ("vegetables", "vegetables"),
        ("car keys", "car keys"),
        ("pairs of skis", "pairs of skis"),
        ("lens", "lenses"),
        ("glass", "glasses"),
        ("cactus", "cactuses"),
    ],
)
def test_plural(singular, plural_form):
    assert lexicon.plural(singular) == plural_form


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
        ("x", "an x"),
        ("x-ray", "an x-ray"),
        ("MP3 player", "an MP3 player"),
        ("mp3", "an mp3"),
        ("SUV", "an SUV"),
        ("UFO", "a UFO"),
        ("TV set", "a TV set"),
        ("FM radio", "an FM radio"),
        ("U-boat", "a U-boat"),
        ("8-ball", "an 8-ball"),
        ("11th hole", "an 11th hole"),
        ("110 volt socket", "a 110 volt socket"),
        ("urn", "an urn"),
        ("yacht", "a yacht"),
        ("OWL", "an OWL"),
    ],
)
def test_article(noun, expected):
    assert lexicon.article(noun) == expected


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
        ("reaches out", "reach out", "reaching out"),
        ("aches", "ache", "aching"),
        ("quizzes", "quiz", "quizzing"),
    ],
)
def test_verbs(third, base, ing):
    assert lexicon.base(third) == base
    assert lexicon.ing(third) == ing


ING = """
baaing banging barking battering beating beeping begging blaring bleating blowing booming bouncing buzzing cawing
chatting chewing chiming chirping chirring chopping chugging clanging clapping clicking crackling creaking croaking
crying dinging dragging dripping drumming dyeing echoing fixing fizzing flapping flipping flying going growling
hissing hitting honking hooting howling humming jabbing jingling kicking knocking lapping laughing lying meowing
mixing mooing mowing panicking patting peeping pinging playing plopping popping purring quacking rapping rattling
revving ringing roaring running sawing scratching screeching singing slamming slapping snapping snoring sobbing
spinning splashing splitting squatting squawking squealing stopping strumming swimming tapping thudding ticking
trotting vibrating wagging wailing whinnying whirring whistling yapping yelling yodelling zipping
"""


def in_third_person(word):
    if word.endswith(("s", "z", "x", "ch", "sh", "o")) and word != "moo":
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeiou" else word + "s"


def without_ing(word):
    odd = {"lying": "lie", "dyeing": "dye", "panicking": "panic", "rattling": "rattle", "crackling": "crackle"}
    silent = ("blar", "bounc", "chim", "jingl", "snor", "vibrat", "whistl")
    stem = word.removesuffix("ing")
    if word in odd:
        return odd[word]
    if stem in silent:
        return stem + "e"
    doubled_stems = ("buzz", "fizz", "hiss", "purr", "moo", "baa", "yell", "chirr")
    return stem[:-1] if stem[-1] == stem[-2] and stem not in doubled_stems else stem


@pytest.mark.parametrize("word", ING.split())
def test_participles(word):
    assert lexicon.ing(in_third_person(without_ing(word))) == word


def test_the_list_of_participles_is_long():
    assert len(set(ING.split())) >= 80


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        *(
            (noun, True)
            for noun in ("scissors", "vegetables", "men", "car keys", "bunches of keys", "firemen", "taxis")
        ),
        *((noun, False) for noun in ("bunch of keys", "bus", "compass", "lens", "sheep", "gas", "iris", "octopus")),
        *((noun, False) for noun in ("toy", "goldfish", "headphone", "child", "glass of water")),
    ],
)
def test_which_nouns_are_plural_already(noun, expected):
    assert lexicon.is_plural(noun) is expected
    assert lexicon.indefinite(noun) == (noun if expected else lexicon.article(noun))


def test_verbs_of_several_and_denied():
    assert lexicon.of_many("never makes a sound") == "never make a sound"
    assert lexicon.of_many("never stops sounding") == "never stop sounding"
    assert lexicon.of_many("sounds, but not during its ring") == "sound, but not during their ring"
    assert lexicon.of_many("is heard") == "are heard"
    assert lexicon.of_many("has its own sound") == "have their own sound"
    assert lexicon.of_many("cannot be heard") == "cannot be heard"
    assert lexicon.negated("can be heard") == "cannot be heard"
    assert lexicon.negated("rings") == "does not ring"
    assert lexicon.negated("is on the left") == "is not on the left"


def test_numbers_of_times():
    assert [lexicon.often(count) for count in (1, 2, 3, 40)] == ["once", "twice", "three times", "40 times"]
