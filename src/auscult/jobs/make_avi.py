"""``auscult make avi`` and ``make prise``: samples in AVI-Bench's layout; the same command goes on.

``avi``, its eleven familiar tasks on material of our own: ``samples.jsonl`` has a line for each sample that is made,
with what an observer needs to check its truth. ``prise``, low-semantic stimuli with questions: ``questions.jsonl`` has
a line for each question. ``data.json`` of each task, and ``review.csv`` of questions, follow from these at the end.

A table of ``avi`` has the scores of answers without media, by the tasks' own scores. For a choice, the random score is
one over the number of options, and the constant answer is the most frequent true word of the type. Elsewhere a random
answer is drawn from the possible ones: one candidate; one to four classes with counts from 1 to 5; a box for every
class, or for every frame. The constant one is the first candidate; the most frequent true class with its most frequent
count; the whole picture for every class; the middle of every frame.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, get_args

import numpy as np

from auscult.arrays.boxes import FourNumbers
from auscult.cases.avi_tree import truth_of
from auscult.cases.avibench import DATA, YES_NO, data_json, task_folder
from auscult.errors import ErrorRecord
from auscult.jobs.options import FamiliarOptions, PriseOptions
from auscult.jobs.runner import (
    Indivisible,
    NumberedVerb,
    Result,
    ResultWriter,
    finish_tables,
    run_manifest,
)
from auscult.media.containers import load_av
from auscult.outcome import Undefined
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.scenes.familiar.base import World
from auscult.scenes.familiar.kinds import KINDS, kinds_of, sample, sample_id, sample_row
from auscult.scenes.familiar.material import Material, open_material
from auscult.scenes.primitives.base import Folder, StimulusKind
from auscult.scenes.primitives.kinds import KINDS as STIMULI
from auscult.scenes.primitives.kinds import question, question_id, question_row
from auscult.score.answers import AnswerScore, amic, retrieval, vmic
from auscult.score.boxes import avl, avlg
from auscult.score.captions import FluencyModel, SentenceEncoder, cider_d, fense, meteor, rouge_l, sbert

SAMPLES: Final = "samples.jsonl"
FOLDERS: Final = tuple(dict.fromkeys(kind.folder for kind in KINDS.values()))
"""The tasks in the paper's order."""


@dataclass(frozen=True, slots=True)
class SampleTask(Indivisible):
    """A sample to make, the ``index``-th of a kind; its key is its id."""

    key: str
    kind: str
    index: int


def _make(task: SampleTask, seed: int, world: World) -> list[Result]:
    result = sample(KINDS[task.kind], task.index, seed=seed, world=world)
    return [Result(id=task.key, files=result.files, rows={SAMPLES: [sample_row(result)]})]


class MakeAvi(NumberedVerb[SampleTask, tuple[Summary, list[Table]]]):
    """``auscult make avi``, as the runner sees it."""

    doing = "making samples"
    stage = "make"
    may_change = frozenset({"count", "sentences", "fluency"})
    once = (SAMPLES,)
    rows = SAMPLES
    unit = "samples"
    options: FamiliarOptions

    def __init__(self, options: FamiliarOptions) -> None:
        super().__init__(options)
        load_av()  # videos need it; without it nothing is begun
        self._material, self._left_out = (Material(), ()) if options.data is None else open_material(options.data)
        self._networks = _networks(options)
        self._kinds = {folder: kinds_of(folder, self._material) for folder in FOLDERS}

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        kinds = [kind.name for kinds in self._kinds.values() for kind in kinds]
        inputs = {"kinds": kinds, "data_files": self._material.digest() if self.options.data else None}
        return run_manifest("make avi", self.options, inputs=inputs)

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """The files of the user's folder that cannot be used."""
        return ((None, error) for error in self._left_out)

    def worker(self) -> Callable[[], Callable[[SampleTask], list[Result]]]:
        """Makes the function of one sample in a worker process."""
        return partial(partial, _make, seed=self.options.seed, world=World(material=self._material))

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write each task's samples, and a table."""
        run = writer.run
        rows = self.ordered(run)
        tasks = {folder: [row["entry"] for row in rows if row["entry"]["task"] == folder] for folder in FOLDERS}
        for folder, entries in tasks.items():
            run.write_bytes(f"{task_folder(folder)}/{DATA}", data_json(entries))
        summary = self.counted("make avi", run, rows)
        captions = captions_table(tasks["AVC"], self._networks)
        return finish_tables(run, summary, {"tasks": tasks_table(tasks), "captions": captions})

    def wanted(self) -> Iterator[SampleTask]:
        """The samples, alternating over a task's types, so that a larger count only adds samples."""
        for kinds in self._kinds.values():
            for number in range(self.options.count):
                turn, index = divmod(number, len(kinds))
                yield SampleTask(sample_id(kinds[index], turn), kinds[index].name, turn)


