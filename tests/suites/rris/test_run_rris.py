"""`auscult run rris`: sentences that name a block or nothing, models that know blocks by colour, and their record."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import NothingToDo, RecordError, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.media.rle import encode
from auscult.models.adapters import ModelSpec
from auscult.models.spec import model_spec
from auscult.report.suite import read_page
from auscult.score.masks import SentenceAreas, mrr, r2vos_r, referring_miou, riou
from auscult.suites.core.compare import write_comparison
from auscult.suites.core.records import score_record
from auscult.suites.registered import SuiteRun, options_of
from auscult.suites.rris import SUITE, pictures
from auscult.suites.rris import cases as rris_cases
from auscult.suites.rris import run as rris_run

SIZE = (24, 32)
MODELS = """
def note(name, query):
    with open(__file__ + ".calls", "a") as file:
        file.write(name + "\\n")


def red(frames, query, **rest):
    note("red", query)
    return frames[..., 0] > 150


def careful(frames, query, **rest):
    note("careful", query)
    return (frames[..., 0] > 150) & ("red block" in query.text)


def picky(frames, query, **rest):
    note("picky", query)
    if query.text == "zebra":
        raise RuntimeError("no zebras")
    return frames[..., 0] > 150
"""
PICTURES = 7


def block(number: int) -> np.ndarray[Any, Any]:
    mask = np.zeros(SIZE, bool)
    mask[4:14, number : number + 12] = True
    return mask


def lines() -> list[dict[str, Any]]:
    """As `auscult stress negatives` writes them; picture 5 has no negative sentence, picture 6 no positive one."""
    rows = []
    empty_mask = encode(np.zeros(SIZE, bool))
    for number in range(PICTURES):
        sentences = [("the red block", ""), ("block", "")] if number != 6 else []
        sentences += [("zebra", "category"), ("the blue block", "attribute"), ("the red block by a cat", "relation")]
        for index, (text, kind) in enumerate(sentences if number != 5 else sentences[:2], start=1):
            row = {"id": f"{number}/{index}", "frame": f"frames/{number}.png", "text": text, "exists": not kind}
            row |= {"mask": empty_mask if kind else encode(block(number)), "reference": f"r{number}"}
            row |= {"category": "block", "split": "seen" if number % 2 else "unseen"}
            rows.append({**row, "negative": {"kind": kind}} if kind else row)
    return rows


def material(folder: Path) -> Path:
    for number in range(PICTURES):
        frame = np.full((*SIZE, 3), 30, np.uint8)
        frame[block(number), 0] = 220
        frame[20:22, number, 0] = 220  # a few pixels more
        write_frame(folder / f"data/frames/{number}.png", frame)
    (folder / "data/items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines()))
    (folder / "mine.py").write_text(MODELS)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return material(tmp_path)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one model, kept as `red`, and the same run with a second one in `out`."""
    folder = material(tmp_path_factory.mktemp("rris"))
    shutil.copytree(run(folder, "red").out, folder / "red")
    run(folder, "careful")
    return folder


def run(root: Path, *models: str, **options: Any) -> SuiteRun:
    names = [f"{root / 'mine.py'}:{name}" for name in models]
    return SUITE.run(
        options_of(SUITE, {"data": root / "data", "out": root / "out", "models": names, "workers": 0, **options})
    )


def calls(root: Path) -> list[str]:
    return (root / "mine.py.calls").read_text().split()


def expected(paints: Any) -> list[SentenceAreas]:
    """The areas of a model that answers a sentence about a picture with a mask."""
    return [
        SentenceAreas.of(
            paints(row["text"], int(row["frame"][7])),
            block(int(row["frame"][7])) if row["exists"] else None,
            reference=row["reference"], id=row["id"], picture=row["frame"],
        )
        for row in lines()
    ]  # fmt: skip


def seen_block(number: int) -> np.ndarray[Any, Any]:
    mask = block(number)
    mask[20:22, number] = True
    return mask


def cells(root: Path, **fields: Any) -> list[dict[str, Any]]:
    rows = json.loads((root / "out/cells.json").read_text())
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def test_numbers_are_those_of_the_scores_with_intervals_over_pictures(two_runs: Path) -> None:
    paints = {
        "mine.red": lambda _, number: seen_block(number),
        "mine.careful": lambda text, number: seen_block(number) & ("red block" in text),
    }
    for model, paint in paints.items():
        for metric, score in (("rIoU", riou), ("mRR", mrr), ("mIoU", referring_miou)):
            (cell,) = cells(two_runs, measure="level", model=model, metric=metric, group="clean", split="")
            outcome = score(expected(paint))
            assert cell["value"] == pytest.approx(outcome.value)
            assert (cell["n"], cell["undefined"], cell["failed"]) == (6, 1, 0)
            assert "score_metric" in cell["signature"]
            assert metric != "rIoU" or cell["low"] <= cell["value"] <= cell["high"]
    (right,) = cells(two_runs, model="mine.careful", metric="mRR", group="relation", measure="level", split="")
    assert (right["value"], right["n"]) == (0.0, 6)
    (wrong,) = cells(two_runs, model="mine.careful", metric="mRR", group="category", measure="level", split="")
    assert wrong["value"] == 1.0
    assert {row["split"] for row in cells(two_runs)} == {"", "seen", "unseen"}
    (painted,) = cells(two_runs, measure="level", model="mine.careful", metric="R", group="clean", split="")
    assert painted["value"] == pytest.approx(r2vos_r(expected(paints["mine.careful"])).value)
    assert painted["low"] < painted["value"] < painted["high"] <= 1, "taken from 1, so that its ends change places"


