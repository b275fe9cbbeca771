"""Every registered judge of separated sounds keeps the laws of judges; a plug-in is tested by being registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from auscult import registry
from auscult.judge.sound.cues import JUDGE
from auscult.testing import ContractBroken
from auscult.testing import sound_judges as laws
from auscult.testing.sound_judges import CHECKS, EXAMPLES
from auscult.types import Samples, SoundCase, SoundEvidence, SoundVerdict

JUDGES = [entry.name for entry in registry.entries("judge") if entry.room == "sound" and hasattr(entry.load(), "meta")]


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("example", EXAMPLES)
def test_keeps_the_law(name: str, check: Callable[..., None], example: str) -> None:
    check(name, *EXAMPLES[example])


def test_there_is_a_judge_of_sounds() -> None:
    assert "sound.cues.v1" in JUDGES


class Broken:
    """`sound.cues.v1` with something wrong in its verdicts."""

    name, meta = JUDGE.name, JUDGE.meta

    def __init__(self, change: Callable[[SoundVerdict, Samples], SoundVerdict], *, batch: bool = False) -> None:
        self._change = change
        if batch:
            self.batch = self._backwards

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        return self._change(JUDGE(case, separated), separated)

    def _backwards(self, cases: list[SoundCase], separated: list[Samples]) -> list[SoundVerdict]:
        return JUDGE.batch(cases, separated)[::-1]


def _loud(verdict: SoundVerdict, separated: Samples) -> SoundVerdict:
    if verdict.overall is None or verdict.overall_low is None or verdict.overall_high is None:
        return verdict
    return replace(verdict, recall=min(5.0, 1 + 10 * float(np.abs(separated).mean())), recall_low=1.0, recall_high=5.0)


@pytest.mark.parametrize(
    ("check", "judge"),
    [
        (laws.gives_a_verdict, Broken(lambda verdict, _: replace(verdict, recall_low=5.0, recall=4.0))),
        (laws.is_honest_about_evidence, Broken(lambda verdict, _: replace(verdict, evidence=SoundEvidence(text=True)))),
        (
            laws.judges_difficulty_without_the_output,
            Broken(lambda verdict, output: replace(verdict, difficulty={"counting": float(np.abs(output).sum())})),
        ),
        (laws.knows_silence, Broken(lambda verdict, _: replace(verdict, recall=2.0))),
        (laws.ignores_level_and_delay, Broken(_loud)),
        (laws.judges_a_batch_as_one_by_one, Broken(lambda verdict, _: replace(verdict, id="x"), batch=True)),
    ],
    ids=lambda function: getattr(function, "__name__", "broken"),
)
def test_a_judge_that_breaks_a_law_is_told(
    check: Callable[..., None], judge: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "load", lambda *_: judge)
    with pytest.raises(ContractBroken):
        check(judge.name, *EXAMPLES["no prompt"])