make_avi: Final = MakeAvi.of


def _networks(options: FamiliarOptions) -> Networks:
    """The networks for captions, loaded first, so that a wrong folder is reported at once."""
    if options.sentences is None and options.fluency is None:
        return Networks()
    from auscult.nets.hf_sentences import load_fluency, load_sentences

    sentences = None if options.sentences is None else load_sentences(options.sentences)
    return Networks(sentences, None if options.fluency is None else load_fluency(options.fluency))


def tasks_table(tasks: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Samples and types of each task, and the scores of guessing."""
    rows = []
    for folder, entries in tasks.items():
        types = list(dict.fromkeys(entry["subtask"] for entry in entries))
        chance = chance_of(folder, entries)
        rows.append((folder, str(len(entries)), ", ".join(types), *chance))
    return Table(
        title="own data, not comparable with Table 3",
        header=("task", "samples", "types", "random", "constant"),
        rows=tuple(rows),
        note="random, constant: what answers without a look score on these samples, in percent; "
        "the constant answer is the best for each type",
    )


Entries: TypeAlias = Sequence[Mapping[str, Any]]


class _ChanceScore(Protocol):
    def __call__(self, entries: Entries, *, random: bool) -> float: ...


_UNKNOWN: Final = "-"
_WHOLE: Final[FourNumbers] = (0.0, 0.0, 1.0, 1.0)
_MIDDLE: Final[FourNumbers] = (0.3, 0.25, 0.7, 0.75)
_MOST_CLASSES: Final = 4
_MOST_TIMES: Final = 5


def captions_table(entries: Entries, networks: Networks) -> Table:
    """Scores of reference captions: one of a clip against its others, and against those of another clip.

    The second is the score of a well-formed caption that has nothing to do with the clip.
    """
    truths = [tuple(_truth(entry)) for entry in entries]
    shifted = [*truths[1:], *truths[:1]]
    firsts = [references[0] for references in truths]
    pairs = (firsts, [references[1:] for references in truths]), (firsts, shifted)
    rows = []
    for name, score in _caption_scores(networks).items():
        own, other = (_value(score(*pair)) for pair in pairs)
        rows.append((name, f"{100 * own:.1f}", f"{100 * other:.1f}"))
    return Table(
        title="AVC: references as captions",
        header=("score", "of the clip", "of another clip"),
        rows=tuple(rows),
        note="in percent; the second is the floor that chance gives. FENSE needs --sentences and --fluency",
    )


@dataclass(frozen=True, slots=True)
class Networks:
    """The loaded networks for captions, None if not given."""

    sentences: SentenceEncoder | None = None
    fluency: FluencyModel | None = None


def _caption_scores(networks: Networks) -> dict[str, Callable[..., AnswerScore | Undefined]]:
    scores: dict[str, Callable[..., AnswerScore | Undefined]] = {
        "METEOR": meteor,
        "ROUGE-L": rouge_l,
        "CIDEr-D": cider_d,
    }
    if networks.sentences is not None:
        scores["SBERT"] = partial(sbert, sentences=networks.sentences)
        if networks.fluency is not None:
            scores["FENSE"] = partial(fense, sentences=networks.sentences, fluency=networks.fluency)
    return scores


def chance_of(folder: str, entries: Entries) -> tuple[str, str]:
    """The scores of a random and a constant answer on a task's entries, in percent; a dash if unknown."""
    score = _SCORES.get(folder)
    if score is None or not entries:
        return _UNKNOWN, _UNKNOWN
    random, constant = (f"{100 * score(entries, random=is_random):.1f}" for is_random in (True, False))
    return random, constant


def _truth(entry: Mapping[str, Any]) -> Any:
    return entry["output"]["question_answer"]


def _truths(entries: Entries) -> list[Any]:
    """The truths as scores take them."""
    return [truth_of(entry["task"], _truth(entry)) for entry in entries]


def _options(entry: Mapping[str, Any]) -> list[str]:
    options: list[str] = entry["input"]["question"]["options"]
    return options


def _drawing(entry: Mapping[str, Any]) -> np.random.Generator:
    return generator(0, "chance", entry["id"])


def _value(score: AnswerScore | Undefined) -> float:
    return float(score.value) if isinstance(score, AnswerScore) else 0.0


def _choices(entries: Entries, *, random: bool) -> float:
    if random:
        return float(np.mean([1 / len(_options(entry)) for entry in entries]))
    types: dict[str, Counter[str]] = {}
    for entry in entries:
        types.setdefault(entry["subtask"], Counter())[_truth(entry)] += 1
    return sum(counts.most_common(1)[0][1] for counts in types.values()) / len(entries)


def _candidates(entries: Entries, *, random: bool) -> float:
    answers = [(int(_drawing(entry).integers(_shown(entry))) if random else 0,) for entry in entries]
    return _value(retrieval(answers, _truths(entries)))


def _shown(entry: Mapping[str, Any]) -> int:
    """How many candidates there are."""
    media = entry["input"]
    return max(len(media["image_list"] or ()), len(media["audio_list"] or ()))


def _counts(entries: Entries, *, random: bool) -> float:
    truths = _truths(entries)
    score = amic if entries[0]["task"] == "AMIC" else vmic
    if random:
        return _value(score([_some_classes(entry) for entry in entries], truths))
    best: dict[str, dict[str, int]] = {}
    for kind in {entry["subtask"] for entry in entries}:
        of_kind = [truth for entry, truth in zip(entries, truths, strict=True) if entry["subtask"] == kind]
        name = Counter(name for truth in of_kind for name in truth).most_common(1)[0][0]
        best[kind] = {name: Counter(truth[name] for truth in of_kind if name in truth).most_common(1)[0][0]}
    return _value(score([best[entry["subtask"]] for entry in entries], truths))


def _some_classes(entry: Mapping[str, Any]) -> dict[str, int]:
    rng, names = _drawing(entry), _options(entry)
    chosen = rng.permutation(len(names))[: int(rng.integers(1, _MOST_CLASSES + 1))]
    return {names[int(index)]: int(rng.integers(1, _MOST_TIMES + 1)) for index in chosen}


def _located(entries: Entries, *, random: bool) -> float:
    answers = []
    for entry in entries:
        rng = _drawing(entry)
        answers.append([(name, _box(rng) if random else _WHOLE) for name in _options(entry)])
    return _value(avl(answers, _truths(entries)))


def _grounded(entries: Entries, *, random: bool) -> float:
    truths, answers = _truths(entries), []
    for entry, truth in zip(entries, truths, strict=True):
        rng = _drawing(entry)
        answers.append([_box(rng) if random else _MIDDLE for _ in truth.boxes])
    return _value(avlg(answers, truths))


def _box(rng: np.random.Generator) -> FourNumbers:
    """Two corners at random."""
    low, high = np.sort(rng.random((2, 2)), axis=0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


_SCORES: Final[Mapping[str, _ChanceScore]] = {
    **dict.fromkeys(("AVM", "AVH", "VAH", "AVQA"), _choices),
    **dict.fromkeys(("VAR", "AVR"), _candidates),
    **dict.fromkeys(("AMIC", "VMIC"), _counts),
    "AVL": _located,
    "AVLG": _grounded,
}


QUESTIONS: Final = "questions.jsonl"
REVIEW: Final = "review.csv"
REVIEW_STAGES: Final = (0.10, 0.35, 0.60, 0.85, 1.0)
"""Shares of the questions after which reviewers stop: a tenth, then every further quarter (H.2)."""


def _make_question(task: SampleTask, seed: int) -> list[Result]:
    result = question(STIMULI[task.kind], task.index, seed=seed)
    return [Result(id=task.key, files=result.files, rows={QUESTIONS: [question_row(result)]})]


class MakePrise(NumberedVerb[SampleTask, tuple[Summary, list[Table]]]):
    """``auscult make prise``, as the runner sees it."""

    doing = "making stimuli"
    stage = "make"
    once = (QUESTIONS,)
    rows = QUESTIONS
    unit = "questions"
    options: PriseOptions

    def __init__(self, options: PriseOptions) -> None:
        super().__init__(options)
        load_av()  # videos need it; without it nothing is begun

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        return run_manifest("make prise", self.options, inputs={"kinds": list(STIMULI)})

    def worker(self) -> Callable[[], Callable[[SampleTask], list[Result]]]:
        """Makes the function of one question in a worker process."""
        return partial(partial, _make_question, seed=self.options.seed)

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write each task's questions with their confirmations after them, the order of review, and a table."""
        run = writer.run
        rows = self.ordered(run)
        for folder in get_args(Folder):
            task_rows = [row for row in rows if row["formal"]["task"] == folder]
            entries = [row[part] for part in ("formal", "pre") for row in task_rows]
            run.write_bytes(f"{task_folder(folder)}/{DATA}", data_json(entries))
        run.write_bytes(REVIEW, review_csv(rows))
        summary = self.counted("make prise", run, rows)
        return finish_tables(run, summary, {"types": types_table(rows)})

    def wanted(self) -> Iterator[SampleTask]:
        """The questions, type by type: ``count`` of each, by default the type's own number."""
        for kind in STIMULI.values():
            for index in range(kind.count if self.options.count is None else self.options.count):
                yield SampleTask(question_id(kind, index), kind.name, index)


make_prise: Final = MakePrise.of


def review_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Questions in the order of review, all types mixed evenly, each with the stage that it belongs to (H.2).

    The last two columns are for the reviewer.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["formal"]["subtask"], []).append(row)
    placed = [((index + 0.5) / len(group), row) for group in groups.values() for index, row in enumerate(group)]
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow(("stage", "id", "task", "type", "media", "question", "options", "answer", "good", "remark"))
    for number, (_, row) in enumerate(sorted(placed, key=lambda pair: pair[0]), start=1):
        stage = next(stage for stage, share in enumerate(REVIEW_STAGES, start=1) if number <= share * len(rows) + 1e-9)
        formal = row["formal"]
        stimulus, prompt = formal["input"], formal["input"]["question"]
        media = stimulus["video"] or (stimulus["image_list"] or stimulus["audio_list"])[0]
        path = f"{task_folder(formal['task'])}/{media.removeprefix('./')}"
        options = "; ".join(prompt["options"] or ())
        answer = formal["output"]["question_answer"]
        table.writerow(
            (stage, row["id"], formal["task"], formal["subtask"], path, prompt["text"], options, answer, "", "")
        )
    return buffer.getvalue().encode()


def types_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Questions of each type, scores of guessing with and without confirmations, and the share of true ones."""
    answers: dict[str, list[tuple[str, str]]] = {kind: [] for kind in STIMULI}
    for row in rows:
        truth, confirmation = (row[part]["output"]["question_answer"] for part in ("formal", "pre"))
        answers[row["formal"]["subtask"]].append((truth, confirmation))
    return Table(
        title="question types",
        header=(
            "task",
            "type",
            "questions",
            "answers",
            "chance",
            "random, both",
            "constant, both",
            "confirmation: yes",
        ),
        rows=tuple(_type_row(STIMULI[name], truths) for name, truths in answers.items()),
        note="every question has a confirmation, which counts as a sample too; every answer of a type is true as often "
        "as the others; chance: what any constant answer scores, in percent; both: where the confirmation must be "
        "right too, what an answerer at random scores, and the best constant pair of answers on these questions",
    )


def _type_row(kind: StimulusKind, truths: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    confirmed = [confirmation for _, confirmation in truths]
    share = f"{100 * confirmed.count('yes') / len(truths):.0f} %" if truths else "-"
    constant = f"{100 * Counter(truths).most_common(1)[0][1] / len(truths):.1f}" if truths else "-"
    answers = str(len(kind.answers)) if kind.options else f"0 to {kind.numbers - 1}"
    guessed = (f"{100 * kind.chance:.1f}", f"{100 * kind.chance / len(YES_NO):.1f}", constant)
    return kind.folder, kind.name, str(len(truths)), answers, *guessed, share
