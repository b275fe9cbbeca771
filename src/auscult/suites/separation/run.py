"""``auscult run separation``: ask separators, score their outputs, write tables, players and a page.

The files are those of ``core.runner`` and ``core.page``, the separated sounds in ``outputs/`` and, with ``--data
scenes``, the mixtures in ``mixtures/``. The same command again makes only missing outputs; an added model computes only
its own results.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from auscult.jobs.runner import Progress, Silent
from auscult.models.separators import named_separators
from auscult.suites.core.command import SuiteCommand
from auscult.suites.registered import SuiteRun, refuse_idle
from auscult.suites.separation import SeparationOptions
from auscult.suites.separation.asking import separate
from auscult.suites.separation.cases import Prepared, SeparationCase, cases_of, listing_of
from auscult.suites.separation.results import BASELINES, TASK
from auscult.suites.separation.scoring import OutputScorer
from auscult.suites.separation.worst import worst_sections


def run_separation(options: SeparationOptions, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; requests of earlier commands are not repeated."""
    models, listener = named_separators(options.models), progress or Silent()
    refuse_idle(options, {"images": "a COCO json, which holds no sound"})
    command = SuiteCommand[SeparationCase](
        options=options,
        task=TASK,
        models=models,
        baselines=named_separators(BASELINES),
        data=partial(listing_of, options, listener),
        unlisted=attrgetter("problems"),
        progress=listener,
    )
    with command.opened() as run:
        items = options.chosen(command.listing.items, lambda item: (item.id, item.cluster or item.id))
        listener.stage("cases", len(items))
        runner = command.runner(
            run,
            cases_of(items, step=listener.step),
            nothing="there is no mixture that can be read",
            prepare=Prepared,
            scorer=partial(OutputScorer, run.path),
            send=partial(separate, run),
        )
        done = command.ask(runner)
        return command.write(runner, done, pictures=worst_sections(runner, done))
