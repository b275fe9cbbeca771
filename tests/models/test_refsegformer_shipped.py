"""`refsegformer-small` as it ships: its card is of these files, its page of this card."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from auscult.models.refsegformer import SHIPPED
from auscult.nets.refsegformer.answering import ANSWER, STEM

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import refsegformer_card


def test_its_card_is_of_its_files_and_its_page_of_the_card() -> None:
    if not (SHIPPED / ANSWER).is_file():
        assert not refsegformer_card.PAGE.exists(), "a card without its network"
        return
    card = json.loads(refsegformer_card.CARD.read_bytes())
    contents = {name: (SHIPPED / name).read_bytes() for name in (STEM, ANSWER)}
    assert {name: one["sha256"] for name, one in card["files"].items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }
    assert sum(map(len, contents.values())) <= 15_000_000
    assert card["runs"]
    assert refsegformer_card.PAGE.read_text(encoding="utf-8") == refsegformer_card.page(card)
