"""What the word scenes means: a folder of that name goes first, so that nobody measures what they did not make."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.errors import UsageError
from auscult.suites.mqa.options import MqaOptions
from auscult.suites.mqa.run import run_mqa
from auscult.suites.options import SCENES, data_of


def test_a_folder_named_scenes_goes_before_the_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert data_of("scenes") == SCENES
    assert data_of("other") == Path("other")
    (tmp_path / "scenes").mkdir()
    assert data_of("scenes") == Path("scenes")


def test_a_split_that_scenes_do_not_have_is_refused_before_any_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no split 'bar'"):
        run_mqa(MqaOptions(data=SCENES, out=tmp_path / "out", splits=("bar",), workers=0))
    assert not (tmp_path / "out" / "scenes").exists()


def test_a_mistyped_source_leaves_the_folder_free(tmp_path: Path) -> None:
    for name in ("nonsense", "other"):
        with pytest.raises(UsageError, match="no such file or folder"):
            run_mqa(MqaOptions(data=tmp_path / name, out=tmp_path / "out", workers=0))
