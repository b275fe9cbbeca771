"""The written analysis of a suite's record: numbers from the record alone, sentences that are checked against them.

R2-Bench, Eq. 5 and Fig. 11: the table of results goes to an analyst with empty memory, or to templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from auscult.agent.replies import prompt, read_object
from auscult.agent.result_table import PAIR, ResultCell, ResultTable, result_table
from auscult.agent.sentence_check import NOT_SHOWN, SentenceChecker
from auscult.cases.ids import counted
from auscult.errors import InputError
from auscult.outcome import Failed
from auscult.report.drawing import plain
from auscult.shipped import read_shipped
from auscult.suites.core.conditions import CLEAN, DYNAMIC

_TEXTS: Final = read_shipped("agent/templates.json")
SECTIONS: Final[Mapping[str, str]] = _TEXTS["sections"]
"""The sections of an analysis and their headings (R2-Bench, Fig. 11)."""

TEMPLATES: Final = "templates"
Analyst: TypeAlias = Callable[[str], str | Failed]
"""Sends a prompt to a model without memory; gives its reply, or why there is none."""

_FEW_CLIPS: Final = 20
_MOST_REFS: Final = 200
_LONGEST: Final = 2000
_AGAIN: Final = "\n\nYour last reply could not be read: {why}. Reply with the JSON object alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedSentence:
    """A sentence and the cells that support it."""

    text: str
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSection:
    """A part of an analysis."""

    name: str  # of ``SECTIONS``
    title: str
    sentences: tuple[AnalysedSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StruckSentence:
    """A sentence that the record does not support, and why."""

    section: str
    text: str
    refs: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The findings of a record in prose."""

    writer: str = TEMPLATES  # or the name of the analyst's model
    sections: tuple[AnalysisSection, ...]  # the sentences that the record supports
    struck: tuple[StruckSentence, ...] = ()  # sentences of the analyst that the record does not support
    remarks: tuple[str, ...] = ()  # such as why templates were used
    table: ResultTable  # the numbers behind all sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    sections: Mapping[str, tuple[AnalysedSentence, ...]]


def analyse(
    folder: Path, *, metrics: Sequence[str] = (), analyst: Analyst | None = None, writer: str = TEMPLATES
) -> Analysis:
    """Analyse the record of a suite of models, finished or not; no file is written.

    ``metrics`` are as for ``result_table``. ``analyst``, whose name is ``writer``, is sent the table. Templates are
    used without an analyst, and if the record supports none of its sentences.

    Source: R2-Bench, Eq. 5 and Fig. 11.
    """
    table = result_table(folder, metrics=metrics)
    from_templates = checked(table, sections_of(table))
    if analyst is None:
        return from_templates
    prompt = prompt_of(table)
    reply = _read(analyst(prompt))
    if isinstance(reply, str):
        reply = _read(analyst(prompt + _AGAIN.format(why=reply)))
    written = checked(table, {} if isinstance(reply, str) else reply.sections)
    if written.sections:
        return replace(written, writer=writer)
    reason = reply if isinstance(reply, str) else "nothing of its reply stands"
    remark = plain(f"{writer} wrote no analysis: {reason}", limit=_LONGEST)
    return replace(from_templates, struck=written.struck, remarks=(remark,))


def checked(table: ResultTable, sections: Mapping[str, tuple[AnalysedSentence, ...]]) -> Analysis:
    """Keep the sentences that the table supports; for an unproven difference ``No difference shown`` is added."""
    checker, cells = SentenceChecker(table), {cell.ref: cell for cell in table.cells}
    by_section: dict[str, list[AnalysedSentence]] = {}
    struck = []
    for name in SECTIONS:
        for sentence in sections.get(name, ()):
            text = plain(sentence.text, limit=_LONGEST)
            refs = tuple(plain(ref, limit=_LONGEST) for ref in sentence.refs[:_MOST_REFS])
            reason = checker.why_not(text, refs, advises=name in ("fix", "advice"))
            reason = reason if text == sentence.text.strip() else "it is too long, or no plain text"
            if not reason:
                by_section.setdefault(name, []).append(AnalysedSentence(text=text, refs=refs))
                continue
            struck.append(StruckSentence(section=name, text=text, refs=refs, why=reason))
            for cell in (cells[ref] for ref in refs if reason == NOT_SHOWN and ref in cells):
                if cell.unit == "points" and not cell.is_shown:
                    subject = ", ".join(filter(None, (cell.model, cell.group, cell.level)))
                    text = f"No difference shown for {subject}: {value_text(cell)}."
                    by_section.setdefault(name, []).append(AnalysedSentence(text=text, refs=(cell.ref,)))
    accepted = tuple(
        AnalysisSection(name=name, title=SECTIONS[name], sentences=tuple(dict.fromkeys(sentences)))
        for name, sentences in by_section.items()
    )
    return Analysis(sections=accepted, struck=tuple(struck), table=table)


