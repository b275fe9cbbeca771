"""Captions of one's own data are scored by as much as is given: words, sentence vectors, fluency too."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import auscult
import tiny_captions
from auscult.cases.avi_tree import AviSample
from auscult.errors import UsageError
from auscult.suites.avi.cases import AviCase, Prepared
from auscult.suites.avi.scoring import ScoreHow, Scorer
from auscult.suites.core.conditions import NOTHING
from auscult.suites.core.runner import ToScore

needs_networks = pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="needs the extra clip")


def _answer(encoder: Path | None) -> tuple[str, float]:
    """By what a perfect caption is scored, and what it gets."""
    words = "a dog barks behind a wall"
    sample = AviSample(
        folder="AVC", position=0, name="1", subtask="", clip="v", prompt="", text="What is there?", options=(),
        images=(), sounds=(), video=None, truth=(words, "something else"),
    )  # fmt: skip
    case = AviCase(sample=sample, clip="v", digest="", truth="")
    row = {"key": "k", "model": "m", "condition": "clean", "reply": words}
    score_rows = Scorer(ScoreHow(boxes={}, sentence_model=encoder))(
        ToScore(row=row, prepared=Prepared(case=case, condition=NOTHING, seed=0))
    )
    assert isinstance(score_rows, list)
    return score_rows[0]["answer"]["metric"], score_rows[0]["value"]


@pytest.mark.extra_clip
@needs_networks
def test_without_a_fluency_model_vectors_alone_score_own_captions(tmp_path: Path) -> None:
    assert _answer(tiny_captions.write_encoder(tmp_path / "encoder")) == ("sbert", pytest.approx(1))


def test_without_networks_words_score_own_captions() -> None:
    assert _answer(None)[0] == "meteor"


def test_a_fluency_model_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    with pytest.raises(UsageError, match="--fluency-model alone"):
        auscult.run("avi", data="scenes", models=("random",), fluency_model=tmp_path / "weights", out=tmp_path / "out")
