"""`stress negatives` as a job: what it writes is proven, read again by every reader, and the same whoever works."""

from __future__ import annotations

import json
import pickle
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from auscult.cases.listing import ListOptions, list_items
from auscult.cases.references import list_references
from auscult.errors import AuscultError, Mismatch, UsageError
from auscult.jobs.make import make_scenes
from auscult.jobs.negatives import stress_negatives
from auscult.jobs.negatives_files import statistics
from auscult.jobs.options import MakeOptions, NegativesOptions
from auscult.language.categories import coco_categories
from auscult.outcome import Undefined
from auscult.scenes.options import SceneOptions
from auscult.stress.negatives import KINDS, Seen, Subject, perturb
from auscult.stress.negatives.borrowing import borrowable
from auscult.suites.scene_source import unshown
from small_inputs import rows, save_frame, tree
from small_ref_avs import Clip, write_root, write_table

COCO = coco_categories()
SIZE = (60, 80)


def polygon(left_px: int, top: int, right: int, bottom: int) -> list[list[int]]:
    return [[left_px, top, right, top, right, bottom, left_px, bottom]]


def annotation(number: int, image: int, category: int, box: tuple[int, int, int, int], **fields: Any) -> dict[str, Any]:
    left_px, top, right, bottom = box
    row = {"id": number, "image_id": image, "category_id": category, "iscrowd": 0, "segmentation": polygon(*box)}
    return {**row, "bbox": [left_px, top, right - left_px, bottom - top], **fields}


CATEGORIES = [{"id": index, "name": name} for index, name in enumerate(COCO.names, start=1)]
NUMBER = {row["name"]: row["id"] for row in CATEGORIES}


def instances(**fields: Any) -> dict[str, Any]:
    crowd = annotation(5, 2, NUMBER["person"], (0, 0, 80, 20), iscrowd=1)
    return {
        "images": [
            {"id": index, "file_name": f"{index}.jpg", "height": SIZE[0], "width": SIZE[1]} for index in (1, 2, 3)
        ],
        "annotations": [
            annotation(1, 1, NUMBER["dog"], (2, 10, 30, 50)),
            annotation(2, 1, NUMBER["couch"], (10, 5, 78, 58)),
            annotation(3, 2, NUMBER["cat"], (50, 30, 70, 50)),
            annotation(4, 2, NUMBER["cat"], (20, 30, 45, 50)),
            crowd,
        ],
        "categories": CATEGORIES,
        **fields,
    }


def sentence(number: int, text: str, **fields: Any) -> dict[str, Any]:
    return {"sent_id": number, "raw": text, "sent": text.lower(), "tokens": text.lower().split(), **fields}


REFS = [
    {"ref_id": 7, "ann_id": 1, "image_id": 1, "category_id": NUMBER["dog"], "file_name": "1.jpg", "split": "val",
     "sent_ids": [1, 1], "sentences": [sentence(1, "The dog on the left."), sentence(1, "a puppy next to the sofa")]},
    {"ref_id": 8, "ann_id": 3, "image_id": 2, "category_id": NUMBER["cat"], "file_name": "2.jpg", "split": "train",
     "sent_ids": [3, 4], "sentences": [sentence(3, "cat near the people"), sentence(4, "two cats on the right")]},
    {"ref_id": 9, "ann_id": 2, "image_id": 1, "category_id": NUMBER["couch"], "file_name": "1.jpg", "split": "val",
     "sent_ids": [5, 6], "sentences": [sentence(5, "grey couch"), sentence(6, "a horse", exist=False)]},
]  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("negatives")
    for number in (1, 2):
        save_frame(folder / f"images/{number}.jpg", seed=number, size=SIZE)
    (folder / "coco.json").write_text(json.dumps(instances(images=instances()["images"][:2])))
    (folder / "refcoco").mkdir()
    (folder / "refcoco/instances.json").write_text(json.dumps(instances()))
    (folder / "refcoco/refs(unc).p").write_bytes(pickle.dumps(REFS, 0))
    return folder


def run(source: Path, out: Path, **options: Any) -> Path:
    listing = ListOptions(images=source.parent / "images" if source.name != "images" else None)
    listing = options.pop("listing", listing)
    stress_negatives(NegativesOptions(**{"source": source, "out": out, "workers": 0, "listing": listing, **options}))
    return out


@pytest.fixture(scope="module")
def negative_set(source: Path) -> Path:
    return run(source / "refcoco", source / "made", seed=3)


