"""A small pack."""

from __future__ import annotations

from pathlib import Path

import pytest

import small_packs
from auscult.train.compact.pack import write_pack


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of nine frames."""
    path = tmp_path_factory.mktemp("pack") / "pack.zip"
    write_pack(path, [small_packs.packed(number) for number in range(9)])
    return path
