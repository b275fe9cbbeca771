"""``auscult run``: a benchmark end to end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from auscult.agent.evaluation import AgentTableOptions
from auscult.cli import show
from auscult.cli.command import Shown, command
from auscult.jobs.options import Flag, specs_of
from auscult.suites.avi import AviOptions
from auscult.suites.mqa.options import MqaOptions
from auscult.suites.options import data_argument
from auscult.suites.r2 import R2Options
from auscult.suites.rris import RrisOptions

if TYPE_CHECKING:
    from auscult.suites.options import SuiteOptions
    from auscult.suites.registered import Suite

_OF_THE_COMMAND = frozenset({"suite", "max_failed", "json", "quiet"})
"""Options of the command itself, whatever the suite."""


@dataclass(frozen=True, kw_only=True)
class RunCommand(R2Options, RrisOptions, AviOptions, MqaOptions, AgentTableOptions):
    """The options of ``auscult run``: those of all suites; a suite refuses those that it does not have.

    Attributes:
        suite: A suite of `auscult list suite`, for example mqa; or a plan, NAME.yaml, which says all but --out.
        data: A source of true masks, a benchmark made before, or the word scenes for new ones (a folder of that name
            goes first); suite agent has its own.
    """

    suite: Annotated[str, Flag(metavar="SUITE", positional=True)]
    data: Annotated[Path | str, Flag(read=data_argument, shown="-")] = ""


@command(RunCommand)
def run(options: RunCommand, shown: Shown) -> None:
    """Run a benchmark: make it, have every judge judge it or every model asked, and write tables and a report."""
    from auscult.agent.running import refuse_beside_plan, run_plan_file
    from auscult.suites.registered import load_suite

    if Path(options.suite).suffix in {".yaml", ".yml"}:
        refuse_beside_plan(Path(options.suite), options.given - {"suite"})
        settings: dict[str, Any] = {"workers": options.workers, "overwrite": options.overwrite}
        run_it = partial(run_plan_file, Path(options.suite), options.out, **settings)
    else:
        suite = load_suite(options.suite)
        run_it = partial(suite.run, _suite_options(options, suite))
    with show.progress_bar(quiet=shown.quiet) as progress:
        done = run_it(progress=progress)
    for remark in done.remarks:
        show.say(remark)
    report = options.out / "report.html"
    notes = [f"report: {report}"] if report.is_file() else []  # a dry run has none
    show.result(done.summary, done.shown, shown, record=options.out, notes=notes)


def _suite_options(options: RunCommand, suite: Suite) -> SuiteOptions:
    """The given options of the suite, so that the suite's defaults apply to the others."""
    from auscult.suites.registered import options_of, refuse_foreign

    refuse_foreign(suite, options.given - _OF_THE_COMMAND)
    spelled = (options.given | {"out"} | ({"data"} if options.data else set())) - _OF_THE_COMMAND
    values = {spec.path[0]: getattr(options, spec.path[0]) for spec in specs_of(RunCommand) if spec.name in spelled}
    return options_of(suite, {**values, "given": options.given})
