"""Samples of `make avi`: truths are dealt evenly, nothing but the media tells them, and captions are proven."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from auscult.cases.avi_tree import read_tree
from auscult.cases.avibench import DATA, data_json, entry_json, task_folder
from auscult.errors import AuscultError, UsageError
from auscult.jobs.make_avi import Networks, captions_table, chance_of, tasks_table
from auscult.media.wav import encode_wav
from auscult.record import codec
from auscult.rng import generator
from auscult.scenes.facts import facts_from_json
from auscult.scenes.familiar import understanding
from auscult.scenes.familiar.base import VOICES, FamiliarKind, World
from auscult.scenes.familiar.kinds import KINDS, draw, kinds_of, sample, true_answer
from auscult.scenes.familiar.material import Material, open_material
from auscult.scenes.familiar.understanding import Caption, prove
from auscult.score.answers import AnswerScore, retrieval
from auscult.score.tasks import TASKS

WORLD = World()
MADE = [kind for kind in KINDS.values() if kind.source == "scenes"]
CHOICES = [kind for kind in KINDS.values() if kind.answers and TASKS[kind.folder].prompt == "options"]
STILL = ("made_sounds", "made_picture", "made_located", "made_sounds_wanted", "made_pictures_wanted", "described")


def test_every_familiar_task_has_a_type_that_needs_no_file() -> None:
    familiar = [task.name for task in TASKS.values() if not task.confirmed]
    assert list(dict.fromkeys(kind.folder for kind in MADE)) == familiar
    assert all(kinds_of(name, Material()) for name in familiar)


@pytest.mark.parametrize("kind", CHOICES, ids=lambda kind: kind.name)
def test_answers_without_a_look_are_at_chance(kind: FamiliarKind) -> None:
    """Always the same answer, a random one, and the truths of another seed."""
    n_questions, chance = 600, 1 / len(kind.answers)
    true, other = (
        [true_answer(kind, index, seed=seed, world=WORLD) for index in range(n_questions)] for seed in (0, 1)
    )
    assert {abs(true.count(answer) - n_questions * chance) <= 1 for answer in kind.answers} == {True}
    rng = generator(1, "random answerer", kind.name)
    guesses = [kind.answers[int(rng.integers(len(kind.answers)))] for _ in true]
    for guessed in (guesses, other):
        right = sum(guess == truth for guess, truth in zip(guessed, true, strict=True)) / n_questions
        assert abs(right - chance) <= 4 * math.sqrt(chance / n_questions)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [kind for kind in CHOICES if kind in MADE], ids=lambda kind: kind.name)
def test_the_text_of_a_question_does_not_depend_on_its_answer(kind: FamiliarKind, seed: int) -> None:
    texts_and_options = {
        (question.text, question.options)
        for question in (kind.draw(generator(seed, kind.name), WORLD, answer) for answer in kind.answers)
    }
    assert len(texts_and_options) == 1


@pytest.mark.parametrize("name", ["made_sounds_wanted", "made_pictures_wanted"])
def test_candidates_of_retrieval_are_right_equally_often(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(understanding, "played", lambda *_, **__: np.zeros(1, np.float32))
    monkeypatch.setattr(understanding, "_scene", lambda *_: SimpleNamespace(file=(".jpg", b""), made_of=[]))
    truths = [draw(KINDS[name], index, seed=0, world=WORLD).truth for index in range(120)]
    sets: list[tuple[int, ...]] = [tuple(int(str(candidate)) for candidate in truth) for truth in truths]  # type: ignore[union-attr]
    assert [len(candidates_) for candidates_ in sets].count(2) == 40
    often = [sum(index in candidates_ for candidates_ in sets) for index in range(understanding.CANDIDATES)]
    assert max(abs(count - 24) for count in often) <= 3 * math.sqrt(120 * 0.2 * 0.8)
    rng = generator(0, "random answerer")
    guessed = retrieval([(int(rng.integers(10)),) for _ in sets], sets)
    constant = retrieval([(4,)] * len(sets), sets)
    ideal = retrieval(sets, sets)
    assert isinstance(guessed, AnswerScore)
    assert isinstance(constant, AnswerScore)
    assert isinstance(ideal, AnswerScore)
    assert abs(guessed.value - 1 / 6) <= 0.07  # R@1 and R@3 .2, F1 .133
    assert constant.value <= guessed.value + 0.07
    assert ideal.value == 1.0  # many sets of candidates, so that right answers are not taken for repeats


@pytest.mark.slow
def test_the_truths_are_read_back_as_they_were_dealt(tmp_path: Path) -> None:
    """Counts, boxes, indices and frames go through the released layout and the reader of the suite."""
    for name in STILL:
        kind = KINDS[name]
        made_sample = sample(kind, 0, seed=3, world=WORLD)
        for file, data in made_sample.files.items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_bytes(data)
        (tmp_path / task_folder(kind.folder) / DATA).write_bytes(data_json([entry_json(made_sample.entry)]))
    listing = read_tree(tmp_path)
    assert not listing.errors
    sample_of = {sample_.subtask: sample_ for sample_ in listing.samples}
    assert len(sample_of) == len(STILL)
    assert sample_of["made_sounds"].truth == draw(KINDS["made_sounds"], 0, seed=3, world=WORLD).truth
    assert sample_of["made_picture"].truth == draw(KINDS["made_picture"], 0, seed=3, world=WORLD).truth
    assert len(sample_of["made_sounds_wanted"].sounds) == len(sample_of["made_pictures_wanted"].images) == 10
    boxes: Any = sample_of["made_located"].truth
    assert (boxes.width, boxes.height) == (640, 480)
    assert all(
        name in VOICES and 0 <= box[0] < box[2] <= 640 and 0 <= box[1] < box[3] <= 480 for name, box in boxes.boxes
    )
    frames: Any = sample_of["described"].truth
    assert len(frames.boxes) == len(sample_of["described"].images) == 10


def test_captions_differ_and_a_false_clause_is_refused() -> None:
    question = draw(KINDS["captioned"], 0, seed=0, world=WORLD)
    facts = facts_from_json(question.proof["facts"])
    captions = [codec.from_json(Caption, row) for row in question.proof["captions"]]
    assert len({caption.text for caption in captions}) == 4
    assert question.truth == tuple(caption.text for caption in captions)
    for caption in captions:
        assert len(caption.clauses) >= len(facts.things)
        prove(caption, facts)
    clause = captions[0].clauses[0]
    assert clause.form is not None
    denied = replace(clause, form={"op": "not", "of": clause.form})
    with pytest.raises(AuscultError, match="the proof of"):
        prove(replace(captions[0], clauses=(denied,)), facts)


def test_references_of_a_clip_are_nearer_to_one_another_than_to_those_of_another() -> None:
    entry = sample(KINDS["made_sounds"], 0, seed=0, world=WORLD).entry
    rows = [
        entry_json(replace(entry, answer=draw(KINDS["captioned"], index, seed=0, world=WORLD).truth))
        for index in (0, 1)
    ]
    table = captions_table(rows, Networks(_letters, lambda texts: np.zeros(len(texts))))
    assert [row[0] for row in table.rows] == ["METEOR", "ROUGE-L", "CIDEr-D", "SBERT", "FENSE"]
    assert all(float(own_score) > float(other) for _, own_score, other in table.rows)


def _letters(texts: Any) -> Any:
    """A sentence encoder that counts pairs of letters."""
    counts = np.zeros((len(texts), 997))
    for row, text in enumerate(texts):
        for letter, next_letter in pairwise(text):
            counts[row, (ord(letter) * 31 + ord(next_letter)) % 997] += 1
    return counts - counts.mean(axis=0)


def test_chance_is_that_of_the_scores() -> None:
    entry = entry_json(sample(KINDS["made_located"], 0, seed=0, world=WORLD).entry)
    random, constant = chance_of("AVL", [entry])
    assert 0 <= float(random) < 60
    assert float(constant) > 0  # a box as large as the picture overlaps every true one
    assert chance_of("AVC", [entry]) == chance_of("AVM", []) == ("-", "-")
    assert tasks_table({"AVM": []}).rows == (("AVM", "0", "", "-", "-"),)


def write_material(root: Path) -> None:
    rng = np.random.default_rng(0)
    for label in ("dog_bark", "owl", "bird", "rain", "water"):
        (root / "sounds" / label).mkdir(parents=True)
        (root / "sounds" / label / "a.wav").write_bytes(encode_wav(rng.uniform(-0.3, 0.3, 16_000), 16_000))
    (root / "photographs" / "images").mkdir(parents=True)
    cv2.imwrite(str(root / "photographs" / "images" / "one.png"), rng.integers(0, 255, (100, 200, 3)).astype(np.uint8))
    boxes = [
        (1, 1, (10, 10, 60, 50), 0),
        (1, 2, (0, 0, 3, 3), 0),
        (1, 3, (100, 0, 90, 90), 1),
        (2, 1, (0, 0, 50, 50), 0),
    ]
    images = [
        {"id": 1, "file_name": "one.png"},
        {"id": 2, "file_name": "../gone.png"},
        {"id": 3, "file_name": "no.png"},
    ]
    instances = {
        "images": [{**image, "width": 200, "height": 100} for image in images],
        "annotations": [
            {"image_id": image, "category_id": name, "bbox": box, "iscrowd": crowd} for image, name, box, crowd in boxes
        ],
        "categories": [{"id": index, "name": name} for index, name in enumerate(("dog", "cup", "person"), start=1)],
    }
    (root / "photographs" / "instances.json").write_text(json.dumps(instances))


def test_a_folder_of_real_material_is_listed_and_used(tmp_path: Path) -> None:
    write_material(tmp_path)
    material, errors = open_material(tmp_path)
    assert material.labels == ("dog", "owl", "rain", "water")  # what a bird says, an owl may say too
    (photograph,) = material.photographs
    assert photograph.boxes == {"dog": ((10, 10, 60, 50),)}  # a cup is too small, people are a crowd
    assert photograph.shown == {"dog", "cup", "person"}
    assert ["gone.png" in errors[0].error, Path(errors[1].path or "").name] == [True, "no.png"]
    world = World(material=material)
    located = draw(KINDS["photograph_located"], 0, seed=0, world=world)
    assert located.options == ("dog",)
    assert located.images == ((".png", photograph.path.read_bytes()),)
    assert [kind.name for kind in kinds_of("AVR", material)] == ["made_pictures_wanted"]  # no ten pairs
    with pytest.raises(UsageError, match="no labelled recording"):
        open_material(tmp_path / "photographs" / "images")


def write_pairs(root: Path) -> None:
    """Ten labels with a sound and a picture; three have a clip, in which a square goes right and then leaves."""
    rng = np.random.default_rng(0)
    for number in range(10):
        for place, suffix in (("sounds", "wav"), ("pictures", "png")):
            (root / place / f"thing {number}").mkdir(parents=True)
            path = root / place / f"thing {number}" / f"a.{suffix}"
            if suffix == "wav":
                path.write_bytes(encode_wav(rng.uniform(-0.3, 0.3, 8000), 16_000))
            else:
                cv2.imwrite(str(path), np.full((12, 12, 3), 20 * number, np.uint8))
    for label in ("thing 1", "thing 4", "thing 7"):
        for place in ("frames", "masks"):
            (root / "clips" / label / "ä 1" / place).mkdir(parents=True)
        for moment in range(10):
            mask = np.zeros((144, 256), np.uint8)
            mask[40:60, 20 * moment : 20 * moment + 30 * (moment < 9)] = 255
            clip = root / "clips" / label / "ä 1"
            cv2.imwrite(str(clip / "masks" / f"{moment + 5}.png"), mask)
            cv2.imwrite(str(clip / "frames" / f"{moment + 5}.png"), np.repeat(mask[..., None], 3, axis=2))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("pairs")
    write_pairs(root)
    material, errors = open_material(root)
    assert not errors
    return World(material=material)


@pytest.mark.parametrize("name", ["how_many_recorded", "where_first_recorded", "heard_in_clips"])
def test_one_sense_alone_does_not_tell_an_answer_of_real_material(name: str, pairs: World) -> None:
    """Whatever is true, text and pictures are the same, and as many sounds are heard, each as long."""
    kind = KINDS[name]
    assert kind in kinds_of(kind.folder, pairs.material)
    asked, heard = set(), dict[str, set[str]]()
    for answer in dict.fromkeys(kind.answers):
        drawn = kind.draw(generator(0, "one sense"), pairs, answer)
        frames = [data for _, data in drawn.images] if drawn.frames is None else [next(iter(drawn.frames)).tobytes()]
        tracks = drawn.proof["tracks"]
        asked.add((drawn.text, drawn.options, *frames, *(span[1] for track in tracks for span in track["spans"])))
        heard.setdefault(answer, set()).update(track["source"]["label"] for track in tracks)
    assert len(asked) == 1
    assert all(first != second for first, second in pairwise(heard.values())) or name == "where_first_recorded"


def test_of_made_things_as_many_are_heard_whatever_the_answer_is() -> None:
    kind, heard = KINDS["how_many_sound"], dict[str, set[int]]()
    for answer in kind.answers:
        drawn = [kind.draw(generator(0, "count", number), WORLD, answer) for number in range(4)]
        plans = [one.proof["plan"] for one in drawn]
        heard[answer] = {
            sum(bool(thing["track"]) for thing in plan["objects"]) + len(plan["elsewhere"]) for plan in plans
        }
    assert set(map(frozenset, heard.values())) == {frozenset({4, 5})}


def test_what_is_shown_and_heard_of_real_material_is_the_answer(pairs: World) -> None:
    for answer in KINDS["how_many_recorded"].answers:
        shown, heard = _labels(KINDS["how_many_recorded"].draw(generator(0, "pairs"), pairs, answer))
        assert len(set(heard)) == 3
        assert len(set(shown) & set(heard)) == int(answer)
    for answer in KINDS["where_first_recorded"].answers:
        shown, heard = _labels(KINDS["where_first_recorded"].draw(generator(0, "pairs"), pairs, answer))
        assert set(heard) <= set(shown)
        assert shown.index(heard[0]) == ("left", "middle", "right").index(answer)


def _labels(drawn: Any) -> tuple[list[str], list[str]]:
    """Labels from left to right, and in the order in which they are heard."""
    tracks = sorted(drawn.proof["tracks"], key=lambda track: track["spans"])
    shown = [name.split("/")[1] for name in drawn.proof["pictures"][0]]
    return shown, [track["source"]["label"] for track in tracks]


@pytest.mark.parametrize(("answer", "down"), [("above", 0), ("below", 288), ("not there", None)])
def test_a_box_of_a_clip_is_that_of_its_mask_where_the_thing_is_heard(
    answer: str, down: int | None, pairs: World
) -> None:
    drawn = KINDS["heard_in_clips"].draw(generator(0, "clips"), pairs, answer)
    assert len(drawn.images) == 10
    truth: Any = drawn.truth
    assert truth.size == (512, 576)
    boxes = list(truth.boxes.values())
    assert boxes.pop() is None  # it has left, and "14.png" comes last
    if down is None:
        assert boxes == [None] * 9
    else:  # twice as large as in the file
        wanted = [(40 * moment, 80 + down, 60, 40) for moment in range(9)]
        assert np.abs(np.subtract(boxes, wanted)).max() <= 1


def test_a_clip_with_few_masks_is_listed_and_not_used(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    (tmp_path / "clips" / "thing 4" / "ä 1" / "masks" / "9.png").unlink()
    material, (error,) = open_material(tmp_path)
    assert material.filmed == ("thing 1", "thing 7")
    assert error.error == "9 of 10 frames have a mask"
    assert [kind.name for kind in kinds_of("AVLG", material)] == ["described"]
