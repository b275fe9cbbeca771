"""The numbers of the paper on the page of ratings sum to what it says (Table II, Sec. III-A)."""

from __future__ import annotations

import re

import pytest
from docs_pages import DOCS


def test_the_papers_table_sums_to_its_hours_and_samples() -> None:
    page = (DOCS / "ratings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:train|test) \| \w+ \| ([\d.]+) \| ([\d,]+) \|$", page, re.MULTILINE)
    assert len(rows) == 6
    assert sum(float(hours) for hours, _ in rows) == pytest.approx(357.9, abs=0.05)
    assert sum(int(samples.replace(",", "")) for _, samples in rows) == 93_848
    assert "357.9 hours and 93,848 samples" in page
    before = re.search(r"(\d+), (\d+) and (\d+) hours were rated, (\d+) in all", page)
    assert before is not None
    batches = [int(hours) for hours in before.groups()]
    assert batches[:3] == [50, 200, 160]
    assert sum(batches[:3]) == batches[3] == 410
