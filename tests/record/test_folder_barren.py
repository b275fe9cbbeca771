"""A folder in which nothing was made yet may be used for another run; one with a result may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.errors import Mismatch
from auscult.record.folder import open_run
from auscult.record.manifest import build


def manifest(**options: object) -> dict[str, object]:
    return build("audit", given=options, defaulted={}, seeds={}, inputs={})


def test_a_run_that_made_nothing_leaves_the_folder_free(tmp_path: Path) -> None:
    with open_run(tmp_path, manifest(data="nonsense")) as run:
        run.append("errors.jsonl", {"id": None, "error": "there is no such folder"})
    with open_run(tmp_path, manifest(data="right")) as run:
        assert "resumed" not in run.manifest
        assert not run.lines("errors.jsonl")
        run.append("verdicts.jsonl", {"id": "a"})
    with pytest.raises(Mismatch, match="nonsense"):
        open_run(tmp_path, manifest(data="nonsense"))
    with open_run(tmp_path, manifest(data="right")) as run:
        assert "resumed" in run.manifest
