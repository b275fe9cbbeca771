"""How well a planner chooses, measured against labelled instructions (R2-Bench, Sec. 5.4 and Table 7).

==============  ==============================================================================================
guideline.txt   what needed, plausible and impossible mean; how instructions are labelled
samples.jsonl   a fixed pool of samples: captions and facts, written for this measurement
labels          labelled instructions: reading and checking; ACC, Rate and agreement of two labellings
measuring       ``auscult run agent``: debates about all instructions, what a planner is compared with, the tables
==============  ==============================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from auscult.jobs.options import ChatOptions, Flag
from auscult.suites.options import LateSuite, SuiteOptions, data_argument
from auscult.types import Metadata


@dataclass(frozen=True, kw_only=True)
class AgentTableOptions(SuiteOptions, ChatOptions):
    """Which planner is measured; the instructions are the shipped ones, so that no data are given.

    Attributes:
        llm: A language model that plans as operator and guardian; without one, the built-in rules alone.
        half: Of the instructions: test, held back from tuning, or dev.
    """

    data: Annotated[Path | str, Flag(read=data_argument, shown="-")] = ""
    llm: Annotated[str, Flag(shown="none", metavar="NAME")] = ""
    half: str = "test"


SUITE: Final = LateSuite(
    name="agent.v1",
    meta=Metadata(
        summary="planners that choose samples, perturbations and metrics for a sentence: rules or a language model",
        goal="measures whether a planner chooses what a study of that situation needs, and no more",
        modality="text",
        source="R2-Bench, Sec. 5.4 and Table 7; instructions and labels are ours",
        truth="labelled instructions, shipped",
    ),
    kind=AgentTableOptions,
    starts="auscult.agent.evaluation.measuring:run_agent_table",
)
