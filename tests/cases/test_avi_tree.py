"""The released tree is read as it is, and what cannot be used of it costs itself alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auscult.arrays.boxes import FrameBoxes, SoundingBoxes
from auscult.cases.avi_tree import TASK_OF, read_tree
from auscult.cases.avibench import (
    AviAnswer,
    AviBoxes,
    AviEntry,
    data_json,
    entry_json,
    prompt_of,
    task_folder,
)
from auscult.errors import NothingToDo
from auscult.score.tasks import TASKS
from avi_release import SIZES, SMALL, make_release


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return make_release(tmp_path / "release")


def data(release: Path, folder: str) -> Path:
    return release / task_folder(folder) / "data.json"


def edited(release: Path, folder: str, change: Callable[[list[Any]], object]) -> Path:
    path = data(release, folder)
    rows = json.loads(path.read_text())
    change(rows)
    path.write_text(json.dumps(rows))
    return release


def test_the_folders_are_those_of_the_tasks() -> None:
    assert {folder: TASKS[task].name for folder, task in TASK_OF.items()} == TASK_OF
    assert {folder for task in TASKS.values() for folder in task.folders} == set(TASK_OF) == set(SIZES)


@pytest.mark.slow
def test_a_whole_release_is_read_with_its_empty_confirmations_left_out(tmp_path: Path) -> None:
    tree = read_tree(make_release(tmp_path, SIZES, empty=147))
    assert (len(tree.samples), tree.errors) == (5864, [])
    assert tree.notes == ["VSQA_I: 147 empty confirmations are left out; their questions have none."]


def test_positions_truths_and_keys_come_back(release: Path) -> None:
    tree = read_tree(release)
    assert (tree.errors, len(tree.samples)) == ([], sum(SMALL.values()))
    assert len({sample.id for sample in tree.samples}) == len(tree.samples)
    by_folder = {folder: [sample for sample in tree.samples if sample.folder == folder] for folder in TASK_OF}
    assert all([sample_.position for sample_ in task_samples] == list(range(4)) for task_samples in by_folder.values())
    amic, vmic, avl, avlg = (by_folder[name][1] for name in ("AMIC", "VMIC", "AVL", "AVLG"))
    assert amic.truth == {"dog": 2, "cat": 2}
    assert (len(amic.words), len(vmic.words), len(avl.words)) == (46, 91, 28), "with two words for none"
    assert avl.truth == SoundingBoxes(
        width=640, height=480, boxes=(("dog", (10, 20, 111, 220)), ("dog", (300, 20, 400, 220)))
    )
    assert isinstance(avlg.truth, FrameBoxes)
    assert avlg.truth.boxes[:3] == ((0, 20, 100, 220), None, (20, 20, 120, 220))
    assert [sample_.name for sample_ in by_folder["AVQA"]] == ["00000", "00000", "00001", "00001"], "ids repeat"
    assert by_folder["AVQA"][0].truth == "electric_bass"
    assert by_folder["AVR"][1].truth == (1, 2)
    assert by_folder["AVC"][1].truth == ("A dog barks 1 times.", "Dog number 1 barks.")
    assert by_folder["VSQA_I"][0].truth == "purple", "the release misspells it, in truths and options"
    assert "purple" in by_folder["VSQA_I"][0].options
    assert by_folder["AVSQA"][1].truth == ("cone", "sphere")
    assert by_folder["AVM"][0].prompt == prompt_of("AVM", ("yes", "no", "not sure"))
    assert by_folder["AVQA"][2].options == ()


def test_every_file_is_found_in_the_order_in_which_it_is_sent(release: Path) -> None:
    for sample in read_tree(release).samples:
        assert all(file.is_file() for file in sample.files)
        if sample.folder == "AVLG":
            assert [file.name for file in sample.images] == [f"{number}.jpg" for number in range(10)]


def test_the_whole_text_is_prompt_options_question(release: Path) -> None:
    sample = next(sample_ for sample_ in read_tree(release).samples if sample_.folder == "ASQA")
    assert sample.question.splitlines()[1:] == ["Choose from: first, last, same, not sure.", "Which is clearer?"]


def test_confirmations_belong_to_questions_of_their_id_in_order(release: Path) -> None:
    question_samples = [sample for sample in read_tree(release).samples if sample.folder == "VSQA_V"]
    assert [sample_.name for sample_ in question_samples] == ["00000", "00000", "pre_00000", "pre_00000"]
    assert [sample_.confirms for sample_ in question_samples] == [None, None, 0, 1]


def _without_file(rows: list[Any]) -> None:
    rows[1]["input"]["audio_list"] = ["./input/wavs/none.wav"]


def _out_of_the_folder(rows: list[Any]) -> None:
    rows[1]["input"]["audio_list"] = ["../../../secret.wav"]


def _no_truth(rows: list[Any]) -> None:
    rows[1]["output"]["question_answer"] = {"dog": "many"}


def _another_task(rows: list[Any]) -> None:
    rows[1]["task"] = "VMIC"


def _no_question(rows: list[Any]) -> None:
    del rows[1]["input"]["question"]


def _a_list(rows: list[Any]) -> None:
    rows[1] = ["not", "an", "object"]


def _million(rows: list[Any]) -> None:
    rows[1]["output"]["question_answer"] = {"dog": "10000000"}


def _more_digits_than_python_reads(rows: list[Any]) -> None:
    rows[1]["output"]["question_answer"] = {"dog": "9" * 5000}


def _no_media(rows: list[Any]) -> None:
    rows[1]["input"]["audio_list"] = None


def _confirms_nothing(rows: list[Any]) -> None:
    rows[1]["id"] = "pre_nobody"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_file, "the file does not exist"),
        (_out_of_the_folder, "leaves the folder"),
        (_no_truth, "'question_answer' is"),
        (_another_task, "its task is 'VMIC'"),
        (_no_question, "there is no 'question'"),
        (_a_list, "it is a list"),
        (_million, "whole numbers from 1 to 1,000,000"),
        (_more_digits_than_python_reads, "whole numbers from 1 to 1,000,000"),
        (_no_media, "neither picture, sound nor video"),
        (_confirms_nothing, "confirms nothing"),
    ],
)
def test_a_sample_that_cannot_be_used_costs_itself(
    release: Path, change: Callable[[list[Any]], object], message: str
) -> None:
    tree = read_tree(edited(release, "AMIC", change))
    assert len([sample for sample in tree.samples if sample.folder == "AMIC"]) == 3
    ((name, error),) = tree.errors
    assert name == "AMIC/0001"
    assert message in f"{error.error} {error.expected}"
    assert str(error.path).endswith(("AMIC/data.json", "none.wav"))


def _without_sound(rows: list[Any]) -> None:
    rows[1]["input"]["audio_list"] = None


def _without_pictures(rows: list[Any]) -> None:
    rows[1]["input"]["image_list"] = []


def _truth(value: object) -> Callable[[list[Any]], None]:
    return lambda rows: rows[1]["output"].update(question_answer=value)


@pytest.mark.parametrize(
    ("folder", "change", "message"),
    [
        ("AVR", _without_sound, "expected: something to hear and something to see, as every sample of AVR"),
        ("AVR", _without_pictures, "it has 0 pictures, 1 sounds and 0 videos"),
        ("VAR", _without_sound, "something to hear"),
        ("AVL", _without_pictures, "something to see"),
        ("VAR", _truth([10]), "indices from 0 of 10 candidates"),
        ("AVSQA", _truth("##"), "at least one word"),
        ("AVSQA", _truth([]), "at least one word"),
    ],
)
def test_media_and_truths_fit_the_task(
    release: Path, folder: str, change: Callable[[list[Any]], object], message: str
) -> None:
    tree = read_tree(edited(release, folder, change))
    errors = {name: f"{error.error} expected: {error.expected}" for name, error in tree.errors}
    assert message in errors[f"{folder}/0001"]
    assert f"{folder}/0001" not in {sample.id[: len(folder) + 5] for sample in tree.samples}


def test_no_candidate_may_be_right_and_words_end_where_they_end(release: Path) -> None:
    edited(release, "VAR", _truth([]))
    tree = read_tree(edited(release, "AVSQA", _truth("#cone;sphere;#")))
    assert tree.errors == []
    truths = {(sample.folder, sample.position): sample.truth for sample in tree.samples}
    assert (truths["VAR", 1], truths["AVSQA", 1]) == ((), ("cone", "sphere"))


def test_a_question_and_its_confirmation_are_not_asked_without_each_other(release: Path) -> None:
    def change(rows: list[Any]) -> None:
        del rows[0]["output"]  # a question
        rows[3]["input"]["video"] = "./input/videos/gone.mp4"  # the confirmation of the other

    tree = read_tree(edited(release, "VSQA_V", change))
    assert [(sample.position, sample.unconfirmed) for sample in tree.samples if sample.folder == "VSQA_V"] == [
        (1, True)
    ]
    assert {name: error.error.partition(": ")[2] for name, error in tree.errors} == {
        "VSQA_V/0000": "there is no 'output'",
        "VSQA_V/0003": "the file does not exist",
        "VSQA_V/0002": "its question, sample 0, cannot be used",
    }
    assert not any(sample.unconfirmed for sample in tree.samples if sample.folder == "VSQA_I"), "an empty one excuses"


def test_an_entry_without_an_id_may_be_a_confirmation(release: Path) -> None:
    def change(rows: list[Any]) -> None:
        rows[3] = "damaged"

    tree = read_tree(edited(release, "ASQA", change))
    question_samples = [sample for sample in tree.samples if sample.folder == "ASQA"]
    assert [(sample_.position, sample_.unconfirmed) for sample_ in question_samples] == [
        (0, False),
        (1, True),
        (2, False),
    ]


def test_options_that_read_alike_are_one_and_foreign_truths_are_told(release: Path) -> None:
    def change(rows: list[Any]) -> None:
        rows[0]["input"]["question"]["options"] = ["Yes", "yes ", "no", "", "not sure"]
        rows[0]["output"]["question_answer"] = "maybe"

    tree = read_tree(edited(release, "AVH", change))
    sample = next(sample_ for sample_ in tree.samples if sample_.folder == "AVH")
    assert sample.options == ("Yes", "no", "not sure")
    assert "AVH: of 1 samples the truth is not among the options (00000)." in tree.notes


def test_what_is_no_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo, match="there is no task of AVI-Bench"):
        read_tree(tmp_path)
    path = data(make_release(tmp_path, {"AMIC": 2}), "AMIC")
    path.write_text('{"not": "a list"}')
    with pytest.raises(NothingToDo, match="holds an object"):
        read_tree(tmp_path)


def test_a_file_that_cannot_be_read_costs_its_own_task(release: Path) -> None:
    path = data(release, "VMIC")
    path.write_text(path.read_text()[:50])
    tree = read_tree(release)
    (error,) = tree.errors
    assert str(error[1].path) == str(path)
    assert {sample.folder for sample in tree.samples} == TASK_OF.keys() - {"VMIC"}


def test_what_we_write_is_read_as_it_was_meant(tmp_path: Path) -> None:
    boxes = AviBoxes(size=(64, 48), boxes={"dog_1": (1, 2, 10, 20), "cat_1": (0, 0, 4, 4)})
    frames = AviBoxes(size=(64, 48), boxes={"frame_0": None, "frame_1": (1, 2, 10, 20)})
    answers: dict[str, tuple[AviAnswer, object]] = {
        "AMIC": ({"dog": 2}, {"dog": 2}),
        "AVL": (boxes, SoundingBoxes(width=64, height=48, boxes=(("dog", (1, 2, 11, 22)), ("cat", (0, 0, 4, 4))))),
        "AVR": ((3, 1), (3, 1)),
        "AVC": (("one", "two"), ("one", "two")),
        "AVH": ("yes", "yes"),
        "AVLG": (frames, FrameBoxes(width=64, height=48, boxes=(None, (1, 2, 11, 22)))),
        "AVSQA": ("red;blue", ("red", "blue")),
    }
    for folder, (answer, _) in answers.items():
        root = data(tmp_path, folder).parent
        (root / "input/wavs").mkdir(parents=True)
        (root / "input/images").mkdir()
        for name in ("input/wavs/a.wav", "input/images/a.png"):
            (root / name).write_bytes(b"a")
        options = ("#red#", "#blue#", "#red;blue#") if folder == "AVSQA" else ("yes", "no", "dog", "cat")
        entry = AviEntry(
            id="a", folder=folder, subtask="own", prompt="How.", text="What?", options=options, answer=answer,
            sounds=("input/wavs/a.wav",), images=("input/images/a.png",) * 4,
        )  # fmt: skip
        (root / "data.json").write_bytes(data_json([entry_json(entry)]))
    tree = read_tree(tmp_path)
    assert tree.errors == []
    assert {sample.folder: sample.truth for sample in tree.samples} == {
        folder: truth for folder, (_, truth) in answers.items()
    }
    list_sample = next(sample for sample in tree.samples if sample.folder == "AVSQA")
    assert (list_sample.options, list_sample.words) == (("#red#", "#blue#", "#red;blue#"), ("red", "blue"))
    assert all(
        (sample.subtask, sample.prompt, sample.text, sample.name) == ("own", "How.", "What?", "a")
        for sample in tree.samples
    )
