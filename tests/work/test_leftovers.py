"""Folders for temporary files that a killed process left: only its own kind, only of the dead, only of this user."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from auscult.work.process import own_folder, remove_leftovers


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def dead() -> int:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    return ended.pid


def test_what_the_dead_left_goes_and_nothing_else(scratch: Path, dead: int, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    leftover = scratch / f"auscult-worker-{dead}-abc"
    (leftover / "deep").mkdir(parents=True)
    (leftover / "deep" / "file").touch()
    (leftover / "link").symlink_to(outside)
    stay = [f"auscult-worker-{os.getpid()}-abc", "auscult-worker-x-abc", f"other-{dead}-abc", "auscult-worker-0-a"]
    for name in stay:
        (scratch / name).mkdir()
    (scratch / f"auscult-worker-{dead}-link").symlink_to(outside)
    (scratch / f"auscult-worker-{dead}-file").touch()
    remove_leftovers()
    assert not leftover.exists()
    assert sorted(path.name for path in scratch.iterdir()) == sorted(
        [*stay, f"auscult-worker-{dead}-link", f"auscult-worker-{dead}-file"]
    )
    assert (outside / "precious").exists()


def test_the_folder_of_another_container_stays(scratch: Path, dead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is not seen here, but it holds the lock."""
    with monkeypatch.context() as patched, own_folder() as folder:
        patched.setattr(os, "getpid", lambda: dead)
        with own_folder() as other:
            assert f"-{dead}-" in other
            remove_leftovers()
            assert Path(other).exists()
        assert not Path(other).exists()
        assert Path(folder).exists()
    assert not list(scratch.iterdir())


def test_the_folder_of_another_user_stays(scratch: Path, dead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scratch / f"auscult-worker-{dead}-abc"
    folder.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    remove_leftovers()
    assert folder.exists()
