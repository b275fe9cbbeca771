"""Masks of a record in the formats of other tools, and back: what each format keeps."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from auscult.act.export.detections import from_detections, from_fiftyone, to_detections, to_fiftyone
from auscult.act.export.formats import FORMATS
from auscult.act.export.masks import safe_path
from auscult.arrays.overlap import iou
from auscult.cases.listing import ListOptions, list_items
from auscult.errors import InputError, RecordError, UsageError
from auscult.jobs.export import SUMMARY, Exported, export_record, record_frames
from auscult.jobs.finish import coco_of
from auscult.jobs.options import ExportOptions
from auscult.media.masks import read_mask
from auscult.media.rle import encode
from auscult.record.folder import open_run
from auscult.record.reader import read_run
from auscult.record.schema import verdict_to_json
from auscult.types import ACTIONS, Item, Mask
from small_inputs import LEFT, RIGHT, save_frame, tree, write_lines
from small_records import verdict

REAL = 200
EXACT = ("cvat", "label-studio", "hf-datasets")
LEAST_MEAN = {"yolo": 0.9999, "labelme": 0.9999, "voc": 0.97}


def record_of(folder: Path, rows: Sequence[tuple[dict[str, Any], Mask]]) -> Path:
    """A record of masks, as an audit leaves it; each row names at least id and frame."""
    manifest = {"schema": 1, "command": "audit", "arguments": {"given": {}, "defaulted": {}}, "inputs": {}}
    with open_run(folder, manifest) as run:
        run.append_many("masks.jsonl", [{"id": row["id"], "segmentation": encode(mask)} for row, mask in rows])
        run.append_many(
            "verdicts.jsonl",
            [verdict_to_json(verdict(row["id"], action="accept", rationale="Thin."), **row) for row, _ in rows],
        )
    return folder


@pytest.fixture(scope="module")
def real(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Mask]]:
    """A record of 200 real masks, the folder of their pictures, and the masks by id."""
    images = data / "images/coco/images"
    items = list_items(data / "images/coco/instances.json", ListOptions(images=images)).items[:REAL]
    masks = {item.id: read_mask(item.mask).mask for item in items}
    rows = [({"id": item.id, "frame": item.frame.name, "extra": dict(item.extra)}, masks[item.id]) for item in items]
    return record_of(tmp_path_factory.mktemp("real") / "out", rows), images, masks


def exported(record: Path, name: str, out: Path, **options: Any) -> Exported:
    return export_record(ExportOptions(folder=record, format=name, out=out, **options))


SOURCES = {"cvat": "annotations.xml", "label-studio": "tasks.json"}
"""What INPUT is, where it is not the folder."""


@pytest.mark.parametrize("name", FORMATS)
def test_200_real_masks_come_back(real: tuple[Path, Path, dict[str, Mask]], tmp_path: Path, name: str) -> None:
    record, images, masks = real
    export = exported(record, name, tmp_path / "out", images=images)
    assert (export.masks, export.left_out, export.missing, export.renamed) == (REAL, {}, 0, 0)
    assert export.pictures == export.frames == len({mask.partition("/")[0] for mask in masks})
    reimported = list_items(tmp_path / "out" / SOURCES.get(name, "."))
    assert not reimported.errors
    by_frame: dict[str, list[Item]] = {}
    for item in reimported.items:
        by_frame.setdefault(item.frame.stem, []).append(item)
    ious = []
    for frame in record_frames(record):
        masks_found = [
            (read_mask(candidate.mask, size=frame.size).mask, candidate.extra.get("category"))
            for candidate in by_frame[frame.stem]
        ]
        for item in frame.masks:
            best = max(masks_found, key=lambda pair: iou(pair[0], item.mask))
            ious.append(iou(best[0], item.mask))
            if name != "voc" and ious[-1] == 1.0:
                assert best[1] == item.label
    if name in EXACT:
        assert (export.mean_iou, min(ious)) == (None, 1.0)
    else:
        assert export.mean_iou is not None
        assert float(np.mean(ious)) == pytest.approx(export.mean_iou, abs=0.005), "what the export said"
        assert export.mean_iou > LEAST_MEAN[name]


def test_200_real_masks_come_back_from_supervision_and_fiftyone(
    real: tuple[Path, Path, dict[str, Mask]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects with the attributes of these packages, of which none need be installed."""
    supervision = ModuleType("supervision")
    monkeypatch.setattr(supervision, "Detections", Detections, raising=False)
    monkeypatch.setitem(sys.modules, "supervision", supervision)
    record, _, masks = real
    n_of = {"supervision": 0, "fiftyone": 0}
    for frame in record_frames(record):
        original = list(frame.masks)
        fields = [SimpleNamespace(**{"confidence": None, **mask_fields}) for mask_fields in to_fiftyone(original)]
        for package, reimported in (
            ("supervision", from_detections(to_detections(original))),
            ("fiftyone", from_fiftyone(fields, size=frame.size)),
        ):
            labels = [(exported_mask.row["id"], exported_mask.label) for exported_mask in reimported]
            assert labels == [(exported_mask.row["id"], exported_mask.label) for exported_mask in original]
            assert all(
                np.array_equal(exported_mask.mask, masks[exported_mask.row["id"]]) for exported_mask in reimported
            )
            n_of[package] += len(reimported)
    assert n_of == {"supervision": REAL, "fiftyone": REAL}


