"""What README and docs claim is so: numbers are the card's, links lead somewhere, every name has its line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import util
from pathlib import Path

import pytest
from docs_numbers import BESIDE, GOALS, NAME, PAGES, filled, goals, result
from docs_pages import DOCS, EVERY, README, ROOT, anchors, links

from auscult import registry
from auscult.judge import DEFAULT_JUDGE
from auscult.judge.cards import load_card, page, table

CARD = load_card(NAME)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_numbers_of_the_judge_are_those_of_its_card(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == filled(CARD, path), "stale; run: python tests/docs/docs_numbers.py"


def test_a_goal_is_reached_where_the_number_beside_it_says_so() -> None:
    rows = [line.strip("| ").split(" | ") for line in goals(CARD).splitlines()[3:]]
    assert len(rows) == len(GOALS)
    for row in rows:
        ends, value, reached = (
            [float(end) for end in re.findall(r"-?\d+\.\d+", row[3])],
            float(row[4].split()[0]),
            row[9],
        )
        least, most = (ends * 2)[:2]
        holds = least <= value <= most if "to" in row[3] else value >= least if ">=" in row[3] else value <= most
        assert reached == ("yes" if holds else "**no**"), row
        assert re.fullmatch(r"-?\d\.\d{3}( \[-?\d\.\d{3}, -?\d\.\d{3}\])?", row[4]), "a number with its interval"


def test_what_is_called_better_still_is() -> None:
    """The README says in words which way these numbers go; they must not turn round unnoticed."""
    for set_name in ("new_families", "unseen_source"):
        for metric in ("auc_80", "spearman", "rmse"):
            for row in (BESIDE, "masks.cues.v1", "mask-area", "constant"):
                if metric != "rmse" and row == "constant":
                    continue  # a constant has no order
                low = result(CARD, set_name, f"{metric}.better", row).low
                assert low is not None, (set_name, metric, row)
                assert low > 0, (set_name, metric, row)
    assert DEFAULT_JUDGE == NAME


def test_the_page_of_the_explainable_judges_card_is_the_card() -> None:
    explained = "masks.cues.v1"
    assert (DOCS / "cards" / f"{explained}.md").read_text(encoding="utf-8") == page(load_card(explained))


def test_the_page_of_the_default_judges_card_is_the_card() -> None:
    text = (DOCS / "cards" / f"{NAME}.md").read_text(encoding="utf-8")
    for name, meaning in CARD.sets.items():
        results = [result_ for result_ in CARD.results if result_.set == name]
        assert f"### {name}\n\n{meaning}\n\n{table(results)}\n" in text


def test_the_page_of_the_older_networks_card_is_the_card() -> None:
    """What laid out its bars, charts and failures is gone; words and tables of results are laid out as ever."""
    text = (DOCS / "cards" / "masks.compact.v1.md").read_text(encoding="utf-8")
    card = load_card("masks.compact.v1")
    words = page(card, made_by="tools/compact_results.py of commit a2f3981").partition("## Results")[0]
    assert text.startswith(words)
    for name, meaning in card.sets.items():
        results = [entry for entry in card.results if entry.set == name]
        results = [entry for entry in results if "." not in entry.metric or entry.metric.endswith(("osvos", "rvos"))]
        assert f"### {name}\n\n{meaning}\n\n{table(results)}\n" in text


@pytest.mark.slow
def test_the_reference_pages_fit_the_code() -> None:
    command = [sys.executable, str(ROOT / "tools" / "build_docs.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
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


def test_the_count_of_the_listed_stressors_is_that_of_a_fresh_install() -> None:
    built_in = [entry for entry in registry.entries("stressor") if entry.package == registry.BUILT_IN]
    assert f"$ auscult list stressor\nstressor: {len(built_in)}\n" in (DOCS / "plugins.md").read_text(encoding="utf-8")


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
    target_names = set(re.findall(r"`make ([a-z-]+)`", README.read_text(encoding="utf-8")))
    assert {"test", "test-all", "check", "bench", "docs"} <= target_names <= targets


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


def test_the_readme_is_short() -> None:
    """Whoever opens it has ten minutes; the rest stands in docs."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


RECIPE = re.compile(r"(mkdir -p out && unshare .*?exec env -i [^\n]*) \\\n.*?'\n```", re.DOTALL)
UNSHARED = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc")

if shutil.which("unshare") and subprocess.run([*UNSHARED, "true"], check=False, capture_output=True).returncode == 0:

    def test_the_recipe_for_strangers_code_leaves_nothing_but_its_output_to_write(tmp_path: Path) -> None:
        recipe = RECIPE.search((DOCS / "your-model.md").read_text(encoding="utf-8"))
        assert recipe is not None
        home_folder, work = tmp_path / "home", tmp_path / "work"
        home_folder.mkdir()
        work.mkdir()
        (home_folder / "secret").write_text("mine")
        paths = ("out/a", "b", f"{work}/c", f"{home_folder}/secret", f"{ROOT}/d")
        probe = " ".join(f"touch {path} && echo {index};" for index, path in enumerate(paths))
        script = f'{recipe[1]} sh -c "ls $HOME /sys/class/net; {probe} :"\''
        environment = {"PATH": os.environ["PATH"], "HOME": str(home_folder)}
        process = subprocess.run(
            ["sh", "-c", script], cwd=work, env=environment, capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, process.stderr
        assert sorted(path.name for path in work.rglob("*")) == ["a", "out"]
        assert (home_folder / "secret").read_text() == "mine"
        assert "secret" not in process.stdout
        assert not (ROOT / "d").exists()
        assert "Read-only" in process.stderr
