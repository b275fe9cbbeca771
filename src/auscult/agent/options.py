"""The options of ``auscult agent`` and ``auscult ask``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from auscult.jobs.options import Flag, RecordOptions, input_path, names
from auscult.suites.options import data_argument


@dataclass(frozen=True, kw_only=True)
class LlmOptions:
    """Which language model is asked.

    Attributes:
        llm: A language model behind an OpenAI-compatible endpoint; without one the built-in rules decide.
        base_url: Where it answers, before what its profile says.
        profile: What it takes and how, a file.
    """

    llm: Annotated[str, Flag(shown="none", metavar="NAME")] = ""
    base_url: str = ""
    profile: Path | None = None


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """Most that a study may take, earlier commands included.

    Attributes:
        budget: Most USD for models behind endpoints.
        max_requests: Most requests to the models under test.
        max_seconds: Most seconds that running the plan takes.
        max_disk_mb: Most MB that the record holds.
    """

    budget: Annotated[float | None, Flag(least=0.0)] = None
    max_requests: Annotated[int | None, Flag(least=0)] = None
    max_seconds: Annotated[float | None, Flag(least=0.0)] = None
    max_disk_mb: Annotated[float | None, Flag(least=0.0)] = None


@dataclass(frozen=True, kw_only=True)
class AgentOptions(RecordOptions, LlmOptions, LimitOptions):
    """From a sentence to a study.

    Attributes:
        sentence: What the study is to find out, in plain words: where it happens, what matters.
        suite: r2, rris or avi.
        task: Of suite r2: ris, vos, rvos, avs, avss or refavs.
        models: What is tested, as --model of `auscult run`; repeat it for several.
        data: As --data of `auscult run`: a source of true masks, or the word scenes.
        count: How many scenes, with --data scenes.
        seed: The same seed draws the same.
        splits: Comma-separated splits of the data.
        texts: CSV of sentences (id,text or frame,text), for data that has none of its own.
        masks: Folder of the true masks, where the data has several.
        images: Folder of the pictures of a COCO json.
        rounds: How often the proposal is verified at most.
        dry_run: Stop after the plan, and say how long it would take.
        plan: Go on from this plan, which a person may have changed, instead of proposing one.
        replay: Take the replies from the agent.jsonl of this study; nothing is asked.
    """

    sentence: Annotated[str, Flag(metavar="SENTENCE", positional=True, shown="-")] = ""
    suite: str = "r2"
    task: Annotated[str, Flag(shown="none")] = ""
    models: Annotated[tuple[str, ...], Flag(name="model", shown="none")] = ()
    data: Annotated[Path | str | None, Flag(read=data_argument)] = None
    count: Annotated[int, Flag(least=1)] = 50
    seed: int = 0
    splits: Annotated[tuple[str, ...], Flag(name="split", read=names, shown="all")] = ()
    texts: Path | None = None
    masks: Path | None = None
    images: Path | None = None
    rounds: Annotated[int, Flag(least=0, most=3)] = 2
    dry_run: bool = False
    plan: Annotated[Path | None, Flag(metavar="FILE")] = None
    replay: Annotated[Path | None, Flag(metavar="DIR")] = None


@dataclass(frozen=True, kw_only=True)
class AskOptions(LlmOptions):
    """What is asked of a record.

    Attributes:
        folder: A study of `auscult agent`, or a record of `auscult run`.
        question: In plain words.
    """

    folder: Annotated[Path, Flag(read=input_path, metavar="DIR", positional=True)]
    question: Annotated[str, Flag(metavar="QUESTION", positional=True)]