def test_tables_baselines_oracle_and_pages(two_runs: Path) -> None:
    tables = score_record(two_runs / "out", SUITE).tables
    rows = {row[0]: row for row in tables["general"].rows}
    assert rows["baseline.empty.v1"][2].startswith("100.0")
    assert rows["baseline.full_frame.v1"][2].startswith("0.0")
    assert {"baseline.centre_box.v1", "classical.lexicon.v1"} <= rows.keys()
    assert rows["mine.red with an oracle of existence"][2].startswith("100.0")
    assert rows["mine.red"][-1] == "6 (1 undefined)"
    for name in ("general", "general_kinds", "more", "differences"):
        assert "1 have no negative sentence, so no mRR, and 1 no positive one" in tables[name].note
    kinds = {row[1] for row in tables["general_kinds"].rows}
    assert kinds == {"category", "attribute", "relation", "origin (positive)"}
    page = read_page(two_runs / "out")
    sections = {section.name: section for section in page.sections}
    assert sections.keys() == {"general", "models", "answers", "invented", "missed"}
    worst = sections["invented"].examples
    assert len(worst) == PICTURES - 1  # one a picture
    assert dict(worst[0].facts)["should be"] == "nothing"
    assert (two_runs / "out" / worst[0].file).is_file()
    assert "mine.red: rIoU" in page.lead


def test_below_each_invented_mask_stands_how_much_of_the_picture_it_covers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a name above it the share was cut off."""
    write_frame(tmp_path / "a.png", np.zeros((*SIZE, 3), np.uint8))
    case = rris_cases.RrisCase(
        id="1", clip="a", split="", text="the cat", frame=tmp_path / "a.png", size=SIZE, target=None, reference="1",
        kind="target", category="", digest="d" * 16, truth="t",
    )  # fmt: skip
    painted = {"size": [*SIZE], "counts": [encode(block(2))["counts"]], "threshold": None}
    order = pictures._Order(case=case, models=("one", "two"), rows=(painted, None), values=(0.15625, None))
    drawn: list[Any] = []
    monkeypatch.setattr(pictures, "strip", lambda rows, **_: (drawn.extend(rows), np.zeros((4, 4, 3), np.uint8))[1])
    pictures._WorstDrawer()(order)
    below = [(cell.over, cell.why) for cell in drawn[0].cells]
    assert below == [("one", "15.6 % of the picture"), ("two", "failed")]


class Looking:
    """A model that says where it looks, and never learned `blue`."""

    name, meta, tasks, attends = "own.looking.v1", None, ("ris",), True

    def predict(self, frames: Any, *_: object, **__: object) -> Any:
        return frames[..., 0] > 150

    def attention(self, *_: object) -> dict[str, dict[str, Any]]:
        share = np.linspace(0.2, 0.6, 12, dtype=np.float32).reshape(3, 4)
        return {"blank tokens": {"stage 4": share}, "memory tokens": {"stage 4": 1 - share}}

    def unknown_words(self, text: str) -> tuple[str, ...]:
        return ("block",) if text == "block" else ()


def test_attention_is_drawn_and_failures_of_near_categories_and_rare_words(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the place of a network: what is drawn is what a model says, see `AttentiveModel`."""
    (root / "data/items.jsonl").write_text("".join(json.dumps(row | {"category": "horse"}) + "\n" for row in lines()))
    spec = replace(model_spec(f"{root / 'mine.py'}:careful"), attends=True)
    monkeypatch.setattr(rris_run, "named_models", lambda *_, **__: (spec,))
    monkeypatch.setattr(ModelSpec, "registered", lambda _: Looking())
    sections = {section.name: section for section in read_page(run(root, "careful").out).sections}
    near_examples, rare, attention_examples = (sections[name].examples for name in ("near", "rare", "attention-1"))
    assert {dict(example.facts)["near"] for example in near_examples} == {
        "cat and horse"
    }  # nothing is painted for the zebra
    assert {(example.text, dict(example.facts)["never learned"]) for example in rare} == {("block", "block")}
    assert len(attention_examples) == 8  # four pictures, each with what is there and what is not
    assert [example.title == "it is there" for example in attention_examples] == [True, False] * 4
    assert all((root / "out" / example.file).is_file() for example in attention_examples)
    assert "mine.careful" in sections["attention-1"].lead


