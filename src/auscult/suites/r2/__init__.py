"""The benchmark of robustness, R2-Bench: models that segment by reference, under perturbations of picture and guidance.

What it shares with every suite of models (asking, result rows, grid, numbers, the end of a run) is ``suites.core``.

==============  ==================================================================
options         what it may be asked
cases           the four tasks with their metrics and frames; from instances to cases
conditions      what is done to a case: mixes, kinds alone, levels, dynamics
perturbing      a case under a condition, and what becomes of its truth
scoring         stored predictions to scores
measures        the grid to changes, ranks and breaking points, with intervals
relations       which kinds harm alike, which model comes first
tables          numbers to tables
figures         numbers to charts; what was done and what came of it, in pictures
results         all that follows from the scores, and how it is laid out
answering       what became of the questions; what models are shown, as files
compare         records of several runs side by side
compare_sets    records read and put together
compare_models  models over several data sets
run             the whole: cases, predictions, scores, tables, report
==============  ==================================================================
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
