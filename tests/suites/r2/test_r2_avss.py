"""AVSBench-semantic: read as released, asked for classes, scored class by class, from data to tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from r2_material import RATE_HZ, model_file, rows, run_r2, sounding, tone

from auscult.cases.instances import InstanceListing, list_instances
from auscult.cases.listing import list_items
from auscult.errors import InputError, NothingToDo, RecordError, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import davis_palette, read_class_map, read_mask
from auscult.media.wav import encode_wav
from auscult.score.masks import class_sums, class_wise
from auscult.suites.core.records import score_record
from auscult.suites.r2 import SUITE
from auscult.types import MaskRef

SIZE = (40, 56)
DOG, MAN = 17, 41
COLOURS = {DOG: (30, 200, 30), MAN: (220, 30, 30)}
HEAD = "vid,uid,s_min,s_sec,a_obj,split,label\n"

MODEL = """
import numpy as np


def predict(frames, sound):
    high = frames.astype(int)
    found = np.zeros(frames.shape[:3], int)
    found[(high[..., 0] > 150) & (high[..., 1] < 110)] = 41
    found[(high[..., 1] > 150) & (high[..., 0] < 110)] = 17
    return found


def shifted(frames, sound):
    return np.roll(predict(frames, sound), 3, axis=2)


def mask(frames, sound):
    return predict(frames, sound) > 0
"""

PROGRAM = """
import json, sys
import numpy as np
from auscult.media.frames import read_frame
from auscult.media.rle import encode
from pathlib import Path

for line in sys.stdin:
    asked = json.loads(line)
    assert asked["classes"] == 71
    masks = []
    for path in asked["frames"]:
        red = read_frame(Path(path))[..., 0] > 150
        masks.append({"41": encode(red)} if red.any() else {})
    print(json.dumps({"id": asked["id"], "masks": masks}), flush=True)
"""


def class_map(place: int) -> NDArray[np.uint8]:
    labels = np.zeros(SIZE, np.uint8)
    labels[6:26, 4 + place : 20 + place] = MAN
    if place % 2:
        labels[24:38, 34:50] = DOG
    return labels


class Bench:
    """Writes a folder as released."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rows: list[str] = []
        root.mkdir(parents=True)
        labels = {"background": 0, **{f"class{number}": number for number in range(1, 71)}}
        (root / "label2idx.json").write_text(json.dumps(labels))

    def clip(self, uid: str, label: str = "v2", split: str = "test", *, colours: bool = False) -> Bench:
        root, count = self.root / label / uid, 10 if label == "v2" else 5
        for place in range(count):
            classes = class_map(place)
            frame = np.full((*SIZE, 3), 90, np.uint8)
            for number, colour in COLOURS.items():
                frame[classes == number] = colour
            write_frame(root / f"frames/{place}.jpg", frame, quality=98)
            if label == "v1s" and split == "train" and place:
                continue
            folder = root / ("labels_rgb" if colours else "labels_semantic")
            folder.mkdir(exist_ok=True)
            Image.fromarray(davis_palette()[classes] if colours else classes).save(folder / f"{place}.png")
        (root / "audio.wav").write_bytes(encode_wav(tone(seconds=float(count)), RATE_HZ))
        self.rows.append(f"yt,{uid},0,0,man_dog,{split},{label}\n")
        (self.root / "metadata.csv").write_text(HEAD + "".join(self.rows))
        return self

    def listed(self) -> InstanceListing:
        return list_instances(self.root)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "avs")


def test_the_layout_is_read_with_classes_and_as_masks(bench: Bench) -> None:
    bench.clip("a").clip("b", "v1s", "train").clip("c", "v1m", colours=True)
    listing = bench.listed()
    assert (listing.layout, listing.errors) == ("datasets.avsbench.v1", ())
    first, second, third = listing.instances
    assert (first.id, first.clip, first.split, first.category) == ("test/v2/a", "a", "test", "man_dog")
    assert [len(instance.moments) for instance in listing.instances] == [10, 5, 5]
    assert [moment.target is not None for moment in second.moments] == [True, False, False, False, False]
    for instance in (first, third):
        target = instance.moments[3].target
        assert target is not None
        assert target.path is not None
        assert (read_class_map(target.path, classes=71) == class_map(3)).all()
        assert (read_mask(target, size=SIZE).mask == (class_map(3) > 0)).all()
    items = list_items(bench.root).items
    assert len(items) == 10 + 1 + 5
    dog = MaskRef(path=items[1].mask.path, classes=71, index=DOG)
    assert (read_mask(dog).mask == (class_map(1) == DOG)).all()


def test_what_cannot_be_used_is_told(bench: Bench) -> None:
    bench.clip("a")
    (bench.root / "v2/a/labels_semantic/3.png").unlink()
    (bench.root / "v2/a/frames/5.jpg").unlink()
    table = bench.root / "metadata.csv"
    table.write_text(table.read_text() + "yt,b,0,0,man,test,v3\nyt,../c,0,0,man,test,v2\nyt,d,0,0,man,test,v2\n")
    listing = bench.listed()
    errors = [(record.stage, record.error) for _, record in listing.errors]
    assert any("v3" in error for _, error in errors)
    assert any("../c" in error for _, error in errors)
    assert [stage for stage, error in errors if "3.png" in error] == ["truth"]
    assert len(listing.instances) == 1
    assert any("1 clip without" in note for note in listing.notes)
    (bench.root / "label2idx.json").write_text('{"background": 70}')
    with pytest.raises(InputError, match="holds 1 classes"):
        bench.listed()


