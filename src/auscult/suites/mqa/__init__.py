"""The benchmark of mask judges, MQ-RAVSBench: six defects of known truth on referred objects, and their scores.

===========  ==========================================================================
options      the options of a run, and of making a benchmark
build        makes the benchmark from cases with masks, as an INPUT and in the layout of the release
building     worker processes: one instance, from its true masks to candidates
sample       which instances are sampled
statistics   tables that describe a benchmark
rows         candidates, a judge's answer to each, and baselines that do not see the mask
evaluate     numbers with intervals from candidates and answers; reliability of a judge
tables       all tables of a run, with the printed rows of the paper
costs        time and money per mask, and the results of a cascade of two judges
charts       charts, pictures of the best and the worst cases, and of failures
finish_run   the end of a run, and scores from the record alone
run          a whole run: benchmark, judges, tables, report
===========  ==========================================================================
"""

from __future__ import annotations

from typing import Final

from auscult.suites.mqa.options import MqaOptions
from auscult.suites.options import LateSuite
from auscult.types import Metadata

SUITE: Final = LateSuite(
    name="mqa.v1",
    meta=Metadata(
        summary="masks with six defects of known IoU, type and action on referred objects; judges are compared with it",
        goal="measures judges of masks: error of the estimated IoU, F2 of type and action, calibration, consistency",
        modality="mask",
        source="MQA-RefAVS, Sec. 3, Tables 1 to 4 and 8, App. C",
        truth="needs true masks of the referred objects and of others",
    ),
    kind=MqaOptions,
    starts="auscult.suites.mqa.run:run_mqa",
)
