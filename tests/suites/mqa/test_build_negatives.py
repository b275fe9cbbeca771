"""Other objects that a proposer names instead of the data set; a plug-in, found through its entry point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auscult.media.masks import read_mask
from auscult.suites.mqa.build import build_benchmark
from auscult.suites.mqa.options import BuildOptions
from auscult.types import MaskRef
from small_ref_avs import Clip, write_root

MODULE = '''
import numpy as np

from auscult.types import Metadata


class Halves:
    """Proposes what lies left and right of the middle, without the target."""

    name = "testing.halves.v1"
    meta = Metadata(summary="a test's proposer", goal="none", modality="image", source="none")

    def __call__(self, frame, *, target=None):
        left = np.zeros(frame.shape[:2], bool)
        left[:, : frame.shape[1] // 2] = True
        outside = np.ones_like(left) if target is None else ~target
        return left & outside, ~left & outside


MODEL = Halves()
'''


@pytest.fixture
def proposer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    site = tmp_path / "site"
    info = site / "halves-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "halves.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[auscult.models]\ntesting.halves.v1 = halves:MODEL\n")
    monkeypatch.syspath_prepend(str(site))
    return "testing.halves"


def rows(out: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_proposers_regions_are_the_negatives_of_the_image_protocol(
    tmp_path: Path, proposer: str, workers: int
) -> None:
    root = write_root(tmp_path / "root", [Clip("v", "test_s", words=("dog",))])
    out = tmp_path / "out"
    summary, _ = build_benchmark(BuildOptions(source=root, out=out, workers=workers, negatives=proposer))
    negatives = [row for row in rows(out, "items.jsonl") if row["truth"]["defect"] in {"merge", "full_neg"}]
    assert [(row["mqa"]["protocol"], row["mqa"]["track"]) for row in negatives] == [
        ("image", "merge_1"),
        ("image", "merge_2"),
        ("image", "full_neg_1"),
        ("image", "full_neg_2"),
    ]
    merge = read_mask(MaskRef(path=out / negatives[0]["mask"])).mask
    truth = read_mask(MaskRef(path=out / negatives[0]["truth"]["mask"])).mask
    width = merge.shape[1] // 2
    assert merge[:, :width].all() != merge[:, width:].all()
    assert (merge & truth).sum() == truth.sum()
    assert "negative" not in negatives[0]["mqa"]
    video = next(row for row in rows(out, "targets.jsonl") if row["protocol"] == "video")
    assert {(failed_mask["kind"], failed_mask["reason"]) for failed_mask in video["undefined"]} == {
        ("merge", "proposer_has_no_tracks"),
        ("full_neg", "proposer_has_no_tracks"),
    }
    assert summary.undefined == 20


def test_a_proposer_counts_for_the_key_frame(tmp_path: Path, proposer: str) -> None:
    root = write_root(tmp_path / "root", [Clip("v", "test_s", words=("dog",))])
    out = tmp_path / "out"
    build_benchmark(BuildOptions(source=root, out=out, workers=0, key_frame=proposer, protocols=("image",)))
    assert rows(out, "survey.jsonl")[0]["objects"] == [2] * 10


def test_photographs_have_no_video_protocol_and_it_is_said(tmp_path: Path) -> None:
    clip = Clip("v", "test_s")
    root = write_root(tmp_path / "root", [clip])
    annotations = []
    for fid in range(3):
        mask = read_mask(MaskRef(path=root / f"gt_mask/v/fid_{fid}/00000.png")).mask
        ys, xs = mask.nonzero()
        box = [int(xs.min()), int(ys.min()), int(xs.max()), int(ys.max())]
        polygon = [box[0], box[1], box[2], box[1], box[2], box[3], box[0], box[3]]
        annotations.append({"id": fid + 1, "image_id": 1, "category_id": 1, "segmentation": [polygon]})
    document = {
        "images": [{"id": 1, "file_name": "0.jpg", "height": 96, "width": 128}],
        "categories": [{"id": 1, "name": "thing"}],
        "annotations": annotations,
    }
    source = tmp_path / "instances.json"
    source.write_text(json.dumps(document))
    from auscult.cases.listing import ListOptions

    listing = ListOptions(images=root / "media/v/frames")
    summary, tables = build_benchmark(BuildOptions(source=source, out=tmp_path / "out", workers=0, listing=listing))
    items = rows(tmp_path / "out", "items.jsonl")
    assert summary.failed == 0
    assert {row["mqa"]["protocol"] for row in items} == {"image"}
    assert {row["mqa"]["split"] for row in items} == {"test"}
    assert len({row["mqa"]["uid"] for row in items}) == 2
    assert any("no video protocol for test" in table.note for table in tables)
