"""Models behind endpoints in a run of AVI-Bench: their options, a dry run, and a formatter of replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from auscult.errors import UsageError
from auscult.jobs import predict as job
from auscult.jobs.ask import DRY_RUN, ToRead, estimate_all, estimate_table, write_reformatted
from auscult.jobs.options import CHANGE_NOTHING
from auscult.models.chat.loading import CHAT, ChatHow, named_chat
from auscult.models.chat.model import ChatFormatter
from auscult.models.omni_spec import OmniSpec
from auscult.record.lines import read_lines
from auscult.record.schema import Summary
from auscult.score.tasks import variant_of
from auscult.suites.avi import AviOptions
from auscult.suites.avi.cases import AviCase
from auscult.suites.avi.scoring import frames_of
from auscult.suites.core.conditions import Condition
from auscult.suites.core.requests import RequestLog, conditions_for
from auscult.suites.core.results import ResultKey
from auscult.suites.core.runner import SuiteRunner
from auscult.suites.registered import SuiteRun

ENDPOINT = CHANGE_NOTHING | {"dry_run", "formatter", "formatter_profile"}
"""Options of models behind endpoints; they may change between commands."""


def how_of(options: AviOptions) -> ChatHow:
    """The options of requests to endpoints."""
    return ChatHow.of(options, seed=options.seed, folder=options.out, replies=job.FILE, sends=not options.dry_run)


def formatter_of(options: AviOptions, how: ChatHow) -> ChatFormatter | None:
    """The model that reformats replies, if the options name one."""
    if not options.formatter:
        return None
    if not options.formatter.startswith(CHAT):
        raise UsageError(f"--formatter is {options.formatter[:60]!r}", expected="chat:NAME")
    model = named_chat(options.formatter, profile=options.formatter_profile, asking=how.asking())
    return ChatFormatter(model, kept=how.kept())


def dry_run(
    runner: SuiteRunner[Any, Any], models: Sequence[OmniSpec], conditions: Sequence[Condition], *, log: RequestLog
) -> SuiteRun:
    """Estimate requests, tokens and USD; nothing is sent, and no request is recorded."""
    estimates = {}
    for model in models:
        requests = runner.unasked(model, conditions_for(model, conditions, log))
        runner.progress.stage(f"count {model.name}", len(requests))
        estimates[model.name] = estimate_all(requests, model, progress=runner.progress)
    table = estimate_table(estimates)
    n, failed = (sum(numbers) for numbers in zip(*map(_counts, estimates.values()), strict=True))
    summary = Summary(command="run avi --dry-run", n=n + failed, ok=n, failed=failed, metrics=_metrics(estimates))
    return SuiteRun(out=runner.run.path, summary=summary, tables={DRY_RUN: table}, shown=(table,))


def _counts(cost: tuple[Any, Mapping[str, int]]) -> tuple[int, int]:
    estimate, problems = cost
    return estimate.requests, sum(problems.values())


def _metrics(costs: Mapping[str, tuple[Any, Mapping[str, int]]]) -> dict[str, dict[str, Any]]:
    """The highest possible cost by model, in USD."""
    return {f"usd {model}": {"value": estimate.cost, "n": estimate.requests} for model, (estimate, _) in costs.items()}


def reply_notes(folder: Path, requests: Container[str]) -> tuple[str, ...]:
    """Sentences on each model's replies that were cut at its limit of tokens, or are empty without that."""
    rows = {str(row["key"]): row for row in read_lines(folder / job.FILE) if str(row["key"]) in requests}
    counts: dict[str, Counter[str]] = {}
    for row in rows.values():
        cut, empty = bool((row.get("usage") or {}).get("cut_off")), not str(row["reply"]).strip()
        kinds = {"all": True, "cut": cut, "cut and empty": cut and empty, "empty": empty and not cut}
        counts.setdefault(str(row["model"]), Counter()).update(name for name, is_one in kinds.items() if is_one)
    return tuple(sentence for model, one in counts.items() for sentence in _sentences(model, one))


def _sentences(model: str, counts: Mapping[str, int]) -> Iterator[str]:
    if counts["cut"]:
        yield (
            f"{model}: {counts['cut']:,} of {counts['all']:,} replies were cut at max_tokens of the profile, and "
            f"{counts['cut and empty']:,} of these are empty: a model that thinks first needs more."
        )
    if counts["empty"]:
        yield (
            f"{model}: {counts['empty']:,} of {counts['all']:,} replies are empty, though none of them was cut: "
            "withheld by a filter, a call of a tool, or nothing to say."
        )


def reformatting(
    runner: SuiteRunner[AviCase, Any], formatter: ChatFormatter, *, variant: str
) -> Callable[[Mapping[str, ResultKey]], None]:
    """The step before scoring: the formatter reformats replies without an answer."""
    run, by_id = runner.run, {case.id: case for case in runner.cases}

    def replies(requests: Mapping[str, ResultKey]) -> Iterator[ToRead]:
        for row in read_lines(run.path / job.FILE):
            request = requests.get(str(row["key"]))
            if request is not None:
                case = by_id[request[2]]
                yield ToRead(
                    key=str(row["key"]),
                    reply=str(row["reply"]),
                    form=case.task.answer,
                    words=case.sample.words,
                    frames=frames_of(case),
                    variant=variant_of("reply", variant),
                )

    def reformat(requests: Mapping[str, ResultKey]) -> None:
        try:
            write_reformatted(run, replies(requests), formatter, progress=runner.progress)
        finally:
            formatter.close()

    return reformat
