"""`refsegformer-small` as it ships: it answers without torch as with it, its card is of these files."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from auscult.models.refsegformer import SHIPPED
from auscult.models.spec import model_spec
from auscult.nets.refsegformer.answering import ANSWER, STEM, OnnxAnswering
from auscult.types import Query

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import refsegformer_card


def test_its_answers_are_those_of_the_network_with_torch() -> None:
    answers = refsegformer_card.answers(OnnxAnswering(SHIPPED))
    golden = json.loads(refsegformer_card.GOLDEN.read_bytes())
    assert [answer["text"] for answer in answers] == [answer["text"] for answer in golden]
    for own_answer, torch_answer in zip(answers, golden, strict=True):
        assert abs(own_answer["existence"] - torch_answer["existence"]) < 1e-4
        assert np.abs(np.array(own_answer["mask"]) - torch_answer["mask"]).max() < 1e-4
    assert len({answer["existence"] for answer in answers}) == len(answers), "it does not read"


def test_it_is_asked_by_its_name_alone() -> None:
    model = model_spec("refsegformer-small").registered()
    frame = refsegformer_card.picture()
    assert model.predict(frame[None], Query("the red bell")).shape == (1, 128, 192)


def test_its_card_is_of_its_files_and_its_page_of_the_card() -> None:
    card = json.loads(refsegformer_card.CARD.read_bytes())
    contents = {name: (SHIPPED / name).read_bytes() for name in (STEM, ANSWER)}
    assert {name: file_entry["sha256"] for name, file_entry in card["files"].items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }
    assert sum(map(len, contents.values())) <= 15_000_000
    assert card["runs"]
    assert refsegformer_card.PAGE.read_text(encoding="utf-8") == refsegformer_card.page(card)
