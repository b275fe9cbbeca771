"""What README and docs tell people to type works, and prints what they show."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs_pages import ARCHITECTURE, DOCS, README, ROOT, WRITTEN, Block, Command, blocks, commands

import auscult
from auscult.cases.listing import list_items
from auscult.record.schema import verdict_to_json
from auscult.rng import generator
from auscult.stress.vision.base import ClipInfo, VisionStressor
from auscult.types import Case, Prediction, Query
from small_inputs import auscult as auscult_command

NUMBERS = ("iou", "iou_low", "iou_high", "prob_iou_80", "defect_probs")
LONG = frozenset({
    "avi.md", "formats.md", "gate.md", "input.md", "mqa-results.md", "mqa.md", "plugins.md", "r2.md",
    "ratings.md", "rris.md", "scenes.md", "scores.md", "separation-task.md", "stress-masks.md", "stress.md",
    "use-sound-verdicts.md", "verdicts.md", "your-model.md",
})  # fmt: skip
"""Pages whose commands take more than a few seconds together."""


def _setup() -> Block:
    (block,) = [block for block in blocks(DOCS / "quickstart.md") if block.mark == "setup"]
    return block


def _run_python(page: Path, block: Block, namespace: dict[str, Any]) -> None:
    code = compile("\n" * block.line + block.body, str(page), "exec")
    with redirect_stdout(io.StringIO()):
        exec(code, namespace)  # noqa: S102 - the project's own pages


def _run_command(command: Command) -> None:
    """In this process: a start of its own is most of what a command on a few masks takes."""
    words = shlex.split(command.line, comments=True)
    if words[0] != "auscult":
        return  # pip, make and pytest are for people
    result = auscult_command(*words[1:])
    assert result.code == 0, f"{command.line}\n{result.err}"
    missing = _missing(command.output, result.out)
    assert missing is None, f"{command.line} does not print {missing!r}, but:\n{result.out}"


def _missing(lines_shown: tuple[str, ...], output: str) -> str | None:
    """The first shown line that is not printed next, or after a gap where the page has ``...``."""
    lines = [plain for line in output.splitlines() if (plain := _plain(line))]
    place, gap = 0, False
    for line in lines_shown:
        expected = _plain(line)
        if line.strip() == "...":
            gap = True
        elif expected:
            places = range(place, len(lines)) if gap else range(place, min(place + 1, len(lines)))
            found = next((index for index in places if lines[index] == expected), None)
            if found is None:
                return line
            place, gap = found + 1, False
    return None


def _plain(line: str) -> str:
    """A line without rules, widths of columns, and the values of its numbers."""
    return re.sub(r"\d+(\.\d+)?", "#", " ".join(line.replace("─", " ").split()))


NEEDS = {
    "agent.md": pytest.mark.extra_agent,
    "avi-tasks.md": pytest.mark.extra_video,
    "prise.md": pytest.mark.extra_video,
}
"""Pages whose commands need an extra."""
PAGES = [
    pytest.param(page, marks=pytest.mark.slow if page.name in LONG else NEEDS.get(page.name, ())) for page in WRITTEN
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One namespace and one folder for each page, blocks in their order; the folder holds what the quickstart makes.

    A block marked ``file: NAME`` is what the reader saves under that name.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    _run_python(DOCS / "quickstart.md", _setup(), {"__name__": "setup"})
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        if block.mark.startswith("file: "):
            Path(block.mark.removeprefix("file: ")).write_text(block.body, encoding="utf-8")
        elif block.language == "python" and block.mark != "demo":
            _run_python(page, block, namespace)
        elif block.language == "console":
            for command in commands(block):
                _run_command(command)


def test_what_architecture_says_to_add_keeps_the_laws() -> None:
    """The stressor changes nothing at strength 0 and darkens from level to level; the judge gives a whole verdict."""
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks(ARCHITECTURE):
        if block.language == "python":
            _run_python(ARCHITECTURE, block, namespace)
    frame = np.full((12, 16, 3), 200, np.uint8)
    clip_info = ClipInfo(height=12, width=16)
    dim = namespace["Dim"]()
    assert isinstance(dim, VisionStressor)
    lines_shown = [
        int(dim.render(frame, dim.choose(generator(0, "dim"), clip_info, strength=float(level))).mean())
        for level in range(6)
    ]
    assert lines_shown == [200, 180, 140, 100, 70, 40]
    case = Case(id="one", frame=frame, query=Query())
    verdict = namespace["AreaJudge"]()(case, Prediction(mask=np.ones((12, 16), bool)))
    assert verdict.iou == 1.0
    assert verdict_to_json(verdict)["defect_probs"]["perfect"] == 0.5


def test_the_suite_that_architecture_shows_is_the_one_that_is_tested() -> None:
    """Every name that is called in its block stands in the toy suite."""
    (block,) = [block_ for block_ in blocks(ARCHITECTURE) if "SuiteRunner(" in block_.body]
    toy = (ROOT / "tests/suites/core/test_toy_suite.py").read_text(encoding="utf-8")
    function_names = set(re.findall(r"\b([a-zA-Z_]+)\(", block.body))
    assert "write_results" in function_names
    assert [name for name in sorted(function_names) if f"{name}(" not in toy] == []


def test_a_page_that_shows_other_output_is_found() -> None:
    output = "made\n\n a   1   2\n b   3   4\nnote\n"
    assert _missing(("made", "a 7 8", "..."), output) is None
    assert _missing(("...", "note"), output) is None
    assert _missing(("made", "note"), output) == "note"
    assert _missing(("...", "other"), output) == "other"


def test_the_verdict_in_the_docs_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge says it of the quickstart's mask with a hole; numbers are rounded and may move a little."""
    (block,) = [block for block in blocks(DOCS / "verdicts.md") if block.mark == "verdict: 001/dog"]
    shown_verdict = json.loads(block.body)
    monkeypatch.chdir(tmp_path)
    _run_python(DOCS / "quickstart.md", _setup(), {"__name__": "setup"})
    (verdict,) = [
        row for row in auscult.audit(list_items(Path("my")).items) if getattr(row, "id", "") == shown_verdict["id"]
    ]
    assert isinstance(verdict, auscult.Verdict)
    verdict_row = json.loads(json.dumps(verdict_to_json(verdict)))
    assert {key: verdict_row[key] for key in shown_verdict if key not in NUMBERS} == {
        key: value for key, value in shown_verdict.items() if key not in NUMBERS
    }
    for key in ("iou", "iou_low", "iou_high", "prob_iou_80"):
        assert verdict_row[key] == pytest.approx(shown_verdict[key], abs=0.05)
    assert verdict_row["defect_probs"] == pytest.approx(shown_verdict["defect_probs"], abs=0.1)


@pytest.mark.extra_demo
def test_the_readme_shows_what_the_demo_prints(demo_run: tuple[Path, str]) -> None:
    """The same table; counts may differ by a few masks where another build of OpenCV segments a little differently."""
    (block,) = [block for block in blocks(README) if block.mark == "output: demo"]
    lines_shown = [line for line in block.body.splitlines() if _plain(line)]
    output_lines = [line for line in demo_run[1].splitlines() if _plain(line)][: len(lines_shown)]
    assert [_plain(line) for line in output_lines] == [_plain(line) for line in lines_shown]
    for shown_line, true in zip(lines_shown, output_lines, strict=True):
        if "%" not in shown_line:
            pairs = zip(re.findall(r"\d+", shown_line), re.findall(r"\d+", true), strict=True)
            assert all(abs(int(first) - int(second)) <= 8 for first, second in pairs), f"{shown_line}\nis now\n{true}"
