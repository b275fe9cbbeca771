"""How many scenes and mixtures a second `auscult make` writes, disk to disk, and where the time goes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auscult import rng as randomness
from auscult.scenes.dataset import files_of
from auscult.scenes.draw import Stage, hear
from auscult.scenes.facts import facts_of, say, targets_of
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.splits import GENERATED, divide
from bench.main_job import measure
from bench.table import Table

SCENES = 100
MIXTURES = 300
PARTS = 16
SEED = 3


def run() -> Table:
    """Measure the whole command on two workers, then each part of a scene on one thread."""
    scenes = _command("scenes", SCENES)
    mixtures = _command("mixtures", MIXTURES, "--seconds", "10-10", "--sources", "3-3")
    rows = [scenes, mixtures]
    rows += [[name, str(PARTS), "", f"{1e3 * took / PARTS:.0f}", ""] for name, took in _parts().items()]
    return Table(
        "make scenes",
        ["what", "made", "per second", "CPU ms each", "MB each"],
        rows,
        "10 frames 480x854, 10 s of stereo sound at 16 kHz, masks of 2 to 6 objects, up to 6 expressions, generated "
        "assets. The commands run two workers, and their start counts. Wanted: 5 scenes and 20 mixtures (10 s of three "
        "sources, 16 kHz, with scores) per second on two cores.",
    )


def _command(what: str, count: int, *options: str) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "made"
        found = measure(["make", what, "--out", str(out), "--count", str(count), *options])
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    figures = (f"{count / found.wall_s:.1f}", f"{1e3 * found.cpu_s / count:.0f}", f"{size / count / 1e6:.2f}")
    return [f"make {what}, two workers", str(count), *figures]


def _parts() -> dict[str, float]:
    took: dict[str, float] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        start = time.process_time()
        yield
        took[name] = took.get(name, 0.0) + time.process_time() - start

    shelves, options = divide(GENERATED), SceneOptions()
    for index in range(PARTS):
        with timed("choosing"):
            plan = choose(SEED, index, assets=GENERATED, shelves=shelves, options=options)
        with timed("drawing"):
            shots = Stage(plan, GENERATED.looks).key_shots()
        with timed("sound"):
            heard = hear(plan, GENERATED.sounds)
        with timed("facts"):
            facts = facts_of(plan, shots, gain_db=heard.gain_db)
            targets = targets_of(plan, shots)
        with timed("expressions and proofs"):
            say(randomness.generator(SEED, "bench", index), facts, targets=targets, most=6, nulls=2)
        with timed("JPEG, PNG, WAV"):
            files_of(plan, shots, heard.samples, nulls=True)
    return took
