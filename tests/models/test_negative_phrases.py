"""What omni models are asked in phrases: how replies are read, and the agent that segments what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, UsageError
from auscult.models.base import Request
from auscult.models.classical.lexicon import WITH_ONSETS, heard_cue
from auscult.models.named_objects import MOST_PHRASES, TgsAgent, read_phrases, read_target
from auscult.models.omni import OmniReply, OmniRequest
from auscult.models.spec import model_spec, named_models
from auscult.types import Frames, Query

REFUSAL = "I am sorry, I cannot help with that."


@pytest.mark.parametrize(
    ("reply", "phrases"),
    [
        ('["the grey car", "a man"]', ("the grey car", "a man")),
        ('Sure!\n```json\n["a dog", "a dog", " the\\nwoman "]\n```', ("a dog", "the woman")),
        ("[]", ()),
        ('[1, 2] ["a cat"]', ("a cat",)),
        ('{"objects": ["a cup"]}', ("a cup",)),
        (str([f"thing {name}" for name in "abcdefgh"]).replace("'", '"'), tuple(f"thing {name}" for name in "abcde")),
        ('<think>["a draft"]</think>["a cat"]', ("a cat",)),
        ('["", "12", "' + "x" * 200 + '", "a pan"]', ("a pan",)),
    ],
)
def test_phrases_of_a_list(reply: str, phrases: tuple[str, ...]) -> None:
    assert read_phrases(reply) == phrases
    assert len(phrases) <= MOST_PHRASES


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "a dog, a cat", "[" * 100_000, '["a dog", "b'])
def test_a_reply_without_a_list_is_an_error(reply: str) -> None:
    with pytest.raises(InputError, match="names no other things"):
        read_phrases(reply)


@pytest.mark.parametrize(
    ("reply", "phrase"),
    [
        ("<target>the red ball</target>", "the red ball"),
        ("<TARGET> the red\nball", "the red ball"),
        ("It is <target>a</target>, no: <target>the blue drum</target>.", "the blue drum"),
        ("the small dog", "the small dog"),
        ("<think>a <target>cup</target>?</think> <target>the pan</target>", "the pan"),
        ("<think>a cup?</think>the pan", "the pan"),
        ("<target>nothing</target>", None),
        ("Nothing.", None),
    ],
)
def test_the_phrase_of_a_target(reply: str, phrase: str | None) -> None:
    assert read_target(reply) == phrase


@pytest.mark.parametrize(
    "reply", ["", "<target></target>", "<target>..</target>", "word " * 40, REFUSAL, "<think>a cup"]
)
def test_a_reply_without_a_phrase_is_an_error(reply: str) -> None:
    with pytest.raises(InputError, match="says not what is meant"):
        read_target(reply)


class Listening:
    """An omni model that hears whether there is a sound, and sees how many pictures there are."""

    def __init__(self, reply: str) -> None:
        self.reply, self.requests = reply, list[OmniRequest]()

    def __call__(self, request: OmniRequest) -> OmniReply:
        self.requests.append(request)
        assert all(path.is_file() for path in (*request.images, *request.sounds))
        return OmniReply(text=self.reply, seconds=0.0)

    def close(self) -> None:
        """Hold nothing."""


def request(frames: int = 12, *, text: str = 'the one that "barks"', sound: bool = True) -> Request:
    clip = np.full((frames, 48, 64, 3), 90, np.uint8)
    clip[:, 10:30, 5:25], clip[:, 10:30, 40:60] = (220, 30, 30), (30, 30, 220)

    def copied_frames() -> Frames:
        return clip.copy()

    return Request(
        id="a", condition="clean", names=tuple(map(str, range(frames))), size=(48, 64), query=Query(text),
        frames=copied_frames, sound=np.zeros((2, 800), np.float32) if sound else None, rate_hz=800 if sound else None,
    )  # fmt: skip


def test_the_agent_segments_the_phrase_that_it_is_told() -> None:
    omni = Listening("<target>the blue one</target>")
    agent = TgsAgent(omni, model_spec("lexicon").load())
    answer = agent(request())
    (request_sent,) = omni.requests
    assert (len(request_sent.images), len(request_sent.sounds)) == (10, 1)
    assert r"the one that \"barks\"" in request_sent.question
    assert answer.said == "the blue one"
    assert answer.masks[:, 12:28, 42:58].mean() > 0.8
    assert answer.masks[:, :, :30].mean() < 0.1
    agent(request(1, sound=False))
    assert (len(omni.requests[1].images), len(omni.requests[1].sounds)) == (1, 0)


def test_the_agent_gives_empty_masks_for_nothing_and_fails_for_prose() -> None:
    empty = TgsAgent(Listening("nothing"), model_spec("lexicon").load())(request())
    assert (empty.said, bool(empty.masks.any())) == ("nothing", False)
    with pytest.raises(InputError):
        TgsAgent(Listening("I am sorry, " * 30), model_spec("lexicon").load())(request())
    with pytest.raises(InputError, match="without a sentence"):
        TgsAgent(Listening("x"), model_spec("lexicon").load())(request(text=" "))


def test_an_agent_is_named_by_both_models(tmp_path: Path) -> None:
    file = tmp_path / "hears.py"
    file.write_text("def answer(question, *, images, sounds, video):\n    return '<target>the red one</target>'\n")
    (spec,) = named_models([f"tgs:{file}:answer+lexicon"], task="refavs", does="x")
    assert spec.name == "tgs.hears.answer+classical.lexicon.v1"
    answer = spec.load()(request(3))
    assert answer.masks[:, 12:28, 7:23].mean() > 0.8
    file.write_text(file.read_text() + "# changed\n")
    assert model_spec(f"tgs:{file}:answer+lexicon").revision != spec.revision
    for wrong in ("tgs:lexicon", f"tgs:{file}:answer+", f"tgs:{file}:answer+flow", "tgs:+lexicon"):
        with pytest.raises(UsageError):
            model_spec(wrong)


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("the red ball on the left", ""),
        ("the barking dog", "sounds"),
        ("the thing from which the hum comes", "sounds"),
        ("the one without any sound", "silent"),
        ("the cup that cannot be heard", "silent"),
        ("the cup that does not make a sound while the bell rings", ""),
        ("the first thing to be heard", "first"),
        ("the one that is the last to stop sounding", "last"),
        ("the loudest of the audible ones", "loud"),
        ("the quietest thing that sounds", "quiet"),
        ("the one of the same colour as the one from which the hum comes", ""),
        ("x" * 5000, ""),
    ],
)
def test_what_a_sentence_says_of_the_sound(text: str, cue: str) -> None:
    assert heard_cue(text) == cue


def test_of_two_like_things_the_one_that_sounds_is_segmented() -> None:
    ground = np.random.default_rng(1).integers(70, 90, (96, 160, 3)).astype(np.uint8)
    frames = np.stack([ground] * 4)
    frames[:, 30:62, 20:52] = frames[:, 30:62, 108:140] = (200, 60, 60)
    times = np.arange(4 * 8_000) / 8_000
    tone = 0.2 * np.sin(2 * np.pi * 440 * times)
    angle = 124 / 160 * np.pi / 2  # where the right one stands
    sound = np.stack([tone * np.cos(angle), tone * np.sin(angle)]).astype(np.float32)
    left_area, right = np.s_[:, 32:60, 22:50], np.s_[:, 32:60, 110:138]
    with_sound = WITH_ONSETS.predict(frames, Query("the red thing that sounds"), sound=sound, rate_hz=8_000)
    assert with_sound[right].mean() > 0.8
    assert with_sound[left_area].mean() < 0.1
    silent = WITH_ONSETS.predict(frames, Query("the silent red thing"), sound=sound, rate_hz=8_000)
    assert silent[left_area].mean() > 0.8
    assert silent[right].mean() < 0.1
    without_sound = WITH_ONSETS.predict(frames, Query("the red thing that sounds"), sound=0 * sound, rate_hz=8_000)
    assert not without_sound.any()


@pytest.mark.parametrize(("text", "passes"), [("the red thing", True), ("the red thing that stands still", False)])
def test_of_two_like_things_the_one_that_passes_through_is_segmented(text: str, passes: bool) -> None:
    """Unless the sentence says otherwise; the words alone choose the larger one."""
    ground = np.random.default_rng(1).integers(70, 90, (96, 160, 3)).astype(np.uint8)
    frames = np.stack([ground] * 3)
    frames[:, 8:48, 8:48] = (200, 60, 60)
    passing = [np.s_[number, 60:84, 10 + 56 * number : 34 + 56 * number] for number in range(3)]
    for area in passing:
        frames[area] = (200, 60, 60)
    masks = WITH_ONSETS.predict(frames, Query(text), sound=np.zeros((2, 8_000), np.float32), rate_hz=8_000)
    assert (np.mean([masks[area].mean() for area in passing]) > 0.8) == passes
    assert (masks[:, 10:46, 10:46].mean() > 0.8) != passes
