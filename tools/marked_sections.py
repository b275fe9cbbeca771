"""Sections of a page that scripts write, between two marks."""

from __future__ import annotations

import re


def placed(page: str, name: str, text: str) -> str:
    """The page with a section's text between its marks.

    Raises:
        SystemExit: The page has no such marks.
    """
    marks = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
    if not marks.search(page):
        raise SystemExit(f"the page has no place <!-- {name} -->")
    return marks.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", page)
