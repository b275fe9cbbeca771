"""What `auscult doctor` calls what it looked at."""

from __future__ import annotations

import pytest

from auscult import registry
from auscult.jobs.registered import examine


def test_kinds_are_named_in_the_plural(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KINDS", {kind: registry.KINDS[kind] for kind in ("identity", "dataset")})
    names = {finding.what for finding in examine()}
    assert {"identities", "datasets"} <= names
