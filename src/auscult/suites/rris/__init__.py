"""The benchmark of null expressions: what does a segmenter paint for a cat that is not there?

========  =====================================================================
cases     sentences of references, positive and negative; from instances to cases
scoring   stored predictions to areas
results   areas to rIoU, mRR and their like, with intervals; tables
pictures  invented masks, worst first, and where a model looks
run       a whole run: cases, predictions, scores, tables, report
========  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from auscult.jobs.options import Flag, names
from auscult.suites.options import LateModelSuite, ModelOptions
from auscult.types import Metadata


@dataclass(frozen=True, kw_only=True)
class RrisOptions(ModelOptions):
    """Which models are tested: every sentence is asked once, as it is.

    Attributes:
        kinds: Comma-separated kinds of negative sentences; the positive ones are always asked.
    """

    kinds: Annotated[tuple[str, ...], Flag(name="kind", read=names, shown="all")] = ()


SUITE: Final = LateModelSuite(
    name="rris.v1",
    meta=Metadata(
        summary="models that segment by sentence, asked also about what is not there",
        goal="measures invented masks beside the quality of right ones, by kind of negation",
        modality="image",
        source="Wu et al., Towards Robust Referring Image Segmentation, Sec. 3, Tables 2 and 7",
        truth="needs true masks of what is named, and sentences that name nothing",
    ),
    kind=RrisOptions,
    starts="auscult.suites.rris.run:run_rris",
    rules="auscult.suites.rris.results:TASK",
)