def test_every_negative_has_kind_origin_edits_and_proof(negative_set: Path) -> None:
    items = rows(negative_set / "items.jsonl")
    negatives = [item for item in items if not item["exists"] and "proof" in item["negative"]]
    assert len(negatives) >= 15
    for item in negatives:
        negative = item["negative"]
        assert {"kind", "of", "edits", "proof"} <= negative.keys()
        assert negative["proof"]["says"]
        present = {"dog", "couch"} if item["frame"] == "frames/1.jpg" else {"cat", "person"}
        if negative["proof"]["claim"] == "absent":
            assert not COCO.named(negative["proof"]["word"]) & COCO.related(present)


def test_positives_stand_beside_with_their_masks_and_the_whole_is_read_again(negative_set: Path) -> None:
    listing = list_references(negative_set)
    references = {ref.id: ref for picture in listing.pictures() for ref in picture.references}
    assert not listing.errors
    assert len(references) == 3
    ref = references["1/7"]
    assert [sentence_.text for sentence_ in ref.sentences if sentence_.exists] == [
        "The dog on the left.",
        "a puppy next to the sofa",
    ]
    assert sum(not sentence_.exists for sentence_ in ref.sentences) == 10
    assert all(sentence_.negative for sentence_ in ref.sentences if not sentence_.exists)
    assert references["1/9"].sentences[1].kind == "given"


def test_of_its_own_items_nothing_is_proven_absent_of_its_refer_files_as_before(
    negative_set: Path, tmp_path: Path
) -> None:
    """A picture's items are its references: the people of a picture may be among its other objects."""
    out = run(negative_set, tmp_path / "again", kinds=("category",), per="20", listing=ListOptions())
    texts = [{item["text"] for item in rows(folder / "items.jsonl")} for folder in (negative_set, out)]
    assert texts[0] == texts[1]
    assert list_references(negative_set).looked_for == frozenset()
    assert "refer/" in " ".join(list_references(negative_set).notes)
    whole = list_references(negative_set / "refer", ListOptions(images=negative_set / "frames"))
    assert "person" in whole.looked_for


def test_the_train_split_gets_one_a_sentence_unless_told(source: Path, negative_set: Path, tmp_path: Path) -> None:
    def count(out: Path) -> int:
        return sum(not row["exists"] for row in rows(out / "items.jsonl") if row["split"] == "train")

    assert count(negative_set) == 2
    given_options = frozenset({"per"})
    assert count(run(source / "refcoco", tmp_path / "four", per="4", given=given_options, split="train")) == 4


def test_refer_json_is_read_as_the_pickle_is(negative_set: Path) -> None:
    refs = json.loads((negative_set / "refer/refs(auscult).json").read_text())
    assert len(refs[0]["sentences"]) == 12
    assert all(sentence_["exist"] is False for ref in refs for sentence_ in ref["sentences"] if "exist" in sentence_)
    assert len({sentence_["sent_id"] for ref in refs for sentence_ in ref["sentences"]}) == sum(
        len(r["sentences"]) for r in refs
    )
    second = list_references(negative_set / "refer", ListOptions(images=negative_set / "frames"))
    first = list_references(negative_set)
    texts = [
        {
            (sentence_.text, sentence_.exists)
            for picture in listing.pictures()
            for ref in picture.references
            for sentence_ in ref.sentences
        }
        for listing in (second, first)
    ]
    assert texts[0] == texts[1]
    assert not second.errors
    crowds = [annotated for picture in second.pictures() for annotated in picture.objects if annotated.crowd]
    assert [crowd.category for crowd in crowds] == ["person"]


def test_rows_of_any_split_have_a_name_that_datasets_takes(source: Path, tmp_path: Path) -> None:
    """``all`` is none: `datasets` means every split by it; names that become one share a file."""
    folder = run(source / "coco.json", tmp_path / "no splits", per="1") / "dataset"
    assert {path.name for path in folder.iterdir()} == {"README.md", "data.jsonl"}
    assert "- split: data\n    path: data.jsonl\n" in (folder / "README.md").read_text()
    refs = [{**ref, "split": split} for ref, split in zip(REFS, ("test a", "all", "test-a"), strict=True)]
    (tmp_path / "refs").mkdir()
    (tmp_path / "refs/instances.json").write_text(json.dumps(instances()))
    (tmp_path / "refs/refs(unc).p").write_bytes(pickle.dumps(refs, 0))
    out = run(tmp_path / "refs", tmp_path / "odd", per="1", listing=ListOptions(images=source / "images"))
    counts = {path.stem: len(rows(path)) for path in (out / "dataset").glob("*.jsonl")}
    assert counts.keys() == {"test_a", "data"}
    assert sum(counts.values()) == len(rows(out / "items.jsonl"))


