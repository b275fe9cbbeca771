"""`make prise` as a job: the released tree, the same bytes whoever makes it, and stimuli that an observer can read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import prise_observers
from auscult.errors import Mismatch
from auscult.jobs.make_avi import make_prise
from auscult.jobs.options import PriseOptions
from auscult.outcome import Scored
from auscult.scenes.primitives.base import NOT_SURE
from auscult.scenes.primitives.kinds import KINDS
from auscult.score.answers import double_confirmation
from auscult.score.replies import Read, read_reply
from auscult.score.tasks import TASKS
from prise_observers import read_data
from small_inputs import tree

pytestmark = pytest.mark.extra_video
pytest.importorskip("av", reason="the extra `video` is not installed")


def make(out: Path, **options: Any) -> None:
    summary, _ = make_prise(PriseOptions(**{"out": out, "count": 2, "seed": 7, "workers": 0, **options}))
    assert summary.ok == summary.n == len(KINDS) * (options.get("count") or 2)


def material(out: Path) -> dict[str, bytes | str]:
    return {name: data for name, data in tree(out).items() if name not in {"manifest.json", ".written"}}


@pytest.fixture(scope="module")
def prise_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("prise") / "made"
    make(out)
    return out


def test_workers_and_growing_change_no_bytes(prise_tree: Path, tmp_path: Path) -> None:
    make(tmp_path / "grown", count=1)
    make(tmp_path / "grown", workers=1)
    assert material(tmp_path / "grown") == material(prise_tree)
    with pytest.raises(Mismatch, match="not all of them are asked for"):
        make(prise_tree, count=1)


def test_the_tree_is_read_back_with_its_media_and_confirmations(prise_tree: Path) -> None:
    for data in (prise_tree / "levels" / "sensation").glob("*/data.json"):
        entries = read_data(data)
        n_half = len(entries) // 2
        for formal, pre in zip(entries[:n_half], entries[n_half:], strict=True):
            assert pre.id == f"pre_{formal.id}"
            assert formal.confirmation == (pre.text, pre.answer)
            assert formal.folder == pre.folder == data.parent.name
            assert (pre.answer == "no") >= (formal.answer == NOT_SURE)
            files = {*formal.sounds, *formal.images, *([formal.video] if formal.video else [])}
            assert files
            assert files == {*pre.sounds, *pre.images, *([pre.video] if pre.video else [])}
            assert all((data.parent / name).is_file() for name in files)


def test_only_the_stimulus_tells_the_questions_of_a_type_apart(prise_tree: Path) -> None:
    questions: dict[str, set[object]] = {}
    for data in (prise_tree / "levels" / "sensation").glob("*/data.json"):
        for entry in read_data(data):
            kind = ("pre", entry.folder) if entry.id.startswith("pre_") else entry.subtask
            questions.setdefault(str(kind), set()).add(
                (entry.prompt, entry.text, entry.options, entry.confirmation is None)
            )
    assert len(questions) == len(KINDS) + 4
    assert all(len(words) == 1 for words in questions.values())


def test_a_reply_with_the_true_option_scores_full(prise_tree: Path) -> None:
    """Options, answers and confirmations have the form in which replies are read and scored."""
    for task in (task for task in TASKS.values() if task.confirmed):
        entries = [
            entry_
            for name in task.folders
            for entry_ in read_data(prise_tree / "levels/sensation" / name / "data.json")
        ]
        truths, replies = {}, {}
        for entry in entries:
            is_list = task.answer == "option list"
            words = [word for option in entry.options for word in option.strip("#").split(";")]
            reply = read_reply(f"#{entry.answer}#" if is_list else entry.answer, task.answer, words=words)
            assert isinstance(reply, Read)
            assert reply.path == "strict"
            truths[entry.id], replies[entry.id] = entry.answer.split(";") if is_list else entry.answer, reply.answer
        formal = [name for name in truths if not name.startswith("pre_")]
        score = double_confirmation(
            [(replies[name], replies[f"pre_{name}"]) for name in formal],
            [(truths[name], truths[f"pre_{name}"]) for name in formal],
        )
        assert isinstance(score["with"], Scored)
        assert score["with"].value == 1.0


def test_reviewers_see_a_tenth_then_quarters_of_all_types(prise_tree: Path) -> None:
    with (prise_tree / "review.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(KINDS)
    assert {row["type"] for row in rows[: len(KINDS)]} == set(KINDS)
    counts = [sum(row["stage"] == str(stage) for row in rows) for stage in range(1, 6)]
    assert counts[0] == len(rows) // 10
    assert max(counts[1:4]) - min(counts[1:4]) <= 1
    assert sum(counts) == len(rows)


def test_an_observer_of_pixels_and_samples_is_right(prise_tree: Path) -> None:
    wrong = [entry.id for entry, answer in prise_observers.answers(prise_tree) if answer != entry.answer]
    assert not wrong


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_observer_is_right_in_99_of_100_of_each_type(tmp_path: Path) -> None:
    """Of the first 15 questions of each type, so none may be wrong; of all 1,045 by default it took two minutes."""
    summary, _ = make_prise(PriseOptions(out=tmp_path / "whole", workers=2, count=15))
    assert summary.ok == 15 * len(KINDS)
    wrong = [entry.subtask for entry, answer in prise_observers.answers(tmp_path / "whole") if answer != entry.answer]
    assert not (tmp_path / "whole" / "errors.jsonl").exists()
    assert not wrong
