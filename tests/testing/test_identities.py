"""Every registered identity check keeps the laws of its kind; a plug-in is tested by being registered.

A check whose weights the user brings keeps them too, with tiny weights: ``tests/judge/identity/test_clip_identity.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from auscult import registry
from auscult.judge.identity import NeedsWeights
from auscult.testing import ContractBroken
from auscult.testing.identities import CHECKS, EXAMPLES, gives_a_probability, is_silent_without_words
from auscult.types import Identity, IdentityCheck, Metadata

NAMES = [entry.name for entry in registry.entries("identity") if not isinstance(entry.load(), NeedsWeights)]
META = Metadata(summary="a test's check", goal="none", modality="image", source="none")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("example", EXAMPLES)
def test_keeps_the_law(name: str, check: Callable[..., None], example: str) -> None:
    check(registry.load("identity", name), *EXAMPLES[example])


def test_the_built_in_checks_are_registered() -> None:
    assert {"identity.scenes.v1", "identity.clip.v1"} <= {entry.name for entry in registry.entries("identity")}


class _Always:
    """Gives the same answer to everything."""

    name = "identity.always.v1"
    meta = META

    def __init__(self, answer: Identity) -> None:
        self.answer = answer

    def __call__(self, _case: object, _prediction: object) -> Identity:
        return self.answer


@pytest.mark.parametrize(
    "wrong",
    [{"match": 1.2}, {"match": float("nan")}, {"kept": -0.1}, {"target": " "}, {"note": "two\nlines"}],
    ids=str,
)
def test_an_answer_out_of_bounds_breaks_the_law(wrong: dict[str, object]) -> None:
    check = _Always(replace(Identity(match=0.5), **wrong))  # type: ignore[arg-type]
    assert isinstance(check, IdentityCheck)
    with pytest.raises(ContractBroken):
        gives_a_probability(check, *EXAMPLES["good"])


def test_an_answer_without_words_breaks_the_law() -> None:
    with pytest.raises(ContractBroken, match="without an expression"):
        is_silent_without_words(_Always(Identity(match=1.0)), *EXAMPLES["good"])


def test_an_answer_that_is_none_of_ours_breaks_the_law() -> None:
    check = _Always(SimpleNamespace(match=0.5))  # type: ignore[arg-type]
    with pytest.raises(ContractBroken, match="an Identity or None"):
        gives_a_probability(check, *EXAMPLES["good"])
