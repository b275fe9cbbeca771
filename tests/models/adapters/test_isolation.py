"""A model that misbehaves costs its case and no other, whatever it does."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from asking import AnswerDigest, make_asker

from auscult.outcome import Failed
from auscult.work import Task, run_tasks

PROGRAM = Path(__file__).with_name("strange_program.py")
HALF = "a mask that says what the frames are"
MEMORY = "took more memory than the limit of 300 MB"
DIED = "the model's process died (exit status 0)"

# What it does, and how its failure begins; HALF where it is an answer.
FUNCTIONS = {
    "list_of_arrays": HALF,
    "tensor": HALF,
    "list_of_tensors": HALF,
    "prints": HALF,
    "reads": HALF,
    "forks": HALF,
    "child_raises": HALF,
    "child_lingers": HALF,
    "moves_away": HALF,
    "wrong_type": "the model gave str",
    "no_mask": "the model gave NoneType",
    "generated": "the model gave generator",
    "wrong_shape": "the model gave an array of shape (3, 5, 7)",
    "ragged": "the model gave masks of different shapes",
    "words": "the model gave an array of <U3",
    "broken_tensor": "the model gave Broken, which does not become an array",
    "nan": "the model gave NaN",
    "logits": "the model gave numbers from -127 to",
    "bytes_of_mask": "the model gave whole numbers from 0 to 255",
    "raises": "ValueError: no such word in the vocabulary",
    "sys_exit": "SystemExit: 0",
    "os_exit": DIED,
    "forks_and_leaves_it_to_the_child": DIED,
    "leaks_at_once": MEMORY,
}
FULL = "a mask of every pixel"
PROGRAMS = {
    "good": FULL,
    "loud": FULL,
    "twice": FULL,
    "dies after": FULL,
    "dies at the second": FULL,
    "byte order mark": FULL,
    "dies": "exit status 3",
    "dies at once": "exit status 1",
    "banner": "a line that is no JSON object",
    "garbage": "no JSON",
    "binary": "no JSON",
    "list": "no JSON",
    "deep": "no JSON",
    "talk": "a line that is no JSON object: 'I think it is the one on the left'",
    "behind text": "a line that is no JSON object",
    "list of masks": "a line that is no JSON object",
    "no line break": "a line without a line break",
    "other id": "answered with the id 'another'",
    "other size": "the mask is 2 x 2, its frame 12 x 16",
    "too few": "1 masks",
    "no masks": "masks of type NoneType",
    "bad runs": "cover",
    "says error": "no car here",
    "huge line": "bytes without an answer",
    "closes": "closed its standard output",
}
ASKED_AGAIN = ("banner", "twice", "dies after", "dies at the second", "dies", "garbage", "other id")


def command(mode: str) -> str:
    return shlex.join([sys.executable, "-I", "-S", str(PROGRAM), mode])


def ask_tasks(tasks: list[Task[tuple[str, str]]], *, timeout_s: float) -> dict[str, object]:
    """What became of the tasks, one after the other in one worker at a time."""
    results = list(
        run_tasks(make_asker, tasks, workers=1, timeout_s=timeout_s, memory_mb=300, stage="predict"),
    )
    assert sorted(result.key for result in results) == sorted(task.key for task in tasks), "each asked once"
    return {result.key: result.outcome for result in results}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, object]:
    """Each model asked between questions to a good one."""
    tasks = []
    for name in FUNCTIONS:
        tasks += [Task(name, ("function", name)), Task(f"after {name}", ("function", "good"))]
    for mode in PROGRAMS:
        tasks += [Task(f"program {mode}", ("command", command(mode)))]
        tasks += [Task(f"again {mode}", ("command", command(mode)))] if mode in ASKED_AGAIN else []
        tasks += [Task(f"after program {mode}", ("function", "good"))]
    return ask_tasks(tasks, timeout_s=60.0)


def test_a_model_that_hangs_costs_its_case() -> None:
    hung, good = {"function": "hangs", "command": command("hangs")}, ("function", "good")
    tasks = [task for kind, name in hung.items() for task in (Task(kind, (kind, name)), Task(f"after {kind}", good))]
    outcome_of = ask_tasks(tasks, timeout_s=4.0)
    for kind in hung:
        outcome = outcome_of[kind]
        assert isinstance(outcome, Failed)
        assert outcome.error.error == "took longer than the limit of 4 s and was stopped"
        assert "--timeout" in outcome.error.hint
        assert isinstance(outcome_of[f"after {kind}"], AnswerDigest)


@pytest.mark.parametrize(("name", "expected"), FUNCTIONS.items(), ids=list(FUNCTIONS))
def test_a_function_costs_its_case_at_most(outcomes: dict[str, object], name: str, expected: str) -> None:
    outcome, after = outcomes[name], outcomes[f"after {name}"]
    assert isinstance(after, AnswerDigest), after
    assert after.pixels == 3 * 6 * 8
    if expected == HALF:
        assert outcome == outcomes["list_of_arrays"]
    else:
        assert isinstance(outcome, Failed)
        assert outcome.error.error.startswith(expected)
        assert outcome.error.hint
        assert outcome.error.stage == "predict"


@pytest.mark.parametrize(("mode", "expected"), PROGRAMS.items(), ids=list(PROGRAMS))
def test_a_program_costs_its_case_at_most(outcomes: dict[str, object], mode: str, expected: str) -> None:
    assert isinstance(outcomes[f"after program {mode}"], AnswerDigest)
    for key in [f"program {mode}", *([f"again {mode}"] if mode in ASKED_AGAIN else [])]:
        outcome = outcomes[key]
        if expected == FULL:
            assert isinstance(outcome, AnswerDigest), outcome
            assert outcome.pixels == 3 * 12 * 16
        else:
            assert isinstance(outcome, Failed)
            assert expected in outcome.error.error


def test_last_words_of_a_program_are_told(outcomes: dict[str, object]) -> None:
    for mode, words in {
        "dies": "out of luck",
        "dies at once": "no weights here",
        "talk": "the one on the left",
    }.items():
        outcome = outcomes[f"program {mode}"]
        assert isinstance(outcome, Failed)
        assert words in outcome.error.error
