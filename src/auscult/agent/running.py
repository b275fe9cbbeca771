"""Runs a plan by its suite: one call for all perturbations with the same severities, into one record, within limits.

The numbers are those of the same commands ``auscult run``: a plan becomes the suite's own options.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from auscult.agent.plan import FILE, Plan, PlanSource, check_plan, data_option, read_plan
from auscult.errors import UsageError
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.jobs.predict import Stopped
from auscult.jobs.runner import Progress, Silent
from auscult.media.paths import read_bytes, write_bytes
from auscult.record.lines import read_lines
from auscult.suites import registered
from auscult.suites.options import SCENES, SuiteOptions, data_of, option_names
from auscult.suites.registered import SuiteRun, load_suite, options_of

_BESIDE: Final = frozenset({"out", "workers", "overwrite", "max_failed", "json", "quiet"})
_LOOKS_S: Final = 2.0
"""Seconds between measurements of the size of a record."""


class LimitReached(UsageError):
    """A limit of the plan is reached; finished requests are kept."""

    limit: str = ""


def run_plan(
    plan: Plan,
    out: Path,
    progress: Progress | None = None,
    *,
    source: PlanSource | None = None,
    **how: Any,
) -> SuiteRun:
    """Run a plan by its suite into a record, exactly as ``auscult run`` does; the same call again resumes.

    ``source`` gives errors their file and line; ``how`` are options that change no result (``workers``,
    ``overwrite``). UsageError for an unknown name in the plan, LimitReached at one of its limits.
    """
    check_plan(plan, source)
    watch = _Watch(plan, out, progress or Silent(), overwrite=bool(how.get("overwrite")))
    suite = load_suite(plan.suite)
    with tempfile.TemporaryDirectory(prefix="auscult-") as folder:
        only = None
        if plan.samples:
            only = Path(folder) / "samples.txt"
            write_bytes(only, "".join(f"{sample.id}\n" for sample in plan.samples).encode())
        calls = list(suite_options(plan, out, only=only, **how))
        for number, options in enumerate(calls):
            watch.begin(len(calls) - number - 1)
            try:
                done = suite.run(replace(options, overwrite=options.overwrite and number == 0), watch)
            except UsageError as error:
                if only is None or error.path != str(only):
                    raise
                missing = UsageError(error.message, expected="ids of the data", hint=error.hint)
                raise (source or PlanSource()).placed(missing, ("samples", (error.line or 1) - 1)) from error
            except Stopped:
                pass  # raised below
            watch.refuse()
    return done


def refuse_beside_plan(path: Path, given: Iterable[str], allowed: Iterable[str] = ()) -> None:
    """Refuse options beside a plan that has them; ``allowed`` are some that change no result."""
    foreign = sorted(frozenset(given) - _BESIDE.union(allowed))
    if foreign:
        name = f"--{foreign[0].replace('_', '-')}" if foreign[0] != "sentence" else "a sentence"
        raise UsageError(f"{name} stands beside a plan", expected=f"it in {path}")


def run_plan_file(path: Path, out: Path, progress: Progress | None = None, **how: Any) -> SuiteRun:
    """As ``run_plan`` for a plan file, which is copied into the record."""
    plan, source = read_plan(path)
    done = run_plan(plan, out, progress, source=source, **how)
    write_bytes(out / FILE, read_bytes(path))
    return done


def run(suite: str | Plan, *, out: Path | str, progress: Progress | None = None, **options: Any) -> SuiteRun:
    """Run a benchmark end to end, what ``auscult run`` does; or a plan.

    Args:
        suite: The name of a suite, which takes ``options`` as ``suites.registered.run`` does, ``data`` among them; or a
            plan, which takes ``workers`` and ``overwrite``.
        out: The record; the same call again goes on where a stopped one left off.
        progress: Optional callback.
        options: Of the suite.

    Raises:
        UsageError: An option is wrong, or what a plan names is not there.
    """
    if isinstance(suite, Plan):
        return run_plan(suite, Path(out), progress, **options)
    return registered.run(suite, out=out, progress=progress, **options)


def suite_options(plan: Plan, out: Path, *, only: Path | None = None, **how: Any) -> Iterator[SuiteOptions]:
    """The suite's options for each call: one per set of severities, at least one."""
    suite, data = load_suite(plan.suite), plan.data
    values: dict[str, Any] = {"models": plan.models, "seed": plan.seed, "plan_hash": plan.hash, **how}
    values |= {"splits": data.splits} if data.splits else {}
    values |= {"data": SCENES, "count": data.scenes} if data.scenes is not None else {"data": data_of(data.path)}
    values |= {"only": only} if only is not None else {}
    values |= dict(data_option(plan, name) for name in data.options)
    if plan.suite == "avi":
        values |= {"tasks": tuple(task.name for task in plan.tasks), "budget": plan.limits.usd}
    if plan.suite == "rris" and plan.negatives:
        values["kinds"] = tuple(negative.name for negative in plan.negatives)
    calls: list[dict[str, Any]] = [{}]
    if plan.suite == "r2":
        values |= {"task": plan.task, "mixes": ()}
        calls = [{"kinds": kinds, "levels": levels} for levels, kinds in _by_levels(plan).items()] or calls
    names = option_names(suite.options())
    for call in calls:
        words = frozenset(names[field] for field in {**values, **call} if field in names)
        yield options_of(suite, {**values, **call, "out": out, "given": words})


