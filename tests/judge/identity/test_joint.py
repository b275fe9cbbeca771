"""A mask and a separated sound audited as one: what is said of each fault, and what is left unchecked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.judge.identity.joint import RATE_HZ, JointCheck, JointEvidence, fit_of, hear, joint
from auscult.judge.identity.scenes_text import SentenceReader, Vocabulary, part_for
from auscult.media.wav import Sound
from auscult.rng import generator
from auscult.scenes.sound.generated import GENERATED, KINDS
from auscult.types import Case, Prediction, Query, Samples

CHECK = JointCheck()
WORDS = Vocabulary(
    categories=("bell", "dog"),
    colours=("red",),
    textures=("striped",),
    voices=tuple((kind.noun, kind.verb, "") for kind in KINDS.values()),
)
SIGHT, SOUND = SentenceReader(WORDS), SentenceReader(WORDS, heard=True)
ON_IT = JointEvidence(own=0.95, x=0.2, others=((0.05, 0.8),), heard=None, side=0.2)


def sound_of(label: str, *, seconds: float = 2.0, instance: int = 50, pan: float = 0.0) -> Samples:
    """A generated sound that no weight has seen, (2, samples), panned -1 to 1."""
    source = GENERATED.source(generator(3, label), label, instance=f"{label}-{instance:02d}")
    sound = GENERATED.samples(source, seconds=seconds, rate_hz=RATE_HZ)
    angle = (pan + 1) * np.pi / 4
    return np.stack([np.cos(angle) * sound, np.sin(angle) * sound]).astype(np.float32)


@pytest.mark.parametrize(
    ("text", "sight", "sound"),
    [
        ("the red dog", "colour category", None),
        ("the dog that buzzes", "category", "voice"),
        ("the thing that does not sound all the time", None, "not"),
        ("the object heard twice", None, "times"),
        ("the first thing to be heard", None, "most early"),
        ("the first thing to fall silent", None, None),  # of the rest of a mixture only the last end is known
        ("the loudest of the dogs", "category", None),  # loudest among dogs alone: that is not heard
        ("the dog that makes a sound", "category", None),  # a separated sound always sounds
        ("the thing that moves", None, None),
    ],
)
def test_each_sense_reads_what_is_its_own(text: str, sight: str | None, sound: str | None) -> None:
    for reader, sense, expected in ((SIGHT, "sight", sight), (SOUND, "sound", sound)):
        reading = reader.read(text)
        assert reading is not None
        part_form = part_for(sense, reading.form)
        parts = [] if part_form is None else part_form["of"] if part_form["op"] == "and" else [part_form]
        assert expected == (" ".join(" ".join([part["op"], part.get("by", "")]).strip() for part in parts) or None)


@pytest.mark.parametrize("label", ["bell", "buzz", "siren", "whistle"])
def test_a_sound_is_told_from_others_by_its_words(label: str) -> None:
    heard_sound = hear(sound_of(label))
    assert heard_sound is not None
    fits = {}
    for kind in KINDS.values():
        reading = SOUND.read(f"the thing that {kind.verb}")
        assert reading is not None
        fits[kind.noun] = fit_of(reading.form, CHECK.numbers.kinds, heard_sound, rest=None, whole_s=2.0)
    assert max(fits, key=lambda noun: fits[noun] or 0.0) == label


@pytest.mark.parametrize("pan", [-0.8, 0.0, 0.5])
def test_the_side_of_a_sound_is_the_place_of_its_maker(pan: float) -> None:
    heard_sound = hear(sound_of("hum", pan=pan))
    assert heard_sound is not None
    assert heard_sound.x == pytest.approx((pan + 1) / 2, abs=0.01)


def test_times_and_order_are_heard() -> None:
    sound = np.zeros((2, 6 * RATE_HZ), np.float32)
    for start in (1, 4):
        sound[:, start * RATE_HZ : (start + 1) * RATE_HZ] = sound_of("hum", seconds=1.0)
    rest_sound = np.zeros_like(sound)
    rest_sound[:, 2 * RATE_HZ : 3 * RATE_HZ] = 0.1 * sound_of("siren", seconds=1.0)
    stem, other = hear(sound), hear(rest_sound)
    assert stem is not None
    assert other is not None
    for text, right in {
        "the thing heard twice": True,
        "the thing heard three times": False,
        "the first thing to be heard": True,
        "the last thing to fall silent": True,
        "the quietest thing": False,
        "the loudest thing": True,
    }.items():
        reading = SOUND.read(text)
        assert reading is not None
        fit = fit_of(reading.form, CHECK.numbers.kinds, stem, rest=other, whole_s=6.0)
        assert ((fit or 0.0) > 0.5) == right, text
        assert fit_of(reading.form, CHECK.numbers.kinds, stem, rest=other, whole_s=None) is None  # heard in part


def test_a_sound_unlike_all_that_is_known_is_not_named() -> None:
    clicks = np.zeros((1, 2 * RATE_HZ), np.float32)
    clicks[0, ::2] = 0.2  # a constant and the highest frequency there is
    heard_sound = hear(clicks)
    reading = SOUND.read("the thing that buzzes")
    assert heard_sound is not None
    assert reading is not None
    assert fit_of(reading.form, CHECK.numbers.kinds, heard_sound, rest=None, whole_s=2.0) is None


def test_place_links_what_is_seen_with_what_is_heard() -> None:
    numbers = CHECK.numbers
    assert joint(ON_IT, numbers).wrong == "none"  # the words are of sight alone: only the side speaks for the sound
    assert joint(replace(ON_IT, side=0.8), numbers).wrong == "stem"
    assert joint(replace(ON_IT, own=0.05, others=((0.95, 0.8),), side=0.8), numbers).wrong == "mask"
    assert joint(replace(ON_IT, own=0.05, others=((0.95, 0.8),)), numbers).wrong == "both"
    same_chances = joint(ON_IT, numbers).same, joint(replace(ON_IT, side=0.8), numbers).same
    assert same_chances[0] is not None
    assert same_chances[1] is not None
    assert same_chances[0] > 0.5 > same_chances[1]


def test_without_basis_nothing_is_said() -> None:
    numbers = CHECK.numbers
    mono = joint(replace(ON_IT, side=None), numbers)
    assert (mono.wrong, mono.probs, mono.same) == ("unchecked", {}, None)
    no_words = joint(replace(ON_IT, own=None), numbers)
    assert no_words.wrong == "unchecked"
    assert no_words.same is not None
    evidence = joint(replace(ON_IT, side=None, heard=0.99), numbers)
    assert evidence.wrong == "none"
    assert not evidence.place
    assert sum(evidence.probs.values()) == pytest.approx(1.0)


def check_joint(
    stem: Samples, *, mixture: Samples | None = None, rate_hz: int = RATE_HZ, text: str = "the thing that hums"
):
    frame = np.full((120, 160, 3), 90, np.uint8)
    mask = np.zeros((120, 160), bool)
    mask[40:80, 20:60] = True
    case = Case(id="a", frame=frame, query=Query(text), time_s=0.5)
    mixture_sound = Sound(samples=stem if mixture is None else mixture, rate_hz=RATE_HZ)
    return CHECK(case, Prediction(mask), mixture=mixture_sound, separated=Sound(samples=stem, rate_hz=rate_hz))


@pytest.mark.parametrize(
    ("stem", "words"),
    [
        (np.zeros((2, RATE_HZ), np.float32), "silent"),
        (np.full((1, 100), 0.5, np.float32), "silent"),
    ],
    ids=["silence", "a hundredth of a second"],
)
def test_a_sound_without_content_is_unchecked(stem: Samples, words: str) -> None:
    evidence = check_joint(stem)
    assert evidence.wrong == "unchecked"
    assert words in evidence.note


@pytest.mark.parametrize("text", ["", "der Hund, der brummt", "the flurble that hums", "hum " * 10_000])
def test_words_that_are_not_known_are_unchecked(text: str) -> None:
    evidence = check_joint(sound_of("hum", pan=-0.5), text=text)
    assert evidence.wrong == "unchecked"
    assert not evidence.words_seen
    assert not evidence.words_heard


def test_sounds_of_other_lengths_or_rates_are_errors_that_say_both() -> None:
    sound = sound_of("hum")
    with pytest.raises(InputError, match=r"length .* 31,900 samples, that of its mixture 32,000 samples"):
        check_joint(sound[:, :-100], mixture=sound)
    with pytest.raises(InputError, match=r"sample rate .* 8,000 Hz, that of its mixture 16,000 Hz"):
        check_joint(sound, rate_hz=8_000)


def test_a_long_sound_is_listened_to_around_the_frame() -> None:
    sound = np.zeros((1, 150 * RATE_HZ), np.float32)
    sound[:, : 2 * RATE_HZ] = sound_of("hum")[:1]
    sound = np.concatenate([sound, 0.5 * sound[:, ::-1]])  # of two channels
    assert not check_joint(sound, text="the thing heard once").words_heard
    assert check_joint(sound).words_heard
