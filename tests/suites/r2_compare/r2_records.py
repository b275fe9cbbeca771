"""Records of ``auscult run r2`` written by hand: scores of models under conditions, without pictures or models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from auscult.errors import ErrorRecord
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.digest import digest_json
from auscult.record.folder import open_run
from auscult.record.schema import SCHEMA, score_to_json
from auscult.suites.core.compare import SuiteComparison, compare_records
from auscult.suites.core.conditions import Condition
from auscult.suites.core.requests import key_of
from auscult.suites.core.results import failed_row
from auscult.suites.r2 import SUITE
from auscult.suites.r2.cases import R2Case, task_rules
from auscult.suites.r2.conditions import conditions_of
from auscult.types import Query
from auscult.version import VERSION

# model -> condition -> case -> J; None where no score is defined, left out where the question failed
ScoresByModel = Mapping[str, Mapping[str, Mapping[str, float | None]]]

NO_ANSWER = ErrorRecord(stage="predict", error="no answer")
KINDS = ("fog", "snow", "gaussian_noise")


def compare_r2(folders: Sequence[Path]) -> SuiteComparison:
    """Records of the suite compared."""
    return compare_records(folders, SUITE)


def conditions(*levels: str, task: str = "rvos", mixes: Sequence[str] = ("mix",)) -> tuple[Condition, ...]:
    """Clean, the mix and three kinds of pictures at some levels."""
    return conditions_of(task_rules(task), mixes=mixes, kinds=KINDS, levels=levels or ("low", "high"))


def case(name: str, *, content: str = "", truth: str = "", task: str = "rvos") -> R2Case:
    """A case; those of ``clip/object`` share their clip."""
    return R2Case(
        id=name,
        clip=name.partition("/")[0],
        split="",
        query=Query(),
        frames=(),
        targets=(),
        size=(48, 64),
        rate_fps=25.0,
        scored=task_rules(task).scored,
        digest=digest_json([name, content]),
        truth=truth,
    )


def record(
    folder: Path,
    scores: ScoresByModel,
    *,
    cases: Sequence[R2Case],
    asked_conditions: Sequence[Condition] = conditions("low", "high"),
    task: str = "rvos",
    seed: int = 7,
    data: str = "clips",
    revision: str = "r1",
    frames: str = "all",
    is_finished: bool = True,
    errors: Sequence[Mapping[str, str]] = (),
) -> Path:
    """Write a record; F is J less a tenth."""
    manifest = {
        "schema": SCHEMA,
        "command": "run r2",
        "arguments": {"given": {"data": f"/somewhere/{data}", "task": task}, "defaulted": {}},
        "versions": {"auscult": VERSION},
        "seeds": {"seed": seed},
        "inputs": {},
    }
    rules = task_rules(task)
    with open_run(folder, manifest) as run:
        run.append_many(
            "cases.jsonl",
            [
                {"id": case_.id, "clip": case_.clip, "split": case_.split, "digest": case_.digest}
                | ({"truth": case_.truth} if case_.truth else {})
                for case_ in cases
            ],
        )
        condition_of = {condition_.name: condition_ for condition_ in asked_conditions}
        run.append_many(
            "requests.jsonl",
            [
                {"command": 1, "model": model, "revision": revision, "source": model}
                | {"conditions": [condition_of[name].as_json() for name in by_condition or condition_of]}
                for model, by_condition in scores.items()
            ],
        )
        rows, failed = [], []
        for model, by_condition in scores.items():
            for name, values in by_condition.items():
                for case_ in cases:
                    key = key_of(case_, condition_of[name], model=model, revision=revision, seed=seed)
                    if case_.id not in values:
                        failed.append(failed_row(key, (model, name, case_.id), NO_ANSWER, stage="predict"))
                        continue
                    for metric in rules.metrics:
                        row = score_to_json(case_.id, metric, _outcome(values[case_.id], metric, frames))
                        rows.append({**row, "key": key, "both_px": 1, "either_px": 2})
        run.append_many("scores.jsonl", rows)
        if is_finished:  # of an unfinished run what has no score was never asked
            run.append_many("scores.jsonl", failed)
        run.append_many("errors.jsonl", errors)
        if is_finished:
            run.finish()
    return folder


def _outcome(value: float | None, metric: str, frames: str) -> Scored[float] | Undefined:
    if value is None:
        return Undefined("no frame is left to score")
    less = 0.0 if metric in {"J", "IoU"} else 0.1
    return Scored(value - less, Signature.of(task="any", metric=metric, frames=frames))
