"""``auscult run``: a benchmark end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from auscult.cli import options, show
from auscult.cli import run_options as only

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from auscult.suites.registered import SuiteOptions, SuiteRun, Tested


def run(
    ctx: typer.Context,
    suite: only.Suite,
    *,
    data: only.Data,
    out: options.Out,
    judge: only.Judges = None,
    model: only.Models = None,
    task: only.Task = "",
    severity: only.Severity = "low,medium,high,dynamic",
    perturb: only.Perturb = "mix",
    kind: only.Kinds = "",
    part: only.Parts = "all",
    texts: only.Sentences = None,
    masks: only.TrueMasks = None,
    memory_mb: only.Memory = 8192,
    inputs: only.Inputs = False,
    count: only.Count = 50,
    seed: options.Seed = 0,
    assets: only.Assets = None,
    protocol: only.Protocol = "image,video",
    split: only.Split = "",
    negatives: only.Negatives = "own",
    generator: only.Generator = "standard",
    take: only.Take = "key",
    objects: only.Objects = "sample",
    least_px: only.LeastPx = 0,
    splits_file: only.SplitsFile = None,
    images: options.Images = None,
    policy: options.Policy = "paper",
    identity: options.Identity = None,
    identity_weights: options.IdentityWeights = None,
    workers: options.Workers = None,
    timeout: only.Limit = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a benchmark: make it, have every judge judge it or every model asked, and write tables and a report."""
    from auscult.suites.registered import load_suite

    job = _job(ctx)
    found = load_suite(suite)
    with show.progress_bar(quiet=quiet) as progress:
        done = found.run(job, progress)
    _tell(done, out, json=json)
    show.exit_code(done.summary, max_failed=max_failed, record=out)


def _tell(done: SuiteRun, out: Path, *, json: bool) -> None:
    """Print the summary as JSON, or the tables that fit a console; remarks go to stderr."""
    for remark in done.remarks:
        show.say(remark)
    if json:
        show.as_json(done.summary.as_json())
        return
    show.tables(done.shown)
    show.say(f"report: {out / 'report.html'}")


def _job(ctx: typer.Context) -> SuiteOptions:
    """What the command asks for."""
    from auscult.suites.registered import DEFAULT_JUDGES, SCENES, SuiteOptions, data_of

    given = ctx.params
    same = (
        "out", "count", "seed", "assets", "negatives", "generator", "take", "objects", "least_px", "splits_file",
        "images", "policy", "identity", "identity_weights", "workers", "overwrite",
    )  # fmt: skip
    return SuiteOptions(
        data=SCENES if data_of(given["data"]) == SCENES else options.input_path(given["data"]),
        judges=tuple(given["judge"] or DEFAULT_JUDGES),
        protocols=options.names(given["protocol"]),
        splits=options.names(given["split"]),
        timeout_s=given["timeout"],
        given=options.given(ctx),
        tested=_tested(given),
        **{name: given[name] for name in same},
    )


def _tested(given: Mapping[str, Any]) -> Tested:
    """What a suite of models is asked for, from the options of the command."""
    from auscult.suites.registered import Tested

    return Tested(
        task=given["task"],
        models=tuple(given["model"] or ()),
        levels=options.names(given["severity"]),
        mixes=() if given["perturb"] == "none" else options.names(given["perturb"]),
        kinds=options.names(given["kind"]),
        parts=options.names(given["part"]),
        texts=given["texts"],
        masks=given["masks"],
        memory_mb=given["memory_mb"],
        inputs=given["inputs"],
    )