def test_a_model_that_is_added_computes_itself_alone(two_runs: Path) -> None:
    assert calls(two_runs) == ["red"] * len(lines()) + ["careful"] * len(lines())


def test_its_record_is_compared_without_a_model(two_runs: Path, root: Path) -> None:
    joint_rows = score_record(two_runs / "out", SUITE).tables["general"].rows
    other = run(root, "careful", data=two_runs / "data").out
    comparison_tables = write_comparison([two_runs / "red", other], SUITE, root / "compared").tables
    assert set(joint_rows) == set(comparison_tables["general"].rows)
    pairs = {row[:2] for row in comparison_tables["differences"].rows}
    assert {("mine.red - mine.careful", kind) for kind in ("all", "category", "attribute", "relation")} <= pairs


def test_a_folder_of_predictions_is_looked_up_and_stray_files_are_named(root: Path) -> None:
    for row in lines():
        (root / f"mine/clean/{row['id']}").parent.mkdir(parents=True, exist_ok=True)
        write_mask(root / f"mine/clean/{row['id']}.png", block(int(row["frame"][7])) & row["exists"])
    write_mask(root / "mine/clean/zebra.png", block(0))
    options = {"data": root / "data", "models": [f"predictions:{root / 'mine'}"], "workers": 0}
    out = SUITE.run(options_of(SUITE, {**options, "out": root / "out"})).out
    (cell,) = cells(root, model="predictions.mine", metric="rIoU", group="clean", measure="level", split="")
    assert (cell["value"], cell["n"]) == (1.0, 6)
    assert "1 file that no request asks for: clean/zebra.png" in (out / "errors.jsonl").read_text()


def test_a_failure_costs_its_reference_and_is_counted(root: Path) -> None:
    suite_run = run(root, "picky")
    assert suite_run.summary.failed == 6
    (cell,) = cells(root, model="mine.picky", metric="rIoU", group="clean", measure="level", split="")
    assert (cell["n"], cell["failed"]) == (1, 6)  # picture 5 has no negative sentence
    (pixels,) = cells(root, model="mine.picky", metric="mask ratio", group="clean", measure="level", split="")
    assert (pixels["n"], pixels["failed"]) == (12, 6)


@pytest.mark.parametrize("about_value", [{}, {"reference": "r", "kind": "", "picture_px": "many"}, [1]])
def test_a_record_that_does_not_know_its_references_is_refused(
    two_runs: Path, tmp_path: Path, about_value: Any
) -> None:
    folder = tmp_path / "altered"
    shutil.copytree(two_runs / "red", folder)
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    rows[3]["about"] = about_value
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(RecordError, match=r"reference|no case"):
        score_record(folder, SUITE)


@pytest.mark.parametrize("training", [0, 1])
def test_refs_as_released_with_exist(root: Path, training: int) -> None:
    images = [{"id": n, "file_name": f"{n}.png", "height": SIZE[0], "width": SIZE[1]} for n in range(2)]
    marks = [{"id": 10 + n, "image_id": n, "category_id": 1, "segmentation": encode(block(n))} for n in range(2)]
    coco = {"images": images, "annotations": marks, "categories": [{"id": 1, "name": "block"}]}
    sentences = [
        {"sent_id": 1, "sent": "red block", "raw": "red block", "tokens": []},
        {"sent_id": 2, "sent": "zebra", "raw": "zebra", "tokens": [], "exist": False},
    ]
    refs = [
        {"ref_id": 5 + n, "ann_id": 10 + n, "image_id": n, "category_id": 1, "sentences": sentences}
        | {"split": "train" if n < training else "val"}
        for n in range(2)
    ]
    folder = root / "rrefcoco"
    folder.mkdir()
    (folder / "refs(unc).p").write_bytes(pickle.dumps(refs))
    (folder / "instances.json").write_text(json.dumps(coco))
    suite_run = run(root, "red", data=folder, images=root / "data/frames")
    (cell,) = cells(root, model="mine.red", metric="mRR", group="not told", measure="level", split="")
    assert (cell["value"], cell["n"]) == (0.0, 2)
    assert suite_run.summary.n == 4 * 5
    (note,) = (table.note for table in suite_run.shown if table.title.startswith("Right masks"))
    assert ("several splits are counted" in note) == bool(training)
    if training:
        assert "2 of the split val and 2 of the split train; --split val asks without training data" in note


def test_what_cannot_be_run_is_refused(root: Path) -> None:
    with pytest.raises(UsageError, match="no model was named"):
        run(root)
    with pytest.raises(UsageError, match="does not segment a picture by a sentence") as error:
        run(root, models=["classical.flow.v1"])
    assert error.value.expected == "a model of the task ris; classical.flow.v1 is one of vos"
    with pytest.raises(UsageError, match="a tool of other parts") as error:
        run(root, models=["classical.grabcut"])
    assert "a sentence" in str(error.value.expected)
    (root / "data/items.jsonl").write_text(json.dumps({**lines()[0], "text": " "}) + "\n")
    with pytest.raises(NothingToDo, match="holds no sentence"):
        run(root, "red")
