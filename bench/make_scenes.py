"""How many scenes and mixtures a second `auscult make` writes, disk to disk, and where the time goes."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2

from auscult import rng as randomness
from auscult.jobs.make import make_scenes
from auscult.jobs.mixtures import make_mixtures
from auscult.jobs.options import MakeOptions, MixturesOptions
from auscult.record.schema import Summary
from auscult.scenes.assets import GENERATED
from auscult.scenes.draw import Stage, hear
from auscult.scenes.facts import facts_of, say, targets_of
from auscult.scenes.options import MixtureOptions, SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.refavs_layout import files_of
from auscult.scenes.splits import divide
from bench.table import Table

SCENES = 40
MIXTURES = 300
PARTS = 16
SEED = 3


def run() -> Table:
    """Measure the whole command on two workers, then each part of a scene on one thread."""
    scenes = _command(
        "scenes", SCENES, lambda out: make_scenes(MakeOptions(out=out, count=SCENES, seed=SEED, workers=2))
    )
    three = MixtureOptions(seconds=(10, 10), sources=(3, 3))
    mixtures = _command(
        "mixtures",
        MIXTURES,
        lambda out: make_mixtures(MixturesOptions(out=out, count=MIXTURES, workers=2, mixture=three)),
    )
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        parts = _parts()
    finally:
        cv2.setNumThreads(threads)
    rows = [
        scenes,
        mixtures,
        *([name, str(PARTS), "", f"{1e3 * took / PARTS:.0f}", ""] for name, took in parts.items()),
    ]
    return Table(
        "make scenes",
        ["what", "made", "per second", "CPU ms each", "MB each"],
        rows,
        "10 frames 480x854, 10 s of stereo sound at 16 kHz, masks of 2 to 6 objects, up to 6 expressions, generated "
        "assets. The commands run two workers, whose start counts. Wanted: 5 scenes and 20 mixtures (10 s of three "
        "sources, 16 kHz, with scores) per second on two cores.",
    )


def _command(what: str, count: int, make: Callable[[Path], tuple[Summary, object]]) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "made"
        start, used = time.perf_counter(), _cpu_s()
        summary, _ = make(out)
        took, used = time.perf_counter() - start, _cpu_s() - used
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if summary.ok != count:
        raise RuntimeError(f"{summary.failed} of {count} {what} failed")
    figures = (f"{count / took:.1f}", f"{1e3 * used / count:.0f}", f"{size / count / 1e6:.2f}")
    return [f"make {what}, two workers", str(count), *figures]


def _cpu_s() -> float:
    """User and system time of this process and of its children that ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def _parts() -> dict[str, float]:
    took: dict[str, float] = {}

    def timed(name: str, start: float) -> None:
        took[name] = took.get(name, 0.0) + time.process_time() - start

    shelves = divide(GENERATED)
    options = SceneOptions()
    now: Callable[[], float] = time.process_time
    for index in range(PARTS):
        start = now()
        plan = choose(SEED, index, assets=GENERATED, shelves=shelves, options=options)
        timed("choosing", start)
        start = now()
        shots = Stage(plan, GENERATED.looks).key_shots()
        timed("drawing", start)
        start = now()
        heard = hear(plan, GENERATED.sounds)
        timed("sound", start)
        start = now()
        facts = facts_of(plan, shots, gain_db=heard.gain_db)
        targets = targets_of(plan, shots)
        timed("facts", start)
        start = now()
        say(randomness.generator(SEED, "bench", index), facts, targets=targets, most=6, nulls=2)
        timed("expressions and proofs", start)
        start = now()
        files_of(plan, shots, heard.samples, nulls=True)
        timed("JPEG, PNG, WAV", start)
    return took
