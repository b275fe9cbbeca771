"""Every registered maker of negative sentences keeps the laws; a plug-in is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from auscult import registry
from auscult.outcome import Undefined
from auscult.stress.negatives.base import Negative, NegativeParams, Proof, Subject
from auscult.stress.sentences.base import Edit
from auscult.testing import ContractBroken
from auscult.testing.negatives import CHECKS, EXAMPLES, proves_what_it_says
from auscult.types import Metadata

STRESSORS = [entry.name for entry in registry.entries("stressor") if entry.name.startswith("negatives.")]


@pytest.mark.parametrize("name", STRESSORS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("example", EXAMPLES)
def test_keeps_the_law(name: str, check: Callable[..., None], example: str) -> None:
    check(name, EXAMPLES[example])


def test_the_seven_kinds_are_registered() -> None:
    kinds = ("sentence", "category", "target", "attribute", "relation", "sound", "scene_attribute")
    assert {f"negatives.{name}.v1" for name in kinds} == {*STRESSORS}


class _Reckless(Negative):
    name = "negatives.reckless.v1"
    meta = Metadata(summary="s", goal="g", modality="text", source="s", truth="t")

    def choose(self, rng: Any, subject: Subject, /) -> NegativeParams | Undefined:
        del rng
        proof = Proof(claim="absent", word="person", says="nobody looked")
        return NegativeParams(edits=(Edit(0, len(subject.sentence), "a man"),), proof=proof)


def test_claiming_what_is_there_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.stress.negatives.base.loaded", lambda *_: _Reckless())
    with pytest.raises(ContractBroken, match="present"):
        proves_what_it_says("negatives.reckless.v1", EXAMPLES["plain"])
