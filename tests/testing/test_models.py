"""Every registered model that segments what is referred to keeps the laws of models; a plug-in by being registered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from auscult import registry
from auscult.models.base import TASKS, ReferringModel, WeightedModel
from auscult.testing.models import CHECKS, EXAMPLES, LAWS

LOADED = {entry.name: entry.load() for entry in registry.entries("model")}
MODELS = [name for name, model in LOADED.items() if isinstance(model, ReferringModel | WeightedModel)]
ASKED = [name for name in MODELS if isinstance(LOADED[name], ReferringModel)]


# Another process costs seconds, and the models' own tests start one too.
SLOW_LAWS = [
    pytest.param(law, id=law.__name__, marks=[pytest.mark.slow] if law.__name__.endswith("elsewhere") else [])
    for law in LAWS
]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("example", EXAMPLES)
def test_keeps_the_law(name: str, check: Callable[..., None], example: str) -> None:
    check(name, EXAMPLES[example])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("law", SLOW_LAWS)
def test_keeps_the_law_of_all_examples(name: str, law: Callable[[str], None]) -> None:
    law(name)


def test_there_is_a_model_for_every_task_and_one_with_weights() -> None:
    assert {task for name in ASKED for task in LOADED[name].tasks} == set(TASKS)
    assert set(MODELS) - set(ASKED)
