"""`auscult new` writes packages that install, are found, and pass their contract tests and the project's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from auscult.errors import UsageError
from auscult.jobs.registered import ROOMS, write_skeleton

ROOT = Path(__file__).parents[2]


def _run(*command: str, site: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=110, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


# Each builds and installs a package, which takes seconds.
INSTALLED = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("stressor", "judge", "identity")]


@pytest.mark.parametrize("kind", INSTALLED)
def test_a_skeleton_installs_is_found_and_keeps_the_contract(kind: str, tmp_path: Path) -> None:
    folder, site = tmp_path / "plugin", tmp_path / "site"
    write_skeleton(kind, "wobble", folder=folder)
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    _run(*pip, "--target", str(site), str(folder), site=site, cwd=tmp_path)
    if kind == "judge":
        _run(sys.executable, str(folder / "measure.py"), site=site, cwd=tmp_path)
    result = _run(sys.executable, "-m", "auscult", "list", kind, "--json", site=site, cwd=tmp_path)
    row_of = {row["name"]: row for row in json.loads(result.stdout)}
    name = "identity.wobble.v1" if kind == "identity" else "masks.wobble.v1"
    assert row_of[name]["package"] in {"auscult-wobble", "auscult_wobble"}
    assert row_of[name]["loads"]
    quick = ("-q", "-p", "no:cacheprovider", "-n", "0")
    own_tests = _run(sys.executable, "-m", "pytest", *quick, str(folder), site=site, cwd=folder)
    assert " passed" in own_tests.stdout
    file = {"stressor": "test_mask_stressors.py", "judge": "test_judges.py", "identity": "test_identities.py"}[kind]
    contract = ROOT / "tests" / "testing" / file
    contract_tests = _run(sys.executable, "-m", "pytest", *quick, "-k", "wobble", str(contract), site=site, cwd=ROOT)
    assert " passed" in contract_tests.stdout


PLUGINS = (
    *(("stressor", f"{room}.wobble_{room}") for room in ROOMS),
    ("judge", "sound.wobble_judge"),
    ("model", "wobble_model"),
    ("stressor", "vision.frame"),
    ("stressor", "sound.true"),
    ("stressor", "sentences.edit"),
    ("model", "query"),
)
"""One of each room of stressors, a judge of sounds, a model, and names that Python or the skeleton has a use for."""


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of plug-ins, and in its ``site`` the same as if they were installed."""
    folder = tmp_path_factory.mktemp("plugins")
    for kind, name in PLUGINS:
        bare = name.rpartition(".")[2]
        write_skeleton(kind, name, folder=folder / bare)
        shutil.copytree(folder / bare / "src", folder / "site", dirs_exist_ok=True)
        project = tomllib.loads((folder / bare / "pyproject.toml").read_text())["project"]
        dist_info = folder / "site" / f"{project['name']}-{project['version']}.dist-info"
        dist_info.mkdir()
        version = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (dist_info / "METADATA").write_text(version)
        lines = [
            line
            for group, points in project["entry-points"].items()
            for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
        ]
        (dist_info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
def test_a_plug_in_of_each_room_is_listed_and_keeps_its_contract(plugged: Path) -> None:
    site = plugged / "site"
    names = [name if "." in name else f"models.{name}" for _, name in PLUGINS]
    code = (
        "from auscult import registry\n"
        "for kind in ('stressor', 'judge', 'model'):\n    for entry in registry.entries(kind):\n"
        "        if entry.package != 'auscult':\n            print(entry.name, entry.load().name)"
    )
    result = _run(sys.executable, "-c", code, site=site, cwd=plugged)
    assert {*result.stdout.splitlines()} == {f"{name}.v1 {name}.v1" for name in names}
    _run(sys.executable, str(plugged / "wobble_judge" / "measure.py"), site=site, cwd=plugged)
    quick = ("-q", "-p", "no:cacheprovider", "-n", "0", "--import-mode=importlib", "-W", "error")
    tests = [str(plugged / name.rpartition(".")[2] / "tests") for _, name in PLUGINS]
    own_tests = _run(sys.executable, "-m", "pytest", *quick, *tests, site=site, cwd=plugged)
    assert " passed" in own_tests.stdout


def test_what_is_written_is_formatted_and_clean(plugged: Path) -> None:
    for _, name in PLUGINS:
        folder = plugged / name.rpartition(".")[2]
        for arguments in (
            ("format", "--check"),
            ("check", "--select", "E,F,W,I,B,C4,N,RUF,SIM,UP,PL", "--ignore", "PLR2004"),
        ):
            command = (
                sys.executable,
                "-m",
                "ruff",
                *arguments,
                "--isolated",
                "--no-cache",
                "--line-length",
                "120",
                ".",
            )
            _run(*command, site=plugged / "site", cwd=folder)
        source = "".join(path.read_text() for path in folder.rglob("*.*") if path.is_file() and path.suffix != ".pyc")
        assert not [word for word in ("TODO", "FIXME", "$", "say what", "say where") if word in source]


def test_what_a_plug_in_of_each_room_does(plugged: Path) -> None:
    code = """
import numpy as np
from auscult.stress import sentences, sound, timing, vision

grey = np.full((40, 30, 3), 200, np.uint8)
dark = vision.apply("wobble_vision", grey, severity=5, seed=1)
rows = [row for row in range(40) if (dark[row] != 200).any()]
assert len(rows) == 12 and rows == list(range(rows[0], rows[0] + 12)) and (dark[rows] == 40).all()

rng = np.random.default_rng(0)
given = (0.1 * rng.standard_normal(8000)).astype(np.float32)
hum = sound.apply("wobble_sound", given, rate_hz=8000, severity=5, seed=1).astype(np.float64) - given
assert np.argmax(np.abs(np.fft.rfft(hum))) == 50
assert abs(np.std(hum) / np.std(given) - 1) < 0.02

text = "the dog beside a cat and the"
assert sentences.apply("wobble_sentences", text, severity=5, seed=1) == "dog beside cat and the"
assert sentences.apply("wobble_sentences", text, severity=5, seed=1, keep=["the dog"]) == "the dog beside cat and the"
assert sentences.apply("wobble_sentences", "", severity=5) == "" and sentences.apply("wobble_sentences", "a") == "a"

clip = np.zeros((50, 2, 2, 3), np.uint8)
for severity, held in ((1, 2), (3, 4), (5, 8)):
    shown = timing.perturb("wobble_timing", clip, rate_fps=25.0, severity=severity, seed=1).truth.frames
    runs = np.diff(np.flatnonzero(np.diff(shown)))
    assert set(runs) == {held}, (severity, set(runs))
for severity in (0.1, 0.5, 2.7, 4.9):
    for seed in range(20):
        shown = timing.perturb("wobble_timing", clip, rate_fps=25.0, severity=severity, seed=seed).truth.frames
        assert all(0 <= at - one < 9 for at, one in enumerate(shown))
"""
    _run(sys.executable, "-c", code, site=plugged / "site", cwd=plugged)


@pytest.mark.parametrize(
    "name",
    ["vision.", ".dust", "vision.a.b", "speech.dust", "Vision.dust", "vision.dust.v1", "vision.v2", "vision.fog"],
)
def test_a_name_with_a_room_must_be_one_of_a_stressor(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_skeleton("stressor", name, folder=tmp_path / "plugin")
    with pytest.raises(UsageError):
        write_skeleton("judge", "vision.dust", folder=tmp_path / "plugin")
    assert not (tmp_path / "plugin").exists()


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


@pytest.mark.parametrize("name", ["", "v2", "Wobble", "1st", "a", "../x", "a b", "x" * 60, "wob-ble", "wob\nble"])
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
