"""``auscult audit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auscult.cli import options, show
from auscult.judge import DEFAULT_JUDGE

if TYPE_CHECKING:
    from auscult.record.reader import Run


def audit(
    ctx: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            parser=options.input_path,
            help="A folder with frames/ and masks/, an items.jsonl, or a COCO json.",
        ),
    ],
    *,
    out: options.Out,
    judge: Annotated[
        str,
        typer.Option("--judge", help="A judge of `auscult list judge`; prompted@FOLDER as fitted by `auscult train`."),
    ] = DEFAULT_JUDGE,
    policy: options.Policy = "default",
    identity: options.Identity = None,
    identity_weights: options.IdentityWeights = None,
    evidence: options.EvidenceFrom = None,
    alone: options.Alone = False,
    text: options.Text = None,
    texts: options.Texts = None,
    scores: options.Scores = None,
    frames: options.FramesOption = None,
    masks: options.MasksOption = None,
    images: options.Images = None,
    instances: options.Instances = None,
    root: options.Root = None,
    labels: options.LabelsOption = False,
    workers: options.Workers = None,
    timeout: options.Timeout = 120.0,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge every candidate mask of INPUT without ground truth, decide what to do with it, and report."""
    from auscult.jobs.audit import AuditOptions, audit_folder

    job = AuditOptions(
        source=source,
        out=out,
        judge=judge,
        policy=policy,
        identity=identity,
        identity_weights=identity_weights,
        evidence=evidence,
        alone=alone,
        listing=options.listing(ctx),
        workers=workers,
        timeout_s=timeout,
        overwrite=overwrite,
        given=options.given(ctx),
    )
    with show.progress_bar(quiet=quiet) as progress:
        summary = audit_folder(job, progress)
    show_record(out, summary=summary.as_json(), json=json)
    show.exit_code(summary, max_failed=max_failed, record=out)


def show_record(folder: Path, *, summary: dict[str, object], json: bool) -> None:
    """Print a finished record: the summary as JSON, or its tables."""
    from auscult.record.reader import read_run

    run = read_run(folder)
    if json:
        show.as_json(summary)
        _say_remarks(run)
        return
    from auscult.report.tables import console_tables

    show.tables(console_tables(run))
    for note in run.manifest.get("inputs", {}).get("notes", ()):
        show.say(f"note: {note}")
    _say_remarks(run)
    _say_unlike(run)
    show.say(f"report: {folder / 'report.html'}")


def _say_unlike(run: Run) -> None:
    from auscult.report.facts import percent, unlike_of

    found = unlike_of(run.summary or {})
    if found is not None and found.many:
        share = percent(found.share)
        show.say(f"note: {share} of your items are out of distribution for this judge; the report says what to do")


def _say_remarks(run: Run) -> None:
    remarks = run.remarks
    if remarks:
        first = remarks[0]
        line = "" if first.get("line") is None else f":{first['line']}"
        where = f"{first['path']}{line}: " if first.get("path") else ""
        count = f"{len(remarks)} remark{'' if len(remarks) == 1 else 's'}"
        show.say(f"note: {count} in {run.path / 'errors.jsonl'}, the first: {where}{first.get('error')}")