def test_an_export_of_nothing_says_so(small: Path, tmp_path: Path) -> None:
    sentences = exported(small, "cvat", tmp_path / "out", actions=("reject",)).sentences
    assert sentences == ["0 of 0 masks on 0 frames written", "no mask has such an action: name others with --action"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two frames of one stem, a hole and two parts, nothing, names and classes that mean something elsewhere."""
    ring = LEFT & ~np.roll(LEFT[::-1], 0) | RIGHT
    ring[20:26, 14:22] = False
    bad = '</name><x a="'
    rows = [
        ({"id": "a/1", "frame": "sub/a.png", "extra": {"category": bad}}, ring),
        ({"id": "a/2", "frame": "sub/a.jpg", "extra": {"category": "dog", "score": 0.25}}, RIGHT),
        ({"id": "../../x", "frame": "../../x/=\u202e\n.png", "model_score": 0.5, "text": "the dog"}, LEFT),
        ({"id": "none", "frame": "sub/a.jpg"}, np.zeros_like(LEFT)),
    ]  # fmt: skip
    save_frame(tmp_path / "frames/sub/a.png")
    return record_of(tmp_path / "record", rows)


def test_a_class_has_one_number_in_all_that_is_handed_over_of_a_record(tmp_path: Path) -> None:
    labels = {"accept": ("dog", "cat"), "major_revision": ("person", "dog")}
    rows = [
        ({"id": f"{action}{number}", "frame": f"{action}.png", "extra": {"category": label}}, LEFT)
        for action, named in labels.items()
        for number, label in enumerate(named)
    ]
    record = record_of(tmp_path / "record", rows)
    lines = [json.loads(line) for line in (record / "verdicts.jsonl").read_text().splitlines()]
    write_lines(record / "verdicts.jsonl", *(line | {"action": line["id"][:-1]} for line in lines))
    for action, named in labels.items():
        export = exported(record, "yolo", tmp_path / f"yolo-{action}", actions=(action,))
        assert export.classes == ("cat", "dog", "person")
        lines = (tmp_path / f"yolo-{action}" / "labels" / f"{action}.txt").read_text().splitlines()
        assert [export.classes[int(line.split()[0])] for line in lines] == list(named)
        coco = coco_of([row for _, row in read_run(record).verdicts if row["action"] == action], read_run(record))
        assert [(row["id"], row["name"]) for row in coco["categories"]] == [(1, "cat"), (2, "dog"), (3, "person")]
        names = {row["id"]: row["name"] for row in coco["categories"]}
        assert [names[row["category_id"]] for row in coco["annotations"]] == list(named)


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_leaves_the_folder_and_only_asked_for_pictures_are_copied(
    small: Path, tmp_path: Path, name: str
) -> None:
    before = tree(tmp_path)
    export = exported(small, name, tmp_path / "out")
    assert {key: value for key, value in tree(tmp_path).items() if not key.startswith("out/")} == before
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert all(path.name.isprintable() and path.resolve().is_relative_to(tmp_path / "out") for path in files)
    assert not [path for path in files if path.suffix == ".jpg"]
    assert (export.masks, export.renamed) == (4, 2)
    assert sum(export.left_out.values()) == (0 if name == "hf-datasets" else 1)
    assert json.loads((tmp_path / "out" / SUMMARY).read_text())["masks"] == 4
    assert export.sentences[0].startswith(f"{4 - sum(export.left_out.values())} of 4 masks on 3 frames")
    with_pictures = exported(small, name, tmp_path / "with", images=tmp_path / "frames")
    assert (with_pictures.pictures, with_pictures.missing) == (1, 2)


def test_pictures_that_are_not_found_are_looked_for_where_the_record_names_them(small: Path, tmp_path: Path) -> None:
    manifest = json.loads((small / "manifest.json").read_text())
    manifest["inputs"]["frames_root"] = "/data/val"
    (small / "manifest.json").write_text(json.dumps(manifest))
    with_pictures = exported(small, "yolo", tmp_path / "with", images=tmp_path / "frames")
    assert with_pictures.sentences[-1] == "the record names its pictures from /data/val: give such a folder as --images"


def test_files_of_others_are_never_touched(small: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/letter.txt").write_text("dear diary")
    before = tree(tmp_path)
    for out in (tmp_path / "theirs", small):
        with pytest.raises(RecordError, match=r"other files|lies in the record"):
            exported(small, "yolo", out)
    with pytest.raises(UsageError, match="no format"):
        exported(small, "coco", tmp_path / "out")
    with pytest.raises(UsageError, match="no action"):
        exported(small, "yolo", tmp_path / "out", actions=("acept",))
    with pytest.raises(UsageError, match="no folder"):
        exported(small, "yolo", tmp_path / "out", images=tmp_path / "nowhere")
    assert tree(tmp_path) == before


def test_names_are_kept_where_they_are_safe() -> None:
    assert safe_path("clip 1/Straße.jpg", set()) == "clip 1/Straße.jpg"
    for name in (
        "../a.jpg",
        "/etc/passwd",
        "a/../../b.jpg",
        "C:\\x.png",
        ".hidden.png",
        "a//b.png",
        "x" * 400 + ".png",
    ):
        path_name = safe_path(name, set())
        assert not path_name.startswith(("/", "."))
        assert not {"..", "", "\\"} & set(path_name.split("/"))
    assert safe_path("a.png", {"a"}) not in {"a.png", safe_path("a.jpg", {"a"})}


def test_label_studio_takes_what_people_drew_before_what_was_predicted(small: Path, tmp_path: Path) -> None:
    exported(small, "label-studio", tmp_path / "out", images=tmp_path / "frames")
    path = tmp_path / "out/tasks.json"
    (task, *_) = [task_ for task_ in json.loads(path.read_text()) if task_["data"]["image"].endswith("sub/a.png")]
    assert task["predictions"][0]["score"] == pytest.approx(0.7)
    outline = {
        "type": "polygonlabels", "original_width": 64, "original_height": 48, "id": "p", "from_name": "l",
        "value": {"points": [[0, 0], [50, 0], [50, 50], [0, 50]], "closed": True, "polygonlabels": ["cat"]},
    }  # fmt: skip
    box = {"type": "rectanglelabels", "value": {"x": 1, "y": 1, "width": 3, "height": 3}}
    task["annotations"] = [{"result": [outline, box]}, {"was_cancelled": True, "result": [outline]}]
    broken = {**task, "annotations": [{"result": [{**outline, "original_width": "64"}]}]}
    path.write_text(json.dumps([task, {"data": {}, "annotations": []}, broken]))
    listing_ = list_items(path)
    (item,) = listing_.items
    assert (item.extra["category"], read_mask(item.mask).mask.sum()) == ("cat", 32 * 24)
    assert len(listing_.errors) == 2
    assert "rectanglelabels" in listing_.notes[0]


@pytest.mark.parametrize("values", [[], [0] * 7, [255] * 40, [300], ["1"], [True] * 30])
def test_a_broken_brush_mask_is_an_error_of_its_own(values: list[Any]) -> None:
    from auscult.media.rle_pack import pack, unpack

    with pytest.raises(InputError):
        unpack(values, LEFT.shape)
    with pytest.raises(InputError):
        unpack(pack(LEFT)[:-3], LEFT.shape)
    with pytest.raises(InputError):
        unpack(pack(LEFT), (64, 47))


class Detections(SimpleNamespace):
    """The attributes of ``supervision.Detections``."""

    def __len__(self) -> int:
        return len(self.xyxy)


def test_detections_come_back(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = {frame.picture: list(frame.masks) for frame in record_frames(small)}
    original = next(masks for masks in frames.values() if len(masks) == 2)
    with pytest.raises(UsageError, match="supervision"):
        to_detections(original)
    monkeypatch.setitem(sys.modules, "supervision", ModuleType("supervision"))
    monkeypatch.setattr(sys.modules["supervision"], "Detections", Detections, raising=False)
    detections = to_detections(original, classes=["object", "dog"])
    assert detections.mask.shape == (2, *LEFT.shape)
    assert (detections.class_id.tolist(), detections.confidence) == ([1, 0], None)
    assert detections.data["auscult_iou"].tolist() == [0.7, 0.7]
    reimported = from_detections(detections, frame="a.jpg")
    assert [(exported_mask.row["id"], exported_mask.label) for exported_mask in reimported] == [
        ("a/2", "dog"),
        ("none", "object"),
    ]
    assert all(
        np.array_equal(exported_mask.mask, before.mask)
        for exported_mask, before in zip(reimported, original, strict=True)
    )
    with pytest.raises(InputError, match="no mask"):
        from_detections(Detections(xyxy=np.zeros((1, 4)), mask=None))


def test_fields_of_fiftyone_come_back(small: Path) -> None:
    original = [mask for frame in record_frames(small, actions=ACTIONS) for mask in frame.masks]
    fields = to_fiftyone(original)
    assert len(fields) == 3, "nothing has no box"
    reimported = from_fiftyone([SimpleNamespace(**{"confidence": None, **field}) for field in fields], size=LEFT.shape)
    kept_masks = [exported_mask for exported_mask in original if exported_mask.mask.any()]
    assert [(exported_mask.row["id"], exported_mask.label, exported_mask.score) for exported_mask in reimported] == [
        (exported_mask.row["id"], exported_mask.label, exported_mask.score) for exported_mask in kept_masks
    ]
    assert all(
        np.array_equal(exported_mask.mask, before.mask)
        for exported_mask, before in zip(reimported, kept_masks, strict=True)
    )
    with pytest.raises(InputError, match="as large as its box"):
        from_fiftyone([{**fields[0], "mask": np.ones((2, 2), bool)}], size=LEFT.shape)
