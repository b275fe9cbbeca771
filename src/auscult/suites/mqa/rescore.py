"""``auscult score`` of a record of ``run mqa``: its tables anew from its lines; no mask is opened, no judge asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from auscult.act.policy import Policy, policy_of
from auscult.errors import InputError, RecordError
from auscult.jobs.finish import counted_by
from auscult.media.paths import inside
from auscult.record.folder import MANIFEST, read_manifest
from auscult.record.manifest import argument
from auscult.record.reader import Run, read_run, require_record
from auscult.suites.mqa.baselines import baseline_answers
from auscult.suites.mqa.basis import BASIS, read_basis, read_candidates
from auscult.suites.mqa.finish_run import Outcome, noted_tables, shown_of, summary_of
from auscult.suites.mqa.results import results_of
from auscult.suites.mqa.rows import Answers, answers_of
from auscult.suites.registered import SuiteRun
from auscult.types import ACTIONS, DEFECTS

COMMAND: Final = "score"
RUN: Final = "run mqa"
_JUDGES: Final = "judges"
_GROUPS: Final = ("perfect", "shape", "merge", "full_neg")


def score_mqa(folder: Path) -> SuiteRun:
    """Compute the tables of a record from its candidates and verdicts; nothing is written.

    Args:
        folder: The output folder of ``auscult run mqa``, which came to its end at least once.

    Returns:
        Summary and tables, as the run itself tells them of the same lines.

    Raises:
        RecordError: It is no such record, or a damaged one.
    """
    require_record(folder)
    manifest = read_manifest(folder)
    if manifest["command"] != RUN:
        raise RecordError(f"the record is of `auscult {manifest['command']}`", path=folder, expected=f"of {RUN}")
    candidates, basis = read_candidates(folder), read_basis(folder)
    listed = {one.id for one in candidates}
    runs = {name: run for name in basis.judges if (run := _run(folder, name)) is not None}
    judges: dict[str, Answers] = {
        name: answers_of(verdict for verdict, _ in runs[name].verdicts if verdict.id in listed) if name in runs else {}
        for name in basis.judges
    }
    verdicts = [verdict for run in runs.values() for verdict, _ in run.verdicts]
    outcome = Outcome(
        command=COMMAND,
        candidates=candidates,
        judges=judges,
        rows={**judges, **baseline_answers(candidates, basis.constant, _policy(argument(manifest, "policy"), folder))},
        constant=basis.constant,
        by_action=counted_by([verdict.action or "" for verdict in verdicts], ACTIONS),
        by_defect=counted_by([verdict.defect for verdict in verdicts], (*DEFECTS, "empty")),
    )
    results = results_of(outcome.candidates, outcome.rows)
    tables = noted_tables(results, outcome.constant)
    summary = summary_of(outcome, results, unlisted=basis.unlisted)
    return SuiteRun(out=folder, summary=summary, tables=tables, shown=shown_of(tables))


def _run(folder: Path, name: str) -> Run | None:
    """The record of a judge; None where it has none, as with one that could not be loaded."""
    try:
        home = inside(folder, f"{_JUDGES}/{name}")
    except InputError as error:
        raise RecordError(error.message, expected="names of judges", path=folder / BASIS) from error
    return read_run(home) if (home / MANIFEST).is_file() else None


def _policy(told: Any, folder: Path) -> Policy:
    """The policy as the manifest has it, checked like a policy file.

    Raises:
        RecordError: It is none.
    """
    try:
        given = {name: told[name] for name in ("name", "summary", "require_identity")}
        good = told.get("good")
        if good is not None:
            given["good"] = {"accept": _bound(good["prob_iou_80"], inclusive=good["inclusive"])}
        return policy_of({**given, **{group: _thresholds(told[group]) for group in _GROUPS}})
    except (KeyError, TypeError, InputError) as error:
        raise RecordError(
            "the manifest holds no policy", path=folder / MANIFEST, expected="the thresholds of the run",
            hint="the file was edited or damaged; run the command of this record again with --overwrite",
        ) from error  # fmt: skip


def _thresholds(told: Sequence[Any]) -> dict[str, Any]:
    return {one["action"]: _bound(one["iou"], inclusive=one["inclusive"]) for one in told}


def _bound(value: Any, *, inclusive: Any) -> dict[str, Any]:
    return {"at_least" if inclusive else "above": value}
