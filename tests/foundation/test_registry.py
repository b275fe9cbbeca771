"""The registry finds by full and short names and helps with wrong ones."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from auscult import registry
from auscult.errors import UnknownName, UsageError


def test_every_builtin_stressor_is_found_by_full_and_bare_name() -> None:
    names = [entry.name for entry in registry.entries("stressor")]
    bare = [name.split(".")[-2] for name in names]
    for name, short in zip(names, bare, strict=True):
        assert registry.find("stressor", name).name == name
        if bare.count(short) == 1:
            assert registry.find("stressor", short).name == name


def test_a_bare_name_of_two_rooms_is_refused_and_both_are_told() -> None:
    with pytest.raises(UnknownName) as error:
        registry.find("stressor", "impulse_noise")
    assert "vision.impulse_noise.v1" in str(error.value)
    assert "sound.impulse_noise.v1" in str(error.value)


@pytest.mark.parametrize("name", ["masks.erode.v1", "masks.erode", "erode.v1", "erode"])
def test_erode_answers_to_four_names(name: str) -> None:
    assert registry.find("stressor", name).name == "masks.erode.v1"


def test_an_unknown_name_lists_what_there_is_and_the_nearest() -> None:
    with pytest.raises(UnknownName) as error:
        registry.find("stressor", "erde")
    assert "masks.erode.v1" in error.value.hint
    assert "masks.cutout.v1" in error.value.expected


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "masks.erode.v9", "ERODE", "a b", "erode\x00"])
def test_hostile_and_absent_names_are_refused(name: str) -> None:
    with pytest.raises(UnknownName):
        registry.find("stressor", name)


def test_an_unknown_kind_lists_the_kinds() -> None:
    with pytest.raises(UnknownName) as error:
        registry.entries("stresor")
    assert "stressor" in error.value.hint
    for unlike in (lambda: registry.entries("bogus"), lambda: registry.find("stressor", "bogusssss")):
        with pytest.raises(UnknownName) as error:
            unlike()
        assert error.value.hint


@pytest.mark.parametrize("kind", [kind for kind in registry.KINDS if registry.entries(kind)])
def test_everything_registered_loads_and_says_what_it_is(kind: str) -> None:
    from auscult.types import Metadata

    for entry in registry.entries(kind):
        meta = entry.load().meta
        assert isinstance(meta, Metadata)
        assert meta.summary
        assert meta.goal
        assert meta.source


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('no weights')", "RuntimeError: no weights"),
        ("def judge(:", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import lacking_package", "No module named 'lacking_package'"),
        ("", "no attribute 'JUDGE'"),
    ],
)
def test_a_plug_in_that_cannot_be_imported_is_an_error_that_names_its_package(
    code: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = f"broken_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(code)
    point = EntryPoint("masks.broken.v1", f"{module}:JUDGE", "auscult.judges")
    with pytest.raises(UsageError) as error:
        registry.Entry("judge", point.name, "their-package", point).load()
    assert "judge masks.broken.v1 of package their-package cannot be loaded" in error.value.message
    assert reason in error.value.message
    assert "doctor" in error.value.hint