@pytest.mark.peer
def test_datasets_reads_the_rows(source: Path, negative_set: Path, tmp_path: Path) -> None:
    """By the package itself, which `make test-all` installs."""
    import datasets

    dataset = datasets.load_dataset(str(negative_set / "dataset"), cache_dir=str(tmp_path))
    items = {item["id"]: item for item in rows(negative_set / "items.jsonl")}
    assert set(dataset) == {"val", "train"}
    assert sum(map(len, dataset.values())) == len(items)
    for row in dataset["val"]:
        item = items[row["id"]]
        assert (row["text"], row["exists"], row["mask"]) == (item["text"], item["exists"], item["mask"])
        assert (negative_set / "dataset" / row["image"]).resolve().is_file()
    without = run(source / "coco.json", tmp_path / "without", per="1") / "dataset"
    assert set(datasets.load_dataset(str(without), cache_dir=str(tmp_path))) == {"data"}


def test_it_is_the_same_whoever_works_and_goes_on_where_it_stopped(
    source: Path, negative_set: Path, tmp_path: Path
) -> None:
    out = tmp_path / "cut"
    stress_negatives(
        NegativesOptions(
            source=source / "refcoco", out=out, workers=2, seed=3, listing=ListOptions(images=source / "images")
        )
    )
    assert (out / "items.jsonl").read_bytes() == (negative_set / "items.jsonl").read_bytes()
    whole_file = (out / "pictures.jsonl").read_bytes()
    (out / "pictures.jsonl").write_bytes(whole_file[: len(whole_file) // 2 + 40])  # as a killed run leaves it
    run(source / "refcoco", out, seed=3)
    assert (out / "items.jsonl").read_bytes() == (negative_set / "items.jsonl").read_bytes()
    with pytest.raises(Mismatch):
        run(source / "refcoco", out, seed=4)


# --- of more sentences those that a model paints most ---

PAINTER = """
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def predict(frames, query, **rest):
    with (HERE / "calls").open("a") as file:
        file.write(query.text + "\\n")
    if len(query.text) % 4 == 0 and not (HERE / "mended").exists():
        raise RuntimeError("not today")
    mask = np.zeros(frames.shape[:3], bool)
    mask[:, :, : len(query.text)] = "zebra" not in query.text
    return mask


def other(frames, query, **rest):
    return frames[..., 0] >= 8 * len(query.text)
"""


def painted_area(text: str) -> float:
    """The share of the picture that ``predict`` paints."""
    return 0.0 if "zebra" in text else len(text) / SIZE[1]


@pytest.fixture
def model(tmp_path: Path) -> str:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "painter.py").write_text(PAINTER)
    (folder / "mended").touch()
    return f"{folder / 'painter.py'}:predict"


def hard(source: Path, out: Path, model: str, **options: Any) -> list[dict[str, Any]]:
    run(source / "refcoco", out, **{"seed": 3, "per": "3", "hard": model, **options})
    return rows(out / "hard.jsonl")


def test_of_candidates_those_that_a_model_paints_most_are_kept(source: Path, model: str, tmp_path: Path) -> None:
    candidates = hard(source, tmp_path / "out", model)
    outcomes: dict[str, dict[str, list[float]]] = {}
    for row in candidates:
        assert (row["model"], row["round"], row["area"]) == ("painter", 1, painted_area(row["text"]))
        assert len(row["revision"]) == 12
        outcomes.setdefault(row["reference"], {"kept": [], "dropped": []})[row["outcome"]].append(row["area"])
    # of the split train one a sentence; one negative of the third was given
    counts = {name: (len(areas["kept"]), len(areas["dropped"])) for name, areas in outcomes.items()}
    assert counts == {"1/7": (3, 6), "1/9": (2, 4), "2/8": (2, 4)}
    assert all(min(outcome["kept"]) >= max(outcome["dropped"]) for outcome in outcomes.values())
    items = {item["id"]: item for item in rows(tmp_path / "out/items.jsonl") if "proof" in item.get("negative", {})}
    assert set(items) == {row["id"] for row in candidates if row["outcome"] == "kept"}
    for row in candidates:
        if row["outcome"] == "kept":
            assert items[row["id"]]["text"] == row["text"]
            assert items[row["id"]]["negative"]["hard"] == {
                name: row[name] for name in ("model", "revision", "round", "area")
            }
    plain = run(source / "refcoco", tmp_path / "plain", seed=3, per="3")
    candidate_texts = {row["text"] for row in candidates}
    assert all(
        item["text"] in candidate_texts for item in rows(plain / "items.jsonl") if "proof" in item.get("negative", {})
    )
    table = json.loads((tmp_path / "out/tables/hard.json").read_text())["rows"]
    assert table[0][2:6] == ["21", "0", "7", "14"]


def test_a_failure_has_no_area_and_is_asked_again(source: Path, model: str, tmp_path: Path) -> None:
    mended, calls = (Path(model).parent / name for name in ("mended", "calls"))
    all_candidates = hard(source, tmp_path / "whole", model)
    mended.unlink()
    candidates = hard(source, tmp_path / "out", model)
    failed = [row for row in candidates if len(row["text"]) % 4 == 0]
    assert 0 < len(failed) < len(candidates)
    for row in failed:
        assert (row["outcome"], row["area"]) == ("failed", None)
    assert {row["id"] for row in failed} == {row["id"] for row in rows(tmp_path / "out/errors.jsonl")}
    assert json.loads((tmp_path / "out/summary.json").read_text())["failed"] == len(failed)
    assert not {row["id"] for row in failed} & {item["id"] for item in rows(tmp_path / "out/items.jsonl")}
    mended.touch()
    calls.unlink()
    assert hard(source, tmp_path / "out", model) == all_candidates
    assert Counter(calls.read_text().splitlines()) == Counter(row["text"] for row in failed)
    assert not (tmp_path / "out/errors.jsonl").exists()


def test_answers_are_kept_where_a_run_stopped(source: Path, model: str, tmp_path: Path) -> None:
    all_candidates = hard(source, tmp_path / "out", model, workers=2)
    files = [tmp_path / "out" / name for name in ("hard.jsonl", "items.jsonl")]
    before = [file.read_bytes() for file in files]
    files[0].write_bytes(before[0][: len(before[0]) // 2])
    (Path(model).parent / "calls").unlink()
    hard(source, tmp_path / "out", model)
    assert [file.read_bytes() for file in files] == before
    assert len((Path(model).parent / "calls").read_text().splitlines()) < 0.6 * len(all_candidates)


def test_a_further_round_has_new_sentences_and_may_have_another_model(source: Path, model: str, tmp_path: Path) -> None:
    other = model.replace(":predict", ":other")
    first = hard(source, tmp_path / "out", model)
    shutil.copytree(tmp_path / "out", tmp_path / "one")
    with pytest.raises(Mismatch, match="round 1 was answered by painter"):
        hard(source, tmp_path / "out", other)
    second = hard(source, tmp_path / "out", other, rounds=2)
    assert [row for row in second if row["round"] == 1] == first
    new = [row for row in second if row["round"] == 2]
    assert {row["model"] for row in new} == {"painter.other"}
    assert not {(row["reference"], row["text"]) for row in new} & {(row["reference"], row["text"]) for row in first}
    assert Counter(row["outcome"] for row in new) == {"kept": 7, "dropped": 14}
    with pytest.raises(Mismatch, match="2 rounds"):
        hard(source, tmp_path / "out", model)
    both_rounds = hard(source, tmp_path / "one", model, rounds=2)
    assert both_rounds == hard(source, tmp_path / "both", model, rounds=2)
    assert [row for row in both_rounds if row["round"] == 1] == first
    lines = (tmp_path / "both/hard.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "both/hard.jsonl").write_text("".join(lines[:4]))
    with pytest.raises(Mismatch, match="round 1 is not at its end"):
        hard(source, tmp_path / "both", other, rounds=2)


def test_what_a_model_cannot_be_asked_is_refused(source: Path, model: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a model"):
        run(source / "refcoco", tmp_path / "out", rounds=2)
    with pytest.raises(UsageError, match="--per"):
        run(source / "refcoco", tmp_path / "out", per="9" * 5000)
    with pytest.raises(UsageError, match="does not segment a picture by a sentence"):
        hard(source, tmp_path / "out", "flow")
    with pytest.raises(UsageError, match="shows the pictures"):
        run(source / "coco.json", tmp_path / "out", hard=model, listing=ListOptions())
    hard(source, tmp_path / "out", "baseline.full_frame")
    with pytest.raises(Mismatch):
        run(source / "refcoco", tmp_path / "out", seed=3, per="3")


def test_coco_without_sentences_says_the_category_of_what_is_alone(source: Path, tmp_path: Path) -> None:
    out = run(source / "coco.json", tmp_path / "out", listing=ListOptions(images=source / "images"))
    items = rows(out / "items.jsonl")
    assert {item["text"] for item in items if item["exists"]} == {"the dog", "the couch"}
    assert {item["frame"] for item in items} == {"frames/1.jpg"}
    assert {name for name in tree(out) if name.endswith(".jpg")} == {"frames/1.jpg"}


def test_of_lvis_what_was_not_looked_for_on_a_picture_is_not_called_absent(source: Path, tmp_path: Path) -> None:
    """LVIS annotates a category on some pictures: the dog may be one of several, and two are known to be absent."""
    absent = ["horse", "bus"]
    images = instances()["images"][:1]
    images[0] |= {
        "neg_category_ids": [NUMBER[name] for name in absent], "not_exhaustive_category_ids": [NUMBER["dog"]],
    }  # fmt: skip
    (tmp_path / "lvis.json").write_text(json.dumps(instances(images=images)))
    listing = ListOptions(images=source / "images")
    out = run(tmp_path / "lvis.json", tmp_path / "out", listing=listing, kinds=("category", "target", "relation"))
    items = rows(out / "items.jsonl")
    assert {item["text"] for item in items if item["exists"]} == {"the couch"}
    assert {item["negative"]["proof"]["word"] for item in items if not item["exists"]} == set(absent)


def test_without_its_pictures_no_colour_is_said(source: Path, tmp_path: Path) -> None:
    out = run(source / "coco.json", tmp_path / "out", listing=ListOptions(), kinds=("attribute",))
    claims = {row["negative"]["proof"]["claim"] for row in rows(out / "items.jsonl") if not row["exists"]}
    assert claims <= {"position", "size"}
    assert claims
    reasons = {reason for _, reason, _ in json.loads((out / "tables/reasons.json").read_text())["rows"]}
    assert any("made already" in reason or "not known" in reason for reason in reasons)


def test_a_missing_picture_costs_its_references_and_nothing_else(source: Path, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/1.jpg").write_bytes((source / "images/1.jpg").read_bytes())
    out = run(source / "refcoco", tmp_path / "out", listing=ListOptions(images=tmp_path / "images"))
    assert {item["frame"] for item in rows(out / "items.jsonl")} == {"frames/1.jpg"}
    assert any("2.jpg" in row["error"] for row in rows(out / "errors.jsonl"))
    assert json.loads((out / "summary.json").read_text())["failed"] == 1


def test_a_wrong_folder_of_pictures_is_a_failure(source: Path, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in ("coco.json", "refcoco"):
        out = run(source / name, tmp_path / f"out-{name}", listing=ListOptions(images=tmp_path / "images"))
        summary = json.loads((out / "summary.json").read_text())
        assert (summary["n"], summary["ok"], summary["failed"]) == (2, 0, 2)


def test_a_category_that_no_table_knows_proves_nothing_until_it_is_named(source: Path, tmp_path: Path) -> None:
    categories_ = [*CATEGORIES, {"id": 99, "name": "forklift"}]
    strange = instances(categories=categories_, images=instances()["images"][:2])
    strange["annotations"].append(annotation(9, 1, 99, (40, 40, 50, 50)))
    (tmp_path / "coco.json").write_text(json.dumps(strange))
    options: dict[str, Any] = {"listing": ListOptions(images=source / "images"), "kinds": ("category",)}
    out = run(tmp_path / "coco.json", tmp_path / "bare", **options)
    assert all(item["exists"] for item in rows(out / "items.jsonl"))
    assert "no table knows" in json.dumps(json.loads((out / "tables/reasons.json").read_text()))
    categories_file = tmp_path / "own.json"
    categories_file.write_text(json.dumps({"categories": {"forklift": []}, "alike": [["forklift", "truck"]]}))
    out = run(tmp_path / "coco.json", tmp_path / "told", categories=categories_file, **options)
    texts = {item["text"] for item in rows(out / "items.jsonl") if not item["exists"]}
    assert len(texts) >= 20
    assert "truck" not in texts
    categories_file.write_text(json.dumps({"categories": {"forklift": []}, "alike": [["forklift", "nowhere"]]}))
    with pytest.raises(UsageError, match="nowhere"):
        run(tmp_path / "coco.json", tmp_path / "wrong", categories=categories_file, **options)


@pytest.mark.parametrize(
    "wrong", [{"per": "0"}, {"per": "many"}, {"kinds": ("nothing",)}, {"noun": "last"}, {"split": "x"}]
)
def test_wrong_options_are_refused(wrong: dict[str, Any], source: Path, tmp_path: Path) -> None:
    with pytest.raises(AuscultError):
        run(source / "refcoco", tmp_path / "out", **wrong)


@pytest.mark.parametrize(
    ("references", "positive", "negative", "printed_length"),
    [
        (3811, 2.84, 10.87, "13.70"),
        (3805, 2.83, 10.21, "13.04"),
        (2573, 1.90, 11.30, "13.20"),
        (42404, 2.84, 2.84, "5.69"),
        (42278, 2.84, 2.84, "5.68"),
        (42226, 1.90, 1.90, "3.81"),
    ],
)
def test_statistics_are_those_of_table_1(
    references: int, positive: float, negative: float, printed_length: str
) -> None:
    """Means of a reference add up; the paper's sums differ by the rounding of its parts, 13.71 and 13.70 among them."""
    row = statistics(references, round(positive * references), round(negative * references))
    assert row[2:] == (f"{positive:.2f}", f"{negative:.2f}")
    assert float(row[1]) == pytest.approx(positive + negative, abs=0.005)
    assert float(row[1]) == pytest.approx(float(printed_length), abs=0.011)


def test_of_annotated_photographs_no_material_and_no_action_is_said_and_the_reason_is_told(
    source: Path, tmp_path: Path
) -> None:
    out = run(source / "refcoco", tmp_path / "out", kinds=("scene_attribute",))
    negatives = [row for row in rows(out / "items.jsonl") if not row["exists"]]
    assert all(row["negative"]["kind"] == "given" for row in negatives)
    reasons = json.loads((out / "tables/reasons.json").read_text())["rows"]
    assert any(kind == "scene_attribute" and "made of" in reason for kind, reason, _ in reasons)


def test_scenes_have_sounds_replaced_and_nothing_claimed_that_is_there(tmp_path: Path) -> None:
    make_scenes(MakeOptions(out=tmp_path / "scenes", count=4, seed=7, workers=0, scene=SceneOptions(size=(96, 128))))
    options = NegativesOptions(source=tmp_path / "scenes", out=tmp_path / "out", workers=0, kinds=("all",))
    stress_negatives(options)
    scenes = {row["id"]: row["facts"] for row in rows(tmp_path / "scenes/scenes.jsonl")}
    n_by_kind = Counter()
    for item in rows(tmp_path / "out/items.jsonl"):
        if item["exists"]:
            continue
        n_by_kind[item["negative"]["kind"]] += 1
        facts, proof = scenes[Path(item["frame"]).stem], item["negative"].get("proof", {})
        if proof.get("claim") == "absent":
            assert not facts["unlisted"]
            assert not {scene_thing["category"] for scene_thing in facts["things"]} & set(proof["word"].split(", "))
    assert {"target", "category", "sound", "scene_attribute", "null"} <= n_by_kind.keys()

    stress_negatives(NegativesOptions(source=tmp_path / "scenes", out=tmp_path / "seen", workers=0))
    texts = {row["text"] for row in rows(tmp_path / "seen/items.jsonl") if row["exists"]}
    hidden = unshown(tmp_path / "scenes", still=True)
    expressions = [
        expression
        for row in rows(tmp_path / "scenes/scenes.jsonl")
        for expression in row["expressions"]
        if expression["target"]
    ]
    assert texts
    assert texts <= {expression["text"] for expression in expressions if expression["uid"] not in hidden}, (
        "a silent picture tells them all"
    )


def test_null_expressions_of_ref_avsbench_are_negatives_on_their_own_frames(tmp_path: Path) -> None:
    """As released: frames of their own in which the object is not, and no mask; nothing is made beside them."""
    root = write_root(tmp_path / "ref-avs", [Clip("a", "test_s", words=("dog", "drum"))])
    for number in range(10):
        save_frame(root / f"media/null_m-a/frames/{number}.jpg", seed=number, size=SIZE)
    positives = [("a", "a_dog_1", "test_s", 0, "The dog."), ("a", "a_drum_1", "test_s", 1, "The drum on the left.")]
    write_table(root, [*positives, ("a", "null_m-a_null_1", "test_n", 0, "The piano that is heard.")])
    items = rows(run(root, tmp_path / "out", listing=ListOptions()) / "items.jsonl")
    assert [(item["text"], item["exists"], item["split"]) for item in items] == [
        ("The dog.", True, "test_s"),
        ("The drum on the left.", True, "test_s"),
        ("The piano that is heard.", False, "test_n"),
    ]
    assert items[2]["negative"] == {"kind": "null"}
    assert items[0]["frame"] == items[1]["frame"] != items[2]["frame"]
    frame_bytes = [(tmp_path / "out" / item["frame"]).read_bytes() for item in items]
    assert frame_bytes[2] == (root / "media/null_m-a/frames/5.jpg").read_bytes() != frame_bytes[0]
    reasons = json.loads((tmp_path / "out/tables/reasons.json").read_text())["rows"]
    assert any("no positive sentence" in reason for _, reason, _ in reasons)


SAID = {
    "": "no word", "the black": "no noun", "second from left": "no noun", "не рыжая": "Latin", "not red": "no noun",
    "dog " * 10_000: "more than 200 words", "on the": "no noun",
}  # fmt: skip


@pytest.mark.parametrize("text", SAID)
@pytest.mark.parametrize("kind", ["target", "attribute", "relation"])
def test_a_sentence_without_a_head_is_undefined_with_its_reason(kind: str, text: str) -> None:
    subject = Subject(sentence=text, known=COCO, things=(Seen(category="cat"),), looked_for=frozenset(COCO.names))
    result = perturb(kind, subject)
    assert isinstance(result, Undefined)
    assert SAID[text] in result.reason


@pytest.mark.parametrize("text", ["not the man", "no man on the left", "all but the man", "Anything but the old man"])
@pytest.mark.parametrize("kind", ["target", "attribute", "relation", "sentence"])
def test_what_is_said_of_everything_but_the_head_noun_is_left_alone(kind: str, text: str) -> None:
    """Without a cat in the picture "all but the cat" names all that is there."""
    things, all_categories = (Seen(category="person"),), frozenset(COCO.names)
    others = (borrowable(text.replace("man", "cat"), "other", known=COCO),)
    subject = Subject(sentence=text, known=COCO, things=things, looked_for=all_categories, others=others)
    assert isinstance(perturb(kind, subject), Undefined)


@pytest.mark.parametrize(
    "text",
    [
        "the girl who is not a reflection in the glass", "the man outside the car", "man far away from the bench",
        "the one man other than the driver", "man lacking a tie", "the man rather than the dog",
    ],
)  # fmt: skip
def test_a_relation_that_holds_where_its_object_is_absent_is_left_alone(text: str) -> None:
    subject = Subject(sentence=text, known=COCO, things=(Seen(category="person"),), looked_for=frozenset(COCO.names))
    result = perturb("relation", subject)
    assert isinstance(result, Undefined)
    assert "the relation is denied" in result.reason


def test_a_denial_that_ends_before_the_relation_leaves_it_to_be_replaced() -> None:
    text = "the man who is not sitting and is next to the chair"
    subject = Subject(
        sentence=text, known=COCO, things=(Seen(category="person"),), looked_for=frozenset({"bus", "person"})
    )
    result = perturb("relation", subject)
    assert not isinstance(result, Undefined)
    assert result.output == "the man who is not sitting and is next to the bus"


@pytest.mark.parametrize("kind", KINDS)
def test_no_absolute_position_is_said_where_none_may_be(kind: str) -> None:
    """On 1,000 sentences of every kind, from positive ones with and without positions."""
    boxes = ((0.0, 0.1, 0.3, 0.4), (0.6, 0.6, 0.9, 0.9))
    seen_objects = tuple(
        Seen(category=name, box=box, area=0.05) for name, box in zip(("dog", "person"), boxes, strict=True)
    )
    texts = ("dog", "the dog on the left", "top man", "a dog in front of the man", "lady right of a dog", "the puppy")
    others = tuple(borrowable(text, text, known=COCO) for text in ("left bus", "the zebra", "cat at the top", "a cake"))
    for seed in range(1_000):
        text = texts[seed % len(texts)]
        all_categories = frozenset(COCO.names)
        subject = Subject(
            sentence=text, known=COCO, things=seen_objects, looked_for=all_categories, others=others, absolute=False
        )
        result = perturb(kind, subject, seed=seed)
        if not isinstance(result, Undefined):
            words = set(result.output.lower().replace("in front of", "").split())
            assert not words & {"left", "right", "top", "bottom", "upper", "lower", "front"}


def test_an_absent_object_that_the_sentence_names_already_costs_no_reference() -> None:
    """People name what the annotation has not; drawing the same is undefined, not an error."""
    all_categories = frozenset({"dog", "car"})
    subject = Subject(
        sentence="dog next to the car", known=COCO, things=(Seen(category="dog"),), looked_for=all_categories
    )
    assert isinstance(perturb("relation", subject), Undefined)


ODD: dict[str, tuple[list[dict[str, Any]], list[Any], int, str]] = {
    # what is odd: annotations that are added, sentences of one more reference to the second cat; how many negatives of
    # it are made, and what is said of it, as an error where it cannot be read
    "overlapping instances of one class": ([annotation(9, 2, NUMBER["cat"], (22, 25, 60, 55))], ["left cat"], 10, ""),
    "one instance twice": ([annotation(9, 2, NUMBER["cat"], (20, 30, 45, 50))], ["left cat"], 10, ""),
    "a crowd of its own class": ([annotation(9, 2, NUMBER["cat"], (0, 0, 80, 60), iscrowd=1)], ["left cat"], 10, ""),
    "a reference without sentences": ([], [], 0, "ref 4"),
    "a sentence without a word": ([], [" "], 0, "ref 4"),
    "a sentence of vague words": ([], ["second from left"], 10, "no noun"),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_odd_about_annotations_and_references_proves_nothing_false(
    odd: str, source: Path, tmp_path: Path
) -> None:
    new_annotations, texts, count, message = ODD[odd]
    coco = instances()
    coco["annotations"] += new_annotations
    sentences_ = [sentence(20 + index, text) for index, text in enumerate(texts)]
    reference = {
        "ref_id": 10,
        "ann_id": 4,
        "image_id": 2,
        "category_id": NUMBER["cat"],
        "split": "val",
        "sentences": sentences_,
    }
    (tmp_path / "refs").mkdir()
    (tmp_path / "refs/instances.json").write_text(json.dumps(coco))
    (tmp_path / "refs/refs(unc).json").write_text(json.dumps([*REFS, reference]))
    out = run(tmp_path / "refs", tmp_path / "out", listing=ListOptions(images=source / "images"))
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["n"], summary["ok"]) == (4, 4 if count else 3), "the other references lose nothing"
    negatives = [
        item["negative"] for item in rows(out / "items.jsonl") if item["reference"] == "2/10" and not item["exists"]
    ]
    assert len(negatives) == count
    cats = 2 + len(new_annotations)
    for proof in (negative["proof"] for negative in negatives if negative["kind"] == "attribute"):
        assert len(proof["measured"]) == cats, "every one of them was looked at"
        assert proof["claim"] != "size" or not any(row["iscrowd"] for row in new_annotations)
    reasons = {reason for _, reason, _ in json.loads((out / "tables/reasons.json").read_text())["rows"]}
    errors = (
        {f"{row['error']} {row['path']} {row['line']}" for row in rows(out / "errors.jsonl")} if not count else set()
    )
    assert any(message in text_ for text_ in reasons | errors), errors


class _Hostile:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return Path.touch, (Path("executed"),)


@pytest.mark.parametrize("broken", [b"", b"\x80\x04garbage", pickle.dumps([_Hostile()]), pickle.dumps(REFS, 0)[:-40]])
def test_broken_and_hostile_pickles_are_refused_and_nothing_is_executed(
    broken: bytes, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs").mkdir()
    (tmp_path / "refs/instances.json").write_text(json.dumps(instances()))
    (tmp_path / "refs/refs(unc).p").write_bytes(broken)
    with pytest.raises(AuscultError):
        run(tmp_path / "refs", tmp_path / "out", listing=ListOptions(images=source / "images"))
    assert not (tmp_path / "executed").exists()


def test_real_photographs(data: Path, tmp_path: Path) -> None:
    """70 annotated COCO photographs: ten negatives of every reference, and none names what is annotated."""
    folder = data / "images/coco"
    out = run(folder / "instances.json", tmp_path / "out", listing=ListOptions(images=folder / "images"))
    categories_of = {picture.id: {annotated.category for annotated in picture.objects} for picture in list_references(
        folder / "instances.json", ListOptions(images=folder / "images")).pictures()}  # fmt: skip
    items = [item for item in rows(out / "items.jsonl") if not item["exists"]]
    assert len(items) == 1280
    for item in items:
        proof = item["negative"]["proof"]
        if proof["claim"] == "absent":
            assert not COCO.named(proof["word"]) & categories_of[Path(item["frame"]).stem]
    assert not list_items(out).errors
