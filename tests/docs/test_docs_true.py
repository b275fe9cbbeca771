"""What README and docs claim is so: numbers are the card's, links lead somewhere, every name has its line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import util
from pathlib import Path

import pytest
from docs_numbers import BESIDE, LAID_OUT, NAME, filled, result
from docs_pages import DOCS, EVERY, README, ROOT, anchors, links

from auscult import registry
from auscult.judge import DEFAULT_JUDGE
from auscult.judge.cards import load_card, page

CARD = load_card(NAME)


@pytest.mark.parametrize("path", LAID_OUT, ids=lambda path: path.name)
def test_numbers_of_the_judge_are_those_of_its_card(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == filled(CARD, path), "stale; run: python tests/docs/docs_numbers.py"


def test_what_is_called_weak_and_strong_still_is() -> None:
    """The README says in words which way these numbers go; they must not turn round unnoticed."""

    def value(metric: str, where: str = "coco_test", row: str = NAME) -> float:
        return result(CARD, where, metric, row).value or 0.0

    def cues(metric: str, where: str = "coco_test") -> float:
        return value(metric, where, BESIDE)

    other = "coco_test_freehand"
    assert value("f2_tables", other) > cues("f2_tables", other)
    assert value("f2_tables.cutout", other) > cues("f2_tables.cutout", other)
    for where in ("coco_test", "davis_test", "davis_test_freehand"):
        assert value("f2_tables", where) > cues("f2_tables", where)
        assert value("f2_confusion", where) > cues("f2_confusion", where)
    for kind in ("perfect", "dilate", "erode", "merge"):
        assert value(f"f2_tables.{kind}", other) > value("f2_tables.cutout", other)
    for judge in (NAME, BESIDE):
        made = value("rmse", row=judge)
        assert made == pytest.approx(value("rmse", row="constant-IoU"), rel=0.2)
    real = "davis_test_real"
    for judge in (NAME, BESIDE):
        assert value("rmse", real, judge) < value("rmse", real, "constant-IoU")
    assert cues("spearman", real) > value("spearman", real)
    assert DEFAULT_JUDGE == NAME


def test_the_page_of_the_explainable_judges_card_is_the_card() -> None:
    """That of the network is held by tests/train, where its page is made."""
    assert (DOCS / "cards" / f"{BESIDE}.md").read_text(encoding="utf-8") == page(load_card(BESIDE))


@pytest.mark.slow
def test_the_reference_pages_fit_the_code() -> None:
    command = [sys.executable, str(ROOT / "tools" / "build_docs.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target in links(path):
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        assert place.is_relative_to(ROOT), f"{target} leads out of the repository"
        assert place.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in anchors(place), f"{place.name} has no heading for #{anchor}"


def test_every_registered_name_has_its_line() -> None:
    names = (DOCS / "reference" / "names.md").read_text(encoding="utf-8")
    for kind in registry.KINDS:
        for entry in registry.entries(kind):
            if entry.package == "auscult":
                assert f"`{entry.name}`" in names


def test_every_page_is_in_the_contents_and_the_other_way_round() -> None:
    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        parts = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
        return [page for part in parts for page in pages(part)]

    nav = pages(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    assert sorted(nav) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_the_commands_of_the_readme_are_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", README.read_text(encoding="utf-8")))
    assert {"test", "test-all", "check", "bench", "docs"} <= named <= targets


def test_pictures_are_small() -> None:
    for path in (DOCS / "images").iterdir():
        assert path.stat().st_size < 300_000, f"{path.name} has {path.stat().st_size} bytes"


@pytest.mark.extra_docs
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    if util.find_spec("zensical") is None:
        pytest.skip("the extra `docs` is not installed")
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "site" / "quickstart" / "index.html").is_file()
