"""The end of an audit, once every verdict is written: pictures, clips, comparison with truth, tables and report.

A module of its own, which an audit imports after judging: a person waits for the first verdict.
"""

from __future__ import annotations

from auscult.act.policy import Policy
from auscult.cases.listing import Listing
from auscult.jobs.against_truth import collect_truth
from auscult.jobs.clips import write_clips
from auscult.jobs.errors import ErrorLog
from auscult.jobs.finish import finish_run
from auscult.jobs.pictures import draw_worst
from auscult.jobs.progress import Progress
from auscult.record.folder import RunFolder
from auscult.record.schema import Summary


def conclude(
    run: RunFolder, listing: Listing, *, policy: Policy, workers: int, errors: ErrorLog, progress: Progress
) -> Summary:
    """Write what follows from the verdicts.

    Args:
        run: The record; its verdicts are all written.
        listing: The INPUT; truth in it is opened here, and not before.
        policy: What decides.
        workers: Worker processes.
        errors: Where what fails is noted.
        progress: Who listens.

    Returns:
        What ``summary.json`` says.
    """
    draw_worst(run, listing.items, workers=workers, progress=progress)
    write_clips(run, listing, policy=policy, workers=workers, errors=errors, progress=progress)
    collect_truth(run, listing, workers=workers, errors=errors, progress=progress)
    return finish_run(run, command="audit")
