"""Every registered perturbation keeps the laws; a plug-in is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from auscult import registry
from auscult.contracts.perturbations import CHECKS, EXAMPLES, room_of

CODED = {"sound.mp3_compression.v1"}
CASES = [
    pytest.param(entry.name, example, marks=[pytest.mark.extra_video] if entry.name in CODED else [])
    for entry in registry.entries("stressor")
    if room_of(entry.name) in EXAMPLES
    for example in EXAMPLES[room_of(entry.name)]
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("name", "example"), CASES, ids=str)
def test_keeps_the_law(name: str, example: str, check: Callable[[str, Any], None]) -> None:
    check(name, EXAMPLES[room_of(name)][example])
