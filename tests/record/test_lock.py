"""One holder of a folder at a time, whatever is left in the lock file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from auscult.errors import Locked, OutputError
from auscult.record.folder import FolderLock


def test_it_is_exclusive_until_released(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(Locked, match=f"process {os.getpid()}") as error:
        FolderLock(tmp_path)
    assert "another --out" in error.value.hint
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


@pytest.mark.parametrize("content", [b"", b"12345678\n", b"\xff\xff", b"not a number", b"9" * 5000])
def test_a_leftover_file_blocks_nobody_and_its_content_is_not_trusted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".lock").write_bytes(content)
    lock = FolderLock(tmp_path)
    (tmp_path / ".lock").write_bytes(content)
    with pytest.raises(Locked) as error:
        FolderLock(tmp_path)
    assert re.fullmatch(r"the folder is in use by (another process|process [0-9]{1,32})", error.value.message)
    lock.release()


def test_it_is_not_inherited_by_a_child_that_outlives_the_holder(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False
    )
    lock.release()
    FolderLock(tmp_path).release()
    child.communicate(b"\n")


def test_a_lock_file_that_is_a_link_or_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".lock").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "b" / ".lock").mkdir(parents=True)
    for name in ("a", "b", "missing"):
        with pytest.raises(OutputError):
            FolderLock(tmp_path / name)
    assert not (tmp_path / "elsewhere").exists()
