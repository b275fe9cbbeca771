"""``auscult ratings choices``: people rate whether an agent's choices are reasonable (R2-Bench, Sec. 5.4, Rate).

The page exports ``answers.csv``: ``item,rater,answer``. An item is a hash of sentence and choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np

from auscult import registry
from auscult.agent.debate import CHOICE_SETS, LOG_FILE, Choice, ChoiceSet, Turn, logged
from auscult.agent.evaluation.labels import labelled, pool
from auscult.agent.evaluation.measuring import interval_text, mean_over
from auscult.cases.ids import check_id, shown
from auscult.cases.problems import Problems, required_file
from auscult.cases.ratings import rows_of
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import Flag, RecordOptions
from auscult.jobs.ratings import Done, File, write_record
from auscult.record.digest import digest_json
from auscult.record.lines import read_lines
from auscult.record.schema import metric_row
from auscult.report.page import Page, Question, Section, render
from auscult.report.tables import Table
from auscult.rng import generator

ANSWERS: Final = ("reasonable", "not reasonable")
_FORM: Final = "answers.csv of the page: rows with item, rater and answer, " + " or ".join(ANSWERS)
_HOW: Final = "Could an expert have taken this, or left it out, for this sentence? Skip what you cannot tell."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicesOptions(RecordOptions):
    """Whose choices are shown, or what was answered.

    Attributes:
        folders: Studies of `auscult agent`, or records of `auscult run agent`.
        answers: The answers.csv that a rater exported; repeat it. Without one the page is made.
        count: How many choices of each set the page shows, drawn over all folders.
        seed: The same seed draws the same.
    """

    folders: Annotated[tuple[Path, ...], Flag(metavar="DIR...", positional=True)]
    answers: tuple[Path, ...] = ()
    count: Annotated[int, Flag(least=1)] = 40
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeChoice:
    """A choice of an agent and its instruction; the id is a hash of both."""

    id: str
    instruction: str
    choice_set: ChoiceSet
    choice: Choice


def rate_choices(options: ChoicesOptions) -> Done:
    """Write a page on which people rate an agent's choices, or read their answers."""
    choices = {choice.id: choice for folder in options.folders for choice in choices_of(folder)}
    if options.answers:
        answers, problems = read_answers(options.answers, choices)
        table, metrics = _rates(choices, answers, seed=options.seed)
        results: dict[str, Any] = {"n": len(answers), "problems": problems.found, "metrics": metrics}
        return write_record("ratings choices", options, {"rate": table}, files={}, **results)
    page = _page(choices, options)
    n = sum(len(section.questions) for section in page.sections)
    table = Table(title="choices.html", header=("sentences", "choices"), rows=((str(len(page.sections)), str(n)),))
    files: dict[str, File] = {"choices.html": render(page).encode()}
    return write_record("ratings choices", options, {"choices": table}, n=n, files=files)


def choices_of(folder: Path) -> Iterator[MadeChoice]:
    """The choices of the operator's last proposal for each sentence in a study's ``agent.jsonl``; at least one."""
    path = folder / LOG_FILE
    sentences = {str(row["debate"]): str(row["instruction"]) for row in read_lines(path) if row.get("kind") == "debate"}
    turns = logged(folder, "turn", Turn)
    proposals = {debate: turn.proposal for debate, turn in turns if turn.role == "operator" and turn.proposal}
    if not proposals:
        raise UsageError("there is no debate", expected="a study of `auscult agent`", path=path)
    for debate, proposal in proposals.items():
        for choice_set in CHOICE_SETS:
            for choice in proposal.of(choice_set):
                key = digest_json([sentences.get(debate, ""), choice_set, choice.type, choice.reason, choice.selected])
                yield MadeChoice(
                    id=key[:16], instruction=sentences.get(debate, ""), choice_set=choice_set, choice=choice
                )


