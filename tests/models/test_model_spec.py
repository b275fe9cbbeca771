"""What a person writes, and the model it names."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import UnknownName, UsageError
from auscult.models.base import Ask
from auscult.models.spec import model_spec
from auscult.types import Query

MODEL = "import numpy as np\ndef predict(frames, query):\n    return np.ones(frames.shape[:3], bool)\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "me@home: models" / "mine.py"
    place.parent.mkdir()
    place.write_text(MODEL, "utf-8")
    return place


def ask() -> Ask:
    frames = np.zeros((1, 4, 5, 3), np.uint8)
    return Ask(id="a", condition="clean", names=("0",), size=(4, 5), query=Query("a"), frames=frames.copy)


def test_a_registered_model_is_named_in_full_and_asked() -> None:
    spec = model_spec(" full_frame ")
    assert (spec.kind, spec.name) == ("registered", "baseline.full_frame.v1")
    assert spec.load()(ask()).masks.all()
    assert model_spec("baseline.full_frame.v1").revision == spec.revision


def test_a_function_of_a_file_is_named_by_both_and_changes_with_its_code(file: Path) -> None:
    spec = model_spec(f"{file}:predict")
    assert (spec.kind, spec.name) == ("callable", "mine")
    assert spec.load()(ask()).masks.all()
    file.write_text(MODEL + "def other(frames, query):\n    return None\n", "utf-8")
    other = model_spec(f"{file}:other")
    assert other.name == "mine.other"
    assert other.revision != spec.revision


def test_a_function_of_a_module_is_found_without_running_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_under_test.py").write_text(MODEL, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = model_spec("module_under_test:predict")
    assert spec.name == "module_under_test"
    assert "module_under_test" not in sys.modules
    assert spec.load()(ask()).masks.all()


def test_predictions_are_named_by_their_folder_and_change_with_their_files(tmp_path: Path) -> None:
    folder = tmp_path / "my masks"
    folder.mkdir()
    empty = model_spec(f"predictions:{folder}")
    assert empty.kind == "predictions"
    assert empty.name.startswith("predictions.my_masks")
    place = folder / "clean" / "a.npy"
    place.parent.mkdir()
    np.save(place, np.ones((4, 5), bool))
    full = model_spec(f"predictions:{folder}")
    assert full.load()(ask()).masks.all()
    stamp = place.stat().st_mtime_ns
    np.save(place, np.zeros((4, 5), bool))
    os.utime(place, ns=(stamp, stamp + 1))
    assert len({empty.revision, full.revision, model_spec(f"predictions:{folder}").revision}) == 3


def test_a_command_is_named_by_its_script_and_changes_with_it_and_with_its_arguments(file: Path) -> None:
    line = shlex.join([sys.executable, str(file)])
    spec = model_spec(f"command:{line}")
    assert (spec.kind, spec.name, spec.target) == ("command", "command.mine", line)
    assert model_spec(f"command:{line} --fast").revision != spec.revision
    file.write_text(MODEL + "\n", "utf-8")
    assert model_spec(f"command:{line}").revision != spec.revision
    own = file.with_name("program")
    own.write_text("#!/bin/sh\n", "utf-8")
    own.chmod(0o755)
    compiled = model_spec(f"command:{shlex.quote(str(own))}")
    assert compiled.name == "command.program"
    own.write_text("#!/bin/sh\necho\n", "utf-8")
    assert model_spec(f"command:{shlex.quote(str(own))}").revision != compiled.revision


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ("", UsageError, "without a name"),
        ("ful_frame", UnknownName, "no model 'ful_frame'"),
        ("regions", UsageError, "segments no reference"),
        ("flow@weights", UsageError, "takes no weights"),
        ("clipseg", UsageError, "brings no weights"),
        ("clipseg@nowhere", UsageError, "no such folder of weights"),
        ("nowhere.py:predict", UsageError, "no such file"),
        ("no.such.module:predict", UsageError, "no module"),
        ("model.py", UsageError, "names no function"),
        ("model.py:", UsageError, "names no function"),
        ("model.py:a-b", UsageError, "names no function"),
        ("predictions:nowhere", UsageError, "no such folder of predictions"),
        ("predictions:", UsageError, "without a folder"),
        ("command:", UsageError, "without a program"),
        ("command:no-such-program-xyz", UsageError, "no program"),
    ],
)
def test_what_names_no_model_is_said(given: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        model_spec(given)
    assert getattr(caught.value, "expected", "")
