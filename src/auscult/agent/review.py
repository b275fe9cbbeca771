"""``auscult ratings choices``: people say which of an agent's choices are reasonable (R2-Bench, Sec. 5.4, Rate).

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
    """A choice of an agent, and the sentence that it was made for; the id is a hash of both."""

    id: str
    instruction: str
    choice_set: ChoiceSet
    choice: Choice


def rate_choices(options: ChoicesOptions) -> Done:
    """Have people say which choices of an agent are reasonable, and read what they said."""
    made = {one.id: one for folder in options.folders for one in choices_of(folder)}
    if options.answers:
        answers, problems = read_answers(options.answers, made)
        table, metrics = _rates(made, answers, seed=options.seed)
        more: dict[str, Any] = {"n": len(answers), "problems": problems.found, "metrics": metrics}
        return write_record("ratings choices", options, {"rate": table}, files={}, **more)
    page = _page(made, options)
    n = sum(len(section.questions) for section in page.sections)
    table = Table(title="choices.html", header=("sentences", "choices"), rows=((str(len(page.sections)), str(n)),))
    files: dict[str, File] = {"choices.html": render(page).encode()}
    return write_record("ratings choices", options, {"choices": table}, n=n, files=files)


def choices_of(folder: Path) -> Iterator[MadeChoice]:
    """The last word of the operator on each sentence in the ``agent.jsonl`` of a study; it must have one."""
    path = folder / LOG_FILE
    sentences = {str(row["debate"]): str(row["instruction"]) for row in read_lines(path) if row.get("kind") == "debate"}
    turns = logged(folder, "turn", Turn)
    said = {debate: turn.proposal for debate, turn in turns if turn.role == "operator" and turn.proposal}
    if not said:
        raise UsageError("there is no debate", expected="a study of `auscult agent`", path=path)
    for debate, proposal in said.items():
        for choice_set in CHOICE_SETS:
            for one in proposal.of(choice_set):
                key = digest_json([sentences.get(debate, ""), choice_set, one.type, one.reason, one.selected])
                yield MadeChoice(id=key[:16], instruction=sentences.get(debate, ""), choice_set=choice_set, choice=one)


def read_answers(paths: Sequence[Path], made: Mapping[str, MadeChoice]) -> tuple[dict[tuple[str, str], bool], Problems]:
    """Whether a rater found a choice reasonable, by (item, rater); rows of no use are problems with their line."""
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


def _page(made: Mapping[str, MadeChoice], options: ChoicesOptions) -> Page:
    """A page of choices that are drawn by chance, by sentence."""
    rng, drawn = generator(options.seed, "ratings", "choices"), defaultdict[str, list[Question]](list)
    captions = {one.name: one.summary for one in pool()}
    known = {one.instruction for one in labelled()}
    for choice_set in CHOICE_SETS:
        there = [one for one in made.values() if one.choice_set == choice_set]
        for one in (there[at] for at in rng.permutation(len(there))[: options.count]):
            choice, about = one.choice, captions.get(one.choice.type, "") if one.instruction in known else ""
            with suppress(UsageError):  # what is no stressor
                about = about or registry.load("stressor", choice.type).meta.summary
            tag = f"{choice_set.removesuffix('s')}, {'taken' if choice.selected else 'left out'}"
            text = f"{about.removesuffix('.')}{'. ' if about else ''}Reason given: {choice.reason or 'none'}"
            drawn[one.instruction].append(Question(id=one.id, title=choice.type, text=text, tag=tag))
    sections = tuple(
        Section(name=f"sentence-{number}", title=f"“{sentence}”", questions=tuple(questions))
        for number, (sentence, questions) in enumerate(drawn.items(), 1)
    )
    footer = "Export your answers, then: `auscult ratings choices DIR --answers answers.csv --out RATED`."
    title, command = "Is this choice reasonable?", "ratings choices"
    return Page(title=title, command=command, lead=_HOW, sections=sections, answers=ANSWERS, footer=footer)


def _rates(
    made: Mapping[str, MadeChoice], answers: Mapping[tuple[str, str], bool], *, seed: int
) -> tuple[Table, dict[str, Any]]:
    """Rate by people and by labels for each set, over the choices that were answered."""
    labels, rows, metrics = {one.instruction: one for one in labelled()}, [], dict[str, Any]()
    for choice_set in CHOICE_SETS:
        given = [
            (made[item], rater, good) for (item, rater), good in answers.items() if made[item].choice_set == choice_set
        ]
        by_choice = defaultdict[MadeChoice, list[float]](list)
        for one, _, good in given:
            by_choice[one].append(good)
        said = {"people": defaultdict[str, list[float]](list), "labels": defaultdict[str, list[float]](list)}
        for one, goods in by_choice.items():
            said["people"][one.instruction].append(float(np.mean(goods)))
            if one.instruction in labels:
                label, choice = labels[one.instruction].labels[choice_set], one.choice
                said["labels"][one.instruction].append(label.reasonable(choice.type, selected=choice.selected))
        counts = (len(said["people"]), len(by_choice), len(given), len({rater for _, rater, _ in given}))
        means = {who: np.array([np.mean(values) for values in each.values()]) for who, each in said.items()}
        found = {who: mean_over(each, seed=seed) for who, each in means.items()}
        metrics |= {
            f"{choice_set}, {who}": metric_row(mean, n=len(means[who]))
            for who, mean in found.items()
            if mean is not None
        }
        rows.append((choice_set, *map(str, counts), *map(interval_text, found.values())))
    note = "Mean over raters, choices, sentences; intervals of 95 % draw sentences. Labels: of the same choices."
    header = ("set", "sentences", "choices", "answers", "raters", "Rate by people", "Rate by labels")
    return Table(title="Reasonable choices", header=header, rows=tuple(rows), note=note), metrics
