"""What no judge of masks has a basis for: it says so, gives no number, and stands apart everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult import registry
from auscult.types import Case, Prediction
from small_inputs import HEIGHT, LEFT, WIDTH, auscult, picture, rows, save_frame, save_mask

Bools = NDArray[np.bool_]
JUDGES = [entry.name for entry in registry.entries("judge") if entry.name.startswith("masks.")]


def border(width: int) -> Bools:
    """The border of a box, as a tool may export it in place of a mask."""
    mask = np.zeros((240, 320), bool)
    mask[30:220, 40:300] = True
    mask[30 + width : 220 - width, 40 + width : 300 - width] = False
    return mask


NOISE = np.random.default_rng(0).random((240, 320))
ODD = {
    "whole frame": np.ones((240, 320), bool),
    "nearly the whole frame": NOISE < 0.97,
    "one pixel": np.indices((240, 320)).sum(axis=0) == 0,
    "border of a box, 3 px": border(3),
    "border of a box, 8 px": border(8),
    "noise": NOISE < 0.5,
    "little noise": NOISE < 0.1,
    "much noise": NOISE < 0.8,
}


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("odd", ODD)
def test_it_is_not_judged(name: str, odd: str) -> None:
    verdict = registry.load("judge", name)(Case(id="a", frame=picture(1, (240, 320))), Prediction(ODD[odd]))
    assert (verdict.iou, verdict.iou_low, verdict.iou_high, verdict.defect) == (None, None, None, None)
    assert verdict.rationale.startswith("Not judged: ")


def test_it_stands_apart_in_the_record_and_on_the_page(tmp_path: Path) -> None:
    for name, mask in (("good", LEFT), ("whole", np.ones((HEIGHT, WIDTH), bool)), ("empty", LEFT & False)):
        save_frame(tmp_path / "in" / "frames" / f"{name}.png")
        save_mask(tmp_path / "in" / "masks" / f"{name}.png", mask)
    result = auscult("audit", tmp_path / "in", "--out", tmp_path / "out", "--workers", 1, "--json", "--quiet")
    summary = json.loads(result.out)
    assert (summary["n"], summary["ok"], summary["failed"]) == (3, 3, 0)
    assert summary["by_action"]["unjudged"] == 1
    assert sum(summary["by_action"].values()) == 3
    assert sum(summary["by_defect"].values()) == 2
    assert summary["metrics"]["estimated_iou"]["n"] == 1
    row = {row["id"]: row for row in rows(tmp_path / "out" / "verdicts.jsonl")}["whole"]
    assert (row["iou"], row["defect"], row["action"], row["defect_probs"]) == (None, None, "unjudged", {})
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert 'data-action="unjudged" data-defect=""' in page
    picked = auscult("act", "filter", tmp_path / "out", "--action", "unjudged", "--out", tmp_path / "picked")
    assert picked.out.split() == ["whole"]
    filtered = auscult(
        "act", "filter", tmp_path / "out", "--action", "accept", "--policy", "paper", "--out", tmp_path / "p"
    )
    assert "whole" not in filtered.out.split()
