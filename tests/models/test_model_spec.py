"""What a person writes, and the model it names."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import UnknownName, UsageError
from auscult.models import adapters
from auscult.models.base import Request
from auscult.models.spec import model_spec
from auscult.types import Query

MODEL = "import numpy as np\ndef predict(frames, query):\n    return np.ones(frames.shape[:3], bool)\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "me@home: models" / "mine.py"
    place.parent.mkdir()
    place.write_text(MODEL, "utf-8")
    return place


def ask() -> Request:
    frames = np.zeros((1, 4, 5, 3), np.uint8)
    return Request(id="a", condition="clean", names=("0",), size=(4, 5), query=Query("a"), frames=frames.copy)


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
    own_program = file.with_name("program")
    own_program.write_text("#!/bin/sh\n", "utf-8")
    own_program.chmod(0o755)
    compiled = model_spec(f"command:{shlex.quote(str(own_program))}")
    assert compiled.name == "command.program"
    own_program.write_text("#!/bin/sh\necho\n", "utf-8")
    assert model_spec(f"command:{shlex.quote(str(own_program))}").revision != compiled.revision


def has_changed(model_given: str, file: Path, text: str = "LEVEL = 2\n") -> bool:
    """Whether a model is another one once a file was written."""
    before = model_spec(model_given).revision
    assert model_spec(model_given).revision == before
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return model_spec(model_given).revision != before


HELPERS = ("helper.py", "parts/blocks.py", "parts/deep/er.py")
OTHERS = (
    "words.txt", ".hidden/helper.py", "env/helper.py", "lib/site-packages/helper.py", "__pycache__/helper.py",
)  # fmt: skip


@pytest.mark.parametrize("model_form", ["{file}:predict", "command:{python} {quoted}"])
def test_a_model_changes_with_the_code_that_it_can_import_and_with_nothing_else(file: Path, model_form: str) -> None:
    model_given = model_form.format(file=file, python=shlex.quote(sys.executable), quoted=shlex.quote(str(file)))
    (file.parent / "env").mkdir()
    (file.parent / "env" / "pyvenv.cfg").touch()
    for name in HELPERS:
        assert has_changed(model_given, file.parent / name, "LEVEL = 1\n"), f"{name} is new"
        assert has_changed(model_given, file.parent / name), name
    for name in OTHERS:
        assert not has_changed(model_given, file.parent / name), name


def test_a_script_changes_with_the_code_beside_it(file: Path) -> None:
    script = file.with_name("ask.sh")
    script.write_text("python mine.py\n", "utf-8")
    assert has_changed(f"command:/bin/sh {shlex.quote(str(script))}", file)


def test_a_module_changes_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "package_under_test" / "inner"
    root.mkdir(parents=True)
    for name in ("__init__.py", "../__init__.py"):
        (root / name).touch()
    (root / "model.py").write_text(MODEL, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    model_given = "package_under_test.inner.model:predict"
    assert has_changed(model_given, root.parent / "helper.py")
    assert has_changed(model_given, root / "model.py", MODEL + "\n")
    assert not has_changed(model_given, tmp_path / "another.py")


def test_a_module_of_its_own_changes_with_its_neighbours_unless_packages_are_installed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, expected in (("work", True), ("site-packages", False)):
        place = tmp_path / name
        place.mkdir()
        (place / f"alone_in_{name[:4]}.py").write_text(MODEL, "utf-8")
        monkeypatch.syspath_prepend(str(place))
        assert has_changed(f"alone_in_{name[:4]}:predict", place / "beside.py") is expected


def test_more_code_than_is_hashed_is_told_by_size_and_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "_MOST_BYTES", 100)
    late_file = file.with_name("weights.py")
    assert has_changed(f"{file}:predict", late_file, "#" * 200)
    stamp = late_file.stat().st_mtime_ns
    before = model_spec(f"{file}:predict").revision
    os.utime(late_file, ns=(stamp, stamp + 1))
    assert model_spec(f"{file}:predict").revision != before


def test_links_that_lead_back_and_pipes_are_passed_over(file: Path) -> None:
    (file.parent / "again").symlink_to(file.parent)
    os.mkfifo(file.with_name("pipe.py"))
    (file.parent / "nowhere.py").symlink_to("not-there.py")
    assert has_changed(f"{file}:predict", file.with_name("helper.py"))


@pytest.mark.parametrize(
    ("model_given", "error", "message"),
    [
        ("", UsageError, "without a name"),
        ("ful_frame", UnknownName, "no model 'ful_frame'"),
        ("regions", UsageError, "segments no reference"),
        ("flow@weights", UsageError, "takes no weights"),
        ("clipseg", UsageError, "brings no weights"),
        ("clipseg@nowhere", UsageError, "no such folder of weights"),
        ("nowhere.py:predict", UsageError, "no such file"),
        ("no.such.module:predict", UsageError, "no module"),
        ("sys:exit", UsageError, "'sys' has no file of its own"),
        ("model.py", UsageError, "names no function"),
        ("model.py:", UsageError, "names no function"),
        ("model.py:a-b", UsageError, "names no function"),
        ("predictions:nowhere", UsageError, "no such folder of predictions"),
        ("predictions:", UsageError, "without a folder"),
        ("command:", UsageError, "without a program"),
        ("command:no-such-program-xyz", UsageError, "no program"),
    ],
)
def test_what_names_no_model_is_said(model_given: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        model_spec(model_given)
    assert getattr(raised.value, "expected", "")


def test_a_packed_folder_of_predictions_is_named(tmp_path: Path) -> None:
    packed = tmp_path / "predictions.zip"
    packed.write_bytes(b"PK")
    with pytest.raises(UsageError, match="the predictions are a file") as error:
        model_spec(f"predictions:{packed}")
    assert "unpack" in error.value.hint
