"""Every registered mask stressor keeps the laws of stressors; a plug-in is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from auscult import registry
from auscult.errors import InputError
from auscult.outcome import Scored
from auscult.stress import masks
from auscult.testing.stressors import CHECKS, EXAMPLES
from auscult.types import DEFECTS

STRESSORS = [entry.name for entry in registry.entries("stressor") if entry.name.startswith("masks.")]


@pytest.mark.parametrize("name", STRESSORS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("example", EXAMPLES)
def test_keeps_the_law(name: str, check: Callable[..., None], example: str) -> None:
    check(name, EXAMPLES[example])


def test_the_six_defects_are_registered() -> None:
    assert {registry.load("stressor", name).defect for name in STRESSORS} >= set(DEFECTS)


@pytest.mark.parametrize("name", STRESSORS)
def test_what_is_made_is_signed(name: str) -> None:
    outcome = masks.stress(name, EXAMPLES["ellipse"], seed=4)
    assert isinstance(outcome, Scored)
    fields = outcome.signature.as_dict()
    assert fields["stressor"] == name
    assert "version" in fields


@pytest.mark.parametrize("name", STRESSORS)
def test_parameters_with_a_key_too_many_are_refused(name: str) -> None:
    outcome = masks.stress(name, EXAMPLES["ellipse"], seed=4)
    assert isinstance(outcome, Scored)
    with pytest.raises(InputError):
        masks.render(name, EXAMPLES["ellipse"], {**outcome.value.params, "more": 1})


@pytest.mark.parametrize("name", STRESSORS)
def test_every_example_is_defined_for_the_built_in_ones(name: str) -> None:
    if registry.find("stressor", name).package == "auscult":
        for target in EXAMPLES.values():
            assert isinstance(masks.stress(name, target, seed=2), Scored)
