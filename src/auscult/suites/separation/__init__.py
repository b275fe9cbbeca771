"""The benchmark of separators: "give me the dog barking", scored with true stems.

=======  ==========================================================================
cases    mixtures with their prompts and stems
asking   separators in worker processes; their outputs as sound files of the record
scoring  scores of outputs by stems
results  numbers by domain, prompt, difficulty and family, and their tables
worst    the worst outputs with players and spectrograms
run      a whole run: cases, outputs, scores, tables, report
=======  ==========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from auscult.suites.options import LateModelSuite, ModelOptions
from auscult.types import Metadata


@dataclass(frozen=True, kw_only=True)
class SeparationOptions(ModelOptions):
    """Which separators are tested: each is asked once for what is wanted of every mixture."""


SUITE: Final = LateModelSuite(
    name="separation.v1",
    meta=Metadata(
        summary="separators that take one sound out of a mixture, by words, spans of time or a picture",
        goal="measures what is recovered, left over and spoilt, by domain, prompt, difficulty and kind of system",
        modality="sound",
        source="SAM Audio Judge, Sec. II and III-A; BSS Eval; Le Roux et al. 2019",
        truth="needs the stem of what is wanted; what has none is separated and not scored",
    ),
    kind=SeparationOptions,
    starts="auscult.suites.separation.run:run_separation",
    rules="auscult.suites.separation.results:TASK",
)
