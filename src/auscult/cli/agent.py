"""``auscult agent``: from one sentence to a robustness study; runs plans for ``auscult run`` too."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from auscult.agent.options import AgentOptions
from auscult.cli import show
from auscult.cli.command import Shown, command

if TYPE_CHECKING:
    from auscult.agent.study import Study

_MOST_ROWS = 60
_MORE = 2.0
"""Factor of the higher limit that the user is asked to confirm."""


@command(AgentOptions, without=("perturb", "kind", "part", "inputs", "only", "timeout", "memory_mb"))
def agent(options: AgentOptions, shown: Shown) -> None:
    """Plan a study from a sentence, run it, and write its analysis and report."""
    from auscult.agent.running import LimitReached
    from auscult.agent.study import estimated, run_study
    from auscult.record.schema import Summary

    announced: list[Study] = []

    def planned(study: Study) -> None:
        if not announced:
            _tell_plan(study, shown)
        announced.append(study)

    while True:
        try:
            with show.progress_bar(quiet=shown.quiet) as progress:
                done = run_study(options, progress, planned=planned)
            break
        except LimitReached as error:
            name = f"max_{error.limit}"
            # a limit reached before there is a plan is that of the command
            of_plan = getattr(announced[-1].plan.limits, error.limit) if announced else 0
            limit = getattr(options, name) or of_plan or 1
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            show.say(str(error))
            if not typer.confirm(f"Go on with {error.limit} up to {limit * _MORE:g}?", default=False, err=True):
                raise
            higher: dict[str, Any] = {name: type(limit)(limit * _MORE), "overwrite": False}
            options = replace(options, **higher)
    if done.run is None:
        with show.progress_bar(quiet=shown.quiet) as progress:
            guess = estimated(done.plan, progress, workers=options.workers)
        show.say(guess)
        count = len(done.plan.samples)
        show.result(Summary(command="agent", n=count, ok=count, failed=0), (), shown, record=None)
        return
    if done.analysis is None:
        show.say("no case under test has a score, so there is no analysis")
    report = (done.record if done.analysis is None else options.out) / "report.html"
    show.result(done.run.summary, done.run.shown, shown, record=done.record, notes=[f"report: {report}"])


def _tell_plan(study: Study, shown: Shown) -> None:
    """Say what is taken and what is left out, on stderr where stdout is for JSON."""
    from auscult.agent.report import choice_tables

    if not shown.json:
        show.tables(choice_tables(study.plan, most=_MOST_ROWS))
    for remark in study.plan.remarks:
        show.say(remark)
    show.say(f"plan: {study.folder / 'plan.yaml'} (planner: {study.plan.planner})")