def _by_levels(plan: Plan) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Perturbations by their levels: those with the same levels are one call."""
    levels: dict[str, tuple[str, ...]] = {}
    for perturbation in plan.perturbations:
        levels[perturbation.name] = tuple(dict.fromkeys((*levels.get(perturbation.name, ()), *perturbation.levels)))
    by_levels: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, severities in levels.items():
        by_levels[severities] = (*by_levels.get(severities, ()), name)
    return by_levels


class _Watch:
    """Counts requests, time and size of a run, and stops it between two requests at a limit."""

    def __init__(self, plan: Plan, out: Path, progress: Progress, *, overwrite: bool) -> None:
        self._limits, self._out, self._progress = plan.limits, out, progress
        self._start_s = self._last_look_s = time.monotonic()
        earlier = () if overwrite or plan.limits.requests is None else read_lines(out / PREDICTIONS)
        self._request_count = sum(not of_baseline(row.get("model")) for row in earlier)
        self._is_asking, self._is_counted, self._rest, self._calls = False, False, 0, 0
        self._reached_limit: tuple[str, float] | None = None

    def begin(self, calls: int) -> None:
        """Begin a call of the suite; ``calls`` is how many follow."""
        self._rest, self._calls = 0, calls

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        self._progress.stage(name, total)
        self._is_asking = name.startswith("ask ")
        self._is_counted = self._is_asking and not of_baseline(name.removeprefix("ask "))
        self._rest += total if self._is_counted else 0
        if self._is_counted and total:
            self._check()

    def step(self, count: int = 1) -> None:
        """Count finished steps of the stage."""
        self._progress.step(count)
        if self._is_counted:
            self._request_count, self._rest = self._request_count + count, self._rest - count
        if self._is_asking and self._rest:
            self._check()

    def _check(self) -> None:
        now, limits = time.monotonic(), self._limits
        spent = {"requests": self._request_count, "seconds": now - self._start_s}
        if limits.disk_mb is not None and (now - self._last_look_s > _LOOKS_S or self._last_look_s == self._start_s):
            self._last_look_s = now
            spent["disk_mb"] = folder_mb(self._out)
        for name, value in spent.items():
            limit = getattr(limits, name)
            if limit is not None and value >= limit:
                self._reached_limit = (name, limit)
                raise Stopped(f"the plan's limit of {limit:g} {name} is reached", hint="the same command goes on")

    def refuse(self) -> None:
        """Raise if a limit was reached."""
        if self._reached_limit is None:
            return
        name, limit = self._reached_limit
        error = LimitReached(
            f"the limit of {limit:g} {name} is reached: {self._rest:,} requests and {self._calls} more parts are left",
            expected=f"a higher limit: --max-{name.replace('_', '-')} of `auscult agent`, or limits.{name} of the plan",
            hint="what was done is kept: the same command with a higher limit goes on and repeats no request",
            path=self._out,
        )
        error.limit = name
        raise error


def folder_mb(folder: Path) -> float:
    """The size of the files of a folder, in MB."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6


def of_baseline(model: object) -> bool:
    """Whether a model's name is that of a baseline, whose requests do not count."""
    return str(model).startswith("baseline.")