def read_answers(paths: Sequence[Path], made: Mapping[str, MadeChoice]) -> tuple[dict[tuple[str, str], bool], Problems]:
    """Whether a rater found a choice reasonable, by (item, rater); unusable rows are problems with their line."""
    answers, problems = dict[tuple[str, str], bool](), Problems()
    for path in paths:
        with required_file(path, option="--answers"):
            for line, row in rows_of(path, needed=("item", "rater", "answer"), expected=_FORM):
                with problems.skipping(path, line=line):
                    item, rater = (check_id(str(row.get(name) or "")) for name in ("item", "rater"))
                    if item not in made:
                        raise InputError(f"no choice is {shown(item)}", expected="a choice of these folders")
                    if row["answer"] not in ANSWERS:
                        raise InputError(f"the answer is {shown(str(row['answer']))}", expected=" or ".join(ANSWERS))
                    if (item, rater) in answers:
                        raise InputError(f"{shown(rater)} answered {item} twice", expected="one; the first is kept")
                    answers[item, rater] = row["answer"] == ANSWERS[0]
    if not answers:
        first = f"; first problem: {problems.found[0][1].error}" if problems.found else ""
        raise NothingToDo(f"there is no answer{first}", expected=_FORM, path=paths[0])
    return answers, problems


def _page(made_choices: Mapping[str, MadeChoice], options: ChoicesOptions) -> Page:
    """A page of randomly drawn choices, by sentence."""
    rng, by_sentence = generator(options.seed, "ratings", "choices"), defaultdict[str, list[Question]](list)
    captions = {sample.name: sample.summary for sample in pool()}
    sentences = {example.instruction for example in labelled()}
    for choice_set in CHOICE_SETS:
        choices = [item for item in made_choices.values() if item.choice_set == choice_set]
        for item in (choices[index] for index in rng.permutation(len(choices))[: options.count]):
            choice, summary = item.choice, captions.get(item.choice.type, "") if item.instruction in sentences else ""
            with suppress(UsageError):  # not a stressor
                summary = summary or registry.load("stressor", choice.type).meta.summary
            tag = f"{choice_set.removesuffix('s')}, {'taken' if choice.selected else 'left out'}"
            text = f"{summary.removesuffix('.')}{'. ' if summary else ''}Reason given: {choice.reason or 'none'}"
            by_sentence[item.instruction].append(Question(id=item.id, title=choice.type, text=text, tag=tag))
    sections = tuple(
        Section(name=f"sentence-{number}", title=f"“{sentence}”", questions=tuple(questions))
        for number, (sentence, questions) in enumerate(by_sentence.items(), 1)
    )
    footer = "Export your answers, then: `auscult ratings choices DIR --answers answers.csv --out RATED`."
    title, command = "Is this choice reasonable?", "ratings choices"
    return Page(title=title, command=command, lead=_HOW, sections=sections, answers=ANSWERS, footer=footer)


def _rates(
    choices: Mapping[str, MadeChoice], answers: Mapping[tuple[str, str], bool], *, seed: int
) -> tuple[Table, dict[str, Any]]:
    """Rate by people and by labels for each set, over the rated choices."""
    labels, rows, metrics = {example.instruction: example for example in labelled()}, [], dict[str, Any]()
    for choice_set in CHOICE_SETS:
        ratings = [
            (choices[item], rater, good)
            for (item, rater), good in answers.items()
            if choices[item].choice_set == choice_set
        ]
        by_choice = defaultdict[MadeChoice, list[float]](list)
        for made, _, good in ratings:
            by_choice[made].append(good)
        rates = {"people": defaultdict[str, list[float]](list), "labels": defaultdict[str, list[float]](list)}
        for made, goods in by_choice.items():
            rates["people"][made.instruction].append(float(np.mean(goods)))
            if made.instruction in labels:
                label, choice = labels[made.instruction].labels[choice_set], made.choice
                rates["labels"][made.instruction].append(label.reasonable(choice.type, selected=choice.selected))
        counts = (len(rates["people"]), len(by_choice), len(ratings), len({rater for _, rater, _ in ratings}))
        means = {who: np.array([np.mean(values) for values in rated.values()]) for who, rated in rates.items()}
        intervals = {who: mean_over(values, seed=seed) for who, values in means.items()}
        metrics |= {
            f"{choice_set}, {who}": metric_row(mean, n=len(means[who]))
            for who, mean in intervals.items()
            if mean is not None
        }
        rows.append((choice_set, *map(str, counts), *map(interval_text, intervals.values())))
    note = "Mean over raters, choices, sentences; intervals of 95 % draw sentences. Labels: of the same choices."
    header = ("set", "sentences", "choices", "answers", "raters", "Rate by people", "Rate by labels")
    return Table(title="Reasonable choices", header=header, rows=tuple(rows), note=note), metrics
