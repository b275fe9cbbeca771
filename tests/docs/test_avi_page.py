"""The page of `make avi` tells of every task, and its contact sheets are there and small."""

from __future__ import annotations

from docs_pages import DOCS

from auscult.media.frames import read_frame
from auscult.score.tasks import TASKS

MOST_BYTES = 130_000


def test_the_page_tells_of_every_familiar_task() -> None:
    page = (DOCS / "avi-tasks.md").read_text(encoding="utf-8")
    for task in TASKS.values():
        assert (f"\n| {task.name} | " in page) != task.confirmed


def test_contact_sheets_are_there_and_small() -> None:
    for stage in ("perception", "understand", "reasoning"):
        path = DOCS / "images" / "avi" / f"{stage}.webp"
        assert path.stat().st_size < MOST_BYTES
        assert read_frame(path).std() > 10
