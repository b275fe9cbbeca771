"""What `auscult doctor` calls what it looked at."""

from __future__ import annotations

import tomllib
from pathlib import Path
from re import match

import pytest

from auscult import registry
from auscult.jobs.registered import CORE, EXTRAS, examine

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _names(requirements: list[str]) -> set[str]:
    return {name_match[0] for requirement in requirements if (name_match := match(r"[\w-]+", requirement))}


def test_every_package_that_is_required_is_looked_for() -> None:
    assert {package for package, _ in CORE} == _names(PROJECT["dependencies"])
    extras = {name: _names(needs) for name, needs in PROJECT["optional-dependencies"].items() if name != "dev"}
    assert set(EXTRAS) == set(extras)
    for name in ("clip", "hf"):
        assert set(EXTRAS[name]) == extras[name]


def test_kinds_are_named_in_the_plural(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KINDS", {kind: registry.KINDS[kind] for kind in ("identity", "dataset")})
    names = {finding.what for finding in examine()}
    assert {"identities", "datasets"} <= names
