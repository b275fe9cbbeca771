"""The page of `make prise` has the types as they are, and its contact sheets are there and small."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from docs_pages import DOCS

from auscult.media.frames import read_frame

MOST_BYTES = 75_000


@pytest.fixture
def tool() -> Any:
    return importlib.import_module("prise_sheets")


def test_the_page_has_the_types_as_they_are(tool: Any) -> None:
    page = (DOCS / "prise.md").read_text(encoding="utf-8")
    assert tool.with_table(page) == page, "run: python tests/docs/prise_sheets.py"


def test_contact_sheets_are_there_and_small() -> None:
    for name in ("ASQA", "VSQA_I", "VSQA_V", "AVSQA"):
        path = DOCS / "images" / "prise" / f"{name}.webp"
        assert path.stat().st_size < MOST_BYTES
        assert read_frame(path).std() > 10
