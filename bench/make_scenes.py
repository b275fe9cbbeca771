"""How many scenes a second `auscult make scenes` writes, disk to disk, and where the time goes."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2

from auscult import rng as randomness
from auscult.jobs.make import make_scenes
from auscult.jobs.options import MakeOptions
from auscult.scenes.assets import GENERATED
from auscult.scenes.draw import Stage, hear
from auscult.scenes.facts import facts_of, say, targets_of
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.refavs_layout import files_of
from auscult.scenes.splits import divide
from bench.table import Table

SCENES = 40
PARTS = 16
SEED = 3


def run() -> Table:
    """Measure the whole command on two workers, then each part of a scene on one thread."""
    whole = _command()
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        parts = _parts()
    finally:
        cv2.setNumThreads(threads)
    rows = [whole, *([name, str(PARTS), "", f"{1e3 * took / PARTS:.0f}", ""] for name, took in parts.items())]
    return Table(
        "make scenes",
        ["what", "scenes", "per second", "CPU ms a scene", "MB a scene"],
        rows,
        "10 frames 480x854, 10 s of stereo sound at 16 kHz, masks of 2 to 6 objects, up to 6 expressions, generated "
        "assets. The command runs two workers, whose start counts. Wanted: 5 per second on two cores.",
    )


def _command() -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "scenes"
        start, used = time.perf_counter(), _cpu_s()
        summary, _ = make_scenes(MakeOptions(out=out, count=SCENES, seed=SEED, workers=2))
        took, used = time.perf_counter() - start, _cpu_s() - used
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if summary.ok != SCENES:
        raise RuntimeError(f"{summary.failed} of {SCENES} scenes failed")
    return [
        "the command, two workers",
        str(SCENES),
        f"{SCENES / took:.1f}",
        f"{1e3 * used / SCENES:.0f}",
        f"{size / SCENES / 1e6:.2f}",
    ]


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
