"""``auscult audit``: judge every candidate of an INPUT without truth, decide, report.

The same command again continues where a stopped run left off. Truth in the INPUT is opened only after the last verdict
is written.

A module of its own, which an audit imports after judging: a person waits for the first verdict.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from auscult import registry
from auscult.act.policy import Policy, load_policy
from auscult.cases.listing import Listing, list_items
from auscult.errors import NothingToDo
from auscult.jobs.against_truth import collect_truth
from auscult.jobs.clips import write_clips
from auscult.jobs.errors import ErrorLog
from auscult.jobs.finish import draw_worst, finish_run
from auscult.jobs.groups import Crew, each_frame
from auscult.jobs.identities import identity_arguments
from auscult.jobs.judging import Judged, find_judge, make_auditor
from auscult.jobs.progress import Progress, Silent
from auscult.jobs.resume import SAME_RESULT, InputOptions, input_manifest, refuse_changed, refuse_other_scores
from auscult.judge import DEFAULT_JUDGE
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder, open_run
from auscult.record.reader import read_verdicts
from auscult.record.schema import Summary, error_to_json
from auscult.types import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(InputOptions):
    """What to audit and how.

    Attributes:
        judge: Name of a registered judge.
        policy: Name of a shipped policy, or a policy file.
        alone: Show the judge one candidate at a time. The candidates of a benchmark are of one object, and not one
            another's other objects: shown together they would give the defect away.
        identity: Name of a registered identity check; None for none, and every verdict then says so.
        identity_weights: Folder of weights for a check whose weights the user brings.
        evidence: Another segmenter whose answers the judge compares with, ``hf:FOLDER``; None for the judge's own.
    """

    judge: str = DEFAULT_JUDGE
    policy: str = "default"
    alone: bool = False
    identity: str | None = None
    identity_weights: Path | None = None
    evidence: str | None = None


def audit_folder(options: AuditOptions, progress: Progress | None = None) -> Summary:
    """Audit an INPUT into an output folder.

    Args:
        options: What to audit and how.
        progress: Who listens.

    Returns:
        What ``summary.json`` says.

    Raises:
        NothingToDo: INPUT holds no item and no broken item.
        RecordError: The output folder is in use, or was made with other arguments or input.
        UnknownName: There is no such judge or identity check.
        UsageError: The identity check lacks its weights or an extra.
    """
    listener = progress or Silent()
    judge, fitted = find_judge(options.judge)
    policy = load_policy(options.policy)
    listing = list_items(options.source, options.listing)
    if not listing.items and not listing.errors:
        raise NothingToDo("the input holds no mask", path=options.source, hint="see `auscult audit --help`")
    with open_run(
        options.out,
        _manifest(options, judge, fitted, policy=policy, listing=listing),
        overwrite=options.overwrite,
        ignore=SAME_RESULT,
    ) as run:
        run.remove("errors.jsonl")  # whatever failed before is tried again now
        errors = ErrorLog(run)
        errors.keep(error_to_json(name, error) for name, error in listing.errors)
        crew = Crew(
            partial(
                make_auditor,
                options.judge,
                policy,
                _root(listing.items),
                alone=options.alone,
                identity=options.identity,
                weights=options.identity_weights,
                evidence=options.evidence,
            ),
            options.n_workers,
            options.timeout_s,
            "judge",
        )
        _judge_all(run, listing.items, crew, errors=errors, progress=listener)

        workers = options.n_workers
        return finalize(run, listing, policy=policy, workers=workers, errors=errors, progress=listener)


def _manifest(
    options: AuditOptions, judge: registry.Entry, fitted: Path | None, *, policy: Policy, listing: Listing
) -> dict[str, Any]:
    arguments: dict[str, Any] = {"judge": judge.name, "judge_from": judge.origin, "policy": asdict(policy)}
    if fitted is not None:
        arguments["judge_fitted"] = digest_file(fitted / "calibration.json")
    if options.evidence is not None:
        arguments["evidence"] = options.evidence
    if options.alone:
        arguments["alone"] = True
    arguments |= identity_arguments(options.identity, options.identity_weights)
    return input_manifest("audit", options, arguments=arguments, listing=listing, seeds={})


def _root(items: Sequence[Item]) -> Path:
    """The deepest folder that holds all frames: names of frames on record are relative to it."""
    return Path(os.path.commonpath([item.frame.parent for item in items])) if items else Path()


def _judge_all(
    run: RunFolder, items: Sequence[Item], crew: Crew[Judged], *, errors: ErrorLog, progress: Progress
) -> None:
    done: dict[str, object] = {}
    scores: dict[str, object] = {}
    for row in run.lines("verdicts.jsonl"):
        done[row["id"]] = row.get("input")
        if "model_score" in row:
            scores[row["id"]] = row["model_score"]
    refuse_changed(done, items)
    refuse_other_scores(scores, items)
    progress.stage("judging", len(items))
    each_frame(crew, items, done=done, keep=partial(_keep, run, errors), errors=errors, progress=progress)


def _keep(run: RunFolder, errors: ErrorLog, judged: Sequence[Judged]) -> None:
    """Write what one frame came to; a verdict last, so that it never stands without its mask and picture."""
    for name, rows in _tables(judged):
        if rows:
            run.append_many(name, rows)
    errors.keep(entry.error for entry in judged if entry.error is not None)


def _tables(judged: Sequence[Judged]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield "masks.jsonl", [dict(entry.mask) for entry in judged if entry.mask is not None]
    yield "thumbnails.jsonl", [dict(entry.picture) for entry in judged if entry.picture is not None]
    yield "verdicts.jsonl", [dict(entry.verdict) for entry in judged if entry.verdict is not None]


def finalize(
    run: RunFolder, listing: Listing, *, policy: Policy, workers: int, errors: ErrorLog, progress: Progress
) -> Summary:
    """Write what follows from the verdicts, which are read once."""
    verdicts = read_verdicts(run.path)
    draw_worst(run, listing.items, verdicts=verdicts, workers=workers, progress=progress)
    write_clips(run, listing, verdicts=verdicts, policy=policy, workers=workers, errors=errors, progress=progress)
    collect_truth(run, listing, verdicts=verdicts, workers=workers, errors=errors, progress=progress)
    return finish_run(run, command="audit", verdicts=verdicts)
