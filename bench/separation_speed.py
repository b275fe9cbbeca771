"""Speed of the scores of separated sound beside fast_bss_eval and mir_eval: the same sounds, turn by turn, one core."""

from __future__ import annotations

import os
import warnings
from typing import Any

import fast_bss_eval
import numpy as np
from mir_eval.separation import bss_eval_sources
from threadpoolctl import threadpool_limits

from auscult.rng import generator
from auscult.score.sound import bss_sources, si_sdr
from bench.table import Table, timed_ms

RATE_HZ = 16_000
TURNS = 7


def run() -> Table:
    """Measure mixtures of several sources and lengths."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for sources, seconds in ((2, 3), (2, 10), (4, 10), (2, 60)) for row in _rows(sources, seconds)]
    return Table(
        title=f"scores of separated sound, {RATE_HZ} Hz, best order",
        header=["score", "sources", "s", "auscult ms", "fast_bss_eval ms", "mir_eval ms", "times as fast", "apart dB"],
        rows=rows,
        note=f"medians of {TURNS} turns, processor time of one core, float64; beside the fastest of the others; "
        f"largest difference from mir_eval, of SI-SDR from fast_bss_eval; NumPy {np.__version__}; load "
        f"{os.getloadavg()[0]:.1f} at the end",
    )


def _rows(sources: int, seconds: int) -> list[list[str]]:
    stems = generator(0, "bench", "separation").standard_normal((sources, seconds * RATE_HZ))
    estimates = stems + 0.2 * stems[::-1] + 0.1 * generator(1, "bench", "separation").standard_normal(stems.shape)
    given, true = list(estimates), list(stems)
    slow = TURNS if seconds < 60 else 1
    bss, ours = timed_ms(lambda: bss_sources(given, true, order="best"), TURNS)
    fast, _ = timed_ms(lambda: fast_bss_eval.bss_eval_sources(stems, estimates), TURNS)
    theirs, wanted = timed_ms(lambda: bss_eval_sources(stems, estimates), slow)
    found = np.array([[ratios[name].value for ratios in ours.ratios] for name in ("sdr", "sir", "sar")])
    far = np.abs(found - np.array(wanted[:3])).max()
    rows = [_row(["BSS Eval 3", sources, seconds], [bss, fast, theirs], far)]
    si, ours = timed_ms(lambda: [si_sdr(one, stem) for one, stem in zip(given, true, strict=True)], TURNS)
    fast, wanted = timed_ms(lambda: -fast_bss_eval.si_sdr_loss(estimates, stems), TURNS)
    far = np.abs(np.array([one.value for one in ours]) - wanted).max()
    return [*rows, _row(["SI-SDR, order given", sources, seconds], [si, fast], far)]


def _row(what: list[Any], times: list[float], far: float) -> list[str]:
    shown = [f"{one:.2f}" for one in times] + [""] * (3 - len(times))
    return [*map(str, what), *shown, f"{min(times[1:]) / times[0]:.1f}", f"{far:.0e}"]
