"""The page of `stress separation` has the kinds as they are registered, and its spectrograms are there and small."""

from __future__ import annotations

import separation_sheets
from docs_pages import DOCS

from auscult.media.frames import read_frame


def test_the_page_has_the_kinds_as_they_are() -> None:
    page = (DOCS / "separation-stress.md").read_text(encoding="utf-8")
    assert separation_sheets.with_tables(page) == page, "run: PYTHONPATH=tools python tests/docs/separation_sheets.py"


def test_every_family_has_its_spectrograms() -> None:
    for family in (*separation_sheets.FAMILIES, separation_sheets.SECOND):
        path = separation_sheets.FOLDER / f"{family}.png"
        assert path.stat().st_size < 300_000
        assert read_frame(path).std() > 10
