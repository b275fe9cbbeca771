"""Every registered judge of separated sounds keeps the laws of judges; a plug-in is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from auscult import registry
from auscult.testing.sound_judges import CHECKS, EXAMPLES

JUDGES = [entry.name for entry in registry.entries("judge") if entry.room == "sound" and hasattr(entry.load(), "meta")]


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("example", EXAMPLES)
def test_keeps_the_law(name: str, check: Callable[..., None], example: str) -> None:
    check(name, *EXAMPLES[example])


def test_there_is_a_judge_of_sounds() -> None:
    assert "sound.cues.v1" in JUDGES
