"""Write the tables and spectrograms of docs/separation-stress.md.

`PYTHONPATH=tools python tests/docs/separation_sheets.py` writes both. Chirps are the target, a hum and a beat the rest.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import numpy as np
from marked_sections import placed
from stress_pages_pictures import RATE_HZ, SECONDS, Sheet, levels_of, spectrum_db

from auscult import registry
from auscult.outcome import Undefined
from auscult.stress.perturbation import Constant
from auscult.stress.recipe_parts import base_of, registered
from auscult.stress.sound import separation
from auscult.types import Samples

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
FOLDER: Final = DOCS / "images" / "separation"
PAGE: Final = DOCS / "separation-stress.md"
FAMILIES: Final = {"lost": "lost_share", "left_in": "interference_db", "artefacts": "artefacts_db"}
SECOND: Final = "other"
SEED: Final = 3
SIDE: Final = 118


def kinds(family: str) -> list[separation.SeparationStressor]:
    """The stressors of a family; ``other`` is the second maker's."""
    stressors = [registry.load("stressor", name) for name in registered(["separation"])]
    if family == SECOND:
        return [stressor for stressor in stressors if base_of(stressor.name).startswith("other_")]
    return [
        stressor
        for stressor in stressors
        if stressor.degree == FAMILIES[family] and not base_of(stressor.name).startswith("other_")
    ]


def table(family: str) -> str:
    """A family's kinds as Markdown, with the constant at low, medium and high severity."""
    rows = ["| kind | makes | constant | at 1, 3, 5 |", "|---|---|---|---|"]
    for kind in kinds(family):
        (constant,) = kind.constants
        assert isinstance(constant, Constant)
        values = ", ".join(f"{constant.values[level]:g}" for level in (1, 3, 5))
        head = f"{constant.name}, {constant.unit}" if constant.unit else constant.name
        note = " (named by the paper)" if "batch 2" in kind.meta.source else ""
        rows.append(f"| `{base_of(kind.name)}` | {kind.meta.summary}{note} | {head} | {values} |")
    return "\n".join(rows)


def with_tables(page: str) -> str:
    """The page with the tables between their marks."""
    for family in (*FAMILIES, SECOND):
        page = placed(page, family, table(family))
    return page


def stems() -> list[Samples]:
    """Chirps as of a bird with overtones, and a hum with a beat; float32 (samples,)."""
    times = np.arange(int(SECONDS * RATE_HZ)) / RATE_HZ
    bird, other_stem = np.zeros_like(times), np.zeros_like(times)
    for start, low, high in ((0.2, 900.0, 1900.0), (0.8, 2200.0, 1100.0), (1.5, 1000.0, 2600.0), (2.3, 1800.0, 800.0)):
        share = np.clip((times - start) / 0.4, 0.0, 1.0)
        phase = 2 * np.pi * np.cumsum(low + (high - low) * share) / RATE_HZ
        bird += 0.2 * np.sin(np.pi * share) ** 2 * sum(np.sin(order * phase) / order for order in (1, 2, 3, 4))
    for order in (1, 2, 3, 5, 8):
        other_stem += 0.06 / order * np.sin(2 * np.pi * 130.0 * order * times)
    noise = np.random.default_rng(SEED).standard_normal(times.size)
    other_stem += 0.1 * noise * np.exp(-25.0 * (times % 0.5))
    return [bird.astype(np.float32), other_stem.astype(np.float32)]


def sheet(family: str) -> bytes:
    """A PNG: the target, then each kind of a family at severity 4."""
    stem_signals = stems()
    signals = {"target": stem_signals[0]}
    for kind in kinds(family):
        perturbed = separation.perturb(kind.name, stem_signals, rate_hz=RATE_HZ, severity=4, seed=SEED)
        assert not isinstance(perturbed, Undefined)
        signals[base_of(kind.name)] = perturbed.output
    picture = Sheet(panels=len(signals), width=SIDE, height=SIDE)
    for index, (label, samples) in enumerate(signals.items()):
        decibels = spectrum_db(samples, rate_hz=RATE_HZ, columns=SIDE, rows=SIDE)
        picture.put(index, levels_of(decibels, steps=28))
        picture.label(index, label)
    picture.ticks_x(SECONDS, (0, 1, 2, 3), unit="s")
    picture.ticks_log((125, 500, 2000, 8000), unit="kHz")
    return picture.png()


def main() -> int:
    """Write tables and pictures."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for family in (*FAMILIES, SECOND):
        (FOLDER / f"{family}.png").write_bytes(sheet(family))
    return 0


if __name__ == "__main__":
    sys.exit(main())
