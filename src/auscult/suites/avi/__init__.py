"""The benchmark of omni models, AVI-Bench: fourteen tasks in four stages, and four levels.

==========  =====================================================================================
cases       samples of a tree as cases, with or without a sense
references  reference answerers: truth, random, constant, text alone
scoring     replies to answers, and answers to scores of samples
results     scores to tasks, stages and levels with intervals, by condition; differences
tables      the task, and numbers to tables and charts
worst       samples with their media: the worst, and those on which models differ most
run         the whole run, with the parts data, senses and endpoints
==========  =====================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from auscult.jobs.options import ChatOptions, Flag, names
from auscult.suites.options import LateModelSuite, ModelOptions
from auscult.types import Metadata


@dataclass(frozen=True, kw_only=True)
class AviOptions(ModelOptions, ChatOptions):
    """Which omni models are asked, and how their replies are scored.

    Attributes:
        tasks: Comma-separated tasks of AVI-Bench, such as AMIC,VSQA.
        without: Comma-separated: sound, picture. All is asked again without it.
        unparsed: A reply without an answer is wrong, or is left out: skip. Both are printed.
        variant: Rules of the released scorer: paper for none, AVI-Bench for all, or some joined by +.
        reading: Level 1 is the mean of three stages (table) or of eleven tasks (equation).
        boxes: How boxes are given, ORDER UNIT, by models that do not say it themselves.
        sentence_model: Folder of the sentence encoder that scores captions (AVC).
        fluency_model: Folder of the fluency model that scores captions (AVC).
        dry_run: Count requests, tokens and USD of what has no reply yet, and send nothing.
        formatter: chat:NAME, asked to reformat replies in which no answer is found.
        formatter_profile: Its profile, as --profile.
    """

    tasks: Annotated[tuple[str, ...], Flag(read=names, shown="all")] = ()
    without: Annotated[tuple[str, ...], Flag(read=names, shown="none")] = ()
    unparsed: str = "wrong"
    variant: str = "paper"
    reading: str = "table"
    boxes: str = "xyxy share"
    sentence_model: Path | None = None
    fluency_model: Path | None = None
    dry_run: bool = False
    formatter: Annotated[str, Flag(shown="none")] = ""
    formatter_profile: Path | None = None


SUITE: Final = LateModelSuite(
    name="avi.v1",
    meta=Metadata(
        summary="omni models that answer questions about pictures, sounds and videos: 14 tasks, 4 levels",
        goal="measures whether a model hears as well as it sees, and stands stimuli nobody trained on",
        modality="video",
        source="AVI-Bench, Sec. 3 to 5, Tables 3, 5, 7, 8",
        truth="needs AVI-Bench's tree; `auscult make avi` and `auscult make prise` write one",
    ),
    kind=AviOptions,
    starts="auscult.suites.avi.run:run_avi",
    rules="auscult.suites.avi.tables:record_task",
)
