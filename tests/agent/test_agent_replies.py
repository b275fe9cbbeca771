"""What debaters reply, well and badly, and that any text is read quickly."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auscult.agent.replies import MOST_REASON, read_answers

ASKED = {"p1": "vision.fog.v1", "p2": "vision.snow.v1"}
BOTH = {"p1": True, "p2": False}
JSON_ROWS = '[{"type": "p1", "reason": "it is wet", "selected": true}, {"type": "p2", "reason": "", "selected": false}]'
PYTHON = """```python
perturbations = [{'type': 'p1', 'reason': 'it's wet', 'selected': True},
 {'type': 'p2', 'reason': "a "dry" room", 'selected': False,},]
```"""


def selected(text: str) -> dict[str, bool]:
    return {key: answer.selected for key, answer in read_answers(text, ASKED).of.items()}


@pytest.mark.parametrize(
    "text",
    [
        JSON_ROWS,
        f'{{"choices": {JSON_ROWS}}}',
        f"Let's see { {1} }:\n```json\n{JSON_ROWS}\n```\nI hope that it's useful.",
        PYTHON,
        "[{'type': 'Vision.Fog.v1', 'selected': yes}, {'type': vision.snow.v1, 'reason': None, 'selected': 'No'}]",
        f'<think>[{{"type": "p1", "selected": false}}]</think>{JSON_ROWS}',
        '{"type": "p1", "selected": true}\n{"type": "p2", "selected": false}\n',
        f'{JSON_ROWS[:-1]}, {{"type": "p1", "reas',
    ],
    ids=["list", "object", "prose", "python", "names", "thoughts", "lines", "half"],
)
def test_forms_of_one_answer(text: str) -> None:
    assert selected(text) == BOTH


@pytest.mark.parametrize(
    "text",
    [
        "", "I cannot help with that.", "[]", "{}", "null", '{"p1": true}', '[["p1", true]]', "{'type': 'p1'}",
        '[{"name": "p1", "take": true}]', '[{"type": "p1", "selected": "maybe"}]', "__import__('os').system('true')",
        '[{"type": "p1", "selected": true}, {"type": "p1", "selected": false}]', "{" * 1000,
        pytest.param("x" * 10_000_000, id="10 MB"),
    ],
)  # fmt: skip
def test_no_answer(text: str) -> None:
    assert selected(text) == {}


def test_what_nobody_asked_is_counted_and_dropped() -> None:
    rows = [{"type": name, "reason": "", "selected": True} for name in ("p1", "p9", "/etc/passwd")]
    answers = read_answers(json.dumps([*rows, {"type": "p2", "selected": []}]), ASKED)
    assert (list(answers.of), answers.unasked, answers.unreadable) == (["p1"], 2, 1)


def test_a_reason_is_one_short_line() -> None:
    answers = read_answers(json.dumps([{"type": "p1", "reason": "a\nb\x1b[2J" + "c" * 3000, "selected": True}]), ASKED)
    reason = answers.of["p1"].reason
    assert reason.startswith("a b [2J")
    assert len(reason) == MOST_REASON


@given(
    st.text(alphabet="{}[]()'\":,\\ \n\tapTFn1.u", max_size=400)
    | st.text(max_size=200)
    | st.lists(st.sampled_from(["{", "}", "[", "'type'", ":", "'p1'", ",", "'selected'", "True", '"'])).map("".join)
)
@example('{"\\ud83d": "\\ud83d"}')
def test_any_text_is_read(text: str) -> None:
    answers = read_answers(text, ASKED)
    assert set(answers.of) <= set(ASKED)
    assert read_answers(text, {}).of == {}


@pytest.mark.parametrize("piece", ['{"', '{"a":"', "{'a':", '{"a"', "'{"])
def test_the_longest_text_is_read_in_bounded_time(piece: str) -> None:
    start_s = time.process_time()
    assert selected((piece * 200_000)[:200_000]) == {}
    assert time.process_time() - start_s < 5
