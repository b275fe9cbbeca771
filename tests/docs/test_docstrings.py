"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
SHOWN = [path for path in sorted(SRC.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_the_examples_of_a_module_are_true(path: Path) -> None:
    name = ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    doctest_results = doctest.testmod(import_module(name))
    assert doctest_results.attempted
    assert not doctest_results.failed
