"""How many workers a machine gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from auscult.work import default_workers, pool


@pytest.mark.parametrize(
    ("content", "expected"),
    [("max 100000\n", 6), ("150000 100000\n", 2), ("50000 100000\n", 1), ("900000 100000\n", 6), ("broken\n", 6)],
)
def test_a_containers_share_limits_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, expected: int
) -> None:
    limit = tmp_path / "cpu.max"
    limit.write_text(content, "ascii")
    monkeypatch.setattr(pool, "_V2", limit)
    monkeypatch.setattr(pool.os, "sched_getaffinity", lambda _: set(range(6)))
    assert default_workers() == expected


def test_at_least_one() -> None:
    assert default_workers() >= 1
