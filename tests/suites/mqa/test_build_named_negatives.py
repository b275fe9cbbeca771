"""Other objects that models name and draw: disjoint from the target, three at most, each with its phrase."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from auscult.cases.listing import ListOptions
from auscult.errors import UsageError
from auscult.media.masks import read_mask
from auscult.suites.mqa.build import build_benchmark
from auscult.suites.mqa.options import BuildOptions
from auscult.types import MaskRef
from small_ref_avs import COLOURS, Clip, write_root

MODELS = f"""
import numpy as np

COLOURS = dict(zip(("red", "green", "blue"), np.array({COLOURS[:3]!r})))


def names(question, *, images, sounds, video):
    assert len(images) == 1 and not sounds
    assert any(word in question for word in ('"dog"', '"drum"', '"bell"'))
    return '["the red one", "the green one", "the blue one", "the green thing", "what is not there", "a sixth"]'


def refuses(question, *, images, sounds, video):
    return "I would rather not."


def draws(frames, query):
    word = next((word for word in COLOURS if word in query.text), None)
    if word is None:
        return np.zeros(frames.shape[:3], bool)
    return np.abs(frames.astype(int) - COLOURS[word]).max(axis=3) < 40
"""


def rows(out: Path, name: str) -> list[dict[str, Any]]:
    file = out / name
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


def models_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "both.py"
    file.write_text(MODELS)
    return file


@pytest.mark.parametrize("workers", [0, 1])
def test_what_models_find_is_a_negative_unless_it_is_the_target(tmp_path: Path, workers: int) -> None:
    root, out, file = write_root(tmp_path / "root", [Clip("v", "test_s")]), tmp_path / "out", models_in(tmp_path / "m")
    options = BuildOptions(
        source=root, out=out, workers=workers, negatives=f"vlm:{file}:names+{file}:draws", objects="all"
    )
    build_benchmark(options)
    items = [row for row in rows(out, "items.jsonl") if row["mqa"]["category"] == "dog"]
    wrong = [row for row in items if row["truth"]["defect"] == "full_neg"]
    assert [row["mqa"]["negative"] for row in wrong] == ["the green one", "the blue one"]
    for row in wrong:
        mask, truth = (read_mask(MaskRef(path=out / name)).mask for name in (row["mask"], row["truth"]["mask"]))
        assert mask.sum() > 100
        assert not (mask & truth).any()
        assert row["truth"]["iou"] == 0.0
    video = next(row for row in rows(out, "targets.jsonl") if row["protocol"] == "video")
    assert {failed_mask["reason"] for failed_mask in video["undefined"] if failed_mask["kind"] == "full_neg"} == {
        "proposer_has_no_tracks"
    }


def test_a_reply_that_names_nothing_is_a_failure_and_no_mask(tmp_path: Path) -> None:
    root, out, file = write_root(tmp_path / "root", [Clip("v", "test_s")]), tmp_path / "out", models_in(tmp_path / "m")
    options = BuildOptions(
        source=root, out=out, workers=0, count=1, negatives=f"vlm:{file}:refuses+{file}:draws", protocols=("image",)
    )
    summary, _ = build_benchmark(options)
    (error,) = rows(out, "errors.jsonl")
    assert "names no other things" in error["error"]
    assert "I would rather not" in error["error"]
    assert (summary.ok, summary.failed) == (0, 1)
    assert not rows(out, "items.jsonl")


@pytest.mark.parametrize("spec", ["vlm:", "vlm:lexicon", "vlm:nobody+lexicon", "vlm:NAMES+nothing", "vlm:NAMES+flow"])
def test_models_that_are_not_there_are_refused_before_anything_is_written(tmp_path: Path, spec: str) -> None:
    root, file = write_root(tmp_path / "root", [Clip("v", "test_s")]), models_in(tmp_path / "m")
    negatives = spec.replace("NAMES", f"{file}:names")
    with pytest.raises(UsageError):
        build_benchmark(BuildOptions(source=root, out=tmp_path / "out", workers=0, negatives=negatives))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_region_proposals_give_zero_to_three_negatives_on_photographs(tmp_path: Path, data: Path) -> None:
    coco = data / "images/coco"
    listing = ListOptions(images=next(path.parent for path in sorted(coco.rglob("*.jpg"))))
    out = tmp_path / "out"
    options = BuildOptions(
        source=coco / "instances.json", out=out, workers=0, count=24, negatives="classical.regions", listing=listing,
        protocols=("image",), least_px=600,
    )  # fmt: skip
    summary, _ = build_benchmark(options)
    wrong = [row for row in rows(out, "items.jsonl") if row["truth"]["defect"] == "full_neg"]
    n_negatives = Counter(row["mqa"]["uid"] for row in wrong)
    counts = Counter(n_negatives.get(row["uid"], 0) for row in rows(out, "targets.jsonl"))
    assert summary.failed == 0
    assert set(counts) <= {0, 1, 2, 3}
    assert sum(counts.values()) == 24
    assert counts[3] > 6
    assert all(row["truth"]["iou"] == 0.0 for row in wrong)
