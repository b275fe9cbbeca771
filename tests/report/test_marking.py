"""Marks in the report, by keys in a real browser: they are counted, survive a reload, and leave as CSV."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auscult.jobs.labels import read_labels
from auscult.report.audit import page_of_audit
from auscult.report.page import render

Make = Callable[..., Any]
IDS = ("a", '=b, "c"', "d")
PRESS = """
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
"""
SHOW = """
URL.createObjectURL = (blob) => { blob.text().then((text) => {
  const shown = document.body.appendChild(document.createElement("pre"));
  shown.id = "exported"; shown.textContent = JSON.stringify(text) + document.getElementById("marked").textContent;
}); return "#"; };
document.getElementById("export").click();
"""


def _dumped(browser: str, html: str, folder: Path, script: str) -> str:
    """What the page is after a script has run in it; storage is kept in the folder from call to call."""
    page = folder / "report.html"
    page.write_text(re.sub(r"<meta http-equiv[^>]*>", "", html).replace("</body>", f"<script>{script}</script></body>"))
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}")
    command = (browser, *options, "--virtual-time-budget=3000", "--dump-dom", page.as_uri())
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.slow
def test_keys_mark_masks_and_marks_survive_a_reload(verdict: Make, a_run: Make, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no browser")
    run = a_run([verdict(name, iou=0.1 * place) for place, name in enumerate(IDS, 1)])
    html = render(page_of_audit(run, thumbnails={}, crops={}, tables={}))
    first = _dumped(browser, html, tmp_path, PRESS + 'for (const key of "jgbuu") press(key);')
    assert first.count(">marked good<") == first.count(">marked bad<") == 1
    again = _dumped(browser, html, tmp_path, PRESS + SHOW)
    assert again.count(">marked good<") == again.count(">marked bad<") == 1
    (exported,) = re.findall(r'<pre id="exported">"(.*)"Marked: 1 good, 1 bad, 0 unsure.</pre>', again)
    table = tmp_path / "marks.csv"
    table.write_bytes(exported.encode().decode("unicode_escape").encode())
    found = read_labels(table, known=set(IDS))
    assert {name: label.word for name, label in found.items()} == {"a": "good", IDS[1]: "bad"}
