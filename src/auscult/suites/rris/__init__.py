"""The benchmark of sentences that name nothing: what does a segmenter paint for the cat that is not there?

=======  =====================================================================
cases    sentences of references, positive and negative; from instances to cases
scoring  stored predictions to areas
results  areas to rIoU, mRR and their like, with intervals; tables
worst    invented masks in pictures, worst first
run      the whole: cases, predictions, scores, tables, report
=======  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from auscult.jobs.options import Flag, names
from auscult.suites.options import ModelOptions
from auscult.types import Metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auscult.jobs.runner import Progress
    from auscult.suites.core.grid import Task
    from auscult.suites.registered import SuiteRun


@dataclass(frozen=True, kw_only=True)
class RrisOptions(ModelOptions):
    """Which models are tested: every sentence is asked once, as it is.

    Attributes:
        kinds: Comma-separated kinds of negative sentences; the positive ones are always asked.
    """

    kinds: Annotated[tuple[str, ...], Flag(name="kind", read=names, shown="all")] = ()


class RrisSuite:
    """Robust referring image segmentation."""

    name = "rris.v1"
    meta = Metadata(
        summary="models that segment by sentence, asked also about what is not there",
        goal="measures invented masks beside the quality of right ones, by kind of negation",
        modality="image",
        source="Wu et al., Towards Robust Referring Image Segmentation, Sec. 3, Tables 2 and 7",
        truth="needs true masks of what is named, and sentences that name nothing",
    )

    def options(self) -> type[RrisOptions]:
        """Its options."""
        return RrisOptions

    def run(self, options: RrisOptions, progress: Progress | None = None) -> SuiteRun:
        """Ask every model every sentence, score its answers, and write tables, pictures and report."""
        from auscult.suites.rris.run import run_rris

        return run_rris(options, progress)

    def task(self, manifest: Mapping[str, Any]) -> Task:
        """The task of a record."""
        del manifest
        from auscult.suites.rris.results import TASK

        return TASK


SUITE = RrisSuite()
