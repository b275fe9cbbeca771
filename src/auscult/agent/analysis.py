"""The written analysis of a suite's record: numbers from the record alone, sentences that are checked against them.

R2-Bench, Eq. 5 and Fig. 11: the table of results goes to an analyst with empty memory, or to templates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.agent.prose import SECTIONS, sections_of, value_text
from auscult.agent.replies import MOST_CHARACTERS, after_thought
from auscult.agent.result_table import ResultTable, result_table
from auscult.agent.sentence_check import NOT_SHOWN, SentenceChecker
from auscult.errors import AuscultError
from auscult.outcome import Failed
from auscult.record.codec import from_json, to_json
from auscult.report.drawing import plain

FILE: Final = "analysis.json"
TEMPLATES: Final = "templates"
Analyst: TypeAlias = Callable[[str], str | Failed]
"""From a prompt to the reply of a model that remembers nothing, or why there is none."""

_MOST_REFS: Final = 200
_LONGEST: Final = 2000
_AGAIN: Final = "\n\nYour last reply could not be read: {why}. Reply with the JSON object alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedSentence:
    """A sentence, and the cells that it follows from."""

    text: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSection:
    """A part of an analysis."""

    name: str  # of ``prose.SECTIONS``
    title: str
    sentences: tuple[AnalysedSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StruckSentence:
    """A sentence that does not follow from the record, and why; it is no finding."""

    section: str
    text: str
    refs: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What a record says in prose."""

    writer: str = TEMPLATES  # or the name of the analyst
    sections: tuple[AnalysisSection, ...]  # what stands
    struck: tuple[StruckSentence, ...] = ()  # what the analyst wrote and the record does not bear out
    remarks: tuple[str, ...] = ()  # why templates were used after all, and the like
    table: ResultTable  # the numbers that all of it follows from

    def as_json(self) -> dict[str, Any]:
        """The content of ``analysis.json``."""
        made: dict[str, Any] = to_json(self)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """What an analyst writes."""

    sections: Mapping[str, tuple[AnalysedSentence, ...]]


def analyse(
    folder: Path, *, metrics: Sequence[str] = (), analyst: Analyst | None = None, writer: str = TEMPLATES
) -> Analysis:
    """The analysis of the record of a suite of models, finished or not; nothing is written.

    ``metrics`` as ``result_table`` takes them. ``analyst``, whose name is ``writer``, is sent the table; templates do
    without one, and where nothing that it writes stands.

    Source: R2-Bench, Eq. 5 and Fig. 11.
    """
    table = result_table(folder, metrics=metrics)
    said = {
        name: tuple(AnalysedSentence(text=text, refs=refs) for text, refs in sentences)
        for name, sentences in sections_of(table).items()
    }
    from_templates = checked(table, said)
    if analyst is None:
        return from_templates
    prompt = prompt_of(table)
    reply = _read(analyst(prompt))
    if isinstance(reply, str):
        reply = _read(analyst(prompt + _AGAIN.format(why=reply)))
    written = checked(table, {} if isinstance(reply, str) else reply.sections)
    if written.sections:
        return replace(written, writer=writer)
    why = reply if isinstance(reply, str) else "nothing of its reply stands"
    remark = plain(f"{writer} wrote no analysis: {why}", limit=_LONGEST)
    return replace(from_templates, struck=written.struck, remarks=(remark,))


def checked(table: ResultTable, sections: Mapping[str, tuple[AnalysedSentence, ...]]) -> Analysis:
    """What of an analyst's sections the table bears out; a claim without proof becomes ``no difference shown``."""
    checker, cells = SentenceChecker(table), {cell.ref: cell for cell in table.cells}
    kept: dict[str, list[AnalysedSentence]] = {}
    struck = []
    for name in SECTIONS:
        for sentence in sections.get(name, ()):
            text = plain(sentence.text, limit=_LONGEST)
            refs = tuple(plain(ref, limit=_LONGEST) for ref in sentence.refs[:_MOST_REFS])
            why = checker.why_not(text, refs, advises=name in ("fix", "advice"))
            why = why if text == sentence.text.strip() else "it is too long, or no plain text"
            if not why:
                kept.setdefault(name, []).append(AnalysedSentence(text=text, refs=refs))
                continue
            struck.append(StruckSentence(section=name, text=text, refs=refs, why=why))
            for cell in (cells[ref] for ref in refs if why == NOT_SHOWN and ref in cells):
                if cell.unit == "points" and not cell.is_shown:
                    where = ", ".join(filter(None, (cell.model, cell.group, cell.level)))
                    text = f"No difference shown for {where}: {value_text(cell)}."
                    kept.setdefault(name, []).append(AnalysedSentence(text=text, refs=(cell.ref,)))
    made = tuple(
        AnalysisSection(name=name, title=SECTIONS[name], sentences=tuple(dict.fromkeys(sentences)))
        for name, sentences in kept.items()
    )
    return Analysis(sections=made, struck=tuple(struck), table=table)


def prompt_of(table: ResultTable) -> str:
    """What an analyst is asked: our instructions, then the table."""
    text = (resources.files("auscult.agent") / "prompts" / "analysis.txt").read_text(encoding="utf-8")
    about = f"{table.suite}, {table.task}; main metric {table.metric}; models {', '.join(table.models)}"
    rows = []
    for cell in table.cells:
        further = ([f"n {cell.n}"] if cell.n else []) + ([] if cell.p is None else [f"p {cell.p:.3f}"])
        rows.append(" | ".join((cell.ref, cell.path, value_text(cell), *further)))
    return f"{text.rstrip()}\n\nSections: {', '.join(SECTIONS)}\nStudy: {about}\n\n" + "\n".join(rows)


def _read(reply: str | Failed) -> _Reply | str:
    """The sections of a reply; else why it cannot be read."""
    if isinstance(reply, Failed):
        return reply.error.error
    if len(reply) > MOST_CHARACTERS:
        return "it is too long"
    answer = after_thought(reply)
    try:
        return from_json(_Reply, json.JSONDecoder().raw_decode(answer, max(0, answer.find("{")))[0])
    except (AuscultError, ValueError, RecursionError) as error:
        return plain(str(getattr(error, "message", error)), limit=200)