def test_a_colour_of_no_class_is_refused(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 4, 3), 7, np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(np.full((4, 4), 71, np.uint8)).save(tmp_path / "b.png")
    for name, message in (("a.png", "16 pixels"), ("b.png", "71")):
        with pytest.raises(InputError, match=message):
            read_class_map(tmp_path / name, classes=71)


def test_runs_from_data_to_tables_class_by_class(bench: Bench, tmp_path: Path) -> None:
    for name in "abc":
        bench.clip(name)
    file, out = model_file(tmp_path / "code", text=MODEL), tmp_path / "out"
    models = [f"{file}:{name}" for name in ("predict", "shifted", "mask")]
    suite_run = run_r2(bench.root, out, "avss", *models, kinds=("elastic_transform",), mixes=(), levels=("high",))
    scored_rows = [row for row in rows(out, "scores.jsonl") if row["outcome"] == "scored"]
    failed = [row for row in rows(out, "scores.jsonl") if row["outcome"] == "failed"]
    assert {row["model"] for row in failed} == {"mine.mask"}
    assert all("bool where the class" in row["reason"] for row in failed)
    assert {row["model"] for row in scored_rows} == {"mine", "mine.shifted", "baseline.empty.v1"}
    cells = {(cell["measure"], cell["model"], cell["metric"], cell["level"]): cell for cell in rows_of(out)}
    truth = np.stack([class_map(place) for place in range(10)])
    shifted = np.roll(truth, 3, axis=2)
    expected = class_wise([class_sums(shifted, truth)] * 3)
    assert cells["level", "mine.shifted", "mIoU", "clean"]["value"] == pytest.approx(expected["mIoU"].value, abs=0.02)
    assert cells["level", "mine.shifted", "F", "clean"]["value"] == pytest.approx(expected["F"].value, abs=0.02)
    assert cells["level", "mine", "mIoU", "clean"]["value"] > 0.97
    # the truth moves with the pixels, class by class
    assert cells["level", "mine", "mIoU", "high"]["value"] > 0.8
    assert cells["level", "baseline.empty.v1", "mIoU", "clean"]["value"] < 0.3
    assert "class_wise" not in cells["level", "mine", "mIoU", "clean"]["signature"]
    assert "classes that occur" in cells["level", "mine", "mIoU", "clean"]["signature"]
    change = cells["apc", "mine.shifted", "mIoU", ""]
    assert change["low"] <= change["value"] <= change["high"]
    assert suite_run.summary.failed == 6
    second_run = score_record(out, SUITE).summary
    assert second_run.metrics == suite_run.summary.metrics
    lines = (out / "scores.jsonl").read_text().splitlines()
    first = next(index for index, line in enumerate(lines) if '"classes"' in line)
    for broken in ([], {"0": 3}, {"0": [1]}, {"0": [-1, 1, 1]}, {"0": ["a", "b", "c"]}):
        lines[first] = json.dumps(json.loads(lines[first]) | {"classes": broken})
        (out / "scores.jsonl").write_text("\n".join(lines) + "\n")
        with pytest.raises(RecordError, match="no score"):
            score_record(out, SUITE)
    assert "mIoU" in (out / "report.html").read_text()


def rows_of(out: Path) -> list[dict[str, object]]:
    return json.loads((out / "cells.json").read_text())


def test_a_program_and_a_folder_give_classes_too(bench: Bench, tmp_path: Path) -> None:
    bench.clip("a", "v1m")
    program = model_file(tmp_path / "code", "program.py", PROGRAM)
    folder = tmp_path / "predicted/clean/test/v1m/a"
    folder.mkdir(parents=True)
    for place in range(5):
        Image.fromarray(davis_palette()[class_map(place)]).save(folder / f"{place}.png")
    out = tmp_path / "out"
    models = [f"command:{sys.executable} {program}", f"predictions:{tmp_path / 'predicted'}"]
    run_r2(bench.root, out, "avss", *models, mixes=())
    value_of = {
        (row["model"], row["metric"]): row["value"] for row in rows(out, "scores.jsonl") if row["outcome"] == "scored"
    }
    assert value_of["predictions.predicted", "mIoU_clip"] == 1
    assert 0.5 < value_of["command.program", "mIoU_clip"] < 0.95  # it knows no dogs


def test_data_without_classes_and_models_of_masks_are_refused(bench: Bench, tmp_path: Path) -> None:
    bench.clip("a")
    with pytest.raises(UsageError, match="does not do audio-visual semantic"):
        run_r2(bench.root, tmp_path / "o", "avss", "classical.onsets.v1")
    with pytest.raises(NothingToDo) as error:
        run_r2(sounding(tmp_path / "ms3", count=1), tmp_path / "p", "avss", "baseline.empty.v1")
    assert "which class" in error.value.hint
