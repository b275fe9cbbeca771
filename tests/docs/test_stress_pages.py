"""Pages of perturbations fit the code, their examples run, and their pictures are there, small, and show something."""

from __future__ import annotations

import importlib
import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest
from docs_pages import DOCS, ROOT, blocks

from auscult import registry
from auscult.stress.perturbation import Fixed
from auscult.stress.recipe_parts import PAPER, ROOMS, room_of

PAGES = DOCS / "stress"
PICTURES = DOCS / "images" / "stress"
MOST_BYTES = 60_000
CELL_PX, GAP_PX = 150, 4
NAMES = tuple(entry.name for entry in registry.entries("stressor") if room_of(entry.name) in ROOMS)
OURS = tuple(entry.name for entry in registry.entries("stressor") if entry.package == "auscult" and entry.name in NAMES)


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    """``tools/stress_pages.py``."""
    folder = str(ROOT / "tools")
    sys.path.insert(0, folder)
    yield importlib.import_module("stress_pages")
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def texts(tool: ModuleType) -> dict[Path, str]:
    """What every page should hold."""
    return dict(tool.written(list(tool.ours())))


def test_the_pages_fit_the_code(texts: dict[Path, str]) -> None:
    negatives = {entry.name for entry in registry.entries("stressor") if room_of(entry.name) == "negatives"}
    assert {path.name for path in texts} == {f"{name}.md" for name in negatives.union(OURS)} | {"stress.md"}
    assert {path for path in texts if path.parent == PAGES} == set(PAGES.glob("*.md"))
    stale = [path.name for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"{stale} are stale; run: python tools/stress_pages.py"


def test_a_stale_page_is_found(tool: ModuleType, texts: dict[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.check(texts) == 0
    fog = PAGES / "vision.fog.v1.md"
    assert tool.check({**texts, fog: texts[fog] + "more\n"}) == 1
    assert "vision.fog.v1.md is stale" in capsys.readouterr().out
    assert tool.check({path: text for path, text in texts.items() if path != fog}) == 1, "a page of nothing"
    assert tool.main(["--no-such-option"]) == 2


def test_a_perturbation_without_names_for_its_constants_is_found(tool: ModuleType) -> None:
    from stress_pages_text import constants

    class Hail(Fixed):
        name = "vision.hail.v1"
        levels = ((0.0,),) * 6

    del tool
    assert "brightness of the fog, 1 = white" in constants(registry.find("stressor", "vision.fog").load())
    with pytest.raises(SystemExit, match=r"vision\.hail\.v1"):
        constants(Hail())


def test_the_overview_counts_right() -> None:
    """The paper's 16, 12 and 4, and by name whatever else there is of pictures, sounds and sentences."""
    assert [len(PAPER[room]) for room in ("vision", "sound", "sentences")] == [16, 12, 4]
    text = (DOCS / "stress.md").read_text(encoding="utf-8")
    other_text = text.partition("The others:")[2].partition("##")[0]
    others = {name.split(".")[1] for name in OURS if name.split(".")[1] not in PAPER[room_of(name)]}
    assert others == set(re.findall(r"`(\w+)`", other_text))


@pytest.mark.parametrize("name", OURS)
def test_a_page_says_what_its_perturbation_says(name: str) -> None:
    """The constants of level 3, every declared exception, where it arises, and the command."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    stressor = next(entry for entry in registry.entries("stressor") if entry.name == name).load()
    for sentence in (stressor.meta.summary, stressor.meta.truth, stressor.meta.source, *stressor.declared.values()):
        assert sentence.replace("*", "\\*") in text
    (row,) = re.findall(r"^\| 3 \| (.+) \|$", text.partition("## Constants")[2], re.MULTILINE)
    levels = [float(value) for cell in row.split(" | ") for value in cell.split(" to ")]
    assert levels == [pytest.approx(value, rel=1e-3) for value in stressor.levels[3]]
    room, kind, _ = name.split(".")
    assert f"auscult stress {room} INPUT --kind {kind} --severity 1,3,5 --out DIR" in text


@pytest.mark.parametrize("name", OURS)
def test_the_example_of_a_page_runs(name: str) -> None:
    if name.startswith("sound.mp3"):
        pytest.importorskip("av", reason="the extra `video` is not installed")
    page = PAGES / f"{name}.md"
    (block,) = [block for block in blocks(page) if block.language == "python"]
    assert "assert " in block.body
    with redirect_stdout(io.StringIO()):
        exec(compile("\n" * block.line + block.body, str(page), "exec"), {})  # noqa: S102 - the project's own pages


def test_every_picture_is_there_and_small() -> None:
    endings = {"vision": ".jpg", "sound": ".png", "timing": ".png"}
    expected_names = {f"{name}{endings[room_of(name)]}" for name in OURS if room_of(name) in endings}
    assert expected_names == {path.name for path in PICTURES.iterdir()}
    for path in PICTURES.iterdir():
        assert 1_000 < path.stat().st_size < MOST_BYTES, f"{path.name} has {path.stat().st_size} bytes"
        if path.suffix == ".png":
            colours = _read_picture(path).astype(np.int32) @ np.array([1, 256, 65_536], dtype=np.int32)
            assert len(np.unique(colours)) <= 64


@pytest.mark.parametrize("name", [name for name in OURS if room_of(name) == "vision"])
def test_a_strip_shows_something_at_every_severity(name: str) -> None:
    """Five cells that differ from the first by more than its JPEG does, the last by much."""
    strip = _read_picture(PICTURES / f"{name}.jpg")[:CELL_PX].astype(np.float64)
    assert strip.shape[1] == 6 * (CELL_PX + GAP_PX) - GAP_PX
    source_cell, *cells = [strip[:, index * (CELL_PX + GAP_PX) :][:, :CELL_PX] for index in range(6)]
    distances = [float(np.abs(cell - source_cell).mean()) for cell in cells]
    assert min(distances) > 2.0
    assert distances[4] > 6.0


def test_a_tone_stands_in_its_row_and_its_time(tool: ModuleType) -> None:
    """A spectrogram's rows are octaves of equal height from 16 kHz down to 62.5 Hz."""
    from stress_pages_pictures import spectrum_db

    del tool
    times = np.arange(32_000) / 32_000
    tone = (0.5 * np.sin(2 * np.pi * 1_000.0 * times) * (times < 0.5)).astype(np.float32)
    spectrum = spectrum_db(tone, rate_hz=32_000, columns=60, rows=81)
    assert spectrum.shape == (81, 60)
    assert spectrum[:, 10].argmax() == 40  # four octaves of eight below the top
    assert spectrum[40, 10] == pytest.approx(-6.0, abs=1.0)
    assert spectrum[40, 50] < -90.0


@pytest.mark.extra_demo
def test_a_strip_can_be_drawn_anew(tool: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("skimage", reason="the extra `demo` is not installed")
    from stress_pages_pictures import draw

    del tool
    for name in ("vision.contrast.v1.jpg", "sound.gain.v1.png", "timing.offset.v1.png"):
        draw(name[:-4], tmp_path / name)
        new_strip, stored_strip = _read_picture(tmp_path / name).astype(np.float64), _read_picture(PICTURES / name)
        assert new_strip.shape == stored_strip.shape
        assert np.abs(new_strip - stored_strip).mean() < 2.0, "stale; run: python tools/stress_pages.py"


def _read_picture(path: Path) -> np.ndarray:
    pixels = cv2.imread(str(path), cv2.IMREAD_COLOR)
    assert pixels is not None
    return pixels
