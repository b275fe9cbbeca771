"""The benchmark of robustness, R2-Bench: models that segment by reference, under perturbations of picture and guidance.

===========  ==================================================================
tasks        the four tasks: their guidance, their metrics, the frames that count
conditions   what is done to every case: mixes, kinds alone, levels, dynamics
cases        from instances to what a model is shown and told
perturbing   a case under a condition, and what becomes of its truth
scoring      stored predictions to scores
grid         scores to a grid of model, condition and case
measures     the grid to changes, correlations, ranks and breaking points, with intervals
relations    which kinds harm alike, which model comes first
tables       measures to tables
cells        measures as plain values
figures      measures to charts
strips       what was done and what came of it, in pictures
results      all that follows from the scores, and how it is written and laid out
compare      records of several runs side by side
inputs       what models are shown, as files
run          the whole: cases, predictions, scores, tables, report
===========  ==================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auscult.types import Metadata

if TYPE_CHECKING:
    from auscult.jobs.runner import Progress
    from auscult.suites.r2.options import R2Options
    from auscult.suites.registered import SuiteRun


class R2Suite:
    """Robustness of referring perception: RIS, VOS, R-VOS and AVS."""

    name = "r2.v1"
    meta = Metadata(
        summary="models that segment by sentence, first mask or sound, clean and under perturbations of known strength",
        goal="measures how much a model loses, to which perturbation, and from which strength on",
        modality="video",
        source="R2-Bench, Sec. 5, Tables 3 to 6, Figs. 7 to 10",
        truth="needs true masks of the referred objects",
    )

    def options(self) -> type[R2Options]:
        """What it may be asked."""
        from auscult.suites.r2.options import R2Options

        return R2Options

    def run(self, options: R2Options, progress: Progress | None = None) -> SuiteRun:
        """Perturb the cases, ask every model, score what it said, and write tables, figures and report."""
        from auscult.suites.r2.run import run_r2

        return run_r2(options, progress)


SUITE = R2Suite()
