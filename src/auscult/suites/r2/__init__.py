"""The benchmark of robustness, R2-Bench: models that segment by reference, under perturbations of picture and guidance.

The shared parts of all suites of models (requests, result rows, grid, numbers, tables, charts, page, scoring again and
comparing) are in ``suites.core``.

==========  ==================================================================
cases       the five tasks with their metrics and frames; from instances to cases
conditions  perturbations of a case: mixes, single kinds, levels, dynamics
perturbing  a case under a condition, with its truth
scoring     scores of stored predictions
inputs      the inputs of models, as files
strips      cases and predictions in pictures
run         a whole run: cases, predictions, scores, tables, report
==========  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from auscult.jobs.options import Flag, names
from auscult.suites.options import LateModelSuite, ModelOptions
from auscult.types import Metadata


def mix_names(text: str) -> tuple[str, ...]:
    """The mixes in a comma-separated list; the word none stands for no mix."""
    mixes = names(text)
    return () if mixes == ("none",) else mixes


@dataclass(frozen=True, kw_only=True)
class R2Options(ModelOptions):
    """Which models are tested, and under what.

    Attributes:
        task: The task of a suite of models: ris, vos, rvos, avs, avss or refavs.
        levels: Comma-separated: low, medium, high, numbers from 0 to 5, dynamic.
        mixes: Comma-separated, drawn for each case: mix (picture, guidance or both), picture, guidance; none for
            none.
        kinds: Comma-separated perturbations tried alone; all for the paper's. Of rris, the kinds of negative sentences.
        parts: Frames that are perturbed: all; with --task vos also first (the reference's) and rest.
        texts: CSV of sentences (id,text or frame,text), for data that has none of its own.
        masks: Folder of the true masks, where the data has several.
        inputs: Also write to OUT/inputs what models are shown, to predict elsewhere.
        base_url: Where the omni model of an agent (tgs:) answers, before what its profile says.
        profile: What a chat model of an agent takes and how, a file.
    """

    task: Annotated[str, Flag(shown="none")] = ""
    levels: Annotated[tuple[str, ...], Flag(name="severity", read=names)] = ("low", "medium", "high", "dynamic")
    mixes: Annotated[tuple[str, ...], Flag(name="perturb", read=mix_names)] = ("mix",)
    kinds: Annotated[tuple[str, ...], Flag(name="kind", read=names, shown="none")] = ()
    parts: Annotated[tuple[str, ...], Flag(name="part", read=names)] = ("all",)
    texts: Path | None = None
    masks: Path | None = None
    inputs: bool = False
    base_url: str = ""
    profile: Path | None = None


SUITE: Final = LateModelSuite(
    name="r2.v1",
    meta=Metadata(
        summary="models that segment by sentence, first mask or sound, clean and under perturbations of known strength",
        goal="measures how much a model loses, to which perturbation, and from which strength on",
        modality="video",
        source="R2-Bench, Sec. 5, Tables 3 to 6, Figs. 7 to 10",
        truth="needs true masks of the referred objects",
    ),
    kind=R2Options,
    starts="auscult.suites.r2.run:run_r2",
    rules="auscult.suites.r2.cases:record_task",
)
