"""Answers in replies: a corpus of nasty ones with what each holds, bounds, and mutated text."""

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.arrays.boxes import FrameBoxes, SoundingBoxes
from auscult.outcome import Undefined
from auscult.score.answers import amic, retrieval
from auscult.score.boxes import avl, avlg
from auscult.score.replies import LONGEST, Read, read_reply
from auscult.score.tasks import TASKS

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "nasty_replies.jsonl").read_text("utf-8").splitlines()]
FORMS = sorted({task.answer for task in TASKS.values()})
WORDS = ("dog", "cat", "not sure", "car horn")
SCORED = {
    "counts": lambda answer: amic([answer], [{"dog": 1}]),
    "boxes": lambda answer: avl([answer], [SoundingBoxes(width=9, height=9, boxes=[("dog", (1, 1, 5, 5))])]),
    "frame boxes": lambda answer: avlg([answer], [FrameBoxes(width=9, height=9, boxes=[None, (1, 1, 5, 5)])]),
    "indices": lambda answer: retrieval([answer], [(0, 3)]),
}
PIECES = ("[", '{"a":', "['", "[1,", "[[[[0,", "answer: [", "_", "a_", "dog: 1 + ", "#;", "not dog ", "\ufdfa")


def test_every_reply_of_the_corpus_is_read_as_it_says():
    assert len(CORPUS) >= 300
    assert {row["form"] for row in CORPUS} == set(FORMS)
    wrong = []
    for row in CORPUS:
        reply = read_reply(row["reply"], row["form"], words=row.get("words", ()), frames=row.get("frames", 10))
        answer_and_path = (
            (json.loads(json.dumps(reply.answer)), reply.path) if isinstance(reply, Read) else (None, None)
        )
        if answer_and_path != (row["answer"], row["path"]):
            wrong.append((row["form"], row["reply"], (row["answer"], row["path"]), answer_and_path))
    assert not wrong


def _quick(text, answer_form):
    start = time.process_time()
    assert isinstance(read_reply(text, answer_form, words=WORDS), Read | Undefined)
    assert time.process_time() - start < 1, (answer_form, text[:80])


@pytest.mark.parametrize("answer_form", FORMS)
def test_long_and_deep_replies_are_quick_and_longer_ones_are_not_read(answer_form):
    for piece in PIECES:
        _quick((piece * LONGEST)[:LONGEST], answer_form)
    _quick('{"' + "_" * (LONGEST - 20) + '": [0, 0, 1, 1]}', answer_form)
    for reply in (None, 3, b"dog", ["dog"], "x" * (LONGEST + 1)):
        assert isinstance(read_reply(reply, answer_form), Undefined)


@pytest.mark.slow
def test_long_replies_of_any_pieces_are_quick():
    rng = random.Random(1)
    pieces = [*PIECES, *'{}()"\\:,; \n-.*#', "1", "answer is ", "<think>", "```", "three ", "\u200b", "frame_0", "{0:"]
    for _ in range(80):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 4))) * LONGEST
        for answer_form in FORMS:
            _quick(text[:LONGEST], answer_form)


def _mutated(rng):
    """A reply of the corpus with some of it cut, doubled, reversed or exchanged; or a heap of marks."""
    row = rng.choice(CORPUS)
    if rng.random() < 0.1:
        return row, "".join(rng.choices("{}[]()'\"\\,:;#0159-.eN_ \n\0dogcat\u200b\udc80\u0663é", k=rng.randint(0, 60)))
    text = list(row["reply"])
    for _ in range(rng.randint(1, 4)):
        start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        text[start:end] = rng.choice(
            ([], text[start:end] * 2, [rng.choice("{}[]()'\"\\,:;#0-.eN\u200b\udc80é")], text[start:end][::-1])
        )
    return row, "".join(text)


@pytest.mark.parametrize("count", [500, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutated_replies_are_read_and_scored_or_refused(count):
    rng = random.Random(18)
    for _ in range(count):
        row, text = _mutated(rng)
        variant = rng.choice(("paper", "AVI-Bench"))
        reply = read_reply(text, row["form"], words=row.get("words", ()), frames=row.get("frames", 10), variant=variant)
        if isinstance(reply, Read) and row["form"] in SCORED:
            assert 0 <= SCORED[row["form"]](reply.answer).value <= 1
        else:
            assert isinstance(reply, Read | Undefined)


@given(st.dictionaries(st.sampled_from(WORDS), st.integers(0, 10**6)))
def test_what_was_asked_for_is_read_back(counts):
    assert read_reply(json.dumps(counts), "counts", words=WORDS) == Read(counts, "strict")


def test_a_formatter_is_asked_last_and_its_wording_is_read_with_the_same_care():
    texts_asked = []

    def formatter(text, answer="Answer: dog"):
        texts_asked.append(text)
        return answer

    options = {"words": ("dog", "cat"), "formatter": formatter}
    assert read_reply("cat", "option", **options).path == "strict"
    assert read_reply("A cat!", "option", **options).path == "tolerant"
    assert isinstance(read_reply("x" * (LONGEST + 1), "option", **options), Undefined)
    assert texts_asked == []
    assert read_reply("the animal that barks", "option", **options) == Read("dog", "formatter")
    assert texts_asked == ["the animal that barks"]
    for answer in ("dog or cat", "", "dog" * LONGEST):
        outcome = read_reply("?", "option", words=("dog", "cat"), formatter=lambda _, answer=answer: answer)
        assert isinstance(outcome, Undefined)


def test_what_the_release_reads_otherwise():
    several = "red or blue"
    assert isinstance(read_reply(several, "option", words=("red", "blue")), Undefined)
    assert read_reply(several, "option", words=("red", "blue"), variant="first") == Read("red", "tolerant")
    assert read_reply("3 or 4", "option", variant="AVI-Bench").answer == "3"
    long = '{"dog": 1}' + " " * 290
    assert read_reply(long, "counts").answer == {"dog": 1}
    dropped_reply = read_reply(long, "counts", variant="short")
    others, truths = [{"dog": 1}], [{"cat": 1}, {"dog": 1}]
    assert amic([dropped_reply, *others], truths).value == 1  # a wrong answer that is dropped
    assert amic([read_reply(long, "counts").answer, *others], truths).value < 0.5
