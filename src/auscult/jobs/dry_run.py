"""What asking models would take, without asking: requests, tokens and USD."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext
from functools import partial
from typing import Final

from auscult.jobs.predict import READ, QueuedRequest, Reader
from auscult.jobs.runner import Progress
from auscult.models.adapters.omni import Answering
from auscult.models.chat.model import NOTHING, Estimate
from auscult.models.omni import OmniPredictor
from auscult.models.omni_spec import OmniSpec
from auscult.outcome import Failed
from auscult.report.tables import Table
from auscult.work.chat import Tokens
from auscult.work.pool import Task
from auscult.work.threads import run_threads

DRY_RUN: Final = "dry_run"


def estimate_all(
    requests: Iterable[QueuedRequest], model: OmniSpec, *, progress: Progress
) -> tuple[Estimate, Mapping[str, int]]:
    """What requests would take at most, and why some of them cannot be sent, each reason with how often.

    All media are read as they would be to be sent. A model that is not behind an endpoint costs nothing.
    """
    found, problems, reader = NOTHING, Counter[str](), Reader()
    with nullcontext() if model.how is None else closing(model.open()) as opened:
        tasks = (Task(request.key, request) for request in requests)
        for result in run_threads(lambda: partial(_estimated, opened, reader), tasks, threads=1, stage=READ):
            if isinstance(result.outcome, Failed):
                problems[result.outcome.error.error] += 1
            else:
                found += result.outcome
            progress.step()
    return found, problems


def _estimated(opened: OmniPredictor | None, reader: Reader, request: QueuedRequest) -> Estimate:
    asked = request.prepared.ask(reader)
    return (opened.estimate(asked) if isinstance(opened, Answering) else None) or _ONE


_ONE: Final = Estimate(requests=1, tokens=Tokens(sent=0, received=0), cost=0.0)


def estimate_table(found: Mapping[str, tuple[Estimate, Mapping[str, int]]]) -> Table:
    """What asking would take, a model a row."""
    rows, notes = [], []
    for model, (estimate, problems) in found.items():
        cost = "not known" if estimate.cost is None else f"{estimate.cost:.2f}"
        tokens = (f"{estimate.tokens.sent:,}", f"{estimate.tokens.received:,}")
        rows.append((model, f"{estimate.requests:,}", *tokens, cost, f"{sum(problems.values()):,}"))
        notes += [f"{model}: {count:,} cannot be sent, {why}" for why, count in Counter(problems).most_common(3)]
    return Table(
        title="Dry run: what asking for what has no reply yet would take at most",
        header=("model", "requests", "tokens sent", "tokens received", "USD", "cannot be sent"),
        rows=tuple(rows),
        note=". ".join([*notes, "Nothing was sent. Tokens of media are estimates of the profile; tries count once"])
        + ".",
    )
