"""Wrong objects and key frames with a served omni model, Grounding DINO and SAM 2 of random weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny_hf
from auscult.models import hf
from auscult.suites.mqa.build import build_benchmark
from auscult.suites.mqa.building import make_finder
from auscult.suites.mqa.options import BuildOptions
from chat_server import completed, serving
from small_ref_avs import Clip, write_root
from tiny_clip import needs_clip

needs_clip()
pytest.importorskip("openai", reason="the extra `chat` is not installed")
pytestmark = pytest.mark.extra_clip


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("weights")
    tiny_hf.write_grounding(root / "grounding_dino")
    small = {"size": {"shortest_edge": 64, "longest_edge": 96}}  # as released, frames are enlarged to 800 rows
    (root / "grounding_dino/preprocessor_config.json").write_text(json.dumps(small))
    tiny_hf.write_sam2(root / "sam2")
    return root


def rows(out: Path, name: str) -> list[dict[str, Any]]:
    file = out / name
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


class Boxes:
    """A detector that finds the same boxes everywhere, the surest first."""

    def every_box(self, *_: Any, least_score: float) -> list[tuple[float, float, float, float]]:
        assert 0 < least_score < 1
        return [(0.0, 0.0, 20.0, 20.0), (1.0, 0.0, 21.0, 20.0), (30.2, 5.0, 40.0, 30.0)]


def test_boxes_on_one_another_are_one_thing() -> None:
    assert hf.DetectedCount(Boxes())(np.zeros((48, 70, 3), np.uint8)) == 2


def test_a_folder_of_weights_counts(weights: Path) -> None:
    finder = make_finder(f"hf:{weights / 'grounding_dino'}")
    assert finder.detector is not None
    assert finder.detector(tiny_hf.clip_of(1)[0]) >= 0


def test_every_box_begins_with_the_best_one(weights: Path) -> None:
    from auscult.nets.hf_segmenters import load_grounding

    clip, detector = tiny_hf.clip_of(1), load_grounding(weights / "grounding_dino")
    boxes = detector.every_box(clip[0], "a dog", least_score=0.1)
    assert detector.boxes(clip, "a dog") == [boxes[0] if boxes else None]
    assert len(detector.every_box(clip[0], "a dog", least_score=0.0)) >= len(boxes)
    assert detector.every_box(clip[0], "a dog", least_score=1.0) == []


@pytest.mark.slow
def test_a_served_model_names_what_grounded_sam2_draws(tmp_path: Path, weights: Path) -> None:
    def reply(number: int, body: Mapping[str, Any]) -> bytes:
        return completed(json.dumps(["a small drum", "the bell on the right"]))

    root, out = write_root(tmp_path / "root", [Clip("v", "test_s")]), tmp_path / "out"
    profile = tmp_path / "served.toml"
    profile.write_text('model = "served-1"\nimages = "image_url"\n')
    with serving(reply) as server:
        options = BuildOptions(
            source=root, out=out, workers=0, count=1, protocols=("image",), base_url=server.url, profile=profile,
            negatives=f"vlm:served-1+grounded_sam2@{weights}",
        )  # fmt: skip
        summary, _ = build_benchmark(options)
    assert summary.failed == 0
    assert len(server.bodies) == 1
    assert "data:image/" in json.dumps(server.bodies[0])
    wrong = [row for row in rows(out, "items.jsonl") if row["truth"]["defect"] == "full_neg"]
    assert len(wrong) <= 2
    assert {row["mqa"]["negative"] for row in wrong} <= {"a small drum", "the bell on the right"}