def prompt_of(table: ResultTable) -> str:
    """The prompt for an analyst: our instructions, then the table."""
    study = f"{table.suite}, {table.task}; main metric {table.metric}; models {', '.join(table.models)}"
    rows = []
    for cell in table.cells:
        further = ([f"n {cell.n}"] if cell.n else []) + ([] if cell.p is None else [f"p {cell.p:.3f}"])
        rows.append(" | ".join((cell.ref, cell.path, value_text(cell), *further)))
    return f"{prompt('analysis').rstrip()}\n\nSections: {', '.join(SECTIONS)}\nStudy: {study}\n\n" + "\n".join(rows)


def _read(reply: str | Failed) -> _Reply | str:
    """The sections of a reply; else why it cannot be read."""
    if isinstance(reply, Failed):
        return reply.error.error
    try:
        return read_object(_Reply, reply)
    except InputError as error:
        return plain(error.message, limit=200)


# --- sentences from templates ---


def sections_of(table: ResultTable) -> dict[str, tuple[AnalysedSentence, ...]]:
    """The sentences of each section, from templates."""
    writer = _Writer(table)
    return {name: tuple(getattr(writer, name)()) for name in SECTIONS}


def value_text(cell: ResultCell) -> str:
    """A value with unit and interval: ``81.2 % [75.0, 86.1]``, ``-12.3 points``, ``2.1``; a dash for none."""
    if cell.value is None:
        return cell.reason or "–"
    by, unit = {"percent": (100, " %"), "points": (100, " points")}.get(cell.unit, (1, ""))
    sign = "+" if cell.unit == "points" else ""
    text = f"{by * cell.value + 0.0:{sign}.1f}{unit}" if cell.unit != "count" else f"{cell.value:,.0f}"
    return text if cell.low is None or cell.high is None else f"{text} [{by * cell.low:.1f}, {by * cell.high:.1f}]"


def _cite(text: str, *cells: ResultCell) -> AnalysedSentence:
    return AnalysedSentence(text=text, refs=tuple(cell.ref for cell in cells))


def _difference(cell: ResultCell, claim: str, *, comparison: str) -> AnalysedSentence:
    return _cite(f"{claim if cell.is_shown else f'No difference shown {comparison}'}: {value_text(cell)}.", cell)


def _listed(names: Iterable[str]) -> str:
    *others, last = list(names)
    return f"{', '.join(others)} and {last}" if others else last


