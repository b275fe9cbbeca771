"""What R2-Bench may be asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auscult.suites.registered import SuiteOptions, option


@dataclass(frozen=True, kw_only=True)
class R2Options(SuiteOptions):
    """Which models are tested, and under what.

    Attributes:
        task: A task of the suite, such as ``vos``.
        models: What was written for each model; see ``models.spec``.
        levels: ``low``, ``medium``, ``high``, numbers from 0 to 5, and ``dynamic``.
        mixes: ``mix``, ``picture``, ``guidance``: what is drawn for each case.
        kinds: Perturbations that are tried alone; ``all`` for the paper's.
        parts: Frames that are perturbed: ``all``, or ``first`` and ``rest``.
        texts: CSV of sentences, for data that has none of its own.
        masks: Folder of the true masks, where the layout has several.
        memory_mb: Limit of a worker's memory.
        inputs: Also write what models are shown, to predict elsewhere.
    """

    task: str = ""
    models: tuple[str, ...] = option("model", ())
    levels: tuple[str, ...] = option("severity", ("low", "medium", "high", "dynamic"))
    mixes: tuple[str, ...] = option("perturb", ("mix",))
    kinds: tuple[str, ...] = option("kind", ())
    parts: tuple[str, ...] = option("part", ("all",))
    texts: Path | None = None
    masks: Path | None = None
    memory_mb: int = 8192
    inputs: bool = False
