"""SAM 2's answers reach the heads: proven on a tiny random checkpoint through the path that a released one takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.jobs.judging import load_judge, with_evidence
from auscult.types import Case, Prediction

pytestmark = pytest.mark.extra_clip
pytest.importorskip("transformers")


def test_another_segmenters_answer_is_what_the_candidate_is_compared_with(tmp_path: Path) -> None:
    from tiny_hf import write_sam2

    folder = write_sam2(tmp_path / "sam2")
    frame = np.random.default_rng(0).integers(0, 255, (96, 128, 3)).astype(np.uint8)
    mask = np.zeros((96, 128), bool)
    mask[30:70, 40:90] = True
    judge = load_judge("masks.prompted.v1")
    own = judge(Case(id="a", frame=frame), Prediction(mask))
    other = with_evidence(judge, f"hf:{folder}")(Case(id="a", frame=frame), Prediction(mask))
    assert 0 <= (other.iou_low or 0) <= (other.iou or 0) <= (other.iou_high or 0) <= 1
    assert other.error_map != own.error_map


@pytest.mark.parametrize("name", ["sam2", "hf:", "hf:/nowhere/at/all"])
def test_evidence_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(UsageError):
        with_evidence(load_judge("masks.prompted.v1"), name)


def test_a_judge_that_takes_none_says_so() -> None:
    with pytest.raises(UsageError, match="takes no evidence"):
        with_evidence(load_judge("masks.cues.v1"), "hf:x")
