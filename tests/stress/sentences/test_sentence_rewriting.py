"""A model that is plugged in: what it is told, what of its reply is taken over, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError, UsageError
from auscult.stress import sentences
from auscult.stress.sentences import Rewriter, rewriting
from auscult.stress.sentences.base import edited
from auscult.stress.sentences.rewriting import difference, instruction, rewritten

SENTENCE = "the grey pigeon that lands on the railing, near the dog"


def replies(text: Any) -> Rewriter:
    def model(instructions: str, sentence: str) -> Any:
        del instructions, sentence
        return text

    return model


def test_the_reply_is_taken_over_and_replays_without_the_model() -> None:
    reply = "the grey pigeon that land on railing, the near dog"
    rewritten_ = rewritten("grammar_error", SENTENCE, replies(reply))
    assert rewritten_.output == reply
    params = json.loads(json.dumps(rewritten_.params))
    assert sentences.render("grammar_error", SENTENCE, params) == reply
    assert params["strength"] == 3.0


def test_changed_words_are_told_one_by_one() -> None:
    reply = SENTENCE.replace("pigeon", "pigoen").replace("railing", "raling")
    rewritten_ = rewritten("misspelling", SENTENCE, replies(reply), severity="low")
    assert [(word.before, word.after) for word in rewritten_.truth.words] == [
        ("pigeon", "pigoen"),
        ("railing", "raling"),
    ]


def test_quotation_marks_and_spaces_around_the_reply_are_left_out() -> None:
    reply = SENTENCE.replace("dog", "dgo")
    assert rewritten("misspelling", f"  {SENTENCE}\n", replies(f'"{reply}" \n')).output == f"  {reply}\n"


def test_the_model_is_told_what_to_do_how_much_and_what_must_stay() -> None:
    requests: list[tuple[str, str]] = []

    def model(instructions: str, sentence: str) -> str:
        requests.append((instructions, sentence))
        return sentence.replace("grey", "gery")

    rewritten("misspelling", SENTENCE, model, severity=5, keep_head=True)
    ((instructions, sentence),) = requests
    assert sentence == SENTENCE
    assert "7 misspelt words" in instructions
    assert "“pigeon”" in instructions
    assert instructions.count("Reply: ") == 4


def test_more_is_asked_for_at_a_greater_severity() -> None:
    instruction_texts = [instruction("grammar_error", SENTENCE, strength=level) for level in (1, 3, 5)]
    assert [text.split(" grammar mistakes")[0].split()[-1] for text in instruction_texts] == ["1", "3", "6"]


def test_the_head_noun_stays_whatever_the_reply() -> None:
    reply = SENTENCE.replace("pigeon", "pigoen").replace("grey", "gery")
    assert rewritten("misspelling", SENTENCE, replies(reply), keep_head=True).output == SENTENCE.replace("grey", "gery")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        (' " " ', "empty"),
        (SENTENCE, "changed nothing"),
        (SENTENCE * 9, "characters"),
        ("Sure! Here you are: I made three mistakes for you.", "another text"),
        (SENTENCE.replace("dog", "d\u202eog"), r"U\+202E"),
        (SENTENCE.replace("dog", "\x1b[31mdog"), r"U\+001B"),
        (SENTENCE.replace(" near", "\nnear"), "U\\+000A|lines"),
        (SENTENCE.replace("pigeon ", ""), "must stay"),
    ],
)
def test_what_is_no_rewriting_is_refused(reply: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        rewritten("misspelling", SENTENCE, replies(reply), keep=["pigeon"])


def test_a_reply_that_is_no_text_is_the_plug_in_s_fault() -> None:
    with pytest.raises(UsageError, match="NoneType"):
        rewritten("misspelling", SENTENCE, replies(None))


def test_what_the_model_raises_is_not_hidden() -> None:
    def broken(instructions: str, sentence: str) -> str:
        raise ConnectionError("no answer")

    with pytest.raises(ConnectionError):
        rewritten("misspelling", SENTENCE, broken)


def test_nobody_is_asked_where_there_is_nothing_to_do() -> None:
    def never(instructions: str, sentence: str) -> str:
        raise AssertionError

    assert rewritten("misspelling", SENTENCE, never, severity=0).output == SENTENCE
    assert rewritten("misspelling", "", never).output == ""


def test_no_model_is_asked_for_stray_marks_or_endless_text() -> None:
    with pytest.raises(UsageError, match="misspelling, grammar_error"):
        rewritten("mispunctuation", SENTENCE, replies(SENTENCE))
    with pytest.raises(UsageError, match="4000"):
        rewritten("misspelling", "dog " * rewriting.MOST_CHARACTERS, replies(SENTENCE))


@given(st.text(alphabet="ab ,\n'", max_size=30), st.text(alphabet="ab ,\n'", max_size=30))
def test_the_difference_makes_one_text_of_the_other(before: str, after: str) -> None:
    assert edited(before, difference(before, after)) == after
