"""Fixtures that every test may use, and the rule that no test is skipped for a reason nobody wrote down."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from small_inputs import auscult

# A run is the same each time, however busy the machine; `make fuzz` looks for new examples.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile("repeatable")

# The only reasons for which a test may be skipped; any other skip fails the run.
ALLOWED_SKIPS = (
    "AUSCULT_DATA is not set",
    "the extra `demo` is not installed",
    "the extra `train` is not installed",
    "the extra `docs` is not installed",
    "the extra `video` is not installed",
    "the extra `sound` is not installed",
    "the extra `clip` is not installed",
    "the extra `chat` is not installed",
    "the extra `inspect` is not installed",
    "the extra `agent` is not installed",
    "vos-benchmark is not installed",
    "the packages to compare captions with are not installed",
    "what `transformers serve` needs is not installed",
    "the packages to compare BSS Eval with are not installed",
    "the package of this score is not installed",
    "the package to compare ratings with is not installed",
    "the package to compare loudness with is not installed",
    "there is no browser",
    "the environment .venvs/perturb is not there",
)


def pytest_configure() -> None:
    """Keep each of several processes that run tests, and what it starts, to one processor of its own.

    The others are taken: a second worker or thread there would only cost its start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background, whose commands inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    number = os.environ.get("PYTEST_XDIST_WORKER", os.environ.get("AUSCULT_TESTS_ON", "")).removeprefix("gw")
    if number and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[int(number) % len(processors)]})


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end: the garbage collector need not go through a million objects each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_sessionfinish() -> None:
    """Let everything go."""
    gc.unfreeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over files that name none of the wanted markers, as of ``-m "slow or peer"``: to import them takes long."""
    markers = str(config.getoption("markexpr")).split(" or ")
    if collection_path.suffix != ".py" or not all(word.isidentifier() for word in markers):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if any(word in text for word in markers) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What may take longest begins first, so that at the end no process waits for the last long test of another."""
    items.sort(key=_seconds, reverse=True)


def _seconds(item: pytest.Item) -> float:
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit else 0.0


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real material, or a skip where there is none."""
    folder = os.environ.get("AUSCULT_DATA")
    if not folder:
        pytest.skip("AUSCULT_DATA is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that ``auscult demo`` filled, and what it printed."""
    pytest.importorskip("skimage", reason="the extra `demo` is not installed")
    out = tmp_path_factory.mktemp("demo") / "auscult-demo"
    result = auscult("demo", "--out", out, "--quiet")
    assert result.code == 0, result.err
    return out, result.out


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Turn a skip for an unwritten reason into a failure."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(allowed in reason for allowed in ALLOWED_SKIPS):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped for a reason that tests/conftest.py does not list: {reason}"
    return report
