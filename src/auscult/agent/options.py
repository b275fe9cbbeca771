"""The options of ``auscult agent`` and ``auscult ask``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from auscult.jobs.options import Flag, input_path, names
from auscult.suites.options import data_argument
from auscult.suites.r2 import R2Options


@dataclass(frozen=True, kw_only=True)
class AgentOptions(R2Options):
    """From a sentence to a study; what the data need is said as for suite r2.

    Attributes:
        sentence: What is to be found out, in plain words: where it happens, and what matters.
        suite: r2, rris or avi.
        llm: A language model behind an OpenAI-compatible endpoint; without one built-in rules decide.
        base_url: Where --llm answers, before what its profile says.
        profile: What --llm takes and how, a file.
        rounds: How often a proposal is verified at most.
        dry_run: Stop after the plan, and say how long it would take.
        plan: Go on from this plan, which a person may have changed.
        replay: Take what was proposed from the log of this study, and ask nobody.
        max_usd: Most USD for the language model, and as much for models of suite avi, earlier commands included.
        max_requests: Most requests to the language model, and as many to the models under test, earlier commands
            included.
        max_seconds: Most seconds that this command runs the plan.
        max_disk_mb: Most MB that the record of the run holds.
    """

    data: Annotated[Path | str, Flag(read=data_argument, shown="-")] = ""
    levels: Annotated[
        tuple[str, ...], Flag(name="severity", read=names, shown="as the sentence says, else low,medium,high")
    ] = ("low", "medium", "high")
    sentence: Annotated[str, Flag(metavar="SENTENCE", positional=True, shown="-")] = ""
    suite: str = "r2"
    llm: Annotated[str, Flag(shown="none", metavar="NAME")] = ""
    rounds: Annotated[int, Flag(least=0, most=3)] = 2
    dry_run: bool = False
    plan: Annotated[Path | None, Flag(metavar="FILE")] = None
    replay: Annotated[Path | None, Flag(metavar="DIR")] = None
    max_usd: Annotated[float | None, Flag(least=0.0)] = None
    max_requests: Annotated[int | None, Flag(least=0)] = None
    max_seconds: Annotated[float | None, Flag(least=0.0)] = None
    max_disk_mb: Annotated[float | None, Flag(least=0.0)] = None


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """What is asked of a record.

    Attributes:
        folder: A study of `auscult agent`, or a record of `auscult run`.
        question: In plain words.
        llm: A language model behind an OpenAI-compatible endpoint that writes the query; without one, built-in forms.
        base_url: Where --llm answers, before what its profile says.
        profile: What --llm takes and how, a file.
    """

    folder: Annotated[Path, Flag(read=input_path, metavar="DIR", positional=True)]
    question: Annotated[str, Flag(metavar="QUESTION", positional=True)]
    llm: Annotated[str, Flag(shown="none", metavar="NAME")] = ""
    base_url: str = ""
    profile: Path | None = None
