"""Marks in the report, by keys in a real browser: they are counted, survive a reload, and leave as CSV."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from auscult.report.audit import page_of_audit
from auscult.report.page import render
from small_records import ODD_IDS, page_marks

Make = Callable[..., Any]
IDS = ("a", *ODD_IDS, "d")
MARKS = {"a": "good", ODD_IDS[0]: "bad", ODD_IDS[1]: "good", ODD_IDS[2]: "bad", ODD_IDS[3]: "good", ODD_IDS[4]: "bad"}
SCRIPT = """
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
if (!sessionStorage.getItem("loaded")) {
  sessionStorage.setItem("loaded", "once");
  for (const key of "jgbgbgbuu") press(key);
  location.reload();
} else {
  URL.createObjectURL = (blob) => { blob.text().then((text) => {
    const shown = document.body.appendChild(document.createElement("pre"));
    shown.id = "exported"; shown.textContent = JSON.stringify(text) + document.getElementById("marked").textContent;
  }); return "#"; };
  document.getElementById("export").click();
}
"""


def _dumped(browser: str, html: str, folder: Path) -> str:
    """What the page is after the script has run in it, before and after a reload."""
    page = folder / "report.html"
    page.write_text(re.sub(r"<meta http-equiv[^>]*>", "", html).replace("</body>", f"<script>{SCRIPT}</script></body>"))
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}")
    command = (browser, *options, "--virtual-time-budget=3000", "--dump-dom", page.as_uri())
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.slow
def test_keys_mark_masks_and_marks_survive_a_reload(verdict: Make, a_run: Make, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no browser")
    run = a_run([verdict(name, iou=0.1 * place) for place, name in enumerate(IDS, 1)])
    reloaded_page = _dumped(browser, render(page_of_audit(run, thumbnails={}, crops={}, tables={})), tmp_path)
    assert reloaded_page.count(">marked good<") == reloaded_page.count(">marked bad<") == 3
    (exported,) = re.findall(r'<pre id="exported">(".*")Marked: 3 good, 3 bad, 0 unsure.</pre>', reloaded_page)
    table = json.loads(unescape(exported)).encode()
    assert table == page_marks(MARKS), "which `score`, `act gate` and `act calibrate` read: tests/jobs/test_labels.py"
