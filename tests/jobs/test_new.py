"""`auscult new` writes packages that install, are found, and pass their contract tests and the project's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from auscult.errors import UsageError
from auscult.jobs.new import SKELETONS, write_skeleton

ROOT = Path(__file__).parents[2]


def _run(*command: str, site: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=110, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


@pytest.mark.parametrize("kind", SKELETONS)
def test_a_skeleton_installs_is_found_and_keeps_the_contract(kind: str, tmp_path: Path) -> None:
    folder, site = tmp_path / "plugin", tmp_path / "site"
    write_skeleton(kind, "wobble", folder=folder)
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    _run(*pip, "--target", str(site), str(folder), site=site, cwd=tmp_path)
    if kind == "judge":
        _run(sys.executable, str(folder / "measure.py"), site=site, cwd=tmp_path)
    listed = _run(sys.executable, "-m", "auscult.cli", "list", kind, "--json", site=site, cwd=tmp_path)
    found = {row["name"]: row for row in json.loads(listed.stdout)}
    name = "identity.wobble.v1" if kind == "identity" else "masks.wobble.v1"
    assert found[name]["package"] in {"auscult-wobble", "auscult_wobble"}
    assert found[name]["loads"]
    quick = ("-q", "-p", "no:cacheprovider", "-n", "0")
    own = _run(sys.executable, "-m", "pytest", *quick, str(folder), site=site, cwd=folder)
    assert " passed" in own.stdout
    file = {"stressor": "test_mask_stressors.py", "judge": "test_judges.py", "identity": "test_identities.py"}[kind]
    contract = ROOT / "tests" / "contracts" / file
    ours = _run(sys.executable, "-m", "pytest", *quick, "-k", "wobble", str(contract), site=site, cwd=ROOT)
    assert " passed" in ours.stdout


def test_a_judge_without_a_card_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    write_skeleton("judge", "wobble", folder=folder)
    code = (
        "from auscult_wobble.wobble import JUDGE\nfrom auscult.judge.cards import require_card\n"
        "from auscult.errors import UsageError\n"
        "try:\n    require_card(JUDGE)\nexcept UsageError as error:\n    print('refused:', error.message)"
    )
    result = _run(sys.executable, "-c", code, site=folder / "src", cwd=tmp_path)
    assert "refused: the judge masks.wobble.v1 has no quality card" in result.stdout


@pytest.mark.parametrize("name", ["", "Wobble", "1st", "a", "../x", "a b", "x" * 60, "wob-ble", "wob\nble"])
def test_names_that_fit_no_registry_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_skeleton("stressor", name, folder=tmp_path / "plugin")
    assert not (tmp_path / "plugin").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError):
        write_skeleton("stressor", "wobble", folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_skeleton("suite", "wobble", folder=tmp_path / "plugin")