class _Writer:
    """Writes the sections of one table."""

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        self._measured = [model for model in table.models if table.get("mean", model=model, group=CLEAN)]

    def _losses(self, model: str) -> list[ResultCell]:
        """Its average changes by kind, largest loss first; its scores, where a suite has no changes."""
        changes = self.table.known("average change", model=model)
        alone = [cell for cell in changes if cell.group not in self.table.mixes] or changes
        means = [cell for cell in self.table.known("mean", model=model) if not cell.level]
        return sorted(alone or means, key=lambda cell: cell.value or 0.0)

    def setting(self) -> Iterator[AnalysedSentence]:
        """What was tested, on what data."""
        table, count = self.table, {cell.case: cell for cell in self.table.of("count")}

        def number(noun: str) -> str:
            return counted(int(count[noun].value or 0), noun.removesuffix("s"))

        cells = [count[name] for name in ("models", "cases", "clips")]
        verb = "was" if count["models"].value == 1 else "were"
        yield _cite(f"{number('models')} {verb} asked about {number('cases')} from {number('clips')}.", *cells)
        yield _cite(f"The task is {table.task} (suite {table.suite}), and the metric is {table.metric}.")
        if table.groups:
            strengths = f", at constant strength {_listed(table.levels)}" if table.levels else ""
            lead = "Perturbed were" if table.suite == "r2" else "Scored by themselves were"
            yield _cite(f"{lead}: {', '.join(table.groups)}{strengths}.")
        if count["baselines"].value:
            yield _cite(f"Beside them: {number('baselines')}, which hardly look.", count["baselines"])
        unscored = ("failed requests", "undefined scores", "unasked requests")
        if missing := [count[name] for name in unscored if count[name].value]:
            text = f"{_listed(number(cell.case) for cell in missing)}, beside {number('requests')} made"
            yield _cite(f"Left out of every mean: {text}.", *missing, count["requests"])

    def clean(self) -> Iterator[AnalysedSentence]:
        """Scores without perturbation, compared with baselines and among models."""
        table = self.table
        for model in table.models:
            mean = table.get("mean", model=model, group=CLEAN)
            if mean is None:
                yield _cite(f"{model} has no score on clean input, so nothing is known of it.")
                continue
            yield _cite(f"{model} has a clean {mean.metric} of {value_text(mean)}.", mean)
        for part in self._by_split("mean"):
            says = f"Of the {part.split} clips, {part.model} has a clean {part.metric}"
            yield _cite(f"{says} of {value_text(part)}.", part)
        floor = [cell for name in table.baselines if (cell := table.get("mean", model=name, group=CLEAN))]
        best = max(floor, key=lambda cell: cell.value or 0.0, default=None)
        for cell in table.known("difference", group=CLEAN, level=CLEAN):
            first, _, second = cell.model.partition(PAIR)
            if second in table.baselines and (best is None or second != best.model):
                continue
            side = "above" if cell.sign > 0 else "below"
            between = f"on clean input between {first} and {second}"
            yield _difference(cell, f"On clean input {first} is {side} {second}", comparison=between)
        for model in table.floor:
            yield _cite(
                f"Flipping whole clips does not tell {model} from every baseline on clean input: changes say little."
            )

    def kinds(self) -> Iterator[AnalysedSentence]:
        """Each perturbation, kind of negative sentence or task by itself."""
        table = self.table
        for model in self._measured:
            for change in table.known("average change", model=model):
                yield self._one_change(model, change)
                yield from self._beside_change(model, change)
                moving = table.get("change", model=model, group=change.group, level=DYNAMIC)
                gap = table.get("dynamic - static", model=model, group=change.group)
                if moving is not None:
                    yield self._change(f"Under dynamic {change.group}", model, moving)
                if gap is not None:
                    says = f"For {model}, dynamic {gap.group} costs {'more' if gap.sign < 0 else 'less'} than static"
                    yield _difference(gap, says, comparison=f"for {model} between static and dynamic {gap.group}")
            for cell in table.known("cost", model=model):
                text = f"The full input minus {cell.group} comes to {value_text(cell)} for {model}"
                yield _cite(f"{text}{'' if cell.is_shown else ': no difference shown'}.", cell)
            for cell in table.cells:
                alone = cell.measure == "mean" and cell.model == model and cell.value is not None
                if alone and not table.of("average change") and (cell.group != CLEAN or cell.metric != table.metric):
                    lead = "On clean input" if cell.group == CLEAN else f"For {cell.group},"
                    yield _cite(f"{lead} {model} has {cell.metric} of {value_text(cell)}.", cell)

    def _by_split(self, measure: str, **cell_fields: str) -> list[ResultCell]:
        """The values of seen clips and of unseen clips separately."""
        splits = dict.fromkeys(cell.split for cell in self.table.cells if cell.split)
        cells = [cell for split in splits for cell in self.table.known(measure, split=split, **cell_fields)]
        return [cell for cell in cells if cell.model in self._measured]

    def _beside_change(self, model: str, change: ResultCell) -> Iterator[AnalysedSentence]:
        """The change as a share of the clean score, and the change by split."""
        share = self.table.get("relative loss", model=model, group=change.group)
        if share is not None and change.is_shown and (share.value or 0.0) > 0:
            lead = f"What {model} gives up under {share.group}"
            yield _cite(f"{lead} is {value_text(share)} of its clean {share.metric}.", share)
        for part in self._by_split(change.measure, model=model, group=change.group):
            yield self._change(f"Of the {part.split} clips, under {part.group}", model, part)

    def _one_change(self, model: str, change: ResultCell) -> AnalysedSentence:
        """A change, with the scores at the mildest and the strongest level."""
        cells = [self.table.get("mean", model=model, group=change.group, level=level) for level in self.table.levels]
        levels = [cell for cell in cells if cell is not None]
        sentence = self._change(f"Under {change.group}", model, change)
        if len(levels) > 1:
            first, last = levels[0], levels[-1]
            low, high = (f"{value_text(cell).partition(' [')[0]} at {cell.level}" for cell in (first, last))
            text = f"{sentence.text[:-1]}; {self.table.metric} goes from {low} to {high}."
            return _cite(text, change, first, last)
        return sentence

    def _change(self, lead: str, model: str, cell: ResultCell) -> AnalysedSentence:
        """A loss or gain if the interval excludes zero, else that no difference is shown."""
        strength = "" if cell.level == DYNAMIC else " on average" if cell.level == "average" else f" at {cell.level}"
        if not cell.is_shown:
            without = "" if cell.low is not None else ", without an interval"
            return _cite(f"{lead}, no difference shown for {model}{strength}: {value_text(cell)}{without}.", cell)
        verb = "loses" if cell.sign < 0 else "gains"
        ends = f"[{100 * (cell.low or 0):.1f}, {100 * (cell.high or 0):.1f}]"
        return _cite(f"{lead}, {model} {verb} {abs(100 * (cell.value or 0)):.1f} points{strength} {ends}.", cell)

    def overall(self) -> Iterator[AnalysedSentence]:
        """Shown losses over all perturbations, and which model loses less."""
        table = self.table
        for model in self._measured:
            changes = table.known("average change", model=model)
            losses = [cell for cell in changes if cell.is_shown and cell.sign < 0]
            unshown = [cell for cell in changes if not cell.is_shown]
            if losses:
                yield _cite(f"{model} has a shown loss under {_listed(cell.group for cell in losses)}.", *losses)
            if unshown:
                yield _cite(f"No loss is shown of {model} under {_listed(cell.group for cell in unshown)}.", *unshown)
        for cell in table.known("difference of changes"):
            first, _, second = cell.model.partition(PAIR)
            if second in table.baselines:
                continue
            says = f"Under {cell.group}, {first} loses {'less' if cell.sign > 0 else 'more'} than {second}"
            yield _difference(cell, says, comparison=f"under {cell.group} between {first} and {second}")
        if not table.of("average change"):
            yield _cite("Nothing was perturbed at several strengths, so resilience is not measured here.")

    def strengths(self) -> Iterator[AnalysedSentence]:
        """The smallest measured loss of each model, and which others it is shown to be above on clean input."""
        for model in self._measured:
            losses = self._losses(model)
            if len(losses) > 1:
                yield self._extreme(model, losses[-1], least=True)
            clean = self.table.get("mean", model=model, group=CLEAN)
            over = [cell for cell in self.table.of("difference", group=CLEAN) if cell.is_shown and cell.sign > 0]
            over = [cell for cell in over if cell.model.startswith(model + PAIR)]
            if over and clean is not None and model not in self.table.floor:
                names = _listed(cell.model.partition(PAIR)[2] for cell in over)
                yield _cite(f"On clean input {model} is above {names}.", *over)
            elif len(losses) < 2:
                yield _cite(f"{model}: none that this record shows.")
        if not self._measured:
            yield _cite("None is known, for want of scores.")

    def weaknesses(self) -> Iterator[AnalysedSentence]:
        """The largest measured loss of each model, and whether it is shown to differ from the next one."""
        for model in self._measured:
            losses = self._losses(model)
            if losses and losses[0].measure == "average change" and losses[0].sign >= 0:
                yield _cite(f"{model}: none that this record shows.")
                continue
            if len(losses) > 1:
                yield self._extreme(model, losses[0], least=False)
            elif losses and losses[0].is_shown:
                yield self._change(f"Under {losses[0].group}", model, losses[0])
            else:
                yield _cite(f"{model}: none that this record shows.")
            for cell in self.table.known("difference of kinds", model=model):
                first, _, second = cell.group.partition(PAIR)
                if len(losses) > 1 and second == losses[1].group:
                    says = f"For {model}, {first} costs more than {second}"
                    yield _difference(cell, says, comparison=f"for {model} between {first} and {second}")
        if not self._measured:
            yield _cite("None is known, for want of scores.")

    def _extreme(self, model: str, cell: ResultCell, *, least: bool) -> AnalysedSentence:
        if cell.measure == "average change" and not (cell.is_shown and cell.sign < 0):
            return self._change(f"Under {cell.group}", model, cell)
        if cell.measure == "mean":
            word = "highest" if least else "lowest"
            return _cite(f"The {word} measured {cell.metric} of {model} is for {cell.group}: {value_text(cell)}.", cell)
        size = "smallest" if least else "largest"
        return _cite(f"The {size} measured loss of {model} is under {cell.group}: {value_text(cell)}.", cell)

    def breaking(self) -> Iterator[AnalysedSentence]:
        """The strength at which half of the clean score is lost."""
        for cell in self.table.of("breaking point"):
            if cell.value is not None:
                says = f"{cell.model} loses half of its clean {cell.metric} under {cell.group}"
                yield _cite(f"{says} at strength {value_text(cell)}.", cell)
            elif cell.reason.startswith("above"):
                beyond = cell.reason.replace("above", "beyond")
                yield _cite(
                    f"Under {cell.group}, the breaking point of {cell.model} lies {beyond} or is not there.", cell
                )
        if not self.table.of("breaking point"):
            yield _cite("Strength was not varied, so this was not measured.")

    def fix(self) -> Iterator[AnalysedSentence]:
        """The largest measured loss of each model."""
        for model in self._measured:
            worst = next(iter(self._losses(model)), None)
            if model in self.table.floor:
                yield _cite(f"{model}: its clean score, or too few clips to tell it from that of every baseline.")
            elif worst is not None and worst.measure == "mean":
                yield _cite(f"{model}: {worst.group}, where {worst.metric} is {value_text(worst)}.", worst)
            elif worst is not None and worst.is_shown and worst.sign < 0:
                size = abs(100 * (worst.value or 0))
                yield _cite(f"{model}: {worst.group}, with a loss of {size:.1f} points.", worst)
            else:
                yield _cite(f"{model}: nothing that this record shows.")
        for model in self.table.models:
            if model not in self._measured:
                yield _cite(f"{model}: look into its errors, whose causes errors.jsonl names.")

    def advice(self) -> Iterator[AnalysedSentence]:
        """Remedies for the losses that are shown, and what the study lacks."""
        for model in self._measured:
            for cell in self._losses(model)[:2]:
                remedies = (
                    text
                    for names, text in _TEXTS["remedies"].items()
                    if any(name in cell.group for name in names.split())
                )
                remedy = next(remedies, "")
                if remedy and cell.is_shown and cell.measure == "average change" and cell.sign < 0:
                    then = "then repeat the command to see whether it did"
                    yield _cite(f"Against {cell.group} for {model}: {remedy}; {then}.", cell)
        clips = self.table.get("count", case="clips")
        if clips is not None and (clips.value or 0) < _FEW_CLIPS:
            number = counted(int(clips.value or 0), "clip")
            text = f"With {number}, intervals are wide, or there are none: add clips before relying on small changes."
            yield _cite(text, clips)
        else:
            yield _cite("Repeat the command after each change of the model: cases and perturbations stay as they are.")

    def examples(self) -> Iterator[AnalysedSentence]:
        """Single cases, as illustration only."""
        cells = self.table.of("case")
        clean = {(cell.model, cell.case): cell for cell in cells if cell.level == CLEAN}
        strong = [cell for cell in cells if cell.level != CLEAN]
        for cell in strong:
            before = clean[cell.model, cell.case]
            says = f"{cell.case}, {cell.model}, {cell.group}: {value_text(before)} clean"
            yield _cite(f"{says}, {value_text(cell)} at {cell.level}.", before, cell)
        for cell in cells if not strong else ():
            yield _cite(f"{cell.case}, {cell.model}: {value_text(cell)}.", cell)
        if not cells:
            yield _cite("No case stands out.")
