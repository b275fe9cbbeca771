"""Questions that resemble one of the 25 and ask something else: refused, or answered by what was tested alone."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="the extra `agent` is not installed")

from tests.agent.test_questions import written_record

from auscult.agent.questions import ask

pytestmark = pytest.mark.extra_agent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_record(tmp_path_factory.mktemp("refused") / "out", "mine.strong")


@pytest.mark.parametrize(
    ("question", "cause"),
    [
        ("Which perturbations were left out?", "excludes"),
        ("What is the median loss per perturbation?", "another statistic"),
        ("Which metric suffers most?", "metrics"),
        ("Does F drop more than J?", "several metrics"),
        ("What seed was used?", "seed"),
        ("Do long clips lose more than short ones?", "short"),
    ],
)
def test_another_question_is_not_answered_in_its_place(folder: Path, question: str, cause: str) -> None:
    answer = ask(folder, question)
    assert not answer.answered
    assert cause in answer.sentence


def test_the_second_worst_is_no_question_about_seconds(folder: Path) -> None:
    answer = ask(folder, "Which is the second worst perturbation?")
    assert answer.taken_as == "Which perturbation hurts most?"
    assert any("second" in note for note in answer.notes)


def test_what_was_not_tested_is_not_answered_by_what_was(folder: Path) -> None:
    answer = ask(folder, "how robust is strong to motion blur?")
    assert (answer.sentence, answer.rows) == ("Not tested in this record: motion_blur.", ())
    answer = ask(folder, "does fog hurt more than glass blur?")
    assert [row[0] for row in answer.rows] == ["fog"]
    assert "Not tested in this record: glass_blur." in answer.notes
    assert "compression" in ask(folder, "How much is lost to compression?").sentence


def test_a_group_of_perturbations_means_those_that_were_tested(folder: Path) -> None:
    assert {row[0] for row in ask(folder, "which weather hurts most?").rows} == {"fog", "snow"}
    assert {row[0] for row in ask(folder, "Does noise hurt more than fog?").rows} == {"gaussian_noise", "fog"}
